"""Panels as SVG. Only presentation attributes: no style, no id, nothing from outside. Pure."""

from __future__ import annotations

import html
import math
import textwrap
import urllib.parse
from collections.abc import Iterator, Sequence
from itertools import groupby

from campaign.core import escaping
from campaign.report.plots import shapes

LEFT, RIGHT, TITLE = 58, 18, 17  # a panel's margins; height of a line of its title
FONT = 'font-family="system-ui, sans-serif" font-size="11"'
BOLD = 7.6  # width of a letter of a title
LEVELS = 10  # shades of a raster
INK, GRID = "#1a1a1a", "#dddddd"


def panel_svg(panel: shapes.Panel, page: str = "") -> str:
    """A panel on its own. `page`: address of the page that its bars link to, "" inside that page."""
    width, height = size(panel)
    label = html.escape(escaping.plain(panel.title or panel.y.title))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="group" aria-label="{label}" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" {FONT}>{"".join(_inside(panel, page))}</svg>'
    )


def size(panel: shapes.Panel) -> tuple[int, int]:
    return panel.width, _top(panel) + panel.height + 6 + 13 * _label_lines(panel) + (16 if panel.x.title else 0)


def _label_lines(panel: shapes.Panel) -> int:
    """How many lines the labels of the x axis have."""
    return max((label.count("\n") + 1 for _, label in panel.x.ticks), default=1)


