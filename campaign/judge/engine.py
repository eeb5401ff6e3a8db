"""The rule engine: rules + runs + records -> findings. Pure.

Each rule of the catalogue is one function, bound to its id here. A rule runs if the pack lists it; it yields nothing if
it is kept, and a finding marked as not checked if the records do not show it. The same functions judge a plan, a
running campaign, an ended one, and a bundle on the buyer's side.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import TypeVar

from campaign.config.rules.catalogue import CATALOGUE, Level
from campaign.config.rules.pack import RulePack
from campaign.config.waivers import NO_ANSWERS, Answers
from campaign.core.grouping import grouped
from campaign.core.model import Attempt, Cell, Finding, Geometry, Observation, Record, Run, Severity, State, Status
from campaign.judge import (
    answered,
    attempt,
    attested,
    conditions,
    environment,
    numbers,
    projections,
    ran,
    records,
    sources,
    submission,
    system,
    timing,
)
from campaign.judge.findings import CAMPAIGN, left_to_buyer, of_rule, unchecked, unchecked_by_buyer
from campaign.judge.rows import with_findings
from campaign.plan import matrix
from campaign.results.case import Case
from campaign.results.cells import left_out, patterns
from campaign.results.environment.facts import NOTHING, Environment, Evidence

Given = TypeVar("Given")  # what a rule is judged on

# In the catalogue's order, which is that of the findings.
ATTEMPT_RULES: Mapping[str, Callable[[Case], Iterator[Finding]]] = {
    "FLG-01": attempt.flags_present,
    "FLG-02": attempt.configuration_flags,
    "FLG-03": attempt.no_other_flags,
    "FLG-04": attempt.item_count,
    "FLG-05": attempt.own_directory,
    "FLG-06": attempt.offset_as_told,
    "FLG-07": attempt.shift_happened,
    "GEO-01": attempt.ranks_placed,
    "GEO-02": attempt.geometry_as_planned,
    "GEO-04": environment.topology_is_real,
    "GEO-05": conditions.requirements_hold,
    "RES-01": conditions.results_hold,
    "INP-01": ran.inputs_as_declared,
    "RUN-01": attempt.ended_well,
    "RUN-02": environment.times_fit,
    "RUN-03": environment.job_agrees,
    "RUN-04": environment.nodes_are_exclusive,
    "RUN-05": environment.directory_clean,
    "RUN-06": attempt.clean_output,
    "RUN-07": timing.long_enough,
    "RUN-09": records.one_sequence,
    "CCH-01": environment.cache_dealt_with,
    "CCH-03": timing.remote_latency,
    "CCH-04": attempt.cache_in_reach,
    "CCH-05": attempt.storage_measured,
    "STA-05": attempt.units_as_asked,
    "PHY-03": attempt.inflated_counts,
    "PHY-04": timing.within_physics,
    "ENV-06": attested.variables_as_required,
    "EVD-06": records.agree,
}

# About whether a run produced values; the other rules do not apply to a run without values.
WITHOUT_NUMBERS = frozenset({"RUN-01", "RUN-06"})
# A phase with counts of its own that measures nothing, such as a serial preparation, has to run with them.
OF_COUNTED = WITHOUT_NUMBERS | {"GEO-01", "GEO-02"}
# What a run printed before it failed is no result: how it was produced does not matter, but its records must agree.
OF_FAILED = WITHOUT_NUMBERS | {"EVD-06"}
# Rules about an execution of several phases as a whole; all others are about each phase.
OF_WHOLE = frozenset({"ENV-06", "INP-01", "RES-01", "RUN-01", "RUN-05", "RUN-09"})
OF_BOTH = frozenset({"EVD-06"})
# Decided by the planned run: its words, its geometry and the variables of its job.
OF_PLANNED = frozenset({"FLG-04", "FLG-05", "GEO-02", "GEO-04", "GEO-05"})
# Decided by the executed words and the run's plan: the same for all attempts that executed the planned words.
OF_WORDS = frozenset({"FLG-01", "FLG-02", "FLG-03", "FLG-05", "FLG-06"})
# Whatever these find makes no result invalid.
HARMLESS = frozenset({"RUN-04", "CCH-01", "CCH-03", "CCH-04"})
# Of a campaign that has not run, it says only that.
OF_ENDED = frozenset({"CMP-03"})
OVER_NUMBERS = frozenset({
    "CMP-04", "RUN-10", "CCH-02", "STA-01", "STA-02", "STA-03", "STA-04", "PHY-01", "PHY-02", "PHY-05", "PHY-06",
    "RES-02",
})  # fmt: skip

RULES: Mapping[str, Callable[[submission.Submission], Iterator[Finding]]] = {
    "CMP-01": submission.every_cell_there,
    "CMP-02": submission.every_target_answered,
    "CMP-03": submission.every_cell_answered,
    "CMP-04": submission.every_number_traced,
    "FLG-08": submission.offset_interpreted,
    "GEO-03": projections.whole_concurrency,
    "SRC-01": sources.pinned,
    "SRC-02": sources.differs_as_supplied,
    "SRC-03": sources.builds_and_runs_only,
    "SRC-04": sources.one_binary,
    "SRC-05": sources.build_recorded,
    "SRC-06": sources.published_build,
    "SRC-07": sources.flags_of_category,
    "RUN-08": submission.attempts_kept,
    "RUN-10": timing.energy_recorded,
    "CCH-02": timing.servers_took_part,
    "STA-01": numbers.from_one_run,
    "STA-02": numbers.best_reported,
    "STA-03": numbers.repeated,
    "STA-04": numbers.steady,
    "RES-02": conditions.results_agree,
    "SEL-01": projections.optimum_has_sides,
    "SEL-02": projections.claim_confirmed,
    "SEL-03": projections.confirmed_by_others,
    "PHY-01": numbers.layouts_agree,
    "PHY-02": numbers.not_below_one_process,
    "PHY-05": numbers.stat_not_below_creation,
    "PHY-06": numbers.not_far_above_one_process,
    "PRJ-01": projections.labelled,
    "PRJ-02": projections.computed_again,
    "PRJ-03": projections.logs_included,
    "ENV-01": system.described,
    "ENV-02": system.tuning_split,
    "ENV-03": system.unchanged,
    "ENV-04": system.file_system_as_declared,
    "ENV-05": system.as_proposed,
    "EVD-02": submission.chain_whole,
    "EVD-05": submission.pack_current,
    "EVD-07": records.one_story,
    "WVR-01": answered.waivers_hold,
}

# Of a submitted bundle, judged on the buyer's side by `campaign.evidence.verify`, whatever its pack lists.
BUNDLE_RULES = frozenset(rule for rule, entry in CATALOGUE.items() if entry.level is Level.BUNDLE)


def judge(case: Case, invalidating: bool = False) -> Iterator[Finding]:
    """The findings of the pack's rules about one ended attempt, or only those that may make it invalid; if it measured
    nothing, why. No rule is judged after the last finding that is asked for.
    """
    phases, rules = case.phases, case.pack.checks.keys()
    if not phases:
        yield from _judge(case, rules, invalidating)
        return
    by_phase = {phase: [*_judge(part, part.pack.checks.keys() - OF_WHOLE, invalidating)] for phase, part in phases}
    whole = _judge(case, rules & (OF_WHOLE | OF_BOTH), invalidating)
    findings = dict.fromkeys([*whole, *_together(case, by_phase)])
    order = {rule: place for place, rule in enumerate(ATTEMPT_RULES)}
    yield from sorted(findings, key=lambda finding: order[finding.rule])


def _judge(case: Case, rules: Set[str], invalidating: bool) -> Iterator[Finding]:
    if case.attempt.state is State.SUBMITTING:
        rules = rules & OF_PLANNED
    elif not case.records:
        counted = case.run.commands[0].geometry and case.attempt.state is State.DONE
        rules = rules & (OF_COUNTED if counted else OF_FAILED if case.evidence.altered else WITHOUT_NUMBERS)
    elif case.attempt.state is not State.DONE:
        rules = rules & OF_FAILED
    if _words_hold(case, invalidating):
        rules = rules - OF_WORDS

    def concerned(found: Finding) -> tuple[Cell, ...]:
        cells = case.run.cells()
        return tuple(cell for cell in cells if cell.operation == found.operation) or cells

    return by_rules(ATTEMPT_RULES, rules, case, case.subject, concerned, invalidating)


def _words_hold(case: Case, invalidating: bool) -> bool:
    """Whether it executed the planned words, and these give no finding."""
    run = case.run
    if case.seen.argv != (run.executable, *case.planned):
        return False
    alike = ("words", invalidating, run.files, run.commands, run.geometry, run.inputs)
    found = by_rules(ATTEMPT_RULES, OF_WORDS, case, case.subject, invalidating=invalidating)
    return case.pack.once(alike, lambda: not any(True for _ in found))


def _together(case: Case, by_phase: Mapping[str, Sequence[Finding]]) -> Iterator[Finding]:
    """Findings about phases: one for all phases if it is the same in all, otherwise with the phases in which it was
    found.
    """
    where: dict[Finding, dict[str, str]] = {}  # finding -> phase -> the finding there, which may differ
    for phase, findings in by_phase.items():
        for finding in findings:
            where.setdefault(replace(finding, actual=""), {}).setdefault(phase, finding.actual)
    for alike, found_in in where.items():
        finding = replace(alike, actual=", ".join(dict.fromkeys(filter(None, found_in.values()))))
        if len(found_in) < len(by_phase):
            reported = {operation.id for operation in case.operations if operation.phase in found_in}
            cells = tuple(cell for cell in finding.cells if cell.operation in reported) or finding.cells
            finding = replace(finding, phase=", ".join(found_in), cells=cells)
        yield finding


def by_rules(
    checks: Mapping[str, Callable[[Given], Iterator[Finding]]],
    rules: Container[str],
    given: Given,
    subject: str,
    concerned: Callable[[Finding], tuple[Cell, ...]] = lambda finding: (),
    invalidating: bool = False,
) -> Iterator[Finding]:
    """Findings of those rules that have a function in the table, in its order, as `of_rule` completes them; or only
    those that may make a result invalid.
    """
    for rule, check in checks.items():
        if rule in rules and not (invalidating and rule in HARMLESS):
            for found in check(given):
                if found.severity is Severity.ERROR or not invalidating:
                    yield from of_rule(rule, subject, [found], concerned)


def measured(
    pack: RulePack,
    runs: Sequence[Run],
    attempts: Sequence[Attempt],
    measurements: Mapping[tuple[str, int], tuple[Record, ...]],
    observations: Mapping[tuple[str, int], Observation],
    evidence: Mapping[tuple[str, int], Evidence] = MappingProxyType({}),
    answers: Answers = NO_ANSWERS,
) -> list[Case]:
    """Every ended attempt that counts for a planned run, to be judged with the campaign's answers to its findings."""
    by_run, unread, judging = matrix.attempts_by_run(runs, attempts), Observation(), partial(_judged, answers)
    results = []
    for run in runs:
        for each in by_run[run.id]:
            if each.state.active or each.state in (State.SUPERSEDED, State.REFUSED):
                continue
            key = (run.id, each.number)
            seen, around = observations.get(key, unread), evidence.get(key, NOTHING)
            results.append(Case(pack, run, each, measurements.get(key, ()), seen, around, judging))
    return results


