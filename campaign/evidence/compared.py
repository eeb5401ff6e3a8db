"""Compares the parts of a bundle: what is derived of its evidence and what follows from the plan is derived again, and
copies are compared with each other.
"""

from __future__ import annotations

import io
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import replace
from itertools import chain, groupby, islice, zip_longest
from pathlib import Path, PurePosixPath
from typing import Any

from campaign import __version__
from campaign.config.definition import digest_of_input
from campaign.core import bagit, journal, untrusted
from campaign.core.errors import CampaignError, InputError, pass_on
from campaign.core.grouping import grouped
from campaign.core.model import Attempt, Finding, Paths, Planned, Run, Severity, State
from campaign.core.strict_yaml import quoted
from campaign.core.units import listing, utc, without_padding
from campaign.evidence import bundle, provenance, replay
from campaign.judge import engine
from campaign.judge.findings import CAMPAIGN, Form, to_explain, unchecked, unchecked_by_buyer, violation
from campaign.judge.job_facts import CONTROLLER_S
from campaign.judge.job_records import changed_file
from campaign.judge.rule import bundle_rule
from campaign.judge.submission import Submission
from campaign.results.case import Case
from campaign.results.environment.facts import Accounting
from campaign.results.source import facts, modifications
from campaign.slurm import script_text, scripts, submit

LARGEST_TEXT = 16 << 20  # bytes of a text that is compared
MOST_SHOWN = 20  # problems of one kind
SHOWN_BEFORE = 30  # characters of a line shown before the difference
LARGEST_SCRIPT = 4 << 20  # characters of a job script that are compared
LONGEST_LINE = 200  # characters that are shown
# What a changed setting changes without changing what is executed: directives, counters, and the time limit of srun.
_SETTING = re.compile(r"#SBATCH |\s*campaign_count_by ")
_TIME_LIMIT = re.compile(r"(\bsrun .*?) --time=\S+")


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
        elif kept != again and (not name.endswith(".csv") or without_padding(kept) != without_padding(again)):
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
    said, other = (quoted(f"{'…' * (start > 0)}{line[start:].strip()}"[:120]) for line in lines)
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


def planned_otherwise(data: Path, bag: bagit.Bag, judged: replay.Evaluation) -> dict[str, str]:
    """Attempts whose description or job script does not fit the run in the recomputed plan."""
    differing: dict[str, str] = {}
    steps: dict[str, Mapping[str, Sequence[str]] | None] = {}  # by a script's hash: attempts of a job have the same one
    tokens = {job: {each.token for each in of_job} for job, of_job in _by_job(judged.submission).items()}
    runs = {run.id: run for run in judged.submission.all_runs}
    for attempt in judged.submission.attempts:
        run = runs.get(attempt.run)
        place = f"results/runs/{attempt.run}/{attempt.number}"
        if run is None or run.fingerprint != attempt.fingerprint:
            continue
        if (text := text_of(data / place / "attempt.json")) is not None:
            planned, recorded = scripts.described(run, attempt.number, attempt.token, attempt.job), object_of(text)
            if _other_version(judged.submission, attempt.job):
                planned = {key: value for key, value in planned.items() if key in recorded}
            wrong = next((key for key, value in planned.items() if recorded.get(key) != value), None)
            if wrong is not None:
                differing[f"{place}/attempt.json"] = (
                    f"{wrong} is {quoted(str(recorded.get(wrong))[:120])}; planned: {quoted(str(planned[wrong])[:120])}"
                )
        digest = bag.digests.get(f"{bagit.PAYLOAD}{place}/job.sbatch", "")
        if digest not in steps:
            script = text_of(data / place / "job.sbatch")
            steps[digest] = None if script is None else script_text.steps(script[:LARGEST_SCRIPT])
        there = steps[digest]
        if there is not None and not script_text.executes(there.get(attempt.token, ()), run, attempt.token):
            differing[f"{place}/job.sbatch"] = "the job script does not execute the planned command"
        elif there and (further := there.keys() - tokens[attempt.job]):
            differing[f"{place}/job.sbatch"] = f"it executes runs that the journal does not have: {listing(further)}"
    return differing


