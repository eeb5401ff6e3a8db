"""Compares a pristine tree with the one that was built -> every file that differs, what it may mean, and what a
reviewer has to look at. Pure.

What a change may mean is data: rules about paths and changed lines. The first matching path rule gives the class; a
line rule takes precedence.
"""

from __future__ import annotations

import functools
import hashlib
import re
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass

from campaign.core.findings import ChangeClass
from campaign.results.source import diff
from campaign.results.source.facts import Change, Described, FlaggedHunk, Ignored, Supplied, TreeComparison
from campaign.results.source.trees import LINK, Tree, TreeEntry, displayed_path, tree_hash, without_products


@dataclass(frozen=True, slots=True)
class PathRule:
    kind: ChangeClass
    pattern: re.Pattern[str]  # of the path in lower case
    why: str


@dataclass(frozen=True, slots=True)
class LineRule:
    """The pattern of a line on the measurement path."""

    pattern: re.Pattern[bytes]
    why: str


def _path(kind: ChangeClass, pattern: str, reason: str) -> PathRule:
    return PathRule(kind, re.compile(rf"(?:^|/)(?:{pattern})$"), reason)


def _line(reason: str, pattern: bytes) -> LineRule:
    return LineRule(re.compile(pattern), reason)


PATHS = (
    _path(
        ChangeClass.BUILD,
        r"(gnu)?makefile(\..+)?|[^/]+\.(mk|make|cmake|m4|am|ac|d|la|pc|pc\.in|spec)|configure(\.(ac|in|status))?"
        r"|cmakelists\.txt|meson(\.build|_options\.txt)|config\.(h|h\.in|log|guess|sub|mk|cache)|stamp-h[0-9.]*(in)?"
        r"|bootstrap|autogen\.sh|aclocal\.m4|ltmain\.sh|libtool|install-sh|depcomp|missing|compile|test-driver"
        r"|dockerfile|\.(gitignore|gitattributes|gitmodules|travis\.yml|gitlab-ci\.yml)",
        "builds the benchmark",
    ),
    _path(ChangeClass.BUILD, r"(\.deps|\.libs|\.github|debian|autom4te\.cache|cmakefiles)/.+", "builds the benchmark"),
    _path(ChangeClass.BUILD, r"[^/]+\.(sbatch|slurm|lsf|pbs|job)", "runs the benchmark"),
    _path(ChangeClass.BUILD, r"(scripts|contrib|jobs?)/.+\.(sh|bash|csh|py|pl|pm)", "runs the benchmark"),
    _path(
        ChangeClass.DOCUMENTATION,
        r"(readme|copying|copyright|license|licence|authors|news|changes|changelog|release[-_]?(log|notes)?|install"
        r"|notice|contributors|todo|user_?guide)([._-][^/]*)?"
        r"|[^/]+\.(md|rst|txt|tex|html?|pdf|adoc|[1-8]|docx?|odt|png|jpg|svg)",
        "documentation (by name)",
    ),
    _path(ChangeClass.DOCUMENTATION, r"docs?/.+\.(in|css|conf|dox)", "documentation (by name)"),
    _path(ChangeClass.DATA, r"[^/]+\.(csv|dat|json|ya?ml|ini|cfg|conf|inp?|xml|log|out|res|bin)", "data (by name)"),
)

# Languages whose lines are treated as code.
_BRACES = r"c|h|cc|cpp|cxx|c\+\+|hh|hpp|hxx|inc|inl|cu|hip|y|l|go|rs|java"
SOURCE = re.compile(rf"\.({_BRACES}|f|f77|f90|f95|f03|f08|for|ftn|s|d)$")
BRACES = re.compile(rf"\.({_BRACES})$")  # languages in which functions are recognised

_CLOCK = (
    rb"P?MPI_W(?:time|tick)|mpi_wtime|clock_gettime|clock_getres|gettimeofday|GetTimeStamp|__?rdtscp?|getrusage"
    rb"|timespec_get|timer_\w+|omp_get_wtime|ftime|std::chrono"
)
_SYNC = (
    rb"fsync|fdatasync|syncfs|sync_file_range|msync|O_(?:DIRECT|D?SYNC|TRUNC|EXCL|TMPFILE)|posix_fadvise|fadvise(?:64)?"
)
_IO = (
    rb"open(?:at2?|64)?|creat(?:64)?|close|[fl]?stat(?:at|x)?(?:64)?|fstatat|access|unlink(?:at)?|remove|mkdir(?:at)?"
    rb"|rmdir|rename(?:at2?)?|link(?:at)?|symlink|mknod(?:at)?|p?(?:read|write)v?2?(?:64)?|lseek(?:64)?|f?truncate(?:64)?"
    rb"|posix_fallocate|fallocate|mmap|munmap|readdir|opendir|copy_file_range|sendfile|splice|f(?:open|read|write|flush)"
)

