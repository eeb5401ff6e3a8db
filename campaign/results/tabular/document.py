"""A form in DOCX: the cells of its tables, and its paragraphs. Texts keep their formats."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from campaign.results.tabular import xlsx
from campaign.results.tabular.form import LARGEST_UNPACKED, MERGED, Box, BuyersForm, Spot, Values, replaced, written

if TYPE_CHECKING:
    from docx.table import Table, _Cell
    from docx.text.paragraph import Paragraph

TEXT = "text"  # the sheet of the paragraphs that are in no table


def read(path: Path, data: bytes) -> BuyersForm:
    import docx

    found: dict[Spot, list[Paragraph]] = {}
    boxes: dict[Spot, Box] = {}
    with xlsx.readable(path, "a DOCX document: {why}; save it as .docx"):
        xlsx.check(path, data, LARGEST_UNPACKED)
        document = docx.Document(io.BytesIO(data))
        for number, table in enumerate(document.tables, 1):
            seen = []
            for row, column, cell in _cells(table):
                spot = Spot(f"table {number}", row, column)
                if cell._tc in seen:
                    boxes[spot] = Box(closed=MERGED)
                else:
                    found[spot] = cell.paragraphs
                seen.append(cell._tc)
        found |= {Spot(TEXT, number, 1): [paragraph] for number, paragraph in enumerate(document.paragraphs, 1)}
        boxes |= {spot: Box("\n".join(map(_text, paragraphs))) for spot, paragraphs in found.items()}

    def filled(values: Values) -> bytes:
        for spot, parts in values.items():
            for part, value in parts.items():
                for paragraph in found[spot]:
                    if part in _text(paragraph):
                        _put(paragraph, part, written(value))
                        break
        return replaced(data, {document.part.partname.lstrip("/"): document.part.blob})

    return BuyersForm(tuple(dict.fromkeys(spot.sheet for spot in boxes)), boxes, filled, "its table has no such cell")


def _cells(table: Table) -> Iterator[tuple[int, int, _Cell]]:
    """The cells with row and column from 1; a merged one at each of its places."""
    for row, of_row in enumerate(table.rows, 1):
        for column, cell in enumerate(of_row.cells, 1):
            yield row, column, cell


def _text(paragraph: Paragraph) -> str:
    """What can be replaced: not the texts of links."""
    return "".join(run.text for run in paragraph.runs)


def _put(paragraph: Paragraph, part: str, text: str) -> None:
    """A text in place of a part of a paragraph, which may be cut into several runs; it has the format of the first."""
    if not part:
        paragraph.add_run(text)
        return
    letters = [(number, letter) for number, run in enumerate(paragraph.runs) for letter in run.text]
    start = _text(paragraph).index(part)
    letters[start : start + len(part)] = [(letters[start][0], text)]
    for number, run in enumerate(paragraph.runs):
        new = "".join(letter for place, letter in letters if place == number)
        if new != run.text:
            run.text = new
