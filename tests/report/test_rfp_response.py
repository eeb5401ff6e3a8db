"""What people read of an answer to an RFP of several parts."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import pytest

from campaign.config.response import Response
from campaign.config.rfp import Part, Rfp
from campaign.core.findings import Finding, Severity
from campaign.core.runs import Status
from campaign.report import rfp_response
from campaign.report.decision import DecisionBlock
from campaign.report.rfp_judgement import RfpJudgement
from campaign.report.scores import Scored
from tests.report.test_decision import full_submission as submitted

OFFERS = [Path("here/a.yaml"), Path("here/b.zip")]


@pytest.mark.parametrize("style", ["simple", "github"])
def test_the_scores_of_several_offers_stand_beside_each_other_with_all_their_characters(style: str) -> None:
    scored = [[Scored("all", "All", "geometric", 8.81, low=8.7, high=8.92)], [Scored("all", "All", "geometric", 0.5)]]
    text = rfp_response.scores_comparison(OFFERS, scored, style)
    for cell in ("here/a.yaml", "here/b.zip", "8.81 (95% interval 8.7 to 8.92)", "0.5"):
        assert cell in text


def test_a_score_without_a_value_says_why() -> None:
    assert (
        rfp_response.score_text(Scored("all", "All", "geometric", None, why="stat is invalid"))
        == "no value (stat is invalid)"
    )


# --- the decision on all parts, for the vendor

PARTS = tuple(Part(f"p{number}", "test-rules", mandatory=False) for number in range(9))
VIOLATION = Finding("FLG-06", Severity.ERROR, "campaign", "wrong offset")
STATES = {  # of a part, the worst first
    "violated": ("NOT READY", submitted(VIOLATION)),
    "missing": ("NOT READY", submitted(status=Status.MISSING)),
    "rehearsal": ("REHEARSAL", submitted(profile="rehearsal")),
    "ready": ("READY TO HAND IN", submitted()),
}
MAY = {
    "violated": "As it stands, the buyer would reject it.",
    "missing": "What has been measured does not violate a rule that was checked.",
    "complete": "All results are there, and none violates a rule that was checked.",
}


def response_block(unanswered: Sequence[str], *states: str) -> DecisionBlock:
    parts = {f"p{number}": STATES[state][1] for number, state in enumerate(states)}
    mandatory = tuple(Part(part, "test-rules") for part in unanswered)
    rfp = Rfp(path=Path("rfp.yaml"), digest="", id="x", version=1, title="X", parts=(*PARTS, *mandatory))
    response = Response(cast(Any, None), rfp, PARTS[: len(states)])
    return rfp_response.response_decision(response, parts, "c.yaml", RfpJudgement())


@pytest.mark.parametrize("unanswered", [[], ["p9"]])
@pytest.mark.parametrize(("first", "second"), [*itertools.product(STATES, repeat=2)])
def test_the_decision_on_two_parts_is_that_of_both(first: str, second: str, unanswered: list[str]) -> None:
    block, worst = response_block(unanswered, first, second), min(first, second, key=list(STATES).index)
    assert block.headline == ("NOT READY" if unanswered else STATES[worst][0])
    lacking = "missing" if unanswered or "missing" in (first, second) else "complete"
    assert block.may == MAY["violated" if "violated" in (first, second) else lacking]
    assert ("a rehearsal is never compliant" in block.may_not) == ("rehearsal" in (first, second))
    assert {question.name: question.answer for question in block.questions[1:]} == {
        "p0": STATES[first][0],
        "p1": STATES[second][0],
    }
    steps = ["Add part p9 to c.yaml."] if unanswered else []
    if worst != "ready":
        of_worst = next(number for number, state in enumerate((first, second)) if STATES[state][0] == STATES[worst][0])
        steps.append(f"campaign check c.yaml --part p{of_worst}")
    elif not unanswered:
        steps.append("campaign bundle c.yaml -o test.zip --sign KEY")
    assert [step.what for step in block.steps] == steps


def test_the_decision_on_many_parts_shows_the_worst_and_names_the_others() -> None:
    block = response_block(["p9"], "ready", "rehearsal", "missing", *4 * ["ready"])
    assert [question.name for question in block.questions] == ["parts", "p2", "p1", "p0", "p3", "p4", "others"]
    assert block.questions[0].reason == "1 mandatory part is missing: p9."
    assert (block.questions[-1].answer, block.questions[-1].reason) == ("2 more", "2 more: p5, p6.")
