"""What a change in a benchmark's source may mean: rules about paths and changed lines. Pure data.

The first matching path rule gives the class; a line rule takes precedence.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from campaign.core.model import ChangeClass


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


def _path(kind: ChangeClass, pattern: str, why: str) -> PathRule:
    return PathRule(kind, re.compile(rf"(?:^|/)(?:{pattern})$"), why)


def _line(why: str, pattern: bytes) -> LineRule:
    return LineRule(re.compile(pattern), why)


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
