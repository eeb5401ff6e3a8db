"""Conditions between a pack's programs, phases, command lines and demands, each with its message."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from campaign.config.rules import facts, formulas, output_check, programs, sweeps
from campaign.config.rules.builds import BUILDING
from campaign.config.rules.format import PHASE, PROGRAM
from campaign.config.rules.kinds import FILL, GEOMETRY, PLACES, PROFILES
from campaign.config.rules.output_format import BUILT_IN, RESULTS, OutputFormat
from campaign.config.values import is_series
from campaign.core import formula
from campaign.core.schema import Values

_OUTSIDE_DIRECTORY = re.compile(
    r"\{directory\}(?![/,:;@]|$)"
)  # a path that only begins with the attempt's own directory
_PHASE_KIND_OF_KEY = {
    "arguments": "program",
    "text": "write",
    "input": "write",
    "raw": "write",
    "beside": "program",
    "copies": "program",
}  # key -> the kind of phase that may have it
_SHORT_FORM_KEYS = ("applet", "arguments", "fixed", "derived", "allowed")  # keys of a pack with one program


def spell_out(pack: Values) -> None:
    """Make an entry of `programs` and one of `phases` from `applet`, `arguments` and `results` of a pack for one
    program; problems of the entries are reported at these keys. Reports a pack with keys of both forms or of neither.
    """
    if pack["phases"] == () and pack["programs"] == ():
        for key in ("applet", "arguments"):
            if pack[key] == "":
                pack.problem(
                    "required key missing; allowed: a program and its command line; or `programs` and `phases`", key
                )
        applet = pack["applet"] or None
        pack["programs"] = (pack.with_kind(PROGRAM, id=applet, applet=applet, results=pack["results"]),)
        pack["phases"] = (pack.with_kind(PHASE, id="", program=applet, arguments=pack["arguments"], clause=""),)
        pack["results"] = pack.with_kind(RESULTS)
        return
    for key in _SHORT_FORM_KEYS:
        if pack[key]:
            pack.problem(
                f"found `{key}` in a pack with phases; move it into an entry of `programs` or `phases`, or remove it",
                key,
            )
    for key in ("programs", "phases"):
        if pack[key] == ():
            pack.problem("required key missing; a pack has both `programs` and `phases`, or neither", key)


def check(pack: Values) -> None:
    _check_phases(pack)
    lines = [phase[key] for phase, key in command_lines(pack)]
    flags = next((files["flags"] for files in pack.entries("files") if files["flags"]), ())
    if flags and lines and not any("{flags}" in line for line in lines):
        phase = next((phase for phase in pack.entries("phases") if phase["program"]), pack)
        phase.problem(
            f"{{flags}} is missing, in whose place the flags of `files` go ({' '.join(filter(None, flags))}); write it "
            f'once: "{phase["arguments"] or "..."} {{flags}}"',
            "arguments",
        )
    _check_phases_of_operations(pack)
    if any("items_per_process" in sweeps.names(line) for line in lines) and pack["items"]:
        for profile in PROFILES:
            if pack["items"][profile] is None:
                pack["items"].problem(
                    "required key missing; allowed: a number, since arguments has {items_per_process}", profile
                )


def ids(pack: Values, key: str) -> list[str]:
    return [entry["id"] for entry in pack.entries(key) if entry["id"]]


def sizes(pack: Values) -> list[str]:
    """The variables that are numbers or sizes."""
    texts_by_variable = ((entry["id"], [entry[profile] for profile in PROFILES]) for entry in pack.entries("variables"))
    return [name for name, texts in texts_by_variable if all(text and formulas.is_number(text) for text in texts)]


def command_lines(pack: Values) -> Iterator[tuple[Values, str]]:
    """The phases and their keys whose texts may have placeholders: words after the program, and the paths and contents
    of files.
    """
    for phase in pack.entries("phases"):
        for key in ("arguments", "remove", "write", "text"):
            if phase[key] and not (key == "text" and phase["raw"]):
                yield phase, key


def count_formulas(phase: Values) -> Iterator[tuple[str, str]]:
    """The formulas of a phase's own counts, each with its key."""
    of_counts = ((key, phase[key]) for key in ("nodes", "processes", "copies"))
    yield from (pair for pair in of_counts if pair[1] not in ("", None, *PLACES, FILL))


