"""Every command that a page or a screen prints is one that the program takes."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from campaign.cli.arguments import parser

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
SCREENS = sorted((ROOT / "tests" / "goldens").rglob("*.txt"))
IN_BLOCK = re.compile(r"^(?:\$ |> )?(?:\.venv/bin/)?campaign +([a-z]+(?: .*)?)$", re.MULTILINE)
STEP = re.compile(r"^ +\d+ (?:you|vendor) +campaign (.*?)(?:, then .*)?$", re.MULTILINE)


def commands(path: Path) -> list[str]:
    text = path.read_text(encoding="utf-8").replace("\\\n", " ")
    if path.suffix != ".md":
        return STEP.findall(text)
    blocks = re.findall(r"^```\w*\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    return [command for block in blocks for command in (*IN_BLOCK.findall(block), *STEP.findall(block))]


def words_of(command: str) -> list[str]:
    """Up to what the shell takes for itself; N stands for a number."""
    words = shlex.split(command, comments=True)
    end = next((at for at, word in enumerate(words) if re.match(r"[|;&<>]|\d?>", word)), len(words))
    return ["3" if word == "N" else word.rstrip(";") for word in words[:end]]


def problem(words: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    """Why the program does not take these words, "" if it does."""
    try:
        parser().parse_args(words)
    except SystemExit as error:
        return "" if error.code == 0 else capsys.readouterr().err or "refused"
    return ""


@pytest.mark.parametrize("path", [*PAGES, *SCREENS], ids=lambda path: path.name)
def test_every_printed_command_is_taken(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    refused = {command: problem(words_of(command), capsys) for command in commands(path)}
    assert {command: why for command, why in refused.items() if why} == {}


def test_commands_are_found_on_pages_and_screens() -> None:
    assert len([command for path in PAGES for command in commands(path)]) > 50
    assert [command for path in SCREENS for command in commands(path)]


@pytest.mark.parametrize("words", ["terms init --rules ID out.yaml", "terms init out.yaml --rules ID", "rules -h ID"])
def test_an_optional_file_may_stand_behind_an_option(words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert problem(words.split(), capsys) == ""
    if words.startswith("terms"):
        assert parser().parse_args(words.split()).file == Path("out.yaml")


def test_a_command_with_a_word_too_many_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["terms", "init", "out.yaml", "--rules", "ID", "other.yaml"]
    assert "unexpected arguments: other.yaml" in problem(words, capsys)
