"""Environment variables that a pack requires or forbids, against those of the campaign file."""

from __future__ import annotations

from pathlib import Path

import pytest

from campaign.config import definition
from campaign.config.rules import packs, text
from campaign.core.errors import InputError

PACK = """\
id: threads
version: 1
title: A program with threads
document: The document
caption: Threads
applet: solver
results: {format: text, records: [{name: rate, pattern: 'rate (?P<value>[0-9]+)', unit: x/s}]}
arguments: "{flags}"
launch: [{id: node, title: Node, clause: "1"}]
files: [{id: all, title: All, clause: "1"}]
operations: [{id: rate, title: Rate, record: rate, unit: x/s}]
selection: {operation: rate, best: highest, clause: "1"}
environment:
  - {name: OMP_NUM_THREADS, value: "1", clause: "3.1"}
  - {name: OMP_PLACES, clause: "3.2"}
  - {name: GMX_FAST, forbidden: true, clause: "3.3"}
checks: {ENV-06: "3"}
"""
FILE = """\
name: x
rules: ./threads.yaml
profile: rehearsal
targets: [{name: scratch, directory: DIRECTORY}]
launch: {node: {nodes: 1, processes: 2}}
benchmark: {executable: /bin/true}
slurm: {environment: {OMP_PLACES: cores}}
"""


def load(folder: Path, pack: str = PACK, file: str = FILE) -> None:
    (folder / "threads.yaml").write_text(pack)
    (folder / "c.yaml").write_text(file.replace("DIRECTORY", str(folder / "scratch")))
    definition.load(folder / "c.yaml")


def test_a_pack_shows_what_it_requires_and_a_campaign_file_gives_what_it_leaves_open(tmp_path: Path) -> None:
    load(tmp_path)
    pack_text = text.text(packs.load(tmp_path / "threads.yaml"))
    for name, requirements in (("OMP_NUM_THREADS", "1"), ("OMP_PLACES", "set"), ("GMX_FAST", "not set")):
        assert any(line.split()[:1] == [name] and f" {requirements} [" in line for line in pack_text.splitlines()), (
            pack_text
        )


REFUSED = {
    "OMP_NUM_THREADS: 2, OMP_PLACES: cores": 'OMP_NUM_THREADS: found "2"; allowed by The document, clause 3.1: 1',
    "GMX_FAST: 1, OMP_PLACES: cores": 'GMX_FAST: found "1"; allowed by The document, clause 3.3: not set',
    "A: 1": "OMP_PLACES is missing; The document, clause 3.2, requires a value",
}


@pytest.mark.parametrize(("variable", "problem"), REFUSED.items())
def test_another_value_than_the_rules_require_is_refused(tmp_path: Path, variable: str, problem: str) -> None:
    with pytest.raises(InputError) as error:
        load(tmp_path, file=FILE.replace("OMP_PLACES: cores", variable))
    assert problem in str(error.value)


WRONG = {
    ('checks: {ENV-06: "3"}', 'checks: {RUN-01: "3"}'): "variables in `environment` and ENV-06 among `checks`",
    ("name: OMP_PLACES,", "name: GMX_FAST,"): "[2].name: found GMX_FAST a second time; allowed: names that differ",
    ("forbidden: true", "forbidden: true, value: x"): "found `value` of a forbidden variable",
    ("name: OMP_PLACES", "name: SLURM_X"): "environment[1].name: found SLURM_X",
}


@pytest.mark.parametrize(("change", "problem"), WRONG.items(), ids=list(WRONG.values()))
def test_a_pack_whose_variables_do_not_fit_is_refused(tmp_path: Path, change: tuple[str, str], problem: str) -> None:
    with pytest.raises(InputError) as error:
        load(tmp_path, PACK.replace(*change))
    assert problem in str(error.value)
