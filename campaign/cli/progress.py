"""What a user sees while a campaign runs: a line for each run that has ended, and on a terminal all runs below.

Everything, with each change of a run's state, is also written to `run.log` beside the results, with times.
"""

from __future__ import annotations

import errno
import re
import sys
import time
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from enum import IntEnum
from itertools import islice
from pathlib import Path
from typing import TextIO

from campaign.cli.output import fold_to_terminal, show
from campaign.cli.terminal import can_redraw, is_coloured, with_colours
from campaign.core.grouping import grouped
from campaign.core.runs import Attempt, Geometry, Run, State
from campaign.core.units import digits, format_duration, plural
from campaign.pipeline.run import Progress, RunValue
from campaign.plan.estimate import TimeLeft
from campaign.slurm.collect import turn_reason
from campaign.slurm.submit import not_submitted_text

LOG = "run.log"
MOST_VALUES = 16  # of a run, in its line
ROUNDING = ((60, 1), (600, 10), (3600, 60), (6 * 3600, 300), (86400, 1800))  # up to so many seconds, round to
IDLE = ("", "None", "Dependency")  # reasons for waiting that explain nothing


class Importance(IntEnum):
    """How important a text is: `-q` prints only what always matters, `-v` also details."""

    DETAIL = 0
    NORMAL = 1
    ALWAYS = 2


def display(root: Path, verbose: bool = False, quiet: bool = False, stream: TextIO | None = None) -> Lines:
    """The display for results in `root`: redrawn in place if the terminal can, otherwise plain lines."""
    terminal = stream or sys.stderr
    level = Importance.ALWAYS if quiet else Importance.DETAIL if verbose else Importance.NORMAL
    return (Live if can_redraw(terminal) and not quiet else Lines)(terminal, Log(root), level)


@contextmanager
def redrawn_text(stream: TextIO) -> Iterator[Callable[[str], None]]:
    """Gives what shows a text on a terminal in place of the one before; at the end nothing of it remains."""
    from rich.console import Console
    from rich.live import Live as RichLive
    from rich.text import Text

    with RichLive(console=Console(file=stream), auto_refresh=False, transient=True) as live:
        yield lambda text: live.update(Text.from_ansi(with_colours(text, stream)), refresh=True)


def _has_ended(last: Attempt | None) -> bool:
    """Whether a run has ended: an attempt that Slurm never received will be followed by another one."""
    if last is None or last.state.active:
        return False
    return last.state is not State.REFUSED or not last.reason.startswith(not_submitted_text(last.job))


def describe(attempt: Attempt, values: Sequence[RunValue] = ()) -> str:
    """An attempt in words: its first numbers if it is done, otherwise its state: `pending: Resources`, `timeout: …`.
    Numbers printed before a failure are not results.
    """
    if attempt.state is not State.DONE or not values:
        return attempt.state_text
    by_unit = grouped((value.unit, f"{value.operation} {digits(value.number)}") for value in values[:MOST_VALUES])
    texts = [f"{', '.join(names)} {unit}" for unit, names in by_unit.items()]
    further_count = len(values) - MOST_VALUES
    return "; ".join([*texts, f"{further_count} more"] if further_count > 0 else texts)


def nodes_and_processes(geometry: Geometry) -> str:
    return str(geometry) if geometry.larger else f"{geometry.nodes} × {geometry.processes_per_node}"


def time_left_text(left: TimeLeft | None) -> str:
    """In words, to follow another text; "" while it is not known."""
    if left is None:
        return ""
    # An estimate is not known to the second.
    step = next((step for limit, step in ROUNDING if left.seconds < limit), 3600)
    fields = re.findall(r"(\d+)([a-z])", format_duration(max(1, round(left.seconds / step)) * step))
    duration = " ".join(f"{number} {'min' if unit == 'm' else unit}" for number, unit in fields)
    return f" (about {duration} left, estimated from {plural(left.ended_count, 'run')})"


@contextmanager
def _closed_terminal() -> Iterator[None]:
    """Ignore errors of a closed terminal: the SIGHUP that follows decides whether the campaign goes on."""
    try:
        yield
    except OSError as error:
        if error.errno != errno.EIO:
            raise


