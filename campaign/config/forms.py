"""The mapping of a buyer's form: which of its cells hold which results. Its keys are the fields of the dataclasses;
described in docs/forms.md.

Results have the names that cells have in commands, `target/launch/files/operation`, in an RFP of several parts with
the part before them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from campaign.config import values
from campaign.core import keys, schema

VALUES = ("value", "median", "low", "high", "sd", "minimum", "maximum")  # numbers in the unit of the result
FIELDS = (
    *VALUES,
    *("processes", "nodes", "processes_per_node", "n", "cv", "energy", "peak_power"),
    *("unit", "status", "note", "date"),
)
ANSWERS = "answers/"  # before a clause: the campaign file's answer to it
OFFERED = "offered."  # before a key of `proposed`
SCORES = "scores/"  # before the id of a score of the RFP
TOGETHER = " | "  # between texts of one heading that are in several cells
AXES = ("sheets", "row_groups", "rows", "column_groups", "columns")  # placeholders, and where their texts are found
_FIELD = "|".join(FIELDS)
_ENTRY = re.compile(
    rf"(?P<result>(.+/)?{re.escape(OFFERED)}\w+|.+?)"
    rf"(\.(?P<field>{_FIELD}))?( in (?P<unit>\S+?))?(?(field)|(\.(?P<field_after_unit>{_FIELD}))?)"
)
_TEXT = re.compile(rf"([^/]+/)?({ANSWERS}.*|(contact|system)/[^/]*)")  # not target/system/files/operation
_NO_RESULT = re.compile(rf"{_TEXT.pattern}|(.*/)?{re.escape(OFFERED)}\w+|{SCORES}.*")


@dataclass(frozen=True, slots=True)
class FormEntry:
    """What a cell of a form holds: a field of a result or a score, a number in `unit` if that is given; or a text of
    the campaign file.
    """

    name: str  # as the mapping or the form has it
    result: str
    field: str = "value"
    unit: str = ""  # "": that of the rule pack

    @classmethod
    def parse(cls, name: str) -> FormEntry:
        """`scratch/peak/shared/stat.processes`, `scratch/peak/shared/stat in kops/s`, `answers/8.2.2`."""
        match = None if _TEXT.fullmatch(name) else _ENTRY.fullmatch(name)
        if match is None:
            return cls(name, name)
        return cls(name, match["result"], match["field"] or match["field_after_unit"] or "value", match["unit"] or "")

    @property
    def is_of_result(self) -> bool:
        return not _NO_RESULT.fullmatch(self.result)


_NAME = (
    "a result such as scratch/peak/shared/stat, with .processes or ' in GB/s' behind it; or answers/CLAUSE, "
    "contact/KEY, system/KEY, offered.KEY, scores/ID"
)
_ENTRY_NAME = schema.Text(_NAME, longest=300)
_CELL = schema.matching(r"([^!]+!)?[A-Z]{1,3}[1-9][0-9]{0,6}", "a cell such as D7 or Results!D7")
_HEADINGS = schema.MapOf(
    schema.Text("a heading's text", longest=300, numbers=True),
    schema.Text("a part of a result's name", longest=100, numbers=True),
)


@dataclass(frozen=True, slots=True)
class FormTable:
    """A table whose cells are found by the texts of their headings, each of which stands for a part of the name."""

    result: str = keys.needed(
        _ENTRY_NAME,
        "the result in a cell, in which {rows}, {columns}, {row_groups}, {column_groups} and {sheets} stand for what "
        "the cell's headings mean: `scratch/{rows}/{row_groups}/{columns} in kops/s`",
    )
    rows: tuple[tuple[str, str], ...] = keys.needed(
        _HEADINGS, "text of each row's heading, and what it means; ` | ` joins texts that are in several cells of a row"
    )
    columns: tuple[tuple[str, str], ...] = keys.needed(_HEADINGS, "the same for columns")
    row_groups: tuple[tuple[str, str], ...] = keys.key(
        _HEADINGS, "the same for the headings of groups of rows: a group goes as far as the heading of the next one"
    )
    column_groups: tuple[tuple[str, str], ...] = keys.key(_HEADINGS, "the same for groups of columns")
    sheets: tuple[tuple[str, str], ...] = keys.key(
        _HEADINGS,
        "names of the sheets that have the table, and what they mean; in a DOCX `table 1`, `table 2`, …",
        says_default="the one sheet that has all headings",
    )


@dataclass(frozen=True, slots=True)
class FormMapping:
    """The cells of one form. Cells that are marked in the form itself need no mapping."""

    file: str = keys.key(values.LINE, "the form; a path is relative to this file's directory", "")
    cells: tuple[tuple[str, str], ...] = keys.key(
        schema.MapOf(_CELL, _ENTRY_NAME, most=2000),
        "single cells with their results; without a sheet, those of the first one",
    )
    tables: tuple[FormTable, ...] = keys.key(
        schema.ListOf(keys.record(FormTable)), "tables whose cells are found by headings"
    )
