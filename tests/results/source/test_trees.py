"""Source trees from directories, archives and revisions; and archives that nobody should have to trust."""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import subprocess
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from campaign.core.errors import InputError
from campaign.results.source import trees
from campaign.results.source.facts import Ignored
from campaign.results.source.trees import LINK, PLAIN, PROGRAM, Tree, TreeEntry
from tests.support import source_trees
from tests.support.examples import examples
from tests.support.source_trees import entry, tree

SOURCE_TREE = tree(
    entry("mdtest.c", b"int main;\n"),
    entry("scripts/run.sh", b"#!/bin/sh\n", PROGRAM),
    entry("scripts/latest", b"run.sh", LINK),
    entry("d/e.txt", b""),
)


def read(path: Path, text: str = "", **options: frozenset[str]) -> Tree:
    return trees.read(text or path.name, path.parent, **options)


def directory(top: Path) -> str:
    source_trees.write(top / "mdtest-1.8.4", SOURCE_TREE)
    return "mdtest-1.8.4"


def tarball(kind: str) -> Callable[[Path], str]:
    def make(top: Path) -> str:
        directory(top)
        with tarfile.open(top / f"x.tar.{kind}", f"w:{kind}") as archive:  # type: ignore[call-overload]
            archive.add(top / "mdtest-1.8.4", "mdtest-1.8.4")
        return f"x.tar.{kind}"

    return make


def zip_archive(top: Path) -> str:
    with zipfile.ZipFile(top / "x.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for entry in SOURCE_TREE.entries.values():
            member = zipfile.ZipInfo(f"mdtest-1.8.4/{entry.path}")
            member.external_attr = int(entry.mode, 8) << 16
            archive.writestr(member, entry.data)
    return "x.zip"


def git(top: Path, *words: str) -> str:
    command = ["git", "-C", str(top), "-c", "user.name=x", "-c", "user.email=x", *words]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    process = subprocess.run(command, capture_output=True, text=True, check=True, timeout=800, env=environment)
    return process.stdout.strip()


def repository(top: Path) -> str:
    source_trees.write(top / "repo", SOURCE_TREE)
    (top / "repo" / ".gitattributes").write_text("*.c eol=crlf export-ignore\n")  # of no account
    git(top / "repo", "init", "--quiet")
    git(top / "repo", "add", "--force", *SOURCE_TREE.entries)
    git(top / "repo", "commit", "--quiet", "--message=first")
    git(top / "repo", "tag", "v1.8.4")
    (top / "repo" / "mdtest.c").write_text("changed since")
    return "repo@v1.8.4"


@pytest.mark.parametrize(
    "make",
    [directory, tarball("gz"), tarball("xz"), tarball("bz2"), tarball(""), zip_archive, repository],
    ids=["directory", "gz", "xz", "bz2", "tar", "zip", "git"],
)
def test_a_tree_is_the_same_wherever_it_lies(make: Callable[[Path], str], tmp_path: Path) -> None:
    name = make(tmp_path)
    tree = trees.read(name, tmp_path)
    assert (tree.name, dict(tree.entries), tree.hash) == (name, dict(SOURCE_TREE.entries), SOURCE_TREE.hash)
    path = tmp_path / name
    assert tree.archive_sha256 == (hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "")
    assert tree.revision == (git(tmp_path / "repo", "rev-parse", "HEAD") if "@" in name else "")


def test_the_hash_is_over_a_line_for_each_file_in_the_order_of_their_bytes() -> None:
    source_tree = tree(entry("b", b"x", PROGRAM), entry("Z", b"to", LINK), entry("é", b""))
    lines = [
        f"{hashlib.sha256(b'to').hexdigest()} 120000 Z\n",
        f"{hashlib.sha256(b'x').hexdigest()} 100755 b\n",
        f"{hashlib.sha256(b'').hexdigest()} 100644 é\n",
    ]
    assert source_tree.hash == hashlib.sha256("".join(lines).encode()).hexdigest()


@settings(max_examples=30)
@given(source_trees.trees)
def test_any_tree_is_read_as_it_was_written(tmp_path_factory: pytest.TempPathFactory, source_tree: Tree) -> None:
    top = source_trees.write(tmp_path_factory.mktemp("trees") / "top", source_tree)
    assert dict(read(top).entries) == dict(source_tree.entries)


def test_a_directory_of_a_revision(tmp_path: Path) -> None:
    repository(tmp_path)
    assert set(trees.read("repo@v1.8.4:scripts", tmp_path).entries) == {"run.sh", "latest"}


def test_variables_of_git_lead_nowhere_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repository(tmp_path)
    monkeypatch.setenv("GIT_DIR", "/nowhere")
    assert trees.read("repo@v1.8.4", tmp_path).hash == SOURCE_TREE.hash


@pytest.mark.parametrize("revision", ["v9", "--output=x", "HEAD:nowhere", "HEAD:mdtest.c"])
def test_a_revision_that_is_not_there_is_reported(revision: str, tmp_path: Path) -> None:
    repository(tmp_path)
    with pytest.raises(InputError):
        trees.read(f"repo@{revision}", tmp_path)


def test_what_is_not_there_is_reported_with_what_may_be(tmp_path: Path) -> None:
    with pytest.raises(InputError) as error:
        trees.read("mdtest-9", tmp_path)
    assert str(error.value) == f"{tmp_path}/mdtest-9: not found; expected {trees.FORMS}"


def test_version_control_is_left_out_and_said(tmp_path: Path) -> None:
    repository(tmp_path)
    tree = read(tmp_path / "repo")
    assert set(tree.entries) == {*SOURCE_TREE.entries, ".gitattributes"}
    assert tree.ignored == (Ignored(".git", "version control"),)


def test_directories_that_are_no_part_of_it_are_left_out_at_the_top_alone(tmp_path: Path) -> None:
    source_trees.write(tmp_path / "t", tree(entry("build/x.o"), entry("src/build/y.c"), entry("a.c")))
    source_tree = read(tmp_path / "t", excluded_directories=frozenset({"build"}))
    assert set(source_tree.entries) == {"src/build/y.c", "a.c"}
    assert source_tree.ignored == (Ignored("build", "build directory"),)


def test_a_pipe_is_not_opened(tmp_path: Path) -> None:
    source_trees.write(tmp_path / "t", SOURCE_TREE)
    os.mkfifo(tmp_path / "t" / "pipe")
    assert read(tmp_path / "t").ignored == (Ignored("pipe", "neither a file nor a link"),)


def test_a_link_out_of_the_tree_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "t").mkdir()
    (tmp_path / "t" / "etc").symlink_to("/etc")
    (tmp_path / "t" / "passwd").symlink_to("/etc/passwd")
    assert {path: entry.data for path, entry in read(tmp_path / "t").entries.items()} == {
        "etc": b"/etc",
        "passwd": b"/etc/passwd",
    }


