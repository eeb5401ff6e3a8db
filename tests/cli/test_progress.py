from __future__ import annotations

import io
import os
import pty
import re
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from campaign.cli import progress
from campaign.cli.progress import Importance, Lines, Live, Log
from campaign.core.runs import Attempt, Run, State
from campaign.pipeline.run import Progress, RunValue
from campaign.plan.estimate import TimeLeft
from tests.support import builders

MANY = tuple(RunValue(f"rate-{size}", 1.0, "MB/s") for size in range(20))
VALUES = (RunValue("create", 48230.4, "ops/s"), RunValue("stat", 120345.0, "ops/s"), RunValue("read", 3.2, "GiB/s"))
RUNS = [run for run in builders.expand() if run.launch == "peak"]


def attempt(run: Run, state: State, reason: str = "", seconds: float | None = None, number: int = 1) -> Attempt:
    times = {"started": 100.0, "ended": 100.0 + seconds} if seconds is not None else {"started": None, "ended": None}
    return builders.attempt(run, state=state, reason=reason, number=number, **times)


def progress_of(*attempts: Attempt, runs: list[Run] = RUNS, left: TimeLeft | None = None) -> Progress:
    def values(attempt: Attempt) -> tuple[RunValue, ...]:
        return VALUES if attempt.state is State.DONE else ()

    by_run = [(run, attempt) for run in runs for attempt in attempts if attempt.run == run.id]
    return Progress(runs, by_run, values, lambda: left)


def story() -> list[Progress]:
    """Three runs on their way: one goes well, one fails and is run again, one waits."""
    first, second, third = RUNS
    waits = attempt(third, State.PENDING, "waiting for its turn in job 17 (running)")
    done_attempt = attempt(first, State.DONE, "", 1.62)
    failed = attempt(second, State.FAILED, "the benchmark ended with status 1: boom", 2.38)
    return [
        progress_of(),
        progress_of(attempt(first, State.SUBMITTING)),
        progress_of(attempt(first, State.RUNNING), attempt(second, State.PENDING, "Resources"), waits),
        progress_of(attempt(first, State.RUNNING), attempt(second, State.PENDING, "Resources"), waits),
        progress_of(done_attempt, attempt(second, State.RUNNING), waits, left=TimeLeft(3.4, 1)),
        progress_of(done_attempt, failed, waits, left=TimeLeft(2.6, 1)),
        progress_of(done_attempt, failed, attempt(second, State.PENDING, "", None, 2), waits, left=TimeLeft(12.1, 2)),
        progress_of(
            done_attempt, failed, attempt(second, State.DONE, "", 2.0, 2), attempt(third, State.LOST, "job 18 is gone")
        ),
    ]


@pytest.mark.parametrize("level", Importance)
def test_what_is_printed_and_what_is_logged(level: Importance, tmp_path: Path) -> None:
    stream = io.StringIO()
    lines = Lines(stream, Log(tmp_path / "results"), level)
    lines.say("job 17 submitted: 3 runs, scratch.peak.shared.r1 first")
    assert not (tmp_path / "results").exists()
    (tmp_path / "results").mkdir()
    for step in story():
        lines.show(step)
    lines.warn("interrupted")
    lines.close()
    builders.golden(f"progress-{level.name.lower()}.txt", stream.getvalue().replace(str(tmp_path), "HERE"))
    logged = (tmp_path / "results" / "run.log").read_text().replace(str(tmp_path), "HERE")
    times, texts = zip(*[(line[:19], line[20:]) for line in logged.splitlines()], strict=True)
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", time) for time in times)
    builders.golden("progress-log.txt", "\n".join(texts) + "\n")


def test_runs_that_are_cancelled_together_are_reported_in_one_line(tmp_path: Path) -> None:
    stream = io.StringIO()
    lines = Lines(stream, Log(tmp_path), Importance.ALWAYS)
    first, second, third = (attempt(run, State.CANCELLED, "job 17: CANCELLED") for run in RUNS)
    lines.show(progress_of(first, attempt(RUNS[1], State.RUNNING), attempt(RUNS[2], State.PENDING)))
    lines.show(progress_of(first, second, third))
    lines.show(progress_of(first, second, third))
    assert stream.getvalue().endswith(
        "[3/3] 3 runs were cancelled: scratch.peak.shared.r1 to scratch.peak.onefile.r1\n"
    )
    assert stream.getvalue().count("cancelled") == 1
    assert (tmp_path / "run.log").read_text().count("cancelled: job 17: CANCELLED") == 3


