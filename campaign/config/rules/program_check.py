"""Conditions between a pack's programs, phases and command lines, each with its message."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from campaign.config.rules import formulas, sweeps
from campaign.config.rules.kinds import PLACES, PROFILES
from campaign.core.schema import Values
from campaign.core.strict_yaml import Place

_BESIDE = re.compile(r"\{directory\}(?![/,:;@]|$)")  # a path that only begins with the attempt's own directory
_BESIDE_KEYS = {
    "arguments": "program",
    "text": "write",
    "input": "write",
    "raw": "write",
    "beside": "program",
}  # key -> the kind of phase that may have it
_OF_ONE = ("applet", "arguments", "fixed", "derived", "allowed")  # keys of a pack with one program
_FLAGS_MISSING = "{flags} is missing; allowed: the placeholder of the file configuration's flags once"
NO_PHASES = "found `phase` in a pack without `phases`; remove it"


def check(pack: Values) -> None:
    if pack["phases"] == () and pack["programs"] == ():
        for key in ("applet", "arguments"):
            if pack[key] == "":
                pack.problem(
                    "required key missing; allowed: a program and its command line; or `programs` and `phases`", key
                )
        if pack["arguments"]:
            _check_one(pack, formulas.words(pack["arguments"]))
    else:
        _check_several(pack)
    _check_phases_of_operations(pack)
    if any("items_per_process" in sweeps.names(text) for _, text in command_lines(pack)) and pack["items"]:
        for profile in PROFILES:
            if pack["items"][profile] is None:
                pack["items"].problem(
                    "required key missing; allowed: a number, since arguments has {items_per_process}", profile
                )


def ids(pack: Values, key: str) -> list[str]:
    return [entry["id"] for entry in pack.entries(key) if entry["id"]]


def sizes(pack: Values) -> list[str]:
    """The variables that are numbers or sizes."""
    given = ((entry["id"], [entry[profile] for profile in PROFILES]) for entry in pack.entries("variables"))
    return [name for name, texts in given if all(text and formulas.is_number(text) for text in texts)]


def command_lines(pack: Values) -> Iterator[tuple[Place, str]]:
    """The texts of phases that may have placeholders, each with its place: words after the program, and the paths and
    contents of files.
    """
    if pack["arguments"]:
        yield ("arguments",), pack["arguments"]
    for index, phase in enumerate(pack["phases"] or ()):
        for key in ("arguments", "remove", "write", "text") if phase else ():
            if phase[key] and not (key == "text" and phase["raw"]):
                yield ("phases", index, key), phase[key]


def counts(phase: Values) -> Iterator[tuple[str, str]]:
    """The formulas of a phase's own counts, each with its key."""
    yield from ((key, phase[key]) for key in ("nodes", "processes") if phase[key] not in ("", None, *PLACES))


def _check_one(pack: Values, words: list[str]) -> None:
    flags = {entry["flag"] for key in ("fixed", "derived") for entry in pack.entries(key)}
    named = [word.partition("=")[0] if word.startswith("--") else word for word in words]  # --name=value too
    for word, count in Counter(named).items():
        if count > 1 and word in (flags | {"{flags}"}):  # two values may be equal
            pack.problem(f"found {word} {count} times; allowed: once", "arguments")
    _check_words(pack, words)
    if "{flags}" not in words:
        pack.problem(_FLAGS_MISSING, "arguments")
    for flag in sorted(flags - {None} - set(named)):
        pack.problem(f"{flag} is missing; allowed: all fixed and derived flags", "arguments")
    for word in named:
        if word.startswith("-") and word not in flags:
            pack.problem(f"found {word}; allowed: flags that fixed or derived lists, and {{flags}}", "arguments")


def _check_words(holder: Values, words: list[str]) -> None:
    for word in dict.fromkeys(words):
        if "{flags}" in word and word != "{flags}":
            holder.problem(f"found {word}; allowed: {{flags}} as a separate word", "arguments")
        elif _BESIDE.search(word) or ("{directory}" in word and ".." in word.split("/")):
            holder.problem(
                f"found {word}, a path outside the attempt's directory, where nothing is checked or removed; allowed: "
                "paths in it, such as {directory}/file",
                "arguments",
            )


