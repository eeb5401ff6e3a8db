"""A rule pack, as the program works with it, and as it is for one campaign. Pure."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from campaign.config.rules import catalogue, entries, facts, formulas, sweeps
from campaign.config.rules.builds import BuildCategory
from campaign.config.rules.kinds import EQUAL_BLOCKS, GEOMETRY, MEDIAN
from campaign.config.rules.output_format import OutputFormat
from campaign.config.rules.programs import Flag, Phase, Program
from campaign.config.values import SERIES, counts_of
from campaign.core import formula
from campaign.core.findings import Finding
from campaign.core.runs import Cell, Geometry, Input, matches


@dataclass(frozen=True)
class RulePack:
    """A rule pack. What is asked for each of ten thousand attempts is cached."""

    id: str
    version: int
    title: str
    document: str  # the RFP's text that the clauses refer to
    caption: str  # of the table
    launch: tuple[entries.LaunchCondition, ...]
    files: tuple[entries.FileConfiguration, ...]
    operations: tuple[entries.Operation, ...]
    programs: tuple[Program, ...]
    phases: tuple[Phase, ...]  # in the order in which one execution runs them
    selection: entries.Selection
    items_total: dict[str, int] = field(default_factory=dict)  # by profile
    items_at_least: bool = True  # if the total does not divide, run more (and say so)
    items_clause: str = ""
    items_unit: str = "files"
    checks: dict[str, str] = field(default_factory=dict)  # rule id of the catalogue -> clause
    parameters: dict[tuple[str, str], float] = field(default_factory=dict)  # by rule and name: other than the defaults
    texts: dict[str, str] = field(default_factory=dict)  # rule -> its requirement in this RFP
    source: entries.Pin = entries.Pin()
    sources: tuple[tuple[str, entries.Pin], ...] = ()  # in its place, by name
    builds: tuple[BuildCategory, ...] = ()
    energy: entries.EnergyDemand = field(default_factory=entries.EnergyDemand)
    notes: tuple[entries.Note, ...] = ()
    clauses: tuple[entries.Clause, ...] = ()  # the demands of the document; empty if the pack does not list them
    variables: tuple[entries.Variable, ...] = ()
    inputs: tuple[Input, ...] = ()  # with paths as written; "" if the campaign file gives it
    sweeps: tuple[sweeps.Sweep, ...] = ()
    series: dict[str, tuple[str, ...]] = field(default_factory=dict)  # once unfolded: its members, by name in formulas
    plots: tuple[entries.Plot, ...] = ()
    requires: tuple[entries.Requirement, ...] = ()
    references: tuple[entries.Reference, ...] = ()
    environment: tuple[entries.EnvironmentVariable, ...] = ()
    launchers: tuple[entries.AllowedLauncher, ...] = ()  # if there are none, a campaign file may choose any
    path: Path | None = None  # the file it was read from
    digest: str = ""  # SHA-256 of that file; of one that extends others, of the lines that sha256sum prints of all
    bases: tuple[Path, ...] = ()  # the files of the packs that it extends, one after the other
    build: BuildCategory | None = None  # once settled: the chosen one, if the pack has any
    profile: str = ""  # once settled: the profile that it was settled for
    values: dict[str, str] = field(default_factory=dict)  # once settled: of the variables
    values_by_run: tuple[
        tuple[str, str, str], ...
    ] = ()  # once settled: variable, glob over target/launch/files, its value

    @property
    def pins(self) -> dict[str, entries.Pin]:
        """What the results must come from, by the name of each source; that of the only one is ""."""
        return dict(self.sources) or {"": self.source}

    @property
    def outputs(self) -> dict[str, OutputFormat]:
        """How the output of each phase is read."""
        return {phase.id: self.program(phase.program).output for phase in self.phases if phase.program}

    @property
    def required(self) -> dict[str, frozenset[str]]:
        """The records of each phase, of which an execution gives one or more. Phases that give none under a launch
        condition under which they run are left out.
        """
        records: dict[str, frozenset[str]] = {}
        for phase in self.phases:
            measured = [
                frozenset(
                    operation.key
                    for operation in self.operations_of(condition.id)
                    if operation.phase == phase.id and operation.record
                )
                for condition in self.launch
                if phase.runs_under(condition.id)
            ]
            if all(measured):
                records[phase.id] = frozenset().union(*measured)
        return records

    @property
    def varying(self) -> set[str]:
        """Variables whose value depends on the run."""
        return {name for name, _, _ in self.values_by_run} | {
            variable.id for variable in self.variables if variable.cases
        }

    def is_of_arguments(self, variable: str) -> bool:
        """Whether a variable appears only in command lines, so that it may depend on the run."""
        texts = [text for files in self.files for text in (files.title, *files.flags)]
        texts += [text for result in self.operations for text in (result.id, result.title, result.row, result.record)]
        texts += [
            text for sweep in self.sweeps for text in (sweep.values, sweep.first, sweep.last, sweep.times, sweep.plus)
        ]
        return f"{{{variable}}}" not in " ".join(texts)

    def values_of(self, target: str, launch: str, files: str) -> Mapping[str, str]:
        """The values of a run's variables: those of the campaign file for it, or for all runs; otherwise the pack's."""
        by_profile = {
            variable.id: variable.value_for(self.profile, launch, files)
            for variable in self.variables
            if self.values.get(variable.id) == (variable.full if self.profile == "full" else variable.rehearsal)
        }
        place = f"{target}/{launch}/{files}"
        values_of_run = {name: value for name, pattern, value in self.values_by_run if matches(place, pattern)}
        return {**self.values, **by_profile, **values_of_run}

    @cached_property
    def of_phase(self) -> Mapping[str, RulePack]:
        """The pack reduced to one phase, by the phase's name."""
        return {
            phase.id: replace(
                self,
                phases=(replace(phase, id=""),),
                programs=(self.program(phase.program),),
                operations=tuple(
                    # A formula over copies has no value in one of them.
                    replace(operation, phase="", formula="", unit=operation.printed_unit)
                    if phase.copies
                    else replace(operation, phase="")
                    for operation in self.operations
                    if operation.phase == phase.id
                ),
                requires=tuple(condition for condition in self.requires if condition.phase in ("", phase.id)),
            )
            for phase in self.phases
            if phase.program
        }

    @cached_property
    def printed_names(self) -> frozenset[str]:
        """The names of records and facts that the descriptions of outputs give, as formulas write them."""
        forms = [program.results for program in self.programs if program.results]
        names = (name for form in forms for name in (*dict(form.facts), *(record.name for record in form.records)))
        return frozenset(map(formulas.name_of, names))

    def judging_rule(self, requirement: entries.Requirement) -> str:
        """The rule that judges a condition: on what is known before a run, on a run, or on several."""
        across = {operation.name for operation in self.operations if operation.is_across_executions}
        printed_names = self.printed_names | {operation.name for operation in self.operations}
        if requirement.over or not across.union(facts.OF_LINE).difference(printed_names - across).isdisjoint(
            requirement.names
        ):
            return "RES-02"
        variables = {variable.id for variable in self.variables} - self.printed_names
        sets = {*self.series, *(sweep.id for sweep in self.sweeps)}
        names = {name for name in requirement.names if formula.aggregated_name(name) not in sets}
        return "GEO-05" if names <= {*facts.KNOWN_BEFORE, facts.MOVED, *variables} else "RES-01"

    def points(self, geometry: Geometry) -> dict[str, list[float]]:
        """The counts of each series, and the values of each sweep of numbers, by their names in formulas."""
        counts = {
            name: [float(member.rpartition("-")[2]) for member in members] for name, members in self.series.items()
        }
        swept = _swept(self, self.values, geometry)
        numbers = {name: values for name, values in swept.items() if all(map(formulas.is_number, values))}
        return counts | {name: [*map(formulas.number, values)] for name, values in numbers.items()}

    def planned_numbers(self, geometry: Geometry, values: Mapping[str, str]) -> dict[str, float]:
        """What a formula may use besides results and facts: counts, variables that are numbers, and the values of
        references at this point.
        """
        numbers = formulas.numbers(geometry, values)
        at_point = {reference.id: reference.value(numbers) for reference in self.references}
        return numbers | {name: number for name, number in at_point.items() if number is not None}

    def of_program(self, name: str) -> RulePack:
        """The pack reduced to the phases of one program."""
        return replace(self, phases=tuple(phase for phase in self.phases if phase.program == name))

    def program(self, name: str) -> Program:
        return next(program for program in self.programs if program.id == name)

    @property
    def arguments(self) -> tuple[str, ...]:
        """The words of all phases."""
        return tuple(word for phase in self.phases for word in phase.arguments)

    @property
    def equal_blocks(self) -> bool:
        """Whether the command lines need the same number of processes on each node."""
        return any(name in word for word in self.arguments for name in EQUAL_BLOCKS)

    def is_computed_from(self, name: str) -> bool:
        """Whether words of the command line, or threads, are computed from this number of a node."""
        texts = [formula_text for word in self.arguments for formula_text in formulas.formulas_in(word)]
        texts += [condition.threads for condition in self.launch if condition.threads]
        texts += [text for phase in self.phases for text in (phase.nodes, phase.processes) if text]
        overridden = any(variable.id == name for variable in self.variables)
        return not overridden and any(name in formula.names(text) for text in texts)

    @property
    def has_projections(self) -> bool:
        """Whether it judges projections, so that any result may be one."""
        return any(rule.startswith("PRJ-") for rule in self.checks)

    @property
    def fixed(self) -> tuple[Flag, ...]:
        return tuple(flag for phase in self.phases for flag in phase.fixed)

    @property
    def derived(self) -> tuple[Flag, ...]:
        return tuple(flag for phase in self.phases for flag in phase.derived)

    @property
    def offset_clause(self) -> str:
        """The clause of mdtest's -N; "" if the rules do not shift ranks."""
        return next((flag.clause for flag in self.derived if flag.flag == "-N"), "")

    def clause_of(self, finding: Finding) -> str:
        """The clause that a finding is about: of an entry, or of its rule."""
        return finding.clause or self.checks.get(finding.rule, "")

    @property
    def allowed(self) -> tuple[Flag, ...]:
        return tuple(flag for phase in self.phases for flag in phase.allowed)

    @property
    def applets(self) -> str:
        """Its programs, as a text."""
        return ", ".join(program.applet for program in self.programs)

    def operations_of(self, launch: str, files: str = "") -> tuple[entries.Operation, ...]:
        """The results under a launch condition: of one file configuration, or of all."""
        return tuple(
            operation
            for operation in self.operations
            if launch in (operation.launch or [launch]) and files in ("", *(operation.files or [files]))
        )

    def cells(self, targets: Iterable[str]) -> tuple[Cell, ...]:
        """All entries of the table, in its order."""
        return tuple(
            Cell(target, launch.id, files.id, operation.id)
            for target in targets
            for files in self.files
            for launch in self.launch
            for operation in self.operations_of(launch.id, files.id)
        )

    def deciding_operation(self, launch: str) -> entries.Operation:
        """The operation whose value selects the attempt to report, under a launch condition."""
        selecting_id = self.selection.operation
        # Some phases of a launch condition may lack the operation.
        measured = [operation for operation in self.operations_of(launch) if not operation.is_across_executions]
        return (
            [operation for operation in measured if selecting_id in (operation.template, operation.id)] or measured
        )[-1]

    def best(self, operation: entries.Operation) -> str:
        """Which of an operation's values is the best: highest or lowest."""
        if operation.best:
            return operation.best
        decides = self.selection.operation in (operation.template, operation.id)
        return self.selection.best if decides and self.selection.best != MEDIAN else "highest"

    def statement(self, rule: str) -> str:
        """A rule's requirement: in the RFP's words if the pack gives them, otherwise in the catalogue's."""
        return self.texts.get(rule) or catalogue.CATALOGUE[rule].statement

    def parameter(self, rule: str, name: str) -> float:
        """A rule's parameter from the pack, otherwise from the catalogue: seconds, a share of 1, or a plain number."""
        return self.parameters.get((rule, name), catalogue.CATALOGUE[rule].parameters[name].default)

    def lengthened_by(self) -> tuple[str, ...]:
        """What a campaign file may change at full size to lengthen a phase; empty if the RFP fixes its size.

        `items` is not among it: even with `at_least`, the total is the RFP's, rounded up to a multiple of the
        processes.
        """
        variables = (variable.id for variable in self.variables if variable.free)
        return (*variables, *(flag.flag for flag in self.allowed if flag.lengthens))

    @property
    def searchable(self) -> bool:
        """Whether `search` can tune the processes: only for a highest rate, with the same measurement for any count."""
        return self.selection.best == "highest" and not any(sweep.by_geometry for sweep in self.sweeps)

    def flag_clauses(self) -> dict[str, str]:
        """The clause of each flag that a campaign file must not give: fixed, derived, or of a file configuration."""
        clauses = {flag: files.clause for files in self.files for flag in files.flags}
        return clauses | {flag.flag: flag.clause for flag in (*self.fixed, *self.derived)}


