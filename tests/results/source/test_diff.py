"""The patch from one tree to another, judged by the tools that its readers have."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings

from campaign.results.source import diff, trees
from campaign.results.source.trees import LINK, PROGRAM, Tree
from tests.support import source_trees
from tests.support.examples import examples
from tests.support.source_trees import entry, tree


def patch(old: Tree, new: Tree) -> bytes:
    return diff.render(diff.differences(old, new))


def apply_patch(program: list[str], old: Tree, text: bytes, top: Path) -> Tree:
    """What a program makes of the tree on disk when it is given the patch."""
    source_trees.write(top, old)
    process = subprocess.run(program, input=text, cwd=top, capture_output=True, timeout=800)
    assert process.returncode == 0, (
        f"{process.stdout.decode()}\n{process.stderr.decode()}\n{text.decode(errors='replace')}"
    )
    return trees.read(str(top), Path("/"))


# Not `git apply` in a repository, whose index would have a say.
GIT = ["env", "GIT_DIR=/nowhere", "git", "apply", "--whitespace=nowarn", "-"]
PATCH = ["patch", "--quiet", "--strip=1", "--force", "--no-backup-if-mismatch"]


@settings(max_examples=examples(60))
@given(source_trees.pairs())
def test_git_applies_whatever_differs(pair: tuple[Tree, Tree]) -> None:
    old, new = pair
    if old.entries == new.entries:
        assert patch(old, new) == b""
        return
    with tempfile.TemporaryDirectory() as folder:
        tree = apply_patch(GIT, old, patch(old, new), Path(folder) / "tree")
    assert tree.entries == new.entries


def test_patch_applies_what_is_text(tmp_path: Path) -> None:
    old = tree(
        entry("src/with space.c", b"a\nb\nc\nd\ne\nf\ng\nh\ni\n"),
        entry("gone.c", b"x\n"),
        entry("no newline", b"one\ntwo"),
        entry("crlf.c", b"one\r\ntwo\r\n"),
        entry("latin.c", b"\xe9t\xe9\n"),
        entry("run.sh", b"#!/bin/sh\n"),
    )
    new = tree(
        entry("src/with space.c", b"A\nb\nc\nd\ne\nf\ng\nh\nI\n"),
        entry("new/one.c", b"x\ny\n"),
        entry("no newline", b"one\ntwo\nthree"),
        entry("crlf.c", b"one\r\n2\r\n"),
        entry("latin.c", b"\xe8re\n"),
        entry("run.sh", b"#!/bin/sh\n", PROGRAM),
    )
    assert apply_patch([*PATCH, "--binary"], old, patch(old, new), tmp_path / "tree").entries == new.entries


def test_the_form_of_a_patch() -> None:
    old = tree(entry("a.c", b"1\n2\n3\n4\n5\n"), entry("b.c", b"x"))
    new = tree(entry("a.c", b"1\n2\n3\nfour\n5\n", PROGRAM), entry("c.c", b"y"))
    assert patch(old, new).decode() == (
        "diff --git a/b.c b/b.c\n"
        "deleted file mode 100644\n"
        "index c1b0730e0133447badcfd47fd144e254807b06e1..0000000000000000000000000000000000000000\n"
        "--- a/b.c\n"
        "+++ /dev/null\n"
        "@@ -1 +0,0 @@\n"
        "-x\n"
        "\\ No newline at end of file\n"
        "diff --git a/a.c b/a.c\n"
        "old mode 100644\n"
        "new mode 100755\n"
        "index 8a1218a1024a212bb3db30becd860315f9f3ac52..0742a5ac1c61bd2bd93399a8c2f3f23578dbcc57\n"
        "--- a/a.c\n"
        "+++ b/a.c\n"
        "@@ -1,5 +1,5 @@\n"
        " 1\n"
        " 2\n"
        " 3\n"
        "-4\n"
        "+four\n"
        " 5\n"
        "diff --git a/c.c b/c.c\n"
        "new file mode 100644\n"
        "index 0000000000000000000000000000000000000000..e25f1814e51579d5f55c0f1fe0135ddb28a47f4a\n"
        "--- /dev/null\n"
        "+++ b/c.c\n"
        "@@ -0,0 +1 @@\n"
        "+y\n"
        "\\ No newline at end of file\n"
    )


def test_changes_that_are_near_share_a_hunk_and_others_do_not() -> None:
    lines = [b"%d\n" % number for number in range(40)]
    new_lines = [b"changed\n" if number in (5, 11, 30) else line for number, line in enumerate(lines)]
    (difference,) = diff.differences(tree(a_c=b"".join(lines)), tree(a_c=b"".join(new_lines)))
    assert [(hunk.old_start, hunk.old_count, hunk.new_start, hunk.new_count) for hunk in difference.hunks] == [
        (3, 13, 3, 13),
        (28, 7, 28, 7),
    ]
    assert (difference.count(b"+"), difference.count(b"-")) == (3, 3)


def test_a_file_that_becomes_a_link_is_taken_away_and_made() -> None:
    differences = diff.differences(tree(entry("a", b"x\n")), tree(entry("a", b"target", LINK)))
    assert [(difference.old is None, difference.new is None) for difference in differences] == [
        (False, True),
        (True, False),
    ]


def test_files_that_share_nothing_are_compared_at_once_however_long_they_are(tmp_path: Path) -> None:
    old = tree(a_c=b"".join(b"old %d\n" % number for number in range(60_000)))
    new = tree(a_c=b"first\n" + b"".join(b"new %d\n" % number for number in range(60_000)))
    (difference,) = diff.differences(old, new)
    assert (difference.count(b"+"), difference.count(b"-"), len(difference.hunks)) == (60_001, 60_000, 1)
    assert apply_patch(GIT, old, patch(old, new), tmp_path / "tree").entries == new.entries


@pytest.mark.parametrize(
    ("data", "lines"),
    [(b"", []), (b"a", [b"a"]), (b"a\n\n", [b"a\n", b"\n"]), (b"a\r\nb\x0cc", [b"a\r\n", b"b\x0cc"])],
)
def test_only_a_newline_ends_a_line(data: bytes, lines: list[bytes]) -> None:
    assert diff.lines_of(data) == lines
