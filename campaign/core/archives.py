"""Reads the members of a .zip or .tar archive from another party, one after another, within limits.

Nothing is unpacked to disk and no link is followed. A tar is read as a stream without seeking, and members that are
skipped count towards the limits. Names are given as in the archive: the caller checks them, at least with `is_outside`.
"""

from __future__ import annotations

import bz2
import gzip
import itertools
import lzma
import stat
import struct
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import IO, Any

from campaign.core.errors import CampaignError, InputError, reraise_machine_problem

LARGEST_HEADER = 1 << 20  # bytes; a tar member's long name and attributes are read into memory
MOST_READS_BEYOND = 8  # reads past an archive's end

LARGEST_DIRECTORY = 64 << 20  # bytes of a zip's directory, which zipfile reads whole
_ENTRY, _END_OF_ZIP64 = 46, 76  # bytes: a directory entry without its name; the end records of a large one
_ZIPPED = (b"PK\3\4", b"PK\5\6")
_COMPRESSED: dict[bytes, tuple[str, Callable[[Any], Any]]] = {
    b"\x1f\x8b": ("gzip", gzip.open),
    b"\xfd7zXZ\0": ("lzma", lzma.open),
    b"BZh": ("bz2", bz2.open),
}
_LONG_HEADERS = (b"x", b"g", b"X", b"L", b"K")  # types of pax, Solaris and GNU long-name headers
# The library unpacks other methods without a bound: 900 bytes of bzip2 become a gigabyte in memory.
_BOUNDED_METHODS = (0, 8)


class Damaged(Exception):
    """What is wrong with an archive, in a few words."""


class NoArchive(Damaged):
    """The file cannot be opened as an archive at all."""


class LongHeader(InputError):
    """A header larger than LARGEST_HEADER."""


@dataclass(frozen=True, slots=True)
class Limits:
    """`name` is the archive's name in messages; `too_much` is the message when it unpacks to more than `unpacked`
    bytes.
    """

    name: str
    members: int
    unpacked: int
    too_much: str
    compressed: tuple[str, ...] = ("gzip",)  # of a tar: gzip, lzma, bz2


class MemberType(StrEnum):
    FILE = "a file"
    DIRECTORY = "a directory"
    SYMLINK = "a link"
    HARD_LINK = "a hard link"
    SPECIAL = "a special file"


_TAR_TYPES = {
    **dict.fromkeys(tarfile.REGULAR_TYPES, MemberType.FILE),
    tarfile.DIRTYPE: MemberType.DIRECTORY,
    tarfile.SYMTYPE: MemberType.SYMLINK,
    tarfile.LNKTYPE: MemberType.HARD_LINK,
}
TYPES = {0: MemberType.FILE, stat.S_IFREG: MemberType.FILE, stat.S_IFLNK: MemberType.SYMLINK}


@dataclass(frozen=True, slots=True)
class Member:
    """`size` is what the header says. `problem` says why the content must not be read, or is "". `target` is a tar
    link's target; a symbolic link in a zip has its target as its content.
    """

    name: str
    type: MemberType
    size: int
    mode: int
    open: Callable[[], AbstractContextManager[IO[bytes]]]
    target: str = ""
    problem: str = ""

    def read(self) -> bytes:
        """The content, which must be as long as the header says (check `size` first). Raises Damaged."""
        with self.open() as content:
            data = content.read(self.size + 1)
        if len(data) != self.size:
            length = "more" if len(data) > self.size else len(data)
            raise Damaged(f"{self.name!r:.200}: found {length} of {self.size} bytes")
        return data


def is_outside(name: str) -> bool:
    """Whether a name is absolute, or leads out of the directory in which it is used."""
    return name.startswith("/") or ".." in name.split("/")


@contextmanager
def open_archive(path: Path, limits: Limits) -> Iterator[Iterator[Member]]:
    """The members of an archive, to be used one after another within the context.

    Raises Damaged, also from within the context, and InputError where a limit is exceeded.
    """
    with _damage(Damaged), ExitStack() as stack:
        with _damage(NoArchive):
            members = _members(stack, path, limits)
        yield count_members(members, limits)


@contextmanager
def _damage(error_type: type[Damaged]) -> Iterator[None]:
    """Turn the many exceptions that the libraries raise for damaged or unknown archives into Damaged."""
    try:
        yield
    except (CampaignError, Damaged):
        raise
    except Exception as error:
        reraise_machine_problem(error)
        raise error_type(str(error)[:200] or type(error).__name__) from error


