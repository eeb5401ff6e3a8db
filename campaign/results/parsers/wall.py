"""Times that the job itself measured around a launch, as records: from its completion.json."""

from __future__ import annotations

import json
import math
from contextlib import suppress
from pathlib import Path
from typing import Any

from campaign.config.rules.output_format import UNCERTAINTY, WALL
from campaign.core import untrusted
from campaign.core.model import Record, Source

_LARGEST = 1 << 20  # bytes
_STEP_S = 0.01  # of the kernel's time since the start of the system, read at the beginning and at the end


def read(folder: Path, root: Path, phase: str = "") -> list[Record]:
    """The time from the launch to its end, and how far it may be wrong; none if the job did not record it."""
    path = folder / "completion.json"
    with suppress(OSError, untrusted.NotPlain, ValueError, RecursionError, TypeError, KeyError, AttributeError):
        text = untrusted.read(path, _LARGEST)[0].decode(errors="replace")
        return _records(json.loads(text), phase, Source(path.relative_to(root).as_posix(), _line(text, phase)))
    return []


def _records(data: Any, phase: str, source: Source) -> list[Record]:
    times = {each["phase"]: each for each in data["phases"]}[phase] if phase else data
    seconds = float(times["ended"]) - float(times["started"])
    if not (math.isfinite(seconds) and seconds >= 0):
        return []
    found = [Record(WALL, seconds, "s", source)]
    if len(clock := data.get("uptime", ())) == 2:
        # A clock that was set during the run differs from the kernel's, which cannot be set.
        set_by = abs((float(clock[1]) - float(clock[0])) - (float(data["ended"]) - float(data["started"])))
        found.append(Record(UNCERTAINTY, set_by + _STEP_S, "s", source))
    return found


def _line(text: str, phase: str) -> int:
    """The line of the phase's times, or of the end."""
    mark = f'"{phase}"' if phase else '"ended"'
    return text.count("\n", 0, max(text.find(mark), 0)) + 1
