"""Conditions between the values of a rule pack, each with its message; see docs/rule-packs.md."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from campaign.config.rules import catalogue, clauses, facts, formulas, output_check, program_check, sweeps
from campaign.config.rules.kinds import EQUAL_BLOCKS, GEOMETRY, PLACEHOLDERS, PROFILES
from campaign.config.rules.output_format import FORMATS
from campaign.config.values import CHUNKS, EACH, SERIES, counts_of, is_series
from campaign.core import formula
from campaign.core.schema import Values
from campaign.core.strict_yaml import Place

_RULE = "a rule of the catalogue (docs/rules.md)"
_BUILT_IN = [word[1:-1] for word in PLACEHOLDERS]


def check(pack: Values) -> None:
    """Record what is wrong between the values of a pack; values with a problem of their own are None."""
    _check_names(pack)
    program_check.spell_out(pack)
    program_check.check(pack)
    texts = [phase[key] for phase, key in program_check.command_lines(pack)]
    even = next((name for text in texts for name in EQUAL_BLOCKS if name in text), "")
    for condition in pack.entries("launch"):
        _check_launch(condition, program_check.sizes(pack), even)
    _check_flags(pack)
    categories = program_check.ids(pack, "builds")
    for holder in (pack, *pack.entries("programs")):
        for entry in (*holder.entries("allowed"), *(pack.entries("variables") if holder is pack else ())):
            entry.require_all("builds", categories)
    _check_placeholders(pack)
    for variable in pack.entries("variables"):
        for case in variable.entries("cases"):
            case.require(case["launch"], program_check.ids(pack, "launch"), "launch")
            case.require(case["files"], program_check.ids(pack, "files"), "files")
        for entry in (variable, *variable.entries("cases")) if variable["choices"] else ():
            for profile in PROFILES:
                entry.require(entry[profile], variable["choices"], profile)
        if variable["builds"] and not variable["free"]:
            variable.problem("needs `free: true`; add it", "builds")
    for input_file in pack.entries("inputs"):
        if input_file["path"] and input_file["sha256"] == "":
            input_file.problem(
                "required key missing; allowed: the SHA-256 of the file that comes with the pack", "sha256"
            )
    _check_sweeps(pack)
    _check_operations(pack)
    for plot in pack.entries("plots"):
        _check_plot(plot, program_check.ids(pack, "operations"), program_check.ids(pack, "sweeps"))
    _check_checks(pack)
    program_check.check_demands(pack)
    output_check.check(pack)
    clauses.check(pack, [rule for rule, _ in pack["checks"] or ()])
    for note in pack.entries("notes"):
        note.require_all("rules", catalogue.CATALOGUE, _RULE)


def _check_names(pack: Values) -> None:
    """Check that no placeholder has the name of another."""
    names = list(_BUILT_IN)
    for key in ("variables", "sweeps", "inputs"):
        for entry in pack.entries(key):
            if entry["id"] in names:
                entry.problem(f"found {entry['id']}, which is also the name of a placeholder; choose another id", "id")
        names += program_check.ids(pack, key)


def _check_launch(condition: Values, variables: list[str], even: str) -> None:
    """`even`: what in the command lines needs the same number of processes on each node."""
    nodes, processes, processes_per_node = (condition[key] for key in ("nodes", "processes", "processes_per_node"))
    fewest = condition["minimum_nodes"] or 1
    if is_series(nodes) or is_series(processes_per_node):
        _check_series(condition)
    if str(processes_per_node).startswith((EACH, CHUNKS)):
        condition.problem(f"found {processes_per_node}; allowed for nodes only", "processes_per_node")
    if condition["chunks"] != "contiguous" and not str(nodes).startswith(CHUNKS):
        condition.problem(f"needs chunks of nodes; allowed: `nodes: {CHUNKS}4` with it", "chunks")
    if processes is not None and (processes_per_node is not None or isinstance(nodes, str)):
        condition.problem(
            "not allowed together with processes per node or a share of the nodes; remove one of them", "processes"
        )
    for name in formula.names(condition["threads"] or "0"):
        condition.require(name, [*facts.OF_PLAN, *variables], "threads")
    if condition["whole_system"] and (nodes is not None or processes is not None):
        condition.problem("found true with fixed counts; remove them or set false", "whole_system")
    if isinstance(nodes, int) and fewest > nodes:
        condition.problem(f"found {fewest}; allowed: up to {nodes}, the value of nodes", "minimum_nodes")
    if isinstance(nodes, int) and processes is not None and processes % nodes and (even or processes < nodes):
        allowed = f"a multiple of {nodes}, the value of nodes" if even else f"{nodes} or more, one on each node"
        condition.problem(f"found {processes}; allowed: {allowed}", "processes")


def _check_series(condition: Values) -> None:
    """Check that one of the two counts is a series and the other is given, and that titles tell the members apart."""
    counts = {key: condition[key] for key in ("nodes", "processes_per_node")}
    (grows, other) = counts if is_series(counts["nodes"]) else reversed(counts)
    if counts[other] is None or is_series(counts[other]):
        series = "powers of two" if counts[grows] == SERIES else counts[grows]
        condition.problem(f"{other} must be given with a series of {series}", other)
    if condition["title"] and grows not in sweeps.names(condition["title"]):
        condition.problem(f"{{{grows}}} is missing, which tells the members of the series apart", "title")


def _check_flags(pack: Values) -> None:
    """Check that each flag has one role: fixed, derived, allowed, or of file configurations."""
    roles = {
        word: f"files[{index}].flags"
        for index, files in enumerate(pack["files"] or ())
        for word in (files and files["flags"]) or ()
        if word is not None and word.startswith("-")
    }
    for key in ("fixed", "derived", "allowed"):
        for entry in pack.entries(key):
            flag = entry["flag"]
            if flag in roles:
                entry.problem(f"found {flag}, which is also in {roles[flag]}; keep one", "flag")
            elif flag is not None:
                roles[flag] = key


# --- placeholders


def _texts(pack: Values) -> Iterator[tuple[Place, str, list[str]]]:
    """Every text that may contain placeholders, but those of command lines: its place, the text, and the names known
    there.
    """
    variables, sweep_ids = program_check.ids(pack, "variables"), program_check.ids(pack, "sweeps")
    for section, keys, known_names in (
        ("files", ("title",), ["items_total", *variables]),
        ("operations", ("id", "title", "row", "record", "formula"), [*variables, *sweep_ids]),
        ("sweeps", ("values", "first", "last", "times", "plus"), [*GEOMETRY, *variables]),
    ):
        for index, entry in enumerate(pack[section] or ()):
            for key in keys if entry else ():
                yield (section, index, key), entry[key] or "", known_names
    for index, files in enumerate(pack["files"] or ()):
        for position, word in enumerate((files and files["flags"]) or ()):
            yield ("files", index, "flags", position), word or "", variables


def _check_placeholders(pack: Values) -> None:
    used: set[str] = set()
    known_names = [
        *_BUILT_IN,
        *(name for key in ("variables", "sweeps", "inputs") for name in program_check.ids(pack, key)),
    ]
    for phase, key in program_check.command_lines(pack):
        used |= set(_check_computed(phase, key, formulas.formulas_in(phase[key]), pack))
        names = [*known_names, *(["copy"] if phase["copies"] else [])]
        used |= set(_check_text((key,), formulas.without_formulas(phase[key]), names, phase))
    for phase in pack.entries("phases"):
        for key, text in program_check.count_formulas(phase):
            used |= set(_check_computed(phase, key, [text], pack))
    varying = {entry["id"] for entry in pack.entries("variables") if entry["cases"]}
    for at, text, known_names in _texts(pack):
        used |= set(_check_text(at, text, known_names, pack))
        for name in varying.intersection(sweeps.names(text)):
            pack.problem(variable_in_texts(name), *at)
    for key in ("variables", "sweeps"):
        for entry in pack.entries(key):
            if entry["id"] is not None and entry["id"] not in used:
                entry.problem(f"found {entry['id']}, which no text uses; use or remove it", "id")


def _check_text(at: Place, text: str, known_names: list[str], holder: Values) -> tuple[str, ...]:
    """Record the placeholders in a text that are not known; gives all. `at`: the place of the text below `holder`."""
    allowed = ", ".join(f"{{{name}}}" for name in known_names) or "no placeholder"
    for name in sweeps.names(text):
        if name not in known_names:
            holder.problem(f"found {{{name}}}; allowed: {allowed}", *at)
    if at[-1] != "text" and (remainder := sweeps.stray_brace(text)):
        holder.problem(f"found {remainder}; allowed: {allowed}", *at)
    return sweeps.names(text)


def variable_in_texts(name: object) -> str:
    return (
        f"{name} is also used in titles, flags, operations or sweeps; allowed for such a variable: one value for all "
        "runs"
    )


def _check_computed(phase: Values, key: str, texts: list[str], pack: Values) -> Iterator[str]:
    """Record the names in formulas of a phase that have no value there; gives all names."""
    for text in texts:
        try:
            names = formula.names(text)
        except ValueError as error:
            phase.problem(str(error), key)
            continue
        for name in names:
            phase.require(name, [*facts.OF_PLAN, *program_check.sizes(pack)], key)
        yield from names


def _check_sweeps(pack: Values) -> None:
    has_whole_system = any(condition["whole_system"] for condition in pack.entries("launch"))
    for entry in pack.entries("sweeps"):
        sweep = _sweep(entry)
        if sweep and not sweep.has_form:
            entry.problem("required keys missing; allowed: values; or first, last and one of times and plus")
        elif sweep and has_whole_system and sweep.by_geometry:
            entry.problem(
                "its values depend on the geometry, which is not allowed if a launch condition is the whole system"
            )


def _sweep(entry: Values) -> sweeps.Sweep | None:
    """None where a key could not be read."""
    return None if None in entry.values() else sweeps.Sweep(**entry)


def _variable_values(pack: Values, profile: str) -> dict[str, str]:
    return {entry["id"]: entry[profile] for entry in pack.entries("variables") if entry["id"] and entry[profile]}


def _sweep_values(pack: Values, profile: str) -> dict[str, tuple[str, ...]] | None:
    """The values of each sweep; if they depend on the geometry, only the first. None if they cannot be determined."""
    expanded = {}
    for entry in pack.entries("sweeps"):
        sweep = _sweep(entry)
        if sweep is None or not sweep.has_form:
            return None
        if sweep.by_geometry:
            sweep = sweeps.Sweep(sweep.id, values=sweep.first or "1")
        try:
            expanded[sweep.id] = sweep.expand(_variable_values(pack, profile))
        except ValueError as error:
            entry.problem(f"{error} (profile {profile})")
            return None
    return expanded


# --- operations


def _check_operations(pack: Values) -> None:
    operations, sweep_ids = program_check.ids(pack, "operations"), set(program_check.ids(pack, "sweeps"))
    for files in pack.entries("files"):
        files.require_all("inflated", operations)
    for operation in pack.entries("operations"):
        other_sweeps = sweep_ids.difference(sweeps.names(operation["id"] or ""))
        for key in ("title", "row", "record", "formula"):
            for name in sweeps.names(formulas.without_sets(operation[key] or "")):
                if name in other_sweeps:
                    operation.problem(f"found {{{name}}}; allowed: sweeps that the id contains", key)
    _check_statistics(pack)
    if pack["selection"] is not None:
        pack["selection"].require(pack["selection"]["operation"], operations, "operation")
    for profile in PROFILES:
        if not _check_expanded(pack, profile):
            return


def _check_statistics(pack: Values) -> None:
    """Check that one place says which iterations are reported: the selection, the operations, or the records of
    `results`.
    """
    results = [pack["results"], *(program["results"] for program in pack.entries("programs"))]
    by_selection = bool(pack["selection"] and pack["selection"]["iteration"])
    if any(section and section["format"] in FORMATS for section in results):
        problem = "not allowed together with results; use take and of in the records of results"
        if by_selection:
            pack.problem(problem, "selection", "iteration")
    elif by_selection:
        problem = "not allowed together with selection.iteration, which applies to all operations; remove one of them"
    else:
        return
    for operation in pack.entries("operations"):
        if operation["statistic"]:
            operation.problem(problem, "statistic")


def _check_expanded(pack: Values, profile: str) -> bool:
    """Check that the expanded ids of operations are unique and fit for a cell's name. False if there was a problem."""
    variables, sampled = _variable_values(pack, profile), _sweep_values(pack, profile)
    if sampled is None:
        return False
    launch_ids = program_check.ids(pack, "launch")
    phases = {phase["id"]: set(phase["launch"] or ()) for phase in pack.entries("phases")}
    series = {
        condition["id"]: counts_of(condition[key]) or [1]
        for condition in pack.entries("launch")
        for key in ("nodes", "processes_per_node")
        if is_series(condition[key])
    }
    sets: dict[str, tuple[str, ...]] = {**{formulas.name_of(id): (id,) for id in series if id}, formulas.FILES: ()}
    # Every campaign has the members of a list, and the first power of two.
    members = {id: [f"{id}-{count}" for count in series[id]] if id in series else [id] for id in launch_ids}
    lines: dict[str, tuple[str, ...]] = {formulas.name_of(member): (id,) for id in members for member in members[id]}
    lines |= {f"{formulas.FILES}.{formulas.name_of(id)}": () for id in program_check.ids(pack, "files")}
    first_values = {name: values[0] for name, values in sampled.items()}
    seen: set[str] = set()
    conditions_of: dict[str, set[str]] = {}  # of those of one execution: the launch conditions that have it
    for operation in pack.entries("operations"):
        if operation["id"] is None or not set(sweeps.names(operation["id"])) <= {*variables, *sampled}:
            continue
        for at in sweeps.combinations(operation["id"], sampled):
            name = sweeps.fill(operation["id"], {**variables, **at})
            if not re.fullmatch(r"[a-z][a-z0-9.-]{0,99}", name):
                problem = f"gives the operation id {name}; allowed: lower-case letters, digits, - and ."
            elif name in seen:
                problem = f"gives the operation id {name} a second time; allowed: ids that differ"
            else:
                conditions = phases.get(operation["phase"]) or set(launch_ids)
                seen.add(name)
                values = {**variables, **at}
                of_copies = (
                    {formulas.COPIES: ()} if operation["phase"] in program_check.phases_with_copies(pack) else {}
                )
                numbers = {**dict.fromkeys(program_check.ids(pack, "references"), "0"), **values}
                measured = _check_formula(
                    operation, numbers, first_values, conditions_of, conditions, lines, {**sets, **of_copies}
                )
                conditions_of |= {name: measured} if measured else {}
                if not measured and pack["selection"] and pack["selection"]["operation"] == operation["id"]:
                    subject = f"found {operation['id']}, computed from several executions"
                    pack["selection"].problem(f"{subject}; allowed: a result of one execution", "operation")
                continue
            operation.problem(f"{problem} (profile {profile})", "id")
            return False
    return True


