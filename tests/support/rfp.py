"""A small RFP of two parts, and an answer to it, for the fake Slurm."""

from __future__ import annotations

from pathlib import Path

from tests.support.fake_slurm import MDTEST

RFP = """
id: small
version: 3
title: Two tiers
node_classes: {fat: nodes with much memory}
parts:
  - {id: fast, pack: crossroads-mdtest, version: 1, title: The fast tier, clause: "1"}
  - {id: slow, pack: crossroads-mdtest, node_class: fat}
  - {id: later, pack: stream, mandatory: false}
figures:
  create: fast/*/single/shared/create
  creates: "fast/*/single/*/create"
  stat: slow/*/single/shared/stat
scores:
  - id: both
    title: Both tiers
    clause: "2"
    of: [{formula: create, reference: 100}, {formula: stat, reference: 200, weight: 3}]
  - {id: total, title: Total, mean: arithmetic, of: [{formula: both}, {formula: max(creates)}]}
"""
ANSWER = """
name: offer
rules: rfp.yaml
profile: rehearsal
targets:
  - {{name: scratch, directory: {folder}/scratch}}
  - {{name: home, directory: {folder}/home}}
slurm: {{partition: batch, time: 1m}}
benchmark: {{executable: {mdtest}, dialect: rank-offset}}
launcher: {{prefix: [/bin/bash]}}
node_classes:
  fat: {{slurm: {{constraint: fat}}}}
parts:
  fast:
    targets: [scratch]
    items_total: 64
    launch: {{node: 2, peak: {{nodes: 2, processes: 4}}, max: {{nodes: 4, processes: 8}}}}
  slow:
    targets: [home]
    items_total: 64
    launch: {{node: 2, peak: {{nodes: 2, processes: 4}}, max: {{nodes: 4, processes: 8}}}}
    slurm: {{time: 2m}}
"""


def write(folder: Path, rfp: str = RFP, answer: str = ANSWER) -> Path:
    """The campaign file, beside the RFP and the targets."""
    for name in ("scratch", "home"):
        (folder / name).mkdir(exist_ok=True)
    (folder / "rfp.yaml").write_text(rfp)
    path = folder / "c.yaml"
    path.write_text(answer.format(folder=folder, mdtest=MDTEST))
    return path