# --- the pack for one campaign: a launch condition that is a series becomes one for each power of two, variables have
# values, and each sweep becomes one operation for each of its values


def of_build(pack: RulePack, build: str) -> RulePack:
    """The pack as it is for a category of builds, the first one for "": what is free and allowed in others is not."""
    category = next((category for category in pack.builds if category.id == build), next(iter(pack.builds), None))
    if category is None:
        return pack
    return replace(
        pack,
        build=category,
        variables=tuple(
            replace(variable, free=variable.free and category.id in (variable.builds or [category.id]))
            for variable in pack.variables
        ),
        phases=tuple(
            replace(
                phase, allowed=tuple(flag for flag in phase.allowed if category.id in (flag.builds or [category.id]))
            )
            for phase in pack.phases
        ),
    )


def settle(
    pack: RulePack, profile: str, launch: Mapping[str, object], written_values: Mapping[str, str], build: str = ""
) -> RulePack:
    """The pack for one campaign. `launch`: the geometry of each launch condition, or anything else if it is not known.
    `written_values`: of variables in place of the profile's, by name or by NAME@PATTERN. `build`: the chosen category.
    Raises ValueError if a sweep cannot be expanded.
    """
    pack = of_build(pack, build)
    values = {variable.id: variable.full if profile == "full" else variable.rehearsal for variable in pack.variables}
    values_by_run = tuple((*key.partition("@")[::2], value) for key, value in written_values.items() if "@" in key)
    values |= {name: value for name, value in written_values.items() if "@" not in name}
    varying = replace(pack, values_by_run=values_by_run).varying
    constants = {name: value for name, value in values.items() if name not in varying}
    swept = {condition.id: _swept(pack, values, launch.get(condition.id)) for condition in pack.launch}
    constant = next(iter(swept.values()))
    lists = {sweep.id: ",".join(constant[sweep.id]) for sweep in pack.sweeps if not sweep.by_geometry}
    return replace(
        pack,
        caption=f"{pack.caption}, {pack.build.title}" if pack.build else pack.caption,
        phases=tuple(
            replace(phase, arguments=tuple(sweeps.fill(word, {**constants, **lists}) for word in phase.arguments))
            for phase in pack.phases
        ),
        files=tuple(
            replace(
                files,
                title=sweeps.fill(files.title, values),
                flags=tuple(sweeps.fill(flag, values) for flag in files.flags),
            )
            for files in pack.files
        ),
        operations=_operations(pack, values, swept),
        profile=profile,
        values=values,
        values_by_run=values_by_run,
        checks=catalogue.judged_rules(pack.checks),
    )


