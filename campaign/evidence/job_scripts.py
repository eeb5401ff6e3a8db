"""Compares the job scripts and command lines in a bundle with those of the recomputed plan."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from pathlib import Path

from campaign import __version__
from campaign.core import bagit
from campaign.core.errors import CampaignError, reraise_machine_problem
from campaign.core.findings import Finding
from campaign.core.grouping import grouped
from campaign.core.paths import Paths
from campaign.core.runs import Attempt, Planned, Run
from campaign.core.strict_yaml import quoted
from campaign.core.units import listing
from campaign.core.workers import results_in_order
from campaign.evidence import replay
from campaign.evidence.derived_files import first_difference, json_object, read_text
from campaign.judge.findings import Form, to_explain, unchecked_by_buyer, violation
from campaign.judge.submission import Submission
from campaign.slurm import script_text, scripts, submit

LARGEST_SCRIPT = 4 << 20  # characters of a job script that are compared
LONGEST_LINE = 200  # characters that are shown
# What a changed setting changes without changing what is executed: directives, counters, and the time limit of srun.
_SETTING_LINE = re.compile(r"#SBATCH |\s*campaign_count_by ")
_TIME_LIMIT = re.compile(r"(\bsrun .*?) --time=\S+")
_Differing = tuple[Form, int, str, str]  # form of the finding, line, expected, found


@dataclass(frozen=True, slots=True)
class _Compared:
    """A job's script compared with the planned one: `failure` to render that, `unplanned` options and commands, or the
    first `difference`.
    """

    failure: str = ""
    unplanned: tuple[str, str] | None = None
    difference: _Differing | None = None


def unplanned_attempts(data: Path, bag: bagit.Bag, evaluation: replay.Evaluation) -> dict[str, str]:
    """Attempts whose description or job script does not fit the run in the recomputed plan."""
    differences: dict[str, str] = {}
    steps: dict[str, Mapping[str, Sequence[str]] | None] = {}  # by a script's hash: attempts of a job have the same one
    tokens = {
        job: {attempt.token for attempt in attempts}
        for job, attempts in _attempts_by_job(evaluation.submission).items()
    }
    runs = {run.id: run for run in evaluation.submission.all_runs}
    for attempt in evaluation.submission.attempts:
        run = runs.get(attempt.run)
        place = f"results/runs/{attempt.run}/{attempt.number}"
        if run is None or run.fingerprint != attempt.fingerprint:
            continue
        if (text := read_text(data / place / "attempt.json")) is not None:
            planned, stored = scripts.attempt_record(run, attempt.number, attempt.token, attempt.job), json_object(text)
            if _other_version(evaluation.submission, attempt.job):
                planned = {key: value for key, value in planned.items() if key in stored}
            different_key = next((key for key, value in planned.items() if stored.get(key) != value), None)
            if different_key is not None:
                texts = [quoted(str(record.get(different_key))[:120]) for record in (stored, planned)]
                differences[f"{place}/attempt.json"] = f"{different_key} is {texts[0]}; planned: {texts[1]}"
        digest = bag.digests.get(f"{bagit.PAYLOAD}{place}/job.sbatch", "")
        if digest not in steps:
            script = read_text(data / place / "job.sbatch")
            steps[digest] = None if script is None else script_text.steps(script[:LARGEST_SCRIPT])
        job_steps, token = steps[digest], attempt.token
        if job_steps is not None and not script_text.executes(job_steps.get(token, ()), run, token):
            differences[f"{place}/job.sbatch"] = "the job script does not execute the planned command"
        elif job_steps and (unknown := job_steps.keys() - tokens[attempt.job]):
            differences[f"{place}/job.sbatch"] = f"it executes runs that the journal does not have: {listing(unknown)}"
    return differences


def _attempts_by_job(submission: Submission) -> dict[str, list[Attempt]]:
    """The attempts of each job, by the job's name."""
    return grouped((attempt.job, attempt) for attempt in submission.attempts)


