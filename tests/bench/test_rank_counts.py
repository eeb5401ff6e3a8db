"""What is counted for a few ranks, put together and extrapolated."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.bench.rank_counts import (
    MANY,
    RANKS,
    Growth,
    Part,
    Program,
    costs_of,
    fit_growth,
    is_missed,
    parse_parts,
)

PROGRAM = Program("a program", lambda directory, _ranks: [directory], phases=2)


def part_fields(timed: bool, messages: int, rank_0_bytes: int = 1000, others_bytes: int = 2000) -> dict[str, object]:
    pairs = {
        "messages_sent": [messages, 0],
        "messages_received": [0, messages],
        "bytes_sent": [8, 8],
        "own_sent": [0, 0],
    }
    memory = {"program_bytes": [rank_0_bytes, others_bytes], "library_bytes": [1, 1]}
    return {"timed": timed, "seconds": 0.5, **pairs, **memory}


def counts(inside: int = 0, per_log: int = 2, rank_0: int = 0, other_rank: int = 0) -> Mapping[int, list[Part]]:
    """Of a program with two phases: what grows with the ranks."""
    result = {}
    for ranks in RANKS:
        steps = int(math.log2(ranks))
        program_bytes = (1000 + rank_0 * ranks, 2000 + other_rank * ranks)
        parts = [
            part_fields(False, 7 * steps), part_fields(True, inside),
            part_fields(False, per_log * steps, *program_bytes),
            part_fields(True, inside), part_fields(False, 99),
        ]  # fmt: skip
        result[ranks] = parse_parts(json.dumps({"ranks": ranks, "parts": parts}))
    return result


def test_a_part_has_the_more_of_what_is_sent_and_received() -> None:
    part = part_fields(True, 0) | {"messages_sent": [3, 1], "messages_received": [2, 5]}
    assert parse_parts(json.dumps({"ranks": 4, "parts": [part]}))[0].messages == (3, 5)


@pytest.mark.parametrize(
    ("values", "growth"),
    [
        ({4: 10, 8: 10, 16: 10}, Growth(10)),
        ({4: 10.2, 8: 10, 16: 9.8}, Growth(10)),
        ({4: 4, 8: 6, 16: 8}, Growth(0, by_log=2)),
        ({4: 104, 8: 108, 16: 116}, Growth(100, by_rank=1)),
    ],
)
def test_growth_is_found_in_a_few_values(values: Mapping[int, float], growth: Growth) -> None:
    fitted = fit_growth(values, tolerance=0.5)
    assert (fitted.base, fitted.by_log, fitted.by_rank) == pytest.approx((growth.base, growth.by_log, growth.by_rank))


def test_growth_that_nothing_fits_well_is_the_nearest() -> None:
    assert fit_growth({4: 0, 8: 10, 16: 16, 32: 30, 64: 70}, tolerance=0.5).by_rank > 0
    assert fit_growth({4: 0, 8: 13, 16: 20, 32: 31, 64: 39}, tolerance=0.5).by_log > 0


def test_costs_are_those_of_many_ranks() -> None:
    costs = costs_of(PROGRAM, counts())
    assert costs.between.at(MANY) == pytest.approx(2 * math.log2(MANY))
    assert costs.text == "0, 33; 0, 0"
    assert not is_missed(PROGRAM, costs)


@pytest.mark.parametrize("change", [{"inside": 1}, {"per_log": 3}, {"rank_0": 65}, {"other_rank": 8}])
def test_each_bar_can_be_missed(change: dict[str, int]) -> None:
    assert is_missed(PROGRAM, costs_of(PROGRAM, counts(**change)))


def test_messages_of_a_program_that_measures_messages_miss_no_bar() -> None:
    talkative = Program("a program", PROGRAM.command, phases=2, messages="are what it measures")
    assert not is_missed(talkative, costs_of(talkative, counts(inside=9, per_log=9, rank_0=64)))


def test_a_run_with_too_few_timed_parts_is_an_error() -> None:
    four = Program("a program", lambda directory, _ranks: [Path(directory)], phases=4)
    with pytest.raises(SystemExit, match="a program: fewer than 4 timed parts"):
        costs_of(four, counts())
