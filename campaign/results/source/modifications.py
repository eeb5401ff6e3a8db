"""The report of modifications: changes in the benchmark's source, its build, and what a reviewer has to look at.

In sections for a page and as text, as JSON, and as a patch.
"""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from campaign.config.rules.builds import BuildCategory
from campaign.core import atomic
from campaign.core.errors import unwritten
from campaign.core.grouping import grouped
from campaign.core.model import ChangeClass
from campaign.core.units import several
from campaign.results.source import facts

FACTS, PATCH, TEXT = "modifications.json", "modifications.patch", "modifications.txt"
MOST_IGNORED = 100  # names that are listed
WIDTH, WIDEST_CELL = 120, 64  # of the text, and of a cell among others in it


@dataclass(frozen=True, slots=True)
class Section:
    """A table with a heading and a sentence, for a page and for the text to show as it is."""

    title: str
    about: str = ""
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    preformatted: str = ""


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
    try:
        directory.mkdir(parents=True, exist_ok=True)
        atomic.write(directory / PATCH, patch)
        atomic.write(directory / TEXT, text(sources, category, ran) + "\n")
        atomic.write(directory / FACTS, facts.as_text(sources))
    except OSError as error:
        place = error.filename or directory
        raise unwritten(error, f"{place}: cannot be written: {error.strerror}") from error


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
            section.rows, section.columns, tablefmt="simple", disable_numparse=True, maxcolwidths=WIDEST_CELL
        )
        lines += ["", table]
    if section.preformatted:
        lines.append(textwrap.indent(section.preformatted, "  ", lambda line: True))
    return "\n".join(lines)


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, WIDTH, subsequent_indent="  ", break_on_hyphens=False, break_long_words=False)


def described(tree: facts.Described) -> str:
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
    files, lines = several(len(changes), "file"), several(added, "line")
    return f"{files} changed, {lines} added, {removed} removed: {counts}."


def checked(comparison: facts.TreeComparison) -> str:
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
    classes = category.flags.classes(build.flags) if category and category.flags.given else ()
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
        rows = tuple((f"{name}: {described(tree)}",) for name, tree in trees)
        about = (verdict(comparison), checked(comparison), *supplied(comparison))
        yield Section("Source", " ".join(about), ("Trees",), rows)
        ignored = tuple((name, item.path, item.why, item.sha256) for name, tree in trees for item in tree.ignored)
        if ignored:
            more = f"The first {MOST_IGNORED} of {len(ignored)}; {FACTS} has all." * (len(ignored) > MOST_IGNORED)
            yield Section("Not compared", more, ("Source", "Path", "Reason", "SHA-256"), ignored[:MOST_IGNORED])
        if comparison.changes:
            columns = ("File", "Change", "Lines added", "Lines removed", "Class", "Reason")
            yield Section("Files", f"The patch is in {PATCH}.", columns, tuple(map(_row, comparison.changes)))
        for flag in comparison.flags:
            yield Section(flag.place, f"Review: changes {', '.join(flag.why)}.", preformatted=flag.hunk)
    for build in sources.builds:
        rows = tuple((f"{name}: {value}",) for name, value in build_lines(build, category))
        yield Section(f"Build of the binary {build.binary_sha256[:12]}", "", ("Record",), rows)


def _row(change: facts.Change) -> tuple[str, ...]:
    return change.path, how(change), str(change.added), str(change.removed), str(change.kind), change.why


def how(change: facts.Change) -> str:
    """`new`, `changed, mode 100644 to 100755`."""
    binary = ", binary" if change.binary else ""
    if change.old_mode and change.new_mode and change.old_mode != change.new_mode:
        return f"{change.how.replace('mode', 'permissions')}{binary}, {change.old_mode} to {change.new_mode}"
    return change.how + binary
