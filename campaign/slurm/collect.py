"""Imports what has ended: by the job's own record first, by Slurm's word if there is none.

An absent job is not a completed one. An attempt ends by its facts.jsonl; Slurm explains an end without one; an
attempt that is gone from Slurm too is `lost`, after a grace period in which a slow file system may still show the
record. The readers of outputs are imported where they are used: a driver submits its jobs before.
"""

from __future__ import annotations

import hashlib
import os
import random
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import suppress
from itertools import chain, islice
from pathlib import Path

from campaign.config.rules.output_format import Form
from campaign.core import waiting
from campaign.core.errors import UnknownState, pass_on_limit
from campaign.core.frozen import replace
from campaign.core.paths import Paths
from campaign.core.records import Completion, Observation, OutputRemark, Outputs, Record, record_key
from campaign.core.runs import Attempt, State, phase_of_copy
from campaign.core.steps import is_displayed
from campaign.core.units import format_duration, listing
from campaign.core.workers import results_in_order
from campaign.results.changes import Changes
from campaign.results.completion import completion_of, read_completion
from campaign.results.environment import facts_file, reading
from campaign.results.environment.facts import Evidence
from campaign.results.environment.slurm_text import STATES, STOPPED
from campaign.results.parsers.lines import follows_from_end, printable_line
from campaign.results.store import Store, StoredJob
from campaign.results.stored_rows import AttemptRows, rows_of_attempt
from campaign.slurm import commands, partitions, sbatch
from campaign.slurm.accounting import Accountant, import_accounting
from campaign.slurm.submit import ABSENT_TIMES, give_up, may_still_submit, not_submitted

GRACE_S = 5.0  # after Slurm reports the end of a job, until a missing record counts as missing
LARGEST_TEXT = 64 << 20  # bytes
SAME_CLOCK_S = 60.0  # by how much slurmctld's clock may be slow
RUNAWAY_S = 600.0  # how long the accounting may call a job active that squeue and scontrol do not know
# srun and slurmstepd, of a step that is ended: by scancel, or since a rank has failed.
_STEP_ENDED = re.compile(r"CANCELLED AT|Job step aborted|forcing job termination")
_LIMIT = re.compile(r"^#SBATCH --time=(\d+)$", re.MULTILINE)
PIECE = 200  # attempts that are imported before their results are committed
QUERY_S = (1.0, 15.0)  # shortest and longest time between two queries


def import_results(
    paths: Paths, store: Store, forms: Mapping[str, Form], attempt: Attempt
) -> tuple[Sequence[Record], str]:
    """Parse an attempt's raw output into the database; gives its records, and the most informative error of a failure
    or "". `forms`: as `RulePack.outputs`.
    """
    records, outputs, evidence = _read_results(paths, forms, attempt)
    store.save_results(rows_of_attempt(attempt.run, attempt.number, records, outputs, evidence))
    # A program's message on stderr is the cause; an incomplete stdout follows from it.
    errors = [error for seen in outputs.values() for error in seen.errors]
    of_stderr = [error for error in errors if Path(error.file).name == "stderr"]
    of_program = [error for error in of_stderr if not follows_from_end(error.text)]
    return records, "".join(map(str, (*of_program, *of_stderr, *errors)[:1]))


def _read_results(
    paths: Paths, forms: Mapping[str, Form], attempt: Attempt
) -> tuple[Sequence[Record], Outputs, Evidence]:
    """What an attempt's raw output and its facts say."""
    from campaign.results.parsers import output

    folder = paths.attempt(attempt.run, attempt.number)
    records, parsed = output.read_phases(forms, folder, paths.root)
    evidence, problems = read_evidence(folder, attempt.token)
    of_records = tuple(_against_record(folder, attempt, evidence.completion, problems))
    outputs = {
        phase: replace(_with_placement(seen, evidence.placement.get(phase, ())), errors=(*seen.errors, *of_records))
        for phase, seen in parsed.items()
    }
    return records, outputs, evidence


