"""What `plan` says of results that no longer count: each changed setting once, whatever it makes of each run."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support import fake_slurm
from tests.support.command_line import CAMPAIGN, call

pytestmark = pytest.mark.programs


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("changed")
    with pytest.MonkeyPatch.context() as patch, fake_slurm.started(folder, patch):
        fake_slurm.campaign_file(folder, "changed")
        only = [word for launch in ("single", "node") for word in ("--only", f"scratch/{launch}/*/*")]
        subprocess.run([CAMPAIGN, "run", "c.yaml", *only], cwd=folder, capture_output=True, timeout=300)
        yield folder


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("items_total: 64", "items_total: 128",
         "6 runs measured with other settings (such as command line: -n 32 -> -n 64)"),
        ("rank-offset", "rank-offset, extra_arguments: [-v]",
         "6 runs measured with other settings (command line: none -> -v)"),
        ("node: 2", "node: 4",
         "3 runs measured with other settings (launch.node: 1 node, 2 processes -> 1 node, 4 processes)"),
    ],
)  # fmt: skip
def test_a_change_is_told_once_with_the_words_that_differ(old: str, new: str, says: str, measured: Path) -> None:
    file = measured / "c.yaml"
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))
    done = call("plan", file, cwd=measured)
    file.write_text(text)
    assert [line for line in done.stderr.splitlines() if "not used" in line] == [
        f"note: not used: {says}; 'campaign run' measures again"
    ]
