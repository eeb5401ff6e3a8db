"""Sends what is missing: attempts on record first, then the job script, then sbatch.

A failed sbatch may have submitted, and a driver may be killed between any two lines. So an attempt is written down
before sbatch is called, carries a random token in its job's name, and belongs to whoever first makes the directory
`claim` in its folder: the job that runs it, or a driver that has given the job up.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import socket
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from campaign.config.opened import Opened
from campaign.core.errors import EnvironmentLacks, UnknownState
from campaign.core.model import Attempt, Paths, Planned, Run, State
from campaign.core.units import several
from campaign.plan import matrix
from campaign.results.store import Store, StoredJob
from campaign.slurm import commands, messages, scripts
from campaign.slurm.sandbox.processes import Process

SETTLE_S = 120.0  # a driver on another host that has not recorded sbatch's answer by then is taken for dead


@dataclass(frozen=True, slots=True)
class Sent:
    """A job of these runs. `refused`: sbatch took none; what Slurm says later of one that it took stands on record."""

    runs: tuple[Run, ...]
    refused: bool


def send(
    opened: Opened, store: Store, choose: Callable[[], Sequence[Run]], say: Callable[[str], None]
) -> tuple[Sent, ...]:
    """Submit the runs that `choose` names, a job for each batch of them. `choose` is called under the store's lock.

    All scripts are rendered and verified before anything is written or submitted.
    """
    with store.transaction():
        batches = matrix.batches(tuple(choose()), opened.campaign.slurm.allocation)
        known = store.attempts()
        prepared = [prepare(opened, known, batch, lambda: secrets.token_hex(4)) for batch in batches]
        for job, script in prepared:
            for step in job.steps:
                _write_attempt(step, job, script)
            job.folder.mkdir(parents=True)
            (job.folder / "job.sbatch").write_text(script, encoding="utf-8")
            store.plan_job(job.name, job.steps[0].run.target, submitter(), job.steps)
    names = {job.name for job, _ in prepared}
    sent: list[Sent] = []
    storage = {target.name: target.storage for target in opened.campaign.targets}
    latest: dict[str, str] = {}  # by target: the id of its job that was submitted last
    for job, _ in prepared:
        target = job.steps[0].run.target
        # Named storage that is no other one's: what is measured there disturbs nothing here.
        apart = {name for name in storage if matrix.independent(storage[target], storage[name])}
        previous = [job_id for other, job_id in latest.items() if other not in apart]
        after = list(dict.fromkeys([*previous, *_others(store, job, names, apart)]))
        answer = _submit(opened.paths, store, job, after, say)
        if answer.job_id:
            latest[target] = answer.job_id
        sent.append(Sent(tuple(step.run for step in job.steps), answer.refused))
    return tuple(sent)


def prepare(
    opened: Opened, known: Sequence[Attempt], batch: Sequence[Run], token: Callable[[], str]
) -> tuple[scripts.JobScript, str]:
    """A job of these runs, and its script. `known`: the attempts on record."""
    campaign, pack, paths = opened.campaign, opened.pack, opened.paths
    steps = []
    for run in batch:
        earlier = [attempt for attempt in known if attempt.run == run.id]
        number = _next_number(paths, run, earlier)
        stale = tuple(
            run.attempt_directory(attempt.token)
            for attempt in earlier
            if not attempt.state.active
            and attempt.state is not State.DONE
            # Written by the job once its mkdir has succeeded: what was there before is somebody else's.
            and (paths.attempt(run.id, attempt.number) / "directory-made").is_file()
        )
        steps.append(Planned(run, number, token(), paths.attempt(run.id, number), stale))
    name = f"campaign-{campaign.name[:24]}-{token()}"
    title = f"campaign {campaign.name}, rules {pack.id} version {pack.version}, profile {campaign.profile}"
    clause = next((flag.clause for flag in pack.derived if flag.flag == "-N"), "")
    # The builtin benchmark checks its own placement before it measures; for another one the job does.
    probe = campaign.benchmark.external
    here = _boot(), _seen(batch[0].directory)
    storage = {target.name: target.storage for target in campaign.targets}
    independent = tuple(
        scripts.target_mark(target.directory)
        for target in campaign.targets
        if matrix.independent(target.storage, storage[batch[0].target])
    )
    job = scripts.JobScript(
        title, name, paths.jobs(name), tuple(steps), campaign.slurm, probe, clause, *here, independent
    )
    return job, scripts.render(job)


def _boot() -> str:
    """The first part of what this machine's kernel calls its boot, which its virtual nodes share."""
    with contextlib.suppress(OSError):
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").partition("-")[0].strip()
    return ""


