"""Keys of a file that are fields of a dataclass: kind, limits, meaning and default of each are written there, once.

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Slurm:
        partition: str = key(NAME, "partition", "", says_default="the cluster's default")

`record(Slurm)` is the mapping that a document is read by, from which the reference and the JSON Schema are made;
`make` gives the dataclass of what was read, and `load` that of a file.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from campaign.core.schema import Boolean, Field, KeyedMap, ListOf, MapOf, OneOf, Schema, Text, Values
from campaign.core.strict_yaml import Document

_KEY, _OPTION, _DECIDES = "key", "option", "decides"
Made = TypeVar("Made")


def key(
    kind: Schema,
    says: str,
    default: Any = None,
    *,
    name: str = "",
    absent: Any = None,
    says_default: str = "",
    option: str = "",
    decides: bool = False,
) -> Any:
    """A dataclass field that is a key of a file. `default` is the dataclass's default (a type is called), and also the
    file's unless `absent` says what an absent key reads as; an absent list or mapping is empty. `name`: the key, if it
    is not the field's name. `option`: the command's option that has its value. `decides`: it decides what is executed,
    so that results with another value do not count.
    """
    factory = default if isinstance(default, type) else kind.of if isinstance(kind, KeyedMap) else None
    if factory is None and default is None and isinstance(kind, ListOf | MapOf):
        factory = tuple
    read = absent if factory is not None or absent is not None else default
    of_key = Field(kind, says, default=read, default_says=says_default, name=name)
    metadata = {_KEY: of_key, _OPTION: option, _DECIDES: decides}
    if factory is not None:
        return dataclasses.field(default_factory=factory, metadata=metadata)
    return dataclasses.field(default=default, metadata=metadata)


def needed(kind: Schema, says: str, name: str = "") -> Any:
    """A dataclass field that is a required key of a file. `name`: the key, if it is not the field's name."""
    return dataclasses.field(metadata={_KEY: Field(kind, says, required=True, name=name)})


def switch(says: str) -> Any:
    """A dataclass field that is an optional key, true or false; absent means false."""
    return key(Boolean(), says, False, says_default="false")


def options(dataclass: type | object) -> dict[str, str]:
    """The options that the keys of a dataclass, or of one of its objects, are, each with the key's field."""
    return {name: field.name for field in dataclasses.fields(dataclass) if (name := field.metadata.get(_OPTION))}  # type: ignore[arg-type]


def deciding(instance: object) -> dict[str, Any]:
    """The fields of an object that decide what is executed, with their values."""
    return {
        field.name: getattr(instance, field.name)
        for field in dataclasses.fields(instance)  # type: ignore[arg-type]
        if field.metadata.get(_DECIDES)
    }


def record(dataclass_type: type) -> KeyedMap:
    """The schema of a mapping whose keys are the fields of a dataclass, in their order."""
    fields_by_name = {
        field.name: field.metadata[_KEY] for field in dataclasses.fields(dataclass_type) if _KEY in field.metadata
    }
    return KeyedMap(
        dataclass_type,
        **{key.name or name: dataclasses.replace(key, name=name) for name, key in fields_by_name.items()},
    )


def make(kind: Schema, value: Any, file: Path, **other_fields: Any) -> Any:
    """Convert a value that had no problem: mappings become dataclasses, and texts are converted by their kind, paths
    relative to `file`. `other_fields`: values of the fields that are not keys.
    """
    match kind:
        case Text() if kind.made is not None and value is not None:
            return kind.made(value, file)
        case ListOf():
            return tuple(make(kind.item, entry, file) for entry in value)
        case MapOf():
            return tuple((name, make(kind.value, entry, file)) for name, entry in value)
        case OneOf():
            return make(kind.mapping if isinstance(value, dict) else kind.scalar, value, file)
        case KeyedMap():
            field_values = {
                field.name or name: make(field.kind, value[name], file)
                for name, field in kind.fields.items()
                if (field.name or name) not in other_fields
            }
            return (kind.of or dict)(**field_values, **other_fields)
    return value


def load(
    dataclass_type: type[Made], file: Path, check: Callable[[Values], object] | None = None, /, **other_fields: Any
) -> Made:
    """The dataclass of a file whose keys are its fields. `check` reports further problems. Raises InputError with
    everything that is wrong in it.
    """
    kind, document = record(dataclass_type), Document.open(file)
    values = kind.read(document.root, (), document)
    if values is not None and check is not None:
        check(values)
    document.finish()
    loaded: Made = make(kind, values, file, **other_fields)
    return loaded
