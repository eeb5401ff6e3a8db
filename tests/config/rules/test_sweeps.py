from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from campaign.config.rules import sweeps
from campaign.config.rules.sweeps import Sweep


def test_a_placeholder_is_filled_wherever_it_stands_in_a_word_and_an_unknown_one_stays() -> None:
    text = "f{directory}/{name}.dat {name}{other}"
    assert sweeps.names(text) == ("directory", "name", "other")
    assert sweeps.fill(text, {"name": "x", "directory": "/d"}) == "f/d/x.dat x{other}"


@pytest.mark.parametrize(
    ("text", "remainder"), [("a{b}c", ""), ("a{B}", "{B}"), ("a}b", "}b"), ("{a", "{a"), ("{}", "{}")]
)
def test_a_brace_that_belongs_to_no_placeholder_is_found(text: str, remainder: str) -> None:
    assert sweeps.stray_brace(text) == remainder


@pytest.mark.parametrize(
    ("sweep", "values"),
    [
        (Sweep("s", values="64m, 1g"), ("64m", "1g")),
        (Sweep("s", values="{memory}"), ("1m", "2m")),
        (Sweep("s", first="1", last="1048576", times="4"), tuple(str(4**power) for power in range(11))),
        (Sweep("s", first="1", last="{pairs}", plus="1"), ("1", "2", "3")),
        (Sweep("s", first="256", last="1000", times="2"), ("256", "512")),
        (Sweep("s", first="1", last="6", times="2", always_last=True), ("1", "2", "4", "6")),
        (Sweep("s", first="1", last="8", times="2", always_last=True), ("1", "2", "4", "8")),
        (Sweep("s", first="3", last="3", plus="5"), ("3",)),
    ],
)
def test_a_sweep_goes_through_its_values(sweep: Sweep, values: tuple[str, ...]) -> None:
    assert sweep.expand({"memory": "1m,2m", "pairs": "3"}) == values


@pytest.mark.parametrize(
    ("sweep", "reason"),
    [
        (Sweep("s", values="1,,2"), "sweep s: 1,,2; allowed: values that differ, none empty"),
        (Sweep("s", values="1,1"), "sweep s: 1,1; allowed: values that differ, none empty"),
        (Sweep("s", first="2", last="1", plus="1"), "sweep s: first 2 is above last 1"),
        (Sweep("s", first="1", last="9", times="1"), "sweep s: times is '1'; allowed: a whole number of 2 or more"),
        (Sweep("s", first="0", last="9", plus="1"), "sweep s: first is '0'; allowed: a whole number of 1 or more"),
        (Sweep("s", first="1", last="{x}", plus="1"), "sweep s: last is '{x}'; allowed: a whole number of 1 or more"),
        (Sweep("s", first="1", last="1m", plus="1"), "sweep s: last is '1m'; allowed: a whole number of 1 or more"),
        (Sweep("s", first="1", last="5000", plus="1"), "sweep s: more than 1000 values from 1 to 5000"),
    ],
)
def test_a_sweep_that_cannot_be_says_why(sweep: Sweep, reason: str) -> None:
    with pytest.raises(ValueError) as caught:
        sweep.expand({})
    assert str(caught.value) == reason


@given(st.integers(1, 1000), st.integers(1, 10**6), st.integers(2, 100), st.booleans())
def test_a_sweep_rises_from_its_first_value_and_never_goes_above_its_last(
    first: int, span: int, times: int, always_last: bool
) -> None:
    last = first + span
    values = [int(v) for v in Sweep("s", "", str(first), str(last), str(times), "", always_last).expand({})]
    assert values[0] == first
    assert values == sorted(set(values))
    assert values[-1] <= last < values[-1] * times or (always_last and values[-1] == last)


def test_sweeps_are_combined_with_the_one_named_first_changing_most_slowly() -> None:
    values = {"a": ("1", "2"), "b": ("x", "y"), "unused": ("9",)}
    assert ["".join(at.values()) for at in sweeps.combinations("{a}-{b}-{unknown}", values)] == ["1x", "1y", "2x", "2y"]
    assert list(sweeps.combinations("plain", values)) == [{}]
