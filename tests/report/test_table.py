from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import pytest
import tabulate
from hypothesis import given, settings
from hypothesis import strategies as st

from campaign.config.load import Campaign, Declined
from campaign.config.rules import load as rules
from campaign.config.rules.load import RulePack, Selection
from campaign.config.waivers import NO_ANSWERS, Answers
from campaign.core.errors import InputError
from campaign.core.model import Attempt, Cell, Finding, Geometry, Observation, Record, Run, Severity, State, Status
from campaign.judge import engine
from campaign.judge.submission import Submission
from campaign.report import table as tables
from campaign.results.cells import Measured, Row, matches
from campaign.slurm import scripts
from tests.support import builders


@dataclass
class Results:
    """A campaign's attempts, as they come in."""

    campaign: Campaign = field(default_factory=builders.campaign)
    pack: RulePack = field(default_factory=builders.pack)
    attempts: list[Attempt] = field(default_factory=list)
    records: dict[tuple[str, int], tuple[Record, ...]] = field(default_factory=dict)
    observations: dict[tuple[str, int], Observation] = field(default_factory=dict)
    answers: Answers = NO_ANSWERS

    @property
    def runs(self) -> tuple[Run, ...]:
        return builders.expand(self.campaign, self.pack)

    def run(self, name: str) -> Run:
        """By launch and files: `peak.unique`."""
        return next(run for run in self.runs if run.id == f"scratch.{name}.r1")

    def add(
        self,
        name: str,
        values: Sequence[float] | None = (1000.0, 4000.0, 800.0),
        state: State = State.DONE,
        reason: str = "",
        seen: dict[str, object] | None = None,
        record: dict[str, object] | None = None,
        **attempt: object,
    ) -> None:
        """One more attempt of the first repetition with its rates, and what its output says otherwise than planned."""
        self.add_to(self.run(name), values, state, reason, seen, record, **attempt)

    def add_to(
        self,
        run: Run,
        values: Sequence[float] | None,
        state: State = State.DONE,
        reason: str = "",
        seen: dict[str, object] | None = None,
        record: dict[str, object] | None = None,
        **attempt: object,
    ) -> None:
        number = 1 + sum(one.run == run.id for one in self.attempts)
        token = f"{len(self.attempts):08x}"
        made = builders.attempt(run, number=number, token=token, state=state, reason=reason)
        self.attempts.append(replace(made, **attempt))  # type: ignore[arg-type]
        if values is not None:
            found = builders.records(values, f"runs/{run.id}/{number}")
            self.records[run.id, number] = tuple(replace(one, **(record or {})) for one in found)  # type: ignore[arg-type]
            directory = scripts.attempt_directory(run, token)
            self.observations[run.id, number] = builders.observation(run, directory, **(seen or {}))

    def measured(self) -> list[Measured]:
        return engine.measured(
            self.pack, self.runs, self.attempts, self.records, self.observations, answers=self.answers
        )

    def rows(self) -> list[Row]:
        return tables.rows(self.campaign, self.pack, self.runs, self.attempts, self.measured())

    def submission(self) -> Submission:
        attempts, results, rows = tuple(self.attempts), tuple(self.measured()), tuple(self.rows())
        return Submission(self.campaign, self.pack, self.runs, attempts, results, rows)

    def row(self, cell: str) -> Row:
        """By launch, files and operation: `peak/unique/stat`."""
        return next(row for row in self.rows() if str(row.cell) == f"scratch/{cell}")