def check_scripts(data: Path, bag: bagit.Bag, submission: Submission) -> Iterator[Finding]:
    """Each job's script is, line by line, the one rendered from the plan; and so are its copies."""
    runs = {run.id: run for run in submission.all_runs}
    submitted = [(runs[attempt.run], attempt) for attempt in submission.attempts if attempt.run in runs]
    directories = frozenset(run.attempt_directory(attempt.token) for run, attempt in submitted)
    planned: dict[str, list[tuple[Attempt, Run]]] = {}  # by job, if its runs are those of the plan
    for job, attempts in _attempts_by_job(submission).items():
        original = f"jobs/{job}/job.sbatch"
        if read_text(data / "results" / original) is None:
            continue
        results = f"{bagit.PAYLOAD}results/"
        for attempt in attempts:
            place = f"runs/{attempt.run}/{attempt.number}/job.sbatch"
            if bag.digests.get(results + place, bag.digests[results + original]) != bag.digests[results + original]:
                yield violation("{place} differs from {original}", place=place, original=original)
        if all(attempt.run in runs and runs[attempt.run].fingerprint == attempt.fingerprint for attempt in attempts):
            planned[job] = [(attempt, runs[attempt.run]) for attempt in attempts]
    if planned and submission.campaign.slurm.template is not None:  # it is a program, and the vendor's is not run here
        yield unchecked_by_buyer("job scripts from the vendor's own template (slurm.template) are not rendered again")
    else:
        yield from _compare_with_plan(data, planned, directories, submission)


def _compare_with_plan(
    data: Path,
    planned: Mapping[str, Sequence[tuple[Attempt, Run]]],
    directories: Set[str],
    submission: Submission,
) -> Iterator[Finding]:
    """Scripts with the same difference are one finding, and so are those of each other version. `planned`: attempts and
    runs by job; `directories`: what `_render_again` may remove.
    """
    differences: dict[_Differing, list[str]] = {}
    of_others: dict[str, list[tuple[str, str, str]]] = {}
    failing: dict[tuple[str, str], list[str]] = {}  # by the other version and the reason
    jobs = list(planned)

    def compare(job: str) -> _Compared:
        return _compare_script(data, job, planned[job], directories, submission)

    for job, compared in zip(jobs, results_in_order(compare, jobs, str, "comparing job scripts"), strict=True):
        place, origin = f"jobs/{job}/job.sbatch", _other_version(submission, job)
        if compared.failure and origin:
            failing.setdefault((origin, compared.failure), []).append(place)
        elif compared.failure:
            yield violation("{place}: cannot be rendered again: {why}", place=place, why=compared.failure)
        elif compared.unplanned:
            of_others.setdefault(origin, []).append((place, *compared.unplanned))
        elif compared.difference:
            differences.setdefault(compared.difference, []).append(place)
    for (form, number, *texts), places in differences.items():
        yield form(
            "{places}: line {line} is not as campaign {version} renders it, which the journal names: the script was "
            "edited",
            *texts,
            places=listing(places, 1),
            line=number,
            version=__version__,
        )
    for origin, scripts_of_version in of_others.items():
        unplanned = next((texts for _, *texts in scripts_of_version if any(texts)), None)
        yield unchecked_by_buyer(
            "{places}: {origin} rendered the job script, so that campaign {version} cannot compare each line: verify "
            "with that version; its options and commands are {those} of the plan",
            *(unplanned or ()),
            places=listing([place for place, *_ in scripts_of_version], 1),
            origin=origin,
            those="not those" if unplanned else "those",
            version=__version__,
        )
    for (origin, reason), places in failing.items():
        yield unchecked_by_buyer(
            "{places}: {origin} rendered the job script, and campaign {version} cannot render it again ({why}): verify "
            "with that version",
            places=listing(places, 1),
            origin=origin,
            why=reason,
            version=__version__,
        )


