"""The map of all results: what its colours and marks say, and when it is left out."""

from __future__ import annotations

from dataclasses import replace

from campaign.core.runs import Cell, Status
from campaign.report.plots.heat_map import heat_map
from campaign.report.plots.shapes import Tile
from campaign.results.cells import Row
from tests.support import builders

PACK = builders.pack()
LAUNCHES = [launch.id for launch in PACK.launch]
FILES, OPERATIONS = PACK.files[0].id, [operation.id for operation in PACK.operations]


def row(launch: str, operation: str, value: float | None, **changes: object) -> Row:
    status = Status.MISSING if value is None else Status.MEASURED
    return replace(Row(Cell("scratch", launch, FILES, operation), "ops/s", status, None, value), **changes)


def table(**changes: Row) -> list[Row]:
    """A result for each launch condition and operation: 100 under the first, and twice as much from one to the next."""
    rows = {
        f"{launch}_{operation}": row(launch, operation, 100.0 * 2**number)
        for number, launch in enumerate(LAUNCHES)
        for operation in OPERATIONS
    }
    return list((rows | changes).values())


def tiles(rows: list[Row]) -> dict[str, Tile]:
    drawn = heat_map(PACK, rows)
    assert drawn
    return {mark.cell: mark for panel in drawn.panels for mark in panel.marks if isinstance(mark, Tile)}


def cell(launch: str, operation: str) -> str:
    return str(Cell("scratch", launch, FILES, operation))


def test_the_colour_is_the_ratio_to_the_first_launch_condition() -> None:
    by_cell = tiles(table())
    assert len(by_cell) == len(LAUNCHES) * len(OPERATIONS)
    column = [by_cell[cell(launch, OPERATIONS[0])] for launch in LAUNCHES]
    assert [tile.small_text for tile in column] == ["1×", "2×", "4×", "8×"]
    parts = [tile.part for tile in column if tile.part is not None]
    assert parts == sorted(parts) and (parts[0], parts[-1]) == (0.0, 1.0)
    assert [tile.column for tile in column] == [0, 1, 2, 3]


def test_where_the_lowest_is_best_half_the_time_is_twice_as_good() -> None:
    first, second = LAUNCHES[:2]
    changes = {
        f"{launch}_{OPERATIONS[0]}": row(launch, OPERATIONS[0], value, best="lowest")
        for launch, value in ((first, 100.0), (second, 50.0))
    }
    assert tiles(table(**changes))[cell(second, OPERATIONS[0])].small_text == "2×"


def test_what_is_wrong_with_a_result_is_a_letter_which_is_explained() -> None:
    first, second, third = LAUNCHES[:3]
    operation = OPERATIONS[0]
    finding = builders.finding(waived="by the buyer")
    rows = table(
        **{
            f"{first}_{operation}": row(first, operation, 100.0, findings=(finding,)),
            f"{second}_{operation}": row(second, operation, 200.0, status=Status.INVALID),
            f"{third}_{operation}": row(third, operation, None),
        }
    )
    by_cell = tiles(rows)
    assert [by_cell[cell(launch, operation)].mark for launch in (first, second, third)] == ["w", "v", ""]
    missing = by_cell[cell(third, operation)]
    assert (missing.text, missing.small_text, missing.part) == ("missing", "", None)
    drawn = heat_map(PACK, rows)
    assert drawn and {"v: violated", "w: waived"} <= {*drawn.remarks}


def test_a_map_of_nothing_to_compare_is_left_out() -> None:
    equal = [row(launch, operation, 100.0) for launch in LAUNCHES for operation in OPERATIONS]
    assert heat_map(PACK, equal) is None
    assert heat_map(PACK, [row(launch, OPERATIONS[0], None) for launch in LAUNCHES]) is None
    assert heat_map(replace(PACK, launch=PACK.launch[:1]), table()) is None
