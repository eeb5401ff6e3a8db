"""What people read of an answer to an RFP of several parts: headings, scores with their derivation, and the page."""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

from campaign.config.response import Response
from campaign.config.rfp import Part, Rfp
from campaign.core import outputs, units
from campaign.core.columns import sequence_columns
from campaign.core.errors import typed_path, writing
from campaign.core.findings import Move
from campaign.judge.compliance import count_states
from campaign.judge.submission import Submission
from campaign.report import clauses, decision, findings_view, grid, page, printing, scores, table
from campaign.report.decision import VENDOR, Compliance, Mark, Question, Readiness, Step
from campaign.report.rfp_judgement import RfpJudgement
from campaign.report.scores import Scored

TEMPLATE = "response.html.j2"
MOST_PARTS = 5  # in a decision


def part_heading(part: Part) -> str:
    title = f": {part.title}" if part.title else ""
    return f"=== part {part.id}{title}{'' if part.mandatory else ' (optional)'} ==="


def join_parts(style: str, rfp: Rfp | None, texts: Mapping[str, str], /, **facts: Any) -> str:
    """The CSV, JSON or printed text of all parts from that of each; a part without others has its own. `facts`: what
    the JSON has about all parts together.
    """
    if rfp is None or not texts:
        return "".join(texts.values())
    if style == "csv":
        return _join_csv(texts)
    if style == "json":
        parts = {part: json.loads(text) for part, text in texts.items()}
        return json.dumps({"format": 1, **facts, "parts": parts}, indent=1) + "\n"
    return "\n".join(f"{part_heading(rfp.part(part))}\n{text}" for part, text in texts.items())


def _join_csv(texts: Mapping[str, str]) -> str:
    """The tables of all parts, with a column for the part."""
    rows = [{"part": part, **row} for part, text in texts.items() for row in csv.DictReader(io.StringIO(text))]
    columns = dict.fromkeys(name for row in rows for name in row) or {"part": None}
    return printing.as_csv([*columns], (dict.fromkeys(columns) | row for row in rows))


def response_text(style: str, response: Response, texts: Mapping[str, str], judgement: RfpJudgement) -> str:
    """The CSV or JSON of all parts of a response, with what they show together."""
    rfp = response.rfp
    facts = {
        "rfp": {"id": rfp.id, "version": rfp.version, "sha256": rfp.digest},
        "unanswered": [part.id for part in response.unanswered],
        "scores": list(map(asdict, judgement.scored)),
        "rfp_findings": [finding.as_json() for finding in judgement.findings],
        "rfp_clauses": [line.as_json() for line in judgement.clauses],
    }
    return join_parts(style, rfp, texts, **facts)


def response_decision(
    response: Response, parts: Mapping[str, Submission], file: Path | str, judgement: RfpJudgement
) -> decision.DecisionBlock:
    """For the vendor, from the results and findings of all parts. `file`: the campaign file, as it is typed."""
    rfp, unanswered = response.rfp, [part.id for part in response.unanswered]
    blocks = {
        part: decision.campaign_decision(submission, typed_path(file, part)) for part, submission in parts.items()
    }
    states = {part: Readiness(block.headline) for part, block in blocks.items()}
    order = worst_first(states)
    worst = states[order[0]]
    of_rfp = decision.SortedFindings(judgement.findings)
    rows = [row for submission in parts.values() for row in submission.rows]
    is_complete = not unanswered and decision.completeness(rows).answer == "yes"
    steps = [Step(VENDOR, f"Add part {part} to {typed_path(file)}.") for part in unanswered]
    if worst is not Readiness.READY:
        steps.append(Step(VENDOR, f"campaign check {typed_path(file, order[0])}"))
    steps += decision.vendor_steps([*of_rfp.violated, *of_rfp.by_move(Move.VENDOR)], typed_path(file))
    if worst is Readiness.READY and not (unanswered or of_rfp.violated):
        name = parts[order[0]].campaign.name.removesuffix(f"-{order[0]}")
        steps.append(Step(VENDOR, f"campaign bundle {typed_path(file)} -o {name}.zip --sign KEY"))
    is_broken = bool(unanswered or of_rfp.violated)
    return decision.DecisionBlock(
        Readiness.NOT_READY if unanswered or (of_rfp.violated and worst is Readiness.READY) else worst,
        (f"RFP {rfp.id} {rfp.version}",),
        (
            parts_question(unanswered, len(parts)),
            *rfp_questions(judgement, is_for_vendor=True),
            *part_questions({part: blocks[part] for part in order}),
        ),
        decision.vendor_conclusion(is_complete, decision.vendor_findings(*parts.values(), of_rfp=judgement.findings)),
        decision.vendor_caveat(all(submission.campaign.profile == "full" for submission in parts.values())),
        tuple(steps),
        Compliance.BROKEN if is_broken else min((block.kind for block in blocks.values()), key=list(Compliance).index),
        f"campaign check {typed_path(file)}",
    )


def worst_first(states: Mapping[str, StrEnum]) -> list[str]:
    """The parts by their states, which are of an enumeration that begins with the worst."""
    return sorted(states, key=lambda part: list(type(states[part])).index(states[part]))


