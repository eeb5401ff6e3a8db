"""Local times without a zone, as benchmarks print them. Pure."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime

_FORMS = ("%m/%d/%Y %H:%M:%S", "%a %b %d %H:%M:%S %Y")  # 11/21/2026 02:00:07, Sat Nov 21 02:00:07 2026


def parse(text: str) -> float | None:
    """Seconds since 1970 of the local time; None if `text` is not a valid time."""
    for form in _FORMS:
        with suppress(ValueError):
            return datetime.strptime(text.strip(), form).replace(tzinfo=UTC).timestamp()
    return None