_REPLACED = "the function behind a call"

LINES = (
    _line("timing", rb"(?<![\w])(?:" + _CLOCK + rb")(?!\w)|(?<![\w.>])(?:clock|time)\s*\(\s*(?:NULL|0|&|\))"),
    _line("a barrier", rb"(?<!\w)P?MPI_I?[Bb]arrier(?!\w)|(?<!\w)mpi_barrier(?!\w)"),
    _line("flushing to storage", rb"(?<!\w)(?:" + _SYNC + rb")(?!\w)|(?<![\w.>])sync\s*\(\s*\)"),
    _line(
        "an I/O call",
        rb"(?<!\w)(?:" + _IO + rb")\s*\(|(?<!\w)(?:P?MPI_File_\w+|aio_\w+|lio_listio|io_(?:submit|getevents|uring\w*))"
        rb"|(?<!\w)backend\s*->|(?<!\w)aiori_\w+",
    ),
    _line("waiting or caching", rb"(?<!\w)(?:u|nano|clock_nano)?sleep\s*\(|drop_caches|(?<!\w)madvise"),
    _line(
        "the rate computation",
        rb"(?<![a-zA-Z])[rR]ates?(?![a-z])|(?<=[a-z])Rate|(?i:iops|bandwidth|throughput|elapsed|ops_per_s)"
        rb"|summary_table|(?<!\w)entry\s*\[|(?<!\w)t\s*\[\s*\w+\s*\]\s*-",
    ),
    _line(_REPLACED, rb"--wrap[=,]|LD_PRELOAD|--defsym|(?<!\w)weak_?ref|__attribute__\s*\(\(\s*alias"),
    _line(_REPLACED, rb"(?:#\s*define\s+|-D\s*)(?:" + _CLOCK + rb"|" + _SYNC + rb"|" + _IO + rb"|P?MPI_\w+)(?![\w])"),
)

# What decides whether the lines around it are executed.
CONTROL = re.compile(
    rb"(?<!\w)(?:if|else|for|while|do|switch|case|return|goto|break|continue|exit|abort|longjmp)(?!\w)"
    rb"|#\s*(?:if|ifdef|ifndef|elif|else|endif)|/\*|\*/|^[ \t]*[{}]"
)
# Preprocessor lines or empty ones, but not a macro that contains code.
DIRECTIVE = re.compile(rb"\s*(?:#(?!\s*define\s+\w+(?:\(|\s+[^\n]*[(;{])).*|extern\b[^(){}]*;?)?\s*")
CALL = re.compile(rb"\w\s*\(.*;")  # a statement, in a file that claims to be documentation


LONGEST_SHOWN = 60  # lines of a flagged hunk, and
LONGEST_LINE = 300  # characters of a line
LONGEST_JUDGED = 4000  # bytes of a line


def compare(
    pristine: Tree, built: Tree, version: str = "", supplied: tuple[str, bytes] | None = None
) -> tuple[TreeComparison, bytes]:
    """The comparison, and the patch from one tree to the other. `version`: the stated version of the pristine tree.
    `supplied`: name and content of a patch to be judged.
    """
    modified = without_products(built, pristine)
    if not pristine.archive_sha256 and not pristine.revision:  # a directory, in which somebody may have built too
        pristine = without_products(pristine, built)
    differences = diff.differences(pristine, modified)
    patch = diff.render(differences)
    supplied_patch = _supplied(*supplied, pristine, modified) if supplied else None
    comparison = TreeComparison(
        describe(pristine),
        describe(modified),
        tuple(_change(difference) for difference in differences),
        hashlib.sha256(patch).hexdigest(),
        tree_hash(diff.apply_patch(patch, pristine.entries)),
        contains_version(pristine, version),
        supplied_patch,
    )
    return comparison, patch


def contains_version(tree: Tree, version: str) -> bool:
    return bool(version) and any(version.encode() in entry.data for entry in tree.entries.values())


def describe(tree: Tree) -> Described:
    ignored = tuple(Ignored(displayed_path(item.path), item.why, item.sha256) for item in tree.ignored)
    return Described(tree.name, tree.hash, len(tree.entries), tree.archive_sha256, tree.revision, ignored)


