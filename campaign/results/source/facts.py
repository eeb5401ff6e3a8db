"""What is known about the benchmark's source and build: nouns, and their JSON. The rules SRC-* are judged on them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, TypeVar

from campaign.core.decode import decode
from campaign.core.findings import ChangeClass

FORMAT = 1


@dataclass(frozen=True, slots=True)
class Ignored:
    """A file or directory that is not part of a tree."""

    path: str
    why: str
    sha256: str = ""  # "" for a directory


@dataclass(frozen=True, slots=True)
class FlaggedHunk:
    """A hunk that touches the measurement path. `line` is its first such line: in the built file, or in the pristine
    one if lines were only removed.
    """

    path: str
    line: int
    gone: bool
    why: tuple[str, ...]
    hunk: str  # for people: shortened if it is long, and always printable

    @property
    def place(self) -> str:
        return f"{self.path}:{self.line}" + (" (published)" if self.gone else "")


@dataclass(frozen=True, slots=True)
class Change:
    """One file that differs. Paths are as people read them."""

    path: str
    how: str  # new | deleted | changed | mode
    kind: ChangeClass
    why: str
    added: int
    removed: int
    binary: bool
    old_mode: str
    new_mode: str
    old_sha256: str
    new_sha256: str
    flags: tuple[FlaggedHunk, ...] = ()


@dataclass(frozen=True, slots=True)
class Described:
    """A tree without its files. `hash` is defined in docs/modifications.md."""

    name: str
    hash: str
    files: int
    archive_sha256: str
    revision: str
    ignored: tuple[Ignored, ...]


@dataclass(frozen=True, slots=True)
class Supplied:
    """A submitted patch. `problem`: why it does not turn the pristine tree into the built one, or ""."""

    name: str
    sha256: str
    problem: str


@dataclass(frozen=True, slots=True)
class TreeComparison:
    pristine: Described
    modified: Described
    changes: tuple[Change, ...]
    patch_sha256: str
    applied: str  # hash of the pristine tree with the patch applied
    names_version: bool  # whether a file of each pristine source contains the version that the campaign file names
    supplied: Supplied | None = None
    parts: Mapping[str, Described] = field(default_factory=dict)  # of several: each published one, by its directory

    @property
    def published(self) -> Mapping[str, Described]:
        """Each published source by its name, that of the only one by ""."""
        return self.parts or {"": self.pristine}

    @property
    def flags(self) -> tuple[FlaggedHunk, ...]:
        return tuple(flag for change in self.changes for flag in change.flags)

    @property
    def reproduced(self) -> bool:
        """Whether the pristine tree with the patch is the built tree."""
        return self.applied == self.modified.hash


@dataclass(frozen=True, slots=True)
class Build:
    """The record of one build; "" and () for what is not recorded."""

    binary_sha256: str
    compiler: str = ""
    command: str = ""
    flags: str = ""
    libraries: tuple[str, ...] = ()
    source_tree: str = ""  # hash of what was built
    version: str = ""
    revision: str | None = ""  # of the source's repository; None if it was in none
    dirty: bool | None = None
    unix_time: float | None = None
    log: str = ""  # name of the build's log in the campaign file
    log_sha256: str = ""
    mpi: str = ""  # as its compiler wrapper calls it
    sections: tuple[str, ...] = ()  # of the binary: "NAME SHA-256"
    preprocessed: str = ""  # hash of the sources as the compiler saw them
    environment: tuple[str, ...] = ()  # "NAME=VALUE" of what compilers and linkers take besides their options
    inputs: tuple[str, ...] = ()  # "PATH SHA-256" of files read from outside the source that no package has


@dataclass(frozen=True, slots=True)
class OwnSource:
    """The built-in benchmark's source that this program contains."""

    version: str
    tree: str


@dataclass(frozen=True, slots=True)
class Sources:
    """`problem`: why nothing was compared, if `comparison` is None. `patch_sha256` is that of the stored patch."""

    comparison: TreeComparison | None = None
    problem: str = "run 'campaign modifications FILE' first"
    builds: tuple[Build, ...] = ()
    patch_sha256: str = ""

    def build_of(self, binary_sha256: str | None) -> Build | None:
        return next((build for build in self.builds if build.binary_sha256 == binary_sha256), None)


# --- JSON

Fact = TypeVar("Fact")


def as_text(fact: Any) -> str:
    return json.dumps({"format": FORMAT, **asdict(fact)}, indent=1, ensure_ascii=False) + "\n"


def from_json(kind: type[Fact], data: Any) -> Fact:
    """The inverse of `as_text`. Raises ValueError naming the field that is wrong."""
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise ValueError(f"not an object of format {FORMAT}")
    return decode(kind, data, pass_over_unknown=True)
