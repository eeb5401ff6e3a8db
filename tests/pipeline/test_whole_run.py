"""A campaign from beginning to end through the command line, on a real Slurm, and what holds of its results."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from campaign.results.completion import read_completion
from campaign.results.environment import reading, slurm_text
from campaign.sandbox.layout import Shape
from tests.support import command_line
from tests.support.cases import Case, make_case, wait_until
from tests.support.sandbox_fixture import running

pytestmark = [pytest.mark.slurm, pytest.mark.mpi, pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def case(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Case]:
    """A campaign that has run from beginning to end, on a cluster of its own that 6 processes fill."""
    with running(Shape(nodes=3, cpus=2)) as sandbox:
        case = make_case(tmp_path_factory.mktemp("whole"), sandbox, "whole", launch_max="all")
        case.call("run", timeout=800)
        yield case


def test_one_command_measures_all_36_cells(case: Case) -> None:
    rows = case.table()
    assert len(rows) == 36
    assert {row["status"] for row in rows} == {"measured"}
    assert all(row["value"] > 0 and row["unit"] == "ops/s" for row in rows)
    assert "\nremaining: nothing, all results are present\n" in case.call("plan")


def test_a_campaign_is_compared_as_its_results_say_without_asking_slurm(case: Case, tmp_path: Path) -> None:
    exported = tmp_path / "table.json"
    exported.write_text(case.call("table", "--format", "json"))
    words = ["compare", case.file, case.results, exported, "--format", "json"]
    process = command_line.call(*words, environment={"PATH": "/nowhere"})
    assert process.returncode == 1, process  # one repetition cannot be tested
    offers = json.loads(process.stdout)["offers"]
    assert [offer["source"] for offer in offers] == [str(case.file), str(case.results), str(exported)]
    for offer in offers[1:]:
        assert len(offer["cells"]) == 36
        assert {(cell["verdict"], cell["reported_ratio"]) for cell in offer["cells"]} == {("cannot tell", 1.0)}


def test_each_attempt_has_its_nodes_on_record_and_each_job_slurms_word_of_it(case: Case) -> None:
    for folder in case.results.glob("runs/*/1"):
        evidence, completion = reading.read(folder), read_completion(folder)
        assert completion is not None
        expand_nodes = slurm_text.expand_nodes(completion.nodes)
        assert tuple(node.name for node in evidence.environment.nodes) == expand_nodes
        assert (evidence.environment.problems, evidence.environment.incomplete, evidence.made) == ((), (), True)
        assert evidence.before is not None and evidence.after is not None
        start = json.loads((folder / "bench.jsonl").read_text().partition("\n")[0])
        assert evidence.environment.values("executable.sha256") == (start["binary_sha256"],)
        assert "library.libmpi.so.40" in evidence.environment.facts
    jobs = list(case.results.glob("jobs/*"))
    assert jobs
    for job in jobs:
        accounting = reading.read_accounting(job / "accounting.json")
        assert accounting is not None and accounting.problems == ()
        # Its nodes may still be cleaning up; when it ended is known all the same.
        assert accounting.job["JobState"] in ("COMPLETED", "COMPLETING")
        assert accounting.job["EndTime"].isdigit()
        assert (accounting.job["JobName"], accounting.job["OverSubscribe"], accounting.job["ExitCode"]) == (
            job.name,
            "NO",
            "0:0",
        )


def test_what_was_recorded_around_the_runs_breaks_no_rule_and_leaves_none_unchecked(case: Case) -> None:
    rules = ("GEO-04", "RUN-02", "RUN-03", "RUN-04", "RUN-05", "CCH-01", "ENV-03")
    document = [
        finding for finding in json.loads(case.call("check", "--json", status=None)) if finding["rule"] in rules
    ]
    assert {(finding["severity"], finding["checked"]) for finding in document} <= {("I", True)}, document


def test_every_number_stands_in_the_log_line_that_it_names(case: Case) -> None:
    for row in case.table():
        lines = (case.results / row["source"]["file"]).read_text().splitlines()
        assert f"{row['value']:.3f}" in lines[row["source"]["line"] - 1].split()


def test_nothing_is_wrong_with_its_bundle_on_a_machine_that_knows_nothing_of_it(case: Case, tmp_path: Path) -> None:
    case.call("bundle", "-o", str(tmp_path / "bundle.zip"))
    elsewhere = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}
    process = command_line.call("verify", tmp_path / "bundle.zip", "--json", environment=elsewhere)
    document = json.loads(process.stdout)
    assert document["verdict"]["cells"] == {"measured": 36}, process.stdout
    # Nothing is wrong with it, but a rehearsal never complies.
    concluded = document["conclusion"]
    assert (process.returncode, concluded["outcome"], concluded["consistent"]) == (5, "rehearsal", True), process.stdout
    # Nobody has signed it, and nothing was given that binds its journal: not checked, and not passed.
    assert {(finding["rule"], finding["checked"]) for finding in document["findings"]} == {
        ("EVD-02", False),
        ("EVD-03", False),
    }


def test_the_three_operations_of_a_run_come_from_one_attempt(case: Case) -> None:
    origins: dict[tuple[str, str], set[tuple[str, int]]] = {}
    for row in case.table():
        origins.setdefault((row["launch"], row["files"]), set()).add((row["run"], row["attempt"]))
    assert all(len(origin) == 1 for origin in origins.values())


def test_the_rank_offset_that_ran_is_the_processes_per_node(case: Case) -> None:
    for folder in case.results.glob("runs/*/1"):
        lines = [json.loads(line) for line in (folder / "bench.jsonl").read_text().splitlines()]
        start = next(line for line in lines if line["type"] == "start")
        shift = next(line for line in lines if line["type"] == "shift")
        per_node = start["processes_per_node"]
        assert start["argv"][start["argv"].index("-N") + 1] == str(per_node)
        assert shift["effective"] == per_node % start["processes"]
        assert start["placement"] == "block"


def test_stats_and_removals_of_several_nodes_ran_where_the_files_were_not_made(case: Case) -> None:
    for name in ("scratch.peak.unique.r1", "scratch.max.shared.r1"):
        lines = [json.loads(line) for line in (case.results / "runs" / name / "1" / "bench.jsonl").open()]
        stats = [line for line in lines if line["type"] == "phase" and line["operation"] == "stat"]
        assert [line["remote_share"] for line in stats] == [1]


def test_nothing_is_left_in_the_target_and_no_job_is_left_over(case: Case) -> None:
    assert list(case.target.iterdir()) == []
    wait_until(lambda: "campaign-whole" not in case.slurm("squeue", "-h", "-o", "%j"), goal="the last job to end")


def test_running_again_submits_nothing(case: Case) -> None:
    before = (case.results / "journal.jsonl").read_bytes()
    case.call("run")
    assert (case.results / "journal.jsonl").read_bytes() == before


def test_a_deleted_database_is_rebuilt_with_the_same_table(case: Case) -> None:
    before = case.call("table", "--format", "json")
    for verbs in (["collect"], [], ["run"]):
        (case.results / "campaign.db").unlink()
        for verb in verbs:
            case.call(verb)
        assert case.call("table", "--format", "json") == before


def test_a_rerun_adds_one_attempt_of_that_run_and_touches_no_other_cell(case: Case) -> None:
    before = case.table()
    log = case.results / "run.log"
    lines_before = log.read_text().splitlines()
    case.call("rerun", "scratch/node/unique/stat")
    lines = log.read_text().splitlines()[len(lines_before) :]
    assert len([line for line in lines if "[1/1] " in line]) == 1, lines  # none of earlier attempts
    after = case.table()
    cells = {(row["launch"], row["files"]) for row, old in zip(after, before, strict=True) if row != old}
    assert cells == {("node", "unique")}
    own_after = [row for row in after if (row["launch"], row["files"]) == ("node", "unique")]
    assert {row["attempts"] for row in own_after} == {2}
    assert {row["statistics"]["n"] for row in own_after} == {2}
    best = max(
        json.loads(line)["max"]
        for path in case.results.glob("runs/scratch.node.unique.r1/*/bench.jsonl")
        for line in path.open()
        if '"result"' in line and json.loads(line)["operation"] == "create"
    )
    assert next(row["value"] for row in own_after if row["operation"] == "create") == best


def test_a_sample_that_was_measured_is_accepted_and_one_of_the_archive_is_not(case: Case, tmp_path: Path) -> None:
    """What is recorded under the challenge is verified as a bundle is, and has to be new."""

    def call(*words: str | Path) -> subprocess.CompletedProcess[str]:
        return command_line.call(*words, environment=case.environment())

    bag, challenge = tmp_path / "bag", tmp_path / "challenge.yaml"
    assert call("bundle", case.file, "-o", bag).returncode in (0, 1)
    assert call("sample", bag, "--cells", "1", "--repetitions", "1", "--seed", "s", "-o", challenge).returncode == 0
    assert call("run", challenge).returncode == 0
    words = ("accept", bag, challenge, "--reported", "--at-least", "0.01")
    process = call(*words)
    assert (process.returncode, process.stderr) == (0, ""), process
    drawn = challenge.read_text()
    challenge.write_text(drawn.replace("items_total: 2048", "items_total: 1024"))
    process = call(*words)
    assert (process.returncode, "changed after it was drawn: items_total" in process.stderr) == (2, True), process
    challenge.write_text(drawn.replace("allocation: geometry", "allocation: run"))
    process = call(*words)
    difference = "slurm.allocation: geometry in the bundle, run in the sample"
    assert (process.returncode, f"not allowed (--allow KEY): {difference}" in process.stdout) == (4, True), process
    assert call(*words, "--allow", "slurm.allocation").returncode == 0
    challenge.write_text(drawn)
    [folder] = (tmp_path / "results/whole-sample/runs").glob("*/1")
    archived = case.results / "runs" / folder.parent.name / "1"
    tokens = [json.loads((place / "attempt.json").read_text())["token"] for place in (archived, folder)]
    for name in ("stdout", "bench.jsonl"):
        (folder / name).write_text((archived / name).read_text().replace(*tokens))
    process = call(*words)
    assert (process.returncode, "to the last digit: it was copied, not measured" in process.stdout) == (1, True)
    assert process.stdout.startswith("REJECTED: bag, challenge.yaml, seed s\n  NO    Not a valid sample: ")