FOLDER = frozenset(
    {
        "attempt.json", "bench.jsonl", "claim", "completion.json", "count.bash", "counters.jsonl", "directory-made",
        "energy.txt", "environment.json", "inputs.txt", "job.sbatch",
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


@bundle_rule(
    "CMP-05",
    "the bundle contains every referenced log and nothing else; other attempts are listed in an index",
    why="extra or missing logs make it unclear which measurements the tables use",
    remedy="write the bundle again with 'campaign bundle' from the unchanged results directory",
    severity=Severity.WARNING,
)
def beside_tables(data: Path, bag: bagit.Bag, judged: replay.Evaluation) -> Iterator[Finding]:
    """The bundle's files compared with those that its tables reference."""
    problems = chain(_unsupported(data, bag, judged), _beyond(data, bag, judged))
    return map(to_explain, islice(problems, MOST_SHOWN))


def _unsupported(data: Path, bag: bagit.Bag, judged: replay.Evaluation) -> Iterator[str]:
    """Folders of attempts that no table refers to, and attempts that are missing in the index."""
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
        elif wanted.get(run) != recorded.fingerprint and folders[run, number] - set(bundle.ALWAYS_INCLUDED):
            yield f"results/runs/{run}/{number}: not referenced by any table"
    counted = bundle.counted_attempts(judged.submission.all_runs, judged.submission.attempts)
    listed, counts = _index(data / "index.json")
    for (run, attempt), recorded in sorted(known.items()):
        if (entry := listed.pop((run, attempt), None)) is None:
            yield f"index.json: attempt {attempt} of {run} is missing"
        # What it says of the files of an attempt that is not in the bundle is free.
        elif {**entry, "files": 0, "why": 0} != {**bundle.index_entry(recorded, counted), "files": 0, "why": 0}:
            yield f"index.json: attempt {attempt} of {run} differs from the journal"
    for run, attempt in sorted(listed):
        yield f"index.json: attempt {attempt} of {quoted(run)} is not in the journal"
    if counts != bundle.state_counts(judged.submission.attempts):
        yield "index.json: counts differ from the journal"


def _beyond(data: Path, bag: bagit.Bag, judged: replay.Evaluation) -> Iterator[str]:
    """Files that do not belong in a bundle."""
    fixed = {*replay.OUTPUTS, provenance.CRATE, provenance.SOURCE, "campaign.yaml", "names.json", "index.json"}
    named = {str(path.relative_to(data)) for path in judged.named_files.values()}
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
            yield f"{quoted(inner)}: not referenced by any table"


def _of_results(first: str, rest: Sequence[str], jobs: set[str]) -> bool:
    """Whether a file is one that a driver or a job writes below the results."""
    if first != "results" or not bundle.is_evidence(rest[0]):
        return False
    if rest[0] == "jobs":
        return rest[1] in jobs and len(rest) == 3 and rest[2] in JOB
    if rest[0] == "timestamps":
        return len(rest) == 2 and re.fullmatch(r"[0-9a-f]{64}\.ts[qr]", rest[1]) is not None
    return rest[0] != "runs" or (len(rest) in (4, 5) and rest[-1] in FOLDER)  # a phase's folder is one level deeper


def _index(path: Path) -> tuple[dict[tuple[str, int], dict[str, Any]], Any]:
    """The index's entry for each attempt, and its counts."""
    try:
        data = json.loads(text_of(path) or "")
        return {(str(kept["run"]), int(kept["attempt"])): kept for kept in data["attempts"]}, data["counts"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return {}, None


# --- EVD-06: copies, and what follows from the plan


def twice(data: Path, bag: bagit.Bag, judged: replay.Evaluation, tool: str) -> Iterator[Finding]:
    """EVD-06, of a bundle. `tool`: the version that made it."""
    differences = (
        *_scripts(data, bag, judged.submission),
        *_environments(data, judged),
        *_plan(data, judged),
        *_source(data, judged),
        *_modifications(data, judged.submission, tool),
        *_bound(data, bag, judged.chain.ends if judged.chain else ()),
        *_challenged(judged.submission),
    )
    yield from dict.fromkeys(differences)


def input_files(judged: replay.Evaluation) -> Iterator[Finding]:
    """INP-01, of a bundle: the input files in it are those that the runs had to read."""
    runs = judged.submission.all_runs
    for each in dict.fromkeys(given for run in runs for given in run.inputs):
        place = judged.named_files.get(Path(each.path))
        if place is not None and (found := digest_of_input(str(place))) != each.sha256:
            yield violation(
                "the copy of input {input} in the bundle is not the file of {by}",
                f"SHA-256 {each.sha256}",
                found or None,
                input=each.id,
                by=each.by,
                clause=each.clause,
            )


_SOURCE_DIFFERS = "source/benchmark.tar.gz belongs to no recorded build"


def _source(data: Path, judged: replay.Evaluation) -> Iterator[Finding]:
    """The benchmark's source in the bundle is that of the recorded build."""
    if not (data / provenance.SOURCE).is_file():
        return
    recorded = {build.source_tree for build in judged.submission.sources.builds}
    try:
        found = provenance.read_source(data).hash
    except CampaignError as error:
        pass_on(error)
        yield violation(_SOURCE_DIFFERS, "an archive of the source", str(error).replace(f"{data}/", "")[:500])
        return
    if found not in recorded:
        yield violation(_SOURCE_DIFFERS, f"tree {', '.join(sorted(recorded))}", f"tree {found}")


def _modifications(data: Path, whole: Submission, tool: str) -> Iterator[Finding]:
    """The files about the modifications follow from the comparison and from the builds' own records."""
    folder, sources = Path("results/source"), whole.sources
    again = {
        f"{folder / modifications.FACTS}": facts.as_text(sources),
        f"{folder / modifications.TEXT}": modifications.text(sources, whole.pack.build) + "\n",
    }
    for name, how in differing(data, again if tool == f"campaign {__version__}" else {}).items():
        yield violation("{name} differs from the records of the comparison and the builds: {how}", name=name, how=how)


def _bound(data: Path, bag: bagit.Bag, ends: Sequence[int]) -> Iterator[Finding]:
    """The raw outputs of successful attempts have the hashes that the journal recorded at their end. By the bag's own
    hashes: the times of its files are the buyer's, those of the journal the vendor's, and either clock may be wrong.
    """
    bound = 0
    for event in journal.events_at(data / "results" / "journal.jsonl", ends):
        if event["state"] != State.DONE:
            continue
        attempt, written, ended = f"{event['run']}/{event['number']}", event["time"], event["ended"]
        if ended is not None and written < ended - CONTROLLER_S:
            yield violation(
                "the journal recorded the end of {attempt} earlier than the job's own record",
                f"after {utc(ended)}",
                utc(written),
                attempt=quoted(attempt),
            )
        for name, digest in event.get("files", {}).items():
            place = f"results/runs/{attempt}/{name}"
            found = bag.digests.get(f"{bagit.PAYLOAD}{place}")
            bound += found is not None
            if found not in (None, digest):
                yield changed_file(place, digest, found)
    if not bound:
        yield unchecked("the journal has no hashes of the raw outputs")


def _challenged(whole: Submission) -> Iterator[Finding]:
    """Each attempt has the buyer's challenge in its name, so that its output is newer than the challenge."""
    challenge = journal.challenge(whole.campaign.nonce)
    without = [attempt for attempt in whole.attempts if not attempt.token.startswith(challenge)]
    if without:
        named = listing(f"{attempt.run}/{attempt.number}" for attempt in without)
        yield violation(
            "attempts without the buyer's challenge in their names: {attempts}",
            f"{challenge}…",
            without[0].token,
            attempts=named,
        )


def _by_job(whole: Submission) -> dict[str, list[Attempt]]:
    return grouped((attempt.job, attempt) for attempt in whole.attempts)


def _scripts(data: Path, bag: bagit.Bag, whole: Submission) -> Iterator[Finding]:
    """Each job's script is, line by line, the one rendered from the plan; and so are its copies."""
    runs = {run.id: run for run in whole.all_runs}
    made = frozenset(runs[each.run].attempt_directory(each.token) for each in whole.attempts if each.run in runs)
    planned: dict[str, list[tuple[Attempt, Run]]] = {}  # by job, if its runs are those of the plan
    for job, attempts in _by_job(whole).items():
        original = f"jobs/{job}/job.sbatch"
        if text_of(data / "results" / original) is None:
            continue
        results = f"{bagit.PAYLOAD}results/"
        for attempt in attempts:
            place = f"runs/{attempt.run}/{attempt.number}/job.sbatch"
            if bag.digests.get(results + place, bag.digests[results + original]) != bag.digests[results + original]:
                yield violation("{place} differs from {original}", place=place, original=original)
        if all(attempt.run in runs and runs[attempt.run].fingerprint == attempt.fingerprint for attempt in attempts):
            planned[job] = [(attempt, runs[attempt.run]) for attempt in attempts]
    if planned and whole.campaign.slurm.template is not None:  # it is a program, and the vendor's is not run here
        yield unchecked_by_buyer("job scripts from the vendor's own template (slurm.template) are not rendered again")
        return
    yield from _against_plan(data, planned, made, whole)


def _against_plan(
    data: Path, planned: Mapping[str, Sequence[tuple[Attempt, Run]]], made: Set[str], whole: Submission
) -> Iterator[Finding]:
    """Scripts with the same difference are one finding, and those of each other version."""
    differing: dict[_Differing, list[str]] = {}
    of_others: dict[str, list[tuple[str, str, str]]] = {}
    failing: dict[tuple[str, str], list[str]] = {}  # by the other version and the reason
    for job, attempts in planned.items():
        place, origin = f"jobs/{job}/job.sbatch", _other_version(whole, job)
        text = text_of(data / "results" / place) or ""  # one in memory at a time
        try:
            again = _rendered(text, job, attempts, made, whole)
        except (CampaignError, ValueError) as error:
            pass_on(error)
            if origin:
                failing.setdefault((origin, str(error)), []).append(place)
            else:
                yield violation("{place}: cannot be rendered again: {why}", place=place, why=error)
            continue
        if text.rstrip("\n") == again.rstrip("\n"):
            continue
        if origin:
            of_others.setdefault(origin, []).append((place, *_unplanned(text, again)))
        else:
            differing.setdefault(_script_difference(text, again), []).append(place)
    for (form, number, *texts), places in differing.items():
        yield form(
            "{places}: line {line} is not as campaign {version} renders it, which the journal names: the script was "
            "edited",
            *texts,
            places=listing(places, 1),
            line=number,
            version=__version__,
        )
    for origin, found in of_others.items():
        unplanned = next((texts for _, *texts in found if any(texts)), None)
        yield unchecked_by_buyer(
            "{places}: {origin} rendered the job script, so that campaign {version} cannot compare each line: verify "
            "with that version; its options and commands are {those} of the plan",
            *(unplanned or ()),
            places=listing([place for place, *_ in found], 1),
            origin=origin,
            those="not those" if unplanned else "those",
            version=__version__,
        )
    for (origin, why), places in failing.items():
        yield unchecked_by_buyer(
            "{places}: {origin} rendered the job script, and campaign {version} cannot render it again ({why}): verify "
            "with that version",
            places=listing(places, 1),
            origin=origin,
            why=why,
            version=__version__,
        )


def _other_version(whole: Submission, job: str) -> str:
    """Which other version rendered a job's script, by what the journal records; "" if this one did."""
    version, templates = (whole.journal.rendered if whole.journal else {}).get(job, ("", ""))
    if not version:
        return "a version that the journal does not name"
    if version != __version__:
        return f"campaign {quoted(version, plain=True)}"
    return "" if templates == scripts.rendered_by()[1] else f"another development state of campaign {version}"


def _unplanned(text: str, again: str) -> tuple[str, str]:
    """The options and commands that a script lacks, and those that it has beyond the planned ones."""
    found, expected = (
        Counter((*script_text.directives(each), *(command.raw for command in script_text.commands(each))))
        for each in (text, again)
    )
    lacking, added = (listing(lines.elements(), 1)[:LONGEST_LINE] for lines in (expected - found, found - expected))
    return lacking, added


_Differing = tuple[Form, int, str, str]  # form of the finding, line, expected, found


def _script_difference(text: str, again: str) -> _Differing:
    number, *lines = first_difference(f"{text}\n", f"{again}\n")
    kept, planned = (line.rstrip("\n")[:LONGEST_LINE] or "no such line" for line in lines)
    found, expected = (
        Counter(_TIME_LIMIT.sub(r"\1", line, count=1) for line in each.split("\n")) for each in (text, again)
    )
    others = (found - expected) + (expected - found)
    return to_explain if all(map(_SETTING.match, others)) else violation, number, planned, kept


def _rendered(text: str, job: str, attempts: Sequence[tuple[Attempt, Run]], made: Set[str], whole: Submission) -> str:
    """Render the script of a job. Where the results were, and which machine submitted it, is only in the script itself;
    it must remove no directories other than those that runs of the campaign `made`.
    """
    folder, _, _ = script_text.directive(text, "chdir").rpartition("/jobs/")
    if not folder:
        raise ValueError("no #SBATCH --chdir in it")
    said = [command.words for command in script_text.commands(text)]
    here = next((words[1:] for words in said if words[0] == "campaign_submitted_from"), ())
    removed = ((*words[1:], "") for words in said if words[0] == "campaign_remove_stale" and len(words) > 1)
    paths = Paths(Path(folder))
    steps = [
        Planned(run, attempt.number, attempt.token, paths.attempt(attempt.run, attempt.number))
        for attempt, run in sorted(attempts, key=lambda pair: text.find(pair[0].token))
    ]
    stale = {where: inode for where, inode, *_ in removed if where in made and re.fullmatch("[0-9]*", inode)}
    steps[0] = replace(steps[0], stale=stale)
    witness = next((words[1] for words in said if words[0] == script_text.BEGIN and len(words) > 1), "")
    boot, seen = here if len(here) == 2 else ("", "")
    return scripts.rendered(submit.script_of(whole.campaign, whole.pack, job, paths, steps, boot, seen, witness))


def _environments(data: Path, judged: replay.Evaluation) -> Iterator[Finding]:
    """An attempt's environment is its job's, except for the attempt's own fields."""
    for job, attempts in groupby(judged.submission.attempts, lambda attempt: attempt.job):
        original = f"jobs/{job}/environment.json"
        if (text := text_of(data / "results" / original)) is None:
            continue
        of_job = object_of(text)
        for attempt in attempts:
            place = f"runs/{attempt.run}/{attempt.number}/environment.json"
            if (copy := text_of(data / "results" / place)) is None:
                continue
            entries = object_of(copy).items()
            if {key: value for key, value in entries if key not in ("made", "before", "after", "ran")} != of_job:
                yield violation("{place} differs from {original}", place=place, original=original)


def _plan(data: Path, judged: replay.Evaluation) -> Iterator[Finding]:
    """The command lines in plan.json are those of the recomputed plan."""
    runs = {run.id: run for run in judged.submission.runs}
    kept = object_of(text_of(data / "results" / "plan.json") or "").get("runs")
    for entry in kept if isinstance(kept, list) else ():
        name = entry.get("run") if isinstance(entry, dict) else None
        if not isinstance(name, str) or name not in runs:
            continue
        for key, planned in scripts.command_lines(runs[name], "TOKEN").items():
            if (stored := entry.get(key)) != planned:
                expected = " ".join(planned) if key == "argv" else str(planned)[:LONGEST_LINE]
                yield violation(
                    "the command line of {run} differs between plan.json and the plan",
                    expected,
                    quoted(str(stored)[:LONGEST_LINE]),
                    run=name,
                )


# --- EVD-06: Slurm's accounting as the buyer has it, which the vendor cannot have written

# Its columns, by the names that scontrol has for them.
_COLUMNS = {
    "JobIDRaw": "JobId", "JobName": "JobName", "State": "JobState", "Start": "StartTime", "End": "EndTime",
    "NodeList": "NodeList", "WorkDir": "WorkDir",
}  # fmt: skip
# With a column that may be missing.
SACCT = f"SLURM_TIME_FORMAT=%s sacct --parsable2 --format={','.join(_COLUMNS)},Suspended --starttime=… --endtime=…"


def accounting(path: Path) -> list[dict[str, str]]:
    """The jobs, and their steps, in the output of SACCT. Raises InputError."""
    names, *lines = untrusted.text(str(path), path.read_bytes(), f"the output of {SACCT}").splitlines() or [""]
    rows = [dict(zip(names.split("|"), line.split("|"), strict=False)) for line in lines]
    for number, row in enumerate(rows or [{}], 2):
        if not _COLUMNS.keys() <= row.keys() or not re.fullmatch("[0-9]{1,12}|None|Unknown", row["Start"]):
            raise InputError(f"{path}:{number}: not a line with these columns and times: {SACCT}")
    return rows


def by_accounting(rows: Sequence[Mapping[str, str]], whole: Submission) -> Iterator[Finding]:
    """The jobs of the journal are in the accounting, and the records of their runs fit it as the rules demand."""
    ordered = sorted(rows, key=lambda row: "." in row["JobIDRaw"])  # jobs before their steps
    of_jobs = grouped((row["JobIDRaw"].partition(".")[0], row) for row in ordered)
    jobs = {attempt.job_id or "": attempt.job for attempt in whole.attempts}
    for job_id in jobs.keys() - of_jobs.keys() - {""}:
        yield violation("job {job} is not in the accounting that you gave", jobs[job_id], None, job=job_id)
    folders = {PurePosixPath(row["WorkDir"]).parent for job_id in jobs for row in of_jobs.get(job_id, ())[:1]}
    beside = [(job_id, row["WorkDir"]) for job_id, (row, *_) in of_jobs.items() if job_id not in jobs]
    if others := [job_id for job_id, folder in beside if PurePosixPath(folder).parent in folders]:
        yield to_explain(
            "the accounting that you gave has jobs of this campaign that are not in its journal",
            "only jobs of the journal",
            listing(others),
        )
    results = tuple(_accounted(case, of_jobs.get(case.attempt.job_id or "", ())) for case in whole.results)
    again = engine.by_rules(engine.RULES, {"EVD-07"}, replace(whole, results=results), CAMPAIGN)
    before = {
        (each.subject, each.message) for each in chain(whole.findings, *(case.findings for case in whole.results))
    }
    for each in chain(again, *map(engine.judge, results)):
        if each.checked and each.severity is not Severity.INFO and (each.subject, each.message) not in before:
            yield replace(each, wording=f"by the accounting that you gave: {each.wording}")


def _accounted(case: Case, rows: Sequence[Mapping[str, str]]) -> Case:
    """An attempt with these rows as Slurm's record of its job."""
    job = {name: rows[0][column].partition(" by ")[0] for column, name in _COLUMNS.items()} if rows else {}
    accounted = Accounting(0.0, job, True, tuple(rows))
    return replace(case, evidence=replace(case.evidence, accounting=accounted)) if rows else case