def _judged(answers: Answers, case: Case, invalidating: bool) -> Iterator[Finding]:
    """The findings about an attempt, with the campaign's answers."""
    for found in judge(case, invalidating):
        yield answered.answer(answers, found, case.run.cells(), answered.day_of([case.attempt]))


def judge_submission(whole: submission.Submission) -> tuple[Finding, ...]:
    """All findings of the pack's rules about a campaign, except those of its single attempts."""
    found = by_rules(RULES, whole.pack.checks, whole, CAMPAIGN, concerned=answered.concerned(whole))
    return answered.answered(whole, found)


def judged(whole: submission.Submission) -> submission.Submission:
    """The campaign with all findings: those about it as a whole, those of its rows, and rules that are not checked."""
    findings = judge_submission(whole)
    rows = with_findings(whole.rows, findings)
    others = (*unjudged(whole.pack), *nothing_measured(whole), *_without_measurement(whole))
    return replace(whole, rows=rows, findings=(*findings, *others))


def judged_before(whole: submission.Submission) -> submission.Submission:
    """A campaign before it runs, with the findings that its file, programs, sources and partition decide."""
    rules = whole.pack.checks.keys() - OF_ENDED
    found = [*by_rules(RULES, rules, whole, CAMPAIGN, concerned=answered.concerned(whole))]
    for run in whole.runs:
        cells = run.cells()
        if run.repetition == 1 and not left_out(whole.campaign, cells):
            line = "/".join((*cells[0].line, "*"))
            found += (replace(each, subject=line) for each in judge(as_planned(whole, run)))
    findings = tuple(each for each in answered.answered(whole, dict.fromkeys(found)) if each.checked)
    return replace(whole, rows=with_findings(whole.rows, findings), findings=findings)


