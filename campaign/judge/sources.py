"""The rules about the benchmark's source, its build, and the binary that ran. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import replace

from campaign.config.rules.builds import BUILDING, FORBIDDEN, UNKNOWN
from campaign.core.grouping import grouped
from campaign.core.model import ChangeClass, Finding, State
from campaign.core.units import listed, several
from campaign.judge import attested, ran
from campaign.judge.findings import (
    BUILTIN,
    left_to_buyer,
    lifted_by_buyer,
    note,
    of_rule,
    to_explain,
    unchecked,
    unchecked_by_buyer,
    violation,
)
from campaign.judge.rule import campaign_rule
from campaign.judge.submission import Submission
from campaign.results.case import Case
from campaign.results.environment.facts import ExecutedFile
from campaign.results.source.facts import TreeComparison

MOST_FLAGS = 50  # findings of SRC-03; further ones are only counted


@campaign_rule(
    "SRC-01",
    "the source is the version that the rules name",
    why="another version or program may count, time or cache differently",
    remedy="build the source that the rules name, and give its version and SHA-256 under source in the campaign file",
)
def pinned(submission: Submission) -> Iterator[Finding]:
    """The hash of the published source is that of campaign file and pack, its version the pack's; the output has that
    version, or what the pack says that it prints. Where the binary was built from the compared source, the buyer
    decides on another one in the output. Use of the built-in benchmark is noted; another program in its place is a
    violation.
    """
    pin, source = submission.pack.source, submission.campaign.source
    builtin = not submission.campaign.benchmark.external
    if builtin and pin.program:
        programs = sorted(
            {result.seen.program for result in submission.results if result.seen.program.startswith(BUILTIN)}
        )
        used = {submission.sources.build_of(binary(case)) for case in _ended(submission)}
        trees = sorted({f"source tree {build.source_tree}" for build in used if build and build.source_tree})
        yield left_to_buyer(
            "measured with campaign's own implementation, not the RFP's program",
            pin,
            ", ".join([*(programs or [BUILTIN.strip()]), *trees]),
        )
    for case in submission.results:
        if builtin and case.seen.program and not case.seen.program.startswith(BUILTIN):
            yield violation(
                "the output is not from the built-in benchmark", BUILTIN.strip(), case.seen.program, about=case.subject
            )
    comparison = submission.sources.comparison
    if comparison is None:
        if not builtin:
            yield unchecked(submission.sources.problem)
        return
    pristine = comparison.pristine
    hashes = {pristine.hash, pristine.archive_sha256} - {""}
    archive = f", archive {pristine.archive_sha256}" if pristine.archive_sha256 else ""
    identity = f"tree {pristine.hash}{archive}"
    if source.sha256 and source.sha256 not in hashes:
        yield violation("the published source does not match source.sha256", source.sha256, identity)
    if pin.sha256 and not builtin and not hashes.intersection(pin.sha256):
        yield violation("the published source is not the one that the RFP provides", " or ".join(pin.sha256), identity)
    if not source.sha256 and not pin.sha256:
        yield unchecked("source.sha256 is missing; the published source has {found}: add it", found=identity)
    if not builtin:
        yield from _version(submission, comparison, hashes)


def _version(submission: Submission, comparison: TreeComparison, hashes: Set[str]) -> Iterator[Finding]:
    """`hashes`: those of the published source."""
    pin, source = submission.pack.source, submission.campaign.source
    wanted, stated = pin.version, source.version
    if wanted and not stated:
        yield unchecked("source.version is missing; the RFP requires {version}", version=wanted)
    elif wanted and stated != wanted:
        yield violation("the published source is not the version that the RFP requires", wanted, stated)
    if stated and not comparison.names_version:
        yield to_explain("no file of the published source states its version", stated, "none")
    programs = sorted({result.seen.program for result in submission.results if result.seen.program})
    printed = [wanted, *pin.prints]
    others = [program for program in programs if wanted and not any(version in program for version in printed)]
    built = {build and build.source_tree for build in map(submission.sources.build_of, map(binary, _ended(submission)))}
    is_external = not any(program.startswith(BUILTIN) for program in others)
    is_compared = is_external and built == {comparison.modified.hash} and stated == wanted and comparison.names_version
    if others and is_compared and hashes & {source.sha256, *pin.sha256}:
        text = "the executed program calls itself another version than the compared source that it was built from"
        yield left_to_buyer(text, wanted, ", ".join(others))
    elif others:
        yield violation(
            "the executed program is not the version that the RFP requires", " or ".join(printed), ", ".join(others)
        )


@campaign_rule(
    "SRC-02",
    "the submitted patch accounts for all source changes",
    why="a change that the patch does not show could alter what is measured",
    remedy="submit a patch that turns the published source into the built one (see 'campaign modifications')",
)
def differs_as_supplied(submission: Submission) -> Iterator[Finding]:
    """Published source plus patch is the built source, from which the binary was built; the patch is the stored one.
    Not checked: no published source is named, and SRC-06 does not hold.
    """
    comparison = submission.sources.comparison
    if comparison is None:
        yield from _uncompared(submission)
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
        counted = several(len(comparison.changes), "changed file")
        yield violation(
            "the recorded changes contradict the hashes of the trees", "changes exactly if the hashes differ", counted
        )
    if not comparison.reproduced:
        yield violation("published source plus patch differs from the built source", modified.hash, comparison.applied)
    if submission.sources.patch_sha256 != comparison.patch_sha256:
        yield violation(
            "modifications.patch differs from the patch that was compared",
            comparison.patch_sha256,
            submission.sources.patch_sha256,
        )
    used = [submission.sources.build_of(binary(case)) for case in _ended(submission)]
    for tree in sorted({build.source_tree for build in used if build and build.source_tree}):
        if tree != modified.hash:
            yield violation("the executed binary was built from another source", tree, modified.hash)
    recorded = {build.binary_sha256 for build in submission.sources.builds}
    compiled = [file.path for file in modified.ignored if file.sha256 and file.sha256 not in recorded]
    if compiled:
        yield note(
            "compiled files that are missing from the published source were not compared", "", listed(compiled, 10)
        )


def _uncompared(submission: Submission) -> Iterator[Finding]:
    """Not checked without a comparison, unless the built-in benchmark ran, built from its published source (SRC-06)."""
    used = [submission.sources.build_of(binary(case)) for case in _ended(submission)]
    own = submission.own_source
    if (
        submission.campaign.benchmark.external
        or not own
        or {build and build.source_tree for build in used} != {own.tree}
    ):
        yield unchecked(submission.sources.problem)


@campaign_rule(
    "SRC-03",
    "source changes affect building and launching only, or are those that the category of the build allows",
    why="a change to timing or I/O can change the result without the system being faster",
    remedy="undo the change and measure again, or have the buyer sign a waiver for it",
)
def builds_and_runs_only(submission: Submission) -> Iterator[Finding]:
    """The class of each changed file, and edits that touch timing or I/O; with `builds` the classes of the chosen
    category. Not checked: as SRC-02.
    """
    comparison, category = submission.sources.comparison, submission.pack.build
    if comparison is None:
        yield from _uncompared(submission)
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
    if (beyond := len(flags) - MOST_FLAGS) > 0:
        yield violation(
            "{count} more changes to measurement code: see modifications.txt",
            expected,
            actual,
            count=beyond,
            clause=clause,
        )
    judged = {*allowed, ChangeClass.MEASUREMENT}
    others = [change for change in comparison.changes if change.kind not in judged]
    if comparison.changes and not (flags or others):
        kinds = Counter(str(change.kind) for change in comparison.changes)
        yield left_to_buyer(
            "the published source was changed in {kinds}",
            "",
            f"patch {comparison.patch_sha256}",
            kinds=listed(f"{kind} ({several(count, 'file')})" for kind, count in sorted(kinds.items())),
            clause=clause,
        )
    if others:
        yield violation(
            "changes to files other than {classes}",
            expected,
            listed([f"{change.path} ({change.why})" for change in others], 10),
            classes=classes,
            clause=clause,
        )


@campaign_rule(
    "SRC-07",
    "the flags of the build are those that its category allows",
    why="results of programs that were compiled by other rules cannot be compared",
    remedy="build with the flags of the category and measure again, or choose the category of this build (build)",
)
def flags_of_category(submission: Submission) -> Iterator[Finding]:
    """Each flag in the records of the builds that ran: forbidden or missing mandatory ones are violations, unknown ones
    W.
    """
    category = submission.pack.build
    if category is None or not category.flags.has_patterns:
        return
    used = {program.sha256 for case in _ended(submission) for program in case.programs}
    builds = [build for build in submission.sources.builds if not used or build.binary_sha256 in used]
    if not any(build.flags for build in builds):
        yield unchecked("flags of the build not recorded", clause=category.clause)
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


@campaign_rule(
    "SRC-04",
    "one binary, from the recorded build, ran on all ranks and in all runs",
    why="with several binaries it is unknown which source a result belongs to",
    remedy="build once with 'campaign build', and repeat the runs of other binaries",
    is_about_records=True,
)
def one_binary(submission: Submission) -> Iterator[Finding]:
    """The hash of the binary on every rank, compared with the recorded build; code loaded by the built-in benchmark,
    between ranks and compared with the nodes' libraries; programs of all phases; files of `launcher.prefix`.
    """
    ended = _ended(submission)
    if not ended:
        yield unchecked("nothing has been measured")
        yield from _of_recorded_builds(submission, submission.programs)
        return
    declared: dict[tuple[str, int, int], tuple[Finding, ...]] = {}
    known = []  # attempts with all files of which the programs' hashes are known
    for case in ended:
        files = (*case.programs, *ran.before(case))
        alike = case.run.fingerprint, id(case.evidence.environment.facts), id(case.evidence.witness)
        if alike not in declared:  # all that this is judged by
            declared[alike] = tuple(ran.as_declared(case))
        found = (*_on_all_nodes(case, files), *declared[alike], *attested.loaded(case))
        yield from of_rule("SRC-04", case.subject, found)
        if all(program.sha256 for program in case.programs):
            known.append((case, files))
    for launcher in sorted({" ".join(case.run.launcher.prefix) for case in ended} - {""}):
        yield left_to_buyer("the benchmark was started through {launcher}", launcher=launcher)
    if len(known) < len(ended):
        yield unchecked(
            "binary not recorded for {count} of {all} attempts", count=len(ended) - len(known), all=len(ended)
        )
    if not known:
        return
    yield from _same_files(known)
    yield from _of_recorded_builds(submission, [binary(max((case for case, _ in known), key=_age))])


def _of_recorded_builds(submission: Submission, hashes: Iterable[str]) -> Iterator[Finding]:
    for wanted in hashes:
        if not submission.sources.builds:
            yield unchecked("no build record for the executed binary {hash}", hash=wanted)
        elif submission.sources.build_of(wanted) is None:
            recorded = ", ".join(build.binary_sha256 for build in submission.sources.builds)
            yield violation("the executed binary is not from a recorded build", recorded, wanted)


def _same_files(executed: Sequence[tuple[Case, Sequence[ExecutedFile]]]) -> Iterator[Finding]:
    """Every program of the pack, and every word before it, is the same file in all attempts that used it."""
    newest: dict[str, tuple[Case, str]] = {}
    for case, files in sorted(executed, key=lambda each: _age(each[0])):
        newest |= {file.path: (case, file.sha256) for file in files if file.sha256}
    for case, files in executed:
        for file in files:
            latest, wanted = newest.get(file.path, (case, ""))
            if file.sha256 and file.sha256 != wanted:
                yield violation(
                    "{file} differs from the latest attempt's ({attempt})",
                    wanted,
                    file.sha256,
                    about=case.subject,
                    file=file.path,
                    attempt=latest.subject,
                )


def _age(case: Case) -> tuple[float, str, int]:
    return case.attempt.ended or 0.0, case.run.id, case.attempt.number


def binary(case: Case) -> str:
    """The hash of the program of an attempt's first phase; "" if unknown."""
    return case.programs[0].sha256


