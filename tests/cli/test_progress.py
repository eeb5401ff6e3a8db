from __future__ import annotations

import io
import os
import pty
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import pytest

from campaign.cli import progress
from campaign.cli.progress import Lines, Live
from campaign.core.model import Attempt, Run, State
from campaign.pipeline.run import Progress
from tests.support import builders

RUNS = [run for run in builders.expand() if run.launch == "peak"]


def attempt(run: Run, state: State, reason: str = "", seconds: float | None = None, number: int = 1) -> Attempt:
    times = {"started": 100.0, "ended": 100.0 + seconds} if seconds is not None else {"started": None, "ended": None}
    return builders.attempt(run, state=state, reason=reason, number=number, **times)


def shown(*attempts: Attempt, runs: list[Run] = RUNS) -> Progress:
    return Progress(runs, {run.id: [one for one in attempts if one.run == run.id] for run in runs})


def story() -> list[Progress]:
    """Three runs on their way: one goes well, one fails and is run again, one waits."""
    first, second, third = RUNS
    waits = attempt(third, State.PENDING, "its turn comes in job 17, which runs")
    done = attempt(first, State.DONE, "", 1.62)
    failed = attempt(second, State.FAILED, "the benchmark ended with status 1: boom", 2.38)
    return [
        shown(),
        shown(attempt(first, State.SUBMITTING)),
        shown(attempt(first, State.RUNNING), attempt(second, State.PENDING, "Resources"), waits),
        shown(attempt(first, State.RUNNING), attempt(second, State.PENDING, "Resources"), waits),
        shown(done, attempt(second, State.RUNNING), waits),
        shown(done, failed, waits),
        shown(done, failed, attempt(second, State.PENDING, "", None, 2), waits),
        shown(done, failed, attempt(second, State.DONE, "", 2.0, 2), attempt(third, State.LOST, "job 18 is gone")),
    ]


def test_each_change_of_state_is_a_line() -> None:
    stream = io.StringIO()
    lines = Lines(stream)
    lines.say("job 17 submitted: 3 runs, scratch.peak.shared.r1 first")
    for each in story():
        lines.show(each)
    lines.close()
    builders.golden("progress.txt", stream.getvalue())


def test_nothing_has_ended_and_no_time_left_is_known_at_the_beginning() -> None:
    assert progress.counts(shown()) == (0, 3)
    assert progress.time_left(shown()) is None
    assert progress.time_left(shown(attempt(RUNS[0], State.RUNNING))) is None


def test_the_time_left_is_what_is_open_at_the_mean_length_of_what_has_ended() -> None:
    first, second, third = RUNS
    open_one = shown(attempt(first, State.DONE, "", 10), attempt(second, State.FAILED, "", 20))
    assert progress.counts(open_one) == (2, 3)
    assert progress.time_left(open_one) == 15
    assert progress.time_left(shown(*(attempt(run, State.DONE, "", 5) for run in (first, second, third)))) == 0


def test_an_attempt_in_words() -> None:
    run = RUNS[0]
    assert progress.describe(attempt(run, State.DONE, "", 1.62)) == "done in 1.6 s"
    assert progress.describe(attempt(run, State.DONE)) == "done"
    assert progress.describe(attempt(run, State.PENDING, "Resources")) == "pending: Resources"
    assert progress.describe(attempt(run, State.RUNNING)) == "running"


# --- on a terminal


@dataclass
class Terminal:
    """A terminal of some size, with all that was written to it."""

    stream: io.TextIOWrapper
    written: bytearray = field(default_factory=bytearray)

    def text(self) -> str:
        return self.written.decode(errors="replace")


@contextmanager
def terminal(monkeypatch: pytest.MonkeyPatch, lines: int = 24) -> Iterator[Terminal]:
    for name, value in {"TERM": "xterm", "COLUMNS": "100", "LINES": str(lines)}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("NO_COLOR", raising=False)
    master, slave = pty.openpty()
    made = Terminal(os.fdopen(slave, "w"))

    def drain() -> None:
        while True:
            try:
                data = os.read(master, 65536)
            except OSError:
                return
            if not data:
                return
            made.written.extend(data)

    reader = threading.Thread(target=drain)
    reader.start()
    try:
        yield made
    finally:
        made.stream.close()
        reader.join(60)
        os.close(master)


def test_a_terminal_gets_the_live_display_and_a_file_plain_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    assert type(progress.display(io.StringIO())) is Lines
    with terminal(monkeypatch) as made:
        live = progress.display(made.stream)
        live.close()
        assert type(live) is Live


def test_the_live_display_shows_every_run_and_gives_the_cursor_back(monkeypatch: pytest.MonkeyPatch) -> None:
    with terminal(monkeypatch) as made:
        live = Live(made.stream)
        live.say("job 17 submitted: [3 runs]")
        for each in story():
            live.show(each)
            live._live.refresh()
        live.close()
    text = made.text()
    for part in ("job 17 submitted: [3 runs]", "0 of 3 runs ended", "3 of 3 runs ended", "about 4s left"):
        assert part in text, part
    for part in (*(run.id for run in RUNS), "2x4", "done in 1.6 s", "pending: Resources", "lost: job 18 is gone"):
        assert part in text, part
    assert text.rindex("\x1b[?25h") > text.rindex("\x1b[?25l")


def test_what_looks_like_markup_is_shown_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    reason = "srun: [/red] n[1-4] [bold]gone"
    with terminal(monkeypatch) as made:
        live = Live(made.stream)
        live.say(reason)
        live.show(shown(attempt(RUNS[0], State.FAILED, reason)))
        live._live.refresh()
        live.close()
    assert made.text().count("[/red] n[1-4] [bold]gone") >= 2


def test_a_campaign_larger_than_the_screen_shows_the_runs_around_the_one_that_runs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    runs = [builders.run(id=f"scratch.peak.unique.r{number:02}") for number in range(60)]
    attempts = [attempt(run, State.DONE, "", 1) for run in runs[:30]] + [attempt(runs[30], State.RUNNING)]
    with terminal(monkeypatch, lines=14) as made:
        live = Live(made.stream)
        live.show(shown(*attempts, runs=runs))
        assert [run.id[-2:] for run in live._fitting(shown(*attempts, runs=runs))] == [str(n) for n in range(25, 35)]
        live._live.refresh()
        live.close()
    assert "scratch.peak.unique.r30" in made.text()
    assert "scratch.peak.unique.r00" not in made.text()
