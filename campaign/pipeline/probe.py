"""`plan --probe`: a short job on as many nodes as the campaign needs, which says what each of them sees."""

from __future__ import annotations

import contextlib
import itertools
import os
import shutil
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from campaign.config.opened import Opened
from campaign.core.errors import EnvironmentLacks, UnknownState
from campaign.core.frozen import dataclass
from campaign.core.model import State
from campaign.core.units import several
from campaign.pipeline import messages
from campaign.pipeline.preflight import Checked
from campaign.slurm import commands, sbatch, scripts
from campaign.slurm.submit import prepare

LIMIT_S = 180  # of the probe's job
PAUSE_S = (0.2, 5.0)  # shortest and longest time between two checks of it
GRACE_S = 10.0  # for its records to appear once it has ended


@dataclass(frozen=True, slots=True)
class Probed:
    """`problems`: a line for each, with its nodes' names."""

    job: str
    nodes: int
    problems: tuple[str, ...]

    @property
    def passed(self) -> str:
        """What holds if there are none."""
        return messages.PROBED(job=self.job, nodes=several(self.nodes, "node"))


def probe(opened: Opened, checked: Checked, say: Callable[[str], None]) -> Probed:
    """Submit the probe and wait for it; an interruption cancels it. Raises EnvironmentLacks where it cannot be run."""
    runs = checked.plan.all_runs
    widest = max(runs, key=lambda run: (run.geometry.nodes, run.geometry.processes))
    folder = Path(tempfile.mkdtemp(prefix="campaign-probe-", dir=_there(opened.paths.root)))
    try:
        job, _ = prepare(opened, {}, (widest,), map(str, itertools.count()).__next__)
        slurm = replace(job.slurm, time_s=LIMIT_S - scripts.JOB_OVERHEAD_S, template=None)
        job = replace(job, name=folder.name, folder=folder, slurm=slurm)
        script = folder / "probe.sbatch"
        directories = [target.directory for target in opened.campaign.targets]
        script.write_text(scripts.render_probe(job, directories), encoding="utf-8")
        answer = sbatch.submit(script)
        if answer.job_id is None:
            raise EnvironmentLacks(messages.PROBE_REFUSED(why=answer.message))
        say(messages.PROBE_SUBMITTED(job=answer.job_id, nodes=several(widest.geometry.nodes, "node")))
        try:
            state = _wait(answer.job_id, folder)
        except BaseException:
            commands.cancel([answer.job_id])
            raise
        return _read(folder, answer.job_id, widest.geometry.nodes, state)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _there(path: Path) -> Path:
    """The nearest directory above the results that is there: nodes and this machine see it."""
    while not os.path.lexists(path):
        path = path.parent
    return path


def _wait(job_id: str, folder: Path) -> str:
    """Until the probe's job has ended; gives Slurm's word for its state."""
    pause, ended = PAUSE_S[0], None
    while not (folder / "ended").exists():
        with contextlib.suppress(UnknownState):
            job = commands.queue({folder.name: job_id}).get(folder.name)
            if job is None or not job.state.active:
                ended = ended or time.monotonic()
                if time.monotonic() - ended > GRACE_S:
                    return job.word if job else str(State.LOST)
        time.sleep(pause)
        pause = min(pause * 1.2, PAUSE_S[1])
    return ""


def _read(folder: Path, job: str, nodes: int, state: str) -> Probed:
    """Problems by what is wrong, each with the nodes that say so."""
    texts: dict[str, list[str]] = {}
    answered = set()
    for line in _lines(folder / "nodes"):
        node, _, text = line.partition("\t")
        if text:
            texts.setdefault(text, []).append(node)
        else:
            answered.add(node)
    problems = [messages.PROBE_PROBLEM(nodes=", ".join(sorted(names)), problem=text) for text, names in texts.items()]
    if len(answered) < nodes:
        why = state or " ".join(_lines(folder / "nodes.err")[-1:]) or "srun gave no reason"
        problems.append(
            messages.PROBE_INCOMPLETE(job=job, answered=len(answered), nodes=several(nodes, "node"), why=why)
        )
    return Probed(job, nodes, tuple(problems))


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []
