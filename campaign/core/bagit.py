"""BagIt bags (RFC 8493): written for a bundle, and read as untrusted input.

Reading copies a bag from a directory, a zip or a tar archive into a private directory and trusts nothing: names must be
plain and relative, links and special files are refused, counts and sizes are limited, and every file must be in a
manifest with its hash. Whatever is wrong is recorded as a problem; a file with a problem is not copied.
"""

from __future__ import annotations

import errno
import gzip
import hashlib
import os
import re
import stat
import tarfile
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Set
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from operator import itemgetter
from pathlib import Path
from typing import IO
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from campaign.core import archives, temporary, untrusted
from campaign.core.errors import InputError, MachineLacks
from campaign.core.steps import count_steps
from campaign.core.strict_yaml import quoted
from campaign.core.workers import results_in_order

DECLARATION = "BagIt-Version: 1.0\nTag-File-Character-Encoding: UTF-8\n"
INFO, MANIFEST, TAG_MANIFEST = "bag-info.txt", "manifest-sha256.txt", "tagmanifest-sha256.txt"
SIGNATURE = f"{TAG_MANIFEST}.sig"
PAYLOAD = "data/"

MOST_FILES = 200_000
LARGEST_FILE = 256 << 20
LARGEST_BAG = 2 << 30
MOST_RATIO = 200  # highest ratio of a bag's size to its archive's; logs of a benchmark stay below 50
RATIO_FROM = 64 << 20  # bytes; smaller bags may be compressed by any ratio
LONGEST_NAME = 1000
_ARCHIVES = (".zip", ".tar.gz", ".tgz", ".tar")
MOST_PROBLEMS = 1_000
MOST_IN_NAMES = 16 << 20  # characters of all names together
DEEPEST = 16  # nested folders
LARGEST_TAG_FILE = 1 << 20
LONGEST_MANIFEST_LINE = 4 * LONGEST_NAME
_CHUNK = 1 << 20
_ZIP_LEVEL = 1  # of zlib: for job scripts and logs half the time of its default, and 13% more bytes
_GIVE = "give a directory, .zip or .tar.gz written by 'campaign bundle'"


@dataclass
class Bag:
    """A bag that was read. `digests` has the copied files by their names in the bag; `size` and `payload_size` are
    bytes; `info` is the content of bag-info.txt.
    """

    root: Path
    digests: dict[str, str] = field(default_factory=dict)
    size: int = 0
    payload_size: int = 0
    info: dict[str, str] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)

    def text(self, name: str) -> str:
        """The text of a tag file; if it is missing or not UTF-8, "" and a problem."""
        if name not in self.digests:
            self.problems.append(f"{name}: missing from the bundle")
            return ""
        if (size := (self.root / name).stat().st_size) > LARGEST_TAG_FILE:
            self.problems.append(f"{quoted(name)}: {size} bytes; allowed: up to {LARGEST_TAG_FILE}")
            return ""
        try:
            return (self.root / name).read_bytes().decode("utf-8")
        except UnicodeDecodeError as error:
            self.problems.append(f"{name}: byte {error.start} is not UTF-8")
            return ""


# --- writing


def files(folder: Path | str, prefix: str = "") -> Iterator[tuple[str, os.DirEntry[str]]]:
    """Every file below a directory, named `prefix` + relative path, always in the same order. Raises InputError if one
    is not a plain file, or its name is not UTF-8.
    """
    for entry in sorted(os.scandir(folder), key=lambda entry: entry.name):
        if os.fsencode(entry.name).decode(errors="replace") != entry.name:
            raise InputError(f"{folder}: {quoted(entry.name)}: the name is not UTF-8; rename or remove it")
        if entry.is_file(follow_symlinks=False):
            yield prefix + entry.name, entry
        elif entry.is_dir(follow_symlinks=False):
            yield from files(entry.path, f"{prefix}{entry.name}/")
        else:
            raise InputError(f"{entry.path}: not a regular file; remove it from the results directory")


