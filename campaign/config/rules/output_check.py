"""Conditions between the values of a pack's `results`, each with its message; see docs/pack-results.md."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

from campaign.config.rules import formulas, output_format, sweeps
from campaign.core import line_pattern
from campaign.core.placed_json import JsonPath
from campaign.core.schema import Values

_LINES = ("text", "keyvalue", "table")
_TREES = ("json", "jsonl")
_COLUMNS = ("table", "csv")
_BRACES = re.compile(r"\{[a-z0-9_]+\}")
_ANY = "any"  # what stands for a value in braces
# Keys of a record that only some formats have.
_OF_FORMATS = {
    "pattern": ("text",),
    "value": tuple(name for name in output_format.FORMATS if name != "text"),
    "each": _TREES,
    "where": (*_COLUMNS, *_TREES),
    "labels": (*_COLUMNS, *_TREES),
    "after": _LINES,
    "until": _LINES,
    "unless": _LINES,
    "columns": ("text",),
}


def check(pack: Values) -> None:
    phases = {phase["id"]: phase["program"] for phase in pack.entries("phases")}
    has_shared_results = bool(pack["results"] and pack["results"]["format"])
    sharing_operations: list[Values] = []  # operations of programs whose output is read by the pack's `results`
    for program in pack.entries("programs"):
        operations = [
            operation for operation in pack.entries("operations") if phases.get(operation["phase"]) == program["id"]
        ]
        applet, results = program["applet"] or program["id"], program["results"]
        if has_shared_results and applet and results and output_format.is_shared(applet, results["format"]):
            sharing_operations += operations
        else:
            check_output(program, applet, operations)
    if has_shared_results:
        check_output(pack, None, sharing_operations)
        if not sharing_operations:
            pack.problem("no operation uses these results; remove it", "results")


def check_output(holder: Values, applet: str | None, operations: list[Values]) -> None:
    """Check the `results` of a program or of a pack. `applet`: the program's name, None for several programs;
    `operations`: those whose records are read so.
    """
    results = holder["results"]
    if results is None or results["format"] is None:
        return
    if not results["format"]:
        if applet is not None and applet not in output_format.BUILT_IN:
            holder.problem(
                f"found {applet}; allowed: {', '.join(output_format.BUILT_IN)}; or add `results`, which describes the "
                f"output of {applet}",
                "applet",
            )
        if any(results.values()):
            results.problem(f"required key missing; allowed: {', '.join(output_format.FORMATS)}", "format")
        return
    if applet in output_format.BUILT_IN:
        results.problem(
            f"{applet} is built in: its output is known; remove `results`, or choose an applet name other than "
            f"{', '.join(output_format.BUILT_IN)}"
        )
    if results["file"] and results["stream"] == "stderr":
        results.problem("found stderr with `file`, which is read as part of stdout; remove one of them", "stream")
    if results["format"] not in output_format.FORMATS:
        _check_reader(results)
        return
    _check_results(results, bool(operations))
    for record in results.entries("records"):
        _check_record(results, record)
    _check_names(results, operations)


def _read_or_report(holder: Values, read: Callable[[str], Any], text: str, *path: str) -> Any:
    """The result of `read` for a text, or None after reporting its ValueError."""
    try:
        return read(text)
    except ValueError as error:
        holder.problem(str(error), *path)
        return None


def _facts(results: Values) -> list[str]:
    return [name for name, _ in results["facts"] or ()]


def _check_reader(results: Values) -> None:
    """Check that nothing describes what a reader in code reads itself."""
    described = [f"`{key}`" for key in ("records", "facts", "required") if results[key]]
    if described:
        results.problem(
            f"found {results['format']}; allowed with {', '.join(described)}: {', '.join(output_format.FORMATS)}; a "
            "reader in code does not use them",
            "format",
        )


def _check_results(results: Values, measures: bool) -> None:
    kind = results["format"]
    if not results["records"] and (kind != "text" or (measures and not results["wall"])):
        results.problem("no records; give at least one", "records")
    if results["end"] and kind in _TREES:
        results.problem(f"found `end`, which format {kind} does not use; remove it", "end")
    results.require_all("required", _facts(results))
    for name, text in results["facts"] or ():
        if text is None:
            continue
        if kind in _TREES:
            _read_or_report(results, JsonPath.parse, text, "facts", name)
        elif kind == "keyvalue":
            _read_or_report(results, line_pattern.compile, output_format.fact_key_pattern(text), "facts", name)
        else:
            pattern = _read_or_report(results, line_pattern.compile, text, "facts", name)
            if pattern and pattern.groups != 1:
                problem = f"found {pattern.groups} groups; allowed: exactly one, (…), around the value"
                results.problem(problem, "facts", name)


def _check_record(results: Values, record: Values) -> None:
    kind = results["format"]
    for key, formats in _OF_FORMATS.items():
        if record[key] and kind not in formats:
            record.problem(f"found `{key}` with {kind}; allowed: only with {', '.join(formats)}", key)
    needed = "pattern" if kind == "text" else "value"
    if record[needed] == "":
        record.problem(f"required key missing; format {kind} needs it", needed)
    if record["until"] and record["after"] == "":
        record.problem("found `until` without `after`; add `after` or remove it", "until")
    if kind in _TREES:
        _check_paths(record)
    if None in (record["pattern"], record["after"], record["columns"]):
        return  # reported already; the names in them are not known
    of_line = _names_of_line(kind, record)
    known_names = (*of_line, *_facts(results), "value")
    _check_placeholders(record, "name", known_names)
    _check_number(results, record, of_line)
    _check_matches(record, (*_facts(results), output_format.SAME, output_format.SECTION))
    if record["plausible"]:
        _check_plausible(results, record, known_names)


def _check_paths(record: Values) -> None:
    paths: dict[tuple[str, ...], str] = {(key,): record[key] for key in ("each", "value")}
    paths |= {("where", path): path for path, _ in record["where"] or ()}
    paths |= {("labels", name): path for name, path in record["labels"] or ()}
    for place, path in paths.items():
        if path:
            _read_or_report(record, JsonPath.parse, path, *place)


def _names_of_line(kind: str, record: Values) -> tuple[str, ...]:
    """The names of the values in a record's line or entry."""
    names = [name for name, _ in record["labels"] or ()]
    for key in ("pattern", "after", "columns"):
        groups = line_pattern.compile(record[key]).groupindex
        if key == "pattern" and record[key] and "value" not in groups:
            record.problem("no group `value`; put (?P<value>…) around the number", key)
        names += groups
    if kind == "keyvalue":
        names.append("unit")
        _read_or_report(record, line_pattern.compile, output_format.key_pattern(record["value"] or ""), "value")
    if doubled := sorted({name for name in names if names.count(name) > 1}):
        record.problem(f"value {doubled[0]} defined twice; use different names")
    return tuple(names)


