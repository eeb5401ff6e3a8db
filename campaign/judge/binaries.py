"""The rules about the programs that ran and their builds (SRC-04 to SRC-06). Pure.

The job hashes the declared program and the words before it on each node; other processes then observe what the ranks
execute. The name that a program prints does not matter.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass

from campaign.core.findings import Finding
from campaign.core.grouping import grouped
from campaign.core.runs import State
from campaign.core.units import listing, plural
from campaign.judge.attestation import check_compiler
from campaign.judge.build_inputs import check_build_inputs
from campaign.judge.findings import (
    BUILTIN,
    complete_findings,
    left_to_buyer,
    to_explain,
    unchecked,
    unchecked_by_buyer,
    violation,
)
from campaign.judge.loaded_code import check_loaded_code, check_loaded_files
from campaign.judge.rule import campaign_rule
from campaign.judge.submission import Submission
from campaign.results.case import Case
from campaign.results.environment.facts import EXECUTABLE, PREFIX, SHORT, ExecutedFile

INTERPRETER = "executable.interpreter"  # a fact that a job records for each node: "PATH SHA-256"
SYSTEM_DIRECTORIES = ("/bin", "/usr/bin", "/sbin", "/usr/sbin")


def check_executed_programs(case: Case) -> Iterator[Finding]:
    """SRC-04, of one attempt: each rank executed the declared program, and nothing that is not declared."""
    witness = case.evidence.witness
    if not witness.watched:
        return  # the built-in benchmark reports it itself
    before = _prefix_hashes(case)
    declared_programs = {
        command.phase: _declared_program(case, command.executable, before) for command in case.run.launched
    }
    scripts = {program.script for program in declared_programs.values() if program.script}
    for path, interpreter in sorted(scripts):
        yield violation(
            "benchmark.executable {path} is a script, which can start any other program",
            "benchmark.executable names the program itself; a script around it, or a script's interpreter, is named "
            "under launcher.prefix",
            interpreter,
            path=path,
            remedy="name the program itself under benchmark.executable, and run again",
        )
    if not all(program.hashes for program in declared_programs.values()):
        if case.run.launcher.image:
            yield unchecked("no rank was seen in the image: what ran cannot be compared with the image's program")
        else:
            yield unchecked("the nodes could not read the benchmark's program: what ran cannot be compared with it")
        return
    undeclared_ranks, additional_ranks = Counter[str](), Counter[str]()
    executed = Counter((executed_program.phase, executed_program.digests) for executed_program in witness.executed())
    for (phase, digests), ranks in executed.items():
        program = declared_programs.get(phase)
        if program is None or program.script:
            continue
        allowed_hashes = program.hashes | before | _allowed_children(case, phase)
        other_hashes = [digest for digest in digests if digest not in allowed_hashes]
        if program.hashes.isdisjoint(digests):
            undeclared_ranks[_program_names(case, digests)] += ranks
        elif other_hashes:
            additional_ranks[_program_names(case, other_hashes)] += ranks
    expected = _declared_hashes(case, declared_programs) if undeclared_ranks or additional_ranks else ""
    if undeclared_ranks:
        yield violation(
            "ranks ran a program other than the declared one",
            expected,
            _rank_counts(undeclared_ranks),
            remedy="name the program that ranks run, or run again with the declared one",
        )
    if additional_ranks and case.run.launcher.prefix:
        message = "ranks also ran programs other than the benchmark and what launcher.prefix names"
        yield to_explain(message, expected, _rank_counts(additional_ranks))
    elif additional_ranks:
        message = "ranks also ran programs that are not declared under launcher.prefix"
        yield violation(message, expected, _rank_counts(additional_ranks))
    rank_count = sum(case.run.geometry_of(command).processes for command in case.run.launched)
    if (unseen := rank_count - len(witness.ranks)) > 0:
        reason = f": {witness.problems[0]}" if witness.problems else ""
        yield unchecked(
            "{ranks} of {all} ended before the job could record what they executed{why}",
            ranks=plural(unseen, "rank"),
            all=rank_count,
            why=reason,
        )


def _declared_hashes(case: Case, programs: Mapping[str, _DeclaredProgram]) -> str:
    commands = {command.executable: programs[command.phase].hashes for command in case.run.launched}
    return listing(
        f"{path} ({listing(hashes[:SHORT] for hashes in sorted(hashes))})" for path, hashes in commands.items()
    )


def prefix_files(case: Case) -> tuple[ExecutedFile, ...]:
    """The files of the prefix (programs, scripts, images) and the interpreters of scripts."""
    environment = case.evidence.environment
    of_scripts = (INTERPRETER, *(name for name in environment.fact_names(PREFIX) if name.endswith(".interpreter")))
    names = (*_prefix_facts(case), *(name for name in of_scripts if environment.values(name)))
    return tuple(environment.file(environment.values(name)[0].rpartition(" ")[0], name) for name in names)


def _prefix_facts(case: Case) -> list[str]:
    """The facts about files of the prefix that are not programs themselves."""
    launched = {command.executable for command in case.run.launched}
    return [name for name, (path, _) in case.evidence.environment.hashed_files.items() if path not in launched]


@dataclass(frozen=True, slots=True)
class _DeclaredProgram:
    """`script`: path and interpreter of a script that may be a wrapper around another program."""

    hashes: frozenset[str]
    script: tuple[str, str] | None = None


def _declared_program(case: Case, path: str, before: Set[str]) -> _DeclaredProgram:
    """A declared program, as the nodes found it: the first one as the executable, others among the files of
    the prefix; of an image, as the ranks found it there.
    """
    environment = case.evidence.environment
    if case.run.launcher.image and (digests := case.evidence.witness.inside_digests(path)):
        return _DeclaredProgram(digests)
    if path == case.run.executable:
        hashes, interpreters = frozenset(environment.values(EXECUTABLE)), environment.values(INTERPRETER)
    else:
        name = next((name for name, (prefix_path, _) in environment.hashed_files.items() if prefix_path == path), "")
        hashes, interpreters = _hashes(case, [name]), environment.values(f"{name}.interpreter")
    if not interpreters:
        return _DeclaredProgram(hashes)
    by = frozenset(text.rpartition(" ")[2] for text in interpreters)
    return _DeclaredProgram(by, None if by <= before else (path, interpreters[0]))


def _allowed_children(case: Case, phase: str) -> frozenset[str]:
    """SHA-256 of the system's programs that the pack allows a phase's program to start."""
    name = next(command.program for command in case.run.launched if command.phase == phase)
    starts = next((program.starts for program in case.pack.programs if program.id == name), ())
    paths = {f"{place}/{file_name}" for place in SYSTEM_DIRECTORIES for file_name in starts}
    return frozenset(digest for digest, path in case.evidence.witness.programs.items() if path in paths)


def _prefix_hashes(case: Case) -> frozenset[str]:
    """SHA-256 of the files of the prefix that may run before a program, and of the interpreters of scripts."""
    names = _prefix_facts(case)
    return _hashes(case, [*names, *(f"{name}.interpreter" for name in names)])


def _hashes(case: Case, facts: Iterable[str]) -> frozenset[str]:
    return frozenset(text.rpartition(" ")[2] for name in facts for text in case.evidence.environment.values(name))


def _program_names(case: Case, digests: Iterable[str]) -> str:
    programs = case.evidence.witness.programs
    return ", then ".join(f"{programs.get(digest, '?')} ({digest[:16]})" for digest in digests)


def _rank_counts(ranks: Counter[str]) -> str:
    return listing((f"{text} in {plural(count, 'rank')}" for text, count in ranks.most_common()), 3)


@campaign_rule(
    "SRC-04",
    "one binary, from the recorded build, ran on all ranks and in all runs",
    why="with several binaries it is unknown which source a result belongs to",
    remedy="build once with 'campaign build', and repeat the runs of other binaries",
    is_about_records=True,
)
def check_binary(submission: Submission) -> Iterator[Finding]:
    """The hash of the binary on every rank, compared with the recorded build; code loaded by the built-in benchmark,
    between ranks and compared with the nodes' libraries; programs of all phases; files of `launcher.prefix`.
    """
    finished = finished_cases(submission)
    if not finished:
        yield unchecked("nothing has been measured", remedy="measure: campaign run FILE")
        yield from _check_recorded_builds(submission, submission.programs)
        return
    findings_by_program: dict[tuple[str, int, int], tuple[Finding, ...]] = {}
    hashed_cases = []  # attempts with all files of which the programs' hashes are known
    for case in finished:
        files = (*case.programs, *prefix_files(case))
        program_key = case.run.fingerprint, id(case.evidence.environment.facts), id(case.evidence.witness)
        if program_key not in findings_by_program:  # all that this is judged by
            findings_by_program[program_key] = tuple(check_executed_programs(case))
        findings = (*_check_nodes_of_files(case, files), *findings_by_program[program_key], *check_loaded_code(case))
        yield from complete_findings("SRC-04", case.subject, findings)
        if all(program.sha256 for program in case.programs):
            hashed_cases.append((case, files))
    cases_by_launcher = grouped((" ".join(case.run.launcher.prefix), case) for case in finished)
    for launcher in sorted(cases_by_launcher.keys() - {""}):
        file_texts = {
            f"{file.path} {digest or 'not hashed'}"
            for case in cases_by_launcher[launcher]
            for file in prefix_files(case)
            for digest in file.nodes.values() or [""]
        }
        yield left_to_buyer(
            "the benchmark was started through {launcher}", "", ", ".join(sorted(file_texts)), launcher=launcher
        )
    yield from _disclose_images(finished)
    if len(hashed_cases) < len(finished):
        yield unchecked(
            "binary not recorded for {count} of {all} attempts",
            count=len(finished) - len(hashed_cases),
            all=len(finished),
            remedy="run these results again",
        )
    if not hashed_cases:
        return
    yield from _check_same_files(hashed_cases)
    yield from _check_recorded_builds(submission, [binary_sha256(max((case for case, _ in hashed_cases), key=_age))])


def _disclose_images(finished: Sequence[Case]) -> Iterator[Finding]:
    cases_by_image = {case.run.launcher.image: case for case in finished if case.run.launcher.image}
    for image, case in sorted(cases_by_image.items()):
        digest = next((file.sha256 for file in prefix_files(case) if file.path == image), "")
        if digest:
            yield left_to_buyer("the programs are those of the container image {image}", "", digest, image=image)
        else:
            yield unchecked(
                "the nodes could not hash the container image {image} as a file; known are the programs and libraries "
                "that ranks executed in it",
                image=image,
            )


def _check_recorded_builds(submission: Submission, hashes: Iterable[str]) -> Iterator[Finding]:
    for executed_hash in hashes:
        if not submission.sources.builds:
            yield unchecked(
                "no build record for the executed binary {hash}",
                hash=executed_hash,
                remedy="describe the build under source.build, or build with 'campaign build'",
            )
        elif submission.sources.build_of(executed_hash) is None:
            recorded_hashes = ", ".join(build.binary_sha256 for build in submission.sources.builds)
            yield violation("the executed binary is not from a recorded build", recorded_hashes, executed_hash)


def _check_same_files(executed: Sequence[tuple[Case, Sequence[ExecutedFile]]]) -> Iterator[Finding]:
    """Every program of the pack, and every word before it, is the same file in all attempts that used it."""
    newest: dict[str, tuple[Case, str]] = {}
    for case, files in sorted(executed, key=lambda pair: _age(pair[0])):
        newest |= {file.path: (case, file.sha256) for file in files if file.sha256}
    for case, files in executed:
        for file in files:
            latest, newest_hash = newest.get(file.path, (case, ""))
            if file.sha256 and file.sha256 != newest_hash:
                yield violation(
                    "{file} differs from the latest attempt's ({attempt})",
                    newest_hash,
                    file.sha256,
                    about=case.subject,
                    file=file.path,
                    attempt=latest.subject,
                )


def _age(case: Case) -> tuple[float, str, int]:
    return case.attempt.ended or 0.0, case.run.id, case.attempt.number


def binary_sha256(case: Case) -> str:
    """The hash of the program of an attempt's first phase; "" if unknown."""
    return case.programs[0].sha256


