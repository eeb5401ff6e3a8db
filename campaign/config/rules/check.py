"""Conditions between the values of a rule pack. Problems are reported to the document; see docs/rule-packs.md."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from campaign.config.counts import SERIES
from campaign.config.rules import catalogue, formula_check, formulas, output_check, program_check, sweeps
from campaign.config.rules.kinds import GEOMETRY, PLACEHOLDERS, PROFILES
from campaign.config.rules.program_check import NO_PHASES
from campaign.config.rules.sweeps import Sweep
from campaign.core import formula
from campaign.core.schema import entries
from campaign.core.strict_yaml import Document, Place

_RULE = "a rule of the catalogue (docs/rules.md)"
_BUILT_IN = [word[1:-1] for word in PLACEHOLDERS]


def check(values: dict[str, Any], document: Document) -> None:
    """Report what is wrong between the values of a pack; values with a problem of their own are None."""
    for key in ("launch", "files", "operations", "programs", "phases", "variables", "sweeps", "plots"):
        _check_ids(values, key, document)
    program_check.check(values, document)
    _check_launch(values, document)
    _check_flags(values, document)
    _check_placeholders(values, document)
    _check_cases(values, document)
    _check_sweeps(values, document)
    _check_operations(values, document)
    _check_plots(values, document)
    _check_checks(values, document)
    _check_requirements(values, document)
    output_check.check(values, document)
    for index, note in entries(values, "notes"):
        for position, rule in enumerate(note["rules"] or ()):
            document.require(("notes", index, "rules", position), rule, catalogue.CATALOGUE, _RULE)


def _ids(values: dict[str, Any], key: str) -> list[str]:
    return [entry["id"] for _, entry in entries(values, key) if entry["id"]]


def _check_ids(values: dict[str, Any], key: str, document: Document) -> None:
    seen: set[str] = set()
    taken = {"variables": _BUILT_IN, "sweeps": [*_BUILT_IN, *_ids(values, "variables")]}.get(key, [])
    for index, entry in entries(values, key):
        name = entry["id"]
        if name in seen:
            document.problem((key, index, "id"), f"found {name} a second time; allowed: ids that differ")
        elif name in taken:
            document.problem((key, index, "id"), f"found {name}, which is already a placeholder; allowed: a new name")
        elif name is not None:
            seen.add(name)


def _check_launch(values: dict[str, Any], document: Document) -> None:
    for index, condition in entries(values, "launch"):
        at: Place = ("launch", index)
        nodes, processes, each = (condition[key] for key in ("nodes", "processes", "processes_per_node"))
        fewest, shared = condition["minimum_nodes"] or 1, isinstance(nodes, str)
        if SERIES in (nodes, each):
            _check_series(condition, at, document)
        if processes is not None and (each is not None or shared):
            document.problem(
                (*at, "processes"),
                "not allowed together with processes per node or a share of the nodes; remove one of them",
            )
        for name in formula.names(condition["threads"] or "0"):
            document.require((*at, "threads"), name, [*formulas.RUN, *_sizes(values)])
        if condition["whole_system"] and (nodes is not None or processes is not None):
            document.problem((*at, "whole_system"), "found true with fixed counts; remove them or set false")
        if isinstance(nodes, int) and fewest > nodes:
            document.problem((*at, "minimum_nodes"), f"found {fewest}; allowed: up to {nodes}, the value of nodes")
        if isinstance(nodes, int) and processes is not None and processes % nodes:
            document.problem(
                (*at, "processes"), f"found {processes}; allowed: a multiple of {nodes}, the value of nodes"
            )


def _check_series(condition: dict[str, Any], at: Place, document: Document) -> None:
    """Check that one of the two counts is a series and the other is given, and that titles tell the members apart."""
    given = {key: condition[key] for key in ("nodes", "processes_per_node")}
    (grows, other) = given if given["nodes"] == SERIES else reversed(given)
    if given[other] in (None, SERIES):
        document.problem((*at, other), f"{other} must be given beside a series of powers of two")
    if condition["title"] and grows not in sweeps.names(condition["title"]):
        document.problem((*at, "title"), f"{{{grows}}} is missing, which tells the members of the series apart")


def _check_flags(values: dict[str, Any], document: Document) -> None:
    """Check that each flag has one role: fixed, derived, allowed, or of file configurations."""
    roles: dict[str, str] = {}
    for index, files in entries(values, "files"):
        for word in files["flags"] or ():
            if word is not None and word.startswith("-"):
                roles[word] = f"files[{index}].flags"
    for key in ("fixed", "derived", "allowed"):
        for index, entry in entries(values, key):
            flag = entry["flag"]
            if flag in roles:
                document.problem((key, index, "flag"), f"found {flag}, which is also in {roles[flag]}; keep one")
            elif flag is not None:
                roles[flag] = key


# --- placeholders


def _texts(values: dict[str, Any]) -> Iterator[tuple[Place, str, list[str]]]:
    """Every text that may contain placeholders: its place, the text, and the names known there."""
    variables, sweep_ids = _ids(values, "variables"), _ids(values, "sweeps")
    for at, text in program_check.command_lines(values):
        yield at, text, [*_BUILT_IN, *variables, *sweep_ids]
    for index, files in entries(values, "files"):
        yield ("files", index, "title"), files["title"] or "", ["items_total", *variables]
        for position, word in enumerate(files["flags"] or ()):
            yield ("files", index, "flags", position), word or "", variables
    for index, operation in entries(values, "operations"):
        for key in ("id", "title", "row", "record", "formula"):
            yield ("operations", index, key), operation[key] or "", [*variables, *sweep_ids]
    for index, sweep in entries(values, "sweeps"):
        for key in ("values", "first", "last", "times", "plus"):
            yield ("sweeps", index, key), sweep[key] or "", [*GEOMETRY, *variables]


def _check_placeholders(values: dict[str, Any], document: Document) -> None:
    used: set[str] = set()
    lines = {at for at, _ in program_check.command_lines(values)}
    varying = {entry["id"] for _, entry in entries(values, "variables") if entry["cases"]}
    for at, text, known in _texts(values):
        allowed = ", ".join(f"{{{name}}}" for name in known) or "no placeholder"
        if at in lines:
            used |= set(_check_computed(at, text, values, document))
            text = formulas.without(text)
        for name in sweeps.names(text):
            used.add(name)
            if name in varying and at not in lines:
                document.problem(at, variable_in_texts(name))
            if name not in known:
                document.problem(at, f"found {{{name}}}; allowed: {allowed}")
        if at[-1] != "text" and (rest := sweeps.leftover(text)):
            document.problem(at, f"found {rest}; allowed: {allowed}")
    for key in ("variables", "sweeps"):
        for index, entry in entries(values, key):
            if entry["id"] is not None and entry["id"] not in used:
                document.problem((key, index, "id"), f"found {entry['id']}, which no text uses; use or remove it")


def variable_in_texts(name: object) -> str:
    return (
        f"{name} is also used in titles, flags, operations or sweeps; allowed for such a variable: one value for all "
        "runs"
    )


def _check_computed(at: Place, text: str, values: dict[str, Any], document: Document) -> Iterator[str]:
    """Report the names in formulas of a command line that have no value there."""
    known = [*formulas.RUN, *_sizes(values)]
    for each in formulas.computed(text):
        try:
            wanted = formula.names(each)
        except ValueError as error:
            document.problem(at, str(error))
            continue
        for name in wanted:
            document.require(at, name, known)
        yield from wanted


def _sizes(values: dict[str, Any]) -> list[str]:
    """The variables that are numbers or sizes."""
    given = ((entry["id"], [entry[profile] for profile in PROFILES]) for _, entry in entries(values, "variables"))
    return [name for name, texts in given if all(text and formulas.is_number(text) for text in texts)]


def _check_cases(values: dict[str, Any], document: Document) -> None:
    """Check that cases of variables name launch conditions and file configurations of the pack."""
    for index, entry in entries(values, "variables"):
        for place, case in enumerate(entry["cases"] or ()):
            for key in ("launch", "files") if case else ():
                document.require(("variables", index, "cases", place, key), case[key], _ids(values, key))


def _check_sweeps(values: dict[str, Any], document: Document) -> None:
    whole = any(condition["whole_system"] for _, condition in entries(values, "launch"))
    for index, entry in entries(values, "sweeps"):
        sweep = _sweep(entry)
        if sweep and not sweep.has_form:
            document.problem(
                ("sweeps", index), "required keys missing; allowed: values; or first, last and one of times and plus"
            )
        elif sweep and whole and sweep.by_geometry:
            document.problem(
                ("sweeps", index), "depends on the geometry; not allowed if a launch condition is the whole system"
            )


def _sweep(entry: dict[str, Any]) -> Sweep | None:
    """None where a key could not be read."""
    return None if None in entry.values() else Sweep(**entry)


def _known(values: dict[str, Any], profile: str) -> dict[str, str]:
    return {entry["id"]: entry[profile] for _, entry in entries(values, "variables") if entry["id"] and entry[profile]}


def _sampled(values: dict[str, Any], profile: str, document: Document) -> dict[str, tuple[str, ...]] | None:
    """The values of each sweep; if they depend on the geometry, only the first. None if they cannot be determined."""
    expanded = {}
    for index, entry in entries(values, "sweeps"):
        sweep = _sweep(entry)
        if sweep is None or not sweep.has_form:
            return None
        if sweep.by_geometry:
            sweep = Sweep(sweep.id, values=sweep.first or "1")
        try:
            expanded[sweep.id] = sweep.expand(_known(values, profile))
        except ValueError as error:
            document.problem(("sweeps", index), f"{error} (profile {profile})")
            return None
    return expanded


# --- operations


def _check_operations(values: dict[str, Any], document: Document) -> None:
    ids = _ids(values, "operations")
    for index, files in entries(values, "files"):
        document.require_all(("files", index, "inflated"), files["inflated"], ids)
    sweep_ids = set(_ids(values, "sweeps"))
    for index, operation in entries(values, "operations"):
        of_id = set(sweeps.names(operation["id"] or ""))
        for key in ("title", "row", "record", "formula"):
            for name in sweeps.names(operation[key] or ""):
                if name in sweep_ids - of_id:
                    document.problem(
                        ("operations", index, key), f"found {{{name}}}; allowed: sweeps that the id contains"
                    )
    _check_statistics(values, document)
    if values["selection"] is not None:
        document.require(("selection", "operation"), values["selection"]["operation"], ids)
    for profile in PROFILES:
        if not _check_expanded(values, profile, document):
            return


def _check_statistics(values: dict[str, Any], document: Document) -> None:
    """Check that one place says which iterations are reported: the selection, the operations, or the records of
    `results`.
    """
    results = [values["results"], *(program["results"] for _, program in entries(values, "programs"))]
    by_selection = bool(values["selection"] and values["selection"]["iteration"])
    if any(given and given["format"] for given in results):
        problem = "not allowed together with results; use take and of in the records of results"
        if by_selection:
            document.problem(("selection", "iteration"), problem)
    elif by_selection:
        problem = "not allowed together with selection.iteration, which applies to all operations; remove one of them"
    else:
        return
    for index, operation in entries(values, "operations"):
        if operation["statistic"]:
            document.problem(("operations", index, "statistic"), problem)


def _check_expanded(values: dict[str, Any], profile: str, document: Document) -> bool:
    """Check that the expanded ids of operations are unique and fit for a cell's name. False if there was a problem."""
    known, sampled = _known(values, profile), _sampled(values, profile, document)
    if sampled is None:
        return False
    everywhere = set(_ids(values, "launch"))
    phases = {phase["id"]: set(phase["launch"] or ()) for _, phase in entries(values, "phases")}
    conditions_of: dict[str, set[str]] = {}  # the launch conditions that have it
    for index, operation in entries(values, "operations"):
        if operation["id"] is None or not set(sweeps.names(operation["id"])) <= {*known, *sampled}:
            continue
        for at in sweeps.combinations(operation["id"], sampled):
            name = sweeps.fill(operation["id"], {**known, **at})
            if not re.fullmatch(r"[a-z][a-z0-9.-]{0,99}", name):
                problem = f"gives the operation id {name}; allowed: lower-case letters, digits, - and ."
            elif name in conditions_of:
                problem = f"gives the operation id {name} a second time; allowed: ids that differ"
            else:
                conditions = phases.get(operation["phase"]) or everywhere
                place: Place = ("operations", index)
                conditions_of[name] = formula_check.check(
                    place, operation, {**known, **at}, conditions_of, conditions, document
                )
                continue
            document.problem(("operations", index, "id"), f"{problem} (profile {profile})")
            return False
    return True


