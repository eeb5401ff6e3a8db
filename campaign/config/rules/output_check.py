"""What must hold between the values of a pack's `results`. Reports to the document; see docs/rule-packs.md."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

from campaign.config.rules import output_format, sweeps
from campaign.config.rules.output_format import FORMATS, MEASURED, PARSED, STATISTICS
from campaign.core import formula, line_pattern
from campaign.core.placed_json import JsonPath
from campaign.core.schema import entries
from campaign.core.strict_yaml import Document, Place

_LINES = ("text", "keyvalue", "table")
_TREES = ("json", "jsonl")
_COLUMNS = ("table", "csv")
_BRACES = re.compile(r"\{[a-z0-9_]+\}")
# Keys of a record that only some formats have.
_OF_FORMATS = {
    "pattern": ("text",),
    "value": tuple(name for name in FORMATS if name != "text"),
    "each": _TREES,
    "where": (*_COLUMNS, *_TREES),
    "labels": (*_COLUMNS, *_TREES),
    "after": _LINES,
    "until": _LINES,
}


def check(values: dict[str, Any], document: Document) -> None:
    """`values` are those of the whole pack."""
    results, applet = values["results"], values["applet"]
    if results is None or results["format"] is None:
        return
    if not results["format"]:
        if applet is not None and applet not in PARSED:
            allowed = f"{', '.join(PARSED)}; or a pack with `results`, which says how the output of {applet} is read"
            document.problem(("applet",), f"found {applet}; allowed: {allowed}")
        for key in ("records", "facts", "end", "errors", "warnings", "harmless"):
            if results[key]:
                document.problem(("results", "format"), f"missing; allowed: {', '.join(FORMATS)}")
                return
        return
    if applet in PARSED:
        what = f"found it for {applet}, whose output has a parser of its own"
        document.problem(("results",), f"{what}; allowed: for another applet than {', '.join(PARSED)}")
    _check_whole(results, document)
    for index, record in entries(results, "records"):
        _check_record(results, record, ("results", "records", index), document)
    _check_names(values, document)


def _attempt(at: Place, document: Document, read: Callable[[str], Any], text: str) -> Any:
    """What `read` makes of the text, or a problem."""
    try:
        return read(text)
    except ValueError as error:
        return document.problem(at, str(error))


def _check_whole(results: dict[str, Any], document: Document) -> None:
    kind = results["format"]
    if not results["records"]:
        document.problem(("results", "records"), "found none; allowed: one or more")
    for key in ("errors", "warnings", "harmless"):
        for position, text in enumerate(results[key] or ()):
            if text is not None:
                _attempt(("results", key, position), document, line_pattern.compile, text)
    if results["end"]:
        if kind in _TREES:
            document.problem(("results", "end"), f"found one; allowed: not with {kind}, which ends by itself")
        _attempt(("results", "end"), document, line_pattern.compile, results["end"])
    for name, text in results["facts"] or ():
        at: Place = ("results", "facts", name)
        if text is None:
            continue
        if kind in _TREES:
            _attempt(at, document, JsonPath.of, text)
        elif kind == "keyvalue":
            _attempt(at, document, line_pattern.compile, output_format.fact_key_pattern(text))
        else:
            pattern = _attempt(at, document, line_pattern.compile, text)
            if pattern and pattern.compiled.groups != 1:
                document.problem(at, f"found {pattern.compiled.groups} groups; allowed: one, (…), which is the value")


def _check_record(results: dict[str, Any], record: dict[str, Any], at: Place, document: Document) -> None:
    kind = results["format"]
    for key, formats in _OF_FORMATS.items():
        if record[key] and kind not in formats:
            document.problem((*at, key), f"found one; allowed: with {', '.join(formats)}, not with {kind}")
    needed = "pattern" if kind == "text" else "value"
    if record[needed] == "":
        document.problem((*at, needed), f"missing; allowed: one, which the format {kind} needs")
    if record["until"] and record["after"] == "":
        document.problem((*at, "until"), "found one; allowed: only with after")
    known = _known(results, record, at, document)
    for name in sweeps.names(record["name"] or ""):
        if known is not None and name not in known["line"]:
            document.problem((*at, "name"), f"found {{{name}}}; allowed: {_listed(known['line'], '{{{}}}')}")
    _check_number(results, record, known, at, document)


def _known(
    results: dict[str, Any], record: dict[str, Any], at: Place, document: Document
) -> dict[str, tuple[str, ...]] | None:
    """Names of the values that the record's line or entry has (`line`) and of all that a formula may use (`all`)."""
    kind = results["format"]
    found: list[str] = [name for name, _ in record["labels"] or ()]
    for key in ("pattern", "after", "until"):
        if not record[key]:
            continue
        pattern = _attempt((*at, key), document, line_pattern.compile, record[key])
        if pattern is None:
            return None
        if key == "pattern" and "value" not in pattern.groups:
            document.problem((*at, key), "found no group `value`; allowed: (?P<value>…) around the number")
        if key != "until":
            found += pattern.groups
    if kind == "keyvalue":
        found.append("unit")
        _attempt((*at, "value"), document, line_pattern.compile, output_format.key_pattern(record["value"] or ""))
    for key in ("each", "value"):
        if kind in _TREES and record[key]:
            _attempt((*at, key), document, JsonPath.of, record[key])
    for key in ("where", "labels"):
        for name, text in record[key] or ():
            path = name if key == "where" else text
            if kind in _TREES and path is not None:
                _attempt((*at, key, name), document, JsonPath.of, path)
    doubled = sorted({name for name in found if found.count(name) > 1})
    if doubled:
        document.problem(at, f"found the value {doubled[0]} twice; allowed: names that differ")
    facts = [name for name, _ in results["facts"] or ()]
    return {"line": tuple(found), "all": (*found, *facts, "value")}


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
            _attempt((*at, "units", unit), document, output_format.factor, text)
    if known is None:
        return
    if record["units"] and "unit" not in known["line"]:
        document.problem((*at, "units"), "found some; allowed: only where the line has the value `unit`")
    several = record["take"] not in (None, "only")
    if several and results["format"] not in _TREES and results["end"] == "" and record["matches"] is None:
        what = f"found {record['take']}; allowed: with `results.end` or `matches`, which show that none is missing"
        document.problem((*at, "take"), what)
    own = [name for name in STATISTICS if name in known["line"]]
    if own and record["take"] in ("maximum", "minimum", "mean", "median"):
        document.problem(
            (*at, "take"), f"found {record['take']} beside the program's own {own[0]}; allowed: one of them"
        )
    if record["plausible"]:
        for name in _attempt((*at, "plausible"), document, formula.names, record["plausible"]) or ():
            if name not in known["all"]:
                document.problem((*at, "plausible"), f"found {name}; allowed: {_listed(known['all'], '{}')}")


def _listed(names: Iterable[str], form: str) -> str:
    return ", ".join(form.format(name) for name in dict.fromkeys(names)) or f"none but {', '.join(MEASURED)}"


def _check_names(values: dict[str, Any], document: Document) -> None:
    """Each operation names a record; several records of one name are alternatives."""
    names = [record["name"] for _, record in entries(values["results"], "records") if record["name"]]
    for index, operation in entries(values, "operations"):
        record = operation["record"]
        if record and not any(_may_be(record, name) for name in names):
            allowed = f"{', '.join(dict.fromkeys(names)) or 'none'}, the records of `results`"
            document.problem(("operations", index, "record"), f"found {record}; allowed: {allowed}")


def _may_be(record: str, name: str) -> bool:
    """Whether both can be the same text, with values in place of what stands in braces."""
    return any(
        re.fullmatch(r"[a-z0-9.\0-]+".join(map(re.escape, _BRACES.split(one))), _BRACES.sub("\0", other))
        for one, other in ((record, name), (name, record))
    )
