"""Conditions between the values of a pack's `results`. Problems are reported to the document; see
docs/pack-results.md.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

from campaign.config.rules import formulas, output_format, sweeps
from campaign.config.rules.output_format import BUILT_IN, FORMATS, SAME, SECTION, STATISTICS, is_shared
from campaign.core import line_pattern
from campaign.core.placed_json import JsonPath
from campaign.core.schema import entries
from campaign.core.strict_yaml import Document, Place

_LINES = ("text", "keyvalue", "table")
_TREES = ("json", "jsonl")
_COLUMNS = ("table", "csv")
_BRACES = re.compile(r"\{[a-z0-9_]+\}")
_ANY = "any"  # what stands for a value in braces
# Keys of a record that only some formats have.
_OF_FORMATS = {
    "pattern": ("text",),
    "value": tuple(name for name in FORMATS if name != "text"),
    "each": _TREES,
    "where": (*_COLUMNS, *_TREES),
    "labels": (*_COLUMNS, *_TREES),
    "after": _LINES,
    "until": _LINES,
    "unless": _LINES,
    "columns": ("text",),
}


_BESIDE_FORMAT = tuple(name for name in output_format.RESULTS.fields if name != "format")


def check(values: dict[str, Any], document: Document) -> None:
    """Check `results` of a pack. `values`: those of the whole pack."""
    phases = {phase["id"]: phase["program"] for _, phase in entries(values, "phases")}
    shared = bool(phases and values["results"] and values["results"]["format"])
    of_all: list[int] = []  # operations of programs whose output is read by the pack's `results`
    for index, program in entries(values, "programs"):
        of_program = [
            position for position, each in entries(values, "operations") if phases.get(each["phase"]) == program["id"]
        ]
        applet = program["applet"] or program["id"]
        if shared and applet and program["results"] and is_shared(applet, program["results"]["format"]):
            of_all += of_program
            continue
        _check_program(program, applet, ("programs", index), document)
        _check_names(values, of_program, program["results"], ("programs", index), document)
    if shared:
        _check_program(values, None, (), document)
        _check_names(values, of_all, values["results"], (), document)
        if not of_all:
            document.problem(("results",), "no operation uses these results; remove it")
    elif values["applet"] != "" and not phases:
        _check_program(values, values["applet"], (), document)
        everything = [position for position, _ in entries(values, "operations")]
        _check_names(values, everything, values["results"], (), document)


def _check_program(holder: dict[str, Any], applet: str | None, at: Place, document: Document) -> None:
    results = holder["results"]
    if results is None or results["format"] is None:
        return
    if not results["format"]:
        if applet is not None and applet not in BUILT_IN:
            problem = (
                f"found {applet}; allowed: {', '.join(BUILT_IN)}; or add `results`, which describes the output of "
                f"{applet}"
            )
            document.problem((*at, "applet"), problem)
        for key in _BESIDE_FORMAT:
            if results[key]:
                problem = f"required key missing; allowed: {', '.join(FORMATS)}"
                document.problem((*at, "results", "format"), problem)
                return
        return
    if applet in BUILT_IN:
        document.problem(
            (*at, "results"),
            f"{applet} is built in: its output is known; remove `results`, or choose an applet name other than "
            f"{', '.join(BUILT_IN)}",
        )
    _check_whole(results, (*at, "results"), document)
    for index, record in entries(results, "records"):
        _check_record(results, record, (*at, "results", "records", index), document)


def _attempt(at: Place, document: Document, read: Callable[[str], Any], text: str) -> Any:
    """The result of `read` for a text, or None after reporting its ValueError."""
    try:
        return read(text)
    except ValueError as error:
        return document.problem(at, str(error))


def _check_whole(results: dict[str, Any], within: Place, document: Document) -> None:
    kind = results["format"]
    if not results["records"]:
        document.problem((*within, "records"), "no records; give at least one")
    for key in ("errors", "warnings", "harmless"):
        for position, text in enumerate(results[key] or ()):
            if text is not None:
                _attempt((*within, key, position), document, line_pattern.compile, text)
    for text, _ in results["explain"] or ():
        _attempt((*within, "explain", text), document, line_pattern.compile, text)
    for position, passage in entries(results, "passages"):
        for key in ("after", "until"):
            if passage[key]:
                _attempt((*within, "passages", position, key), document, line_pattern.compile, passage[key])
    if results["end"]:
        if kind in _TREES:
            document.problem((*within, "end"), f"found `end`, which format {kind} does not use; remove it")
        _attempt((*within, "end"), document, line_pattern.compile, results["end"])
    facts = [name for name, _ in results["facts"] or ()]
    for position, name in enumerate(results["required"] or ()):
        document.require((*within, "required", position), name, facts)
    for name, text in results["facts"] or ():
        at: Place = (*within, "facts", name)
        if text is None:
            continue
        if kind in _TREES:
            _attempt(at, document, JsonPath.of, text)
        elif kind == "keyvalue":
            _attempt(at, document, line_pattern.compile, output_format.fact_key_pattern(text))
        else:
            pattern = _attempt(at, document, line_pattern.compile, text)
            if pattern and pattern.groups != 1:
                document.problem(at, f"found {pattern.groups} groups; allowed: exactly one, (…), around the value")


def _check_record(results: dict[str, Any], record: dict[str, Any], at: Place, document: Document) -> None:
    kind = results["format"]
    for key, formats in _OF_FORMATS.items():
        if record[key] and kind not in formats:
            wrong = f"found `{key}` with {kind}; allowed: only with {', '.join(formats)}"
            document.problem((*at, key), wrong)
    needed = "pattern" if kind == "text" else "value"
    if record[needed] == "":
        document.problem((*at, needed), f"required key missing; format {kind} needs it")
    if record["until"] and record["after"] == "":
        document.problem((*at, "until"), "found `until` without `after`; add `after` or remove it")
    known = _known(results, record, at, document)
    for name in sweeps.names(record["name"] or ""):
        if known is not None and name not in known["all"]:
            document.problem((*at, "name"), f"found {{{name}}}; allowed: {_listed(known['all'])}")
    _check_number(results, record, known, at, document)


def _known(
    results: dict[str, Any], record: dict[str, Any], at: Place, document: Document
) -> dict[str, tuple[str, ...]] | None:
    """Names of values: in the record's line or entry (`line`), and all that a formula may use (`all`)."""
    kind = results["format"]
    names: list[str] = [name for name, _ in record["labels"] or ()]
    for key in ("pattern", "after", "until", "unless", "columns"):
        if not record[key]:
            continue
        pattern = _attempt((*at, key), document, line_pattern.compile, record[key])
        if pattern is None:
            return None
        if key == "pattern" and "value" not in pattern.groupindex:
            document.problem((*at, key), "no group `value`; put (?P<value>…) around the number")
        if key not in ("until", "unless"):
            names += pattern.groupindex
    if kind == "keyvalue":
        names.append("unit")
        _attempt((*at, "value"), document, line_pattern.compile, output_format.key_pattern(record["value"] or ""))
    for key in ("each", "value"):
        if kind in _TREES and record[key]:
            _attempt((*at, key), document, JsonPath.of, record[key])
    for key in ("where", "labels"):
        for name, text in record[key] or ():
            path = name if key == "where" else text
            if kind in _TREES and path is not None:
                _attempt((*at, key, name), document, JsonPath.of, path)
    doubled = sorted({name for name in names if names.count(name) > 1})
    if doubled:
        document.problem(at, f"value {doubled[0]} defined twice; use different names")
    facts = [name for name, _ in results["facts"] or ()]
    return {"line": tuple(names), "all": (*names, *facts, "value")}


