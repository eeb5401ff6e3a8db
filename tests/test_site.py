"""The site has every page of the documentation once, each word of the glossary an anchor, and its parts are pinned."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support import reference

ROOT = Path(__file__).resolve().parents[1]
SITE = ROOT / ".ci" / "site"
BY_HOOKS = {"index.md", "examples.md", "outputs.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md"}


def pages(nav: Any) -> list[str]:
    if isinstance(nav, str):
        return [nav]
    return [page for entry in (nav.values() if isinstance(nav, dict) else nav) for page in pages(entry)]


def test_every_page_is_in_the_navigation_once() -> None:
    nav = pages(yaml.safe_load((SITE / "mkdocs.yml").read_text(encoding="utf-8"))["nav"])
    docs = {path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md")}
    assert sorted(nav) == sorted(docs | BY_HOOKS | reference.for_the_site().keys())


def test_every_word_of_the_glossary_has_an_anchor_of_its_own() -> None:
    rows = re.findall(r"^\| ([^|]+) \| (?=[^-])", (ROOT / "docs/glossary.md").read_text(encoding="utf-8"), re.MULTILINE)
    anchors = [re.sub(r"[^a-z0-9]+", "-", word.lower()).strip("-") for word in rows]
    assert len(anchors) > 30 and len(set(anchors)) == len(anchors) and "" not in anchors


@pytest.mark.programs
@pytest.mark.timeout(600)
def test_the_site_is_built_with_every_link_and_anchor_checked() -> None:
    process = subprocess.run(
        ["make", "--no-print-directory", "site"], cwd=ROOT, capture_output=True, text=True, timeout=600
    )
    assert process.returncode == 0, process.stdout + process.stderr


def test_what_builds_the_site_is_pinned_by_its_hashes() -> None:
    parts = re.split(r"^(?=[\w.-]+==)", (SITE / "requirements.lock").read_text(), flags=re.MULTILINE)[1:]
    assert len(parts) > 10
    assert [part.split()[0] for part in parts if "--hash=sha256:" not in part] == []
