"""What people read of an answer to an RFP of several parts."""

from __future__ import annotations

from pathlib import Path

import pytest

from campaign.report import whole
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
