"""What the Makefile keeps of a build, and that the same source gives the same binary."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from campaign import trees
from campaign.sources import BUILDS
from tests.bench_binary import SOURCES

pytestmark = [pytest.mark.mpi, pytest.mark.timeout(300)]


def copy(top: Path) -> Path:
    shutil.copytree(SOURCES, top, ignore=shutil.ignore_patterns("build", "build-san"))
    return top


def make(top: Path, *words: str) -> dict[str, Any]:
    """Build there; gives the record."""
    subprocess.run(["make", "-C", top, "-s", "-j", "2", "build/build.json", *words], check=True, timeout=300)
    record: dict[str, Any] = json.loads((top / "build" / "build.json").read_text())
    return record


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    top = copy(tmp_path_factory.mktemp("one") / "bench-src")
    make(top)
    return top


def test_the_record_is_of_the_binary_and_of_the_source(built: Path) -> None:
    record = json.loads((built / "build" / "build.json").read_text())
    source = trees.read(str(built), Path("/"), BUILDS)
    assert record["binary_sha256"] == hashlib.sha256((built / "build" / "bench").read_bytes()).hexdigest()
    assert (record["source_tree"], record["source_files"]) == (source.hash, len(source.entries))
    assert {"-O2", "-g"} <= set(record["flags"].split())
    assert "gcc" in record["compiler"] and record["command"].split()[0]
    assert any(library.startswith("libmpi") for library in record["libraries"])
    assert (record["revision"], record["dirty"]) == (None, None)  # this copy is in no repository


def test_the_same_source_gives_the_same_binary_wherever_it_lies(built: Path, tmp_path: Path) -> None:
    other = copy(tmp_path / "a name with spaces" / "elsewhere" / "bench-src")
    assert make(other)["binary_sha256"] == json.loads((built / "build" / "build.json").read_text())["binary_sha256"]


def test_any_edit_of_the_source_makes_the_record_again(built: Path) -> None:
    before = make(built)
    assert make(built) == before
    header = built / "common" / "emit.h"
    text = header.read_text()
    header.write_text(text + "/* a word more */\n")
    edited = make(built)
    assert edited["source_tree"] != before["source_tree"]
    header.write_text(text)
    assert make(built)["source_tree"] == before["source_tree"]


def test_the_record_names_the_revision_and_whether_it_has_changes(tmp_path: Path) -> None:
    top = copy(tmp_path / "repo" / "bench-src")
    git = ["git", "-C", str(tmp_path / "repo"), "-c", "user.name=x", "-c", "user.email=x"]
    (tmp_path / "repo" / ".gitignore").write_text("build/\n")
    for words in (["init", "--quiet"], ["add", "."], ["commit", "--quiet", "--message=all"]):
        subprocess.run([*git, *words], check=True, timeout=60)
    head = subprocess.run([*git, "rev-parse", "HEAD"], check=True, timeout=60, capture_output=True, text=True).stdout
    record = make(top)
    assert (record["revision"], record["dirty"]) == (head.strip(), False)
    header = top / "common" / "emit.h"
    header.write_text(header.read_text() + "\n")
    assert make(top)["dirty"] is True