def everything() -> Results:
    """A campaign that has gone through whatever can happen to a cell."""
    done = Results(
        campaign=builders.campaign(declined=(Declined("*/max/onefile/*", "no time left"),)),
    )
    done.add("single.shared", (1309.4, 5000.0, 1200.0))
    done.add("single.unique", (5702.0, 52345.678, 8352.9))
    done.add("single.onefile", (5706.0, 6000.0, 5300.0), record={"operations_done": 1000, "files_true": 1000})
    done.add("node.shared")
    done.add("node.unique", (2000.0, 9000.0, 1500.0))
    done.add("node.unique", (2500.0, 8000.0, 1400.0))
    done.add("node.unique", None, State.TIMEOUT, "job 18: TIMEOUT, while this run was under way")
    done.add(
        "node.onefile",
        (7999.4, 8000.0, 6000.0),
        record={"operations_done": 250, "true_value": 1999.85, "files_true": 250},
    )
    done.add("peak.shared", (3000.0, 4.56789, 99.96), seen={"argv": ("mdtest", "-F", "-C"), "nodes": 1})
    done.add("peak.unique", None, State.NODE_FAIL, "job 19: NODE_FAIL, while this run was under way: srun: n2 is gone")
    done.add("peak.onefile", None, State.PENDING, "Resources")
    done.add("max.shared", (0.5, 1.0, 2.0))
    return done


# --- from the plan, never from the results


@pytest.mark.parametrize("targets", [1, 2])
def test_a_crossroads_table_has_its_36_rows_for_each_target_before_anything_is_run(targets: int) -> None:
    pack = rules.load("crossroads-mdtest")
    names = ("scratch", "home")[:targets]
    made = builders.campaign(targets=tuple(replace(builders.campaign().targets[0], name=name) for name in names))
    rows = tables.rows(made, pack, builders.expand(made, pack), [], [])
    assert len(rows) == 36 * targets
    assert {row.status for row in rows} == {Status.MISSING}
    assert {row.note for row in rows} == {"not run yet"}


states = st.sampled_from(list(State))
names = st.sampled_from([f"{run.launch}.{run.files}" for run in builders.expand()])
rates = st.lists(st.floats(-1, 1e6), min_size=3, max_size=3)


@settings(max_examples=50)
@given(st.lists(st.tuples(names, rates | st.none(), states), max_size=12))
def test_whatever_comes_in_there_are_36_rows_and_only_valid_numbers_are_measured(
    came: list[tuple[str, list[float] | None, State]],
) -> None:
    results = Results()
    for name, values, state in came:
        results.add(name, values, state, "why")
    rows = results.rows()
    assert [str(row.cell) for row in rows] == [
        f"scratch/{launch.id}/{files.id}/{operation.id}"
        for files in results.pack.files
        for launch in results.pack.launch
        for operation in results.pack.operations
    ]
    for row in rows:
        if row.status is Status.MEASURED:
            assert row.value is not None and row.value > 0
            assert row.attempt is not None and row.attempt.state is State.DONE
            assert row.record is not None and row.record.source.file.startswith(f"runs/{row.attempt.run}/")
        elif row.status in (Status.MISSING, Status.FAILED):
            assert row.value is None and row.note


def test_an_unresolved_launch_condition_keeps_its_rows() -> None:
    results = Results(campaign=builders.campaign(launch={"node": builders.GEOMETRIES["node"]}))
    row = results.row("max/shared/create")
    assert (row.status, row.note, row.run) == (
        Status.MISSING,
        "no geometry: the launch condition is not resolved",
        None,
    )
    assert len(results.rows()) == 36


# --- which attempt a cell reports


def test_a_cell_reports_the_attempt_with_the_best_creation_and_all_operations_come_from_it() -> None:
    results = Results()
    results.add("peak.unique", (1000.0, 9000.0, 900.0))
    results.add("peak.unique", (2000.0, 100.0, 50.0))
    results.add("peak.unique", (1500.0, 200.0, 99.0))
    for operation, value in (("create", 2000.0), ("stat", 100.0), ("remove", 50.0)):
        row = results.row(f"peak/unique/{operation}")
        assert (row.value, row.attempt and row.attempt.number, row.attempts) == (value, 2, 3)
        assert row.summary.n == 3


def test_the_earlier_of_two_equal_attempts_is_reported() -> None:
    results = Results()
    results.add("peak.unique", (1000.0, 1.0, 1.0))
    results.add("peak.unique", (1000.0, 2.0, 2.0))
    attempt = results.row("peak/unique/stat").attempt
    assert attempt is not None
    assert attempt.number == 1


