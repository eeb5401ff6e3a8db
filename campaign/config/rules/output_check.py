"""Conditions between the values of a pack's `results`. Problems are reported to the document; see
docs/pack-results.md.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

from campaign.config.rules import formulas, output_format, sweeps
from campaign.config.rules.output_format import BUILT_IN, FORMATS, RESULTS, SAME, SECTION, STATISTICS, is_shared
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


def check(values: dict[str, Any], document: Document) -> None:
    """Check `results` of a pack. `values`: those of the whole pack."""
    phases = {phase["id"]: phase["program"] for _, phase in entries(values, "phases")}
    shared = bool(phases and values["results"] and values["results"]["format"])
    of_all: list[int] = []  # operations of programs whose output is read by the pack's `results`
    for index, program in entries(values, "programs"):
        of_program = [
            position for position, each in entries(values, "operations") if phases.get(each["phase"]) == program["id"]
        ]
        applet, results = program["applet"] or program["id"], program["results"]
        if shared and applet and results and is_shared(applet, results["format"]):
            of_all += of_program
        else:
            check_output(results, applet, ("programs", index), document)
            _check_names(values, of_program, results, ("programs", index), document)
    if shared:
        check_output(values["results"], None, (), document)
        _check_names(values, of_all, values["results"], (), document)
        if not of_all:
            document.problem(("results",), "no operation uses these results; remove it")
    elif values["applet"] != "" and not phases:
        check_output(values["results"], values["applet"], (), document)
        everything = [position for position, _ in entries(values, "operations")]
        _check_names(values, everything, values["results"], (), document)


def check_output(results: dict[str, Any] | None, applet: str | None, at: Place, document: Document) -> None:
    """Check how the output of a program is read. `applet`: its name, None for that of several."""
    if results is None or results["format"] is None:
        return
    within: Place = (*at, "results")
    if not results["format"]:
        if applet is not None and applet not in BUILT_IN:
            problem = (
                f"found {applet}; allowed: {', '.join(BUILT_IN)}; or add `results`, which describes the output of "
                f"{applet}"
            )
            document.problem((*at, "applet"), problem)
        if any(results[key] for key in RESULTS.fields):
            document.problem((*within, "format"), f"required key missing; allowed: {', '.join(FORMATS)}")
        return
    if applet in BUILT_IN:
        document.problem(
            within,
            f"{applet} is built in: its output is known; remove `results`, or choose an applet name other than "
            f"{', '.join(BUILT_IN)}",
        )
    _check_whole(results, within, document)
    for index, record in entries(results, "records"):
        _check_record(results, record, (*within, "records", index), document)


def _attempt(at: Place, document: Document, read: Callable[[str], Any], text: str) -> Any:
    """The result of `read` for a text, or None after reporting its ValueError."""
    try:
        return read(text)
    except ValueError as error:
        return document.problem(at, str(error))


def _facts(results: dict[str, Any]) -> list[str]:
    return [name for name, _ in results["facts"] or ()]


def _check_whole(results: dict[str, Any], within: Place, document: Document) -> None:
    kind = results["format"]
    if not results["records"]:
        document.problem((*within, "records"), "no records; give at least one")
    if results["end"] and kind in _TREES:
        document.problem((*within, "end"), f"found `end`, which format {kind} does not use; remove it")
    document.require_all((*within, "required"), results["required"], _facts(results))
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
            document.problem((*at, key), f"found `{key}` with {kind}; allowed: only with {', '.join(formats)}")
    needed = "pattern" if kind == "text" else "value"
    if record[needed] == "":
        document.problem((*at, needed), f"required key missing; format {kind} needs it")
    if record["until"] and record["after"] == "":
        document.problem((*at, "until"), "found `until` without `after`; add `after` or remove it")
    if kind in _TREES:
        _check_paths(record, at, document)
    if None in (record["pattern"], record["after"], record["columns"]):
        return  # reported already; the names in them are not known
    of_line = _names_of_line(kind, record, at, document)
    known = (*of_line, *_facts(results), "value")
    _check_placeholders(record["name"], known, (*at, "name"), document)
    _check_number(results, record, of_line, at, document)
    _check_matches(results, record, at, document)
    if record["plausible"]:
        _check_plausible(results, record, known, (*at, "plausible"), document)


def _check_paths(record: dict[str, Any], at: Place, document: Document) -> None:
    paths: dict[Place, str] = {(key,): record[key] for key in ("each", "value")}
    paths |= {("where", path): path for path, _ in record["where"] or ()}
    paths |= {("labels", name): path for name, path in record["labels"] or ()}
    for place, path in paths.items():
        if path:
            _attempt((*at, *place), document, JsonPath.of, path)


def _names_of_line(kind: str, record: dict[str, Any], at: Place, document: Document) -> tuple[str, ...]:
    """The names of the values in a record's line or entry."""
    names = [name for name, _ in record["labels"] or ()]
    for key in ("pattern", "after", "columns"):
        groups = line_pattern.compile(record[key]).groupindex
        if key == "pattern" and record[key] and "value" not in groups:
            document.problem((*at, key), "no group `value`; put (?P<value>…) around the number")
        names += groups
    if kind == "keyvalue":
        names.append("unit")
        _attempt((*at, "value"), document, line_pattern.compile, output_format.key_pattern(record["value"] or ""))
    if doubled := sorted({name for name in names if names.count(name) > 1}):
        document.problem(at, f"value {doubled[0]} defined twice; use different names")
    return tuple(names)


