"""Writes what is generated in docs/: the command line's help, its man pages, and the JSON Schemas: `make docs`. Tests
hold that it is up to date.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

from campaign import config_format, json_schema, rules_format
from campaign.cli import parser
from tests.man_pages import pages, verbs

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
        **{DOCS / "man" / name: page for name, page in pages(parser(sandbox=True)).items()},
        **{DOCS / "schema" / f"{name}.json": json.dumps(schema, indent=1) + "\n" for name, schema in schemas.items()},
    }


def _reference() -> str:
    top = parser(sandbox=True)
    parts = ["# Command line", "", "Generated from the program's own help by `make docs`.", "", "```"]
    parts += [top.format_help().rstrip(), "```"]
    for name, verb, _ in verbs(top):
        parts += _section(f"campaign {name}", verb.format_help())
        for inner, sub_verb, _ in verbs(verb):
            parts += _section(f"campaign {name} {inner}", sub_verb.format_help())
    return "\n".join(parts) + "\n"


def _section(title: str, text: str) -> list[str]:
    return ["", f"## {title}", "", "```", text.rstrip(), "```"]


if __name__ == "__main__":
    for path, text in generated().items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