def test_the_lowest_is_the_best_where_the_pack_says_so() -> None:
    results = Results(pack=builders.pack(selection=Selection("stat", "lowest", "9")))
    results.add("peak.unique", (1.0, 200.0, 1.0))
    results.add("peak.unique", (2.0, 100.0, 2.0))
    assert results.row("peak/unique/create").value == 2.0


def test_a_better_attempt_that_is_not_valid_is_not_reported() -> None:
    results = Results()
    results.add("peak.unique", (1000.0, 1.0, 1.0))
    results.add("peak.unique", (9000.0, 1.0, 1.0), seen={"nodes": 1})
    row = results.row("peak/unique/create")
    assert (row.value, row.status, row.attempts, row.summary.n) == (1000.0, Status.MEASURED, 2, 1)


def test_repetitions_are_values_of_one_cell() -> None:
    results = Results(campaign=builders.campaign(repetitions=2))
    first, second = [run for run in results.runs if run.id.startswith("scratch.peak.unique.")]
    for run, value in ((first, 10.0), (second, 30.0)):
        directory = scripts.attempt_directory(run, builders.TOKEN)
        results.attempts.append(builders.attempt(run))
        results.records[run.id, 1] = builders.records((value, value, value))
        results.observations[run.id, 1] = builders.observation(run, directory)
    row = results.row("peak/unique/create")
    assert (row.value, row.run, row.summary.n, row.summary.median) == (30.0, second, 2, 20.0)
    assert (row.values, row.jobs) == ((10.0, 30.0), 1)


def test_a_row_says_what_its_number_is_made_by_and_which_way_is_better() -> None:
    operations = (*builders.pack().operations[:2], replace(builders.pack().operations[2], best="lowest"))
    results = Results(pack=builders.pack(operations=operations, selection=Selection("stat", "lowest", "9")))
    rows = [results.row(f"peak/unique/{name}") for name in ("create", "stat", "remove")]
    assert [row.best for row in rows] == ["highest", "lowest", "lowest"]
    assert rows[0].as_json()["rules"] == {
        "id": "test-rules",
        "version": 7,
        "sha256": "",
        "profile": "rehearsal",
        "variables": {},
    }


def test_an_attempt_that_executed_something_else_does_not_count() -> None:
    results = Results()
    results.add("peak.unique", fingerprint="0" * 16)
    row = results.row("peak/unique/create")
    assert (row.status, row.value) == (Status.MISSING, None)
    assert row.note == "no results for the current settings"


def test_an_attempt_that_measured_nothing_is_not_one_that_was_tried() -> None:
    results = Results()
    results.add("peak.unique", None, State.SUPERSEDED)
    results.add("peak.unique", None, State.REFUSED, "sbatch refused: no account")
    row = results.row("peak/unique/create")
    assert (row.status, row.attempts, row.note) == (Status.MISSING, 0, "refused: sbatch refused: no account")


def test_an_attempt_under_way_is_why_a_cell_is_missing() -> None:
    results = Results()
    results.add("peak.unique", None, State.PENDING, "Resources")
    assert results.row("peak/unique/stat").note == "pending: Resources"


def test_a_run_that_failed_says_why() -> None:
    results = Results()
    results.add("peak.unique", None, State.FAILED, "the benchmark ended with status 1: boom")
    row = results.row("peak/unique/create")
    assert (row.status, row.note, row.attempts) == (Status.FAILED, "failed: the benchmark ended with status 1: boom", 1)


def test_a_run_that_went_well_without_a_result_says_what_the_rules_say() -> None:
    results = Results()
    results.add("peak.unique", (1.0, 2.0, 3.0))
    results.records[results.run("peak.unique").id, 1] = builders.records()[:2]
    assert results.row("peak/unique/create").status is Status.INVALID
    row = results.row("peak/unique/remove")
    assert (row.status, row.value) == (Status.FAILED, None)
    assert row.note == "RUN-06 the output has no result for remove"


