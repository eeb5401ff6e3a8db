"""The compliance matrix: each clause of the RFP with its state, by the findings and the results. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from campaign.config.rules.entries import CheckedBy, Clause
from campaign.config.rules.pack import RulePack
from campaign.core.findings import Finding
from campaign.core.runs import Status, phase_of_copy
from campaign.judge.submission import Submission
from campaign.results.cells import Row, patterns

# The rules that judge entries of a list of the pack, as far as they are among the pack's checks.
_JUDGED_BY = {
    "launch": ("CMP-01", "GEO-01", "GEO-02", "GEO-03"),
    "files": ("CMP-01", "FLG-02"),
    "phases": ("FLG-01",),
    "fixed": ("FLG-01",),
    "derived": ("FLG-01", "FLG-06"),
    "allowed": ("FLG-03",),
    "variables": ("FLG-04",),
    "items": ("FLG-04",),
    "inputs": ("INP-01",),
    "environment": ("ENV-06",),
    "requires": ("GEO-05", "RES-01", "RES-02"),
    "selection": ("STA-02",),
    "energy": ("RUN-10",),
    "builds": ("SRC-03", "SRC-07"),
}
_OF_COUNTS = ("GEO-01", "GEO-02")  # judge phases with node and process counts of their own
_OF_TOGETHER = ("RUN-09",)  # of phases that start together with another
_BY_CELLS = ("launch", "files", "phases")  # entries whose findings are those about their cells
WITHOUT = (Status.MISSING, Status.FAILED, Status.DECLINED)


class ClauseState(StrEnum):
    KEPT = "kept"
    VIOLATED = "violated"
    OPEN = "open"
    ANSWERED = "answered"
    LOOK = "to be looked at"
    OUT = "out of scope"


@dataclass(frozen=True, slots=True)
class ClauseLine:
    """A line of the matrix. `cells`: patterns of those that the state is about; `files`: their raw outputs."""

    clause: Clause
    state: ClauseState
    answer: str = ""  # the vendor's, what to look at, or the reason
    rules: tuple[str, ...] = ()
    cells: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    why: str = ""  # it is not kept

    def as_json(self) -> dict[str, Any]:
        return {
            "clause": self.clause.id,
            "requires": self.clause.requires,
            "how": self.clause.accounting,
            "state": self.state,
            "answer": self.answer,
            "by": list(map(str, self.clause.evidence)),
            "rules": list(self.rules),
            "cells": list(self.cells),
            "files": list(self.files),
            "why": self.why,
        }


def compliance_matrix(submission: Submission) -> tuple[ClauseLine, ...]:
    """A line for every clause of the pack, in the pack's order."""
    answers, findings = dict(submission.campaign.answers), submission.all_findings
    return tuple(
        unchecked_line(clause, answers) if clause.text else _judge_clause(clause, submission, findings)
        for clause in submission.pack.clauses
    )


def unchecked_line(clause: Clause, answers: Mapping[str, str]) -> ClauseLine:
    """The line of a clause that no check accounts for. `answers`: the vendor's, by clause."""
    if clause.answered:
        answer = answers.get(clause.id, "")
        state = ClauseState.ANSWERED if answer else ClauseState.OPEN
        return ClauseLine(clause, state, answer, why="" if answer else f"no answer to: {clause.answered}")
    return ClauseLine(clause, ClauseState.LOOK if clause.person else ClauseState.OUT, clause.text)


def count_states(lines: Sequence[ClauseLine]) -> str:
    """`18 clauses: 12 kept, 1 open, …`."""
    counts = Counter(line.state for line in lines)
    states = ", ".join(f"{counts[state]} {state}" for state in ClauseState if counts[state])
    return f"{len(lines)} clause{'s' * (len(lines) != 1)}: {states}"


