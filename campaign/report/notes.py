"""The notes of a table: what has to be shown beside its numbers, each cause once, numbered in reading order. Pure."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean, median

from campaign.config.rules.pack import RulePack
from campaign.core import units
from campaign.core.findings import Finding, Severity
from campaign.core.grouping import grouped
from campaign.core.runs import Cell, State, Status
from campaign.report import causes
from campaign.results.cells import Row, patterns

SHORT = 60  # characters of a value in a note about a required explanation
VALUED = ("RUN-07",)  # rules whose values (seconds) are shown even for valid numbers


Cause = tuple[str, str]  # a note without what differs between cells, which is inserted between its two parts


@dataclass(frozen=True, slots=True)
class Remark:
    """A remark on one number. `value` and `expected` are its own, the rest may be shared with other numbers."""

    before: str
    value: str = ""
    expected: str = ""
    after: str = ""


@dataclass(frozen=True, slots=True)
class TableNotes:
    """Texts numbered from 1, and the cells of each."""

    texts: tuple[str, ...]
    cells: tuple[frozenset[Cell], ...]

    def numbers_of(self, *rows: Row | None) -> tuple[int, ...]:
        """The numbers of the notes on these rows."""
        cells_of_rows = {row.cell for row in rows if row}
        return tuple(number for number, cells in enumerate(self.cells, 1) if not cells_of_rows.isdisjoint(cells))

    def divided(self, cells: set[Cell]) -> tuple[TableNotes, TableNotes]:
        """The notes that concern all of these cells, if they are several, and the others."""
        parts: tuple[list[int], list[int]] = [], []
        for place, of_note in enumerate(self.cells):
            parts[len(cells) < 2 or not cells <= of_note].append(place)
        common, other_notes = (
            TableNotes(tuple(self.texts[place] for place in part), tuple(self.cells[place] for place in part))
            for part in parts
        )
        return common, other_notes


def table_notes(lines: Sequence[Sequence[Row]], pack: RulePack, details: bool = True) -> TableNotes:
    """The notes of one target's table; `lines` are its rows, from the top. Without `details`, the footnotes
    alone.
    """
    by_cause: dict[Cause, dict[tuple[str, str], list[Cell]]] = {}
    first_values: dict[str, str] = {}  # values without their place in the raw output -> the first such value
    for row in causes.merge_row_causes(list(itertools.chain.from_iterable(lines))):
        for remark in remarks(row, pack) if details else footnotes(row, pack):
            values = by_cause.setdefault((remark.before, remark.after), {})
            value = first_values.setdefault(causes.generalize_line(remark.value), remark.value)
            values.setdefault((remark.expected, value), []).append(row.cell)
    cell_lines = [[row.cell for row in line] for line in lines]
    return TableNotes(
        tuple(_note_text(cause, values, cell_lines) for cause, values in by_cause.items()),
        tuple(frozenset(itertools.chain.from_iterable(values.values())) for values in by_cause.values()),
    )


def _note_text(cause: Cause, by_values: dict[tuple[str, str], list[Cell]], cell_lines: Sequence[Sequence[Cell]]) -> str:
    """A note's text; it names cells if its number in the table does not identify them, or if their values differ."""
    universe = list(itertools.chain.from_iterable(cell_lines))
    noted = set(itertools.chain.from_iterable(by_values.values()))
    has_several_values = len(by_values) > 1
    parts, before = [], ""
    for (expected, actual), cells in list(by_values.items())[: causes.LISTED]:
        expectation = f"expected {expected}, found " if expected and expected != before else ""
        parts.append(expectation + actual + (f" ({cell_patterns(cells, universe)})" if has_several_values else ""))
        before = expected
    if len(by_values) > causes.LISTED:
        parts.append(f"and {len(by_values) - causes.LISTED} more")
    between = "; " if any(", " in actual for _, actual in by_values) else ", "
    text = " ".join(part for part in (cause[0], between.join(parts), cause[1]) if part)
    if has_several_values or all(noted.isdisjoint(line) or noted.issuperset(line) for line in cell_lines):
        return text
    return f"{text} ({cell_patterns([cell for cell in universe if cell in noted], universe)})"


def cell_patterns(cells: Sequence[Cell], universe: Sequence[Cell]) -> str:
    """Cells of one target as patterns without the target: `node/*/*, peak/unique/stat`."""
    return ", ".join(pattern.split("/", 1)[1] for pattern in patterns(cells, universe))


def number_ranges(numbers: Sequence[int]) -> str:
    """Ascending numbers, shortened: `1-3, 6`."""
    groups = itertools.groupby(enumerate(numbers), lambda placed: placed[1] - placed[0])
    runs = [[number for _, number in group] for _, group in groups]
    return ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)


# --- what is said of one number


def remarks(row: Row, pack: RulePack) -> list[Remark]:
    """The remarks on a number, or on its absence, most severe first."""
    return [*footnotes(row, pack), *_attempt_remarks(row), *_iteration_remarks(row), *_count_remarks(row, pack)]


