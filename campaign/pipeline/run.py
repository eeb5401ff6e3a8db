"""The driver: plan -> submit what is missing -> follow -> collect -> judge -> table. Every stage does only what is
missing.
"""

from __future__ import annotations

import functools
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Protocol

from campaign.config.definition import Definition
from campaign.core import atomic, journal, timestamps
from campaign.core.errors import NoRoom, UnknownState, typed_path
from campaign.core.runs import Attempt, Run, State
from campaign.core.units import plural
from campaign.judge.submission import Submission
from campaign.pipeline import planning
from campaign.pipeline.campaign_state import Say, current_submission, kept_submission, new_follower, report_damage
from campaign.pipeline.preflight import is_missing, preflight
from campaign.pipeline.request import Request, within_node_hours
from campaign.pipeline.same_cause import first_without_space, same_cause
from campaign.plan import adaptive, matrix
from campaign.plan.estimate import TimeEstimate, TimeLeft
from campaign.results.case import Case
from campaign.results.source import modifications
from campaign.results.store import RecordNames, Store, is_begun
from campaign.slurm import commands
from campaign.slurm.collect import open_store
from campaign.slurm.submit import Room, left_on, send

FOLLOW_S = (0.05, 1.0)  # shortest and longest pause between two checks of the jobs' records
GROWTH = 1.05  # of the pause at each check: it becomes a twentieth of the time that a run has taken
MAX_SENDS = 3  # attempts at a submission that Slurm then did not know


@dataclass(frozen=True, slots=True)
class RunValue:
    """A value of an execution that is not judged yet."""

    operation: str
    number: float
    unit: str


@dataclass(frozen=True, slots=True)
class Progress:
    """What a display needs to know of a running campaign."""

    runs: Sequence[Run]
    attempts: Sequence[tuple[Run, Attempt]]  # the latest of each run, if changed since the last progress
    values: Callable[[Attempt], Sequence[RunValue]] = lambda _: ()  # those of an attempt
    time_left: Callable[[], TimeLeft | None] = lambda: None  # None while unknown; computed on request


class Display(Protocol):
    """Where a driver reports events, and shows the progress of its runs."""

    def say(self, text: str) -> None: ...

    def warn(self, text: str) -> None: ...

    def show(self, progress: Progress) -> None: ...


@dataclass
class Stamping:
    """Sends the journal's head to the campaign's time-stamp service whenever runs have ended, so that nobody can change
    or leave out later what they measured. `covered`: how many ends of attempts the last stamped head covers.
    """

    definition: Definition
    store: Store
    say: Say
    covered: int = 0
    head: str = ""  # when attempts were last counted
    trouble: str = ""

    def step(self, last: bool = False) -> None:
        """Send the head if attempts have ended since the last one. After a failure it is sent again when the next one
        ends, or if it is the last time.
        """
        service = self.definition.campaign.evidence.timestamp
        if not service or (self.store.head == self.head and not last):
            return
        self.head, end_count = self.store.head, self.store.ended_count()
        if end_count == self.covered and not (last and self.trouble):
            return
        reply, trouble_before = self.definition.paths.timestamps / f"{self.store.head}.tsr", self.trouble
        self.trouble = "" if reply.exists() else timestamps.obtain(self.store.head, service, reply)
        self.covered = end_count
        if self.trouble != trouble_before and self.trouble:
            self.say(f"no time stamp of the journal's head from {service}: {self.trouble}; it is asked for again")


@dataclass(frozen=True, slots=True)
class Driver:
    """A driver at work on one campaign. `before`: attempts that had ended, or had no job, when it began."""

    definition: Definition
    store: Store
    display: Display
    before: frozenset[str]  # tokens
    cancelled: str  # when the campaign was last cancelled before
    stamping: Stamping

    def is_cancelled(self) -> bool:
        return self.store.cancelled() != self.cancelled


class _StoppedError(Exception):
    """The jobs were cancelled, and nothing more is submitted."""


