"""Builds the built-in benchmark again from the source in a bundle, and compares it with the recorded build.

A build runs the Makefile of the source, so only the source of the buyer's own version of this program is built, unless
the buyer allows another.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from campaign.core import temporary
from campaign.core.errors import InputError
from campaign.core.escaping import plain
from campaign.core.units import listed
from campaign.evidence import provenance
from campaign.judge.submission import Submission
from campaign.pipeline import building
from campaign.results.source import facts, record

RECORD = "build.json"


@dataclass(frozen=True, slots=True)
class BuildDifference:
    what: str
    recorded: str
    again: str


@dataclass(frozen=True, slots=True)
class Rebuilt:
    recorded: facts.Build
    again: facts.Build
    differences: tuple[BuildDifference, ...]

    @property
    def identical(self) -> bool:
        return self.recorded.binary_sha256 == self.again.binary_sha256


def rebuild(data: Path, whole: Submission, mpicc: str, cflags: str, foreign: bool) -> tuple[Rebuilt, ...]:
    """Each recorded build of the source in the bundle's `data`, with a new one. Raises InputError if the bundle has no
    source, or one that must not be built; EnvironmentLacks as `build` does.
    """
    if not (data / provenance.SOURCE).is_file():
        raise InputError(
            f"no {provenance.SOURCE} in the bundle: the built-in benchmark was not used, or was built from a source "
            "other than campaign's"
        )
    tree = provenance.source_in(data)
    published = record.own_source()
    if not foreign and (published is None or published.tree != tree.hash):
        own = published.tree if published else "none"
        raise InputError(
            f"the source in the bundle (tree {tree.hash}) differs from your version of campaign (tree {own}); building "
            "it runs its Makefile on this machine: read it, then pass --foreign-source"
        )
    recorded = [build for build in whole.sources.builds if build.source_tree == tree.hash]
    if not recorded:
        raise InputError(f"the source in the bundle (tree {tree.hash}) belongs to no recorded build")
    with temporary.directory("campaign-rebuild.") as place:
        source = place / "bench-src"
        for entry in tree.entries.values():
            path = source / entry.path
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(entry.data)
            path.chmod(int(entry.mode[-3:], 8))
        made = building.build(mpicc, place / "build", source, cflags)
        again = facts.from_json(facts.Build, json.loads((made / RECORD).read_text(encoding="utf-8")))
    return tuple(Rebuilt(build, again, tuple(differences(build, again))) for build in recorded)


def differences(recorded: facts.Build, again: facts.Build) -> Iterator[BuildDifference]:
    """The differences between the two records, causes before effects."""
    for what in ("source_tree", "compiler", "mpi", "command"):
        before, after = getattr(recorded, what), getattr(again, what)
        if before and before != after:
            yield BuildDifference(what.replace("_", " "), before, after)
    for what in ("flags", "libraries"):
        given, made = (_words(getattr(build, what)) for build in (recorded, again))
        if given != made:
            gone = [word for word in given if word not in made]
            come = [word for word in made if word not in given]
            order = "the same in another order"
            yield BuildDifference(what, listed(gone, 20) or order, listed(come, 20) or order)
    before, after = (dict(text.rsplit(" ", 1) for text in build.sections) for build in (recorded, again))
    if before and after and before != after:
        names = dict.fromkeys([*before, *after])
        differing = [name for name in names if before.get(name) != after.get(name)]
        yield BuildDifference(
            "sections", listed(differing, 20), f"{len(names) - len(differing)} other sections are identical"
        )


def _words(text: str | tuple[str, ...]) -> list[str]:
    return text.split() if isinstance(text, str) else list(text)


def as_json(rebuilt: tuple[Rebuilt, ...]) -> dict[str, Any]:
    """The output of `rebuild --json`."""
    builds = [{"identical": one.identical, **asdict(one)} for one in rebuilt]
    return {"format": 1, "identical": all(one.identical for one in rebuilt), "builds": builds}


def as_text(rebuilt: tuple[Rebuilt, ...]) -> str:
    lines: list[str] = []
    for one in rebuilt:
        digest = one.recorded.binary_sha256
        if one.identical:
            lines.append(f"identical: building the bundle's source gives the recorded binary, {digest}")
            continue
        lines.append(f"different: recorded {digest}, rebuilt {one.again.binary_sha256}")
        lines += [plain(f"  {each.what}: recorded {each.recorded}; now {each.again}") for each in one.differences]
        if not one.differences:
            lines.append("  compiler, MPI, flags, libraries and sections are the same in both records")
    return "\n".join(lines)