def _on_all_nodes(case: Case, files: Iterable[ExecutedFile]) -> Iterator[Finding]:
    if case.seen.binary_agreed is False:
        told = "; ".join(map(str, case.seen.warnings)) or "see the run's output"
        yield violation("the ranks ran different executables", "one", told)
    for file in files:
        others = {node: digest for node, digest in file.nodes.items() if digest != file.sha256}
        if others:
            yield violation(
                "{file} differs on {nodes}",
                file.sha256,
                ", ".join(sorted(set(others.values()))),
                file=file.path,
                nodes=listed(sorted(others), 10),
            )


@campaign_rule(
    "SRC-05",
    "compiler, flags and libraries are recorded, and preloaded libraries are disclosed",
    why="without the build record the buyer cannot repeat the build, and a preloaded library may alter results",
    remedy=(
        "give compiler, flags and libraries under source.build, name preloaded libraries in the campaign file, and "
        "run 'campaign run FILE' again, which keeps the record"
    ),
    is_fixed_afterwards=True,
)
def build_recorded(submission: Submission) -> Iterator[Finding]:
    """Compiler, flags and libraries in the build record; libraries of `LD_PRELOAD`, `LD_AUDIT` and
    `/etc/ld.so.preload`, disclosed in `slurm.environment` or by a text of `system` with the value; libraries that
    replace functions of the C library or MPI; code from other directories (noted).
    """
    ended = _ended(submission)
    yield from _preloads(submission, ended)
    yield from _replaced(submission, ended)
    yield from attested.beside(ended)
    of_case = ((case, {program.sha256 for program in case.programs} - {""}) for case in ended)
    used = grouped((digest, case) for case, digests in of_case for digest in digests)
    used |= {digest: [] for digest in submission.programs}
    if not used:
        yield unchecked("executed binary not recorded")
    for digest, cases in sorted(used.items()):
        build = submission.sources.build_of(digest)
        if build is None:
            yield violation("build record missing", f"the build of {digest}", "none")
            continue
        for case in cases[:1]:
            yield from attested.compiled(case, digest, build.compiler)
        given: dict[str, object] = {"compiler": build.compiler, "flags": build.flags}
        if cases:  # the job records the libraries that it finds
            found = any(case.evidence.environment.under("library.") for case in cases)
            given["libraries"] = build.libraries or found
        lacking = [name for name, value in given.items() if not value]
        there = ", ".join(name for name, value in given.items() if value)
        if lacking:
            yield violation(
                "build record lacks {names}; add them under source.build",
                "compiler, flags and libraries",
                f"only {there}" if there else "none of them",
                names=", ".join(lacking),
            )


