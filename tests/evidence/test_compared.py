"""What is derived again is compared with the bundle's file part by part: neither is held whole."""

import errno
import hashlib
from pathlib import Path

import pytest

from campaign.core.bagit import Bag
from campaign.evidence import compared

pytestmark = pytest.mark.unit
PARTS = ("first line\n", "second line\nthird, which is rather long up to the number 30870\n")


def difference(place: Path, kept: bytes | None, parts: tuple[str, ...] = PARTS) -> dict[str, str]:
    bag = Bag(place)
    if kept is not None:
        (place / "table").write_bytes(kept)
        bag.digests["data/table"] = hashlib.sha256(kept).hexdigest()
    return compared.differing(place, bag, {"table": parts})


def test_parts_that_are_together_the_file_do_not_differ(tmp_path: Path) -> None:
    assert difference(tmp_path, "".join(PARTS).encode()) == {}


def test_the_first_line_that_differs_is_shown_from_shortly_before_the_difference(tmp_path: Path) -> None:
    told = difference(tmp_path, "".join(PARTS).replace("30870", "3087").encode())
    beginning = "…her long up to the number 3087"
    assert told == {"table": f'line 3 is "{beginning}"; re-evaluated it is "{beginning}0"'}


@pytest.mark.parametrize(("kept", "lines"), [("first line\n", 2), ("".join(PARTS) + "more\n", 5), ("", 1)])
def test_lines_too_few_and_too_many_are_counted(tmp_path: Path, kept: str, lines: int) -> None:
    told = difference(tmp_path, kept.encode())
    assert told == {"table": f"it has {lines} lines; re-evaluated it has 4"}


def test_a_file_that_is_missing_or_no_utf8_is_named_so(tmp_path: Path) -> None:
    for kept in (None, b"first line\n\xff\xfe\n"):
        assert difference(tmp_path, kept) == {"table": "missing from the bundle, or not UTF-8"}


def test_a_line_without_end_is_compared_in_pieces(tmp_path: Path) -> None:
    line = "x" * (3 * compared.LONGEST_LINE)
    told = difference(tmp_path, f"{line}a\n".encode(), (f"{line}b\n",))
    assert told == {"table": 'line 1 is "a"; re-evaluated it is "b"'}


def test_a_file_that_this_machine_cannot_read_is_not_taken_for_a_missing_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(path: Path) -> bytes:
        raise OSError(errno.EIO, "Input/output error", str(path))

    path = tmp_path / "job.sbatch"
    assert compared.text_of(path) is None
    path.write_text("x")
    monkeypatch.setattr(Path, "read_bytes", refused)
    with pytest.raises(OSError, match="Input/output error"):
        compared.text_of(path)
