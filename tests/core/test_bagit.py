"""Bags as strangers make them: whatever is in one, nothing leaves the private directory and every trouble is named."""

from __future__ import annotations

import errno
import gzip
import hashlib
import io
import os
import stat
import tarfile
import zipfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from campaign.core import archives, bagit, workers
from campaign.core.bagit import Bag
from campaign.core.errors import EnvironmentLacks, InputError


def bag(root: Path, **files: str) -> Path:
    for name, text in {"log": "1 2 3\n", **files}.items():
        path = root / "data" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    bagit.finish(root, {"Contact-Name": "somebody"})
    return root


def read(path: Path, tmp_path: Path) -> Bag:
    into = tmp_path / "into"
    into.mkdir()
    return bagit.read(path, into)


def problems(path: Path, tmp_path: Path) -> list[str]:
    return read(path, tmp_path).problems


def test_a_bag_is_read_as_it_was_written(tmp_path: Path) -> None:
    contents = read(bag(tmp_path / "bag", other="x"), tmp_path)
    assert contents.problems == []
    assert set(contents.digests) == {
        "bagit.txt", "bag-info.txt", "manifest-sha256.txt", "tagmanifest-sha256.txt", "data/log", "data/other",
    }  # fmt: skip
    assert (tmp_path / "into/data/log").read_text() == "1 2 3\n"


@pytest.mark.parametrize("name", ["b.zip", "b.tar.gz"])
def test_an_archive_is_read_as_its_directory_and_made_the_same_each_time(tmp_path: Path, name: str) -> None:
    root = bag(tmp_path / "bag")
    bagit.pack(root, tmp_path / name)
    os.utime(root / "data/log", (1, 1))
    (tmp_path / "again").mkdir()
    bagit.pack(root, tmp_path / "again" / name)
    assert (tmp_path / name).read_bytes() == (tmp_path / "again" / name).read_bytes()
    contents = read(tmp_path / name, tmp_path)
    assert (contents.problems, contents.digests["data/log"]) == (
        [],
        hashlib.sha256((root / "data/log").read_bytes()).hexdigest(),
    )


@pytest.mark.parametrize("level", [0, 6, 9])
def test_a_zip_of_another_version_is_read_as_the_one_of_this(tmp_path: Path, level: int) -> None:
    """Version 0.3 compressed by the default level."""
    bagit.pack(bag(tmp_path / "bag", other="x" * 9999), tmp_path / "now.zip")
    with zipfile.ZipFile(tmp_path / "now.zip") as file, zipfile.ZipFile(tmp_path / "then.zip", "w") as zip_file:
        for member in file.infolist():
            zip_file.writestr(member.filename, file.read(member), zipfile.ZIP_DEFLATED, level)
        assert {member.compress_type for member in file.infolist()} == {zipfile.ZIP_DEFLATED}
    contents = read(tmp_path / "then.zip", tmp_path)
    (tmp_path / "again").mkdir()
    assert (contents.problems, contents.digests) == ([], read(tmp_path / "now.zip", tmp_path / "again").digests)


def test_files_that_are_alike_are_all_there(tmp_path: Path) -> None:
    texts = {"a": "x\n", "b": "x\n", "c/a": "x\n", "c/b": "", "d": "", "e": "y\n"}
    contents = read(bag(tmp_path / "bag", **texts), tmp_path)
    assert contents.problems == []
    assert {name: (tmp_path / "into" / "data" / name).read_text() for name in texts} == texts


def test_a_name_with_a_line_break_in_it_is_refused(tmp_path: Path) -> None:
    found_problems = problems(bag(tmp_path / "bag", **{"a\nb": "x"}), tmp_path)
    assert "its name is not allowed on some file systems" in found_problems[0]


# --- what was changed


def test_a_changed_file_is_named_with_both_hashes(tmp_path: Path) -> None:
    root = bag(tmp_path / "bag")
    (root / "data/log").write_text("1 2 4\n")
    found_problems = problems(root, tmp_path)
    assert len(found_problems) == 1
    assert found_problems[0].startswith("data/log: changed after bundling: its SHA-256 is ")


def test_files_that_are_missing_or_added_are_named(tmp_path: Path) -> None:
    root = bag(tmp_path / "bag", gone="x")
    (root / "data/gone").rename(root / "data/new")
    assert problems(root, tmp_path) == [
        '"data/new": added after bundling: not listed in manifest-sha256.txt',
        '"data/gone": missing from the bundle: listed in manifest-sha256.txt',
    ]


