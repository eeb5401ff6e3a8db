"""Tables and texts in any format of tabulate, with all characters of the format escaped. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from campaign.core import escaping
from campaign.core.errors import InputError
from campaign.report import fitting

WIDEST = 100  # of plain text: every terminal has as many columns
PADDING = 2  # of headers in tabulate's tables, where there is room
FOLDED = ("plain", "simple")  # formats in which it may
# Formats whose readers drop spaces at the beginning of a cell, and keep those that do not break.
COLLAPSED = ("html", "unsafehtml", "latex", "latex_raw", "latex_booktabs", "latex_longtable", "pipe", "github")
MEANT = {
    **dict.fromkeys(("excel", "exel", "xls"), "xlsx"),
    **dict.fromkeys(("md", "markdown"), "github"),
    **dict.fromkeys(("text", "txt"), "simple"),
    "tex": "latex_longtable",
}


def check_format(style: str, *others: str) -> None:
    """Raises InputError if a format is not one of tabulate's; `others` are allowed too, and handled elsewhere."""
    import tabulate

    known = [*sorted(tabulate.tabulate_formats), *others]
    if style not in known:
        import difflib

        near = [MEANT[style]] if style in MEANT else difflib.get_close_matches(style, known, 1)
        if near and near[0] in known:
            raise InputError(f"--format {style}: unknown format; did you mean {near[0]}?")
        raise InputError(f"--format {style}: unknown format; allowed: {', '.join(known)}")


def grid(
    headers: Sequence[str], body: Sequence[Sequence[str]], style: str, left: Sequence[str], width: int = WIDEST
) -> str:
    """A table. The first column and those named in `left` are aligned left, the others right. Plain text is fitted into
    the width; other formats are read by programs.
    """
    table = fitting.TextTable(
        [escaping.shielded(text, style) for text in headers],
        [[escaping.shielded(text, style) for text in line] for line in body],
        [not place or name in left for place, name in enumerate(headers)],
    )
    if style not in FOLDED:
        return _grid(_indented(table) if style in COLLAPSED else table, style)
    table = fitting.labelled(table)
    padded = replace(table, headers=[text + " " * PADDING for text in table.headers])
    if padded.width <= width:
        return _grid(table, style)
    with _tight():
        return "\n\n".join(_grid(part, style) for part in fitting.fitted(table, width))


@contextmanager
def _tight() -> Iterator[None]:
    """Without tabulate's padding on both sides of each header."""
    import tabulate

    before, tabulate.MIN_PADDING = tabulate.MIN_PADDING, 0
    try:
        yield
    finally:
        tabulate.MIN_PADDING = before


def _grid(table: fitting.TextTable, style: str) -> str:
    import tabulate

    return tabulate.tabulate(
        table.lines,
        table.headers,
        tablefmt="pipe" if style == "github" else style,  # the same table, which says which columns are aligned right
        disable_numparse=True,
        colalign=["left" if text else "right" for text in table.texts],
        preserve_whitespace=True,  # first columns are indented
    )


def _indented(table: fitting.TextTable) -> fitting.TextTable:
    """First columns indented by spaces that a format does not drop."""
    firsts = [(line[0], line[0].lstrip()) for line in table.lines]
    shown = ["\N{NO-BREAK SPACE}" * (len(whole) - len(text)) + text for whole, text in firsts]
    return replace(table, lines=[[first, *line[1:]] for first, line in zip(shown, table.lines, strict=True)])


def paragraph(text: str, style: str, width: int, indent: int = 0) -> str:
    """A text above or below a table; if it is folded, lines after the first are indented."""
    shown = escaping.paragraph(text, style)
    return "\n".join(fitting.wrapped(shown, width, "", " " * indent)) if style in FOLDED else shown


def document(parts: Sequence[str], style: str) -> str:
    """Tables and paragraphs one below another, ready to be shown."""
    return escaping.released(escaping.below_each_other(parts, style), style)
