"""The straight line: plan -> submit what is missing -> follow -> collect -> judge -> table. Every stage does only
what is missing.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from campaign.config.opened import Opened
from campaign.core.errors import UnknownState
from campaign.core.model import Attempt, Observation, Run, State
from campaign.pipeline import plan as planning
from campaign.pipeline.plan import Plan
from campaign.pipeline.request import Request, preflight
from campaign.pipeline.standing import Say, follower_of, standing
from campaign.plan import matrix
from campaign.plan import searches as searching
from campaign.results.case import Case
from campaign.results.cells import Row
from campaign.results.source import record as sources
from campaign.results.store import Records, Store
from campaign.slurm import commands
from campaign.slurm.collect import Follower
from campaign.slurm.submit import send

FOLLOW_S = (0.1, 1.0)  # shortest and longest pause between two looks at the jobs' records
MAX_SENDS = 3  # tries at a submission of which Slurm turned out to know nothing


@dataclass(frozen=True, slots=True)
class Progress:
    """What a display needs of a campaign under way."""

    runs: Sequence[Run]
    attempts: dict[str, list[Attempt]]  # by run


class Display(Protocol):
    """Where a driver tells what happens, and shows how far its runs are."""

    def say(self, text: str) -> None: ...

    def show(self, progress: Progress) -> None: ...


@dataclass(frozen=True, slots=True)
class Driver:
    """A driver at work on one campaign."""

    opened: Opened
    store: Store
    display: Display


def run(opened: Opened, request: Request, display: Display) -> list[Row]:
    """Submit what is missing and follow it to the end; gives the rows of the chosen cells."""
    campaign, pack = opened.campaign, opened.pack
    request.check(matrix.cells(campaign, pack))
    planned = preflight(opened, planning.plan(opened, may_submit=True), request)
    compared = sources.compare(campaign)
    with Store(opened.paths) as store:
        driver = Driver(opened, store, display)
        store.begin(nonce=campaign.nonce, campaign=campaign.name, rules=[pack.id, pack.version, pack.digest])
        planning.write(opened, planned)
        sources.keep_build(campaign, opened.paths)
        sources.keep(opened.paths, compared)
        planned = _search(driver, planned, request)
        planned = _measure(driver, planned, request)
        rows = standing(opened, planned, store).rows
    return [row for row in rows if request.means(row.cell)]


def _search(driver: Driver, planned: Plan, request: Request) -> Plan:
    """Measure what the searches of the chosen cells ask for, until they are decided; gives the plan with the counts.

    A search that does not come further is left for the next time. With `detach`, one round is submitted.
    """
    opened, say = driver.opened, driver.display.say
    said: set[str] = set()
    before: dict[str, int] = {}
    follower_of(opened, driver.store, say).step()
    while planned.searches:
        planned = planning.again(opened, planned)
        planning.write(opened, planned)
        for search in planned.searches:
            if search.decision and search.sought.key not in said:
                said.add(search.sought.key)
                say(f"search {search.sought.key}: {search.decision.reason}")
        wanted = request.chosen(opened.campaign, [run for search in planned.searches for run in search.wanted])
        wanted = list({run.id: run for run in wanted}.values())
        tried = {
            run: sum(attempt.state in searching.OWN_ENDS for attempt in attempts)
            for run, attempts in matrix.attempts_by_run(wanted, driver.store.attempts()).items()
        }
        if tried and all(before.get(run) == number for run, number in tried.items()):
            say(f"the search does not come further: {next(iter(tried))} was not executed; run again")
            break
        if not tried:
            break
        # Attempts that ended without a rate are made anew: only the search knows when there were enough.
        before = tried
        _submit_and_follow(driver, wanted, replace(request, again=True))
        if request.detach:
            break
    return planned


def _measure(driver: Driver, planned: Plan, request: Request) -> Plan:
    """Measure what cells report, with as many repetitions as their interval needs; gives the plan with all of them."""
    while True:
        _submit_and_follow(driver, request.chosen(driver.opened.campaign, planned.runs), request)
        later = planning.again(driver.opened, planned)
        if request.detach or later.runs == planned.runs:
            return planned
        more = len(later.runs) - len(planned.runs)
        driver.display.say(f"{more} more repetitions: intervals are wider than repetitions.width")
        planned, request = later, replace(request, again=False)
        planning.write(driver.opened, planned)


def _submit_and_follow(driver: Driver, chosen: Sequence[Run], request: Request) -> None:
    """Submit those of the runs that lack a result, or all with `again`, until Slurm has taken or refused each."""
    opened, store = driver.opened, driver.store
    follower = follower_of(opened, store, driver.display.say)
    sends: Counter[str] = Counter()
    refused: set[str] = set()

    def wanted(run: Run, attempts: Sequence[Attempt], records: Records) -> bool:
        if any(attempt.state.active for attempt in attempts):
            return False
        if run.id in sends:  # once more where Slurm knows nothing of it, which is not where sbatch refused it
            unheard = attempts[-1].state is State.REFUSED and run.id not in refused
            return unheard and sends[run.id] < MAX_SENDS
        # A benchmark that ends with status 0 and half a table has not given what the cells report.
        results = (
            Case(opened.pack, run, attempt, records.get((run.id, attempt.number), ()), Observation())
            for attempt in attempts
        )
        return request.again or not any(result.complete for result in results)

    def missing() -> list[Run]:
        attempts, records = matrix.attempts_by_run(chosen, store.attempts()), store.records()
        runs = [run for run in chosen if wanted(run, attempts[run.id], records)]
        sends.update(run.id for run in runs)
        return runs

    follower.step()
    while True:
        jobs = send(opened, store, missing, driver.display.say)
        refused.update(run.id for job in jobs if job.refused for run in job.runs)
        if request.detach or not (jobs or any(attempt.state.active for attempt in store.attempts())):
            return
        _follow(driver, follower, chosen)


def _follow(driver: Driver, follower: Follower, chosen: Sequence[Run]) -> None:
    """Until nothing is under way."""
    store, show = driver.store, driver.display.show
    pause = FOLLOW_S[0]
    last = None
    while follower.step():
        attempts = store.attempts()
        pause = FOLLOW_S[0] if attempts != last else min(pause * 1.1, FOLLOW_S[1])
        last = attempts
        show(Progress(chosen, matrix.attempts_by_run(chosen, attempts)))
        time.sleep(pause)
    show(Progress(chosen, matrix.attempts_by_run(chosen, store.attempts())))


def cancel(opened: Opened, say: Say, patience_s: float = 60.0) -> int:
    """Cancel this campaign's jobs and wait until Slurm has let go of them; gives the number of jobs."""
    if not opened.paths.journal.exists():
        return 0
    with Store(opened.paths) as store:
        names = {attempt.job for attempt in store.attempts() if attempt.state.active}
        jobs = [job.id for job in commands.queue(names).values() if job.state.active] if names else []
        store.note("cancel", jobs=jobs)
        commands.cancel(jobs)
        follower = follower_of(opened, store, say)
        end = time.monotonic() + patience_s
        while follower.step():
            if time.monotonic() > end:
                raise UnknownState("Slurm has not ended the cancelled jobs yet: look again with 'campaign status'")
            time.sleep(0.2)
        return len(jobs)