def _judge_clause(clause: Clause, submission: Submission, findings: Sequence[Finding]) -> ClauseLine:
    """The line of a clause that checks account for: violated by any of them, kept if all rules passed on every cell."""
    pack, all_rows = submission.pack, submission.rows
    judging = {entry: _rules_of_entry(entry, pack) for entry in clause.evidence}
    rules = tuple(dict.fromkeys(rule for of_entry in judging.values() for rule in of_entry))
    phases = {operation.id: operation.phase for operation in pack.operations}
    cells = {entry: {row.cell for row in all_rows if _is_about_entry(entry, row, phases)} for entry in clause.evidence}
    rows = [row for row in all_rows if any(row.cell in of_entry for of_entry in cells.values())]
    clause_findings = [
        finding
        for finding in findings
        if any(
            finding.rule in rules
            and _concerns_entry(finding, entry, cells[entry])
            and _counts_for_clause(finding, clause, entry, judging)
            for entry, rules in judging.items()
        )
    ]
    unmeasured_cells = {
        row.cell for row in all_rows if row.status in WITHOUT
    }  # that results are missing is no violation yet
    judged_findings = [
        finding
        for finding in clause_findings
        if not (finding.violated and finding.cells and unmeasured_cells.issuperset(finding.cells))
    ]
    lacking = [row for row in rows if row.status in WITHOUT]
    missing = f"{len(lacking)} of {len(rows)} results missing" if lacking else "" if rows else "no results"
    state, reason, answer, deciding = clause_state(judged_findings, missing)
    if deciding:
        rows = [row for row in rows if any(finding.concerns(row.cell) for finding in deciding)]
    elif missing:
        rows = lacking
    cell_patterns = tuple(patterns([row.cell for row in rows], [row.cell for row in all_rows]))
    files = dict.fromkeys(row.record.source.file for row in rows if row.record is not None)
    return ClauseLine(clause, state, answer, rules, cell_patterns, tuple(files), reason)


def clause_state(findings: Sequence[Finding], missing: str) -> tuple[ClauseState, str, str, Sequence[Finding]]:
    """The state of a clause, why it is not kept, the vendor's or the buyer's answer, and the findings that leave it
    open or violated. `missing`: what is not there, which leaves it open.
    """
    broken = [finding for finding in findings if finding.violated]
    doubtful = [finding for finding in findings if not finding.checked or finding.unanswered or finding.at_full]
    settled = [finding for finding in findings if finding.waived or (finding.asks and finding.explained)]
    if broken:
        return ClauseState.VIOLATED, broken[0].message, "", broken
    if missing:
        return ClauseState.OPEN, missing, "", ()
    if doubtful:
        return ClauseState.OPEN, f"{doubtful[0].rule} {_open_reason(doubtful[0])}: {doubtful[0].message}", "", doubtful
    if settled:
        answer = f"waived: {settled[0].waived}" if settled[0].waived else f"explained: {settled[0].explained}"
        return ClauseState.ANSWERED, f"{settled[0].rule}: {settled[0].message}", answer, ()
    return ClauseState.KEPT, "", "", ()


def _rules_of_entry(evidence: CheckedBy, pack: RulePack) -> tuple[str, ...]:
    if evidence.key == "checks":
        return (evidence.name,)
    phase = next(
        (pack_phase for pack_phase in pack.phases if evidence.key == "phases" and pack_phase.id == evidence.name), None
    )
    rules = list(_JUDGED_BY.get(evidence.key, ()))
    if phase:
        rules += [*(_OF_COUNTS if phase.has_counts else ()), *(_OF_TOGETHER if phase.beside or phase.copies else ())]
    return tuple(rule for rule in rules if rule in pack.checks)


def _is_about_entry(evidence: CheckedBy, row: Row, phases: Mapping[str, str]) -> bool:
    """Whether a result is of that launch condition, file configuration or phase; other entries are about all."""
    if evidence.key == "launch":
        series, _, count = row.cell.launch.rpartition("-")
        return evidence.name in (row.cell.launch, series if count.isdecimal() else "")
    if evidence.key == "files":
        return row.cell.files == evidence.name
    if evidence.key == "phases":  # one that measures nothing is about all; a foreign table has any operation
        return phases.get(row.cell.operation) == evidence.name or evidence.name not in phases.values()
    return True


def _concerns_entry(finding: Finding, evidence: CheckedBy, cells: set[Any]) -> bool:
    if (
        evidence.key == "phases"
        and finding.phase
        and evidence.name not in map(phase_of_copy, finding.phase.split(", "))
    ):
        return False
    return not finding.cells or not cells.isdisjoint(finding.cells)


def _counts_for_clause(
    finding: Finding, clause: Clause, evidence: CheckedBy, judging: Mapping[CheckedBy, tuple[str, ...]]
) -> bool:
    """Whether a finding about an entry of the pack is about this clause: its entry's. It also counts for the clause of
    its rule, if no entry there is judged by that rule.
    """
    if finding.clause in ("", clause.id) or evidence.key in _BY_CELLS:
        return True
    entries = [entry for entry, rules in judging.items() if finding.rule in rules and entry.key not in _BY_CELLS]
    return evidence.key == "checks" and all(entry.key == "checks" for entry in entries)


def _open_reason(finding: Finding) -> str:
    if not finding.checked:
        return "not checked"
    return "explanation required" if finding.unanswered else "not kept in this rehearsal"