def test_a_tag_file_that_is_in_no_manifest_is_named(tmp_path: Path) -> None:
    root = bag(tmp_path / "bag")
    (root / "fetch.txt").write_text("http://example.org/ 1 data/x\n")
    assert problems(root, tmp_path) == ['"fetch.txt": added after bundling: not listed in tagmanifest-sha256.txt']


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("nonsense\n", 'allowed: "SHA-256  name"'),
        ("0" * 64 + "  data/log\n", "listed twice"),
        ("0" * 64 + "  ../../etc/passwd\n", "missing from the bundle"),
        ("0" * 64 + "  /etc/passwd\n", "missing from the bundle"),
    ],
)
def test_a_forged_manifest_is_reported(tmp_path: Path, line: str, message: str) -> None:
    root = bag(tmp_path / "bag")
    with (root / "manifest-sha256.txt").open("a") as file:
        file.write(line)
    assert any(message in problem for problem in problems(root, tmp_path))


@pytest.mark.parametrize("name", ["bagit.txt", "manifest-sha256.txt", "bag-info.txt"])
def test_a_tag_file_of_another_encoding_is_reported(tmp_path: Path, name: str) -> None:
    root = bag(tmp_path / "bag")
    (root / name).write_bytes((root / name).read_text().encode("utf-16"))
    assert f"{name}: byte 0 is not UTF-8" in problems(root, tmp_path)


def test_a_size_that_is_not_the_payloads_is_reported(tmp_path: Path) -> None:
    root = bag(tmp_path / "bag")
    info = (root / "bag-info.txt").read_text().replace("Payload-Oxum: 6.1", "Payload-Oxum: 7.1")
    (root / "bag-info.txt").write_text(info)
    assert any("Payload-Oxum" in problem for problem in problems(root, tmp_path))


def test_a_key_that_is_there_twice_in_the_description_is_reported(tmp_path: Path) -> None:
    """Two readers could take one value each: what is judged has to be what a person reads."""
    root = bag(tmp_path / "bag")
    text = (root / "bag-info.txt").read_text() + "Contact-Name: somebody else\n"
    (root / "bag-info.txt").write_text(text)
    contents = read(root, tmp_path)
    assert 'bag-info.txt: "Contact-Name": appears twice' in contents.problems
    assert contents.info["Contact-Name"] == "somebody"


# --- what leads elsewhere


def test_links_and_special_files_of_a_directory_are_refused(tmp_path: Path) -> None:
    root = bag(tmp_path / "bag")
    (root / "data/link").symlink_to("/etc/passwd")
    (root / "data/folder").symlink_to("/etc")
    os.mkfifo(root / "data/pipe")
    found_problems = problems(root, tmp_path)
    assert [problem for problem in found_problems if problem.endswith(": refused")] == [
        '"data/folder": a link; allowed: regular files: refused',
        '"data/link": a link; allowed: regular files: refused',
        '"data/pipe": a special file; allowed: regular files: refused',
    ]
    assert sorted(path.name for path in (tmp_path / "into/data").iterdir()) == ["log"]


def write_zip(path: Path, **members: bytes) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in {"bagit.txt": bagit.DECLARATION.encode(), **members}.items():
            archive.writestr(name, data)
    return path


NAMES = ["../outside", "/outside", "data/../../outside", "data\\outside", "C:outside", "data//x", "./data/x", "a\x00b"]


@pytest.mark.parametrize("name", NAMES)
def test_members_that_lead_outside_are_refused(tmp_path: Path, name: str) -> None:
    path = tmp_path / "b.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("bagit.txt", bagit.DECLARATION)
        member = zipfile.ZipInfo("x")
        member.filename = name
        archive.writestr(member, "x")
    found_problems = problems(path, tmp_path)
    if "\x00" not in name:  # where the name is cut off by the library, what is left is not in a manifest
        assert any(problem.endswith(": refused") or "damaged" in problem for problem in found_problems)
    assert found_problems
    assert sorted(path.name for path in tmp_path.iterdir()) == ["b.zip", "into"]
    assert not Path("/outside").exists()


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE])
def test_members_of_a_tar_that_are_no_files_are_refused(tmp_path: Path, kind: bytes) -> None:
    path = tmp_path / "b.tar"
    with tarfile.open(path, "w") as tar:
        member = tarfile.TarInfo("data/x")
        member.type, member.linkname = kind, "/etc/passwd"
        tar.addfile(member)
    assert any("allowed: regular files: refused" in problem for problem in problems(path, tmp_path))
    assert not (tmp_path / "into/data/x").exists()


