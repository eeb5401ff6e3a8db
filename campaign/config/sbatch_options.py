"""The sbatch options that a campaign file may add to its jobs, and why it may not add others."""

from __future__ import annotations

from campaign.config import messages
from campaign.core.regex import regex
from campaign.core.schema import Text, suggestion
from campaign.core.strict_yaml import shown

_DIRECTIVE = "an sbatch option as --name or --name=value, except those that campaign sets"
_WRITTEN = regex(r"--([a-z][a-z0-9-]*)(=[A-Za-z0-9_.,:=+@%/*&|()\[\]!~^-]+)?")

# sbatch options that change neither the placement of ranks nor how campaign finds its jobs.
ALLOWED_DIRECTIVES = (
    "acctg-freq", "bb", "bbf", "begin", "contiguous", "core-spec", "cpu-freq", "cpus-per-task", "deadline", "exclude",
    "gres", "hint", "licenses", "mail-type", "mail-user", "mem", "mem-per-cpu", "network", "nice", "nodefile",
    "nodelist", "power", "prefer", "priority", "profile", "switches", "thread-spec", "threads-per-core", "tmp", "wckey",
)  # fmt: skip

# sbatch options that campaign sets itself or that would break the run rules, by the reason.
_REFUSED = (
    (messages.OPTION_OF_LAUNCH, "nodes ntasks ntasks-per-node ntasks-per-core ntasks-per-socket ntasks-per-gpu"),
    (messages.OPTION_OF_LAUNCH, "tasks-per-node"),
    (messages.OPTION_OF_PLACEMENT, "distribution"),
    (messages.OPTION_OF_WHOLE_NODES, "exclusive oversubscribe share"),
    (messages.OPTION_OF_REPETITION, "requeue no-requeue array"),
    (messages.OPTION_OF_LOST_NODES, "no-kill"),
    (messages.OPTION_OF_OUTPUT, "output error open-mode chdir workdir"),
    (messages.OPTION_OF_NAME, "job-name"),
    (messages.OPTION_OF_CLUSTERS, "clusters"),
    (messages.OPTION_OF_ORDER, "dependency"),
    (messages.OPTION_OF_HOLD, "hold"),
    (messages.OPTION_OF_ENVIRONMENT, "export export-file get-user-env"),
    (messages.OPTION_OF_SUBMISSION, "wrap parsable wait test-only help usage version"),
)
# Those that have a key of their own in the campaign file.
_KEYS = {name: name for name in ("partition", "account", "qos", "constraint", "reservation", "time")} | {
    "time-min": "time"
}
REFUSED_DIRECTIVES: dict[str, str] = {
    **{name: reason() for reason, names in _REFUSED for name in names.split()},
    **{name: messages.OPTION_WITH_KEY(key=key) for name, key in _KEYS.items()},
}


def _parse(text: str) -> str:
    """An extra sbatch option, unless campaign sets it or the run rules forbid it; abbreviations count as the whole."""
    match = _WRITTEN.fullmatch(text)
    if not match:
        raise ValueError(messages.DIRECTIVE_FORM(found=shown(text), allowed=_DIRECTIVE))
    name = match[1]
    if name in ALLOWED_DIRECTIVES:
        return text
    refused = name if name in REFUSED_DIRECTIVES else next((o for o in REFUSED_DIRECTIVES if o.startswith(name)), None)
    if refused:
        about = {"option": f"--{name}", "reason": REFUSED_DIRECTIVES[refused], "allowed": _DIRECTIVE}
        if refused != name:
            raise ValueError(messages.DIRECTIVE_ABBREVIATED(**about, whole=f"--{refused}"))
        raise ValueError(messages.DIRECTIVE_REFUSED(**about))
    remedy = suggestion(f"--{name}", [f"--{option}" for option in ALLOWED_DIRECTIVES])
    raise ValueError(messages.DIRECTIVE_UNKNOWN(option=f"--{name}", remedy=remedy))


DIRECTIVE = Text(_DIRECTIVE, _parse)
