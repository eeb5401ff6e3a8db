"""Several releases of Slurm say the same to campaign, in whatever situation a site is: their recorded answers."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.recorded import DATA, RELEASES, SITUATIONS, TEXT, replayed

SMALL, LARGE = "{} with 4 cores, 1.953 GiB (cpu, milan)", "{} with 8 cores, 3.906 GiB (cpu, genoa)"
GPUS = ["1 with 8 cores, 3.906 GiB, gpu:1 (gpu)", "1 with 8 cores, 3.906 GiB, gpu:2 (gpu)"]
NOTHING: dict[str, Any] = {
    "reachable": None, "unusable": [], "architecture": "x86_64", "active": [], "found": {}, "forgotten": {},
    "accounting": None, "job": [None] * 5, "powered_down": 0, "node_limits": [],
}  # fmt: skip
EXPECTED: dict[str, dict[str, Any]] = {
    "alike": {
        "nodes": (3, 3, 4, 2000),
        "kinds": [SMALL.format(3)],
        "active": [("1", "RUNNING", "job-1")],
        "found": {"job-1": "1"},
        "job": ["RUNNING", "job-1", "p", "n1", "1"],
    },
    "mixed": {"nodes": (2, 2, 8, 4000), "kinds": [LARGE.format(2)], "all": [SMALL.format(2), LARGE.format(2)]},
    "smt": {"nodes": (2, 2, 8, 4000), "kinds": ["2 with 8 cores, 3.906 GiB"]},
    "gpu": {"nodes": (2, 2, 8, 4000), "kinds": GPUS, "all": [SMALL.format(1), *GPUS]},
    "drained": {
        "nodes": (4, 2, 4, 2000),
        "kinds": [SMALL.format(2)],
        "unusable": [("n2", "drained", "health check", "root"), ("n3", "down", "no power", "root")],
    },
    "system": {
        "nodes": (2, 2, 3, 1700),
        "kinds": [
            "1 with 3 cores, 1.66 GiB, without 1 core (CoreSpecCount), 300 MiB (MemSpecLimit)",
            SMALL.format(1),
        ],
    },
    "cloud": {
        "nodes": (4, 4, 4, 2000),
        "kinds": [SMALL.format(1), "3 with 8 cores, 3.906 GiB"],
        "powered_down": 3,
    },
    "limited": {
        "nodes": (3, 3, 4, 2000),
        "kinds": [SMALL.format(3)],
        "limits": (2, (1500, "MaxMemPerNode=1500 of partition p"), "FORCE:2"),
        "node_limits": [(2, "MaxNodes=2 of partition p")],
    },
    "few-cpus": {
        "nodes": (2, 2, 4, 2000),
        "kinds": [SMALL.format(2)],
        "refused": ["Requested node configuration is not available", ""],
    },
    "refused": {
        "nodes": (2, 2, 4, 2000),
        "kinds": [SMALL.format(2)],
        "refused": [
            "Requested node configuration is not available",
            "invalid partition specified: nope; Invalid partition name specified",
            "Invalid feature specification",
            "Invalid generic resource (gres) specification",
        ],
        "partition": "slurm.partition: found nope; Slurm has no such partition; allowed: p",
    },
    "accounted": {
        "nodes": (3, 3, 4, 2000),
        "kinds": [SMALL.format(3)],
        "limits": (2, None, "NO"),
        "node_limits": [
            (2, "MaxTRES=cpu=11 of QOS normal"),
            (2, "MaxTRES=mem=4096M of QOS normal"),
            (2, "GrpTRES=mem=5000M of account bench"),
            (5, "GrpTRES=node=5 of QOS normal"),
        ],
        "accounting": {},
    },
    "texts": {
        "nodes": (2, 1, 4, 2000),
        "kinds": [SMALL.format(1)],
        "unusable": [("n2", "drained", TEXT, "root")],
        "active": [("1", "RUNNING", TEXT)],
        "found": {"job-1": "1"},
        "job": ["RUNNING", TEXT, "p", "n1", "1"],
    },
}


def test_each_release_is_recorded_in_each_situation() -> None:
    captures = {(path.parent.name, path.stem) for path in DATA.glob("*/*.json")}
    assert captures == {(release, situation) for release in RELEASES for situation in SITUATIONS}
    assert EXPECTED.keys() == SITUATIONS.keys()


@pytest.mark.parametrize("situation", SITUATIONS)
@pytest.mark.parametrize("release", RELEASES)
def test_releases_of_slurm_are_read_alike(release: str, situation: str) -> None:
    expected = EXPECTED[situation]
    limits = {"limits": (expected["nodes"][1], None, "NO")}
    assert replayed(release, situation) == NOTHING | limits | {"all": expected["kinds"]} | expected
