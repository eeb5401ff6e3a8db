"""Conditions between the values of a campaign file, and between them and the rule pack, each with its message."""

from __future__ import annotations

import fnmatch
import itertools
from collections.abc import Collection
from pathlib import Path

from campaign.config import resolution
from campaign.config.rules.pack import RulePack
from campaign.config.values import BUILTIN, absolute_path
from campaign.core import units
from campaign.core.runs import matches
from campaign.core.schema import Values, suggestion
from campaign.core.strict_yaml import is_file, quoted


def targets(values: Values) -> None:
    for earlier, target in itertools.combinations(values.entries("targets"), 2):
        name, directory, other = target["name"], target["directory"], earlier["directory"]
        if name and earlier["name"] and name.lower() == earlier["name"].lower():
            target.problem(
                f"found {name}, but target {earlier['name']} exists; allowed: names that differ in more than upper "
                "and lower case",
                "name",
            )
        if directory and other and is_overlapping(directory, other):
            where = "the directory" if directory == other else f"which overlaps {quoted(other)}"
            target.problem(
                f"found {quoted(directory)}, {where} of target {earlier['name']}; allowed: directories that do not "
                "contain each other",
                "directory",
            )


def items(values: Values, pack: RulePack) -> None:
    total, profile, full = values["items_total"], values["profile"], pack.items_total.get("full")
    if total is None or profile is None:
        return
    if full is None:
        values.problem(f"found {total}, but rule pack {pack.id} has no item count; remove the key", "items_total")
    elif profile == "full":
        values.problem(
            f"found {total}, but profile full fixes {units.format_count(full)} {pack.items_unit} (clause "
            f"{pack.items_clause}); remove the key or set profile: rehearsal",
            "items_total",
        )
    elif total > full:
        values.problem(f"found {total}; allowed: up to {full}, the full size", "items_total")


def benchmark(section: Values, pack: RulePack) -> None:
    """Check that the named programs are in the pack, and that further words are flags that the pack allows. The short
    forms of the keys are those of a pack's only program.
    """
    names = [program.id for program in pack.programs]
    for short_form, key in (("executable", "programs"), ("extra_arguments", "program_arguments")):
        if section[short_form] in (BUILTIN, (), None):
            continue
        if len(names) > 1:
            several = f"rule pack {pack.id} has several programs ({', '.join(names)})"
            section.problem(f"{several}; give what is of each under benchmark.{key}", short_form)
        elif section[key]:
            section.problem(f"found benchmark.{key} too; allowed: one of them", short_form)
        elif short_form == "extra_arguments":
            _check_words(section, section[short_form], pack, short_form)
    for key in ("programs", "program_arguments"):
        for name, words in section[key] or ():
            section.require(name, names, key, name)
            if key == "program_arguments" and name in names and words:
                _check_words(section, words, pack.of_program(name), key, name)


def environment(slurm: Values, pack: RulePack) -> None:
    """Check the variables against those of the pack."""
    variables = dict(slurm["environment"] or ())
    for entry in pack.environment:
        if entry.name in variables and variables[entry.name] is not None and not entry.allows(variables[entry.name]):
            problem = (
                f"found {quoted(variables[entry.name])}; allowed by {pack.document}, clause {entry.clause}: {entry}"
            )
            slurm.problem(problem, "environment", entry.name)
        elif entry.name not in variables and not (entry.value or entry.forbidden):
            slurm.problem(
                f"{entry.name} is missing; {pack.document}, clause {entry.clause}, requires a value",
                "environment",
            )


def resources(slurm: Values) -> None:
    """Generic resources come from one place, since sbatch takes the last of two options."""
    for index, option in enumerate(slurm["directives"] or ()):
        if slurm["gres"] and option and option.startswith("--gres="):
            slurm.problem(f"found {option} and slurm.gres; allowed: one of them", "directives", index)


def sources(source: Values, pack: RulePack) -> None:
    """Check that several sources are those of the pack, and that one source is not given among them."""
    names = [name for name, _ in pack.sources]
    for name, _ in source["trees"] or ():
        source.require(name, names, "trees", name)
    for key in [key for key in ("pristine", "version", "sha256", "modified") if names and source[key]]:
        problem = f"rule pack {pack.id} has several sources ({', '.join(names)}); give each under source.trees"
        source.problem(problem, key)


def builds(source: Values, pack: RulePack) -> None:
    for name, _ in source["builds"] or ():
        source.require(name, [program.id for program in pack.programs], "builds", name)


def _check_words(section: Values, words: tuple[str, ...], pack: RulePack, *path: str) -> None:
    """Report the words that must not be added to the pack's command line."""
    if None in words:
        return
    allowed, clauses = [flag.flag for flag in pack.allowed], pack.flag_clauses()
    valued = {flag.flag for flag in (*pack.allowed, *pack.fixed, *pack.derived) if flag.value}
    listed = ", ".join(allowed) or "none"
    value_of = ""  # the flag whose value comes next
    for index, word in enumerate(words):
        if value_of:
            value_of = ""
            continue
        if not word.startswith("-") or word in ("-", "--"):
            section.problem(f"found {quoted(word)}, which is not a flag; allowed: {listed}", *path, index)
            continue
        flags, value_of = _flags_of(word, {*allowed, *clauses}, valued)
        for flag in flags:
            if flag in clauses:
                section.problem(
                    f"found {flag} in {quoted(word)}, which the run rules set (clause {clauses[flag]}); "
                    f"allowed: {listed}",
                    *path,
                    index,
                )
            elif flag not in allowed:
                section.problem(f"found {flag} in {quoted(word)}; allowed: {listed} ({pack.document})", *path, index)
    if value_of in allowed:
        section.problem(f"found {value_of} without its value; add it", *path, len(words) - 1)


