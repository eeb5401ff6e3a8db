"""A source tree in a directory, an archive or a git revision -> its files in memory, and one hash over them.

It may come from an untrusted source: nothing is written, no link is followed, sizes are limited, and a name that leads
outside of the tree is refused.
"""

from __future__ import annotations

import hashlib
import itertools
import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from campaign.core import archives, git, untrusted
from campaign.core.errors import InputError
from campaign.results.source.facts import Ignored

LARGEST_FILE = 64 << 20  # bytes
LARGEST_TREE = 256 << 20
MOST_FILES = 50_000
LONGEST_PATH = 4096

PLAIN, PROGRAM, LINK = "100644", "100755", "120000"  # as in git
FORMS = "a directory, an archive (.tar, .tar.gz, .tar.xz, .tar.bz2, .zip), or a git revision as REPOSITORY@REVISION"

_ADMINISTRATION = frozenset({".git", ".svn", ".hg", ".bzr", "CVS"})
_COMPILED = (b"\x7fELF", b"!<arch>\n", b"!<thin>\n", b"\xcf\xfa\xed\xfe", b"\xca\xfe\xba\xbe")


@dataclass(frozen=True, slots=True)
class TreeEntry:
    """One file. `data` of a link is its target. Bytes of a path that are not UTF-8 are surrogates."""

    path: str
    mode: str
    data: bytes

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.data).hexdigest()


@dataclass(frozen=True, slots=True)
class Tree:
    """`name`: how the campaign file names it. Empty directories are not part of a tree."""

    name: str
    entries: Mapping[str, TreeEntry]
    ignored: tuple[Ignored, ...] = ()
    archive_sha256: str = ""
    revision: str = ""  # the commit

    @property
    def hash(self) -> str:
        return tree_hash(self.entries)


def tree_hash(entries: Mapping[str, TreeEntry]) -> str:
    """SHA-256 over the lines `SHA256 MODE PATH` of all files, sorted by the bytes of their paths."""
    digest = hashlib.sha256()
    for path in sorted(entries, key=os.fsencode):
        entry = entries[path]
        digest.update(f"{entry.sha256} {entry.mode} ".encode() + os.fsencode(path) + b"\n")
    return digest.hexdigest()


def displayed_path(path: str) -> str:
    """A path for people: unprintable characters are escaped."""
    text = os.fsencode(path).decode("utf-8", "backslashreplace")
    return "".join(char if char.isprintable() else repr(char)[1:-1] for char in text)


def read(
    text: str, base: Path, excluded_directories: frozenset[str] = frozenset(), max_bytes: int = LARGEST_TREE
) -> Tree:
    """The tree that `text` names, a path relative to `base`. `excluded_directories`: names at its top to leave out;
    `max_bytes`: those that an archive may have, packed and unpacked. Raises InputError if there is none, or if it
    cannot be read safely.
    """
    path = base / text
    try:
        kind = path.stat().st_mode if path.exists() else 0
        if stat.S_ISDIR(kind):
            return _build_tree(text, _directory(path, excluded_directories))
        if stat.S_ISREG(kind):
            return _archive(text, path, max_bytes)
    except OSError as error:
        raise InputError(f"{error.filename or path}: {error.strerror}") from error
    repository, at, revision = text.rpartition("@")
    if at and revision and not revision.startswith("-") and (base / repository).is_dir():
        return _revision(text, base / repository, revision)
    raise InputError(f"{path}: not found; expected {FORMS}")


def subtree(tree: Tree, directory: str) -> Tree:
    """The part of a tree below a directory; the tree itself if it has none with that name."""
    start = f"{directory}/"
    everything: tuple[TreeEntry | Ignored, ...] = (*tree.entries.values(), *tree.ignored)
    inner = [replace(item, path=item.path.removeprefix(start)) for item in everything if item.path.startswith(start)]
    entries = {entry.path: entry for entry in inner if isinstance(entry, TreeEntry)}
    ignored = tuple(item for item in inner if isinstance(item, Ignored))
    return replace(tree, entries=entries, ignored=ignored) if entries else tree


