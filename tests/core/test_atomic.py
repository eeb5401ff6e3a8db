"""Files that appear whole."""

from __future__ import annotations

import contextlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from campaign.core import atomic


def test_many_writers_of_one_file_leave_one_whole_content_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    contents = [str(number) * 10_000 for number in range(8)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda content: [atomic.write(path, content) for _ in range(50)], contents))
    assert path.read_text() in contents
    assert [path.name for path in tmp_path.iterdir()] == ["plan.json"]


def test_what_cannot_be_written_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    path.mkdir()
    with pytest.raises(OSError, match=r"plan\.json"):
        atomic.write(path, b"x")
    assert [path.name for path in tmp_path.iterdir()] == ["plan.json"]


def test_others_may_read_it_as_the_umask_says(tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    atomic.write(path, "x")
    other = tmp_path / "other"
    other.touch()
    assert path.stat().st_mode == other.stat().st_mode


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o664, 0o444])
def test_a_file_that_is_replaced_keeps_its_permissions(mode: int, tmp_path: Path) -> None:
    path = tmp_path / "offer.csv"
    path.write_text("old")
    path.chmod(mode)
    atomic.write(path, "new")
    assert (path.read_text(), path.stat().st_mode & 0o777) == ("new", mode)


def test_a_full_disk_names_the_file() -> None:
    with pytest.raises(OSError, match=r"No space left on device: '.*c\.sbatch'"):
        atomic.write(Full("c.sbatch"), "x")


class Full(type(Path())):  # type: ignore[misc]  # a file on a disk that takes no byte
    def open(self, *_: object, **__: object) -> object:
        return Path("/dev/full").open("wb", buffering=0)


def test_a_directory_is_locked_by_one_alone_or_by_several_among_others(tmp_path: Path) -> None:
    with atomic.locked(tmp_path) as first, atomic.locked(tmp_path) as second:
        assert (first, type(second)) == (None, BlockingIOError)
    with atomic.locked(tmp_path, atomic.AMONG_OTHERS) as first, atomic.locked(tmp_path, atomic.AMONG_OTHERS) as second:
        assert (first, second) == (None, None)
        with atomic.locked(tmp_path) as third:
            assert type(third) is BlockingIOError
    with atomic.locked(tmp_path) as last:
        assert last is None


def test_who_holds_a_directory_for_ever_keeps_nobody_from_working_in_it(tmp_path: Path) -> None:
    """Anybody who may read the directory can."""
    with atomic.locked(tmp_path), atomic.locked(tmp_path, atomic.AMONG_OTHERS) as refused:
        assert type(refused) is BlockingIOError


def test_who_holds_a_directory_for_a_moment_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with contextlib.ExitStack() as moment:
        moment.enter_context(atomic.locked(tmp_path))
        monkeypatch.setattr(atomic.time, "sleep", lambda _: moment.close())
        with atomic.locked(tmp_path, atomic.AMONG_OTHERS) as refused:
            assert refused is None
