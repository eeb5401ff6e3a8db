"""Tables in LaTeX that fit the text of a page: columns with the widths that their words need, and where these are too
many, several tables below each other. Pure.

Widths are shares of \\linewidth, for the class article, whose text is 345 pt wide on A4 and letter.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from campaign.core.frozen import dataclass
from campaign.core.regex import regex
from campaign.report import fitting
from campaign.report.fitting import TextTable

STYLES = ("latex", "latex_raw", "latex_booktabs", "latex_longtable")
LINE_PT, GAP_PT = 345.0, 6.0  # GAP_PT: of both \tabcolsep of a column
SIZES = {"footnotesize": 4.6, "scriptsize": 4.0}  # with the width of a letter in pt
WIDE = 1.5  # letters that a capital, or another wide character, is as wide as
_SPECIFICATION = regex(r"(?<=\\begin\{)(tabular|longtable)\}\{\w+\}")
_PACKAGES = {"latex_booktabs": "array,booktabs", "latex_longtable": "array,booktabs,longtable"}


@dataclass(frozen=True, slots=True)
class Part:
    """`shares`: the widths of its columns, of the line."""

    table: TextTable
    shares: Sequence[float]
    size: str


def parts(table: TextTable) -> list[Part]:
    """The table in the largest size in which it fits the line, else in parts; the texts that come first are in each."""
    natural, least = _widths(table)
    leading = next((place for place, text in enumerate(table.texts) if not text), len(table.headers))
    everywhere, places = list(range(leading)), list(range(len(table.headers)))
    for size, letter_pt in SIZES.items():
        if _fits(least, places, letter_pt):
            return [Part(table, _shares(natural, least, places, letter_pt), size)]
    size, letter_pt = next(iter(SIZES.items()))
    tables, rest = [], places[leading:]
    while rest:
        count = 1
        while count < len(rest) and _fits(least, [*everywhere, *rest[: count + 1]], letter_pt):
            count += 1
        chosen, rest = [*everywhere, *rest[:count]], rest[count:]
        tables.append(Part(table.columns(chosen), _shares(natural, least, chosen, letter_pt), size))
    return tables


def _widths(table: TextTable) -> tuple[dict[int, int], dict[int, int]]:
    """The width of each column in letters, without and with line breaks. Numbers are never broken."""
    natural, least = {}, {}
    for place, header in enumerate(table.headers):
        cells = [line[place] for line in table.lines]
        if table.texts[place]:
            natural[place] = max(map(_width, [header, *cells]))
            least[place] = max(_width(word) for text in [header, *cells] for word in _words(text))
        else:
            natural[place] = least[place] = max(map(_width, [*_words(header), *cells]))
    return natural, least


def _width(text: str) -> int:
    """In letters of the average width, rounded up."""
    wide = sum(map(is_wide, text))
    return int(len(text) + (WIDE - 1) * wide + 0.99)


def is_wide(character: str) -> bool:
    """Whether it is a capital, or another wide character; stand-ins of escaped ones are not."""
    return character.isupper() or character in "mwMW%@" or 0x2000 < ord(character) < 0xE000


def _words(text: str) -> list[str]:
    """What a line is not broken within; behind a slash it is."""
    return fitting.unbroken(text) or [""]


def _fits(least: Mapping[int, int], places: Sequence[int], letter_pt: float) -> bool:
    return sum(least[place] for place in places) <= _room(len(places), letter_pt)


def _room(columns: int, letter_pt: float) -> int:
    return int((LINE_PT - GAP_PT * columns) / letter_pt)


def _shares(
    natural: Mapping[int, int], least: Mapping[int, int], places: Sequence[int], letter_pt: float
) -> list[float]:
    room = _room(len(places), letter_pt)
    widths = fitting.limits({place: natural[place] for place in places}, least, room)
    scale = min(1.0, room / sum(widths.values()))  # of a word that is wider than the line
    return [widths[place] * scale * letter_pt / LINE_PT for place in places]


def placed(grids: Sequence[str], parts: Sequence[Part], head: str, style: str) -> str:
    """The printed parts of a table below each other in the widths of their columns, with caption and label (`head`)."""
    tables = []
    for grid, part in zip(grids, parts, strict=True):
        columns = "".join(_column(*each) for each in zip(part.table.texts, part.shares, strict=True))
        environment, specification, rest = _SPECIFICATION.split(grid, maxsplit=1)
        tables.append(f"{environment}{specification}}}{{{columns}}}{rest}")
    packages = f"% \\usepackage{{{_PACKAGES.get(style, 'array')}}}\n"
    size = f"\\{parts[0].size}\\setlength{{\\tabcolsep}}{{3pt}}"
    if style == "latex_longtable":
        tables[0] = _continued(tables[0], head)
        whole = "\n".join(tables)
        return f"{packages}\\begingroup\n{size}\\setlength{{\\LTcapwidth}}{{\\linewidth}}\n{whole}\n\\endgroup"
    whole = "\n\\par\\medskip\n".join(tables)
    return f"{packages}\\begin{{table}}[htbp]\n\\centering\n{size}\n{head}\n{whole}\n\\end{{table}}"


def _column(is_text: bool, share: float) -> str:
    side = "\\hangindent1em\\raggedright" if is_text else "\\raggedleft"
    return f">{{{side}\\arraybackslash}}p{{{share:.3f}\\linewidth}}"


def _continued(table: str, head: str) -> str:
    """The caption above the first page of a long table, the headings on each."""
    first, _, rest = table.partition("\n")
    headings, _, below = rest.partition("\\endhead\n")
    return f"{first}\n{head} \\\\\n{headings}\\endfirsthead\n{headings}\\endhead\n{below}"
