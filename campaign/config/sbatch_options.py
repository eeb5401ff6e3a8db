"""The sbatch options that a campaign file may add to its jobs, and why others are refused."""

from __future__ import annotations

import re

from campaign.core.schema import Text, suggestion
from campaign.core.strict_yaml import shown

_DIRECTIVE = "an sbatch option as --name or --name=value, except those that campaign sets"
_WRITTEN = re.compile(r"--([a-z][a-z0-9-]*)(=[A-Za-z0-9_.,:=+@%/*&|()\[\]!~^-]+)?")

# sbatch options that change neither the placement of ranks nor how campaign finds its jobs.
ALLOWED_DIRECTIVES = (
    "acctg-freq", "bb", "bbf", "begin", "contiguous", "core-spec", "cpu-freq", "cpus-per-task", "deadline", "exclude",
    "gres", "hint", "licenses", "mail-type", "mail-user", "mem", "mem-per-cpu", "network", "nice", "nodefile",
    "nodelist", "power", "prefer", "priority", "profile", "switches", "thread-spec", "threads-per-core", "tmp", "wckey",
)  # fmt: skip

# sbatch options that campaign sets itself or that would break the run rules, by the reason.
_REFUSED = (
    ("the launch condition sets it", "nodes ntasks ntasks-per-node ntasks-per-core ntasks-per-socket ntasks-per-gpu"),
    ("the launch condition sets it", "tasks-per-node"),
    ("campaign places ranks in blocks, as the rank offset requires", "distribution"),
    ("campaign requests whole nodes", "exclusive oversubscribe share"),
    ("a run must not be started twice", "requeue no-requeue array"),
    ("a run must end when a node is lost", "no-kill"),
    ("campaign collects the output itself", "output error open-mode chdir workdir"),
    ("campaign finds its jobs by name", "job-name"),
    ("campaign uses one cluster only", "clusters"),
    ("campaign orders its jobs itself", "dependency"),
    ("a held job never starts", "hold"),
    ("campaign sets the job's environment; use slurm.environment", "export export-file get-user-env"),
    ("campaign submits the job and reads sbatch's answer itself", "wrap parsable wait test-only help usage version"),
)
_KEYS = ("partition", "account", "qos", "constraint", "reservation", "time")  # which the campaign file has too
REFUSED_DIRECTIVES: dict[str, str] = {
    **{name: reason for reason, names in _REFUSED for name in names.split()},
    **{name: f"use slurm.{name}" for name in _KEYS},
    "time-min": "use slurm.time",
}


def _parse(text: str) -> str:
    """An extra sbatch option, unless campaign sets it or the run rules forbid it; abbreviations count as the
    full name.
    """
    match = _WRITTEN.fullmatch(text)
    if not match:
        raise ValueError(f"found {shown(text)}; allowed: {_DIRECTIVE}, without spaces and quotes")
    name = match[1]
    if name in ALLOWED_DIRECTIVES:
        return text
    refused = name if name in REFUSED_DIRECTIVES else next((o for o in REFUSED_DIRECTIVES if o.startswith(name)), None)
    if refused:
        short = "" if refused == name else f" (abbreviation of --{refused})"
        raise ValueError(f"found --{name}{short}: {REFUSED_DIRECTIVES[refused]}; allowed: {_DIRECTIVE}")
    remedy = suggestion(f"--{name}", [f"--{option}" for option in ALLOWED_DIRECTIVES])
    raise ValueError(f"found --{name}, which is not on the list of options that are safe under the run rules; {remedy}")


DIRECTIVE = Text(_DIRECTIVE, _parse)
