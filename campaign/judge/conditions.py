"""The conditions of a pack's `requires`: on sizes and counts (GEO-05) and on results (RES-01, RES-02). Pure."""

from __future__ import annotations

import operator
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from types import MappingProxyType

from campaign.config.rfp import JointRequirement
from campaign.config.rules import facts, formulas, sweeps
from campaign.config.rules.entries import Requirement
from campaign.config.rules.pack import RulePack
from campaign.core.findings import Finding
from campaign.core.formula import Condition, Value, aggregate, aggregated_name
from campaign.core.grouping import grouped
from campaign.core.records import Record
from campaign.core.runs import Cell, phase_of_copy
from campaign.core.units import digits, distinct_digits
from campaign.judge.answers import cells_of_findings
from campaign.judge.findings import Form, at_full_size, complete_findings, to_explain, unchecked, violation
from campaign.judge.rows import projected_corners
from campaign.judge.rule import Needs, attempt_rule, campaign_rule
from campaign.judge.submission import Submission
from campaign.judge.timing import BYTES
from campaign.results.case import Case, cases_by_node, fact_values, repetitions, valid_by_line

WITHIN = 0.05  # Slurm is configured with slightly less memory than a node has
FOUND = "clause {clause} requires {condition}; found {values}"
_DOUBTFUL = "clause {clause} requires {condition}; met, but not within the uncertainty of {values}"
_UNRECORDED: Form = partial(unchecked, "{condition}: {names} not recorded")
_BEYOND: Form = partial(unchecked, "{condition}: no value of {names} at this size")
_WITHOUT_VALUE: Form = partial(unchecked, "clause {clause} requires {condition}: no value of {names}")
_FEWER = "clause {clause} requires {condition}: fewer than two valid results of {over}"
NO_RECORDS: Mapping[str, Record] = MappingProxyType({})
PRINTED = 1e-4  # relative; IOR prints the bytes moved in tenths of a MiB


@attempt_rule(
    "GEO-05",
    "sizes and counts of the run meet the conditions of the rules",
    why="a result with other sizes or counts does not answer the buyer's question",
    remedy="run the result again with the sizes and counts that the rules require",
    is_judged_before=True,
)
def check_size_conditions(case: Case) -> Iterator[Finding]:
    """Each condition of `requires` on sizes and counts ([sources](rule-packs.md#conditions-on-sizes-and-counts)); 5%
    tolerance for memory; in a rehearsal noted.
    """
    rates = dict.fromkeys(leaf for _, record in case.results for leaf in record.measured_records if leaf.unit in BYTES)
    form = at_full_size(violation, case.full)
    for requirement, condition in _applicable_conditions(case, "GEO-05"):
        values, holds = fact_values(case, condition.names), requirement.holds
        moved = [
            (f"{record.operation}: {holds}", record.moved_bytes)
            for record in (rates if facts.MOVED in condition.names else ())
        ]
        for text, number in moved or [(holds, None)]:
            inputs = {**values, **({} if number is None else {facts.MOVED: float(number)})}
            for finding in _condition_forms(form, requirement, condition, inputs, undefined=unchecked, condition=text):
                yield finding()


def _condition_forms(
    form: Form,
    requirement: Requirement,
    condition: Condition,
    values: Mapping[str, Value],
    /,
    values_text: str = "",
    lacks: Form = _UNRECORDED,
    wording: str = FOUND,
    undefined: Form | None = None,
    **texts: str,
) -> Iterator[Form]:
    """The form of the finding about a condition that does not hold, or lacks values (`lacks`), with its texts; none if
    it holds. `values_text`: the values in words; `undefined`: if it cannot be computed, in place of `form`.
    """
    texts = {"clause": requirement.clause, "condition": str(condition), **texts}
    if lacking := [name for name in condition.names if name not in values]:
        yield partial(lacks, names=", ".join(lacking), **texts)
    elif missed := _condition_failure(condition, values):
        yield partial(
            form if missed[0] else undefined or form,
            wording,
            *missed,
            values=values_text or _values_text(condition, values),
            **texts,
        )


def _values_text(condition: Condition, values: Mapping[str, Value], records: Mapping[str, Record] = NO_RECORDS) -> str:
    """The values of a condition's names, with the lines that they were read from."""
    return ", ".join(
        f"{name} {_value_text(values[name], *condition.limits)}"
        f"{_sources_text(records[name]) if name in records else ''}"
        for name in condition.names
        if name in values
    )


