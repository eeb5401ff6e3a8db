"""What a plot is made of: panels with two axes and the marks in them. Plain data; `svg` draws it."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from campaign.core import escaping

# Colours that differ in lightness too, for grey print and colour-blind readers.
COLOURS = ("#12436d", "#e07b12", "#8fd3c8", "#801650", "#a285d1", "#3d3d3d", "#28a197", "#f0c04a")
MARKERS = ("circle", "square", "diamond", "triangle")
DASHES = ("", "6 3", "2 3", "8 3 2 3")
LEFT, RIGHT, TITLE = 58, 18, 17  # a panel's margins; height of a line of its title
BOLD, LETTER = 7.6, 6.2  # width of a letter of a title, and of a label
LEVELS = 10  # shades of a raster


def colour(series: int) -> str:
    return COLOURS[series % len(COLOURS)]


@dataclass(frozen=True, slots=True)
class Axis:
    """From `low` to `high`, linear or logarithmic. A tick's label may have several lines."""

    low: float
    high: float
    ticks: tuple[tuple[float, str], ...]
    title: str = ""
    log: bool = False

    def place(self, value: float) -> float:
        """The position of a value, 0 at `low` and 1 at `high`; values outside are moved to the nearer end."""
        numbers = self.low, self.high, min(max(value, self.low), self.high)
        low, high, value = map(math.log, numbers) if self.log else numbers
        return (value - low) / (high - low)


@dataclass(frozen=True, slots=True)
class Bar:
    """`actual`: the actual rate if the benchmark counts more. `cell`: where its number is on the page."""

    x: float
    width: float
    value: float
    series: int
    description: str
    cell: str = ""
    valid: bool = True
    actual: float | None = None
    note: str = ""


@dataclass(frozen=True, slots=True)
class Line:
    """Points, joined where `joined`; those in `crossed` have a cross over them."""

    points: tuple[tuple[float, float], ...]
    colour: str
    series: int = 0
    joined: bool = True
    marked: bool = True
    crossed: tuple[tuple[float, float], ...] = ()


@dataclass(frozen=True, slots=True)
class Interval:
    x: float
    low: float
    value: float
    high: float
    label: str = ""


@dataclass(frozen=True, slots=True)
class Dot:
    """A value on the x axis with its interval, at a place on the y axis."""

    x: float
    y: float
    low: float
    high: float
    series: int
    description: str


@dataclass(frozen=True, slots=True)
class Span:
    """A bar from one value of the x axis to another, at a place on the y axis."""

    y: float
    low: float
    high: float
    colour: str
    description: str


@dataclass(frozen=True, slots=True)
class Upright:
    """A line from the bottom to the top."""

    x: float
    colour: str


@dataclass(frozen=True, slots=True)
class Raster:
    """Rows from the top, each with values from 0 to 1 across the width, None where there is nothing."""

    rows: tuple[tuple[float | None, ...], ...]
    high: float  # where a row ends on the x axis

    def paths(self, panel: Panel) -> Iterator[tuple[str, str]]:
        """A path for each shade; adjacent cells with the same shade are one line of it."""
        tall = panel.height / max(1, len(self.rows))
        segments: dict[int, list[str]] = {}
        for number, row in enumerate(self.rows):
            y = shortest(panel.top + tall * (number + 0.5))
            wide, start = (panel.at_x(self.high) - panel.left) / max(1, len(row)), 0
            levels = groupby(row, lambda value: None if value is None else min(int(value * LEVELS), LEVELS - 1))
            for level, run in levels:
                count = len(list(run))
                if level is not None:
                    segment = f"M{shortest(panel.left + wide * start)} {y}h{shortest(wide * count)}"
                    segments.setdefault(level, []).append(segment)
                start += count
        for level, parts in sorted(segments.items()):
            yield shade((level + 0.5) / LEVELS), "".join(parts)


@dataclass(frozen=True, slots=True)
class Tile:
    """A cell of a map, in a column from the left and a row from the top, with two lines of text. `part`: where between
    the lowest and the highest its value is, None if it has no place there; `mark`: a letter in its corner.
    """

    column: int
    row: int
    text: str
    small_text: str
    description: str
    cell: str
    part: float | None = None
    mark: str = ""

    @property
    def colours(self) -> tuple[str, str]:
        """Of the cell and of its text."""
        if self.part is None:
            return "#eeeeee", "#111111"
        return shade(self.part), "#ffffff" if self.part < 0.55 else "#111111"


Mark = Bar | Line | Interval | Dot | Span | Upright | Raster | Tile


