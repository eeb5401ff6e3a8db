"""The sbatch options that a campaign file may add to its jobs, and why it may not add others."""

from __future__ import annotations

import re

from campaign.core.strict_yaml import shown

DIRECTIVE = "--name or --name=value, an sbatch option that campaign does not set itself"
_DIRECTIVE = re.compile(r"--([a-z][a-z0-9-]*)(=[A-Za-z0-9_.,:=+@%/*&|()\[\]!~^-]+)?")

_FROM_LAUNCH = "it follows from the launch condition"
_WHOLE = "campaign asks for whole nodes"
_ONCE = "a run must not be started twice"
_OUTPUT = "campaign collects the output itself"
_NAMED = "campaign finds its jobs by name"
_SUBMIT = "campaign submits the job and reads sbatch's answer itself"
_ENVIRONMENT = "campaign sets the job's environment; use slurm.environment"
_LIMIT = "use slurm.time"

# sbatch options that change neither the placement of ranks nor how campaign finds its jobs.
ALLOWED_DIRECTIVES = (
    "acctg-freq", "bb", "bbf", "begin", "contiguous", "core-spec", "cpu-freq", "cpus-per-task", "deadline", "exclude",
    "gres", "hint", "licenses", "mail-type", "mail-user", "mem", "mem-per-cpu", "network", "nice", "nodefile",
    "nodelist", "power", "prefer", "priority", "profile", "switches", "thread-spec", "threads-per-core", "tmp", "wckey",
)  # fmt: skip

# sbatch options that campaign sets itself or that would break the run rules, with the reason.
REFUSED_DIRECTIVES = {
    "nodes": _FROM_LAUNCH,
    "ntasks": _FROM_LAUNCH,
    "ntasks-per-node": _FROM_LAUNCH,
    "ntasks-per-core": _FROM_LAUNCH,
    "ntasks-per-socket": _FROM_LAUNCH,
    "ntasks-per-gpu": _FROM_LAUNCH,
    "tasks-per-node": _FROM_LAUNCH,
    "distribution": "campaign places ranks in blocks, which the rank offset relies on",
    "exclusive": _WHOLE,
    "oversubscribe": _WHOLE,
    "share": _WHOLE,
    "requeue": _ONCE,
    "no-requeue": _ONCE,
    "array": _ONCE,
    "no-kill": "a run ends where a node is lost",
    "output": _OUTPUT,
    "error": _OUTPUT,
    "open-mode": _OUTPUT,
    "chdir": _OUTPUT,
    "workdir": _OUTPUT,
    "job-name": _NAMED,
    "clusters": "campaign asks one cluster only",
    "dependency": "campaign orders its jobs itself",
    "hold": "a held job never starts",
    "export": _ENVIRONMENT,
    "export-file": _ENVIRONMENT,
    "get-user-env": _ENVIRONMENT,
    "wrap": _SUBMIT,
    "parsable": _SUBMIT,
    "wait": _SUBMIT,
    "test-only": _SUBMIT,
    "help": _SUBMIT,
    "usage": _SUBMIT,
    "version": _SUBMIT,
    "time": _LIMIT,
    "time-min": _LIMIT,
    "partition": "use slurm.partition",
    "account": "use slurm.account",
    "qos": "use slurm.qos",
    "constraint": "use slurm.constraint",
    "reservation": "use slurm.reservation",
}


def parse_directive(text: str) -> str:
    """An extra sbatch option, unless campaign sets it or the run rules forbid it; abbreviations count as the whole."""
    match = _DIRECTIVE.fullmatch(text)
    if not match:
        raise ValueError(f"found {shown(text)}; allowed: {DIRECTIVE}, without spaces and quotes")
    name = match[1]
    if name in ALLOWED_DIRECTIVES:
        return text
    refused = name if name in REFUSED_DIRECTIVES else next((o for o in REFUSED_DIRECTIVES if o.startswith(name)), None)
    if refused:
        short = f", which may stand for --{refused}" if refused != name else ""
        raise ValueError(f"found --{name}{short}: {REFUSED_DIRECTIVES[refused]}; allowed: {DIRECTIVE}")
    allowed = ", ".join(f"--{option}" for option in ALLOWED_DIRECTIVES)
    raise ValueError(f"found --{name}, which is not known to leave the run rules alone; allowed: {allowed}")
