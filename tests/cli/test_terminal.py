"""Colours: which words have one, and when."""

from __future__ import annotations

import io
import os
import pty
import re
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from campaign.cli import terminal
from campaign.core.runs import State, Status
from campaign.report.decision import Mark
from tests.support import builders
from tests.support.command_line import CAMPAIGN, call

SCREENS = sorted((builders.GOLDENS / "screens").glob("*.txt"))
FILE = """
name: c
rules: crossroads-mdtest
profile: rehearsal
targets: [{name: scratch, directory: /s}]
launch: {node: 4, peak: {nodes: 2, processes: 8}, max: {nodes: 4, processes: 32}}
"""


@pytest.fixture
def always() -> Iterator[None]:
    terminal.choose_colours("always")
    yield
    terminal.choose_colours("auto")


def coloured(text: str) -> list[tuple[str, str]]:
    """The coloured words of a text, each with its colour."""
    marked = terminal.with_colours(text, io.StringIO())
    return [(words, style.removeprefix("1;")) for style, words in re.findall(r"\x1b\[([0-9;]+)m(.*?)\x1b\[0m", marked)]


@pytest.mark.usefixtures("always")
@pytest.mark.parametrize("path", SCREENS, ids=lambda path: path.stem)
def test_every_decision_has_a_coloured_headline_and_a_coloured_mark_on_each_answer(path: Path) -> None:
    for screen in path.read_text().split("--- ")[1:]:
        _, headline, *lines = screen.splitlines()
        assert len(coloured(headline)) == 1, headline
        for line in lines:
            if mark := re.match(r"  (NO|ok|open)  ", line):
                colour = {"NO": terminal.RED, "open": terminal.YELLOW, "ok": terminal.GREEN}[mark[1]]
                assert coloured(line)[:1] == [(mark[1], colour)]


@pytest.mark.usefixtures("always")
def test_every_mark_state_and_status_has_a_colour_in_a_column_and_none_in_a_sentence() -> None:
    for word in (*Mark, *State, *Status):
        assert [text for text, _ in coloured(f"a  {word}  b")] == [word]
        assert coloured(f"It is {word} now.") == []


@pytest.mark.usefixtures("always")
def test_colours_change_no_letter_of_a_text() -> None:
    for path in builders.GOLDENS.rglob("*.txt"):
        text = path.read_text()
        marked = terminal.with_colours(text, io.StringIO())
        assert re.sub(r"\x1b\[[0-9;]+m", "", marked) == text


def on_terminal(folder: Path, *words: str, **environment: str) -> str:
    """What the program prints on a terminal of 80 columns."""
    master, slave = pty.openpty()
    variables = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    variables |= {"TERM": "xterm", "COLUMNS": "80", **environment}
    with subprocess.Popen([CAMPAIGN, *words], cwd=folder, stdout=slave, stderr=slave, env=variables):
        os.close(slave)
        output = b""
        with suppress(OSError):  # the terminal has no writer any more
            while chunk := os.read(master, 65536):
                output += chunk
    os.close(master)
    return output.decode()


@pytest.mark.parametrize(
    ("options", "environment", "is_coloured"),
    [
        ((), {}, True),
        ((), {"NO_COLOR": "1"}, False),
        ((), {"TERM": "dumb"}, False),
        (("--color", "never"), {}, False),
        (("--color", "always"), {"NO_COLOR": "1"}, True),
    ],
)
def test_a_terminal_gets_colours_unless_it_is_told_otherwise(
    tmp_path: Path, options: tuple[str, ...], environment: dict[str, str], is_coloured: bool
) -> None:
    (tmp_path / "c.yaml").write_text(FILE)
    output = on_terminal(tmp_path, "status", "c.yaml", *options, **environment)
    assert ("\x1b[33mplanned\x1b[0m" in output) == is_coloured
    assert "planned" in output


def test_a_pipe_and_a_file_get_no_colours_by_themselves(tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_text(FILE)
    assert "\x1b" not in call("table", "c.yaml", cwd=tmp_path).stdout
    assert "\x1b[33mmissing" in call("table", "c.yaml", "--color", "always", cwd=tmp_path).stdout
    call("table", "c.yaml", "--color", "always", "-o", "t.txt", cwd=tmp_path)
    for words in (("--format", "csv"), ("--format", "github")):
        assert "\x1b" not in call("table", "c.yaml", "--color", "always", *words, cwd=tmp_path).stdout
    assert "\x1b" not in (tmp_path / "t.txt").read_text()


def test_check_ends_with_its_decision_on_a_terminal_alone(tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_text(FILE)
    begin = "REHEARSAL: campaign c"
    assert call("check", "c.yaml", cwd=tmp_path).stdout.startswith(begin)
    *_, last_paragraph = on_terminal(tmp_path, "check", "c.yaml", "--color", "never").replace("\r", "").split("\n\n")
    assert last_paragraph.startswith(begin)