@campaign_rule(
    "SRC-06",
    "the built-in benchmark was built from its published source",
    why="a changed benchmark can report any number",
    remedy="build the unchanged source with 'campaign build', and run the campaign again",
    is_always_judged=True,
)
def published_build(submission: Submission) -> Iterator[Finding]:
    """The source tree in the build record compared with this program's of the same version. Not checked: no record, or
    another version.
    """
    builtin = [case for case in _ended(submission) if case.seen.program.startswith(BUILTIN)]
    own = () if submission.campaign.benchmark.external else submission.programs
    for digest in sorted({*own, *(binary(case) for case in builtin)}):
        build = submission.sources.build_of(digest)
        programs = {case.seen.program.removeprefix(BUILTIN) for case in builtin if binary(case) == digest}
        if build is None or not build.source_tree:
            yield unchecked("the build of the built-in benchmark was not recorded")
            continue
        if others := programs - {build.version}:
            yield violation(
                "benchmark version differs between the output and the build record",
                build.version,
                ", ".join(sorted(others)),
            )
            continue
        published = submission.own_source
        if submission.campaign.benchmark.external:
            yield unchecked(
                "the program calls itself the built-in benchmark, but its build is recorded as {version}: no "
                "published source to compare it with",
                version=build.version,
            )
        elif published is None or published.version != build.version:
            yield unchecked_by_buyer(
                "built from version {version} of the built-in benchmark; this version of campaign has only the source "
                "of its own: install campaign {version} and verify with it",
                version=build.version or "?",
            )
        elif published.tree != build.source_tree:
            yield violation(
                "the built-in benchmark was built from a changed source, not from that of version {version}",
                f"tree {published.tree}",
                f"tree {build.source_tree}",
                version=published.version,
            )