def test_the_stream_is_that_of_the_time_of_the_call(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with closing(progress.display(tmp_path)) as lines:
        lines.warn("here")
    assert capsys.readouterr().err.endswith("campaign: here\n")


def test_a_log_that_cannot_be_written_stops_nothing(tmp_path: Path) -> None:
    (tmp_path / "run.log").mkdir()
    stream = io.StringIO()
    Lines(stream, Log(tmp_path)).say("on it goes")
    refused = f"no log is kept: {tmp_path}/run.log: Is a directory; move it away, and 'campaign run' keeps one again"
    assert stream.getvalue() == f"{refused}\non it goes\n"


@pytest.mark.parametrize(
    ("left", "message"),
    [
        (None, ""),
        (TimeLeft(0.2, 12), " (about 1 s left, estimated from 12 runs)"),
        (TimeLeft(9.2, 1), " (about 9 s left, estimated from 1 run)"),
        (TimeLeft(59.6, 1), " (about 1 min left, estimated from 1 run)"),
        (TimeLeft(94, 1), " (about 1 min 30 s left, estimated from 1 run)"),
        (TimeLeft(4000, 1), " (about 1 h 5 min left, estimated from 1 run)"),
        (TimeLeft(610, 1), " (about 10 min left, estimated from 1 run)"),
        (TimeLeft(16.5 * 3600, 12), " (about 16 h 30 min left, estimated from 12 runs)"),
    ],
)
def test_the_time_left_is_reported_as_exactly_as_it_is_known(left: TimeLeft | None, message: str) -> None:
    assert progress.time_left_text(left) == message


def test_an_attempt_in_words() -> None:
    run = RUNS[0]
    assert (
        progress.describe(attempt(run, State.DONE, "", 1.62), VALUES)
        == "create 48230, stat 120345 ops/s; read 3.2 GiB/s"
    )
    assert progress.describe(attempt(run, State.DONE), MANY).endswith("rate-14 1, rate-15 1 MB/s; 4 more")
    assert progress.describe(attempt(run, State.DONE)) == "done"
    assert progress.describe(attempt(run, State.FAILED, "ended with status 1"), VALUES) == "failed: ended with status 1"
    assert progress.describe(attempt(run, State.PENDING, "Resources")) == "pending: Resources"
    assert progress.describe(attempt(run, State.RUNNING)) == "running"


# --- on a terminal


@dataclass
class Terminal:
    """A terminal of some size, with all that was written to it."""

    stream: io.TextIOWrapper
    output: bytearray = field(default_factory=bytearray)

    def text(self) -> str:
        return self.output.decode(errors="replace")


@contextmanager
def terminal(monkeypatch: pytest.MonkeyPatch, lines: int = 24) -> Iterator[Terminal]:
    for name, value in {"TERM": "xterm", "COLUMNS": "100", "LINES": str(lines)}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("NO_COLOR", raising=False)
    master, slave = pty.openpty()
    terminal = Terminal(os.fdopen(slave, "w"))

    def drain() -> None:
        while True:
            try:
                data = os.read(master, 65536)
            except OSError:
                return
            if not data:
                return
            terminal.output.extend(data)

    reader = threading.Thread(target=drain)
    reader.start()
    try:
        yield terminal
    finally:
        terminal.stream.close()
        reader.join(300)
        os.close(master)


def test_a_terminal_gets_the_live_display_and_anything_else_plain_lines(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert type(progress.display(tmp_path, stream=io.StringIO())) is Lines
    with terminal(monkeypatch) as tty:
        with closing(progress.display(tmp_path, stream=tty.stream)) as live:
            assert type(live) is Live
        assert type(progress.display(tmp_path, quiet=True, stream=tty.stream)) is Lines
        monkeypatch.setenv("TERM", "dumb")
        assert type(progress.display(tmp_path, stream=tty.stream)) is Lines


def test_on_a_terminal_without_cursor_a_line_is_folded_to_its_width(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with terminal(monkeypatch) as tty:
        monkeypatch.setenv("TERM", "dumb")
        monkeypatch.setenv("COLUMNS", "80")
        with closing(progress.display(tmp_path / "none", stream=tty.stream)) as lines:
            for step in story():
                lines.show(step)
            lines.warn("a cause of many words " * 8)
    assert max(map(len, tty.text().splitlines())) < 80
    assert "\x1b" not in tty.text()


def test_the_live_display_keeps_a_line_of_every_run_and_gives_the_cursor_back(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with terminal(monkeypatch) as tty:
        live = Live(tty.stream, Log(tmp_path))
        live.say("job 17 submitted: [3 runs]")
        for progress in story():
            live.show(progress)
            live._live.refresh()
        live.close()
    text = re.sub(r"\x1b\[[0-9;]*m", "", tty.text())
    for part in ("job 17 submitted: [3 runs]", "0 of 3 runs finished", "3 of 3 runs finished", "about 3 s left"):
        assert part in text, part
    for part in (*(run.id for run in RUNS), "2 × 4", "create 48230", "pending: Resources", "lost: job 18 is gone"):
        assert part in text, part
    assert "[1/3] scratch.peak.shared.r1: create 48230, stat 120345 ops/s; read 3.2 GiB/s" in text
    assert text.rindex("\x1b[?25h") > text.rindex("\x1b[?25l")


def test_the_live_display_fits_80_columns(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with terminal(monkeypatch) as tty:
        monkeypatch.setenv("COLUMNS", "80")
        live = Live(tty.stream, Log(tmp_path / "none"))
        for progress in story():
            live.show(progress)
            live._live.refresh()
        live.close()
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", tty.text()).replace("\r", "\n")
    assert max(map(len, text.splitlines())) <= 80
    assert "scratch.peak.onefile.r1" in text


def test_what_looks_like_markup_is_shown_as_it_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    reason = "srun: [/red] n[1-4] [bold]gone"
    with terminal(monkeypatch) as tty:
        live = Live(tty.stream, Log(tmp_path))
        live.say(reason)
        live.show(progress_of(attempt(RUNS[0], State.PENDING, reason)))
        live._live.refresh()
        live.close()
    assert tty.text().count("[/red] n[1-4] [bold]gone") >= 2


def test_a_campaign_larger_than_the_screen_shows_the_next_runs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    runs = [builders.run(id=f"scratch.peak.unique.r{number:02}") for number in range(60)]
    attempts = [attempt(run, State.DONE, "", 1) for run in runs[:30]] + [attempt(runs[30], State.RUNNING)]
    with terminal(monkeypatch, lines=14) as tty:
        live = Live(tty.stream, Log(tmp_path))
        live.show(progress_of(*attempts, runs=runs))
        assert [row[0][-2:] for row in live._under_way()] == [str(n) for n in range(30, 40)]
        live._live.refresh()
        live.close()
    assert "scratch.peak.unique.r30" in tty.text()


def test_the_live_display_cuts_states_before_names_and_shows_no_run_that_has_ended(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    runs = [builders.run(id=f"scratch.single.onefile.r{number}") for number in (1, 2)]
    with terminal(monkeypatch) as tty:
        monkeypatch.setenv("COLUMNS", "80")
        live = Live(tty.stream, Log(tmp_path / "none"))
        ended_attempt = attempt(runs[0], State.DONE, "", 1)
        live.show(
            progress_of(
                ended_attempt, attempt(runs[1], State.PENDING, "waiting for its turn in job 17 (running)"), runs=runs
            )
        )
        live._live.refresh()
        live.close()
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", tty.text())
    assert "scratch.single.onefile.r2  2 × 4" in text
    assert text.count("scratch.single.onefile.r1") == 1
    assert "pending: waiting for its t" in text


def test_an_attempt_that_was_never_submitted_is_no_end_of_its_run(tmp_path: Path) -> None:
    unsent = attempt(RUNS[0], State.REFUSED, f"not submitted: no job named {builders.attempt(RUNS[0]).job} in Slurm")
    stream = io.StringIO()
    Lines(stream, Log(tmp_path / "none")).show(progress_of(unsent))
    assert stream.getvalue() == ""
    assert not progress._has_ended(unsent)


def test_runs_that_ended_before_are_counted_one_by_one(tmp_path: Path) -> None:
    stream = io.StringIO()
    Lines(stream, Log(tmp_path / "none")).show(progress_of(*[attempt(run, State.DONE, "", 1) for run in RUNS]))
    assert [line[:5] for line in stream.getvalue().splitlines()] == ["[1/3]", "[2/3]", "[3/3]"]
