"""Generates what the program itself prints for the documentation: `make docs`, checked by test_cli and test_readme.

docs/cli.md is the command line's own help. README.md shows the table of a campaign at full size, and how its bundle is
verified: both are made from the bundle itself, so that they have the form of today and the numbers of that campaign.
"""

from __future__ import annotations

import argparse
import os
import sys
from dataclasses import replace
from pathlib import Path

from campaign import verify
from campaign.cli import parser

PROJECT = Path(__file__).resolve().parent.parent
TARGET = PROJECT / "docs" / "cli.md"
README = PROJECT / "README.md"
BUNDLE = Path(__file__).with_name("data") / "readme" / "my-rfp.zip"
SIGNERS = BUNDLE.with_name("KEYS")
FENCE = "```\n"


def text() -> str:
    os.environ["COLUMNS"] = "100"  # argparse wraps at the terminal's width
    top = parser(sandbox=True)
    parts = ["# Command line", "", "Generated from the program's own help by `make docs`.", "", "```"]
    parts += [top.format_help().rstrip(), "```"]
    for name, verb in _verbs(top):
        parts += ["", f"## campaign {name}", "", "```", verb.format_help().rstrip(), "```"]
    return "\n".join(parts) + "\n"


def _verbs(top: argparse.ArgumentParser) -> list[tuple[str, argparse.ArgumentParser]]:
    found = []
    for action in top._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, verb in action.choices.items():
                found += [(name, verb), *((f"{name} {inner}", parser) for inner, parser in _verbs(verb))]
    return found


def readme(text: str) -> str:
    """The README with the table and the verification of its campaign as they are printed now."""
    with verify.verify(BUNDLE, verify.Asked(SIGNERS)) as found:
        assert found.judged is not None, "the bundle of the README cannot be judged"
        # It says what was judged on the day it was made, which EVD-04 compares with today: both samples are of today.
        kept = tuple(one for one in found.findings if one.rule != "EVD-04")
        table = found.judged.files["tables/table.txt"]
        today = replace(found, findings=kept)
        verified = [verify.as_text(today), "…the table…", verify.conclusion(today)]
    caption, command = table.partition("\n")[0], f"$ campaign verify {BUNDLE.name} --signers {SIGNERS.name}"
    return _with_block(_with_block(text, caption, table), command, "\n".join([command, *verified]))


def _with_block(text: str, first: str, block: str) -> str:
    """A text in which the fenced block that begins with `first` is another."""
    before, found, rest = text.partition(f"{FENCE}{first}\n")
    assert found, f"README.md has no block that begins with: {first}"
    return before + FENCE + block.rstrip("\n") + "\n" + FENCE + rest.partition("\n" + FENCE)[2]


if __name__ == "__main__":
    if "--write" in sys.argv:
        TARGET.write_text(text(), encoding="utf-8")
        README.write_text(readme(README.read_text(encoding="utf-8")), encoding="utf-8")
    else:
        sys.stdout.write(text())
