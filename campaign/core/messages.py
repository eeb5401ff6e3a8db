"""A text that a person reads, as data: each package keeps its own in `messages`, so that they can be read as a list.

`docs/messages.md` is generated from them, with the example of each.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, init=False)
class Message:
    """`text` with {places} as in `str.format`, and an example of what each place holds.

    NODES_TOO_MANY = Message("launch.{id}: {asked} nodes requested; partition {partition} has {there}",
                             id="max", asked=8, partition="compute", there=4)
    raise InputError(NODES_TOO_MANY(id=..., asked=..., partition=..., there=...))
    """

    text: str
    example: Mapping[str, object]

    def __init__(self, text: str, **example: object) -> None:
        object.__setattr__(self, "text", text)
        object.__setattr__(self, "example", example)

    def __call__(self, **values: object) -> Said:
        return Said(self, values)


class Said(str):
    """What a message says. Its values are kept: where it is said several times, only what differs is told again."""

    message: Message
    values: Mapping[str, object]

    def __new__(cls, message: Message, values: Mapping[str, object]) -> Said:
        said = super().__new__(cls, message.text.format(**values))
        said.message, said.values = message, values
        return said

    def __deepcopy__(self, _: object) -> Said:
        return self

    def __reduce__(self) -> tuple[type[str], tuple[str]]:
        return str, (str(self),)