def read_evidence(folder: Path, token: str) -> tuple[Evidence, tuple[str, ...]]:
    """What the job recorded around an execution (without the accounting, which belongs to the job), and what is damaged
    of how it ended.
    """
    file = facts_file.read(folder)
    try:
        completion, problems = completion_of(file, folder, token), tuple[str, ...]()
    except ValueError as error:
        completion, problems = None, (str(error),)
    return replace(reading.evidence_of(file), completion=completion), problems


def text_of(path: Path) -> str:
    """The lines of a file; empty if it cannot be read, since messages do without it."""
    try:
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size  # reading makes room for all that is asked for
            return file.read(min(LARGEST_TEXT, size)).decode(errors="replace")
    except OSError as error:
        pass_on_limit(error)
        return ""


def open_store(paths: Paths, forms: Mapping[str, Form]) -> Store:
    """The campaign's database with everything that has ended; in memory if it cannot be written. If the pack now
    describes outputs differently, they are read again; if the database was rebuilt, those are read that it lacks.
    """
    store = Store(paths)
    with store.transaction():
        is_read = store.read_as(hashlib.sha256(repr(forms).encode()).hexdigest())
        if not is_read or store.in_memory:
            import_all(paths, store, forms)
    _import_attempts(paths, store, forms, store.unread_attempts())
    return store


def import_all(paths: Paths, store: Store, forms: Mapping[str, Form]) -> int:
    """Parse every ended attempt's raw output again; gives their number."""
    ended_attempts = [attempt for attempt in store.attempts() if not attempt.state.active]
    with store.transaction():  # a driver at work never sees a part of it
        _import_attempts(paths, store, forms, ended_attempts)
    return len(ended_attempts)


def _import_attempts(paths: Paths, store: Store, forms: Mapping[str, Form], attempts: Sequence[Attempt]) -> None:
    """Parse the raw outputs of attempts, in pieces that stay if it is interrupted, unless in a transaction."""

    def rows(attempt: Attempt) -> AttemptRows:
        return rows_of_attempt(attempt.run, attempt.number, *_read_results(paths, forms, attempt))

    def folder(attempt: Attempt) -> str:
        return f"runs/{attempt.run}/{attempt.number}"

    all_rows = results_in_order(rows, attempts, folder, "reading the outputs of attempts")
    next_report_s = time.monotonic() + waiting.SLOW_S
    for start in range(0, len(attempts), PIECE):
        if time.monotonic() >= next_report_s and not is_displayed():
            waiting.tell_listener(f"importing {start:,} of {len(attempts):,} attempts")
            next_report_s = time.monotonic() + waiting.SLOW_S
        piece = attempts[start : start + PIECE]
        with store.transaction():
            for results in islice(all_rows, len(piece)):
                store.save_results(results)
            for job in dict.fromkeys(attempt.job for attempt in piece):
                import_accounting(paths, store, job)


def read_again(
    paths: Paths, forms: Mapping[str, Form], attempts: Iterable[tuple[str, int]]
) -> dict[tuple[str, int], tuple[Record, ...]]:
    """The records of attempts as their raw outputs have them now, whatever the database says."""
    from campaign.results.parsers import output

    return {
        (run, number): tuple(output.read_phases(forms, paths.attempt(run, number), paths.root)[0])
        for run, number in dict.fromkeys(attempts)
    }


def _against_record(
    folder: Path, attempt: Attempt, completion: Completion | None, problems: Sequence[str]
) -> Iterator[OutputRemark]:
    """Contradictions between the job's own record and an attempt recorded as done."""
    if attempt.state is not State.DONE:
        return
    path = f"{folder.name}/{facts_file.NAME}"
    if problems:
        yield from map(OutputRemark, problems)
    elif completion is None:
        yield OutputRemark("missing, but the attempt is recorded as done", path)
    elif not completion.ended_well or completion.restart_count:
        yield OutputRemark(
            f"records {completion.outcome}, status {completion.exit_status}, {completion.restart_count} restarts, but "
            "the attempt is recorded as done",
            path,
        )
    elif completion.job_id != attempt.job_id:
        yield OutputRemark(f"belongs to job {completion.job_id}, but the attempt was job {attempt.job_id}", path)


