"""The campaign file's `search` and `projections`: their nouns, and conditions between them and other values."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from campaign.config import check, values
from campaign.config.rules.pack import RulePack
from campaign.core import formula
from campaign.core.keys import key, needed, record
from campaign.core.runs import Cell, Geometry, matches
from campaign.core.schema import Choice, ListOf, MapOf, Number, Text, Values, matching
from campaign.core.strict_yaml import Place, quoted


@dataclass(frozen=True, slots=True)
class Searched:
    """`node: search`: determined by measuring."""


@dataclass(frozen=True, slots=True)
class NotRun:
    """`max: projected`: not run; each of its cells has a projection, or is computed from those that have one."""


@dataclass(frozen=True, slots=True)
class SearchSettings:
    """How counts are searched for. Shares are of 1; `nodes` and `processes_per_node` are None if the
    partition decides.
    """

    operation: str | None = key(
        matching(r"[A-Za-z0-9][A-Za-z0-9_.-]*", "an operation of the pack, or all"),
        "the operation whose rate is maximised; `all`: the geometric mean of all operations",
        says_default="the operation that selects the reported run",
    )
    per: str = key(
        Choice(("configuration", "operation", "all")),
        "tune one process count per file configuration, per operation, or one for all",
        "configuration",
    )
    margin: float = key(
        values.percent(0.5, 30),
        "largest shortfall from the highest rate that still counts as reaching it",
        0.05,
        says_default="5%",
    )
    confidence: float = key(
        values.percent(80, 99.9),
        "one-sided confidence level of each comparison of confirmation runs",
        0.98,
        says_default="98%",
    )
    least: int = key(Number(3, 1000), "minimum number of confirmation runs for each shortlisted process count", 6)
    most: int = key(Number(3, 1000), "maximum number of confirmation runs for each shortlisted process count", 30)
    nodes: int | None = key(
        Number(1, 10**6), "largest number of nodes to try", says_default="the usable nodes of the partition"
    )
    processes_per_node: int | None = key(
        Number(1, 10**6),
        "largest number of processes per node to try; may exceed its cores",
        says_default="the cores of a node",
    )
    budget: float | None = key(values.AMOUNT, "limit in node-hours for all searches together", says_default="no limit")


SEARCH = record(SearchSettings)
DESIGN = "design"  # in place of a log: an input from the design, which was not measured


@dataclass(frozen=True, slots=True)
class InputSource:
    """Where an input was read; no log if it is from the design."""

    log: Path | None = None
    line: int = 0
    operation: str = ""


_SOURCE = f'"LOG:LINE OPERATION" such as "earlier/mdtest.out:27 File stat", or {DESIGN}'


def _parts(text: str) -> tuple[str, int, str]:
    """Log, line and operation; no log for an input from the design."""
    match = re.fullmatch(r"([^$`~][^$`]*?):([1-9][0-9]{0,9}) (\S.*)", text)
    if not match and text != DESIGN:
        raise ValueError(f"found {quoted(text)}; allowed: {_SOURCE}")
    return (match[1], int(match[2]), match[3].strip()) if match else ("", 0, "")


_INPUT_SOURCE = Text(
    _SOURCE,
    _parts,
    longest=1000,
    made=lambda parts, file: InputSource(values.absolute_path(file, parts[0]) if parts[0] else None, *parts[1:]),
)


@dataclass(frozen=True, slots=True)
class Projection:
    """Numbers for cells that are computed from an earlier system's results."""

    cells: str = needed(values.CELLS, "the cells that are projected")
    nodes: int = needed(Number(1, 10**6), "number of nodes of the projected result")
    processes: int = needed(Number(1, 2**31 - 1), "number of MPI processes of the projected result")
    base_system: str = needed(values.LINE, "system on which the inputs were measured")
    generation: str = needed(values.LINE, "how the proposed system differs from the base system")
    formula: str = needed(values.FORMULA, "the result as a formula of `inputs`, `nodes` and `processes`")
    inputs: tuple[tuple[str, float], ...] = needed(
        MapOf(values.INPUT_NAME, values.INPUT), "values of the names in the formula"
    )
    uncertainty: float = needed(values.percent(0.1, 100), "uncertainty of the result, plus and minus")
    logs: tuple[Path, ...] = needed(
        ListOf(values.FILE, least=1), "raw outputs of the base system; relative to the campaign file's directory"
    )
    sources: tuple[tuple[str, InputSource], ...] = key(
        MapOf(values.INPUT_NAME, _INPUT_SOURCE),
        "where each input was read: a log of `logs`, its line and operation; `design` for a value that was not "
        "measured",
    )
    parts: tuple[Cell, ...] = ()  # the results that it is computed from by the pack's formula; () if it is declared

    @property
    def value(self) -> float:
        return formula.value(self.formula, {**dict(self.inputs), "nodes": self.nodes, "processes": self.processes})

    @property
    def ends(self) -> tuple[float, float]:
        """The lowest and the highest value within its uncertainty."""
        return self.value * (1 - self.uncertainty), self.value * (1 + self.uncertainty)

    @property
    def geometry(self) -> Geometry:
        return Geometry(self.nodes, self.processes)


