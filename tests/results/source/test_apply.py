"""Patches that are applied: the project's own, git's, and those of diff -u; and what must be refused."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from campaign.results.source import diff
from campaign.results.source.diff import apply_patch
from campaign.results.source.trees import PROGRAM, Tree
from tests.support import source_trees
from tests.support.examples import examples
from tests.support.source_trees import entry, tree


@settings(max_examples=examples(25))
@given(source_trees.pairs())
def test_what_was_made_gives_the_tree(pair: tuple[Tree, Tree]) -> None:
    old, new = pair
    assert apply_patch(diff.render(diff.differences(old, new)), old.entries) == dict(new.entries)


OLD = tree(
    entry("Makefile", b"all:\n\tcc a.c\n"),
    entry("a.c", b"".join(b"line %d\n" % number for number in range(100))),
    entry("to be renamed.c", b"".join(b"row %d\n" % number for number in range(20))),
    entry("data.bin", bytes(range(256)) * 40),
    entry("gone.c", b"x\n"),
    entry("run.sh", b"#!/bin/sh\n"),
)
NEW = tree(
    entry("Makefile", b"all:\n\tcc -O2 a.c\n"),
    entry("a.c", b"".join(b"line %d\n" % number for number in range(1, 100)) + b"no newline"),
    entry("renamed.c", b"".join(b"row %d\n" % number for number in range(19)) + b"row\n"),
    entry("data.bin", bytes(range(256)) * 39 + b"\0\1\2" + bytes(range(256))),
    entry("copy of a.c", OLD.entries["a.c"].data),
    entry("run.sh", b"#!/bin/sh\n", PROGRAM),
    entry("new/one.c", b""),
)


@pytest.mark.parametrize(
    "options", [["--binary"], ["--binary", "-M"], ["--binary", "-M", "-C", "--find-copies-harder"]]
)
def test_patches_of_git_apply(options: list[str], tmp_path: Path) -> None:
    """With renames, copies, and binary deltas."""
    source_trees.write(tmp_path / "repo", OLD)
    git = ["git", "-C", str(tmp_path / "repo"), "-c", "user.name=x", "-c", "user.email=x"]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    for words in (["init", "--quiet"], ["add", "."], ["commit", "--quiet", "--message=old"]):
        subprocess.run([*git, *words], check=True, timeout=800, env=environment)
    for path in OLD.entries:
        (tmp_path / "repo" / path).unlink()
    source_trees.write(tmp_path / "repo", NEW)
    subprocess.run([*git, "add", "--all"], check=True, timeout=800, env=environment)
    stdout = subprocess.run(
        [*git, "diff", "--cached", *options], check=True, timeout=800, env=environment, capture_output=True
    ).stdout
    assert apply_patch(stdout, OLD.entries) == dict(NEW.entries)


def test_patches_of_diff_apply(tmp_path: Path) -> None:
    def texts(tree: Tree) -> Tree:
        """Those of which diff says everything: it knows no permissions."""
        entries = {
            path: entry for path, entry in tree.entries.items() if path not in ("data.bin", "run.sh", "new/one.c")
        }
        return Tree(tree.name, entries)

    old, new = texts(OLD), texts(NEW)
    source_trees.write(tmp_path / "mdtest.orig", old)
    source_trees.write(tmp_path / "mdtest", new)
    stdout = subprocess.run(
        ["diff", "-ruN", "mdtest.orig", "mdtest"], cwd=tmp_path, capture_output=True, timeout=800, env={"TZ": "UTC"}
    ).stdout
    assert apply_patch(stdout, old.entries) == dict(new.entries)


HEAD = b"--- a/a.c\n+++ b/a.c\n"
SMALL = tree(a_c=b"1\n2\n3\n")
WRONG = {
    HEAD + b"@@ -1,2 +1,2 @@\n 1\n-zwei\n+two\n": "patch failed: a.c:1; a.c: patch does not apply",
    HEAD + b"@@ -9,1 +9,1 @@\n-9\n+nine\n": "patch failed: a.c:9; a.c: patch does not apply",
    HEAD + b"@@ -1,2 +1,2 @@\n 1\n": "corrupt patch at ",
    HEAD + b"@@ -1 +1 @@\n-1\n+one\n+more\n-2\n": None,  # what is beyond a hunk is no part of it
    b"--- a/b.c\n+++ b/b.c\n@@ -1 +1 @@\n-1\n+2\n": "b.c: does not exist in index",
    b"--- /dev/null\n+++ b/a.c\n@@ -0,0 +1 @@\n+2\n": "a.c: already exists in index",
    b"--- a/../../etc/passwd\n+++ b/../../etc/passwd\n@@ -0,0 +1 @@\n+x\n": "invalid path '../../etc/passwd'",
    b"@@ -1 +1 @@\n-1\n+2\n": "patch fragment without header",
    b"diff --git a/a.c b/a.c\nindex 1234567..89abcde 100644\nBinary files a/a.c and b/a.c differ\n": (
        "cannot apply binary patch to 'a.c' without full index line"
    ),
    b"diff --git a/a.c b/a.c\ndeleted file mode 100644\n--- a/a.c\n+++ /dev/null\n@@ -1 +0,0 @@\n-1\n": "a.c",
    b"diff --git a/x b/x\nnew file mode 100644\nGIT binary patch\nliteral 999999999\nzcmV\n\n": (
        "binary content of more than 67108864 bytes"
    ),
    b"diff --git a/x b/x\nnew file mode 100644\nGIT binary patch\nliteral 3\nzcmV\n\n": None,
}


@pytest.mark.parametrize(("text", "message"), [(text, message) for text, message in WRONG.items() if message])
def test_what_does_not_apply_is_reported_with_its_place(text: bytes, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        apply_patch(text, SMALL.entries)


def test_words_around_a_patch_are_passed_over() -> None:
    text = b"Dear buyer,\n\n" + HEAD + b"@@ -2 +2 @@\n-2\n+two\n\nYours\n"
    assert apply_patch(text, SMALL.entries)["a.c"].data == b"1\ntwo\n3\n"


@settings(max_examples=examples(25))
@given(st.lists(st.sampled_from([*WRONG, *b"".join(WRONG).splitlines(keepends=True)]), max_size=8).map(b"".join))
def test_a_strangers_patch_is_applied_or_refused(text: bytes) -> None:
    try:
        result = apply_patch(text, SMALL.entries)
    except ValueError:
        return
    assert not any(path.startswith("/") or ".." in path.split("/") for path in result)


@settings(max_examples=examples(25))
@given(source_trees.pairs(), st.data())
def test_a_damaged_patch_is_applied_or_refused(pair: tuple[Tree, Tree], data: st.DataObject) -> None:
    old, new = pair
    text = bytearray(diff.render(diff.differences(old, new)))
    for _ in range(data.draw(st.integers(1, 4))):
        if text:
            text[data.draw(st.integers(0, len(text) - 1))] = data.draw(st.integers(0, 255))
    with contextlib.suppress(ValueError):
        apply_patch(bytes(text), old.entries)
