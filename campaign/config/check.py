"""Conditions between the values of a campaign file, and between them and the rule pack, each with its message."""

from __future__ import annotations

import fnmatch
import itertools
from collections.abc import Collection
from pathlib import Path
from typing import Any

from campaign.config.rules.pack import RulePack
from campaign.config.values import BUILTIN, beside, is_there
from campaign.core import units
from campaign.core.schema import entries, suggestion
from campaign.core.strict_yaml import Document, Place, shown


def targets(values: dict[str, Any], document: Document) -> None:
    for (_, earlier), (index, target) in itertools.combinations(entries(values, "targets"), 2):
        name, directory, other = target["name"], target["directory"], earlier["directory"]
        if name and earlier["name"] and name.lower() == earlier["name"].lower():
            problem = (
                f"found {name}, but target {earlier['name']} exists; allowed: names that differ in more than upper "
                "and lower case"
            )
            document.problem(("targets", index, "name"), problem)
        if directory and other and overlap(directory, other):
            where = "the directory" if directory == other else f"which overlaps {shown(other)}"
            problem = (
                f"found {shown(directory)}, {where} of target {earlier['name']}; allowed: directories that do not "
                "contain each other"
            )
            document.problem(("targets", index, "directory"), problem)


def items(values: dict[str, Any], pack: RulePack, document: Document) -> None:
    total, profile = values["items_total"], values["profile"]
    if total is None or profile is None:
        return
    full = pack.items_total.get("full")
    if full is None:
        document.problem(("items_total",), f"found {total}, but rule pack {pack.id} has no item count; remove the key")
    elif profile == "full":
        document.problem(
            ("items_total",),
            f"found {total}, but profile full fixes {units.format_count(full)} {pack.items_unit} (clause "
            f"{pack.items_clause}); remove the key or set profile: rehearsal",
        )
    elif total > full:
        document.problem(("items_total",), f"found {total}; allowed: up to {full}, the full size")


def programs(values: dict[str, Any], pack: RulePack, document: Document) -> None:
    """Check that the named programs are in the pack, and that the keys fit the kind of pack."""
    benchmark, names = values["benchmark"] or {}, [program.id for program in pack.programs]
    several = bool(pack.phases[0].id)
    if several and benchmark.get("executable") not in (BUILTIN, None):
        document.problem(
            ("benchmark", "executable"),
            f"rule pack {pack.id} has several programs; give their paths under benchmark.programs: {', '.join(names)}",
        )
    in_place = {
        "programs": "give its path under benchmark.executable",
        "program_arguments": "use benchmark.extra_arguments",
    }
    for key, remedy in in_place.items():
        for name, _ in benchmark.get(key) or ():
            if several:
                document.require(("benchmark", key, name), name, names)
            else:
                document.problem(("benchmark", key, name), f"rule pack {pack.id} has one program; {remedy}")
    for name, _ in (values["source"] or {}).get("builds") or ():
        document.require(("source", "builds", name), name, names)


def arguments(values: dict[str, Any], pack: RulePack, document: Document) -> None:
    """Check that further words are flags that the pack allows; in a pack with several programs, those of each."""
    benchmark, names = values["benchmark"] or {}, [program.id for program in pack.programs]
    given: dict[Place, tuple[Any, RulePack]] = {
        ("benchmark", "extra_arguments"): (benchmark.get("extra_arguments"), pack)
    }
    if pack.phases[0].id:
        if benchmark.get("extra_arguments"):
            document.problem(
                ("benchmark", "extra_arguments"),
                f"rule pack {pack.id} has several programs ({', '.join(names)}); give the words of each under "
                "benchmark.program_arguments",
            )
        given = {
            ("benchmark", "program_arguments", name): (words, pack.of_program(name))
            for name, words in benchmark.get("program_arguments") or ()
            if name in names
        }
    for at, (words, own) in given.items():
        if words and None not in words:
            _check_words(at, words, own, document)