def swept_values(pack: RulePack, geometry: Geometry) -> dict[str, str]:
    """The sweeps of a settled pack that depend on the geometry, as lists for the command line."""
    return {
        sweep.id: ",".join(sweep.expand({**pack.values, **_geometry(geometry)}))
        for sweep in pack.sweeps
        if sweep.by_geometry
    }


def _geometry(geometry: Geometry) -> dict[str, str]:
    return {name: str(getattr(geometry, name)) for name in GEOMETRY}


def _swept(pack: RulePack, values: Mapping[str, str], geometry: object) -> dict[str, tuple[str, ...]]:
    """The values of each sweep under a launch condition; sweeps that depend on the geometry need one."""
    numbers = {**values, **(_geometry(geometry) if isinstance(geometry, Geometry) else {})}
    return {
        sweep.id: sweep.expand(numbers) if isinstance(geometry, Geometry) or not sweep.by_geometry else ()
        for sweep in pack.sweeps
    }


def _operations(
    pack: RulePack, values: Mapping[str, str], swept: Mapping[str, Mapping[str, tuple[str, ...]]]
) -> tuple[entries.Operation, ...]:
    expanded: dict[str, entries.Operation] = {}
    runs_under = {phase.id: phase.runs_under for phase in pack.phases}
    launches = {**{formulas.name_of(launch): (launch,) for launch in swept}, **pack.series}
    for template in pack.operations:
        runs = runs_under.get(template.phase, lambda _: True)
        measured = {operation.name: operation.launch for operation in expanded.values()}
        for launch, lists in swept.items():
            if not runs(launch):
                continue
            for at in sweeps.combinations(template.id, lists):
                filled = {**values, **at}
                name = sweeps.fill(template.id, filled)
                text = sweeps.fill(template.formula, {name: formulas.name_of(text) for name, text in filled.items()})
                names = formula.names(text) if text else ()
                conditions, files = _lines_of(pack, names, measured)
                if launch not in conditions or not all(
                    formulas.is_known(part, launch, launches, measured) for part in names
                ):
                    continue
                earlier = expanded.get(name)
                expanded[name] = replace(
                    template,
                    id=name,
                    title=sweeps.fill(template.title, filled),
                    record=sweeps.fill(template.record, filled),
                    row=sweeps.fill(template.row, filled),
                    formula=text,
                    template=template.id,
                    at=tuple(at.items()),
                    launch=(*(earlier.launch if earlier else ()), launch),
                    files=files,
                )
    everywhere = tuple(swept)
    return tuple(
        replace(operation, launch=()) if operation.launch == everywhere else operation
        for operation in expanded.values()
    )