def check_search(values: Values, pack: RulePack, launch: Mapping[str, object]) -> None:
    """Report contradictions between `search` and the pack, before it is settled, or the launch conditions."""
    settings = values["search"]
    searched = [condition for condition in pack.launch if isinstance(launch.get(condition.id), Searched)]
    if not settings:
        return
    if (
        any(settings[name] != field.default for name, field in SEARCH.fields.items())
        and not searched
        and all(launch.values())
    ):
        free = next((condition.id for condition in pack.launch if condition.processes is None), "")
        settings.problem(
            f"no launch condition is set to search; set one (such as launch.{free}: search) or remove the key"
        )
    check.bounds(settings)
    for condition in searched:
        needed = condition.nodes or max(2, condition.minimum_nodes)
        if settings["nodes"] is not None and settings["nodes"] < needed:
            settings.problem(
                f"found {settings['nodes']}; allowed: {needed} or more for launch.{condition.id} "
                f"({condition.requirement})",
                "nodes",
            )
    executed = [operation.id for operation in pack.operations if not operation.is_across_executions]
    settings.require(settings["operation"], executed, "operation")
    if searched and any(sweep.by_geometry for sweep in pack.sweeps):
        values.problem(
            f"found search, but the values of rule pack {pack.id} depend on the process count; give the number of "
            "processes",
            "launch",
            searched[0].id,
        )
    if searched and pack.selection.best != "highest":
        values.problem(
            "found search, but process counts can be tuned only where the highest value is reported, and rule pack "
            f"{pack.id} does not report it; give the number of processes",
            "launch",
            searched[0].id,
        )


def check_projections(values: Values, pack: RulePack, launch: Mapping[str, object], file: Path) -> None:
    """Check that each projection can be computed, that none is for a declined cell, and that cells that are not run
    have one.
    """
    projections = values["projections"] or ()
    for entry in projections:
        if not entry or None in entry.values():
            return  # its problem is reported already
        if None not in dict(entry["inputs"]).values():
            _check_formula(entry)
            _check_geometry_and_logs(entry, file)
    declined = [entry["cells"] for entry in values.entries("declined") if entry["cells"]]
    formula_ids = {operation.id for operation in pack.operations if not operation.record}
    not_run = {name for name, geometry in launch.items() if isinstance(geometry, NotRun)}
    for cell in pack.cells(check.names_of_targets(values)):
        is_needed = cell.launch in not_run and cell.operation not in formula_ids
        if problem := _problem_of(cell, [entry["cells"] for entry in projections], declined, is_needed):
            values.problem(*problem)
            return


def _check_formula(entry: Values) -> None:
    inputs = {**dict(entry["inputs"]), "nodes": entry["nodes"], "processes": entry["processes"]}
    used = formula.names(entry["formula"])
    if lacking := [name for name in used if name not in inputs]:
        entry.problem(f"missing values for {', '.join(lacking)}, which the formula uses", "inputs")
    elif unused := [name for name in dict(entry["inputs"]) if name not in used]:
        entry.problem("not used by the formula; remove it", "inputs", unused[0])
    else:
        try:
            if (value := formula.value(entry["formula"], inputs)) <= 0:
                entry.problem(f"the formula gives {value:g}; allowed: a number above zero", "formula")
        except ValueError as error:
            entry.problem(str(error), "formula")


def _check_geometry_and_logs(entry: Values, file: Path) -> None:
    if entry["processes"] % entry["nodes"]:
        entry.problem(processes_uneven(processes=entry["processes"], nodes=entry["nodes"]), "processes")
    for number, path in enumerate(entry["logs"]):
        check.path(entry, path, file, "logs", number)
    for name, parts in entry["sources"]:
        if name not in dict(entry["inputs"]):
            entry.problem(f"no such input; allowed: {', '.join(dict(entry['inputs']))}", "sources", name)
        elif parts and parts[0] and parts[0] not in entry["logs"]:
            listed = ", ".join(entry["logs"])
            entry.problem(f"{parts[0]}: not among the projection's logs: {listed}; add it there", "sources", name)


def processes_uneven(processes: object, nodes: object, allowed: str = "") -> str:
    allowed = allowed or f"a multiple of {nodes} (the same number on each node)"
    return f"found {processes} processes on {nodes} nodes; allowed: {allowed}"


def _problem_of(
    cell: Cell, projections: Sequence[str], declined: Sequence[str], is_needed: bool
) -> tuple[str, *Place] | None:
    """The problem of a cell that does not have exactly one of a number, a projection and a reason to decline it, and
    its place. `is_needed`: whether it gets no number otherwise.
    """
    projected = [index for index, pattern in enumerate(projections) if matches(cell, pattern)]
    is_declined = any(matches(cell, pattern) for pattern in declined)
    if projected and is_declined:
        return f"{cell} is both declined and projected; keep one", "projections", projected[0], "cells"
    if len(projected) > 1:
        return f"{cell} is projected twice; keep one", "projections", projected[1], "cells"
    if not projected and not is_declined and is_needed:
        return (
            f"found projected, but {cell} has no entry in projections; add one, or one in declined",
            "launch",
            cell.launch,
        )
    return None
