"""Names say what they hold: few are a pronoun, a participle or a preposition alone."""

from __future__ import annotations

import pytest

from tests.support import names

MOST_IN_PACKAGE = 5.0  # vague names for each 1,000
MOST_IN_MODULE = 10.0  # of a module with more than FEWEST names
FEWEST = 100
# Modules whose names are fields of a file: of the catalogue of rules, the comparison of sources, and the database; and
# one that calls the parser of declared outputs.
NAMED_AS_IN_FILES = {
    "campaign/core/records.py", "campaign/judge/rule.py", "campaign/results/source/facts.py",
    "campaign/results/environment/facts.py", "tests/results/parsers/test_declared.py",
}  # fmt: skip

MODULES = names.counts_by_module()


@pytest.mark.parametrize("package", names.counts_by_package(MODULES))
def test_few_names_of_a_package_are_vague(package: str) -> None:
    counts = names.counts_by_package(MODULES)[package]
    assert counts.rate <= MOST_IN_PACKAGE, f"python -m tests.support.names --list | grep ^{package}/ has them"


def test_no_module_has_many_vague_names() -> None:
    rates = {module: counts.rate for module, counts in MODULES.items() if counts.names > FEWEST}
    rates = {module: rate for module, rate in rates.items() if module not in NAMED_AS_IN_FILES}
    assert {module: round(rate) for module, rate in rates.items() if rate > MOST_IN_MODULE} == {}


def test_variables_arguments_and_functions_are_counted() -> None:
    source = "def told(given, attempt):\n    for each in attempt:\n        found = each\n    return expected\n"
    counts, vague = names.vague_names("example.py", source)
    assert sorted((entry.line, entry.name) for entry in vague) == [
        (1, "given"), (1, "told"), (2, "each"), (3, "each"), (3, "found"),
    ]  # fmt: skip
    assert (counts.names, counts.vague) == (8, 5)


def test_attributes_and_parts_of_a_name_are_not_counted() -> None:
    assert vague_of("row.given = attempts_found") == []
    assert vague_of("_found = 1") == ["_found"]


def test_what_another_library_calls_something_is_not_counted() -> None:
    assert vague_of("from hypothesis import given\ngiven(given=1)") == []
    assert vague_of("from tests.support import given\ngiven(1)") == ["given"]


def vague_of(source: str) -> list[str]:
    return [entry.name for entry in names.vague_names("example.py", source)[1]]
