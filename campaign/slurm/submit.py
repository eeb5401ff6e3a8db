"""Submits what is missing: first the attempts are recorded, then the job script is written, then sbatch is called.

A failed sbatch may have submitted, and a driver may be killed between any two lines. So an attempt is recorded before
sbatch is called, has a random token in its job's name, and belongs to whoever first creates the directory `claim` in
its folder: the job that runs it, or a driver that has given up the job.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import secrets
import socket
import stat
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from campaign.config.definition import Definition
from campaign.config.format import Campaign
from campaign.config.rules.pack import RulePack
from campaign.core import atomic, journal, resources
from campaign.core.errors import EnvironmentLacks, UnknownState
from campaign.core.grouping import grouped
from campaign.core.outputs import identity
from campaign.core.paths import Paths
from campaign.core.processes import Process
from campaign.core.runs import Attempt, Planned, Run, State, directory_name
from campaign.core.units import plural
from campaign.plan import matrix
from campaign.results.store import Store, StoredJob
from campaign.slurm import commands, sbatch, scripts

SETTLE_S = 120.0  # a driver on another host that has not recorded sbatch's answer by then is assumed dead
TRY_AGAIN_S = 60.0  # if Slurm has no room and none of the campaign's jobs ends: others' may have
ABSENT_TIMES = 3  # how often Slurm must say that it does not know the job
PATIENCE_S = 1800.0  # how long a submission that fails for transient reasons is tried again
MOST_JOBS = 1000  # of one campaign that Slurm has at once, unless the user sets another number


@dataclass(frozen=True, slots=True)
class Sent:
    """A job of these runs. `refused`: sbatch refused it; if it accepted the job, what Slurm reports later is
    recorded.
    """

    runs: tuple[Run, ...]
    refused: bool


@dataclass(slots=True)
class Room:
    """How many of a campaign's jobs Slurm may have at once, and what to do when there is no room: `wait` checks the
    jobs once; if it is None, the rest is not submitted. `unsent`: recorded jobs for which sbatch was not called yet, so
    that nobody has to look for them in Slurm. `closed`: whether nothing more is to be submitted.
    """

    most: int = MOST_JOBS
    wait: Callable[[], None] | None = None
    unsent: set[str] = field(default_factory=set)
    closed: Callable[[], bool] = lambda: False


def send(
    definition: Definition,
    store: Store,
    choose: Callable[[], Sequence[Run]],
    say: Callable[[str], None],
    room: Room | None = None,
) -> tuple[Sent, ...]:
    """Submit the runs that `choose` selects, a job for each batch of them. `choose` is called under the store's lock.

    All scripts are rendered and verified before anything is written or submitted.
    """
    room = room or Room()
    with store.transaction():
        batches = matrix.batches(() if room.closed() else tuple(choose()), definition.campaign.slurm.allocation)
        attempts = store.attempts() if batches else []
        attempts_by_run = grouped((attempt.run, attempt) for attempt in attempts)
        targets = dict.fromkeys(batch[0].directory for batch in batches)
        left = {target: left_on(definition.paths, target, attempts) for target in targets}
        if room.wait is None:
            batches = batches[: max(0, room.most - len(_active(store)))]
        prepared = []
        for batch in batches:
            # The first job on a target clears it.
            job, script = prepare(definition, attempts_by_run, batch, left.pop(batch[0].directory, {}))
            # Thousands of scripts share the functions in their middle.
            prepared.append((job, script.partition(scripts.functions())))
        for job, parts in prepared:
            _plan(store, job, "".join(parts))
    jobs = [job for job, _ in prepared]
    room.unsent.update(job.name for job in jobs)
    sender = _Sender(definition, store, {job.name for job in jobs}, room, say)
    submissions = []
    try:
        for job in jobs:
            if room.closed() or sender.given_up:
                break
            submissions.append(sender.send(job))
        return tuple(submissions)
    finally:
        for name in sorted(room.unsent):
            _give_up_all(definition.paths, store, name, sender.given_up or "not submitted: the driver stopped first")
        room.unsent.clear()


class _Sender:
    """Submits jobs one after another, each waiting for earlier ones by their ids, and records sbatch's answers.

    A driver that is killed in between leaves a job that is found by its name.
    """

    def __init__(
        self, definition: Definition, store: Store, jobs: set[str], room: Room, say: Callable[[str], None]
    ) -> None:
        self._opened, self._paths, self._store, self._room, self._say = definition, definition.paths, store, room, say
        self._new, self._jobs = jobs, store.jobs()
        self._under_way = _active(store) - jobs
        self._active = len(self._under_way)  # jobs of the campaign that have not ended
        self._latest: dict[str, str] = {}  # by target: the id of its last submitted job
        self._others: list[commands.Job] = []  # Slurm is asked once, not for each job
        with contextlib.suppress(UnknownState):  # the lock on the target is effective anyway
            self._others = commands.my_jobs() if jobs else []
        self._slow = False  # whether slow answers of sbatch were reported
        self._waits_for = ""  # the reported reason for waiting for room
        self._pauses, self._troubled = sbatch.pauses(), math.inf  # since sbatch has given no id or refusal any more
        self.given_up = ""  # why no further job is submitted

    def send(self, job: scripts.JobScript) -> Sent:
        """Submit a job once there is room for it. The same job is submitted again if Slurm does not have it, and the
        same runs again if sbatch failed for a transient reason.
        """
        room = self._room
        if self._active >= room.most and room.wait is not None:
            self._wait_for_room(job, f"--max-jobs is {room.most}", room.most)
        while True:
            room.unsent.discard(job.name)
            answer = sbatch.submit(job.folder / "job.sbatch", self._jobs_before(job), self._tell_slow)
            if room.wait is not None and answer.is_full(self._active > 0):
                self._wait_for_room(job, answer.message, self._active, TRY_AGAIN_S)
                continue
            if answer.uncertain:
                answer = self._settle(job, answer)
            if answer.uncertain or not answer.passes or answer.job_id or self._has_lasted() or room.closed():
                break
            replacement = self._replace_job(job, answer)
            if replacement is None:
                break
            job = replacement
        if not answer.passes:
            self._pauses, self._troubled = sbatch.pauses(), math.inf
        elif not answer.job_id and self._has_lasted():
            self.given_up = (
                f"not submitted: sbatch has failed for {round(PATIENCE_S / 60)} min ({one_line(answer.message)}); run "
                "again when Slurm takes jobs again"
            )
            self._say(self.given_up)
        if answer.job_id:
            if not job.steps[0].run.shares_target:
                self._latest[job.steps[0].run.target] = answer.job_id
            self._active += 1
        return self._record(job, answer)

    def _jobs_before(self, job: scripts.JobScript) -> list[str]:
        """Ids of the jobs that this one has to wait for: those of this campaign, except on independent targets, and
        this user's others on this target. None for one that may run beside others.
        """
        if job.steps[0].run.shares_target:
            return []
        independent = matrix.independent_targets(self._opened.campaign.targets, job.steps[0].run.target)
        previous = [job_id for other, job_id in self._latest.items() if other not in independent]
        ids = {self._jobs[name].job_id for name in self._under_way if self._jobs[name].target not in independent}
        mark = scripts.target_mark(job.steps[0].run.directory)
        others = (other for other in self._others if mark in f"{other.name} {other.directory}")
        ids |= {other.id for other in others if other.name not in self._new}
        return list(dict.fromkeys([*previous, *sorted(job_id for job_id in ids if job_id)]))

    def _has_lasted(self) -> bool:
        """Whether sbatch has failed for longer than PATIENCE_S."""
        return time.monotonic() - self._troubled > PATIENCE_S

    def _settle(self, job: scripts.JobScript, answer: sbatch.SbatchAnswer) -> sbatch.SbatchAnswer:
        """The outcome of a job whose sbatch failed. It may arrive late: Slurm does not have the job if it says so
        several times, after growing pauses. Still uncertain if Slurm does not answer, or if the job has begun.
        """
        self._troubled = min(self._troubled, time.monotonic())
        self._store.note("uncertain", job=job.name, message=answer.message)
        self._say(
            f"sbatch failed for {plural(len(job.steps), 'run')}, but the job may exist; asking Slurm: {answer.message}"
        )
        absent = 0
        while absent < ABSENT_TIMES and not self._has_lasted() and not self._room.closed():
            self._pause(job)
            with contextlib.suppress(UnknownState):
                if (queued_job := commands.queue({job.name: None}).get(job.name)) is not None:
                    return sbatch.SbatchAnswer(queued_job.id, "")
                absent += 1
        return replace(answer, uncertain=absent < ABSENT_TIMES)

    def _pause(self, job: scripts.JobScript) -> None:
        """Pause, longer each time until sbatch works again; meanwhile jobs are followed, except this one."""
        room, deadline = self._room, time.monotonic() + next(self._pauses)
        room.unsent.add(job.name)
        try:
            while (left_s := deadline - time.monotonic()) > 0 and not room.closed():
                if room.wait is None:
                    time.sleep(min(left_s, 1.0))
                else:
                    room.wait()
        finally:  # if interrupted, nobody knows of this job
            room.unsent.discard(job.name)

    def _replace_job(self, job: scripts.JobScript, answer: sbatch.SbatchAnswer) -> scripts.JobScript | None:
        """A job of the same runs, replacing one that Slurm does not have: if that arrives late, it finds its attempts
        claimed. None if it has arrived.
        """
        with self._store.transaction():
            if not _give_up_all(self._paths, self._store, job.name, not_submitted(job.name, answer.message)):
                return None
            runs = [step.run for step in job.steps]
            attempts_by_run = grouped((attempt.run, attempt) for attempt in self._store.attempts())
            replacement, script = prepare(self._opened, attempts_by_run, runs, job.steps[0].stale)
            _plan(self._store, replacement, script)
        self._say(f"Slurm has no job named {job.name}; submitting its {plural(len(runs), 'run')} again")
        return replacement

    def _tell_slow(self, waited_s: float) -> None:
        if not self._slow:
            self._slow = True
            left, longest = plural(len(self._room.unsent) + 1, "job"), round(sbatch.TIMEOUT_S)
            self._say(
                f"sbatch has not answered for {round(waited_s)} s, so slurmctld is slow or busy; {left} still to "
                f"submit, one after another; each sbatch may take up to {longest} s"
            )

    def _record(self, job: scripts.JobScript, answer: sbatch.SbatchAnswer) -> Sent:
        """Record sbatch's answer and report it."""
        runs, store = plural(len(job.steps), "run"), self._store
        refused = False
        message = f"whether Slurm has {runs} is not known yet; asking on while the others run"
        if answer.job_id:
            store.submitted(job.name, answer.job_id, answer.message)
            message = f"submitted job {answer.job_id}: {runs} ({job.steps[0].run.id} first)"
            message += f"; sbatch says: {answer.message}" if answer.message else ""
        elif not answer.uncertain:
            reason = not_submitted(job.name, answer.message)
            if answer.refused:
                reason = f"Slurm refused the job: {answer.message}"
            if _give_up_all(self._paths, store, job.name, reason):
                refused = answer.refused
                message = f"Slurm refused {runs}: {answer.message}" if refused else reason
            else:  # the job has measured all the same
                store.note("uncertain", job=job.name, message=answer.message)
        self._say(message)
        return Sent(tuple(step.run for step in job.steps), refused)

    def _wait_for_room(self, job: scripts.JobScript, reason: str, fewer_than: int, longest_s: float = math.inf) -> None:
        """Wait until the campaign has fewer jobs than this, or for so long."""
        room = self._room
        assert room.wait is not None
        deadline = time.monotonic() + longest_s
        room.unsent.add(job.name)
        if reason != self._waits_for:
            self._say(
                f"{plural(len(room.unsent), 'job')} not submitted yet, waiting for room in the queue: "
                f"{one_line(reason)}"
            )
            self._waits_for = reason
        while self._active >= fewer_than and time.monotonic() <= deadline:
            room.wait()
            self._active = len(_active(self._store) - room.unsent)


