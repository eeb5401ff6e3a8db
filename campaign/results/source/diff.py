"""Differences of two trees, by `git diff`: a patch for git apply, and for patch -p1 if no file is binary; and the tree
after a patch, by `git apply`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from campaign.core import git
from campaign.results.source.trees import LARGEST_FILE, LINK, Tree, TreeEntry

CONTEXT = 3  # lines

_FILE = re.compile(rb"^(?=diff --git )", re.MULTILINE)
_HUNK = re.compile(rb"^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@\n((?:[-+ \\].*\n)+)", re.MULTILINE)
_CHANGES = re.compile(rb"^(?:diff --git |--- |@@ |Binary files |GIT binary patch)", re.MULTILINE)
_SIZE = re.compile(rb"^(?:literal|delta) ([0-9]+)", re.MULTILINE)
_NO_NEWLINE = b"\\ No newline at end of file\n"


@dataclass(frozen=True, slots=True)
class Hunk:
    """Lines start with a space, - or +, and end with a newline unless the file lacks one at its end."""

    old_start: int  # from 1; if a side is empty, the line before
    old_count: int
    new_start: int
    new_count: int
    lines: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class Difference:
    """A file that differs between two trees; None on the side where it is missing. `hunks` only for texts."""

    path: str
    old: TreeEntry | None
    new: TreeEntry | None
    patch: bytes
    hunks: tuple[Hunk, ...] = ()

    @property
    def binary(self) -> bool:
        return b"\nGIT binary patch\n" in self.patch

    def count(self, sign: bytes) -> int:
        """The number of lines with this sign: + added, - removed."""
        return sum(line.startswith(sign) for hunk in self.hunks for line in hunk.lines)


def differences(old: Tree, new: Tree) -> tuple[Difference, ...]:
    """In the order of paths. A file that became a link, or the other way round, is listed twice: removed,
    then added.
    """
    pairs: list[tuple[str, TreeEntry | None, TreeEntry | None]] = []
    for path in sorted({*old.entries, *new.entries}, key=os.fsencode):
        before, after = old.entries.get(path), new.entries.get(path)
        if before == after:
            continue
        if before and after and (before.mode == LINK) != (after.mode == LINK):
            pairs += [(path, before, None), (path, None, after)]
        else:
            pairs.append((path, before, after))
    if not pairs:
        return ()
    before_all = [(entry.path, entry.mode, entry.data) for _, entry, _ in pairs if entry]
    after_all = [(entry.path, entry.mode, entry.data) for _, _, entry in pairs if entry]
    patches = _FILE.split(git.difference(before_all, after_all))[1:]
    return tuple(Difference(*pair, patch, _hunks(patch)) for pair, patch in zip(pairs, patches, strict=True))


def _hunks(patch: bytes) -> tuple[Hunk, ...]:
    hunks = []
    for hunk_match in _HUNK.finditer(patch):
        lines: list[bytes] = []
        for line in lines_of(hunk_match[5]):
            if line == _NO_NEWLINE:
                lines[-1] = lines[-1].removesuffix(b"\n")
            else:
                lines.append(line)
        old_start, old_count, new_start, new_count = (int(number or 1) for number in hunk_match.groups()[:4])
        hunks.append(Hunk(old_start, old_count, new_start, new_count, tuple(lines)))
    return tuple(hunks)


def render(differences: Sequence[Difference]) -> bytes:
    """The patch. Removals come first, so that a directory can take the place of a file."""
    return b"".join(
        difference.patch
        for difference in sorted(differences, key=lambda difference_sorted: difference_sorted.new is not None)
    )


def lines_of(data: bytes) -> list[bytes]:
    """Lines with their newlines; only \n ends a line."""
    lines = data.split(b"\n")
    last = lines.pop()
    return [line + b"\n" for line in lines] + ([last] if last else [])


# --- applying


def apply_patch(patch: bytes, tree: Mapping[str, TreeEntry]) -> dict[str, TreeEntry]:
    """The files of a tree after a patch in git's format or that of diff -u, with paths as for -p1. Raises ValueError
    saying what is wrong with it.

    The patch may come from an untrusted source: no file is written, and every removed or context line must be there.
    """
    if not _CHANGES.search(patch):
        return dict(tree)
    if any(len(size) > 9 or int(size) > LARGEST_FILE for size in _SIZE.findall(patch)):
        raise ValueError(f"binary content of more than {LARGEST_FILE} bytes")
    files = git.apply_patch([(entry.path, entry.mode, entry.data) for entry in tree.values()], patch)
    return {blob.path: TreeEntry(blob.path, blob.mode, data) for blob, data in files}