class Log:
    """The log file beside the results, once these exist."""

    def __init__(self, root: Path) -> None:
        self.path = root / LOG
        self._kept: list[str] = []

    @property
    def begun(self) -> bool:
        return self.path.parent.is_dir()

    def refused(self) -> str:
        """Why it cannot be written, "" if it can."""
        try:
            with self.path.open("a"):
                return ""
        except OSError as error:
            return error.strerror or str(error)

    def write(self, text: str) -> None:
        time_text = time.strftime("%Y-%m-%d %H:%M:%S")
        self._kept += [f"{time_text} {line}\n" for line in text.splitlines() or [""]]
        if self.begun:
            with suppress(OSError), self.path.open("a", encoding="utf-8") as file:  # a campaign needs no log
                file.writelines(self._kept)
            self._kept.clear()


class Lines:
    """Plain lines."""

    def __init__(self, stream: TextIO, log: Log, level: Importance = Importance.NORMAL) -> None:
        self._stream, self._log, self._level = stream, log, level
        self._seen: dict[str, Attempt] = {}  # the last attempt of each run
        self._runs: Sequence[Run] = ()
        self._places: dict[str, int] = {}  # of the runs, by their ids
        self._left: list[int] = []  # places of the runs that have not ended, in order
        self._cancelled: list[Attempt] = []  # not printed yet
        self._waits: set[tuple[str, str]] = set()  # jobs with the reasons that were printed
        self._named = False

    def say(self, text: str) -> None:
        self._write_line(text, Importance.NORMAL)

    def warn(self, text: str) -> None:
        """A message about the program itself: it stops."""
        self._write_line(f"campaign: {text}", Importance.ALWAYS)

    def result(self, text: str) -> None:
        """Part of the output."""
        show(text)
        self._log.write(text)

    def _write_line(self, text: str, level: Importance) -> None:
        if self._log.begun and not self._named:
            self._named = True
            if problem := self._log.refused():
                self._write_line(
                    f"no log is kept: {self._log.path}: {problem}; move it away, and 'campaign run' keeps one again",
                    Importance.ALWAYS,
                )
            else:
                self._write_line(f"log: {self._log.path}", Importance.NORMAL)
        self._log.write(text)
        if level >= self._level:
            self._print(fold_to_terminal(text, self._stream))

    def _print(self, text: str) -> None:
        with _closed_terminal():
            print(with_colours(text, self._stream), file=self._stream, flush=True)

    def show(self, progress: Progress) -> None:
        if progress.runs is not self._runs:
            self._runs, self._places = progress.runs, {run.id: place for place, run in enumerate(progress.runs)}
            self._left = [place for place, run in enumerate(progress.runs) if not _has_ended(self._seen.get(run.id))]
        for text, level in self._changes(progress):
            self._write_line(text, level)

    def _changes(self, progress: Progress) -> Iterator[tuple[str, Importance]]:
        """What has changed since the last call, with its importance."""
        for run, last in progress.attempts:
            if not self._note(run, last):
                continue
            ended_count = self._count_text()
            if not _has_ended(last):
                if self._is_new_wait(last):
                    yield f"job {last.job_id} is waiting: {last.reason}", Importance.NORMAL
                processes = f"{nodes_and_processes(run.geometry)} processes"
                yield (
                    f"{ended_count} {run.id} ({processes}), attempt {last.number}: {last.state_text}",
                    Importance.DETAIL,
                )
            elif last.state is State.CANCELLED:
                self._cancelled.append(last)
                yield f"{ended_count} {run.id}: {last.state_text}", Importance.DETAIL
            else:
                importance = Importance.NORMAL if last.state is State.DONE else Importance.ALWAYS
                outcome = describe(last, progress.values(last))
                yield f"{ended_count} {run.id}: {outcome}{time_left_text(progress.time_left())}", importance

        if self._cancelled and not any(last and last.state.active for _, last in self._unfinished()):
            yield f"{self._count_text()} {_cancelled_text(self._cancelled)}", Importance.ALWAYS
            self._cancelled = []

    def _note(self, run: Run, last: Attempt) -> bool:
        """Keep the latest attempt of a run, and whether the run has ended; gives whether its shown state is new."""
        before = self._seen.get(run.id)
        if before and before.number > last.number:
            return False
        self._seen[run.id] = last
        place = self._places[run.id]
        index = bisect_left(self._left, place)
        self._left[index : index + (self._left[index : index + 1] == [place])] = [] if _has_ended(last) else [place]
        return not before or _shown_state(before) != _shown_state(last)

    def _unfinished(self) -> Iterator[tuple[Run, Attempt | None]]:
        """The runs that have not ended, each with its latest attempt."""
        for place in self._left:
            run = self._runs[place]
            yield run, self._seen.get(run.id)

    def _count_text(self) -> str:
        """`[3/12]`: the runs whose end was shown."""
        return f"[{len(self._runs) - len(self._left)}/{len(self._runs)}]"

    def _is_new_wait(self, attempt: Attempt) -> bool:
        """Whether its job waits for a reason that was not printed yet."""
        own_turn = turn_reason(attempt.job_id)
        if attempt.state is not State.PENDING or attempt.reason in (*IDLE, own_turn):
            return False
        wait = (attempt.job, attempt.reason)
        new = wait not in self._waits
        self._waits.add(wait)
        return new

    def close(self) -> None:
        """End the display; texts are still printed."""


