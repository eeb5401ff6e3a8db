"""The tutorials: every command is executed on the sandbox, and prints what the page shows."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from campaign.sandbox.cluster import Sandbox
from tests.support import tutorial
from tests.support.cases import new_target

ROOT = Path(__file__).resolve().parents[1]


@pytest.mark.slurm
@pytest.mark.mpi
@pytest.mark.timeout(900)
def test_the_tutorials_print_what_they_show(sandbox: Sandbox, tmp_path: Path) -> None:
    """The buyer's goes on with the bundles that the vendor's makes."""
    environment = {
        **os.environ,
        **sandbox.environment(),
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "SCRATCH": str(new_target(sandbox, "tutorial")),
    }
    for name in ("tutorial-vendor.md", "tutorial-buyer.md"):
        page = (ROOT / "docs" / name).read_text(encoding="utf-8")
        ran = tutorial.run(page, tmp_path, environment)
        different = [text for step, output in ran if (text := tutorial.difference(step, output))]
        assert not different, name + "\n" + "\n".join(different)


def test_an_output_may_differ_in_numbers_hashes_and_widths_alone() -> None:
    page = "```console\n$ echo a\n> b\nrate  12,345 ops/s\n…\nhead: 0123456789abcdef…\n```\n"
    (step,) = tutorial.steps(page)
    assert step.command == "echo a\nb"
    assert tutorial.difference(step, "rate 7 ops/s\nany\nlines\nhead: fedcba9876543210 and more\n") == ""
    assert tutorial.difference(step, "rate 7 ops/s\nhead: fedcba9876543210\n") == ""
    assert "--- printed\nrate 7 MB/s\n" in tutorial.difference(step, "rate 7 MB/s\nhead: fedcba9876543210\n")
    assert tutorial.difference(step, "another line\nrate 7 ops/s\nhead: fedcba9876543210\n") != ""


def test_a_command_without_an_output_prints_nothing() -> None:
    (step,) = tutorial.steps("```console\n$ true\n```\n")
    assert tutorial.difference(step, "") == "" != tutorial.difference(step, "something\n")


def test_files_of_a_page_are_written_and_statuses_kept(tmp_path: Path) -> None:
    page = "Save this as `a.yaml`:\n\n```yaml\nx: $HOME\n```\n\n```console\n$ cat a.yaml; false\n$ echo $?\n```\n"
    assert [output for _, output in tutorial.run(page, tmp_path, os.environ)] == ["", "x: $HOME\n", "1\n"]
