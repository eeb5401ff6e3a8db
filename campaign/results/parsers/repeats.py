"""Numbers of one operation over the iterations of an execution -> one record. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import pstdev, stdev
from typing import Any

from campaign.core.model import Iteration, Record, Source


class Repeats:
    """Collects values with their lines in a file, by operation. `of_sample`: whether their deviation is that of a
    sample.
    """

    def __init__(self, file: str, of_sample: bool = True) -> None:
        self._file, self._of_sample = file, of_sample
        self._units: dict[str, str] = {}
        self._each: dict[str, list[Iteration]] = {}

    def add(self, operation: str, value: float, unit: str, line: int, details: Mapping[str, Any] | None = None) -> None:
        """`details`: further fields of the record that are known for this iteration."""
        self._units.setdefault(operation, unit)
        iteration = Iteration(value, Source(self._file, line), details or {})
        self._each.setdefault(operation, []).append(iteration)

    def records(self) -> list[Record]:
        """A record for each operation: the best iteration, at its line, with the spread of all."""
        return [self._record(operation, each) for operation, each in self._each.items()]

    def _record(self, operation: str, each: Sequence[Iteration]) -> Record:
        unit, values = self._units[operation], [iteration.value for iteration in each]
        lowest = unit == "s"
        best = each[values.index(min(values) if lowest else max(values))]
        details: Mapping[str, Any] = best.details
        return Record(
            operation,
            best.value,
            unit,
            best.source,
            min(values),
            sum(values) / len(values),
            deviation(values, self._of_sample),
            len(values),
            statistic="minimum" if lowest else "maximum",
            each=tuple(each) if len(each) > 1 else (),
            **details,
        )


def deviation(values: Sequence[float], of_sample: bool = True) -> float:
    """Standard deviation, 0 for one value: of a sample, or of the values as all that there are."""
    if len(values) < 2:
        return 0.0
    return stdev(values) if of_sample else pstdev(values)