def footnotes(row: Row, pack: RulePack) -> list[Remark]:
    """Violations, waivers and explanations of a number, or why there is none; its parts and its energy."""
    findings = [finding for finding in row.findings if finding.blocks or finding.concerns(row.cell)]
    texts = []
    if row.status is Status.FAILED and row.attempt and row.attempt.state is not State.DONE and row.attempt.reason:
        texts.append(Remark(f"{row.attempt.state}:", row.attempt.reason))
    elif row.status in (Status.FAILED, Status.MISSING, Status.DECLINED, Status.PROJECTED):
        texts.append(Remark(row.note))
    elif row.status is Status.INVALID:
        texts += [_violation_remark(finding) for finding in findings if finding.blocks]
        texts += [Remark(row.note)] if row.projection else []
    texts += [
        Remark(f"{finding.rule} waived, {finding.waived}: {finding.message}") for finding in findings if finding.waived
    ]
    texts += [_explanation_remark(finding) for finding in findings if finding.asks and not finding.waived]
    if row.status is Status.INVALID and not texts:
        texts.append(Remark(row.note or "its run has missing results"))
    return [*texts, *_formula_remarks(row, pack), *_node_remarks(row, pack), *_energy_remarks(row)]


def _violation_remark(finding: Finding) -> Remark:
    if not finding.actual:
        return Remark(f"{finding.rule} {finding.message}")
    return Remark(f"{finding.rule} {finding.message}:", finding.actual, finding.expected)


def _explanation_remark(finding: Finding) -> Remark:
    if finding.explained:
        return Remark(f"{finding.rule} {finding.message}: explained: {finding.explained}")
    if finding.actual and len(finding.actual) <= SHORT:
        text = f"{finding.rule} {finding.message}:"
        return Remark(text, finding.actual, finding.expected, "(explanation required)")
    return Remark(f"{finding.rule} {finding.message}: explanation required")


def _node_remarks(row: Row, pack: RulePack) -> Iterator[Remark]:
    """The distribution over nodes that run by themselves."""
    if not row.by_node:
        return
    values = row.by_node.values()
    launch = next(condition for condition in pack.launch if condition.id == row.cell.launch)
    low, mean, high = (units.digits(value) for value in (min(values), fmean(values), max(values)))
    nodes = f"{len(values)} of {units.plural(len(row.nodes), launch.unit)}, each by itself"
    spread = "" if row.spread is None else f", spread {row.spread:.1%} of the mean"
    yield Remark(f"{launch.reported_node} of {nodes}:", f"{low} to {high}, mean {mean}{spread}")
    if row.outlying:
        outliers = units.listing(f"{node} ({units.digits(row.by_node[node])})" for node in row.outlying)
        yield Remark("outlying nodes:", outliers)


def _energy_remarks(row: Row) -> Iterator[Remark]:
    """Energy and peak power of the reported run, or that they are not recorded."""
    if row.energy and row.energy.kwh is None:
        yield Remark(f"energy not recorded: {row.energy.problem}")
    elif row.energy and row.energy.kwh is not None:
        peak = "not recorded" if row.energy.peak_kw is None else f"{units.digits(row.energy.peak_kw)} kW"
        yield Remark("energy", f"{units.digits(row.energy.kwh)} kWh, peak power {peak}", after=f"({row.metered_by})")


def _formula_remarks(row: Row, pack: RulePack) -> Iterator[Remark]:
    """The formula of a number that is computed across executions."""
    if row.executions:
        formula = next(operation.formula for operation in pack.operations if operation.id == row.cell.operation)
        yield Remark(f"{formula}, of {units.plural(len(row.executions), 'execution')}")


def _attempt_remarks(row: Row) -> Iterator[Remark]:
    """The number of attempts, and which one is reported."""
    if not row.executions and row.value is not None and row.attempts > 1 and row.attempt:
        if row.summary.n > 1:
            yield Remark(f"{row.attempts} attempts, {row.summary.n} valid; reported by the run rules' selection")
        else:
            yield Remark(
                f"{row.attempts} attempts, 1 valid; the valid one is reported"
                if row.summary.n
                else f"{row.attempts} attempts, none valid; the last one is shown"
            )
    if row.other_attempts:
        verb = "is" if row.other_attempts == 1 else "are"
        yield Remark(f"{units.plural(row.other_attempts, 'attempt')} with other settings {verb} not included")


def _iteration_remarks(row: Row) -> Iterator[Remark]:
    """How the number was chosen from its iterations, and how they vary."""
    record = row.record
    if record is None or record.iterations < 2:
        return
    iteration = (
        f"iteration {record.iteration} of {record.iterations}"
        if record.iteration
        else f"{record.statistic} of {record.iterations} iterations"
    )
    spread = (record.minimum, record.mean, record.stddev)
    if None in spread:
        yield Remark(iteration)
    else:
        numbers = " / ".join(units.digits(value) for value in spread if value is not None)
        yield Remark(f"{iteration}; their minimum / mean / standard deviation:", numbers)


