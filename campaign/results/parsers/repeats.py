"""Numbers of one operation over the iterations of an execution -> one record. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from campaign.core.model import Iteration, Record, Source


@dataclass(slots=True)
class _Series:
    unit: str
    lowest: bool  # the lowest value is the best
    values: list[float] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)

    def record(self, operation: str, file: str) -> Record:
        values = self.values
        best = min(values) if self.lowest else max(values)
        sources = [Source(file, line) for line in self.lines]
        return Record(
            operation,
            best,
            self.unit,
            sources[values.index(best)],
            min(values),
            sum(values) / len(values),
            deviation(values),
            len(values),
            statistic="minimum" if self.lowest else "maximum",
            each=tuple(map(Iteration, values, sources)) if len(values) > 1 else (),
        )


class Repeats:
    """Collects values with their lines, by operation."""

    def __init__(self) -> None:
        self._series: dict[str, _Series] = {}
        self._discarded: set[str] = set()

    def __bool__(self) -> bool:
        return bool(self._series)

    def add(self, operation: str, value: float, unit: str, line: int, lowest: bool = False) -> None:
        series = self._series.setdefault(operation, _Series(unit, lowest))
        series.values.append(value)
        series.lines.append(line)

    def discard(self, operation: str) -> None:
        """Drop an operation with an unknown value: its best value cannot be determined."""
        self._discarded.add(operation)

    def records(self, file: str) -> list[Record]:
        """A record for each operation: the best value, at its line, with the spread of all."""
        known = {name: series for name, series in self._series.items() if name not in self._discarded}
        return [series.record(operation, file) for operation, series in known.items()]


def deviation(values: Sequence[float]) -> float:
    """Standard deviation of a sample, 0 for one value."""
    n = len(values)
    if n < 2:
        return 0.0
    mean = sum(values) / n
    return math.sqrt(sum((value - mean) ** 2 for value in values) / (n - 1))
