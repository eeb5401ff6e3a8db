"""Runs the commands of a tutorial in one shell, and compares what each prints with what the page shows.

A block `console` has commands, `$ …` with their further lines `> …`, each with its output. A block after "Save this as
`NAME`" is that file. In an output, a line `…` stands for any lines and `…` within a line for any text; numbers, hashes
and the width of columns may differ.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

MARK = "end-of-the-command"
BLOCK = re.compile(r"(?:Save this as `(?P<name>[^`]+)`[^\n]*\n\n)?```(?P<kind>\w*)\n(?P<text>.*?)^```$", re.M | re.S)


@dataclass(frozen=True)
class Step:
    command: str
    output: str


def steps(page: str) -> Iterator[Step]:
    """The commands of a page, and its files as commands that write them."""
    for block in BLOCK.finditer(page):
        if block["name"]:
            yield Step(f"cat > {block['name']} <<'END-OF-FILE'\n{block['text']}END-OF-FILE", "")
        elif block["kind"] == "console":
            for part in re.split(r"^\$ ", block["text"], flags=re.MULTILINE)[1:]:
                command, output = re.match(r"([^\n]*\n(?:> [^\n]*\n)*)(.*)", part, re.DOTALL).groups()  # type: ignore[union-attr]
                yield Step(command.replace("\n> ", "\n").rstrip("\n"), output)


def run(page: str, place: Path, environment: Mapping[str, str]) -> list[tuple[Step, str]]:
    """Each command with what it printed, its standard error included."""
    every = list(steps(page))
    script = "".join(f"{step.command}\nstatus=$?; echo; echo {MARK}; (exit $status)\n" for step in every)
    process = subprocess.run(
        ["bash", "-c", script],
        cwd=place,
        env={**environment},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=600,
    )
    words = re.split(rf"\n?{MARK}\n", process.stdout)[: len(every)]
    return list(zip(every, words, strict=True))


def difference(step: Step, output: str) -> str:
    """What is not as the page shows it, "" if all is."""
    pattern = "".join(
        r"(?:[^\n]*\n)*" if line == "…" else re.escape(line).replace("…", r"[^\n]*") + r"\n"
        for line in _comparable_lines(step.output)
    )
    if re.fullmatch(pattern, "".join(f"{line}\n" for line in _comparable_lines(output))):
        return ""
    return f"$ {step.command}\n--- the page shows\n{step.output}--- printed\n{output}"


def _comparable_lines(text: str) -> list[str]:
    """The lines of a text in which everything is equal that two runs of one tutorial may have differently."""
    comparable = re.sub(r"SHA256:[\w+/]{43}|\b[0-9a-f]{12,}\b", "HASH", text)
    comparable = re.sub(r"\d[\d.,:]*\d|\d", "0", comparable)
    comparable = re.sub(r"-{3,}", "---", re.sub(r"[ \t]+", " ", comparable))
    return [line.rstrip() for line in comparable.strip("\n").splitlines()]
