"""A buyer's form with the results in its cells, and for each cell where its number comes from."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

from campaign.config.forms import ANSWERS, OFFERED, SCORES, VALUES, FormEntry, FormMapping
from campaign.config.rules.kinds import GEOMETRY
from campaign.config.rules.pack import RulePack
from campaign.config.system import CONTACT, SYSTEM
from campaign.core import units
from campaign.core.columns import Column, csv_line
from campaign.core.errors import InputError
from campaign.core.runs import Status
from campaign.core.schema import suggestion
from campaign.core.strict_yaml import quoted
from campaign.judge.submission import Submission
from campaign.report import grid, notes
from campaign.report.foreign import form_file
from campaign.report.foreign.form_file import FormPlace, form_places
from campaign.report.scores import Scored
from campaign.results.cells import COLUMNS, Row


@dataclass(frozen=True, slots=True)
class FilledCell:
    """`value`: what was written; None if the cell is left empty."""

    place: FormPlace
    value: form_file.Value | None
    source: Row | Scored | form_file.Value

    @property
    def reason(self) -> str:
        """Why it is left empty; "" if it is not."""
        if self.value is not None:
            return ""
        if isinstance(self.source, Row):
            return f"{self.source.status} {self.source.note}".strip()
        if isinstance(self.source, Scored):
            return self.source.why or "no interval"
        return "no answer in the campaign file"

    @property
    def is_projected(self) -> bool:
        """Whether it is a number that was not measured."""
        figures = self.source.figures if isinstance(self.source, Scored) else ()
        statuses = [self.source.status] if isinstance(self.source, Row) else [figure.status for figure in figures]
        return self.value is not None and self.place.entry.field in VALUES and Status.PROJECTED in statuses

    @property
    def unit(self) -> str | None:
        """The unit of the number that was written."""
        entry = self.place.entry
        return (entry.unit or self.source.unit) if isinstance(self.source, Row) and entry.field in VALUES else None

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
    scores: Sequence[Scored] = (),
) -> tuple[bytes, list[FilledCell]]:
    """The filled form, and its cells. `parts`: the submission of each part of an RFP, or that of "" for results without
    a part in their names; `absent`: parts without an answer; `scores`: of the RFP. Without a mapping, only the cells
    are filled that are marked in the form. `decimal`: the sign in the numbers of a CSV or DOCX. Raises InputError with
    everything that is wrong.
    """
    form, sources_by_name = form_file.read_form(path), named_sources(parts, scores)
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
            source = sources_by_name[place.entry.result]
            of = source.row if isinstance(source, Result) else source
            cells.append(FilledCell(place, cell_value(place.entry, source), of))
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
    projected = [str(cell.place.spot) for cell in cells if cell.is_projected]
    return form.filled(values, "; ".join(_remarks(rehearsed, projected))), cells


def _remarks(rehearsed: Sequence[str], projected: Sequence[str]) -> Iterator[str]:
    """What is written below the numbers where some are of a rehearsal, or are not measured. `rehearsed`: the parts, or
    "" for all; `projected`: the cells.
    """
    if rehearsed:
        parts = units.listing(filter(None, rehearsed))
        yield f"REHEARSAL: not a compliant result{f' (part {parts})' if parts else ''}"
    if projected:
        yield f"Projected, not measured: {units.listing(dict.fromkeys(projected))}"


class Result(NamedTuple):
    row: Row
    pack: RulePack


Source = Result | Scored | form_file.Value  # of a cell: the last is what the campaign file says


def named_sources(parts: Mapping[str, Submission], scores: Sequence[Scored] = ()) -> dict[str, Source]:
    """All results, scores and descriptions by name. What several parts describe alike is there without a part too."""
    sources_by_name: dict[str, Source] = {}
    described = {part: _descriptions(submission) for part, submission in parts.items()}
    for part, submission in parts.items():
        prefix = f"{part}/" if part else ""
        sources_by_name |= {f"{prefix}{row.cell}": Result(row, submission.pack) for row in submission.rows}
        sources_by_name |= {f"{prefix}{name}": value for name, value in described[part].items()}
    common = set.intersection(*(set(of_part.items()) for of_part in described.values()))
    sources_by_name |= {
        name: value for name, value in next(iter(described.values())).items() if (name, value) in common
    }
    sources_by_name |= {f"{SCORES}{score.id}": score for score in scores}
    return sources_by_name


def _descriptions(submission: Submission) -> dict[str, form_file.Value]:
    """What a campaign file says in words and numbers, by names in forms; "" where it is asked and not there."""
    campaign = submission.campaign
    texts_by_section = {
        ANSWERS: dict.fromkeys((clause.id for clause in submission.pack.clauses if clause.answered), "")
        | dict(campaign.answers),
        "contact/": dict.fromkeys(CONTACT, "") | dict(campaign.contact),
        "system/": dict.fromkeys(SYSTEM, "") | dict(campaign.system),
    }
    texts: dict[str, form_file.Value] = {
        f"{section}{key}": text for section, texts in texts_by_section.items() for key, text in texts.items()
    }
    offered = {f"{OFFERED}{name}": value for name, value in asdict(campaign.proposed).items()}
    return texts | {name: "" if value is None else value for name, value in offered.items()}


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


_SCORE_FIELDS: Mapping[str, Callable[[Scored], form_file.Value | None]] = {
    "value": lambda score: score.value,
    "low": lambda score: score.low,
    "high": lambda score: score.high,
}
_RESULT_FIELDS: Mapping[str, Callable[[Row], form_file.Value | None]] = {
    "unit": lambda row: row.unit,
    "value": lambda row: row.value,
    "median": lambda row: row.summary.median,
    "low": lambda row: row.summary.low,
    "high": lambda row: row.summary.high,
    "sd": lambda row: statistics.stdev(row.values) if len(row.values) > 1 else None,
    "minimum": lambda row: min(row.values, default=None),
    "maximum": lambda row: max(row.values, default=None),
    "n": lambda row: float(row.summary.n),
    "cv": lambda row: row.summary.cv,
    "date": lambda row: units.utc(max(row.started))[:10] if row.started else None,
    "energy": lambda row: row.energy.kwh if row.energy else None,
    "peak_power": lambda row: row.energy.peak_kw if row.energy else None,
}


def cell_value(entry: FormEntry, source: Source) -> form_file.Value | None:
    """What a cell of a form holds; None if it is left empty. Raises ValueError if the source has no such field, or not
    this unit.
    """
    field = entry.field
    if isinstance(source, str):
        return source or None
    if isinstance(source, int | float):
        return units.convert_unit(source, "B", entry.unit) if entry.unit else float(source)
    if isinstance(source, Scored):
        if field not in _SCORE_FIELDS or entry.unit:
            raise ValueError(f"a score has no unit and no {field}; allowed: {', '.join(_SCORE_FIELDS)}")
        return _SCORE_FIELDS[field](source)
    row = source.row
    if field == "note":
        return "; ".join(notes.table_notes([[row]], source.pack).texts)
    if field == "status":
        return str(row.status)
    if row.value is None or not row.status.counts:
        return None
    if field in GEOMETRY:
        return float(getattr(row.geometry, field)) if row.geometry else None
    value = _RESULT_FIELDS[field](row)
    if field == "unit":
        return entry.unit or value
    of_unit = row.unit if field in VALUES else ""
    return units.convert_unit(value, of_unit, entry.unit or of_unit) if isinstance(value, float) else value
