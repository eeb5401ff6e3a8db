"""Archives of a stranger: what their members may be, and that reading one costs no more than its limits allow."""

from __future__ import annotations

import gzip
import io
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from campaign.core import archives, bagit
from campaign.core.archives import Limits, Member, MemberType
from campaign.core.errors import InputError
from campaign.report.compare import offer_files
from campaign.results.source import trees

LIMITS = Limits("the archive", 5, 1 << 20, "the archive unpacks to too much")


def tar(path: Path, **members: bytes) -> Path:
    with tarfile.open(path, "w:gz") as archive:
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return path


def write_zip(path: Path, members: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> Path:
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return path


def contents(path: Path, limits: Limits = LIMITS) -> dict[str, bytes]:
    with archives.open_archive(path, limits) as members:
        return {member.name: member.read() for member in members}


def zip_and_tar(folder: Path, **members: bytes) -> list[Path]:
    return [write_zip(folder / "x.zip", members), tar(folder / "x.tar.gz", **members)]


def test_zip_and_tar_give_the_same_members(tmp_path: Path) -> None:
    for path in zip_and_tar(tmp_path, a=b"1", b=b""):
        assert contents(path) == {"a": b"1", "b": b""}


def test_more_members_than_allowed_are_refused(tmp_path: Path) -> None:
    for path in zip_and_tar(tmp_path, **{f"f{number}": b"" for number in range(6)}):
        with pytest.raises(InputError, match="the archive has more than 5 members"):
            contents(path)


def test_what_a_tar_unpacks_to_is_counted_although_nothing_is_read_of_it(tmp_path: Path) -> None:
    path = tar(tmp_path / "x.tar.gz", a=bytes(2 << 20), b=b"")
    with (
        pytest.raises(InputError, match="the archive unpacks to too much"),
        archives.open_archive(path, LIMITS) as members,
    ):
        list(members)


def test_a_compression_that_is_not_asked_for_is_no_archive(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "x.tar.xz", "w:xz") as archive:
        archive.addfile(tarfile.TarInfo("a"))
    with pytest.raises(archives.NoArchive):
        contents(tmp_path / "x.tar.xz")
    assert contents(tmp_path / "x.tar.xz", Limits("x", 5, 1 << 20, "", ("lzma",))) == {"a": b""}


def test_a_tar_whose_first_name_begins_as_a_zip_does_is_a_tar(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "x.tar", "w") as archive:
        archive.addfile(tarfile.TarInfo("PKG-INFO"))
    assert contents(tmp_path / "x.tar") == {"PKG-INFO": b""}


def test_a_sparse_file_is_not_to_be_read(tmp_path: Path) -> None:
    info = tarfile.TarInfo("a")
    info.pax_headers = {"GNU.sparse.major": "1", "GNU.sparse.minor": "0", "GNU.sparse.name": "a"}
    info.size = 512
    with tarfile.open(tmp_path / "x.tar", "w") as archive:
        archive.addfile(info, io.BytesIO(b"1\n0\n0\n".ljust(512, b"\0")))
    with archives.open_archive(tmp_path / "x.tar", LIMITS) as members:
        assert [member.problem for member in members] == ["a sparse file; allowed: regular files"]


@pytest.mark.parametrize(("name", "out"), [("/a", True), ("../a", True), ("a/../b", True), ("a..b/c", False)])
def test_a_name_that_leads_out_is_known(name: str, out: bool) -> None:
    assert archives.is_outside(name) is out


def test_a_member_shorter_than_it_says_is_damage() -> None:
    member = Member("a", MemberType.FILE, 3, 0, lambda: io.BytesIO(b"12"))
    with pytest.raises(archives.Damaged, match="'a': found 2 of 3 bytes"):
        member.read()


# --- each reader


def of_a_bag(path: Path) -> None:
    (path.parent / "into").mkdir()
    raise InputError(*bagit.read(path, path.parent / "into").problems)


def of_a_tree(path: Path) -> None:
    trees.read(path.name, path.parent)


def of_an_offer(path: Path) -> None:
    offer_files.load_offer(path)


@pytest.mark.parametrize("read", [of_a_bag, of_a_tree, of_an_offer])
@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_no_reader_unpacks_a_method_that_cannot_be_bounded(
    tmp_path: Path, read: Callable[[Path], None], method: int
) -> None:
    """A few hundred bytes of bzip2 become a gigabyte in memory before the first of them is seen."""
    path = write_zip(tmp_path / "x.zip", {offer_files.TABLE: bytes(1 << 20)}, method)
    with pytest.raises(InputError, match=f"method {method}; allowed: stored or deflated"):
        read(path)


@pytest.mark.parametrize("read", [of_a_bag, of_a_tree, of_an_offer])
def test_no_reader_takes_a_header_that_would_fill_the_memory(tmp_path: Path, read: Callable[[Path], None]) -> None:
    info = tarfile.TarInfo("pax")
    info.type, info.size = tarfile.XHDTYPE, 2 << 20
    (tmp_path / "x.tar").write_bytes(info.tobuf(tarfile.GNU_FORMAT) + bytes(2 << 20))
    (tmp_path / "x.tar.gz").write_bytes(gzip.compress((tmp_path / "x.tar").read_bytes()))
    with pytest.raises(InputError, match=r"has a header of 2097152 bytes; allowed: up to 1048576"):
        read(tmp_path / "x.tar.gz")


@pytest.mark.parametrize("lies", [False, True])
def test_the_members_of_a_zip_are_counted_before_an_object_is_made_of_each(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lies: bool
) -> None:
    path = write_zip(tmp_path / "x.zip", {f"f{number}": b"" for number in range(50)})
    if lies:  # of how many there are, in what ends the archive
        data = bytearray(path.read_bytes())
        end = data.rindex(b"PK\5\6")
        data[end + 8 : end + 12] = b"\1\0\1\0"
        path.write_bytes(data)
    monkeypatch.setattr(zipfile, "ZipInfo", None)
    with pytest.raises(InputError, match="has more than 5 members"), archives.open_archive(path, LIMITS):
        pass


def test_a_directory_of_a_zip_that_is_too_large_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "LARGEST_DIRECTORY", 10)
    with pytest.raises(InputError), archives.open_archive(write_zip(tmp_path / "x.zip", {"f": b""}), LIMITS):
        pass
