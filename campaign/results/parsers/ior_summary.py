"""A summary of IOR's against the iterations that it summarises. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from campaign.core.model import Record
from campaign.results.messages import parsers as messages
from campaign.results.parsers.consistency import Spread, agree

_MIB = 1 << 20


class Claim(NamedTuple):
    """What a column of the summary should hold, and by how much the number may be off."""

    column: str  # max | min | mean
    expected: float
    error: float


def contradiction(record: Record, error: float, rates: Sequence[float] | None, claims: Sequence[Claim]) -> str:
    """What the rest of the output says against a row of the summary, "" for nothing.

    Numbers of the row are printed to within `error`; `rates` are those of the iterations; None where
    the output has none at all.
    """
    name, value = record.operation, record.value
    lowest, mean, deviation = record.minimum or 0.0, record.mean or 0.0, record.stddev or 0.0
    if not Spread(record.iterations, value, lowest, mean, deviation, error).possible():
        line = " ".join(f"{number:.6g}" for number in (value, lowest, mean, deviation))
        return messages.SPREAD_IMPOSSIBLE(name=name, count=record.iterations, line=line)
    if rates is not None and len(rates) != record.iterations:
        return messages.COUNT_CONTRADICTS(name=name, found=len(rates), expected=record.iterations)
    columns = {"max": value, "min": lowest, "mean": mean}
    for claim in claims:
        found = columns[claim.column]
        if not agree(found, claim.expected, claim.error + error):
            return messages.CONTRADICTS(name=name, column=claim.column, found=found, expected=claim.expected)
    return ""


def by_iterations(rates: Sequence[float], error: float) -> Iterator[Claim]:
    if rates:
        yield Claim("max", max(rates), error)
        yield Claim("min", min(rates), error)
        yield Claim("mean", sum(rates) / len(rates), error)


def by_transfers(column: str, rate: float, size: int, error: float) -> Claim:
    """Of a rate in transfers a second, and the bytes of a transfer."""
    return Claim(column, rate * size / _MIB, error * size / _MIB)