def finish(root: Path, info: Mapping[str, str]) -> None:
    """Make a bag of a directory whose payload is in `data/`: write declaration, description and manifests."""
    payload = [(name, Path(entry.path)) for name, entry in files(root / "data", PAYLOAD)]
    with (root / MANIFEST).open("wb") as manifest:
        manifest.writelines(results_in_order(_line, payload, itemgetter(0), "hashing files"))
    size = sum(path.stat().st_size for _, path in payload)
    described = {**info, "Payload-Oxum": f"{size}.{len(payload)}"}
    tags = {
        "bagit.txt": DECLARATION,
        INFO: "".join(f"{key}: {' '.join(value.split())}\n" for key, value in described.items()),
    }
    for name, text in tags.items():
        (root / name).write_bytes(text.encode())
    (root / TAG_MANIFEST).write_bytes(b"".join(_line((name, root / name)) for name in sorted([*tags, MANIFEST])))


def pack(root: Path, archive: Path) -> None:
    """Write a bag as one .zip or .tar.gz, in a folder named like the archive. The same bag gives the same bytes."""
    top = _archive_folder(archive)
    if archive.name.lower().endswith(".zip"):
        with ZipFile(archive, "x") as file:
            for name, entry in files(root):
                member = ZipInfo(f"{top}/{name}")
                member.external_attr = 0o644 << 16
                file.writestr(member, Path(entry.path).read_bytes(), ZIP_DEFLATED, _ZIP_LEVEL)
        return
    with archive.open("xb") as raw, ExitStack() as stack:
        zipped = not archive.name.lower().endswith(".tar")
        out = stack.enter_context(gzip.GzipFile("", "wb", fileobj=raw, mtime=0)) if zipped else raw
        tar = stack.enter_context(tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT))
        for name, entry in files(root):
            header = tarfile.TarInfo(f"{top}/{name}")
            header.size = entry.stat().st_size
            with Path(entry.path).open("rb") as content:
                tar.addfile(header, content)


def is_archive(path: Path) -> bool:
    """Whether the name ends like that of an archive."""
    return path.name.lower().endswith(_ARCHIVES)


def _archive_folder(archive: Path) -> str:
    """The folder inside the archive: the archive's name, unless it is unusable or a name of the bag's own."""
    ending = next((ending for ending in _ARCHIVES if archive.name.lower().endswith(ending)), "")
    name = archive.name[: len(archive.name) - len(ending)]
    return "bundle" if unfit_name_reason(name) or name == "data" else name


def _line(file: tuple[str, Path]) -> bytes:
    """The line of a manifest for a file, after its name."""
    name, path = file
    return f"{untrusted.digest(path)}  {_quoted(name)}\n".encode()


def _quoted(name: str) -> str:
    return name.replace("%", "%25").replace("\n", "%0A").replace("\r", "%0D")


# --- reading


def read(path: Path, into: Path) -> Bag:
    """Copy a bag into an empty directory and compare it with its manifests. Raises InputError where there is nothing
    that could be a bag.
    """
    bag = Bag(into)
    if path.is_dir():
        if not (path / "bagit.txt").is_file():
            nested_bags = [file.parent for file in path.glob("*/bagit.txt")]
            remedy = f"did you mean {nested_bags[0]}?" if len(nested_bags) == 1 else _GIVE
            raise InputError(f"{path}: not a bundle: bagit.txt not found; {remedy}")
        members = list(_admitted_files(_Intake(bag), _directory_members(path), top=""))
        copies = results_in_order(partial(_copy_file, bag), members, itemgetter(0), _COPYING)
        _add_copies(bag, zip(members, copies, strict=True))
    elif path.is_file():
        _read_archive(bag, path)
    else:
        raise InputError(f"{path}: not found; give a bundle written by 'campaign bundle'")
    _check(bag)
    del bag.problems[MOST_PROBLEMS:]
    return bag


