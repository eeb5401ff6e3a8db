"""CMP-05: compares the files of a bundle with those that its tables reference."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any

from campaign.core import bagit
from campaign.core.findings import Finding, Severity
from campaign.core.strict_yaml import quoted
from campaign.evidence import bundle, provenance, replay
from campaign.evidence.derived_files import read_text
from campaign.judge.findings import to_explain
from campaign.judge.rule import bundle_rule

MOST_SHOWN = 20  # problems of one kind
ATTEMPT_FILES = frozenset(
    {
        "attempt.json", "bench.jsonl", "claim", "count.bash", "directory-made", "facts.jsonl", "facts.jsonl.new",
        "job.sbatch", "stderr", "stdout",
    }
)  # fmt: skip
JOB_FILES = frozenset({"accounting.json", "facts.jsonl", "job.sbatch", "stderr", "stdout", "waiting"})


@bundle_rule(
    "CMP-05",
    "the bundle contains every referenced log and nothing else; other attempts are listed in an index",
    why="extra or missing logs make it unclear which measurements the tables use",
    remedy="write the bundle again with 'campaign bundle' from the unchanged results directory",
    severity=Severity.WARNING,
)
def check_inventory(data: Path, bag: bagit.Bag, evaluation: replay.Evaluation) -> Iterator[Finding]:
    """The bundle's files compared with those that its tables reference."""
    problems = chain(_index_problems(data, bag, evaluation), _foreign_files(data, bag, evaluation))
    return map(to_explain, islice(problems, MOST_SHOWN))


def _index_problems(data: Path, bag: bagit.Bag, evaluation: replay.Evaluation) -> Iterator[str]:
    """Folders of attempts that no table refers to, and attempts that are missing in the index."""
    attempts = {(attempt.run, attempt.number): attempt for attempt in evaluation.submission.attempts}
    fingerprints = {run.id: run.fingerprint for run in evaluation.submission.all_runs}
    folders: dict[tuple[str, str], set[str]] = {}
    for name in bag.digests:
        parts = name.split("/")
        if parts[:3] == ["data", "results", "runs"] and len(parts) > 5:
            folders.setdefault((parts[3], parts[4]), set()).add(parts[5])
    journal = evaluation.submission.journal
    lost = {name for event in (journal.recovered if journal else ()) for name in event["unnamed"]}  # by EVD-02
    for run, number in sorted(folders):
        entry_attempt = attempts.get((run, int(number))) if number.isdigit() else None
        if entry_attempt is None and f"{run}/{number}" in lost:
            continue
        if entry_attempt is None:
            yield f"results/runs/{run}/{number}: not in the journal: no such attempt was submitted"
        elif fingerprints.get(run) != entry_attempt.fingerprint and folders[run, number] - set(bundle.ALWAYS_INCLUDED):
            yield f"results/runs/{run}/{number}: not referenced by any table"
    counted_keys = bundle.counted_attempts(evaluation.submission.all_runs, evaluation.submission.attempts)
    listed, counts = _read_index(data / "index.json")
    for (run, attempt), entry_attempt in sorted(attempts.items()):
        if (entry := listed.pop((run, attempt), None)) is None:
            yield f"index.json: attempt {attempt} of {run} is missing"
        # What it says of the files of an attempt that is not in the bundle is free.
        elif {**entry, "files": 0, "why": 0} != {
            **bundle.index_entry(entry_attempt, counted_keys),
            "files": 0,
            "why": 0,
        }:
            yield f"index.json: attempt {attempt} of {run} differs from the journal"
    for run, attempt in sorted(listed):
        yield f"index.json: attempt {attempt} of {quoted(run)} is not in the journal"
    if counts != bundle.state_counts(evaluation.submission.attempts):
        yield "index.json: counts differ from the journal"


def _foreign_files(data: Path, bag: bagit.Bag, evaluation: replay.Evaluation) -> Iterator[str]:
    """Files that do not belong in a bundle."""
    fixed = {*evaluation.files, provenance.CRATE, provenance.SOURCE, "campaign.yaml", "names.json", "index.json"}
    fixed |= provenance.statement_names(evaluation.submission).keys()
    named_files = {str(path.relative_to(data)) for path in evaluation.named_files.values()}
    jobs = {attempt.job for attempt in evaluation.submission.attempts}
    for name in sorted(bag.digests):
        if not name.startswith(bagit.PAYLOAD):
            continue
        inner = name.removeprefix(bagit.PAYLOAD)
        first, *inner_names = inner.split("/")
        if not (
            _is_result_file(first, inner_names, jobs)
            or inner in fixed | named_files
            or (first == "rules" and len(inner_names) == 1 and inner.endswith(".yaml"))
        ):
            yield f"{quoted(inner)}: not referenced by any table"


def _is_result_file(first: str, names: Sequence[str], jobs: set[str]) -> bool:
    """Whether a file is one that a driver or a job writes below the results."""
    if first != "results" or not bundle.is_evidence(names[0]):
        return False
    if names[0] == "jobs":
        return names[1] in jobs and (names[2] == "placement" or (len(names) == 3 and names[2] in JOB_FILES))
    if names[0] == "timestamps":
        return len(names) == 2 and re.fullmatch(r"[0-9a-f]{64}\.ts[qr]", names[1]) is not None
    return names[0] != "runs" or (
        len(names) in (4, 5) and names[-1] in ATTEMPT_FILES
    )  # a phase's folder is one level deeper


def _read_index(path: Path) -> tuple[dict[tuple[str, int], dict[str, Any]], Any]:
    """The index's entry for each attempt, and its counts."""
    try:
        data = json.loads(read_text(path) or "")
        return {(str(entry["run"]), int(entry["attempt"])): entry for entry in data["attempts"]}, data["counts"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return {}, None
