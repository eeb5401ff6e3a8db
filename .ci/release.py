"""Builds a release into dist/: wheel and source distribution, the list of its parts (SBOM) and the checksums.

It refuses where version, changelog, citation and tag are not of one release, or the checkout has changes. Both
distributions are built twice, from two copies of the commit, and must have the same bytes.

usage: release.py DIRECTORY
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
import uuid
from datetime import UTC, datetime
from pathlib import Path

import parts

ROOT = parts.ROOT


def git(*words: str) -> str:
    return subprocess.run(["git", "-C", ROOT, *words], check=True, capture_output=True, text=True).stdout.strip()


def written(file: str, pattern: str) -> str:
    """What a file says, "" if nothing."""
    match = re.search(pattern, (ROOT / file).read_text(encoding="utf-8"), re.MULTILINE)
    return match[1].strip() if match else ""


def problems(version: str) -> list[str]:
    """What is not as a release of this version has it."""
    newest = written("CHANGELOG.md", r"^## \[(\d\S*)\]")
    dated = written("CHANGELOG.md", rf"^## \[{re.escape(version)}\] - (\S+)$")
    cited = written("CITATION.cff", r'^date-released: "(\S+)"$')
    tagged = git("tag", "--points-at", "HEAD").split()
    return [
        text
        for wrong, text in (
            (
                newest != version,
                f"CHANGELOG.md: the newest release is {newest or 'missing'}; add ## [{version}] - DATE",
            ),
            (
                bool(written("CHANGELOG.md", r"^## \[Unreleased\]\n+(?!## )(.+)")),
                f"CHANGELOG.md: [Unreleased] has entries; move them to [{version}]",
            ),
            (
                written("CITATION.cff", r"^version: (\S+)$") != version,
                f"CITATION.cff: version is not {version}",
            ),
            (cited != dated, f"CITATION.cff: date-released is {cited}, that of the changelog {dated or 'missing'}"),
            (f"v{version}" not in tagged, f"this commit has no tag v{version}: git tag --annotate v{version}"),
            (bool(git("status", "--porcelain")), "the checkout has changes: commit or remove them"),
        )
        if wrong
    ]


def build(to: Path) -> list[Path]:
    """Wheel and source distribution of the commit, from a copy of it without anything else."""
    with tempfile.TemporaryDirectory(prefix="release.") as place:
        copy = subprocess.Popen(["git", "-C", ROOT, "archive", "HEAD"], stdout=subprocess.PIPE)
        subprocess.run(["tar", "--extract", "--directory", place], check=True, stdin=copy.stdout)
        if copy.wait():
            raise SystemExit("release: git archive failed")
        subprocess.run(
            [sys.executable, "-m", "hatchling", "build", "--directory", to], check=True, cwd=place, capture_output=True
        )
    return sorted(to.iterdir())


def bill_of_materials(version: str, wheel: Path, seconds: int) -> str:
    """The wheel and the parts that it needs at run time, in CycloneDX 1.6."""

    def reference(name: str, of_version: str) -> str:
        return f"pkg:pypi/{name}@{of_version}"

    def component(kind: str, name: str, of_version: str, **more: object) -> dict[str, object]:
        purl = reference(name, of_version)
        return {"type": kind, "bom-ref": purl, "name": name, "version": of_version, "purl": purl, **more}

    locked = parts.pinned(ROOT / "requirements.lock")
    names = sorted(parts.needed())
    versions = {name: re.split(r"==|[ \\]", locked[name])[1] for name in names} | {parts.PROGRAM: version}
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    hashes = [{"alg": "SHA-256", "content": digest}]
    licence = [{"license": {"id": written("CITATION.cff", r"^license: (\S+)$")}}]
    document = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_OID, digest)}",
        "version": 1,
        "metadata": {
            "timestamp": datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "component": component("application", parts.PROGRAM, version, hashes=hashes, licenses=licence),
        },
        "components": [component("library", name, versions[name]) for name in names],
        "dependencies": [
            {
                "ref": reference(name, versions[name]),
                "dependsOn": [reference(each, versions[each]) for each in sorted(parts.required(name))],
            }
            for name in [parts.PROGRAM, *names]
        ],
    }
    return json.dumps(document, indent=1) + "\n"


def main(directory: Path) -> None:
    version = written("campaign/__init__.py", r'^__version__ = "(.+)"$')
    if found := problems(version):
        raise SystemExit("\n".join(f"release: {text}" for text in found))
    seconds = int(git("show", "--no-patch", "--format=%ct"))
    os.environ["SOURCE_DATE_EPOCH"] = str(seconds)
    directory.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="release.") as place:
        first, second = build(Path(place, "1")), build(Path(place, "2"))
        if different := [
            each.name for each, other in zip(first, second, strict=True) if each.read_bytes() != other.read_bytes()
        ]:
            raise SystemExit(f"release: built twice, these differ: {', '.join(different)}")
        built = [Path(directory, file.name) for file in first]
        for file, source in zip(built, first, strict=True):
            file.write_bytes(source.read_bytes())
    (wheel,) = (file for file in built if file.suffix == ".whl")
    bill = directory / f"campaign-{version}.cdx.json"
    bill.write_text(bill_of_materials(version, wheel, seconds), encoding="utf-8")
    sums = [f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}\n" for file in [*built, bill]]
    (directory / "SHA256SUMS").write_text("".join(sums), encoding="utf-8")
    print("".join(sums), end="")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
