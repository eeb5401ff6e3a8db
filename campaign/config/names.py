"""Values of the variables and paths in a campaign file on the machine where it was written.

A campaign file says `$USER` and `../mdtest`; what that was decides what was executed. On the vendor's machine names are
looked up and remembered, so that a bundle can carry their values; on the buyer's machine the bundle's record
answers and nothing is looked up, since the same names mean something else there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class Names:
    """`pack` and `files`: the campaign's rule pack and other files to read where names are replayed."""

    variables: dict[str, str] = field(default_factory=dict)
    paths: dict[str, str] = field(default_factory=dict)
    replayed: bool = False
    pack: Path | None = None
    files: dict[str, Path] = field(default_factory=dict)


_NAMES: ContextVar[Names | None] = ContextVar("names", default=None)


@contextmanager
def using(names: Names) -> Iterator[Names]:
    """Remember in `names` what is looked up within, or answer from it where it is a replay."""
    token = _NAMES.set(names)
    try:
        yield names
    finally:
        _NAMES.reset(token)


def replayed() -> bool:
    """Whether the campaign at hand is another machine's: nothing of this one may be asked."""
    names = _NAMES.get()
    return names is not None and names.replayed


def pack() -> Path | None:
    """The file to read in place of the rule pack that the campaign file names."""
    names = _NAMES.get()
    return names.pack if names else None


def variable(name: str, look_up: Callable[[], str]) -> str:
    """The value of a variable; "" where there is none."""
    names = _NAMES.get()
    if names is None:
        return look_up()
    if names.replayed:
        return names.variables.get(name, "")
    names.variables[name] = value = look_up()
    return value


def path(written: str, look_up: Callable[[], Path]) -> Path:
    """The absolute path of a written one. Raises ValueError where the record does not have it."""
    names = _NAMES.get()
    if names is None:
        return look_up()
    if names.replayed:
        if written not in names.paths:
            raise ValueError(f"names.json has no path for {written!r}")
        return Path(names.paths[written])
    located = look_up()
    names.paths[written] = str(located)
    return located


def content(path: Path) -> Path:
    """Where a file that the campaign file names can be read. On another machine only what is in the evidence can."""
    names = _NAMES.get()
    if names is None or not names.replayed:
        return path
    return names.files.get(str(path), Path("/nonexistent") / path.name)
