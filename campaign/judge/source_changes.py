"""The rules about the benchmark's source and the flags of its build (SRC-01 to SRC-03, SRC-07). Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from campaign.config.format import SourceTree
from campaign.config.rules.builds import BUILDING, FORBIDDEN, UNKNOWN
from campaign.config.rules.entries import Pin
from campaign.core.findings import ChangeClass, Finding
from campaign.core.units import listing, plural
from campaign.judge.binaries import binary_sha256, finished_cases
from campaign.judge.findings import BUILTIN, left_to_buyer, note, to_explain, unchecked, violation
from campaign.judge.rule import campaign_rule
from campaign.judge.submission import Submission
from campaign.results.source.facts import Described, TreeComparison

MOST_FLAGS = 50  # findings of SRC-03; further ones are only counted


@campaign_rule(
    "SRC-01",
    "the source is the version that the rules name",
    why="another version or program may count, time or cache differently",
    remedy="build the source that the rules name, and give its version and SHA-256 under source in the campaign file",
)
def check_version(submission: Submission) -> Iterator[Finding]:
    """The hash of each published source is that of campaign file and pack, its version the pack's; the output has that
    version, or what the pack says that it prints. Where the binary was built from the compared source, the buyer
    decides on another one in the output. Use of the built-in benchmark is noted; another program in its place is a
    violation.
    """
    pins, parts = submission.pack.pins, submission.campaign.source.parts
    builtin, pin = not submission.campaign.benchmark.external, next(iter(pins.values()))
    if builtin and pin.program:
        programs = sorted(
            {
                result.observation.program
                for result in submission.results
                if result.observation.program.startswith(BUILTIN)
            }
        )
        used = {submission.sources.build_of(binary_sha256(case)) for case in finished_cases(submission)}
        trees = sorted({f"source tree {build.source_tree}" for build in used if build and build.source_tree})
        yield left_to_buyer(
            "campaign's own implementation in place of the RFP's program",
            pin,
            ", ".join([*(programs or [BUILTIN.strip()]), *trees]),
        )
    for case in submission.results:
        if builtin and case.observation.program and not case.observation.program.startswith(BUILTIN):
            yield violation(
                "the output is not from the built-in benchmark",
                BUILTIN.strip(),
                case.observation.program,
                about=case.subject,
            )
    comparison = submission.sources.comparison
    if comparison is None:
        if not builtin:
            yield unchecked(submission.sources.problem)
        return
    for name, required_source in pins.items():
        if name in comparison.published and name in parts:
            yield from _check_published(name, comparison.published[name], parts[name], required_source, builtin)
        else:
            yield unchecked("source {name} of the rules was not compared; give it under source.trees", name=name)
    if not builtin:
        yield from _check_executed_version(submission, comparison)


def _check_published(name: str, tree: Described, source: SourceTree, pin: Pin, builtin: bool) -> Iterator[Finding]:
    """`source`: what the campaign file says of a published source; `pin`: what the rules do. Values of several sources
    begin with their names.
    """
    beginning, key = (f"{name}: ", f"source.trees.{name}") if name else ("", "source")
    hashes = {tree.hash, tree.archive_sha256} - {""}
    archive = f", archive {tree.archive_sha256}" if tree.archive_sha256 else ""
    identity, stated = f"{beginning}tree {tree.hash}{archive}", f"{beginning}{source.version}"
    if source.sha256 and source.sha256 not in hashes:
        yield violation("the published source does not match source.sha256", source.sha256, identity)
    if pin.sha256 and not builtin and not hashes.intersection(pin.sha256):
        yield violation("the published source is not the one that the RFP provides", " or ".join(pin.sha256), identity)
    if not source.sha256 and not pin.sha256:
        yield unchecked(
            "source.sha256 is missing; the published source has {found}",
            found=identity,
            remedy=f"add {key}.sha256: {tree.archive_sha256 or tree.hash}",
        )
    if pin.version and not source.version and not builtin:
        yield unchecked(
            "source.version is missing; the RFP requires {version}",
            version=f"{beginning}{pin.version}",
            remedy=f"add {key}.version to the campaign file",
        )
    elif source.version != pin.version and pin.version and not builtin:
        yield violation("the published source is not the version that the RFP requires", pin.version, stated)


def _check_executed_version(submission: Submission, comparison: TreeComparison) -> Iterator[Finding]:
    """Whether the sources state their versions, and whether programs call themselves the first source of the rules."""
    sources, (name, pin) = submission.campaign.source, next(iter(submission.pack.pins.items()))
    tree, source = comparison.published.get(name), sources.parts.get(name, SourceTree())
    required_version, stated = pin.version, source.version
    if sources.names("version") and not comparison.names_version:
        yield to_explain(
            "no file of the published source states its version",
            sources.names("version"),
            "none",
            remedy="explain in the campaign file how the version is known",
        )
    programs = sorted({result.observation.program for result in submission.results if result.observation.program})
    allowed_versions = [required_version, *pin.prints]
    other_programs = [
        program
        for program in programs
        if required_version and not any(version in program for version in allowed_versions)
    ]
    built = {
        build and build.source_tree
        for build in map(submission.sources.build_of, map(binary_sha256, finished_cases(submission)))
    }
    is_external = not any(program.startswith(BUILTIN) for program in other_programs)
    is_compared = (
        is_external and built == {comparison.modified.hash} and stated == required_version and comparison.names_version
    )
    is_pinned = tree and {tree.hash, tree.archive_sha256} & ({source.sha256, *pin.sha256} - {""})
    if other_programs and is_compared and is_pinned:
        text = "the executed program calls itself another version than the compared source that it was built from"
        yield left_to_buyer(text, required_version, ", ".join(other_programs))
    elif other_programs:
        yield violation(
            "the executed program is not the version that the RFP requires",
            " or ".join(allowed_versions),
            ", ".join(other_programs),
        )


@campaign_rule(
    "SRC-02",
    "the submitted patch accounts for all source changes",
    why="a change that the patch does not show could alter what is measured",
    remedy="submit a patch that turns the published source into the built one (see 'campaign modifications')",
)
def check_patch(submission: Submission) -> Iterator[Finding]:
    """Published source plus patch is the built source, from which the binary was built; the patch is the stored one.
    Not checked: no published source is named, and SRC-06 does not hold.
    """
    comparison = submission.sources.comparison
    if comparison is None:
        yield from _missing_comparison(submission)
        return
    modified = comparison.modified
    if comparison.supplied is not None and comparison.supplied.problem:
        yield violation(
            "the submitted patch {name} {problem}",
            f"the built tree {modified.hash}",
            "another",
            name=comparison.supplied.name,
            problem=comparison.supplied.problem,
        )
    if bool(comparison.changes) == (comparison.pristine.hash == modified.hash):
        changes_text = plural(len(comparison.changes), "changed file")
        yield violation(
            "the recorded changes contradict the hashes of the trees",
            "changes exactly if the hashes differ",
            changes_text,
        )
    if not comparison.reproduced:
        yield violation("published source plus patch differs from the built source", modified.hash, comparison.applied)
    if submission.sources.patch_sha256 != comparison.patch_sha256:
        yield violation(
            "modifications.patch differs from the patch that was compared",
            comparison.patch_sha256,
            submission.sources.patch_sha256,
        )
    used = [submission.sources.build_of(binary_sha256(case)) for case in finished_cases(submission)]
    for tree in sorted({build.source_tree for build in used if build and build.source_tree}):
        if tree != modified.hash:
            yield violation("the executed binary was built from another source", tree, modified.hash)
    recorded_hashes = {build.binary_sha256 for build in submission.sources.builds}
    compiled = [file.path for file in modified.ignored if file.sha256 and file.sha256 not in recorded_hashes]
    if compiled:
        yield note(
            "compiled files that are missing from the published source were not compared", "", listing(compiled, 10)
        )


def _missing_comparison(submission: Submission) -> Iterator[Finding]:
    """Not checked without a comparison, unless the built-in benchmark ran, built from its published source (SRC-06)."""
    used = [submission.sources.build_of(binary_sha256(case)) for case in finished_cases(submission)]
    own_source = submission.own_source
    if (
        submission.campaign.benchmark.external
        or not own_source
        or {build and build.source_tree for build in used} != {own_source.tree}
    ):
        yield unchecked(submission.sources.problem)


@campaign_rule(
    "SRC-03",
    "source changes affect building and launching only, or are those that the category of the build allows",
    why="a change to timing or I/O can change the result without the system being faster",
    remedy="undo the change and measure again, or have the buyer sign a waiver for it",
)
def check_change_classes(submission: Submission) -> Iterator[Finding]:
    """The class of each changed file, and edits that touch timing or I/O; with `builds` the classes of the chosen
    category. Not checked: as SRC-02.
    """
    comparison, category = submission.sources.comparison, submission.pack.build
    if comparison is None:
        yield from _missing_comparison(submission)
        return
    clause = category.clause if category else ""
    allowed, classes = BUILDING, "build, portability, documentation and data"
    expected, actual = "changes to building and running only", "a change to what is measured"
    if category and category.changes != BUILDING:
        allowed, classes = category.changes, ", ".join(category.changes) or "none"
        expected = f"changes that the {category} allows: {classes}"
    flags = () if ChangeClass.MEASUREMENT in allowed else comparison.flags
    for flag in flags[:MOST_FLAGS]:
        yield violation(
            "{place}: the change touches {what}",
            expected,
            actual,
            place=flag.place,
            what=", ".join(flag.why),
            clause=clause,
        )
    if (more_flags := len(flags) - MOST_FLAGS) > 0:
        yield violation(
            "{count} more changes to measurement code: see modifications.txt",
            expected,
            actual,
            count=more_flags,
            clause=clause,
        )
    allowed_classes = {*allowed, ChangeClass.MEASUREMENT}
    other_changes = [change for change in comparison.changes if change.kind not in allowed_classes]
    if comparison.changes and not (flags or other_changes):
        kinds = Counter(str(change.kind) for change in comparison.changes)
        yield left_to_buyer(
            "the published source was changed in {kinds}",
            "",
            f"patch {comparison.patch_sha256}",
            kinds=listing(f"{kind} ({plural(count, 'file')})" for kind, count in sorted(kinds.items())),
            clause=clause,
        )
    if other_changes:
        yield violation(
            "changes to files other than {classes}",
            expected,
            listing([f"{change.path} ({change.why})" for change in other_changes], 10),
            classes=classes,
            clause=clause,
        )


@campaign_rule(
    "SRC-07",
    "the flags of the build are those that its category allows",
    why="results of programs that were compiled by other rules cannot be compared",
    remedy="build with the flags of the category and measure again, or choose the category of this build (build)",
)
def check_build_flags(submission: Submission) -> Iterator[Finding]:
    """Each flag in the records of the builds that ran: forbidden or missing mandatory ones are violations, unknown ones
    W.
    """
    category = submission.pack.build
    if category is None or not category.flags.has_patterns:
        return
    ran = {program.sha256 for case in finished_cases(submission) for program in case.programs}
    builds = [build for build in submission.sources.builds if build.binary_sha256 in (ran or submission.programs)]
    if not ran and not builds:  # a campaign file may say of another binary that it will run
        builds = [*submission.sources.builds]
    if not any(build.flags for build in builds):
        yield unchecked(
            "flags of the build not recorded",
            clause=category.clause,
            remedy="give the flags under source.build in the campaign file",
        )
    for build in builds:
        values = {"build": build.binary_sha256[:12], "category": category, "clause": category.clause}
        for pattern in category.flags.missing(build.flags) if build.flags else ():
            message = "build {build} lacks a flag that is mandatory in the {category}"
            yield violation(message, pattern, build.flags, **values)
        for flag, kind in category.flags.classes(build.flags):
            if kind == FORBIDDEN:
                message = "build {build} has a flag that is forbidden in the {category}"
                yield violation(message, f"none of {' '.join(category.flags.forbidden)}", flag, **values)
            elif kind == UNKNOWN:
                message = "build {build} has a flag that the {category} does not know"
                yield to_explain(message, "mandatory, portability or optimisation flags of the rules", flag, **values)