def _check_words(phase: Values, words: list[str], flags: set[str]) -> None:
    """`flags`: those with a clause of their own, which the command line must have."""
    names = list(map(programs.flag_of, words))
    for word, count in Counter(names).items():
        if count > 1 and word in (flags | {"{flags}"}):  # two values may be equal
            phase.problem(f"found {word} {count} times; allowed: once", "arguments")
    for word in dict.fromkeys(words):
        if "{flags}" in word and word != "{flags}":
            phase.problem(f"found {word}; allowed: {{flags}} as a separate word", "arguments")
        elif _OUTSIDE_DIRECTORY.search(word) or ("{directory}" in word and ".." in word.split("/")):
            phase.problem(
                f"found {word}, a path outside the attempt's directory, where nothing is checked or removed; allowed: "
                "paths in it, such as {directory}/file",
                "arguments",
            )
        elif word.startswith(("phase=", "beside=")):  # that is how the job's script begins a phase
            phase.problem(f"found {word}; allowed: words that do not begin with phase= or beside=", "arguments")
    for flag in sorted(flags - set(names)) if words else ():
        phase.problem(f"{flag} is missing; allowed: all fixed and derived flags", "arguments")


def _check_phases(pack: Values) -> None:
    flags = {entry["flag"] for key in ("fixed", "derived") for entry in pack.entries(key) if entry["flag"]}
    programs = ids(pack, "programs")
    conditions = [condition["id"] for condition in pack.entries("launch")]
    launched: list[str] = []
    for phase in pack.entries("phases"):
        _check_phase(phase, programs, conditions)
        _check_words(phase, formulas.words(phase["arguments"] or ""), flags)
        phase.require(phase["input"], ids(pack, "inputs"), "input")
        if phase["nodes"] == "other" and not launched:
            phase.problem("found other; no earlier phase ran on the job's first nodes", "nodes")
        launched += [phase["program"]] if phase["program"] else []
    _check_together(list(pack.entries("phases")))
    conditions_of_phases = [phase["launch"] for phase in pack.entries("phases") if phase["program"]]
    for condition in pack.entries("launch"):
        if (
            conditions_of_phases
            and condition["id"]
            and not any(not names or condition["id"] in names for names in conditions_of_phases)
        ):
            condition.problem(
                f"no phase runs under {condition['id']}; add it to the `launch` of a phase, or remove it", "id"
            )
    for program in pack.entries("programs"):
        if program["id"] and program["id"] not in launched and None not in (pack["phases"] or (None,)):
            program.problem(f"no phase runs {program['id']}; use or remove it", "id")


def _check_phase(phase: Values, programs: list[str], conditions: list[str]) -> None:
    kinds = [key for key in ("program", "remove", "write") if phase[key] != ""]
    misplaced = [key for key, owner in _PHASE_KIND_OF_KEY.items() if phase[key] and owner not in kinds]
    phase_counts = dict(count_formulas(phase))
    misplaced += [] if "program" in kinds else [*phase_counts]
    if len(kinds) != 1 or misplaced:
        phase.problem(
            "give exactly one of: `program` with `arguments`; `remove`; `write` with `text`",
            misplaced[0] if misplaced else "program",
        )
    phase.require(phase["program"], programs, "program")
    if phase["input"] and phase["text"]:
        phase.problem("found both `text` and `input`; remove one of them", "text")
    for condition in phase["launch"] or ():
        phase.require(condition, conditions, "launch")
    if phase_counts and "items_" in (phase["arguments"] or ""):
        phase.problem(
            f"the phase has its own `{next(iter(phase_counts))}`, but the items in its command line are divided "
            "among the launch condition's processes; use a variable for them",
            "arguments",
        )


def _check_together(phases: Sequence[Values]) -> None:
    """Phases that start together: next to each other, under the same launch conditions, each on nodes of its own."""
    first: Values | None = None
    for phase in phases:
        if phase["beside"] == "":
            first = phase if phase["program"] and not phase["copies"] else None
        elif phase["copies"]:
            phase.problem(f"found {phase['copies']} with `beside`; remove one of them", "copies")
        elif first is None or phase["beside"] != first["id"]:
            phase.problem(
                f"found {phase['beside']}; allowed: the phase before it, if that has a program; if several start "
                "together, the first of them",
                "beside",
            )
        elif phase["launch"] != first["launch"]:
            phase.problem(
                f"it starts together with {first['id']}, which has another `launch`; give both the same", "launch"
            )
        elif phase["nodes"] == "same" or (first["nodes"] == "same" and phase["nodes"] != "other"):
            phase.problem(
                f"it starts together with {first['id']}, on its own nodes; allowed: a number or a formula such as "
                "`nodes / 2` for both, or `other` for this one",
                "nodes",
            )