def _lines_of(pack: RulePack, names: Sequence[str], measured: Container[str]) -> tuple[Sequence[str], tuple[str, ...]]:
    """The launch conditions and the file configurations, () for all, in whose lines a formula is: not in those that it
    names; without a number of their own, in the last line of the series, or of the files, that it is over.
    """
    has_own = any(formulas.is_of_line(name) and formulas.place(name)[0] in measured for name in names)
    sets = {formulas.set_of(name) for name in names if not has_own}
    series = [members[-1:] for name, members in pack.series.items() if name in sets]
    of_files = pack.files[-1:] if formulas.FILES in sets else pack.files
    lines = {formulas.place(name)[1] for name in names}
    files = tuple(files.id for files in of_files if f"{formulas.FILES}.{formulas.name_of(files.id)}" not in lines)
    conditions = [condition.id for condition in pack.launch if formulas.name_of(condition.id) not in lines]
    return (*series, conditions)[0], () if len(files) == len(pack.files) else files


# --- series of launch conditions


def unfold(pack: RulePack, counts: Mapping[str, Sequence[int]]) -> RulePack:
    """The pack with each series replaced by its members: `scale` by `scale-1`, `scale-2`, `scale-4`."""
    members = {series.id: tuple(_members(series, counts.get(series.id, (1,)))) for series in pack.launch}
    ids = {name: tuple(member.id for member in conditions) for name, conditions in members.items()}

    def members_of(names: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(id for name in names for id in ids[name])

    return replace(
        pack,
        launch=tuple(member for conditions in members.values() for member in conditions),
        series={formulas.name_of(series.id): ids[series.id] for series in pack.launch if series.series},
        phases=tuple(replace(phase, launch=members_of(phase.launch)) for phase in pack.phases),
        requires=tuple(replace(condition, launch=members_of(condition.launch)) for condition in pack.requires),
        variables=tuple(
            replace(
                variable,
                cases=tuple(replace(case, launch=id) for case in variable.cases for id in ids.get(case.launch, ("",))),
            )
            for variable in pack.variables
        ),
    )


def powers_of_two(largest: int) -> list[int]:
    return [1 << power for power in range(largest.bit_length())]


def series_counts(pack: RulePack, names: Sequence[str]) -> dict[str, list[int]]:
    """The counts of each series by these names of launch conditions."""
    counts_by_series = {}
    for series in (condition for condition in pack.launch if condition.series):
        texts = [name.removeprefix(f"{series.id}-") for name in names if name.startswith(f"{series.id}-")]
        counts = sorted({int(text) for text in texts if text.isdecimal()}) or [1]
        of_powers = powers_of_two(counts[-1]) if series.points == SERIES else counts
        counts_by_series[series.id] = counts_of(series.points) or of_powers
    return counts_by_series


def _members(condition: entries.LaunchCondition, counts: Sequence[int]) -> Iterator[entries.LaunchCondition]:
    if not condition.series:
        yield condition
        return
    by_nodes = condition.series == "nodes"
    for count in counts:
        texts = {condition.series: str(count)}
        yield replace(
            condition,
            id=f"{condition.id}-{count}",
            title=sweeps.fill(condition.title, texts),
            text=sweeps.fill(condition.text, texts),
            nodes=count if by_nodes else condition.nodes,
            share="" if by_nodes else condition.share,
            processes_per_node=condition.processes_per_node if by_nodes else count,
            reaches=condition.series if condition.points == SERIES and count == counts[-1] else "",
        )