def test_a_link_of_a_zip_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "b.zip"
    with zipfile.ZipFile(path, "w") as archive:
        member = zipfile.ZipInfo("data/x")
        member.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(member, "/etc/passwd")
    assert '"data/x": a link; allowed: regular files: refused' in problems(path, tmp_path)


def test_names_that_differ_in_case_alone_are_refused(tmp_path: Path) -> None:
    found_problems = problems(write_zip(tmp_path / "b.zip", **{"data/Log": b"1", "data/log": b"2"}), tmp_path)
    assert (
        '"data/log": appears twice, or differs from "data/Log" in upper and lower case only: refused' in found_problems
    )


def test_a_name_in_another_form_of_unicode_is_refused(tmp_path: Path) -> None:
    found_problems = problems(write_zip(tmp_path / "b.zip", **{"data/e\u0301": b"1"}), tmp_path)
    assert any("not in Unicode normal form NFC: refused" in problem for problem in found_problems)


# --- what is too much, or cut off


def test_a_decompression_bomb_ends_at_its_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bagit, "RATIO_FROM", 1 << 20)
    path = write_zip(tmp_path / "b.zip", **{f"data/{number}": b"\0" * (1 << 20) for number in range(8)})
    with pytest.raises(InputError, match="a decompression bomb"):
        problems(path, tmp_path)
    assert sum(path.stat().st_size for path in (tmp_path / "into").rglob("*") if path.is_file()) <= 2 << 20


def test_a_file_above_the_limit_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bagit, "LARGEST_FILE", 10)
    assert any('"data/log": 11 bytes' in problem for problem in problems(bag(tmp_path / "b", log="x" * 11), tmp_path))


def test_too_many_files_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bagit, "MOST_FILES", 3)
    for number, path in enumerate(
        [write_zip(tmp_path / "b.zip", a=b"1", b=b"2", c=b"3", d=b"4"), bag(tmp_path / "bag")]
    ):
        into = tmp_path / str(number)
        into.mkdir()
        with pytest.raises(InputError, match=r"more than 3|5 members"):
            bagit.read(path, into)


@pytest.mark.parametrize("name", ["b.zip", "b.tar.gz"])
def test_a_cut_off_archive_is_damaged_wherever_it_ends(tmp_path: Path, name: str) -> None:
    bagit.pack(bag(tmp_path / "bag"), tmp_path / name)
    data = (tmp_path / name).read_bytes()
    complete = read(tmp_path / name, tmp_path).digests
    for length in range(1, len(data), max(1, len(data) // 20)):
        (tmp_path / name).write_bytes(data[:length])
        into = tmp_path / f"into{length}"
        into.mkdir()
        try:
            contents = bagit.read(tmp_path / name, into)
            assert contents.problems or contents.digests == complete  # what is cut off may be padding alone
        except InputError as error:
            assert "not a bundle" in str(error)


def test_a_tar_that_says_a_size_it_does_not_have_is_damaged(tmp_path: Path) -> None:
    path = tmp_path / "b.tar"
    member = tarfile.TarInfo("data/x")
    member.size = 1 << 20
    path.write_bytes(member.tobuf() + b"x" * 512)
    assert problems(path, tmp_path)


def test_a_member_of_a_size_that_no_disk_has_ends_the_reading_at_once(tmp_path: Path) -> None:
    path = tmp_path / "b.tar.gz"
    with tarfile.open(path, "w:gz") as tar:
        member = tarfile.TarInfo("data/x")
        member.pax_headers = {"size": str(1 << 60)}
        tar.addfile(member)
    assert problems(path, tmp_path)[0].startswith('"data/x": 1152921504606846976 bytes; allowed: up to')


@given(data=st.binary(max_size=2000))
def test_any_bytes_are_read_without_an_accident(data: bytes, tmp_path_factory: pytest.TempPathFactory) -> None:
    place = tmp_path_factory.mktemp("any")
    (place / "b").write_bytes(data)
    (place / "into").mkdir()
    try:
        assert bagit.read(place / "b", place / "into").problems
    except InputError as error:
        assert "not a bundle" in str(error)


@given(changes=st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 255)), max_size=5))
def test_a_changed_archive_is_read_without_an_accident(
    changes: list[tuple[int, int]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    place = tmp_path_factory.mktemp("changed")
    for name in ("b.zip", "b.tar.gz"):
        folder = place / name.replace(".", "-")
        folder.mkdir()
        bagit.pack(bag(folder / "bag"), folder / name)
        data = bytearray((folder / name).read_bytes())
        for at, value in changes:
            data[at % len(data)] = value
        (folder / name).write_bytes(data)
        (folder / "into").mkdir()
        try:
            bagit.read(folder / name, folder / "into")
        except InputError as error:
            assert str(error)


def test_a_member_that_is_read_is_never_more_than_it_said(tmp_path: Path) -> None:
    longer = archives.Member("x", archives.MemberType.FILE, 2, 0o644, lambda: io.BytesIO(b"123"))
    refusal = '"x": longer than the 2 bytes in its header: refused'
    assert bagit._copy_file(Bag(tmp_path), ("x", longer)) == ("", refusal)
    assert not (tmp_path / "x").exists()


def test_several_processes_copy_and_refuse_what_one_copies_and_refuses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = bag(tmp_path / "bag", **{f"folder{number % 5}/log{number}": "x" * number for number in range(40)})
    manifest = (root / "manifest-sha256.txt").read_bytes()
    (root / "data/folder1/log11").write_text("changed")
    (root / "data/folder2/log12").unlink()
    (root / "data/FOLDER3").mkdir()
    (root / "data/FOLDER3/added").write_text("another case")
    (root / "data/link").symlink_to("log")
    in_one = read(root, tmp_path)
    (tmp_path / "into").rename(tmp_path / "into one")
    monkeypatch.setattr(workers, "FEWEST_ITEMS", 1)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2})
    in_three = read(root, tmp_path)
    assert in_three.problems == in_one.problems
    assert len(in_one.problems) == 5
    assert (in_three.digests, in_three.size, in_three.info) == (in_one.digests, in_one.size, in_one.info)
    bagit.finish(bag(tmp_path / "same", **{f"folder{n % 5}/log{n}": "x" * n for n in range(40)}), {})
    assert (tmp_path / "same/manifest-sha256.txt").read_bytes() == manifest


