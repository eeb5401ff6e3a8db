"""What must hold between a pack's programs, phases and command lines. Reports to the document."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from campaign.config import messages
from campaign.config.rules import formulas, sweeps
from campaign.config.rules.kinds import PROFILES
from campaign.core.messages import KEY_MISSING
from campaign.core.regex import regex
from campaign.core.schema import entries
from campaign.core.strict_yaml import Document, Place

_BESIDE = regex(r"\{directory\}(?![/,:;@]|$)")  # a path that only begins like the attempt's own directory
_BESIDE_KEYS = {"arguments": "program", "text": "write"}  # key -> the kind of phase that has it
_OF_ONE = ("applet", "arguments", "fixed", "derived", "allowed")  # keys of a pack for one program


def check(values: dict[str, Any], document: Document) -> None:
    if values["phases"] == () and values["programs"] == ():
        for key in ("applet", "arguments"):
            if values[key] == "":
                document.problem((key,), KEY_MISSING(allowed=messages.ONE_PROGRAM()))
        _check_one(values, document)
    else:
        _check_several(values, document)
    _check_phases_of_operations(values, document)
    if any("items_per_process" in sweeps.names(text) for _, text in command_lines(values)) and values["items"]:
        for profile in PROFILES:
            if values["items"][profile] is None:
                document.problem(("items", profile), messages.ITEMS_MISSING())


def command_lines(values: dict[str, Any]) -> Iterator[tuple[Place, str]]:
    """The words after the program of each phase, and the paths that phases remove, each with its place."""
    if values["arguments"]:
        yield ("arguments",), values["arguments"]
    for index, phase in entries(values, "phases"):
        for key in ("arguments", "remove", "write", "text"):
            if phase[key]:
                yield ("phases", index, key), phase[key]


def _check_one(values: dict[str, Any], document: Document) -> None:
    if not values["arguments"]:
        return
    at = ("arguments",)
    words = formulas.words(values["arguments"])
    flags = {entry["flag"] for key in ("fixed", "derived") for _, entry in entries(values, key)}
    named = [word.partition("=")[0] if word.startswith("--") else word for word in words]  # --name=value too
    for word, count in Counter(named).items():
        if count > 1 and word in (flags | {"{flags}"}):  # two values may be the same
            document.problem(at, messages.ARGUMENT_TWICE(word=word, count=count))
    _check_words(at, words, document)
    if "{flags}" not in words:
        document.problem(at, messages.FLAGS_MISSING())
    for flag in sorted(flags - {None} - set(named)):
        document.problem(at, messages.FLAG_MISSING(flag=flag))
    for word in named:
        if word.startswith("-") and word not in flags:
            document.problem(at, messages.FLAG_NOT_LISTED(flag=word))


def _check_words(at: Place, words: list[str], document: Document) -> None:
    for word in dict.fromkeys(words):
        if "{flags}" in word and word != "{flags}":
            document.problem(at, messages.FLAGS_WITHIN_WORD(word=word))
        elif _BESIDE.search(word) or ("{directory}" in word and ".." in word.split("/")):
            document.problem(at, messages.BESIDE_DIRECTORY(word=word))


def _check_several(values: dict[str, Any], document: Document) -> None:
    for key in _OF_ONE:
        if values[key]:
            document.problem((key,), messages.KEY_OF_ONE_PROGRAM(key=key))
    for key in ("programs", "phases"):
        if values[key] == ():
            document.problem((key,), messages.PROGRAMS_AND_PHASES())
    programs = [program["id"] for _, program in entries(values, "programs") if program["id"]]
    launched = []
    for index, phase in entries(values, "phases"):
        at: Place = ("phases", index)
        kinds = [key for key in ("program", "remove", "write") if phase[key] != ""]
        beside = [key for key, owner in _BESIDE_KEYS.items() if phase[key] and owner not in kinds]
        if len(kinds) != 1 or beside:
            document.problem((*at, beside[0] if beside else "program"), messages.ONE_KIND_OF_PHASE())
        if phase["program"]:
            launched.append(phase["program"])
            document.require((*at, "program"), phase["program"], programs)
        for condition in phase["launch"] or ():
            document.require((*at, "launch"), condition, [entry["id"] for _, entry in entries(values, "launch")])
        if phase["nodes"] == "other" and not launched[:-1]:
            document.problem((*at, "nodes"), messages.NO_EARLIER_PHASE())
        words = formulas.words(phase["arguments"] or "")
        _check_words((*at, "arguments"), words, document)
        for word in words:
            if word.startswith("phase="):  # so the job's script begins a phase
                document.problem((*at, "arguments"), messages.WORD_OF_SCRIPTS(word=word))
    under = [phase["launch"] for _, phase in entries(values, "phases") if phase["program"]]
    for index, condition in entries(values, "launch"):
        if under and not any(not names or condition["id"] in names for names in under):
            document.problem(("launch", index, "id"), messages.NO_PHASE_UNDER(launch=condition["id"]))
    for index, program in entries(values, "programs"):
        if program["id"] and program["id"] not in launched and None not in (values["phases"] or (None,)):
            document.problem(("programs", index, "id"), messages.PROGRAM_UNUSED(id=program["id"]))
    has_flags = any(files["flags"] for _, files in entries(values, "files"))
    if has_flags and not any("{flags}" in text for _, text in command_lines(values)):
        document.problem(("phases",), messages.FLAGS_MISSING())


def _check_phases_of_operations(values: dict[str, Any], document: Document) -> None:
    phases = [phase["id"] for _, phase in entries(values, "phases") if phase["id"] and phase["program"]]
    for index, operation in entries(values, "operations"):
        at: Place = ("operations", index, "phase")
        if operation["record"] == "" and operation["phase"]:
            document.problem(at, messages.PHASE_WITHOUT_RECORD())
        elif operation["record"] and phases and operation["phase"] == "":
            document.problem(at, KEY_MISSING(allowed=", ".join(phases)))
        elif operation["phase"] and not phases:
            document.problem(at, messages.NO_PHASES())
        else:
            document.require(at, operation["phase"], phases)
