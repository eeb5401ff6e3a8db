"""What is derived again is compared with the bundle's file: the first line that differs is shown."""

import errno
from pathlib import Path

import pytest

from campaign.evidence import derived_files

pytestmark = pytest.mark.unit
AGAIN = "first line\nsecond line\nthird, which is rather long up to the number 30870\n"


def difference(place: Path, kept_data: bytes | None) -> dict[str, str]:
    if kept_data is not None:
        (place / "table").write_bytes(kept_data)
    return derived_files.differing_files(place, {"table": AGAIN})


def test_a_file_that_is_the_same_does_not_differ(tmp_path: Path) -> None:
    assert difference(tmp_path, AGAIN.encode()) == {}


def test_the_first_line_that_differs_is_shown_from_shortly_before_the_difference(tmp_path: Path) -> None:
    texts = difference(tmp_path, AGAIN.replace("30870", "3087").encode())
    beginning = "…her long up to the number 3087"
    assert texts == {"table": f'line 3 is "{beginning}"; re-evaluated it is "{beginning}0"'}


@pytest.mark.parametrize(("kept_text", "lines"), [("first line\n", 2), (AGAIN + "more\n", 5), ("", 1)])
def test_lines_too_few_and_too_many_are_counted(tmp_path: Path, kept_text: str, lines: int) -> None:
    texts = difference(tmp_path, kept_text.encode())
    assert texts == {"table": f"it has {lines} lines; re-evaluated it has 4"}


def test_a_file_that_is_missing_or_no_utf8_is_named_so(tmp_path: Path) -> None:
    for data in (None, b"first line\n\xff\xfe\n"):
        assert difference(tmp_path, data) == {"table": "missing from the bundle, or not UTF-8"}


def test_a_file_that_this_machine_cannot_read_is_not_taken_for_a_missing_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(path: Path) -> bytes:
        raise OSError(errno.EIO, "Input/output error", str(path))

    path = tmp_path / "job.sbatch"
    assert derived_files.read_text(path) is None
    path.write_text("x")
    monkeypatch.setattr(Path, "read_bytes", refused)
    with pytest.raises(OSError, match="Input/output error"):
        derived_files.read_text(path)
