"""The counts that a search proposes: grids over its space."""

from __future__ import annotations

import pytest

from campaign.core.runs import Geometry
from campaign.plan.search.space import SearchSpace, grid, nodes_between, octaves


@pytest.mark.parametrize(
    ("cores", "counts"),
    [
        (64, [1, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64]),
        (48, [1, 3, 4, 6, 8, 12, 16, 24, 32, 48]),
        (56, [1, 4, 8, 14, 28, 56]),
    ],
)
def test_the_grid_fills_groups_of_cores(cores: int, counts: list[int]) -> None:
    processes = [geometry.processes for geometry in grid(SearchSpace(1, 1, cores))]
    assert set(counts) <= set(processes) and len(processes) <= 12


def test_a_limit_of_processes_on_a_node_does_not_change_its_groups_of_cores() -> None:
    assert Geometry(1, 36) in grid(SearchSpace(1, 1, 40, cores=72))


def test_octaves_are_powers_of_two_of_nodes_and_processes_on_each_with_both_ends() -> None:
    assert [str(geometry) for geometry in octaves(SearchSpace(1, 1, 24))] == [
        "1x1",
        "1x2",
        "1x4",
        "1x8",
        "1x16",
        "1x24",
    ]
    assert [str(geometry) for geometry in octaves(SearchSpace(2, 6, 3))] == [
        *("2x1", "2x2", "2x3", "4x1", "4x2", "4x3", "6x1", "6x2", "6x3"),
    ]


def test_where_processes_have_to_divide_a_total_no_other_count_is_in_the_space() -> None:
    assert [str(geometry) for geometry in octaves(SearchSpace(1, 1, 24, 64))] == ["1x1", "1x2", "1x4", "1x8", "1x16"]
    assert all(64 % geometry.processes == 0 for geometry in grid(SearchSpace(1, 1, 24, 64)))


def test_a_space_without_any_count_is_refused() -> None:
    with pytest.raises(ValueError, match="the limits of the search allow no process count"):
        grid(SearchSpace(3, 3, 2, 16))


def test_numbers_of_nodes_beside_a_count_have_small_factors() -> None:
    space = SearchSpace(2, 40, 8)
    assert [geometry.nodes for geometry in nodes_between(space, Geometry(16, 64))] == [
        8,
        10,
        12,
        14,
        16,
        20,
        24,
        28,
        32,
    ]
    assert [geometry.nodes for geometry in nodes_between(space, Geometry(2, 8))] == [2, 3, 4]
    assert [geometry.nodes for geometry in nodes_between(space, Geometry(32, 64))] == [16, 20, 24, 28, 32, 40]
    assert nodes_between(SearchSpace(1, 1, 8), Geometry(1, 4)) == [Geometry(1, 4)]
