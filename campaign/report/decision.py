"""The decision that comes first on a screen: what was asked and answered, what follows from it, and what to do next.
Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from campaign.core.escaping import plain
from campaign.report import printing

MOST_STEPS = 4
VENDOR, YOU = "vendor", "you"


@dataclass(frozen=True, slots=True)
class Question:
    name: str
    answer: str
    reason: str  # the one that matters


@dataclass(frozen=True, slots=True)
class Step:
    who: str
    what: str  # a command, or a sentence


@dataclass(frozen=True, slots=True)
class DecisionBlock:
    headline: str
    about: tuple[str, ...]
    questions: tuple[Question, ...]
    may: str  # what may be concluded
    may_not: str
    steps: tuple[Step, ...] = ()

    @property
    def sentence(self) -> str:
        """All answers in one line."""
        answers = "; ".join(f"{each.name} {each.answer} ({each.reason})" for each in self.questions)
        return f"{self.headline}: {answers}"

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def printed(decision: DecisionBlock, width: int) -> str:
    """As text, on a terminal of this width."""
    return "\n".join(_lines(decision, width))


def _lines(decision: DecisionBlock, width: int) -> Iterator[str]:
    yield from printing.wrapped("  ".join(map(plain, (decision.headline, *decision.about))), width, "", "  ")
    names, answers = (max(map(len, column)) for column in zip(*_answers(decision.questions), strict=True))
    for question in decision.questions:
        first = f"  {question.name:{names}}  {question.answer:{answers}}  "
        yield from printing.wrapped(plain(question.reason), width, first, " " * len(first))
    yield from printing.wrapped(plain(decision.may), width, "You may conclude:  ", " " * 19)
    yield from printing.wrapped(plain(decision.may_not), width, "You may not:       ", " " * 19)
    shown = decision.steps[:MOST_STEPS]
    for number, step in enumerate(shown, 1):
        first = f"{'Next' if number == 1 else '':4}  {number} {step.who:6}  "
        yield from printing.wrapped(plain(step.what), width, first, " " * len(first))
    if more := len(decision.steps) - len(shown):
        yield f"      and {more} more: --details"


def _answers(questions: Sequence[Question]) -> list[tuple[str, str]]:
    return [(each.name, each.answer) for each in questions]