def _active(store: Store) -> set[str]:
    """The names of the campaign's jobs that have not ended."""
    return {attempt.job for attempt in store.under_way()}


def left_on(paths: Paths, target: str, attempts: Sequence[Attempt]) -> dict[str, str]:
    """Directories on a target that jobs of these attempts created and could not remove, as far as visible from here,
    because it was read-only or full; with their inodes. A directory that others created in its place is left out.
    """
    try:
        present = {entry.name for entry in os.scandir(target)}
    except OSError:
        return {}
    return {
        directory: inode
        for attempt in attempts
        if (name := directory_name(attempt.token)) in present
        and not attempt.state.active
        and (inode := _inode(paths, attempt)) is not None
        and _is_directory(directory := f"{target.rstrip('/')}/{name}", inode)
    }


def _is_directory(path: str, inode: str) -> bool:
    """Whether it is a directory with this inode, or with any if that is unknown; a link is not."""
    try:
        status = os.lstat(path)
    except OSError:
        return False
    return stat.S_ISDIR(status.st_mode) and inode in ("", str(status.st_ino))


def _inode(paths: Paths, attempt: Attempt) -> str | None:
    """The inode of the directory that an attempt's job created on the target: "" if the job was killed before it
    recorded it, None if it created none, so that an existing one belongs to another process.
    """
    try:
        text = (paths.attempt(attempt.run, attempt.number) / "directory-made").read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        return None
    return text if text.isdecimal() else ""


