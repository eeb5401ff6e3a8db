"""What the rules of one attempt look at. Pure data, and the findings' three forms."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from campaign.config.rules.load import FileConfiguration, Operation, RulePack
from campaign.core.model import Attempt, Finding, Observation, Record, Run, Severity
from campaign.results.environment.facts import NOTHING, Evidence


@dataclass(frozen=True, slots=True)
class Case:
    """One attempt with all that is known of it."""

    pack: RulePack
    run: Run
    attempt: Attempt
    directory: str  # the attempt's own, under the target
    records: tuple[Record, ...]
    seen: Observation
    evidence: Evidence = NOTHING

    @property
    def subject(self) -> str:
        return subject(self.run.id, self.attempt.number)

    @property
    def files(self) -> FileConfiguration:
        return next(files for files in self.pack.files if files.id == self.run.files)

    @property
    def operations(self) -> tuple[Operation, ...]:
        return self.pack.operations_of(self.run.launch)

    def record(self, operation: Operation) -> Record | None:
        return next((record for record in self.records if record.operation == operation.record), None)

    @property
    def planned(self) -> tuple[str, ...]:
        """The planned arguments, as this attempt was given them."""
        return tuple(word.replace("{directory}", self.directory) for word in self.run.arguments)

    def broken(self, rule: str, message: str, expected: object = "", actual: object = "") -> Finding:
        found = "absent" if actual is None else str(actual)
        return Finding(rule, Severity.ERROR, self.subject, message, str(expected), found)

    @property
    def full(self) -> bool:
        """Whether it is of the RFP's size: what is inherent to a rehearsal is disclosed and not held against it."""
        return self.pack.profile == "full"

    def doubtful(self, rule: str, message: str, expected: object = "", actual: object = "") -> Finding:
        """Needs an answer; disclosed where a rehearsal cannot but be so."""
        severity = Severity.WARNING if self.full else Severity.INFO
        return Finding(rule, severity, self.subject, message, str(expected), str(actual))

    def disclosed(self, rule: str, message: str, expected: object = "", actual: object = "") -> Finding:
        return Finding(rule, Severity.INFO, self.subject, message, str(expected), str(actual))

    def unchecked(self, rule: str, message: str) -> Finding:
        return Finding(rule, Severity.WARNING, self.subject, message, checked=False)


Rule = Callable[[Case], Iterator[Finding]]


def subject(run: str, attempt: int) -> str:
    return f"{run}/{attempt}"