def as_planned(whole: submission.Submission, run: Run) -> Case:
    """A run about to be submitted, with all that is known of it."""
    attempt = Attempt(run.id, 0, "TOKEN", "", run.fingerprint, State.SUBMITTING)
    job = Environment(recorded=True, variables=dict(whole.campaign.slurm.environment))
    seen = {command.phase: _planned(run.geometry_of(command)) for command in run.launched if command.phase}
    return Case(whole.pack, run, attempt, (), replace(_planned(run.geometry), phases=seen), Evidence(job))


def _planned(geometry: Geometry) -> Observation:
    return Observation(processes=geometry.processes, nodes=geometry.nodes)


def _without_measurement(whole: submission.Submission) -> Iterator[Finding]:
    """Results that the vendor did not measure, whatever rules the pack lists: the buyer accepts them or not."""
    about = {Status.DECLINED: "declined: {reason}", Status.PROJECTED: "not measured, but {reason}"}
    alike = grouped(((row.status, row.note), row.cell) for row in whole.rows if row.status in about)
    for (status, reason), cells in alike.items():
        found = [left_to_buyer(about[status], about=each, reason=reason) for each in patterns(cells, whole.cells)]
        yield from answered.answered(whole, of_rule("CMP-03", CAMPAIGN, found, answered.concerned(whole)))


def nothing_measured(whole: submission.Submission) -> Iterator[Finding]:
    """If runs ended and none gave a number: one "not checked" for each rule about measured numbers."""
    judged_all_the_same = OF_FAILED if any(case.records for case in whole.results) else WITHOUT_NUMBERS
    need_numbers = ATTEMPT_RULES.keys() - judged_all_the_same | OVER_NUMBERS
    done = [case for case in whole.results if case.attempt.state is State.DONE]
    if not done:
        need_numbers |= {"RUN-06"}
    if whole.results and not any(case.records for case in done):
        for rule in (rule for rule in whole.pack.checks if rule in need_numbers):
            yield from of_rule(rule, CAMPAIGN, [unchecked("no run produced a value")])


def unjudged(pack: RulePack) -> Iterator[Finding]:
    """Rules of the pack that nothing judges, reported as not checked."""
    for rule in (rule for rule in pack.checks if rule not in RULES and rule not in ATTEMPT_RULES):
        why = "rule not supported by this version"
        if rule in BUNDLE_RULES:
            why = "checked only on a bundle, by the buyer with 'campaign verify'"
        yield from of_rule(rule, CAMPAIGN, [unchecked_by_buyer(why)])
