"""The records of a search: its settings, requests, outcomes and choice, and the book of its replay. Pure."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from campaign.core.grouping import grouped
from campaign.core.runs import Geometry
from campaign.plan.search.space import SearchSpace, size
from campaign.statistics.intervals import Summary, summarize

CONFIRM = "confirm"  # the phase of the confirmation runs
PROCEDURE = 4  # version of the procedure, in plans and reports


@dataclass(frozen=True, slots=True)
class Settings:
    """`margin` is a share of the rate; `least` and `most` are confirmation runs for each count of the shortlist."""

    seed: str
    margin: float = 0.05
    confidence: float = 0.98  # one-sided
    least: int = 6
    most: int = 30
    budget_node_s: float = math.inf

    @property
    def demanded(self) -> float:
        """The share of the drawn curves that shows a count to be within the margin: more than is promised, since runs
        are looked at again and again until one is shown, and no curve is the machine's.
        """
        return 1 - (1 - self.confidence) / 4


@dataclass(frozen=True, slots=True, order=True)
class SearchRequest:
    """One requested execution: its phase, block and geometry."""

    phase: str
    block: int
    nodes: int
    processes: int

    @property
    def geometry(self) -> Geometry:
        return Geometry(self.nodes, self.processes)

    @property
    def name(self) -> str:
        """`grid-2x8.1`"""
        return f"{self.phase}-{self.geometry}.{self.block}"


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of a request: the rate (None: it ended without one), and its cost."""

    rate: float | None
    node_s: float = 0.0


