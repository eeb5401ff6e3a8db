"""Keys of a file that are fields of a dataclass: kind, limits, meaning and default of each are written there, once.

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Slurm:
        partition: str = key(NAME, "partition", "", says_default="the cluster's default")

`record(Slurm)` is the mapping that a document is read by, from which the reference and the JSON Schema are made;
`make` gives the dataclass of what was read.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

from campaign.core.schema import Boolean, Field, KeyedMap, ListOf, MapOf, OneOf, Schema, Text

_KEY = "key"


def key(
    kind: Schema, says: str, default: Any = None, *, name: str = "", absent: Any = None, says_default: str = ""
) -> Any:
    """A field that a key gives. `default`: of the dataclass (a type makes it), and of the file unless `absent` says
    what an absent key reads as; an absent list or mapping is empty. `name`: of the key, where the field's is another.
    """
    factory = default if isinstance(default, type) else kind.of if isinstance(kind, KeyedMap) else None
    if factory is None and default is None and isinstance(kind, ListOf | MapOf):
        factory = tuple
    read = absent if factory is not None or absent is not None else default
    metadata = {_KEY: Field(kind, says, default=read, default_says=says_default, name=name)}
    if factory is not None:
        return dataclasses.field(default_factory=factory, metadata=metadata)
    return dataclasses.field(default=default, metadata=metadata)


def needed(kind: Schema, says: str) -> Any:
    """A field that a key gives which a file must have."""
    return dataclasses.field(metadata={_KEY: Field(kind, says, required=True)})


def switch(says: str) -> Any:
    """A field that a key gives which is true or false, and false where it is absent."""
    return key(Boolean(), says, False, says_default="false")


def record(of: type) -> KeyedMap:
    """The mapping whose keys are those of a dataclass, in the order of its fields."""
    given = {field.name: field.metadata[_KEY] for field in dataclasses.fields(of) if _KEY in field.metadata}
    return KeyedMap(of, **{key.name or name: dataclasses.replace(key, name=name) for name, key in given.items()})


def make(kind: Schema, value: Any, file: Path, **others: Any) -> Any:
    """What the program works with, of a value that had no problem: dataclasses of mappings, and of texts what their
    kind makes of them beside `file`. `others`: fields of the dataclass that are given otherwise.
    """
    match kind:
        case Text() if kind.made is not None and value is not None:
            return kind.made(value, file)
        case ListOf():
            return tuple(make(kind.item, each, file) for each in value)
        case MapOf():
            return tuple((name, make(kind.value, each, file)) for name, each in value)
        case OneOf():
            return make(kind.mapping if isinstance(value, dict) else kind.scalar, value, file)
        case KeyedMap():
            given = {
                field.name or name: make(field.kind, value[name], file)
                for name, field in kind.fields.items()
                if (field.name or name) not in others
            }
            return (kind.of or dict)(**given, **others)
    return value