def document(title: str, remarks: Sequence[str], panels: Sequence[shapes.Panel], legend: Sequence[shapes.Key]) -> str:
    """A file of its own: the panels in two columns below their heading, the legend at the end."""
    columns = min(2, len(panels))
    width = max(panel.width for panel in panels) * columns
    parts, y = [], 20
    lines = textwrap.wrap(escaping.plain(title), width // 7)
    for remark in remarks:
        lines += textwrap.wrap(escaping.plain(remark), width // 6)
    for line in lines:
        parts.append(text(8, y, line, size=13 if y == 20 else 11))
        y += 16
    for first in range(0, len(panels), columns):
        beside = panels[first : first + columns]
        for place, panel in enumerate(beside):
            x = place * width // columns
            parts.append(f'<g transform="translate({x} {y})">{panel_svg(panel, "index.html")}</g>')
        y += max(size(panel)[1] for panel in beside) + 8
    for place, entry in enumerate(legend):
        x = 8 + place % (2 * columns) * (width // (2 * columns))
        line_y = y + 18 * (place // (2 * columns))
        parts.append(f'<g transform="translate({x} {line_y})">{key(entry)}{text(22, 11, entry.label)}</g>')
    height = y + 18 * -(-len(legend) // (2 * columns)) + 4
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        f'{FONT}><rect width="100%" height="100%" fill="white"/>{"".join(parts)}</svg>\n'
    )


def key(entry: shapes.Key) -> str:
    """The symbol before a line of the legend, 16 by 14."""
    inner = {
        "bar": f'<rect x="1" y="1" width="14" height="12" fill="{entry.colour}"/>',
        "line": f'<path d="M0 7h16" stroke="{entry.colour}" stroke-width="2"{_dash(entry.series)}/>'
        + _marker(8, 7, entry.colour, entry.series),
        "points": _marker(8, 7, entry.colour, entry.series),
        "upright": f'<path d="M8 0v14" stroke="{entry.colour}" stroke-width="2" stroke-dasharray="5 3"/>',
    }[entry.kind]
    return f'<svg xmlns="http://www.w3.org/2000/svg" width="16" height="14" aria-hidden="true">{inner}</svg>'


def text(x: float, y: float, line: str, anchor: str = "start", size: int = 11, more: str = "") -> str:
    anchored = "" if anchor == "start" else f' text-anchor="{anchor}"'
    sized = "" if size == 11 else f' font-size="{size}"'
    written = html.escape(escaping.plain(line))
    return f'<text x="{_n(x)}" y="{_n(y)}" fill="{INK}"{anchored}{sized}{more}>{written}</text>'


# --- the parts of a panel


def _inside(panel: shapes.Panel, page: str) -> Iterator[str]:
    for number, line in enumerate(_title(panel)):
        yield text(LEFT, 12 + TITLE * number, line, size=12, more=' font-weight="600"')
    yield from _axes(panel)
    for mark in panel.marks:
        match mark:
            case shapes.Bar():
                yield _bar(panel, mark, page)
            case shapes.Line():
                yield _line(panel, mark)
            case shapes.Interval():
                yield _interval(panel, mark)
            case shapes.Upright():
                place = f"M{_n(_x(panel, mark.x))} {_top(panel)}v{panel.height}"
                yield f'<path d="{place}" stroke="{mark.colour}" stroke-dasharray="5 3"/>'
            case shapes.Raster():
                yield from _raster(panel, mark)
    bottom = _top(panel) + panel.height
    yield f'<path d="M{LEFT} {_top(panel)}V{bottom}H{panel.width - RIGHT}" fill="none" stroke="{INK}"/>'


def _axes(panel: shapes.Panel) -> Iterator[str]:
    right, bottom = panel.width - RIGHT, _top(panel) + panel.height
    for value, label in panel.y.ticks:
        y = _y(panel, value)
        yield f'<path d="M{LEFT} {_n(y)}H{right}" stroke="{GRID}"/>'
        yield text(LEFT - 4, y + 4, label, "end")
    for value, label in panel.x.ticks:
        for number, line in enumerate(label.split("\n")):
            yield text(_x(panel, value), bottom + 14 + 13 * number, line, "middle", 10 if number else 11)
    if panel.x.title:
        yield text((LEFT + right) / 2, bottom + 14 + 13 * _label_lines(panel) + 3, panel.x.title, "middle")
    middle = _n(bottom - panel.height / 2)
    yield text(11, bottom - panel.height / 2, panel.y.title, "middle", more=f' transform="rotate(-90 11 {middle})"')


def _bar(panel: shapes.Panel, bar: shapes.Bar, page: str) -> str:
    left, right = _x(panel, bar.x - bar.width / 2), _x(panel, bar.x + bar.width / 2)
    top, bottom = _y(panel, bar.value), float(_top(panel) + panel.height)
    filled, wide = shapes.colour(bar.series), right - left
    faint = ' fill-opacity="0.3"' if bar.actual is not None else ""
    inner = (
        f'<rect x="{_n(left)}" y="{_n(top)}" width="{_n(wide)}" height="{_n(max(bottom - top, 1))}" '
        f'fill="{filled if bar.valid else "white"}"{faint} stroke="{filled}"/>'
    )
    if not bar.valid:
        heights = (top + 3 + 4 * number for number in range(math.ceil((bottom - top - 3) / 4)))
        stripes = "".join(f"M{_n(left)} {_n(y)}h{_n(wide)}" for y in heights)
        inner += f'<path d="{stripes}" stroke="{filled}"/>'
    if bar.actual is not None:
        actual = _y(panel, bar.actual)
        inner += (
            f'<rect x="{_n(left)}" y="{_n(actual)}" width="{_n(wide)}" height="{_n(bottom - actual)}" fill="{filled}"/>'
        )
    if bar.note:
        inner += text((left + right) / 2, top - 3, bar.note, "middle")
    inner = f"<title>{html.escape(escaping.plain(bar.about))}</title>{inner}"
    if not bar.cell:
        return f"<g>{inner}</g>"
    # The table has the same links, which the keyboard reaches: duplicates here would be in the way.
    return f'<a href="{page}#{html.escape(urllib.parse.quote(bar.cell))}" tabindex="-1">{inner}</a>'


def _line(panel: shapes.Panel, line: shapes.Line) -> str:
    places = [(_x(panel, x), _y(panel, y)) for x, y in line.points]
    parts = []
    if line.joined and len(places) > 1:
        way = "L".join(f"{_n(x)} {_n(y)}" for x, y in places)
        dash = _dash(line.series) if line.marked else ""
        parts.append(f'<path d="M{way}" fill="none" stroke="{line.colour}" stroke-width="1.6"{dash}/>')
    if line.marked:
        parts += [_marker(x, y, line.colour, line.series) for x, y in places]
    for x, y in line.crossed:
        a, b = _x(panel, x) - 5, _y(panel, y) - 5
        parts.append(f'<path d="M{_n(a)} {_n(b)}l10 10m-10 0l10 -10" stroke="{INK}" stroke-width="1.6"/>')
    return "".join(parts)


def _marker(x: float, y: float, filled: str, series: int) -> str:
    shape = shapes.MARKERS[series % len(shapes.MARKERS)]
    if shape == "circle":
        return f'<circle cx="{_n(x)}" cy="{_n(y)}" r="3.2" fill="{filled}"/>'
    outline = {"square": "m-3 -3h6v6h-6z", "diamond": "m0 -4l4 4l-4 4l-4 -4z", "triangle": "m0 -4l4 7h-8z"}[shape]
    return f'<path d="M{_n(x)} {_n(y)}{outline}" fill="{filled}"/>'


def _dash(series: int) -> str:
    dash = shapes.DASHES[series // len(shapes.MARKERS) % len(shapes.DASHES)]
    return f' stroke-dasharray="{dash}"' if dash else ""


def _interval(panel: shapes.Panel, mark: shapes.Interval) -> str:
    x, low, middle, high = _x(panel, mark.x), _y(panel, mark.low), _y(panel, mark.value), _y(panel, mark.high)
    way = f"M{_n(x - 4)} {_n(low)}h8m-4 0V{_n(high)}m-4 0h8M{_n(x - 6)} {_n(middle)}h12"
    label = text(x, high - 5, mark.label, "middle", 10) if mark.label else ""
    return f'<path d="{way}" fill="none" stroke="{INK}" stroke-width="1.4"/>{label}'


def _raster(panel: shapes.Panel, raster: shapes.Raster) -> Iterator[str]:
    """A path for each shade; adjacent cells with the same shade are one line of it."""
    tall = panel.height / max(1, len(raster.rows))
    ways: dict[int, list[str]] = {}
    for number, row in enumerate(raster.rows):
        y = _n(_top(panel) + tall * (number + 0.5))
        wide, start = (_x(panel, raster.high) - LEFT) / max(1, len(row)), 0
        for level, run in groupby(row, lambda value: None if value is None else min(int(value * LEVELS), LEVELS - 1)):
            count = len(list(run))
            if level is not None:
                ways.setdefault(level, []).append(f"M{_n(LEFT + wide * start)} {y}h{_n(wide * count)}")
            start += count
    for level, way in sorted(ways.items()):
        filled = shapes.shade((level + 0.5) / LEVELS)
        yield f'<path d="{"".join(way)}" stroke="{filled}" stroke-width="{_n(tall + 0.3)}"/>'


def _title(panel: shapes.Panel) -> list[str]:
    return textwrap.wrap(escaping.plain(panel.title), int((panel.width - LEFT) / BOLD))[:4]


def _top(panel: shapes.Panel) -> int:
    return 12 + TITLE * len(_title(panel))


def _x(panel: shapes.Panel, value: float) -> float:
    return LEFT + panel.x.place(value) * (panel.width - RIGHT - LEFT)


def _y(panel: shapes.Panel, value: float) -> float:
    return _top(panel) + (1 - panel.y.place(value)) * panel.height


def _n(value: float) -> str:
    """At most one decimal place."""
    return f"{value:.1f}".removesuffix(".0")


def axis_of_groups(labels: Sequence[str], title: str = "") -> shapes.Axis:
    """A position for each label, with half a position at both ends."""
    return shapes.Axis(-0.5, len(labels) - 0.5, tuple(enumerate(labels)), title)
