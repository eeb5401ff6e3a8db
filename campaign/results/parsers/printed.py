"""Numbers as programs print them: -0.5, 1.4D+08, 1,234.5, and durations in seconds, 5m58.18s or 1:02:03. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal

MOST_DIGITS = 100  # of a number; longer ones are refused
_FRACTION = r"(?:\.[0-9]{0,18})?"
_NUMBER = re.compile(
    rf"[-+]?(?:[0-9]{{1,18}}{_FRACTION}|[0-9]{{1,3}}(?:,[0-9]{{3}}){{1,5}}{_FRACTION}|\.[0-9]{{1,18}})"
    r"(?:[eEdD][-+]?[0-9]{1,3})?"
)
_WHOLE = re.compile(r"[-+]?[0-9,]+")
# Hours, minutes, seconds: with colons, or with letters and blanks between them; `5m` alone may be a size.
_COLONS = re.compile(rf"(?:([0-9]{{1,9}}):(?=[0-9]{{2}}:))?([0-9]{{1,9}}):([0-9]{{2}}{_FRACTION})")
_LETTERS = re.compile(rf"(?:([0-9]{{1,9}})h ?)?(?:([0-9]{{1,9}})m ?)?([0-9]{{1,18}}{_FRACTION})s")
_HOURS = re.compile(r"([0-9]{1,9})h ?([0-9]{1,2})m")


@dataclass(frozen=True, slots=True)
class Printed:
    """A printed number, and half a unit of its last digit: 0 for a whole number, which is a count."""

    value: float
    half: float
    is_duration: bool = False


def number(text: str) -> Printed | None:
    """The number that a text is; None if it is none."""
    text = text.strip()
    if _NUMBER.fullmatch(text):
        plain = text.replace(",", "").upper().replace("D", "E")
        value = float(plain)
        return Printed(value, 0.0 if _WHOLE.fullmatch(text) else _half(plain)) if _fits(value) else None
    if match := _COLONS.fullmatch(text) or _LETTERS.fullmatch(text):
        hours, minutes, seconds = match.groups("0")
        return Printed(3600 * int(hours) + 60 * int(minutes) + float(seconds), _half(seconds), is_duration=True)
    if match := _HOURS.fullmatch(text):
        return Printed(3600.0 * int(match[1]) + 60 * int(match[2]), 30.0, is_duration=True)
    return None


def _fits(value: float) -> bool:
    return abs(value) <= 10.0**MOST_DIGITS


def _half(plain: str) -> float:
    exponent = Decimal(plain).as_tuple().exponent
    return 0.5 * 10.0 ** min(exponent, MOST_DIGITS) if isinstance(exponent, int) else 0.0