def _check_placeholders(record: Values, key: str, known_names: Iterable[str]) -> None:
    for name in sweeps.names(record[key] or ""):
        if name not in known_names:
            record.problem(f"found {{{name}}}; allowed: {_listed_names(known_names)}", key)


def _check_number(results: Values, record: Values, of_line: tuple[str, ...]) -> None:
    if record["units"] and "unit" not in of_line:
        record.problem("found `units`; allowed: only where the line gives the value `unit`", "units")
    has_several_matches = record["take"] not in (None, "only") or record["of"]
    if has_several_matches and results["format"] not in _TREES and results["end"] == "" and record["matches"] is None:
        record.problem(
            f"found {record['take']}; add `results.end` or `matches`: without them a missing line is not noticed",
            "take",
        )
    printed_statistics = [name for name in output_format.STATISTICS if name in of_line]
    if printed_statistics and record["take"] in ("maximum", "minimum", "mean", "median", "sum"):
        record.problem(
            f"found {record['take']} together with the program's own {printed_statistics[0]}; remove one of them",
            "take",
        )


def _check_matches(record: Values, known_names: tuple[str, ...]) -> None:
    required_matches = record["matches"]
    if required_matches == output_format.SECTION and record["after"] == "":
        record.problem(f"found {output_format.SECTION} without `after`; add `after` or give a number", "matches")
    elif isinstance(required_matches, str) and required_matches not in known_names:
        record.problem(f"found {required_matches}; allowed: a number, {_listed_names(known_names)}", "matches")


def _check_plausible(results: Values, record: Values, known_names: tuple[str, ...]) -> None:
    _check_placeholders(record, "plausible", known_names)
    other_names = [other["name"] or "" for other in results.entries("records") if other is not record]
    records = [formulas.name_of(other) for other in other_names if _BRACES.sub("", other)]
    with_values = _BRACES.sub(_ANY, record["plausible"])
    for condition in _read_or_report(record, formulas.conditions, with_values, "plausible") or ():
        for name in condition.names:
            if name not in (*known_names, _ANY) and not any(can_coincide(name, other) for other in records):
                record.problem(f"found {name}; allowed: {_listed_names(known_names)}", "plausible")


def _listed_names(names: Iterable[str]) -> str:
    return ", ".join(dict.fromkeys(names)) or "none"


def _check_names(results: Values, operations: list[Values]) -> None:
    """Check that each of these operations names a record; several records with one name are alternatives."""
    records = [record for record in results.entries("records") if record["name"]]
    names = [record["name"] for record in records]
    if results["wall"]:
        names += [output_format.WALL, output_format.UNCERTAINTY]
    position_records = [record["name"] for record in records if record["take"] not in ("only", "mean", "sum", None)]
    for record in results.entries("records"):
        if record["of"] and record["take"] != "only":
            record.problem(f"found `of` together with take: {record['take']}; remove one of them", "of")
        elif record["of"] and record["of"] not in position_records:
            record.problem(
                f"found {record['of']}; allowed: {_listed_names(position_records)} (records with take: "
                "maximum, minimum, median, first or last)",
                "of",
            )
    for operation in operations:
        record_name = operation["record"]
        if record_name and not any(can_coincide(record_name, name) for name in names):
            operation.problem(
                f"found {record_name}; allowed: {_listed_names(names)}, the records of `results`", "record"
            )


def can_coincide(record: str, name: str) -> bool:
    """Whether two names may become the same text once the names in braces have values."""
    return any(
        re.fullmatch(r"[a-z0-9_.\0-]+".join(map(re.escape, _BRACES.split(pattern_name))), _BRACES.sub("\0", other))
        for pattern_name, other in ((record, name), (name, record))
    )