def _check_phases_of_operations(pack: Values) -> None:
    phases, with_copies = _launched_phases(pack), phases_with_copies(pack)
    for operation in pack.entries("operations") if phases else ():
        if operation["record"] == "" and operation["phase"]:
            operation.problem("found `phase` without `record`; a formula belongs to no phase; remove it", "phase")
        elif operation["record"] and operation["phase"] == "" and "" not in phases:
            operation.problem(f"required key missing; allowed: {', '.join(phases)}", "phase")
        else:
            operation.require(operation["phase"], phases, "phase")
            if operation["phase"] in with_copies and not operation["formula"]:
                operation.problem(
                    f"required key missing: phase {operation['phase']} has copies; allowed: a formula such as "
                    f"min({formulas.VALUE} over {formulas.COPIES})",
                    "formula",
                )


def phases_with_copies(pack: Values) -> list[str]:
    return [phase["id"] for phase in pack.entries("phases") if phase["copies"]]


def _launched_phases(pack: Values) -> list[str]:
    """The phases that run a program; one without a name is that of the short form."""
    return [phase["id"] for phase in pack.entries("phases") if phase["id"] is not None and phase["program"] != ""]


# --- what a pack demands beyond its rules' parameters: conditions, variables, energy, categories of builds


def check_demands(pack: Values) -> None:
    """Report mistakes in what a pack demands: requirements, references, environment, energy and builds."""
    _check_requirements(pack)
    if pack["sources"] and pack["source"] and any(pack["source"].values()):
        pack.problem("found both `source` and `sources`; keep one of them", "source")
    for entry in pack.entries("references"):
        _check_reference(entry, [*GEOMETRY, *sizes(pack)])
    _check_environment(pack)
    _check_energy(pack)
    _check_builds(pack)


def _check_requirements(pack: Values) -> None:
    """Check that conditions use known names, and that the rules which judge them are among the checks."""
    phases, needed = _launched_phases(pack), set()
    for entry in pack.entries("requires"):
        condition = formula.Condition.parse(sweeps.without_placeholders(entry["holds"])) if entry["holds"] else None
        names = condition.names if condition else ()
        if condition and (problem := facts.type_problem(condition)):
            entry.problem(problem, "holds")
        for name in sweeps.names(entry["holds"] or ""):
            entry.require(name, [*GEOMETRY, *sizes(pack), *ids(pack, "references")], "holds")
        if names and entry["over"] is not None:
            needed.add(
                _check_condition_over(entry, names, pack) if entry["over"] else _check_condition(entry, names, pack)
            )
        entry.require(entry["phase"], phases, "phase")
        for key in ("launch", "files"):
            entry.require_all(key, ids(pack, key))
    if None in (pack["requires"] or ()) or any(entry.has_problem for entry in pack.entries("requires")):
        return  # it is not known which rule judges these
    checked = [rule for rule, _ in pack["checks"] or ()]
    for rule, subject in (("GEO-05", "sizes and counts"), ("RES-01", "results"), ("RES-02", "several results")):
        if (rule in needed) != (rule in checked):
            pack.problem(
                f"give both conditions on {subject} in `requires` and {rule} among `checks`, or neither", "requires"
            )


def _check_reference(entry: Values, known_names: Sequence[str]) -> None:
    for name in formula.names(entry["by"]) if entry["by"] else ():
        entry.require(name, known_names, "by")
    numbers = [number for point in entry["points"] or () for number in point if number is not None]
    if len(numbers) < 4 or (entry["between"] == "logarithms" and min(numbers) <= 0):
        entry.problem("allowed: two or more points, for logarithms of numbers above 0", "points")


def _check_environment(pack: Values) -> None:
    for entry in pack.entries("environment"):
        if entry["forbidden"] and entry["value"]:
            entry.problem("found `value` of a forbidden variable; remove one of them", "value")
    if bool(pack.entries("environment")) != ("ENV-06" in [rule for rule, _ in pack["checks"] or ()]):
        pack.problem("give both variables in `environment` and ENV-06 among `checks`, or neither", "environment")


def _check_condition_over(entry: Values, names: Sequence[str], pack: Values) -> str:
    """Check a condition over repetitions or nodes; gives the rule that judges it."""
    executed = [
        formulas.name_of(operation["id"])
        for operation in pack.entries("operations")
        if operation["id"] and not formulas.is_across(operation["formula"] or "")
    ]
    single = [*executed, *_output_names(pack, "")]
    for name in names:
        aggregated_name = formula.aggregated_name(name)
        own_names = single if aggregated_name else sizes(pack)
        if not any(output_check.can_coincide(name, result) for result in own_names):
            entry.require(
                aggregated_name or name, [*own_names, *facts.BY_NAME], "holds", allowed=facts.allowed_text(own_names)
            )
    if not any(map(formula.aggregated_name, names)):
        entry.problem("found no operation; `over` needs one computed from several results, such as max(fom)", "holds")
    _refuse_keys(entry, ("if_printed", "phase"), "beside `over`")
    return "RES-02"


