"""Numbers as programs print them."""

from __future__ import annotations

import pytest

from campaign.results.parsers import declared_records


@pytest.mark.parametrize(
    ("text", "value", "half"),
    [
        ("-0.5", -0.5, 0.05),
        ("+3", 3, 0),
        ("-17", -17, 0),
        ("1.4D+08", 1.4e8, 5e6),
        ("1d-2", 0.01, 0.005),
        ("1,234.5", 1234.5, 0.05),
        ("12,345", 12345, 0),
        (".5", 0.5, 0.05),
    ],
)
def test_a_number_has_half_a_unit_of_its_last_digit(text: str, value: float, half: float) -> None:
    number = declared_records.printed_number(text)
    assert number
    assert (number.value, number.half, number.is_duration) == (pytest.approx(value), pytest.approx(half), False)


@pytest.mark.parametrize(
    ("text", "seconds", "half"),
    [
        ("5m58.18s", 358.18, 0.005),
        ("6m 1.23s", 361.23, 0.005),
        ("1h2m3s", 3723, 0.5),
        ("1h 2m", 3720, 30),
        ("1:02:03", 3723, 0.5),
        ("1:02:03.5", 3723.5, 0.05),
        ("3:25.50", 205.5, 0.005),
    ],
)
def test_a_duration_is_in_seconds(text: str, seconds: float, half: float) -> None:
    number = declared_records.printed_number(text)
    assert number
    assert number.is_duration
    assert (number.value, number.half) == (pytest.approx(seconds), pytest.approx(half))


@pytest.mark.parametrize(
    "text", ["", "-", "1,23", "1,2345", "5m", "1:2:3", "1e999", "nan", "inf", "--1", "0x10", "1_000"]
)
def test_other_texts_are_no_numbers(text: str) -> None:
    assert declared_records.printed_number(text) is None
