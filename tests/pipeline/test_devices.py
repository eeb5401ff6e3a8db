"""Accelerators on a real Slurm, from the campaign file to the bundle. The nodes only say that they have some."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from campaign.sandbox import slurmconf
from campaign.sandbox.cluster import Sandbox
from campaign.sandbox.layout import Layout
from tests.pipeline.test_declared_packs import case_of
from tests.support.sandbox_fixture import OWN, running

pytestmark = [pytest.mark.slurm, pytest.mark.mpi, pytest.mark.timeout(600)]
PACK = """
id: devices
version: 1
title: One process for each accelerator
document: a text
caption: Rates
applet: devices
arguments: "{= 50% * device_memory} {flags}"
launch:
  - {id: node, title: Two nodes, clause: "1", nodes: 2}
files:
  - {id: all, title: All, clause: "1"}
operations:
  - {id: rate, title: Rate, record: rate, unit: GFLOP/s}
requires:
  - {holds: processes_per_node == devices, clause: "2"}
  - {holds: size >= 50% * device_memory, clause: "3"}
results:
  format: text
  facts: {program: '(DEV)', processes: 'on ([0-9]+)', size: 'size ([0-9]+)'}
  records: [{name: rate, pattern: 'rate (?P<value>[0-9]+)', unit: GFLOP/s}]
selection: {operation: rate, best: highest, clause: "1"}
checks: {ENV-05: "1", GEO-01: "1", GEO-02: "1", GEO-05: "2", RES-01: "3", RUN-01: "1"}
"""
PRINTS = 'test "$SLURM_PROCID" != 0 || { echo DEV; echo on 4; echo "size $1"; echo "rate 17"; }'


@pytest.fixture
def accelerator_sandbox() -> Iterator[Sandbox]:
    """A cluster whose nodes have two accelerators each, by name only."""

    def conf(layout: Layout, *arguments: Any) -> str:
        layout.slurm_conf.with_name("gres.conf").write_text("Name=gpu File=/dev/null,/dev/zero\n")
        return "GresTypes=gpu\n" + re.sub(r"(?m)^(NodeName=.*)$", r"\1 Gres=gpu:2", plain(layout, *arguments))

    plain = slurmconf.slurm_conf
    with mock.patch.object(slurmconf, "slurm_conf", conf), running(OWN) as cluster:
        yield cluster


def test_accelerators_are_asked_for_compared_and_in_the_bundle(tmp_path: Path, accelerator_sandbox: Sandbox) -> None:
    (tmp_path / "packs").mkdir()
    (tmp_path / "packs" / "devices.yaml").write_text(PACK)
    case = case_of(tmp_path, accelerator_sandbox, "devices", "node: 4", PRINTS, tmp_path / "packs")
    text = case.file.read_text().replace("  time: 2m\n", "  time: 2m\n  gres: [gpu:2]\n")
    case.file.write_text(text)
    case.call("run", status=3)  # nothing says how much memory they have
    case.file.write_text(f"{text}proposed: {{devices: 2, device_memory: 8G}}\n")
    case.call("run")
    (row,) = case.table()
    assert (row["status"], row["value"]) == ("measured", 17)
    (script,) = (case.results / "jobs").glob("*/job.sbatch")
    assert "#SBATCH --gres=gpu:2\n" in script.read_text()
    assert str(4 << 30) in script.read_text()
    message = case.call("check")
    assert "generic resources" not in message, "compared, and the same"
    assert message.count("not recorded on the measured system: devices, device_memory") == 1
    case.check_bundle(tmp_path / "evidence.zip")
