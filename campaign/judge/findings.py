"""The forms of a finding that the functions of rules yield; `complete_findings` adds the rule's id."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from typing import Any

from campaign.core.findings import Finding, Move, Severity
from campaign.core.frozen import replace
from campaign.core.runs import Cell, phase_of_copy
from campaign.core.units import listing, plural
from campaign.results.case import Case
from campaign.results.environment.facts import Environment

Form = Callable[..., Finding]  # makes a finding: form(wording, expected, actual)
CAMPAIGN = "campaign"  # the subject of findings about no single cell or attempt
MOST_LISTED = 5  # files, of which a path may have 150 characters: a text of the buyer's terms has up to 2,000
BUILTIN = "campaign bench "  # how the built-in benchmark names itself


def _finding(
    severity: Severity,
    wording: str,
    expected: object = "",
    actual: object = "",
    /,
    checked: bool = True,
    about: object = "",
    operation: str = "",
    clause: str = "",
    move: Move = Move.VENDOR,
    remedy: str = "",
    **values: object,
) -> Finding:
    """`wording` has {name} for each of the `values`. `about`: the subject, if it is not all that the rule is judged on;
    `operation`: the only one that it is about; `clause`: of the pack's entry that it is about, also for the wording;
    `remedy`: what to do in this case, if it is not what the rule says.
    """
    actual_text = "absent" if actual is None else str(actual)
    texts_of_values = {name: str(value) for name, value in values.items()} | (
        {"clause": clause} if "{clause}" in wording else {}
    )
    texts = (str(about), wording, str(expected), actual_text)
    return Finding(
        *("", severity, *texts, checked),
        operation=operation,
        clause=clause,
        move=move,
        remedy=remedy,
        values=texts_of_values,
    )


violation: Form = partial(_finding, Severity.ERROR)  # makes a result invalid
to_explain: Form = partial(_finding, Severity.WARNING)  # the campaign file has to explain it
note: Form = partial(_finding, Severity.INFO)
unchecked: Form = partial(_finding, Severity.WARNING, checked=False)  # does not count as passed

# What changes a measured call: makes a result invalid until it is explained, and then waits for the buyer.
lifted_by_buyer: Form = partial(_finding, Severity.ERROR, move=Move.BUYER)
left_to_buyer: Form = partial(_finding, Severity.INFO, move=Move.BUYER)  # a note that waits for the buyer
unchecked_by_buyer: Form = partial(_finding, Severity.WARNING, checked=False, move=Move.BUYER)  # the buyer has it
unprovable: Form = partial(_finding, Severity.WARNING, checked=False, move=Move.NOBODY)  # no such output shows it


def missing_output_form(case: Case) -> Form:
    """For what an output lacks: the built-in benchmark prints everything, and programs with a reader, as mdtest and
    IOR, their name, so that lines were removed; of another program nobody can say more.
    """
    has_name = bool(case.observation.program) or not any(form.has_reader for form in case.pack.outputs.values())
    return unchecked if case.observation.program.startswith(BUILTIN) or not has_name else unprovable


def at_full_size(form: Form, full: bool) -> Form:
    """A violation at full size; in a rehearsal a note, with its severity at full size."""

    def noted(*texts: object, **values: Any) -> Finding:
        finding = form(*texts, **values)
        return replace(finding, severity=Severity.INFO, at_full=finding.severity)

    return form if full else noted


def to_explain_at_full_size(full: bool) -> Form:
    """To be explained at full size; in a rehearsal a note."""
    return at_full_size(to_explain, full)


def complete_findings(
    rule: str,
    subject: str,
    findings: Iterable[Finding],
    concerned: Callable[[Finding], tuple[Cell, ...]] = lambda finding: (),
) -> Iterator[Finding]:
    """The findings of a rule's function, with the rule's id. `subject`: what it is judged on; `concerned`: the cells of
    a finding.
    """
    for rule_finding in findings:
        yield replace(
            rule_finding,
            rule=rule,
            subject=rule_finding.subject or subject,
            cells=rule_finding.cells or concerned(rule_finding),
        )


def merged_phases(case: Case, findings_by_phase: Mapping[str, Sequence[Finding]]) -> Iterator[Finding]:
    """Findings about the phases of an attempt: one for all phases if it is the same in all, otherwise with the phases
    in which it was found and with the cells of their operations.
    """
    if len(findings_by_phase) == 1:
        yield from chain.from_iterable(findings_by_phase.values())
        return
    findings_by_text: dict[
        Hashable, dict[str, Finding]
    ] = {}  # what is the same and its number in a phase: the finding by phase
    for phase, findings in findings_by_phase.items():
        numbers = Counter[Hashable]()
        for finding in findings:
            texts = (finding.rule, finding.subject, finding.message, finding.expected, finding.clause)
            key = (*texts, finding.severity, finding.checked, finding.at_full, finding.move)
            findings_by_text.setdefault((key, numbers[key]), {})[phase] = finding
            numbers[key] += 1
    for by_phase in findings_by_text.values():
        finding = next(iter(by_phase.values()))
        actual = dict.fromkeys(finding.actual for finding in by_phase.values() if finding.actual)
        finding = replace(finding, actual=", ".join(actual))
        if len(by_phase) < len(findings_by_phase):
            operations = {
                operation.id for operation in case.operations if operation.phase in map(phase_of_copy, by_phase)
            }
            cells = tuple(cell for cell in finding.cells or case.run.cells() if cell.operation in operations)
            finding = replace(finding, phase=", ".join(by_phase), cells=cells or finding.cells)
        yield finding


# --- for texts


def processes_on(processes: int, nodes: int) -> str:
    return f"{processes} process{'es' if processes != 1 else ''} on {plural(nodes, 'node')}"


def shorten(text: str) -> str:
    return text if len(text) <= 200 else f"{text[:200]}…"


def hashed_listing(texts: Sequence[str]) -> str:
    """The first texts, with the SHA-256 of all, sorted, where there are more: the terms' texts are not endless."""
    if len(texts) <= MOST_LISTED:
        return ", ".join(texts)
    digest = hashlib.sha256("\n".join(sorted(texts)).encode()).hexdigest()
    return f"{listing(texts, MOST_LISTED)}; SHA-256 of this list, sorted: {digest}"


def first_problem(environment: Environment) -> str:
    """The first problem of a job's record, as the end of a sentence; "" without one."""
    return f": {environment.problems[0]}" if environment.problems else ""
