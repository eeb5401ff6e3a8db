"""An entry of the table, with its findings, and the columns of the table: shared by judge and report."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from statistics import fmean
from typing import Any

from campaign.config.format import Campaign
from campaign.config.search import NotRun, Projection
from campaign.config.system import Proposed
from campaign.core import columns, units
from campaign.core.columns import Column
from campaign.core.decode import nondefault_fields
from campaign.core.findings import Finding
from campaign.core.records import Record
from campaign.core.runs import Attempt, Cell, Geometry, Run, Status, matches
from campaign.results.environment.facts import Metered
from campaign.statistics import intervals


@dataclass(frozen=True, slots=True)
class Basis:
    """What numbers were measured by: only those with the same basis can be compared."""

    campaign: str
    rules: str  # id of the pack
    version: int
    digest: str  # SHA-256 of its file
    profile: str
    variables: tuple[tuple[str, str], ...]  # of the command line, once settled
    proposed: Proposed = field(default_factory=Proposed)


@dataclass(frozen=True, slots=True)
class Row:
    """One cell. `value` is None if there is no number; an invalid number has status `invalid`."""

    cell: Cell
    unit: str
    status: Status
    run: Run | None
    value: float | None = None
    attempt: Attempt | None = None
    record: Record | None = None
    attempts: int = 0  # ended ones, valid or not
    other_attempts: int = 0  # of the same runs with other settings
    last_attempt: int = 0  # the number of the last attempt of its run, whatever became of it
    summary: intervals.Summary = intervals.NOTHING
    findings: tuple[Finding, ...] = ()
    note: str = ""  # why there is no number
    projection: Projection | None = None
    best: str = "highest"  # which value is the best: highest | lowest
    values: tuple[float, ...] = ()  # of all valid attempts, in the order of the runs
    jobs: int = 0  # number of jobs that measured them: values of one job share its nodes and its time
    started: tuple[float, ...] = ()  # when each was measured, in seconds since 1970; empty if that is not known
    basis: Basis | None = None
    executions: tuple[str, ...] = ()  # the attempts that a number across executions is from, as `origin` names one
    nodes: tuple[str, ...] = ()  # those that run by themselves for it, where each node does
    by_node: Mapping[str, float] = field(default_factory=dict)  # the values of those with a valid one
    energy: Metered | None = None  # of its run; None if nobody asks for it
    energy_by_node: Mapping[str, Metered] = field(default_factory=dict)  # of nodes that run by themselves
    metered_by: str = ""  # source, level and what is covered, as declared

    @property
    def outlying(self) -> tuple[str, ...]:
        """The nodes whose values are outliers."""
        return tuple(list(self.by_node)[index] for index in sorted(intervals.outliers(list(self.by_node.values()))))

    @property
    def spread(self) -> float | None:
        """The range of the nodes' values, as a share of their mean; None if that is 0."""
        values = list(self.by_node.values())
        middle = abs(fmean(values))
        return (max(values) - min(values)) / middle if middle else None

    @property
    def geometry(self) -> Geometry | None:
        """Nodes and processes of the cell."""
        return self.projection.geometry if self.projection else self.run.geometry if self.run else None

    @property
    def selection(self) -> float | None:
        """The advantage of the reported value over the median of its repetitions, as a share of that: the effect of
        selecting. None if there was nothing to select from.
        """
        if self.value is None or self.summary.n < 2 or not self.summary.median:
            return None
        above = self.value / self.summary.median - 1
        return above if self.best == "highest" else -above

    @property
    def origin(self) -> str:
        """The attempt that its number is from, named as in `Case.subject`; "" if unknown."""
        return f"{self.run.id}/{self.attempt.number}" if self.run and self.attempt else ""

    def as_json(self) -> dict[str, Any]:
        return columns.record(COLUMNS, self)


def _numbers(values: Sequence[Any]) -> str:
    return " ".join(units.padded_csv_number(repr(value)) for value in values)


