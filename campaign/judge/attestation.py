"""Compares what the built-in benchmark reports about its own processes with the records of the job's nodes and the
kernel. Pure.

A preloaded library can falsify reports of its own process: docs/evidence.md says what this proves.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence

from campaign.core.findings import Finding
from campaign.core.records import Attestation, RankGroup
from campaign.core.runs import SRUN
from campaign.core.units import distinct_digits, listing
from campaign.judge.findings import note, to_explain_at_full_size, unchecked, violation
from campaign.results.case import Case
from campaign.results.environment.facts import SHORT

NO_JSON_LINES = (
    "{program} has no bench.jsonl with its processes: the launcher did not pass BENCH_JSON to the ranks, or the file "
    "was removed"
)
SINCE = (0, 3, 0)  # versions of the benchmark that attest themselves
CLOCK_SHARE, CLOCK_S = 0.001, 0.05  # how much two readings of one clock around a run may differ
IDLE_S, IDLE_SHARE = 10.0, 0.25  # part of a run outside of its phases; 32 processes on 2 cores had 7 s of 22
NODES_S = 60.0  # how much a node's clock may differ from the job's record of the run
_VERSION = re.compile(r"campaign bench (\d+)\.(\d+)\.(\d+)\S*")
_LOADER = re.compile(r"LD_\w+|GLIBC_TUNABLES")


def attestations(case: Case) -> Sequence[tuple[Case, Attestation]]:
    """The attestation of each phase, with its case."""
    return [
        (phase, phase.observation.attestation)
        for phase in case.phases.values()
        if phase.observation.attestation is not None
    ]


def check_compiler(case: Case, digest: str, compiler: str) -> Iterator[Finding]:
    """SRC-05: the compiler in a binary's build record is the one that the program reports."""
    for phase, attestation in attestations(case):
        if (
            phase.observation.binary_sha256 == digest
            and attestation.compiler
            and compiler
            and not attestation.compiler.casefold().startswith(compiler.casefold())
        ):
            yield violation(
                "the build record names another compiler than the program itself",
                attestation.compiler,
                compiler,
                about=phase.subject,
            )


def check_attestations(case: Case) -> Iterator[Finding]:
    """EVD-06: boot ids, mounts, clocks and the loader's variables reported by the ranks are those of the
    job's nodes.
    """
    pairs = attestations(case)
    for phase, attestation in pairs:
        yield from _check_kernel_clock(phase, attestation)
        yield from _check_idle_time(phase, attestation)
        yield from _check_nodes(phase, attestation)
        for group in attestation.groups:
            yield from _check_mount(phase, group)
            yield from _check_loader_variables(phase, group)
    lacking = not pairs or any(not attestation.groups for _, attestation in pairs)
    version = _VERSION.fullmatch(case.observation.program)
    if lacking and case.observation.complete and version:
        if tuple(map(int, version.groups())) < SINCE:
            yield unchecked("{program} records nothing about its processes", program=case.observation.program)
        elif case.observation.binary_sha256 is None:
            yield unchecked(NO_JSON_LINES, program=case.observation.program)
        else:
            yield violation(
                "the output has no attestation, which {program} always writes: lines were removed",
                "the benchmark's record of its processes",
                "none",
                program=case.observation.program,
            )


def _check_kernel_clock(case: Case, attestation: Attestation) -> Iterator[Finding]:
    if attestation.clock_s is None or attestation.kernel_clock_s is None:
        return
    if abs(attestation.clock_s - attestation.kernel_clock_s) > max(CLOCK_S, CLOCK_SHARE * attestation.kernel_clock_s):
        yield violation(
            "the clock that timed the phases differs from the kernel's clock",
            f"{attestation.kernel_clock_s:.3f} s",
            f"{attestation.clock_s:.3f} s",
        )


def _check_idle_time(case: Case, attestation: Attestation) -> Iterator[Finding]:
    """mdtest's phases follow one another: if the output shortens phases, there is unexplained time between them."""
    if attestation.clock_s is None or attestation.phases_s is None or "-p" in case.observation.argv:
        return
    allowed_s, idle_s = max(IDLE_S, IDLE_SHARE * attestation.clock_s), attestation.clock_s - attestation.phases_s
    if idle_s > allowed_s:
        allowed, idle = distinct_digits(allowed_s, idle_s)
        yield to_explain_at_full_size(case.full)(
            "much of the benchmark's {seconds} s lies outside its phases",
            f"at most {allowed} s",
            f"{idle} s",
            seconds=f"{attestation.clock_s:.1f}",
        )


def _check_nodes(case: Case, attestation: Attestation) -> Iterator[Finding]:
    environment, completion = case.evidence.environment, case.evidence.completion
    recorded_boots = {node.name: node.boot for node in environment.nodes if node.boot}
    rebooted = [name for name, boot in attestation.boots.items() if recorded_boots.get(name, boot) != boot]
    if rebooted:
        yield violation(
            "the benchmark ran on another boot of the node than the job recorded",
            listing(f"{name}: {recorded_boots[name]}" for name in rebooted),
            listing(f"{name}: {attestation.boots[name]}" for name in rebooted),
        )
    if completion is None:
        return
    for name, time in attestation.clocks.items():
        time_of_job = time - environment.clock_offset(name)
        if not completion.started - NODES_S <= time_of_job <= completion.ended + NODES_S:
            outside_s = time_of_job - (completion.started if time_of_job < completion.started else completion.ended)
            yield violation(
                "the clock of {node}, read by the benchmark, lies outside the run's time",
                "within the run",
                f"{outside_s:+.0f} s",
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
    launcher, set_by_launcher = case.run.launcher, case.evidence.loader_variables.get("")
    if launcher.prefix:
        return  # a declared prefix may set any variable
    for name, value in added_variables(case, group).items():
        of_job = listing(_values_of_job(case, name)) or "not set"
        if (
            set_by_launcher is not None
            and f"{name}={hashlib.sha256(value.encode()).hexdigest()[:SHORT]}" in set_by_launcher
        ):
            yield note(
                "{launcher} gives the ranks another {name} than the job has",
                of_job,
                value,
                launcher=launcher.program,
                name=name,
            )
        elif set_by_launcher is None and launcher.program != SRUN.program:
            yield unchecked(
                "{name} differs between the ranks and the job; it was not recorded what {launcher} sets",
                of_job,
                value,
                launcher=launcher.program,
                name=name,
            )
        else:
            yield violation("{name} differs between the ranks and the job", of_job, value, name=name)


def added_variables(case: Case, group: RankGroup) -> dict[str, str]:
    """The loader's variables of ranks with another value than any node's processes of the job had."""
    return {
        name: value
        for name, value in group.variables.items()
        if case.evidence.environment.recorded
        and _LOADER.fullmatch(name)
        and not any(
            job_value.endswith("(cut)") or job_value.split() == value.split()
            for job_value in _values_of_job(case, name) or ("",)
        )
    }


def _values_of_job(case: Case, name: str) -> tuple[str, ...]:
    """The values of a variable on the job's nodes, or in its script."""
    environment = case.evidence.environment
    return environment.values(f"env.{name}") or tuple(filter(None, (environment.variables.get(name),)))
