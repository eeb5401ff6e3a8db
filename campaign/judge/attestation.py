"""Compares what the built-in benchmark reports about its own processes with the records of the job's nodes and the
kernel. Pure.

A preloaded library can falsify reports of its own process: docs/evidence.md says what this proves.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import PurePosixPath

from campaign.core.grouping import grouped
from campaign.core.model import SRUN, Attestation, Finding, RankGroup
from campaign.core.units import distinct_digits, listing
from campaign.judge.findings import doubt, lifted_by_buyer, note, unchecked, violation
from campaign.results.case import Case
from campaign.results.environment.facts import SHORT

SINCE = (0, 3, 0)  # versions of the benchmark that attest themselves
CLOCK_SHARE, CLOCK_S = 0.001, 0.05  # how much two readings of one clock around a run may differ
IDLE_S, IDLE_SHARE = 10.0, 0.25  # part of a run outside of its phases; 32 processes on 2 cores had 7 s of 22
NODES_S = 60.0  # how much a node's clock may differ from the job's record of the run
PRELOADS = ("LD_PRELOAD", "LD_AUDIT")
_VERSION = re.compile(r"campaign bench (\d+)\.(\d+)\.(\d+)\S*")
_LOADER = re.compile(r"LD_\w+|GLIBC_TUNABLES")
_C_LIBRARY = re.compile(r"lib(?:c|pthread|rt)[.-][\w.-]*|ld-musl-[\w.-]+|libc\.musl-[\w.-]+")
_MPI = re.compile(r"lib(?:p?mpi|mpich|pmpi)[\w.+-]*")
_SYSTEM = re.compile(r"/(?:usr/)?lib\w*(?:/.*)?")


def attestations(case: Case) -> Sequence[tuple[Case, Attestation]]:
    """The attestation of each phase, with its case."""
    return [(each, each.seen.attestation) for each in case.phases.values() if each.seen.attestation is not None]


def preloaded_libraries(case: Case) -> Iterator[tuple[str, str]]:
    """Variables, and the file of a node, by which libraries were loaded before a program's own, with their values."""
    environment, seen = case.evidence.environment, case.evidence.witness.preloads
    for name in PRELOADS:
        values = (environment.variables.get(name, ""), *environment.values(f"env.{name}"), *seen.get(name, ()))
        yield from ((name, value) for value in values)
    for group in (group for _, told in attestations(case) for group in told.groups):
        yield from ((name, group.variables[name]) for name in PRELOADS if name in group.variables)
    yield from (("/etc/ld.so.preload", value) for value in environment.values("ld.so.preload"))


def replaced_functions(case: Case) -> Iterator[tuple[str, list[str]]]:
    """Files loaded between the benchmark and the C library or MPI, each with the functions that it replaces."""
    for _, told in attestations(case):
        for group in told.groups:
            # The file may be the program itself, as with static linking.
            own = {path for path, digest in group.objects.items() if digest == case.seen.binary_sha256} | {"[vdso]"}
            taken = grouped(
                (path or "memory without a file", function)
                for function, path in group.functions.items()
                if path not in own
                and not (_MPI if function.startswith("MPI_") else _C_LIBRARY).fullmatch(PurePosixPath(path).name)
            )
            yield from taken.items()


def check_loaded_code(case: Case) -> Iterator[Finding]:
    """SRC-04: all ranks have loaded the same code, as the job's nodes found it for the program."""
    for one, told in attestations(case):
        for group in told.groups[1:]:
            first = told.groups[0].objects
            others = [path for path, digest in group.objects.items() if digest and first.get(path, digest) != digest]
            if others:
                yield violation(
                    "the ranks loaded different code: {files}",
                    _as_on_rank(told.groups[0]),
                    _as_on_rank(group),
                    files=listing(others),
                )
        for group in told.groups[:1]:
            yield from _check_libraries(one, group)


def _as_on_rank(group: RankGroup) -> str:
    return f"as on rank {group.first_rank} ({group.first_node})"