_COPYING = "copying files of the bundle"
_File = tuple[str, archives.Member]  # after its name in the bag
_Copy = tuple[str, str]  # the SHA-256 of a copied file, and why it was refused


class _Refused(Exception):
    """A member that is not copied, with the reason."""


@dataclass
class _Intake:
    """Admits members to the private directory and counts them."""

    bag: Bag
    total: int = 0
    named: int = 0  # characters of all names so far
    most: int = LARGEST_BAG
    seen: dict[str, str] = field(default_factory=dict)  # names as a case-insensitive file system compares them
    folders: dict[str, str] = field(default_factory=lambda: {"": ""})  # the same; the root exists

    def admit(self, name: str, size: int) -> None:
        """Make room for a file. `size` is what the archive says; no more is read."""
        self._check_name(name)
        if size > LARGEST_FILE:
            raise _Refused(f"{quoted(name)}: {size} bytes; allowed: up to {LARGEST_FILE}")
        self.total += size
        if self.total > self.most:
            raise InputError(size_problem(self.most))
        with writing_member(name):
            self._enter(name.rpartition("/")[0], name)

    def _check_name(self, name: str) -> None:
        if reason := unfit_name_reason(name):
            raise _Refused(f"{quoted(name)}: {reason}")
        self.named += len(name)
        if self.named > MOST_IN_NAMES or len(self.seen) >= MOST_FILES:
            raise InputError(f"the bundle has more than {MOST_FILES} files")
        if other := self.seen.get(name.casefold()):
            raise _Refused(
                f"{quoted(name)}: appears twice, or differs from {quoted(other)} in upper and lower case only"
            )
        self.seen[name.casefold()] = name

    def _enter(self, folder: str, name: str) -> None:
        """Create a member's folder, once, after those that contain it."""
        if (other := self.folders.get(folder.casefold())) is None:
            self._enter(folder.rpartition("/")[0], name)
            (self.bag.root / folder).mkdir(exist_ok=True)
            self.folders[folder.casefold()] = folder
        elif other != folder:
            raise _Refused(f"{quoted(name)}: its directory differs from {quoted(other)} in upper and lower case only")


def size_problem(max_bytes: int) -> str:
    if max_bytes == LARGEST_BAG:
        return f"the bundle has more than {max_bytes} bytes"
    return f"the bundle has more than {max_bytes} bytes, {MOST_RATIO} times its archive: a decompression bomb"


@contextmanager
def writing_member(name: str) -> Iterator[None]:
    """Around writes on this machine: their errors are not the bundle's fault, unless two members have one path."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.EEXIST, errno.ENOTDIR, errno.EISDIR):
            raise _Refused(f"{quoted(name)}: is both a file and a directory") from error
        where = error.filename or "the temporary directory"
        raise MachineLacks(temporary.no_space_text(where, error.strerror)) from error


def _write(out: IO[bytes], data: bytes) -> None:
    """Write all of it: an unbuffered write may write less."""
    remaining = memoryview(data)
    while remaining:
        remaining = remaining[out.write(remaining) :]


def unfit_name_reason(name: str) -> str:
    """Why a member's name is refused, or ""."""
    parts = name.split("/")
    if not name or len(name.encode(errors="replace")) > LONGEST_NAME:
        return f"its name has {len(name)} characters; allowed: 1 to {LONGEST_NAME} bytes"
    if len(parts) > DEEPEST:
        return f"more than {DEEPEST} nested directories"
    if archives.is_outside(name):
        return "its path points outside the bundle"
    if "" in parts or "." in parts or "\\" in name or re.match(r"[A-Za-z]:", name):
        return "its path is not a plain relative path"
    if not name.isprintable() or any(len(part.encode(errors="replace")) > 255 for part in parts):
        return "its name is not allowed on some file systems"
    if unicodedata.normalize("NFC", name) != name:
        return "its name is not in Unicode normal form NFC"
    return ""