def joined(trees: Mapping[str, Tree]) -> Tree:
    """Several trees as one, in which each is a directory of its name; the only one as it is."""
    if len(trees) == 1:
        return next(iter(trees.values()))
    items: list[Item] = []
    for name, tree in trees.items():
        items += [replace(entry, path=f"{name}/{path}") for path, entry in tree.entries.items()]
        items += [replace(ignored, path=f"{name}/{ignored.path}") for ignored in tree.ignored]
    return _build_tree(", ".join(tree.name for tree in trees.values()), items)


def without_products(tree: Tree, other: Tree) -> Tree:
    """A tree without compiled files that the other one does not have."""
    entries_kept = dict(tree.entries)
    ignored = list(tree.ignored)
    for path, entry in tree.entries.items():
        if path not in other.entries and entry.mode != LINK and entry.data.startswith(_COMPILED):
            del entries_kept[path]
            ignored.append(Ignored(path, "compiled code", entry.sha256))
    return replace(tree, entries=entries_kept, ignored=tuple(ignored))


def without_directories(tree: Tree, directories: frozenset[str]) -> Tree:
    """A tree without these directories at its top, as `read` leaves them out."""
    tops = directories & {path.partition("/")[0] for path in tree.entries if "/" in path}
    entries_kept = {path: entry for path, entry in tree.entries.items() if path.partition("/")[0] not in tops}
    ignored = (Ignored(top, "build directory") for top in sorted(tops))
    return replace(tree, entries=entries_kept, ignored=(*tree.ignored, *ignored))


# --- bounded collection


Item = TreeEntry | Ignored


def _build_tree(name: str, items: Iterable[Item], strip: bool = False, max_bytes: int = LARGEST_TREE) -> Tree:
    """The items as a tree; `strip` removes a single directory around all of them, as in archives."""
    entries: dict[str, TreeEntry] = {}
    ignored: list[Ignored] = []
    total = 0
    for item in items:
        if isinstance(item, Ignored):
            ignored.append(item)
            continue
        _check_path(name, item.path)
        if item.path in entries:
            raise InputError(f"{name}: duplicate entry {displayed_path(item.path)}")
        if (administrated := _version_control_top(item.path)) is not None:
            ignored.append(Ignored(administrated, "version control"))
            continue
        total += len(item.data)
        if total > max_bytes:
            raise InputError(f"{name}: more than {max_bytes >> 20} MiB; name only the benchmark's source")
        entries[item.path] = item
        if len(entries) > MOST_FILES:
            raise InputError(f"{name}: more than {MOST_FILES} files; name only the benchmark's source")
    for path in entries:
        for above in itertools.accumulate(path.split("/")[:-1], "{}/{}".format):
            if above in entries:
                raise InputError(
                    f"{name}: {displayed_path(path)} is inside {displayed_path(above)}, which is not a directory"
                )
    if not entries:
        raise InputError(f"{name}: contains no files")
    tree = Tree(name, entries, tuple(dict.fromkeys(ignored)))
    tops = {path.partition("/")[0] for path in entries}
    return subtree(tree, tops.pop()) if strip and len(tops) == 1 else tree


def _check_path(name: str, path: str) -> None:
    parts = path.split("/")
    if archives.is_outside(path) or "" in parts or "." in parts or "\0" in path:
        raise InputError(f"{name}: path {displayed_path(path)!r} not allowed; expected paths inside the tree")
    if len(path) > LONGEST_PATH:
        raise InputError(f"{name}: path of {len(path)} characters; allowed: up to {LONGEST_PATH}")


def _version_control_top(path: str) -> str | None:
    """The top of a path that belongs to a version control system, None if none does."""
    parts = path.split("/")
    return next(("/".join(parts[: at + 1]) for at, part in enumerate(parts) if part in _ADMINISTRATION), None)


def _check_size(name: str, path: str, size: int) -> None:
    if size > LARGEST_FILE:
        raise InputError(
            f"{name}: {displayed_path(path)} has {size} bytes; allowed: up to {LARGEST_FILE >> 20} MiB per file"
        )


def _mode(bits: int) -> str:
    return PROGRAM if bits & stat.S_IXUSR else PLAIN


# --- a directory


