"""Compares the other parts of a bundle with what follows from its evidence."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any

from campaign import __version__
from campaign.core import bagit
from campaign.core.bagit import Bag
from campaign.core.errors import pass_on
from campaign.core.strict_yaml import shown
from campaign.evidence import bundle, crate, provenance, replay
from campaign.evidence.replay import Judged
from campaign.slurm import script_text, scripts

LARGEST_TEXT = 16 << 20  # bytes of a text that is compared
SHOWN_BEFORE = 30  # characters of a line shown before the difference
LARGEST_SCRIPT = 4 << 20  # characters of a job script that are compared


def text_of(path: Path, most: int = LARGEST_TEXT) -> str | None:
    """None if it does not exist, is not UTF-8, or is larger than any file that is compared."""
    try:
        return path.read_bytes().decode("utf-8") if path.stat().st_size <= most else None
    except UnicodeDecodeError:
        return None
    except OSError as error:
        pass_on(error)
        return None


def differing(data: Path, rederived: Mapping[str, str]) -> dict[str, str]:
    """Files that differ when derived again, with the first differing line."""
    differing: dict[str, str] = {}
    for name, again in rederived.items():
        kept = text_of(data / name, LARGEST_TEXT + len(again.encode()))
        if kept is None:
            differing[name] = "missing from the bundle, or not UTF-8"
        elif kept != again:
            differing[name] = _first_difference(kept, again)
    return differing


def first_difference(kept: str, again: str) -> tuple[int, str, str]:
    """The number of the first line that differs, and the line in both texts: "" behind the end of one."""
    lines = (io.StringIO(text, newline="\n") for text in (kept, again))
    pairs = enumerate(zip_longest(*lines, fillvalue=""), 1)
    return next((number, left, right) for number, (left, right) in pairs if left != right)


def _first_difference(kept: str, again: str) -> str:
    number, *lines = first_difference(kept, again)
    if "" in lines:
        found, expected = (text.count("\n") + 1 for text in (kept, again))
        return f"it has {found} lines; re-evaluated it has {expected}"
    first = next(place for place, (left, right) in enumerate(zip_longest(*lines)) if left != right)
    start = max(0, first - SHOWN_BEFORE)
    said, other = (shown(f"{'…' * (start > 0)}{line[start:].strip()}"[:120]) for line in lines)
    return f"line {number} is {said}; re-evaluated it is {other}"


_NUMBER = ("target", "launch", "files", "operation", "value", "unit", "processes", "nodes", "run", "attempt", "source")


def is_earlier(tool: str) -> bool:
    """Whether an earlier version of this program made the bundle, whose texts may differ."""
    return bool(re.fullmatch(r"campaign \d+\.\d+\.\d+", tool)) and _numbers(tool) < _numbers(__version__)


def _numbers(version: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", version)]


def same_numbers(data: Path, rederived: Mapping[str, str]) -> bool:
    """Whether both tables have the same numbers from the same log lines, whatever else differs."""
    name = "tables/table.json"
    try:
        kept, again = (
            [[cell[key] for key in _NUMBER] for cell in json.loads(table)]
            for table in (text_of(data / name) or "", rederived[name])
        )
    except (ValueError, TypeError, KeyError, RecursionError):
        return False
    return kept == again


def planned_otherwise(data: Path, bag: Bag, judged: Judged) -> dict[str, str]:
    """Attempts whose description or job script does not fit the run in the recomputed plan."""
    differing: dict[str, str] = {}
    steps: dict[str, Mapping[str, Sequence[str]] | None] = {}  # by a script's hash: attempts of a job have the same one
    runs = {run.id: run for run in judged.submission.all_runs}
    for attempt in judged.submission.attempts:
        run = runs.get(attempt.run)
        place = f"results/runs/{attempt.run}/{attempt.number}"
        if run is None or run.fingerprint != attempt.fingerprint:
            continue
        if (text := text_of(data / place / "attempt.json")) is not None:
            planned, recorded = scripts.described(run, attempt.number, attempt.token, attempt.job), object_of(text)
            wrong = next((key for key, value in planned.items() if recorded.get(key) != value), None)
            if wrong is not None:
                differing[f"{place}/attempt.json"] = (
                    f"{wrong} is {shown(str(recorded.get(wrong))[:120])}; planned: {shown(str(planned[wrong])[:120])}"
                )
        digest = bag.digests.get(f"{bagit.PAYLOAD}{place}/job.sbatch", "")
        if digest not in steps:
            script = text_of(data / place / "job.sbatch")
            steps[digest] = None if script is None else script_text.steps(script[:LARGEST_SCRIPT])
        there = steps[digest]
        if there is not None and not script_text.executes(there.get(attempt.token, ()), run, attempt.token):
            differing[f"{place}/job.sbatch"] = "the job script does not execute the planned command"
    return differing


FOLDER = frozenset(
    {
        "attempt.json", "bench.jsonl", "claim", "completion.json", "count.bash", "counters.jsonl", "directory-made",
        "environment.json", "job.sbatch",
        "placement.err", "placement.txt", "ran.txt", "stderr", "stdout",
    }
)  # fmt: skip
JOB = frozenset({"accounting.json", "environment.json", "job.sbatch", "stderr", "stdout", "waiting"})


def object_of(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def unsupported(data: Path, bag: Bag, judged: Judged) -> Iterator[str]:
    """CMP-05: folders of attempts that no table refers to, and attempts that are missing in the index."""
    known = {(attempt.run, attempt.number): attempt for attempt in judged.submission.attempts}
    wanted = {run.id: run.fingerprint for run in judged.submission.all_runs}
    folders: dict[tuple[str, str], set[str]] = {}
    for name in bag.digests:
        parts = name.split("/")
        if parts[:3] == ["data", "results", "runs"] and len(parts) > 5:
            folders.setdefault((parts[3], parts[4]), set()).add(parts[5])
    journal = judged.submission.journal
    told = {name for event in (journal.recovered if journal else ()) for name in event["unnamed"]}  # by EVD-02
    for run, number in sorted(folders):
        recorded = known.get((run, int(number))) if number.isdigit() else None
        if recorded is None and f"{run}/{number}" in told:
            continue
        if recorded is None:
            yield f"results/runs/{run}/{number}: not in the journal: no such attempt was submitted"
        elif wanted.get(run) != recorded.fingerprint and folders[run, number] - set(bundle.ALWAYS):
            yield f"results/runs/{run}/{number}: not referenced by any table"
    counted = bundle.counted_attempts(judged.submission.all_runs, judged.submission.attempts)
    listed, counts = _index(data / "index.json")
    for (run, attempt), recorded in sorted(known.items()):
        if (run, attempt) not in listed:
            yield f"index.json: attempt {attempt} of {run} is missing"
        elif _as_recorded(listed.pop((run, attempt))) != bundle.entry_of(recorded, counted):
            yield f"index.json: attempt {attempt} of {run} differs from the journal"
    for run, attempt in sorted(listed):
        yield f"index.json: attempt {attempt} of {shown(run)} is not in the journal"
    if counts != bundle.counts(judged.submission.attempts):
        yield "index.json: counts differ from the journal"


def beyond(data: Path, bag: Bag, judged: Judged) -> Iterator[str]:
    """CMP-05: files that do not belong in a bundle."""
    fixed = {*replay.OUTPUTS, crate.NAME, provenance.SOURCE, "campaign.yaml", "names.json", "index.json"}
    named = {str(path.relative_to(data)) for path in judged.files_named.values()}
    jobs = {attempt.job for attempt in judged.submission.attempts}
    for name in sorted(bag.digests):
        if not name.startswith(bagit.PAYLOAD):
            continue
        inner = name.removeprefix(bagit.PAYLOAD)
        first, *rest = inner.split("/")
        if not (
            _of_results(first, rest, jobs)
            or inner in fixed | named
            or (first in ("rules", provenance.FOLDER) and len(rest) == 1)
        ):
            yield f"{shown(inner)}: not referenced by any table"


def _of_results(first: str, rest: Sequence[str], jobs: set[str]) -> bool:
    """Whether a file is one that a driver or a job writes below the results."""
    if first != "results" or not bundle.is_evidence(rest[0]):
        return False
    if rest[0] == "jobs":
        return rest[1] in jobs and len(rest) == 3 and rest[2] in JOB
    return rest[0] != "runs" or (len(rest) in (4, 5) and rest[-1] in FOLDER)  # a phase's folder is one level deeper


def _index(path: Path) -> tuple[dict[tuple[str, int], dict[str, Any]], Any]:
    """The index's entry for each attempt, and its counts."""
    try:
        data = json.loads(text_of(path) or "")
        return {(str(kept["run"]), int(kept["attempt"])): kept for kept in data["attempts"]}, data["counts"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return {}, None


def _as_recorded(entry: Mapping[str, Any]) -> dict[str, Any]:
    """An entry of the index as `bundle.entry_of` gives it: what it says of files that are not in the bundle is free."""
    return {key: value for key, value in entry.items() if key not in ("files", "why")}
