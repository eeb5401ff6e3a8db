"""What must hold between the values of a campaign file, and between them and the rule pack, each with its problem."""

from __future__ import annotations

import fnmatch
from pathlib import Path
from typing import Any

from campaign.config import messages
from campaign.config.rules.pack import RulePack
from campaign.config.values import BUILTIN, beside, is_there
from campaign.core import units
from campaign.core.messages import Message
from campaign.core.schema import entries, suggestion
from campaign.core.strict_yaml import Document, Place, shown


def targets(values: dict[str, Any], document: Document) -> None:
    given = entries(values, "targets")
    for position, (index, target) in enumerate(given):
        name, directory = target["name"], target["directory"]
        for _, earlier in given[:position]:
            if name and earlier["name"] and name.lower() == earlier["name"].lower():
                problem = messages.TARGET_NAMES_DIFFER_IN_CASE(name=name, other=earlier["name"])
                document.problem(("targets", index, "name"), problem)
            other = earlier["directory"]
            if directory and other and overlap(directory, other):
                at: Place = ("targets", index, "directory")
                values_of = {"directory": shown(directory), "other": earlier["name"]}
                if directory == other:
                    document.problem(at, messages.TARGET_TWICE(**values_of))
                else:
                    document.problem(at, messages.TARGET_WITHIN(**values_of, other_directory=shown(other)))


def items(values: dict[str, Any], pack: RulePack, document: Document) -> None:
    total, profile = values["items_total"], values["profile"]
    if total is None or profile is None:
        return
    full = pack.items_total.get("full")
    if full is None:
        document.problem(("items_total",), messages.NO_ITEMS(total=total, pack=pack.id))
    elif profile == "full":
        fixed = {"full": units.format_count(full), "unit": pack.items_unit, "clause": pack.items_clause}
        document.problem(("items_total",), messages.ITEMS_FIXED(total=total, **fixed))
    elif total > full:
        document.problem(("items_total",), messages.ITEMS_TOO_MANY(total=total, full=full))


def programs(values: dict[str, Any], pack: RulePack, document: Document) -> None:
    """Which programs of the pack are named, and that the key is the pack's kind."""
    benchmark = values["benchmark"] or {}
    given = benchmark.get("programs") or ()
    names = [program.id for program in pack.programs]
    if pack.phases[0].id and benchmark.get("executable") not in (BUILTIN, None):
        document.problem(("benchmark", "executable"), messages.SEVERAL_PROGRAMS(pack=pack.id, names=", ".join(names)))
    for name, _ in given:
        if not pack.phases[0].id:
            document.problem(("benchmark", "programs", name), messages.ONE_EXECUTABLE(pack=pack.id))
        else:
            document.require(("benchmark", "programs", name), name, names)
    for name, _ in (values["source"] or {}).get("builds") or ():
        document.require(("source", "builds", name), name, names)


def arguments(values: dict[str, Any], pack: RulePack, document: Document) -> None:
    """Further words are of the flags that the pack allows: in a pack of several programs, those of each."""
    benchmark = values["benchmark"] or {}
    given: list[tuple[Place, tuple[str, ...], RulePack]] = []
    if words := benchmark.get("extra_arguments"):
        given.append((("extra_arguments",), words, pack))
    for name, words in benchmark.get("program_arguments") or ():
        at: Place = ("program_arguments", name)
        if not pack.phases[0].id:
            document.problem(("benchmark", *at), messages.EXTRA_OF_ONE(pack=pack.id))
        elif name in [program.id for program in pack.programs]:
            given.append((at, words or (), pack.of_program(name)))
        else:
            document.require(("benchmark", *at), name, [program.id for program in pack.programs])
    for at, words, own in given:
        if pack.phases[0].id and at == ("extra_arguments",):
            names = ", ".join(program.id for program in pack.programs)
            document.problem(("benchmark", *at), messages.EXTRA_OF_SEVERAL(pack=pack.id, names=names))
        elif None not in words:
            for index, message in _refused(words, own):
                document.problem(("benchmark", *at, index), message)


