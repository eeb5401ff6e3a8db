"""Numbers that can belong together are never called wrong, and those of one iteration are equal."""

from __future__ import annotations

import statistics
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from campaign.results.parsers.consistency import Range, Spread, half_digit

THREE = Spread(3, 4.0, 1.0, 2.0, 1.414, 0.0005)  # 4, 1 and 1


@pytest.mark.parametrize(("text", "error"), [("12102", 0.5), ("2061.20", 0.005), ("1.000", 0.0005)])
def test_a_printed_number_is_off_by_half_of_its_last_digit(text: str, error: float) -> None:
    assert half_digit(text) == pytest.approx(error)


@given(st.floats(1e-9, 1e12), st.floats(1e-9, 1e12), st.integers(0, 6))
def test_printed_numbers_may_stand_for_those_that_they_were_printed_from(
    value: float, other: float, digits: int
) -> None:
    first, second = Range.of_printed(f"{value:.{digits}f}"), Range.of_printed(f"{other:.{digits}f}")
    assert (first * second).meets(Range.around_value(value * other))


def test_numbers_whose_ranges_have_nothing_in_common_cannot_be_one() -> None:
    assert Range.of_printed("2.5").meets(Range.of_printed("2.54"))
    assert not Range.of_printed("2.5").meets(Range.of_printed("2.56"))
    assert Range.of_printed("0.0") == Range(0.0, 0.05)


@given(st.lists(st.integers(0, 10**15).map(lambda number: number / 1000), min_size=1, max_size=9), st.booleans())
def test_the_spread_of_any_numbers_is_possible(numbers: list[float], sample: bool) -> None:
    deviation = statistics.stdev(numbers) if sample and len(numbers) > 1 else statistics.pstdev(numbers)
    mean = round(statistics.fmean(numbers), 3)
    assert Spread(len(numbers), max(numbers), min(numbers), mean, round(deviation, 3), 0.0005).possible()


@pytest.mark.parametrize(
    "changed_values",
    [
        {"maximum": 5.0}, {"minimum": 0.5}, {"mean": 2.1}, {"mean": 5.0}, {"mean": 3.4}, {"deviation": 1.0},
        {"deviation": 2.0}, {"count": 0}, {"count": 1}, {"count": 2},
    ],
)  # fmt: skip
def test_a_spread_of_which_one_number_was_changed_is_not(changed_values: dict[str, float]) -> None:
    assert THREE.possible()
    assert not replace(THREE, **changed_values).possible()  # type: ignore[arg-type]


def test_one_iteration_has_one_number() -> None:
    assert Spread(1, 9.0, 9.0, 9.0, 0.0, 0.0005).possible()
    for changes in ({"maximum": 9.1}, {"minimum": 8.9}, {"mean": 8.99}, {"deviation": 0.1}):
        assert not replace(Spread(1, 9.0, 9.0, 9.0, 0.0, 0.0005), **changes).possible()  # type: ignore[arg-type]
