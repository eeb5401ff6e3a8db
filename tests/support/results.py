"""Campaigns with results: attempts, records and observations, as they come in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from campaign.config.definition import Definition
from campaign.config.format import Campaign, Declined
from campaign.config.rules.pack import RulePack
from campaign.config.waivers import NO_ANSWERS, Answers
from campaign.core.records import Outputs, Record
from campaign.core.runs import Attempt, Run, State
from campaign.judge import engine
from campaign.judge.rows import table_rows
from campaign.judge.submission import Submission
from campaign.results.case import Case
from campaign.results.cells import Row
from tests.support import builders


@dataclass
class Results:
    """A campaign's attempts, as they come in."""

    campaign: Campaign = field(default_factory=builders.campaign)
    pack: RulePack = field(default_factory=builders.pack)
    attempts: list[Attempt] = field(default_factory=list)
    records: dict[tuple[str, int], tuple[Record, ...]] = field(default_factory=dict)
    observations: dict[tuple[str, int], Outputs] = field(default_factory=dict)
    answers: Answers = NO_ANSWERS

    @property
    def runs(self) -> tuple[Run, ...]:
        return builders.expand(self.campaign, self.pack)

    def run(self, name: str) -> Run:
        """By launch and files: `peak.unique`."""
        return next(run for run in self.runs if run.id == f"scratch.{name}.r1")

    def add(
        self,
        name: str,
        values: Sequence[float] | None = (1000.0, 4000.0, 800.0),
        state: State = State.DONE,
        reason: str = "",
        seen: dict[str, object] | None = None,
        record: dict[str, object] | None = None,
        **attempt: object,
    ) -> None:
        """One more attempt of the first repetition with its rates, and what its output says otherwise than planned."""
        self.add_to(self.run(name), values, state, reason, seen, record, **attempt)

    def add_to(
        self,
        run: Run,
        values: Sequence[float] | None,
        state: State = State.DONE,
        reason: str = "",
        seen: dict[str, object] | None = None,
        record: dict[str, object] | None = None,
        **attempt: object,
    ) -> None:
        number = 1 + sum(attempt.run == run.id for attempt in self.attempts)
        token = f"{len(self.attempts):08x}"
        planned_attempt = builders.attempt(run, number=number, token=token, state=state, reason=reason)
        self.attempts.append(replace(planned_attempt, **attempt))  # type: ignore[arg-type]
        if values is not None:
            records = builders.records(values, f"runs/{run.id}/{number}")
            self.records[run.id, number] = tuple(
                replace(planned_record, **(record or {})) for planned_record in records
            )  # type: ignore[arg-type]
            directory = run.attempt_directory(token)
            self.observations[run.id, number] = {"": builders.observation(run, directory, **(seen or {}))}

    def cases(self) -> list[Case]:
        return engine.cases_of_runs(
            Definition(self.campaign, self.pack, self.answers),
            self.runs,
            self.attempts,
            self.records,
            self.observations,
        )

    def rows(self) -> list[Row]:
        return table_rows(self.campaign, self.pack, self.runs, self.attempts, self.cases())

    def submission(self) -> Submission:
        attempts, results, rows = tuple(self.attempts), tuple(self.cases()), tuple(self.rows())
        return Submission(self.campaign, self.pack, self.runs, attempts, results, rows)

    def row(self, cell: str) -> Row:
        """By launch, files and operation: `peak/unique/stat`."""
        return next(row for row in self.rows() if str(row.cell) == f"scratch/{cell}")


def eventful_results() -> Results:
    """A campaign that has gone through whatever can happen to a cell."""
    results = Results(
        campaign=builders.campaign(declined=(Declined("*/max/onefile/*", "no time left"),)),
    )
    results.add("single.shared", (1309.4, 5000.0, 1200.0))
    results.add("single.unique", (5702.0, 52345.678, 8352.9))
    results.add("single.onefile", (5706.0, 6000.0, 5300.0), record={"operations_done": 1000, "files_true": 1000})
    results.add("node.shared")
    results.add("node.unique", (2000.0, 9000.0, 1500.0))
    results.add("node.unique", (2500.0, 8000.0, 1400.0))
    results.add("node.unique", None, State.TIMEOUT, "job 18: TIMEOUT during this run")
    results.add(
        "node.onefile",
        (7999.4, 8000.0, 6000.0),
        record={"operations_done": 250, "true_value": 1999.85, "files_true": 250},
    )
    key = (results.run("node.onefile").id, 1)
    create, stat, remove = results.records[key]  # every process stats the files that all share
    results.records[key] = create, replace(stat, operations_done=1000, true_value=None), remove
    results.add("peak.shared", (3000.0, 4.56789, 99.96), seen={"argv": ("mdtest", "-F", "-C"), "nodes": 1})
    results.add("peak.unique", None, State.NODE_FAIL, "job 19: NODE_FAIL during this run: srun: n2 is gone")
    results.add("peak.onefile", None, State.PENDING, "Resources")
    results.add("max.shared", (0.5, 1.0, 2.0))
    return results
