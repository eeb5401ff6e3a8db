"""The cells of a form with the results that they are for, as marked in it and as a mapping says."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from campaign.config.forms import ANSWERS, AXES, TOGETHER, FormEntry, FormMapping, FormTable
from campaign.config.rules.pack import RulePack
from campaign.core import units
from campaign.core.errors import InputError
from campaign.results.tabular import form as forms
from campaign.results.tabular.table import TabularRow, number

_MARK = re.compile(r"\{\{\s*(.+?)\s*\}\}")
Headings = Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class FormPlace:
    """`part`: of the cell's text, in whose place the value goes; "" for an empty cell."""

    spot: forms.Spot
    entry: FormEntry
    part: str = ""


def places(path: Path, form: forms.BuyersForm, mapping: FormMapping | None) -> Iterator[FormPlace]:
    """Raises InputError for a sheet or a heading that the form does not have, or has twice."""
    from openpyxl.utils.cell import coordinate_to_tuple

    for spot, box in form.boxes.items():
        yield from (FormPlace(spot, FormEntry.of(mark[1]), mark[0]) for mark in _MARK.finditer(box.text))
    for name, entry in mapping.cells if mapping else ():
        sheet, _, reference = name.rpartition("!")
        yield FormPlace(forms.Spot(_sheet(path, form, sheet), *coordinate_to_tuple(reference)), FormEntry.of(entry))
    for table in mapping.tables if mapping else ():
        for sheet, word in table.sheets or [("", "")]:
            yield from _of_table(path, form, _sheet(path, form, sheet), word, table)


def _sheet(path: Path, form: forms.BuyersForm, name: str) -> str:
    if name and name not in form.sheets:
        raise InputError(f"{path}: no sheet {name!r}; allowed: {units.listed(form.sheets)}")
    return name or form.sheets[0]


def _of_table(path: Path, form: forms.BuyersForm, sheet: str, of_sheet: str, table: FormTable) -> Iterator[FormPlace]:
    texts = {spot[1:]: " ".join(box.text.split()) for spot, box in form.boxes.items() if spot.sheet == sheet}
    where = f"{path}{f': sheet {sheet!r}' if sheet else ''}"
    columns = list(_lines(where, texts, 1, table.column_groups, table.columns))
    for row, of_row in _lines(where, texts, 0, table.row_groups, table.rows):
        for column, of_column in columns:
            name = table.result
            for axis, word in zip(AXES, (of_sheet, *of_row, *of_column), strict=True):
                name = name.replace(f"{{{axis}}}", word)
            yield FormPlace(forms.Spot(sheet, row, column), FormEntry.of(name))


def _lines(
    where: str, texts: Mapping[tuple[int, int], str], axis: int, groups: Headings, headings: Headings
) -> Iterator[tuple[int, tuple[str, str]]]:
    """Rows (axis 0) or columns (axis 1), each with what the headings of its group and its own mean."""
    lines: dict[int, set[str]] = {}
    for spot, text in texts.items():
        lines.setdefault(spot[axis], set()).add(text)
    starts = sorted((_line(where, lines, text), word) for text, word in groups) or [(0, "")]
    for place, (start, group) in enumerate(starts):
        end = starts[place + 1][0] if place + 1 < len(starts) else 10**7
        within = {line: found for line, found in lines.items() if start <= line < end}
        for text, word in headings:
            yield _line(f"{where}{f': group {group}' if group else ''}", within, text), (group, word)


def _line(where: str, lines: Mapping[int, set[str]], heading: str) -> int:
    wanted = {" ".join(text.split()) for text in heading.split(TOGETHER)}
    there = [line for line, texts in lines.items() if wanted <= texts]
    if len(there) != 1:
        found = f"found {len(there)} times" if there else "not found"
        raise InputError(f"{where}: heading {heading!r}: {found}; give one that is there once, or map single cells")
    return there[0]


def rows(path: Path, mapping: FormMapping, packs: Mapping[str, RulePack]) -> list[TabularRow]:
    """What a filled form says of results, with rates and sizes in the units of the rule packs. `packs`: those of the
    RFP's parts, or of "" for results without a part in their names. Raises InputError.
    """
    form = forms.read(path, computed=True)
    found: dict[str, TabularRow] = {}
    for place in places(path, form, mapping):
        entry, value = place.entry, form.box(place.spot).value
        part, _, name = ("", "", entry.result) if "" in packs else entry.result.partition("/")
        if part not in packs or ANSWERS in entry.result:
            continue
        if name.count("/") != 3:
            allowed = "target/launch/files/operation, in an RFP with its part before it"
            raise InputError(f"{path}: cell {place.spot}: found {entry.name}; allowed: {allowed}")
        cell = dict(zip(("target", "launch", "files", "operation"), name.split("/"), strict=True))
        operation = next((each for each in packs[part].operations if each.id == cell["operation"]), None)
        unit = entry.unit or (operation.unit if operation else "")
        if operation and entry.field == "value" and isinstance(given := number(value), float | int):
            with suppress(ValueError):
                value, unit = units.converted(given, unit, operation.unit), operation.unit
        best = packs[part].best(operation) if operation else "highest"
        row = found.setdefault(
            entry.result, TabularRow(f"{path}: cell {place.spot}", {"part": part, **cell, "unit": unit, "best": best})
        )
        row.fields[entry.field] = value
    return list(found.values())
