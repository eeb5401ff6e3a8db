"""EVD-06: compares what a bundle has more than once, what one record says of another, and the bundle with Slurm's
accounting as the buyer has it, which the vendor cannot have written.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, groupby
from pathlib import Path, PurePosixPath

from campaign import __version__
from campaign.config.definition import digest_of_input
from campaign.core import bagit, journal, untrusted
from campaign.core.errors import CampaignError, InputError, reraise_machine_problem
from campaign.core.findings import Finding, Severity
from campaign.core.grouping import grouped
from campaign.core.runs import State
from campaign.core.strict_yaml import quoted
from campaign.core.units import bound_listing, listing, utc
from campaign.evidence import provenance, replay
from campaign.evidence.derived_files import differing_files, read_text
from campaign.evidence.job_scripts import check_command_lines, check_scripts
from campaign.judge import engine
from campaign.judge.findings import CAMPAIGN, to_explain, unchecked, violation
from campaign.judge.job_facts import CONTROLLER_S
from campaign.judge.job_records import changed_file
from campaign.judge.submission import Submission
from campaign.results.case import Case
from campaign.results.environment import facts_file
from campaign.results.environment.facts import Accounting
from campaign.results.source import facts, modifications

_SOURCE_DIFFERS = "source/benchmark.tar.gz belongs to no recorded build"


def check_copies(data: Path, bag: bagit.Bag, evaluation: replay.Evaluation, tool: str) -> Iterator[Finding]:
    """EVD-06, of a bundle: what it has twice, and what follows from other records. `tool`: the version that made it."""
    differences = (
        *check_scripts(data, bag, evaluation.submission),
        *_check_environments(data, evaluation),
        *check_command_lines(data, evaluation),
        *_check_source(data, evaluation),
        *_check_modifications(data, evaluation.submission, tool),
        *_check_output_hashes(data, bag, evaluation.chain.ends if evaluation.chain else ()),
        *_check_challenge(evaluation.submission),
    )
    yield from dict.fromkeys(differences)


def check_input_files(evaluation: replay.Evaluation) -> Iterator[Finding]:
    """INP-01, of a bundle: the input files in it are those that the runs had to read."""
    runs = evaluation.submission.all_runs
    for file in dict.fromkeys(file_of_run for run in runs for file_of_run in run.inputs):
        place = evaluation.named_files.get(Path(file.path))
        if place is not None and (digest := digest_of_input(str(place))) != file.sha256:
            yield violation(
                "the copy of input {input} in the bundle is not the file of {by}",
                f"SHA-256 {file.sha256}",
                digest or None,
                input=file.id,
                by=file.by,
                clause=file.clause,
            )


def _check_source(data: Path, evaluation: replay.Evaluation) -> Iterator[Finding]:
    """The benchmark's source in the bundle is that of the recorded build."""
    if not (data / provenance.SOURCE).is_file():
        return
    recorded_trees = {build.source_tree for build in evaluation.submission.sources.builds}
    try:
        tree = provenance.read_source(data).hash
    except CampaignError as error:
        reraise_machine_problem(error)
        yield violation(_SOURCE_DIFFERS, "an archive of the source", str(error).replace(f"{data}/", "")[:500])
        return
    if tree not in recorded_trees:
        yield violation(_SOURCE_DIFFERS, f"tree {', '.join(sorted(recorded_trees))}", f"tree {tree}")


def _check_modifications(data: Path, submission: Submission, tool: str) -> Iterator[Finding]:
    """The files about the modifications follow from the comparison and from the builds' own records; those that another
    version wrote, in its own form, name no other builds and no other patch.
    """
    folder, sources = Path("results/source"), submission.sources
    place = folder / modifications.FACTS
    differences = {}
    if tool == f"campaign {__version__}":
        text = modifications.text(sources, submission.pack.build) + "\n"
        differences = differing_files(
            data, {f"{place}": facts.as_text(sources), f"{folder / modifications.TEXT}": text}
        )
    elif stored := modifications.read_fact(facts.Sources, data / place):
        other_builds = [build.binary_sha256 for build in stored.builds if build not in sources.builds]
        if other_builds:
            differences[f"{place}"] = f"it has other records of the builds {listing(other_builds)}"
        elif stored.patch_sha256 not in ("", sources.patch_sha256):
            differences[f"{place}"] = f"it has another patch, SHA-256 {stored.patch_sha256}"
    for name, difference in differences.items():
        yield violation(
            "{name} differs from the records of the comparison and the builds: {how}", name=name, how=difference
        )


def _check_output_hashes(data: Path, bag: bagit.Bag, ends: Sequence[int]) -> Iterator[Finding]:
    """The raw outputs of successful attempts have the hashes that the journal recorded at their end. By the bag's own
    hashes: the times of its files are the buyer's, those of the journal the vendor's, and either clock may be wrong.
    """
    compared_files = 0
    for event in journal.events_at(data / "results" / "journal.jsonl", ends):
        if event["state"] != State.DONE:
            continue
        attempt, written_at, ended_at = f"{event['run']}/{event['number']}", event["time"], event["ended"]
        if ended_at is not None and written_at < ended_at - CONTROLLER_S:
            yield violation(
                "the journal recorded the end of {attempt} earlier than the job's own record",
                f"after {utc(ended_at)}",
                utc(written_at),
                attempt=quoted(attempt),
            )
        for name, digest in event.get("files", {}).items():
            place = f"results/runs/{attempt}/{name}"
            bagged_digest = bag.digests.get(f"{bagit.PAYLOAD}{place}")
            compared_files += bagged_digest is not None
            if bagged_digest not in (None, digest):
                yield changed_file(place, digest, bagged_digest)
    if not compared_files:
        yield unchecked("the journal has no hashes of the raw outputs")


