"""A patch + a tree -> the tree that it makes. Pure.

What is applied may come from an untrusted source: it is applied in memory, at the places that it names and nowhere
else, and every line that it takes away or leaves must be there as it says.
"""

from __future__ import annotations

import base64
import io
import os
import re
import zlib
from collections.abc import Mapping
from dataclasses import dataclass

from campaign.core.regex import regex
from campaign.results.messages import source as messages
from campaign.results.source.diff import QUOTED, lines_of
from campaign.results.source.trees import LARGEST_FILE, PLAIN, TreeEntry, shown


class DoesNotApply(ValueError):
    """Says the line of the patch and what is wrong with it."""


def apply_patch(patch: bytes, tree: Mapping[str, TreeEntry]) -> dict[str, TreeEntry]:
    """The files of a tree with a patch applied: git's form with all that it has, or that of diff -u, paths as of -p1.

    Raises DoesNotApply.
    """
    return _PatchReader(lines_of(patch), dict(tree)).run()


_HUNK = regex(rb"@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@")
_ESCAPES = {f"\\{letter}".encode(): bytes([byte]) for byte, letter in QUOTED.items()}


@dataclass
class _Header:
    """What the lines before the hunks say."""

    old: str | None = None  # None: /dev/null or unknown
    new: str | None = None
    old_mode: str = ""
    new_mode: str = ""
    created: bool = False
    deleted: bool = False
    copied: bool = False
    git: bool = False

    @property
    def source(self) -> str:
        return self.old or self.new or ""

    @property
    def target(self) -> str:
        return self.new or self.old or ""

    @property
    def renamed(self) -> bool:
        """Or copied: it is of a file as it was before the patch."""
        return self.git and self.source != self.target


