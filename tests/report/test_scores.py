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


def test_the_results_of_an_offer_have_the_variation_of_their_repetitions(tmp_path: Path) -> None:
    cell = Cell("scratch", "single", "shared", "create")
    entry = OfferedCell(cell, Status.MEASURED, 110.0, "ops/s", values=(90.0, 110.0))
    offer = Offer("a.zip", "a", None, None, None, None, {cell: entry})
    (tmp_path / "rfp.yaml").write_text(RFP)
    (figure,) = offer_figures(rfp.load(tmp_path / "rfp.yaml"), {"fast": offer})
    assert (figure.name, figure.value, figure.repetitions) == ("fast/scratch/single/shared/create", 110.0, 2)
    assert figure.cv == pytest.approx(0.1414, rel=0.01)


FACTS = """
id: x
version: 1
title: X
parts: [{id: fast, pack: p}]
figures:
  used: fast/*/*/*/nodes
  offered: fast/*/*/*/offered.nodes
  memory: fast/*/*/*/memory_used
  rate: fast/scratch/single/shared/create
scores:
  - {id: ssni, title: Speed-up by node and nodes offered, of: [{formula: rate / used * offered, reference: 1}]}
  - {id: lean, title: Rate by memory, of: [{formula: rate / memory, reference: 1}]}
"""


def test_a_score_of_an_offer_may_use_its_counts_and_what_is_offered_but_not_what_its_table_lacks(
    tmp_path: Path,
) -> None:
    (tmp_path / "rfp.yaml").write_text(FACTS)
    buyers_rfp, cells = (
        rfp.load(tmp_path / "rfp.yaml"),
        [Cell("scratch", "single", "shared", name) for name in ("create", "stat")],
    )
    entries = {cell: OfferedCell(cell, Status.MEASURED, 110.0, "ops/s", processes=8, nodes=2) for cell in cells}
    offer = Offer("a.zip", "a", None, None, None, None, entries, proposed={"nodes": 500})
    ssni, lean = compute_scores(buyers_rfp, offer_figures(buyers_rfp, {"fast": offer}))
    assert ssni.value == pytest.approx(110 / 2 * 500)
    assert (lean.value, lean.why) == (None, "fast/scratch/single/shared/memory_used is not in the table")
    bare_offer = replace(offer, proposed={})
    (score, _) = compute_scores(buyers_rfp, offer_figures(buyers_rfp, {"fast": bare_offer}))
    assert score.why == "fast/scratch/single/shared/offered.nodes is not in the table"


# --- scores over what was answered


@pytest.mark.parametrize(("mean", "zero"), [("geometric", 0.0), ("arithmetic", 0.5), ("harmonic", 0.0)])
@pytest.mark.parametrize("lacking", ["not answered", "declined", "invalid"])
def test_a_score_over_what_was_answered_has_the_weights_of_the_rest(
    tmp_path: Path, lacking: str, mean: str, zero: float
) -> None:
    stat = [] if lacking == "not answered" else [replace(RESULTS[2], value=None, status=lacking)]
    reason = "slow/home/single/shared/stat is " + lacking if stat else "stat has no result"
    scores = {
        missing: scores_by_name(
            tmp_path,
            [*RESULTS[:2], *stat],
            RFP.replace('clause: "2"', f"missing: {missing}\n    mean: {mean}"),
        )["both"]
        for missing in ("no value", "skip", "zero")
    }
    assert {score.why for score in scores.values()} == {reason}
    assert scores["no value"].value is None
    assert scores["zero"].value == pytest.approx(zero)
    if lacking == "invalid":
        assert scores["skip"].value is None, "a wrong result is not left out"
    else:
        assert scores["skip"].value == pytest.approx(2.0)
        assert [term.formula for term in scores["skip"].terms] == ["create"]


def test_a_score_of_which_nothing_is_answered_has_no_value(tmp_path: Path) -> None:
    score = scores_by_name(tmp_path, [], RFP.replace('clause: "2"', "missing: skip"))["both"]
    assert (score.value, score.why) == (None, "create has no result; stat has no result")


