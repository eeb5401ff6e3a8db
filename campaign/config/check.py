"""What must hold between the values of a campaign file, and between them and the rule pack, each with its problem."""

from __future__ import annotations

import fnmatch
from pathlib import Path
from typing import Any

from campaign.config.rules.load import RulePack
from campaign.config.values import beside, is_there
from campaign.core import units
from campaign.core.strict_yaml import Document, Place, shown


def check_targets(values: dict[str, Any], document: Document) -> None:
    targets = [(index, target) for index, target in enumerate(values["targets"] or ()) if target is not None]
    for position, (index, target) in enumerate(targets):
        name, directory = target["name"], target["directory"]
        for _, earlier in targets[:position]:
            if name and earlier["name"] and name.lower() == earlier["name"].lower():
                document.problem(
                    ("targets", index, "name"),
                    f"found {name}, and {earlier['name']} before; allowed: names that differ in more than case",
                )
            other = earlier["directory"]
            if directory and other and (within(directory, other) or within(other, directory)):
                how = "which is" if directory == other else "which shares files with"
                document.problem(
                    ("targets", index, "directory"),
                    f"found {shown(directory)}, {how} {shown(other)} of target {earlier['name']}; "
                    "allowed: directories outside of one another",
                )


def check_items(values: dict[str, Any], pack: RulePack, document: Document) -> None:
    total, profile = values["items_total"], values["profile"]
    if total is None or profile is None:
        return
    full = pack.items_total.get("full")
    if full is None:
        document.problem(("items_total",), f"found {total}, but {pack.id} counts no items; allowed: no such key")
    elif profile == "full":
        document.problem(
            ("items_total",),
            f"found {total} with profile full, which is {units.format_count(full)} {pack.items_unit} "
            f"(clause {pack.items_clause}); allowed: only with profile rehearsal",
        )
    elif total > full:
        document.problem(("items_total",), f"found {total}; allowed: up to {full}, the full size")


def check_arguments(values: dict[str, Any], pack: RulePack, document: Document) -> None:
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


def check_cells(section: str, values: dict[str, Any], pack: RulePack, document: Document) -> None:
    axes = [
        [target["name"] for target in values["targets"] or () if target and target["name"]],
        [condition.id for condition in pack.launch],
        [files.id for files in pack.files],
        [operation.id for operation in pack.operations],
    ]
    for index, entry in enumerate(values[section] or ()):
        if not entry or not entry["cells"]:
            continue
        for axis, pattern in zip(axes, entry["cells"].split("/"), strict=True):
            if not any(fnmatch.fnmatchcase(name, pattern) for name in axis):
                document.problem(
                    (section, index, "cells"),
                    f"found {shown(entry['cells'])}, which is no cell: {pattern} is none of {', '.join(axis)}",
                )


def check_counters(values: dict[str, Any], pack: RulePack, file: Path, document: Document) -> None:
    operations = [operation.id for operation in pack.operations]
    for index, entry in enumerate(values["server_counters"] or ()):
        if entry and entry["operation"] and entry["operation"] not in operations:
            place: Place = ("server_counters", index, "operation")
            document.problem(place, f"found {shown(entry['operation'])}; allowed: {', '.join(operations)}")
        if entry and entry["log"] and not is_there(beside(file, entry["log"])):
            document.problem(
                ("server_counters", index, "log"), f"found {shown(entry['log'])}, which is no file; allowed: its path"
            )


def check_answers(values: dict[str, Any], pack: RulePack, document: Document) -> None:
    for section in ("explanations", "waivers"):
        for index, entry in enumerate(values[section] or ()):
            if entry and entry["rule"] and entry["rule"] not in pack.checks:
                document.problem(
                    (section, index, "rule"), f"found {entry['rule']}; allowed: a rule that {pack.id} lists"
                )
    for index, entry in enumerate(values["waivers"] or ()):
        if entry and entry["date"] and entry["expires"] and entry["expires"] < entry["date"]:
            document.problem(
                ("waivers", index, "expires"), f"found {entry['expires']}; allowed: {entry['date']}, its date, or later"
            )
        if entry and entry["signature"] and not values["allowed_signers"]:
            document.problem(
                ("waivers", index, "signature"), "found a signature; allowed: with allowed_signers, who may sign"
            )


def within(inner: str, outer: str) -> bool:
    """Whether one path is the other or below it."""
    return f"{inner}/".startswith(f"{outer}/")
