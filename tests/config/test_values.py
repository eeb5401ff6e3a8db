"""Numbers of nodes and of processes per node as a share of what there is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from campaign.config import values
from campaign.config.launch import AllCores
from campaign.core.runs import Geometry


@pytest.mark.parametrize(
    ("text", "of_100", "of_7"),
    [("3", 3, 3), ("all", 100, 7), ("half", 50, 4), ("10%", 10, 1), ("12.5%", 13, 1), ("power of two", 64, 4)],
)
def test_a_share_is_rounded_up_and_a_power_of_two_fits(text: str, of_100: int, of_7: int) -> None:
    assert [values.share_of(values.parse_share(text), available) for available in (100, 7)] == [of_100, of_7]


@pytest.mark.parametrize("text", ["0", "-1", "1000001", "1.5", "0%", "101%", "half of it", "", "10 %"])
def test_what_is_no_count_is_refused_with_what_is_allowed(text: str) -> None:
    with pytest.raises(
        ValueError, match="allowed: a whole number from 1 to 1000000, all, half, power of two, or a share"
    ):
        values.parse_share(text)


@given(st.sampled_from(["all", "half", "0.1%", "33.3%", "power of two"]), st.integers(1, 10**6))
def test_a_share_is_at_least_one_and_at_most_all(text: str, available: int) -> None:
    assert 1 <= values.share_of(values.parse_share(text), available) <= available


def test_a_geometry_is_settled_by_the_nodes_and_cores_of_the_partition() -> None:
    assert AllCores().geometry(9, 8) == Geometry(9, 72)
    assert AllCores("10%", "half").geometry(25, 7) == Geometry(3, 12)
    assert AllCores(4, "power of two").geometry(9, 12) == Geometry(4, 32)
