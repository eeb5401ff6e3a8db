"""The programs of a rule pack, and the phases of one execution, which run one after another in one directory.

A pack with one program has one phase without a name; several phases have names, and each gives its own results.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from campaign.config.rules import formulas, output_format
from campaign.config.rules.kinds import PLACES
from campaign.core import keys
from campaign.core.runs import BRACE

OUTPUTS = Path(__file__).with_name("outputs")


@cache
def built_in_format(applet: str) -> output_format.OutputFormat:
    """How the output of one of the project's own programs is read: outputs/NAME.yaml, with the keys of a pack's
    `results`. `applet` is one of BUILT_IN.
    """
    return replace(keys.load(output_format.OutputFormat, OUTPUTS / f"{applet}.yaml"), applet=applet)


@dataclass(frozen=True, slots=True)
class Flag:
    """A flag of the allowed list, or one that must not be omitted."""

    flag: str
    value: bool  # takes a value
    clause: str
    why: str = ""
    lengthens: bool = False  # an allowed flag that makes a phase longer
    builds: tuple[str, ...] = ()  # the categories of builds in which a flag is allowed; all where empty


@dataclass(frozen=True, slots=True)
class Program:
    """`applet`: the program of the built-in benchmark, or any other, with `results`."""

    id: str
    applet: str
    results: output_format.OutputFormat | None = None  # None: the applet's own
    starts: tuple[str, ...] = ()  # names of the system's programs that it starts itself

    @property
    def output(self) -> output_format.OutputFormat:
        """How its output is read: as the pack says, or as it is described for the built-in program."""
        return self.results or built_in_format(self.applet)

    @property
    def last_line(self) -> str:
        """The pattern of the line with which its stdout is complete; "" where none is known."""
        return self.output.end if self.output.stream != "stderr" else ""


@dataclass(frozen=True, slots=True)
class Phase:
    """One launch of a program, or a file to write or to remove before the next; `id` is "" if it is the only phase."""

    id: str
    program: str  # "" if none is launched
    arguments: tuple[str, ...]  # words with placeholders; without a program: a path, and a text
    clause: str = ""
    nodes: str = "same"  # same | other: nodes that no earlier phase used | a formula: so many of the first nodes
    processes: str = ""  # a formula; "": as many on each node as the launch condition has
    launch: tuple[str, ...] = ()  # the launch conditions under which it runs; all where empty
    beside: str = ""  # the earlier phase with which it starts together
    copies: str = ""  # how many of it start together: a formula or `fill`; "": it runs once
    has_input: bool = False  # the text is the path of an input file, which is copied
    fixed: tuple[Flag, ...] = ()  # must be in the executed argv
    derived: tuple[Flag, ...] = ()  # set by campaign from the geometry; never given by hand
    allowed: tuple[Flag, ...] = ()  # may be added through benchmark.extra_arguments

    @property
    def has_counts(self) -> bool:
        """Whether it has a node count or a process count of its own."""
        return self.nodes not in PLACES or bool(self.processes)

    def runs_under(self, launch: str) -> bool:
        return not self.launch or launch in self.launch


def programs_and_phases(values: dict[str, Any]) -> tuple[tuple[Program, ...], tuple[Phase, ...]]:
    """The programs and phases of a pack's values, from which their keys are removed. Flags of the pack are those of its
    only program.
    """
    del values["applet"], values["arguments"]
    results, fixed, derived, allowed = (values.pop(key) for key in ("results", "fixed", "derived", "allowed"))
    optional = {entry["id"]: (*allowed, *entry["allowed"]) for entry in values["programs"]}
    return (
        tuple(_read_program(entry, results) for entry in values.pop("programs")),
        tuple(_read_phase(entry, fixed, derived, optional.get(entry["program"], ())) for entry in values.pop("phases")),
    )


def _read_program(entry: dict[str, Any], shared_results: output_format.OutputFormat) -> Program:
    applet = entry["applet"] or entry["id"]
    results = shared_results if output_format.is_shared(applet, entry["results"].format) else entry["results"]
    return Program(entry["id"], applet, replace(results, applet=applet) if results.format else None, entry["starts"])


def flag_of(word: str) -> str:
    """The name of the flag that a word is, without its value; another word as it is."""
    return word.partition("=")[0] if word.startswith("--") else word


def _read_phase(
    entry: dict[str, Any], fixed: tuple[Flag, ...], derived: tuple[Flag, ...], allowed: tuple[Flag, ...]
) -> Phase:
    """`fixed`: flags with a clause of their own. All others on the command line are mandatory too, but for derived."""
    words = tuple(formulas.words(entry["remove"] or entry["arguments"]))
    if entry["write"]:
        words = (entry["write"], entry["text"].replace("{", BRACE) if entry["raw"] else entry["text"])
    if entry["input"]:
        words = (entry["write"], f"{{{entry['input']}}}")
    listed = [flag.flag for flag in (*fixed, *derived)]
    mandatory_names = dict.fromkeys(name for name in map(flag_of, words) if name.startswith("-") and name not in listed)
    return Phase(
        entry["id"],
        entry["program"],
        words,
        entry["clause"],
        entry["nodes"],
        entry["processes"],
        entry["launch"],
        entry["beside"],
        entry["copies"],
        has_input=bool(entry["input"]),
        fixed=(*fixed, *(Flag(name, False, entry["clause"]) for name in mandatory_names)),
        derived=derived,
        allowed=allowed,
    )