class _PatchReader:
    def __init__(self, lines: list[bytes], result: dict[str, TreeEntry]) -> None:
        self.lines, self.at = lines, 0
        self.before, self.result = dict(result), result  # a copy or rename is of what was there before the patch

    def run(self) -> dict[str, TreeEntry]:
        while self.at < len(self.lines):
            line = self.lines[self.at]
            if line.startswith(b"diff --git "):
                self._git(line)
            elif line.startswith(b"--- ") and self._ahead(1).startswith(b"+++ "):
                self._plain()
            elif line.startswith((b"Binary files ", b"Files ", b"GIT binary patch")):
                raise self._wrong(messages.BINARY_WITHOUT_CONTENT())
            elif line.startswith(b"@@ "):
                raise self._wrong(messages.HUNK_WITHOUT_FILE())
            else:
                self.at += 1  # words between patches
        return self.result

    def _ahead(self, number: int) -> bytes:
        return self.lines[self.at + number] if self.at + number < len(self.lines) else b""

    def _wrong(self, problem: str) -> DoesNotApply:
        return DoesNotApply(messages.AT_LINE(line=min(self.at, len(self.lines) - 1) + 1, problem=problem))

    # headers

    def _git(self, line: bytes) -> None:
        header = _Header(git=True)
        both = self._both(line[len(b"diff --git ") :].rstrip(b"\n"))
        if both:
            header.old = header.new = both
        self.at += 1
        while self.at < len(self.lines):
            line = self.lines[self.at].rstrip(b"\n")
            word, _, rest = line.partition(b" ")
            if line.startswith((b"old mode ", b"deleted file mode ")):
                header.old_mode = line.split()[-1].decode("ascii", "replace")
                header.deleted |= word == b"deleted"
            elif line.startswith((b"new mode ", b"new file mode ")):
                header.new_mode = line.split()[-1].decode("ascii", "replace")
                header.created |= line.startswith(b"new file")
            elif line.startswith((b"rename from ", b"copy from ")):
                header.old = self._name(rest[len(b"from ") :], strip=False)
                header.copied |= word == b"copy"
            elif line.startswith((b"rename to ", b"copy to ")):
                header.new = self._name(rest[len(b"to ") :], strip=False)
            elif not line.startswith((b"index ", b"similarity index ", b"dissimilarity index ")):
                break
            self.at += 1
        if self._ahead(0).startswith(b"--- ") and self._ahead(1).startswith(b"+++ "):
            old, new = self._names()
            header.old, header.new = old or header.old, new or header.new
            self.at += 2
        if self._ahead(0).startswith(b"GIT binary patch"):
            self._binary(header)
        else:
            self._hunks(header)

    def _both(self, rest: bytes) -> str | None:
        """The name in `a/NAME b/NAME`, where both are the same."""
        if rest.startswith(b'"'):
            end = re.match(rb'"(?:[^"\\]|\\.)*"', rest)
            return self._name(end[0]) if end else None
        half = len(rest) // 2
        same = rest[half : half + 1] == b" " and rest[:half].partition(b"/")[2] == rest[half + 1 :].partition(b"/")[2]
        return self._name(rest[:half]) if same else None

    def _plain(self) -> None:
        old, new = self._names()
        never = (b"\t1970-01-01 ", b"\t1969-12-31 ", b"\tThu Jan  1 ")
        deleted = new is None or any(mark in self._ahead(1) for mark in never)
        created = old is None or any(mark in self._ahead(0) for mark in never)
        self.at += 2
        self._hunks(_Header(old, new, created=created and not deleted, deleted=deleted))

    def _names(self) -> tuple[str | None, str | None]:
        return self._name(self._ahead(0)[4:].rstrip(b"\n")), self._name(self._ahead(1)[4:].rstrip(b"\n"))

    def _name(self, text: bytes, strip: bool = True) -> str | None:
        if text.startswith(b'"'):
            quoted = re.match(rb'"((?:[^"\\]|\\.)*)"', text)
            if quoted is None:
                raise self._wrong(messages.QUOTE_OPEN())
            text = re.sub(rb"\\([0-3][0-7]{2}|.)", _unescaped, quoted[1])
        else:
            text = text.partition(b"\t")[0].rstrip(b"\r")
        if text == b"/dev/null":
            return None
        name = os.fsdecode(text)
        if strip:
            name = name.partition("/")[2]
        if not name or name.startswith("/") or ".." in name.split("/"):
            raise self._wrong(messages.NAME_REFUSED(name=shown(os.fsdecode(text))))
        return name

    # changes

    def _old(self, header: _Header) -> bytes:
        """What the file holds before."""
        if header.created:
            if header.target in self.result:
                raise self._wrong(messages.CREATES_EXISTING(path=shown(header.target)))
            return b""
        entry = (self.before if header.renamed else self.result).get(header.source)
        if entry is None:
            raise self._wrong(messages.CHANGES_MISSING(path=shown(header.source)))
        if header.old_mode and header.old_mode != entry.mode:
            modes = {"found": entry.mode, "expected": header.old_mode}
            raise self._wrong(messages.MODE_DIFFERS(path=shown(header.source), **modes))
        return entry.data

    def _put(self, header: _Header, data: bytes) -> None:
        source = None if header.created else self.before.get(header.source) or self.result.get(header.source)
        if header.deleted:
            if data:
                raise self._wrong(messages.DELETES_PART(path=shown(header.source), size=len(data)))
            del self.result[header.source]
            return
        if header.renamed and not header.copied:
            self.result.pop(header.source, None)
        mode = header.new_mode or (source.mode if source else PLAIN)
        self.result[header.target] = TreeEntry(header.target, mode, data)

    def _hunks(self, header: _Header) -> None:
        if not header.target:
            raise self._wrong(messages.CHANGE_WITHOUT_FILE())
        old = lines_of(self._old(header))
        new: list[bytes] = []
        done = 0
        while (match := _HUNK.match(self._ahead(0))) is not None:
            start, count = int(match[1]), int(match[2] or 1)
            wanted = int(match[4] or 1)
            begin = start - (count > 0)
            if begin < done or begin > len(old):
                raise self._wrong(messages.HUNK_OUT_OF_ORDER(path=shown(header.source)))
            new += old[done:begin]
            self.at += 1
            taken, given = self._hunk(header, old, begin, count, wanted)
            new += given
            done = begin + taken
        self._put(header, b"".join(new + old[done:]))

    def _hunk(self, header: _Header, old: list[bytes], begin: int, count: int, wanted: int) -> tuple[int, list[bytes]]:
        taken = 0
        given: list[bytes] = []
        while taken < count or len(given) < wanted:
            line = self._ahead(0)
            # An editor takes away the space of an empty line.
            kind, rest = (b" ", b"\n") if line == b"\n" else (line[:1], line[1:])
            if kind not in (b" ", b"-", b"+") or not rest:
                raise self._wrong(messages.HUNK_TRUNCATED(path=shown(header.source)))
            self.at += 1
            if self._ahead(0).startswith(b"\\"):
                rest = rest.removesuffix(b"\n")
                self.at += 1
            if kind != b"+":
                if taken >= count or begin + taken >= len(old) or old[begin + taken] != rest:
                    self.at -= 1
                    raise self._wrong(messages.CONTEXT_DIFFERS(path=shown(header.source), line=begin + taken + 1))
                taken += 1
            if kind != b"-":
                if len(given) >= wanted:
                    raise self._wrong(messages.HUNK_TOO_LONG(path=shown(header.source)))
                given.append(rest)
        return taken, given

    def _binary(self, header: _Header) -> None:
        old = self._old(header)
        self.at += 1
        data = self._packed(old)
        if self._ahead(0).startswith((b"literal ", b"delta ")):
            while self._ahead(0).strip():  # the way back
                self.at += 1
        self._put(header, data)

    def _packed(self, old: bytes) -> bytes:
        match = re.match(rb"(literal|delta) (\d{1,9})$", self._ahead(0).rstrip(b"\n"))
        if match is None or int(match[2]) > LARGEST_FILE:
            raise self._wrong(messages.NOT_BINARY(most=LARGEST_FILE))
        packed = bytearray()
        self.at += 1
        try:
            while line := self._ahead(0).rstrip(b"\n"):
                length = line[0] - (64 if line[0] < 97 else 70)
                packed += base64.b85decode(line[1:])[:length]
                self.at += 1
            data = zlib.decompressobj().decompress(bytes(packed), int(match[2]) + 1)
            if len(data) == int(match[2]):
                self.at += 1
                return data if match[1] == b"literal" else _delta(old, data)
        except (ValueError, zlib.error, IndexError) as error:
            raise self._wrong(messages.BINARY_DAMAGED(error=error)) from error
        raise self._wrong(messages.BINARY_LENGTH())


