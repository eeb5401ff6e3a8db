"""One attempt with everything known about it, for judge, searches and table. Pure."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property, reduce
from statistics import fmean
from typing import Any

from campaign.config.format import Campaign
from campaign.config.rules import formulas
from campaign.config.rules.entries import FileConfiguration, Operation
from campaign.config.rules.kinds import MEDIAN
from campaign.config.rules.output_format import ONE_ITERATION
from campaign.config.rules.pack import RulePack
from campaign.core import formula
from campaign.core.grouping import grouped
from campaign.core.model import (
    Attempt,
    Command,
    Finding,
    Iteration,
    Observation,
    Outputs,
    Record,
    Run,
    State,
    record_key,
)
from campaign.results.environment import energy
from campaign.results.environment.facts import EXECUTABLE, NOTHING, Evidence, ExecutedFile, Metered

Judge = Callable[["Case", bool], Iterable[Finding]]  # the rules' findings; if True, only those that may make it invalid
_OBSERVED = tuple(field.name for field in fields(Observation))
TIMED = ("-W", "-x", "--stonewall")  # beginnings of words that may end a phase by a timer before all items are done


@dataclass(frozen=True)
class Case:
    """`outputs`: what the output of each phase that began says. `judge` is asked for the rules' findings when they are
    needed: of most attempts only whether they are valid. What every rule asks for is cached.
    """

    campaign: Campaign
    pack: RulePack
    run: Run
    attempt: Attempt
    records: tuple[Record, ...]
    outputs: Outputs
    evidence: Evidence = NOTHING
    judge: Judge = lambda case, invalidating: ()

    @property
    def subject(self) -> str:
        return f"{self.run.id}/{self.attempt.number}"

    @cached_property
    def files(self) -> FileConfiguration:
        return next(files for files in self.pack.files if files.id == self.run.files)

    @cached_property
    def operations(self) -> tuple[Operation, ...]:
        """Those that one execution gives."""
        return tuple(each for each in self.pack.operations_of(self.run.launch) if not each.across)

    def record(self, name: str) -> Record | None:
        return next((record for record in self.records if record.operation == name), None)

    def _of_iterations(self, operation: Operation) -> Record | None:
        """The record of an operation, computed from the iterations that the pack selects."""
        printed, which = self.record(operation.key), self.pack.selection.iteration
        if printed is None or printed.iterations < 2:
            return printed
        if not which:
            return by_statistic(printed, operation.statistic)
        decides = deciding(self.pack, self.run)
        place = chosen(self.record(decides.key), which, self.pack.best(decides))
        return printed if place is None else of_iteration(printed, place)

    def result(self, operation: Operation) -> Record | None:
        """The value of the operation's column: a record of the output, or computed from others by its formula."""
        return result(operation, self.operations, self._of_iterations, self._numbers)

    def _numbers(self) -> dict[str, float]:
        return formulas.numbers(self.run.geometry, self.values)

    def of(self, operation: str = "") -> tuple[Record, ...]:
        """The records that an operation's number comes from; without an operation, those of all."""
        found = [record for each, record in self.reported if operation in ("", each.id)]
        return tuple([part for record in found for part in record.measured])

    @cached_property
    def reported(self) -> tuple[tuple[Operation, Record], ...]:
        """Its operations with their results, as far as the output has them."""
        return tuple([(operation, record) for operation in self.operations if (record := self.result(operation))])

    @cached_property
    def seen(self) -> Observation:
        """What its outputs say: of several phases, what is the same in all, and all nodes, failures and remarks."""
        return reduce(_of_both, self.outputs.values() or [Observation()])

    @cached_property
    def placement(self) -> tuple[str, ...]:
        """The node of each rank, as the job saw it; empty if it differs between phases."""
        first, *others = self.evidence.placement.values() or [()]
        return () if any(other != first for other in others) else first

    @cached_property
    def phases(self) -> Mapping[str, Case]:
        """Each phase that began, or is about to, as if it were an execution of its own."""
        all_ran = self.attempt.state in (State.DONE, State.SUBMITTING)
        began = [command for command in self.run.launched if all_ran or command.phase in self.outputs]
        return {command.phase: self._of_phase(command) for command in began}

    def _of_phase(self, command: Command) -> Case:
        name, completion, attempt = command.phase, self.evidence.completion, self.attempt
        variables = self.evidence.loader_variables
        times = next((each for each in completion.phases if each.phase == name), None) if completion else None
        if completion and times:
            own = (replace(times, phase=""),)
            completion = replace(completion, started=times.started, ended=times.ended, uptime=times.uptime, phases=own)
            attempt = replace(attempt, started=times.started, ended=times.ended)
        pack, run = self.pack.of_phase(name), self.run
        counted = any("items_" in word for word in pack.arguments)
        items = (run.items_per_process, run.items_total) if counted else (None, None)
        mark = record_key(name, "")  # records are named as in the phase's own output
        named = [(each.operation.removeprefix(mark), each) for each in self.records if each.operation.startswith(mark)]
        phase = replace(
            self,
            pack=pack,
            attempt=attempt,
            run=replace(
                run,
                geometry=run.geometry_of(command),
                commands=(replace(command, phase=""),),
                items_per_process=items[0],
                items_total=items[1],
            ),
            records=tuple(each if each.operation == own else replace(each, operation=own) for own, each in named),
            outputs={"": self.outputs.get(name, Observation())},
            evidence=replace(
                self.evidence,
                completion=completion,
                placement={"": self.evidence.placement.get(name, ())},
                loader_variables={"": of_phase} if (of_phase := variables.get(name)) is not None else {},
            ),
        )
        vars(phase)["phases"] = {"": phase}  # its own only one
        return phase

    @cached_property
    def values(self) -> Mapping[str, str]:
        """The values of the pack's variables for this run."""
        return self.pack.values_of(self.run.target, self.run.launch, self.run.files)

    @property
    def memory(self) -> float | None:
        """Bytes of memory of its nodes together, as the job recorded it."""
        recorded = self.evidence.environment.by_node("memory.total")
        sizes = {name: float(text.split()[0]) * 1024 for name, text in recorded.items() if text.split()[0].isdigit()}
        nodes = [sizes[name] for name in self.seen.node_names if name in sizes]
        if len(nodes) == self.run.geometry.nodes:
            return sum(nodes)
        return max(sizes.values()) * self.run.geometry.nodes if sizes else None

    @cached_property
    def metered(self) -> Metered:
        """Its energy by the source that the campaign file names."""
        run, evidence = self.run, self.evidence
        if run.energy in ("", energy.SLURM):
            unnamed = Metered(problem="the campaign file names no source (energy)")
            return energy.accounted(evidence.accounting, evidence.completion, run.launched) if run.energy else unnamed
        if evidence.energy is None:
            return Metered(problem="the job has no readings of its nodes")
        each = run.energy.split(" ")[1] != "once"
        return energy.covering(evidence.energy, evidence.completion, evidence.environment.job_nodes, each)

    @property
    def of_energy(self) -> tuple[Record, ...]:
        """Energy and peak power as records."""
        place = f"jobs/{self.attempt.job}/accounting.json"
        return energy.records(
            self.metered, place if self.run.energy == energy.SLURM else f"runs/{self.subject}/{energy.FILE}"
        )

    @cached_property
    def programs(self) -> tuple[ExecutedFile, ...]:
        """The programs of all phases, without duplicates, beginning with the first phase's."""
        reported: dict[str, str] = {}
        for command in self.run.launched:
            output = self.outputs.get(command.phase)
            reported[command.executable] = reported.get(command.executable) or (output and output.binary_sha256) or ""
        environment = self.evidence.environment
        facts = {path: name for name, (path, _) in environment.beside.items()} | {self.run.executable: EXECUTABLE}
        return tuple(environment.file(path, facts.get(path, ""), digest) for path, digest in reported.items())

    @cached_property
    def worth(self) -> float:
        """Sort key: the attempt with the largest one is reported."""
        operation = deciding(self.pack, self.run)
        record = self.result(operation)
        sign = 1 if self.pack.best(operation) == "highest" else -1
        return sign * record.value if record else float("-inf")

    @cached_property
    def findings(self) -> tuple[Finding, ...]:
        return tuple(self.judge(self, False))

    @cached_property
    def valid(self) -> bool:
        return not any(finding.blocks for finding in self.judge(self, True))

    @cached_property
    def complete(self) -> bool:
        """Whether it ended well with a result for each of its operations."""
        return self.attempt.state is State.DONE and len(self.reported) == len(self.operations)

    @property
    def directory(self) -> str:
        return self.run.attempt_directory(self.attempt.token)

    @property
    def planned(self) -> tuple[str, ...]:
        """The planned arguments with this attempt's directory."""
        directory = self.directory
        return tuple(word.replace("{directory}", directory) for word in self.run.arguments)

    @cached_property
    def stonewalled(self) -> bool:
        """Whether a timer, or a timer's file (-x), may end a phase before all items are done."""
        return any(word.startswith(TIMED) for word in self.run.arguments)

    @property
    def full(self) -> bool:
        """Whether it is of the RFP's size: what is inherent to a rehearsal is a note, not a violation."""
        return self.pack.profile == "full"


