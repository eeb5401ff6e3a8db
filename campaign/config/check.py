"""What must hold between the values of a campaign file, and between them and the rule pack, each with its problem."""

from __future__ import annotations

import fnmatch
from pathlib import Path
from typing import Any

from campaign.config.rules.load import RulePack
from campaign.config.values import beside, is_there
from campaign.core import units
from campaign.core.schema import entries
from campaign.core.strict_yaml import Document, Place, shown


def targets(values: dict[str, Any], document: Document) -> None:
    apart = "allowed: directories outside of one another"
    given = entries(values, "targets")
    for position, (index, target) in enumerate(given):
        name, directory = target["name"], target["directory"]
        for _, earlier in given[:position]:
            if name and earlier["name"] and name.lower() == earlier["name"].lower():
                what = f"found {name}, and {earlier['name']} before; allowed: names that differ in more than case"
                document.problem(("targets", index, "name"), what)
            other = earlier["directory"]
            if directory and other and overlap(directory, other):
                how = "which is" if directory == other else "which shares files with"
                what = f"found {shown(directory)}, {how} {shown(other)} of target {earlier['name']}"
                document.problem(("targets", index, "directory"), f"{what}; {apart}")


def items(values: dict[str, Any], pack: RulePack, document: Document) -> None:
    total, profile = values["items_total"], values["profile"]
    if total is None or profile is None:
        return
    full = pack.items_total.get("full")
    if full is None:
        document.problem(("items_total",), f"found {total}, but {pack.id} counts no items; allowed: no such key")
    elif profile == "full":
        asked = f"{units.format_count(full)} {pack.items_unit} (clause {pack.items_clause})"
        what = f"found {total} with profile full, which is {asked}; allowed: only with profile rehearsal"
        document.problem(("items_total",), what)
    elif total > full:
        document.problem(("items_total",), f"found {total}; allowed: up to {full}, the full size")


def arguments(values: dict[str, Any], pack: RulePack, document: Document) -> None:
    words = (values["benchmark"] or {}).get("extra_arguments") or ()
    if None not in words:
        for index, message in _refused(words, pack):
            document.problem(("benchmark", "extra_arguments", index), message)


def _refused(words: tuple[str, ...], pack: RulePack) -> list[tuple[int, str]]:
    """The words of a command line that may not be added to the pack's, by position, each with the reason.

    Short flags may be bundled (`-vF`) and carry their value (`-N4`), as getopt takes them.
    """
    allowed = {flag.flag: flag.value for flag in pack.allowed}
    clauses = pack.flag_clauses()
    own = {flag.flag: flag.value for flag in (*pack.fixed, *pack.derived)}
    listed = f"allowed: {', '.join(allowed) or 'none'}"
    problems = []
    value_of = ""  # the flag whose value comes next
    for index, word in enumerate(words):
        if value_of:
            value_of = ""
            continue
        if not word.startswith("-") or word in ("-", "--"):
            problems.append((index, f"found {shown(word)}, which is no flag; {listed}"))
            continue
        name, equals, _ = word.partition("=")
        rest = "" if word.startswith("--") else word[1:]
        flags = [name] if word.startswith("--") else []
        takes_value = not equals and word.startswith("--") and (allowed | own).get(name, False)
        while rest:
            flag, rest = f"-{rest[0]}", rest[1:]
            flags.append(flag)
            if (allowed | own).get(flag, False):
                takes_value = not rest
                break
            if flag not in allowed and flag not in clauses:
                break
        for flag in flags:
            if flag in clauses:
                problems.append(
                    (index, f"found {flag} in {shown(word)}, which the rules set (clause {clauses[flag]}); {listed}")
                )
            elif flag not in allowed:
                problems.append((index, f"found {flag} in {shown(word)}; {listed} ({pack.document})"))
        value_of = flags[-1] if takes_value else ""
    if value_of in allowed:
        problems.append((len(words) - 1, f"found {value_of} without a value"))
    return problems


def cells(section: str, values: dict[str, Any], pack: RulePack, document: Document) -> None:
    axes = [
        names_of_targets(values),
        [condition.id for condition in pack.launch],
        [files.id for files in pack.files],
        [operation.id for operation in pack.operations],
    ]
    for index, entry in entries(values, section):
        if not entry["cells"]:
            continue
        for axis, pattern in zip(axes, entry["cells"].split("/"), strict=True):
            if not fnmatch.filter(axis, pattern):
                what = f"found {shown(entry['cells'])}, which is no cell: {pattern} is none of {', '.join(axis)}"
                document.problem((section, index, "cells"), what)


def path(at: Place, written: str | None, file: Path, document: Document, allowed: str = "its path") -> None:
    """Report a path, where there is one, that leads to no file."""
    if written and not is_there(beside(file, written)):
        document.problem(at, f"found {shown(written)}, which is no file; allowed: {allowed}")


def most(section: str, values: dict[str, Any], document: Document) -> None:
    """`most` is not below `least`."""
    least, most = values["least"], values["most"]
    if least and most and most < least:
        document.problem((section, "most"), f"found {most}, and {least} for least; allowed: {least} or more")


def counters(values: dict[str, Any], pack: RulePack, file: Path, document: Document) -> None:
    operations = [operation.id for operation in pack.operations]
    for index, entry in entries(values, "server_counters"):
        if entry["operation"] and entry["operation"] not in operations:
            what = f"found {shown(entry['operation'])}; allowed: {', '.join(operations)}"
            document.problem(("server_counters", index, "operation"), what)
        path(("server_counters", index, "log"), entry["log"], file, document)


def answers(values: dict[str, Any], pack: RulePack, document: Document) -> None:
    for section in ("explanations", "waivers"):
        for index, entry in entries(values, section):
            document.require((section, index, "rule"), entry["rule"], pack.checks, f"a rule that {pack.id} lists")
    for index, entry in entries(values, "waivers"):
        day, last = entry["date"], entry["expires"]
        if day and last and last < day:
            document.problem(("waivers", index, "expires"), f"found {last}; allowed: {day}, its date, or later")
        if entry["signature"] and not values["allowed_signers"]:
            what = "found a signature; allowed: with allowed_signers, who may sign"
            document.problem(("waivers", index, "signature"), what)


def names_of_targets(values: dict[str, Any]) -> list[str]:
    return [target["name"] for _, target in entries(values, "targets") if target["name"]]


def overlap(first: str, second: str) -> bool:
    """Whether two paths are the same, or one is below the other."""
    return f"{first}/".startswith(f"{second}/") or f"{second}/".startswith(f"{first}/")