def _check_formula(
    operation: Values,
    values: Mapping[str, str],
    first_values: Mapping[str, str],
    before: Mapping[str, set[str]],
    of_phase: set[str],
    lines: Mapping[str, Sequence[str]],
    sets: Mapping[str, Sequence[str]],
) -> set[str]:
    """Check an operation; gives the launch conditions under which one execution has it. `values`: of variables,
    sweeps and references; `first_values`: of all sweeps; `before`: the operations above it, which its formula may use,
    each with its launch conditions; `of_phase`: those of its phase; `lines` and `sets`: those of the table that it may
    name, with their launch conditions.
    """
    record, text, printed_unit = (operation[key] for key in ("record", "formula", "printed"))
    if None in (record, text, printed_unit):
        return of_phase
    if not record and not text:
        operation.problem("required key missing; allowed: the name of a result; or a `formula`", "record")
    if bool(record and text) != bool(printed_unit):
        operation.problem(
            "the printed unit is required if both `record` and `formula` are given, and not allowed otherwise",
            "printed",
        )
    if not text:
        return of_phase
    filled = sweeps.fill(text, {name: formulas.name_of(value) for name, value in {**first_values, **values}.items()})
    try:
        places = {name: formulas.place(name) for name in formula.names(filled)}
        across = formulas.is_across(text)
    except ValueError as error:
        operation.problem(str(error), "formula")
        return of_phase
    if record and across:
        operation.problem(f"found {text}; numbers of other executions are not allowed with `record`", "formula")
        return of_phase
    numbers = [name for name, value in values.items() if formulas.is_number(value)]
    results = [formulas.VALUE] if record else [formulas.name_of(name) for name in before]
    for name, (base, line) in places.items():
        of_run = [*numbers, *([facts.COUNT] if across else facts.OF_RUN)]
        other_names = [] if formula.aggregated_name(name) else [*GEOMETRY] if line else [*GEOMETRY, *of_run]
        operation.require(base, [*results, *other_names], "formula")
        if line:
            operation.require(line, lines, "formula")
        if of_set := formulas.set_of(name):
            operation.require(of_set, sets if across else [*sets, *first_values], "formula")
        if results.count(base) > 1:
            operation.problem(
                f"{base} matches several operations; give them ids that differ in more than - _ .", "formula"
            )
    if formulas.COPIES not in sets and not {base for base, line in places.values() if not line} & set(results):
        operation.problem(f"uses no result; allowed: {', '.join(results) or 'none'}", "formula")
    if record:
        return of_phase
    measured = {formulas.name_of(name): conditions for name, conditions in before.items()}
    together = {
        condition
        for condition in of_phase
        if formulas.name_of(condition) not in {line for _, line in places.values()}
        and all(formulas.is_known(name, condition, {**lines, **sets}, measured) for name in places)
    }
    if not together:
        operation.problem(
            "no launch condition measures all results of the formula; use results of phases that run under the same "
            "one",
            "formula",
        )
    return set() if across else together or of_phase


