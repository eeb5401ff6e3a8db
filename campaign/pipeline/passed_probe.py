"""The last probe that passed, kept with the results: while what it depends on stays, `plan` proposes none."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path

from campaign.config.definition import Definition
from campaign.core import atomic, keys
from campaign.core.paths import Paths
from campaign.core.runs import Run


def remember(definition: Definition, runs: Sequence[Run], job: str) -> None:
    """Record that the probe of this job passed."""
    definition.paths.root.mkdir(parents=True, exist_ok=True)
    record = {"format": 1, "job": job, "settings": _settings_digest(definition, runs)}
    atomic.write(_path(definition.paths), json.dumps(record) + "\n")


def find_job(definition: Definition, runs: Sequence[Run]) -> str:
    """The job of the last probe, if it passed with the same settings; "" otherwise."""
    try:
        record = json.loads(_path(definition.paths).read_text(encoding="utf-8"))
        return str(record["job"]) if record["settings"] == _settings_digest(definition, runs) else ""
    except (OSError, ValueError, LookupError, TypeError):
        return ""


def _path(paths: Paths) -> Path:
    return paths.root / "probe.json"


def _settings_digest(definition: Definition, runs: Sequence[Run]) -> str:
    """Of what decides whether a probe passes: how jobs are submitted and launched, the programs, the directories."""
    campaign = definition.campaign
    programs = {command.executable for run in runs for command in run.launched}
    parts = (
        keys.deciding(campaign.slurm),
        campaign.launcher,
        sorted(_identity(program) for program in (*programs, campaign.launcher.image)),
        [target.directory for target in campaign.targets],
        max((run.job_nodes for run in runs), default=0),
    )
    return hashlib.sha256(repr(parts).encode()).hexdigest()


def _identity(program: str) -> str:
    """A program's path, with size and time of its file."""
    try:
        status = Path(program).stat()
    except OSError:
        return program
    return f"{program} {status.st_size} {status.st_mtime_ns}"
