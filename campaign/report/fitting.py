"""Fits plain text tables into a width: headers and texts are folded, and if that is not enough, the table is split.
Pure.
"""

from __future__ import annotations

import itertools
import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from campaign.core import escaping

LABEL = 36  # width of a table's first column beyond which it is folded
LEAST = (16, 10)  # smallest width to which the first column and other texts are folded
HEADER = 9  # smallest width of a folded header
GAP = 2  # between columns


@dataclass(frozen=True, slots=True)
class TextTable:
    """`texts`: whether each column is text, aligned left and foldable, or numbers."""

    headers: Sequence[str]
    lines: Sequence[Sequence[str]]
    texts: Sequence[bool]

    @property
    def width(self) -> int:
        columns = zip(self.headers, *self.lines, strict=True)
        return sum(map(_widest, columns)) + GAP * (len(self.headers) - 1)

    def columns(self, places: Sequence[int]) -> TextTable:
        return TextTable(
            [self.headers[place] for place in places],
            [[line[place] for place in places] for line in self.lines],
            [self.texts[place] for place in places],
        )


class _Folding(textwrap.TextWrapper):
    """Breaks names of cells and paths after a slash too, if necessary."""

    wordsep_simple_re = re.compile(rf"([ \n]+)|(?<=[/{escaping.shielded('/', 'simple')}])(?=[^\s])")


def wrapped(text: str, width: int, first: str, others: str) -> list[str]:
    """Lines of whole words, indented by `first` and `others`."""
    return textwrap.wrap(
        text, width, initial_indent=first, subsequent_indent=others, break_long_words=False, break_on_hyphens=False
    )


def labelled(table: TextTable) -> TextTable:
    """The table with long first columns folded."""
    return replace(table, lines=_folded(table.lines, {0: LABEL}))


def fitted(table: TextTable, width: int) -> list[TextTable]:
    """The table, or its parts, each no wider than requested as far as whole words permit. Leading text columns are in
    each part.
    """
    table = labelled(table)
    table = replace(table, headers=_narrow(table.headers, table.lines))
    headed = [(place, table.headers[place]) for place, text in enumerate(table.texts) if text]
    natural = {place: _widest([header, *(line[place] for line in table.lines)]) for place, header in headed}
    numbers = [place for place, text in enumerate(table.texts) if not text]
    taken = table.columns(numbers).width + GAP if numbers else 0
    room = width - taken - GAP * (len(natural) - 1)
    whole = {place: _widest(word for line in table.lines for word in line[place].split()) for place in natural}
    widths = _limits(natural, {place: max(whole[place], LEAST[min(place, 1)]) for place in natural}, room)
    if sum(widths.values()) > room:  # break names of cells and paths too
        widths = _limits(natural, {place: LEAST[min(place, 1)] for place in natural}, room)
    if sum(widths.values()) > room:  # split it into parts, with room for its texts in each
        widths = {place: min(size, width // 2) for place, size in natural.items()}
    lines = _folded(table.lines, widths)
    return list(_parts(replace(table, headers=_narrow(table.headers, lines), lines=lines), width))


def _limits(natural: Mapping[int, int], least: Mapping[int, int], room: int) -> dict[int, int]:
    """How wide each text may be, so that all fit into the room: the longest is reduced first."""
    widths = dict(natural)
    while sum(widths.values()) > room:
        widest = max(widths, key=lambda place: widths[place] - least[place])
        if widths[widest] <= least[widest]:
            break
        widths[widest] -= 1
    return widths


def _folded(body: Sequence[Sequence[str]], limits: dict[int, int]) -> list[list[str]]:
    return [
        [_fold(cell, limits[place], 0 if place else 2) if place in limits else cell for place, cell in enumerate(line)]
        for line in body
    ]


def _fold(text: str, width: int, deeper: int) -> str:
    """A cell in lines; those after the first are indented like it, and `deeper`."""
    if _widest([text]) <= width:
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
    widths = [max(HEADER, _widest(line[place] for line in body)) for place in range(len(headers))]
    return ["\n".join(wrapped(text, width, "", "")) for text, width in zip(headers, widths, strict=True)]


def _parts(table: TextTable, width: int) -> Iterator[TextTable]:
    """Parts of the table that fit: the leading text columns, with as many others as there is room for."""
    texts = list(itertools.takewhile(table.texts.__getitem__, range(len(table.texts))))
    part = texts
    for place in range(len(texts), len(table.headers)):
        if part != texts and table.columns([*part, place]).width > width:
            yield table.columns(part)
            part = texts
        part = [*part, place]
    yield table.columns(part)


def _widest(texts: Iterable[str]) -> int:
    return max((len(line) for text in texts for line in text.split("\n")), default=0)
