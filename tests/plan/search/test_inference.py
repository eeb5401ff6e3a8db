"""What the runs of a search say: which counts may be the minimum, and what disturbed runs do to that."""

from __future__ import annotations

import math
import random
import subprocess
import sys
from dataclasses import replace

import pytest

from campaign.core.runs import Geometry
from campaign.plan.search import curve, inference, records
from campaign.plan.search.records import Settings
from campaign.plan.search.space import SearchSpace
from tests.bench import search_families
from tests.support.searched import Curve, Machine, decide, knee_at, seed_of


def even_in_groups(geometry: Geometry) -> float:
    return min(geometry.processes, 40) * (1.0 if geometry.processes_per_node % 8 == 0 else 0.85)


@pytest.mark.parametrize(
    ("space", "rates", "minimum", "searches"),
    [
        (SearchSpace(1, 1, 64), knee_at(16), 16, 6),
        (SearchSpace(1, 1, 64), even_in_groups, 40, 5),
        (SearchSpace(2, 8, 16), knee_at(40), 39, 4),
    ],
    ids=["flat from 16", "groups of 8 cores", "several nodes"],
)
def test_the_true_minimum_lies_between_the_counts_that_are_named(
    space: SearchSpace, rates: Curve, minimum: int, searches: int
) -> None:
    """At 10% noise, in 96% of searches; on several nodes most of the counts have no runs."""
    hits = 0
    for number in range(searches):
        decision = decide(space, Machine(rates, 0.1, f"held{number}"), Settings(str(number)))
        hits += decision.possible_counts[0].processes <= minimum <= decision.possible_counts[-1].processes
    assert hits >= 0.8 * searches


def test_the_first_of_the_counts_that_cannot_be_told_apart_is_named_though_it_has_no_runs() -> None:
    decision = decide(SearchSpace(2, 8, 16), Machine(knee_at(40), 0.1), Settings("seed"))
    measured = {request.geometry for request in decision.requests}
    assert not measured.issuperset(decision.possible_counts)
    assert decision.further > 0


@pytest.mark.parametrize("knee", [7, 10, 19, 23])
def test_no_count_next_to_the_possible_ones_is_excluded_without_runs_of_its_own(knee: int) -> None:
    decision = decide(SearchSpace(1, 1, 32), Machine(knee_at(knee), 0.05), Settings("seed"))
    measured = {request.geometry for request in decision.requests}
    fewest = decision.possible_counts[0]
    assert fewest not in measured or fewest.processes == 1 or Geometry(1, fewest.processes - 1) in measured


@pytest.mark.parametrize(("rate", "is_excluded"), [(0.6, True), (0.93, False)])
def test_a_count_is_excluded_by_its_own_runs_only_if_they_are_clearly_below_the_margin(
    rate: float, is_excluded: bool
) -> None:
    """At 5% noise, by two runs."""
    chance = random.Random("noise")
    rates = {Geometry(1, 7): rate, Geometry(1, 8): 1.0, Geometry(1, 16): 1.0}
    logs = tuple(
        (("confirm", block), geometry, math.log(rate_of_count) + chance.gauss(0, 0.05))
        for block in range(8)
        for geometry, rate_of_count in rates.items()
        if block < 2 or rate_of_count == 1.0
    )
    lower_is_below_by_its_runs = inference._is_below_by_its_runs(
        curve.robust_runs(logs), Geometry(1, 7), Geometry(1, 8), Settings("seed")
    )
    assert lower_is_below_by_its_runs == is_excluded


@pytest.mark.parametrize("seed", ["1", "2", "3", "4"])
def test_disturbed_runs_do_not_move_the_minimum(seed: str) -> None:
    """8% of the runs at 40% of their rate."""

    class Disturbed(Machine):
        def __getitem__(self, request: records.SearchRequest) -> records.Outcome:
            point = super().__getitem__(request)
            slow = random.Random(f"slow{seed}{seed_of(request)}").random() < 0.08
            return replace(point, rate=point.rate * 0.4) if slow and point.rate else point

    decision = decide(SearchSpace(1, 1, 32), Disturbed(knee_at(16), 0.01, seed), Settings(seed))
    assert decision.geometry == Geometry(1, 16)
    assert decision.possible_counts[0].processes >= 13


# --- the runs that the model is given


def test_of_two_runs_of_which_one_was_disturbed_that_one_has_little_weight() -> None:
    counts = [Geometry(1, number) for number in range(1, 9)]
    noise = random.Random(1)
    logs = [
        ((f"grid{block}", block), geometry, math.log(geometry.processes) + noise.gauss(0, 0.01))
        for block in (1, 2)
        for geometry in counts
    ]
    block, geometry, value = logs[3]
    logs[3] = block, geometry, value + math.log(0.4)
    runs = curve.robust_runs(tuple(logs))
    assert runs.weights[3] < 0.1 < 0.5 < runs.weights[0]
    assert runs.effect[geometry] - runs.effect[counts[0]] == pytest.approx(math.log(4), abs=0.05)
    assert runs.deviation < 0.03


def test_a_factor_of_first_runs_is_estimated_and_does_not_change_a_count() -> None:
    counts, noise, logs = [Geometry(1, number) for number in range(1, 9)], random.Random(1), []
    for block in range(1, 6):
        for geometry in counts[:4] if block < 3 else counts:
            cold = math.log(0.6) if geometry not in {count for _, count, _ in logs} else 0.0
            value = math.log(geometry.processes) + cold + noise.gauss(0, 0.01)
            logs.append(((f"grid{block}", block), geometry, value))
    effect = curve.robust_runs(tuple(logs)).effect
    for geometry in counts:
        assert effect[geometry] - effect[counts[0]] == pytest.approx(math.log(geometry.processes), abs=0.04)


def test_runs_without_any_noise_leave_each_count_a_run() -> None:
    logs = tuple(
        ((f"b{block}", block), Geometry(1, processes), float(processes))
        for block in range(3)
        for processes in (1, 2, 3)
    )
    assert set(curve.robust_runs(logs).effect) == {Geometry(1, 1), Geometry(1, 2), Geometry(1, 3)}


def test_curves_drawn_with_the_same_seed_are_the_same() -> None:
    counts = [Geometry(1, number) for number in (1, 2, 4, 8)]
    runs = curve.robust_runs(
        tuple((("b", block), geometry, float(geometry.processes)) for block in range(2) for geometry in counts)
    )
    first, repeated, other = (curve.draw_curves(runs, counts, 8, seed, 16).tolist() for seed in ("a", "a", "b"))
    assert first == repeated != other


def test_numpy_is_loaded_only_where_a_search_is_replayed() -> None:
    code = "import sys, campaign.plan.adaptive; sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], timeout=800, check=False).returncode == 0


def test_where_the_runs_refute_every_likely_count_none_of_these_is_the_answer() -> None:
    """A search whose rates drifted, so that the runs refuted the peak of the curves that they allow."""
    assert not search_families.search("drift", "peak", 0.1, 5978).contradicts