def run(definition: Definition, request: Request, display: Display) -> Submission:
    """Submit what is missing and follow it to the end; gives the campaign with the rows of the chosen cells only."""
    campaign, pack = definition.campaign, definition.pack
    request.check(matrix.cells(campaign, pack))
    if request.statuses:
        submission = current_submission(definition, display.say)
        request = request.by_status(submission.rows)
        if not request.cells:
            display.say(f"no result is {' or '.join(request.statuses)}; nothing to run")
            return replace(submission, rows=())
    checked = preflight(definition, planning.plan(definition, may_submit=True), request)
    planned = checked.plan
    lasting_violations, later_violations = checked.violated
    for text in lasting_violations:
        display.say(f"these results will be invalid: {text}")
    for text in later_violations:
        display.say(f"to be corrected in the campaign file, before or after the run: {text}")
    with open_store(definition.paths, pack.outputs) as store, atomic.locked(definition.paths.root, atomic.AMONG_OTHERS):
        has_work = checked.missing or planned.searches or store.under_way()
        # What an earlier driver had no time to submit failed with that driver, not for a cause of its own.
        ended_tokens = frozenset(
            attempt.token
            for attempt in (store.attempts() if has_work else ())
            if not attempt.state.active or attempt.job_id is None
        )
        driver = Driver(
            definition, store, display, ended_tokens, store.cancelled(), Stamping(definition, store, display.warn)
        )
        store.begin(nonce=campaign.nonce, campaign=campaign.name, rules=[pack.id, pack.version, pack.digest])
        planning.write_plan(definition, planned)
        modifications.store_builds(campaign, definition.paths)
        modifications.store_sources(definition.paths, *checked.compared, definition.pack.build)
        new_follower(definition, store, display.say).step()
        if has_work:
            with suppress(_StoppedError), _no_job_without_record(driver, request):
                planned = _search(driver, planned, request)
                planned = _measure(driver, planned, request)
        driver.stamping.step(last=True)
        judged_submission = kept_submission(definition, planned, store)
        for target_directory in dict.fromkeys(target.directory for target in campaign.targets):
            if directories := left_on(definition.paths, target_directory, judged_submission.attempts):
                display.warn(
                    f"left on the target, as a job could not remove it: {', '.join(directories)}; the next job removes "
                    "it, or remove it yourself"
                )
    return replace(judged_submission, rows=tuple(row for row in judged_submission.rows if request.includes(row.cell)))


@contextmanager
def _no_job_without_record(driver: Driver, request: Request) -> Iterator[None]:
    """Cancel the jobs if the file system of the results is full: what they measure would be lost."""
    try:
        yield
    except NoRoom as error:
        if request.keep_going:
            raise
        jobs = _active_jobs(driver.store.under_way())
        commands.cancel(jobs)
        raise NoRoom(f"{error}\ncancelled {plural(len(jobs), 'job')}, whose results could not be written") from error


def _search(driver: Driver, planned: planning.Plan, request: Request) -> planning.Plan:
    """Measure what the searches of the chosen cells request, until they are decided; gives the plan with their counts.

    A search that makes no progress is left for the next time. With `detach`, one round is submitted.
    """
    definition, say = driver.definition, driver.display.say
    announced: set[str] = set()
    tries_before: dict[str, int] = {}
    while planned.searches:
        planned = planning.update_plan(definition, planned)
        planning.write_plan(definition, planned)
        for search in planned.searches:
            if search.choice and search.search.key not in announced:
                announced.add(search.search.key)
                say(f"search {search.search.key}: {search.choice.reason}")
            for text in search.repeated:
                say(f"search {search.search.key}: {text}")
        awaited_runs = request.select_runs(
            definition.campaign, [run for search in planned.searches for run in search.awaited_runs]
        )
        awaited_runs = list({run.id: run for run in awaited_runs}.values())
        attempts = driver.store.attempts()
        tries = {
            run: sum(attempt.state in adaptive.OWN_ENDS for attempt in of_run)
            for run, of_run in matrix.attempts_by_run(awaited_runs, attempts).items()
        }
        if tries and all(tries_before.get(run) == number for run, number in tries.items()):
            driver.display.warn(
                f"the search cannot go on: {next(iter(tries))} could not be executed; find the cause with 'campaign "
                "status' and run again"
            )
            break
        if not tries:
            break
        # Attempts that ended without a rate are repeated: only the search knows when they are enough.
        tries_before = tries
        ended_tokens = frozenset(attempt.token for attempt in attempts if not attempt.state.active)
        _Work(driver, awaited_runs, replace(request, again=True), ended_tokens).measure()
        if request.detach:
            break
    return planned


def _measure(driver: Driver, planned: planning.Plan, request: Request) -> planning.Plan:
    """Measure what cells report, with as many repetitions as their intervals need; gives the plan with all of them."""
    while True:
        _Work(driver, request.select_runs(driver.definition.campaign, planned.runs), request).measure()
        updated = planning.update_plan(driver.definition, planned)
        if request.detach or updated.runs == planned.runs:
            return planned
        added_runs = plural(len(updated.runs) - len(planned.runs), "run")
        driver.display.say(f"adding {added_runs}: intervals are wider than repetitions.width")
        planned, request = updated, replace(request, again=False)
        planning.write_plan(driver.definition, planned)


