"""What people read of an answer to an RFP of several parts."""

from __future__ import annotations

from pathlib import Path

import pytest

from campaign.report import whole
from campaign.report.decision import Compliance, DecisionBlock, Step
from campaign.report.scores import Scored

OFFERS = [Path("here/a.yaml"), Path("here/b.zip")]


@pytest.mark.parametrize("style", ["simple", "github"])
def test_the_scores_of_several_offers_stand_beside_each_other_with_all_their_characters(style: str) -> None:
    scored = [[Scored("all", "All", "geometric", 8.81, low=8.7, high=8.92)], [Scored("all", "All", "geometric", 0.5)]]
    text = whole.compared_scores(OFFERS, scored, style)
    for shown in ("here/a.yaml", "here/b.zip", "8.81 (95% interval 8.7 to 8.92)", "0.5"):
        assert shown in text


def test_a_score_without_a_value_says_why() -> None:
    assert whole.value(Scored("all", "All", "geometric", None, why="stat is invalid")) == "no value (stat is invalid)"


def test_the_decision_on_many_parts_shows_the_worst_and_names_the_others() -> None:
    kinds = [Compliance.COMPLIES, Compliance.UNCHECKED, Compliance.BROKEN, *3 * [Compliance.REHEARSAL]]
    blocks = {
        f"p{number}": DecisionBlock(kind.upper(), (), (), "m", "n", (), kind) for number, kind in enumerate(kinds)
    }
    asked = [whole.every_part(["p9"], len(blocks))]
    found = whole.decision_of(("RFP x 1",), asked, blocks, (), Step("you", "campaign verify x.zip"))
    assert found.headline == "BROKEN"
    assert [each.name for each in found.questions] == ["parts", "p2", "p1", "p3", "p4", "p5", "others"]
    assert found.questions[0].reason == "mandatory parts missing: p9"
    assert (found.questions[-1].answer, found.questions[-1].reason) == ("1 more", "p0")
    assert found.steps == (Step("you", "campaign verify x.zip --part p2"),)
