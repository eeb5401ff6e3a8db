"""Tables and texts in any format of tabulate, with all characters of the format escaped. Plain text is fitted into a
width: headers and texts are folded, and if that is not enough, a table is split. Pure.
"""

from __future__ import annotations

import csv
import io
import itertools
import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from campaign.core import escaping, units
from campaign.core.errors import InputError
from campaign.core.schema import suggestion

WIDEST = 100  # of plain text: every terminal has as many columns
PADDING = 2  # of headers in simple tables, where there is room
TEXT_FORMATS = ("plain", "simple")
# Formats whose readers drop spaces at the beginning of a cell, and keep those that do not break.
SPACE_DROPPING_FORMATS = (
    "html",
    "unsafehtml",
    "latex",
    "latex_raw",
    "latex_booktabs",
    "latex_longtable",
    "pipe",
    "github",
)
LABEL = 36  # width of a table's first column beyond which it is folded
MIN_TEXT_WIDTHS = (16, 10)  # smallest width to which the first column and other texts are folded
HEADER = 9  # smallest width of a folded header
GAP = 2  # between columns
FORMAT_ALIASES = {
    **dict.fromkeys(("excel", "exel", "xls"), "xlsx"),
    **dict.fromkeys(("md", "markdown"), "github"),
    **dict.fromkeys(("text", "txt"), "simple"),
    "tex": "latex_longtable",
}


def check_format(style: str, *other_formats: str) -> None:
    """Raises InputError if a format is neither one of tabulate's nor one that the caller handles."""
    import tabulate

    formats = [*sorted(tabulate.tabulate_formats), *other_formats]
    if style not in formats:
        alias = FORMAT_ALIASES.get(style)
        remedy = f"did you mean {alias}?" if alias in formats else suggestion(style, formats, cutoff=0.6)
        raise InputError(f"--format {style}: unknown format; {remedy}")


