"""Conditions between a pack's programs, phases and command lines. Problems are reported to the document."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

from campaign.config.rules import formulas, sweeps
from campaign.config.rules.kinds import PROFILES
from campaign.core.schema import entries
from campaign.core.strict_yaml import Document, Place

_BESIDE = re.compile(r"\{directory\}(?![/,:;@]|$)")  # a path that only begins with the attempt's own directory
_BESIDE_KEYS = {"arguments": "program", "text": "write"}  # key -> the kind of phase that may have it
_OF_ONE = ("applet", "arguments", "fixed", "derived", "allowed")  # keys of a pack with one program


def check(values: dict[str, Any], document: Document) -> None:
    if values["phases"] == () and values["programs"] == ():
        for key in ("applet", "arguments"):
            if values[key] == "":
                document.problem(
                    (key,), "required key missing; allowed: a program and its command line; or `programs` and `phases`"
                )
        _check_one(values, document)
    else:
        _check_several(values, document)
    _check_phases_of_operations(values, document)
    if any("items_per_process" in sweeps.names(text) for _, text in command_lines(values)) and values["items"]:
        for profile in PROFILES:
            if values["items"][profile] is None:
                document.problem(
                    ("items", profile),
                    "required key missing; allowed: a number, since arguments has {items_per_process}",
                )


def command_lines(values: dict[str, Any]) -> Iterator[tuple[Place, str]]:
    """The words after the program of each phase, and the paths that phases remove, each with its place."""
    if values["arguments"]:
        yield ("arguments",), values["arguments"]
    for index, phase in entries(values, "phases"):
        for key in ("arguments", "remove", "write", "text"):
            if phase[key]:
                yield ("phases", index, key), phase[key]


_FLAGS_MISSING = "{flags} is missing; allowed: the placeholder of the file configuration's flags once"


def _check_one(values: dict[str, Any], document: Document) -> None:
    if not values["arguments"]:
        return
    at = ("arguments",)
    words = formulas.words(values["arguments"])
    flags = {entry["flag"] for key in ("fixed", "derived") for _, entry in entries(values, key)}
    named = [word.partition("=")[0] if word.startswith("--") else word for word in words]  # --name=value too
    for word, count in Counter(named).items():
        if count > 1 and word in (flags | {"{flags}"}):  # two values may be equal
            document.problem(at, f"found {word} {count} times; allowed: once")
    _check_words(at, words, document)
    if "{flags}" not in words:
        document.problem(at, _FLAGS_MISSING)
    for flag in sorted(flags - {None} - set(named)):
        document.problem(at, f"{flag} is missing; allowed: all fixed and derived flags")
    for word in named:
        if word.startswith("-") and word not in flags:
            document.problem(at, f"found {word}; allowed: flags that fixed or derived lists, and {{flags}}")


def _check_words(at: Place, words: list[str], document: Document) -> None:
    for word in dict.fromkeys(words):
        if "{flags}" in word and word != "{flags}":
            document.problem(at, f"found {word}; allowed: {{flags}} as a separate word")
        elif _BESIDE.search(word) or ("{directory}" in word and ".." in word.split("/")):
            document.problem(
                at,
                f"found {word}, a path outside the attempt's directory, where nothing is checked or removed; allowed: "
                "paths in it, such as {directory}/file",
            )


def _check_several(values: dict[str, Any], document: Document) -> None:
    for key in _OF_ONE:
        if values[key]:
            document.problem(
                (key,),
                f"found `{key}` in a pack with phases; move it into an entry of `programs` or `phases`, or remove it",
            )
    for key in ("programs", "phases"):
        if values[key] == ():
            document.problem((key,), "required key missing; a pack has both `programs` and `phases`, or neither")
    programs = [program["id"] for _, program in entries(values, "programs") if program["id"]]
    launched = []
    for index, phase in entries(values, "phases"):
        at: Place = ("phases", index)
        kinds = [key for key in ("program", "remove", "write") if phase[key] != ""]
        beside = [key for key, owner in _BESIDE_KEYS.items() if phase[key] and owner not in kinds]
        if len(kinds) != 1 or beside:
            document.problem(
                (*at, beside[0] if beside else "program"),
                "a phase has one of `program` with `arguments`, `remove`, and `write` with `text`",
            )
        if phase["program"]:
            launched.append(phase["program"])
            document.require((*at, "program"), phase["program"], programs)
        for condition in phase["launch"] or ():
            document.require((*at, "launch"), condition, [entry["id"] for _, entry in entries(values, "launch")])
        if phase["nodes"] == "other" and not launched[:-1]:
            document.problem((*at, "nodes"), "found other; no earlier phase ran on the job's first nodes")
        words = formulas.words(phase["arguments"] or "")
        _check_words((*at, "arguments"), words, document)
        for word in words:
            if word.startswith("phase="):  # that is how the job's script begins a phase
                document.problem((*at, "arguments"), f"found {word}; allowed: words that do not begin with phase=")
    under = [phase["launch"] for _, phase in entries(values, "phases") if phase["program"]]
    for index, condition in entries(values, "launch"):
        if under and not any(not names or condition["id"] in names for names in under):
            document.problem(
                ("launch", index, "id"),
                f"no phase runs under {condition['id']}; add it to the `launch` of a phase, or remove it",
            )
    for index, program in entries(values, "programs"):
        if program["id"] and program["id"] not in launched and None not in (values["phases"] or (None,)):
            document.problem(("programs", index, "id"), f"no phase runs {program['id']}; use or remove it")
    has_flags = any(files["flags"] for _, files in entries(values, "files"))
    if has_flags and not any("{flags}" in text for _, text in command_lines(values)):
        document.problem(("phases",), _FLAGS_MISSING)


NO_PHASES = "found `phase` in a pack without `phases`; remove it"


def _check_phases_of_operations(values: dict[str, Any], document: Document) -> None:
    phases = [phase["id"] for _, phase in entries(values, "phases") if phase["id"] and phase["program"]]
    for index, operation in entries(values, "operations"):
        at: Place = ("operations", index, "phase")
        if operation["record"] == "" and operation["phase"]:
            document.problem(at, "found `phase` without `record`; a formula belongs to no phase; remove it")
        elif operation["record"] and phases and operation["phase"] == "":
            document.problem(at, f"required key missing; allowed: {', '.join(phases)}")
        elif operation["phase"] and not phases:
            document.problem(at, NO_PHASES)
        else:
            document.require(at, operation["phase"], phases)
