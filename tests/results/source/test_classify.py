"""What each edit of a benchmark's source is taken for, and what a reviewer is shown of it."""

from __future__ import annotations

import hashlib
from dataclasses import replace

import pytest
from hypothesis import given, settings

from campaign.core.findings import ChangeClass
from campaign.results.source import classify
from campaign.results.source.facts import Change
from campaign.results.source.trees import LINK, PROGRAM, Tree
from tests.support import source_trees
from tests.support.examples import examples
from tests.support.source_trees import entry, tree

CODE = b"""\
#include <stdio.h>
#include <mpi.h>

static int verbose;

static int hex(char digit)
{
    if (digit >= 'a')
        return digit - 'a' + 10;
    return digit - '0';
}

static void create(const char *name)
{
    int fd;

    fd = open(name, O_CREAT, 0600);
    if (fd < 0)
        FAIL("open");

    if (verbose)
        printf("made");


    /* everything must be on storage */


    if (sync_file && fsync(fd) == -1)
        FAIL("fsync");
    close(fd);
}

int main(int argc, char **argv)
{
    int option;
    int count = 0;
    int again = 1;
    while (again--)
        count++;
    option = count;
    report(option);
    usage();
    done();
    MPI_Barrier(MPI_COMM_WORLD);
    t[0] = MPI_Wtime();
    create("x");
    MPI_Barrier(MPI_COMM_WORLD);
    t[1] = MPI_Wtime();
    ops_per_second = 1 / (t[1] - t[0]);
    return 0;
}
"""


def edit_change(old: bytes, new: bytes, path: str = "mdtest.c", code: bytes = CODE) -> Change:
    """The one change of a file in which a part was replaced."""
    assert code.count(old) == 1, code.count(old)
    before, after = tree(entry(path, code)), tree(entry(path, code.replace(old, new)))
    comparison, _ = classify.compare(before, after)
    assert comparison.reproduced
    (change,) = comparison.changes
    return change


