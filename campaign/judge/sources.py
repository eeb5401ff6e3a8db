"""The rules about the benchmark's source, its build, and the binary that ran. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from campaign.core.model import Finding, State
from campaign.judge.attempt import BUILTIN
from campaign.judge.findings import listed, note, to_explain, unchecked, violation
from campaign.judge.submission import Submission
from campaign.results.case import Case
from campaign.results.source.facts import ChangeClass, TreeComparison

MOST_FLAGS = 50  # findings of SRC-03; what is beyond is counted
PRELOADS = ("LD_PRELOAD", "LD_AUDIT")
EXECUTABLE, PRELOAD_FILE = "executable.sha256", "ld.so.preload"  # facts that a job records of each node


def pinned(submission: Submission) -> Iterator[Finding]:
    """SRC-01: the pristine source is the RFP's version, by its hash. The built-in one is disclosed."""
    pin, source = submission.pack.source, submission.campaign.source
    builtin = submission.campaign.benchmark.executable is None
    if builtin and pin.program:
        yield note(
            "measured with the built-in benchmark, which is another implementation than the RFP's",
            pin,
            _programs(submission),
        )
    for one in submission.results:
        if builtin and one.seen.program and not one.seen.program.startswith(BUILTIN):
            message = "the output is of another program than the built-in benchmark, which was to run"
            yield violation(message, BUILTIN.strip(), one.seen.program, about=one.subject)
    comparison = submission.sources.comparison
    if comparison is None:
        if not builtin:
            yield unchecked(submission.sources.problem)
        return
    hashes = {comparison.pristine.hash, comparison.pristine.archive_sha256} - {""}
    found = f"tree {comparison.pristine.hash}"
    if comparison.pristine.archive_sha256:
        found += f", archive {comparison.pristine.archive_sha256}"
    if source.sha256 and source.sha256 not in hashes:
        yield violation("the pristine source is not what source.sha256 says", source.sha256, found)
    if pin.sha256 and not builtin and not hashes.intersection(pin.sha256):
        yield violation("the pristine source is not what the RFP hands out", " or ".join(pin.sha256), found)
    if not source.sha256 and not pin.sha256:
        yield unchecked(f"the pristine source is not pinned: source.sha256 is not given, found {found}")
    if not builtin:
        yield from _version(submission, comparison)


def _version(submission: Submission, comparison: TreeComparison) -> Iterator[Finding]:
    wanted, said = submission.pack.source.version, submission.campaign.source.version
    if wanted and not said:
        yield unchecked(f"source.version does not say which version the pristine is; the RFP's is {wanted}")
    elif wanted and said != wanted:
        yield violation("the pristine source is another version than the RFP's", wanted, said)
    if said and not comparison.names_version:
        yield to_explain("no file of the pristine source names its version", said, "none")
    programs = sorted({result.seen.program for result in submission.results if result.seen.program})
    others = [program for program in programs if wanted and wanted not in program]
    if others:
        yield violation("the program that ran names another version than the RFP's", wanted, ", ".join(others))


def differs_as_supplied(submission: Submission) -> Iterator[Finding]:
    """SRC-02: the pristine source and the patch give the source that was built."""
    comparison = submission.sources.comparison
    if comparison is None:
        yield unchecked(submission.sources.problem)
        return
    modified = comparison.modified
    if comparison.supplied is not None and comparison.supplied.problem:
        yield violation(
            f"the patch {comparison.supplied.name} {comparison.supplied.problem}",
            f"the built tree {modified.hash}",
            "another",
        )
    if not comparison.reproduced:
        yield violation(
            "the pristine source with the patch applied is not what was built", modified.hash, comparison.applied
        )
    if submission.sources.patch_sha256 != comparison.patch_sha256:
        kept = submission.sources.patch_sha256
        yield violation("modifications.patch is not the patch of the comparison", comparison.patch_sha256, kept)
    used = [submission.sources.build_of(binary(one)) for one in _ended(submission)]
    for tree in sorted({build.source_tree for build in used if build and build.source_tree}):
        if tree != modified.hash:
            yield violation("what ran was built from another source than the one that is compared", tree, modified.hash)
    recorded = {build.binary_sha256 for build in submission.sources.builds}
    compiled = [one.path for one in modified.ignored if one.sha256 and one.sha256 not in recorded]
    if compiled:
        yield note("compiled code that the pristine source does not have was not compared", "", listed(compiled, 10))


def builds_and_runs_only(submission: Submission) -> Iterator[Finding]:
    """SRC-03: the patch touches building and running only; every other edit is for a reviewer."""
    comparison = submission.sources.comparison
    if comparison is None:
        yield unchecked(submission.sources.problem)
        return
    expected = "building and running only"
    for flag in comparison.flags[:MOST_FLAGS]:
        yield to_explain(f"{flag.place}: the edit touches {', '.join(flag.why)}", expected, "a reviewer decides")
    if (beyond := len(comparison.flags) - MOST_FLAGS) > 0:
        yield to_explain(
            f"{beyond} more edits of the measurement path: see modifications.txt", expected, "a reviewer decides"
        )
    others = [change for change in comparison.changes if change.kind is ChangeClass.OTHER]
    if others:
        yield to_explain(
            "edits of files that are neither building, portability, documentation nor data",
            expected,
            listed([f"{change.path} ({change.why})" for change in others], 10),
        )


