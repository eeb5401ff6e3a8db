"""IOR's summary, and the iterations that it summarises -> records, where they agree. Pure.

Columns have the names and the digits of IOR's text, whatever format they are from.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from campaign.core.model import Iteration, Record, Source
from campaign.results.parsers.consistency import (
    Range,
    Spread,
    contradicts,
    count_contradicts,
    half_digit,
    spread_impossible,
)
from campaign.results.parsers.lines import Notes

_MIB = 1 << 20
_SHOWN = re.compile(r"[0-9]{1,15}(?:\.[0-9]{1,20})?")
_RATES = {"max": "Max(OPs)", "min": "Min(OPs)", "mean": "Mean(OPs)"}


@dataclass(frozen=True, slots=True)
class IterationRow:
    """One write or read of a test. `columns` are those of its row, as far as it has them."""

    line: int
    rate: str  # MiB/s
    columns: Mapping[str, str]

    @property
    def moved_bytes(self) -> int | None:
        seconds = self.columns.get("total(s)", "")
        return round(mebibytes(self.rate) * float(seconds)) if _SHOWN.fullmatch(seconds) else None


class IorSummary:
    """Rows of the summary, of iterations, and of the best of them, by test and access (write, read)."""

    def __init__(self, file: str) -> None:
        self._file = file
        self.iterations: dict[tuple[int, str], list[IterationRow]] = {}
        self.best: dict[tuple[int, str], str] = {}
        self.rows: list[tuple[int, Record, Mapping[str, str]]] = []
        self._all_read = True

    def add(self, line: int, columns: Mapping[str, str]) -> None:
        """A row of the summary. Raises ValueError if it is not a whole one."""
        numbers = [columns.get(name, "") for name in ("Max(MiB)", "Min(MiB)", "Mean(MiB)", "StdDev")]
        access, test, repetitions = columns.get("Operation"), columns.get("Test#", "0"), columns.get("reps", "1")
        counts = test.isdecimal() and repetitions.isdecimal()
        if access not in ("write", "read") or not counts or not all(map(_SHOWN.fullmatch, numbers)):
            self._all_read = False
            raise ValueError
        value, lowest, mean, deviation = map(float, numbers)
        source, moved = Source(self._file, line), columns.get("aggs(MiB)", "")
        record = Record(access, value, "MiB/s", source, lowest, mean, deviation, int(repetitions))
        if _SHOWN.fullmatch(moved):
            record = replace(record, moved_bytes=mebibytes(moved))
        self.rows.append((int(test), record, columns))

    def records(self, notes: Notes, by_transfers: bool) -> dict[str, Record]:
        """By operation, which names the test if there are several. `by_transfers`: whether the columns of operations
        per second are those of the same time.
        """
        summed = {(test, record.operation) for test, record, _ in self.rows}
        several = len({test for test, _ in summed | self.iterations.keys()}) > 1
        for test, access in sorted(self.iterations.keys() - summed if summed and self._all_read else ()):
            name = f"{access}-{test}" if several else access
            notes.error(None, f"{name}: rows of iterations, but no row in the summary; result not used")
        records: dict[str, Record] = {}
        for test, record, columns in self.rows:
            line, iterations = record.source.line, self.iterations.get((test, record.operation), [])
            claims = [*self._claims(test, record.operation), *(_by_transfers(columns) if by_transfers else ())]
            count = len(iterations) if self.iterations else record.iterations
            name = f"{record.operation}-{test}" if several else record.operation
            if against := _contradiction(record, half_digit(columns["Max(MiB)"]), count, claims):
                notes.error(line, against)
            elif name in records:
                notes.error(line, f"{name} appears twice; the first, in line {records[name].source.line}, is used")
            else:
                each = tuple(Iteration(float(row.rate), Source(self._file, row.line)) for row in iterations)
                records[name] = replace(record, operation=name, each=each if len(each) > 1 else ())
        return records

    def _claims(self, test: int, access: str) -> Iterator[tuple[str, Range]]:
        """What the iterations say of columns."""
        iterations = self.iterations.get((test, access), [])
        if iterations:
            rates, error = [float(row.rate) for row in iterations], max(half_digit(row.rate) for row in iterations)
            yield "max", Range.of(max(rates), error)
            yield "min", Range.of(min(rates), error)
            yield "mean", Range.of(sum(rates) / len(rates), error)
        if best := self.best.get((test, access)):
            yield "max", Range.printed(best)


def _contradiction(record: Record, error: float, count: int, claims: Sequence[tuple[str, Range]]) -> str:
    """What contradicts the rest of the output, "" for nothing. Numbers are printed to within `error`; `count`
    iterations were found, and `claims` are about columns.
    """
    name, value = record.operation, record.value
    lowest, mean, deviation = record.minimum or 0.0, record.mean or 0.0, record.stddev or 0.0
    if not Spread(record.iterations, value, lowest, mean, deviation, error).possible():
        line = " ".join(f"{number:.10g}" for number in (value, lowest, mean, deviation))
        return spread_impossible(name=name, count=record.iterations, line=line)
    if count != record.iterations:
        return count_contradicts(name=name, found=count, expected=record.iterations)
    columns = {"max": value, "min": lowest, "mean": mean}
    for column, expected in claims:
        if not Range.of(columns[column], error).meets(expected):
            return contradicts(name=name, column=column, found=columns[column], expected=expected.middle)
    return ""


def _by_transfers(columns: Mapping[str, str]) -> Iterator[tuple[str, Range]]:
    """What the rates in transfers per second say of columns, for transfers of one size."""
    size = columns.get("xsize", "")
    for column, name in _RATES.items():
        rate = columns.get(name, "")
        if re.fullmatch(r"[0-9]{1,15}", size) and _SHOWN.fullmatch(rate):
            yield column, Range.printed(rate) * Range.of(int(size) / _MIB)


def mebibytes(text: str) -> int:
    """In bytes."""
    return round(float(text) * _MIB)


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
