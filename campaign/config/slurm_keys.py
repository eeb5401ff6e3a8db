"""The section `slurm` of the campaign file: its keys, each with the sbatch option that it is and whether it decides
what is executed; the further sbatch options that a campaign file may add, and why others are refused.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from campaign.config import values
from campaign.core.keys import key, options
from campaign.core.schema import Choice, ListOf, MapOf, Number, Text, matching, suggestion
from campaign.core.strict_yaml import quoted

_DIRECTIVE = "an sbatch option as --name or --name=value, except those that campaign sets"
_WRITTEN = re.compile(r"--([a-z][a-z0-9-]*)(=[A-Za-z0-9_.,:=+@%/*&|()\[\]!~^-]+)?")

# sbatch options that change neither the number of ranks nor the node of each, by what they change.
DIRECTIVES_BY_EFFECT = (
    ("when the job starts, not what it does", "begin deadline delay-boot nice priority"),
    (
        "which nodes it gets: they are recorded, and max: all, GEO-03 and formulas count them",
        "contiguous exclude nodefile nodelist prefer sockets-per-node switches tmp",
    ),
    (
        "what it gets of its nodes, which it has for itself; less memory is planned with",
        "bb bbf core-spec gpus gpus-per-node gres licenses mem mem-per-cpu thread-spec",
    ),
    (
        "how ranks run on their nodes; srun gets them too, but for --cpus-per-task and --power",
        "cpu-freq cpus-per-task gpu-bind hint mem-bind network power threads-per-core",
    ),
    ("what is accounted, and who is notified", "acctg-freq mail-type mail-user profile wckey"),
    ("nothing: a text that the site reads, passed unchanged", "comment"),
    ("nothing before the time limit: at the signal, the job's script ends in order", "signal"),
)
ALLOWED_DIRECTIVES = tuple(sorted(name for _, names in DIRECTIVES_BY_EFFECT for name in names.split()))
# Those of them that srun takes too, and that hold for the ranks only if it has them.
OF_STEPS = frozenset(
    {"acctg-freq", "cpu-freq", "gpu-bind", "hint", "mem-bind", "network", "profile", "threads-per-core"}
)

# sbatch options that campaign sets itself or that would break the run rules, by the reason.
_REFUSED = (
    ("the launch condition sets it", "nodes ntasks ntasks-per-node ntasks-per-socket ntasks-per-gpu"),
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
    ("use slurm.time", "time time-min"),
    ("campaign submits the job and reads sbatch's answer itself", "wrap parsable wait test-only help usage version"),
)


def _parse(text: str) -> str:
    """An extra sbatch option, unless campaign sets it or the run rules forbid it; abbreviations count as the
    full name.
    """
    match = _WRITTEN.fullmatch(text)
    if not match:
        raise ValueError(f"found {quoted(text)}; allowed: {_DIRECTIVE}, without spaces and quotes")
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
_SLURM_NAME = matching(r"[A-Za-z0-9][A-Za-z0-9_.,@:+/-]*", "letters, digits and _.,@:+/-", longest=100)


@dataclass(frozen=True, slots=True)
class Slurm:
    partition: str = key(
        _SLURM_NAME, "partition", "", says_default="the cluster's default", option="partition", decides=True
    )
    account: str = key(_SLURM_NAME, "account", "", says_default="the user's default", option="account")
    qos: str = key(_SLURM_NAME, "quality of service", "", says_default="the account's default", option="qos")
    constraint: str = key(
        matching(r"[A-Za-z0-9_.,&|*()\[\]!:=+-]+", "features joined by & and |"),
        "node features",
        "",
        option="constraint",
        decides=True,
    )
    reservation: str = key(_SLURM_NAME, "reservation", "", option="reservation")
    time_s: int = key(
        values.TIME,
        "time limit of one run; a job with several runs gets the sum",
        3600,
        name="time",
        says_default="1h",
    )
    mpi: str = key(matching(r"[a-z][a-z0-9_.]*", "a plugin of `srun --mpi=list`"), "MPI plugin", "pmix", decides=True)
    gres: tuple[str, ...] = key(
        ListOf(matching(values.GRES, "a kind and a number, such as gpu:4")),
        "generic resources of each node for which jobs ask (`--gres`), such as `[gpu:4]`; that of a launch condition "
        "replaces those of its kind",
    )
    processes_per_core: int | None = key(
        Number(1, 8),
        "the most processes on a core: more than one where its hardware threads are to run separate processes; "
        "`max: all`, shares of the cores and the rules then count these threads",
        says_default="1",
        option="ntasks-per-core",
    )
    modules: tuple[str, ...] = key(
        ListOf(matching(r"[A-Za-z0-9][A-Za-z0-9_.+@:=/-]*", "a module's name: letters, digits and _.+@:=/-")),
        "environment modules loaded by each job",
        decides=True,
    )
    directives: tuple[str, ...] = key(ListOf(DIRECTIVE), "further sbatch options for each job")  # as "--name=value"
    environment: tuple[tuple[str, str], ...] = key(
        MapOf(values.VARIABLE, values.VALUE), "variables that each job exports; shown in the report", decides=True
    )
    allocation: str = key(
        Choice(("run", "geometry", "one")),
        "runs per job: one run, all runs of one geometry, or all runs of a target",
        "geometry",
    )
    node_memory: int | None = key(  # bytes; None: as Slurm says, where the pack computes with it
        values.SIZE,
        "memory of a node, for packs that compute sizes from it; compared with what the jobs record",
        says_default="RealMemory of the smallest usable node",
    )
    template: Path | None = key(
        values.FILE,
        "a job template that replaces the built-in one; relative to the campaign file's directory",
        decides=True,
    )
    node_cores: int | None = None  # as Slurm says, where the pack computes with them; not of the file


REFUSED_DIRECTIVES: dict[str, str] = {
    **{name: reason for reason, names in _REFUSED for name in names.split()},
    **{option: f"use slurm.{field}" for option, field in options(Slurm).items()},
}
