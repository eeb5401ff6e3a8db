"""Reads the benchmark's source trees and build records, and stores what was found with the results.

`results/<campaign>/source/` then contains the modifications (facts, patch, text) and a record for each binary that was
used, so that they can be judged, reported and submitted without the trees.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from campaign import __version__
from campaign.config.format import Campaign, SourceTrees
from campaign.config.rules.builds import BuildCategory
from campaign.core import atomic, resources, untrusted
from campaign.core.errors import EnvironmentLacks, InputError
from campaign.core.model import Paths
from campaign.core.strict_yaml import Place
from campaign.results.source import classify, facts, modifications, trees

LARGEST_PATCH = 64 << 20  # bytes
LARGEST_RECORD = 32 << 20
BUILDS = frozenset({"build", "build-san"})  # directories that its Makefile creates at the top


def compare(campaign: Campaign) -> tuple[facts.Sources, bytes]:
    """Read and compare the trees that the campaign file names; gives the patch too, empty if nothing was compared.
    Raises InputError if one of them, or the supplied patch, is missing or unreadable.
    """
    source, base = campaign.source, campaign.path.parent
    builtin = not campaign.benchmark.external
    if not source.pristine:
        which = "the built-in benchmark's" if builtin else "the benchmark's"
        problem = (
            f"the campaign file does not name the published source (source.pristine), with which {which} is compared"
        )
        return facts.Sources(problem=problem), b""
    if not source.modified and not builtin:
        problem = "source.modified is not set; add the source that the benchmark was built from"
        return facts.Sources(problem=problem), b""
    with _of_key("source.pristine"):
        pristine = trees.read(source.pristine, base)
    if source.modified:
        with _of_key("source.modified"):
            modified = trees.read(source.modified, base)
    else:
        # A release or a revision of the whole project contains it in a subdirectory.
        pristine = trees.outside(trees.below(pristine, resources.BENCHMARK.name), BUILDS)
        modified = replace(trees.read(str(resources.BENCHMARK), base, BUILDS), name="the built-in benchmark")
    with _of_key("source.patch"):
        supplied = (source.patch, untrusted.content(base / source.patch, LARGEST_PATCH)) if source.patch else None
    comparison, patch = classify.compare(pristine, modified, source.version, supplied)
    return facts.Sources(comparison, ""), patch


@contextmanager
def _of_key(key: str) -> Iterator[None]:
    """Raise InputErrors with the key of the campaign file before the problem of the file that it names."""
    try:
        yield
    except InputError as error:
        raise InputError(f"{key}: {error}") from error
    except OSError as error:
        raise InputError(f"{key}: {error.filename}: {error.strerror}") from error


def builds(campaign: Campaign) -> tuple[facts.Build, ...]:
    """The records of the binaries that would run now, if they exist; including the built-in one's, unless the pack's
    only program is another.
    """
    own = _own_build() if campaign.benchmark.executable is None else None
    return tuple(filter(None, (own, *(_external_build(campaign, *placed) for placed in campaign.benchmark.placed))))


def programs(campaign: Campaign) -> tuple[str, ...]:
    """The hashes of the binaries that would run now, if they can be read."""
    own = [] if campaign.benchmark.external else [resources.binaries() / "bench"]
    paths = [*own, *(path for _, path in campaign.benchmark.placed)]
    return tuple(untrusted.digest(path) for path in paths if os.access(path, os.R_OK))


def _external_build(campaign: Campaign, at: Place, program: Path) -> facts.Build | None:
    """The build of the program with that key in the campaign file; None if the program cannot be read."""
    source, base = campaign.source, campaign.path.parent
    notes = source.build_of(str(at[-1]))
    given = notes.binary_sha256 if notes != source.build or len(campaign.benchmark.placed) == 1 else ""
    try:
        digest = given or untrusted.digest(program)
    except OSError:
        return None
    with _of_key("source.build.log" if notes == source.build else f"source.builds.{at[-1]}.log"):
        log = untrusted.digest(base / notes.log) if notes.log else ""
    return facts.Build(
        digest,
        compiler=notes.compiler,
        command=notes.command,
        flags=notes.flags,
        libraries=notes.libraries,
        source_tree=_built_tree(source, base),
        version=source.version,
        log=notes.log,
        log_sha256=log,
    )


def own_source() -> facts.OwnSource | None:
    """The source of the built-in benchmark that came with this program; None if it cannot be read."""
    try:
        tree = trees.read(str(resources.BENCHMARK), Path("/"), BUILDS)
    except InputError:
        return None
    return facts.OwnSource(__version__, tree.hash)


def _own_build() -> facts.Build | None:
    record = resources.binaries() / "build.json"
    try:
        recorded_build = _fact(facts.Build, record)
        return recorded_build if recorded_build.binary_sha256 == untrusted.digest(record.with_name("bench")) else None
    except (OSError, ValueError, RecursionError):
        return None


def _built_tree(source: SourceTrees, base: Path) -> str:
    """The hash of the tree as it is now, with which later ones are compared."""
    if not source.modified:
        return ""
    with _of_key("source.modified"):
        modified = trees.read(source.modified, base)
    if source.pristine:
        with _of_key("source.pristine"):
            modified = trees.without_products(modified, trees.read(source.pristine, base))
    return modified.hash


# --- kept with the results


def keep(paths: Paths, compared: facts.Sources, patch: bytes, category: BuildCategory | None = None) -> None:
    """Store the modifications as they are now."""
    modifications.write(paths.source, _with(compared, _kept_builds(paths), patch), patch, category)


def look_again(campaign: Campaign, paths: Paths, category: BuildCategory | None = None) -> str:
    """Compare and store; gives the problem, or "". If the trees cannot be read on this machine, the stored comparison
    of the same trees stays.
    """
    try:
        keep(paths, *compare(campaign), category)
        return ""
    except InputError as error:
        kept, source = recorded(paths).comparison, campaign.source
        same = kept and kept.pristine.name == source.pristine and source.modified in ("", kept.modified.name)
        stored = (facts.Sources(kept, ""), patch_of(paths)) if same else (facts.Sources(problem=str(error)), b"")
        keep(paths, *stored, category)
        return str(error)


def keep_builds(campaign: Campaign, paths: Paths) -> None:
    """Store the records of the binaries that are about to be run, and the logs of their builds."""
    folder = paths.source / "builds"
    try:
        for current in builds(campaign):
            folder.mkdir(parents=True, exist_ok=True)
            if current.log:
                log = untrusted.content(campaign.path.parent / current.log, LARGEST_RECORD)
                atomic.write(folder / f"{current.binary_sha256}.log", log)
            atomic.write(folder / f"{current.binary_sha256}.json", facts.as_text(current))
    except OSError as error:
        raise EnvironmentLacks(f"{error.filename}: {error.strerror}") from error


def recorded(paths: Paths) -> facts.Sources:
    """What was stored."""
    sources = _kept(facts.Sources, paths.source / modifications.FACTS) or facts.Sources()
    return _with(sources, _kept_builds(paths), patch_of(paths))


def planned(campaign: Campaign, compared: facts.Sources, patch: bytes) -> facts.Sources:
    """The sources of a campaign that has not begun, with the binaries that it would run."""
    return _with(compared, builds(campaign), patch)


def _with(sources: facts.Sources, builds: tuple[facts.Build, ...], patch: bytes) -> facts.Sources:
    return replace(sources, builds=builds, patch_sha256=hashlib.sha256(patch).hexdigest())


def _kept_builds(paths: Paths) -> tuple[facts.Build, ...]:
    stored = [_kept(facts.Build, path) for path in sorted((paths.source / "builds").glob("*.json"))]
    return tuple(filter(None, stored))


Fact = TypeVar("Fact")


def _kept(kind: type[Fact], path: Path) -> Fact | None:
    try:
        return _fact(kind, path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"{path}: damaged ({error}); delete it and run 'campaign modifications FILE'") from error


def _fact(kind: type[Fact], path: Path) -> Fact:
    return facts.from_json(kind, json.loads(untrusted.content(path, LARGEST_RECORD).decode("utf-8")))


def patch_of(paths: Paths) -> bytes:
    """The stored patch; empty if there is none."""
    try:
        return untrusted.content(paths.source / modifications.PATCH, LARGEST_PATCH)
    except (FileNotFoundError, NotADirectoryError):
        return b""
