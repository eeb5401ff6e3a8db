"""The campaign file's `launcher`: what starts the ranks, with which options, and the words before the benchmark.

campaign places the ranks itself. A campaign file may choose the launcher, bind the ranks, and put words before the
benchmark's program, as far as the rule pack allows.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from campaign.config.rules.kinds import GEOMETRY
from campaign.config.rules.pack import RulePack
from campaign.config.rules.sweeps import names
from campaign.config.values import absolute_path
from campaign.core.runs import Launcher
from campaign.core.schema import Field, KeyedMap, ListOf, Text, Values, full_match, matching, suggestion
from campaign.core.strict_yaml import quoted

WRAPPER = "wrapper"  # a pack's word for any script before the benchmark
# mpirun's options for so many ranks per node, placed in blocks: Open MPI's, PRRTE's.
_OPEN_MPI = ("-n", "{processes}", "--map-by", "ppr:{processes_per_node}:node")
PLACEMENTS = dict.fromkeys(("mpirun", "mpiexec", "orterun", "prterun"), _OPEN_MPI)
# Options of srun that change neither the number of ranks nor the node of each, by what they change.
OPTIONS_BY_EFFECT = (
    (
        "processors and memory of each rank; the command line is in the job's script and in the report",
        "cpu-bind cpu-freq cpus-per-task distribution exact extra-node-info hint mem mem-bind mem-per-cpu"
        " ntasks-per-core overcommit threads-per-core tres-per-task",
    ),
    (
        "devices of each rank",
        "accel-bind cpus-per-gpu gpu-bind gpu-freq gpus gpus-per-node gpus-per-task gres gres-flags mem-per-gpu",
    ),
    ("how the step begins and ends", "external-launcher network overlap propagate resv-ports wait"),
    ("how its output is written: with --label, the ranks' numbers are removed where it is read", "label unbuffered"),
)
SRUN_OPTIONS = tuple(sorted(name for _, names in OPTIONS_BY_EFFECT for name in names.split()))
# Those of plugins that start the ranks in an image: Pyxis, CSCS's uenv and container engine. They place no rank either.
IMAGE_OPTIONS = (
    "container-env", "container-image", "container-mount-home", "container-mounts", "container-readonly",
    "container-remap-root", "container-writable", "environment", "no-container-entrypoint", "no-container-mount-home",
    "no-container-remap-root", "uenv", "view",
)  # fmt: skip
_BLOCKS = re.compile(r"--distribution=block(?:[:,].*)?")  # what follows places ranks within a node
# mpirun's options for the number of ranks and their nodes.
_OF_PLACEMENT = re.compile(
    r"-{1,2}(?:n|np|c|N|ppn|npernode|npersocket|ppr|map-by|rank-by|bynode|byslot|bycore|host|hosts|hostfile|machinefile|f|H"
    r"|rankfile|rf|pernode|perhost|oversubscribe|nooversubscribe|default-hostfile|configfile|app)(?:=.*)?"
)
_WORD = "printable characters without line breaks"
_ARGUMENT = Text(_WORD, full_match(r"[^\x00-\x1f\x7f]+", _WORD), numbers=True, longest=500)
OPTIONS = ListOf(_ARGUMENT, most=50)
SCHEMA = KeyedMap(
    program=Field(
        matching(r"[A-Za-z0-9_./+-]+", "a program's name or absolute path"),
        "what starts the ranks: `srun`, or `mpirun`, `mpiexec` or another within the job",
        default="srun",
    ),
    options=Field(OPTIONS, "its further options, such as `--cpu-bind=cores`"),
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
    image=Field(
        _ARGUMENT,
        "the container image that has the benchmark's programs: a path or a reference that `prefix` or `options` name; "
        "the programs' paths are those inside it",
    ),
)


def read(section: Values, path: Path, pack: RulePack | None) -> Launcher:
    """The section's values; those that do not fit are reported."""
    program = section["program"] or "srun"
    options, placement, prefix = (tuple(section[key] or ()) for key in ("options", "placement", "prefix"))
    if None in (*options, *placement, *prefix):  # reported already
        return Launcher()
    name = program.rpartition("/")[2]
    if name != program and not program.startswith("/"):
        section.problem(f"found {quoted(program)}; allowed: a program's name, or an absolute path", "program")
    elif name == "srun":
        _check_srun(section, options)
    else:
        placement = placement or PLACEMENTS.get(name, ())
        _check_other(section, name, options, placement)
    if prefix and prefix[0].startswith("-"):
        section.problem(
            f"found {quoted(prefix[0])}; allowed as first word: a program, such as numactl or ./wrapper.sh", "prefix", 0
        )
    if pack is not None:
        _check_allowed(section, pack, name, options, prefix)
    located = tuple(_located(path, word) for word in prefix)
    image = _located(path, section["image"] or "")
    if image and not any(image in word for word in (*located, *options)):
        section.problem(
            f"found {quoted(image)}, which neither launcher.prefix nor launcher.options name; name it there too, as in "
            f"'prefix: [apptainer, exec, {image}]' or 'options: [--container-image={image}]'",
            "image",
        )
    return Launcher(program, options, placement, located, image)


