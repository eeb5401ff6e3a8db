"""What `plan` says of results that no longer count: each changed setting once, whatever it makes of each run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support import fake_slurm
from tests.support.command_line import call, drive

pytestmark = pytest.mark.programs


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("changed")
    with pytest.MonkeyPatch.context() as patch, fake_slurm.running_cluster(folder, patch):
        fake_slurm.campaign_file(folder, "changed")
        options = [word for launch in ("single", "node") for word in ("--only", f"scratch/{launch}/*/*")]
        drive("run", "c.yaml", *options, cwd=folder)
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
def test_a_change_is_reported_once_with_the_words_that_differ(old: str, new: str, says: str, folder: Path) -> None:
    file = folder / "c.yaml"
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))
    process = call("plan", file, cwd=folder)
    file.write_text(text)
    assert [line for line in process.stderr.splitlines() if "not used" in line] == [
        f"note: not used: {says}; 'campaign run' measures again"
    ]


PHASES = """\
id: prepared
version: 1
title: A preparation and a solver
document: nothing but this test
caption: Prepared
programs:
  - id: echo
    results: {format: text, records: [{name: done, pattern: '(?P<value>[0-9]+) done', unit: x}]}
phases:
  - {id: prepare, clause: "1", nodes: 1, processes: 1, program: echo, arguments: "-n"}
  - {id: solve, clause: "1", program: echo, arguments: "1 done"}
launch: [{id: node, title: Node, clause: "1"}]
files: [{id: all, title: All, clause: "1"}]
operations: [{id: done, title: Done, phase: solve, record: done, unit: x}]
selection: {operation: done, best: highest, clause: "1"}
environment: [{name: GMX_X, value: "1", clause: "1"}]
checks: {ENV-06: "1"}
"""


def test_other_counts_of_a_phase_and_other_variables_of_the_rules_are_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pack, file = tmp_path / "prepared.yaml", tmp_path / "c.yaml"
    pack.write_text(PHASES)
    (tmp_path / "scratch").mkdir()
    file.write_text(
        f"name: x\nrules: ./prepared.yaml\nprofile: rehearsal\ntargets: [{{name: s, directory: {tmp_path}/scratch}}]\n"
        "launch: {node: {nodes: 2, processes: 4}}\nslurm: {partition: batch, time: 1m}\n"
        "benchmark: {programs: {echo: /bin/echo}}\n"
    )
    with fake_slurm.running_cluster(tmp_path, monkeypatch):
        drive("run", file, cwd=tmp_path)
        pack.write_text(PHASES.replace("processes: 1", "processes: 2").replace('value: "1"', 'value: "2"'))
        file.write_text(file.read_text().replace("time: 1m", "time: 1m, gres: ['gpu:2']"))
        lines = [line for line in call("plan", file, cwd=tmp_path).stderr.splitlines() if "not used" in line]
    assert lines == [
        "note: not used: 1 run measured with other settings (phase prepare: 1 node, 1 processes -> 1 node, "
        "2 processes; gres: none -> gpu:2; slurm.environment: GMX_X=1 -> GMX_X=2); 'campaign run' measures again"
    ]