def _check_condition(entry: Values, names: Sequence[str], pack: Values) -> str:
    """Check a condition on one execution, or on numbers computed from several; gives the rule that judges it."""
    operations = {
        formulas.name_of(operation["id"]): operation for operation in pack.entries("operations") if operation["id"]
    }
    across = any(
        formulas.is_across(operation["formula"] or "") and output_check.can_coincide(name, operation_name)
        for name in names
        for operation_name, operation in operations.items()
    )
    printed_names = [] if across else _output_names(pack, entry["phase"])
    variables = [name for name in sizes(pack) if name not in printed_names]
    own_names = [*variables, *operations, *printed_names]
    series = (
        formulas.name_of(condition["id"])
        for condition in pack.entries("launch")
        if condition["id"] and (is_series(condition["nodes"]) or is_series(condition["processes_per_node"]))
    )
    sets = {*series, *ids(pack, "sweeps")}
    names = [name for name in names if formula.aggregated_name(name) not in sets]
    for name in names:
        if formula.aggregated_name(name) in operations:
            entry.problem(f"found {name}; allowed: with `over: repetitions` or `over: nodes`", "holds")
        elif not any(output_check.can_coincide(name, result) for result in (*printed_names, *operations)):
            entry.require(name, [*own_names, *facts.BY_NAME], "holds", allowed=facts.allowed_text(own_names))
    on_results = not {*names} <= {*facts.KNOWN_BEFORE, facts.MOVED, *variables}
    if on_results and facts.MOVED in names:
        entry.problem(f"found {facts.MOVED} together with results; write two conditions", "holds")
    if across or not {*facts.OF_LINE}.difference(operations, printed_names).isdisjoint(names):
        _refuse_keys(entry, ("if_printed", "phase"), "in a condition on numbers of several executions")
        return "RES-02"
    if on_results:
        return "RES-01"
    _refuse_keys(entry, ("if_printed", "full_size", "explain"), "in a condition on sizes and counts")
    return "GEO-05"


def _refuse_keys(entry: Values, keys: Sequence[str], where: str) -> None:
    for key in keys:
        if entry[key]:
            entry.problem(f"not allowed {where}; remove it", key)


def _check_energy(pack: Values) -> None:
    """Check that a demand for energy is judged, and that no operation or result has its names."""
    demand, is_judged = pack["energy"], "RUN-10" in [rule for rule, _ in pack["checks"] or ()]
    if demand is None:  # it could not be read
        return
    if (demand["level"] or demand["peak"]) and not demand["clause"]:
        demand.problem("clause is missing; add it", "clause")
    elif bool(demand["clause"]) != is_judged:
        pack.problem(
            "give both energy and RUN-10 among `checks`, or neither", "energy" if demand["clause"] else "checks"
        )
    names = [*map(formulas.name_of, ids(pack, "operations")), *_output_names(pack, "")]
    for name in facts.ENERGY if is_judged else ():
        if name in names:
            pack.problem(f"an operation or a result has the name {name}, which belongs to energy; rename it", "energy")


def _check_builds(pack: Values) -> None:
    """Check that the rules which judge categories of builds are among the checks."""
    categories, checked = pack.entries("builds"), [rule for rule, _ in pack["checks"] or ()]
    if any(category["changes"] != BUILDING for category in categories) and "SRC-03" not in checked:
        pack.problem("found `changes`, which needs SRC-03 among `checks`; add it", "builds")
    if any(any(category["flags"].values()) for category in categories if category["flags"]) != ("SRC-07" in checked):
        pack.problem("give both `flags` in a category and SRC-07 among `checks`, or neither", "builds")


def _output_names(pack: Values, phase: str | None) -> list[str]:
    """The names of records and facts in the output of a phase, as formulas write them."""
    launched = [entry["program"] for entry in pack.entries("phases") if entry["id"] == phase]
    launched_programs = [program for program in pack.entries("programs") if program["id"] in launched]
    described = [
        holder["results"] for holder in (*launched_programs, pack) if holder["results"] and holder["results"]["format"]
    ]
    if described:
        records = [
            record["name"] for record in described[0].entries("records") if record["name"] and not record["check_only"]
        ]
        facts = described[0]["facts"] or ()
    else:
        applet = next((program["applet"] or program["id"] for program in launched_programs), "")
        form = programs.built_in_format(applet) if applet in BUILT_IN else OutputFormat("text")
        records, facts = [record.name for record in form.records], form.facts
    return [formulas.name_of(name) for name in (*records, *dict(facts))]