def _supplied(name: str, patch: bytes, pristine: Tree, modified: Tree) -> Supplied:
    digest = hashlib.sha256(patch).hexdigest()
    try:
        result = diff.apply_patch(patch, pristine.entries)
    except ValueError as error:
        return Supplied(name, digest, f"does not apply to the published source: {error}")
    paths = sorted({*result, *modified.entries})
    differing = [displayed_path(path) for path in paths if result.get(path) != modified.entries.get(path)]
    examples = ", ".join((*differing[:5], *(["…"] if len(differing) > 5 else [])))
    problem = f"does not give the built source; differing files: {examples}"
    return Supplied(name, digest, problem if differing else "")


# --- one file


def _change(difference: diff.Difference) -> Change:
    old, new = difference.old, difference.new
    path = displayed_path(difference.path)
    kind, reason, flags = classify_difference(difference, path)
    return Change(
        path,
        "new" if old is None else "deleted" if new is None else "changed" if old.data != new.data else "mode",
        kind,
        reason,
        difference.count(b"+"),
        difference.count(b"-"),
        difference.binary,
        old.mode if old else "",
        new.mode if new else "",
        old.sha256 if old else "",
        new.sha256 if new else "",
        flags,
    )


def classify_difference(difference: diff.Difference, path: str) -> tuple[ChangeClass, str, tuple[FlaggedHunk, ...]]:
    path_rule = next((rule for rule in PATHS if rule.pattern.search(path.lower())), None)
    by_name = (path_rule.kind, path_rule.why) if path_rule else (ChangeClass.OTHER, "not classified")
    if difference.binary and by_name[0] is not ChangeClass.DOCUMENTATION:
        return ChangeClass.OTHER, "binary: cannot be reviewed as text", ()
    if any(entry and entry.mode == LINK for entry in (difference.old, difference.new)):
        return ChangeClass.OTHER, "symbolic link", ()
    if not difference.hunks:
        return (*by_name, ()) if path_rule else (ChangeClass.BUILD, "permissions or empty file", ())
    source = SOURCE.search(path.lower()) is not None
    if source and path_rule and path_rule.kind is not ChangeClass.BUILD:
        by_name = (ChangeClass.OTHER, "code")
    old, new = _File(difference.old, path), _File(difference.new, path)
    classified_hunks = [_judged_hunk(path, hunk, old, new, by_name, source) for hunk in difference.hunks]
    kind, why_flagged, _ = min(classified_hunks, key=lambda item: list(ChangeClass).index(item[0]))
    flags = tuple(flag for _, _, flag in classified_hunks if flag)
    if flags:
        why_flagged = ", ".join(dict.fromkeys(reason for flag in flags for reason in flag.why))
    return kind, why_flagged, flags


class _File:
    """A file's lines, with those in functions that measure."""

    def __init__(self, entry: TreeEntry | None, path: str) -> None:
        self.lines = diff.lines_of(entry.data) if entry else []
        measuring = [number for number, line in enumerate(self.lines) if _measurement_reasons(line)]
        bodies = _bodies(self.lines) if BRACES.search(path.lower()) else ()
        self.measuring = [(first, last) for first, last in bodies if any(first <= at <= last for at in measuring)]

    def measures(self, index: int) -> bool:
        """Whether a line, from 0, is in such a function."""
        return any(first <= index <= last for first, last in self.measuring)


