"""Plan, states and findings as text and as JSON."""

from __future__ import annotations

import functools
import itertools
import json
import math
import shlex
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from campaign.config.definition import Definition
from campaign.config.format import Campaign
from campaign.config.rules.catalogue import CATALOGUE, PRACTICE
from campaign.config.rules.pack import RulePack
from campaign.core import resources, units
from campaign.core.columns import Column
from campaign.core.grouping import grouped
from campaign.core.model import Attempt, Finding, Run, Severity
from campaign.judge.submission import Submission
from campaign.pipeline.planning import Plan
from campaign.plan import matrix
from campaign.plan.estimate import estimate
from campaign.report import causes, decision, grid, printing
from campaign.results.cells import Row, left_out, patterns
from campaign.slurm import scripts


def plan_text(
    definition: Definition,
    planned: Plan,
    attempts: Sequence[Attempt] = (),
    width: int = printing.WIDEST,
    folded_commands: bool = False,
    brief: bool = False,
) -> str:
    """`plan`'s output: the runs by geometry with their command lines (each on one line, or folded so that a shell can
    read it), and what is not settled. `brief`: without the runs.
    """
    campaign, pack = definition.campaign, definition.pack
    planned = replace(planned, runs=tuple(run for run in planned.runs if not left_out(campaign, run.cells())))
    every = matrix.cells(campaign, pack)
    cells = [cell for cell in every if not left_out(campaign, (cell,))]
    columns: list[Column[Run]] = [
        Column("run", lambda run: run.id),
        Column("nodes", lambda run: run.geometry.nodes),
        Column("processes", lambda run: run.geometry.processes),
        Column("n", lambda run: run.items_per_process),
        Column(pack.items_unit, lambda run: run.items_total),
    ]
    return resources.rendered(
        "plan.txt.j2",
        campaign=campaign,
        pack=pack,
        planned=planned,
        cells=cells,
        without=len(every) - len(cells),
        jobs=len(matrix.batches(planned.runs, campaign.slurm.allocation)),
        brief=brief,
        grid=grid.plain_grid(columns if pack.items_total else columns[:3], planned.runs, width),
        commands=lambda run: scripts.each_command(run, campaign.slurm, "TOKEN"),
        command=functools.partial(_command, width=width if folded_commands else math.inf),
        estimate=estimate(campaign, planned.runs, planned.searches, attempts, bool(planned.unresolved)).text,
        several=units.plural,
    )


def forecast_text(submission: Submission, width: int = printing.WIDEST) -> str:
    """What the rules say of a plan: violations and required explanations in the words of `check`, and which rules ask
    for more at full size.
    """
    pack, findings = submission.pack, submission.all_findings
    certain = [finding for finding in findings if finding.violated or finding.unanswered or decision.is_waived(finding)]
    lines = ["Known before the run: no rule is violated"]
    if certain:
        lines = ["Known before the run:", "", findings_text(pack, certain, submission.rows, width)]
    at_full = units.listing(dict.fromkeys(finding.rule for finding in findings if finding.at_full))
    if at_full:
        lines += [*[""] * bool(certain), f"At full size also: {at_full}; 'campaign check' says why"]
    return "\n".join(lines)


def _command(words: Sequence[str], width: float) -> str:
    """A command on several lines that a shell reads as one."""
    lines = [f"  {shlex.quote(words[0])}"]
    for word in map(shlex.quote, words[1:]):
        if len(lines[-1]) + len(word) + 3 > width:  # with a space, and the backslash that may follow
            lines[-1] += " \\"
            lines.append(f"      {word}")
        else:
            lines[-1] += f" {word}"
    return "\n".join(lines)


def run_states(submission: Submission) -> list[dict[str, Any]]:
    """Each run with its latest attempt; without one it is `planned`, or `left out` if all its cells are declined or
    projected.
    """
    runs = submission.all_runs
    attempts_by_run = matrix.attempts_by_run(runs, submission.attempts)
    blocking_findings = [(row.origin, finding) for row in submission.rows for finding in row.findings if finding.blocks]
    invalid = {
        origin: f"INVALID: {first.rule} {first.message}" for origin, (first, *_) in grouped(blocking_findings).items()
    }
    return [_run_state(run, attempts_by_run[run.id], submission.campaign, invalid) for run in runs]


def _run_state(run: Run, attempts: Sequence[Attempt], campaign: Campaign, invalid: Mapping[str, str]) -> dict[str, Any]:
    last = attempts[-1] if attempts else None
    unasked = last is None and left_out(campaign, run.cells())
    return {
        "run": run.id,
        "phase": run.phase,
        "state": last.state if last else "left out" if unasked else "planned",
        "active": last.state.active if last else False,
        "attempt": last.number if last else None,
        "attempts": len(attempts),
        "job_id": last.job_id if last else None,
        "reason": last.reason or invalid.get(f"{run.id}/{last.number}", "")
        if last
        else "all its cells are declined or projected"
        if unasked
        else "",
        "started": last.started if last else None,
        "ended": last.ended if last else None,
    }


