"""How an attempt ended, by the job's own facts, which another party may have damaged."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from campaign.core.decode import decode
from campaign.core.frozen import replace
from campaign.core.grouping import grouped
from campaign.core.paths import Paths
from campaign.core.records import Completion, PhaseTimes
from campaign.core.runs import Attempt, State
from campaign.results.environment import facts_file
from campaign.results.parsers.lines import printable_line


def read_completion(folder: Path, token: str | None = None) -> Completion | None:
    """How the attempt in a folder ended, None while it has not. Raises ValueError as `completion_of`."""
    return completion_of(facts_file.read(folder), folder, token) if facts_file.has_ended(folder) else None


def completion_of(file: facts_file.FactsFile, folder: Path, token: str | None = None) -> Completion | None:
    """How the attempt with these facts ended, None while it has not. Raises ValueError if the facts are damaged or,
    where a token is given, another attempt's.
    """
    path = folder / facts_file.NAME
    if not file.is_ended:
        return None
    if file.refusal:
        raise ValueError(f"{path}: {file.refusal}")
    phases = grouped((fact.phase, fact) for fact in file.from_source("job"))
    try:
        data = _values(phases.pop("", []))
        if token is not None and data.get("token") != token:
            raise ValueError(
                f"belongs to another attempt: its token is {data.get('token')!r}, this attempt's is {token!r}"
            )
        times = [{"phase": phase, **_values(of_phase)} for phase, of_phase in phases.items()]
        completion = decode(Completion, {**data, "phases": times}, pass_over_unknown=True)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error
    only_phase = PhaseTimes("", completion.exit_status, completion.started, completion.ended, completion.uptime)
    return replace(completion, phases=completion.phases or (only_phase,))


def unused_measurement(paths: Paths, attempt: Attempt) -> Completion | None:
    """How a benchmark ended that ended well, of an attempt with another recorded end."""
    if attempt.state.active or attempt.state is State.DONE:
        return None
    try:
        completion = read_completion(paths.attempt(attempt.run, attempt.number), attempt.token)
    except ValueError:
        return None
    return completion if completion is not None and completion.ended_well else None


def _values(facts: list[facts_file.FactLine]) -> Mapping[str, Any]:
    """The values of facts by name, with texts that can be shown. Raises ValueError if one is there twice."""
    values = {fact.name: printable_line(fact.value) if isinstance(fact.value, str) else fact.value for fact in facts}
    if len(values) < len(facts):
        raise ValueError("a fact of the job is there twice")
    return values