def test_what_the_output_lacks_is_why_there_is_no_number_before_any_other_breach() -> None:
    results = Results()
    argv = (builders.run().executable, "-F", "--other")
    results.add("peak.unique", (1.0, 2.0, 3.0), seen={"argv": argv})
    results.records[results.run("peak.unique").id, 1] = builders.records()[:2]
    row = results.row("peak/unique/remove")
    assert next(one.rule for one in row.findings if one.blocks).startswith("FLG")
    assert row.note == "RUN-06 the output has no result for remove"


@pytest.mark.parametrize("state", [State.FAILED, State.TIMEOUT, State.LOST])
def test_a_pack_without_rules_makes_no_failed_run_a_measured_one(state: State) -> None:
    results = Results(pack=builders.pack(checks={}))
    results.add("peak.unique", state=state, reason="why")
    assert {row.status for row in results.rows() if row.cell.files == "unique"} == {Status.MISSING, Status.FAILED}


def test_a_pack_without_rules_does_not_put_a_row_together_from_two_runs() -> None:
    results = Results(pack=builders.pack(checks={}))
    results.add("peak.unique", (9000.0, 9000.0, 9000.0))
    results.records[results.run("peak.unique").id, 1] = builders.records((9000.0, 9000.0, 9000.0))[:2]
    assert results.row("peak/unique/remove").note == "the output has no result for it"
    assert results.row("peak/unique/create").status is Status.INVALID
    results.add("peak.unique", (1.0, 2.0, 3.0))
    assert [results.row(f"peak/unique/{name}").value for name in ("create", "stat", "remove")] == [1.0, 2.0, 3.0]


def test_a_declined_cell_says_why_unless_it_was_measured_all_the_same() -> None:
    results = Results(campaign=builders.campaign(declined=(Declined("*/peak/*/*", "no time left"),)))
    results.add("peak.unique")
    results.add("peak.shared", None, State.FAILED, "boom")
    assert results.row("peak/unique/create").status is Status.MEASURED
    tried, untried = results.row("peak/shared/create"), results.row("peak/onefile/create")
    assert (tried.status, tried.note) == (Status.DECLINED, "no time left (1 tried, none of them valid)")
    assert [finding.rule for finding in tried.findings if finding.severity is Severity.ERROR]
    assert (untried.status, untried.note) == (Status.DECLINED, "no time left")


# --- cells by pattern

CELL = Cell("scratch", "node", "unique", "stat")


@pytest.mark.parametrize(
    "pattern",
    ["scratch/node/unique/stat", "*/*/*/*", "scratch/node/*/*", "s*/n?de/[u]nique/stat", "[!x]*/node/uni*/[a-z]*"],
)
def test_a_pattern_matches_each_part_of_a_cell(pattern: str) -> None:
    assert matches(CELL, pattern)


@pytest.mark.parametrize(
    "pattern",
    [
        "scratch/node/unique",
        "*",
        "**",
        "scratch/*",
        "scratch/node/unique/stat/",
        "Scratch/node/unique/stat",
        "",
        "*/*/*/*/*",
    ],
)
def test_a_pattern_of_other_parts_matches_no_cell(pattern: str) -> None:
    assert not matches(CELL, pattern)


@given(st.text("abc*?[]!", max_size=12))
def test_no_star_reaches_over_a_slash(pattern: str) -> None:
    assert not matches(CELL, pattern)


# --- printed forms


def test_the_printed_table_of_all_that_can_happen() -> None:
    done = everything()
    builders.golden("table.txt", tables.printed(done.rows(), done.campaign, done.pack, "simple"))


def test_the_table_as_csv() -> None:
    builders.golden("table.csv", tables.as_csv(everything().rows()))


def test_the_rows_of_several_nodes_as_json() -> None:
    rows = [row for row in everything().rows() if (row.cell.launch, row.cell.operation) == ("peak", "create")]
    builders.golden("table.json", tables.as_json(rows))


def test_the_forms_agree_on_every_number() -> None:
    rows = everything().rows()
    from_json = json.loads(tables.as_json(rows))
    from_csv = list(csv.DictReader(io.StringIO(tables.as_csv(rows))))
    assert [str(one["value"] if one["value"] is not None else "") for one in from_json] == [
        one["value"] for one in from_csv
    ]
    assert [one["status"] for one in from_json] == [one["status"] for one in from_csv]
    assert list(from_csv[0]) == list(tables.COLUMNS)


