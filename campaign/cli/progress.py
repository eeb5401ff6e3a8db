"""What a person sees while a campaign runs: a live display on a terminal, a line for each change elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from typing import TextIO

from campaign.core.model import Attempt, Run, State
from campaign.core.units import format_duration
from campaign.pipeline.run import Progress


def display(stream: TextIO = sys.stderr) -> Lines:
    return Live(stream) if stream.isatty() else Lines(stream)


def counts(progress: Progress) -> tuple[int, int]:
    """(runs that have ended, runs in all)."""
    ended = [run for run in progress.runs if (last := _last(progress, run)) and not last.state.active]
    return len(ended), len(progress.runs)


def time_left(progress: Progress) -> float | None:
    """Seconds for what has not ended, at the mean length of what has; None before anything has."""
    ended = (attempt.seconds for attempts in progress.attempts.values() for attempt in attempts)
    taken = [seconds for seconds in ended if seconds is not None]
    done, total = counts(progress)
    return (total - done) * sum(taken) / len(taken) if taken else None


def _last(progress: Progress, run: Run) -> Attempt | None:
    attempts = progress.attempts.get(run.id, [])
    return attempts[-1] if attempts else None


def describe(attempt: Attempt) -> str:
    """One attempt's state in words: `done in 1.6 s`, `pending: Resources`, `timeout: …`."""
    if attempt.state is State.DONE and attempt.seconds is not None:
        return f"done in {attempt.seconds:.1f} s"
    return f"{attempt.state}{f': {attempt.reason}' if attempt.reason else ''}"


class Lines:
    """A plain line for each change of state."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._seen: dict[str, tuple[int, State, str]] = {}

    def say(self, text: str) -> None:
        print(text, file=self._stream, flush=True)

    def show(self, progress: Progress) -> None:
        done, total = counts(progress)
        for run in progress.runs:
            last = _last(progress, run)
            if last is None:
                continue
            now = (last.number, last.state, last.reason)
            if self._seen.get(run.id) != now:
                self._seen[run.id] = now
                left = time_left(progress) if not last.state.active else None
                ahead = f", about {format_duration(round(left))} left" if left else ""
                self.say(f"[{done}/{total}] {run.id} on {run.geometry}, attempt {last.number}: {describe(last)}{ahead}")

    def close(self) -> None:
        pass


class Live(Lines):
    """The runs and their states, redrawn in place."""

    def __init__(self, stream: TextIO) -> None:
        super().__init__(stream)
        from rich.console import Console
        from rich.live import Live as RichLive

        self._console = Console(file=stream)
        self._live = RichLive(console=self._console, refresh_per_second=4, transient=True)
        self._live.start()
        self._began = time.monotonic()

    def say(self, text: str) -> None:
        self._console.print(text, markup=False, highlight=False)

    def show(self, progress: Progress) -> None:
        from rich.markup import escape
        from rich.table import Table

        done, total = counts(progress)
        left = time_left(progress)
        title = f"{done} of {total} runs ended, {format_duration(round(time.monotonic() - self._began))} so far"
        if left:
            title += f", about {format_duration(round(left))} left"
        grid = Table(title=title, title_justify="left", box=None)
        for column in ("run", "nodes x ranks", "job", "state"):
            grid.add_column(column, no_wrap=column == "run")
        for run in self._fitting(progress):
            last = _last(progress, run)
            style = _STYLES.get(last.state, "red") if last else "dim"
            job = (last.job_id or "") if last else ""
            # Slurm's words and paths may hold what rich takes for markup.
            grid.add_row(run.id, str(run.geometry), job, escape(describe(last)) if last else "", style=style)
        self._live.update(grid)

    def _fitting(self, progress: Progress) -> Sequence[Run]:
        """All runs where they fit the screen, otherwise those around the one that runs."""
        room = max(4, self._console.size.height - 4)
        first = next(
            (i for i, run in enumerate(progress.runs) if not (last := _last(progress, run)) or last.state.active), 0
        )
        start = max(0, min(first - room // 2, len(progress.runs) - room))
        return progress.runs[start : start + room]

    def close(self) -> None:
        self._live.stop()


_STYLES = {State.DONE: "green", State.RUNNING: "bold cyan", State.PENDING: "yellow", State.SUBMITTING: "yellow"}
