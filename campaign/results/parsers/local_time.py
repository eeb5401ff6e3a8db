"""Local times without a zone, as benchmarks print them. Pure."""

from __future__ import annotations

import re
from datetime import UTC, datetime

_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
# 11/21/2026 02:00:07, Sat Nov 21 02:00:07 2026
_MDTEST = re.compile(r"(\d\d)/(\d\d)/(\d{4}) (\d\d):(\d\d):(\d\d)")
_CTIME = re.compile(r"[A-Z][a-z]{2} ([A-Z][a-z]{2}) +(\d{1,2}) (\d\d):(\d\d):(\d\d) (\d{4})")


def parse(text: str) -> float | None:
    """Seconds since 1970 of the local time; None if `text` is not a valid time."""
    if match := _MDTEST.fullmatch(text.strip()):
        month, day, year, *clock = (int(part) for part in match.groups())
    elif (match := _CTIME.fullmatch(text.strip())) and match[1] in _MONTHS:
        month, day, year = _MONTHS.index(match[1]) + 1, int(match[2]), int(match[6])
        clock = [int(match[part]) for part in (3, 4, 5)]
    else:
        return None
    try:
        return datetime(year, month, day, *clock, tzinfo=UTC).timestamp()  # type: ignore[misc,arg-type]
    except ValueError:
        return None