def test_compiled_code_is_left_out_by_what_it_holds_and_only_where_it_is_new() -> None:
    elf = b"\x7fELF\2\1\1"
    pristine = tree(a_c=b"int a;\n", blob_o=elf)
    built = tree(a_c=b"int a;\n", blob_o=elf + b"changed", mdtest=elf, lib_a=b"!<arch>\n", trick_o=b"int hidden;\n")
    source_tree = trees.without_products(built, pristine)
    assert set(source_tree.entries) == {"a.c", "blob.o", "trick.o"}
    assert [(ignored.path, ignored.why) for ignored in source_tree.ignored] == [
        ("mdtest", "compiled code"),
        ("lib.a", "compiled code"),
    ]
    assert source_tree.ignored[0].sha256 == hashlib.sha256(elf).hexdigest()


# --- hostile archives


def tar(path: Path, *members: tuple[tarfile.TarInfo, bytes]) -> Path:
    with tarfile.open(path, "w:gz") as archive:
        for member, data in members:
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return path


def member(name: str, kind: bytes = tarfile.REGTYPE, link: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, link
    return info


HOSTILE = {
    "a path outside": ((member("../x"), b""), "path '../x' not allowed; expected paths inside the tree"),
    "an absolute path": ((member("/etc/x"), b""), "path '/etc/x' not allowed; expected paths inside the tree"),
    "a dot on the way": ((member("a/./../../x"), b""), "path 'a/./../../x' not allowed"),
    "a hard link outside": (
        (member("x", tarfile.LNKTYPE, "/etc/passwd"), b""),
        "x is a device, a pipe, or a link to a file outside the archive",
    ),
    "a device": ((member("x", tarfile.CHRTYPE), b""), "x is a device, a pipe"),
    "a pipe": ((member("x", tarfile.FIFOTYPE), b""), "x is a device, a pipe"),
}


@pytest.mark.parametrize(("hostile_member", "says"), HOSTILE.values(), ids=list(HOSTILE))
def test_a_hostile_member_is_refused(hostile_member: tuple[tarfile.TarInfo, bytes], says: str, tmp_path: Path) -> None:
    path = tar(tmp_path / "x.tar.gz", (member("top/a.c"), b"a"), hostile_member)
    with pytest.raises(InputError) as error:
        read(path)
    assert says in str(error.value)


def test_a_file_behind_a_link_of_the_archive_is_refused(tmp_path: Path) -> None:
    link = member("top/out", tarfile.SYMTYPE, "/etc")
    path = tar(tmp_path / "x.tar.gz", (link, b""), (member("top/out/passwd"), b"x"))
    with pytest.raises(InputError, match="top/out/passwd is inside top/out, which is not a directory"):
        read(path)


def test_a_file_that_is_there_twice_is_refused(tmp_path: Path) -> None:
    path = tar(tmp_path / "x.tar.gz", (member("a.c"), b"1"), (member("./a.c"), b"2"))
    with pytest.raises(InputError, match=r"duplicate entry a\.c"):
        read(path)


def test_a_hard_link_within_the_archive_is_its_file(tmp_path: Path) -> None:
    path = tar(tmp_path / "x.tar.gz", (member("a"), b"1"), (member("b", tarfile.LNKTYPE, "a"), b""))
    assert read(path).entries["b"] == TreeEntry("b", PLAIN, b"1")


def test_a_tar_bomb_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trees, "LARGEST_FILE", 1 << 20)
    path = tar(tmp_path / "one.tar.gz", (member("a"), bytes(2 << 20)))
    with pytest.raises(InputError, match="a has 2097152 bytes; allowed: up to 1 MiB per file"):
        read(path)
    many_path = tar(tmp_path / "many.tar.gz", *((member(f"a{number}"), bytes(1 << 20)) for number in range(9)))
    with pytest.raises(InputError, match="more than 4 MiB"):
        trees.read(many_path.name, many_path.parent, max_bytes=4 << 20)


