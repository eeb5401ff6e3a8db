"""Which package imports which, and who uses what comes from outside."""

from __future__ import annotations

import ast
import functools
import graphlib
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

import campaign

PACKAGE = Path(campaign.__file__).parent

# A package imports only from those to its left (docs/map.md).
LINE = [
    "core",
    "statistics",
    "sandbox",
    "config",
    "results",
    "plan",
    "slurm",
    "judge",
    "pipeline",
    "report",
    "evidence",
    "cli",
]

# What comes from outside of Python or of the process, and the only modules or packages that use it.
USERS = {
    "subprocess": {
        "core.timestamps",
        "core.git",
        "core.signatures",
        "slurm.commands",
        *(f"sandbox.{module}" for module in ("keeper", "machine", "query", "starter")),
        "pipeline.building",
        "report.write",
        "cli.queues",
        "cli.running",
    },
    "sqlite3": {"results.store"},
    "re2": {"core.line_pattern"},
    "orjson": {"core.events"},
    "yaml": {"core.strict_yaml", "evidence.sample"},
    "jinja2": {"core.resources", "slurm.scripts"},
    "markupsafe": {"report.page"},
    "tabulate": {"results.source", "report.printing", "cli.completion"},
    "argcomplete": {"cli.completion"},
    "rich": {"cli.progress"},
    "pandas": {"cli.python"},
    "xlsxwriter": {"report.workbook"},
    "openpyxl": {"report.foreign"},
    "lxml": {"report.foreign"},
    "docx": {"report.foreign"},
    "numpy": {"statistics.contention", "statistics.designs", "statistics.scaling", "plan.search"},
    "scipy": {"statistics.contention", "statistics.designs", "statistics.scaling"},
}
FOREIGN = USERS.keys() - {"subprocess", "sqlite3"}
LATE = FOREIGN - {"orjson"}  # take longer to load than `campaign --help` may
# Loaded where a search goes on, and where a sample is drawn or accepted.
LOADED_LATE = {"plan.search", "statistics.designs"}
FORKS = "core.workers"  # which executes no program
PROCESSES = {"system", "popen", "fork", "forkpty", "posix_spawn", "posix_spawnp", "startfile"}


@dataclass(frozen=True)
class Import:
    importer: str  # core.git, report.workbook: two levels at most
    name: str  # campaign.core.runs, yaml
    top: bool  # at the top level of its module
    place: str


def sources() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


