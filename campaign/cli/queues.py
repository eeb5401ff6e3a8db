"""Runs the parts of a response, each by a command: those that share storage or a partition one after another, others at
the same time.
"""

from __future__ import annotations

import argparse
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from threading import Event

from campaign.cli.output import say, show
from campaign.config.definition import Definition
from campaign.core.errors import INCOMPLETE, INTERRUPTED, OK, InputError
from campaign.core.units import digits
from campaign.pipeline.campaign_state import active_jobs
from campaign.pipeline.request import used_node_h

FLAGS = ("detach", "keep_going", "despite_violations", "verbose", "quiet")  # which each part gets


def commands(arguments: argparse.Namespace, words: Sequence[str], parts: Sequence[str]) -> dict[str, list[str]]:
    """The command of each part that is to run. `words`: statuses, and cells as `part/target/launch/files/operation`."""
    cells = [word.partition("/") for word in words if "/" in word]
    statuses = [word for word in words if "/" not in word]
    for part, slash, cell in cells:
        if part not in parts:
            raise InputError(
                f"{part}{slash}{cell}: allowed: part/target/launch/files/operation; parts: {', '.join(parts)}"
            )
    _, verb = arguments.do
    program = [sys.executable, "-P", "-m", "campaign", verb, str(arguments.file)]
    options = [f"--{flag.replace('_', '-')}" for flag in FLAGS if getattr(arguments, flag)]
    commands_by_part = {}
    for part in parts:
        of_part = [*(cell for name, _, cell in cells if name == part), *statuses]
        if of_part or not words:
            selection_words = of_part if verb == "rerun" else [f"--only={word}" for word in of_part]
            commands_by_part[part] = [*program, *selection_words, "--part", part, *options]
    return commands_by_part


@dataclass(frozen=True, slots=True)
class RunLimits:
    """What all parts together may have: jobs in Slurm, and node-hours."""

    jobs: int
    node_h: float | None

    def remaining_options(self, part: str, other_parts: Iterable[Definition], workers: int) -> list[str] | None:
        """What these others leave to a part, of which so many run at the same time; None if it is nothing."""
        other_parts = list(other_parts)
        jobs = (self.jobs - sum(len(active_jobs(other)) for other in other_parts)) // workers
        if jobs < 1:
            say(f"{part}: not run: --max-jobs is {self.jobs}, and the jobs of the other parts leave it none")
            return None
        if self.node_h is None:
            return ["--max-jobs", str(jobs)]
        node_h = self.node_h - sum(map(used_node_h, other_parts))
        if node_h <= 0:
            say(f"{part}: not run: --max-node-hours is {self.node_h:.15g}, which the other parts have used or reserved")
            return None
        show(f"{part}: {digits(node_h)} of {self.node_h:.15g} node-hours are left for it")
        return ["--max-jobs", str(jobs), "--max-node-hours", repr(node_h)]


def run(
    parts: Mapping[str, Definition], commands_by_part: Mapping[str, list[str]], limits: RunLimits, is_detached: bool
) -> int:
    """Run these commands of parts; gives the worst exit status. Their lines begin with the part's name.

    Parts whose jobs go on without them, or which share node-hours, run one after another: each gets what is left.
    """
    is_in_turn = is_detached or limits.node_h is not None
    queues = [list(commands_by_part)] if is_in_turn else list(interfering_groups(parts, list(commands_by_part)))
    workers = max(1, min(len(queues), limits.jobs))
    running: dict[str, subprocess.Popen[str]] = {}
    interrupted = Event()

    def follow(queue: list[str]) -> int:
        worst = OK
        for part in queue:
            if interrupted.is_set():
                return INTERRUPTED
            other_parts = (definition for other, definition in parts.items() if other != part and other not in running)
            options = limits.remaining_options(part, other_parts, workers)
            if options is None:
                worst = max(worst, INCOMPLETE)
                continue
            # In a group of its own: Ctrl-C reaches this program, which passes it on.
            with subprocess.Popen(
                [*commands_by_part[part], *options],
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                process_group=0,
            ) as running[part]:
                for line in running[part].stdout or ():
                    show(f"{part}: {line.rstrip()}")
                    sys.stdout.flush()
            status = running.pop(part).returncode
            worst = max(worst, status if status >= 0 else INTERRUPTED)
        return worst

    with ThreadPoolExecutor(workers) as threads:
        following = [threads.submit(follow, queue) for queue in queues]
        while not all(future.done() for future in following):
            try:
                wait(following)
            except KeyboardInterrupt:  # the parts say what they leave
                interrupted.set()
                for child in list(running.values()):
                    child.send_signal(signal.SIGINT)
        return max((future.result() for future in following), default=OK)


def interfering_groups(parts: Mapping[str, Definition], selected_parts: Sequence[str]) -> Iterator[list[str]]:
    """Parts that disturb each other, in their order: those with a common partition, storage or directory."""
    left = list(selected_parts)
    while left:
        group = [left.pop(0)]
        group_resources = _resources(parts[group[0]])
        while joined := [part for part in left if group_resources & _resources(parts[part])]:
            group += joined
            group_resources |= {resource for part in joined for resource in _resources(parts[part])}
            left = [part for part in left if part not in joined]
        yield [part for part in selected_parts if part in group]


def _resources(part: Definition) -> set[tuple[str, str]]:
    campaign = part.campaign
    targets = {("storage", target.storage or target.directory) for target in campaign.targets}
    return {("partition", campaign.slurm.partition), *targets}