def _check_challenge(submission: Submission) -> Iterator[Finding]:
    """Each attempt has the buyer's challenge in its name, so that its output is newer than the challenge."""
    challenge = journal.challenge(submission.campaign.nonce)
    unchallenged = [attempt for attempt in submission.attempts if not attempt.token.startswith(challenge)]
    if unchallenged:
        names = listing(f"{attempt.run}/{attempt.number}" for attempt in unchallenged)
        yield violation(
            "attempts without the buyer's challenge in their names: {attempts}",
            f"{challenge}…",
            unchallenged[0].token,
            attempts=names,
        )


def _check_environments(data: Path, evaluation: replay.Evaluation) -> Iterator[Finding]:
    """The facts of an attempt begin with those of its job, unless it has none of them."""
    for job, attempts in groupby(evaluation.submission.attempts, lambda attempt: attempt.job):
        original = f"jobs/{job}/{facts_file.NAME}"
        if (of_job := read_text(data / "results" / original)) is None:
            continue
        for attempt in attempts:
            place = f"runs/{attempt.run}/{attempt.number}/{facts_file.NAME}"
            copy = read_text(data / "results" / place)
            if copy is None or copy.startswith(of_job):
                continue
            if facts_file.parse(copy.encode()).from_source("host"):
                yield violation("{place} differs from {original}", place=place, original=original)


# --- Slurm's accounting as the buyer has it

# Its columns, by the names that scontrol has for them.
_COLUMNS = {
    "JobIDRaw": "JobId", "JobName": "JobName", "State": "JobState", "Start": "StartTime", "End": "EndTime",
    "NodeList": "NodeList", "WorkDir": "WorkDir",
}  # fmt: skip
# With a column that may be missing.
SACCT = f"SLURM_TIME_FORMAT=%s sacct --parsable2 --format={','.join(_COLUMNS)},Suspended --starttime=… --endtime=…"


def read_accounting(path: Path) -> list[dict[str, str]]:
    """The jobs, and their steps, in the output of SACCT. Raises InputError."""
    names, *lines = untrusted.text(str(path), path.read_bytes(), f"the output of {SACCT}").splitlines() or [""]
    rows = [dict(zip(names.split("|"), line.split("|"), strict=False)) for line in lines]
    for number, row in enumerate(rows or [{}], 2):
        if not _COLUMNS.keys() <= row.keys() or not re.fullmatch("[0-9]{1,12}|None|Unknown", row["Start"]):
            raise InputError(f"{path}:{number}: not a line with these columns and times: {SACCT}")
    return rows


def check_accounting(
    rows: Sequence[Mapping[str, str]], submission: Submission, other_jobs: Collection[str] = ()
) -> Iterator[Finding]:
    """The jobs of the journal are in the accounting, and the records of their runs fit it as the rules demand.
    `other_jobs`: names of jobs in the journals of the RFP's other parts.
    """
    ordered = sorted(rows, key=lambda row: "." in row["JobIDRaw"])  # jobs before their steps
    of_jobs = grouped((row["JobIDRaw"].partition(".")[0], row) for row in ordered)
    jobs = {attempt.job_id or "": attempt.job for attempt in submission.attempts}
    for job_id in jobs.keys() - of_jobs.keys() - {""}:
        yield violation("job {job} is not in the accounting that you gave", jobs[job_id], None, job=job_id)
    folders = {PurePosixPath(row["WorkDir"]).parent for job_id in jobs for row in of_jobs.get(job_id, ())[:1]}
    campaign_jobs = [
        f"{job_id} in {row['WorkDir']}"
        for job_id, (row, *_) in of_jobs.items()
        if job_id not in jobs
        and (PurePosixPath(row["WorkDir"]).parent in folders or _has_challenge(row, submission, other_jobs))
    ]
    if campaign_jobs:
        yield to_explain(
            "the accounting that you gave has jobs of this campaign that are not in its journal",
            "only jobs of the journal",
            bound_listing(campaign_jobs),
        )
    results = tuple(_with_accounting(case, of_jobs.get(case.attempt.job_id or "", ())) for case in submission.results)
    findings = engine.judge_by_rules(engine.RULES, {"EVD-07"}, replace(submission, results=results), CAMPAIGN)
    known_findings = {
        (finding.subject, finding.message)
        for finding in chain(submission.findings, *(case.findings for case in submission.results))
    }
    for finding in chain(findings, *map(engine.judge, results)):
        if (
            finding.checked
            and finding.severity is not Severity.INFO
            and (finding.subject, finding.message) not in known_findings
        ):
            yield replace(finding, wording=f"by the accounting that you gave: {finding.wording}")


def _has_challenge(row: Mapping[str, str], submission: Submission, other_jobs: Collection[str]) -> bool:
    """Whether a job has the challenge of the buyer's nonce in its name, or in that of its directory: a site may rename
    jobs.
    """
    challenge = journal.challenge(submission.campaign.nonce)
    names = {row["JobName"], PurePosixPath(row["WorkDir"]).name}.difference(other_jobs)
    return bool(challenge) and any(re.search(f"-{challenge}[0-9a-f]{{8}}$", name) for name in names)


def _with_accounting(case: Case, rows: Sequence[Mapping[str, str]]) -> Case:
    """An attempt with these rows as Slurm's record of its job."""
    job = {name: rows[0][column].partition(" by ")[0] for column, name in _COLUMNS.items()} if rows else {}
    accounted = Accounting(0.0, job, True, tuple(rows))
    return replace(case, evidence=replace(case.evidence, accounting=accounted)) if rows else case
