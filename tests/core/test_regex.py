"""A pattern of a module costs nothing until it is used, and is then what `re.compile` gives."""

from __future__ import annotations

import ast
import gc
import importlib
import pkgutil
import re
from pathlib import Path

import pytest

import campaign
from campaign.core.regex import regex


def test_it_is_compiled_when_it_is_first_used_and_only_then() -> None:
    broken = regex("(")
    with pytest.raises(re.error):
        broken.fullmatch("a")


def test_it_finds_what_a_compiled_pattern_finds() -> None:
    word = regex("(?P<first>[a-z])[a-z]*", re.IGNORECASE)
    assert (word.findall("Ab c"), word.flags & re.IGNORECASE, list(word.groupindex)) == (["A", "c"], 2, ["first"])
    assert all((found := word.fullmatch(text)) and found["first"] == text[0] for text in ("Ab", "c"))


def test_every_pattern_of_the_program_can_be_compiled() -> None:
    for each in pkgutil.walk_packages(campaign.__path__, "campaign."):
        if each.name != "campaign.__main__":
            importlib.import_module(each.name)
    written = [each for each in gc.get_objects() if type(each) is regex and each.__dict__["_given"] != ("(",)]
    assert len(written) > 150
    assert all(each.pattern == each.__dict__["_given"][0] for each in written)


def test_no_module_compiles_a_pattern_while_it_is_loaded() -> None:
    places = []
    for path in Path(campaign.__file__).parent.rglob("*.py"):
        nodes: list[ast.AST] = [ast.parse(path.read_text(encoding="utf-8"))]
        while nodes:
            node = nodes.pop()
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "re.compile":
                places.append(f"{path}:{node.lineno}")
            nodes += [each for each in ast.iter_child_nodes(node) if not isinstance(each, ast.FunctionDef | ast.Lambda)]
    assert places == []