def _check_nodes_of_files(case: Case, files: Iterable[ExecutedFile]) -> Iterator[Finding]:
    if case.observation.binary_agreed is False:
        warnings = "; ".join(map(str, case.observation.warnings)) or "see the run's output"
        yield violation("the ranks ran different executables", "one", warnings)
    for file in files:
        other_hashes = {node: digest for node, digest in file.nodes.items() if digest != file.sha256}
        if other_hashes:
            yield violation(
                "{file} differs on {nodes}",
                file.sha256,
                ", ".join(sorted(set(other_hashes.values()))),
                file=file.path,
                nodes=listing(sorted(other_hashes), 10),
            )


@campaign_rule(
    "SRC-05",
    "compiler, flags and libraries are recorded, and preloaded libraries are disclosed",
    why="without the build record the buyer cannot repeat the build, and a preloaded library may alter results",
    remedy=(
        "give compiler, flags and libraries under source.build, name preloaded libraries, and run again: "
        "campaign run FILE"
    ),
    is_fixed_afterwards=True,
)
def check_build_record(submission: Submission) -> Iterator[Finding]:
    """Compiler, flags and libraries in the build record; libraries of `LD_PRELOAD`, `LD_AUDIT` and
    `/etc/ld.so.preload`, disclosed in `slurm.environment` or by a text of `system` with the value; libraries that
    replace functions of the C library or MPI, and code of no package of the nodes, by path and SHA-256; what the build
    was given besides its source.
    """
    finished = finished_cases(submission)
    yield from check_loaded_files(submission, finished)
    of_case = ((case, {program.sha256 for program in case.programs} - {""}) for case in finished)
    cases_by_hash = grouped((digest, case) for case, digests in of_case for digest in digests)
    cases_by_hash |= {digest: [] for digest in submission.programs}
    if not cases_by_hash:
        yield unchecked("executed binary not recorded", remedy="run these results again")
    for digest, cases in sorted(cases_by_hash.items()):
        build = submission.sources.build_of(digest)
        if build is None:
            yield violation(
                "build record missing",
                f"the build of {digest}",
                "none",
                remedy="describe the build under source.build in the campaign file",
            )
            continue
        yield from check_build_inputs(build)
        for case in cases[:1]:
            yield from check_compiler(case, digest, build.compiler)
        build_fields: dict[str, object] = {"compiler": build.compiler, "flags": build.flags}
        if cases:  # the job records the libraries that it finds
            has_libraries = any(case.evidence.environment.fact_names("library.") for case in cases)
            build_fields["libraries"] = build.libraries or has_libraries
        lacking = [name for name, value in build_fields.items() if not value]
        present_names = ", ".join(name for name, value in build_fields.items() if value)
        if lacking:
            yield violation(
                "build record lacks {names}",
                "compiler, flags and libraries",
                f"only {present_names}" if present_names else "none of them",
                names=", ".join(lacking),
                remedy=f"add {', '.join(lacking)} under source.build in the campaign file",
            )