STATES: tuple[Column[Mapping[str, Any]], ...] = (
    Column("run", lambda state: state["run"]),
    # The mark is beside the state: long first columns are folded, and it would be on a line without the run.
    Column("state", lambda state: state["state"] + (" (search)" if state["phase"] else ""), is_text=True),
    Column("attempt", lambda state: state["attempt"], is_text=True),
    Column("job", lambda state: state["job_id"], is_text=True),
    Column("reason", lambda state: state["reason"], is_text=True),
)


def states_text(rows: Sequence[dict[str, Any]], width: int = printing.WIDEST) -> str:
    return grid.plain_grid(STATES, rows, width)


def findings_json(pack: RulePack, findings: Sequence[Finding], ascii_only: bool = False) -> str:
    """Findings with the texts of their rules, for `check --json`."""
    return json.dumps([finding_json(pack, finding) for finding in findings], indent=1, ensure_ascii=ascii_only) + "\n"


def finding_json(pack: RulePack, finding: Finding) -> dict[str, Any]:
    fields = {**finding.as_json(), "clause": pack.clause_of(finding)}
    if entry := CATALOGUE.get(finding.rule):
        fields |= {"title": pack.statement(finding.rule), "why": entry.why, "remedy": entry.remedy}
    return fields


class _Group(NamedTuple):
    """Findings under one title. `counted`: the name of rules whose worst findings these are; `guided`: whether it is
    printed why the rule matters and what to do.
    """

    title: str
    outcome: str
    belongs: Callable[[Finding], bool]
    guided: bool = False


# Most severe first.
GROUPS = (
    _Group("Violations (these results are invalid)", "violated", lambda finding: finding.violated, guided=True),
    _Group("Waived violations", "waived", lambda finding: finding.checked and bool(finding.waived)),
    _Group("Explanation required", "explanation required", lambda finding: finding.unanswered, guided=True),
    _Group("Not checked (does not count as passed)", "not checked", lambda finding: not finding.checked),
    _Group("Explained", "explained", lambda finding: finding.asks and bool(finding.explained)),
    _Group(
        "Notes that are violations at full size, if found there",
        "passed with notes",
        lambda finding: finding.checked and finding.at_full is Severity.ERROR,
        guided=True,
    ),
    _Group(
        "Notes that require an explanation at full size, if found there",
        "passed with notes",
        lambda finding: finding.checked and finding.at_full is Severity.WARNING,
        guided=True,
    ),
    _Group("Notes", "passed with notes", lambda finding: finding.checked and finding.severity is Severity.INFO),
)


def _group_number(finding: Finding) -> int:
    """The group of a finding: the first that it fits."""
    return next(number for number, group in enumerate(GROUPS) if group.belongs(finding))


LISTED = 4  # subjects and values that are listed
DETAIL = 6  # indentation of what is said of a finding


def check_text(submission: Submission, block: decision.DecisionBlock, width: int = printing.WIDEST) -> str:
    """`check`'s output: the decision, the findings, and how many rules are kept."""
    pack, findings = submission.pack, submission.all_findings
    lines = [*_findings_lines(pack, findings, submission.rows), *_clause_lines(pack, findings)]
    lines.append(rules_summary(pack, findings))
    return f"{decision.decision_text(block, width)}\n\n{_fold_lines(lines, width)}"


def _clause_lines(pack: RulePack, findings: Sequence[Finding]) -> list[str]:
    """What the words in brackets after the rules mean."""
    clause_ids = {pack.clause_of(finding) for finding in findings} - {""}
    texts = {
        f"In brackets: the clause that requires it; 'campaign rules {pack.id}' prints the clauses.": (
            clause_ids - {PRACTICE}
        ),
        "[practice]: in no clause of the RFP, but sound measurement requires it.": clause_ids & {PRACTICE},
    }
    meanings = [text for text, clauses in texts.items() if clauses]
    return [" ".join(meanings), ""] if meanings else []


def findings_text(
    pack: RulePack, findings: Sequence[Finding], rows: Sequence[Row] = (), width: int = printing.WIDEST
) -> str:
    """Findings by severity, each cause once. `rows`: the table, whose cells are merged into patterns."""
    return _fold_lines(_findings_lines(pack, findings, rows), width) or "no findings"


