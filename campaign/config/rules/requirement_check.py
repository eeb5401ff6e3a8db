"""What a pack demands beyond its rules' parameters: conditions, environment variables, energy, categories of builds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from campaign.config.rules import formulas, output_check, programs, sweeps
from campaign.config.rules.builds import BUILDING
from campaign.config.rules.kinds import GEOMETRY
from campaign.config.rules.output_format import DESCRIBED, OutputFormat
from campaign.config.rules.program_check import NO_PHASES, ids, sizes
from campaign.core import formula
from campaign.core.schema import Values


def check(pack: Values) -> None:
    _check_requirements(pack)
    _check_environment(pack)
    _check_energy(pack)
    _check_builds(pack)


def _check_requirements(pack: Values) -> None:
    """Check that conditions use known names, and that the rules which judge them are among the checks."""
    phases = [phase["id"] for phase in pack.entries("phases") if phase["id"] and phase["program"]]
    needed = set()
    for entry in pack.entries("requires"):
        wanted = formula.Condition.of(sweeps.without(entry["holds"])).names if entry["holds"] else ()
        for name in sweeps.names(entry["holds"] or ""):
            entry.require(name, [*GEOMETRY, *sizes(pack)], "holds")
        if wanted and entry["over"] is not None:
            needed.add(_check_over(entry, wanted, pack) if entry["over"] else _check_condition(entry, wanted, pack))
        if entry["phase"] and not phases:
            entry.problem(NO_PHASES, "phase")
        elif entry["phase"] or (formulas.MOVED in wanted and phases):
            entry.require(entry["phase"], phases, "phase")
        for key in ("launch", "files"):
            entry.require_all(key, ids(pack, key))
    if any(entry["holds"] is None or entry["over"] is None for entry in pack.entries("requires")):
        return  # it is not known which rule judges these
    checked = [rule for rule, _ in pack["checks"] or ()]
    for rule, about in (("GEO-05", "sizes and counts"), ("RES-01", "results"), ("RES-02", "several results")):
        if (rule in needed) != (rule in checked):
            pack.problem(
                f"allowed: conditions on {about} in `requires` with {rule} among `checks`, or neither", "requires"
            )


def _check_environment(pack: Values) -> None:
    for name, count in Counter(entry["name"] for entry in pack.entries("environment")).items():
        if count > 1:
            pack.problem(f"found {name} {count} times; allowed: once", "environment")
    for entry in pack.entries("environment"):
        if entry["forbidden"] and entry["value"]:
            entry.problem("found `value` of a forbidden variable; remove one of them", "value")
    if bool(pack.entries("environment")) != ("ENV-06" in [rule for rule, _ in pack["checks"] or ()]):
        pack.problem("allowed: variables in `environment` with ENV-06 among `checks`, or neither", "environment")


def _check_over(entry: Values, wanted: Sequence[str], pack: Values) -> str:
    """Check a condition over repetitions or nodes; gives the rule that judges it."""
    executed = [
        formulas.name_of(each["id"])
        for each in pack.entries("operations")
        if each["id"] and not formulas.is_across(each["formula"] or "")
    ]
    for name in wanted:
        of = formula.of_several(name)
        entry.require(of or name, executed if of else [*formulas.RUN, *sizes(pack)], "holds")
    if not any(map(formula.of_several, wanted)):
        entry.problem("found no operation; allowed with `over`: those of several, such as max(fom)", "holds")
    _check_without(entry, ("if_printed", "phase"), "beside `over`")
    return "RES-02"


def _check_condition(entry: Values, wanted: Sequence[str], pack: Values) -> str:
    """Check a condition on one execution, or on numbers computed from several; gives the rule that judges it."""
    operations = {formulas.name_of(each["id"]): each for each in pack.entries("operations") if each["id"]}
    across = any(
        formulas.is_across(operation["formula"] or "") and output_check.may_be(name, each)
        for name in wanted
        for each, operation in operations.items()
    )
    of_energy = formulas.ENERGY if pack["energy"]["clause"] else ()
    printed = [] if across else [*_printed(pack, entry["phase"]), *of_energy]
    counts = [*formulas.RUN, formulas.MOVED, *(name for name in sizes(pack) if name not in printed)]
    for name in wanted:
        if not any(output_check.may_be(name, result) for result in (*printed, *operations)):
            entry.require(name, [*counts, *operations, *printed], "holds")
    on_results = not {*wanted} <= {*counts}
    if on_results and formulas.MOVED in wanted:
        entry.problem(f"found {formulas.MOVED} together with results; allowed: two conditions", "holds")
    if across:
        _check_without(entry, ("if_printed", "phase"), "in a condition on numbers of several executions")
        return "RES-02"
    if on_results:
        return "RES-01"
    _check_without(entry, ("if_printed", "full_size", "explain"), "in a condition on sizes and counts")
    return "GEO-05"


def _check_without(entry: Values, keys: Sequence[str], where: str) -> None:
    for key in keys:
        if entry[key]:
            entry.problem(f"not allowed {where}; remove it", key)


def _check_energy(pack: Values) -> None:
    """Check that a demand for energy is judged, and that no operation or result has its names."""
    demand, is_judged = pack["energy"], "RUN-10" in [rule for rule, _ in pack["checks"] or ()]
    if (demand["level"] or demand["peak"]) and not demand["clause"]:
        demand.problem("clause is missing; add it", "clause")
    elif bool(demand["clause"]) != is_judged:
        pack.problem(
            "allowed: energy with RUN-10 among `checks`, or neither", "energy" if demand["clause"] else "checks"
        )
    names = [*map(formulas.name_of, ids(pack, "operations")), *_printed(pack, None)]
    for name in formulas.ENERGY if is_judged else ():
        if name in names:
            pack.problem(f"found an operation or a result {name}; allowed beside energy: other names", "energy")


def _check_builds(pack: Values) -> None:
    """Check that the rules which judge categories of builds are among the checks."""
    categories, checked = pack.entries("builds"), [rule for rule, _ in pack["checks"] or ()]
    if any(each["changes"] != BUILDING for each in categories) and "SRC-03" not in checked:
        pack.problem("found `changes`; allowed: with SRC-03 among `checks`", "builds")
    if any(any(each["flags"].values()) for each in categories if each["flags"]) != ("SRC-07" in checked):
        pack.problem("allowed: `flags` of a category with SRC-07 among `checks`, or neither", "builds")


def _printed(pack: Values, phase: str | None) -> list[str]:
    """The names of records and facts that an output has: that of a phase, or of the only program. Those of mdtest and
    ior, which have parsers, have none here: operations name their results.
    """
    named = [each["program"] for each in pack.entries("phases") if phase and each["id"] == phase]
    chosen = [each for each in pack.entries("programs") if each["id"] in named]
    given = [each["results"] for each in (*chosen, pack) if each["results"] and each["results"]["format"]]
    if given:
        records = [each["name"] for each in given[0].entries("records") if each["name"] and not each["check_only"]]
        facts = given[0]["facts"] or ()
    else:
        applet = next((each["applet"] or each["id"] for each in chosen), pack["applet"])
        form = programs.described(applet) if applet in DESCRIBED else OutputFormat("text")
        records, facts = [each.name for each in form.records], form.facts
    return [formulas.name_of(name) for name in (*records, *dict(facts))]
