"""What stands beside numbers: each cause once, numbered as the table is read."""

from __future__ import annotations

from dataclasses import replace

import pytest

from campaign.core.findings import Finding, Severity
from campaign.core.runs import Cell, Status
from campaign.report import causes, notes, table
from campaign.results.cells import Row
from campaign.statistics import intervals
from tests.support import builders
from tests.support.results import eventful_results

PACK = builders.pack()


def lines() -> list[list[Row]]:
    """The cells of a table, line by line, without what is said of them."""
    results = eventful_results()
    placed = table.table_lines(results.rows(), results.pack)
    return [
        [
            replace(row, status=Status.MEASURED, value=1.0, findings=(), run=None, record=None, attempts=1)
            for row in line
        ]
        for line in (line.cells for line in placed)
        if line
    ]


def with_findings(line: list[Row], *findings: Finding) -> list[Row]:
    return [
        replace(row, findings=findings, status=Status.INVALID if findings[0].blocks else row.status) for row in line
    ]


def error(rule: str, message: str, actual: str = "", expected: str = "") -> Finding:
    return Finding(rule, Severity.ERROR, "x", message, expected, actual)


def test_a_cause_that_27_cells_share_is_one_note() -> None:
    table = [with_findings(line, error("RUN-03", "other nodes", "node1", "node2")) for line in lines()[:9]]
    noted = notes.table_notes(table, PACK)
    assert noted.texts == ("RUN-03 other nodes: expected node2, found node1",)
    assert {noted.numbers_of(*line) for line in table} == {(1,)}


def test_values_that_differ_stand_in_one_note_with_their_cells() -> None:
    first, second, third, *_ = lines()
    table = [
        with_findings(first, error("RUN-07", "too short", "0.6 s", "1 s or more")),
        with_findings(second, error("RUN-07", "too short", "0.9 s", "1 s or more")),
        third,
    ]
    assert notes.table_notes(table, PACK).texts == (
        "RUN-07 too short: expected 1 s or more, found 0.6 s (single/*/*), 0.9 s (node/*/*)",
    )


def test_a_note_writes_out_a_few_values_and_counts_the_others() -> None:
    table = [with_findings(line, error("RUN-07", "too short", f"0.{n} s")) for n, line in enumerate(lines(), 1)]
    (text,) = notes.table_notes(table, PACK).texts
    assert text.count(" s (") == causes.LISTED
    assert text.endswith(f", and {len(table) - causes.LISTED} more")


def test_notes_are_numbered_as_the_table_is_read() -> None:
    first, second, *_ = lines()
    table = [
        with_findings(first, error("RUN-09", "b")),
        with_findings(second, error("FLG-01", "a"), error("RUN-09", "b")),
    ]
    noted = notes.table_notes(table, PACK)
    assert noted.texts == ("RUN-09 b", "FLG-01 a")
    assert [noted.numbers_of(*line) for line in table] == [(1,), (1, 2)]


def test_a_note_about_part_of_a_line_names_its_cells() -> None:
    first, second, *_ = lines()
    finding = Finding("PHY-02", Severity.WARNING, "x", "slow")
    table = [[first[0], replace(first[1], findings=(finding,)), first[2]], second]
    assert notes.table_notes(table, PACK).texts == ("PHY-02 slow: explanation required (single/*/stat)",)


def test_a_finding_has_its_explanation_or_says_that_one_is_required() -> None:
    row = lines()[0][0]
    open_finding = Finding("PHY-02", Severity.WARNING, "x", "slow")
    explained_finding = Finding("STA-04", Severity.WARNING, "x", "it varies", explained="another job ran")
    assert notes.table_notes([[replace(row, findings=(open_finding, explained_finding))]], PACK).texts == (
        "PHY-02 slow: explanation required",
        "STA-04 it varies: explained: another job ran",
    )


