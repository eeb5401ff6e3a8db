"""Sizes, counts and durations: text -> whole numbers and back; any other text raises ValueError with what is allowed.

Sizes are bytes, durations are seconds, all of them whole: a fraction is refused, and so is a unit that people read in
two ways.
"""

from __future__ import annotations

import re

from campaign.core import messages

PREFIXES = "kmgtpe"
LARGEST = 2**63 - 1  # what a C program can hold

SIZE = "bytes as a whole number, also with a unit: 16m, 4KiB (k, m, g, t, p, e are powers of 1024)"
SIZE_BY_CASE = (
    "bytes as a whole number, also with a unit: K, M, G, T, P, E for powers of 1024, k, m, g, t, p, e of 1000"
)
COUNT = "a whole number in plain digits, or a power such as 2^20"
DURATION = (
    "a time with units such as 90m, 1h30m, 45s, 2d, or one of Slurm's forms: MM:SS, HH:MM:SS, D-HH, D-HH:MM, D-HH:MM:SS"
)

_DIGITS = r"0|[1-9][0-9]{0,18}"
_SIZE = re.compile(rf"({_DIGITS})(?:([kmgtpeKMGTPE])(i[bB])?)?")
_POWER = re.compile(r"([1-9][0-9]{0,9})\^(0|[1-9][0-9]?)")
_SECONDS = {"w": 604800, "d": 86400, "h": 3600, "m": 60, "s": 1}
_UNITS = re.compile("".join(rf"(?:(?P<{unit}>[0-9]{{1,12}}){unit})?" for unit in _SECONDS))
_CLOCK = re.compile(r"(?:(?P<h>[0-9]{1,9}):)?(?P<m>[0-9]{1,9}):(?P<s>[0-9]{1,9})")
_DAYS = re.compile(r"(?P<d>[0-9]{1,9})-(?P<h>[0-9]{1,2})(?::(?P<m>[0-9]{1,2})(?::(?P<s>[0-9]{1,2}))?)?")


def _bounded(value: int, text: str) -> int:
    if value > LARGEST:
        raise ValueError(messages.FOUND(found=text, allowed="up to 2^63 - 1"))
    return value


def parse_size(text: str, *, by_case: bool = False) -> int:
    """Bytes of `4096`, `16m`, `16M`, `16MiB`: a suffix is a power of 1024, as in mdtest and IOR.

    With `by_case`, as in the chunk pool: 1K = 1024, 1k = 1000, and no `KiB`.
    """
    match = _SIZE.fullmatch(text)
    if not match or (by_case and match[3]):
        raise ValueError(messages.FOUND(found=f'"{text}"', allowed=SIZE_BY_CASE if by_case else SIZE))
    step = 1000 if by_case and match[2] and match[2].islower() else 1024
    power = PREFIXES.index(match[2].lower()) + 1 if match[2] else 0
    return _bounded(int(match[1]) * step**power, text)


def format_size(size: int) -> str:
    """The shortest exact form with a power of 1024: 16777216 -> `16m`, 1000 -> `1000`."""
    if size < 0:
        raise ValueError(messages.NEGATIVE(value=size))
    power = 0
    while size and size % 1024 == 0 and power < len(PREFIXES):
        size //= 1024
        power += 1
    return f"{size}{PREFIXES[power - 1] if power else ''}"


def parse_count(text: str) -> int:
    """A count: `1048576`, or a power as run rules write it, `2^20`."""
    power = _POWER.fullmatch(text)
    if power:
        return _bounded(int(power[1]) ** int(power[2]), text)
    if not re.fullmatch(_DIGITS, text):
        raise ValueError(messages.FOUND(found=f'"{text}"', allowed=COUNT))
    return _bounded(int(text), text)


def format_count(count: int) -> str:
    """`2^20` for a power of two from 2^10 on, otherwise the digits; parse_count reads both."""
    if count < 0:
        raise ValueError(messages.NEGATIVE(value=count))
    return f"2^{count.bit_length() - 1}" if count >= 1024 and count & (count - 1) == 0 else str(count)


def several(number: int, noun: str) -> str:
    """`1 run`, `12 runs`, for nouns that take an s."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


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
            raise ValueError(messages.FOUND(found=f'"{text}"', allowed=DURATION))
    return _bounded(sum(_SECONDS[unit] * int(value) for unit, value in match.groupdict().items() if value), text)


def format_duration(seconds: int) -> str:
    """`1h30m`, `2d`, `45s`, `0s`; parse_duration reads it."""
    if seconds < 0:
        raise ValueError(messages.NEGATIVE(value=seconds))
    parts = []
    for unit in ("d", "h", "m", "s"):
        count, seconds = divmod(seconds, _SECONDS[unit])
        if count:
            parts.append(f"{count}{unit}")
    return "".join(parts) or "0s"


def format_slurm_time(seconds: int) -> str:
    """Slurm's `HH:MM:SS`, or `D-HH:MM:SS` from a day on, for `--time`; parse_duration reads it."""
    if seconds < 0:
        raise ValueError(messages.NEGATIVE(value=seconds))
    days, rest = divmod(seconds, 86400)
    clock = f"{rest // 3600:02}:{rest % 3600 // 60:02}:{rest % 60:02}"
    return f"{days}-{clock}" if days else clock


def digits(value: float) -> str:
    """As it is printed: an integer from 100 on, below it 3 significant digits."""
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"
