"""The values of variables and paths in a campaign file, on the machine where it was written.

What `$USER` and `../mdtest` meant there decides what was executed. On the vendor's machine values are looked up and
recorded, so that a bundle can include them; on the buyer's machine they are taken from the bundle, since the same names
mean something else there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class Names:
    """When values come from a record: `pack` and `files` are the files to read in place of the campaign's rule pack and
    its other files, `part` the part of the campaign file that it is about.
    """

    variables: dict[str, str] = field(default_factory=dict)
    paths: dict[str, str] = field(default_factory=dict)
    replayed: bool = False
    pack: Path | None = None
    part: str = ""
    files: dict[str, Path] = field(default_factory=dict)


_NAMES: ContextVar[Names | None] = ContextVar("names", default=None)


@contextmanager
def use_names(names: Names) -> Iterator[Names]:
    """Within the context, record in `names` what is looked up, or take values from it if it is a record."""
    token = _NAMES.set(names)
    try:
        yield names
    finally:
        _NAMES.reset(token)


def current_names() -> Names:
    """What is recorded, or taken from a record, in this context."""
    return _NAMES.get() or Names()


def is_replayed() -> bool:
    """Whether the campaign is another machine's, so that nothing may be looked up on this one."""
    return current_names().replayed


def variable(name: str, look_up: Callable[[], str]) -> str:
    """The value of a variable; "" where there is none."""
    names = current_names()
    if not names.replayed:
        names.variables[name] = look_up()
    return names.variables.get(name, "")


def path(path_text: str, look_up: Callable[[], Path]) -> Path:
    """The absolute path for a written one. Raises ValueError if the record does not have it."""
    names = current_names()
    if not names.replayed:
        names.paths[path_text] = str(look_up())
    if path_text not in names.paths:
        raise ValueError(f"names.json has no path for {path_text!r}")
    return Path(names.paths[path_text])


def content(path: Path) -> Path:
    """The file to read for a path in the campaign file; on another machine, only what is in the evidence."""
    names = current_names()
    return names.files.get(str(path), Path("/nonexistent") / path.name) if names.replayed else path