def prepare(
    definition: Definition,
    attempts_by_run: Mapping[str, Sequence[Attempt]],
    batch: Sequence[Run],
    left: Mapping[str, str],
    token: Callable[[], str] | None = None,
) -> tuple[scripts.JobScript, str]:
    """A job of these runs, and its script. `attempts_by_run`: the recorded ones; `left`: what others left on the
    target, which this job removes. `token`: makes the names of attempts, their directories and their job.
    """
    campaign, pack, paths = definition.campaign, definition.pack, definition.paths
    # It contains the buyer's challenge, so that it cannot exist before that was given.
    token = token or (lambda: journal.challenge(campaign.nonce) + secrets.token_hex(4))
    steps = []
    for run in batch:
        earlier = attempts_by_run.get(run.id, ())
        number = _next_number(paths, run, earlier)
        stale = {
            run.attempt_directory(attempt.token): inode
            for attempt in earlier
            if not (attempt.state.active or run.is_in_job)
            and attempt.state is not State.DONE
            and (inode := _inode(paths, attempt)) is not None
        }
        stale, left = {**left, **stale}, {}
        steps.append(Planned(run, number, token(), paths.attempt(run.id, number), stale))
    name = f"campaign-{campaign.name[:24]}-{scripts.target_mark(batch[0].directory)}-{token()}"
    seen = ":".join(map(str, identity(batch[0].directory) or ()))
    boot = "" if batch[0].is_in_job else _boot()  # what exists only in a job may be its node's own
    job = script_of(campaign, pack, name, paths, steps, boot, seen, str(resources.witness()))
    return job, scripts.render(job)