def _refused(words: tuple[str, ...], pack: RulePack) -> list[tuple[int, str]]:
    """The words of a command line that may not be added to the pack's, by position, each with the reason.

    Short flags may be bundled (`-vF`) and carry their value (`-N4`), as getopt takes them.
    """
    allowed = {flag.flag: flag.value for flag in pack.allowed}
    clauses = pack.flag_clauses()
    of_pack = {flag.flag: flag.value for flag in (*pack.fixed, *pack.derived)}
    listed = ", ".join(allowed) or "none"
    problems: list[tuple[int, str]] = []
    value_of = ""  # the flag whose value comes next
    for index, word in enumerate(words):
        if value_of:
            value_of = ""
            continue
        if not word.startswith("-") or word in ("-", "--"):
            problems.append((index, messages.NOT_A_FLAG(word=shown(word), allowed=listed)))
            continue
        name, equals, _ = word.partition("=")
        rest = "" if word.startswith("--") else word[1:]
        flags = [name] if word.startswith("--") else []
        takes_value = not equals and word.startswith("--") and (allowed | of_pack).get(name, False)
        while rest:
            flag, rest = f"-{rest[0]}", rest[1:]
            flags.append(flag)
            if (allowed | of_pack).get(flag, False):
                takes_value = not rest
                break
            if flag not in allowed and flag not in clauses:
                break
        for flag in flags:
            about = {"flag": flag, "word": shown(word), "allowed": listed}
            if flag in clauses:
                problems.append((index, messages.FLAG_OF_THE_RULES(**about, clause=clauses[flag])))
            elif flag not in allowed:
                problems.append((index, messages.FLAG_NOT_ALLOWED(**about, document=pack.document)))
        value_of = flags[-1] if takes_value else ""
    if value_of in allowed:
        problems.append((len(words) - 1, messages.FLAG_WITHOUT_VALUE(flag=value_of)))
    return problems


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
                about = {"cells": shown(entry["cells"]), "axis": axis, "name": pattern}
                problem = messages.NO_SUCH_CELL(**about, remedy=suggestion(pattern, names))
                document.problem((section, index, "cells"), problem)


def is_of_runs(pattern: str, values: dict[str, Any], pack: RulePack) -> bool:
    """Whether target/launch/files with * for any means some run."""
    axes = (names_of_targets(values), [each.id for each in pack.launch], [each.id for each in pack.files])
    parts = pattern.split("/")
    return len(parts) == len(axes) and all(map(fnmatch.filter, axes, parts))


def path(
    at: Place, written: str | None, file: Path, document: Document, missing: Message = messages.FILE_NOT_FOUND
) -> None:
    """Report a given path that does not exist."""
    if written and not is_there(beside(file, written)):
        document.problem(at, missing(path=shown(written)))


def most(section: str, values: dict[str, Any], document: Document) -> None:
    """`most` is not below `least`."""
    least, most = values["least"], values["most"]
    if least and most and most < least:
        document.problem((section, "most"), messages.MOST_BELOW_LEAST(most=most, least=least))


def counters(values: dict[str, Any], pack: RulePack, file: Path, document: Document) -> None:
    operations = [operation.id for operation in pack.operations]
    for index, entry in entries(values, "server_counters"):
        document.require(("server_counters", index, "operation"), entry["operation"], operations)
        path(("server_counters", index, "log"), entry["log"], file, document)


def answers(values: dict[str, Any], pack: RulePack, document: Document) -> None:
    for section in ("explanations", "waivers"):
        for index, entry in entries(values, section):
            if entry["rule"] and entry["rule"] not in pack.checks:
                problem = messages.RULE_NOT_IN_PACK(rule=entry["rule"], pack=pack.id)
                document.problem((section, index, "rule"), problem)
    for index, entry in entries(values, "waivers"):
        day, last = entry["date"], entry["expires"]
        if day and last and last < day:
            document.problem(("waivers", index, "expires"), messages.WAIVER_EXPIRES_FIRST(expires=last, date=day))
        if entry["signature"] and not values["allowed_signers"]:
            document.problem(("waivers", index, "signature"), messages.WAIVER_WITHOUT_SIGNERS())


def names_of_targets(values: dict[str, Any]) -> list[str]:
    return [target["name"] for _, target in entries(values, "targets") if target["name"]]


def overlap(first: str, second: str) -> bool:
    """Whether two paths are the same, or one is below the other."""
    return f"{first}/".startswith(f"{second}/") or f"{second}/".startswith(f"{first}/")
