"""The format of a rule pack: its schema, and what must hold between its values. The reference is docs/rule-packs.md."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

from campaign.schema import Boolean, Choice, Field, ListOf, MapOf, Number, Record, Text, matching
from campaign.strict_yaml import Document

PROFILES = ("rehearsal", "full")
PLACEHOLDERS = (
    "{items_per_process}",
    "{items_total}",
    "{directory}",
    "{processes}",
    "{nodes}",
    "{processes_per_node}",
    "{rank_offset}",
    "{flags}",
)


_LINE = Text("a text on one line")
_CLAUSE = Text('a clause in quotes, such as "8.4"', longest=80)
_ID = matching(r"[a-z][a-z0-9-]*", "lower-case letters, digits and -, a letter first", longest=40)
_FLAG = matching(r"-[A-Za-z0-9]|--[a-z][A-Za-z0-9._-]*", "a flag such as -F or --name", longest=60)
_WORD = matching(r"[!-~]+", "printable ASCII without spaces", longest=60)

_LAUNCH = Record(
    {
        "id": Field(_ID, "its name in campaign files and cells", required=True),
        "title": Field(_LINE, "its row in the table", required=True),
        "clause": Field(_CLAUSE, "where the RFP asks for it", required=True),
        "text": Field(_LINE, "what the RFP asks for", default=""),
        "processes": Field(Number(1, 2**31 - 1), "the count, where the RFP fixes it"),
        "nodes": Field(Number(1, 10**6), "the count, where the RFP fixes it"),
        "minimum_nodes": Field(Number(1, 10**6), "the fewest nodes that count", default=1),
        "whole_system": Field(
            Boolean(), "the maximum concurrency: `all` stands for it", default=False, default_says="false"
        ),
    }
)
_FILES = Record(
    {
        "id": Field(_ID, "its name in cells", required=True),
        "title": Field(
            _LINE, "its heading in the table; `{items_total}` stands for the number of items", required=True
        ),
        "clause": Field(_CLAUSE, "where the RFP asks for it", required=True),
        "flags": Field(ListOf(_WORD, most=20), "what takes the place of `{flags}`", default=()),
        "inflated": Field(
            ListOf(_ID, most=20), "operations of which the benchmark counts more than happen", default=()
        ),
    }
)
_OPERATION = Record(
    {
        "id": Field(_ID, "its name in cells", required=True),
        "title": Field(_LINE, "its column in the table", required=True),
        "record": Field(_ID, "the result of that name in the benchmark's output", required=True),
        "unit": Field(_LINE, "unit of the value", required=True),
    }
)
_FLAGS = Record(
    {
        "flag": Field(_FLAG, "the flag", required=True),
        "value": Field(Boolean(), "whether it takes a value", default=False, default_says="false"),
        "clause": Field(_CLAUSE, "where the RFP speaks of it", required=True),
        "why": Field(_LINE, "its meaning, or why it is allowed", default=""),
    }
)
SCHEMA = Record(
    {
        "id": Field(_ID, "the pack's name, also that of its file", required=True),
        "version": Field(Number(1, 10**6), "raised with every change of meaning", required=True),
        "title": Field(_LINE, "one line for `campaign rules`", required=True),
        "document": Field(_LINE, "the text that the clauses refer to", required=True),
        "caption": Field(_LINE, "of the table", required=True),
        "applet": Field(_ID, "the program of the benchmark binary: `mdtest`, …", required=True),
        "launch": Field(ListOf(_LAUNCH, least=1, most=50), "launch conditions, in the table's order", required=True),
        "files": Field(ListOf(_FILES, least=1, most=50), "file configurations, in the table's order", required=True),
        "operations": Field(ListOf(_OPERATION, least=1, most=50), "results of one execution", required=True),
        "arguments": Field(
            Text("the words of the command line after the program, on one line", longest=1000),
            f"flags, and the placeholders {', '.join(f'`{word}`' for word in PLACEHOLDERS)}",
            required=True,
        ),
        "fixed": Field(ListOf(_FLAGS), "flags that must not be changed or omitted", default=()),
        "derived": Field(ListOf(_FLAGS), "flags that are set from the geometry and the target", default=()),
        "allowed": Field(ListOf(_FLAGS), "flags that a campaign file may add", default=()),
        "items": Field(
            Record(
                {
                    "full": Field(Number(1, 2**50, power=True), "how many the RFP asks for in total"),
                    "rehearsal": Field(Number(1, 2**50, power=True), "how many a rehearsal makes"),
                    "at_least": Field(
                        Boolean(), "where the total does not divide, more are made", default=True, default_says="true"
                    ),
                    "clause": Field(_CLAUSE, "where the RFP gives the total", default=""),
                    "unit": Field(_ID, "what the items are", default="files"),
                }
            ),
            "what `{items_per_process}` is made of",
        ),
        "selection": Field(
            Record(
                {
                    "operation": Field(_ID, "the operation that decides", required=True),
                    "best": Field(Choice(("highest", "lowest")), "which value is the best", required=True),
                    "clause": Field(_CLAUSE, "where the RFP says so", required=True),
                }
            ),
            "which valid attempt a cell reports",
            required=True,
        ),
        "checks": Field(
            MapOf(matching(r"[A-Z]{3}-[0-9]{2}", "a rule's id such as FLG-01"), _CLAUSE),
            "rules of the catalogue that apply, with the clause each rests on",
            default=(),
        ),
        "notes": Field(
            ListOf(
                Record(
                    {
                        "clause": Field(_CLAUSE, "the place in the RFP", required=True),
                        "text": Field(Text("a text", longest=1000, lines=True), "how it is read", required=True),
                    }
                )
            ),
            "how open or contradictory places are read",
            default=(),
        ),
    }
)


def check(values: dict[str, Any], document: Document) -> None:
    """Report what is wrong between the values of a pack; those that had a problem of their own are None."""
    for key in ("launch", "files", "operations"):
        _check_ids(values, key, document)
    _check_launch(values["launch"] or (), document)
    _check_flags(values, document)
    _check_arguments(values, document)
    _check_operations(values, document)


def _entries(values: dict[str, Any], key: str) -> list[tuple[int, dict[str, Any]]]:
    """The entries of a list that could be read, with their places in it."""
    return [(index, entry) for index, entry in enumerate(values[key] or ()) if entry is not None]


def _check_ids(values: dict[str, Any], key: str, document: Document) -> None:
    seen: set[str] = set()
    for index, entry in _entries(values, key):
        if entry["id"] in seen:
            document.problem((key, index, "id"), f"found {entry['id']} a second time; allowed: ids that differ")
        elif entry["id"] is not None:
            seen.add(entry["id"])


def _check_launch(conditions: Sequence[dict[str, Any] | None], document: Document) -> None:
    for index, condition in enumerate(conditions):
        if condition is None:
            continue
        nodes, processes, fewest = condition["nodes"], condition["processes"], condition["minimum_nodes"] or 1
        if nodes is not None and fewest > nodes:
            document.problem(("launch", index, "minimum_nodes"), f"found {fewest}; allowed: up to {nodes}, its nodes")
        if processes is not None and processes % (nodes or 1):
            document.problem(
                ("launch", index, "processes"), f"found {processes}; allowed: a multiple of {nodes}, its nodes"
            )
        if condition["whole_system"] and (nodes is not None or processes is not None):
            document.problem(("launch", index, "whole_system"), "found true; allowed: true only without fixed counts")


def _check_flags(values: dict[str, Any], document: Document) -> None:
    """A flag has one role: fixed, derived, allowed, or of file configurations."""
    roles: dict[str, str] = {}
    for index, files in _entries(values, "files"):
        for word in files["flags"] or ():
            if word is not None and word.startswith("-"):
                roles[word] = f"files[{index}].flags"
    for key in ("fixed", "derived", "allowed"):
        for index, entry in _entries(values, key):
            flag = entry["flag"]
            if flag in roles:
                document.problem(
                    (key, index, "flag"), f"found {flag}, which is in {roles[flag]} too; allowed: one role"
                )
            elif flag is not None:
                roles[flag] = key


def _check_arguments(values: dict[str, Any], document: Document) -> None:
    if values["arguments"] is None:
        return
    at = ("arguments",)
    words = values["arguments"].split()
    for word, count in Counter(words).items():
        if "{" in word and word not in PLACEHOLDERS:
            document.problem(at, f"found {word}; allowed: {', '.join(PLACEHOLDERS)}, each a word of its own")
        elif count > 1:
            document.problem(at, f"found {word} {count} times; allowed: once")
    if "{flags}" not in words:
        document.problem(at, "found no {flags}; allowed: the placeholder of the file configuration's flags once")
    flags = {entry["flag"] for key in ("fixed", "derived") for _, entry in _entries(values, key)}
    for flag in sorted(flags - {None} - set(words)):
        document.problem(at, f"found no {flag}; allowed: all fixed and derived flags")
    for word in words:
        if word.startswith("-") and word not in flags:
            document.problem(at, f"found {word}; allowed: the fixed and derived flags and {{flags}}")
    items = values["items"]
    if "{items_per_process}" in words and items is not None:
        for profile in PROFILES:
            if items[profile] is None:
                document.problem(
                    ("items", profile), "missing; allowed: a number, since arguments has {items_per_process}"
                )


def _check_operations(values: dict[str, Any], document: Document) -> None:
    ids = [entry["id"] for _, entry in _entries(values, "operations") if entry["id"]]
    for index, files in _entries(values, "files"):
        for position, operation in enumerate(files["inflated"] or ()):
            if operation is not None and operation not in ids:
                place = ("files", index, "inflated", position)
                document.problem(place, f"found {operation}; allowed: {', '.join(ids)}")
        if rest := re.search(r"\{(?!items_total\})[^}]*\}?", files["title"] or ""):
            document.problem(("files", index, "title"), f"found {rest[0]}; allowed: {{items_total}}")
    selection = values["selection"]
    if selection is not None and selection["operation"] is not None and selection["operation"] not in ids:
        document.problem(("selection", "operation"), f"found {selection['operation']}; allowed: {', '.join(ids)}")
