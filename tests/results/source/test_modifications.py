"""The report of modifications, compared whole."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from campaign.config.rules.builds import BuildCategory, BuildFlags
from campaign.core.errors import InputError
from campaign.results.source import classify, modifications
from campaign.results.source.facts import Build, Sources
from campaign.results.source.trees import PROGRAM, Tree
from tests.support import builders
from tests.support.source_trees import entry, tree

PRISTINE = replace(
    tree(
        entry("mdtest.c", b"int main(void)\n{\n    t[0] = MPI_Wtime();\n    return 0;\n}\n"),
        entry("Makefile", b"all:\n"),
        entry("run.sh", b"#!/bin/sh\n"),
        entry("old.txt", b"x\n"),
        name="mdtest-1.8.4.tar.gz",
    ),
    archive_sha256="12" * 32,
)
BUILT = tree(
    entry("mdtest.c", b"int main(void)\n{\n    t[0] = MPI_Wtime() + 1;\n    return 0;\n}\n"),
    entry("Makefile", b"all:\n\tmpicc -O2 mdtest.c\n"),
    entry("run.sh", b"#!/bin/sh\n", PROGRAM),
    entry("blob", b"\0"),
    entry("mdtest", b"\x7fELF"),
    name="src",
)
BUILD = Build(
    "ab" * 32,
    compiler="gcc 12.2.0",
    flags="-O2",
    libraries=("Open MPI 4.1.4", "libm"),
    source_tree="cd" * 32,
    revision="ef" * 20,
    dirty=True,
    log="build.log",
    log_sha256="34" * 32,
)


def compare_trees(built: Tree = BUILT, patch: tuple[str, bytes] | None = None) -> Sources:
    comparison, _ = classify.compare(PRISTINE, built, "1.8.4", patch)
    return Sources(comparison, "", (BUILD,))


def test_the_text_of_a_tree_that_was_changed_everywhere() -> None:
    builders.golden("modifications.txt", modifications.text(compare_trees(patch=("ours.patch", b""))) + "\n")


def test_no_modifications_are_reported_with_the_hashes_of_both_trees() -> None:
    lines = modifications.text(compare_trees(PRISTINE)).splitlines()
    assert f"No modifications: both trees are identical (tree hash {PRISTINE.hash})." in lines[3]
    assert [line for line in lines if PRISTINE.hash in line][1:] == [
        f"{name}: mdtest-1.8.4.tar.gz, 4 files, tree {PRISTINE.hash}, archive" for name in ("Published", "Built")
    ]


def test_what_was_not_compared_is_reported_with_the_reason() -> None:
    text = modifications.text(Sources(None, "the campaign file names no source.pristine"))
    assert text.splitlines()[-1] == "Sources not compared: the campaign file names no source.pristine."


def test_a_patch_that_does_not_give_the_tree_is_reported() -> None:
    sources = compare_trees()
    assert sources.comparison
    assert modifications.reproduction_text(replace(sources.comparison, applied="00" * 32)) == (
        f"Published source + patch differs from the built source: its tree hash is {'00' * 32}."
    )


def test_a_page_has_the_same_in_parts() -> None:
    parts = list(modifications.parts(compare_trees()))
    assert [part.title for part in parts] == [
        "Source",
        "Not compared",
        "Files",
        "mdtest.c:3",
        "Build of the binary abababababab",
    ]
    trees, ignored, files, flag, _ = parts
    assert trees.about.startswith("5 files changed, 2 lines added, 2 removed: 1 measurement path, 1 other, 2 build")
    assert [row[1] for row in ignored.rows] == ["mdtest"]
    assert files.rows[2] == ("mdtest.c", "changed", "1", "1", "measurement path", "timing")
    assert "+    t[0] = MPI_Wtime() + 1;" in flag.preformatted.splitlines()


def test_a_category_of_builds_is_named_with_what_it_allows_and_the_flags_by_class() -> None:
    category = BuildCategory(
        "base", "base build", "4", ("build",), BuildFlags(mandatory=("-O*",), portability=("-D*",))
    )
    sources = Sources(problem="nothing", builds=(replace(BUILD, flags="-O2 -DX -DY -fast"),))
    lines = modifications.text(sources, category).splitlines()
    sentence = "Category of the build: base build (base, clause 4). Changes that it allows: build."
    assert lines[3] == sentence
    assert lines[lines.index("flags: -O2 -DX -DY -fast") + 1] == (
        "by class: mandatory -O2; portability -DX -DY; unknown -fast"
    )
    parts = list(modifications.parts(sources, category))
    assert (parts[0].title, parts[0].about) == ("Category of the build", sentence)
    assert ("by class: mandatory -O2; portability -DX -DY; unknown -fast",) in parts[-1].rows


def test_three_files_are_written(tmp_path: Path) -> None:
    modifications.write(tmp_path / "new", compare_trees(), b"patch")
    assert {path.name: path.read_bytes()[:5] for path in (tmp_path / "new").iterdir()} == {
        "modifications.json": b'{\n "f',
        "modifications.patch": b"patch",
        "modifications.txt": b"Modif",
    }


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match=f"{tmp_path}/file: cannot be written: File exists"):
        modifications.write(tmp_path / "file", compare_trees(), b"")
