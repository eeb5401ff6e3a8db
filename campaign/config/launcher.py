"""The campaign file's `launcher`: what starts the ranks, with which options, and the words before the benchmark.

campaign places the ranks itself. A campaign file may choose the launcher, bind the ranks, and put words before the
benchmark's program, as far as the rule pack allows.
"""

from __future__ import annotations

import re
from pathlib import Path

from campaign.config.rules.kinds import GEOMETRY
from campaign.config.rules.pack import RulePack
from campaign.config.rules.sweeps import names
from campaign.config.values import beside
from campaign.core.model import Launcher
from campaign.core.schema import Field, KeyedMap, ListOf, Text, Values, matching, suggestion, whole
from campaign.core.strict_yaml import shown

WRAPPER = "wrapper"  # a pack's word for any script before the benchmark
# mpirun's options for so many ranks per node, placed in blocks: Open MPI's, PRRTE's.
_OPEN_MPI = ("-n", "{processes}", "--map-by", "ppr:{processes_per_node}:node")
PLACEMENTS = dict.fromkeys(("mpirun", "mpiexec", "orterun", "prterun"), _OPEN_MPI)
# Options of srun that change neither the number of ranks nor the node of each rank.
SRUN_OPTIONS = (
    "accel-bind", "cpu-bind", "cpu-freq", "cpus-per-gpu", "cpus-per-task", "distribution", "exact", "extra-node-info",
    "gpu-bind", "gpu-freq", "gpus", "gpus-per-node", "gpus-per-task", "gres", "gres-flags", "hint", "mem", "mem-bind",
    "mem-per-cpu", "mem-per-gpu", "network", "overcommit", "propagate", "resv-ports", "threads-per-core",
    "tres-per-task", "wait",
)  # fmt: skip
_BLOCKS = re.compile(r"--distribution=block(?:[:,].*)?")  # what follows places ranks within a node
# mpirun's options for the number of ranks and their nodes.
_OF_PLACEMENT = re.compile(
    r"-{1,2}(?:n|np|c|N|ppn|npernode|npersocket|ppr|map-by|rank-by|bynode|byslot|bycore|host|hosts|hostfile|machinefile|f|H"
    r"|rankfile|rf|pernode|perhost|oversubscribe|nooversubscribe|default-hostfile|configfile|app)(?:=.*)?"
)
_WORD = "printable characters without line breaks"
_ARGUMENT = Text(_WORD, whole(r"[^\x00-\x1f\x7f]+", _WORD), numbers=True, longest=500)
SCHEMA = KeyedMap(
    program=Field(
        matching(r"[A-Za-z0-9_./+-]+", "a program's name or absolute path"),
        "what starts the ranks: `srun`, or `mpirun`, `mpiexec` or another within the job",
        default="srun",
    ),
    options=Field(ListOf(_ARGUMENT, most=50), "its further options, such as `--cpu-bind=cores`"),
    placement=Field(
        ListOf(_ARGUMENT, most=20),
        "its options for the number and placement of ranks, with `{processes}`, `{nodes}` and `{processes_per_node}`",
        default_says="srun's, or Open MPI's",
    ),
    prefix=Field(
        ListOf(_ARGUMENT, most=50),
        "words before the benchmark's program: `[numactl, --interleave=all]`, a container, a wrapper script; a word "
        "that begins with `./` or `../` is relative to the campaign file's directory",
    ),
)


def read(given: Values, path: Path, pack: RulePack | None) -> Launcher:
    """The section's values; those that do not fit are reported."""
    program = given["program"] or "srun"
    options, placement, prefix = (tuple(given[key] or ()) for key in ("options", "placement", "prefix"))
    if None in (*options, *placement, *prefix):  # reported already
        return Launcher()
    name = program.rpartition("/")[2]
    if name != program and not program.startswith("/"):
        given.problem(f"found {shown(program)}; allowed: a program's name, or an absolute path", "program")
    elif name == "srun":
        _check_srun(given, options)
    else:
        placement = placement or PLACEMENTS.get(name, ())
        _check_other(given, name, options, placement)
    if prefix and prefix[0].startswith("-"):
        given.problem(
            f"found {shown(prefix[0])}; allowed as first word: a program, such as numactl or ./wrapper.sh", "prefix", 0
        )
    if pack is not None:
        _check_allowed(given, pack, name, options, prefix)
    located = tuple(str(beside(path, word)) if word.startswith(("./", "../")) else word for word in prefix)
    return Launcher(program, options, placement, located)


def _check_srun(given: Values, options: tuple[str, ...]) -> None:
    if given["placement"]:
        given.problem("not allowed with srun: campaign sets srun's placement options itself; remove it", "placement")
    allowed = [f"--{name}" for name in SRUN_OPTIONS]
    for index, word in enumerate(options):
        option = word.partition("=")[0]
        if not re.fullmatch(r"--[a-z][a-z-]*(=.+)?", word) or option not in allowed:
            given.problem(
                f"found {shown(word)}; options of srun are taken from a fixed list and written as --name=value; "
                f"{suggestion(option, allowed)}",
                "options",
                index,
            )
        elif option == "--distribution" and not _BLOCKS.fullmatch(word):
            given.problem(
                f"found {shown(word)}; ranks must be placed in blocks on the nodes; allowed: block, also with a "
                "placement within the node, such as --distribution=block:cyclic",
                "options",
                index,
            )


def _check_other(given: Values, name: str, options: tuple[str, ...], placement: tuple[str, ...]) -> None:
    if "processes" not in names(" ".join(placement)):
        given.problem(
            f"the placement options of {name} are unknown; give them with {{processes}} and {{processes_per_node}}, "
            "such as [-n, '{processes}', -ppn, '{processes_per_node}']",
            "placement",
        )
    for word in placement:
        if unknown := [place for place in names(word) if place not in GEOMETRY]:
            known = ", ".join(f"{{{place}}}" for place in GEOMETRY)
            given.problem(f"found {{{unknown[0]}}}; allowed: {known}", "placement")
    for index, word in enumerate(options):
        if _OF_PLACEMENT.fullmatch(word):
            given.problem(
                f"found {shown(word)}, which sets the number or the placement of ranks; move it to "
                "launcher.placement, with {processes} and {processes_per_node}",
                "options",
                index,
            )


def _check_allowed(
    given: Values, pack: RulePack, program: str, options: tuple[str, ...], prefix: tuple[str, ...]
) -> None:
    """Report what the pack does not allow."""
    if program != "srun" and any(phase.nodes == "other" or phase.beside for phase in pack.phases):
        given.problem(
            f"found {program}; rule pack {pack.id} runs a phase on other nodes than an earlier phase; allowed: srun",
            "program",
        )
    if not pack.launchers:
        return
    allowed = {launcher.program: launcher.options for launcher in pack.launchers}
    listed, known = ", ".join(allowed), allowed.get(program, ())
    if program != "srun" and program not in allowed:
        given.problem(f"found {program}; allowed by {pack.document}: {listed}", "program")
    else:
        for index, word in enumerate(options):
            if word.startswith("-") and word.partition("=")[0] not in known:
                given.problem(
                    f"found {shown(word)}; options of {program} allowed by {pack.document}: "
                    f"{', '.join(known) or 'none'}",
                    "options",
                    index,
                )
    if prefix:
        name = WRAPPER if prefix[0].startswith(("./", "../", "/")) else prefix[0]
        if name not in allowed and prefix[0].rpartition("/")[2] not in allowed:
            given.problem(f"found {prefix[0]}; allowed by {pack.document}: {listed}", "prefix", 0)