def _check_words(at: Place, words: tuple[str, ...], pack: RulePack, document: Document) -> None:
    """Report the words that must not be added to the pack's command line."""
    allowed, clauses = [flag.flag for flag in pack.allowed], pack.flag_clauses()
    valued = {flag.flag for flag in (*pack.allowed, *pack.fixed, *pack.derived) if flag.value}
    listed = ", ".join(allowed) or "none"
    value_of = ""  # the flag whose value comes next
    for index, word in enumerate(words):
        place = (*at, index)
        if value_of:
            value_of = ""
            continue
        if not word.startswith("-") or word in ("-", "--"):
            document.problem(place, f"found {shown(word)}, which is not a flag; allowed: {listed}")
            continue
        flags, value_of = _flags_of(word, {*allowed, *clauses}, valued)
        for flag in flags:
            if flag in clauses:
                document.problem(
                    place,
                    f"found {flag} in {shown(word)}, which the run rules set (clause {clauses[flag]}); "
                    f"allowed: {listed}",
                )
            elif flag not in allowed:
                document.problem(place, f"found {flag} in {shown(word)}; allowed: {listed} ({pack.document})")
    if value_of in allowed:
        document.problem((*at, len(words) - 1), f"found {value_of} without its value; add it")


def _flags_of(word: str, known: Collection[str], valued: Collection[str]) -> tuple[list[str], str]:
    """The flags in a word, and the one whose value is the next word. Short flags may be bundled (`-vF`) and carry their
    value (`-N4`), as in getopt.
    """
    if word.startswith("--"):
        name, equals, _ = word.partition("=")
        return [name], name if name in valued and not equals else ""
    flags: list[str] = []
    for place, letter in enumerate(word[1:], 2):
        flags.append(f"-{letter}")
        if flags[-1] in valued:
            return flags, flags[-1] if place == len(word) else ""
        if flags[-1] not in known:
            break
    return flags, ""


def cells(section: str, values: dict[str, Any], pack: RulePack, document: Document) -> None:
    axes = {
        "target": names_of_targets(values),
        "launch condition": [condition.id for condition in pack.launch],
        "file configuration": [files.id for files in pack.files],
        "operation": [operation.id for operation in pack.operations],
    }
    for index, entry in entries(values, section):
        if not entry["cells"]:
            continue
        for (axis, names), pattern in zip(axes.items(), entry["cells"].split("/"), strict=True):
            if not fnmatch.filter(names, pattern):
                problem = f"found {shown(entry['cells'])}: no {axis} {pattern}; {suggestion(pattern, names)}"
                document.problem((section, index, "cells"), problem)


def is_of_runs(pattern: str, values: dict[str, Any], pack: RulePack) -> bool:
    """Whether target/launch/files, with * for any of them, matches a run."""
    axes = (names_of_targets(values), [each.id for each in pack.launch], [each.id for each in pack.files])
    parts = pattern.split("/")
    return len(parts) == len(axes) and all(map(fnmatch.filter, axes, parts))


def path(at: Place, written: str | None, file: Path, document: Document, optional: bool = False) -> None:
    """Report a given path that does not exist."""
    if written and not is_there(beside(file, written)):
        remedy = "correct the path or remove the key" if optional else "correct the path"
        document.problem(at, f"found {shown(written)}: file not found; {remedy}")


def most(section: str, values: dict[str, Any], document: Document) -> None:
    """Report a `most` that is below `least`."""
    least, most = values["least"], values["most"]
    if least and most and most < least:
        document.problem((section, "most"), f"found {most}, but least is {least}; allowed: {least} or more")


def counters(values: dict[str, Any], pack: RulePack, file: Path, document: Document) -> None:
    operations = [operation.id for operation in pack.operations]
    for index, entry in entries(values, "server_counters"):
        document.require(("server_counters", index, "operation"), entry["operation"], operations)
        path(("server_counters", index, "log"), entry["log"], file, document)


def answers(values: dict[str, Any], pack: RulePack, document: Document) -> None:
    for section in ("explanations", "waivers"):
        for index, entry in entries(values, section):
            if entry["rule"] and entry["rule"] not in pack.checks:
                problem = f"found {entry['rule']}, which is not in rule pack {pack.id}; see 'campaign rules {pack.id}'"
                document.problem((section, index, "rule"), problem)
    for index, entry in entries(values, "waivers"):
        day, last = entry["date"], entry["expires"]
        if day and last and last < day:
            document.problem(
                ("waivers", index, "expires"), f"found {last}, which is before its date {day}; allowed: {day} or later"
            )
        if entry["signature"] and not values["allowed_signers"]:
            document.problem(
                ("waivers", index, "signature"),
                "found a signature, but allowed_signers is missing; add the file of the buyer's keys",
            )


def names_of_targets(values: dict[str, Any]) -> list[str]:
    return [target["name"] for _, target in entries(values, "targets") if target["name"]]


def overlap(first: str, second: str) -> bool:
    """Whether two paths are the same, or one is below the other."""
    return f"{first}/".startswith(f"{second}/") or f"{second}/".startswith(f"{first}/")
