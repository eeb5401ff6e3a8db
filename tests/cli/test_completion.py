"""Completion in real shells: a line is typed at a terminal, with the tab key, and read back."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import time
from pathlib import Path

import pytest

from tests.support.command_line import CAMPAIGN

pytestmark = pytest.mark.programs

FILE = """
name: offer
rules: crossroads-mdtest
profile: rehearsal
targets: [{name: scratch, directory: /scratch}]
launch: {single: 1, node: 4, peak: {nodes: 2, processes: 8}, max: {nodes: 2, processes: 8}}
"""
START = {
    "bash": (["bash", "--norc", "--noprofile", "-i"], 'eval "$(campaign completion bash)"'),
    "zsh": (
        ["zsh", "-f", "-i"],
        'autoload -U compinit; compinit -u -D; bindkey -e; eval "$(campaign completion zsh)"',
    ),
}
LINES = [
    ("campaign ver", "campaign verify"),
    ("campaign verify --non", "campaign verify --nonce"),
    ("campaign rules cros", "campaign rules crossroads-mdtest"),
    ("campaign plan off", "campaign plan offer.yaml"),
    ("campaign rerun offer.yaml scratch/single/sh", "campaign rerun offer.yaml scratch/single/shared/"),
    ("campaign table offer.yaml --format gith", "campaign table offer.yaml --format github"),
    ("campaign completion fi", "campaign completion fish"),
    ("campaign sandbox sto", "campaign sandbox stop"),
]


def surroundings(directory: Path) -> dict[str, str]:
    path = f"{CAMPAIGN.parent}{os.pathsep}{os.environ['PATH']}"
    return os.environ | {"PATH": path, "HOME": str(directory), "TERM": "dumb"}


class Terminal:
    """A shell at a terminal of its own."""

    def __init__(self, command: list[str], directory: Path) -> None:
        self.here, shell_end = pty.openpty()
        self.process = subprocess.Popen(
            command,
            cwd=directory,
            env=surroundings(directory),
            stdin=shell_end,
            stdout=shell_end,
            stderr=shell_end,
            start_new_session=True,
        )
        os.close(shell_end)
        self.seen = ""

    def type(self, text: str) -> None:
        os.write(self.here, text.encode())

    def wait_for(self, text: str, seconds: float = 800) -> str:
        """What is on the screen up to this text, which is taken off it."""
        end = time.monotonic() + seconds
        while text not in self.seen:
            readable, _, _ = select.select([self.here], [], [], max(0.0, end - time.monotonic()))
            assert readable, f"waited {seconds} s for {text!r}; on the screen is {self.seen!r}"
            self.seen += os.read(self.here, 4096).decode(errors="replace").replace("\a", "")
        before, _, self.seen = self.seen.partition(text)
        return before

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self.here)


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    (tmp_path / "offer.yaml").write_text(FILE)
    return tmp_path


@pytest.mark.parametrize("shell", START)
def test_a_tab_completes(shell: str, directory: Path) -> None:
    command, start = START[shell]
    terminal = Terminal(command, directory)
    try:
        terminal.type(f"{start}; echo rea''dy\n")
        terminal.wait_for("ready")
        for typed, line in LINES:
            terminal.type(f"{typed}\t")
            terminal.wait_for(line)
            terminal.type("\x15")  # ctrl-U takes the line away
    finally:
        terminal.close()


def test_in_fish_the_same_is_offered(directory: Path) -> None:
    fish_lines = "\n".join(f"echo ': {line}'; complete --do-complete '{typed}'" for typed, line in LINES)
    process = subprocess.run(
        ["fish", "--no-config", "-c", f"campaign completion fish | source\n{fish_lines}"],
        cwd=directory,
        env=surroundings(directory),
        capture_output=True,
        text=True,
        timeout=800,
    )
    for part in process.stdout.split(": campaign ")[1:]:
        line, *offered = part.splitlines()
        assert offered and all(word.startswith(line.split()[-1]) for word in offered), process.stdout