def _bodies(lines: Sequence[bytes]) -> Iterator[tuple[int, int]]:
    """First and last line of each function's body: from the brace after a head that begins in the first column to the
    next brace there.
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
def _measurement_reasons(line: bytes) -> tuple[str, ...]:
    """Why a line is on the measurement path."""
    if len(line) > LONGEST_JUDGED:
        return ("a line too long to classify",)
    return () if _comment(line) else tuple(rule.why for rule in LINES if rule.pattern.search(line))


def _comment(line: bytes) -> bool:
    """Whether a line is only a comment, without effect on the lines around it."""
    text = line.strip()
    if text.endswith(b"\\") or b"??/" in text:  # continues on the next line
        return False
    if text.startswith(b"//"):
        return True
    return text.startswith(b"/*") and text.endswith(b"*/") and text.count(b"*/") == 1 and len(text) >= 4


@dataclass(frozen=True, slots=True)
class _HunkLine:
    """A line of a hunk, with its numbers (from 1) in the old and the new file; `sign` is `+`, `-` or a blank."""

    sign: bytes
    old: int
    new: int
    text: bytes

    @property
    def is_removed(self) -> bool:
        return self.sign == b"-"

    @property
    def is_idle(self) -> bool:
        """Whether it is not executed."""
        return _comment(self.text) or not self.text.strip()


def _number_lines(hunk: diff.Hunk) -> Iterator[_HunkLine]:
    old, new = hunk.old_start - (hunk.old_count > 0), hunk.new_start - (hunk.new_count > 0)
    for line in hunk.lines:
        sign = line[:1]
        old += sign != b"+"
        new += sign != b"-"
        yield _HunkLine(sign, old, new, line[1:])


def _judged_hunk(
    path: str, hunk: diff.Hunk, old: _File, new: _File, by_name: tuple[ChangeClass, str], source: bool
) -> tuple[ChangeClass, str, FlaggedHunk | None]:
    lines = list(_number_lines(hunk))
    changed_lines = [line for line in lines if line.sign != b" "]
    prose = by_name[0] is ChangeClass.DOCUMENTATION
    direct = _measuring(lines, source, prose)
    near = _near_measuring(lines, direct, old, new) if source else {}
    if flagged := direct | near:
        added = [number for number in flagged if lines[number].sign == b"+"]
        first = lines[min(added or flagged)]
        reasons = tuple(dict.fromkeys(reason for whys in (direct or near).values() for reason in whys))
        place = first.old if first.is_removed else first.new
        flag = FlaggedHunk(path, place, first.is_removed, reasons, _text(hunk, min(flagged)))
        return ChangeClass.MEASUREMENT, reasons[0], flag
    if not source:
        return (*by_name, None)
    if all(line.is_idle for line in changed_lines):
        return ChangeClass.DOCUMENTATION, "comments only", None
    if all(_comment(line.text) or DIRECTIVE.fullmatch(line.text) for line in changed_lines):
        return ChangeClass.PORTABILITY, "preprocessor directives", None
    return (*by_name, None) if by_name[0] is ChangeClass.BUILD else (ChangeClass.OTHER, "code", None)


def _measuring(lines: Sequence[_HunkLine], source: bool, prose: bool) -> dict[int, tuple[str, ...]]:
    """Changed lines, by number in the hunk, that are on the measurement path, and why."""
    measuring = {}
    for number, line in enumerate(lines):
        if line.sign == b" " or (source and line.is_idle):
            continue
        mere_words = prose and len(line.text) <= LONGEST_JUDGED and not CALL.search(line.text)
        if not mere_words and (reasons := _measurement_reasons(line.text)):
            measuring[number] = reasons
    return measuring


def _near_measuring(
    lines: Sequence[_HunkLine], direct: Container[int], old: _File, new: _File
) -> dict[int, tuple[str, ...]]:
    """Changed lines in functions that measure that are next to a measuring line, or control whether one is executed."""
    near: dict[int, tuple[str, ...]] = {}
    for number, line in enumerate(lines):
        if line.sign == b" " or line.is_idle or number in direct:
            continue
        if not (old.measures(line.old - 1) if line.is_removed else new.measures(line.new - 1)):
            continue
        neighbours = lines[max(0, number - diff.CONTEXT) : number + diff.CONTEXT + 1]
        neighbour_reasons = tuple(
            f"next to {reason}"
            for neighbour in neighbours
            if neighbour.sign == b" "
            for reason in _measurement_reasons(neighbour.text)
        )
        if neighbour_reasons or CONTROL.search(line.text):
            near[number] = neighbour_reasons or ("control flow of a measuring function",)
    return near


def _text(hunk: diff.Hunk, first: int) -> str:
    """A hunk for people: if it is long, the part around its first flagged line."""
    start = max(0, min(first - diff.CONTEXT, len(hunk.lines) - LONGEST_SHOWN))
    part = hunk.lines[start : start + LONGEST_SHOWN]
    texts = [line.decode("utf-8", "backslashreplace").rstrip("\r\n")[:LONGEST_LINE] for line in part]
    before = [f"... {start} lines before"] if start else []
    left = len(hunk.lines) - start - len(part)
    after = [f"... {left} lines after"] if left else []
    head = f"@@ -{hunk.old_start},{hunk.old_count} +{hunk.new_start},{hunk.new_count} @@"
    clean = ("".join(char if char.isprintable() or char == "\t" else "�" for char in text) for text in texts)
    return "\n".join([head, *before, *clean, *after])
