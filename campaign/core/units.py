"""Counts and durations: text -> whole numbers and back; any other text raises ValueError saying what is allowed.

Durations are whole seconds: fractions are refused, and units that can be read in two ways.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime
from itertools import chain

LARGEST = 2**63 - 1  # what a C program can hold

SIZE = "a size with unit, such as 512G or 768m (powers of 1024)"
COUNT = "a whole number in plain digits, or a power such as 2^20"
DURATION = (
    "a time with units such as 90m, 1h30m, 45s, 2d, or one of Slurm's forms: MM:SS, HH:MM:SS, D-HH, D-HH:MM, D-HH:MM:SS"
)

_DIGITS = r"0|[1-9][0-9]{0,18}"
_POWER = re.compile(r"([1-9][0-9]{0,9})\^(0|[1-9][0-9]?)")
_SECONDS = {"w": 604800, "d": 86400, "h": 3600, "m": 60, "s": 1}
_UNITS = re.compile("".join(rf"(?:(?P<{unit}>[0-9]{{1,12}}){unit})?" for unit in _SECONDS))
_CLOCK = re.compile(r"(?:(?P<h>[0-9]{1,9}):)?(?P<m>[0-9]{1,9}):(?P<s>[0-9]{1,9})")
_DAYS = re.compile(r"(?P<d>[0-9]{1,9})-(?P<h>[0-9]{1,2})(?::(?P<m>[0-9]{1,2})(?::(?P<s>[0-9]{1,2}))?)?")


def _bounded(value: int, text: str) -> int:
    if value > LARGEST:
        raise ValueError(f"found {text}; allowed: up to 2^63 - 1")
    return value


def parse_count(text: str) -> int:
    """A count: `1048576`, or a power as run rules write it, `2^20`."""
    power = _POWER.fullmatch(text)
    if power:
        return _bounded(int(power[1]) ** int(power[2]), text)
    if not re.fullmatch(_DIGITS, text):
        raise ValueError(f'found "{text}"; allowed: {COUNT}')
    return _bounded(int(text), text)


def parse_size(text: str) -> int:
    """Bytes: `512G`, `768m`, in powers of 1024."""
    match = re.fullmatch(r"([0-9]{1,12})([kmgtKMGT])", text)
    if not match:
        raise ValueError(f'found "{text}"; allowed: {SIZE}')
    return _bounded(int(match[1]) * 1024 ** (1 + "kmgt".index(match[2].lower())), text)


def format_size(size: float) -> str:
    """Bytes with three digits: `16 KiB`, `1.5 GiB`."""
    power = min(4, max(0, int(math.log2(size)) // 10)) if size >= 1 else 0
    return f"{size / 1024**power:.4g} {('B', 'KiB', 'MiB', 'GiB', 'TiB')[power]}"


def format_count(count: int) -> str:
    """`2^20` for a power of two from 2^10 on, otherwise the digits; parse_count reads both."""
    if count < 0:
        raise ValueError(f"found {count}; allowed: 0 or more")
    return f"2^{count.bit_length() - 1}" if count >= 1024 and count & (count - 1) == 0 else str(count)


def plural(number: int, noun: str) -> str:
    """`1 run`, `12 runs`, for nouns whose plural has an s."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def count_by_kind(noun: str, kinds: Iterable[str]) -> str:
    """`14 attempts: 12 done, 2 timeout`: how many things there are, and of each kind."""
    counts = Counter(kinds)
    counts_text = ", ".join(f"{number} {kind}" for kind, number in counts.items())
    return plural(counts.total(), noun) + (f": {counts_text}" if counts_text else "")


def listing(items: Iterable[str], limit: int = 8) -> str:
    """The first names, and the number of further ones."""
    names = list(items)
    return ", ".join(names[:limit]) + (f" and {len(names) - limit} more" if len(names) > limit else "")


def bound_listing(items: Iterable[str]) -> str:
    """As `listing`; if it leaves names out, with a hash of all, so that the text is not that of any other names."""
    names = list(items)
    text = listing(names)
    digest = hashlib.sha256("\n".join(names).encode(errors="surrogateescape")).hexdigest()
    return text if text == ", ".join(names) else f"{text} (SHA-256 of all: {digest})"


def parse_duration(text: str) -> int:
    """Seconds of `90m`, `1h30m`, `2d`, or of Slurm's `MM:SS`, `HH:MM:SS`, `D-HH[:MM[:SS]]`.

    A bare number is refused: Slurm reads it as minutes, most others as seconds. In Slurm's forms the fields after the
    first stay within 59 (hours after days: 23).
    """
    match = _UNITS.fullmatch(text) if text else None
    if match is None:
        match = _CLOCK.fullmatch(text) or _DAYS.fullmatch(text)
        fields = [int(value) for value in match.groups() if value is not None] if match else []
        limits = [23, 59, 59] if match and "-" in text else [59, 59]
        if not match or any(value > limit for value, limit in zip(fields[1:], limits, strict=False)):
            raise ValueError(f'found "{text}"; allowed: {DURATION}')
    return _bounded(sum(_SECONDS[unit] * int(value) for unit, value in match.groupdict().items() if value), text)


