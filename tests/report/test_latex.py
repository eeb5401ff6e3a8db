"""Tables in LaTeX fit the page of an article, as pdflatex sees it, whatever their names hold."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from campaign.report import latex, printing

ROOM_PT = 5  # by which a line may be too long

LABELS = ("256 files in shared dir", "  Minimal MPI processes on multiple nodes w/peak results", "  Single Process")
SPECIAL = r"a_b % & # ~ ^ \ { } $ < > | ` [x] * \textbf µ μ × ≥ ≤ ± – — → − ä é"
PATH = "/lustre/projects/procurement_2026/flash-tier/" + "a_very_long_directory_name/" * 5

pytestmark = pytest.mark.timeout(900)


def columns(numbers: int) -> tuple[list[str], list[list[str]]]:
    """Headings and lines with so many columns of numbers between a label and notes."""
    headers = ["", *[f"Operation {number}" for number in range(numbers)], "Processes", "Nodes", "Status", "Notes"]
    body = [
        [label, *["12345678"] * numbers, "1048576", "1024", "INVALID: Operation 1, Operation 2", "1-3, 5, 7-12"]
        for label in LABELS
    ]
    return headers, body


def printed(style: str, headers: Sequence[str], body: Sequence[Sequence[str]], caption: str = "Caption") -> str:
    parts = printing.titled(caption, "a_b-scratch", headers, body, style, ("Status", "Notes"))
    return printing.document([*parts, printing.paragraph(f"note: {caption}", style, 100)], style)


def compiled(text: str, paper: str, tmp_path: Path) -> tuple[list[float], str]:
    """By how many points lines are too long, and the text that the reader sees."""
    (tmp_path / "t.tex").write_text(
        f"\\documentclass[{paper}]{{article}}\n\\usepackage{{array,booktabs,longtable}}\n"
        f"\\begin{{document}}\n{text}\n\\end{{document}}\n"
    )
    words = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "t.tex"]
    for _ in range(2):  # the second time with the labels and column widths of the first
        done = subprocess.run(words, cwd=tmp_path, capture_output=True, timeout=300, check=False)
    log = done.stdout.decode("latin-1")
    assert done.returncode == 0, log[-2000:]
    assert not re.search(r"LaTeX Warning: (?!Float)", log), log
    seen = subprocess.run(["pdftotext", "t.pdf", "-"], cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    return [float(points) for points in re.findall(r"Overfull \\hbox \(([\d.]+)pt", log)], seen


@pytest.mark.parametrize("paper", ["a4paper", "letterpaper"])
@pytest.mark.parametrize("style", latex.STYLES)
@pytest.mark.parametrize("numbers", [3, 12])
def test_a_table_fits_the_page(numbers: int, style: str, paper: str, tmp_path: Path) -> None:
    text = printed(style, *columns(numbers), f"Rates: scratch ({PATH})")
    too_long, seen = compiled(text, paper, tmp_path)
    assert [points for points in too_long if points > ROOM_PT] == []
    assert seen.count("12345678") == numbers * len(LABELS)
    parts = len(re.findall(r"\\begin{(tabular|longtable)}", text))
    assert seen.count("Single") == parts == (1 if numbers == 3 else 3)


def test_special_characters_are_seen_as_they_are(tmp_path: Path) -> None:
    headers, body = columns(3)
    body[1][0] = SPECIAL
    _, seen = compiled(printed("latex_longtable", headers, body, SPECIAL), "a4paper", tmp_path)
    for character in "%&#\\{}$<>|`[]*×≥≤±–—→−":
        assert seen.count(character) >= 2, character
    assert seen.count("µ") + seen.count("μ") >= 4
    assert "textbf" in seen
    assert seen.count("˜ ˆ") == 2  # as the fonts of LaTeX have them; their underscore is a line


def test_a_long_table_has_its_caption_once_and_its_headings_on_each_page(tmp_path: Path) -> None:
    headers, body = columns(3)
    _, seen = compiled(printed("latex_longtable", headers, body * 40), "a4paper", tmp_path)
    assert seen.count("Table 1: Caption") == 1
    pages = [page for page in seen.split("\f") if "12345678" in page]
    assert len(pages) > 1
    assert all("Processes" in page for page in pages)


def test_a_word_of_capitals_has_the_width_that_it_needs(tmp_path: Path) -> None:
    headers, body = columns(3)
    body = [[*line[:-2], "REHEARSAL", "CCH-01, STA-04, MMMMMMMM"] for line in body]
    too_long, _ = compiled(printed("latex_booktabs", headers, body), "a4paper", tmp_path)
    assert [points for points in too_long if points > ROOM_PT] == []