class _Work:
    """Submits what the chosen runs lack, and follows and shows their jobs, until the first two jobs have failed with
    the same cause or the campaign is cancelled. `considered`: the ended attempts that a search has considered; a run of
    which another one has ended by itself, such as one submitted by an earlier driver, is left to the search.
    """

    def __init__(
        self, driver: Driver, runs: Sequence[Run], request: Request, considered: frozenset[str] | None = None
    ) -> None:
        self._driver, self._chosen, self._request, self._known = driver, runs, request, considered
        self._places = {run.id: place for place, run in enumerate(runs)}
        self._estimate = TimeEstimate(driver.definition.campaign, runs)
        self._own: dict[str, Attempt] | None = {}  # new ones, by token; None once one has ended well
        self._cause: str | None = None  # of the first two failed jobs
        self._full: Attempt | None = None  # the first that found a file system full
        self._follower = new_follower(driver.definition, driver.store, driver.display.say)
        self._sends: Counter[str] = Counter()
        self._refused: set[str] = set()
        self._beyond = ""  # why jobs are held back at present
        self._pause_s = FOLLOW_S[0]
        self._has_looked = False
        self._stopped = False

    def measure(self) -> None:
        """Submit those of the runs that lack a result, or all if the request is to measure again, until Slurm has
        accepted or refused each, and follow them to their end. Raises _StoppedError once the rest is cancelled.
        """
        driver, request = self._driver, self._request
        self._follower.step()
        while True:
            wait = None if request.detach else self._pause
            room = Room(request.most_jobs, wait, self._follower.unsent, driver.is_cancelled)
            jobs = send(driver.definition, driver.store, self._select_runs, driver.display.say, room)
            self._refused.update(run.id for job in jobs if job.refused for run in job.runs)
            if request.detach or not (jobs or driver.store.under_way() or driver.is_cancelled()):
                if self._beyond:
                    driver.display.warn(self._beyond)
                return
            self._follow()

    def _select_runs(self) -> list[Run]:
        """The runs to submit now, within the limit of node-hours; each is counted as sent."""
        store, request = self._driver.store, self._request
        attempts, names = matrix.attempts_by_run(self._chosen, store.attempts()), store.record_names()
        runs = [run for run in self._chosen if self._is_due(run, attempts[run.id], names)]
        if request.most_node_h is not None:
            runs, self._beyond = within_node_hours(self._driver.definition, store, runs, request.most_node_h)
        self._sends.update(run.id for run in runs)
        return runs

    def _is_due(self, run: Run, attempts: Sequence[Attempt], names: RecordNames) -> bool:
        """Whether a run is to be submitted: it lacks a result, and Slurm has not refused it."""
        if run.id in self._sends and not any(attempt.state.active for attempt in attempts):
            # Try again if Slurm does not know the job, but not if sbatch refused it.
            unheard = attempts[-1].state is State.REFUSED and run.id not in self._refused
            return unheard and self._sends[run.id] < MAX_SENDS
        if self._known is not None and any(
            attempt.state in adaptive.OWN_ENDS and attempt.token not in self._known for attempt in attempts
        ):
            return False
        return is_missing(self._driver.definition, self._driver.store, run, attempts, names, self._request)

    def _follow(self) -> None:
        """Follow until all attempts have ended."""
        while self._look():
            time.sleep(self._pause_s)
        if self._stopped:
            raise _StoppedError

    def _pause(self) -> None:
        """One check and a pause, while there is no room for further jobs."""
        self._look()
        if self._stopped:
            self._follow()
        time.sleep(self._pause_s)

    def _look(self) -> bool:
        """Whether an attempt has not ended yet."""
        driver = self._driver
        goes_on = self._follower.step()
        attempts = self._follower.changes.take()
        if not self._has_looked:
            self._has_looked, attempts = True, driver.store.attempts()
        attempts = [attempt for attempt in attempts if attempt.run in self._places]
        driver.stamping.step()
        self._pause_s = FOLLOW_S[0] if attempts else min(self._pause_s * GROWTH, FOLLOW_S[1])
        by_run = [
            (run, attempt)
            for attempt in sorted(attempts, key=lambda attempt: (self._places[attempt.run], attempt.number))
            if attempt.fingerprint == (run := self._chosen[self._places[attempt.run]]).fingerprint
        ]
        self._estimate.update([attempt for _, attempt in by_run], time.time())
        time_left = functools.partial(self._estimate.left, time.time())
        latest = {run.id: (run, attempt) for run, attempt in by_run}  # a run that is measured again has earlier ones
        driver.display.show(Progress(self._chosen, list(latest.values()), self._values, time_left))
        if not self._stopped:
            self._stopped = self._stop(attempts)
        return goes_on

    def _values(self, attempt: Attempt) -> list[RunValue]:
        """The numbers of an attempt."""
        definition, run = self._driver.definition, self._chosen[self._places[attempt.run]]
        records = self._driver.store.records_of(attempt.run, attempt.number)
        case = Case(definition.campaign, definition.pack, run, attempt, records, {})
        return [
            RunValue(operation.id, record.value, operation.unit)
            for operation in definition.pack.operations_of(run.launch)
            if operation.id in run.operations and (record := case.result(operation)) is not None
        ]

    def _stop(self, attempts: Sequence[Attempt]) -> bool:
        """Cancel the jobs of these runs if they must not go on; whether that is so."""
        driver, runs = self._driver, self._chosen
        attempts = [attempt for attempt in attempts if attempt.token not in driver.before]
        self._full = self._full or first_without_space(attempts)
        # Read after the attempts: `campaign cancel` records itself before it ends one.
        if driver.is_cancelled():
            driver.display.warn(
                "the campaign was cancelled; nothing more is submitted. 'campaign run "
                f"{typed_path(driver.definition.campaign.path, driver.definition.campaign.part)}' continues"
            )
            commands.cancel(_active_jobs(self._active_attempts()))  # submitted since
            return True
        if self._request.keep_going:
            return False
        full_attempt = self._full
        if attempts and self._own is not None:
            self._compare_causes(attempts)
        cause = full_attempt.reason if full_attempt else self._cause
        if cause is None or not (jobs := _active_jobs(self._active_attempts())):
            return False
        if full_attempt:
            results = str(driver.definition.paths.root)
            target = next(run.directory for run in runs if run.id == full_attempt.run)
            directory = results if results in cause else target
            driver.display.warn(
                f"the file system of {directory}, or a quota there, is full: {full_attempt.run}: {cause}\ncancelling "
                f"{plural(len(jobs), 'job')}, which would fail too; free space there or get more quota, and run "
                "again, or use --keep-going"
            )
        else:
            driver.display.warn(
                f"the first two jobs failed with the same cause: {cause}\ncancelling {plural(len(jobs), 'job')}; "
                "correct the cause and run again, or use --keep-going"
            )
        driver.store.note("stop", jobs=jobs, cause=cause)
        commands.cancel(jobs)
        return True

    def _active_attempts(self) -> list[Attempt]:
        """The attempts of these runs that have not ended."""
        return [attempt for attempt in self._driver.store.under_way() if attempt.run in self._places]

    def _compare_causes(self, attempts: Iterable[Attempt]) -> None:
        """Look for a common cause of the first two failed jobs, until a run has ended well."""
        by_token = {**(self._own or {}), **{attempt.token: attempt for attempt in attempts}}
        runs = [self._chosen[self._places[attempt.run]] for attempt in by_token.values()]
        self._cause = same_cause(runs, list(by_token.values()), self._driver.before)
        has_result = any(attempt.state is State.DONE for attempt in by_token.values())
        self._own = None if has_result else by_token


