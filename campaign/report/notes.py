"""The notes of a table: what must stand beside its numbers, each cause once, numbered in reading order. Pure."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from campaign.config.rules.load import RulePack
from campaign.core.model import Cell, Finding, Severity, Status
from campaign.core.units import several
from campaign.results.cells import Row, patterns

LISTED = 6  # different values that one note writes out
ASKED = "explanation required"


Cause = tuple[str, str]  # a note without what differs from cell to cell, which stands between its two parts


@dataclass(frozen=True, slots=True)
class Remark:
    """What must stand beside one number. `found` and `expected` are its own, the rest may be said of many."""

    before: str
    found: str = ""
    expected: str = ""
    after: str = ""


@dataclass(frozen=True, slots=True)
class TableNotes:
    """Texts in the order of their numbers, from 1 on; the cells of each."""

    texts: tuple[str, ...]
    cells: tuple[frozenset[Cell], ...]

    def of(self, *rows: Row | None) -> tuple[int, ...]:
        """The numbers of the notes beside these rows."""
        wanted = {row.cell for row in rows if row}
        return tuple(number for number, cells in enumerate(self.cells, 1) if not wanted.isdisjoint(cells))


def notes(lines: Sequence[Sequence[Row]], pack: RulePack) -> TableNotes:
    """The notes of one target's table; `lines` are its rows as they stand beside each other, from the top."""
    told: dict[Cause, dict[tuple[str, str], list[Cell]]] = {}
    for row in itertools.chain.from_iterable(lines):
        for remark in remarks(row, pack):
            values = told.setdefault((remark.before, remark.after), {})
            values.setdefault((remark.expected, remark.found), []).append(row.cell)
    beside = [[row.cell for row in line] for line in lines]
    return TableNotes(
        tuple(_text(cause, values, beside) for cause, values in told.items()),
        tuple(frozenset(itertools.chain.from_iterable(values.values())) for values in told.values()),
    )


def _text(cause: Cause, told: dict[tuple[str, str], list[Cell]], beside: Sequence[Sequence[Cell]]) -> str:
    """A note; it names cells where its number in a line does not tell which are meant, or where their values differ."""
    universe = list(itertools.chain.from_iterable(beside))
    noted = set(itertools.chain.from_iterable(told.values()))
    several = len(told) > 1
    parts, before = [], ""
    for (expected, found), cells in list(told.items())[:LISTED]:
        asked = f"expected {expected}, found " if expected and expected != before else ""
        parts.append(asked + found + (f" ({places(cells, universe)})" if several else ""))
        before = expected
    if len(told) > LISTED:
        parts.append(f"and {len(told) - LISTED} more")
    between = "; " if any(", " in found for _, found in told) else ", "
    text = " ".join(part for part in (cause[0], between.join(parts), cause[1]) if part)
    if several or all(noted.isdisjoint(line) or noted.issuperset(line) for line in beside):
        return text
    return f"{text} ({places([cell for cell in universe if cell in noted], universe)})"


def places(cells: Sequence[Cell], universe: Sequence[Cell]) -> str:
    """Cells of one target as patterns without it: `node/*/*, peak/unique/stat`."""
    return ", ".join(pattern.split("/", 1)[1] for pattern in patterns(cells, universe))


def ranges(numbers: Sequence[int]) -> str:
    """Ascending numbers as short as they can be written: `1-3, 6`."""
    groups = itertools.groupby(enumerate(numbers), lambda placed: placed[1] - placed[0])
    runs = [[number for _, number in group] for _, group in groups]
    return ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)


# --- what is said of one number


def remarks(row: Row, pack: RulePack) -> list[Remark]:
    """What must stand beside a number, or in its place, the gravest first."""
    found = []
    if row.status in (Status.FAILED, Status.MISSING):
        state, _, reason = row.note.partition(": ")
        found.append(Remark(f"{state}:" if reason else state, reason))
    elif row.status in (Status.DECLINED, Status.PROJECTED):
        found.append(Remark(row.note))
    elif row.status is Status.INVALID:
        found += [_violation(finding) for finding in row.findings if finding.blocks]
    found += [Remark(f"{one.rule} waived, {one.waived}: {one.message}") for one in row.findings if one.waived]
    found += [
        Remark(f"{one.rule} {one.message}: {f'explained: {one.explained}' if one.explained else ASKED}")
        for one in row.findings
        if one.severity is Severity.WARNING and one.checked and not one.waived
    ]
    if row.status is Status.INVALID and not found:
        found.append(Remark("its run did not give all of its results"))
    return [*found, *_attempts(row), *_counted(row, pack)]