def _of_both(one: Observation, other: Observation) -> Observation:
    """What the outputs of two phases say together."""
    same = [name for name in _OBSERVED if getattr(one, name) == getattr(other, name)]
    failed = [each.failed_operations for each in (one, other) if each.failed_operations is not None]
    programs = dict.fromkeys(filter(None, (*one.program.split(", "), other.program)))
    of_both = {
        "program": ", ".join(programs),
        "node_names": tuple(dict.fromkeys((*one.node_names, *other.node_names))),
        "failed_operations": sum(failed) if failed else None,
        "complete": one.complete and other.complete,
        "errors": (*one.errors, *other.errors),
        "warnings": (*one.warnings, *other.warnings),
        "unparsed": (*one.unparsed, *other.unparsed),
    }
    return Observation(**{**{name: getattr(one, name) for name in same}, **of_both})


def selected(results: Sequence[Case]) -> Case:
    """The attempt that the pack reports: the best of the selecting operation, the earlier one if equal; or the median
    one. Where each node runs by itself, that of the node that its launch condition names.
    """
    return of_nodes(by_node(results))


def of_nodes(nodes: Mapping[str, Case]) -> Case:
    """Of the attempts of nodes, that of the node that their launch condition names; the only one otherwise."""
    ordered = sorted(nodes.values(), key=operator.attrgetter("worth"))
    pack, run = ordered[0].pack, ordered[0].run
    if pack.best(deciding(pack, run)) == "lowest":
        ordered.reverse()
    condition = next(each for each in pack.launch if each.id == run.launch)
    return ordered[{"minimum": 0, "median": (len(ordered) - 1) // 2, "maximum": -1}[condition.reported_node]]


def by_node(results: Sequence[Case]) -> dict[str, Case]:
    """The reported attempt of each node, where nodes run by themselves; otherwise that of the only entry."""
    return {node: _of_repetitions(cases) for node, cases in sorted(repetitions(results).items())}


def repetitions(results: Iterable[Case]) -> dict[str, list[Case]]:
    """The attempts of each node, where nodes run by themselves; otherwise one entry with all."""
    return grouped((case.run.node, case) for case in results)


def valid_by_line(results: Iterable[Case]) -> dict[tuple[str, str, str], list[Case]]:
    """The valid attempts of each line of the table with all their results."""
    valid = (case for case in results if case.valid and case.complete)
    return grouped(((case.run.target, case.run.launch, case.run.files), case) for case in valid)


def _of_repetitions(results: Sequence[Case]) -> Case:
    if results[0].pack.selection.best == MEDIAN:
        return sorted(results, key=operator.attrgetter("worth"))[(len(results) - 1) // 2]
    return max(results, key=operator.attrgetter("worth"))


def deciding(pack: RulePack, run: Run) -> Operation:
    """The pack's selecting operation; if a run's count was found for one operation alone, that one."""

    operation = pack.deciding_operation(run.launch)
    if operation.id in run.operations:
        return operation
    return next(other for other in pack.operations if other.id == run.operations[0])


# --- the number of a column: from the iterations that the rule pack requires, or computed from others by a formula
#
# A program that measures several times (`-i 3`) prints the best of each operation, possibly from different iterations.
# If the output does not show what is required, the record stays as printed, and STA-01 reports it.


def result(
    operation: Operation,
    operations: Sequence[Operation],
    record: Callable[[Operation], Record | None],
    numbers: Callable[[], Mapping[str, float]],
) -> Record | None:
    """The value of an operation's column: a record of the output, or computed from others by its formula.

    `operations`: those that a formula may name; `record` gives the record of one; `numbers`: other names.
    """
    measured = record(operation) if operation.record else None
    if not operation.formula:
        return measured
    wanted = formula.names(operation.formula)
    if operation.record:
        return _computed(operation, {formulas.VALUE: measured}, numbers())
    inputs = {each.name: result(each, operations, record, numbers) for each in operations if each.name in wanted}
    return _computed(operation, inputs, numbers())


def _computed(operation: Operation, inputs: Mapping[str, Record | None], numbers: Mapping[str, float]) -> Record | None:
    """The record with its parts; None if one is missing or the formula has no value."""
    parts = {name: record for name, record in inputs.items() if record is not None}
    if not parts or len(parts) < len(inputs):
        return None
    try:
        value = formula.value(operation.formula, {**numbers, **{name: part.value for name, part in parts.items()}})
    except ValueError:
        return None
    source = next(iter(parts.values())).source
    return Record(operation.id, value, operation.unit, source, parts=tuple(parts.values()))


# --- of several iterations


def by_statistic(record: Record, wanted: str) -> Record:
    """The record with this statistic of its iterations as value."""
    if record.iterations < 2 or wanted in ("", record.statistic):
        return record
    printed = {"mean": record.mean, "minimum": record.minimum}.get(wanted)
    if not record.each:
        true = record.true_value and printed and record.true_value * printed / record.value
        return record if printed is None else replace(record, value=printed, true_value=true, statistic=wanted)
    order = sorted(range(len(record.each)), key=lambda place: record.each[place].value)
    places = {"first": 0, "last": -1, "minimum": order[0], "maximum": order[-1]}
    middle = order[(len(order) - 1) // 2 : len(order) // 2 + 1]
    chosen = _at(record, record.each[places.get(wanted, middle[0])])
    if wanted in ("mean", "median"):
        among = [record.each[place] for place in (order if wanted == "mean" else middle)]
        chosen = replace(chosen, value=fmean(each.value for each in among), **_averaged(among))
    # What the program prints besides its best value is on the same line.
    source = chosen.source if printed is None else record.source
    return replace(chosen, value=chosen.value if printed is None else printed, source=source, statistic=wanted)


def of_iteration(record: Record, place: int) -> Record:
    """The record of one iteration alone."""
    if record.iterations < 2 or place >= len(record.each):
        return record
    return replace(_at(record, record.each[place]), statistic=ONE_ITERATION, iteration=place + 1)


def chosen(deciding: Record | None, which: str, best: str) -> int | None:
    """The iteration that all numbers of a row are from: `best` (by the deciding operation), first, last."""
    if deciding is None or not deciding.each:
        return None
    values = [each.value for each in deciding.each]
    extreme = max(values) if best == "highest" else min(values)
    return {"first": 0, "last": len(values) - 1}.get(which, values.index(extreme))


def _at(record: Record, each: Iteration) -> Record:
    details: Mapping[str, Any] = each.details
    return replace(record, value=each.value, source=each.source, **details)


def _averaged(iterations: Sequence[Iteration]) -> dict[str, Any]:
    """Averages over the iterations; a count is rounded."""
    known = {name: [iteration.details.get(name) for iteration in iterations] for name in iterations[0].details}
    means = {name: fmean(values) for name, values in known.items() if None not in values}  # type: ignore[arg-type]
    whole = {name for name, values in known.items() if all(isinstance(value, int) for value in values)}
    return {name: round(value) if name in whole else value for name, value in means.items()}
