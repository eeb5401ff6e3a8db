"""Messages stand in one place per package, with an example of each, and are used as they are written there."""

from __future__ import annotations

import ast
from pathlib import Path
from string import Formatter
from types import ModuleType

import pytest

import campaign
from campaign.core.messages import Message, typed
from tests.support import messages

PACKAGE = Path(campaign.__file__).parent
MODULES = list(messages.modules())
CATALOGUED = sorted({module.__name__.split(".")[1] for module in MODULES})
RAISED = {
    "CampaignError",
    "InputError",
    "EnvironmentLacks",
    "UnknownState",
    "WrongLine",
    "WrongPart",
    "DoesNotApply",
    "ValueError",
}
REPORTED = {"problem", "require"}  # methods of a strict_yaml.Document


def sources(package: str) -> list[Path]:
    return [path for path in sorted((PACKAGE / package).rglob("*.py")) if "messages" not in (*path.parts, path.stem)]


def places(message: Message) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(message.text) if name is not None}


def is_prose(node: ast.expr) -> bool:
    """A literal of several words."""
    if isinstance(node, ast.JoinedStr):
        node = ast.Constant("".join(str(part.value) for part in node.values if isinstance(part, ast.Constant)))
    return isinstance(node, ast.Constant) and isinstance(node.value, str) and len(node.value.split()) > 2


def test_a_message_puts_values_in_its_places() -> None:
    assert Message("{path}: not found", path="my.yaml")(path="a b") == "a b: not found"


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_every_message_has_an_example_of_each_of_its_places(module: ModuleType) -> None:
    assert messages.of(module)
    assert {
        name: sorted(places(message) ^ set(message.example))
        for name, message in messages.of(module).items()
        if places(message) != set(message.example)
    } == {}


@pytest.mark.parametrize("package", CATALOGUED)
def test_every_message_is_used_with_the_values_that_its_places_need(package: str) -> None:
    mine = [module for module in MODULES if module.__name__.split(".")[1] == package]
    known = {name: message for module in mine for name, message in messages.of(module).items()}
    assert len(known) == sum(len(messages.of(module)) for module in mine), "a name stands twice"
    used: set[str] = set()
    wrong = []
    for path in sources(package):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            name = node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
            used.add(name)
            if isinstance(node, ast.Call):
                called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
                given = {keyword.arg for keyword in node.keywords}
                if called in known and None not in given and (node.args or given != places(known[called])):
                    wrong.append(f"{path.relative_to(PACKAGE)}:{node.lineno}: {called}")
    assert wrong == []
    assert sorted(known.keys() - used) == []


@pytest.mark.parametrize("package", CATALOGUED)
def test_no_error_is_raised_with_words_of_its_own(package: str) -> None:
    wrong = []
    for path in sources(package):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call) or not any(map(is_prose, node.args)):
                continue
            if getattr(node.func, "id", "") in RAISED or getattr(node.func, "attr", "") in REPORTED:
                wrong.append(f"{path.relative_to(PACKAGE)}:{node.lineno}")
    assert wrong == []


@pytest.mark.parametrize(
    ("path", "word"),
    [("site.yaml", "site.yaml"), ("/a/b-1.yaml", "/a/b-1.yaml"), ("my rfp.yaml", '"my rfp.yaml"'), ("a$b", '"a\\$b"')],
)
def test_a_path_in_a_hint_is_quoted_only_where_the_shell_needs_it(path: str, word: str) -> None:
    assert typed(path) == word
