"""How far long work is, on a terminal and in a pipe."""

from __future__ import annotations

import fcntl
import io
import os
import pty
import struct
import termios
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

import pytest

from campaign.cli import step_line
from campaign.core.steps import count_steps
from tests.support import command_line

ERASE = "\r\x1b[K"


class Terminal:
    """A terminal of so many columns, and what was written to it."""

    def __init__(self, columns: int) -> None:
        self._master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        self.stream: TextIO = os.fdopen(slave, "w")

    def close(self) -> str:
        self.stream.close()
        text = b""
        try:
            while part := os.read(self._master, 65536):
                text += part
        except OSError:  # EIO: nobody has it open any more
            pass
        os.close(self._master)
        return text.decode()


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(step_line, "AFTER_S", 0.0)
    monkeypatch.setattr(step_line, "EVERY_S", 0.0)
    yield


def step_text(columns: int = 80, steps: int = 2, total: int = 0) -> str:
    terminal = Terminal(columns)
    with step_line.show_steps(terminal.stream):
        assert [*count_steps(range(steps), "judging attempts", total)] == [*range(steps)]
    return terminal.close()


def test_a_terminal_shows_what_is_done_and_how_far_and_the_line_is_erased() -> None:
    assert step_text(steps=2, total=10_008) == (
        f"{ERASE}judging attempts 0 of 10,008{ERASE}judging attempts 1 of 10,008{ERASE}"
    )


def test_where_the_number_of_steps_is_not_known_only_those_done_are_counted() -> None:
    assert step_text(steps=1) == f"{ERASE}judging attempts 0{ERASE}"


def test_a_line_never_fills_a_narrow_terminal() -> None:
    assert step_text(columns=12, steps=1) == f"{ERASE}judging att{ERASE}"


def test_short_work_shows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(step_line, "AFTER_S", 3600.0)
    assert step_text() == ""


@pytest.mark.parametrize("word", ["dumb", "unknown", ""])
def test_a_terminal_that_cannot_erase_shows_nothing(monkeypatch: pytest.MonkeyPatch, word: str) -> None:
    monkeypatch.setenv("TERM", word)
    assert step_text() == ""


def test_the_line_has_no_colour(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    assert step_text().replace(ERASE, "") == "judging attempts 0judging attempts 1"


def test_the_line_is_erased_when_the_work_fails() -> None:
    terminal = Terminal(80)
    with pytest.raises(ValueError, match="damaged"), step_line.show_steps(terminal.stream):
        for _ in count_steps(range(3), "copying files"):
            raise ValueError("damaged")
    assert terminal.close() == f"{ERASE}copying files 0{ERASE}"


def offers(folder: Path) -> list[Path]:
    files = [folder / f"{name}.csv" for name in ("a", "b")]
    for file in files:
        file.write_text("target,launch,files,operation,value,unit\nscratch,node,shared,create,1000.5,ops/s\n")
    return files


def test_a_pipe_has_the_bytes_that_it_has_without_steps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = ["compare", *offers(tmp_path)]
    in_pipe = command_line.call(*words)
    monkeypatch.setattr(step_line, "VERBS", ())
    monkeypatch.setattr("campaign.cli.main.VERBS", ())
    bare_process = command_line.call(*words)
    assert (in_pipe.stdout, in_pipe.stderr) == (bare_process.stdout, bare_process.stderr)
    assert ERASE not in in_pipe.stderr


def test_steps_go_to_standard_error_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    terminal, out = Terminal(80), io.StringIO()
    monkeypatch.setattr("sys.stderr", terminal.stream)
    monkeypatch.setattr("sys.stdout", out)
    command_line.main([str(word) for word in ("compare", *offers(tmp_path))])
    monkeypatch.undo()
    assert "a.csv" in out.getvalue()
    assert "reading offers" not in out.getvalue()
    assert terminal.close().startswith(f"{ERASE}reading offers 0 of 2{ERASE}reading offers 1 of 2{ERASE}")
