"""The find applet, driven as its users drive it."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from tests.support.bench_binary import Reply, launch

pytestmark = [pytest.mark.mpi, pytest.mark.timeout(900)]


def tree(folder: Path) -> Path:
    """41 files in deep directories, and a link; some are named after 01, some have 10 bytes, one is old."""
    root = folder / "tree"
    for number in range(40):
        path = root / f"d{number % 4}" / "deep" / f"file.{number:02}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x" * (10 if number < 2 else 5))
    (root / "link").symlink_to(root / "d0")
    (root / "d1" / "a01").write_bytes(b"x" * 10)
    os.utime(root / "d1" / "a01", (1, 1))
    (folder / "mark").touch()
    os.utime(folder / "mark", (1000, 1000))
    return root


def match_counts(reply: Reply) -> tuple[int, int]:
    assert reply.status == 0, reply.err
    match = re.search(r"^MATCHED (\d+)/(\d+)$", reply.out, re.MULTILINE)
    assert match is not None
    return int(match[1]), int(match[2])


@pytest.mark.parametrize(
    ("options", "matches"),
    [
        ((), 42),
        (("-n", "*01*"), 2),
        (("-n", "*01*", "-s", 10), 2),
        (("-s", 10), 3),
        (("-n", "*01*", "-s", 10, "--newer", "mark"), 1),
        (("-n", "nothing"), 0),
    ],
)
def test_files_are_found_as_by_find(tmp_path: Path, options: tuple[object, ...], matches: int) -> None:
    root = tree(tmp_path)
    words = [tmp_path / word if word == "mark" else word for word in options]
    assert match_counts(launch(tmp_path, "find", "-d", root, *words, ranks=3)) == (matches, 42)


def test_all_files_are_found_with_any_number_of_processes(tmp_path: Path) -> None:
    root = tree(tmp_path)
    for ranks in (1, 2, 5, 7):
        assert match_counts(launch(tmp_path, "find", "-d", root, "-s", 10, ranks=ranks)) == (3, 42)


def test_sizes_beyond_4_gib_are_reported_apart(tmp_path: Path) -> None:
    (tmp_path / "large").mkdir()
    for size in ((5 << 30) + 1, 5 << 30, 1 << 30):
        with (tmp_path / "large" / str(size)).open("wb") as file:
            file.truncate(size)
    assert match_counts(launch(tmp_path, "find", "-d", tmp_path / "large", "-s", 5 << 30)) == (1, 3)


def test_more_files_than_a_batch_are_all_looked_at(tmp_path: Path) -> None:
    (tmp_path / "many").mkdir()
    for number in range(20_100):
        (tmp_path / "many" / f"{number}").touch()
    assert match_counts(launch(tmp_path, "find", "-d", tmp_path / "many", "-n", "7*", ranks=2))[1] == 20_100


def test_a_directory_that_cannot_be_read_is_a_failed_operation(tmp_path: Path) -> None:
    reply = launch(tmp_path, "find", "-d", tmp_path / "absent", ranks=2)
    assert reply.status == 1
    assert "opendir" in reply.err
    assert "failed operations: 1" in reply.out


def test_a_missing_directory_option_is_reported(tmp_path: Path) -> None:
    reply = launch(tmp_path, "find", ranks=2)
    assert (reply.status, "-d DIR is missing" in reply.err) == (2, True)
