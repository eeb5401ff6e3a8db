"""The traps of the Crossroads rules, from what a real mdtest printed to the cells of the table."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import pytest

from campaign.config.definition import Definition
from campaign.config.rules import packs
from campaign.config.rules.pack import settle
from campaign.core.findings import Finding, Severity
from campaign.core.runs import Geometry, Status
from campaign.judge import engine
from campaign.judge.rows import table_rows, with_findings
from campaign.judge.submission import Submission
from campaign.plan import matrix
from campaign.plan.dialect import Dialect
from campaign.report import notes
from campaign.results.cells import Row
from campaign.results.parsers import output
from tests.support import builders

DATA = Path(__file__).parents[1] / "data" / "mdtest"
TWO_NODES = Geometry(2, 4)
ONE_NODE = Geometry(1, 4)


@dataclass(frozen=True)
class JudgedCapture:
    """What the rules say of one execution, and the cells that came of it."""

    rows: list[Row]
    findings: tuple[Finding, ...]

    def verdicts_of(self, rule: str) -> list[tuple[Severity, str, str]]:
        return [
            (finding.severity, finding.expected, finding.actual)
            for finding in self.findings
            if finding.rule == rule and finding.checked
        ]

    def unchecked_texts(self, rule: str) -> list[str]:
        return [finding.message for finding in self.findings if finding.rule == rule and not finding.checked]

    def row(self, operation: str) -> Row:
        return next(row for row in self.rows if row.cell.operation == operation)


PACK = builders.pack()


def judge_capture(
    root: Path, capture: str, geometry: Geometry, dialect: Dialect, files: str = "shared"
) -> JudgedCapture:
    """Judge a captured output as the one attempt of a campaign that planned it, with an mdtest taken for `dialect`."""
    launch = "peak" if geometry.nodes > 1 else "node"
    outputs = (
        {"stdout": DATA / capture}
        if (DATA / capture).is_file()
        else {name: DATA / capture / name for name in ("stdout", "bench.jsonl")}
    )
    text = outputs["stdout"].read_text()
    number = re.search(r"-n\W+(\d+)", text)
    assert number
    campaign = builders.campaign(items_total=int(number[1]) * geometry.processes, launch={launch: geometry})
    pack = settle(packs.load("crossroads-mdtest"), "rehearsal", {launch: geometry}, {})

    program = {"mdtest": matrix.Executable("./mdtest", dialect)}
    runs = matrix.expand(campaign, pack, {launch: geometry}, program)
    run = next(run for run in runs if run.files == files)
    attempt = builders.attempt(run)
    own_path = root / "runs" / run.id / "1"
    own_path.mkdir(parents=True)
    directory = run.attempt_directory(attempt.token)
    for name, path in outputs.items():
        text_of_attempt = re.sub(
            r"'/scratch/user/it'\\''s x'|/scratch/user/it's x|/scratch/user/\w+", directory, path.read_text()
        )
        (own_path / name).write_text(text_of_attempt)
    records, seen = output.read("mdtest", own_path, root)
    key = (run.id, 1)
    results = engine.cases_of_runs(
        Definition(campaign, pack), [run], [attempt], {key: tuple(records)}, {key: {"": seen}}
    )
    rows = table_rows(campaign, pack, [run], [attempt], results)
    second_records = {key: tuple(records)}
    submission = Submission(campaign, pack, (run,), (attempt,), tuple(results), tuple(rows), again=second_records)
    findings = engine.judge_submission(submission)
    rows = [row for row in with_findings(rows, findings) if row.run == run]
    return JudgedCapture(rows, (*results[0].findings, *findings))


# --- -N: ranks or nodes


@pytest.mark.parametrize("version", ["3.3.0", "4.0.0", "4.1"])
def test_processes_per_node_given_to_an_mdtest_that_counts_nodes_measures_the_node_that_made_the_files(
    tmp_path: Path, version: str
) -> None:
    """The flag is spelt as the rules' text asks, and still every phase was local: what happened decides."""
    trap = judge_capture(tmp_path, f"mdtest-{version}-shift-trap.txt", TWO_NODES, Dialect.RANK_OFFSET)
    assert trap.verdicts_of("FLG-06") == []
    assert trap.verdicts_of("FLG-07") == [
        (
            Severity.ERROR,
            "a rank shift of 2 (one node)",
            "a rank shift of 4 among 4 ranks, which leads back to the same rank",
        )
    ]
    row = trap.row("stat")
    assert row.status is Status.INVALID and row.value is not None
    message = (
        "all phases ran on the node that created the files: expected a rank shift of 2 (one node), "
        "found a rank shift of 4 among 4 ranks, which leads back to the same rank"
    )
    assert f"FLG-07 {message}" in notes.table_notes([[row]], PACK).texts


@pytest.mark.parametrize("version", ["3.3.0", "4.0.0", "4.1"])
def test_one_node_given_to_it_is_the_shift_that_is_meant_and_is_disclosed(tmp_path: Path, version: str) -> None:
    good = judge_capture(tmp_path, f"mdtest-{version}-two-nodes-shared-dir.txt", TWO_NODES, Dialect.NODE_OFFSET)
    assert good.verdicts_of("FLG-06") == [(Severity.INFO, "an offset of 2 ranks", "-N 1")]
    assert good.verdicts_of("FLG-07") == []
    assert good.verdicts_of("FLG-08") == [(Severity.INFO, "-N 2 (by the rules)", "-N 1")]
    assert {row.status for row in good.rows} == {Status.MEASURED}


