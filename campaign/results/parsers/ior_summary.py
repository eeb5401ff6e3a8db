"""Compares IOR's summary with the iterations that it summarises. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from campaign.core.model import Record
from campaign.results.parsers.consistency import Range, Spread, contradicts, count_contradicts, spread_impossible

_MIB = 1 << 20


class Claim(NamedTuple):
    """The expected content of a column of the summary."""

    column: str  # max | min | mean
    expected: Range


def contradiction(record: Record, error: float, rates: Sequence[float] | None, claims: Sequence[Claim]) -> str:
    """A contradiction between a row of the summary and the rest of the output, "" for none.

    Numbers of the row are printed to within `error`; `rates` are those of the iterations, None if the output has none.
    """
    name, value = record.operation, record.value
    lowest, mean, deviation = record.minimum or 0.0, record.mean or 0.0, record.stddev or 0.0
    if not Spread(record.iterations, value, lowest, mean, deviation, error).possible():
        line = " ".join(f"{number:.10g}" for number in (value, lowest, mean, deviation))
        return spread_impossible(name=name, count=record.iterations, line=line)
    if rates is not None and len(rates) != record.iterations:
        return count_contradicts(name=name, found=len(rates), expected=record.iterations)
    columns = {"max": value, "min": lowest, "mean": mean}
    for claim in claims:
        printed = columns[claim.column]
        if not Range.of(printed, error).meets(claim.expected):
            return contradicts(name=name, column=claim.column, found=printed, expected=claim.expected.middle)
    return ""


def row_contradiction(access: str, row: Mapping[str, str], iteration: int) -> str:
    """A contradiction between the columns of an iteration's row: bytes from rate and time, and from the transfers;
    iterations are counted.
    """
    if row.get("iter") != str(iteration):
        return contradicts(name=access, column="iter", found=row.get("iter"), expected=iteration)
    names = ("bw(MiB/s)", "total(s)", "IOPS", "xfer(KiB)", "wr/rd(s)")
    if not all(re.fullmatch(r"[0-9]{1,15}(?:\.[0-9]{1,6})?", row.get(name, "")) for name in names):
        return ""
    rate, total, transfers, size, busy = (Range.printed(row[name]) for name in names)
    of_transfers = transfers * size / Range.of(1024)  # MiB/s, in IOR while they went on, in the applet over all
    if not any((of_transfers * seconds).meets(rate * total) for seconds in (busy, total)):
        expected = of_transfers.middle * busy.middle / max(total.middle, 1e-9)
        return contradicts(name=access, column="bw(MiB/s)", found=row[names[0]], expected=expected)
    return ""


def by_iterations(rates: Sequence[float], error: float) -> Iterator[Claim]:
    if rates:
        yield Claim("max", Range.of(max(rates), error))
        yield Claim("min", Range.of(min(rates), error))
        yield Claim("mean", Range.of(sum(rates) / len(rates), error))


def by_transfers(column: str, rate: Range, size: int) -> Claim:
    """Bytes per second from a rate in transfers per second."""
    return Claim(column, rate * Range.of(size / _MIB))
