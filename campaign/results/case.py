"""One attempt with everything known about it, for judge, searches and table. Pure."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields
from functools import cached_property, reduce
from itertools import chain
from statistics import fmean
from typing import Any

from campaign.config.format import Campaign
from campaign.config.rules import facts, formulas, sweeps
from campaign.config.rules.entries import FileConfiguration, Operation
from campaign.config.rules.kinds import MEDIAN
from campaign.config.rules.output_format import ONE_ITERATION
from campaign.config.rules.pack import RulePack
from campaign.config.system import Proposed
from campaign.core import formula
from campaign.core.findings import Finding
from campaign.core.frozen import replace
from campaign.core.grouping import grouped
from campaign.core.records import Iteration, Observation, Outputs, Record, record_key
from campaign.core.runs import Attempt, Command, Run, State, phase_of_copy
from campaign.results.environment import energy, facts_file
from campaign.results.environment.facts import EXECUTABLE, NOTHING, Evidence, ExecutedFile, Metered, recorded_texts

Judge = Callable[["Case"], Iterable[Finding]]
_OBSERVED = tuple(field.name for field in fields(Observation))
TIMED = ("-W", "-x", "--stonewall")  # beginnings of words that may end a phase by a timer before all items are done


@dataclass(frozen=True)
class Case:
    """`outputs`: what the output of each phase that began says. `judge` is asked for the rules' findings when they are
    needed. What every rule asks for is cached.
    """

    campaign: Campaign
    pack: RulePack
    run: Run
    attempt: Attempt
    records: tuple[Record, ...]
    outputs: Outputs
    evidence: Evidence = NOTHING
    judge: Judge = lambda case: ()

    @property
    def subject(self) -> str:
        return self.attempt.subject

    @cached_property
    def files(self) -> FileConfiguration:
        return next(files for files in self.pack.files if files.id == self.run.files)

    @cached_property
    def operations(self) -> tuple[Operation, ...]:
        """The operations that one execution gives."""
        return tuple(
            operation for operation in self.pack.operations_of(self.run.launch) if not operation.is_across_executions
        )

    def record(self, operation: str) -> Record | None:
        return next((record for record in self.records if record.operation == operation), None)

    def _of_copies(self, operation: Operation) -> list[Record | None]:
        """The records of an operation, of each copy of its phase; without copies, its only one."""
        phases = [command.phase for command in self.run.launched if command.is_copy]
        copies = [replace(operation, phase=name) for name in phases if phase_of_copy(name) == operation.phase]
        return [*map(self._of_iterations, copies or [operation])]

    def _of_iterations(self, operation: Operation) -> Record | None:
        """The record of an operation, computed from the iterations that the pack selects."""
        printed_record, which = self.record(operation.key), self.pack.selection.iteration
        if printed_record is None or printed_record.iterations < 2:
            return printed_record
        if not which:
            return statistic_record(printed_record, operation.statistic)
        decides = deciding_operation(self.pack, self.run)
        place = chosen_iteration(self.record(decides.key), which, self.pack.best(decides))
        return printed_record if place is None else iteration_record(printed_record, place)

    def result(self, operation: Operation) -> Record | None:
        """The value of the operation's column: a record of the output, or computed from others by its formula."""
        return result(operation, self.operations, self._of_copies, self._numbers)

    def _numbers(self, names: Sequence[str]) -> dict[str, formula.Value]:
        return {**fact_values(self, names), **self.pack.planned_numbers(self.run.geometry, self.values)}

    def records_of(self, operation: str = "") -> tuple[Record, ...]:
        """The records that an operation's number comes from; without an operation, those of all."""
        records = [record for column, record in self.results if operation in ("", column.id)]
        return tuple([part for record in records for part in record.measured_records])

    @cached_property
    def results(self) -> tuple[tuple[Operation, Record], ...]:
        """Its operations with their results, as far as the output has them."""
        return tuple([(operation, record) for operation in self.operations if (record := self.result(operation))])

    @cached_property
    def observation(self) -> Observation:
        """What its outputs say: of several phases, what is the same in all, and all nodes, failures and remarks."""
        return reduce(combine_observations, self.outputs.values() or [Observation()])

    @cached_property
    def placement(self) -> tuple[str, ...]:
        """The node of each rank, as the job saw it; empty if it differs between phases."""
        first, *further_placements = self.evidence.placement.values() or [()]
        return () if any(other != first for other in further_placements) else first

    @cached_property
    def phases(self) -> Mapping[str, Case]:
        """Each phase that began, or is about to, as if it were an execution of its own."""
        all_ran = self.attempt.state in (State.DONE, State.SUBMITTING)
        began = [command for command in self.run.launched if all_ran or command.phase in self.outputs]
        return {command.phase: self._of_phase(command) for command in began}

    def _of_phase(self, command: Command) -> Case:
        name, completion, attempt = command.phase, self.evidence.completion, self.attempt
        variables = self.evidence.loader_variables
        times = next((entry for entry in completion.phases if entry.phase == name), None) if completion else None
        if completion and times:
            phase_times = (replace(times, phase=""),)
            completion = replace(
                completion, started=times.started, ended=times.ended, uptime=times.uptime, phases=phase_times
            )
            attempt = replace(attempt, started=times.started, ended=times.ended)
        pack, run = self.pack.of_phase[phase_of_copy(name)], self.run
        has_item_counts = any("items_" in word for word in pack.arguments)
        items = (run.items_per_process, run.items_total) if has_item_counts else (None, None)
        prefix = record_key(name, "")  # records are named as in the phase's own output
        phase_records = [
            (record.operation.removeprefix(prefix), record)
            for record in self.records
            if record.operation.startswith(prefix)
        ]
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
            records=tuple(
                record if record.operation == operation else replace(record, operation=operation)
                for operation, record in phase_records
            ),
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
        memory_by_node = self.evidence.environment.by_node("memory.total")
        sizes = {
            name: float(text.split()[0]) * 1024 for name, text in memory_by_node.items() if text.split()[0].isdigit()
        }
        nodes = [sizes[name] for name in self.observation.node_names if name in sizes]
        if len(nodes) == self.run.geometry.nodes:
            return sum(nodes)
        return max(sizes.values()) * self.run.geometry.nodes if sizes else None

    @cached_property
    def metered(self) -> Metered:
        """Its energy by the source that the campaign file names."""
        run, evidence = self.run, self.evidence
        if run.energy in ("", energy.SLURM):
            unnamed = Metered(problem="the campaign file names no source (energy)")
            return (
                energy.accounted_energy(evidence.accounting, evidence.completion, run.launched)
                if run.energy
                else unnamed
            )
        if evidence.energy is None:
            return Metered(problem="the job has no readings of its nodes")
        is_each_node = run.energy.split(" ")[1] != "once"
        return energy.require_coverage(
            evidence.energy, evidence.completion, evidence.environment.job_nodes, is_each_node
        )

    @property
    def of_energy(self) -> tuple[Record, ...]:
        """Energy and peak power as records."""
        accounted = self.run.energy == energy.SLURM
        place = f"jobs/{self.attempt.job}/accounting.json" if accounted else f"runs/{self.subject}/{facts_file.NAME}"
        return energy.energy_records(self.metered, place)

    @cached_property
    def programs(self) -> tuple[ExecutedFile, ...]:
        """The programs of all phases, without duplicates, beginning with the first phase's."""
        digests: dict[str, str] = {}
        for command in self.run.launched:
            output = self.outputs.get(command.phase)
            digests[command.executable] = digests.get(command.executable) or (output and output.binary_sha256) or ""
        environment, witness = self.evidence.environment, self.evidence.witness
        if self.run.launcher.image:
            digests = {
                path: digest or min(witness.inside_digests(path), default="") for path, digest in digests.items()
            }
            return tuple(ExecutedFile(path, {}, digest) for path, digest in digests.items())
        facts = {path: name for name, (path, _) in environment.hashed_files.items()} | {self.run.executable: EXECUTABLE}
        return tuple(environment.file(path, facts.get(path, ""), digest) for path, digest in digests.items())

    @cached_property
    def sort_key(self) -> float:
        """Sort key: the attempt with the largest one is reported."""
        operation = deciding_operation(self.pack, self.run)
        record = self.result(operation)
        sign = 1 if self.pack.best(operation) == "highest" else -1
        return sign * record.value if record else float("-inf")

    @cached_property
    def findings(self) -> tuple[Finding, ...]:
        return tuple(self.judge(self))

    @cached_property
    def valid(self) -> bool:
        return not any(finding.blocks for finding in self.findings)

    @cached_property
    def complete(self) -> bool:
        """Whether it ended well with a result for each of its operations."""
        return self.attempt.state is State.DONE and len(self.results) == len(self.operations)

    @property
    def directory(self) -> str:
        """The attempt's own; of a target that exists only in its job, as the job has resolved it."""
        recorded_directory = self.evidence.environment.directory
        run = replace(self.run, directory=recorded_directory) if self.run.is_in_job and recorded_directory else self.run
        return run.attempt_directory(self.attempt.token)

    @property
    def planned_arguments(self) -> tuple[str, ...]:
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


