"""Cells: the plan's 36 rows with what was measured, and their printed forms. Starts from the plan, never from the
results.
"""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from campaign.config.load import Campaign
from campaign.config.rules.load import RulePack, digest_of_own
from campaign.config.search import Projection
from campaign.core import escaping
from campaign.core.errors import InputError
from campaign.core.model import Attempt, Cell, Finding, Geometry, Run, State, Status
from campaign.plan import matrix
from campaign.report import layout, notes
from campaign.results.cells import Basis, Measured, Row, matches, selected
from campaign.statistics import intervals

COLUMNS = (
    "target", "launch", "files", "operation", "value", "unit", "status", "processes", "nodes", "processes_per_node",
    "files_total", "run", "attempt", "job_id", "file", "line", "n", "median", "low", "high", "cv", "true_value",
    "findings",
)  # fmt: skip

ROUNDING = (
    "Values >= 100 are rounded to integers, smaller ones to 3 significant digits. "
    "CSV, JSON and XLSX hold full precision."
)
WIDTH = 100  # of the plain text where it can be broken
LABEL = 36  # of its first column
STATUS, NOTES = "Status", "Notes"
FOLDED = ("plain", "simple")  # formats in which a line may go on below


def rows(
    campaign: Campaign, pack: RulePack, runs: Sequence[Run], attempts: Sequence[Attempt], results: Sequence[Measured]
) -> list[Row]:
    """Every cell of the plan, in the table's order."""
    wanted = {run.id: run.fingerprint for run in runs}
    others = Counter(attempt.run for attempt in attempts if wanted.get(attempt.run, "") != attempt.fingerprint)
    table = [_row(campaign, pack, cell, runs, attempts, results) for cell in matrix.cells(campaign, pack)]
    basis = Basis(campaign.name, pack.id, pack.version, pack.digest, campaign.profile, tuple(pack.values.items()))
    best = {operation.id: pack.best(operation) for operation in pack.operations}
    return [
        replace(
            row,
            other_attempts=others[row.run.id] if row.run else 0,
            best=best[row.cell.operation],
            basis=basis,
        )
        for row in table
    ]


def with_findings(rows: Sequence[Row], findings: Sequence[Finding]) -> list[Row]:
    """The rows with what the rules say of the campaign as a whole: a breach about a cell takes its validity."""
    return [_with_findings(row, [one for one in findings if _is_about(one, row)]) for row in rows]


def _is_about(finding: Finding, row: Row) -> bool:
    if finding.subject.count("/") == 3:
        return matches(row.cell, finding.subject)
    return row.run is not None and row.attempt is not None and finding.subject == f"{row.run.id}/{row.attempt.number}"


def _with_findings(row: Row, found: Sequence[Finding]) -> Row:
    broken = any(finding.blocks for finding in found)
    blocked = broken and row.status in (Status.MEASURED, Status.PROJECTED)
    return replace(row, findings=(*row.findings, *found), status=Status.INVALID if blocked else row.status)


def _row(
    campaign: Campaign,
    pack: RulePack,
    cell: Cell,
    runs: Sequence[Run],
    attempts: Sequence[Attempt],
    results: Sequence[Measured],
) -> Row:
    operation = next(operation for operation in pack.operations if operation.id == cell.operation)
    own = [run for run in runs if cell in run.cells()]
    tried = [result for result in results if result.run in own]
    good = [result for result in tried if result.valid and result.complete(pack)]
    first = own[0] if own else None
    declined = next((d.reason for d in campaign.declined if matches(cell, d.cells)), None)
    if good:
        chosen = selected(pack, good)
        return _number(cell, operation.unit, Status.MEASURED, chosen, operation.record, len(tried), good)
    projection = next((one for one in campaign.projections if matches(cell, one.cells)), None)
    if projection is not None:
        value = projection.value
        return Row(cell, operation.unit, Status.PROJECTED, None, value=value, note=_origin_of(projection, value),
                   projection=projection)  # fmt: skip
    if declined is not None:
        note = f"{declined} ({len(tried)} tried, none of them valid)" if tried else declined
        findings = tried[-1].findings if tried else ()
        return Row(cell, operation.unit, Status.DECLINED, first, attempts=len(tried), findings=findings, note=note)
    if tried:
        last = tried[-1]
        if last.attempt.state is State.DONE and last.record(operation.record) is not None:
            return _number(cell, operation.unit, Status.INVALID, last, operation.record, len(tried), [])
        return Row(
            cell,
            operation.unit,
            Status.FAILED,
            last.run,
            attempt=last.attempt,
            attempts=len(tried),
            findings=last.findings,
            note=_why_failed(last),
        )
    return Row(cell, operation.unit, Status.MISSING, first, note=_why_missing(own, attempts))