def _preloads(submission: Submission, ended: list[Case]) -> Iterator[Finding]:
    """Libraries loaded before a program's own. What the campaign file says of them is their explanation."""
    campaign = submission.campaign
    disclosed = [(name, value) for name, value in campaign.slurm.environment if name in attested.PRELOADS]
    met = grouped((loaded, case.subject) for case in ended for loaded in attested.preloads(case))
    first = {loaded: about for loaded, (about, *_) in met.items()} | dict.fromkeys(disclosed, "every attempt")
    for (name, value), about in first.items():
        if not value.strip():
            continue
        found = lifted_by_buyer(
            "{name} loads {library} into the benchmark (first in {attempt})",
            "no library, or one that the buyer accepts",
            value,
            name=name,
            library=value,
            attempt=about,
        )
        yield replace(found, explained=_disclosure(submission, (name, value) in disclosed, value))


def _replaced(submission: Submission, ended: list[Case]) -> Iterator[Finding]:
    """Libraries that replace functions that measure. What the campaign file says of them is their explanation."""
    met = grouped(
        ((path, listed(functions)), case.subject) for case in ended for path, functions in attested.replaced(case)
    )
    for (path, taken), (about, *_) in met.items():
        in_environment = any(path in text for _, text in submission.campaign.slurm.environment)
        found = lifted_by_buyer(
            "{library} is loaded before the C library or MPI and replaces {functions} (first in {attempt})",
            "the functions of the C library and MPI themselves, or of a library that the buyer accepts",
            path,
            library=path,
            functions=taken,
            attempt=about,
        )
        yield replace(found, explained=_disclosure(submission, in_environment, path))


def _disclosure(submission: Submission, in_environment: bool, library: str) -> str:
    """Where the campaign file names a library; "" if it does not."""
    named = [name for name, text in submission.campaign.system if library in text]
    places = [*["slurm.environment"] * in_environment, *(f"system, {name}" for name in named)]
    return f"named in the campaign file ({listed(places)})" if places else ""


def _ended(submission: Submission) -> list[Case]:
    return [result for result in submission.results if result.attempt.state is State.DONE]