def _check_libraries(case: Case, group: RankGroup) -> Iterator[Finding]:
    """Each library of the program was loaded, with the content that the job hashed on that node."""
    environment = case.evidence.environment
    given = set(group.objects.values())
    if "" in given or not group.objects:
        return  # a file that could not be read
    differing = []
    for name in environment.under("library."):
        path, _, digest = environment.by_node(name).get(group.first_node, "").rpartition(" ")
        if re.fullmatch(r"[0-9a-f]{64}", digest) and digest not in given:
            differing.append(path)
    if differing and (names := _added_variables(case, group)):
        # Their paths were looked up with the variables of the job.
        yield unchecked(
            "the ranks loaded libraries that the job looked up with another {names}",
            listing(differing),
            "not loaded, or with other content",
            names=listing(names),
        )
    elif differing:
        yield lifted_by_buyer(
            "the ranks loaded libraries that differ from those which the job recorded for the program",
            listing(differing),
            "not loaded, or with other content",
        )


def check_compiler(case: Case, digest: str, compiler: str) -> Iterator[Finding]:
    """SRC-05: the compiler in a binary's build record is the one that the program reports."""
    for one, told in attestations(case):
        if (
            one.seen.binary_sha256 == digest
            and told.compiler
            and compiler
            and not told.compiler.casefold().startswith(compiler.casefold())
        ):
            yield violation(
                "the build record names another compiler than the program itself",
                told.compiler,
                compiler,
                about=one.subject,
            )


def note_other_directories(cases: Iterable[Case]) -> Iterator[Finding]:
    """SRC-05: files loaded from other directories than those of the system and of the linked libraries."""
    met: dict[tuple[str, ...], str] = {}  # the first attempt with these files
    for one, told in (pair for case in cases for pair in attestations(case)):
        environment = one.evidence.environment
        libraries = (text for name in environment.under("library.") for text in environment.values(name))
        linked = {text.rpartition(" ")[0].rpartition("/")[0] for text in libraries}
        for group in told.groups:
            known = linked | {path.rpartition("/")[0] for path in group.functions.values()}
            others = [
                path
                for path, digest in {**group.objects, **told.loaded_later}.items()
                if digest != one.seen.binary_sha256
                and not _SYSTEM.fullmatch(path)
                and not any(path.startswith(f"{top}/") for top in known if top)
            ]
            met.setdefault(tuple(others), one.subject)
    for files, subject in met.items():
        if files:
            yield note(
                "code loaded from directories other than those of the system and of the linked libraries",
                "",
                listing(files),
                about=subject,
            )


def check_attestations(case: Case) -> Iterator[Finding]:
    """EVD-06: boot ids, mounts, clocks and the loader's variables reported by the ranks are those of the
    job's nodes.
    """
    said = attestations(case)
    for one, told in said:
        yield from _check_kernel_clock(one, told)
        yield from _check_idle_time(one, told)
        yield from _check_nodes(one, told)
        for group in told.groups:
            yield from _check_mount(one, group)
            yield from _check_loader_variables(one, group)
    lacking = not said or any(not told.groups for _, told in said)
    version = _VERSION.fullmatch(case.seen.program)
    if lacking and case.seen.complete and version:
        if tuple(map(int, version.groups())) < SINCE:
            yield unchecked("{program} records nothing of its own processes", program=case.seen.program)
        else:
            yield violation(
                "the output has no attestation, which {program} always writes: lines were removed",
                "the benchmark's record of its own processes",
                "none",
                program=case.seen.program,
            )


def _check_kernel_clock(case: Case, told: Attestation) -> Iterator[Finding]:
    if told.clock_s is None or told.kernel_clock_s is None:
        return
    if abs(told.clock_s - told.kernel_clock_s) > max(CLOCK_S, CLOCK_SHARE * told.kernel_clock_s):
        yield violation(
            "the clock that timed the phases differs from the kernel's clock",
            f"{told.kernel_clock_s:.3f} s",
            f"{told.clock_s:.3f} s",
        )


