import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from campaign.core import units

numbers = st.integers(min_value=0, max_value=units.LARGEST)


@given(numbers)
def test_a_count_comes_back_from_its_text(count: int) -> None:
    assert units.parse_count(units.format_count(count)) == count


@given(numbers)
def test_a_duration_comes_back_from_its_text(seconds: int) -> None:
    assert units.parse_duration(units.format_duration(min(seconds, 10**12))) == min(seconds, 10**12)


@given(st.text(max_size=30))
def test_any_text_is_either_read_or_refused_with_what_is_allowed(text: str) -> None:
    for parse, allowed in (
        (units.parse_count, units.COUNT),
        (units.parse_duration, units.DURATION),
    ):
        try:
            assert 0 <= parse(text) <= units.LARGEST
        except ValueError as error:
            assert allowed in str(error) or str(error).endswith("allowed: up to 2^63 - 1")


@pytest.mark.parametrize(("text", "count"), [("0", 0), ("64", 64), ("2^20", 1048576), ("10^6", 1000000), ("7^0", 1)])
def test_a_count_is_digits_or_a_power(text: str, count: int) -> None:
    assert units.parse_count(text) == count


@pytest.mark.parametrize(
    "text", ["", "1k", "1_000", "0x10", "017", "1e6", "-3", "2^", "^2", "2^64", "0^0", "2**20", "٣"]
)
def test_what_is_no_count_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"found .*; allowed: (a whole number|up to 2\^63 - 1)"):
        units.parse_count(text)


IN_UNITS = {"90m": 5400, "1h30m": 5400, "45s": 45, "2d": 172800, "1w2d3h4m5s": 788645, "0s": 0, "120m": 7200}
AS_CLOCK = {"30:00": 1800, "1:30:00": 5400, "01:30:00": 5400, "100:00:00": 360000}
WITH_DAYS = {"2-00:00:00": 172800, "1-12": 129600, "1-12:30": 131400}


@pytest.mark.parametrize(("text", "seconds"), (IN_UNITS | AS_CLOCK | WITH_DAYS).items())
def test_durations_are_read_in_units_and_in_slurms_forms(text: str, seconds: int) -> None:
    assert units.parse_duration(text) == seconds


@pytest.mark.parametrize(
    "text",
    ["", "90", "1.5h", "30m1h", "1h1h", "1h 30m", "90 m", "-5m", "1:60", "1:60:00", "1-24", "1:2:3:4", "1-", "m"],
)
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=re.escape(f'found "{text}"; allowed: {units.DURATION}')):
        units.parse_duration(text)


def test_durations_are_written_for_people() -> None:
    assert [units.format_duration(s) for s in (0, 45, 5400, 172800, 90061)] == ["0s", "45s", "1h30m", "2d", "1d1h1m1s"]


@pytest.mark.parametrize("form", [units.format_count, units.format_duration])
def test_nothing_negative_is_formatted(form: object) -> None:
    with pytest.raises(ValueError, match="found -1; allowed: 0 or more"):
        form(-1)  # type: ignore[operator]


@pytest.mark.parametrize(
    ("unit", "negative"),
    [("Ry", True), ("x", True), ("kcal/mol", True), ("%", True), ("MB/s", False), ("ns/day", False), ("s", False),
     ("us", False), ("MiB", False), ("Gflop/s", False), ("GFLOPS", False)],
)  # fmt: skip
def test_a_rate_a_time_or_a_size_is_never_negative(unit: str, negative: bool) -> None:
    assert units.may_be_negative(unit) is negative


@pytest.mark.parametrize(
    ("values", "texts"),
    [
        ((125.4, 124.6), ["125.4", "124.6"]),  # both are printed as 125
        ((125.0, 124.96), ["125", "124.96"]),
        ((125.0, 76.0), ["125", "76"]),
        ((1.0, 0.99972), ["1", "0.9997"]),
        ((1000.0, 1000.0), ["1000", "1000"]),
        ((1000.0, 999.9999999999998), ["1000", "1000"]),  # equal but for rounding
        ((0.005, 4.18e-9), ["0.005", "4.18e-09"]),
    ],
)
def test_unequal_numbers_have_as_many_digits_as_they_need_to_differ(
    values: tuple[float, ...], texts: list[str]
) -> None:
    assert units.distinct_digits(*values) == texts


@pytest.mark.parametrize(
    ("number", "text"),
    [
        ("127264.411", "127264.4110"),
        ("1.234", "1.2340"),
        ("-1.234", "-1.2340"),
        ("1.5", "1.5"),
        ("1000.0", "1000.0"),
        ("1.2345", "1.2345"),
        ("1e-07", "1e-07"),
    ],
)
def test_no_number_of_a_csv_has_three_decimals_which_may_be_read_as_thousands(number: str, text: str) -> None:
    assert units.padded_csv_number(number) == text
    assert units.without_padding(text) == units.without_padding(number)
    assert float(text) == float(number)


def test_what_a_csv_was_padded_with_is_no_difference_and_anything_else_is() -> None:
    assert units.without_padding("a,127264.4110,run.100") == units.without_padding("a,127264.411,run.1")
    assert units.without_padding("a,127264.4110") != units.without_padding("a,1272644.110")
    assert units.without_padding("a,100") != units.without_padding("a,1")


def test_a_thousandfold_is_exact() -> None:
    assert units.is_thousandfold(127264.411, 127264411.0)
    assert not units.is_thousandfold(127264.411, 127264412.0)
    assert not units.is_thousandfold(0.0, 0.0)
    assert not units.is_thousandfold(None, 1.0)


@pytest.mark.parametrize(
    ("text", "separated"),
    [
        ("1048576 files", "1,048,576 files"),
        ("(single process 280773, minus 5%)", "(single process 280,773, minus 5%)"),
        ("found 266735.", "found 266,735."),
        ("12345.5 ops/s", "12345.5 ops/s"),
        ("9999 files in 2026", "9999 files in 2026"),
        ("job 123456, line 123456", "job 123456, line 123456"),
        ("/runs/123456/stdout a-123456 12345abc", "/runs/123456/stdout a-123456 12345abc"),
    ],
)
def test_amounts_in_a_text_get_separators_and_names_do_not(text: str, separated: str) -> None:
    assert units.with_separators(text) == separated


def test_separated_digits_are_those_of_the_table() -> None:
    assert [units.separated_digits(value) for value in (1234567.8, -1500.0, 99.96, 0.5)] == [
        *("1,234,568", "-1,500", "100", "0.5"),
    ]