def _count_remarks(row: Row, pack: RulePack) -> Iterator[Remark]:
    """What the number counts, and what there really was."""
    record, run = row.record, row.run
    program = Path(run.executable).name if run and run.executable else "the benchmark"
    if record is not None and record.true_value is not None and record.value > 1.01 * record.true_value:
        reason = "prints the rate of its fastest process" if record.of_fastest else "multiplies by the process count"
        yield Remark(f"{program} {reason}; actual rate", f"{record.true_value:.0f} {row.unit}")
    elif record is not None and any(part.of_fastest and part.true_value is None for part in record.measured_records):
        yield Remark(f"the rate of {program}'s fastest process; its output does not show the actual rate")
    if measures_memory(row, pack):
        yield Remark("CCH-05 bandwidth of memory: too much of the data was in the page cache")
    if run:
        yield from map(Remark, run.notes)
        created = record.files_true if record else None
        if created is not None and created != run.items_total:
            before = f"{program} counted {run.items_total} files; only"
            yield Remark(before, str(created), after="were created")


def measures_memory(row: Row, pack: RulePack) -> bool:
    """Whether more of the number's bytes were in memory than CCH-05 allows for a bandwidth of the storage."""
    if row.record is None or "CCH-05" not in pack.checks:
        return False
    shares = (row.record.cached_share, row.record.dirty_share)
    return any(share is not None and share > pack.parameter("CCH-05", "share") for share in shares)


def target_notes(rows: Sequence[Row]) -> list[str]:
    """Notes about one target as a whole, and rules that were not checked: a line for each, with its cells."""
    noted, unchecked = _finding_notes(rows)
    return [
        *_selection_notes(rows),
        *(f"note: {text}" for text in noted),
        *(f"not checked: {text}" for text in unchecked),
    ]


def hidden_notes(placed: Sequence[Sequence[Sequence[Row]]], pack: RulePack) -> str:
    """How much of the notes a table without details leaves out. `placed`: the lines of each target."""
    hidden, unchecked = set[str](), set[str]()
    for lines in placed:
        rows = list(itertools.chain.from_iterable(lines))
        of_target, of_rules = _finding_notes(rows)
        hidden |= {*table_notes(lines, pack).texts, *_selection_notes(rows), *of_target} - {
            *table_notes(lines, pack, False).texts
        }
        unchecked |= {*of_rules}
    counts = [
        *[units.plural(len(hidden), "note")] * bool(hidden),
        *[f"{len(unchecked)} not checked"] * bool(unchecked),
    ]
    return " and ".join(counts)


def _finding_notes(rows: Sequence[Row]) -> tuple[list[str], list[str]]:
    cells = [row.cell for row in rows]
    cell_findings = [
        (row.cell, replace(finding, operation=""))  # the cells show it
        for row in rows
        for finding in row.findings
        if (finding.severity is Severity.INFO or not finding.checked) and finding.concerns(row.cell)
    ]
    merged_findings = causes.merge_causes([finding for _, finding in cell_findings])
    mentions_by_text = grouped(
        ((not finding.checked, finding.rule, finding.message), (cell, finding.actual))
        for (cell, _), finding in zip(cell_findings, merged_findings, strict=True)
    )
    rules_by_text = []
    for (unchecked, rule, text), mentions in mentions_by_text.items():
        concerned, values = {cell for cell, _ in mentions}, [actual for _, actual in mentions if actual]
        if rule in VALUED and len(set(values)) == 1:  # those of several runs are in `campaign check`
            text = f"{text}: {values[0]}"
        rules_by_text.append(
            ((unchecked, f"{text} ({cell_patterns([cell for cell in cells if cell in concerned], cells)})"), rule)
        )
    lines = sorted(
        (unchecked, f"{', '.join(sorted(ids))} {text}") for (unchecked, text), ids in grouped(rules_by_text).items()
    )
    noted, unchecked_texts = ([text for unchecked, text in lines if unchecked is kind] for kind in (False, True))
    return noted, unchecked_texts


def _selection_notes(rows: Sequence[Row]) -> Iterator[str]:
    """Notes that say by how much reported values exceed the medians of their repetitions."""
    selected = [row for row in rows if row.selection is not None and row.status is Status.MEASURED]
    if selected:
        shares = sorted(row.selection or 0.0 for row in selected)
        repetitions = "/".join(map(str, sorted({row.summary.n for row in selected})))
        low, middle, high = (f"{share:+.1%}" for share in (shares[0], median(shares), shares[-1]))
        yield (
            f"values of runs selected from {repetitions} repetitions differ from the medians of these by {low} to "
            f"{high} (median {middle}): this difference comes from the selection"
        )