def one_binary(submission: Submission) -> Iterator[Finding]:
    """SRC-04: one binary on all ranks and through the campaign, that of the recorded build."""
    ended = _ended(submission)
    if not ended:
        yield unchecked("nothing has been measured")
        return
    for one in ended:
        yield from _on_all_nodes(one)
    known = [one for one in ended if binary(one)]
    if len(known) < len(ended):
        yield unchecked(f"of {len(ended) - len(known)} of {len(ended)} attempts the binary is not known")
    if not known:
        return
    newest = max(known, key=lambda one: (one.attempt.ended or 0.0, one.run.id, one.attempt.number))
    wanted = binary(newest)
    for one in known:
        if binary(one) != wanted:
            message = f"another binary than that of the latest attempt, {newest.subject}"
            yield violation(message, wanted, binary(one), about=one.subject)
    if not submission.sources.builds:
        yield unchecked(f"no record of a build was kept for the binary {wanted}")
    elif submission.sources.build_of(wanted) is None:
        recorded = ", ".join(build.binary_sha256 for build in submission.sources.builds)
        yield violation("the binary that ran is of no recorded build", recorded, wanted)


def binary(one: Case) -> str:
    """The hash of what an attempt ran: as its ranks told, otherwise as the job's nodes saw it; "" where neither did."""
    seen = one.evidence.environment.values(EXECUTABLE)
    return one.seen.binary_sha256 or (seen[0] if seen else "")


def _on_all_nodes(one: Case) -> Iterator[Finding]:
    if one.seen.binary_agreed is False:
        told = next((str(each) for each in one.seen.warnings if "different executables" in each.text), "see its output")
        yield violation("the ranks ran different executables", "one", told, about=one.subject)
    wanted = binary(one)
    others = {node: hash for node, hash in one.evidence.environment.by_node(EXECUTABLE).items() if hash != wanted}
    if others:
        message = f"other executables on {listed(sorted(others), 10)}"
        yield violation(message, wanted, ", ".join(sorted(set(others.values()))), about=one.subject)


def build_recorded(submission: Submission) -> Iterator[Finding]:
    """SRC-05: compiler, flags and libraries of what ran are recorded, and preloaded libraries disclosed."""
    ended = _ended(submission)
    yield from _preloads(submission, ended)
    binaries = sorted({found for one in ended if (found := binary(one))})
    if not binaries:
        yield unchecked("the binary that ran is not known")
    for found in binaries:
        build = submission.sources.build_of(found)
        if build is None:
            yield violation("no record of the build was kept", f"the build of {found}", "none")
            continue
        environments = [one.evidence.environment for one in ended if binary(one) == found]
        libraries = build.libraries or any(fact.startswith("library.") for one in environments for fact in one.facts)
        given = {"compiler": build.compiler, "flags": build.flags, "libraries": libraries}
        lacking = [name for name, value in given.items() if not value]
        if lacking:
            yield violation(
                f"the record of the build lacks {', '.join(lacking)}: give them as source.build",
                "compiler, flags and libraries",
                ", ".join(name for name in given if name not in lacking) or "none of them",
            )


def _preloads(submission: Submission, ended: list[Case]) -> Iterator[Finding]:
    """Libraries that get into a program before its own: named in the campaign file, or not."""
    campaign = submission.campaign
    told = [(name, value) for name, value in campaign.slurm.environment if name in PRELOADS]
    for name, value in told:
        yield note(f"the campaign file sets {name}", "", value)
    met: dict[tuple[str, str], str] = {}  # the first attempt that met it
    for one in ended:
        environment = one.evidence.environment
        for name in PRELOADS:
            values = (environment.variables.get(name, ""), *environment.values(f"env.{name}"))
            for value in values:
                met.setdefault((name, value), one.subject)
        for value in environment.values(PRELOAD_FILE):
            met.setdefault(("/etc/ld.so.preload", value), one.subject)
    for (name, value), about in met.items():
        if not value.strip() or (name, value) in told:
            continue
        if any(value in text for _, text in campaign.system):
            yield note(f"the nodes set {name}, which `system` tells", "", value)
        else:
            yield violation(
                f"{name} loads a library into what is measured, first in {about}, and the campaign file does not tell",
                "its value in slurm.environment or in a text of system",
                value,
            )


def _ended(submission: Submission) -> list[Case]:
    return [result for result in submission.results if result.attempt.state is State.DONE]


def _programs(submission: Submission) -> str:
    programs = sorted({result.seen.program for result in submission.results if result.seen.program.startswith(BUILTIN)})
    used = {submission.sources.build_of(binary(one)) for one in _ended(submission)}
    trees = sorted({build.source_tree for build in used if build and build.source_tree})
    return ", ".join([*(programs or [BUILTIN.strip()]), *(f"source tree {tree}" for tree in trees)])