# --- archives that cost more than they are


def write_tar(path: Path, *members: tuple[str, bytes, int]) -> Path:
    """Members as name, type and the size that their header says, with as many zeros behind it."""
    with gzip.open(path, "wb", 1) as out:
        for name, kind, size in members:
            header = tarfile.TarInfo(name)
            header.type, header.size = kind, size
            out.write(header.tobuf())
            out.write(b"\0" * (size + -size % 512))
    return path


@pytest.mark.parametrize("kind", [tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK])
def test_a_header_that_would_fill_the_memory_is_refused(tmp_path: Path, kind: bytes) -> None:
    path = write_tar(tmp_path / "b.tgz", ("data/x", kind, 2 << 20))
    with pytest.raises(InputError, match="the bundle has a header of 2097152 bytes; allowed: up to 1048576"):
        problems(path, tmp_path)


def test_what_is_skipped_of_an_archive_counts_as_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("RATIO_FROM", 1 << 20), ("LARGEST_BAG", 1 << 20), ("LARGEST_FILE", 10)):
        monkeypatch.setattr(bagit, name, value)
    path = write_tar(tmp_path / "b.tgz", *((f"data/{number}", tarfile.REGTYPE, 1 << 20) for number in range(8)))
    with pytest.raises(InputError, match="more than 1048576 bytes"):
        problems(path, tmp_path)


@pytest.mark.parametrize("method", [zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2])
def test_a_method_that_a_bundle_does_not_use_is_refused(tmp_path: Path, method: int) -> None:
    with zipfile.ZipFile(tmp_path / "b.zip", "w", method) as archive:
        archive.writestr("data/x", "x")
    found_problems = problems(tmp_path / "b.zip", tmp_path)
    assert f'"data/x": compression method {method}; allowed: stored or deflated: refused' in found_problems


@pytest.mark.parametrize("order", [("data/x", "data/x/y"), ("data/x/y", "data/x")])
def test_a_file_and_a_folder_of_one_name_are_refused(tmp_path: Path, order: tuple[str, str]) -> None:
    found_problems = problems(write_zip(tmp_path / "b.zip", **dict.fromkeys(order, b"1")), tmp_path)
    assert f'"{order[1]}": is both a file and a directory: refused' in found_problems


def test_folders_that_differ_in_case_alone_are_refused(tmp_path: Path) -> None:
    found_problems = problems(write_zip(tmp_path / "b.zip", **{"data/A/x": b"1", "data/a/y": b"2"}), tmp_path)
    assert '"data/a/y": its directory differs from "data/A" in upper and lower case only: refused' in found_problems