MEASURING = {
    "a time": (b"    t[1] = MPI_Wtime();", b"    t[1] = MPI_Wtime() - 1;", 48, "timing"),
    "no fsync": (b"sync_file && fsync(fd) == -1", b"0", 28, "flushing to storage"),
    "no barrier": (b'    create("x");\n    MPI_Barrier(MPI_COMM_WORLD);\n', b'    create("x");\n', 47, "a barrier"),
    "another open": (b"O_CREAT, 0600", b"O_CREAT | O_TMPFILE, 0600", 17, "flushing to storage"),
    "no close": (b"    close(fd);\n", b"", 30, "an I/O call"),
    "a rate": (b"1 / (t[1]", b"2 / (t[1]", 49, "the rate computation"),
    "a clock of one's own": (b"#include <mpi.h>\n", b"#include <mpi.h>\n#define MPI_Wtime() fast()\n", 3, "timing"),
    "a comment around a call": (b"    if (sync_file", b"    /*\n    if (sync_file", 28, "next to flushing to storage"),
    "code that is left out": (b"    create(\"x\");", b"#if 0\n    create(\"x\");\n#endif", 46, "next to a barrier"),
    "an early return": (b"    report(option);\n", b"    return 0;\n    report(option);\n", 41, "control flow"),
    "a sleep": (b"    usage();\n", b"    usleep(1000);\n", 42, "waiting or caching"),
    "a comment that swallows the next line": (
        b"    if (sync_file", b"    // storage \\\n    if (sync_file", 28, "next to flushing to storage",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("old", "new", "line", "reason"), MEASURING.values(), ids=list(MEASURING))
def test_an_edit_of_the_measurement_path_is_flagged_with_its_line(
    old: bytes, new: bytes, line: int, reason: str
) -> None:
    change = edit_change(old, new)
    assert change.kind is ChangeClass.MEASUREMENT
    (flag,) = change.flags
    assert reason in ", ".join(flag.why)
    assert flag.place == f"mdtest.c:{line}" + (" (published)" if flag.gone else "")
    assert flag.hunk.startswith("@@ -")


HARMLESS = {
    "a header": (b"#include <stdio.h>\n", b"#include <stdio.h>\n#include <limits.h>\n", ChangeClass.PORTABILITY),
    "a condition on a header": (
        b"#include <mpi.h>",
        b"#ifdef __linux__\n#include <mpi.h>\n#endif",
        ChangeClass.PORTABILITY,
    ),
    "a feature": (b"#include <stdio.h>\n", b"#define _GNU_SOURCE 1\n#include <stdio.h>\n", ChangeClass.PORTABILITY),
    "a macro of code": (b"#include <stdio.h>\n", b"#include <stdio.h>\n#define FAIL(x) die(x)\n", ChangeClass.OTHER),
    "a macro in a name's place": (b"#include <mpi.h>", b"#include <mpi.h>\n#define create (void)", ChangeClass.OTHER),
    "a comment": (
        b"static int verbose;",
        b"/* how much is printed by rank 0 */\nstatic int verbose;",
        ChangeClass.DOCUMENTATION,
    ),
    "code that does not measure": (b"digit - '0'", b"digit - 48", ChangeClass.OTHER),
    "a name in a function that measures": (b"    option = count;", b"    option = count + 0;", ChangeClass.OTHER),
}


@pytest.mark.parametrize(("old", "new", "kind"), HARMLESS.values(), ids=list(HARMLESS))
def test_an_edit_elsewhere_is_not_flagged(old: bytes, new: bytes, kind: ChangeClass) -> None:
    change = edit_change(old, new)
    assert (change.kind, change.flags) == (kind, ())


NAMES = {
    "Makefile": ChangeClass.BUILD,
    "src/Makefile.am": ChangeClass.BUILD,
    "configure": ChangeClass.BUILD,
    "config/x.m4": ChangeClass.BUILD,
    "CMakeLists.txt": ChangeClass.BUILD,
    "job.sbatch": ChangeClass.BUILD,
    "scripts/run.sh": ChangeClass.BUILD,
    "GNUmakefile": ChangeClass.BUILD,
    "README": ChangeClass.DOCUMENTATION,
    "README.md": ChangeClass.DOCUMENTATION,
    "doc/mdtest.1": ChangeClass.DOCUMENTATION,
    "RELEASE_LOG": ChangeClass.DOCUMENTATION,
    "COPYRIGHT": ChangeClass.DOCUMENTATION,
    "input.yaml": ChangeClass.DATA,
    "a.csv": ChangeClass.DATA,
    "something": ChangeClass.OTHER,
    "src/hidden.c": ChangeClass.OTHER,
    "readme.c": ChangeClass.OTHER,
    "doc/x.h": ChangeClass.OTHER,
}


def test_a_file_is_classed_by_its_name_where_its_lines_say_nothing() -> None:
    further_entries = [entry(path, b"x = 1;\n") for path in NAMES]
    comparison, _ = classify.compare(tree(entry("a")), tree(entry("a"), *further_entries))
    assert {change.path: (change.how, change.kind) for change in comparison.changes} == {
        path: ("new", kind) for path, kind in NAMES.items()
    }


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("Makefile", b"LDFLAGS += -Wl,--wrap=fsync\n"),
        ("Makefile", b"CFLAGS += -DMPI_Wtime=fast_time\n"),
        ("scripts/run.sh", b"export LD_PRELOAD=/opt/fast.so\n"),
        ("README", b"int fsync(int fd) { return 0; }\n"),
        ("something", b"t = gettimeofday(&tv, 0);\n"),
        ("data.json", b"sleep(1);\n"),
    ],
)
def test_what_touches_the_measurement_is_flagged_whatever_the_file_is_called(path: str, line: bytes) -> None:
    comparison, _ = classify.compare(tree(entry("a")), tree(entry("a"), entry(path, b"first\n" + line)))
    assert [change.kind for change in comparison.changes] == [ChangeClass.MEASUREMENT]
    assert [flag.place for flag in comparison.flags] == [f"{path}:2"]


def test_a_text_about_the_measurement_is_documentation() -> None:
    comparison, _ = classify.compare(tree(README=b"x\n"), tree(README=b"fsync is called with -y; see MPI_Wtime\n"))
    assert [(change.kind, change.flags) for change in comparison.changes] == [(ChangeClass.DOCUMENTATION, ())]


def test_files_that_cannot_be_read_as_text_are_for_a_reviewer() -> None:
    old = tree(entry("blob", b"\0\1"), entry("picture.png", b"\0\1"), entry("mdtest.c", CODE))
    new = tree(entry("blob", b"\0\2"), entry("picture.png", b"\0\2"), entry("mdtest.c", CODE), entry("x", b"/", LINK))
    comparison, _ = classify.compare(old, new)
    assert {change.path: (change.kind, change.why) for change in comparison.changes} == {
        "blob": (ChangeClass.OTHER, "binary: cannot be reviewed as text"),
        "picture.png": (ChangeClass.DOCUMENTATION, "documentation (by name)"),
        "x": (ChangeClass.OTHER, "symbolic link"),
    }