def _check_number(
    results: dict[str, Any],
    record: dict[str, Any],
    known: dict[str, tuple[str, ...]] | None,
    at: Place,
    document: Document,
) -> None:
    if record["factor"]:
        _attempt((*at, "factor"), document, output_format.factor, record["factor"])
    for unit, text in record["units"] or ():
        if text is not None:
            _attempt((*at, "units", unit), document, output_format.unit_or_factor, text)
    if known is None:
        return
    if record["units"] and "unit" not in known["line"]:
        document.problem((*at, "units"), "found `units`; allowed: only where the line gives the value `unit`")
    several = record["take"] not in (None, "only") or record["of"]
    if several and results["format"] not in _TREES and results["end"] == "" and record["matches"] is None:
        document.problem(
            (*at, "take"),
            f"found {record['take']}; add `results.end` or `matches`: without them a missing line is not noticed",
        )
    printed = [name for name in STATISTICS if name in known["line"]]
    if printed and record["take"] in ("maximum", "minimum", "mean", "median"):
        document.problem(
            (*at, "take"), f"found {record['take']} together with the program's own {printed[0]}; remove one of them"
        )
    _check_matches(results, record, at, document)
    if record["plausible"]:
        _check_plausible(results, record, known, (*at, "plausible"), document)


def _check_matches(results: dict[str, Any], record: dict[str, Any], at: Place, document: Document) -> None:
    asked, facts = str(record["matches"] or "1"), [name for name, _ in results["facts"] or ()]
    if asked == SECTION and record["after"] == "":
        document.problem((*at, "matches"), f"found {SECTION} without `after`; add `after` or give a number")
    elif not asked.isdigit() and asked not in (*facts, SAME, SECTION):
        document.problem((*at, "matches"), f"found {asked}; allowed: a number, {_listed((*facts, SAME, SECTION))}")


