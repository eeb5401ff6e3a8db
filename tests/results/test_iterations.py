"""Which iterations a number is of: the pack's statistic, or the one iteration that all numbers of a row are of."""

from __future__ import annotations

from dataclasses import replace

import pytest

from campaign.config.rules.entries import Operation, Selection
from campaign.core.columns import csv_line
from campaign.core.records import Iteration, Record, Source
from campaign.report.notes import remarks
from campaign.results.case import statistic_record
from campaign.results.cells import COLUMNS
from tests.support import builders
from tests.support.results import Results

CREATE = (100.0, 300.0, 200.0, 400.0)
REMOVE = (90.0, 60.0, 80.0, 70.0)


def printed_record(operation: str, values: tuple[float, ...], has_iterations: bool = True) -> Record:
    """As mdtest prints it in line 14, with a line for each iteration from 100 on."""
    iterations = tuple(
        Iteration(value, Source("bench.jsonl", 100 + number), {"elapsed_s": 1000 / value, "operations_done": 1000})
        for number, value in enumerate(values)
    )
    mean = sum(values) / len(values)
    spread = {"minimum": min(values), "mean": mean, "stddev": 12.5, "iterations": len(values)}
    record = Record(operation, max(values), "ops/s", Source("stdout", 14), **spread)  # type: ignore[arg-type]
    return replace(record, each=iterations if has_iterations else ())


@pytest.mark.parametrize(
    ("statistic", "value", "source", "elapsed_s"),
    [
        ("minimum", 100.0, Source("stdout", 14), 10.0),
        ("mean", 250.0, Source("stdout", 14), (10 + 10 / 3 + 5 + 2.5) / 4),
        ("median", 250.0, Source("bench.jsonl", 102), (10 / 3 + 5) / 2),
        ("first", 100.0, Source("bench.jsonl", 100), 10.0),
        ("last", 400.0, Source("bench.jsonl", 103), 2.5),
    ],
)
def test_a_statistic_has_its_value_its_line_and_what_is_known_of_its_iteration(
    statistic: str, value: float, source: Source, elapsed_s: float
) -> None:
    record = statistic_record(printed_record("create", CREATE), statistic)
    assert (record.value, record.source, record.statistic) == (value, source, statistic)
    assert record.elapsed_s == pytest.approx(elapsed_s)
    assert record.operations_done == 1000


def test_a_statistic_that_the_output_does_not_show_leaves_the_number_as_it_is_printed() -> None:
    alone = printed_record("create", CREATE, has_iterations=False)
    assert (statistic_record(alone, "mean").value, statistic_record(alone, "minimum").value) == (250.0, 100.0)
    assert statistic_record(alone, "median") == statistic_record(alone, "last") == statistic_record(alone, "") == alone
    assert statistic_record(replace(alone, true_value=alone.value / 4), "mean").true_value == 62.5
    single = replace(alone, iterations=1)
    assert statistic_record(single, "mean") == single


def measured_results(selection: Selection, statistic: str = "", has_iterations: bool = True) -> Results:
    operations = tuple(
        Operation(name, name, "ops/s", record=name, statistic=statistic) for name in ("create", "remove")
    )
    results = Results(pack=builders.pack(selection=selection, operations=operations))
    results.add("peak.unique")
    records = (printed_record("create", CREATE, has_iterations), printed_record("remove", REMOVE, has_iterations))
    results.records["scratch.peak.unique.r1", 1] = records
    return results


@pytest.mark.parametrize(
    ("iteration", "expected"), [("best", (400.0, 70.0, 4)), ("first", (100.0, 90.0, 1)), ("last", (400.0, 70.0, 4))]
)
def test_all_numbers_of_a_row_can_be_of_one_iteration(iteration: str, expected: tuple[float, float, int]) -> None:
    results = measured_results(Selection("create", "highest", "9", iteration))
    create, remove = results.row("peak/unique/create"), results.row("peak/unique/remove")
    assert create.record is not None and remove.record is not None
    assert (create.value, remove.value, remove.record.iteration) == expected
    assert create.record.iteration == remove.record.iteration


def test_a_number_names_its_statistic_in_the_notes_and_in_the_columns() -> None:
    median = measured_results(Selection("create", "highest", "9"), "median").row("peak/unique/create")
    texts = [(remark.before, remark.value) for remark in remarks(median, builders.pack())]
    assert ("median of 4 iterations; their minimum / mean / standard deviation:", "100 / 250 / 12.5") in texts
    flat = csv_line(COLUMNS, median)
    assert (flat["iterations"], flat["statistic"], flat["iteration_mean"]) == (4, "median", 250.0)
    last = measured_results(Selection("create", "highest", "9", "last")).row("peak/unique/create")
    assert remarks(last, builders.pack())[-1].before.startswith("iteration 4 of 4;")
    assert (csv_line(COLUMNS, last)["statistic"], csv_line(COLUMNS, last)["iteration"]) == ("one iteration", 4)