def _check_plot(plot: Values, operations: list[str], swept: list[str]) -> None:
    plot.require_all("operations", operations)
    for key, allowed in (("x", ["launch", "files"] if plot["kind"] == "bars" else swept), ("series", swept)):
        if plot[key] and not allowed:
            plot.problem(f"found {plot[key]}, but the pack has no sweeps; remove the key", key)
        else:
            plot.require(plot[key], allowed, key)
    needs = {
        "bars": ("operations",),
        "latency": ("operations",),
        "lines": ("operations", "x"),
        "contention": ("operations", "x", "series"),
    }
    for key in needs.get(plot["kind"] or "", ()):
        if plot[key] in ("", ()):
            plot.problem(f"required key missing; a plot of kind {plot['kind']} needs it", key)


# --- checks


def _check_checks(pack: Values) -> None:
    """Check that rules are in the catalogue, and that parameters belong to their rule."""
    for rule, check_values in pack["checks"] or ():
        pack.require(rule, catalogue.CATALOGUE, "checks", rule, allowed=_RULE)
        if rule in catalogue.OF_RFP:
            remedy = "give its conditions under `requires` of rfp.yaml"
            pack.problem(f"found {rule}, which is about all parts of an RFP together; {remedy}", "checks", rule)
        if rule in catalogue.CATALOGUE and isinstance(check_values, tuple):
            _check_parameters(rule, dict(check_values), pack)


def _check_parameters(rule: str, check_values: dict[str, str | None], pack: Values) -> None:
    parameters = catalogue.CATALOGUE[rule].parameters
    allowed = ["clause", "text", *parameters]
    if "clause" not in check_values:
        pack.problem(f"the clause is missing; allowed: a mapping with {', '.join(allowed)}", "checks", rule)
    for name, text in check_values.items():
        if text is None:
            continue
        pack.require(name, allowed, "checks", rule, name)
        try:
            if name in parameters:
                catalogue.parse(parameters[name].kind, text)
        except ValueError as error:
            pack.problem(str(error), "checks", rule, name)
