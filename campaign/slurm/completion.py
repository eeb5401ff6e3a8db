"""The job's own record of an attempt, completion.json, which another party may have damaged."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

from campaign.core.model import Attempt, Completion, Paths, PhaseTimes, State
from campaign.results.parsers.lines import shown
from campaign.slurm import messages

LARGEST_COMPLETION = 1 << 20  # bytes
_READERS: dict[str, Callable[[Any], Any]] = {"str": lambda value: shown(str(value)), "int": int, "float": float}


def read_completion(folder: Path, token: str) -> Completion | None:
    """The job's record of an attempt, None while there is none. Raises ValueError where it is damaged or another's."""
    path = folder / "completion.json"
    if not path.exists():
        return None
    try:
        if not path.is_file() or path.is_symlink() or path.stat().st_size > LARGEST_COMPLETION:
            raise ValueError(messages.COMPLETION_NO_FILE(most=LARGEST_COMPLETION))
        data: Any = json.loads(path.read_text(encoding="utf-8"))
    except OSError:
        return None  # passing trouble of a file system; if it stays, Slurm's word ends the attempt
    except (ValueError, RecursionError) as error:
        raise ValueError(messages.COMPLETION_UNREADABLE(path=path, why=error)) from error
    if not isinstance(data, dict):
        raise ValueError(messages.COMPLETION_NO_OBJECT(path=path))
    if data.get("format") != 1:
        raise ValueError(messages.COMPLETION_FORMAT(path=path, format=data.get("format")))
    if data.get("token") != token:
        raise ValueError(messages.COMPLETION_OF_ANOTHER(path=path, token=data.get("token"), own=token))
    try:
        known = {field.name: _READERS[str(field.type)](data[field.name]) for field in fields(Completion)[:-3]}
        unended, phases = shown(str(data.get("unended", ""))), _phase_times(data.get("phases", []))
        return Completion(**known, unended=unended, phases=phases, uptime=tuple(map(float, data.get("uptime", ())))[:2])
    except KeyError as error:
        raise ValueError(messages.COMPLETION_LACKS(path=path, field=error)) from error
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(messages.COMPLETION_TYPE(path=path, why=error)) from error


def unused_but_measured(paths: Paths, attempt: Attempt) -> bool:
    """Whether an attempt that is on record as another end has a job's record of a benchmark that ended well."""
    if attempt.state.active or attempt.state is State.DONE:
        return False
    try:
        completion = read_completion(paths.attempt(attempt.run, attempt.number), attempt.token)
    except ValueError:
        return False
    return completion is not None and completion.ended_well


def _phase_times(data: Any) -> tuple[PhaseTimes, ...]:
    """Raises TypeError, ValueError or KeyError where it is no list of phases."""
    return tuple(
        PhaseTimes(**{field.name: _READERS[str(field.type)](each[field.name]) for field in fields(PhaseTimes)})
        for each in data
    )
