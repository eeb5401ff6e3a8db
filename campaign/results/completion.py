"""The job's own record of an attempt, completion.json, which another party may have damaged."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from campaign.core.decode import decode
from campaign.core.model import Attempt, Completion, Paths, PhaseTimes, State
from campaign.results.parsers.lines import printable_line

NAME = "completion.json"
LARGEST_COMPLETION = 1 << 20  # bytes


def read_completion(folder: Path, token: str | None = None) -> Completion | None:
    """The job's record of an attempt, None while there is none. Raises ValueError if it is damaged or, where a token is
    given, another attempt's; OSError if it cannot be read.
    """
    path = folder / NAME
    if not path.exists():
        return None
    try:
        if not path.is_file() or path.is_symlink() or path.stat().st_size > LARGEST_COMPLETION:
            raise ValueError(f"not a regular file of at most {LARGEST_COMPLETION} bytes")
        data: Any = json.loads(path.read_text(encoding="utf-8"), object_hook=displayed)
    except FileNotFoundError:
        return None
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path}: cannot be read: {error}") from error
    if not isinstance(data, dict):
        raise ValueError(f"{path}: not a JSON object")
    if data.get("format") != 1:
        raise ValueError(f"{path}: found format {data.get('format')!r}; allowed: 1")
    if token is not None and data.get("token") != token:
        raise ValueError(
            f"{path}: belongs to another attempt: its token is {data.get('token')!r}, this attempt's is {token!r}"
        )
    try:
        completion = decode(Completion, data, pass_over_unknown=True)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error
    times = PhaseTimes("", completion.exit_status, completion.started, completion.ended, completion.uptime)
    return replace(completion, phases=completion.phases or (times,))


def unused_measurement(paths: Paths, attempt: Attempt) -> Completion | None:
    """The job's record of a benchmark that ended well, of an attempt with another recorded end."""
    if attempt.state.active or attempt.state is State.DONE:
        return None
    try:
        completion = read_completion(paths.attempt(attempt.run, attempt.number), attempt.token)
    except ValueError:
        return None
    return completion if completion is not None and completion.ended_well else None


def displayed(fields: dict[str, Any]) -> dict[str, Any]:
    """An object whose texts can be shown."""
    return {name: printable_line(value) if isinstance(value, str) else value for name, value in fields.items()}
