"""Writes what is generated in docs/: the command line's help and the JSON Schemas. `make docs`; tests hold that it is
up to date.
"""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path

from campaign import config_format, json_schema, rules_format
from campaign.cli import parser

DOCS = Path(__file__).resolve().parent.parent / "docs"


def generated() -> dict[Path, str]:
    """Every generated file with its text."""
    os.environ["COLUMNS"] = "100"  # argparse wraps at the terminal's width
    schemas = {
        "campaign-file": json_schema.document(config_format.SCHEMA, "Campaign file"),
        "rule-pack": json_schema.document(rules_format.SCHEMA, "Rule pack"),
    }
    return {
        DOCS / "cli.md": _reference(),
        **{DOCS / "schema" / f"{name}.json": json.dumps(schema, indent=1) + "\n" for name, schema in schemas.items()},
    }


def _reference() -> str:
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
    for path, text in generated().items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