def _active_jobs(attempts: Iterable[Attempt]) -> list[str]:
    """Ids of the jobs of these attempts that have not ended."""
    job_ids = {attempt.job: attempt.job_id for attempt in attempts}
    return [job.id for job in commands.queue(job_ids).values() if job.state.active]


def cancel(definition: Definition, say: Say, patience_s: float = 60.0) -> int:
    """Cancel this campaign's jobs and wait until Slurm has ended them; gives their number."""
    if not is_begun(definition.paths):
        return 0
    with open_store(definition.paths, definition.pack.outputs) as store:
        report_damage(definition, journal.read_chain(definition.paths.journal), say)
        jobs = _active_jobs(store.under_way())
        store.note("cancel", jobs=jobs)
        commands.cancel(jobs)
        follower = new_follower(definition, store, say)
        end = time.monotonic() + patience_s
        while follower.step():
            if time.monotonic() > end:
                raise UnknownState("the cancelled jobs have not ended yet; check with 'campaign status'")
            time.sleep(0.5)
            # A driver that is just calling sbatch submits that job before it sees the cancellation.
            with suppress(UnknownState):
                other_jobs = _active_jobs(attempt for attempt in store.under_way() if attempt.job_id not in jobs)
                if late := [job for job in other_jobs if job not in jobs]:
                    commands.cancel(late)
                    store.note("cancel", jobs=late)
                    jobs += late
        return len(jobs)
