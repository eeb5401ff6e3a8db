"""Refuses secrets in a campaign file: it is in the bundle, and its words are in job scripts and results."""

from __future__ import annotations

import functools
import re

from campaign.config import resolution
from campaign.core.model import matches
from campaign.core.resources import BENCHMARK
from campaign.core.strict_yaml import Document, Place, Scalar, nodes, shown

_LOGIN = re.compile(r"://[^/?#@\s]+@")  # a URL with a user's name or password
_WORD = re.compile(r"^(PART|WORD)\((\w+)\)", re.MULTILINE)
# In a command: a name with a value, or an option.
_NAMED = re.compile(r"(?:^|[\s\"'=,;(])(-*[A-Za-z_][\w-]*)=|(?:^|[\s\"'])(--?[A-Za-z][\w-]*)")
# Texts that contain words of a command; "*" is any one key or number.
_COMMANDS = (
    "launcher/options/*",
    "launcher/prefix/*",
    "slurm/directives/*",
    "benchmark/extra_arguments/*",
    "benchmark/program_arguments/*/*",
    "targets/*/server_counters",
    "energy/command",
    "source/build/command",
    "source/build/flags",
    "source/builds/*/command",
    "source/builds/*/flags",
)


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
    for at, node in nodes(document.root):
        if isinstance(node, Scalar) and (found := _found(at, node.text)):
            document.problem(
                at,
                f"found {found}, which looks like a secret: the campaign file is in the bundle, its words in results; "
                "put it in a file that only you can read",
                node,
            )


def _found(at: Place, text: str) -> str:
    """The secret in a value, or the name that tells of one; "" if there is none."""
    if _LOGIN.search(text):
        return shown(_LOGIN.sub("://...@", text))
    place, names = "/".join(map(str, at)), list[str]()
    if matches(place, "slurm/environment/*"):
        names = [str(at[-1])]
    elif any(matches(place, pattern) for pattern in _COMMANDS):
        names = [match[1] or match[2] for match in _NAMED.finditer(text)]
    return next((name for name in names if _secret().search(name)), "")
