"""Checks the redundancy of a bundle's evidence: copies are compared, and what follows from the plan is
derived again.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import replace
from itertools import groupby
from pathlib import Path

from campaign import __version__
from campaign.core import bagit, journal
from campaign.core.bagit import Bag
from campaign.core.chain import Event, event_of
from campaign.core.errors import CampaignError, pass_on
from campaign.core.model import Attempt, Finding, Paths, Planned, Run, State
from campaign.core.strict_yaml import shown
from campaign.core.units import listed, utc
from campaign.evidence import provenance
from campaign.evidence.compared import first_difference, object_of, text_of
from campaign.evidence.replay import Judged
from campaign.judge.environment import CONTROLLER_S
from campaign.judge.evidence import BUNDLE
from campaign.judge.findings import Form, to_explain, unchecked, violation
from campaign.judge.submission import Submission
from campaign.slurm import script_text, scripts, submit

LONGEST_LINE = 200  # characters that are shown
# What a changed setting changes without changing what is executed: directives, counters, and the time limit of srun.
_SETTING = re.compile(r"#SBATCH |\s*campaign_count_by ")
_TIME_LIMIT = re.compile(r"(\bsrun .*?) --time=\S+")


def twice(data: Path, bag: Bag, judged: Judged, tool: str) -> Iterator[Finding]:
    """EVD-06, of a bundle. `tool`: the version that made it."""
    differences = (
        *_scripts(data, bag, judged.submission, tool),
        *_environments(data, judged),
        *_plan(data, judged),
        *_source(data, judged),
        *_bound(data, bag, judged.chain.ends if judged.chain else ()),
        *_challenged(judged.submission),
    )
    yield from dict.fromkeys(differences)


_SOURCE_DIFFERS = "source/benchmark.tar.gz belongs to no recorded build"


def _source(data: Path, judged: Judged) -> Iterator[Finding]:
    """The benchmark's source in the bundle is that of the recorded build."""
    if not (data / provenance.SOURCE).is_file():
        return
    recorded = {build.source_tree for build in judged.submission.sources.builds}
    try:
        found = provenance.source_in(data).hash
    except CampaignError as error:
        pass_on(error)
        yield violation(_SOURCE_DIFFERS, "an archive of the source", str(error).replace(f"{data}/", "")[:500])
        return
    if found not in recorded:
        yield violation(_SOURCE_DIFFERS, f"tree {', '.join(sorted(recorded))}", f"tree {found}")


def _ends(data: Path, places: Sequence[int]) -> Iterator[Event]:
    """The journal's events that begin at these offsets: ends of attempts."""
    if places:
        with (data / "results" / "journal.jsonl").open("rb") as file:
            for place in places:
                file.seek(place)
                if event := event_of(file.readline()):
                    yield event


def _bound(data: Path, bag: Bag, ends: Sequence[int]) -> Iterator[Finding]:
    """The raw outputs of successful attempts have the hashes that the journal recorded at their end."""
    bound = 0
    for event in _ends(data, ends):
        if event["state"] != State.DONE:
            continue
        attempt, written, ended = f"{event['run']}/{event['number']}", event["time"], event["ended"]
        if ended is not None and written < ended - CONTROLLER_S:
            yield violation(
                "the journal recorded the end of {attempt} earlier than the job's own record",
                f"after {utc(ended)}",
                utc(written),
                attempt=shown(attempt),
            )
        for name, digest in event.get("files", {}).items():
            place = f"results/runs/{attempt}/{name}"
            found = bag.digests.get(f"{bagit.PAYLOAD}{place}")
            bound += found is not None
            if found not in (None, digest):
                yield violation(
                    "{place} differs from the file whose hash the journal recorded at the end of the run",
                    digest,
                    found,
                    place=shown(place),
                )
    if not bound:
        yield unchecked("the journal has no hashes of the raw outputs")


def _challenged(whole: Submission) -> Iterator[Finding]:
    """Each attempt has the buyer's challenge in its name, so that its output is newer than the challenge."""
    challenge = journal.challenge(whole.campaign.nonce)
    without = [attempt for attempt in whole.attempts if not attempt.token.startswith(challenge)]
    if without:
        named = listed(f"{attempt.run}/{attempt.number}" for attempt in without)
        yield violation(
            "attempts without the buyer's challenge in their names: {attempts}",
            f"{challenge}…",
            without[0].token,
            attempts=named,
        )


def _scripts(data: Path, bag: Bag, whole: Submission, tool: str) -> Iterator[Finding]:
    """Each job's script is, line by line, the one rendered from the plan; and so are its copies."""
    jobs: dict[str, list[Attempt]] = {}
    for attempt in whole.attempts:
        jobs.setdefault(attempt.job, []).append(attempt)
    runs = {run.id: run for run in whole.all_runs}
    made = frozenset(runs[each.run].attempt_directory(each.token) for each in whole.attempts if each.run in runs)
    planned: dict[str, list[tuple[Attempt, Run]]] = {}  # by job, if its runs are those of the plan
    for job, attempts in jobs.items():
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
    if planned and tool != f"campaign {__version__}":
        yield unchecked(
            "campaign {own} cannot render the job scripts of {tool} again: verify with that version",
            about=BUNDLE,
            own=__version__,
            tool=tool,
        )
    elif planned and whole.campaign.slurm.template is not None:  # it is a program, and the vendor's is not run here
        yield unchecked(
            "job scripts from the vendor's own template (slurm.template) are not rendered again", about=BUNDLE
        )
    else:
        yield from _against_plan(data, planned, made, whole)


def _against_plan(
    data: Path, planned: Mapping[str, Sequence[tuple[Attempt, Run]]], made: Set[str], whole: Submission
) -> Iterator[Finding]:
    """Scripts with the same difference are one finding."""
    differing: dict[_Differing, list[str]] = {}
    for job, attempts in planned.items():
        place = f"jobs/{job}/job.sbatch"
        text = text_of(data / "results" / place) or ""  # one in memory at a time
        try:
            difference = _first_difference(text, _rendered(text, job, attempts, made, whole))
        except (CampaignError, ValueError) as error:
            pass_on(error)
            yield violation("{place}: cannot be rendered again: {why}", place=place, why=error)
            continue
        if difference is not None:
            differing.setdefault(difference, []).append(place)
    for (form, number, *texts), places in differing.items():
        yield form(
            "{places}: line {line} is not as campaign {version} renders it: the script was edited, or the vendor has "
            "another development state of {version} (then verify with that)",
            *texts,
            places=listed(places, 1),
            line=number,
            version=__version__,
        )


_Differing = tuple[Form, int, str, str]  # form of the finding, line, expected, found


def _first_difference(text: str, again: str) -> _Differing | None:
    if text.rstrip("\n") == again.rstrip("\n"):
        return None
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


def _environments(data: Path, judged: Judged) -> Iterator[Finding]:
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


def _plan(data: Path, judged: Judged) -> Iterator[Finding]:
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
                    shown(str(stored)[:LONGEST_LINE]),
                    run=name,
                )
