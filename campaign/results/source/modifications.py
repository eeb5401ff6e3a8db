"""The modifications: changes in the benchmark's source, its build, and what a reviewer has to look at.

The source trees and build records are read, compared and stored with the results: `results/<campaign>/source/` then
contains facts, patch and text, and a record for each binary that was used, so that they can be judged, reported and
submitted without the trees. The report is in sections for a page and as text, as JSON, and as a patch.
"""

from __future__ import annotations

import hashlib
import json
import os
import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from campaign import __version__
from campaign.config.format import Campaign, SourceTrees
from campaign.config.rules.builds import BuildCategory
from campaign.core import atomic, outputs, resources, untrusted
from campaign.core.columns import Column, sequence_columns, table_cells
from campaign.core.errors import EnvironmentLacks, InputError, writing
from campaign.core.findings import ChangeClass
from campaign.core.grouping import grouped
from campaign.core.paths import Paths
from campaign.core.strict_yaml import Place
from campaign.core.units import plural
from campaign.results.source import classify, facts, trees

LARGEST_PATCH = 64 << 20  # bytes
LARGEST_RECORD = 32 << 20
BUILDS = frozenset({"build", "build-san"})  # directories that its Makefile creates at the top


def compare(campaign: Campaign) -> tuple[facts.Sources, bytes]:
    """Read and compare the trees that the campaign file names; gives the patch too, empty if nothing was compared.
    Raises InputError if one of them, or the supplied patch, is missing or unreadable.
    """
    source, base = campaign.source, campaign.path.parent
    builtin, place = not campaign.benchmark.external, "source.trees.*" if source.trees else "source"
    if not source.names("pristine"):
        built = "the built-in benchmark's" if builtin else "the benchmark's"
        problem = (
            f"the campaign file does not name the published source ({place}.pristine), with which {built} is compared"
        )
        return facts.Sources(problem=problem), b""
    if not source.names("modified") and not builtin:
        problem = f"{place}.modified is not set; add the source that the benchmark was built from"
        return facts.Sources(problem=problem), b""
    published = _trees(source, base, "pristine")
    pristine = trees.joined(published)
    if source.names("modified"):
        modified = trees.joined(_trees(source, base, "modified"))
    else:
        # A release or a revision of the whole project contains it in a subdirectory.
        pristine = trees.without_directories(trees.subtree(pristine, resources.BENCHMARK.name), BUILDS)
        modified = replace(trees.read(str(resources.BENCHMARK), base, BUILDS), name="the built-in benchmark")
    with _naming_key("source.patch"):
        supplied = (source.patch, untrusted.content(base / source.patch, LARGEST_PATCH)) if source.patch else None
    comparison, patch = classify.compare(pristine, modified, source.version, supplied)
    if source.trees:
        names = (classify.contains_version(tree, source.parts[name].version) for name, tree in published.items())
        parts = {name: classify.describe(tree) for name, tree in published.items()}
        comparison = replace(comparison, parts=parts, names_version=all(names))
    return facts.Sources(comparison, ""), patch


def _trees(source: SourceTrees, base: Path, key: str) -> dict[str, trees.Tree]:
    """The published (`pristine`) or the built (`modified`) tree of each source, by its name."""
    trees_by_name = {}
    for name, part in source.parts.items():
        with _naming_key(f"source.trees.{name}.{key}" if name else f"source.{key}"):
            trees_by_name[name] = trees.read(getattr(part, key), base)
    return trees_by_name


@contextmanager
def _naming_key(key: str) -> Iterator[None]:
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
    built_in = _own_build() if campaign.benchmark.executable is None else None
    return tuple(
        filter(None, (built_in, *(_external_build(campaign, *placed) for placed in campaign.benchmark.placed)))
    )


def programs(campaign: Campaign) -> tuple[str, ...]:
    """The hashes of the binaries that would run now, if they can be read."""
    built_in_programs = [] if campaign.benchmark.external else [resources.binaries() / "bench"]
    paths = [*built_in_programs, *(path for _, path in campaign.benchmark.placed)]
    return tuple(untrusted.digest(path) for path in paths if os.access(path, os.R_OK))