def _violation(finding: Finding) -> Remark:
    text = f"{finding.rule} {finding.message}"
    return Remark(f"{text}:", finding.actual, finding.expected) if finding.actual else Remark(text)


def _attempts(row: Row) -> Iterator[Remark]:
    """How many there were, and which one is reported."""
    if row.value is not None and row.attempts > 1 and row.attempt:
        valid = row.summary.n
        which = {0: "none valid; the last one is shown", 1: "1 valid; the valid one is reported"}.get(
            valid, f"{valid} valid; the one that the run rules select is reported"
        )
        yield Remark(f"{row.attempts} attempts, {which}")
    if row.other_attempts:
        yield Remark(f"{several(row.other_attempts, 'more attempt')} used different settings; not reported")


def _counted(row: Row, pack: RulePack) -> Iterator[Remark]:
    """What the number counts, and what was there to be counted."""
    record, run = row.record, row.run
    program = Path(run.executable).name if run and run.executable else "the benchmark"
    if record is not None and record.true_value is not None and record.value > 1.01 * record.true_value:
        actual = f"{record.true_value:.0f} {row.unit}"
        yield Remark(f"{program} multiplies by the process count; actual rate", actual)
    if measures_memory(row, pack):
        yield Remark("CCH-05 measures memory: more of its bytes than allowed were in the page cache")
    if run:
        yield from map(Remark, run.notes)
        created = record.files_true if record else None
        if created is not None and created != run.items_total:
            counted = f"{program} counted {run.items_total} files; only"
            yield Remark(counted, str(created), after="were created")


def measures_memory(row: Row, pack: RulePack) -> bool:
    """Whether more of the number's bytes were in memory than a bandwidth of the storage may have there (CCH-05)."""
    if row.record is None or "CCH-05" not in pack.checks:
        return False
    shares = (row.record.cached_share, row.record.dirty_share)
    return any(share is not None and share > pack.parameter("CCH-05", "share") for share in shares)


def overall(rows: Sequence[Row]) -> list[str]:
    """Notes of the rules on one target, and what they did not check: a line for each matter, with its cells."""
    cells = [row.cell for row in rows]
    about: dict[tuple[str, str, str], dict[str, list[Cell]]] = {}
    for row in rows:
        for one in row.findings:
            if one.severity is Severity.INFO or not one.checked:
                cell, message = _operation(one.message, row.cell, cells)
                text, number = _number(message)
                told = about.setdefault(("note" if one.checked else "not checked", one.rule, text), {})
                told.setdefault(number, []).append(cell)
    matters: dict[tuple[str, str], list[str]] = {}
    for (word, rule, text), told in about.items():
        where = {number: places([cell for cell in cells if cell in own], cells) for number, own in told.items()}
        said = text + ", ".join(f"{number} ({names})" for number, names in where.items())
        matters.setdefault((word, said), []).append(rule)
    lines = [(word, f"{', '.join(sorted(rules))} {said}") for (word, said), rules in matters.items()]
    return [f"{word}: {text}" for word, text in sorted(lines, key=lambda line: (line[0] != "note", line[1]))]


def _number(message: str) -> tuple[str, str]:
    """A message that ends in `: ` and a number is that of all that differ in the number alone."""
    text, colon, number = message.rpartition(": ")
    return (text + colon, number) if any(one.isdigit() for one in number) and text else (message, "")


def _operation(message: str, cell: Cell, cells: Sequence[Cell]) -> tuple[Cell, str]:
    """The cell that a message about `operation: …` is meant for, and the rest of it: the same rest is said once."""
    name, _, rest = message.partition(": ")
    meant = Cell(cell.target, cell.launch, cell.files, name)
    return (meant, rest) if rest and meant in cells else (cell, message)
