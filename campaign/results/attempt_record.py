"""attempt.json: what the driver planned an attempt to be, written before its job is submitted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from campaign.core import untrusted

_LARGEST = 64 << 20  # bytes: the text of a phase's file may be in it


def read_attempt_record(folder: Path) -> dict[str, Any]:
    """The content of an attempt's attempt.json; empty if it is missing or damaged."""
    try:
        content = json.loads(untrusted.read(folder / "attempt.json", _LARGEST)[0])
    except (OSError, ValueError, RecursionError, untrusted.NotPlain):
        return {}
    return content if isinstance(content, dict) else {}