# --- plots


def _check_plots(values: dict[str, Any], document: Document) -> None:
    ids, sweep_ids = _ids(values, "operations"), _ids(values, "sweeps")
    for index, plot in entries(values, "plots"):
        at: Place = ("plots", index)
        document.require_all((*at, "operations"), plot["operations"], ids)
        axes = ["launch", "files"] if plot["kind"] == "bars" else sweep_ids
        for key, allowed in (("x", axes), ("series", sweep_ids)):
            if plot[key] and not allowed:
                document.problem((*at, key), f"found {plot[key]}, but the pack has no sweeps; remove the key")
            else:
                document.require((*at, key), plot[key], allowed)
        needs = {"bars": ("operations",), "lines": ("operations", "x"), "contention": ("operations", "x", "series")}
        for key in needs.get(plot["kind"] or "", ()):
            if plot[key] in ("", ()):
                document.problem((*at, key), f"required key missing; a plot of kind {plot['kind']} needs it")


# --- checks


def _check_checks(values: dict[str, Any], document: Document) -> None:
    """Check that rules are in the catalogue, and that parameters belong to their rule."""
    for rule, given in values["checks"] or ():
        at: Place = ("checks", rule)
        document.require(at, rule, catalogue.CATALOGUE, _RULE)
        if rule in catalogue.CATALOGUE and isinstance(given, tuple):
            _check_parameters(catalogue.CATALOGUE[rule], dict(given), at, document)


