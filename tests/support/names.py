"""Names that do not say what they hold: how many there are in each package and module, for each 1,000 names.

    .venv/bin/python -m tests.support.names          the rates of the packages
    .venv/bin/python -m tests.support.names --list   each such name with its file and line

Counted are variables and arguments that are one pronoun, participle or preposition, and functions named by one.
"""

from __future__ import annotations

import ast
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2] / "campaign"
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
    module: str  # its path below the package of the program
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
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            yield node.id, node.lineno, False
        elif isinstance(node, ast.arg):
            yield node.arg, node.lineno, False
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name, node.lineno, True


def is_vague(name: str, is_function: bool) -> bool:
    word = name.strip("_")
    return word in VAGUE and (is_function or word not in FIELD_WORDS)


def vague_names(module: str, source: str) -> tuple[NameCounts, list[VagueName]]:
    """The counts of a module's text, and its vague names."""
    names = list(names_of(ast.parse(source)))
    vague = [VagueName(module, line, name) for name, line, is_function in names if is_vague(name, is_function)]
    return NameCounts(len(names), len(vague)), vague


def counts_by_module(root: Path = ROOT) -> dict[str, NameCounts]:
    """The counts of each module, by its path below `root`."""
    modules = sorted(root.rglob("*.py"))
    return {str(path.relative_to(root)): vague_names("", path.read_text())[0] for path in modules}


def counts_by_package(modules: dict[str, NameCounts]) -> dict[str, NameCounts]:
    """The counts of each package, or of a module that is in none."""
    packages: dict[str, NameCounts] = {}
    for module, counts in modules.items():
        package = packages.setdefault(module.partition("/")[0], NameCounts())
        package.names += counts.names
        package.vague += counts.vague
    return packages


def main() -> None:
    if "--list" in sys.argv:
        for path in sorted(ROOT.rglob("*.py")):
            for vague in vague_names(str(path.relative_to(ROOT)), path.read_text())[1]:
                print(f"{vague.module}:{vague.line}: {vague.name}")
        return
    words = Counter[str]()
    for package, counts in sorted(counts_by_package(counts_by_module()).items(), key=lambda entry: -entry[1].rate):
        print(f"{counts.rate:7.1f} {package}")
        words[package] += counts.vague
    print(f"{words.total()} vague names in all")


if __name__ == "__main__":
    main()
