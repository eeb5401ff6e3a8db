"""The rule engine: rules + runs + records -> findings. Pure.

Each rule is one function with a decorator (`campaign/judge/rule.py`). A rule runs if the pack lists it; it yields
nothing if it is kept, and a finding marked as not checked if the records do not show it. The same functions judge a
plan, a running campaign, an ended one, and a bundle on the buyer's side.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import TypeVar

from campaign.config.definition import Definition
from campaign.config.rules.catalogue import CATALOGUE, Level
from campaign.config.rules.pack import RulePack
from campaign.config.waivers import Answers
from campaign.core.findings import Finding
from campaign.core.grouping import grouped
from campaign.core.records import Observation, Outputs, Record
from campaign.core.runs import Attempt, Cell, Run, State, Status
from campaign.judge import (
    answers,
    binaries,
    caches,
    campaign_jobs,
    completeness,
    conditions,
    flags,
    geometry,
    history,
    inputs,
    job_records,
    numbers,
    phases,
    projections,
    runs,
    source_changes,
    stability,
    system_description,
    timing,
    tuning,
)
from campaign.judge.answers import cells_of_findings, last_day, with_answer, with_answers
from campaign.judge.findings import (
    CAMPAIGN,
    complete_findings,
    left_to_buyer,
    merged_phases,
    unchecked,
    unchecked_by_buyer,
)
from campaign.judge.rows import with_findings
from campaign.judge.rule import Needs, Rule, rules_of
from campaign.judge.submission import Submission
from campaign.plan import matrix
from campaign.results.case import Case
from campaign.results.cells import is_left_out, patterns
from campaign.results.environment.facts import NOTHING, Environment, Evidence

Given = TypeVar("Given")  # what a rule is judged on

# The modules with rules about attempts and campaigns.
MODULES = (
    answers, binaries, caches, campaign_jobs, completeness, conditions, flags, geometry, history, inputs, job_records,
    numbers, phases, projections, runs, source_changes, stability, system_description, timing, tuning,
)  # fmt: skip
_BOUND = rules_of(MODULES, Level.ATTEMPT, Level.CAMPAIGN)
ATTEMPT_RULES = {rule.id: rule.check for rule in _BOUND.values() if rule.entry.level is Level.ATTEMPT}
_ORDER = {rule: place for place, rule in enumerate(ATTEMPT_RULES)}
RULES = {rule.id: rule.check for rule in _BOUND.values() if rule.entry.level is Level.CAMPAIGN}


def _ids(level: Level, holds: Callable[[Rule], bool]) -> frozenset[str]:
    return frozenset(rule.id for rule in _BOUND.values() if rule.entry.level is level and holds(rule))


WITHOUT_NUMBERS = _ids(Level.ATTEMPT, lambda rule: rule.needs is Needs.NOTHING)
OF_COUNTED = WITHOUT_NUMBERS | _ids(Level.ATTEMPT, lambda rule: rule.needs is Needs.COUNTS)
# What a run printed before it failed is no result: how it was produced does not matter, but its records must agree.
OF_FAILED = WITHOUT_NUMBERS | _ids(Level.ATTEMPT, lambda rule: rule.needs is Needs.RECORDS)
OF_RUN = _ids(Level.ATTEMPT, lambda rule: rule.is_about_run)
OF_PLANNED = _ids(Level.ATTEMPT, lambda rule: rule.is_judged_before)
OF_ENDED = _ids(Level.CAMPAIGN, lambda rule: rule.needs is Needs.END)
OVER_NUMBERS = _ids(Level.CAMPAIGN, lambda rule: rule.needs is Needs.NUMBERS)

# Of a submitted bundle, judged on the buyer's side by `campaign.evidence.verify`, whatever its pack lists.
BUNDLE_RULES = frozenset(rule for rule, entry in CATALOGUE.items() if entry.level is Level.BUNDLE)


def judge(case: Case) -> Iterator[Finding]:
    """The findings of the pack's rules about one ended attempt; if it measured nothing, why."""
    rules = case.pack.checks.keys()
    by_phase = {name: [*_judge(phase, rules - OF_RUN)] for name, phase in case.phases.items()}
    findings = [*_judge(case, rules & OF_RUN), *merged_phases(case, by_phase)]
    yield from sorted(dict.fromkeys(findings), key=lambda finding: _ORDER[finding.rule])


def _judge(case: Case, rules: Set[str]) -> Iterator[Finding]:
    if case.attempt.state is State.SUBMITTING:
        rules = rules & OF_PLANNED
    elif not case.records:
        is_counted = case.run.commands[0].geometry and case.attempt.state is State.DONE
        rules = rules & (OF_COUNTED if is_counted else OF_FAILED if case.evidence.altered else WITHOUT_NUMBERS)
    elif case.attempt.state is not State.DONE:
        rules = rules & OF_FAILED

    def concerned(finding: Finding) -> tuple[Cell, ...]:
        cells = case.run.cells()
        return tuple(cell for cell in cells if cell.operation == finding.operation) or cells

    return judge_by_rules(ATTEMPT_RULES, rules, case, case.subject, concerned)


def judge_by_rules(
    checks: Mapping[str, Callable[[Given], Iterator[Finding]]],
    rules: Container[str],
    judged_value: Given,
    subject: str,
    concerned: Callable[[Finding], tuple[Cell, ...]] = lambda finding: (),
) -> Iterator[Finding]:
    """Findings of those rules that have a function in the table, in its order, with their rule's id and properties."""
    for rule, check in checks.items():
        if rule in rules:
            yield from complete_findings(rule, subject, check(judged_value), concerned)