def _check_several(pack: Values) -> None:
    for key in _OF_ONE:
        if pack[key]:
            pack.problem(
                f"found `{key}` in a pack with phases; move it into an entry of `programs` or `phases`, or remove it",
                key,
            )
    for key in ("programs", "phases"):
        if pack[key] == ():
            pack.problem("required key missing; a pack has both `programs` and `phases`, or neither", key)
    programs = ids(pack, "programs")
    conditions = [condition["id"] for condition in pack.entries("launch")]
    launched: list[str] = []
    for phase in pack.entries("phases"):
        _check_phase(phase, programs, conditions)
        phase.require(phase["input"], ids(pack, "inputs"), "input")
        if phase["nodes"] == "other" and not launched:
            phase.problem("found other; no earlier phase ran on the job's first nodes", "nodes")
        launched += [phase["program"]] if phase["program"] else []
    _check_together(list(pack.entries("phases")))
    under = [phase["launch"] for phase in pack.entries("phases") if phase["program"]]
    for condition in pack.entries("launch"):
        if under and not any(not names or condition["id"] in names for names in under):
            condition.problem(
                f"no phase runs under {condition['id']}; add it to the `launch` of a phase, or remove it", "id"
            )
    for program in pack.entries("programs"):
        if program["id"] and program["id"] not in launched and None not in (pack["phases"] or (None,)):
            program.problem(f"no phase runs {program['id']}; use or remove it", "id")
    has_flags = any(files["flags"] for files in pack.entries("files"))
    if has_flags and not any("{flags}" in text for _, text in command_lines(pack)):
        pack.problem(_FLAGS_MISSING, "phases")


def _check_phase(phase: Values, programs: list[str], conditions: list[str]) -> None:
    kinds = [key for key in ("program", "remove", "write") if phase[key] != ""]
    beside = [key for key, owner in _BESIDE_KEYS.items() if phase[key] and owner not in kinds]
    own = dict(counts(phase))
    beside += [] if "program" in kinds else [*own]
    if len(kinds) != 1 or beside:
        phase.problem(
            "a phase has one of `program` with `arguments`, `remove`, and `write` with `text`",
            beside[0] if beside else "program",
        )
    phase.require(phase["program"], programs, "program")
    if phase["input"] and phase["text"]:
        phase.problem("found `text` beside `input`; remove one of them", "text")
    for condition in phase["launch"] or ():
        phase.require(condition, conditions, "launch")
    words = formulas.words(phase["arguments"] or "")
    _check_words(phase, words)
    if own and any("items_" in word for word in words):
        phase.problem(
            f"found {next(iter(own))} of the phase's own and items in its command line, which are divided among the "
            "launch condition's processes; use a variable",
            "arguments",
        )
    for word in words:
        if word.startswith(("phase=", "beside=")):  # that is how the job's script begins a phase
            phase.problem(f"found {word}; allowed: words that do not begin with phase= or beside=", "arguments")


def _check_together(phases: Sequence[Values]) -> None:
    """Phases that start together: next to each other, under the same launch conditions, each on nodes of its own."""
    first: Values | None = None
    for phase in phases:
        if phase["beside"] == "":
            first = phase if phase["program"] else None
        elif first is None or phase["beside"] != first["id"]:
            phase.problem(
                f"found {phase['beside']}; allowed: the phase with a program before it, or of several that start "
                "together the first one",
                "beside",
            )
        elif phase["launch"] != first["launch"]:
            phase.problem(
                f"it starts together with {first['id']}, which has another `launch`; give both the same", "launch"
            )
        elif phase["nodes"] == "same" or (first["nodes"] == "same" and phase["nodes"] != "other"):
            phase.problem(
                f"it starts together with {first['id']}, on nodes of its own; allowed: a number or a formula such as "
                "`nodes / 2` for both, or `other` for this one",
                "nodes",
            )


def _check_phases_of_operations(pack: Values) -> None:
    phases = [phase["id"] for phase in pack.entries("phases") if phase["id"] and phase["program"]]
    for operation in pack.entries("operations"):
        if operation["record"] == "" and operation["phase"]:
            operation.problem("found `phase` without `record`; a formula belongs to no phase; remove it", "phase")
        elif operation["record"] and phases and operation["phase"] == "":
            operation.problem(f"required key missing; allowed: {', '.join(phases)}", "phase")
        elif operation["phase"] and not phases:
            operation.problem(NO_PHASES, "phase")
        else:
            operation.require(operation["phase"], phases, "phase")
