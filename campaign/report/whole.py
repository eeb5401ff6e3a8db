"""What people read of an answer to an RFP of several parts: headings, scores with their derivation, and the page."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from campaign.config.response import Response
from campaign.config.rfp import Part
from campaign.core import atomic, units
from campaign.core.errors import typed, unwritten
from campaign.judge.submission import Submission
from campaign.report import decision, page, printing, table
from campaign.report.scores import Scored

TEMPLATE = "whole.html.j2"
MOST_PARTS = 5  # in a decision
_WORST_FIRST = (
    decision.Compliance.BROKEN,
    decision.Compliance.UNCHECKED,
    decision.Compliance.REHEARSAL,
    decision.Compliance.COMPLIES,
)


def heading(part: Part) -> str:
    title = f": {part.title}" if part.title else ""
    return f"=== part {part.id}{title}{'' if part.mandatory else ' (optional)'} ==="


def as_json(response: Response, texts: Mapping[str, str], scored: Sequence[Scored]) -> str:
    """The JSON of each part, with the scores."""
    rfp = response.rfp
    whole: dict[str, Any] = {
        "format": 1,
        "rfp": {"id": rfp.id, "version": rfp.version, "sha256": rfp.digest},
        "parts": {part: json.loads(text) for part, text in texts.items()},
        "unanswered": [part.id for part in response.unanswered],
        "scores": list(map(asdict, scored)),
    }
    return json.dumps(whole, indent=1) + "\n"


def decision_of(
    about: tuple[str, ...],
    asked: Sequence[decision.Question],
    parts: Mapping[str, decision.DecisionBlock],
    steps: Sequence[decision.Step],
    of_part: decision.Step,
) -> decision.DecisionBlock:
    """Of an answer in parts, which is as good as the worst of them. `asked`, `steps`: about the whole; `of_part`: the
    command for one, without its name.
    """
    worst = sorted(parts, key=lambda part: _WORST_FIRST.index(parts[part].kind))
    shown = [
        decision.Question(
            part, parts[part].headline, "; ".join(f"{step.who}: {step.what}" for step in parts[part].steps)
        )
        for part in worst[:MOST_PARTS]
    ]
    if more := worst[MOST_PARTS:]:
        shown.append(decision.Question("others", f"{len(more)} more", units.listed(more)))
    whole = parts[worst[0]] if worst else decision.DecisionBlock("NOT VALID", (), (), "nothing.", "anything.")
    of_worst = [replace(of_part, what=f"{of_part.what} --part {part}") for part in worst[:1]]
    return replace(whole, about=about, questions=(*asked, *shown), steps=(*steps, *of_worst))


def every_part(unanswered: Sequence[str], number: int) -> decision.Question:
    if unanswered:
        return decision.Question("parts", "NO", f"mandatory parts missing: {', '.join(unanswered)}")
    return decision.Question("parts", "yes", f"{units.several(number, 'part')}, no mandatory one is missing")


def scores_text(scored: Sequence[Scored], width: int, more: bool = True) -> str:
    """Each score, and with `more` below it the numbers that it is computed from."""
    lines = []
    for each in scored:
        lines.append(f"{each.id}: {value(each)}   {each.title}")
        for term in each.terms if more else ():
            share = f"{units.digits(term.value)} / {term.reference:g}, weight {term.weight:g}"
            lines += printing.wrapped(f"{term.formula}: {share}", width, "  ", "      ")
        for figure in each.figures if more else ():
            lines += printing.wrapped(f"{figure.name}: {figure.origin}", width, "    ", "      ")
    return "\n".join(lines)


def value(score: Scored) -> str:
    """A score with its interval, or why it has no value."""
    if score.value is None:
        return f"no value ({score.why})"
    if score.low is None or score.high is None:
        return units.digits(score.value)
    return f"{units.digits(score.value)} (95% interval {units.digits(score.low)} to {units.digits(score.high)})"


def compared_scores(offers: Sequence[Path], scored: Sequence[Sequence[Scored]], style: str) -> str:
    """The scores of several offers, each with its interval."""
    headers = ["score", *map(str, offers)]
    body = [[of_offers[0].id, *map(value, of_offers)] for of_offers in zip(*scored, strict=True)]
    return printing.document([printing.grid(headers, body, style, headers)], style) + "\n" if body else ""


def comparison_json(texts: Mapping[str, str], offers: Sequence[Path], scored: Sequence[Sequence[Scored]]) -> str:
    of_offers = [
        {"offer": str(path), "scores": list(map(asdict, of_one))} for path, of_one in zip(offers, scored, strict=True)
    ]
    parts = {part: json.loads(text) for part, text in texts.items()}
    return json.dumps({"format": 1, "parts": parts, "offers": of_offers}, indent=1) + "\n"


def write_page(
    directory: Path,
    response: Response,
    parts: Mapping[str, Submission],
    reports: Mapping[str, Path],
    scored: Sequence[Scored],
) -> Path:
    """Write the page of all parts, as judged; `reports`: the directories of their own. Gives the path."""
    folded = [
        {
            "part": part,
            "decision": decision.of_campaign(judged, typed(judged.campaign.path.name, part.id)),
            "table": table.printed(judged.rows, judged.campaign, judged.pack, "simple", details=True),
            "link": os.path.relpath(reports[part.id] / "index.html", directory),
        }
        for part in response.parts
        for judged in [parts[part.id]]
    ]
    path = directory / "index.html"
    try:
        directory.mkdir(parents=True, exist_ok=True)
        atomic.write(
            path,
            page.rendered(TEMPLATE, response=response, scored=scored, parts=folded, value=value, digits=units.digits),
        )
    except OSError as error:
        raise unwritten(error, f"{path}: cannot be written: {error.strerror}") from error
    return path
