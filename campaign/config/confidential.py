"""What a campaign file must not contain: it is in the bundle, and its words are in job scripts and results."""

from __future__ import annotations

import re
from collections.abc import Iterator

from campaign.config import messages
from campaign.config import names as resolution
from campaign.core.regex import regex
from campaign.core.strict_yaml import Document, Mapping, Node, Place, Scalar, Sequence, shown

_LOGIN = regex(r"://[^/?#@\s]+@")  # a URL with a user's name or password
_SECRET = regex(
    r"JWT|TOKEN|SECRET|PASSW|PASSPHRASE|CREDENTIAL|(?:API|ACCESS|PRIVATE)[_-]?KEY"
    # Of a variable alone: `--pass` and `--cert` are also options that give a number and a file.
    r"|(?-i:(?:\b|_)(?:PASS|BEARER|CERT(?!_(?:FILE|DIR|PATH)))(?:\b|_))",
    re.IGNORECASE,
)
# In a command: a name to which a value is given, or an option.
_NAMED = regex(r"(?:^|[\s\"'=,;(])(-*[A-Za-z_][\w-]*)=|(?:^|[\s\"'])(--?[A-Za-z][\w-]*)")
# Texts that are words of a command; "*" is any one key or number.
_COMMANDS: tuple[Place, ...] = (
    ("launcher", "options", "*"),
    ("launcher", "prefix", "*"),
    ("slurm", "directives", "*"),
    ("benchmark", "extra_arguments", "*"),
    ("benchmark", "program_arguments", "*", "*"),
    ("targets", "*", "server_counters"),
    ("source", "build", "command"),
    ("source", "build", "flags"),
    ("source", "builds", "*", "command"),
    ("source", "builds", "*", "flags"),
)
_VARIABLE: Place = ("slurm", "environment", "*")


def check(document: Document) -> None:
    """Report all that looks like a secret in a campaign file of this machine's."""
    if resolution.replayed():
        return
    for at, node in _texts(document.root, ()):
        if _LOGIN.search(node.text):
            found = shown(_LOGIN.sub("://...@", node.text))
        elif _is(at, _VARIABLE) and _SECRET.search(str(at[-1])):
            found = str(at[-1])
        elif any(_is(at, place) for place in _COMMANDS):
            named = (match[1] or match[2] for match in _NAMED.finditer(node.text))
            found = next((name for name in named if _SECRET.search(name)), "")
        else:
            continue
        if found:
            document.problem(at, messages.SECRET(name=found), node)


def _texts(node: Node, at: Place) -> Iterator[tuple[Place, Scalar]]:
    if isinstance(node, Scalar):
        yield at, node
    elif isinstance(node, Sequence):
        for index, item in enumerate(node.items):
            yield from _texts(item, (*at, index))
    elif isinstance(node, Mapping):
        for key, value in node.pairs:
            if isinstance(key, Scalar):
                yield from _texts(value, (*at, key.text))


def _is(at: Place, place: Place) -> bool:
    return len(at) == len(place) and all(part in ("*", own) for part, own in zip(place, at, strict=True))