def _origin_of(projection: Projection, value: float) -> str:
    """How a projected number came about, for its note."""
    inputs = ", ".join(f"{name} = {number:g}" for name, number in projection.inputs)
    low, high = (digits(value * (1 + sign * projection.uncertainty)) for sign in (-1, 1))
    return (
        f"projected, not measured: from {projection.base_system} ({projection.generation}) by {projection.formula} "
        f"with {inputs}; uncertainty {100 * projection.uncertainty:g}%: {low} to {high}"
    )


def _why_missing(own: Sequence[Run], attempts: Sequence[Attempt]) -> str:
    if not own:
        return "no geometry: the launch condition is not resolved"
    counted = [attempt for found in matrix.attempts_by_run(own, attempts).values() for attempt in found]
    if counted:
        return _in_words(counted[-1])
    if any(attempt.run == run.id for run in own for attempt in attempts):
        return "no results for the current settings"
    return "not run yet"


def _why_failed(result: Measured) -> str:
    """The attempt's own reason; where it went well but gave no number, what the rules say of it."""
    if result.attempt.state is not State.DONE:
        return _in_words(result.attempt)
    broken = [f"{f.rule} {f.message}" for f in result.findings if f.blocks]
    of_output = [text for text in broken if text.startswith("RUN-06")]  # the nearest to why there is no number
    return next(iter(of_output + broken), "the output has no result for it")


def _in_words(attempt: Attempt) -> str:
    return f"{attempt.state}{f': {attempt.reason}' if attempt.reason else ''}"


def _number(
    cell: Cell, unit: str, status: Status, result: Measured, record_name: str, tried: int, good: Sequence[Measured]
) -> Row:
    record = result.record(record_name)
    values = tuple(found.value for one in good if (found := one.record(record_name)) is not None)
    return Row(
        cell,
        unit,
        status,
        result.run,
        value=record.value if record else None,
        attempt=result.attempt,
        record=record,
        attempts=tried,
        summary=intervals.summarize(values),
        findings=result.findings,
        values=values,
        jobs=len({one.attempt.job_id for one in good}),
    )


# --- printed forms


def as_json(table: Sequence[Row]) -> str:
    return json.dumps([row.as_json() for row in table], indent=1, ensure_ascii=False) + "\n"


def as_csv(table: Sequence[Row]) -> str:
    """Quoted as RFC 4180 says, with lines that end in a line feed. No text is a formula to a spreadsheet."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for row in table:
        flat = row.as_json()
        flat |= flat["source"] or {"file": None, "line": None}
        flat |= flat["statistics"]
        flat["findings"] = " ".join(_marks(row))
        writer.writerow([_field(flat[column]) for column in COLUMNS])
    return out.getvalue()


def _field(value: object) -> object:
    return "" if value is None else escaping.spreadsheet(value) if isinstance(value, str) else value


def _marks(row: Row) -> list[str]:
    """Ids of the rules that say something about a cell, those not checked with a question mark."""
    return list(dict.fromkeys(f.rule if f.checked else f"{f.rule}?" for f in row.findings))


def printed(table: Sequence[Row], campaign: Campaign, pack: RulePack, style: str) -> str:
    """The layout of the RFP's table, one for each target, with the notes that belong to its numbers."""
    import tabulate

    if style not in tabulate.tabulate_formats:
        allowed = ", ".join([*sorted(tabulate.tabulate_formats), "csv", "json", "xlsx"])
        raise InputError(f"--format {style}: not a format; allowed: {allowed}")
    parts = []
    for target in campaign.targets:
        own = [row for row in table if row.cell.target == target.name]
        placed = lines(own, pack)
        noted = notes.notes([line.cells for line in placed])
        headers, body = _body(placed, pack, noted)
        parts.append(escaping.paragraph(_caption(campaign, pack, target.name, target.directory), style))
        parts.append(
            tabulate.tabulate(
                [[_label(line[0], style), *(escaping.shielded(text, style) for text in line[1:])] for line in body],
                [escaping.shielded(text, style) for text in headers],
                tablefmt=style,
                disable_numparse=True,
                colalign=["left" if header in ("", STATUS, NOTES) else "right" for header in headers],
                preserve_whitespace=True,  # the launch conditions are indented under their configuration
            )
        )
        parts += [_below(f"[{number}] {text}", style) for number, text in enumerate(noted.texts, 1)]
        parts += [_below(text, style) for text in notes.overall(own)]
        parts.append("")
    parts.append(_below(ROUNDING, style, indent=0))
    return escaping.released(escaping.below_each_other(parts, style), style)