def _flags_of(word: str, flags_of_pack: Collection[str], valued: Collection[str]) -> tuple[list[str], str]:
    """The flags in a word, and the one whose value is the next word. Short flags may be bundled (`-vF`) and carry their
    value (`-N4`), as in getopt, where the pack does not list the whole word (`-pme`).
    """
    if word.startswith("--") or word in flags_of_pack:
        name, equals, _ = word.partition("=")
        return [name], name if name in valued and not equals else ""
    flags: list[str] = []
    for place, letter in enumerate(word[1:], 2):
        flags.append(f"-{letter}")
        if flags[-1] in valued:
            return flags, flags[-1] if place == len(word) else ""
        if flags[-1] not in flags_of_pack:
            break
    return flags, ""


def cells(section: str, values: Values, pack: RulePack) -> None:
    axes = {
        "target": names_of_targets(values),
        "launch condition": [condition.id for condition in pack.launch],
        "file configuration": [files.id for files in pack.files],
        "operation": [operation.id for operation in pack.operations],
    }
    for entry in values.entries(section):
        patterns = entry["cells"].split("/") if entry["cells"] else ()
        for (axis, names), pattern in zip(axes.items(), patterns, strict=False):
            if not fnmatch.filter(names, pattern):
                problem = f"found {quoted(entry['cells'])}: no {axis} {pattern}; {suggestion(pattern, names)}"
                entry.problem(problem, "cells")


def is_run_pattern(pattern: str, values: Values, pack: RulePack) -> bool:
    """Whether target/launch/files, with * for any of them, matches a run."""
    axes = (
        names_of_targets(values),
        [condition.id for condition in pack.launch],
        [files.id for files in pack.files],
    )
    return any(matches("/".join(run), pattern) for run in itertools.product(*axes))


def path(holder: Values, path_text: str | None, file: Path, *at: str | int, optional: bool = False) -> None:
    """Report a given path that does not exist, unless the campaign is another machine's."""
    if path_text and not resolution.is_replayed() and not is_file(absolute_path(file, path_text)):
        remedy = "correct the path or remove the key" if optional else "correct the path"
        holder.problem(f"found {quoted(path_text)}: file not found; {remedy}", *at)


def bounds(values: Values) -> None:
    """Report a `most` that is below `least`."""
    minimum, maximum = values["least"], values["most"]
    if minimum and maximum and maximum < minimum:
        values.problem(f"found {maximum}, but least is {minimum}; allowed: {minimum} or more", "most")


def energy(section: Values) -> None:
    """Check that the keys of `energy` fit its source."""
    source, by_command = section["source"], section["source"] == "command"
    if not source and any(section[key] for key in ("covers", "level", "command", "once")):
        section.problem("source is missing; allowed: slurm, rapl, command", "source")
    if source and not section["covers"]:
        section.problem(
            "covers is missing: say what the readings include, such as: all nodes, at their inlets", "covers"
        )
    if source and (by_command != bool(section["command"]) or (section["once"] and not by_command)):
        section.problem("`command` and `once` belong to source: command only", "command")


def counters(values: Values, pack: RulePack, file: Path) -> None:
    for entry in values.entries("server_counters"):
        entry.require(entry["operation"], [operation.id for operation in pack.operations], "operation")
        path(entry, entry["log"], file, "log")


def answers(values: Values, pack: RulePack) -> None:
    for entry in (*values.entries("explanations"), *values.entries("waivers")):
        if entry["rule"] and entry["rule"] not in pack.checks:
            problem = f"found {entry['rule']}, which is not in rule pack {pack.id}; see 'campaign rules {pack.id}'"
            entry.problem(problem, "rule")
    questions = [clause.id for clause in pack.clauses if clause.answered]
    for clause, _ in values["answers"] or ():
        if questions:
            values.require(clause, questions, "answers", clause)
        else:
            values.problem(f"rule pack {pack.id} asks no question; remove the key", "answers", clause)
    for waiver in values.entries("waivers"):
        day, last = waiver["date"], waiver["expires"]
        if day and last and last < day:
            waiver.problem(f"found {last}, which is before its date {day}; allowed: {day} or later", "expires")
        if waiver["signature"] and not values["allowed_signers"]:
            waiver.problem(
                "found a signature, but allowed_signers is missing; add the file of the buyer's keys", "signature"
            )


def names_of_targets(values: Values) -> list[str]:
    return [target["name"] for target in values.entries("targets") if target["name"]]


def is_overlapping(first: str, second: str) -> bool:
    """Whether two paths are the same, or one is below the other."""
    return f"{first}/".startswith(f"{second}/") or f"{second}/".startswith(f"{first}/")