def published_score(folder: Path, figures: dict[str, float], scores: str) -> dict[str, Scored]:
    """Scores of figures with these values."""
    place = "fast/scratch/single/shared"
    results = [Figure(f"{place}/{name}", value, "", "measured", "") for name, value in figures.items()]
    named = "".join(f"  {name}: {place}/{name}\n" for name in figures)
    text = f"id: x\nversion: 1\ntitle: X\nparts: [{{id: fast, pack: p}}]\nfigures:\n{named}scores:\n{scores}"
    return scores_by_name(folder, results, text)


HOPPER = {"minife": (1065.0, 92.4, 0.00563), "minighost": (3350.0, 96.0, 0.0170), "amg": (1365.0, 151.0, 0.00441),
          "umt": (18409.0, 1263.0, 0.00712)}  # fmt: skip


def test_ssp_is_the_geometric_mean_of_rates_per_node_by_the_nodes_of_the_system(tmp_path: Path) -> None:
    """NERSC's Sustained System Performance: N * geometric mean of (TFLOP count / (time * nodes used)). Counts, times
    and rates of four benchmarks on 2,048 nodes of Hopper, which has N = 6,384:
    www.nersc.gov/systems/trinity-nersc-8-rfp/draft-nersc-8-trinity-benchmarks/ssp/
    """
    rates = "".join(
        f"  - {{id: {name}_rate, title: {name}, of: [{{formula: {count} / {name} / 2048}}]}}\n"
        for name, (count, _, _) in HOPPER.items()
    )
    terms = ", ".join(f"{{formula: nodes_offered * {name}_rate}}" for name in HOPPER)
    figures = {name: time for name, (_, time, _) in HOPPER.items()} | {"nodes_offered": 6384.0}
    scores = published_score(tmp_path, figures, f"{rates}  - {{id: ssp, title: SSP, of: [{terms}]}}\n")
    for name, (_, _, published_rate) in HOPPER.items():
        assert scores[f"{name}_rate"].value == pytest.approx(published_rate, rel=0.003), name
    product = math.prod(published_rate for _, _, published_rate in HOPPER.values())
    assert scores["ssp"].value == pytest.approx(6384 * product**0.25, rel=0.003)


def test_ssi_rewards_fewer_nodes_used_and_more_nodes_offered(tmp_path: Path) -> None:
    """Scalable System Improvement of APEX and Crossroads: the weighted geometric mean of c * U * S, with the capability
    factor c, U = (n_ref / n) * (N / N_ref) and S = t_ref / t. Formula and factors:
    www.nersc.gov/research-and-development/apex/apex-benchmarks/ssi/; the reference is Hopper, as for SSP above.
    """
    nodes_used, capability, weight = 512, {"minife": 4.0, "amg": 1.0}, {"minife": 1.0, "amg": 3.0}
    terms = ", ".join(
        f"{{formula: {factor} * (2048 / nodes_used) * (nodes_offered / 6384) * {HOPPER[name][1]} / {name}, "
        f"weight: {weight[name]}}}"
        for name, factor in capability.items()
    )
    figures = {"minife": 80.0, "amg": 100.0, "nodes_used": float(nodes_used), "nodes_offered": 9504.0}
    ssi = published_score(tmp_path, figures, f"  - {{id: ssi, title: SSI, of: [{terms}]}}\n")["ssi"]
    utilization = (2048 / 512) * (9504 / 6384)
    minife, amg = 4 * utilization * 92.4 / 80, utilization * 151 / 100
    assert ssi.value == pytest.approx((minife * amg**3) ** (1 / 4))


def test_ssni_is_the_speed_up_of_a_node_by_the_ratio_of_the_nodes(tmp_path: Path) -> None:
    """Scaled Single Node Improvement of ATS-5: N * weighted geometric mean of S, with N the nodes offered over those of
    the reference, and S the figure of merit over the reference's: github.com/lanl/benchmarks, introduction. Crossroads,
    the reference, has 6,140 nodes, Sierra 4,284.
    """
    scores = """\
  - id: speed_up
    title: Of a node
    of: [{formula: branson, reference: 50, weight: 2}, {formula: umt, reference: 30}]
  - {id: ssni, title: SSNI, of: [{formula: nodes_offered / 6140 * speed_up}]}
"""
    figures = {"branson": 100.0, "umt": 45.0, "nodes_offered": 4284.0}
    ssni = published_score(tmp_path, figures, scores)["ssni"]
    assert ssni.value == pytest.approx(4284 / 6140 * (2.0**2 * 1.5) ** (1 / 3))