def as_csv(columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> str:
    """Quoted as in RFC 4180, with lines that end in a line feed; lists with spaces between. No text is a formula for a
    spreadsheet.
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([_field(row[column]) for column in columns] for row in rows)
    return out.getvalue()


_NUMBERS = re.compile(r"-?[0-9]+\.[0-9]+(?:e[-+]?[0-9]+)?(?: -?[0-9]+\.[0-9]+(?:e[-+]?[0-9]+)?)*")


def with_decimal_commas(text: str) -> str:
    """A CSV with decimal commas in its numbers, and semicolons between its fields."""
    out = io.StringIO()
    lines = csv.reader(io.StringIO(text))
    writer = csv.writer(out, delimiter=";", lineterminator="\n")
    writer.writerows(
        [field.replace(".", ",") if _NUMBERS.fullmatch(field) else field for field in line] for line in lines
    )
    return out.getvalue()


def _field(value: Any) -> Any:
    if isinstance(value, float):
        return units.padded_csv_number(repr(value))
    text = " ".join(value) if isinstance(value, list) else value
    return escaping.spreadsheet(text) if isinstance(text, str) else text


def fit_table(table: TextTable, style: str, width: int) -> str:
    """A table. Plain text is fitted into the width; other formats are read by programs."""
    if style not in TEXT_FORMATS:
        return _tabulate(_with_hard_indent(table) if style in SPACE_DROPPING_FORMATS else table, style)
    table = replace(table, lines=_fold_cells(table.lines, {0: LABEL}))
    padding = PADDING if style == "simple" else 0
    if replace(table, headers=[text + " " * padding for text in table.headers]).width <= width:
        return text_of_table(table, style, padding)
    return "\n\n".join(text_of_table(part, style) for part in split_table(table, width))


def text_of_table(table: TextTable, style: str, padding: int = 0) -> str:
    """Columns side by side, as tabulate draws them, which takes a hundred times as long. `padding`: of the headers."""
    widths = [
        max(_longest_line([header]) + padding, _longest_line(line[place] for line in table.lines))
        for place, header in enumerate(table.headers)
    ]
    aligned = [(str.ljust if is_text else str.rjust, width) for is_text, width in zip(table.texts, widths, strict=True)]
    lines: list[Sequence[str]] = [["-" * width for width in widths]] if style == "simple" else []
    return "\n".join(
        (" " * GAP).join(align(cell, width) for cell, (align, width) in zip(cells, aligned, strict=True)).rstrip()
        for line in (table.headers, *lines, *table.lines)
        for cells in itertools.zip_longest(*(cell.split("\n") for cell in line), fillvalue="")
    )


def _tabulate(table: TextTable, style: str) -> str:
    import tabulate

    return tabulate.tabulate(
        table.lines,
        table.headers,
        tablefmt="pipe" if style == "github" else style,  # the same table, which says which columns are aligned right
        disable_numparse=True,
        colalign=["left" if text else "right" for text in table.texts],
        preserve_whitespace=True,  # first columns are indented
    )


def _with_hard_indent(table: TextTable) -> TextTable:
    """First columns indented by spaces that a format does not drop."""
    firsts = [(line[0], line[0].lstrip()) for line in table.lines]
    indented = ["\N{NO-BREAK SPACE}" * (len(label) - len(text)) + text for label, text in firsts]
    return replace(table, lines=[[first, *line[1:]] for first, line in zip(indented, table.lines, strict=True)])


def paragraph(text: str, style: str, width: int, indent: int = 0) -> str:
    """A text above or below a table; if it is folded, lines after the first are indented."""
    escaped = escaping.paragraph(text, style)
    return "\n".join(wrap(escaped, width, "", " " * indent)) if style in TEXT_FORMATS else escaped


def document(parts: Sequence[str], style: str) -> str:
    """Tables and paragraphs one below another, ready to be shown."""
    return escaping.unshield(escaping.join_blocks(parts, style), style)


# --- fitted into a width


@dataclass(frozen=True, slots=True)
class TextTable:
    """`texts`: whether each column is text, aligned left and foldable, or numbers."""

    headers: Sequence[str]
    lines: Sequence[Sequence[str]]
    texts: Sequence[bool]

    @property
    def width(self) -> int:
        columns = zip(self.headers, *self.lines, strict=True)
        return sum(map(_longest_line, columns)) + GAP * (len(self.headers) - 1)

    def columns(self, places: Sequence[int]) -> TextTable:
        return TextTable(
            [self.headers[place] for place in places],
            [[line[place] for place in places] for line in self.lines],
            [self.texts[place] for place in places],
        )


class _Folding(textwrap.TextWrapper):
    """Breaks names of cells and paths after a slash too, if necessary."""

    wordsep_simple_re = re.compile(rf"([ \n]+)|(?<=[/{escaping.shield('/', 'simple')}])(?=[^\s])")


def wrap(text: str, width: int, first: str, continuation: str) -> list[str]:
    """Lines of whole words, the first indented by `first`, the others by `continuation`."""
    return textwrap.wrap(
        text,
        width,
        initial_indent=first,
        subsequent_indent=continuation,
        break_long_words=False,
        break_on_hyphens=False,
    )


def split_table(table: TextTable, width: int) -> list[TextTable]:
    """The table, or its parts, each no wider than requested as far as whole words permit. Leading text columns are in
    each part.
    """
    table = replace(table, headers=_narrow(table.headers, table.lines))
    headed = [(place, table.headers[place]) for place, text in enumerate(table.texts) if text]
    natural = {place: _longest_line([header, *(line[place] for line in table.lines)]) for place, header in headed}
    numbers = [place for place, text in enumerate(table.texts) if not text]
    numbers_width = table.columns(numbers).width + GAP if numbers else 0
    room = width - numbers_width - GAP * (len(natural) - 1)
    word_widths = {
        place: _longest_line(word for line in table.lines for word in line[place].split()) for place in natural
    }
    widths = _text_widths(
        natural, {place: max(word_widths[place], MIN_TEXT_WIDTHS[min(place, 1)]) for place in natural}, room
    )
    if sum(widths.values()) > room:  # break names of cells and paths too
        widths = _text_widths(natural, {place: MIN_TEXT_WIDTHS[min(place, 1)] for place in natural}, room)
    if sum(widths.values()) > room:  # split it into parts, with room for its texts in each
        widths = {place: min(size, width // 2) for place, size in natural.items()}
    lines = _fold_cells(table.lines, widths)
    return list(_table_parts(replace(table, headers=_narrow(table.headers, lines), lines=lines), width))


def _text_widths(natural: Mapping[int, int], least_widths: Mapping[int, int], room: int) -> dict[int, int]:
    """How wide each text may be, so that all fit into the room: the longest is reduced first."""
    widths = dict(natural)
    while sum(widths.values()) > room:
        widest = max(widths, key=lambda place: widths[place] - least_widths[place])
        if widths[widest] <= least_widths[widest]:
            break
        widths[widest] -= 1
    return widths


def _fold_cells(body: Sequence[Sequence[str]], limits: dict[int, int]) -> list[list[str]]:
    return [
        [_fold(cell, limits[place], 0 if place else 2) if place in limits else cell for place, cell in enumerate(line)]
        for line in body
    ]


def _fold(text: str, width: int, deeper: int) -> str:
    """A cell in lines; those after the first are indented like it, and `deeper`."""
    if len(text) <= width or _longest_line([text]) <= width:
        return text
    indent = " " * (len(text) - len(text.lstrip()))
    lines = _Folding(
        width,
        initial_indent=indent,
        subsequent_indent=indent + " " * deeper,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return "\n".join(lines.wrap(" ".join(text.split())))


def _narrow(headers: Sequence[str], body: Sequence[Sequence[str]]) -> list[str]:
    """Headers folded to the width of the column below them, as far as whole words permit."""
    widths = [max(HEADER, _longest_line(line[place] for line in body)) for place in range(len(headers))]
    return ["\n".join(wrap(text, width, "", "")) for text, width in zip(headers, widths, strict=True)]


def _table_parts(table: TextTable, width: int) -> Iterator[TextTable]:
    """Parts of the table that fit: the leading text columns, with as many others as there is room for."""
    texts = list(itertools.takewhile(table.texts.__getitem__, range(len(table.texts))))
    part = texts
    for place in range(len(texts), len(table.headers)):
        if part != texts and table.columns([*part, place]).width > width:
            yield table.columns(part)
            part = texts
        part = [*part, place]
    yield table.columns(part)


def _longest_line(texts: Iterable[str]) -> int:
    return max(map(len, "\n".join(texts).split("\n")))
