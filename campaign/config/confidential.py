"""Refuses secrets in a campaign file: it is in the bundle, and its words are in job scripts and results."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator

from campaign.config import resolution
from campaign.core.resources import BENCHMARK
from campaign.core.strict_yaml import Document, Mapping, Place, Scalar, Sequence, YamlNode, shown

_LOGIN = re.compile(r"://[^/?#@\s]+@")  # a URL with a user's name or password
_WORD = re.compile(r"^(PART|WORD)\((\w+)\)", re.MULTILINE)
# In a command: a name with a value, or an option.
_NAMED = re.compile(r"(?:^|[\s\"'=,;(])(-*[A-Za-z_][\w-]*)=|(?:^|[\s\"'])(--?[A-Za-z][\w-]*)")
# Texts that contain words of a command; "*" is any one key or number.
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


@functools.cache
def _secret() -> re.Pattern[str]:
    """Parts of names that belong to secrets; the benchmark leaves such variables out of its records."""
    listed = _WORD.findall((BENCHMARK / "common" / "secret.def").read_text(encoding="utf-8"))
    parts, words = ("|".join(word for kind, word in listed if kind == each) for each in ("PART", "WORD"))
    # For variables only: `--pass` and `--cert` are also options with a number and a file.
    return re.compile(rf"(?i:{parts.replace('_', '[_-]')})|(?:\b|_)(?:{words})(?!_(?:FILE|DIR|PATH))(?:\b|_)")


def check(document: Document) -> None:
    """Report everything that looks like a secret in a campaign file from this machine."""
    if resolution.replayed():
        return
    for at, node in _texts(document.root, ()):
        if _LOGIN.search(node.text):
            found = shown(_LOGIN.sub("://...@", node.text))
        elif _is(at, _VARIABLE) and _secret().search(str(at[-1])):
            found = str(at[-1])
        elif any(_is(at, place) for place in _COMMANDS):
            named = (match[1] or match[2] for match in _NAMED.finditer(node.text))
            found = next((name for name in named if _secret().search(name)), "")
        else:
            continue
        if found:
            document.problem(
                at,
                f"found {found}, which looks like a secret: the campaign file is in the bundle, its words in results; "
                "put it in a file that only you can read",
                node,
            )


def _texts(node: YamlNode, at: Place) -> Iterator[tuple[Place, Scalar]]:
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