@campaign_rule(
    "SRC-06",
    "the built-in benchmark was built from its published source",
    why="a changed benchmark can report any number",
    remedy="build the unchanged source with 'campaign build', and run the campaign again",
    is_always_judged=True,
)
def check_published_source(submission: Submission) -> Iterator[Finding]:
    """The source tree in the build record compared with this program's of the same version. Not checked: no record, or
    another version.
    """
    builtin = [case for case in finished_cases(submission) if case.observation.program.startswith(BUILTIN)]
    planned_programs = () if submission.campaign.benchmark.external else submission.programs
    for digest in sorted({*planned_programs, *(binary_sha256(case) for case in builtin)}):
        build = submission.sources.build_of(digest)
        programs = {case.observation.program.removeprefix(BUILTIN) for case in builtin if binary_sha256(case) == digest}
        if build is None or not build.source_tree:
            yield unchecked(
                "the build of the built-in benchmark was not recorded",
                remedy="build it with 'campaign build', and run again",
            )
            continue
        if other_versions := programs - {build.version}:
            yield violation(
                "benchmark version differs between the output and the build record",
                build.version,
                ", ".join(sorted(other_versions)),
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
                "built from version {version} of the built-in benchmark, whose source this version of campaign lacks",
                version=build.version or "?",
                remedy=f"install campaign {build.version or '?'} and verify with it",
            )
        elif published.tree != build.source_tree:
            yield violation(
                "the built-in benchmark was built from a changed source, not from that of version {version}",
                f"tree {published.tree}",
                f"tree {build.source_tree}",
                version=published.version,
            )


def finished_cases(submission: Submission) -> list[Case]:
    return [result for result in submission.results if result.attempt.state is State.DONE]