def test_a_bomb_in_the_headers_is_stopped(tmp_path: Path) -> None:
    """The length of an extended header is in the header, and tarfile would read it whole."""
    header = member("x", tarfile.XHDTYPE)
    header.size = 500 << 20
    with gzip.open(tmp_path / "x.tar.gz", "wb", compresslevel=1) as stream:
        stream.write(header.tobuf())
        for _ in range(500):
            stream.write(bytes(1 << 20))
    with pytest.raises(InputError, match="too large to unpack"):
        trees.read("x.tar.gz", tmp_path, max_bytes=8 << 20)


def test_a_zip_bomb_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trees, "LARGEST_FILE", 1 << 20)
    with zipfile.ZipFile(tmp_path / "x.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a", bytes(8 << 20))
    data = (tmp_path / "x.zip").read_bytes()
    with pytest.raises(InputError, match="a has 8388608 bytes"):
        read(tmp_path / "x.zip")
    small = (1000).to_bytes(4, "little")
    (tmp_path / "liar.zip").write_bytes(data.replace((8 << 20).to_bytes(4, "little"), small))
    with pytest.raises(InputError):
        read(tmp_path / "liar.zip")


@pytest.mark.parametrize("name", ["../x", "/x", "a//x", "a/../x"])
def test_a_zip_with_a_path_outside_is_refused(name: str, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as archive:
        archive.writestr(name, "x")
    with pytest.raises(InputError, match="expected paths inside the tree"):
        read(tmp_path / "x.zip")


def test_too_many_files_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trees, "MOST_FILES", 3)
    directory(tmp_path)
    with pytest.raises(InputError, match="more than 3 files"):
        read(tmp_path / "mdtest-1.8.4")


@pytest.fixture(scope="module")
def archives(tmp_path_factory: pytest.TempPathFactory) -> list[bytes]:
    contents = []
    for make in (tarball("gz"), tarball("xz"), tarball("bz2"), tarball(""), zip_archive):
        top = tmp_path_factory.mktemp("archive")
        contents.append((top / make(top)).read_bytes())
    return contents


@settings(max_examples=examples(200))
@given(st.data())
def test_a_damaged_archive_is_read_or_refused(
    archives: list[bytes], tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    archive = bytearray(data.draw(st.sampled_from(archives)))
    for _ in range(data.draw(st.integers(1, 3))):
        archive[data.draw(st.integers(0, len(archive) - 1))] = data.draw(st.integers(0, 255))
    path = tmp_path_factory.getbasetemp() / "damaged"
    path.write_bytes(archive[: data.draw(st.integers(0, len(archive)))])
    try:
        tree = read(path)
    except InputError:
        return
    assert not any(".." in path.split("/") or path.startswith("/") for path in tree.entries)