def script_of(
    campaign: Campaign,
    pack: RulePack,
    name: str,
    paths: Paths,
    steps: Sequence[Planned],
    boot: str,
    seen: str,
    witness: str,
) -> scripts.JobScript:
    """The input from which the job script of these steps is rendered. `boot` to `witness`: as in it."""
    title = f"campaign {campaign.name}, rules {pack.id} version {pack.version}, profile {campaign.profile}"
    target = steps[0].run.target
    counters = next((entry.server_counters for entry in campaign.targets if entry.name == target), "")
    targets = matrix.independent_targets(campaign.targets, target)
    targets |= {target} if steps[0].run.shares_target else set[str]()
    independent = tuple(scripts.target_mark(entry.directory) for entry in campaign.targets if entry.name in targets)
    return scripts.JobScript(
        title,
        name,
        paths.jobs(name),
        tuple(steps),
        campaign.slurm,
        probe=campaign.benchmark.external or campaign.energy.by_nodes or any(phase.copies for phase in pack.phases),
        clause=pack.offset_clause,
        boot=boot,
        seen=seen,
        independent=independent,
        counters=counters,
        witness=witness,
    )


def _boot() -> str:
    """The first part of this machine's boot id, which its virtual nodes share."""
    with contextlib.suppress(OSError):
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").partition("-")[0].strip()
    return ""