def _check_requirements(values: dict[str, Any], document: Document) -> None:
    """Check that conditions use known names, and that GEO-05, which judges them, is among the checks."""
    phases = [phase["id"] for _, phase in entries(values, "phases") if phase["id"] and phase["program"]]
    for index, entry in entries(values, "requires"):
        at: Place = ("requires", index)
        wanted = formula.Condition.of(entry["holds"]).names if entry["holds"] else ()
        for name in wanted:
            document.require((*at, "holds"), name, [*formulas.RUN, formulas.MOVED, *_sizes(values)])
        if entry["phase"] and not phases:
            document.problem((*at, "phase"), NO_PHASES)
        elif entry["phase"] or (formulas.MOVED in wanted and phases):
            document.require((*at, "phase"), entry["phase"], phases)
        for key in ("launch", "files"):
            document.require_all((*at, key), entry[key], _ids(values, key))
    if bool(values["requires"]) != any(rule == "GEO-05" for rule, _ in values["checks"] or ()):
        document.problem(("requires",), "allowed: `requires` with GEO-05 among `checks`, or neither")


def _check_parameters(entry: catalogue.RuleEntry, given: dict[str, str | None], at: Place, document: Document) -> None:
    allowed = ["clause", "text", *entry.parameters]
    if "clause" not in given:
        document.problem(at, f"the clause is missing; allowed: a mapping with {', '.join(allowed)}")
    for name, text in given.items():
        if text is None:
            continue
        document.require((*at, name), name, allowed)
        try:
            if name in entry.parameters:
                catalogue.parse(entry.parameters[name].kind, text)
        except ValueError as error:
            document.problem((*at, name), str(error))
