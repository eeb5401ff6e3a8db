"""docs/clauses.md: its keys, packs and tests, with results that keep and that break each demand, are there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from campaign.config.rfp import Rfp
from campaign.config.rules.format import SCHEMA
from campaign.core.keys import record
from tests.support import schemas

ROOT = Path(__file__).parents[1]
NONE = "—"


def _quoted_words(text: str) -> list[str]:
    return re.findall(r"`([^`]+)`", text)


def _rows() -> list[list[str]]:
    """Number, demand, keys, pack and tests of each kind."""
    lines = re.findall(r"^\| ([0-9]+ \| .*) \|$", (ROOT / "docs/clauses.md").read_text(encoding="utf-8"), re.MULTILINE)
    return [[cell.strip() for cell in line.split(" | ")] for line in lines]


def _keys() -> set[str]:
    """The keys of rule packs and RFPs, as their schemas have them."""
    return {key for schema in (SCHEMA, record(Rfp)) for key, *_ in schemas.reference(schema)}


rows = pytest.mark.parametrize("row", _rows(), ids=lambda row: str(row[0]))


def test_all_kinds_are_there_in_order() -> None:
    assert [int(row[0]) for row in _rows()] == list(range(1, len(_rows()) + 1))
    assert len(_rows()) > 30 and {len(row) for row in _rows()} == {5}


@rows
def test_a_kind_is_stated_by_keys_of_the_schema_which_its_pack_has(row: list[str]) -> None:
    _, _, keys, pack, _ = row
    named_names = _quoted_words(keys)
    assert [key for key in named_names if key not in _keys()] == []
    assert bool(named_names) == (keys != NONE)
    for name in _quoted_words(pack):
        text = (ROOT / "rules" / f"{name}.yaml").read_text(encoding="utf-8")
        assert [key for key in named_names if not re.search(rf"\b{re.split(r'[.]', key)[-1]}:", text)] == []


@rows
def test_a_kind_that_is_stated_has_tests_that_exist(row: list[str]) -> None:
    _, _, keys, _, tests = row
    named_names = _quoted_words(tests)
    assert bool(named_names) == (keys != NONE)
    for name in named_names:
        if "::" in name:
            path, _, function = name.partition("::")
            assert f"\ndef {function}(" in (ROOT / path).read_text(encoding="utf-8"), name
        else:
            path, _, rule = name.partition(" ")
            cases = (ROOT / path).read_text(encoding="utf-8")
            for kind in (r"compliant", r"(broken|rehearsed|to_be_answered|disclosed)"):
                assert re.search(rf"\b{kind}\(\s*\"{rule}\"", cases), (name, kind)
