"""Who may import whom, and who may use what comes from outside: held by a test."""

from __future__ import annotations

import ast
import functools
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

import campaign

PACKAGE = Path(campaign.__file__).parent

# A module imports only from rows before its own; the number is the rank in docs/map.md. A package is one room: what its
# modules import of each other is its own affair.
ROOMS: tuple[tuple[int, tuple[str, ...]], ...] = (
    (0, ("__init__", "errors", "model")),
    (
        1,
        (
            "units",
            "points",
            "escaping",
            "statistics",
            "formula",
            "contention",
            "scaling",
            "journal",
            "strict_yaml",
            "whole",
        ),
    ),
    (1, ("schema", "sbatch_options", "catalogue", "answers", "resolution", "signatures")),
    (1, ("environment", "source_facts", "bags")),
    (1, ("description", "resources")),
    (1, ("ranks",)),
    (2, ("rules_format", "json_schema")),
    (2, ("rules_check",)),
    (2, ("rules",)),
    (2, ("settle", "config_values", "layout", "init")),
    (2, ("config_format",)),
    (2, ("config_check", "config_search")),
    (2, ("config", "slurm", "parsers", "store")),
    (2, ("dialect",)),
    (2, ("git", "change_rules", "modifications")),
    (2, ("trees",)),
    (3, ("matrix", "search", "patches")),
    (4, ("scripts", "patching")),
    (4, ("changes",)),
    (5, ("submit", "accounting")),
    (5, ("collect",)),  # gives up what submit has put on record
    (5, ("cells", "sources")),
    (5, ("searching", "repeating")),
    (6, ("judge",)),
    (7, ("notes", "estimate", "foreign")),
    (7, ("table",)),
    (8, ("contents",)),
    (8, ("verdict", "surroundings")),
    (8, ("workbook", "plots")),
    (8, ("report",)),
    (8, ("planning",)),
    (9, ("pipeline", "sandbox")),
    (9, ("progress", "views", "compare", "building", "completion")),
    (9, ("rederive",)),
    (9, ("bundle",)),
    (9, ("verify",)),
    (9, ("cli",)),
    (9, ("__main__",)),
)
HEIGHT = {room: height for height, (_, rooms) in enumerate(ROOMS) for room in rooms}

# What comes from outside of Python or of the process, and the only rooms that use it.
USERS = {
    "subprocess": {"slurm", "signatures", "sandbox", "git", "building"},
    "sqlite3": {"store"},
    "yaml": {"strict_yaml"},
    "jinja2": {"scripts", "report"},
    "tabulate": {"table", "views", "compare", "modifications", "completion"},
    "argcomplete": {"completion"},
    "rich": {"progress"},
    "xlsxwriter": {"workbook"},
    "matplotlib": {"plots"},
    "PIL": {"plots"},
    "numpy": {"contention", "scaling", "plots"},
    "scipy": {"contention", "scaling"},
}
LATE = {
    "argcomplete",
    "yaml",
    "jinja2",
    "tabulate",
    "rich",
    "xlsxwriter",
    "matplotlib",
    "PIL",
    "numpy",
    "scipy",
}  # take longer to load than `campaign --help` may
PROCESSES = {"system", "popen", "fork", "forkpty", "posix_spawn", "posix_spawnp", "startfile"}


@dataclass(frozen=True)
class Import:
    room: str
    name: str  # campaign.model, yaml
    top: bool  # at the top level of its module
    place: str


def sources() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def room_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


@functools.cache
def imports() -> tuple[Import, ...]:
    """Every import of every module, those inside functions and for the type checker included."""
    return tuple(found_imports())


def found_imports() -> Iterator[Import]:
    for path in sources():
        tree = ast.parse(path.read_text(encoding="utf-8"))
        top = {id(node) for node in tree.body}
        for node in ast.walk(tree):
            place = f"{path.relative_to(PACKAGE.parent)}:{getattr(node, 'lineno', 0)}"
            if isinstance(node, ast.Import):
                for name in node.names:
                    yield Import(room_of(path), name.name, id(node) in top, place)
            elif isinstance(node, ast.ImportFrom):
                assert node.level == 0 and node.module, f"{place}: relative import"
                for name in node.names:
                    deeper = f"{node.module}.{name.name}" if node.module == "campaign" else node.module
                    yield Import(room_of(path), deeper, id(node) in top, place)


def test_every_module_has_a_room_and_every_room_a_module() -> None:
    assert {room_of(path) for path in sources()} == HEIGHT.keys()
    assert [rank for rank, _ in ROOMS] == sorted(rank for rank, _ in ROOMS)


def test_imports_go_only_from_a_higher_rank_to_a_lower_one() -> None:
    wrong = []
    for found in imports():
        parts = found.name.split(".")
        if parts[0] != "campaign":
            continue
        target = parts[1] if parts[1:] and parts[1] in HEIGHT else "__init__"
        if target != found.room and HEIGHT[target] >= HEIGHT[found.room]:
            wrong.append(f"{found.place}: {found.room} imports {target}")
    assert wrong == []


@pytest.mark.parametrize("module", USERS)
def test_one_room_uses(module: str) -> None:
    assert {found.room for found in imports() if found.name.split(".")[0] == module} == USERS[module]


def test_nothing_else_comes_from_outside_the_standard_library() -> None:
    used = {found.name.split(".")[0] for found in imports()}
    assert used - set(sys.stdlib_module_names) == {"campaign", *LATE}


def test_slow_libraries_are_loaded_where_they_are_used() -> None:
    assert [found.place for found in imports() if found.top and found.name.split(".")[0] in LATE] == []


def test_no_other_way_starts_a_process() -> None:
    found = [
        f"{path.relative_to(PACKAGE.parent)}:{node.lineno}: os.{node.attr}"
        for path in sources()
        if room_of(path) not in USERS["subprocess"]
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "os"
        if node.attr in PROCESSES or node.attr.startswith(("exec", "spawn"))
    ]
    assert found == []


def test_help_loads_nothing_slow() -> None:
    code = (
        "import sys\n"
        "from campaign.cli.main import main\n"
        "try:\n    main(['--help'])\nexcept SystemExit:\n    pass\n"
        "print(*sorted({name.split('.')[0] for name in sys.modules}), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert set(done.stderr.split()) & {*USERS, "hypothesis", "socket"} == set()