def _check_plausible(
    results: dict[str, Any], record: dict[str, Any], known: dict[str, tuple[str, ...]], at: Place, document: Document
) -> None:
    for name in sweeps.names(record["plausible"]):
        if name not in known["all"]:
            document.problem(at, f"found {{{name}}}; allowed: {_listed(known['all'])}")
    others = [other["name"] or "" for _, other in entries(results, "records") if other is not record]
    records = [formulas.name_of(other) for other in others if _BRACES.sub("", other)]
    with_values = _BRACES.sub(_ANY, record["plausible"])
    for condition in _attempt(at, document, formulas.conditions, with_values) or ():
        for name in condition.names:
            if name not in (*known["all"], _ANY) and not any(_may_be(name, other) for other in records):
                document.problem(at, f"found {name}; allowed: {_listed(known['all'])}")


def _listed(names: Iterable[str]) -> str:
    return ", ".join(dict.fromkeys(names)) or "none"


def _check_names(
    values: dict[str, Any], operations: list[int], results: dict[str, Any] | None, within: Place, document: Document
) -> None:
    """Check that each of these operations names a record; several records with one name are alternatives."""
    if results is None or not results["format"]:
        return
    records = [record for _, record in entries(results, "records") if record["name"]]
    names = [record["name"] for record in records]
    chosen = [record["name"] for record in records if record["take"] not in ("only", "mean", None)]
    for index, record in entries(results, "records"):
        at: Place = (*within, "results", "records", index, "of")
        if record["of"] and record["take"] != "only":
            document.problem(at, f"found `of` together with take: {record['take']}; remove one of them")
        elif record["of"] and record["of"] not in chosen:
            document.problem(
                at,
                f"found {record['of']}; allowed: {_listed(chosen)} (records with take: maximum, minimum, median, "
                "first or last)",
            )
    for index in operations:
        asked = values["operations"][index]["record"]
        if asked and not any(_may_be(asked, name) for name in names):
            wrong = f"found {asked}; allowed: {_listed(names)}, the records of `results`"
            document.problem(("operations", index, "record"), wrong)


def _may_be(record: str, name: str) -> bool:
    """Whether two names may become the same text once the names in braces have values."""
    return any(
        re.fullmatch(r"[a-z0-9_.\0-]+".join(map(re.escape, _BRACES.split(one))), _BRACES.sub("\0", other))
        for one, other in ((record, name), (name, record))
    )