def cases_of_runs(
    definition: Definition,
    runs: Sequence[Run],
    attempts: Sequence[Attempt],
    measurements: Mapping[tuple[str, int], tuple[Record, ...]],
    observations: Mapping[tuple[str, int], Outputs],
    evidence: Mapping[tuple[str, int], Evidence] = MappingProxyType({}),
    judge_attempt: Callable[[Case], Iterable[Finding]] = judge,
) -> list[Case]:
    """Every ended attempt that counts for a planned run, to be judged with the campaign's answers to its findings."""
    by_run = matrix.attempts_by_run(runs, attempts)
    judging = partial(_findings_with_answers, definition.answers, judge_attempt)
    results = []
    for run in runs:
        for attempt in by_run[run.id]:
            if not attempt.is_judged:
                continue
            key = (run.id, attempt.number)
            outputs, attempt_evidence = observations.get(key, {}), evidence.get(key, NOTHING)
            records = measurements.get(key, ())
            results.append(
                Case(definition.campaign, definition.pack, run, attempt, records, outputs, attempt_evidence, judging)
            )
    return results


def _findings_with_answers(
    answers: Answers, judge_attempt: Callable[[Case], Iterable[Finding]], case: Case
) -> Iterator[Finding]:
    """The findings about an attempt, with the campaign's answers."""
    day = last_day([case.attempt])
    for finding in judge_attempt(case):
        yield with_answer(answers, finding, day)


def judge_submission(submission: Submission) -> tuple[Finding, ...]:
    """All findings of the pack's rules about a campaign, except those of its single attempts."""
    return with_answers(submission, _campaign_findings(submission, submission.pack.checks.keys()))


def _campaign_findings(submission: Submission, rules: Set[str]) -> Iterator[Finding]:
    """Those of these rules about the campaign, and those of rules about attempts on what no attempt gave."""
    yield from judge_by_rules(RULES, rules, submission, CAMPAIGN, concerned=cells_of_findings(submission))
    yield from conditions.check_projected_conditions(submission)


def judge_campaign(submission: Submission) -> Submission:
    """The campaign with all findings: those about it as a whole, those of its rows, and rules that are not checked."""
    findings = judge_submission(submission)
    rows = with_findings(submission.rows, findings)
    other_findings = (
        *unsupported_rules(submission.pack),
        *check_anything_measured(submission),
        *_without_measurement(submission),
    )
    return replace(submission, rows=rows, findings=(*findings, *other_findings))


def judge_plan(submission: Submission) -> Submission:
    """A campaign before it runs, with the findings that its file, programs, sources and partition decide."""
    rules = submission.pack.checks.keys() - OF_ENDED
    findings_before = [*_campaign_findings(submission, rules)]
    for run in submission.runs:
        cells = run.cells()
        if run.repetition == 1 and not is_left_out(submission.campaign, cells):
            line = "/".join((*cells[0].line, "*"))
            findings_before += (replace(finding, subject=line) for finding in judge(planned_case(submission, run)))
    findings = tuple(finding for finding in with_answers(submission, dict.fromkeys(findings_before)) if finding.checked)
    return replace(submission, rows=with_findings(submission.rows, findings), findings=findings)


def planned_case(submission: Submission, run: Run) -> Case:
    """A run about to be submitted, with all that is known of it."""
    attempt = Attempt(run.id, 0, "TOKEN", "", run.fingerprint, State.SUBMITTING)
    job = Environment(recorded=True, variables=dict(submission.campaign.slurm.environment))
    geometries = {command.phase: run.geometry_of(command) for command in run.launched}
    outputs = {
        phase: Observation(processes=geometry.processes, nodes=geometry.nodes) for phase, geometry in geometries.items()
    }
    campaign = submission.campaign
    if submission.partition:
        campaign = replace(campaign, slurm=submission.partition.fill_in(campaign.slurm))
    return Case(campaign, submission.pack, run, attempt, (), outputs, Evidence(job))


def _without_measurement(submission: Submission) -> Iterator[Finding]:
    """Results that the vendor did not measure, whatever rules the pack lists: the buyer accepts them or not."""
    wordings = {Status.DECLINED: "declined: {reason}", Status.PROJECTED: "{reason}"}
    cells_by_note = grouped(((row.status, row.note), row.cell) for row in submission.rows if row.status in wordings)
    for (status, reason), cells in cells_by_note.items():
        findings = [
            left_to_buyer(wordings[status], about=pattern, reason=reason)
            for pattern in patterns(cells, submission.cells)
        ]
        yield from with_answers(
            submission, complete_findings("CMP-03", CAMPAIGN, findings, cells_of_findings(submission))
        )


def check_anything_measured(submission: Submission) -> Iterator[Finding]:
    """If runs ended and none gave a number: one "not checked" for each rule about measured numbers."""
    judged_all_the_same = OF_FAILED if any(case.records for case in submission.results) else WITHOUT_NUMBERS
    need_numbers = ATTEMPT_RULES.keys() - judged_all_the_same | OVER_NUMBERS
    finished = [case for case in submission.results if case.attempt.state is State.DONE]
    if not finished:
        need_numbers |= {"RUN-06"}
    if submission.results and not any(case.records for case in finished):
        for rule in (rule for rule in submission.pack.checks if rule in need_numbers):
            yield from complete_findings(
                rule, CAMPAIGN, [unchecked("no run produced a value", remedy="measure: campaign run FILE")]
            )


def unsupported_rules(pack: RulePack) -> Iterator[Finding]:
    """Rules of the pack that nothing judges, reported as not checked."""
    for rule in (rule for rule in pack.checks if rule not in RULES and rule not in ATTEMPT_RULES):
        message = "rule not supported by this version"
        if rule in BUNDLE_RULES:
            message = "checked only on a bundle, by the buyer with 'campaign verify'"
        yield from complete_findings(rule, CAMPAIGN, [unchecked_by_buyer(message)])
