"""Designs of samples: the fewest measurements that keep the asked rates, which are those of every possible drawing."""

from __future__ import annotations

import itertools
import math
from pathlib import Path

import pytest
import scipy  # its parts are loaded where a test uses them

from campaign.statistics import designs
from campaign.statistics.designs import Aims, Design, Noise

AIMS = Aims(honest=0.05, inflation=0.15, share=0.25, power=0.9)


def sigma(noise: float) -> float:
    return math.sqrt(math.log1p(noise**2))


@pytest.mark.parametrize(
    ("noise", "repetitions", "cells", "measurements", "limit"),
    [(0.02, 1, 8, 1, 0.92), (0.05, 3, 13, 2, 0.88), (0.05, 12, 9, 2, 0.9), (0.1, 12, 19, 5, 0.86)],
)
def test_the_fewest_measurements_that_keep_the_aims_are_chosen(
    noise: float, repetitions: int, cells: int, measurements: int, limit: float
) -> None:
    noises = [Noise(sigma(noise), repetitions)] * 36
    design, keeps = designs.design(noises, AIMS)
    assert (design, keeps) == (Design(cells, measurements, limit), True)
    honest, _, caught = designs.outcome_probabilities(noises, AIMS, design)
    assert honest <= AIMS.honest and caught >= AIMS.power


@pytest.mark.parametrize("noise", [0.001, 0.02, 0.05])
def test_no_sample_of_fewer_than_8_of_36_cells_shows_a_quarter_of_inflated_ones(noise: float) -> None:
    noises = [Noise(sigma(noise), 100)] * 36
    assert not any(designs.design(noises, AIMS, Design(cells, 0, 0.0))[1] for cells in range(1, 8))
    assert designs.design(noises, AIMS, Design(8, 0, 0.0))[1]


def test_what_is_fixed_is_kept_and_the_nearest_design_is_given_where_none_keeps_the_aims() -> None:
    noises = [Noise(sigma(0.1), 1)] * 36
    fixed = Design(3, 2, 0.95)
    assert designs.design(noises, AIMS, fixed) == (fixed, False)
    design, keeps = designs.design(noises, AIMS)
    assert (design.cells, design.repetitions, keeps) == (36, 100, False)
    assert designs.design(noises[:2], AIMS)[0].cells == 2


def test_the_rates_are_those_of_all_drawings_of_cells_with_a_noise_of_their_own() -> None:
    noises = [Noise(0.02 + 0.01 * place, 1 + place % 3) for place in range(7)]
    design, aims = Design(3, 2, 0.92), Aims(0.05, 0.2, 0.25, 0.9)
    spreads = [noise.spread(2) for noise in noises]
    passes = [float(scipy.special.ndtr(-math.log(0.92) / spread)) for spread in spreads]
    lower = [float(scipy.special.ndtr((-math.log(0.92) - math.log(1.2)) / spread)) for spread in spreads]
    drawings = list(itertools.combinations(range(7), 3))

    def rejected(inflated: tuple[int, ...]) -> float:
        chances = [lower[place] if place in inflated else passes[place] for place in range(7)]
        return 1 - sum(math.prod(chances[place] for place in drawing) for drawing in drawings) / len(drawings)

    honest, undecided, caught = designs.outcome_probabilities(noises, aims, design)
    assert honest == pytest.approx(rejected(()))
    # Two of seven cells are the quarter that is inflated; the offer that is caught least often chooses them.
    assert caught == pytest.approx(min(rejected(pair) for pair in itertools.combinations(range(7), 2)))
    chances_above = [float(scipy.special.ndtr(-math.log(design.ceiling(noise)) / noise.spread(2))) for noise in noises]
    chances_within = [chance - above for chance, above in zip(passes, chances_above, strict=True)]
    accepted_share = sum(math.prod(chances_within[place] for place in drawing) for drawing in drawings) / len(drawings)
    assert undecided == pytest.approx(1 - accepted_share - honest)
    of_two = designs.outcome_probabilities(noises, aims, design, [0.2 * (place in (0, 4)) for place in range(7)])[2]
    assert of_two == pytest.approx(rejected((0, 4)))


def test_a_cell_is_too_fast_beyond_what_noise_and_limit_explain() -> None:
    assert Design(8, 1, 0.5).ceiling(Noise(0.01, 1)) == 2.0
    assert Design(8, 1, 0.95).ceiling(Noise(0.1, 1)) == pytest.approx(math.exp(3 * 0.1 * math.sqrt(2)))


@pytest.mark.parametrize("freedom", [2, 8, 30])
def test_more_noise_than_assumed_is_seen_at_its_level(freedom: int) -> None:
    limit = scipy.stats.chi2.ppf(0.999, freedom) / freedom
    assert not designs.is_noisier(0.97 * limit, freedom) and designs.is_noisier(1.03 * limit, freedom)


def test_the_table_of_designs_in_the_documentation_is_what_is_chosen() -> None:
    lines = (Path(__file__).parents[2] / "docs/evidence.md").read_text().splitlines()
    start = next(place for place, line in enumerate(lines) if line.startswith("| noise of a repetition |")) + 2
    rows = [line.strip("| ").split(" | ") for line in itertools.takewhile(lambda line: line, lines[start:])]
    assert len(rows) == 5
    for noise, bundle, *texts in rows:
        noises = [Noise(sigma(float(noise.rstrip("%")) / 100), int(bundle.split()[0]))] * 36
        design, keeps = designs.design(noises, AIMS)
        assert [str(design.cells), str(design.repetitions), f"{design.limit:.2f}"] == texts
        assert keeps