def _unescaped(match: re.Match[bytes]) -> bytes:
    return bytes([int(match[1], 8)]) if len(match[1]) == 3 else _ESCAPES.get(match[0], match[1])


def _delta(old: bytes, delta: bytes) -> bytes:
    """Git's delta: two lengths, then copies from the old data and pieces of new data."""
    stream = io.BytesIO(delta)

    def byte() -> int:
        return stream.read(1)[0]

    def length() -> int:
        value, shift, more = 0, 0, True
        while more:
            code = byte()
            value |= (code & 0x7F) << shift
            shift, more = shift + 7, code & 0x80 != 0
        return value

    old_length, new_length = length(), length()
    if old_length != len(old) or new_length > LARGEST_FILE:
        raise ValueError(messages.DELTA_OTHER_DATA())
    result = bytearray()
    while head := stream.read(1):
        code = head[0]
        if code & 0x80:
            # Of four bytes of the offset and three of the size, those that are not 0 are there.
            given = bytes(byte() if code & (1 << bit) else 0 for bit in range(7))
            offset, size = int.from_bytes(given[:4], "little"), int.from_bytes(given[4:], "little") or 0x10000
            if offset + size > len(old):
                raise ValueError(messages.DELTA_BEYOND_END())
            result += old[offset : offset + size]
        else:
            result += stream.read(code)
        if len(result) > new_length:
            raise ValueError(messages.DELTA_TOO_LONG())
    if len(result) != new_length:
        raise ValueError(messages.DELTA_TOO_SHORT())
    return bytes(result)