def _external_build(campaign: Campaign, at: Place, program: Path) -> facts.Build | None:
    """The build of the program with that key in the campaign file; None if the program cannot be read."""
    source, base = campaign.source, campaign.path.parent
    notes = source.build_of(str(at[-1]))
    reported_digest = notes.binary_sha256 if notes != source.build or len(campaign.benchmark.placed) == 1 else ""
    try:
        digest = reported_digest or untrusted.digest(program)
    except OSError:
        return None
    with _naming_key("source.build.log" if notes == source.build else f"source.builds.{at[-1]}.log"):
        log = untrusted.digest(base / notes.log) if notes.log else ""
    return facts.Build(
        digest,
        compiler=notes.compiler,
        command=notes.command,
        flags=notes.flags,
        libraries=notes.libraries,
        source_tree=_built_tree(source, base),
        version=next(iter(source.parts.values())).version,
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
    if not source.names("modified"):
        return ""
    modified = trees.joined(_trees(source, base, "modified"))
    if source.names("pristine"):
        modified = trees.without_products(modified, trees.joined(_trees(source, base, "pristine")))
    return modified.hash


# --- kept with the results


def store_sources(paths: Paths, compared: facts.Sources, patch: bytes, category: BuildCategory | None = None) -> None:
    """Store the modifications as they are now."""
    write(paths.source, with_builds(compared, _kept_builds(paths), patch), patch, category)


def compare_and_store(campaign: Campaign, paths: Paths, category: BuildCategory | None = None) -> str:
    """Compare and store; gives the problem, or "". If the trees cannot be read on this machine, the stored comparison
    of the same trees stays.
    """
    try:
        store_sources(paths, *compare(campaign), category)
        return ""
    except InputError as error:
        kept_comparison, source = recorded_sources(paths).comparison, campaign.source
        is_same = (
            kept_comparison
            and kept_comparison.pristine.name == source.names("pristine")
            and source.names("modified") in ("", kept_comparison.modified.name)
        )
        stored = (
            (facts.Sources(kept_comparison, ""), stored_patch(paths))
            if is_same
            else (facts.Sources(problem=str(error)), b"")
        )
        store_sources(paths, *stored, category)
        return str(error)


def store_builds(campaign: Campaign, paths: Paths) -> None:
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


def recorded_sources(paths: Paths) -> facts.Sources:
    """What was stored."""
    sources = read_fact(facts.Sources, paths.source / FACTS) or facts.Sources()
    return with_builds(sources, _kept_builds(paths), stored_patch(paths))


def planned_sources(campaign: Campaign, compared: facts.Sources, patch: bytes) -> facts.Sources:
    """The sources of a campaign that has not begun, with the binaries that it would run."""
    return with_builds(compared, builds(campaign), patch)


def with_builds(sources: facts.Sources, builds: tuple[facts.Build, ...], patch: bytes) -> facts.Sources:
    return replace(sources, builds=builds, patch_sha256=hashlib.sha256(patch).hexdigest())


def _kept_builds(paths: Paths) -> tuple[facts.Build, ...]:
    stored = [read_fact(facts.Build, path) for path in sorted((paths.source / "builds").glob("*.json"))]
    return tuple(filter(None, stored))


Fact = TypeVar("Fact")


def read_fact(kind: type[Fact], path: Path) -> Fact | None:
    try:
        return _fact(kind, path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"{path}: damaged ({error}); delete it and run 'campaign modifications FILE'") from error


def _fact(kind: type[Fact], path: Path) -> Fact:
    return facts.from_json(kind, json.loads(untrusted.content(path, LARGEST_RECORD).decode("utf-8")))


def stored_patch(paths: Paths) -> bytes:
    """The stored patch; empty if there is none."""
    try:
        return untrusted.content(paths.source / PATCH, LARGEST_PATCH)
    except (FileNotFoundError, NotADirectoryError):
        return b""


FACTS, PATCH, TEXT = "modifications.json", "modifications.patch", "modifications.txt"
MOST_IGNORED = 100  # names that are listed
WIDTH, WIDEST_CELL = 120, 64  # of the text, and of a cell among others in it


@dataclass(frozen=True, slots=True)
class Section:
    """A table with a heading and a sentence, for a page and for the text to show as it is. `items`: what its lines are
    about.
    """

    title: str
    about: str = ""
    columns: Sequence[Column[Any]] = ()
    items: Sequence[Any] = ()
    preformatted: str = ""

    @property
    def rows(self) -> tuple[tuple[str, ...], ...]:
        """The texts of its lines."""
        return tuple(table_cells(self.columns, self.items))


def write(
    directory: Path,
    sources: facts.Sources,
    patch: bytes,
    category: BuildCategory | None = None,
    ran: Sequence[Section] = (),
) -> None:
    """Write the facts, the patch and the text into a directory, which is created. Raises InputError or EnvironmentLacks
    if they cannot be written. `category`: that of the build; `ran`: about the executed programs.
    """
    with writing(directory):
        directory.mkdir(parents=True, exist_ok=True)
        outputs.write_in_directory(directory / PATCH, patch)
        outputs.write_in_directory(directory / TEXT, text(sources, category, ran) + "\n")
        outputs.write_in_directory(directory / FACTS, facts.as_text(sources))


def text(sources: facts.Sources, category: BuildCategory | None = None, ran: Sequence[Section] = ()) -> str:
    """The output of `campaign modifications`."""
    sections = [*parts(sources, category), *ran]
    return "\n\n".join(["Modifications of the benchmark's source", *map(_as_text, sections)])


def _as_text(section: Section) -> str:
    import tabulate

    lines = [section.title, *_wrapped(section.about)]
    if len(section.columns) == 1:
        lines += [line for row in section.rows for line in _wrapped(row[0])]
    elif section.rows:
        table = tabulate.tabulate(
            section.rows,
            [column.name for column in section.columns],
            tablefmt="simple",
            disable_numparse=True,
            maxcolwidths=WIDEST_CELL,
        )
        lines += ["", table]
    if section.preformatted:
        lines.append(textwrap.indent(section.preformatted, "  ", lambda line: True))
    return "\n".join(lines)


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, WIDTH, subsequent_indent="  ", break_on_hyphens=False, break_long_words=False)


