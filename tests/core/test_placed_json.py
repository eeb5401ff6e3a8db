"""JSON whose values know their lines, and paths in it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from campaign.core import placed_json
from campaign.core.placed_json import JsonPath, NotJson, PlacedValue, read

TEXT = """{
  "jobs" : [
    {"name" : "write",
     "bw" : 12.5},
    {"name" : "read", "bw" : 25, "p" : {"99.0" : 3}}
  ]
}
"""


def values_at(path: str) -> list[tuple[Any, int]]:
    return [(placed.value, placed.line) for placed in JsonPath.parse(path).find(read(TEXT)[0])]


@pytest.mark.parametrize(
    ("path", "values"),
    [
        ("jobs[0].bw", [("12.5", 4)]),
        ("jobs[*].bw", [("12.5", 4), ("25", 5)]),
        ("jobs[name=read].bw", [("25", 5)]),
        ('jobs[1].p."99.0"', [("3", 5)]),
        ("jobs[7].bw", []),
        ("jobs.bw", []),
    ],
)
def test_a_path_finds_values_with_their_lines(path: str, values: list[tuple[str, int]]) -> None:
    assert values_at(path) == values


@pytest.mark.parametrize("path", ["a..b", ".a", "a[", "a.", "a b", "[x]", '"a'])
def test_what_is_no_path_is_refused(path: str) -> None:
    with pytest.raises(ValueError, match="allowed: a path such as"):
        JsonPath.parse(path)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('{"a":1', 1),
        ('{"a":1,\n"a":2}', 2),
        ("[1\n2]", 2),
        ("{'a':1}", 1),
        ("[NaN]", 1),
        ('["\\x"]', 1),
        ("[" * 200, 1),
    ],
)
def test_what_is_no_json_is_refused_with_its_line(text: str, line: int) -> None:
    with pytest.raises(NotJson) as refused:
        read(text)
    assert refused.value.line == line


def test_too_many_values_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(placed_json, "MOST_VALUES", 10)
    with pytest.raises(NotJson, match="more than 10 values"):
        read(json.dumps(list(range(10))))


def plain(placed: PlacedValue) -> Any:
    if isinstance(placed.value, list):
        return [plain(entry) for entry in placed.value]
    if isinstance(placed.value, dict):
        return {key: plain(value) for key, value in placed.value.items()}
    return placed.value


def as_texts(value: Any) -> Any:
    if isinstance(value, list):
        return [as_texts(entry) for entry in value]
    if isinstance(value, dict):
        return {key: as_texts(entry) for key, entry in value.items()}
    return value if isinstance(value, str) else json.dumps(value)


_SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
_ANY = st.recursive(
    _SCALARS | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner),
)


@given(_ANY, st.sampled_from([None, 1]))
def test_what_json_writes_is_read_as_it_was(value: Any, indent: int | None) -> None:
    assert plain(read(json.dumps(value, indent=indent))[0]) == as_texts(value)