def test_every_file_below_a_folder_that_differs_in_case_alone_is_refused(tmp_path: Path) -> None:
    names = ("data/A/b/x", "data/a/b/x2", "data/a/c/y", "data/a/c/z", "data/A/b/w")
    bag = read(write_zip(tmp_path / "b.zip", **dict.fromkeys(names, b"1")), tmp_path)
    refused = [problem for problem in bag.problems if problem.endswith("in upper and lower case only: refused")]
    assert refused == [
        '"data/a/b/x2": its directory differs from "data/A/b" in upper and lower case only: refused',
        '"data/a/c/y": its directory differs from "data/A" in upper and lower case only: refused',
        '"data/a/c/z": its directory differs from "data/A" in upper and lower case only: refused',
    ]
    assert {"data/A/b/x", "data/A/b/w"} == {name for name in bag.digests if name.startswith("data/")}


def test_a_full_disk_is_no_fault_of_the_bundle(tmp_path: Path) -> None:
    class Full(io.BytesIO):
        def write(self, data: object) -> int:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with pytest.raises(EnvironmentLacks, match="No space left on device; set TMPDIR"), bagit.writing_member("data/x"):
        Full().write(b"")


@pytest.mark.parametrize("separator", ["\x0b", "\x0c", "\x1c", "\x85", "\u2028", "\r"])
def test_lines_of_a_manifest_end_with_a_line_feed_alone(tmp_path: Path, separator: str) -> None:
    root = bag(tmp_path / "bag", other="x")
    path = root / "tagmanifest-sha256.txt"
    path.write_bytes(path.read_text().replace("\n", separator, 1).encode())
    assert any(
        "missing from the bundle: listed in tagmanifest-sha256.txt" in problem for problem in problems(root, tmp_path)
    )


def test_a_manifest_that_is_cut_off_at_its_end_is_reported(tmp_path: Path) -> None:
    root = bag(tmp_path / "bag")
    path = root / "tagmanifest-sha256.txt"
    path.write_text(path.read_text().removesuffix("\n"))
    assert problems(root, tmp_path) == ["tagmanifest-sha256.txt: the last line is truncated"]


# --- names of archives


@pytest.mark.parametrize("name", ["data.zip", "data.tar.gz", ".zip", "B.ZIP", "b.TGZ", "b.tar", "a b.tgz"])
def test_an_archive_of_any_name_is_read_again(tmp_path: Path, name: str) -> None:
    bagit.pack(bag(tmp_path / "bag"), tmp_path / name)
    assert problems(tmp_path / name, tmp_path) == []
    start = (tmp_path / name).read_bytes()[:2]
    assert (start == b"PK", start == b"\x1f\x8b") == (
        name.lower().endswith(".zip"), name.lower().endswith("gz"),
    )  # fmt: skip


def test_of_many_problems_the_first_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bagit, "MOST_PROBLEMS", 3)
    root = bag(tmp_path / "bag")
    for number in range(20):
        (root / "data" / f"added{number}").write_text("x")
    assert len(problems(root, tmp_path)) == 3


@pytest.mark.parametrize("limit", ["MOST_IN_NAMES", "MOST_FILES"])
def test_names_of_a_bag_are_bounded_all_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str) -> None:
    monkeypatch.setattr(bagit, limit, 2)
    with pytest.raises(InputError, match="more than"):
        read(bag(tmp_path / "bag", a="1", b="2", c="3"), tmp_path)


def test_folders_are_not_endlessly_deep() -> None:
    assert bagit.unfit_name_reason("/".join("a" * bagit.DEEPEST)) == ""
    assert "nested directories" in bagit.unfit_name_reason("/".join("a" * (bagit.DEEPEST + 1)))


def test_a_manifest_without_lines_is_not_read_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bagit, "LARGEST_TAG_FILE", 500)
    root = bag(tmp_path / "bag")
    (root / "manifest-sha256.txt").write_text("x" * 100_000)
    (root / "bag-info.txt").write_text("y" * 100_000)
    found_problems = problems(root, tmp_path)
    assert any("manifest-sha256.txt" in text for text in found_problems)
    assert any("bag-info.txt" in text and "500" in text for text in found_problems)


def test_a_name_that_is_no_utf8_is_reported_before_anything_is_written(tmp_path: Path) -> None:
    (tmp_path / os.fsdecode(b"core.\xff")).write_text("x")
    with pytest.raises(InputError, match=r'core\.\\udcff": the name is not UTF-8; rename or remove it'):
        list(bagit.files(tmp_path))
