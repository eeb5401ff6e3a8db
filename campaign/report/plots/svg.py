"""Panels as SVG, by templates/plot.svg.j2."""

from __future__ import annotations

import functools
import html
import re
import textwrap
import urllib.parse
from collections.abc import Sequence
from typing import Any

from campaign.core import escaping, resources
from campaign.report.plots import shapes

INK = "#1a1a1a"


def panel_svg(panel: shapes.Panel) -> str:
    """A panel inside the page that its bars link to."""
    return _render_macro("panel", panel, "")


def key_svg(entry: shapes.Key) -> str:
    """The symbol before a line of the legend."""
    return _render_macro("key", entry)


def document_svg(
    title: str, remarks: Sequence[str], panels: Sequence[shapes.Panel], legend: Sequence[shapes.Key]
) -> str:
    """A file of its own."""
    return _render_macro("document", title, remarks, panels, legend) + "\n"


def _render_macro(macro: str, *arguments: object) -> str:
    """What a macro of the template gives, whose line breaks and indentation are for its readers."""
    return re.sub(r"\n *", "", getattr(_macros(), macro)(*arguments))


@functools.cache
def _macros() -> Any:
    environment = resources.templates()
    environment.filters |= {
        "n": shapes.shortest,
        "plain": lambda text: html.escape(escaping.plain(text)),
        "quoted": lambda text: html.escape(urllib.parse.quote(text)),
        "wrapped": lambda text, width: textwrap.wrap(escaping.plain(text), width),
    }
    environment.globals |= {
        "ink": INK,
        "colours": shapes.COLOURS,
        "markers": shapes.MARKERS,
        "dashes": shapes.DASHES,
        "right": shapes.RIGHT,
        "title": shapes.TITLE,
        "kind_of": lambda mark: type(mark).__name__,
    }
    return environment.get_template("plot.svg.j2").module