def _located(path: Path, word: str) -> str:
    """A word of the command line; one that begins with `./` or `../` is relative to the campaign file's directory."""
    return str(absolute_path(path, word)) if word.startswith(("./", "../")) else word


def read_launch_options(launch: Iterable[tuple[str, Any]], launcher: Launcher, pack: RulePack) -> Launcher:
    """The launcher with the options of its own that launch conditions have; those that do not fit are reported."""
    by_launch = []
    for condition, geometry in launch:
        options = tuple(geometry["options"] or ()) if isinstance(geometry, Values) else ()
        if options and None not in options:
            name = launcher.program.rpartition("/")[2]
            _check_srun_options(geometry, options) if launcher.is_srun else _check_other_options(geometry, options)
            _check_allowed(geometry, pack, name, options, ())
            by_launch.append((condition, options))
    return replace(launcher, by_launch=tuple(by_launch))


def _check_srun(section: Values, options: tuple[str, ...]) -> None:
    if section["placement"]:
        section.problem("not allowed with srun: campaign sets srun's placement options itself; remove it", "placement")
    _check_srun_options(section, options)


def _check_srun_options(section: Values, options: tuple[str, ...]) -> None:
    allowed = [f"--{name}" for name in (*SRUN_OPTIONS, *IMAGE_OPTIONS)]
    for index, word in enumerate(options):
        option = word.partition("=")[0]
        if not re.fullmatch(r"--[a-z][a-z-]*(=.+)?", word) or option not in allowed:
            section.problem(
                f"found {quoted(word)}; options of srun are taken from a fixed list and written as --name=value; "
                f"{suggestion(option, allowed)}",
                "options",
                index,
            )
        elif option == "--distribution" and not _BLOCKS.fullmatch(word):
            section.problem(
                f"found {quoted(word)}; ranks must be placed in blocks on the nodes; allowed: block, also with a "
                "placement within the node, such as --distribution=block:cyclic",
                "options",
                index,
            )


def _check_other(section: Values, name: str, options: tuple[str, ...], placement: tuple[str, ...]) -> None:
    if "processes" not in names(" ".join(placement)):
        section.problem(
            f"the placement options of {name} are unknown; give them with {{processes}} and {{processes_per_node}}, "
            "such as [-n, '{processes}', -ppn, '{processes_per_node}']",
            "placement",
        )
    for word in placement:
        if unknown := [place for place in names(word) if place not in GEOMETRY]:
            placeholders = ", ".join(f"{{{place}}}" for place in GEOMETRY)
            section.problem(f"found {{{unknown[0]}}}; allowed: {placeholders}", "placement")
    _check_other_options(section, options)


def _check_other_options(section: Values, options: tuple[str, ...]) -> None:
    for index, word in enumerate(options):
        if _OF_PLACEMENT.fullmatch(word):
            section.problem(
                f"found {quoted(word)}, which sets the number or the placement of ranks; move it to "
                "launcher.placement, with {processes} and {processes_per_node}",
                "options",
                index,
            )


def _check_allowed(
    section: Values, pack: RulePack, program: str, options: tuple[str, ...], prefix: tuple[str, ...]
) -> None:
    """Report what the pack does not allow."""
    if program != "srun" and any(phase.nodes == "other" or phase.beside or phase.copies for phase in pack.phases):
        section.problem(
            f"found {program}; rule pack {pack.id} runs a phase on other nodes than an earlier phase, or copies of "
            "one; allowed: srun",
            "program",
        )
    if not pack.launchers:
        return
    allowed = {launcher.program: launcher.options for launcher in pack.launchers}
    listed, options_of_program = ", ".join(allowed), allowed.get(program, ())
    if program != "srun" and program not in allowed:
        section.problem(f"found {program}; allowed by {pack.document}: {listed}", "program")
    else:
        for index, word in enumerate(options):
            if word.startswith("-") and word.partition("=")[0] not in options_of_program:
                section.problem(
                    f"found {quoted(word)}; options of {program} allowed by {pack.document}: "
                    f"{', '.join(options_of_program) or 'none'}",
                    "options",
                    index,
                )
    if prefix:
        name = WRAPPER if prefix[0].startswith(("./", "../", "/")) else prefix[0]
        if name not in allowed and prefix[0].rpartition("/")[2] not in allowed:
            section.problem(f"found {prefix[0]}; allowed by {pack.document}: {listed}", "prefix", 0)
