"""A pristine tree against the one that was built -> every file that differs, what it may mean, and what a reviewer has
to look at. Pure.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Iterator, Sequence

from campaign.results.source import diff
from campaign.results.source.apply import DoesNotApply, apply_patch
from campaign.results.source.classes import BRACES, CALL, CONTROL, DIRECTIVE, LINES, PATHS, SOURCE
from campaign.results.source.diff import Difference, Hunk, lines_of
from campaign.results.source.facts import Change, Comparison, Described, Flag, Ignored, Kind, Supplied
from campaign.results.source.trees import LINK, Entry, Tree, shown, tree_hash, without_products

LONGEST_SHOWN = 60  # lines of a flagged hunk, and
LONGEST_LINE = 300  # characters of a line
LONGEST_JUDGED = 4000  # bytes of a line


def compare(
    pristine: Tree, built: Tree, version: str = "", supplied: tuple[str, bytes] | None = None
) -> tuple[Comparison, bytes]:
    """The comparison, and the patch from one tree to the other.

    `version`: what the pristine tree is said to be. `supplied`: name and content of a patch to be judged.
    """
    modified = without_products(built, pristine)
    found = diff.differences(pristine, modified)
    patch = diff.render(found)
    given = _supplied(*supplied, pristine, modified) if supplied else None
    comparison = Comparison(
        describe(pristine),
        describe(modified),
        tuple(_change(one) for one in found),
        hashlib.sha256(patch).hexdigest(),
        tree_hash(apply_patch(patch, pristine.entries)),
        bool(version) and any(version.encode() in entry.data for entry in pristine.entries.values()),
        given,
    )
    return comparison, patch


def describe(tree: Tree) -> Described:
    ignored = tuple(Ignored(shown(one.path), one.why, one.sha256) for one in tree.ignored)
    return Described(tree.name, tree.hash, len(tree.entries), tree.archive_sha256, tree.revision, ignored)


def _supplied(name: str, patch: bytes, pristine: Tree, modified: Tree) -> Supplied:
    digest = hashlib.sha256(patch).hexdigest()
    try:
        result = apply_patch(patch, pristine.entries)
    except DoesNotApply as error:
        return Supplied(name, digest, f"does not apply to the pristine tree: {error}")
    paths = sorted({*result, *modified.entries})
    differing = [shown(path) for path in paths if result.get(path) != modified.entries.get(path)]
    if not differing:
        return Supplied(name, digest, "")
    more = f" and {len(differing) - 5} more" if len(differing) > 5 else ""
    return Supplied(
        name, digest, f"gives another tree than was built, which differs in {', '.join(differing[:5])}{more}"
    )


# --- one file


def _change(one: Difference) -> Change:
    old, new = one.old, one.new
    path = shown(one.path)
    kind, why, flags = _judged(one, path)
    return Change(
        path,
        "new" if old is None else "deleted" if new is None else "changed" if old.data != new.data else "mode",
        kind,
        why,
        one.added,
        one.removed,
        one.binary,
        old.mode if old else "",
        new.mode if new else "",
        old.sha256 if old else "",
        new.sha256 if new else "",
        flags,
    )


def _judged(one: Difference, path: str) -> tuple[Kind, str, tuple[Flag, ...]]:
    named = next((rule for rule in PATHS if rule.pattern.search(path.lower())), None)
    by_name = (named.kind, named.why) if named else (Kind.OTHER, "no rule knows it")
    if one.binary and by_name[0] is not Kind.DOCUMENTATION:
        return Kind.OTHER, "binary: it cannot be reviewed as text", ()
    if LINK in (one.old.mode if one.old else "", one.new.mode if one.new else ""):
        return Kind.OTHER, "a symbolic link", ()
    if not one.hunks:
        return (*by_name, ()) if named else (Kind.BUILD, "permissions or an empty file", ())
    source = SOURCE.search(path.lower()) is not None
    if source and named and named.kind is not Kind.BUILD:
        by_name = (Kind.OTHER, "code")
    old, new = _File(one.old, path), _File(one.new, path)
    judged = [_judged_hunk(path, hunk, old, new, by_name, source) for hunk in one.hunks]
    kinds = list(Kind)
    kind, why, _ = min(judged, key=lambda item: kinds.index(item[0]))
    flags = tuple(flag for _, _, flag in judged if flag)
    if flags:
        why = ", ".join(dict.fromkeys(reason for flag in flags for reason in flag.why))
    return kind, why, flags


class _File:
    """A file's lines, with those of each function that measures."""

    def __init__(self, entry: Entry | None, path: str) -> None:
        self.lines = lines_of(entry.data) if entry else []
        measuring = [number for number, line in enumerate(self.lines) if _touched(line)]
        bodies = _bodies(self.lines) if BRACES.search(path.lower()) else ()
        self.measuring = [(first, last) for first, last in bodies if any(first <= at <= last for at in measuring)]

    def measures(self, index: int) -> bool:
        """Whether a line, from 0, is in such a function."""
        return any(first <= index <= last for first, last in self.measuring)


