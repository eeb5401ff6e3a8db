"""What replaces the standard library's dataclass is compared and hashed by its fields, and mypy keeps it unchanged."""

from __future__ import annotations

import ast
from pathlib import Path

from mypy import api

import campaign
from campaign.core.frozen import dataclass


@dataclass(frozen=True, slots=True)
class Point:
    x: int
    y: int = 0


def test_objects_with_the_same_fields_are_equal_and_have_one_hash() -> None:
    assert Point(1) == Point(1, 0) != Point(2)
    assert len({Point(1), Point(1, 0), Point(2)}) == 2


def test_there_is_no_room_for_anything_but_the_fields() -> None:
    assert not hasattr(Point(1), "__dict__")


def test_the_type_checker_refuses_to_set_a_field() -> None:
    program = "from tests.core.test_frozen import Point\nPoint(1).x = 2\n"
    said, _, status = api.run(["--config-file=", "--no-incremental", "-c", program])
    assert (status, 'Property "x" defined in "Point" is read-only' in said) == (1, True), said


def test_every_frozen_dataclass_of_the_program_is_made_so() -> None:
    wrong = []
    for path in Path(campaign.__file__).parent.rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        froze = any(isinstance(node, ast.keyword) and node.arg == "frozen" for node in ast.walk(tree))
        taken = [node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and _names(node)]
        if froze and path.name != "frozen.py" and taken != ["campaign.core.frozen"]:
            wrong.append(str(path))
    assert wrong == []


def _names(found: ast.ImportFrom) -> bool:
    return any(each.name == "dataclass" for each in found.names)
