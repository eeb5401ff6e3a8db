"""What people expect of a package: one version, a licence, and a wheel that works by itself."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
import yaml

import campaign

ROOT = Path(__file__).resolve().parent.parent


@pytest.mark.parametrize(
    ("file", "pattern"),
    [
        ("bench-src/Makefile", r"^VERSION := (\S+)$"),
        ("CITATION.cff", r"^version: (\S+)$"),
        ("CHANGELOG.md", r"^## \[(\S+)\]"),  # the first is the newest
    ],
)
def test_every_file_that_repeats_the_version_has_the_same(file: str, pattern: str) -> None:
    match = re.search(pattern, (ROOT / file).read_text(encoding="utf-8"), re.MULTILINE)
    assert match and match[1] == campaign.__version__


def test_the_licence_is_named_and_there() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert project["license"] == citation["license"] == "Apache-2.0"
    assert "Apache License\n                           Version 2.0" in (ROOT / "LICENSE").read_text(encoding="utf-8")
