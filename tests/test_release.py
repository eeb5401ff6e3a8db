"""`make release`: what it refuses, and that what it builds is the same every time and described whole."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import campaign

pytestmark = pytest.mark.programs

ROOT = Path(__file__).resolve().parents[1]
VERSION = campaign.__version__


def git(checkout: Path, *words: str) -> None:
    who = ["-c", "user.name=somebody", "-c", "user.email=somebody@example.org"]
    subprocess.run(["git", "-C", checkout, *who, *words], check=True, capture_output=True)


def release(checkout: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, checkout / ".ci" / "release.py", checkout.with_name("dist")]
    return subprocess.run(command, capture_output=True, text=True, timeout=800)


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout in which this version is ready for its release, but not committed and tagged."""
    path = tmp_path / "checkout"
    listed = ["git", "-C", ROOT, "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    for name in subprocess.check_output(listed, text=True).split("\0"):
        if (file := ROOT / name).is_file():
            (path / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(file, path / name)
    git(path, "init", "--quiet")
    git(path, "add", "--all")
    git(path, "commit", "--quiet", "--message", "before")
    changelog = path / "CHANGELOG.md"
    text = changelog.read_text(encoding="utf-8")
    changelog.write_text(re.sub(r"^## \[Unreleased\]\n.*?(?=^## \[)", "", text, flags=re.MULTILINE | re.DOTALL))
    return path


def test_what_is_not_ready_is_refused_with_what_to_do(checkout: Path) -> None:
    changelog = checkout / "CHANGELOG.md"
    text = changelog.read_text(encoding="utf-8")
    changelog.write_text(text.replace(f"\n## [{VERSION}]", f"\n## [Unreleased]\n\n### Added\n- x\n\n## [{VERSION}]"))
    process = release(checkout)
    assert process.returncode == 1
    assert process.stderr == (
        f"release: CHANGELOG.md: [Unreleased] has entries; move them to [{VERSION}]\n"
        f"release: this commit has no tag v{VERSION}: git tag --annotate v{VERSION}\n"
        "release: the checkout has changes: commit or remove them\n"
    )
    changelog.write_text(text.replace(f"\n## [{VERSION}] - 2", f"\n## [{VERSION}] - 1"))
    assert "release: CITATION.cff: date-released is 2" in release(checkout).stderr


def test_a_release_is_built_twice_with_the_same_bytes_and_lists_its_parts(checkout: Path) -> None:
    git(checkout, "add", "--all")
    git(checkout, "commit", "--quiet", "--message", "release")
    git(checkout, "tag", "--annotate", f"v{VERSION}", "--message", VERSION)
    process = release(checkout)
    assert process.returncode == 0, process.stderr

    directory = checkout.with_name("dist")
    sums = dict(reversed(line.split("  ")) for line in process.stdout.splitlines())
    assert sums == {
        file.name: hashlib.sha256(file.read_bytes()).hexdigest()
        for file in directory.iterdir()
        if file.name != "SHA256SUMS"
    }
    names = {f"campaign-{VERSION}{end}" for end in (".cdx.json", ".tar.gz", "-py3-none-any.whl")}
    assert set(sums) == names

    bill = json.loads((directory / f"campaign-{VERSION}.cdx.json").read_text())
    program = bill["metadata"]["component"]
    assert program["hashes"] == [{"alg": "SHA-256", "content": sums[f"campaign-{VERSION}-py3-none-any.whl"]}]
    locked = set(re.findall(r"^([\w.-]+==[\w.]+)", (ROOT / "requirements.lock").read_text(), re.MULTILINE))
    listed = {f"{part['name']}=={part['version']}" for part in bill["components"]}
    assert listed < locked and {"numpy", "orjson", "markupsafe"} < {part["name"] for part in bill["components"]}
    references = {part["bom-ref"] for part in [program, *bill["components"]]}
    assert {node["ref"] for node in bill["dependencies"]} == references
    assert {reference for node in bill["dependencies"] for reference in node["dependsOn"]} == references - {
        program["bom-ref"]
    }