def _with_placement(observation: Observation, nodes: tuple[str, ...]) -> Observation:
    """An external benchmark does not print where its ranks ran: the job tested the same launcher before."""
    if not nodes or (observation.placement is not None and observation.processes_per_node != 0):
        return observation
    counts = {node: nodes.count(node) for node in dict.fromkeys(nodes)}
    block = list(nodes) == [node for node, count in counts.items() for _ in range(count)]
    per_node, placement = tuple(counts.values()), "block" if block else "irregular"
    if len(set(per_node)) == 1:
        return replace(observation, placement=placement, processes_per_node=per_node[0])
    return replace(observation, placement=placement, processes_per_node=0, uneven=per_node)


class Follower:
    """Follows the current attempts of one campaign. `step` does one round and never blocks for long. `required`: as
    `RulePack.required`.
    """

    def __init__(
        self,
        paths: Paths,
        store: Store,
        forms: Mapping[str, Form],
        say: Callable[[str], None],
        required: Mapping[str, Set[str]],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._paths, self._store, self._forms, self._say, self._clock = paths, store, forms, say, clock
        self._required = required
        self.unsent: set[str] = set()  # jobs that this driver has recorded and not submitted yet
        self._next_query = 0.0
        self._interval = QUERY_S[0]
        self._absent: dict[str, int] = {}  # by job: how often squeue did not know it
        self._ended_since: dict[str, float] = {}
        self._has_accounting = True
        self._away: dict[str, tuple[partitions.Unusable, ...]] = {}  # in this round, by partition
        self._last_trouble = ""
        self.changes = Changes(store)
        self._accountant = Accountant(paths, store, clock, say)

    def step(self) -> bool:
        """One round: True while attempts have not ended."""
        attempts_read = self.changes.read()
        is_due = self._clock() >= self._next_query
        for attempts in self._submitted():
            for attempt in attempts:
                # A job's attempts begin one after another; before Slurm is asked, all are looked at.
                if not is_due and not self._has_begun(attempt):
                    break
                self._observe_record(attempt)
        attempts_read += self.changes.read()
        if is_due and (remaining := list(chain(*self._submitted()))):
            attempts_read += self._ask_slurm(remaining)
        waits = self._accountant.step(self.changes.active.keys(), {attempt.job for attempt in attempts_read})
        return waits or not self.changes.active.keys() <= self.unsent

    def _submitted(self) -> list[list[Attempt]]:
        """The attempts of each job that is not this driver's next one."""
        return [list(attempts.values()) for job, attempts in self.changes.active.items() if job not in self.unsent]

    # --- the job's own record

    def _has_begun(self, attempt: Attempt) -> bool:
        folder = self._paths.attempt(attempt.run, attempt.number)
        return attempt.state is State.RUNNING or os.path.lexists(folder / "claim")

    def _observe_record(self, attempt: Attempt) -> bool:
        folder = self._paths.attempt(attempt.run, attempt.number)
        try:
            completion = read_completion(folder, attempt.token)
        except ValueError as error:
            return self._end(attempt, State.FAILED, str(error))
        except OSError as error:
            pass_on_limit(error)
            return False  # a transient error of a file system; if it stays, Slurm's word ends the attempt
        if completion is None:
            if attempt.state is not State.RUNNING and (folder / "claim").is_dir() and attempt.job_id:
                self._store.observe_state(attempt, State.RUNNING, "")
            return False
        if attempt.job_id is None:
            self._store.submitted(attempt.job, completion.job_id, "job id from the job's own record")
        stderrs = (folder / "stderr", *folder.glob("*/stderr")) if completion.outcome == "failed" else ()
        errors = "\n".join(map(text_of, stderrs))  # of the run and its phases
        job = self._job_of_ended_step(attempt, errors)
        if job is not None and job.word == "COMPLETING" and self._waited_s(attempt) < GRACE_S:
            return False  # Slurm says how it ended once it has ended
        cancelled_at = float(self._store.cancelled() or 0)
        begun = attempt.submitted or completion.started  # sbatch may answer after the cancellation
        is_cancelled = (completion.outcome == "failed" and begun < cancelled_at <= completion.ended) or (
            job is not None and job.state is State.CANCELLED
        )
        if completion.outcome == "terminated" or is_cancelled:
            return self._by_slurm_word(attempt, completion)
        records, problem = import_results(self._paths, self._store, self._forms, attempt)
        if "DUE TO TIME LIMIT" in errors:
            elapsed = format_duration(round(completion.ended - completion.started))
            return self._end(
                attempt,
                State.TIMEOUT,
                f"stopped after {elapsed}, the time limit of one run; raise slurm.time",
                completion,
            )
        reason = completion.reason
        if completion.outcome == "done":
            reason = without_results(completion, records, self._required)
        state = State.FAILED if reason or completion.outcome != "done" else State.DONE
        if state is State.FAILED and problem and completion.outcome != "refused":  # that has no output
            reason = f"{reason}: {problem}"
        return self._end(attempt, state, reason, completion)

    def _job_of_ended_step(self, attempt: Attempt, errors: str) -> commands.Job | None:
        """The job of a run that failed because its step was ended, by Slurm's list: Slurm may end the launcher of a
        cancelled job before its script, which then only sees that the benchmark failed. None for other failures.
        `errors`: what a failed run has in its stderr.
        """
        if not _STEP_ENDED.search(errors) or "DUE TO" in errors:
            return None
        with suppress(UnknownState):
            return commands.queue({attempt.job: attempt.job_id}).get(attempt.job)
        return None

    def _by_slurm_word(self, attempt: Attempt, completion: Completion) -> bool:
        """Slurm ended the job during the run: it knows why, but may be slow to report it."""
        waited_s = self._waited_s(attempt)
        try:
            job = commands.queue({attempt.job: attempt.job_id}).get(attempt.job)
        except UnknownState:
            job = None
        if job is None or job.state.active or job.state is State.DONE:
            if waited_s < GRACE_S:
                return False
            return self._end(attempt, State.CANCELLED, completion.reason, completion)
        import_results(self._paths, self._store, self._forms, attempt)
        return self._end(attempt, job.state, f"{self._word(attempt, job)}: {completion.reason}", completion)

    def _word(self, attempt: Attempt, job: commands.Job) -> str:
        """Slurm's word for how a job ended, with what to do about it."""
        script = text_of(self._paths.jobs(attempt.job) / "job.sbatch")
        if job.word == "TIMEOUT" and (minutes := _LIMIT.search(script)):
            return (
                f"{job.word} after {format_duration(60 * int(minutes[1]))}; raise slurm.time, of which this limit is "
                "made"
            )
        return job.word

    def _waited_s(self, attempt: Attempt) -> float:
        """How long its job has been over, or has seemed to be."""
        return self._clock() - self._ended_since.setdefault(attempt.token, self._clock())

    def _end(self, attempt: Attempt, state: State, reason: str, completion: Completion | None = None) -> bool:
        times = (completion.started, completion.ended) if completion else (None, None)
        self._store.record_end(attempt, state, reason, *times)
        if state is not State.DONE:  # an attempt that ended well is no reason to ask sooner
            self._interval, self._next_query = QUERY_S[0], min(self._next_query, self._clock() + QUERY_S[0])
        return True

    # --- Slurm's word

    def _ask_slurm(self, attempts: list[Attempt]) -> list[Attempt]:
        """Gives what has changed then."""
        job_ids = {attempt.job: attempt.job_id for attempt in attempts}
        stored = self._store.jobs()
        try:
            jobs = commands.queue(job_ids)
        except UnknownState as error:
            self._report_silence(error)
            self._back_off()
            return []
        before = {attempt.token: (attempt.state, attempt.reason) for attempt in attempts}
        self._away.clear()
        lost = [name for name in job_ids if name not in jobs and (job_ids[name] or not may_still_submit(stored[name]))]
        self._absent = {name: self._absent.get(name, 0) + 1 for name in lost}
        absent_jobs = [name for name in lost if self._absent[name] >= ABSENT_TIMES]
        try:
            remembered = self._accounted_jobs([stored[name] for name in absent_jobs])
            self._report_silence(None)
        except UnknownState as error:  # squeue may answer while the accounting does not
            self._report_silence(error)
            absent_jobs, remembered = [], {}
        for name, job in jobs.items():
            if job_ids[name] is None:
                self._store.submitted(name, job.id, "job id found by the job's name")
        for attempt in attempts:
            if (job_found := jobs.get(attempt.job)) and job_found.state.active:
                self._ended_since.pop(attempt.token, None)
                self._observe_active(attempt, job_found)
            elif job_found:
                self._observe_end(attempt, stored[attempt.job], job_found)
            elif attempt.job in absent_jobs:
                self._observe_absence(attempt, stored[attempt.job], remembered.get(attempt.job))
        attempts_read = self.changes.read()
        has_changed = any(
            before.get(attempt.token) not in (None, (attempt.state, attempt.reason)) for attempt in attempts_read
        )
        if has_changed or len(lost) > len(absent_jobs):
            self._interval = QUERY_S[0]
            self._next_query = self._clock() + self._interval
        else:
            self._back_off()
        return attempts_read

    def _back_off(self) -> None:
        self._interval = min(self._interval * 1.5, QUERY_S[1])
        self._next_query = self._clock() + self._interval * random.uniform(0.8, 1.2)

    def _report_silence(self, error: UnknownState | None) -> None:
        text = f"Slurm does not answer; retrying ({error})" if error else ""
        if text != self._last_trouble:
            self._say(text or "Slurm answers again")
            self._last_trouble = text

    def _out_of_service(self, partition: str) -> tuple[partitions.Unusable, ...]:
        """Asked once per round; empty if Slurm does not answer."""
        if partition not in self._away:
            self._away[partition] = ()
            with suppress(UnknownState):
                self._away[partition] = partitions.out_of_service(partition)
        return self._away[partition]

    def _observe_active(self, attempt: Attempt, job: commands.Job) -> None:
        if job.state is not State.RUNNING:
            reason = sbatch.explain_reason(job.reason, job.id)
            nodes_away = self._out_of_service(job.partition) if sbatch.lacks_nodes(job.reason) else ()
            self._observe(attempt, State.PENDING, _with_nodes(reason, nodes_away))
        elif (self._paths.attempt(attempt.run, attempt.number) / "claim").is_dir():
            stopped = f"Slurm says {job.word}: the result will be invalid" if job.word in STOPPED else ""
            self._observe(attempt, State.RUNNING, stopped or (job.reason if job.word not in STATES else ""))
        else:
            waits = printable_line(text_of(self._paths.jobs(attempt.job) / "waiting").partition("\n")[0])
            self._observe(attempt, State.PENDING, waits or turn_reason(job.id))

    def _observe(self, attempt: Attempt, state: State, reason: str) -> None:
        if (attempt.state, attempt.reason) != (state, reason):
            self._store.observe_state(attempt, state, reason)

    def _observe_end(self, attempt: Attempt, stored: StoredJob, job: commands.Job) -> None:
        """The job has ended and this attempt has no record: final at once if it was never claimed, otherwise after a
        grace period.
        """
        slurm_text = f"{self._word(attempt, job)}{f' ({job.reason})' if job.reason and job.reason != job.word else ''}"
        state = State.LOST if job.state is State.DONE else job.state
        before: str = f"job {job.id}: {slurm_text} before this run started"
        if state is State.CANCELLED:  # Slurm also calls a job so whose Prolog failed, which no user has cancelled
            submitted_after = stored.created - SAME_CLOCK_S
            nodes = [node for node in self._out_of_service(job.partition) if node.by_script]
            before = _with_nodes(before, [node for node in nodes if (node.since or 0) >= submitted_after])
        elif state is State.FAILED and not (output := self._paths.jobs(attempt.job) / "stdout").exists():
            before += (
                f"; its node did not create {output}: check that all nodes see the results directory ('campaign plan "
                "--probe FILE')"
            )
        if give_up(self._paths, self._store, attempt, state, before):
            return
        if self._waited_s(attempt) < GRACE_S:
            return
        folder = self._paths.attempt(attempt.run, attempt.number)
        if (folder / "stdout").exists():
            import_results(self._paths, self._store, self._forms, attempt)
        self._end(attempt, state, f"job {job.id}: {slurm_text} during this run" + _last_error(folder))

    def _observe_absence(self, attempt: Attempt, stored: StoredJob, job: commands.Job | None) -> None:
        """squeue does not know the job: not submitted, or ended long ago. `job`: by the accounting."""
        if job is not None and not job.state.active:
            self._observe_end(attempt, stored, job)
            return
        if job is not None and self._waited_s(attempt) < RUNAWAY_S:
            self._observe(attempt, attempt.state, f"job {job.id} is not in squeue; sacct says {job.word}")
            return
        if attempt.job_id is None:
            reason = not_submitted(attempt.job, stored.message)
        else:
            reason = f"job {attempt.job_id} disappeared from Slurm without a record" + (
                f"; sacct still says {job.word} (see: sacctmgr show runawayjobs)" if job else ""
            )
        state = State.LOST if attempt.job_id else State.REFUSED
        # Claimed, but not by a known job: by one that left no record, or by a driver that died right after.
        if not give_up(self._paths, self._store, attempt, state, reason) and self._waited_s(attempt) >= GRACE_S:
            self._end(attempt, State.LOST, reason)

    def _accounted_jobs(self, jobs: Sequence[StoredJob]) -> dict[str, commands.Job]:
        """What the accounting says about jobs, by name; nothing if the site has none."""
        if not jobs or not self._has_accounting:
            return {}
        jobs_by_name = commands.accounting({job.name: job.job_id for job in jobs}, min(job.created for job in jobs))
        self._has_accounting = jobs_by_name is not None
        return jobs_by_name or {}


def without_results(completion: Completion, records: Iterable[Record], required: Mapping[str, Set[str]]) -> str:
    """Why an execution failed that ended with status 0: a phase that ran gave none of its results; "" if each did."""
    names = {record.operation for record in records}
    for phase in [times.phase for times in completion.phases if phase_of_copy(times.phase) in required]:
        record_names = [name.rpartition("/")[2] for name in required[phase_of_copy(phase)]]
        if names.isdisjoint(record_key(phase, name) for name in record_names):
            result_names = listing(sorted(record_names))
            of_phase = f"phase {phase}: " if phase else ""
            return (
                f"{of_phase}the benchmark ended with status {completion.exit_status} and gave none of its results "
                f"({result_names})"
            )
    return ""


def turn_reason(job: object) -> str:
    """Why an attempt has not begun whose job runs another attempt first."""
    return f"waiting for its turn in job {job} (running)"


def _with_nodes(reason: str, nodes: Sequence[partitions.Unusable]) -> str:
    return f"{reason}; {partitions.out_of_service_text(nodes)}" if nodes else reason


def _last_error(folder: Path) -> str:
    lines = text_of(folder / "stderr").strip().splitlines()
    return f": {printable_line(lines[-1].strip())}" if lines else ""