def _bodies(lines: Sequence[bytes]) -> Iterator[tuple[int, int]]:
    """First and last line of each function's body: from the brace after a head that begins in the first column, on one
    line or several, to the next brace there.
    """
    start: int | None = None
    head = False
    for number, line in enumerate(lines):
        text = line.rstrip()
        if start is not None:
            if line.startswith(b"}"):
                yield start, number
                start, head = None, False
            continue
        if line[:1].isalpha() or line[:1] == b"_":
            head = b"(" in text
        if text.endswith(b"{") and (head or text == b"{"):
            start = number
        elif text.endswith((b";", b"}")):
            head = False
    if start is not None:
        yield start, len(lines) - 1


@functools.lru_cache(maxsize=1 << 16)  # both trees share most of their lines
def _touched(line: bytes) -> tuple[str, ...]:
    """Why a line is of the measurement path."""
    if len(line) > LONGEST_JUDGED:
        return ("a line too long to be judged",)
    return () if _comment(line) else tuple(rule.why for rule in LINES if rule.pattern.search(line))


def _comment(line: bytes) -> bool:
    """A line that is a comment as a whole, and leaves the lines around it alone."""
    text = line.strip()
    if text.endswith(b"\\") or b"??/" in text:  # goes on in the next line
        return False
    if text.startswith(b"//"):
        return True
    return text.startswith(b"/*") and text.endswith(b"*/") and text.count(b"*/") == 1 and len(text) >= 4


def _numbered(hunk: Hunk) -> Iterator[tuple[bytes, int, int, bytes]]:
    """Sign, line of the old and of the new file (from 1), and the line."""
    old, new = hunk.old_start - (hunk.old_count > 0), hunk.new_start - (hunk.new_count > 0)
    for line in hunk.lines:
        sign = line[:1]
        old += sign != b"+"
        new += sign != b"-"
        yield sign, old, new, line[1:]


def _judged_hunk(
    path: str, hunk: Hunk, old: _File, new: _File, by_name: tuple[Kind, str], source: bool
) -> tuple[Kind, str, Flag | None]:
    lines = list(_numbered(hunk))
    changed = [(number, line) for number, line in enumerate(lines) if line[0] != b" "]
    direct: dict[int, tuple[str, ...]] = {}  # why, by number in the hunk: the line itself measures
    near: dict[int, tuple[str, ...]] = {}  # or it is beside such a line, or decides whether one is executed
    for number, (sign, before, after, text) in changed:
        if source and (_comment(text) or not text.strip()):
            continue
        words = by_name[0] is Kind.DOCUMENTATION and len(text) <= LONGEST_JUDGED and not CALL.search(text)
        if reasons := () if words else _touched(text):
            direct[number] = reasons
        elif source and (old.measures(before - 1) if sign == b"-" else new.measures(after - 1)):
            around = lines[max(0, number - diff.CONTEXT) : number + diff.CONTEXT + 1]
            beside = [f"beside {why}" for other in around if other[0] == b" " for why in _touched(other[3])]
            if beside or CONTROL.search(text):
                near[number] = tuple(beside) or ("what is executed in a function that measures",)
    if found := direct | near:
        built = [number for number in found if lines[number][0] == b"+"]
        sign, before, after, _ = lines[min(built or found)]
        every = tuple(dict.fromkeys(why for reasons in (direct or near).values() for why in reasons))
        gone = sign == b"-"
        flag = Flag(path, before if gone else after, gone, every, _text(hunk, min(found)))
        return Kind.MEASUREMENT, every[0], flag
    if not source:
        return (*by_name, None)
    if all(_comment(text) or not text.strip() for _, (_, _, _, text) in changed):
        return Kind.DOCUMENTATION, "comments alone", None
    if all(_comment(text) or DIRECTIVE.fullmatch(text) for _, (_, _, _, text) in changed):
        return Kind.PORTABILITY, "directives of the preprocessor", None
    return (*by_name, None) if by_name[0] is Kind.BUILD else (Kind.OTHER, "code", None)


def _text(hunk: Hunk, first: int) -> str:
    """A hunk for people: the part around its first flagged line, where it is long."""
    start = max(0, min(first - diff.CONTEXT, len(hunk.lines) - LONGEST_SHOWN))
    part = hunk.lines[start : start + LONGEST_SHOWN]
    shown_lines = [line.decode("utf-8", "backslashreplace").rstrip("\r\n")[:LONGEST_LINE] for line in part]
    before = [f"... {start} lines before"] if start else []
    left = len(hunk.lines) - start - len(part)
    after = [f"... {left} lines more"] if left else []
    head = f"@@ -{hunk.old_start},{hunk.old_count} +{hunk.new_start},{hunk.new_count} @@"
    clean = ("".join(char if char.isprintable() or char == "\t" else "�" for char in line) for line in shown_lines)
    return "\n".join([head, *before, *clean, *after])