def format_duration(seconds: int) -> str:
    """`1h30m`, `2d`, `45s`, `0s`; parse_duration reads it."""
    if seconds < 0:
        raise ValueError(f"found {seconds}; allowed: 0 or more")
    parts = []
    for unit in ("d", "h", "m", "s"):
        count, seconds = divmod(seconds, _SECONDS[unit])
        if count:
            parts.append(f"{count}{unit}")
    return "".join(parts) or "0s"


def utc(seconds: float) -> str:
    """A UTC time, from seconds since 1970."""
    try:
        return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    except (ValueError, OverflowError, OSError):
        return f"{seconds:.0f} s after 1970"


_RATE_TIME_OR_SIZE = re.compile(r"(?i:.*(?:/(?:s|min|h|d|day)|flops?)|[num]?s|min|h|[kmgtpe]?i?b)")


def may_be_negative(unit: str) -> bool:
    """Whether a number in this unit may be below 0, as an energy or a difference; a rate, a time or a size is not."""
    return not _RATE_TIME_OR_SIZE.fullmatch(unit)


_PREFIXES: dict[str, float] = {"": 1, "n": 1e-9, "u": 1e-6, "m": 1e-3}
_PREFIXES |= {name: 1000**power for power, name in enumerate("kMGTPE", 1)}
_PREFIXES |= {f"{name}i": 1024**power for power, name in enumerate("KMGTPE", 1)}


_RATIOS = ("", "x")


def convert_unit(value: float, unit: str, target_unit: str) -> float:
    """A number in another unit, which has the same name with another prefix: MiB/s in GB/s, us in s; or a ratio in
    percent.
    """
    if unit in _RATIOS and target_unit == "%":
        return 100 * value
    for prefix, factor in _PREFIXES.items():
        for target_prefix, target_factor in _PREFIXES.items():
            if unit.startswith(prefix) and target_unit == target_prefix + unit.removeprefix(prefix):
                return value * factor / target_factor
    raise ValueError(f"found unit {target_unit}; allowed: {unit}, also with another prefix such as k, M, Mi")


def parse_ranges(text: str) -> list[range]:
    """`0-3,8` as ranges. Raises ValueError for any other text."""
    spans = []
    for part in text.split(","):
        match = re.fullmatch(r"([0-9]{1,8})(?:-([0-9]{1,8}))?", part)
        if not match:
            raise ValueError(f"{text!r:.60} is not a list of ranges such as 0-3,8")
        spans.append(range(int(match[1]), int(match[2] or match[1]) + 1))
    return spans


def digits(value: float) -> str:
    """A number as it is printed: whole from 100 on, below that 3 significant digits."""
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"


def separated_digits(value: float) -> str:
    """The same for a page, whose readers need thousands separators."""
    return f"{value:,.0f}" if abs(value) >= 100 else digits(value)


_AMOUNT = re.compile(r"(?<![\w.,/:-])(?<!job )(?<!line )\d{5,}(?![\w/:-]|[.,]\d)")


def with_separators(text: str) -> str:
    """A text for a page: its whole numbers from 10000 on with thousands separators, but no names, jobs and lines."""
    return _AMOUNT.sub(lambda amount: f"{int(amount[0]):,}", text)


def padded_csv_number(number: str) -> str:
    """A number as CSV has it, never with three decimals: where the point separates thousands, a spreadsheet reads
    127264.411 as 127264411.
    """
    return f"{number}0" if re.fullmatch(r"-?[0-9]+\.[0-9]{3}", number) else number


POINT_AS_SEPARATOR = "a spreadsheet has probably read the decimal point as a separator of thousands"


def is_thousandfold(number: float | None, other: float | None) -> bool:
    return bool(number and other) and math.isclose(1000 * (number or 0), other or 0, rel_tol=1e-12)


def without_padding(text: str) -> str:
    """A text of CSV whose numbers have no zeros behind their decimals."""
    return re.sub(r"(\.[0-9]+?)0+(?![0-9])", r"\1", text)


def distinct_digits(*values: float) -> list[str]:
    """Numbers as they are printed, with as many decimals as unequal ones need to differ, up to 9."""
    usual = [digits(value) for value in values]
    longer = ([f"{value:.{decimals}f}".rstrip("0").rstrip(".") for value in values] for decimals in range(1, 10))
    return next((texts for texts in chain([usual], longer) if len(set(texts)) == len(set(values))), usual)
