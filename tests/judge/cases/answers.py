"""Cases of the rule about waivers."""

from __future__ import annotations

from dataclasses import replace
from datetime import date

from campaign.config.waivers import Answers, Granted, Waiver
from campaign.judge.submission import Submission
from tests.judge.cases import Example, broken, compliant, disclosed
from tests.judge.cases.submissions import good_submission

CELLS = "scratch/node/*/*"
WAIVER = Waiver(CELLS, "RUN-07", "agreed in the answer to question 12", "B. Uyer", date(2026, 11, 1), date(2026, 12, 1))


def granted(signer: str = "", problem: str = "", measured: float = 1763700000.0, **changes: object) -> Submission:
    """A campaign measured at that time (in seconds since 1970; by default on 2025-11-21), with one waiver."""
    submission = good_submission()
    attempts = tuple(replace(attempt, ended=measured) for attempt in submission.attempts)
    waiver = replace(WAIVER, **changes)  # type: ignore[arg-type]
    return replace(submission, attempts=attempts, answers=Answers((Granted(waiver, signer, problem),)))


# What the waivers are, and who signed them, is always there.
ALWAYS_CHECKED = {"WVR-01"}

EXAMPLES: list[Example] = [
    broken(
        "WVR-01",
        "the waiver of RUN-07 is not valid",
        granted(problem="it is not signed"),
        "signed by a key in allowed_signers",
        "it is not signed",
        CELLS,
    ),
    broken(
        "WVR-01",
        "the waiver of RUN-07 has expired",
        granted("buyer@site", measured=1796169600.0),
        "measured until 2026-12-01",
        "2026-12-02",
        CELLS,
    ),
    compliant("WVR-01", "no waivers", good_submission()),
    disclosed(
        "WVR-01",
        "RUN-07 is waived: agreed in the answer to question 12",
        granted("buyer@site"),
        "signed by buyer@site",
        "B. Uyer, 2026-11-01 until 2026-12-01",
        CELLS,
    ),
]