def _members(stack: ExitStack, path: Path, limits: Limits) -> Iterator[Member]:
    stream = stack.enter_context(path.open("rb"))
    start = stream.read(6)
    stream.seek(0)
    if start.startswith(_ZIPPED):
        _check_directory(stream, limits)
        return _zip_members(stack.enter_context(zipfile.ZipFile(stream)))
    content: IO[bytes] = stream
    for magic, (name, unpacked) in _COMPRESSED.items():
        if name in limits.compressed and start.startswith(magic):
            content = stack.enter_context(unpacked(stream))
    bounded: Any = _BoundedStream(content, limits)
    return _tar_members(stack.enter_context(tarfile.open(fileobj=bounded, mode="r|", tarinfo=_bounded_header(limits))))


def _check_directory(stream: IO[bytes], limits: Limits) -> None:
    """Count the entries of a zip's directory before zipfile creates an object for each. What the directory says of
    itself may be wrong, so the entries are counted where zipfile will look for them.
    """
    end: list[Any] | None = zipfile._EndRecData(stream)  # type: ignore[attr-defined]
    if end is None:
        return  # zipfile reports this
    size, location = end[5], end[9]
    if size > LARGEST_DIRECTORY:
        raise InputError(f"{limits.name} has more than {limits.members} members")
    stream.seek(max(0, location - size - (_END_OF_ZIP64 if end[0] == b"PK\6\6" else 0)))
    for number in itertools.count(1):
        header = stream.read(_ENTRY)
        if len(header) < _ENTRY or not header.startswith(b"PK\1\2"):
            break
        if number > limits.members:
            raise InputError(f"{limits.name} has more than {limits.members} members")
        stream.seek(sum(struct.unpack("<3H", header[28:34])), 1)
    stream.seek(0)


def count_members(members: Iterator[Member], limits: Limits) -> Iterator[Member]:
    for number, member in enumerate(members, 1):
        if number > limits.members:
            raise InputError(f"{limits.name} has more than {limits.members} members")
        yield member


def _zip_members(archive: zipfile.ZipFile) -> Iterator[Member]:
    for info in archive.infolist():
        mode = info.external_attr >> 16
        problem = ""
        if info.flag_bits & 1:
            problem = "encrypted; allowed: unencrypted members"
        elif info.compress_type not in _BOUNDED_METHODS:
            problem = f"compression method {info.compress_type}; allowed: stored or deflated"
        yield Member(
            info.filename,
            MemberType.DIRECTORY if info.is_dir() else TYPES.get(stat.S_IFMT(mode), MemberType.SPECIAL),
            info.file_size,
            mode,
            lambda info=info: archive.open(info),  # type: ignore[misc]
            problem=problem,
        )


def _tar_members(archive: tarfile.TarFile) -> Iterator[Member]:
    for info in archive:
        yield Member(
            info.name,
            _TAR_TYPES.get(info.type, MemberType.SPECIAL),
            info.size,
            info.mode,
            lambda info=info: archive.extractfile(info),  # type: ignore[misc, arg-type]
            info.linkname,
            "a sparse file; allowed: regular files" if info.issparse() else "",
        )


class _BoundedStream:
    """A stream of the unpacked archive, including headers and skipped members, up to a limit. tarfile skips a member by
    reading on, even where the archive ended long before the size that its header says.
    """

    def __init__(self, content: IO[bytes], limits: Limits) -> None:
        self._content, self._left, self._too_much = content, limits.unpacked, limits.too_much
        self._beyond = 0

    def read(self, size: int = -1) -> bytes:
        data = self._content.read(size)
        self._beyond += not data
        if self._beyond > MOST_READS_BEYOND:
            raise EOFError("the archive is truncated")
        self._left -= len(data)
        if self._left < 0:
            raise InputError(self._too_much)
        return data


def _bounded_header(limits: Limits) -> type[tarfile.TarInfo]:
    """tarfile's header, but long-name headers, which are members themselves, are limited in size."""

    class BoundedHeader(tarfile.TarInfo):
        def _proc_member(self, archive: tarfile.TarFile) -> Any:  # tarfile calls this for each header
            if self.type in _LONG_HEADERS and self.size > LARGEST_HEADER:
                raise LongHeader(f"{limits.name} has a header of {self.size} bytes; allowed: up to {LARGEST_HEADER}")
            return super()._proc_member(archive)  # type: ignore[misc]

    return BoundedHeader
