"""docs/examples/public_results.py: each claim about a published summary has its file, line and text."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[1] / "docs" / "examples" / "public_results.py"
RATES = {
    "ior-easy-write": ("100.000000 GiB/s", 310.5),
    "mdtest-easy-write": ("50.000000 kIOPS", 254.2),
    "ior-hard-write": ("4.000000 GiB/s", 300.1),
    "mdtest-hard-write": ("20.000000 kIOPS", 305.0),
    "find": ("900.000000 kIOPS", 20.0),
    "ior-easy-read": ("120.000000 GiB/s", 260.0),
    "mdtest-easy-stat": ("200.000000 kIOPS", 70.0),
    "ior-hard-read": ("8.000000 GiB/s", 150.0),
    "mdtest-hard-stat": ("150.000000 kIOPS", 40.0),
    "mdtest-easy-delete": ("40.000000 kIOPS", 320.0),
    "mdtest-hard-read": ("60.000000 kIOPS", 100.0),
    "mdtest-hard-delete": ("15.000000 kIOPS", 400.0),
}


def summary(score: float) -> list[str]:
    lines = [f"[RESULT] {phase:>20} {rate} : time {time:.3f} seconds" for phase, (rate, time) in RATES.items()]
    last = f"[SCORE ] Bandwidth 24.892 GiB/s : IOPS 75.0 kiops : TOTAL {score}"
    return ["IO500 version io500-isc24 (standard)", *lines, last]


def page(directory: Path, capsys: pytest.CaptureFixture[str]) -> str:
    runpy.run_path(str(SCRIPT), run_name="public_results")["main"](directory)
    return capsys.readouterr().out


def test_a_short_phase_and_a_score_of_another_formula_are_named_with_their_lines(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, score in (("short", 43.129115), ("product", 1866.9)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "result_summary.txt").write_text("\n".join(summary(score)) + "\n")
    lines = page(tmp_path, capsys).splitlines()
    assert "2 summaries were read; nothing was found in 0 of them." in lines
    short, product = summary(43.129115)[2], summary(1866.9)[13]
    assert f"| short | 3 | `{short}` | a writing phase: expected 300 s or more; found 254.2 s |" in lines
    (line,) = (line for line in lines if line.startswith("| product |"))
    assert line.startswith(f"| product | 14 | `{product}` | score: 1866.9 score does not agree with")
    assert len([line for line in lines if line.startswith("| short |")]) == 1


def test_a_directory_without_summaries_gives_an_empty_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "0 summaries were read" in page(tmp_path, capsys)
