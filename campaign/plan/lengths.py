"""Estimates how long a run takes: the median of similar runs that have ended. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from campaign.core.model import Geometry


@dataclass(frozen=True, slots=True)
class Kind:
    """What determines how long a run takes."""

    target: str
    launch: str
    files: str
    geometry: Geometry

    @property
    def likenesses(self) -> tuple[tuple[object, ...], ...]:
        """What runs may have in common with this kind, most similar first."""
        return (
            (self.target, self.launch, self.files, self.geometry),
            (self.launch, self.files, self.geometry),
            (self.launch, self.geometry),
            (self.target, self.launch),
            (self.launch,),
            (),
        )


class Lengths:
    """Expected seconds of runs, from those that have ended (`taken`); `limit_s` as long as none has."""

    def __init__(self, taken: Mapping[Kind, Sequence[float]], limit_s: float) -> None:
        alike: dict[tuple[object, ...], list[float]] = {}
        for kind, seconds in taken.items():
            for likeness in kind.likenesses:
                alike.setdefault(likeness, []).extend(seconds)
        self._medians = {likeness: median(seconds) for likeness, seconds in alike.items()}
        self._limit_s = limit_s
        self.known = bool(taken)

    def of(self, kind: Kind) -> float:
        return next((self._medians[each] for each in kind.likenesses if each in self._medians), self._limit_s)

    def has(self, kind: Kind) -> bool:
        """Whether a run of exactly this kind has ended."""
        return kind.likenesses[0] in self._medians
