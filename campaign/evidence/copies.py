"""EVD-06: compares what a bundle has more than once, and what one record says of another."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path

from campaign import __version__
from campaign.config.definition import digest_of_input
from campaign.core import bagit, journal
from campaign.core.errors import CampaignError, reraise_machine_problem
from campaign.core.findings import Finding
from campaign.core.runs import State
from campaign.core.strict_yaml import quoted
from campaign.core.units import listing, utc
from campaign.evidence import provenance, replay
from campaign.evidence.derived_files import differing_files, read_text
from campaign.evidence.job_scripts import check_command_lines, check_scripts
from campaign.judge.findings import unchecked, violation
from campaign.judge.job_facts import CONTROLLER_S
from campaign.judge.job_records import changed_file
from campaign.judge.submission import Submission
from campaign.results.environment import facts_file
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
    """The files about the modifications follow from the comparison and from the builds' own records."""
    folder, sources = Path("results/source"), submission.sources
    derived = {
        f"{folder / modifications.FACTS}": facts.as_text(sources),
        f"{folder / modifications.TEXT}": modifications.text(sources, submission.pack.build) + "\n",
    }
    for name, difference in differing_files(data, derived if tool == f"campaign {__version__}" else {}).items():
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