def _label(text: str, style: str) -> str:
    if style not in FOLDED:
        return escaping.shielded(text, style)
    indent = " " * (len(text) - len(text.lstrip()))
    return _folded(escaping.shielded(text, style), LABEL, f"{indent}  ")


def _below(text: str, style: str, indent: int = 4) -> str:
    """A paragraph below a table."""
    found = escaping.paragraph(text, style)
    return _folded(found, WIDTH, " " * indent) if style in FOLDED else found


def _folded(text: str, width: int, indent: str) -> str:
    import textwrap

    return textwrap.fill(text, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


def _caption(campaign: Campaign, pack: RulePack, target: str, directory: str) -> str:
    size = "" if campaign.profile == "full" else f" [{campaign.profile} size: not a compliant result]"
    return f"{pack.caption}: {target} ({directory}){size}{origin(pack)}"


def origin(pack: RulePack) -> str:
    """Where the rules are from, for a pack that is not one of the project's own: its id alone could be anybody's."""
    if not pack.digest or pack.digest == digest_of_own(pack.id):
        return ""
    return f" [rules of {pack.path}, SHA-256 {pack.digest[:16]}: not a rule pack of this project]"


def items_total(own: Sequence[Row], pack: RulePack) -> str:
    """How many items the rows of a file configuration have, for its heading."""
    totals = {row.run.items_total for row in own if row.run and row.run.items_total}
    return "/".join(str(total) for total in sorted(totals)) or str(pack.items_total.get("full", ""))


@dataclass(frozen=True, slots=True)
class Line:
    """A line of the printed table: its place in the layout, a row of the table for each column or None, its run.

    `geometries`: of its columns, once where they agree.
    """

    place: layout.Line
    rows: tuple[Row | None, ...]
    run: Run | None
    geometries: tuple[Geometry, ...] = ()

    @property
    def cells(self) -> list[Row]:
        return [row for row in self.rows if row is not None]

    @property
    def processes(self) -> str:
        return "/".join(str(one.processes) for one in self.geometries) or "?"

    @property
    def nodes(self) -> str:
        return "/".join(str(nodes) for nodes in dict.fromkeys(one.nodes for one in self.geometries)) or "?"


def lines(own: Sequence[Row], pack: RulePack) -> list[Line]:
    """The rows of one target in the layout that all forms of the table share."""
    found = []
    for files in pack.files:
        group = [row for row in own if row.cell.files == files.id]
        cells = {(row.cell.launch, row.cell.operation): row for row in group}
        for place in layout.lines(pack, files, items_total(group, pack)):
            operations = place.operations or (None,) * len(layout.columns(pack))
            rows = tuple(cells[place.launch, one] if place.launch and one else None for one in operations)
            run = next((row.run for row in group if row.run and row.cell.launch == place.launch), None)
            own_rows = [row for row in group if row.cell.launch == place.launch]
            geometries = tuple(dict.fromkeys(row.geometry for row in own_rows if row.geometry))
            found.append(Line(place, rows, run, geometries))
    return found


def _body(placed: Sequence[Line], pack: RulePack, noted: notes.Notes) -> tuple[list[str], list[list[str]]]:
    """Headers and lines. Status and notes are columns of their own, where any line has them, so that numbers align."""
    titles = layout.columns(pack)
    headers = ["", *titles, "Processes", "Nodes", STATUS, NOTES]
    body = [
        [
            "  " * line.place.level + line.place.label,
            *(_entry(row) if row else "" for row in line.rows),
            *((line.processes, line.nodes) if line.place.level == 1 else ("", "")),
            _status(line, titles),
            notes.ranges(noted.of(*line.rows)),
        ]
        for line in placed
    ]
    kept = [
        place
        for place, header in enumerate(headers)
        if header not in (STATUS, NOTES) or any(one[place] for one in body)
    ]
    return [headers[place] for place in kept], [[line[place] for place in kept] for line in body]


def _entry(row: Row) -> str:
    return str(row.status) if row.value is None else digits(row.value)


def _status(line: Line, titles: Sequence[str]) -> str:
    """What the numbers of a line are where they are not measured and valid, with the columns if not all of them are."""
    marked: dict[Status, list[str]] = {}
    for title, row in zip(titles, line.rows, strict=True):
        if row and row.value is not None and row.status is not Status.MEASURED:
            marked.setdefault(row.status, []).append(title)
    return "; ".join(
        status.upper() + ("" if len(columns) == len(line.cells) else f": {', '.join(columns)}")
        for status, columns in marked.items()
    )


def digits(value: float) -> str:
    """As many as the eye takes in; all of them are in the other forms."""
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"