def test_a_full_size_table_does_not_say_rehearsal() -> None:
    results = Results(campaign=builders.campaign(profile="full"))
    text = tables.printed(results.rows(), results.campaign, results.pack, "simple")
    assert "not a compliant result" not in text
    assert text.startswith("Metadata (operations/s): scratch (/scratch/user)\n")
    assert "1048576 files in shared dir" in text


@pytest.mark.parametrize("style", sorted(tabulate.tabulate_formats))
def test_every_format_of_tabulate_prints_every_number(style: str) -> None:
    done = everything()
    text = tables.printed(done.rows(), done.campaign, done.pack, style)
    for number in ("1309", "52346", "2500", "7999", "3000", "4.57", "INVALID"):
        assert number in text


def test_an_unknown_format_is_refused_with_those_that_there_are() -> None:
    done = Results()
    with pytest.raises(InputError) as caught:
        tables.printed(done.rows(), done.campaign, done.pack, "excel")
    assert str(caught.value).startswith("--format excel: not a format; allowed: ")
    assert str(caught.value).endswith(", csv, json, xlsx")


@pytest.mark.parametrize(
    ("value", "shown"), [(123456.7, "123457"), (100.4, "100"), (99.96, "100"), (5.6789, "5.68"), (0.01234, "0.0123")]
)
def test_a_number_has_as_many_digits_as_the_eye_takes_in(value: float, shown: str) -> None:
    assert tables.digits(value) == shown


def test_status_and_notes_have_columns_of_their_own_only_where_a_line_has_them() -> None:
    clean = Results(pack=builders.pack(checks={}), campaign=builders.campaign(launch={"single": Geometry(1, 1)}))
    for files in ("shared", "unique", "onefile"):
        clean.add(f"single.{files}")
    own = [replace(row, findings=()) for row in clean.rows() if row.cell.launch == "single"]
    pack = replace(clean.pack, launch=clean.pack.launch[:1])
    header = tables.printed(own, clean.campaign, pack, "simple").splitlines()[1]
    assert header.split() == ["Create", "Stat", "Remove", "Processes", "Nodes"]
    asked = replace(own[0], findings=(Finding("PHY-02", Severity.WARNING, "x", "slow"),))
    header = tables.printed([asked, *own[1:]], clean.campaign, pack, "simple").splitlines()[1]
    assert header.split()[-1] == "Notes"


def test_a_line_in_which_one_number_is_invalid_says_which() -> None:
    rows = everything().rows()
    rows[1] = replace(rows[1], status=Status.INVALID)
    text = tables.printed(rows, builders.campaign(), builders.pack(), "simple")
    assert "5000      1200            1        1  INVALID: Stat" in text


def test_a_full_table_with_every_mark_fits_120_columns() -> None:
    results = Results(
        pack=replace(rules.load("crossroads-mdtest"), profile="full"), campaign=builders.campaign(profile="full")
    )
    for name in (f"{launch}.{files}" for launch in builders.GEOMETRIES for files in ("shared", "unique", "onefile")):
        results.add(name, (1234567.0, 2345678.0, 1234567.0), seen={"argv": ("mdtest", "-F"), "nodes": 9})
    rows = [replace(row, status=Status.INVALID) for row in results.rows()]
    text = tables.printed(rows, results.campaign, results.pack, "simple")
    assert text.count("INVALID") == 12
    assert max(map(len, text.splitlines())) <= 120


@pytest.mark.parametrize("style", ["github", "latex", "html", "tsv"])
def test_a_format_with_rows_of_its_own_folds_no_label(style: str) -> None:
    pack = rules.load("crossroads-mdtest")
    results = Results(pack=pack)
    text = tables.printed(results.rows(), results.campaign, pack, style)
    assert text.count("Minimal MPI processes on multiple nodes w/peak results") == 3
