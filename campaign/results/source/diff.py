"""Differences of two trees -> a patch for git apply, and for patch -p1 if no file is binary. Pure."""

from __future__ import annotations

import base64
import difflib
import hashlib
import os
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from campaign.results.source.trees import LINK, Tree, TreeEntry

CONTEXT = 3  # lines
LONGEST_COMPARED = 20_000  # differing lines beyond which they are replaced as a whole, without a search

_NO_NEWLINE = b"\\ No newline at end of file\n"


@dataclass(frozen=True, slots=True)
class Hunk:
    """Lines start with a space, - or +, and end with a newline unless the file lacks one at its end."""

    old_start: int  # from 1; if a side is empty, the line before
    old_count: int
    new_start: int
    new_count: int
    lines: tuple[bytes, ...]

    def render(self) -> bytes:
        def side(start: int, count: int) -> str:
            return f"{start}" if count == 1 else f"{start},{count}"

        head = f"@@ -{side(self.old_start, self.old_count)} +{side(self.new_start, self.new_count)} @@\n".encode()
        return head + b"".join(line if line.endswith(b"\n") else line + b"\n" + _NO_NEWLINE for line in self.lines)


@dataclass(frozen=True, slots=True)
class Difference:
    """A file that differs between two trees; None on the side where it is missing. `hunks` only for texts."""

    path: str
    old: TreeEntry | None
    new: TreeEntry | None
    hunks: tuple[Hunk, ...] = ()
    binary: bool = False

    def count(self, sign: bytes) -> int:
        """The number of lines with this sign: + added, - removed."""
        return sum(line.startswith(sign) for hunk in self.hunks for line in hunk.lines)


def differences(old: Tree, new: Tree) -> tuple[Difference, ...]:
    """In the order of paths. A file that became a link, or the other way round, is listed twice: removed,
    then added.
    """
    differing = []
    for path in sorted({*old.entries, *new.entries}, key=os.fsencode):
        before, after = old.entries.get(path), new.entries.get(path)
        if before == after:
            continue
        if before and after and (before.mode == LINK) != (after.mode == LINK):
            differing += [_difference(path, before, None), _difference(path, None, after)]
        else:
            differing.append(_difference(path, before, after))
    return tuple(differing)


def render(differing: Sequence[Difference]) -> bytes:
    """The patch. Removals come first, so that a directory can take the place of a file."""
    return b"".join(map(_rendered, sorted(differing, key=lambda difference: difference.new is not None)))


def is_binary(data: bytes) -> bool:
    return b"\0" in data[:8000]


def lines_of(data: bytes) -> list[bytes]:
    """Lines with their newlines; only \n ends a line."""
    lines = data.split(b"\n")
    last = lines.pop()
    return [line + b"\n" for line in lines] + ([last] if last else [])


# --- making


def _difference(path: str, old: TreeEntry | None, new: TreeEntry | None) -> Difference:
    before, after = old.data if old else b"", new.data if new else b""
    if is_binary(before) or is_binary(after):
        return Difference(path, old, new, binary=before != after)
    return Difference(path, old, new, _hunks(lines_of(before), lines_of(after)))


def _hunks(old: Sequence[bytes], new: Sequence[bytes]) -> tuple[Hunk, ...]:
    hunks: list[Hunk] = []
    for group in _Grouped(_opcodes(old, new)).get_grouped_opcodes(CONTEXT):
        lines: list[bytes] = []
        for tag, old_from, old_to, new_from, new_to in group:
            if tag == "equal":
                lines += [b" " + line for line in old[old_from:old_to]]
            else:
                lines += [b"-" + line for line in old[old_from:old_to]]
                lines += [b"+" + line for line in new[new_from:new_to]]
        (_, old_from, _, new_from, _), (_, _, old_to, _, new_to) = group[0], group[-1]
        old_count, new_count = old_to - old_from, new_to - new_from
        hunks.append(Hunk(old_from + (old_count > 0), old_count, new_from + (new_count > 0), new_count, tuple(lines)))
    return tuple(hunks)


Opcode = tuple[Literal["replace", "delete", "insert", "equal"], int, int, int, int]