def _shown_state(attempt: Attempt) -> tuple[int, State, str]:
    return attempt.number, attempt.state, attempt.reason


def _cancelled_text(cancelled: Sequence[Attempt]) -> str:
    """Cancelled attempts in one line; why was printed before, or the user cancelled."""
    first, last = cancelled[0], cancelled[-1]
    if len(cancelled) == 1:
        return f"{first.run}: {first.state_text}"
    return f"{len(cancelled)} runs were cancelled: {first.run} to {last.run}"


class Live(Lines):
    """The runs and their states below the lines, redrawn in place."""

    def __init__(self, stream: TextIO, log: Log, level: Importance = Importance.NORMAL) -> None:
        super().__init__(stream, log, level)
        from rich.console import Console
        from rich.live import Live as RichLive

        self._console = Console(file=stream, no_color=not is_coloured(stream))
        self._live = RichLive(console=self._console, refresh_per_second=4, transient=True)
        self._live.start()
        self._began = time.monotonic()

    def _print(self, text: str) -> None:
        from rich.text import Text

        with _closed_terminal():
            self._console.print(Text.from_ansi(with_colours(text, self._stream)), soft_wrap=True)

    def show(self, progress: Progress) -> None:
        super().show(progress)
        from rich.markup import escape
        from rich.table import Table

        ended_count = len(self._runs) - len(self._left)
        elapsed = format_duration(round(time.monotonic() - self._began))
        title = f"{ended_count} of {len(progress.runs)} runs finished, {elapsed} elapsed" + time_left_text(
            progress.time_left()
        )
        grid = Table(title=title, title_justify="left", box=None)
        rows = list(self._under_way())
        name_width = self._console.size.width // 2  # of a name, so that there is room for the state
        for place, column in enumerate(("run", "nodes × ranks/node", "job", "state")):
            widest = max((len(row[place]) for row in rows), default=0) if column != "state" else 0
            grid.add_column(column, no_wrap=True, overflow="ellipsis", min_width=min(widest, name_width))
        for *texts, state, style in rows:
            grid.add_row(*texts, escape(state), style=style)  # Slurm's words may contain rich's markup
        self._live.update(grid)

    def _under_way(self) -> Iterator[tuple[str, str, str, str, str]]:
        """Name, geometry, job, state and style of the runs that have not ended, as many as fit the screen. Ended runs
        remain above, one line each.
        """
        for run, last in islice(self._unfinished(), max(4, self._console.size.height - 4)):
            job, state, style = "", "", "dim"
            if last is not None:
                job, state, style = last.job_id or "", describe(last), _STYLES.get(last.state, "red")
            yield run.id, nodes_and_processes(run.geometry), job, state, style

    def close(self) -> None:
        with _closed_terminal():
            self._live.stop()


_STYLES = {State.RUNNING: "bold cyan", State.PENDING: "yellow", State.SUBMITTING: "yellow"}