def _check_idle_time(case: Case, told: Attestation) -> Iterator[Finding]:
    """mdtest's phases follow one another: if the output shortens phases, there is unexplained time between them."""
    if told.clock_s is None or told.phases_s is None or "-p" in case.seen.argv:
        return
    most, between = max(IDLE_S, IDLE_SHARE * told.clock_s), told.clock_s - told.phases_s
    if between > most:
        allowed, found = distinct_digits(most, between)
        yield doubt(case.full)(
            "much of the benchmark's {seconds} s lies outside its phases",
            f"at most {allowed} s",
            f"{found} s",
            seconds=f"{told.clock_s:.1f}",
        )


def _check_nodes(case: Case, told: Attestation) -> Iterator[Finding]:
    environment, completion = case.evidence.environment, case.evidence.completion
    recorded = {node.name: node.boot for node in environment.nodes if node.boot}
    rebooted = [name for name, boot in told.boots.items() if recorded.get(name, boot) != boot]
    if rebooted:
        yield violation(
            "the benchmark ran on another boot of the node than the job recorded",
            listing(f"{name}: {recorded[name]}" for name in rebooted),
            listing(f"{name}: {told.boots[name]}" for name in rebooted),
        )
    if completion is None:
        return
    for name, time in told.clocks.items():
        here = time - environment.clock_offset(name)
        if not completion.started - NODES_S <= here <= completion.ended + NODES_S:
            apart = here - (completion.started if here < completion.started else completion.ended)
            yield violation(
                "the clock of {node}, read by the benchmark, lies outside the run's time",
                "within the run",
                f"{apart:+.0f} s",
                node=name,
            )
            return


def _check_mount(case: Case, group: RankGroup) -> Iterator[Finding]:
    environment = case.evidence.environment
    for key in ("type", "source", "point"):
        job, rank = environment.by_node(f"mount.{key}").get(group.first_node), group.mount.get(key)
        if job and rank and job != rank:
            yield violation(
                "rank {rank} on {node} wrote to a mount other than the recorded one ({what})",
                job,
                rank,
                rank=group.first_rank,
                node=group.first_node,
                what=key,
            )
            return


def _check_loader_variables(case: Case, group: RankGroup) -> Iterator[Finding]:
    """Compare the loader's variables only: launchers pass MPI's variables to the ranks, and MPI sets some itself. A
    launcher other than the srun that started the witnesses may set the loader's too. `case`: of one phase.
    """
    launcher, given = case.run.launcher, case.evidence.loader_variables.get("")
    if launcher.prefix:
        return  # a declared prefix may set any variable
    for name, value in _added_variables(case, group).items():
        of_job = listing(_values_of_job(case, name)) or "not set"
        if given is not None and f"{name}={hashlib.sha256(value.encode()).hexdigest()[:SHORT]}" in given:
            yield note(
                "{launcher} gives the ranks another {name} than the job has",
                of_job,
                value,
                launcher=launcher.program,
                name=name,
            )
        elif given is None and launcher.program != SRUN.program:
            yield unchecked(
                "{name} differs between the ranks and the job; it was not recorded what {launcher} sets",
                of_job,
                value,
                launcher=launcher.program,
                name=name,
            )
        else:
            yield violation("{name} differs between the ranks and the job", of_job, value, name=name)


def _added_variables(case: Case, group: RankGroup) -> dict[str, str]:
    """The loader's variables of ranks with another value than any node's processes of the job had."""
    return {
        name: value
        for name, value in group.variables.items()
        if case.evidence.environment.recorded
        and _LOADER.fullmatch(name)
        and not any(
            known.endswith("(cut)") or known.split() == value.split() for known in _values_of_job(case, name) or ("",)
        )
    }


def _values_of_job(case: Case, name: str) -> tuple[str, ...]:
    """The values of a variable on the job's nodes, or in its script."""
    environment = case.evidence.environment
    return environment.values(f"env.{name}") or tuple(filter(None, (environment.variables.get(name),)))
