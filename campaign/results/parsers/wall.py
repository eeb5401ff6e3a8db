"""Times that the job itself measured around a launch, as records: from its completion.json."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

from campaign.config.rules.output_format import UNCERTAINTY, WALL
from campaign.core.errors import pass_on_limit
from campaign.core.model import Completion, PhaseTimes, Record, Source
from campaign.results.completion import NAME, read_completion

_STEP_S = 0.01  # of the kernel's time since the start of the system, read at the beginning and at the end


def read(folder: Path, root: Path, phase: str = "") -> list[Record]:
    """The time from the launch to its end, and how far it may be wrong. None if the job did not record it, or its
    record is damaged, which is told where that is read as evidence.
    """
    path = folder / NAME
    try:
        completion = read_completion(folder)
        text = path.read_text(encoding="utf-8") if completion else ""
    except (ValueError, OSError) as error:
        pass_on_limit(error)
        completion = None
    if completion is None:
        return []
    source = Source(path.relative_to(root).as_posix(), _line(text, phase))
    return list(_records(completion, phase, source))


def _records(whole: Completion, phase: str, source: Source) -> Iterator[Record]:
    of_phases: dict[str, Completion | PhaseTimes] = {each.phase: each for each in whole.phases}
    times = of_phases.get(phase) if phase else whole
    seconds = times.ended - times.started if times else math.nan
    if not (math.isfinite(seconds) and seconds >= 0):
        return
    yield Record(WALL, seconds, "s", source)
    if len(clock := whole.uptime) == 2:
        # A clock that was set during the run differs from the kernel's, which cannot be set.
        set_by = abs((clock[1] - clock[0]) - (whole.ended - whole.started))
        yield Record(UNCERTAINTY, set_by + _STEP_S, "s", source)


def _line(text: str, phase: str) -> int:
    """The line of the phase's times, or of the end."""
    mark = f'"{phase}"' if phase else '"ended"'
    return text.count("\n", 0, max(text.find(mark), 0)) + 1