HEADS = {
    "on one line": b"void f(int a) {\n",
    "on several lines": b"void f(int a,\n       int b) {\n",
    "with its brace below": b"static void\nf(int a)\n{\n",
    "after a declaration": b"void g(int a);\nvoid f(void)\n{\n",
}


@pytest.mark.parametrize("head", HEADS.values(), ids=list(HEADS))
def test_functions_are_found_however_their_head_is_written(head: bytes) -> None:
    body = b"    fsync(1);\n" + b"    a = 1;\n" * 8
    struct = b"struct s {\n    int a;\n};\nint table[] = {\n    1,\n};\n"
    code = struct + head + body + b"    b = 1;\n}\n"
    assert edit_change(b"    b = 1;\n", b"    return;\n", code=code).kind is ChangeClass.MEASUREMENT
    assert edit_change(b"    int a;\n", b"    int if_;\n    while;\n", code=code).kind is ChangeClass.OTHER


def test_permissions_are_a_change_of_their_own() -> None:
    comparison, _ = classify.compare(tree(entry("run", b"x")), tree(entry("run", b"x", PROGRAM)))
    (change,) = comparison.changes
    assert (change.how, change.kind, change.old_mode, change.new_mode) == (
        "mode",
        ChangeClass.BUILD,
        "100644",
        "100755",
    )


def test_a_file_has_the_class_of_its_weightiest_edit() -> None:
    code = CODE.replace(b"#include <stdio.h>\n", b"").replace(b"fsync(fd) == -1", b"0")
    comparison, _ = classify.compare(tree(mdtest_c=CODE), tree(mdtest_c=code))
    (change,) = comparison.changes
    assert (change.kind, change.added, change.removed) == (ChangeClass.MEASUREMENT, 1, 2)
    assert [flag.why for flag in change.flags] == [("flushing to storage",)]


def test_trees_that_are_the_same_have_no_modifications() -> None:
    comparison, patch = classify.compare(tree(a_c=CODE, name="one"), tree(a_c=CODE, name="two"))
    assert (comparison.changes, patch) == ((), b"")
    assert comparison.pristine.hash == comparison.modified.hash == comparison.applied


def test_what_was_compiled_in_the_published_directory_is_not_compared_either() -> None:
    built_too = tree(a_c=CODE, mdtest=b"\x7fELF\2")
    comparison, _ = classify.compare(built_too, tree(a_c=CODE))
    assert (comparison.changes, [ignored.path for ignored in comparison.pristine.ignored]) == ((), ["mdtest"])
    archive = replace(built_too, archive_sha256="12" * 32)  # is as it was published
    assert [change.path for change in classify.compare(archive, tree(a_c=CODE))[0].changes] == ["mdtest"]
    other = tree(a_c=CODE, mdtest=b"\x7fELF\3")
    assert [change.path for change in classify.compare(built_too, other)[0].changes] == ["mdtest"]


def test_what_was_compiled_in_the_tree_is_named_and_not_compared() -> None:
    comparison, _ = classify.compare(tree(a_c=CODE), tree(a_c=CODE, mdtest=b"\x7fELF\2"))
    assert comparison.changes == ()
    (ignored,) = comparison.modified.ignored
    assert (ignored.path, ignored.why, ignored.sha256) == (
        "mdtest",
        "compiled code",
        hashlib.sha256(b"\x7fELF\2").hexdigest(),
    )
    assert comparison.reproduced


def test_a_long_hunk_is_shown_around_what_is_flagged_and_always_printable() -> None:
    code = b"".join(b"int a%d;\n" % number for number in range(500)) + b"x = fsync(1); /* \xff\x1b[31m */\n"
    comparison, _ = classify.compare(tree(a_c=b"int b;\n"), tree(a_c=b"int b;\n", b_c=code))
    (flag,) = comparison.flags
    assert flag.place == "b.c:501"
    lines = flag.hunk.splitlines()
    assert len(lines) == classify.LONGEST_SHOWN + 2
    assert lines[1] == "... 441 lines before"
    assert lines[-1] == "+x = fsync(1); /* \\xff�[31m */"


@settings(max_examples=examples(100))
@given(source_trees.pairs())
def test_any_two_trees_are_compared(pair: tuple[Tree, Tree]) -> None:
    comparison, _ = classify.compare(*pair)
    assert comparison.reproduced
    assert (comparison.changes == ()) == (pair[0].entries == pair[1].entries)
    for flag in comparison.flags:
        assert all(char.isprintable() or char in "\t\n" for char in flag.hunk)
