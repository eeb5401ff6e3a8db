"""Which C file may include which: the levels that bench-src/Makefile describes, read from the #include lines."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from tests.support.bench_binary import SOURCES

APPLETS = re.findall(r"^APPLET\((\w+),", (SOURCES / "applets.def").read_text(encoding="utf-8"), re.MULTILINE)

# What the files of a folder may include besides those of their own folder; "" is the top: main.c.
LOWER: dict[str, set[str]] = {
    "common": set(),
    "store": {"common"},
    "hdf5": {"common", "store"},
    "": {"common", ""},
    "limits": {"common"},
    "witness": {"common"},
} | {applet: {"common", "store"} for applet in APPLETS}

# Inside common/ a file includes only files of rows before its own.
COMMON = (
    (
        "asked",
        "cache",
        "crowd",
        "die",
        "pairs",
        "permute",
        "quiet",
        "refusal",
        "rescue",
        "secret",
        "stats",
        "timer",
        "units",
        "version",
    ),
    ("buf", "emit", "pool", "raw", "timeline"),
    ("opt", "pattern", "place", "sha256"),
    ("elsewhere", "faults", "hog", "objects", "latency", "rank_rates"),
    ("mount", "scratch", "totals"),
    ("attest",),
    ("run",),
)
ROW = {name: number for number, row in enumerate(COMMON) for name in row}


def folder(path: str) -> str:
    return path.rpartition("/")[0]


def files() -> Iterator[str]:
    """Every C file but the tests', from the top of the sources: "ior/plan.c"."""
    for path in sorted(SOURCES.rglob("*.[ch]")):
        name = path.relative_to(SOURCES)
        if name.parts[0] not in ("build", "build-san", "test"):
            yield str(name)


def includes() -> Iterator[tuple[str, str]]:
    for path in files():
        text = (SOURCES / path).read_text(encoding="utf-8")
        for name in re.findall(r'^\s*#\s*include\s+"([^"]+)"', text, re.MULTILINE):
            yield path, name


def test_every_folder_has_its_level_and_every_applet_its_folder() -> None:
    assert {folder(path) for path in files()} == LOWER.keys()


def test_an_include_names_the_folder_and_the_file() -> None:
    assert [f"{path}: {name}" for path, name in includes() if not (SOURCES / name).is_file()] == []


def test_a_file_includes_its_own_folder_and_lower_ones_so_that_no_applet_includes_another_s() -> None:
    allowed = {name: lower | {name} for name, lower in LOWER.items()}
    assert [f"{path}: {name}" for path, name in includes() if folder(name) not in allowed[folder(path)]] == []


def test_the_common_files_include_each_other_only_downwards() -> None:
    assert {Path(path).stem for path in files() if folder(path) == "common"} == ROW.keys()
    inside = [(Path(path).stem, Path(name).stem) for path, name in includes() if folder(path) == "common"]
    assert [f"{upper}: {lower}" for upper, lower in inside if upper != lower and ROW[lower] >= ROW[upper]] == []


def test_a_name_does_not_repeat_its_folder_s_and_is_not_a_test_s() -> None:
    stems = [(folder(path), Path(path).stem) for path in files() if folder(path) != "limits"]
    assert [
        f"{top}/{stem}" for top, stem in stems if stem.split("_")[0] in (top, "test") or stem.endswith("_test")
    ] == []
