"""The noise of an offer, from its repetitions: of each cell, between sessions, and common to all cells. Pure."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from statistics import fmean

from campaign.core.grouping import grouped

ASSUMED = 0.05  # noise, if the offer has too few repetitions
ASSUMED_SHARES = (0.0, 0.5)  # of the noise that all cells have in common, in that case
ENOUGH = 6  # repetitions, beyond the first of each cell and session, that show a noise
LEAST = 0.01  # noise; below, two days differ more than two repetitions
DAY, DAY_WEIGHT = 0.03, 2.0  # assumed standard deviation of a rate between sessions; how many sessions it counts for
MOST_SHARED = 0.9  # share of the noise


@dataclass(frozen=True, slots=True)
class Noise:
    """What is known of a cell: the standard deviation of a repetition's logarithm, and how many repetitions the offer
    has, in how many sessions.
    """

    sigma: float
    repetitions: int
    sessions: int = 1


@dataclass(frozen=True, slots=True)
class Model:
    """The noise of an offer. `day`: standard deviation of the logarithm of a rate between sessions; `shares`: of a
    repetition's variance, that all cells have in common, those that are possible; `in_same_sessions`: whether all cells
    were measured in the same ones; `is_known`, `is_day_known`: whether the offer shows the noise, and the days.
    """

    noises: tuple[Noise, ...]
    day: float = DAY
    shares: tuple[float, ...] = (0.0,)
    in_same_sessions: bool = True
    is_known: bool = True
    is_day_known: bool = False


@dataclass(frozen=True, slots=True)
class Repetitions:
    """The repetitions of a cell: logarithms, in the order of time, and in which session each was measured. `place`:
    cells of one may have noise in common; `kind`: those of one have the same noise.
    """

    logs: tuple[float, ...]
    sessions: tuple[int, ...]
    place: Hashable = ""
    kind: Hashable = ""

    @property
    def session_means(self) -> dict[int, float]:
        by_session = grouped(zip(self.sessions, self.logs, strict=True))
        return {number: fmean(logs) for number, logs in by_session.items()}

    @property
    def residuals(self) -> list[float]:
        """The logarithms without the mean of their session."""
        means = self.session_means
        return [log - means[number] for number, log in zip(self.sessions, self.logs, strict=True)]

    @property
    def freedom(self) -> int:
        return len(self.logs) - len(set(self.sessions))


def estimate_noise(cells: Sequence[Repetitions]) -> Model:
    """The noise of each cell is that of its kind, if the repetitions show it, otherwise that of all cells."""
    pooled = _pooled_variance(cells)
    variance_of_all = math.log1p(ASSUMED**2) if pooled is None else pooled
    kinds = grouped((cell.kind, cell) for cell in cells)
    variances = {kind: _pooled_variance(of_kind) or variance_of_all for kind, of_kind in kinds.items()}
    noises = tuple(Noise(math.sqrt(variances[cell.kind]), len(cell.logs), len(set(cell.sessions))) for cell in cells)
    shares = ASSUMED_SHARES if pooled is None else (_common_share(cells, variances),)
    in_same_sessions = len({frozenset(cell.sessions) for cell in cells}) == 1
    day = _day(cells, fmean(variances.values()), max(shares))
    return Model(noises, DAY if day is None else day, shares, in_same_sessions, pooled is not None, day is not None)


def _pooled_variance(cells: Sequence[Repetitions]) -> float | None:
    """The variance of a repetition, by a standard error above its estimate: the designs that a noise allows are those
    of offers whose noise was estimated too low. None if there are too few repetitions.
    """
    freedom = sum(cell.freedom for cell in cells)
    if freedom < ENOUGH:
        return None
    variance = sum(residual**2 for cell in cells for residual in cell.residuals) / freedom
    return max(LEAST**2, variance * (1 + math.sqrt(2 / freedom)))


def _common_share(cells: Sequence[Repetitions], variances: dict[Hashable, float]) -> float:
    """The share of the noise that cells of one place have in common, by the correlation of their repetitions."""
    repetitions = grouped(
        ((cell.place, number), residual / math.sqrt(variances[cell.kind]))
        for cell in cells
        if cell.freedom
        for number, residual in enumerate(cell.residuals)
    ).values()
    pairs = sum(len(residuals) * (len(residuals) - 1) for residuals in repetitions)
    squares = sum(residual**2 for residuals in repetitions for residual in residuals)
    if not (pairs and squares):
        return 0.0
    products = sum(sum(residuals) ** 2 for residuals in repetitions) - squares
    return min(MOST_SHARED, max(0.0, products / pairs * sum(map(len, repetitions)) / squares))


def _day(cells: Sequence[Repetitions], variance: float, share: float) -> float | None:
    """The standard deviation between sessions, together with the assumed one; None if no cell has several sessions."""
    session_means = [cell.session_means for cell in cells if len(set(cell.sessions)) > 1]
    if not session_means:
        return None
    effects = grouped(
        (number, mean - fmean(of_cell.values())) for of_cell in session_means for number, mean in of_cell.items()
    ).values()
    in_session = fmean(len(cell.logs) / len(set(cell.sessions)) for cell in cells)
    of_noise = variance * (share + (1 - share) / len(session_means)) / in_session
    freedom = len(effects) - 1
    estimate = max(0.0, sum(fmean(of_session) ** 2 for of_session in effects) / freedom - of_noise)
    return math.sqrt((DAY_WEIGHT * DAY**2 + freedom * estimate) / (DAY_WEIGHT + freedom))