def _compare_script(
    data: Path, job: str, attempts: Sequence[tuple[Attempt, Run]], directories: Set[str], submission: Submission
) -> _Compared:
    """Compare a job's script with the planned one; by its options and commands if another version rendered it."""
    text = read_text(data / "results" / "jobs" / job / "job.sbatch") or ""
    try:
        planned_text = _render_again(text, job, attempts, directories, submission)
    except (CampaignError, ValueError) as error:
        reraise_machine_problem(error)
        return _Compared(failure=str(error))
    if text.rstrip("\n") == planned_text.rstrip("\n"):
        return _Compared()
    if _other_version(submission, job):
        return _Compared(unplanned=_unplanned_commands(text, planned_text))
    return _Compared(difference=_script_difference(text, planned_text))


def _other_version(submission: Submission, job: str) -> str:
    """Which other version rendered a job's script, by what the journal records; "" if this one did."""
    version, templates = (submission.journal.rendered if submission.journal else {}).get(job, ("", ""))
    if not version:
        return "a version that the journal does not name"
    if version != __version__:
        return f"campaign {quoted(version, plain=True)}"
    return "" if templates == scripts.rendered_by()[1] else f"another development state of campaign {version}"


def _unplanned_commands(text: str, planned_text: str) -> tuple[str, str]:
    """The options and commands that a script lacks, and those that it has beyond the planned ones."""
    script_lines, planned_lines = (
        Counter((*script_text.directives(source), *(command.raw for command in script_text.commands(source))))
        for source in (text, planned_text)
    )
    lacking, added = (
        listing(lines.elements(), 1)[:LONGEST_LINE]
        for lines in (planned_lines - script_lines, script_lines - planned_lines)
    )
    return lacking, added


def _script_difference(text: str, planned_text: str) -> _Differing:
    """The first line that differs, and whether only settings do, which is to be explained."""
    number, *lines = first_difference(f"{text}\n", f"{planned_text}\n")
    line_found, planned_line = (line.rstrip("\n")[:LONGEST_LINE] or "no such line" for line in lines)
    script_lines, planned_lines = (
        Counter(_TIME_LIMIT.sub(r"\1", line, count=1) for line in source.split("\n")) for source in (text, planned_text)
    )
    changed_lines = (script_lines - planned_lines) + (planned_lines - script_lines)
    return to_explain if all(map(_SETTING_LINE.match, changed_lines)) else violation, number, planned_line, line_found


def _render_again(
    text: str, job: str, attempts: Sequence[tuple[Attempt, Run]], directories: Set[str], submission: Submission
) -> str:
    """Render the script of a job. Where the results were, and which machine submitted it, is only in the script itself;
    it must remove none but `directories`, those of attempts of the campaign.
    """
    folder, _, _ = script_text.directive(text, "chdir").rpartition("/jobs/")
    if not folder:
        raise ValueError("no #SBATCH --chdir in it")
    commands = [command.words for command in script_text.commands(text)]
    submitter = next((words[1:] for words in commands if words[0] == "campaign_submitted_from"), ())
    removed = ((*words[1:], "") for words in commands if words[0] == "campaign_remove_stale" and len(words) > 1)
    paths = Paths(Path(folder))
    steps = [
        Planned(run, attempt.number, attempt.token, paths.attempt(attempt.run, attempt.number))
        for attempt, run in sorted(attempts, key=lambda pair: text.find(pair[0].token))
    ]
    stale = {where: inode for where, inode, *_ in removed if where in directories and re.fullmatch("[0-9]*", inode)}
    steps[0] = replace(steps[0], stale=stale)
    witness = next((words[1] for words in commands if words[0] == script_text.BEGIN and len(words) > 1), "")
    boot, seen = submitter if len(submitter) == 2 else ("", "")
    return scripts.render_template(
        submit.script_of(submission.campaign, submission.pack, job, paths, steps, boot, seen, witness)
    )


def check_command_lines(data: Path, evaluation: replay.Evaluation) -> Iterator[Finding]:
    """The command lines in plan.json are those of the recomputed plan."""
    runs = {run.id: run for run in evaluation.submission.runs}
    entries = json_object(read_text(data / "results" / "plan.json") or "").get("runs")
    for entry in entries if isinstance(entries, list) else ():
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