def _fold_lines(lines: Sequence[str], width: int) -> str:
    """Lines with their indentation; those that continue one are indented more."""
    folded = []
    for line in lines:
        indent = len(line) - len(line.lstrip())
        continuation = 9 if indent == DETAIL else 4
        folded += printing.wrap(line.lstrip(), width, " " * indent, " " * continuation) or [""]
    return "\n".join(folded).rstrip("\n")


def _findings_lines(pack: RulePack, findings: Sequence[Finding], rows: Sequence[Row]) -> list[str]:
    lines: list[str] = []
    guided: set[str] = set()  # once for each rule
    members = grouped((_group_number(finding), finding) for finding in findings)
    for number, group in enumerate(GROUPS):
        of_group = members.get(number, [])
        # Rows already name the cells.
        merged_findings = causes.merge_causes(
            [replace(finding, operation="") for finding in of_group] if rows else of_group
        )
        # Unchecked rules are merged into one sentence.
        by_cause = grouped(
            ((finding.rule if finding.checked else "", text.message, finding.explained or finding.waived), finding)
            for finding, text in zip(of_group, merged_findings, strict=True)
        )
        if by_cause:
            lines.append(f"{group.title}:")
        for rule, of_rule in itertools.groupby(by_cause.items(), key=lambda cause: cause[0][0]):
            for (_, text, _), equal_findings in of_rule:
                lines += _finding_lines(pack, text, equal_findings, rows)
            if group.guided and rule not in guided:
                guided.add(rule)
                lines += _guidance_lines(rule)
        lines += [""] * bool(by_cause)
    return lines


def _guidance_lines(rule: str) -> list[str]:
    entry = CATALOGUE.get(rule)
    texts = [f"why it matters: {entry.why}", f"what to do: {entry.remedy}"] if entry else []
    return [" " * DETAIL + text for text in texts]


def _finding_lines(pack: RulePack, text: str, equal_findings: Sequence[Finding], rows: Sequence[Row]) -> list[str]:
    """Equal findings as one sentence, with their subjects and the values found."""
    first = equal_findings[0]
    rules = {finding.rule: pack.clause_of(finding) for finding in equal_findings}
    names_clauses = len(rules) <= LISTED
    names = ", ".join(f"{rule} [{clause}]" if clause and names_clauses else rule for rule, clause in rules.items())
    findings_by_value = grouped(
        ((finding.expected, causes.generalize_line(finding.actual)), finding) for finding in equal_findings
    )
    values_differ = len(findings_by_value) > 1
    details: list[str] = []
    if not values_differ or len(findings_by_value) > LISTED:
        details += [f"at {subjects}"] if (subjects := _subjects_text(equal_findings, rows)) else []
    for findings in list(findings_by_value.values())[:LISTED]:
        labelled_values = (("expected", findings[0].expected), ("found", findings[0].actual))
        values = "; ".join(f"{word} {value}" for word, value in labelled_values if value)
        subjects = _subjects_text(findings, rows) if values_differ else ""
        details.append(f"{subjects}: {values}" if subjects and values else subjects or values)
    if len(findings_by_value) > LISTED:
        details.append(f"and {len(findings_by_value) - LISTED} more like this; with --json all are listed")
    answers = {"explained": first.explained, "waived": first.waived}
    details += [f"{word}: {answer}" for word, answer in answers.items() if answer]
    return [f"  {names}  {text}", *(" " * DETAIL + detail for detail in details if detail)]


def _subjects_text(findings: Sequence[Finding], rows: Sequence[Row]) -> str:
    """The cells as patterns, and other subjects; "" for the campaign as a whole."""
    remaining = set(findings)
    cells, of_rows = [], set()
    for row in rows:
        of_row = remaining.intersection(row.findings)
        of_rows |= of_row
        if any(finding.concerns(row.cell) for finding in of_row):
            cells.append(row.cell)
    other_subjects = sorted({finding.subject for finding in remaining - of_rows} - {"campaign"})
    return units.listing([*patterns(cells, [row.cell for row in rows]), *other_subjects], 2 * LISTED)


def rules_summary(pack: RulePack, findings: Sequence[Finding]) -> str:
    """How many rules the pack has, and the status of each by its worst finding."""
    worst = {rule: len(GROUPS) for rule in pack.checks}
    for finding in findings:
        place = _group_number(finding)
        if finding.rule in worst:
            worst[finding.rule] = min(worst[finding.rule], place)
    names = [*(group.outcome for group in GROUPS), "passed"]
    counts = Counter(names[place] for place in worst.values())
    outcomes = ", ".join(f"{counts[name]} {name}" for name in dict.fromkeys(names) if counts[name])
    return f"{units.plural(len(worst), 'rule')}, by worst finding: {outcomes}"