def _value_text(value: Value, *limits: float) -> str:
    return f'"{value}"' if isinstance(value, str) else distinct_digits(value, *limits)[0]


def _applicable_conditions(case: Case, rule: str, over: str = "") -> Iterator[tuple[Requirement, Condition]]:
    """The conditions that a rule judges, for the run's launch condition and file configuration, with the planned values
    filled in.
    """
    planned = case.pack.planned_numbers(case.run.geometry, case.values)
    for requirement, condition in _conditions_of_line(case.pack, case.run.launch, case.run.files, planned, over):
        if case.pack.judging_rule(requirement) == rule:
            yield requirement, condition


def _conditions_of_line(
    pack: RulePack, launch: str, files: str, planned: Mapping[str, float], over: str = ""
) -> Iterator[tuple[Requirement, Condition]]:
    """The conditions for a launch condition and a file configuration, with the planned values filled in."""
    texts = {reference.id: reference.id for reference in pack.references}  # a name where it has no value
    texts |= {name: f"{number:.15g}" for name, number in planned.items()}
    for requirement in pack.requires:
        applies = launch in (requirement.launch or [launch]) and files in (requirement.files or [files])
        if applies and requirement.over == over:
            yield requirement, Condition.parse(sweeps.fill(requirement.holds, texts))


def _condition_failure(condition: Condition, values: Mapping[str, Value]) -> tuple[str, str] | None:
    """What was expected and what was found, if the condition does not hold, or cannot be computed."""
    try:
        if condition.holds(values, **_tolerance(condition)):
            return None
        left, *allowed_values = condition.sides(values)
    except ValueError as error:
        return "", str(error)
    if len(allowed_values) == 1 and not isinstance(left, str) and not isinstance(allowed_values[0], str):
        actual, expected = distinct_digits(left, allowed_values[0])
        return f"{condition.sign} {expected}", actual
    return f"{condition.sign} {condition.right}", _value_text(left)


def _tolerance(condition: Condition) -> dict[str, float]:
    # The plan uses what is configured in Slurm, slightly less than a node has, and the nominal memory of a device.
    if {facts.MEMORY, facts.DEVICE_MEMORY} & {*condition.names}:
        return {"tolerance": WITHIN}
    return {"tolerance": PRINTED} if facts.MOVED in condition.names else {}


@attempt_rule(
    "RES-01",
    "the results of each run meet the conditions of the rules",
    why="a run with a wrong answer, another problem or a missed limit is not what the buyer asked for",
    remedy="correct what the condition names and run the result again",
    is_about_run=True,
)
def check_result_conditions(case: Case) -> Iterator[Finding]:
    """Each condition of `requires` on operations, records or facts, in rehearsals too, with the line of every number; a
    number that the output lacks breaks it. `full_size`: noted in a rehearsal; `explain`: W.
    """
    phases, elsewhere = (
        case.phases,
        {operation.name for operation in case.pack.operations if operation not in case.operations},
    )
    for requirement, condition in _applicable_conditions(case, "RES-01"):
        is_of_launch, phase = elsewhere.isdisjoint(condition.names), requirement.phase
        parts = {name: part for name, part in phases.items() if phase_of_copy(name) == phase} if phase else {"": case}
        for name, part in parts.items() if is_of_launch else ():
            for finding in _check_result_condition(case, part, requirement, condition):
                yield replace(finding, phase=name)


def _check_result_condition(
    case: Case, part: Case, requirement: Requirement, condition: Condition
) -> Iterator[Finding]:
    """`part`: the phase of the condition, or the whole execution."""
    form = requirement_form(requirement, case.full)
    records = _named_records(case, part)
    values = fact_values(part, condition.names) | {name: record.value for name, record in records.items()}
    record_names = [name for name in condition.names if name in records]
    alone = [operation.id for operation in case.operations if [operation.name] == record_names]
    lacking = {*condition.names}.difference(values)
    references = {reference.id for reference in case.pack.references}
    lacks: Form = _BEYOND if lacking & references else _UNRECORDED
    if not lacking & ({*facts.BY_NAME, *references} - case.pack.printed_names):
        if lacking and requirement.if_printed:
            return
        lacks = partial(form, "clause {clause} requires {condition}; not in the output: {names}")
    values_text = _values_text(condition, values, records)
    for finding in _condition_forms(form, requirement, condition, values, values_text, lacks, operation="".join(alone)):
        yield finding()