def tree_text(tree: facts.Described) -> str:
    parts = [tree.name, f"{tree.files} files", f"tree {tree.hash}"]
    parts += [f"archive SHA-256 {tree.archive_sha256}"] if tree.archive_sha256 else []
    parts += [f"commit {tree.revision}"] if tree.revision else []
    return ", ".join(parts)


def verdict(comparison: facts.TreeComparison) -> str:
    """One sentence, with the numbers of a diffstat."""
    changes = comparison.changes
    if not changes:
        return f"No modifications: both trees are identical (tree hash {comparison.pristine.hash})."
    per_kind = Counter(change.kind for change in changes)
    counts = ", ".join(f"{per_kind[kind]} {kind}" for kind in ChangeClass if kind in per_kind)
    added, removed = sum(change.added for change in changes), sum(change.removed for change in changes)
    files, lines = plural(len(changes), "file"), plural(added, "line")
    return f"{files} changed, {lines} added, {removed} removed: {counts}."


def reproduction_text(comparison: facts.TreeComparison) -> str:
    if comparison.reproduced:
        return f"Verified: published source + patch (SHA-256 {comparison.patch_sha256}) = built source."
    return f"Published source + patch differs from the built source: its tree hash is {comparison.applied}."


def supplied(comparison: facts.TreeComparison) -> Iterator[str]:
    """A sentence about the submitted patch, if there is one."""
    if patch := comparison.supplied:
        verdict_on_it = patch.problem or "turns the published source into the built source"
        yield f"Supplied patch {patch.name} (SHA-256 {patch.sha256}): {verdict_on_it}."


def build_lines(build: facts.Build, category: BuildCategory | None) -> Iterator[tuple[str, str]]:
    """The entries of a build record: name and value; the flags also by their class in the category."""
    classes = category.flags.classes(build.flags) if category and category.flags.has_patterns else ()
    by_class = grouped((kind, flag) for flag, kind in classes)
    yield "binary", f"SHA-256 {build.binary_sha256}"
    for name, value in (
        ("version", build.version),
        ("compiler", build.compiler),
        ("command", build.command),
        ("flags", build.flags),
        ("by class", "; ".join(f"{kind} {' '.join(flags)}" for kind, flags in by_class.items())),
        ("libraries", ", ".join(build.libraries)),
        ("source tree", build.source_tree),
        ("revision", f"{build.revision} with uncommitted changes" if build.dirty else build.revision or ""),
        ("log", f"{build.log}, SHA-256 {build.log_sha256}" if build.log else ""),
    ):
        if value:
            yield name, value


def parts(sources: facts.Sources, category: BuildCategory | None = None) -> Iterator[Section]:
    comparison = sources.comparison
    if category:
        allowed = f"Category of the build: {category}. Changes that it allows: {', '.join(category.changes) or 'none'}."
        yield Section("Category of the build", allowed)
    if comparison is None:
        yield Section("Source", f"Sources not compared: {sources.problem}.")
    else:
        trees = (("Published", comparison.pristine), ("Built", comparison.modified))
        named_trees = [*trees, *((f"Published {name}", tree) for name, tree in comparison.parts.items())]
        rows = [(f"{name}: {tree_text(tree)}",) for name, tree in named_trees]
        sentences = (verdict(comparison), reproduction_text(comparison), *supplied(comparison))
        yield Section("Source", " ".join(sentences), sequence_columns("Trees"), rows)
        ignored = [(name, item.path, item.why, item.sha256) for name, tree in trees for item in tree.ignored]
        if ignored:
            caption = f"The first {MOST_IGNORED} of {len(ignored)}; {FACTS} has all." * (len(ignored) > MOST_IGNORED)
            yield Section("Not compared", caption, IGNORED, ignored[:MOST_IGNORED])
        if comparison.changes:
            yield Section("Files", f"The patch is in {PATCH}.", CHANGES, comparison.changes)
        for flag in comparison.flags:
            yield Section(flag.place, f"Review: changes {', '.join(flag.why)}.", preformatted=flag.hunk)
    for build in sources.builds:
        rows = [(f"{name}: {value}",) for name, value in build_lines(build, category)]
        yield Section(f"Build of the binary {build.binary_sha256[:12]}", "", sequence_columns("Record"), rows)


def change_text(change: facts.Change) -> str:
    """`new`, `changed, mode 100644 to 100755`."""
    binary = ", binary" if change.binary else ""
    if change.old_mode and change.new_mode and change.old_mode != change.new_mode:
        return f"{change.how.replace('mode', 'permissions')}{binary}, {change.old_mode} to {change.new_mode}"
    return change.how + binary


IGNORED = sequence_columns("Source", "Path", "Reason", "SHA-256")
CHANGES: tuple[Column[facts.Change], ...] = (
    Column("File", lambda change: change.path),
    Column("Change", change_text),
    Column("Lines added", lambda change: change.added),
    Column("Lines removed", lambda change: change.removed),
    Column("Class", lambda change: change.kind),
    Column("Reason", lambda change: change.why),
)
