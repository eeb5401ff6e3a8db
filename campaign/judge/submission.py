"""A campaign with everything that its rules are judged on.

A finding's subject says what it is about: a cell or a glob over cells (`scratch/single/*/*`), an attempt of a run
(`scratch.single.shared.r1/1`), or `campaign`. A violation about cells makes them invalid.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path

from campaign.config.format import Campaign
from campaign.config.rules.catalogue import CATALOGUE
from campaign.config.rules.pack import RulePack
from campaign.config.waivers import NO_ANSWERS, Answers
from campaign.core.findings import Finding
from campaign.core.grouping import grouped
from campaign.core.journal import Chain
from campaign.core.records import Record
from campaign.core.runs import Attempt, Cell, Run, Status
from campaign.judge.findings import Form
from campaign.plan.adaptive import SearchProgress, all_runs
from campaign.results.case import Case
from campaign.results.cells import Row
from campaign.results.source.facts import OwnSource, Sources
from campaign.slurm.partitions import Partition

RECORDS = frozenset(rule for rule, entry in CATALOGUE.items() if entry.is_about_records)
Key = tuple[str, int]  # a run's id and the number of its attempt


@dataclass(frozen=True, slots=True)
class Submission:
    """A campaign at this moment: everything that its rules are judged on. `rows` have the findings of their attempts
    already. Data from outside of the database is None if it was not looked up: then the rules that need it are not
    checked.
    """

    campaign: Campaign
    pack: RulePack
    runs: tuple[Run, ...]  # that the cells report
    attempts: tuple[Attempt, ...]  # all recorded ones, including those that no longer count
    results: tuple[Case, ...]  # the ended ones that count
    rows: tuple[Row, ...]
    searches: tuple[SearchProgress, ...] = ()
    again: Mapping[Key, tuple[Record, ...]] | None = None  # the reported attempts' raw outputs, read again
    journal: Chain | None = None
    folders: frozenset[Key] | None = None  # attempts whose folder exists
    unused: frozenset[Key] = frozenset()  # attempts that ended well by their job's record, but not by the journal
    answers: Answers = NO_ANSWERS
    sources: Sources = field(default_factory=Sources)  # of the benchmark
    own_source: OwnSource | None = None  # if the built-in benchmark ran
    partition: Partition | None = None  # as it was when the campaign began
    logs: Mapping[Path, str] | None = None  # texts of the projections' logs, if they exist
    today: date | None = None  # of one that has not run
    programs: tuple[str, ...] = ()  # the hashes of the programs that would run, of one that has not
    findings: tuple[Finding, ...] = ()  # once judged: those beyond single attempts, including those that rows have

    @property
    def all_runs(self) -> tuple[Run, ...]:
        """All runs, including those of searches, which may share some."""
        return all_runs(self.searches, self.runs)

    @property
    def all_findings(self) -> tuple[Finding, ...]:
        """Every finding once, in the catalogue's order: those of rows and the others."""
        order = {rule: number for number, rule in enumerate(CATALOGUE)}
        findings = dict.fromkeys([*(finding for row in self.rows for finding in row.findings), *self.findings])
        return tuple(sorted(findings, key=lambda finding: order.get(finding.rule, len(order))))

    @property
    def cells(self) -> tuple[Cell, ...]:
        return tuple(row.cell for row in self.rows)

    @property
    def planned_rows(self) -> list[Row]:
        """The rows that are to be measured, or were."""
        return [row for row in self.rows if row.run and row.status not in (Status.DECLINED, Status.PROJECTED)]

    @property
    def measured_rows(self) -> list[Row]:
        """The rows whose value is reported as measured, valid or not."""
        return [
            row
            for row in self.rows
            if row.value is not None and row.status is not Status.PROJECTED and row.projection is None
        ]

    @property
    def executed_rows(self) -> list[Row]:
        """The rows whose value one execution gave, and that is not computed across executions."""
        across = {operation.id for operation in self.pack.operations if operation.is_across_executions}
        return [row for row in self.measured_rows if row.cell.operation not in across]

    @property
    def full(self) -> bool:
        """Whether it is of the RFP's size: what is inherent to a rehearsal is a note, not a violation."""
        return self.pack.profile == "full"

    def per_line(self, form: Form, cells: Iterable[Cell], *texts: object, **values: object) -> Iterator[Finding]:
        """One finding with this form, texts and values for each line of the table, or for its concerned cells. Not for
        several lines: the finding of one line must not change with another line.
        """
        line_sizes = Counter(cell.line for cell in set(self.cells))
        for line, of_line in grouped((cell.line, cell) for cell in dict.fromkeys(cells)).items():
            for subject in ["/".join((*line, "*"))] if len(of_line) == line_sizes[line] else map(str, of_line):
                yield form(*texts, about=subject, **values)
