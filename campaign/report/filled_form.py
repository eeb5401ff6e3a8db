"""A buyer's form with the results in its cells, and for each cell where its number comes from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from campaign.config.forms import ANSWERS, FormEntry, FormMapping
from campaign.config.rules.pack import RulePack
from campaign.core import units
from campaign.core.columns import Column, csv_line
from campaign.core.errors import InputError
from campaign.core.schema import suggestion
from campaign.core.strict_yaml import quoted
from campaign.judge.submission import Submission
from campaign.report import grid, notes
from campaign.report.foreign import form_file
from campaign.report.foreign.form_file import FormPlace, form_places
from campaign.results.cells import COLUMNS, Row


@dataclass(frozen=True, slots=True)
class FilledCell:
    """`value`: what was written; None if the cell is left empty. `source`: a result, or an answer."""

    place: FormPlace
    value: form_file.Value | None
    source: Row | str

    @property
    def reason(self) -> str:
        """Why it is left empty; "" if it is not."""
        if self.value is not None:
            return ""
        if isinstance(self.source, str):
            return "no answer in the campaign file"
        return f"{self.source.status} {self.source.note}".strip()

    @property
    def unit(self) -> str | None:
        """The unit of the number that was written."""
        entry = self.place.entry
        return (entry.unit or self.source.unit) if isinstance(self.source, Row) and entry.field == "value" else None

    @property
    def result_fields(self) -> dict[str, Any]:
        """The columns of its result in the table."""
        return csv_line(COLUMNS, self.source) if isinstance(self.source, Row) else {}


def _result_column(name: str, place: int) -> Column[FilledCell]:
    return Column(name, lambda filled: filled.result_fields.get(name), place)


ORIGINS: tuple[Column[FilledCell], ...] = (
    Column("cell", lambda filled: str(filled.place.spot), 1),
    Column("result", lambda filled: filled.place.entry.name, 2),
    Column("written", lambda filled: units.padded_csv_number(form_file.cell_text(filled.value)), 3),
    Column("unit", lambda filled: filled.unit, 4),
    *map(_result_column, ("status", "run", "attempt", "job_id", "file", "line", "parts"), range(5, 12)),
    Column("left_empty", lambda filled: filled.reason, 12),
)


def origins_csv(filled_cells: Sequence[FilledCell]) -> str:
    """Where each number is from, as CSV."""
    return grid.grid_csv(ORIGINS, filled_cells)


def fill_form(
    path: Path,
    parts: Mapping[str, Submission],
    mapping: FormMapping | None = None,
    absent: Sequence[str] = (),
    decimal: str = ".",
) -> tuple[bytes, list[FilledCell]]:
    """The filled form, and its cells. `parts`: the submission of each part of an RFP, or that of "" for results without
    a part in their names; `absent`: parts without an answer. Without a mapping, only the cells are filled that are
    marked in the form. `decimal`: the sign in the numbers of a CSV or DOCX. Raises InputError with everything that is
    wrong.
    """
    form, sources_by_name = form_file.read_form(path), named_sources(parts)
    if decimal == "," and form.without_commas:
        raise InputError(f"--decimal ,: {path}: {form.without_commas}")
    placed = list(form_places(path, form, mapping))
    times = Counter((place.spot, place.part) for place in placed)
    cells: list[FilledCell] = []
    problems: list[str] = []
    for place in placed:
        if place.entry.result.partition("/")[0] in absent:
            cells.append(FilledCell(place, None, ""))
            continue
        box = form.box(place.spot)
        try:
            _check_place(place, box, times[place.spot, place.part], sources_by_name)
            source, pack = sources_by_name[place.entry.result]
            cells.append(FilledCell(place, cell_value(place.entry, source, pack), source))
        except ValueError as error:
            problems.append(f"{path}: cell {place.spot}: {place.entry.name}: {error}")
    if problems or not placed:
        raise InputError(
            *problems or [f"{path}: no cell is marked or mapped; mark one as {{{{ {next(iter(sources_by_name))} }}}}"]
        )
    values: dict[form_file.Spot, dict[str, form_file.Value]] = {}
    for cell in cells:
        value = "" if cell.value is None else cell.value
        in_cell = form_file.with_decimal_comma(value) if decimal == "," else value
        values.setdefault(cell.place.spot, {})[cell.place.part] = in_cell
    rehearsed = [part for part, submission in parts.items() if not submission.full]
    return form.filled(values, _remark(rehearsed)), cells


def _remark(rehearsed: Sequence[str]) -> str:
    """What is written below the numbers where some are of a rehearsal. `rehearsed`: the parts, or "" for all."""
    if not rehearsed:
        return ""
    parts = units.listing(filter(None, rehearsed))
    return f"Rehearsal size: not a compliant result{f' (part {parts})' if parts else ''}"


Source = tuple[Row | str, RulePack]  # a result or an answer


def named_sources(parts: Mapping[str, Submission]) -> dict[str, Source]:
    """All results and answers by name."""
    sources_by_name: dict[str, Source] = {}
    for part, submission in parts.items():
        prefix, answers = f"{part}/" if part else "", dict(submission.campaign.answers)
        sources_by_name |= {f"{prefix}{row.cell}": (row, submission.pack) for row in submission.rows}
        clause_ids = [clause.id for clause in submission.pack.clauses if clause.answered]
        sources_by_name |= {
            f"{prefix}{ANSWERS}{clause}": (answers.get(clause, ""), submission.pack) for clause in clause_ids
        }
    return sources_by_name


def _check_place(place: FormPlace, box: form_file.Box, times: int, sources_by_name: Mapping[str, Source]) -> None:
    """Raises ValueError if nothing can be written there."""
    if (name := place.entry.result) not in sources_by_name:
        raise ValueError(
            f"no result {name}; {suggestion(name, sources_by_name, allowed=units.listing(sources_by_name))}"
        )
    if times > 1:
        raise ValueError(f"{times} results are mapped to this cell; keep one")
    if box.closed:
        raise ValueError(f"cannot be written: {box.closed}")
    if not place.part and box.text.strip():
        raise ValueError(f"found {quoted(box.text)} in the cell; clear it, or map another one")


def cell_value(entry: FormEntry, row: Row | str, pack: RulePack) -> form_file.Value | None:
    """What a cell of a form holds of a result or an answer; None if it is left empty."""
    if isinstance(row, str):
        return row or None
    if entry.field == "note":
        return "; ".join(notes.table_notes([[row]], pack).texts)
    if entry.field == "status":
        return str(row.status)
    if row.value is None or not row.status.counts:
        return None
    if entry.field == "unit":
        return entry.unit or row.unit
    if entry.field == "value":
        return units.convert_unit(row.value, row.unit, entry.unit or row.unit)
    return float(getattr(row.geometry, entry.field)) if row.geometry else None
