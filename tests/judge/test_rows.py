"""Rows: from the plan, never from the results."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from campaign.config.format import Declined
from campaign.config.rules import packs
from campaign.config.rules.entries import Selection
from campaign.core.runs import State, Status
from campaign.judge.rows import table_rows
from tests.support import builders
from tests.support.examples import examples
from tests.support.results import Results


@pytest.mark.parametrize("targets", [1, 2])
def test_a_crossroads_table_has_its_36_rows_for_each_target_before_anything_is_run(targets: int) -> None:
    pack = packs.load("crossroads-mdtest")
    names = ("scratch", "home")[:targets]
    campaign = builders.campaign(targets=tuple(replace(builders.campaign().targets[0], name=name) for name in names))
    rows = table_rows(campaign, pack, builders.expand(campaign, pack), [], [])
    assert len(rows) == 36 * targets
    assert {row.status for row in rows} == {Status.MISSING}
    assert {row.note for row in rows} == {"not run yet"}


states = st.sampled_from(list(State))
names = st.sampled_from([f"{run.launch}.{run.files}" for run in builders.expand()])
rates = st.lists(st.floats(-1, 1e6), min_size=3, max_size=3)


@settings(max_examples=examples(50))
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
        "process count not yet determined",
        None,
    )
    assert len(results.rows()) == 36


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


@pytest.mark.parametrize(("rates", "median_rate"), [((3.0, 1.0, 2.0), 2.0), ((4.0, 1.0, 2.0, 3.0), 2.0), ((5.0,), 5.0)])
def test_the_median_run_is_reported_where_the_pack_says_so(rates: tuple[float, ...], median_rate: float) -> None:
    results = Results(pack=builders.pack(selection=Selection("stat", "median", "9")))
    for rate in rates:
        results.add("peak.unique", (10.0 - rate, rate, 1.0))
    assert results.row("peak/unique/stat").value == median_rate
    assert results.row("peak/unique/create").value == 10.0 - median_rate  # of the same run


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
        directory = run.attempt_directory(builders.TOKEN)
        results.attempts.append(builders.attempt(run))
        results.records[run.id, 1] = builders.records((value, value, value))
        results.observations[run.id, 1] = {"": builders.observation(run, directory)}
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
    assert row.note == "RUN-06 no result for remove in the output"


def test_what_the_output_lacks_is_why_there_is_no_number_before_any_other_breach() -> None:
    results = Results()
    argv = (builders.run().executable, "-F", "--other")
    results.add("peak.unique", (1.0, 2.0, 3.0), seen={"argv": argv})
    results.records[results.run("peak.unique").id, 1] = builders.records()[:2]
    row = results.row("peak/unique/remove")
    assert next(finding.rule for finding in row.findings if finding.blocks).startswith("FLG")
    assert row.note == "RUN-06 no result for remove in the output"


@pytest.mark.parametrize("state", [State.FAILED, State.TIMEOUT, State.LOST])
def test_a_pack_without_rules_makes_no_failed_run_a_measured_one(state: State) -> None:
    results = Results(pack=builders.pack(checks={}))
    results.add("peak.unique", state=state, reason="why")
    assert {row.status for row in results.rows() if row.cell.files == "unique"} == {Status.MISSING, Status.FAILED}


def test_a_pack_without_rules_does_not_put_a_row_together_from_two_runs() -> None:
    results = Results(pack=builders.pack(checks={}))
    results.add("peak.unique", (9000.0, 9000.0, 9000.0))
    results.records[results.run("peak.unique").id, 1] = builders.records((9000.0, 9000.0, 9000.0))[:2]
    assert results.row("peak/unique/remove").note == "no result in the output"
    assert results.row("peak/unique/create").status is Status.INVALID
    results.add("peak.unique", (1.0, 2.0, 3.0))
    assert [results.row(f"peak/unique/{name}").value for name in ("create", "stat", "remove")] == [1.0, 2.0, 3.0]


def test_a_declined_cell_says_why_unless_it_was_measured_all_the_same() -> None:
    results = Results(campaign=builders.campaign(declined=(Declined("*/peak/*/*", "no time left"),)))
    results.add("peak.unique")
    results.add("peak.shared", None, State.FAILED, "boom")
    assert results.row("peak/unique/create").status is Status.MEASURED
    row, untried = results.row("peak/shared/create"), results.row("peak/onefile/create")
    assert (row.status, row.note) == (Status.DECLINED, "no time left (1 attempt, none valid)")
    assert row.findings == ()  # there is no result that a rule could be about
    assert (untried.status, untried.note) == (Status.DECLINED, "no time left")
