"""Categories of builds: which changes of the benchmark's source and which flags of the compiler each allows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from fnmatch import fnmatchcase

from campaign.config.rules import kinds
from campaign.core.findings import ChangeClass
from campaign.core.keys import key, needed, record
from campaign.core.schema import Choice, ListOf, matching

# What a rule about changes of the source allows, if no category says more.
BUILDING: tuple[str, ...] = (ChangeClass.BUILD, ChangeClass.PORTABILITY, ChangeClass.DOCUMENTATION, ChangeClass.DATA)
FORBIDDEN, UNKNOWN = "forbidden", "unknown"

_PATTERNS = ListOf(
    matching(
        r"[^\s?\[\]]+( [^\s?\[\]]+)?",
        "a flag such as -O2, -march=* (* is any text), -I * (two words) or -O*|-fast (one of them)",
        longest=200,
    )
)


@dataclass(frozen=True, slots=True)
class BuildFlags:
    """Patterns of flags, by class. The first class with a matching pattern is that of a flag."""

    forbidden: tuple[str, ...] = key(_PATTERNS, "flags that must not be used")
    mandatory: tuple[str, ...] = key(_PATTERNS, "flags that must be used, each")
    portability: tuple[str, ...] = key(_PATTERNS, "flags that the program needs to be compiled, or to run correctly")
    optimisation: tuple[str, ...] = key(_PATTERNS, "flags that may be used to make it faster")

    @property
    def has_patterns(self) -> bool:
        """Whether flags are judged at all."""
        return any(getattr(self, kind.name) for kind in fields(self))

    def missing(self, text: str) -> list[str]:
        """The mandatory ones that are not in a command line."""
        words = text.split()
        return [
            pattern
            for pattern in self.mandatory
            if not any(_matching_words(words[at:], pattern) for at in range(len(words)))
        ]

    def classes(self, text: str) -> Iterator[tuple[str, str]]:
        """Each flag of a command line with its class, which may be UNKNOWN."""
        words = text.split()
        while words:
            matches = (
                (_matching_words(words, pattern), kind.name)
                for kind in fields(self)
                for pattern in getattr(self, kind.name)
            )
            number, kind = next((size_and_class for size_and_class in matches if size_and_class[0]), (1, UNKNOWN))
            yield " ".join(words[:number]), kind
            words = words[number:]


def _matching_words(words: list[str], pattern: str) -> int:
    """How many of the first words a pattern matches."""
    sizes = ((len(alternative.split(" ")), alternative) for alternative in pattern.split("|"))
    return next((size for size, alternative in sizes if fnmatchcase(" ".join(words[:size]), alternative)), 0)


@dataclass(frozen=True, slots=True)
class BuildCategory:
    """How a program may be changed and compiled for its results to be of one kind, such as baseline or optimised."""

    id: str = needed(kinds.ID, "name of the category in campaign files (`build`)")
    title: str = needed(kinds.LINE, "its name in the caption of the table")
    clause: str = needed(kinds.CLAUSE, "clause of the RFP that defines it")
    changes: tuple[str, ...] = key(
        ListOf(Choice(tuple(ChangeClass))),
        "classes of changes of the source that it allows (SRC-03); see docs/modifications.md",
        BUILDING,
        says_default=", ".join(BUILDING),
    )
    flags: BuildFlags = key(
        record(BuildFlags), "flags of compiler and linker (SRC-07); without any, they are not judged"
    )

    def __str__(self) -> str:
        return f"{self.title} ({self.id}, clause {self.clause})"