def combine_observations(first: Observation, second: Observation) -> Observation:
    """What the outputs of two phases say together."""
    equal_fields = [name for name in _OBSERVED if getattr(first, name) == getattr(second, name)]
    failed = [
        observation.failed_operations for observation in (first, second) if observation.failed_operations is not None
    ]
    programs = dict.fromkeys(filter(None, (*first.program.split(", "), second.program)))
    combined = {
        "program": ", ".join(programs),
        "node_names": tuple(dict.fromkeys((*first.node_names, *second.node_names))),
        "failed_operations": sum(failed) if failed else None,
        "complete": first.complete and second.complete,
        "errors": (*first.errors, *second.errors),
        "warnings": (*first.warnings, *second.warnings),
        "unparsed": (*first.unparsed, *second.unparsed),
    }
    return Observation(**{**{name: getattr(first, name) for name in equal_fields}, **combined})


def reported_case(results: Sequence[Case]) -> Case:
    """The attempt that the pack reports: the best of the selecting operation, the earlier one if equal; or the median
    one. Where each node runs by itself, that of the node that its launch condition names.
    """
    return reported_node_case(cases_by_node(results))


def reported_node_case(nodes: Mapping[str, Case]) -> Case:
    """The case of the node that the launch condition reports: the one with the lowest, median or highest value."""
    ordered = sorted(nodes.values(), key=operator.attrgetter("sort_key"))
    pack, run = ordered[0].pack, ordered[0].run
    if pack.best(deciding_operation(pack, run)) == "lowest":
        ordered.reverse()
    condition = next(launch for launch in pack.launch if launch.id == run.launch)
    return ordered[{"minimum": 0, "median": (len(ordered) - 1) // 2, "maximum": -1}[condition.reported_node]]


def cases_by_node(results: Sequence[Case]) -> dict[str, Case]:
    """The reported attempt of each node, where nodes run by themselves; otherwise that of the only entry."""
    return {node: _reported_repetition(cases) for node, cases in sorted(repetitions(results).items())}


def repetitions(results: Iterable[Case]) -> dict[str, list[Case]]:
    """The attempts of each node, where nodes run by themselves; otherwise one entry with all."""
    return grouped((case.run.node, case) for case in results)


def valid_by_line(results: Iterable[Case]) -> dict[tuple[str, str, str], list[Case]]:
    """The valid attempts of each line of the table with all their results."""
    valid = (case for case in results if case.valid and case.complete)
    return grouped(((case.run.target, case.run.launch, case.run.files), case) for case in valid)


def _reported_repetition(results: Sequence[Case]) -> Case:
    if results[0].pack.selection.best == MEDIAN:
        return sorted(results, key=operator.attrgetter("sort_key"))[(len(results) - 1) // 2]
    return max(results, key=operator.attrgetter("sort_key"))


def deciding_operation(pack: RulePack, run: Run) -> Operation:
    """The pack's selecting operation; if a run's count was found for one operation alone, that one."""

    operation = pack.deciding_operation(run.launch)
    if operation.id in run.operations:
        return operation
    return next(candidate for candidate in pack.operations if candidate.id == run.operations[0])


# --- facts: each that `campaign.config.rules.facts` lists for one execution


Reader = Callable[[Case], formula.Value | None]


def fact_values(case: Case, names: Sequence[str]) -> dict[str, formula.Value]:
    """The values of these facts, of variables that are numbers, and of functions of a series or a sweep: as recorded,
    or as planned before the run. What is not known is left out.
    """
    readers = _BEFORE if case.attempt.state is State.SUBMITTING else _READERS
    values: dict[str, Any] = {name: readers[name](case) for name in names if name in readers}
    points = case.pack.points(case.run.geometry)
    for name in names:
        with suppress(ValueError):  # a single point has no step
            values |= {name: formula.aggregate(name, points)} if formula.aggregated_name(name) in points else {}
    variables = {name: formulas.number(text) for name, text in case.values.items() if formulas.is_number(text)}
    return {name: value for name, value in values.items() if value not in (None, "")} | variables


def _used(field: str) -> Reader:
    """Reads a field of the proposed system as recorded: as its fact, or as the one text of all nodes."""

    def read(case: Case) -> str | None:
        texts = recorded_texts(case.evidence.environment, field)
        return texts[0] if len(texts) == 1 else None

    return _READERS.get(field) or read


def _processes_per_node(case: Case) -> float | None:
    processes, nodes = (_READERS[name](case) for name in ("processes", "nodes"))
    return float(processes) / float(nodes) if processes and nodes else None


def _makespan(case: Case) -> float | None:
    phases = case.evidence.completion.phases if case.evidence.completion else ()
    of_copies = [phase for phase in phases if phase_of_copy(phase.phase) != phase.phase] or phases
    times = [time for phase in of_copies for time in (phase.started, phase.ended)]
    return max(times) - min(times) if times else None


_READERS: dict[str, Reader] = {
    "processes": lambda case: case.observation.processes or len(case.placement) or None,
    "nodes": lambda case: case.observation.nodes or len(set(case.placement)) or None,
    "processes_per_node": _processes_per_node,
    "threads": lambda case: case.observation.threads or case.run.threads or None,
    facts.MEMORY: lambda case: case.memory / case.run.geometry.nodes if case.memory else None,
    facts.CORES: lambda case: min(
        (float(text) for text in case.evidence.environment.values("cpu.cores") if text.isdigit()), default=None
    ),
    facts.DEVICES: lambda case: min(map(len, case.evidence.environment.devices), default=None),
    facts.DEVICE_MEMORY: lambda case: min(
        (size for sizes in case.evidence.environment.devices for size in sizes), default=None
    ),
    "items_total": lambda case: (
        case.run.items_total if case.observation.files_reported is None else case.observation.files_reported
    ),
    "items_per_process": operator.attrgetter("run.items_per_process"),
    "memory_used": operator.attrgetter("evidence.witness.memory_of_node"),
    "memory_used_per_process": operator.attrgetter("evidence.witness.memory_of_process"),
    "capacity": lambda case: space.size if (space := case.evidence.before or case.evidence.environment.space) else None,
    "makespan": _makespan,
    "energy": operator.attrgetter("metered.kwh"),
    "peak_power": operator.attrgetter("metered.peak_kw"),
    **{f"offered.{field.name}": operator.attrgetter(f"campaign.proposed.{field.name}") for field in fields(Proposed)},
}
_READERS |= {f"used.{field.name}": _used(field.name) for field in fields(Proposed)}
_BEFORE: Mapping[str, Reader] = {  # what the plan knows in place of what a node will report
    **_READERS,
    facts.MEMORY: operator.attrgetter("campaign.slurm.node_memory"),
    facts.CORES: operator.attrgetter("campaign.slurm.node_cores"),
    facts.DEVICES: operator.attrgetter("campaign.proposed.devices"),
    facts.DEVICE_MEMORY: operator.attrgetter("campaign.proposed.device_memory"),
}


# --- the number of a column: from the iterations that the rule pack requires, or computed from others by a formula
#
# A program that measures several times (`-i 3`) prints the best of each operation, possibly from different iterations.
# If the output does not show what is required, the record stays as printed, and STA-01 reports it.


def result(
    operation: Operation,
    operations: Sequence[Operation],
    records: Callable[[Operation], Sequence[Record | None]],
    numbers: Callable[[Sequence[str]], Mapping[str, formula.Value]],
) -> Record | None:
    """The value of an operation's column: a record of the output, or computed from others by its formula.

    `operations`: those that a formula may name; `records` gives the record of one, of each copy of its phase;
    `numbers`: the values of other names.
    """
    output_records = records(operation) if operation.record else [None]
    if not operation.formula:
        return output_records[0]
    names = formula.names(operation.formula)
    if operation.record:
        of_output = [name for name in names if formulas.place(name)[0] == formulas.VALUE] or [formulas.VALUE]
        return evaluate_formula(operation, dict.fromkeys(of_output, output_records), numbers(names))
    inputs = {
        name: [
            result(operand, operations, records, numbers)
            for operand in operations
            if operand.name == name or is_member(operand, name)
        ]
        for name in names
    }
    return evaluate_formula(operation, inputs, numbers(names))


def is_member(operation: Operation, name: str) -> bool:
    """Whether an operation is one of those in `max(rate_{size} over size)`."""
    base, of_set = formulas.place(name)[0], formulas.set_of(name)
    values = {sweep: formulas.name_of(value) for sweep, value in operation.at if sweep == of_set}
    return bool(values) and sweeps.fill(base, values) == operation.name


def evaluate_formula(
    operation: Operation, inputs: Mapping[str, Sequence[Record | None]], numbers: Mapping[str, formula.Value]
) -> Record | None:
    """The record with its parts; None if one is missing or the formula has no value."""
    records_by_name = {name: [record for record in records if record] for name, records in inputs.items() if records}
    parts = tuple(chain.from_iterable(records_by_name.values()))
    if not parts or len(parts) < sum(map(len, inputs.values())):
        return None
    try:
        numbers_by_name = {
            name: number_of(name, [record.value for record in records]) for name, records in records_by_name.items()
        }
        value = formula.value(operation.formula, {**numbers, **numbers_by_name})
    except ValueError:
        return None
    return Record(operation.id, value, operation.unit, parts[0].source, parts=parts)


def number_of(name: str, values: Sequence[float]) -> float:
    """The number of a name of a formula: of one such as `max(fom)`, that of all its values. Raises ValueError."""
    aggregated_name = formula.aggregated_name(name)
    return formula.aggregate(name, {aggregated_name: values}) if aggregated_name else values[0]


# --- of several iterations


def statistic_record(record: Record, statistic: str) -> Record:
    """The record with this statistic of its iterations as value."""
    if record.iterations < 2 or statistic in ("", record.statistic):
        return record
    printed_value = {"mean": record.mean, "minimum": record.minimum}.get(statistic)
    if not record.each:
        true_value = record.true_value and printed_value and record.true_value * printed_value / record.value
        return (
            record
            if printed_value is None
            else replace(record, value=printed_value, true_value=true_value, statistic=statistic)
        )
    order = sorted(range(len(record.each)), key=lambda place: record.each[place].value)
    places = {"first": 0, "last": -1, "minimum": order[0], "maximum": order[-1]}
    middle = order[(len(order) - 1) // 2 : len(order) // 2 + 1]
    result_record = _iteration_values(record, record.each[places.get(statistic, middle[0])])
    if statistic in ("mean", "median"):
        iterations = [record.each[place] for place in (order if statistic == "mean" else middle)]
        result_record = replace(
            result_record, value=fmean(iteration.value for iteration in iterations), **_averages(iterations)
        )
    # What the program prints besides its best value is on the same line.
    source = result_record.source if printed_value is None else record.source
    return replace(
        result_record,
        value=result_record.value if printed_value is None else printed_value,
        source=source,
        statistic=statistic,
    )


def iteration_record(record: Record, place: int) -> Record:
    """The record of one iteration alone."""
    if record.iterations < 2 or place >= len(record.each):
        return record
    return replace(_iteration_values(record, record.each[place]), statistic=ONE_ITERATION, iteration=place + 1)


def chosen_iteration(deciding: Record | None, selection: str, best: str) -> int | None:
    """The iteration that all numbers of a row are from: `best` (by the deciding operation), first, last."""
    if deciding is None or not deciding.each:
        return None
    values = [iteration.value for iteration in deciding.each]
    extreme = max(values) if best == "highest" else min(values)
    return {"first": 0, "last": len(values) - 1}.get(selection, values.index(extreme))


def _iteration_values(record: Record, iteration: Iteration) -> Record:
    details: Mapping[str, Any] = iteration.details
    return replace(record, value=iteration.value, source=iteration.source, **details)


def _averages(iterations: Sequence[Iteration]) -> dict[str, Any]:
    """Averages over the iterations; a count is rounded."""
    values_by_name = {name: [iteration.details.get(name) for iteration in iterations] for name in iterations[0].details}
    averages = {name: fmean(values) for name, values in values_by_name.items() if None not in values}  # type: ignore[arg-type]
    integer_names = {name for name, values in values_by_name.items() if all(isinstance(value, int) for value in values)}
    return {name: round(value) if name in integer_names else value for name, value in averages.items()}