def test_one_node_given_where_ranks_are_counted_is_found_by_the_flag(tmp_path: Path) -> None:
    """The other way round: an mdtest that counts nodes was planned, and the flag's value is not the planned one."""
    wrong = judge_capture(tmp_path, "mdtest-4.1-two-nodes-shared-dir.txt", TWO_NODES, Dialect.RANK_OFFSET)
    assert wrong.verdicts_of("FLG-06") == [(Severity.ERROR, "-N 2", "-N 1")]
    assert wrong.row("create").status is Status.INVALID


@pytest.mark.parametrize("version", ["1.8.4", "1.9.3", "3.2.1"])
def test_an_mdtest_that_prints_no_shift_is_not_taken_at_its_word(tmp_path: Path, version: str) -> None:
    silent = judge_capture(tmp_path, f"mdtest-{version}-two-nodes-shared-dir.txt", TWO_NODES, Dialect.RANK_OFFSET)
    assert silent.verdicts_of("FLG-06") == []
    assert silent.verdicts_of("FLG-07") == []
    assert silent.unchecked_texts("FLG-07") == ["rank shift not in the output"]


# --- -S: more is counted than happens


SHARED = {"1.8.4": None, "4.0.0": 166445.795, "4.1": 62256.73}  # actual removals/s


@pytest.mark.parametrize("version", SHARED)
def test_of_an_mdtest_that_inflates_one_file_the_true_count_follows_from_flags_and_geometry(
    tmp_path: Path, version: str
) -> None:
    dialect = Dialect.RANK_OFFSET if version == "1.8.4" else Dialect.NODE_OFFSET
    inflated = judge_capture(tmp_path, f"mdtest-{version}-two-nodes-one-file.txt", TWO_NODES, dialect, "onefile")
    too_short = "the phase was too short for the benchmark's clock, and the rate is that of its fastest process"
    short = [f"{name}: {too_short}" for name in ("stat", "remove") if version == "1.8.4"]
    assert [inflated.unchecked_texts(rule) for rule in ("PHY-03", "PHY-04")] == [[], short]
    assert len(inflated.unchecked_texts("CCH-03")) == (version == "1.8.4")  # removals by one process
    created = (Severity.INFO, "256 files (created)", "1024 files (by the formula)")
    assert set(inflated.verdicts_of("PHY-03")) >= {created}
    removed = inflated.row("remove").record
    assert removed and removed.true_value == SHARED[version]


def test_before_version_4_each_number_says_that_it_is_the_fastest_processs(tmp_path: Path) -> None:
    """With the actual rate where the output shows it."""
    by_rank = judge_capture(
        tmp_path / "3.3", "mdtest-3.3.0-two-nodes-one-file.txt", TWO_NODES, Dialect.NODE_OFFSET, "onefile"
    )
    stat = by_rank.row("stat")
    assert stat.record and (stat.value, stat.record.true_value) == (3019704.753, 1328886.409)
    assert (
        "mdtest prints the rate of its fastest process; actual rate 1328886 ops/s"
        in notes.table_notes([[stat]], PACK).texts
    )
    assert (Severity.INFO, "1328886 ops/s (actual)", "3019705 ops/s (printed)") in by_rank.verdicts_of("PHY-03")
    oldest = judge_capture(tmp_path / "1.8", "mdtest-1.8.4-two-nodes-shared-dir.txt", TWO_NODES, Dialect.RANK_OFFSET)
    unproven = "the rate of mdtest's fastest process; its output does not show the actual rate"
    assert all(unproven in notes.table_notes([[row]], PACK).texts for row in oldest.rows if row.value)
    newest = judge_capture(
        tmp_path / "4", "mdtest-4.0.0-two-nodes-one-file.txt", TWO_NODES, Dialect.NODE_OFFSET, "onefile"
    )
    assert not [text for row in newest.rows for text in notes.table_notes([[row]], PACK).texts if "fastest" in text]


def test_the_builtin_benchmark_tells_what_was_performed_beside_what_its_formula_counts(tmp_path: Path) -> None:
    judged_capture = judge_capture(
        tmp_path, "bench-0.1.0-two-nodes-one-file", TWO_NODES, Dialect.RANK_OFFSET, "onefile"
    )
    row = judged_capture.row("remove")
    assert row.record is not None
    assert (row.value, row.record.true_value) == (232871.018, 58217.754)
    assert (Severity.INFO, "58218 ops/s (actual)", "232871 ops/s (by the formula)") in judged_capture.verdicts_of(
        "PHY-03"
    )
    assert "mdtest multiplies by the process count; actual rate 58218 ops/s" in notes.table_notes([[row]], PACK).texts
    assert judged_capture.verdicts_of("FLG-07") == []  # its own output proves the shift


# --- one node: the client's cache


def test_one_node_is_labelled_as_in_reach_of_its_clients_cache(tmp_path: Path) -> None:
    local = judge_capture(tmp_path, "mdtest-1.8.4-shared-dir.txt", ONE_NODE, Dialect.RANK_OFFSET)
    assert local.verdicts_of("CCH-04") == [(Severity.INFO, "", "")]
    assert [finding.message for finding in local.findings if finding.rule == "FLG-07"] == [
        "single node: all phases ran on the node that created the files, as there is no other"
    ]
