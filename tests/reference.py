"""Generates docs/cli.md from the command line's own help: `make docs`, checked by tests/test_cli.py."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from campaign.cli import parser

TARGET = Path(__file__).resolve().parent.parent / "docs" / "cli.md"


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


if __name__ == "__main__":
    if "--write" in sys.argv:
        TARGET.write_text(text(), encoding="utf-8")
    else:
        sys.stdout.write(text())