def _directory_members(root: Path) -> Iterator[archives.Member]:
    """Each file and directory below `root`; only directories with an allowed name are entered."""
    waiting = [(root, "")]
    while waiting:
        folder, prefix = waiting.pop()
        for entry in sorted(os.scandir(folder), key=lambda entry: entry.name):
            name, status, problem = prefix + entry.name, entry.stat(follow_symlinks=False), ""
            member_type = archives.TYPES.get(stat.S_IFMT(status.st_mode), archives.MemberType.SPECIAL)
            if entry.is_dir(follow_symlinks=False):
                member_type, problem = archives.MemberType.DIRECTORY, unfit_name_reason(name)
                waiting += [] if problem else [(Path(entry.path), f"{name}/")]
            content = partial(open_member, entry.path)
            yield archives.Member(name, member_type, status.st_size, status.st_mode, content, problem=problem)


def open_member(path: str) -> IO[bytes]:
    return os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb", buffering=0)


def _read_archive(bag: Bag, path: Path) -> None:
    max_bytes = min(LARGEST_BAG, max(RATIO_FROM, path.stat().st_size * MOST_RATIO))
    # Besides the files there are headers, and members that are not copied.
    limits = archives.Limits("the bundle", MOST_FILES, max_bytes + max_bytes // 8 + RATIO_FROM, size_problem(max_bytes))
    try:
        with archives.open_archive(path, limits) as members:
            admitted = _admitted_files(_Intake(bag, most=max_bytes), members)
            _add_copies(bag, ((file, _copy_file(bag, file)) for file in count_steps(admitted, _COPYING)))
    except archives.NoArchive as error:
        raise InputError(f"{path}: not a bundle: not a zip or tar archive ({error}); {_GIVE}") from error
    except archives.Damaged as error:
        bag.problems.append(f"{path.name}: damaged: {quoted(str(error))}")
    if not bag.digests and not bag.problems:
        bag.problems.append(f"{path.name}: empty")


def _admitted_files(intake: _Intake, members: Iterable[archives.Member], top: str | None = None) -> Iterator[_File]:
    """The files among the members that may be copied. `top`: the folder that contains all of them, if it does not
    follow from the first file.
    """
    for member in members:
        if member.type is archives.MemberType.DIRECTORY and not member.problem:
            continue
        try:
            if member.problem:
                raise _Refused(f"{quoted(member.name)}: {member.problem}")
            if member.type is not archives.MemberType.FILE:
                kind = "a link" if member.type is archives.MemberType.HARD_LINK else member.type
                raise _Refused(f"{quoted(member.name)}: {kind}; allowed: regular files")
            if top is None:
                top = top_folder(member.name)
            name = member.name.removeprefix(top)
            intake.admit(name, member.size)
        except _Refused as refused:
            intake.bag.problems.append(f"{refused}: refused")
        else:
            yield name, member


def _copy_file(bag: Bag, file: _File) -> _Copy:
    """Copy an admitted file into the bag."""
    (name, member), digest, copied = file, hashlib.sha256(), 0
    path = bag.root / name
    try:
        with member.open() as content:
            with writing_member(name):
                out = path.open("wb", buffering=0)
            with out:
                while data := content.read(min(_CHUNK, member.size + 1 - copied)):
                    copied += len(data)
                    digest.update(data)
                    with writing_member(name):
                        _write(out, data)
    except _Refused as refused:
        return "", f"{refused}: refused"
    if copied == member.size:
        return digest.hexdigest(), ""
    path.unlink()
    if copied > member.size:
        return "", f"{quoted(name)}: longer than the {member.size} bytes in its header: refused"
    return "", f"{quoted(name)}: truncated: {copied} of {member.size} bytes: refused"


def _add_copies(bag: Bag, copies: Iterable[tuple[_File, _Copy]]) -> None:
    """Record what was copied into the bag."""
    for (name, member), (digest, problem) in copies:
        if problem:
            bag.problems.append(problem)
        else:
            bag.digests[name] = digest
            bag.size += member.size
            bag.payload_size += member.size if name.startswith(PAYLOAD) else 0


def top_folder(first: str) -> str:
    """The archive's top folder, by its first file; "" if the bag is not in a folder."""
    folder, separator, _ = first.partition("/")
    return f"{folder}/" if separator and folder not in ("", "data") else ""


# --- manifests


def _check(bag: Bag) -> None:
    """Check that every file is in a manifest with its hash, and that every line of a manifest has its file."""
    if (declaration := bag.text("bagit.txt")) and declaration != DECLARATION:
        bag.problems.append(f"bagit.txt: found {quoted(declaration)}; allowed: BagIt 1.0 in UTF-8")
    payload = {name for name in bag.digests if name.startswith(PAYLOAD)}
    tags = bag.digests.keys() - payload - {TAG_MANIFEST, SIGNATURE}
    _check_manifest(bag, MANIFEST, payload)
    _check_manifest(bag, TAG_MANIFEST, tags)
    _read_info(bag)
    oxum_counted = f"{bag.payload_size}.{len(payload)}"
    oxum = bag.info.get("Payload-Oxum", "none")
    if oxum != oxum_counted:
        bag.problems.append(
            f"{INFO}: Payload-Oxum is {quoted(oxum)}, but the bundle holds {oxum_counted} (bytes.files); files changed "
            "after bundling"
        )


def _read_info(bag: Bag) -> None:
    for line in bag.text(INFO).split("\n"):
        key, separator, value = line.partition(": ")
        if key in bag.info and separator:
            bag.problems.append(f"{INFO}: {quoted(key)}: appears twice")
        elif separator:
            bag.info[key] = value


def _manifest_lines(bag: Bag, manifest: str) -> Iterator[str]:
    """Split at line feeds only: str.splitlines would also split at other separators and hide them."""
    if manifest not in bag.digests:
        bag.problems.append(f"{manifest}: missing from the bundle")
        return
    with (bag.root / manifest).open("rb") as file:
        place = 0
        while data := file.readline(LONGEST_MANIFEST_LINE):
            try:
                yield data.removesuffix(b"\n").decode("utf-8")
            except UnicodeDecodeError as error:
                bag.problems.append(f"{manifest}: byte {place + error.start} is not UTF-8")
                return
            if not data.endswith(b"\n"):
                bag.problems.append(f"{manifest}: the last line is truncated")
                return
            place += len(data)


def _check_manifest(bag: Bag, manifest: str, present: Set[str]) -> None:
    listed: dict[str, str] = {}
    for number, line in enumerate(_manifest_lines(bag, manifest), 1):
        if number > 2 * MOST_FILES:
            bag.problems.append(f"the bundle has more than {MOST_FILES} files")
            break
        match = re.fullmatch(r"([0-9a-f]{64})  (\S.*)", line)
        if not match:
            line_text = quoted(line[:100])
            bag.problems.append(f'{manifest}:{number}: found {line_text}; allowed: "SHA-256  name"')
            continue
        name = re.sub(r"%(0A|0D|25)", lambda code: chr(int(code[1], 16)), match[2])
        if name in listed:
            bag.problems.append(f"{manifest}:{number}: {quoted(name)}: listed twice")
        listed[name] = match[1]
    for name in sorted(present - listed.keys()):
        bag.problems.append(f"{quoted(name)}: added after bundling: not listed in {manifest}")
    for name, digest in sorted(listed.items()):
        if name not in present:
            bag.problems.append(f"{quoted(name)}: missing from the bundle: listed in {manifest}")
        elif digest != bag.digests[name]:
            bag.problems.append(
                f"{name}: changed after bundling: its SHA-256 is {bag.digests[name]}, {manifest} lists {digest}"
            )