def _next_number(paths: Paths, run: Run, earlier: Sequence[Attempt]) -> int:
    """Above every recorded attempt and every existing folder: raw output is never overwritten."""
    folder = paths.runs / run.id
    folders = [int(path.name) for path in folder.iterdir() if path.name.isdigit()] if folder.is_dir() else []
    return max([0, *folders, *(attempt.number for attempt in earlier)]) + 1


def _plan(store: Store, job: scripts.JobScript, script: str) -> None:
    """Record a job, with its script."""
    _write_job(job, script)
    rendered = scripts.rendered_by(job.slurm.template or scripts.TEMPLATE)
    store.plan_job(job.name, job.steps[0].run.target, submitter(), job.steps, *rendered)


def _write_job(job: scripts.JobScript, script: str) -> None:
    """Write the script, which each attempt has in its folder too: as links, however many runs the job has."""
    job.folder.mkdir(parents=True)
    path = job.folder / "job.sbatch"
    atomic.write(path, script)
    for step in job.steps:
        step.folder.mkdir(parents=True)
        try:
            (step.folder / "job.sbatch").hardlink_to(path)
        except OSError:  # a file system without hard links
            atomic.write(step.folder / "job.sbatch", script)
        content = {
            "format": 1,
            **scripts.attempt_record(step.run, step.number, step.token, job.name),
            "notes": step.run.notes,
        }
        atomic.write(step.folder / "attempt.json", json.dumps(content, indent=1) + "\n")


def not_submitted(job: str, sbatch_text: str) -> str:
    """The message about a job that Slurm does not have, from sbatch's answer."""
    return not_submitted_text(job) + (f" (sbatch said: {sbatch_text})" if sbatch_text else "")


def not_submitted_text(job: object) -> str:
    return f"not submitted: no job named {job} in Slurm"


def _give_up_all(paths: Paths, store: Store, job: str, reason: str) -> bool:
    """Give up all attempts of a job; whether none was claimed before: sbatch's answer does not undo what the job has
    done.
    """
    attempts = [attempt for attempt in store.attempts() if attempt.job == job]
    return sum(give_up(paths, store, attempt, State.REFUSED, reason) for attempt in attempts) == len(attempts)


def one_line(text: str) -> str:
    return " ".join(text.split())


# --- the driver's identity


def submitter() -> str:
    """host:pid:start of this process, so that a reused pid is not mistaken for it."""
    return f"{socket.gethostname()}:{os.getpid()}:{Process.from_pid(os.getpid()).started}"


def may_still_submit(job: StoredJob) -> bool:
    """Whether the driver that recorded this job may still be about to record sbatch's answer."""
    if job.submitter.startswith(f"{socket.gethostname()}:"):
        return is_running(job.submitter)
    return time.time() - job.created < SETTLE_S


def is_running(driver: str) -> bool:
    """Whether a driver is another process of this machine that has not ended."""
    host, pid, start = ("", "", "", *driver.rsplit(":", 2))[-3:]
    is_of_this_machine = host == socket.gethostname() and pid.isdecimal() and start.isdecimal()
    return is_of_this_machine and int(pid) != os.getpid() and Process(int(pid), int(start)).alive()


def give_up(paths: Paths, store: Store, attempt: Attempt, state: State, reason: str) -> bool:
    """End an attempt that no known job works on; False if a job has claimed it after all."""
    folder = paths.attempt(attempt.run, attempt.number)
    try:
        (folder / "claim").mkdir()
    except FileExistsError:
        return False
    except OSError as error:
        raise EnvironmentLacks(f"{folder}/claim: {error.strerror}") from error
    store.record_end(attempt, state, reason)
    return True
