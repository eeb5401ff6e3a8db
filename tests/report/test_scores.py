"""Scores across the parts of an RFP, each traced to the results that it is from."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest

from campaign.config import rfp
from campaign.core.runs import Cell, Status
from campaign.report.compare.offers import Offer, OfferedCell
from campaign.report.scores import Figure, Scored, compute_scores, offer_figures
from tests.support.rfp import RFP

RESULTS = [
    Figure("fast/scratch/single/shared/create", 200.0, "ops/s", "measured", "line 3"),
    Figure("fast/scratch/single/unique/create", 10.0, "ops/s", "measured", "line 4"),
    Figure("slow/home/single/shared/stat", 100.0, "ops/s", "measured", "line 5"),
    Figure("slow/home/single/shared/create", 50.0, "ops/s", "measured", "line 6"),
]


def scores_by_name(folder: Path, results: list[Figure], text: str = RFP) -> dict[str, Scored]:
    (folder / "rfp.yaml").write_text(text)
    return {scored.id: scored for scored in compute_scores(rfp.load(folder / "rfp.yaml"), results)}


def test_a_score_is_the_weighted_mean_of_its_terms_by_their_references(tmp_path: Path) -> None:
    score = scores_by_name(tmp_path, RESULTS)["both"]
    assert score.value == pytest.approx(math.exp((math.log(2.0) + 3 * math.log(0.5)) / 4))
    assert [(term.formula, term.value, term.weight) for term in score.terms] == [("create", 200, 1), ("stat", 100, 3)]
    assert [figure.origin for figure in score.figures] == ["line 3", "line 5"]


def test_a_score_may_use_scores_above_it_and_the_best_of_several_results(tmp_path: Path) -> None:
    scores = scores_by_name(tmp_path, RESULTS)
    assert scores["total"].value == pytest.approx((scores["both"].value or 0) / 2 + 100)


@pytest.mark.parametrize(("mean", "value"), [("arithmetic", 0.875), ("harmonic", 4 / (1 / 2 + 3 / 0.5))])
def test_a_mean_may_be_of_another_kind(tmp_path: Path, mean: str, value: float) -> None:
    scores = scores_by_name(tmp_path, RESULTS, RFP.replace("title: Both tiers", f"title: Both tiers\n    mean: {mean}"))
    assert scores["both"].value == pytest.approx(value)


def test_a_result_without_a_valid_value_leaves_scores_without_one_and_says_why(tmp_path: Path) -> None:
    scores = scores_by_name(tmp_path, [*RESULTS[:2], replace(RESULTS[2], value=None, status="invalid"), RESULTS[3]])
    assert (scores["both"].value, scores["both"].why) == (None, "slow/home/single/shared/stat is invalid")
    assert (scores["total"].value, scores["total"].why) == (None, "both has no result")


def test_a_part_that_is_not_answered_leaves_scores_without_a_value(tmp_path: Path) -> None:
    assert scores_by_name(tmp_path, RESULTS[:2])["both"].why == "stat has no result"


def test_a_name_of_several_results_needs_to_say_how_they_are_joined(tmp_path: Path) -> None:
    scores = scores_by_name(tmp_path, RESULTS, RFP.replace("max(creates)", "creates"))
    assert scores["total"].why == "creates is 2 results: name one of them, or write mean(creates)"


def test_a_mean_that_has_no_value_says_why(tmp_path: Path) -> None:
    scores = scores_by_name(tmp_path, [replace(RESULTS[0], value=-1.0), *RESULTS[1:]])
    assert scores["both"].why == "a geometric mean needs numbers above 0; found -0.01"


def test_where_every_result_was_repeated_a_score_has_an_interval(tmp_path: Path) -> None:
    assert scores_by_name(tmp_path, RESULTS)["both"].low is None
    score = scores_by_name(tmp_path, [replace(figure, cv=0.1, repetitions=4) for figure in RESULTS])["both"]
    deviation = 0.05 * math.sqrt(1 + 9) / 4  # of the logarithm of the score
    assert score.value is not None and score.low is not None and score.high is not None
    assert math.log(score.value / score.low) == pytest.approx(1.96 * deviation, rel=0.15)
    assert math.log(score.high / score.value) == pytest.approx(1.96 * deviation, rel=0.15)


def test_the_results_of_an_offer_have_the_variation_of_their_repetitions() -> None:
    cell = Cell("scratch", "single", "shared", "create")
    entry = OfferedCell(cell, Status.MEASURED, 110.0, "ops/s", values=(90.0, 110.0))
    offer = Offer("a.zip", "a", None, None, None, None, {cell: entry})
    (figure,) = offer_figures({"fast": offer})
    assert (figure.name, figure.value, figure.repetitions) == ("fast/scratch/single/shared/create", 110.0, 2)
    assert figure.cv == pytest.approx(0.1414, rel=0.01)