@dataclass(frozen=True, slots=True)
class Panel:
    title: str
    x: Axis
    y: Axis
    marks: tuple[Mark, ...]
    width: int = 340
    height: int = 230  # of the area between the axes
    left: int = LEFT  # its margin for the labels of the y axis

    @property
    def title_lines(self) -> list[str]:
        return textwrap.wrap(escaping.plain(self.title), int((self.width - self.left) / BOLD))[:4]

    @property
    def label_lines(self) -> int:
        """How many lines the labels of the x axis have."""
        return max((label.count("\n") + 1 for _, label in self.x.ticks), default=1)

    @property
    def top(self) -> int:
        return 12 + TITLE * len(self.title_lines)

    @property
    def size(self) -> tuple[int, int]:
        """Its width, and its height with title and labels."""
        return self.width, self.top + self.height + 6 + 13 * self.label_lines + (16 if self.x.title else 0)

    def at_x(self, value: float) -> float:
        return self.left + self.x.place(value) * (self.width - RIGHT - self.left)

    def at_y(self, value: float) -> float:
        return self.top + (1 - self.y.place(value)) * self.height


@dataclass(frozen=True, slots=True)
class Key:
    """A line of the legend. `kind`: bar | line (with points) | curve (without) | points | upright."""

    label: str
    colour: str
    kind: str = "bar"
    series: int = 0


def shortest(value: float) -> str:
    """At most one decimal place."""
    return f"{value:.1f}".removesuffix(".0")


def left_margin(labels: Iterable[str]) -> int:
    """The room that labels need before a y axis."""
    return max(LEFT, 12 + round(LETTER * max(map(len, labels), default=0)))


def axis_of_groups(labels: Sequence[str], title: str = "") -> Axis:
    """A position for each label, with half a position at both ends."""
    return Axis(-0.5, len(labels) - 0.5, tuple(enumerate(labels)), title)


def value_axis(values: Sequence[float], title: str) -> Axis:
    """An axis by powers of ten if all values are above 0 and differ much, otherwise from zero, or from the lowest value
    below it.
    """
    positive = [value for value in values if value > 0]
    highest = max(positive, default=1.0)
    if len(positive) == len(values) and positive and highest > 30 * min(positive):
        low, high = math.floor(math.log10(min(positive) / 1.5)), math.ceil(math.log10(highest * 1.1))
        step = max(1, (high - low) // 6)
        ticks = tuple((10.0**power, amount(10.0**power)) for power in range(low, high + 1, step))
        return Axis(10.0**low, 10.0**high, ticks, title, log=True)
    lowest = min([0.0, *values])
    return linear_axis(highest * 1.08 if positive or not lowest else 0.0, title, low=lowest * 1.08)


def log_axis(low: float, high: float, title: str) -> Axis:
    """A logarithmic axis with a margin, and with ticks for people: over a small range at equal distances, over a large
    one at powers of ten, otherwise at 1, 2 and 5 times these.
    """
    margin = (high / low) ** 0.05 if high > low else 1.1
    low, high = low / margin, high * margin
    if high < 4 * low:
        return Axis(low, high, linear_axis(high, title, 8, low).ticks, title, log=True)
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    factors = (1, 2, 5) if high < 300 * low else (1,)
    values = [factor * 10.0**power for power in powers[:: max(1, len(powers) // 6)] for factor in factors]
    return Axis(low, high, tuple((value, amount(value)) for value in values if low <= value <= high), title, log=True)


def linear_axis(high: float, title: str, most_ticks: int = 5, low: float = 0.0) -> Axis:
    """With round ticks."""
    step = _step(high - low, most_ticks)
    ticks = range(math.ceil(low / step), math.floor(high / step + 1e-9) + 1)
    return Axis(low, high, tuple((number * step, amount(number * step)) for number in ticks), title)


def _step(length: float, most_ticks: int) -> float:
    power = 10.0 ** math.floor(math.log10(length / most_ticks))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power * most_ticks >= length)


def amount(value: float) -> str:
    """`20k`, `1.5M`: as short as a tick's label must be."""
    for factor, letter in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= factor:
            return f"{value / factor:.4g}{letter}"
    return f"{value:.4g}"


def gradient(count: int) -> list[str]:
    """Colours from dark to light."""
    return [shade(0.9 * index / max(1, count - 1)) for index in range(count)]


_SHADES = ((68, 1, 84), (59, 82, 139), (33, 145, 140), (94, 201, 98), (253, 231, 37))


def shade(part: float) -> str:
    """Dark blue at 0, yellow at 1; lightness increases throughout."""
    at = min(max(part, 0.0), 1.0) * (len(_SHADES) - 1)
    index = min(int(at), len(_SHADES) - 2)
    mixed = (
        round(low + (high - low) * (at - index)) for low, high in zip(_SHADES[index], _SHADES[index + 1], strict=True)
    )
    return "#" + "".join(f"{channel:02x}" for channel in mixed)