@campaign_rule(
    "RES-02",
    "the results of several executions together meet the conditions of the rules",
    why="results that differ much from run to run or from node to node do not show what a user of the system gets",
    remedy="find out which run or node differs and why, correct it, and run those results again",
    needs=Needs.NUMBERS,
)
def check_conditions_over_runs(submission: Submission) -> Iterator[Finding]:
    """Each condition with `over`, on the valid results of a table line, with the lines of the lowest and highest value;
    and conditions on operations computed across executions, on `n` and on builds.
    """
    for scope in ("repetitions", "nodes"):
        for cases in _valid_groups(submission, scope):
            for requirement, condition in _applicable_conditions(cases[0], "RES-02", scope):
                yield from _check_condition_over_runs(submission, cases, requirement, condition)

    if any(submission.pack.judging_rule(requirement) == "RES-02" for requirement in submission.pack.requires):
        yield from _check_line_conditions(submission)


def line_values(submission: Submission, cases: Sequence[Case]) -> dict[str, Value]:
    """The facts of all valid executions of a table line together: their number, and what is the same in the records of
    all builds that they executed.
    """
    digests = {program.sha256 for case in cases for program in case.programs}
    builds = [build for build in submission.sources.builds if build.binary_sha256 in digests]
    texts = {
        "software.mpi": {build.mpi for build in builds},
        "software.compiler": {build.compiler for build in builds},
        "software.flags": {build.flags for build in builds},
    }
    values = {
        name: text for name, (text, *others) in ((n, sorted(t)) for n, t in texts.items() if t) if text and not others
    }
    return {"n": float(len(cases)), **values}


def _check_line_conditions(submission: Submission) -> Iterator[Finding]:
    """Conditions on numbers that are computed from several executions, and on facts of all of them."""
    cases, valid = {case.subject: case for case in submission.results}, valid_by_line(submission.results)
    for line, of_line in grouped((row.cell.line, row) for row in submission.measured_rows).items():
        rows = {row.cell.operation: row for row in of_line}
        case = cases[next(iter(rows.values())).origin]
        for requirement, condition in _applicable_conditions(case, "RES-02"):
            operations = [operation for operation in case.pack.operations if operation.name in condition.names]
            if not {*operations} <= {*case.pack.operations_of(line[1])}:
                continue  # of another launch condition
            records = {
                operation.name: record
                for operation in operations
                if operation.id in rows and (record := rows[operation.id].record)
            }
            cells = [Cell(*line, operation.id) for operation in operations] or [row.cell for row in of_line]
            values = {
                **fact_values(case, condition.names),
                **line_values(submission, valid.get(line, ())),
                **{name: record.value for name, record in records.items()},
            }
            form, values_text = requirement_form(requirement, submission.full), _values_text(condition, values, records)
            for finding in _condition_forms(form, requirement, condition, values, values_text, _WITHOUT_VALUE):
                yield from submission.per_line(finding, cells)


def _valid_groups(submission: Submission, scope: str) -> Iterator[list[Case]]:
    """The valid executions that a condition judges together."""
    for cases in valid_by_line(submission.results).values():
        yield from [list(cases_by_node(cases).values())] if scope == "nodes" else repetitions(cases).values()


def _check_condition_over_runs(
    submission: Submission, cases: list[Case], requirement: Requirement, condition: Condition
) -> Iterator[Finding]:
    names = dict.fromkeys(filter(None, map(aggregated_name, condition.names)))
    operations = [operation for operation in cases[0].pack.operations if operation.name in names]
    if not {*operations} <= {*cases[0].operations}:
        return  # of another launch condition
    ids = {operation.id for operation in operations}
    cells = [cell for cell in cases[0].run.cells() if not ids or cell.operation in ids]
    values_by_name = {
        name: [value_and_place for case in cases if (value_and_place := _value_and_place(case, name))] for name in names
    }
    numbers = {name: [value for value, _ in of_name] for name, of_name in values_by_name.items()}
    values = {**fact_values(cases[0], condition.names), **line_values(submission, cases)}
    values_text = "; ".join(
        f"{name} {_lowest_and_highest(of_name)}" for name, of_name in values_by_name.items() if of_name
    )
    form = requirement_form(requirement, submission.full)
    lacks: Form = partial(unchecked, _FEWER, over=requirement.over)
    if min(map(len, numbers.values()), default=len(cases)) >= 2:
        try:
            values |= {name: aggregate(name, numbers) for name in condition.names if aggregated_name(name)}
        except ValueError as error:
            lacks = partial(form, FOUND, "", error, values=values_text)
    for finding in _condition_forms(form, requirement, condition, values, values_text, lacks):
        yield from submission.per_line(finding, cells)