def _directory(top: Path, excluded_directories: frozenset[str]) -> Iterator[Item]:
    def fail(error: OSError) -> None:
        raise error

    for folder, directories, files in os.walk(top, onerror=fail):
        inner = Path(folder).relative_to(top)
        skipped = dict.fromkeys(_ADMINISTRATION, "version control")
        if folder == str(top):
            skipped |= dict.fromkeys(excluded_directories, "build directory")
        for name in sorted(skipped.keys() & set(directories)):
            directories.remove(name)
            yield Ignored(str(inner / name), skipped[name])
        directories.sort()
        links = [name for name in directories if (Path(folder) / name).is_symlink()]
        for name in sorted((*files, *links)):
            path = Path(folder) / name
            status = path.lstat()
            inside = str(inner / name)
            if stat.S_ISLNK(status.st_mode):
                yield TreeEntry(inside, LINK, os.fsencode(path.readlink()))
            elif stat.S_ISREG(status.st_mode):
                yield TreeEntry(inside, _mode(status.st_mode), _file(path, status.st_size))
            else:
                yield Ignored(inside, "neither a file nor a link")


def _file(path: Path, size: int) -> bytes:
    _check_size(str(path.parent), path.name, size)
    with path.open("rb") as stream:
        data = stream.read(LARGEST_FILE + 1)  # it may grow
    _check_size(str(path.parent), path.name, len(data))
    return data


# --- archives


def _archive(name: str, path: Path, max_bytes: int) -> Tree:
    if (size := path.stat().st_size) > max_bytes:
        raise InputError(f"{name}: {size} bytes; allowed: up to {max_bytes >> 20} MiB")
    too_much = f"{name}: unpacks to more than {max_bytes >> 20} MiB"
    limits = archives.Limits(name, 2 * MOST_FILES, 2 * max_bytes, too_much, ("gzip", "lzma", "bz2"))
    try:
        with archives.open_archive(path, limits) as members:
            tree = _build_tree(name, _unpack_members(name, members), strip=True, max_bytes=max_bytes)
    except archives.LongHeader as error:
        raise InputError(f"{name}: too large to unpack: {error}") from error
    except archives.Damaged as error:
        raise InputError(f"{name}: not a readable archive ({error}); expected {FORMS}") from error
    return replace(tree, archive_sha256=untrusted.digest(path))


def _unpack_members(name: str, members: Iterator[archives.Member]) -> Iterator[Item]:
    seen: dict[str, TreeEntry] = {}  # for hard links, which name an earlier member
    for member in members:
        path = member.name.removeprefix("./").rstrip("/")
        if member.type is archives.MemberType.DIRECTORY:
            continue
        if member.problem:
            raise InputError(f"{name}: {displayed_path(path)}: {member.problem}")
        if member.type is archives.MemberType.HARD_LINK and (target := member.target.removeprefix("./")) in seen:
            entry = replace(seen[target], path=path)
        elif member.type is archives.MemberType.SYMLINK:
            link = os.fsencode(member.target) if member.target else _content(name, path, member)
            entry = TreeEntry(path, LINK, link)
        elif member.type is archives.MemberType.FILE:
            entry = TreeEntry(path, _mode(member.mode), _content(name, path, member))
        else:
            raise InputError(
                f"{name}: {displayed_path(path)} is a device, a pipe, or a link to a file outside the archive"
            )
        seen[path] = entry
        yield entry


def _content(name: str, path: str, member: archives.Member) -> bytes:
    _check_size(name, path, member.size)
    return member.read()


# --- git


def _revision(name: str, repository: Path, revision: str) -> Tree:
    blobs = git.blobs(repository, revision)
    files = [blob for blob in blobs if blob.mode in (PLAIN, PROGRAM, LINK, "100664")]
    if len(files) > MOST_FILES or sum(blob.size for blob in files) > LARGEST_TREE:
        raise InputError(
            f"{name}: more than {MOST_FILES} files or {LARGEST_TREE >> 20} MiB; name a directory of it as "
            "REVISION:DIRECTORY"
        )

    submodules = [Ignored(blob.path, "a submodule", blob.id) for blob in blobs if blob not in files]
    contents = zip(files, git.contents(repository, files), strict=True)
    entries = (TreeEntry(blob.path, PLAIN if blob.mode == "100664" else blob.mode, data) for blob, data in contents)
    tree = _build_tree(name, itertools.chain(submodules, entries))
    return replace(tree, revision=git.commit(repository, revision))