@functools.cache
def parse(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def importer_of(path: Path) -> str:
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(part for part in parts[:2] if part != "__init__")


@functools.cache
def imports() -> tuple[Import, ...]:
    """Every import of every module, those inside functions and for the type checker included."""
    return tuple(found_imports())


def found_imports() -> Iterator[Import]:
    for path in sources():
        tree = parse(path)
        top = {id(node) for node in tree.body}
        for node in ast.walk(tree):
            place = f"{path.relative_to(PACKAGE.parent)}:{getattr(node, 'lineno', 0)}"
            if isinstance(node, ast.Import):
                for name in node.names:
                    yield Import(importer_of(path), name.name, id(node) in top, place)
            elif isinstance(node, ast.ImportFrom):
                assert node.level == 0 and node.module, f"{place}: relative import"
                for name in node.names:
                    deeper = f"{node.module}.{name.name}" if node.module == "campaign" else node.module
                    yield Import(importer_of(path), deeper, id(node) in top, place)


def test_every_module_is_in_a_package_of_the_line() -> None:
    alone = {path.name for path in PACKAGE.glob("*.py")}
    assert alone <= {"__init__.py", "__main__.py"}
    assert {path.relative_to(PACKAGE).parts[0] for path in sources()} - alone == set(LINE)


def test_a_package_imports_only_from_those_to_its_left() -> None:
    wrong = []
    for entry in imports():
        package = entry.importer.split(".")[0]
        top, _, inner = entry.name.partition(".")
        imported = inner.split(".")[0]
        if package not in LINE or top != "campaign" or imported not in LINE:
            continue
        if LINE.index(imported) > LINE.index(package):
            wrong.append(f"{entry.place}: {package} imports {imported}")
    assert wrong == []


def test_no_circle_between_modules() -> None:
    """By all their imports, those inside functions and for the type checker included."""
    names = {
        ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__"): path
        for path in sources()
    }
    graph = {
        name: {module for module in imported_names(path) if module in names} - {name} for name, path in names.items()
    }
    graphlib.TopologicalSorter(graph).prepare()  # raises CycleError with the circle


def imported_names(path: Path) -> Iterator[str]:
    """What may be modules: `from campaign.core import runs` names campaign.core.runs, or a name in campaign.core."""
    for node in ast.walk(parse(path)):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{name.name}" for name in node.names)


def test_nothing_that_runs_on_a_cluster_imports_the_sandbox_which_knows_no_campaign() -> None:
    """Whatever is on the way between a campaign file and its results works on the cluster that is there."""
    of_sandbox = {imported.importer for imported in imports() if imported.name.startswith("campaign.sandbox")}
    assert {importer for importer in of_sandbox if not importer.startswith("sandbox.")} == {
        "cli.running",
        "cli.sandbox",
    }
    used = {
        entry.name.split(".")[1] for entry in imports() if entry.importer.startswith("sandbox") and "." in entry.name
    }
    assert used & set(LINE) <= {"core", "sandbox"}


@pytest.mark.parametrize("init", sorted(PACKAGE.glob("*/**/__init__.py")), ids=lambda path: path.parent.name)
def test_a_package_says_what_it_takes_and_gives_and_must_not_know_and_holds_nothing_else(init: Path) -> None:
    tree = parse(init)
    assert len(tree.body) == 1
    lines = (ast.get_docstring(tree) or "").splitlines()
    assert [line.partition(": ")[0] for line in lines] == ["Takes", "Gives", "Must not know"]


def test_no_class_name_stands_twice() -> None:
    """A name that is private to its module counts without its underscore."""
    places: dict[str, list[str]] = {}
    for path in sources():
        for node in ast.walk(parse(path)):
            if isinstance(node, ast.ClassDef):
                places.setdefault(node.name.lstrip("_"), []).append(f"{path.relative_to(PACKAGE)}:{node.lineno}")
    assert {name: texts for name, texts in places.items() if len(texts) > 1} == {}


@pytest.mark.parametrize("module", USERS)
def test_only_these_use(module: str) -> None:
    assert {imported.importer for imported in imports() if imported.name.split(".")[0] == module} == USERS[module]


def test_nothing_else_comes_from_outside_the_standard_library() -> None:
    used = {imported.name.split(".")[0] for imported in imports()}
    assert used - set(sys.stdlib_module_names) == {"campaign", *FOREIGN}


def test_slow_libraries_are_loaded_where_they_are_used() -> None:
    early = (imported for imported in imports() if imported.top and imported.importer not in LOADED_LATE)
    assert [entry.place for entry in early if entry.name.split(".")[0] in LATE] == []


def test_a_driver_loads_neither_a_numbers_library_nor_the_network_s_before_it_needs_them() -> None:
    code = "import sys, campaign.cli.running, campaign.plan.adaptive; sys.exit({'numpy', 'ssl'} & {*sys.modules} or 0)"
    subprocess.run([sys.executable, "-c", code], timeout=800, check=True)


def test_no_other_way_starts_a_process() -> None:
    texts = [
        f"{path.relative_to(PACKAGE.parent)}:{node.lineno}: os.{node.attr}"
        for path in sources()
        if importer_of(path) not in {*USERS["subprocess"], FORKS}
        for node in ast.walk(parse(path))
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "os"
        if node.attr in PROCESSES or node.attr.startswith(("exec", "spawn"))
    ]
    assert texts == []


def test_help_loads_nothing_slow() -> None:
    code = (
        "import sys\n"
        "from campaign.cli.main import main\n"
        "try:\n    main(['--help'])\nexcept SystemExit:\n    pass\n"
        "print(*sorted({name.split('.')[0] for name in sys.modules}), file=sys.stderr)"
    )
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=800, check=True)
    assert set(process.stderr.split()) & {*USERS, "hypothesis", "socket"} == set()
