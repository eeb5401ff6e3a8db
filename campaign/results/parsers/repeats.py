"""Numbers of the same operation over the iterations of an execution -> one record. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from campaign.core.model import Record, Source


@dataclass(slots=True)
class _Series:
    unit: str
    lowest: bool  # the lowest value is the best
    values: list[float] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)


class Repeats:
    """Collects values with their lines, by operation."""

    def __init__(self) -> None:
        self._series: dict[str, _Series] = {}

    def add(self, operation: str, value: float, unit: str, line: int, lowest: bool = False) -> None:
        series = self._series.setdefault(operation, _Series(unit, lowest))
        series.values.append(value)
        series.lines.append(line)

    def highest(self, prefix: str) -> tuple[float, str] | None:
        """(highest value, its unit) of all operations whose names begin so; None where there are none."""
        found = [(max(one.values), one.unit) for name, one in self._series.items() if name.startswith(prefix)]
        return max(found, default=None)

    def records(self, file: str) -> list[Record]:
        """A record of each operation: the best value, at its line, with the spread over all."""
        found = []
        for operation, series in self._series.items():
            best = (min if series.lowest else max)(series.values)
            found.append(
                Record(
                    operation=operation,
                    value=best,
                    unit=series.unit,
                    source=Source(file, series.lines[series.values.index(best)]),
                    minimum=min(series.values),
                    mean=sum(series.values) / len(series.values),
                    stddev=deviation(series.values),
                    iterations=len(series.values),
                )
            )
        return found


def deviation(values: Sequence[float]) -> float:
    """Standard deviation of a sample, 0 of one value."""
    n = len(values)
    if n < 2:
        return 0.0
    mean = sum(values) / n
    return math.sqrt(sum((value - mean) ** 2 for value in values) / (n - 1))
