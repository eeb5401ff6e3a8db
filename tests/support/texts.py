"""Prints every text of the program with its place, to be reviewed: `python -m tests.support.texts [FOLDER OR FILE...]`.

A text is a literal of three words or more, or such a line of a template that makes text; what stands in braces is
computed.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import campaign
from campaign.core.resources import TEMPLATES

PACKAGE = Path(campaign.__file__).parent
WORDS = 3


def texts(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Line and text; no docstrings."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            continue
        text = _text(node)
        if text is None:
            yield from texts(node)
        elif len(text.split()) >= WORDS:
            yield getattr(node, "lineno", 0), text


def _text(node: ast.AST) -> str | None:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(_text(part) or "" for part in node.values)
    if isinstance(node, ast.FormattedValue):
        return f"{{{ast.unparse(node.value)}}}"
    return None


def main(*places: str) -> None:
    for place in map(Path, places or (str(PACKAGE),)):
        for path in sorted(place.rglob("*.py")) if place.is_dir() else [place]:
            for line, text in texts(ast.parse(path.read_text(encoding="utf-8"))):
                print(f"{path.relative_to(PACKAGE.parent) if path.is_absolute() else path}:{line}: {text!r}")
    for path in sorted(TEMPLATES.rglob("*.txt.j2")) if not places else ():
        for number, written_text in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            if len(re.sub(r"\{[{#%].*?[}#%]\}|\{#.*", "", written_text).split()) >= WORDS:
                print(f"{path.relative_to(TEMPLATES.parent)}:{number}: {written_text!r}")


if __name__ == "__main__":
    main(*sys.argv[1:])