def part_questions(blocks: Mapping[str, decision.DecisionBlock]) -> Iterator[Question]:
    """A line for each of the first parts, and one for all others."""
    for part, block in list(blocks.items())[:MOST_PARTS]:
        question = block.worst_question
        text = f"{part} is {block.headline}" + (f": {question.reason}" if question.mark is not Mark.OK else ".")
        yield Question(part, block.headline, text, question.mark)
    if other_parts := list(blocks)[MOST_PARTS:]:
        answer = f"{len(other_parts)} more"
        mark = max((blocks[part].worst_question.mark for part in other_parts), key=list(Mark).index)
        yield Question("others", answer, f"{answer}: {units.listing(other_parts)}.", mark)


def parts_question(unanswered: Sequence[str], number: int) -> Question:
    if unanswered:
        parts, verb = units.plural(len(unanswered), "mandatory part"), "is" if len(unanswered) == 1 else "are"
        return Question("parts", "NO", f"{parts} {verb} missing: {', '.join(unanswered)}.", Mark.BAD)
    verb = "is" if number == 1 else "are"
    return Question(
        "parts", "yes", f"{units.plural(number, 'part')} {verb} there; no mandatory part is missing.", Mark.OK
    )


def rfp_questions(judgement: RfpJudgement, is_for_vendor: bool) -> Iterator[Question]:
    """Whether the parts together meet the RFP's conditions, and what of that the buyer has to accept."""
    findings = decision.SortedFindings(judgement.findings)
    if judgement.conditions:
        kept = f"All conditions of the RFP are met ({judgement.conditions})."
        yield replace(decision.rules_question(findings, is_for_vendor, kept), name="RFP")
    if findings.undecided:
        yield decision.decisions_question(decision.open_decisions(findings.undecided, ()), is_for_vendor, "")


def judgement_text(judgement: RfpJudgement, width: int, with_terms: bool = True) -> str:
    """The scores, the findings about all parts together, and how many clauses are in which state; "" if there is
    nothing of these.
    """
    lines = [scores_text(judgement.scored, width, with_terms)] if judgement.scored else []
    lines += findings_view.finding_lines(judgement.findings)
    return "\n".join([*lines, *([count_states(judgement.clauses)] if judgement.clauses else [])])


def scores_text(scored: Sequence[Scored], width: int, with_terms: bool = True) -> str:
    """Each score, and with `with_terms` below it the numbers that it is computed from."""
    lines = []
    for score in scored:
        lines.append(f"{score.id}: {score_text(score)}   {score.title}")
        for term in score.terms if with_terms else ():
            share = f"{units.digits(term.value)} / {term.reference:g}, weight {term.weight:g}"
            lines += printing.wrap(f"{term.formula}: {share}", width, "  ", "      ")
        for figure in score.figures if with_terms else ():
            lines += printing.wrap(f"{figure.name}: {figure.origin}", width, "    ", "      ")
    return "\n".join(lines)


def score_text(score: Scored) -> str:
    """A score with its interval and what it lacks, or why it has no value."""
    if score.value is None:
        return f"no value ({score.why})"
    details = (
        [f"95% interval {units.digits(score.low)} to {units.digits(score.high)}"]
        if score.low is not None and score.high is not None
        else []
    )
    details += [score.why] * bool(score.why)
    return f"{units.digits(score.value)} ({'; '.join(details)})" if details else units.digits(score.value)


def scores_comparison(offers: Sequence[Path], scored: Sequence[Sequence[Scored]], style: str) -> str:
    """The scores of several offers, each with its interval."""
    columns = sequence_columns("score", *map(str, offers))
    body = [[of_offers[0].id, *map(score_text, of_offers)] for of_offers in zip(*scored, strict=True)]
    return printing.document([grid.grid_text(columns, body, style)], style) + "\n" if body else ""


def comparison_text(
    style: str, rfp: Rfp | None, texts: Mapping[str, str], offers: Sequence[Path], scored: Sequence[Sequence[Scored]]
) -> str:
    """The comparison of each part, and below them that of the scores; without an RFP, that of the only part."""
    scores_by_offer = [
        {"offer": str(path), "scores": list(map(asdict, scores_of_offer))}
        for path, scores_of_offer in zip(offers, scored, strict=False)  # without an RFP there are none
    ]
    text = join_parts(style, rfp, texts, offers=scores_by_offer)
    return text if rfp is None or style in ("csv", "json") else f"{text}\n{scores_comparison(offers, scored, style)}"


def write_page(
    directory: Path,
    response: Response,
    parts: Mapping[str, Submission],
    reports: Mapping[str, Path],
    judgement: RfpJudgement,
) -> Path:
    """Write the page of all parts, as judged; `reports`: the directories of their own. Gives the path."""
    folded = [
        {
            "part": part,
            "decision": decision.campaign_decision(submission, typed_path(submission.campaign.path.name, part.id)),
            "table": table.table_text(submission.rows, submission.campaign, submission.pack, "simple", details=True),
            "link": os.path.relpath(reports[part.id] / "index.html", directory),
        }
        for part in response.parts
        for submission in [parts[part.id]]
    ]
    path = directory / "index.html"
    file = next(iter(parts.values())).campaign.path.name
    variables = {
        "response": response,
        "decision": response_decision(response, parts, file, judgement),
        "judgement": judgement,
        "finding_word": findings_view.finding_word,
        "clause_columns": clauses.COLUMNS,
        "parts": folded,
        "value": score_text,
        "digits": units.digits,
        "terms": scores.TERMS,
    }
    with writing(path):
        directory.mkdir(parents=True, exist_ok=True)
        outputs.write_in_directory(path, page.render_page(TEMPLATE, **variables))
    return path