# The columns of the table of results, in the order of the keys in JSON.
COLUMNS: tuple[Column[Row], ...] = (
    Column("target", lambda row: row.cell.target, 1, width=14),
    Column("launch", lambda row: row.cell.launch, 2),
    Column("files", lambda row: row.cell.files, 3),
    Column("operation", lambda row: row.cell.operation, 4, width=20),
    Column("value", lambda row: row.value, 5, meaning="the reported number; null if there is none"),
    Column("unit", lambda row: row.unit, 6),
    Column("best", lambda row: row.best, 24),
    Column("status", lambda row: row.status, 7, meaning="measured, invalid, projected, declined, failed, …"),
    Column("processes", lambda row: row.geometry and row.geometry.processes, 8, "Processes", repeats=True),
    Column("nodes", lambda row: row.geometry and row.geometry.nodes, 9, "Nodes"),
    Column("processes_per_node", lambda row: row.geometry and row.geometry.processes_per_node, 10),
    Column("files_total", lambda row: row.run and row.run.items_total, 11),
    Column("run", lambda row: row.run and row.run.id, 12, width=30),
    Column(
        "attempt", lambda row: row.attempt and row.attempt.number, 13, meaning="number of the attempt that is reported"
    ),
    Column("attempts", lambda row: row.attempts),
    Column("job_id", lambda row: row.attempt and row.attempt.job_id, 14),
    Column(
        "source",
        lambda row: row.record.source if row.record and not row.record.parts else None,
        meaning="the line of the raw output",
        columns=(
            Column("file", lambda source: source.file, 15, width=52),
            Column("line", lambda source: source.line, 16),
        ),
    ),
    Column(
        "iterations",
        lambda row: row.record,
        columns=(
            Column("count", lambda record: record.iterations, 27, flat="iterations"),
            Column("statistic", lambda record: record.statistic if record.iterations > 1 else None, 28),
            Column("iteration", lambda record: record.iteration, 29),
            Column("minimum", lambda record: record.minimum, 30, flat="iteration_minimum"),
            Column("mean", lambda record: record.mean, 31, flat="iteration_mean"),
            Column("stddev", lambda record: record.stddev, 32, flat="iteration_stddev"),
        ),
    ),
    Column(
        "parts",
        lambda row: (
            [_part_json(part) for part in row.record.measured_records] if row.record and row.record.parts else []
        ),
        33,
        listed=lambda parts: " ".join(
            f"{part.get('file')}:{part.get('line')}" for part in parts if isinstance(part, dict)
        ),
    ),
    Column(
        "true_value",
        lambda row: row.record and row.record.true_value,
        22,
        meaning="the actual rate, where the benchmark's formula differs",
    ),
    Column(
        "of_fastest",
        lambda row: row.record and any(part.of_fastest for part in row.record.measured_records),
        43,
        meaning="whether the value is the rate of the fastest process alone",
    ),
    Column(
        "files_true",
        lambda row: row.record and row.record.files_true,
        meaning="the files that were created, where the formula differs",
    ),
    Column(
        "statistics",
        lambda row: row,
        columns=(
            Column("n", lambda row: row.summary.n, 17, meaning="number of valid attempts"),
            Column("median", lambda row: row.summary.median, 18),
            Column("low", lambda row: row.summary.low, 19, meaning="95% interval of the median"),
            Column("high", lambda row: row.summary.high, 20),
            Column("cv", lambda row: row.summary.cv, 21, meaning="standard deviation divided by the mean"),
            Column(
                "selection",
                lambda row: row.selection,
                meaning="how much the reported value differs from the median, relative",
            ),
            Column("drift_p", lambda row: row.summary.drift),
            Column("outliers", lambda row: list(row.summary.outliers)),
            Column("values", lambda row: list(row.values), 25, listed=_numbers, meaning="of all valid attempts"),
            Column("jobs", lambda row: row.jobs, 26, meaning="number of jobs that measured them"),
            Column(
                "started",
                lambda row: list(row.started),
                42,
                listed=_numbers,
                meaning="when each was measured, in seconds since 1970",
            ),
        ),
    ),
    Column("campaign", lambda row: row.basis and row.basis.campaign),
    Column(
        "rules",
        lambda row: row.basis,
        columns=(
            Column("id", lambda basis: basis.rules),
            Column("version", lambda basis: basis.version),
            Column("sha256", lambda basis: basis.digest),
            Column("profile", lambda basis: basis.profile),
            Column("variables", lambda basis: dict(basis.variables)),
        ),
    ),
    Column(
        "proposed",
        lambda row: (row.basis and nondefault_fields(row.basis.proposed)) or None,
        meaning="what the campaign file says of the offered system",
        is_optional=True,
    ),
    Column(
        "by_node",
        lambda row: row if row.by_node else None,
        is_optional=True,
        columns=(
            Column("nodes", lambda row: len(row.nodes)),
            Column("measured", lambda row: len(row.by_node), 34, flat="nodes_measured"),
            Column("minimum", lambda row: min(row.by_node.values()), 35, flat="nodes_minimum"),
            Column("maximum", lambda row: max(row.by_node.values()), 37, flat="nodes_maximum"),
            Column("mean", lambda row: fmean(row.by_node.values()), 36, flat="nodes_mean"),
            Column("spread", lambda row: row.spread, 38, flat="nodes_spread"),
            Column("outliers", lambda row: list(row.outlying)),
            Column("without_value", lambda row: [node for node in row.nodes if node not in row.by_node]),
            Column("values", lambda row: dict(row.by_node)),
        ),
    ),
    Column(
        "energy",
        lambda row: row if row.energy else None,
        is_optional=True,
        columns=(
            Column("kwh", lambda row: row.energy and row.energy.kwh, 39, flat="energy_kwh"),
            Column("peak_kw", lambda row: row.energy and row.energy.peak_kw, 40, flat="peak_power_kw"),
            Column("method", lambda row: row.metered_by, 41, flat="energy_method"),
            Column("not_recorded", lambda row: row.energy and row.energy.problem),
            Column(
                "by_node",
                lambda row: (
                    {
                        node: {"kwh": energy.kwh, "peak_kw": energy.peak_kw}
                        for node, energy in row.energy_by_node.items()
                    }
                    or None
                ),
                is_optional=True,
            ),
        ),
    ),
    Column(
        "projection",
        lambda row: row.projection,
        columns=(
            Column("base_system", lambda projection: projection.base_system),
            Column("generation", lambda projection: projection.generation),
            Column("formula", lambda projection: projection.formula),
            Column("inputs", lambda projection: dict(projection.inputs)),
            Column("uncertainty", lambda projection: projection.uncertainty),
            Column("logs", lambda projection: list(map(str, projection.logs))),
        ),
    ),
    Column("notes", lambda row: [*(row.run.notes if row.run else ()), *([row.note] if row.note else [])]),
    Column(
        "findings",
        lambda row: [finding.as_json() for finding in row.findings],
        23,
        width=80,
        # The ids of the rules; those not checked have a question mark.
        listed=lambda findings: " ".join(
            dict.fromkeys(
                f"{finding.get('rule')}{'' if finding.get('checked') else '?'}"
                for finding in findings
                if isinstance(finding, dict)
            )
        ),
    ),
)
IN_CSV = tuple(columns.csv_columns(COLUMNS))