def _seen(directory: str) -> str:
    with contextlib.suppress(OSError):
        status = Path(directory).stat()
        return f"{status.st_dev}:{status.st_ino}"
    return ""


def _next_number(paths: Paths, run: Run, earlier: Sequence[Attempt]) -> int:
    """Above every attempt on record and every folder: raw output is never written over."""
    folder = paths.root / "runs" / run.id
    folders = [int(path.name) for path in folder.iterdir() if path.name.isdigit()] if folder.is_dir() else []
    return max([0, *folders, *(attempt.number for attempt in earlier)]) + 1


def _write_attempt(step: Planned, job: scripts.JobScript, script: str) -> None:
    run = step.run
    step.folder.mkdir(parents=True)
    (step.folder / "job.sbatch").write_text(script, encoding="utf-8")
    described = {"format": 1, **scripts.described(run, step.number, step.token, job.name), "notes": run.notes}
    (step.folder / "attempt.json").write_text(json.dumps(described, indent=1) + "\n", encoding="utf-8")


def _others(store: Store, job: scripts.JobScript, names: set[str], apart: set[str]) -> list[str]:
    """Ids of the jobs that this one has to wait for: of this campaign, but on targets `apart`, and of this user's other
    ones on this target; without those of these names, which are about to be submitted.
    """
    known = store.jobs()
    active = {attempt.job for attempt in store.attempts() if attempt.state.active} - names
    ids = {known[name].job_id for name in active if known[name].target not in apart}
    mark = scripts.target_mark(job.steps[0].run.directory)
    with contextlib.suppress(UnknownState):  # the lock on the target holds all the same
        ids |= {other.id for other in commands.my_active_jobs() if other.comment == mark and other.name not in names}
    return sorted(job_id for job_id in ids if job_id)


def _submit(
    paths: Paths, store: Store, job: scripts.JobScript, after: Sequence[str], say: Callable[[str], None]
) -> commands.SbatchAnswer:
    answer = commands.submit(job.folder / "job.sbatch", after)
    refused = answer.refused and _give_up_all(paths, store, job.name, messages.REFUSED_ATTEMPT(why=answer.message))
    runs = several(len(job.steps), "run")
    if answer.job_id:
        store.submitted(job.name, answer.job_id, answer.message)
        about = {"job": answer.job_id, "runs": runs, "first": job.steps[0].run.id}
        say(
            messages.SUBMITTED_REMARK(**about, remark=answer.message) if answer.message else messages.SUBMITTED(**about)
        )
    elif refused:
        say(messages.REFUSED(runs=runs, why=answer.message))
    else:
        store.note("uncertain", job=job.name, message=answer.message)
        say(messages.UNCERTAIN(runs=runs, why=answer.message))
    return replace(answer, uncertain=answer.job_id is None and not refused)


def _give_up_all(paths: Paths, store: Store, job: str, reason: str) -> bool:
    """Whether no attempt of a job was claimed before: what sbatch says of a job does not undo what the job has done."""
    mine = [attempt for attempt in store.attempts() if attempt.job == job]
    return sum(give_up(paths, store, attempt, State.REFUSED, reason) for attempt in mine) == len(mine)


# --- the driver's identity


def submitter() -> str:
    """host:pid:start of this process: a reused pid is not taken for it."""
    return f"{socket.gethostname()}:{os.getpid()}:{Process.of(os.getpid()).started}"


def may_still_submit(job: StoredJob) -> bool:
    """Whether the driver that wrote this job down may be about to record sbatch's answer."""
    host, pid, start = job.submitter.rsplit(":", 2)
    if host == socket.gethostname():
        return int(pid) != os.getpid() and start.isdigit() and Process(int(pid), int(start)).alive()
    return time.time() - job.created < SETTLE_S


def give_up(paths: Paths, store: Store, attempt: Attempt, state: State, reason: str) -> bool:
    """End an attempt that no job is known to work on; False where a job has claimed it after all."""
    folder = paths.attempt(attempt.run, attempt.number)
    try:
        (folder / "claim").mkdir()
    except FileExistsError:
        return False
    except OSError as error:
        raise EnvironmentLacks(messages.UNCLAIMED(folder=folder, why=error.strerror)) from error
    store.ended(attempt, state, reason)
    return True
