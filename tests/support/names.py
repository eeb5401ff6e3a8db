"""Names that do not say what they hold: how many there are in each package of the program and of its tests, for each
1,000 names.

    .venv/bin/python -m tests.support.names          the rates of the packages
    .venv/bin/python -m tests.support.names --list   each such name with its file and line

Counted are variables and arguments that are one pronoun, participle or preposition, and functions named by one; what
other libraries call something, as hypothesis its `given`, is not.
"""

from __future__ import annotations

import ast
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

PROJECT = Path(__file__).parents[2]
ROOTS = ("campaign", "tests")
PRONOUNS = (
    "both each either few here his how its itself many more most neither now one ones others same several some such "
    "that them then there these this those what which whom whose why"
)
PARTICIPLES = (
    "accepted adjusted altered answered asked called changed chosen computed counted covered declared differing done "
    "ended entered excluded expected explained followed found gathered given gone had has have held judged kept known "
    "looked made matched means meant measured named opened planned printed proper put recorded reported said sent "
    "shared shown sought taken told tried unchanged used wanted written"
)
OTHER_WORDS = (
    "about again alike among anew apart around aside away back below beside beyond doubt first_of last_of later least "
    "less likewise missing_of new_of none_of of of_all of_both of_each of_one of_several of_this of_whole old_of once "
    "only open_of over own past rather read_of ready rest side since so_far than their tried twice under until way "
    "while whole with within without yet"
)
VAGUE = frozenset(f"{PRONOUNS} {PARTICIPLES} {OTHER_WORDS}".split())
FIELD_WORDS = frozenset(
    {"expected", "measured", "planned", "used"}
)  # adjectives with a meaning of their own as variables


@dataclass(frozen=True, slots=True)
class VagueName:
    module: str  # its path in the project
    line: int
    name: str


@dataclass(slots=True)
class NameCounts:
    names: int = 0
    vague: int = 0

    @property
    def rate(self) -> float:
        """Vague names for each 1,000."""
        return 1000 * self.vague / max(1, self.names)


def names_of(tree: ast.AST) -> Iterator[tuple[str, int, bool]]:
    """Every name of a module, its line, and whether it is that of a function."""
    foreign = set(foreign_names(tree))
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id not in foreign:
            yield node.id, node.lineno, False
        elif isinstance(node, ast.arg):
            yield node.arg, node.lineno, False
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name, node.lineno, True


def foreign_names(tree: ast.AST) -> Iterator[str]:
    """Names that a module imports from other libraries."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and not (node.module or "").startswith(ROOTS):
            yield from (alias.asname or alias.name for alias in node.names)


def is_vague(name: str, is_function: bool) -> bool:
    word = name.strip("_")
    return word in VAGUE and (is_function or word not in FIELD_WORDS)


def vague_names(module: str, source: str) -> tuple[NameCounts, list[VagueName]]:
    """The counts of a module's text, and its vague names."""
    names = list(names_of(ast.parse(source)))
    vague = [VagueName(module, line, name) for name, line, is_function in names if is_vague(name, is_function)]
    return NameCounts(len(names), len(vague)), vague


def source_by_module() -> dict[str, str]:
    """The text of each module, by its path in the project."""
    paths = sorted(path for root in ROOTS for path in (PROJECT / root).rglob("*.py"))
    return {str(path.relative_to(PROJECT)): path.read_text() for path in paths}


def counts_by_module() -> dict[str, NameCounts]:
    return {module: vague_names(module, source)[0] for module, source in source_by_module().items()}


def counts_by_package(modules: dict[str, NameCounts]) -> dict[str, NameCounts]:
    """The counts of each package below a root, as `campaign/judge`; modules that are in none count for the root."""
    packages: dict[str, NameCounts] = {}
    for module, counts in modules.items():
        package = packages.setdefault("/".join(module.split("/")[:-1][:2]), NameCounts())
        package.names += counts.names
        package.vague += counts.vague
    return packages


def main() -> None:
    if "--list" in sys.argv:
        for module, source in source_by_module().items():
            for vague in vague_names(module, source)[1]:
                print(f"{vague.module}:{vague.line}: {vague.name}")
        return
    words = Counter[str]()
    for package, counts in sorted(counts_by_package(counts_by_module()).items(), key=lambda entry: -entry[1].rate):
        print(f"{counts.rate:7.1f} {package}")
        words[package] += counts.vague
    print(f"{words.total()} vague names in all")


if __name__ == "__main__":
    main()
