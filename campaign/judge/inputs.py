"""The rules about what a run got from outside: input files (INP-01), environment variables (ENV-02, ENV-06). Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator

from campaign.config.format import Target
from campaign.config.system import ADMINISTRATOR_TUNING, USER_TUNING, placeholder
from campaign.core.findings import Finding, Severity
from campaign.core.grouping import grouped
from campaign.core.runs import ASKED_NAMES, Input
from campaign.core.units import bound_listing, listing, plural
from campaign.judge.attestation import attestations
from campaign.judge.findings import to_explain_at_full_size, unchecked, violation
from campaign.judge.rule import attempt_rule, campaign_rule
from campaign.judge.submission import Submission
from campaign.results.case import Case
from campaign.results.environment.facts import Environment, HashedInput

# --- variables of the environment that an RFP requires or forbids
#
# What the ranks had is what the job's processes on the nodes saw, or what the built-in benchmark reports of its own
# ranks.


@attempt_rule(
    "ENV-06",
    "the processes had the environment variables that the rules require, and none that they forbid",
    why="such variables change how the benchmark computes, communicates or stores its data",
    remedy="run the result again with these variables: remove what overwrites them, or pass them on to all processes",
    is_about_run=True,
)
def check_required_variables(case: Case) -> Iterator[Finding]:
    """Each variable in `environment`, as read from the running ranks. Not checked: not in all ranks, or a wrapper
    (`launcher.prefix`) may have set it.
    """
    witness, groups = (
        case.evidence.witness,
        [group for _, reporting_groups in attestations(case) for group in reporting_groups.groups],
    )
    processes = sum(case.run.geometry_of(command).processes for command in case.run.launched)
    for required in case.pack.environment:
        name, seen = required.name, witness.variables.get(required.name, ())
        reporting_groups = [group for group in groups if name in group.variables.get(ASKED_NAMES, "").split(":")]
        values = (*seen, *(group.variables.get(name, "") for group in reporting_groups))
        # Several values on one node are recorded in one text.
        values_of_ranks = {
            value_of_rank
            for text in values
            for value_of_rank in ([text] if required.allows(text) else text.split("; "))
        }
        wrong = sorted(value for value in values_of_ranks if not required.allows(value))
        if wrong == [""] and len(values_of_ranks) > 1 and case.run.launcher.prefix:
            yield unchecked(
                "{name} was not set when ranks began; it is unknown whether a program of launcher.prefix then set it "
                "in all of them",
                name=name,
                clause=required.clause,
            )
        elif wrong:
            yield violation(
                "the ranks ran with another {name} than the rules require",
                str(required),
                listing(value or "not set" for value in wrong),
                name=name,
                clause=required.clause,
            )
        elif (
            not (seen and len(witness.ranks) >= processes)
            and sum(group.processes for group in reporting_groups) < processes
        ):
            yield unchecked("{name} was not recorded in all ranks", name=name, clause=required.clause)


# --- the files that a benchmark reads, as the job hashed them on its nodes right before the run


@attempt_rule(
    "INP-01",
    "the benchmark read the input files that the rules fix or the vendor declares",
    why="another input is another problem, which may be much easier to compute",
    remedy="restore the input file and run the result again: campaign rerun FILE CELL",
    is_always_judged=True,
    is_about_run=True,
)
def check_inputs(case: Case) -> Iterator[Finding]:
    """The SHA-256 of each file, as each node found it right before the run (`facts.jsonl`): the pack's, otherwise the
    campaign file's, otherwise the first plan's. A node that hashed none is a violation.
    """
    if not case.run.inputs:
        return
    if not case.evidence.environment.recorded:
        yield unchecked(
            "the job's record is missing: it is unknown which input files were read",
            remedy="run the result again: campaign rerun FILE CELL",
        )
        return
    nodes = [node.name for node in case.evidence.environment.nodes]
    for input_file in case.run.inputs:
        hashes = [hashed_input for hashed_input in case.evidence.inputs if hashed_input.path == input_file.path]
        hashed = {hashed_input.node for hashed_input in hashes if hashed_input.sha256}
        other_hashes = grouped(
            (hashed_input.sha256, hashed_input)
            for hashed_input in hashes
            if hashed_input.sha256 not in ("", input_file.sha256)
        )
        if other_hashes:
            yield violation(
                "input {input} differs from the file of {by}: {path}",
                f"SHA-256 {input_file.sha256}",
                listing([_other_file(case, same_hashes) for same_hashes in other_hashes.values()], 2),
                input=input_file.id,
                by=input_file.by,
                path=input_file.path,
                clause=input_file.clause,
            )
        if missing := [name for name in nodes if name not in hashed]:
            yield violation(
                "input {input} was not hashed before the run on {nodes}: {path}",
                f"a line of facts.jsonl for each of {plural(len(nodes), 'node')}",
                _missing_hashes(case, input_file, hashes),
                input=input_file.id,
                nodes=listing(missing),
                path=input_file.path,
                clause=input_file.clause,
            )


def _other_file(case: Case, same_hashes: list[HashedInput]) -> str:
    """Another file, the nodes that read it, and the first line that says so."""
    first, nodes = same_hashes[0], listing([hashed_input.node for hashed_input in same_hashes])
    place = f"runs/{case.run.id}/{case.attempt.number}/facts.jsonl:{first.line}"
    return f"{first.sha256} ({plural(first.size, 'byte')}) on {nodes}, {place}"


def _missing_hashes(case: Case, input_file: Input, hashes: list[HashedInput]) -> str:
    unread = [hashed_input.node for hashed_input in hashes if not hashed_input.sha256]
    return f"not readable on {listing(unread)}" if unread else "no such line"


# Variables by which a user tunes MPI, the network or the loader.
_TUNES = re.compile(
    r"(?:OMPI_MCA|PRTE_MCA|PMIX_MCA|UCX|FI|I_MPI|MPICH|MV2|PSM2?|HFI|NCCL|MALLOC|GLIBC|LUSTRE|DARSHAN|GPFS)_\w+"
    r"|LD_(?:PRELOAD|AUDIT|BIND_NOW)|ROMIO_HINTS"
)


@campaign_rule(
    "ENV-02",
    "tuning by users and by administrators is listed separately",
    why="users cannot apply tuning that only an administrator can set",
    remedy="list both kinds of tuning under system, or write none",
    severity=Severity.WARNING,
)
def check_tuning(submission: Submission) -> Iterator[Finding]:
    """Separate entries; variables of MPI, network and loader (`OMPI_MCA_*`, `UCX_*`, `LD_PRELOAD` …) set in the jobs,
    not by Slurm, and not named under `system`; commands before each run (`prepare`); in a rehearsal noted.
    """
    entries = dict(submission.campaign.system)
    user, administrator = entries.get(USER_TUNING, ""), entries.get(ADMINISTRATOR_TUNING, "")
    lacking = [key for key in (USER_TUNING, ADMINISTRATOR_TUNING) if placeholder(entries.get(key, ""))]
    if lacking:
        keys = " and ".join(lacking)
        yield to_explain_at_full_size(submission.full)(
            "system: {keys} not filled in",
            "a description, or the word none",
            keys=keys,
            remedy=f"fill in {keys} under system",
        )
    elif user.strip() == administrator.strip() and user.strip().lower() not in ("none", "nothing"):
        yield to_explain_at_full_size(submission.full)(
            "the same tuning is given for users and for administrators", "different entries", user
        )
    description = " ".join(text for _, text in submission.campaign.system).casefold()
    names: set[str] = set()
    for environment in (case.evidence.environment for case in submission.results):
        names |= tuning_variables(environment)
    names -= {name for name, _ in submission.campaign.slurm.environment}
    names -= {variable.name for variable in submission.pack.environment}
    unsaid = sorted(name for name in names if name.casefold() not in description)
    if unsaid:
        yield to_explain_at_full_size(submission.full)(
            "tuning variables were set that the system description does not name",
            "named under system (tuning by users) or slurm.environment",
            bound_listing(unsaid),
            remedy="name these variables under system, or do not set them",
        )
    for target in submission.campaign.targets:
        if target.prepare:
            yield to_explain_at_full_size(submission.full)(
                "commands prepare the directory of each run on target {target}",
                "none",
                listing(_preparations(submission, target)),
                about=f"{target.name}/*/*/*",
                target=target.name,
                remedy="explain in the campaign file why these commands are needed",
            )


def _preparations(submission: Submission, target: Target) -> list[str]:
    """The commands before runs on a target, each with what it printed in one of the runs."""
    cases = [case for case in submission.results if case.run.target == target.name]
    outputs = {entry.command: entry.output or "no output" for case in cases for entry in case.evidence.prepared}
    return [f"{command} ({outputs[command]})" if command in outputs else command for command in target.prepare]


def tuning_variables(environment: Environment) -> set[str]:
    """The variables by which a user tuned MPI, the network or the loader."""
    of_ranks = (name.removeprefix("env.") for name in environment.fact_names("env."))
    names = {*environment.variables, *of_ranks}.difference(environment.set_by_slurm)
    return {name for name in names if _TUNES.fullmatch(name)}