def _check_placeholders(text: str | None, known: Iterable[str], at: Place, document: Document) -> None:
    for name in sweeps.names(text or ""):
        if name not in known:
            document.problem(at, f"found {{{name}}}; allowed: {_listed(known)}")


def _check_number(
    results: dict[str, Any], record: dict[str, Any], of_line: tuple[str, ...], at: Place, document: Document
) -> None:
    if record["units"] and "unit" not in of_line:
        document.problem((*at, "units"), "found `units`; allowed: only where the line gives the value `unit`")
    several = record["take"] not in (None, "only") or record["of"]
    if several and results["format"] not in _TREES and results["end"] == "" and record["matches"] is None:
        document.problem(
            (*at, "take"),
            f"found {record['take']}; add `results.end` or `matches`: without them a missing line is not noticed",
        )
    printed = [name for name in STATISTICS if name in of_line]
    if printed and record["take"] in ("maximum", "minimum", "mean", "median"):
        document.problem(
            (*at, "take"), f"found {record['take']} together with the program's own {printed[0]}; remove one of them"
        )


def _check_matches(results: dict[str, Any], record: dict[str, Any], at: Place, document: Document) -> None:
    asked, known = record["matches"], (*_facts(results), SAME, SECTION)
    if asked == SECTION and record["after"] == "":
        document.problem((*at, "matches"), f"found {SECTION} without `after`; add `after` or give a number")
    elif isinstance(asked, str) and asked not in known:
        document.problem((*at, "matches"), f"found {asked}; allowed: a number, {_listed(known)}")


def _check_plausible(
    results: dict[str, Any], record: dict[str, Any], known: tuple[str, ...], at: Place, document: Document
) -> None:
    _check_placeholders(record["plausible"], known, at, document)
    others = [other["name"] or "" for _, other in entries(results, "records") if other is not record]
    records = [formulas.name_of(other) for other in others if _BRACES.sub("", other)]
    with_values = _BRACES.sub(_ANY, record["plausible"])
    for condition in _attempt(at, document, formulas.conditions, with_values) or ():
        for name in condition.names:
            if name not in (*known, _ANY) and not any(_may_be(name, other) for other in records):
                document.problem(at, f"found {name}; allowed: {_listed(known)}")


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