def _value_and_place(case: Case, name: str) -> tuple[Value, str] | None:
    """The value of a result or a fact of an execution, with the lines that it was read from."""
    if record := _named_records(case, case).get(name):
        return record.value, _sources_text(record)
    value = fact_values(case, [name]).get(name)
    return None if value is None else (value, "")


def requirement_form(requirement: Requirement | JointRequirement, full: bool) -> Form:
    """The form of a finding about a condition that is not met."""
    form = to_explain if requirement.explain else violation
    return at_full_size(form, full) if requirement.full_size else form


def check_projected_conditions(submission: Submission) -> Iterator[Finding]:
    """The findings of GEO-05, RES-01 and RES-02 about projected results: by their counts, by variables and by the
    results of their table line, over the uncertainty of the projected ones. Conditions on an output have none here.
    """
    concerned, pack = cells_of_findings(submission), submission.pack
    references = {reference.id for reference in pack.references}
    for line, of_line in grouped((row.cell.line, row) for row in submission.rows if row.value is not None).items():
        rows = {formulas.name_of(row.cell.operation): row for row in of_line}
        projections = {name: row.projection for name, row in rows.items() if row.projection}
        geometry = next((projection.geometry for projection in projections.values()), None)
        planned = pack.planned_numbers(geometry, pack.values_of(*line)) if geometry else {}
        numbers = planned | {name: row.value for name, row in rows.items() if row.value is not None}
        for requirement, condition in _conditions_of_line(pack, *line[1:], planned) if projections else ():
            ends = {name: projections[name].ends for name in condition.names if name in projections}
            rule = pack.judging_rule(requirement)
            if {*condition.names} <= numbers.keys() | references and (ends or rule == "GEO-05"):
                cells = [rows[name].cell for name in ends or projections]
                findings = _check_projected(submission, requirement, condition, cells, numbers, ends)
                yield from complete_findings(rule, "", findings, concerned)


def _check_projected(
    submission: Submission,
    requirement: Requirement,
    condition: Condition,
    cells: Sequence[Cell],
    numbers: Mapping[str, float],
    ends: Mapping[str, tuple[float, float]],
) -> Iterator[Finding]:
    """Whether a condition holds at the projected numbers, and at all their ends."""
    ranges = {name: f" (projected, {digits(low)} to {digits(high)})" for name, (low, high) in ends.items()}
    values_text = ", ".join(
        f"{name} {digits(numbers.get(name, 0.0))}{ranges.get(name, '')}" for name in condition.names
    )
    form, doubtful = (
        requirement_form(entry, submission.full) for entry in (requirement, replace(requirement, explain=True))
    )
    forms = list(_condition_forms(form, requirement, condition, numbers, values_text, _BEYOND))
    for corner in projected_corners(numbers, ends) if not forms else ():
        forms += _condition_forms(doubtful, requirement, condition, corner, values_text, wording=_DOUBTFUL)
    for finding in forms[:1]:
        yield from submission.per_line(finding, cells)


def _named_records(case: Case, part: Case) -> dict[str, Record]:
    """Facts, records and operations, by their names in formulas; an operation has precedence over its record."""
    other_records = {
        formulas.name_of(result.operation): result
        for result in (*case.of_energy, *part.observation.facts, *part.records)
    }
    return other_records | {operation.name: record for operation, record in case.results}


def _lowest_and_highest(values: Sequence[tuple[Value, str]]) -> str:
    """The lowest and the highest value with their lines, and of how many."""
    ends = [choose(values, key=operator.itemgetter(0)) for choose in (min, max)]
    texts = (f"{value if isinstance(value, str) else digits(value)}{place}" for value, place in ends)
    return f"{' to '.join(texts)} of {len(values)} results"


def _sources_text(record: Record) -> str:
    places = dict.fromkeys(f"{part.source.file}:{part.source.line}" for part in record.measured_records)
    return f" ({', '.join(places)})"