def _opcodes(old: Sequence[bytes], new: Sequence[bytes]) -> list[Opcode]:
    """As difflib's, after removing what both ends share: difflib is fast only with few differences."""
    start, shorter = 0, min(len(old), len(new))
    while start < shorter and old[start] == new[start]:
        start += 1
    end = 0
    while end < shorter - start and old[-1 - end] == new[-1 - end]:
        end += 1
    inner_old, inner_new = old[start : len(old) - end], new[start : len(new) - end]
    codes: list[Opcode] = [("equal", 0, start, 0, start)] if start else []
    if inner_old and inner_new and len(inner_old) + len(inner_new) <= LONGEST_COMPARED:
        inner = difflib.SequenceMatcher(None, inner_old, inner_new).get_opcodes()
        codes += [(tag, a + start, b + start, c + start, d + start) for tag, a, b, c, d in inner]
    elif inner_old or inner_new:
        codes.append(("replace", start, len(old) - end, start, len(new) - end))
    if end:
        codes.append(("equal", len(old) - end, len(old), len(new) - end, len(new)))
    return codes


class _Grouped(difflib.SequenceMatcher[bytes]):
    """Groups known changes with their context."""

    def __init__(self, codes: list[Opcode]) -> None:
        super().__init__(None, (), ())
        self._codes = codes

    def get_opcodes(self) -> list[Opcode]:
        return self._codes


def _blob(entry: TreeEntry | None) -> str:
    if entry is None:
        return "0" * 40
    return hashlib.sha1(b"blob %d\0" % len(entry.data) + entry.data, usedforsecurity=False).hexdigest()


# Bytes with an escape letter in a quoted name.
QUOTED = {7: "a", 8: "b", 9: "t", 10: "n", 11: "v", 12: "f", 13: "r", 34: '"', 92: "\\"}


def _quoted(name: str) -> str:
    """A name as git writes it: in quotes if it has bytes that need them."""
    data = os.fsencode(name)
    if all(0x20 <= byte < 0x7F and byte not in b'"\\' for byte in data):
        return name
    parts = (
        f"\\{QUOTED[byte]}" if byte in QUOTED else chr(byte) if 0x20 <= byte < 0x7F else f"\\{byte:03o}"
        for byte in data
    )
    return '"' + "".join(parts) + '"'


def _rendered(difference: Difference) -> bytes:
    old, new = difference.old, difference.new
    before, after = _quoted(f"a/{difference.path}"), _quoted(f"b/{difference.path}")
    head = [f"diff --git {before} {after}"]
    same_mode = ""
    if old is None and new is not None:
        head.append(f"new file mode {new.mode}")
    elif new is None and old is not None:
        head.append(f"deleted file mode {old.mode}")
    elif old is not None and new is not None and old.mode != new.mode:
        head += [f"old mode {old.mode}", f"new mode {new.mode}"]
    elif old is not None:
        same_mode = f" {old.mode}"
    if (old.data if old else None) != (new.data if new else None):
        head.append(f"index {_blob(old)}..{_blob(new)}{same_mode}")
    if difference.binary:
        body = b"GIT binary patch\n" + _literal(new) + b"\n" + _literal(old) + b"\n"
        return "\n".join(head).encode() + b"\n" + body
    if difference.hunks:
        # A name with a space ends with a tab, by which patch separates it from a date.
        head.append("--- /dev/null" if old is None else f"--- {before}" + "\t" * (" " in before))
        head.append("+++ /dev/null" if new is None else f"+++ {after}" + "\t" * (" " in after))
    return "\n".join(head).encode() + b"\n" + b"".join(hunk.render() for hunk in difference.hunks)


def _literal(entry: TreeEntry | None) -> bytes:
    data = entry.data if entry else b""
    packed = zlib.compress(data, 9)
    lines = [b"literal %d\n" % len(data)]
    for at in range(0, len(packed), 52):
        part = packed[at : at + 52]
        length = len(part) + (64 if len(part) <= 26 else 70)  # A to Z for 1 to 26, a to z above
        lines.append(bytes([length]) + base64.b85encode(part, pad=True) + b"\n")
    return b"".join(lines)
