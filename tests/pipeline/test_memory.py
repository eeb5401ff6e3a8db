"""The peak of the memory that a run used, on a real Slurm: of programs that use a known amount."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from campaign.sandbox.cluster import Sandbox
from tests.pipeline.test_declared_packs import with_program
from tests.support.cases import Case

pytestmark = [pytest.mark.slurm, pytest.mark.timeout(600)]
MIB = 1 << 20
RANK_MIB = 150
PROGRAM = """\
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
int main(int argc, char **argv)
{
    volatile char *block = malloc(%(bytes)d);
    for (size_t i = 0; block != NULL && i < %(bytes)d; i += 4096)
        block[i] = 1;
    nanosleep(&(struct timespec){.tv_sec = 3}, NULL);
    free((void *)block); /* the peak is not what is used at the end */
    nanosleep(&(struct timespec){.tv_sec = 1}, NULL);
    printf("fom = %%d\\n", argc > 0 && argv != NULL);
    return 0;
}
"""
PACK = """\
id: fills
version: 1
title: A program that uses memory
document: nothing but this test
caption: Filled
applet: fills
arguments: "{flags}"
launch: [{id: two, title: Two nodes, clause: "1", nodes: 2, processes_per_node: 2}]
files: [{id: default, title: As it is, clause: "1"}]
operations:
  - {id: fom, title: FOM, record: fom, unit: x}
selection: {operation: fom, best: highest, clause: "1"}
results:
  format: text
  records: [{name: fom, unit: x, pattern: "fom = (?P<value>[0-9.]+)"}]
requires:
  - {holds: memory_used >= 295 * 2^20, clause: "2"}
  - {holds: memory_used <= 2 * memory_used_per_process, clause: "3"}
  - {holds: memory_used_per_process < 150 * 2^20, clause: "4"}
  - {holds: capacity > 0, clause: "5"}
  - {holds: 'used.operating_system matches ".+"', clause: "6"}
checks: {RES-01: "2", RUN-01: "1"}
"""


def run_filling_program(folder: Path, sandbox: Sandbox) -> Case:
    source, program, place = folder / "fills.c", folder / "fills", folder / "packs"
    source.write_text(PROGRAM % {"bytes": RANK_MIB * MIB})
    subprocess.run(["cc", "-O1", "-o", program, source], check=True)
    place.mkdir()
    (place / "fills.yaml").write_text(PACK)
    case = with_program(folder, sandbox, "fills", "two: {nodes: 2, processes: 4}", program, place)
    case.call("run", status=None)
    return case


def test_the_peak_of_each_node_is_recorded_and_judged(tmp_path: Path, sandbox: Sandbox) -> None:
    case = run_filling_program(tmp_path, sandbox)
    (file,) = case.results.glob("runs/*/*/facts.jsonl")
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    peaks = {line["node"]: [*map(int, line["value"].split())] for line in lines if line.get("name") == "memory"}
    assert peaks.keys() == {"node1", "node2"}
    for together, largest, by_step in peaks.values():
        assert RANK_MIB <= largest / 1024 <= RANK_MIB + 10
        assert 2 * RANK_MIB <= together / 1024 <= 2 * RANK_MIB + 20
        assert by_step == 0 or by_step / 1024 >= 2 * RANK_MIB
    findings = [
        finding for finding in json.loads(case.call("check", "--json", status=None)) if finding["rule"] == "RES-01"
    ]
    ((message, checked),) = {(finding["message"], finding["checked"]) for finding in findings}
    assert checked
    assert message.startswith(
        "clause 4 requires memory_used_per_process < 150 * 2^20; found memory_used_per_process 15"
    )
    case.check_bundle(tmp_path / "evidence.zip")
