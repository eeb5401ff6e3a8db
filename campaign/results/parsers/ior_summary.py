"""IOR's summary -> records, where it agrees with the iterations that it summarises. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from campaign.core.model import Record
from campaign.results.parsers.consistency import Range, Spread, contradicts, count_contradicts, spread_impossible
from campaign.results.parsers.lines import Notes

_MIB = 1 << 20


class Claim(NamedTuple):
    """The expected content of a column of the summary."""

    column: str  # max | min | mean
    expected: Range


@dataclass(frozen=True, slots=True)
class SummaryRow:
    """A row of the summary of test number `test`. Its numbers are printed to within `error`; `rates` are those of its
    iterations, None if the output has none.
    """

    test: int
    record: Record
    error: float
    rates: Sequence[float] | None
    claims: Sequence[Claim]

    def contradiction(self) -> str:
        """What contradicts the rest of the output, "" for nothing."""
        record, name = self.record, self.record.operation
        value, lowest, mean, deviation = record.value, record.minimum or 0.0, record.mean or 0.0, record.stddev or 0.0
        if not Spread(record.iterations, value, lowest, mean, deviation, self.error).possible():
            line = " ".join(f"{number:.10g}" for number in (value, lowest, mean, deviation))
            return spread_impossible(name=name, count=record.iterations, line=line)
        if self.rates is not None and len(self.rates) != record.iterations:
            return count_contradicts(name=name, found=len(self.rates), expected=record.iterations)
        columns = {"max": value, "min": lowest, "mean": mean}
        for claim in self.claims:
            printed = columns[claim.column]
            if not Range.of(printed, self.error).meets(claim.expected):
                return contradicts(name=name, column=claim.column, found=printed, expected=claim.expected.middle)
        return ""


def records_of(rows: Sequence[SummaryRow], several: bool, notes: Notes) -> dict[str, Record]:
    """By operation, which names the test if there are `several`."""
    records: dict[str, Record] = {}
    for row in rows:
        line = row.record.source.line
        name = f"{row.record.operation}-{row.test}" if several else row.record.operation
        if against := row.contradiction():
            notes.error(line, against)
        elif name in records:
            notes.error(line, f"{name} appears twice; the first, in line {records[name].source.line}, is used")
        else:
            records[name] = replace(row.record, operation=name)
    return records


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
    of_transfers = transfers * size * Range.of(1 / 1024)  # MiB/s, in IOR while they went on, in the applet over all
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
