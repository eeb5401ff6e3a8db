"""An entry of the table, with its findings: shared by judge and table."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from statistics import fmean
from typing import Any

from campaign.config.format import Campaign
from campaign.config.search import Projection
from campaign.core.model import Attempt, Cell, Finding, Geometry, Record, Run, Status, matches
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

    def as_json(self) -> dict[str, Any]:
        return {
            "id": self.rules,
            "version": self.version,
            "sha256": self.digest,
            "profile": self.profile,
            "variables": dict(self.variables),
        }


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
        run, attempt, record, geometry = self.run, self.attempt, self.record, self.geometry
        return {
            **asdict(self.cell),
            "value": self.value,
            "unit": self.unit,
            "best": self.best,
            "status": self.status,
            "processes": geometry.processes if geometry else None,
            "nodes": geometry.nodes if geometry else None,
            "processes_per_node": geometry.processes_per_node if geometry else None,
            "files_total": run.items_total if run else None,
            "run": run.id if run else None,
            "attempt": attempt.number if attempt else None,
            "attempts": self.attempts,
            "job_id": attempt.job_id if attempt else None,
            "source": asdict(record.source) if record and not record.parts else None,
            "iterations": _iterations_json(record) if record else None,
            "parts": [_part_json(part) for part in record.measured] if record and record.parts else [],
            "true_value": record.true_value if record else None,
            "files_true": record.files_true if record else None,
            "statistics": {
                "n": self.summary.n,
                "median": self.summary.median,
                "low": self.summary.low,
                "high": self.summary.high,
                "cv": self.summary.cv,
                "selection": self.selection,
                "drift_p": self.summary.drift,
                "outliers": list(self.summary.outliers),
                "values": list(self.values),
                "jobs": self.jobs,
                "started": list(self.started),
            },
            "campaign": self.basis.campaign if self.basis else None,
            "rules": self.basis.as_json() if self.basis else None,
            **({"by_node": self._by_node_json()} if self.by_node else {}),
            **({"energy": self._energy_json(self.energy)} if self.energy else {}),
            "projection": _projection_json(self.projection) if self.projection else None,
            "notes": [*(run.notes if run else ()), *([self.note] if self.note else [])],
            "findings": [finding.as_json() for finding in self.findings],
        }

    def _energy_json(self, energy: Metered) -> dict[str, Any]:
        by_node = {node: {"kwh": each.kwh, "peak_kw": each.peak_kw} for node, each in self.energy_by_node.items()}
        numbers = {"kwh": energy.kwh, "peak_kw": energy.peak_kw, "method": self.metered_by}
        return {**numbers, "not_recorded": energy.problem, **({"by_node": by_node} if by_node else {})}

    def _by_node_json(self) -> dict[str, Any]:
        values = list(self.by_node.values())
        return {
            "nodes": len(self.nodes),
            "measured": len(values),
            "minimum": min(values),
            "maximum": max(values),
            "mean": fmean(values),
            "spread": self.spread,
            "outliers": list(self.outlying),
            "without_value": [node for node in self.nodes if node not in self.by_node],
            "values": dict(self.by_node),
        }


def _iterations_json(record: Record) -> dict[str, Any]:
    return {
        "count": record.iterations,
        "statistic": record.statistic if record.iterations > 1 else None,
        "iteration": record.iteration,
        "minimum": record.minimum,
        "mean": record.mean,
        "stddev": record.stddev,
    }


def _part_json(part: Record) -> dict[str, Any]:
    """A number that a computed one comes from."""
    return {"record": part.operation, "value": part.value, "unit": part.unit, **asdict(part.source)}


def _projection_json(projection: Projection) -> dict[str, Any]:
    return {
        "base_system": projection.base_system,
        "generation": projection.generation,
        "formula": projection.formula,
        "inputs": dict(projection.inputs),
        "uncertainty": projection.uncertainty,
        "logs": [str(path) for path in projection.logs],
    }


def left_out(campaign: Campaign, cells: Iterable[Cell]) -> bool:
    """Whether all cells are declined or projected, so that nothing is measured for them."""
    without = [declined.cells for declined in campaign.declined] + [
        projection.cells for projection in campaign.projections
    ]
    return all(any(matches(cell, pattern) for pattern in without) for cell in cells)


_WIDE = sorted(itertools.product((False, True), repeat=4), key=sum, reverse=True)  # which parts are *, most first


def patterns(cells: Iterable[Cell], universe: Iterable[Cell]) -> list[str]:
    """Patterns that match exactly these cells, each as wide as possible, in the cells' order."""
    wanted = dict.fromkeys(cells)
    others = [cell for cell in dict.fromkeys(universe) if cell not in wanted]
    globs: list[str] = []
    for cell in wanted:
        if any(matches(cell, glob) for glob in globs):
            continue
        candidates = (_glob(cell, wide) for wide in _WIDE)
        glob = next(glob for glob in candidates if not any(matches(other, glob) for other in others))
        targets = {other.target for other in wanted if matches(other, glob)}
        if len(targets) == 1 and glob != "*/*/*/*":  # the only target is named, as people would
            glob = "/".join((cell.target, *glob.split("/")[1:]))
        globs.append(glob)
    return globs


def _glob(cell: Cell, wide: Iterable[bool]) -> str:
    parts = str(cell).split("/")
    return "/".join("*" if is_wide else part for is_wide, part in zip(wide, parts, strict=True))