@pytest.mark.parametrize(
    ("attempts", "valid", "text"),
    [
        (2, 1, "2 attempts, 1 valid; the valid one is reported"),
        (3, 2, "3 attempts, 2 valid; reported by the run rules' selection"),
        (2, 0, "2 attempts, none valid; the last one is shown"),
    ],
)
def test_of_several_attempts_the_reported_one_is_named(attempts: int, valid: int, text: str) -> None:
    row = lines()[0][0]
    tried_row = replace(row, attempts=attempts, attempt=builders.attempt(), summary=replace(row.summary, n=valid))
    assert notes.table_notes([[tried_row]], PACK).texts == (text,)


def test_what_is_noted_or_was_not_checked_stands_once_below_with_its_cells() -> None:
    first, second, *_ = eventful_results().rows()
    rows = [
        replace(row, findings=(Finding("CCH-04", Severity.INFO, str(row.cell), "client cache in reach"),))
        for row in (first, second)
    ]
    assert notes.target_notes(rows) == ["note: CCH-04 client cache in reach (*/*/*)"]
    unread = [Finding(rule, Severity.WARNING, "x", "no command line", checked=False) for rule in ("FLG-02", "FLG-01")]
    assert notes.target_notes([replace(first, findings=tuple(unread)), replace(second, findings=())]) == [
        f"not checked: FLG-01, FLG-02 no command line (*/*/{first.cell.operation})"
    ]


def test_the_same_said_of_several_operations_is_one_line() -> None:
    line = lines()[0]
    findings = tuple(
        Finding("PHY-03", Severity.INFO, "x", "counted twice", operation=row.cell.operation, cells=(row.cell,))
        for row in line
        if row.cell.operation != "stat"
    )
    assert notes.target_notes(with_findings(line, *findings)) == ["note: PHY-03 counted twice (*/*/create, */*/remove)"]


def test_a_cause_that_differs_in_one_value_is_one_note_with_the_values() -> None:
    warned = Finding("RUN-06", Severity.INFO, "x", "warning in {where}: rank {rank} was late")
    noted = [
        replace(line[0], findings=(replace(warned, values={"where": "stdout", "rank": str(rank)}),))
        for rank, line in enumerate(lines())
    ]
    assert notes.target_notes(noted[:3]) == ["note: RUN-06 warning in stdout: rank 0, 1, 2 was late (*/*/*)"]
    *_, text = notes.target_notes(noted)
    assert "rank 0, 1, 2, 3, 4, 5, and 6 more was late" in text
    broken = [with_findings([row], replace(row.findings[0], severity=Severity.ERROR)) for row in noted[:2]]
    assert notes.table_notes(broken, PACK).texts == ("RUN-06 warning in stdout: rank 0, 1 was late",)


@pytest.mark.parametrize(("numbers", "text"), [((), ""), ((3,), "3"), ((1, 2, 3), "1-3"), ((1, 3, 4, 9), "1, 3-4, 9")])
def test_numbers_are_written_as_ranges(numbers: tuple[int, ...], text: str) -> None:
    assert notes.number_ranges(numbers) == text


def test_the_share_of_the_values_that_selection_explains_is_one_line() -> None:
    first, second = [replace(row, value=1000.0, findings=()) for row in lines()[0][:2]]
    rows = [replace(first, summary=intervals.summarize([800, 900, 1000])), second]
    lower_rows = [replace(row, best="lowest", value=850.0) for row in rows]
    wording = "values of runs selected from 3 repetitions differ from the medians of these by {0} to {0} (median {0})"
    assert notes.target_notes(rows) == [f"{wording.format('+11.1%')}: this difference comes from the selection"]
    assert notes.target_notes(lower_rows) == [f"{wording.format('+5.6%')}: this difference comes from the selection"]
    assert notes.target_notes([second]) == []


def test_notes_on_all_numbers_are_apart_from_those_on_some() -> None:
    first, second = (Cell("scratch", "single", "shared", operation) for operation in ("create", "stat"))
    noted = notes.TableNotes(("of both", "of one"), (frozenset({first, second}), frozenset({first})))
    common, other_notes = noted.divided({first, second})
    assert (common.texts, other_notes.texts) == (("of both",), ("of one",))
    assert noted.divided({first})[0].texts == (), "a table of one number needs no such line"
