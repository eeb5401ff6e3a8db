"""What all parts of an RFP show together: scores, findings on its conditions, and the states of its clauses. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from campaign.config.response import Answers
from campaign.config.rfp import Rfp
from campaign.config.rules.entries import Clause
from campaign.core.findings import Finding, Move, Severity
from campaign.core.formula import Condition, Value, aggregated_name
from campaign.core.units import digits, plural
from campaign.judge.compliance import WITHOUT, ClauseLine, ClauseState, clause_state, unchecked_line
from campaign.judge.conditions import FOUND, requirement_form
from campaign.judge.engine import BUNDLE_RULES
from campaign.judge.findings import complete_findings, unchecked
from campaign.judge.rule import rfp_rule
from campaign.judge.submission import Submission
from campaign.report.scores import (
    Figure,
    FiguresByName,
    Scored,
    compute_scores,
    figures_by_name,
    formula_inputs,
    part_figures,
)

WHOLE = "RFP"  # the subject of findings about it


@dataclass(frozen=True, slots=True)
class RfpJudgement:
    """`conditions`: the number of those on all parts together; `findings`: about them; `clauses`: of the RFP, with
    their states.
    """

    conditions: int = 0
    scored: tuple[Scored, ...] = ()
    findings: tuple[Finding, ...] = ()
    clauses: tuple[ClauseLine, ...] = ()


def judge_rfp(
    rfp: Rfp,
    parts: Mapping[str, Submission],
    answers: Answers,
    accept: Callable[[Sequence[Finding]], Mapping[Finding, Finding]] = lambda _: {},
) -> RfpJudgement:
    """Judge the answered parts together. `answers`: to clauses of the RFP; `accept`: gives the findings that
    the buyer accepts, with by whom.
    """
    results = list(part_figures(rfp, parts))
    scored = compute_scores(rfp, results)
    figures = dict(figures_by_name(rfp, results))
    for score in scored:
        figures[score.id] = [Figure(score.id, score.value, "", f"without a value ({score.why})", "")]
    is_full = all(submission.full for submission in parts.values())
    findings = [
        finding if finding.severity is Severity.ERROR else replace(finding, explained=answers.get(finding.clause, ""))
        for finding in complete_findings("RES-03", WHOLE, check_requirements(rfp, figures, is_full))
    ]
    accepted_findings = accept(findings)
    findings = [accepted_findings.get(finding, finding) for finding in findings]
    lines = [
        unchecked_line(clause, answers) if clause.text else _clause_line(rfp, clause, parts, scored, findings)
        for clause in rfp.clauses
    ]
    return RfpJudgement(len(rfp.requires), tuple(scored), tuple(findings), tuple(lines))


@rfp_rule(
    "RES-03",
    "the parts of an RFP together meet its conditions",
    why="parts that each keep their rules may together not be what the buyer asked for",
    remedy="correct what the condition names and run the parts that it is about again",
)
def check_requirements(rfp: Rfp, figures: FiguresByName, is_full: bool) -> Iterator[Finding]:
    """Each condition of `requires` in rfp.yaml on figures, facts and scores; not checked while one of them has no valid
    value. `full_size`: noted in a rehearsal; `explain`: W.
    """
    for requirement in rfp.requires:
        outcomes = [_judge_condition(Condition.parse(text), figures) for text in requirement.conditions]
        needed_count = requirement.at_least if requirement.of else 1
        unknown = [outcome.text for outcome in outcomes if outcome.holds is None]
        kept_count = sum(outcome.holds is True for outcome in outcomes)
        texts = {"clause": requirement.clause, "condition": str(requirement)}
        if kept_count + len(unknown) < needed_count:
            values = "; ".join(outcome.text for outcome in outcomes if outcome.holds is False)
            yield requirement_form(requirement, is_full)(FOUND, **texts, values=values)
        elif kept_count < needed_count:
            yield unchecked("clause {clause} requires {condition}: {reason}", **texts, reason=unknown[0])


@dataclass(frozen=True, slots=True)
class _ConditionOutcome:
    """Whether a condition holds, None if that is not known; with the values that decide, or why it is not known."""

    holds: bool | None
    text: str


def _judge_condition(condition: Condition, figures: FiguresByName) -> _ConditionOutcome:
    """A condition on figures: each result of the one that stands for several has to meet it."""
    swept_names = [name for name in condition.names if not aggregated_name(name) and len(figures[name]) > 1][:1]
    choices: list[FiguresByName] = [
        {**figures, name: [figure]} for name in swept_names for figure in figures[name]
    ] or [figures]
    missed, unknown = [], []
    for choice in choices:
        try:
            values = formula_inputs(condition.names, choice)
            missed += [] if condition.holds(values) else [_values_text(values, choice)]
        except ValueError as error:
            unknown.append(str(error))
    if unknown and not missed:
        return _ConditionOutcome(None, unknown[0])
    return _ConditionOutcome(not missed, "; ".join(missed))


def _values_text(values: Mapping[str, Value], figures: FiguresByName) -> str:
    """The values of the names in a condition; of a result with its place in the parts."""
    texts = []
    for name, value in values.items():
        text = f'"{value}"' if isinstance(value, str) else digits(value)
        place = "" if aggregated_name(name) else figures[name][0].name
        texts.append(f"{name} {text} ({place})" if "/" in place else f"{name} {text}")
    return ", ".join(texts)


def _clause_line(
    rfp: Rfp, clause: Clause, parts: Mapping[str, Submission], scored: Sequence[Scored], findings: Sequence[Finding]
) -> ClauseLine:
    """The state of a clause by its parts, scores and conditions, and by rules of all parts."""
    entries = {
        key: [entry.name for entry in clause.evidence if entry.key == key] for key in ("parts", "scores", "checks")
    }
    about_clause = [finding for finding in findings if finding.clause == clause.id]
    about_clause += [
        finding
        for part, submission in parts.items()
        for finding in submission.all_findings
        if (part in entries["parts"] or finding.rule in entries["checks"])
        # not what only a bundle shows, or nothing can
        if finding.rule not in BUNDLE_RULES and (finding.checked or finding.move is not Move.NOBODY)
    ]
    missing = [f"part {part} is not answered" for part in entries["parts"] if part not in parts]
    if missing_count := sum(
        row.status in WITHOUT for part in entries["parts"] if part in parts for row in parts[part].rows
    ):
        missing.append(f"{plural(missing_count, 'result')} missing")
    missing += [f"{score.id}: {score.why}" for score in scored if score.value is None and score.id in entries["scores"]]
    state, reason, answer, _ = clause_state(about_clause, "; ".join(missing))
    if any(part.id in entries["parts"] for part in rfp.unanswered(parts)):
        state = ClauseState.VIOLATED
    return ClauseLine(clause, state, answer, tuple(dict.fromkeys(finding.rule for finding in about_clause)), why=reason)
