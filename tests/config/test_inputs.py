"""Input files of a rule pack and of a campaign file: what each may say, and what they are together."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from campaign.config import init, opened
from campaign.config.rules import packs, text
from campaign.core.errors import InputError
from campaign.core.model import Input

A, B = "a" * 64, "b" * 64
PACK = """id: solve
version: 1
title: A solver
document: D
caption: C
applet: solver
arguments: "{box} {flags}"
launch: [{id: node, title: One node, clause: "1", nodes: 1}]
files: [{id: all, title: T, clause: "1"}]
operations: [{id: time, title: Time, record: time, unit: s}]
results: {format: text, records: [{name: time, unit: s, pattern: "time (?P<value>.*)"}]}
selection: {operation: time, best: lowest, clause: "1"}
inputs: [INPUTS]
"""
FILE = """name: solves
rules: ./solve.yaml
profile: full
targets: [{name: scratch, directory: /scratch/user}]
launch: {node: 2}
benchmark: {executable: ./solver}
"""
OPEN = f'{{id: box, sha256: {A}, clause: "2"}}'


def pack_errors(folder: Path, inputs: str) -> str:
    """What is wrong with a pack that has these inputs; "" for nothing."""
    (folder / "solve.yaml").write_text(PACK.replace("INPUTS", inputs))
    try:
        packs.load(folder / "solve.yaml")
    except InputError as error:
        return str(error)
    return ""


def inputs_of(folder: Path, of_pack: str, more: str = "") -> tuple[Input, ...]:
    assert pack_errors(folder, of_pack) == ""
    (folder / "c.yaml").write_text(FILE + more)
    return opened.load(folder / "c.yaml")[0].inputs


def test_an_input_of_a_pack_lies_beside_it_and_has_its_hash(tmp_path: Path) -> None:
    given = f'{{id: box, path: in/box, sha256: {A}, clause: "2"}}'
    assert inputs_of(tmp_path, given) == (Input("box", str(tmp_path / "in/box"), A, "2", "the rule pack"),)


def test_a_campaign_file_says_where_an_input_of_the_pack_is_and_has_others(tmp_path: Path) -> None:
    more = f"inputs: [{{id: more, path: /m, sha256: {B}}}, {{id: box, path: sub/../box}}, {{id: free, path: free}}]\n"
    assert inputs_of(tmp_path, OPEN, more) == (
        Input("box", str(tmp_path / "box"), A, "2", "the rule pack"),
        Input("more", "/m", B, "", "the campaign file"),
        Input("free", str(tmp_path / "free")),
    )


@pytest.mark.parametrize(
    ("inputs", "problem"),
    [
        ('{id: box, path: box.in, clause: "2"}', "inputs[0].sha256: required key missing; allowed: the SHA-256"),
        (f"{OPEN}, {OPEN}", "inputs[1].id: found box a second time"),
        (f'{OPEN}, {{id: nodes, clause: "2"}}', "inputs[1].id: found nodes, which is already a placeholder"),
        (f'{OPEN}, {{id: x, path: "a{{b", sha256: {A}, clause: "2"}}', "inputs[1].path: found"),
        ('{id: other, clause: "2"}', "arguments: found {box}; allowed:"),
    ],
)
def test_a_pack_with_wrong_inputs_is_refused(inputs: str, problem: str, tmp_path: Path) -> None:
    assert problem in pack_errors(tmp_path, inputs)


@pytest.mark.parametrize(
    ("more", "problem"),
    [
        ("", "inputs: input box of rule pack solve is missing (clause 2); add {id: box, path: PATH}"),
        (f"inputs: [{{id: box, path: b, sha256: {B}}}]\n", f"inputs[0].sha256: found {B}, but clause 2 fixes {A}"),
        ("inputs: [{id: box, path: b}, {id: box, path: c}]\n", "inputs[1].id: found box a second time"),
    ],
)
def test_a_campaign_file_with_wrong_inputs_is_refused(more: str, problem: str, tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        inputs_of(tmp_path, OPEN, more)
    assert problem in str(caught.value)


def test_a_new_campaign_file_asks_for_the_inputs_whose_places_are_open(tmp_path: Path) -> None:
    assert pack_errors(tmp_path, OPEN) == ""
    assert "inputs:\n  - {id: box, path: <path of box>}\n" in init.text(str(tmp_path / "solve.yaml"))


def test_a_pack_is_shown_with_its_inputs(tmp_path: Path) -> None:
    assert pack_errors(tmp_path, OPEN) == ""
    shown = text.text(packs.load(tmp_path / "solve.yaml"))
    assert f"Input files (INP-01)\n  box        of the campaign file [2]\n             SHA-256 {A}\n" in shown


def test_the_inputs_of_this_projects_packs_have_the_hashes_that_they_say() -> None:
    for path in packs.directories()[0].glob("*.yaml"):
        for each in packs.load(path).inputs:
            assert not each.path or hashlib.sha256((path.parent / each.path).read_bytes()).hexdigest() == each.sha256