def _part_json(part: Record) -> dict[str, Any]:
    """A number that a computed one comes from."""
    return {"record": part.operation, "value": part.value, "unit": part.unit, **asdict(part.source)}


def is_left_out(campaign: Campaign, cells: Iterable[Cell]) -> bool:
    """Whether all cells are declined or projected, so that nothing is measured for them."""
    left_out_patterns = [declined.cells for declined in campaign.declined]
    left_out_patterns += [projection.cells for projection in campaign.projections]
    left_out_patterns += [f"*/{name}/*/*" for name, wanted in campaign.launch.items() if isinstance(wanted, NotRun)]
    return all(any(matches(cell, pattern) for pattern in left_out_patterns) for cell in cells)


_WIDE = sorted(itertools.product((False, True), repeat=4), key=sum, reverse=True)  # which parts are *, most first


def patterns(cells: Iterable[Cell], universe: Iterable[Cell]) -> list[str]:
    """Patterns that match exactly these cells, each as wide as possible, in the cells' order."""
    wanted_cells = dict.fromkeys(cells)
    further_cells = [cell for cell in dict.fromkeys(universe) if cell not in wanted_cells]
    globs: list[str] = []
    for cell in wanted_cells:
        if any(matches(cell, glob) for glob in globs):
            continue
        candidates = (_glob(cell, wide) for wide in _WIDE)
        glob = next(glob for glob in candidates if not any(matches(other, glob) for other in further_cells))
        targets = {other.target for other in wanted_cells if matches(other, glob)}
        if len(targets) == 1 and glob != "*/*/*/*":  # the only target is named, as people would
            glob = "/".join((cell.target, *glob.split("/")[1:]))
        globs.append(glob)
    return globs


def _glob(cell: Cell, wide: Iterable[bool]) -> str:
    parts = str(cell).split("/")
    return "/".join("*" if is_wide else part for is_wide, part in zip(wide, parts, strict=True))