# The outcome of a request; None while it has not been measured.
Measured = Callable[[SearchRequest], Outcome | None]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A measured count. Rates are those of the confirmation runs if there are any, otherwise of the exploration: the
    median, and its 95% interval (None below 6 runs). `ratio` is to the count with the highest rate, with its one-sided
    bound.
    """

    geometry: Geometry
    runs: int
    fresh_runs: int
    rate: float | None
    low: float | None = None
    high: float | None = None
    ratio: float | None = None
    ratio_low: float | None = None
    within: bool = False  # shown to be within the margin


DRIFT = 0.005  # p-value of a trend below which it is reported


@dataclass(frozen=True, slots=True)
class Drift:
    """A trend over all runs in the order of time. `change`: of the rate, from the first third of the runs to the last,
    relative.
    """

    p_value: float
    change: float

    @property
    def is_significant(self) -> bool:
        return self.p_value < DRIFT


@dataclass(frozen=True, slots=True)
class SlowRuns:
    """Rates in two groups: the share of runs in the slower one, and how much slower they are, relative."""

    share: float
    slower: float


@dataclass(frozen=True, slots=True)
class CountChoice:
    """`geometry` is None if nothing ended with a rate. `complete`: False if the budget ended the search.

    If confirmed: `possible_counts` is the answer and the smaller counts that may also be within the margin, the fewest
    first; `resolved` if these are within 5%, and `further` is how many more runs would resolve it.
    """

    geometry: Geometry | None
    peak: Geometry | None
    complete: bool
    confirmed: bool  # the answer is based on confirmation runs
    reason: str  # in one sentence
    candidates: tuple[Candidate, ...] = ()
    remarks: tuple[str, ...] = ()
    requests: tuple[SearchRequest, ...] = ()  # all requests that it is based on
    node_s: float = 0.0
    drift: Drift | None = None
    slow_runs: SlowRuns | None = None
    outliers: tuple[SearchRequest, ...] = ()
    is_shown: bool = True  # to be within the margin of the peak
    possible_counts: tuple[Geometry, ...] = ()
    resolved: bool | None = None
    further: int = 0


def as_json(choice: CountChoice) -> dict[str, Any]:
    """A choice as data, without its requests."""

    def nodes_and_processes(geometry: Geometry | None) -> list[int] | None:
        return [geometry.nodes, geometry.processes] if geometry else None

    return {
        "geometry": nodes_and_processes(choice.geometry),
        "peak": nodes_and_processes(choice.peak),
        "complete": choice.complete,
        "confirmed": choice.confirmed,
        "reason": choice.reason,
        "remarks": list(choice.remarks),
        "node_hours": choice.node_s / 3600,
        "drift_p": choice.drift.p_value if choice.drift else None,
        "drift_change": choice.drift.change if choice.drift else None,
        "slow_runs": asdict(choice.slow_runs) if choice.slow_runs else None,
        "outliers": [outlier.name for outlier in choice.outliers],
        "shown": choice.is_shown,
        "resolved": choice.resolved,
        "alike": [nodes_and_processes(geometry) for geometry in choice.possible_counts],
        "further_runs": choice.further,
        "candidates": [
            {**asdict(candidate), "geometry": nodes_and_processes(candidate.geometry)}
            for candidate in choice.candidates
        ],
    }


# --- the replay's record of what was measured

Logs = tuple[tuple[tuple[str, int], Geometry, float], ...]  # (phase, block), geometry, log rate


class Missing(Exception):
    """Its arguments are the requests without an outcome."""


class Spent(Exception):
    """The next block would exceed the budget."""


@dataclass
class Book:
    """What the replay has requested so far, and the outcomes."""

    space: SearchSpace
    settings: Settings
    measured: Measured
    outcomes: dict[SearchRequest, Outcome] = field(default_factory=dict)
    failed: dict[Geometry, None] = field(default_factory=dict)  # geometries of which a run ended without a rate
    node_s: float = 0.0

    def measure(self, phase: str, blocks: Iterable[int], geometries: Iterable[Geometry]) -> None:
        """Measure each geometry once in each block, in random order. Ends the replay at a missing point."""
        missing: list[SearchRequest] = []
        remaining = sorted(set(geometries) - self.failed.keys(), key=size)
        expected_node_s = 0.0
        for block in blocks:
            if self.node_s + expected_node_s + self._cost(remaining) > self.settings.budget_node_s:
                if missing:
                    break
                raise Spent
            requests = [SearchRequest(phase, block, run.nodes, run.processes) for run in remaining]
            random.Random(f"{self.settings.seed}/{phase}/{block}").shuffle(requests)
            outcomes = {request: outcome for request in requests if (outcome := self.measured(request))}
            if missing or len(outcomes) < len(requests):
                missing += [request for request in requests if request not in outcomes]
                expected_node_s += self._cost(remaining)
            else:
                self._take(outcomes)
        if missing:
            raise Missing(*missing)

    def _take(self, outcomes: Mapping[SearchRequest, Outcome]) -> None:
        self.outcomes |= outcomes
        for request, outcome in outcomes.items():
            self.node_s += outcome.node_s
            if outcome.rate is None or not outcome.rate > 0:
                self.failed[request.geometry] = None

    def _cost(self, geometries: Sequence[Geometry]) -> float:
        """The estimated cost of a block: each node is used for as long as in the executions so far."""
        nodes = sum(request.nodes for request in self.outcomes)
        return sum(geometry.nodes for geometry in geometries) * self.node_s / nodes if nodes else 0.0

    def logs(self, fresh: bool) -> Logs:
        """Successful runs, of the search itself or of the confirmation."""
        return tuple(
            ((request.phase, request.block), geometry, math.log(point.rate))
            for request, point in self.outcomes.items()
            if point.rate and (request.phase == CONFIRM) == fresh
            if (geometry := request.geometry) not in self.failed
        )

    def confirmation_logs(self) -> dict[Geometry, dict[int, float]]:
        by_geometry: dict[Geometry, dict[int, float]] = {}
        for (_, block), geometry, value in self.logs(fresh=True):
            by_geometry.setdefault(geometry, {})[block] = value
        return by_geometry

    def exploration_logs(self) -> Logs:
        return self.logs(fresh=False)

    def all_logs(self) -> Logs:
        """The logs of exploration, then those of confirmation."""
        return (*self.exploration_logs(), *self.logs(fresh=True))

    def rate_summaries(self) -> dict[Geometry, Summary]:
        """The rates of each count: of its confirmation runs, if there are any, otherwise of the exploration."""
        explored = grouped((geometry, value) for _, geometry, value in self.exploration_logs())
        values = explored | {
            geometry: list(of_block.values()) for geometry, of_block in self.confirmation_logs().items()
        }
        return {geometry: summarize([math.exp(log) for log in logs]) for geometry, logs in values.items()}
