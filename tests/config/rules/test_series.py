"""Launch conditions that are a series: 1, 2, 4 … nodes, or processes per node."""

from __future__ import annotations

from pathlib import Path

import pytest

from campaign.config import init
from campaign.config.definition import Definition, open_campaign
from campaign.config.launch import AllCores
from campaign.config.rules import packs
from campaign.core.errors import InputError
from campaign.core.runs import Geometry

PACK = """id: scaling
version: 1
title: A series
document: D
caption: C
programs: [{id: ior}]
phases:
  - {id: write, clause: "1", program: ior, arguments: "-w -k -b {block} -o {directory}/f"}
  - {id: read, clause: "1", program: ior, arguments: "-r -b {block} -o {directory}/f {flags}", launch: [ranks]}
variables:
  - {id: block, full: 16m, rehearsal: 1m, clause: "1", cases: [{launch: scale, full: 64m, rehearsal: 4m}]}
launch:
  - {id: scale, title: "{nodes} nodes", clause: "5.1", nodes: powers of two, processes_per_node: all}
  - {id: ranks, title: "{processes_per_node} processes", clause: "5.2", nodes: 1, processes_per_node: powers of two}
  - {id: max, title: All, clause: "5.3", whole_system: true}
files: [{id: all, title: T, clause: "2"}]
operations:
  - {id: write, phase: write, title: W, record: write, unit: MiB/s}
  - {id: read, phase: read, title: R, record: read, unit: MiB/s}
selection: {operation: write, best: highest, clause: "4"}
requires: [{holds: block >= 1, clause: "1", launch: [scale]}]
checks: {GEO-05: "1"}
"""


def read_definition(tmp_path: Path, launch: str, profile: str = "rehearsal") -> Definition:
    (tmp_path / "scaling.yaml").write_text(PACK)
    file = tmp_path / "c.yaml"
    targets = "[{name: scratch, directory: /scratch}]"
    file.write_text(f"name: c\nrules: ./scaling.yaml\nprofile: {profile}\ntargets: {targets}\nlaunch: {launch}\n")
    return open_campaign(file)


def test_a_series_is_a_launch_condition_for_each_power_of_two_up_to_the_largest(tmp_path: Path) -> None:
    definition = read_definition(tmp_path, "{scale: 4, ranks: 2, max: all}")
    assert [(condition.id, condition.title, condition.needs) for condition in definition.pack.launch] == [
        ("scale-1", "1 nodes", "all processes per node on 1 node"),
        ("scale-2", "2 nodes", "all processes per node on 2 nodes"),
        ("scale-4", "4 nodes", "all processes per node on 4 nodes"),
        ("ranks-1", "1 processes", "1 processes per node on 1 node"),
        ("ranks-2", "2 processes", "2 processes per node on 1 node"),
        ("max", "All", "the whole system"),
    ]
    assert definition.campaign.launch == {
        "scale-1": AllCores(1, "all"),
        "scale-2": AllCores(2, "all"),
        "scale-4": AllCores(4, "all"),
        "ranks-1": Geometry(1, 1),
        "ranks-2": Geometry(1, 2),
        "max": AllCores(),
    }


def test_what_names_a_series_means_all_of_it(tmp_path: Path) -> None:
    pack = read_definition(tmp_path, "{scale: 2, ranks: 2, max: all}").pack
    assert [operation.launch for operation in pack.operations] == [(), ("ranks-1", "ranks-2")]
    assert pack.requires[0].launch == ("scale-1", "scale-2")
    assert [pack.values_of("scratch", launch, "all")["block"] for launch in ("scale-2", "ranks-1")] == ["4m", "1m"]


def test_a_series_ends_at_the_largest_power_of_two_of_the_partition(tmp_path: Path) -> None:
    scale = read_definition(tmp_path, "{scale: 4, ranks: 2, max: all}").pack.launch
    smallest = {condition.id: condition.smallest_geometry(nodes=13, cores=6) for condition in scale}
    assert smallest["scale-2"] == Geometry(2, 12)
    assert smallest["scale-4"] == Geometry(8, 48)
    assert smallest["ranks-1"] == Geometry(1, 1)
    assert smallest["ranks-2"] == Geometry(1, 4)


@pytest.mark.parametrize(
    ("written_count", "reported_count"), [("scale: 6", "6"), ("scale: all", "all"), ("max: all", "none")]
)
def test_the_largest_is_a_power_of_two(written_count: str, reported_count: str, tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        read_definition(tmp_path, f"{{{written_count}, ranks: 2}}")
    (problem,) = [problem for problem in caught.value.problems if "launch.scale:" in problem]
    assert f"found {reported_count}; allowed: a power of two such as 16, the largest of the series" in problem
    assert "clause 5.1" in problem


def test_init_writes_the_largest_of_the_cluster(tmp_path: Path) -> None:
    (tmp_path / "scaling.yaml").write_text(PACK)
    text = init.text(str(tmp_path / "scaling.yaml"), init.Site("batch", 56, "/scratch", 20))
    (tmp_path / "c.yaml").write_text(text)
    assert "  scale: 16   # the largest of all processes per node on 1, 2, 4 ... nodes\n" in text
    assert "  ranks: 32   # the largest of 1, 2, 4 ... processes per node on 1 node\n" in text
    largest = [condition.id for condition in open_campaign(tmp_path / "c.yaml").pack.launch if condition.reaches]
    assert largest == ["scale-16", "ranks-32"]


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        (", processes_per_node: all", "", "processes_per_node must be given with a series of powers of two"),
        ('"{nodes} nodes"', "Nodes", "{nodes} is missing, which tells the members of the series apart"),
        ("nodes: 1, proc", "nodes: powers of two, proc", "processes_per_node must be given with a series"),
    ],
)
def test_a_series_of_a_pack_is_complete(old: str, new: str, problem: str, tmp_path: Path) -> None:
    (tmp_path / "scaling.yaml").write_text(PACK.replace(old, new))
    with pytest.raises(InputError) as caught:
        packs.load(str(tmp_path / "scaling.yaml"))
    assert any(problem in message for message in caught.value.problems)


# --- a list of counts, and counts that the campaign file chooses

LISTED = {"nodes: powers of two": 'nodes: "1, 3, 8"'}
FREE = {"nodes: powers of two": "nodes: free"}


def read_points(tmp_path: Path, changes: dict[str, str], launch: str, profile: str = "rehearsal") -> list[str]:
    text = PACK
    for old, new in changes.items():
        text = text.replace(old, new)
    (tmp_path / "points.yaml").write_text(text.replace("id: scaling", "id: points"))
    file = tmp_path / "c.yaml"
    file.write_text(
        f"name: c\nrules: ./points.yaml\nprofile: {profile}\ntargets: [{{name: scratch, directory: /scratch}}]\n"
        f"launch: {{{launch}ranks: 1, max: all}}\n"
    )
    definition = open_campaign(file)
    assert definition.pack.series["scale"] == tuple(id for id in definition.campaign.launch if "scale" in id)
    return [condition.id for condition in definition.pack.launch if condition.nodes and condition.id != "ranks-1"]


@pytest.mark.parametrize(
    ("changes", "launch", "profile", "members"),
    [
        (LISTED, "", "full", ["scale-1", "scale-3", "scale-8"]),
        (LISTED, "scale: 8, ", "full", ["scale-1", "scale-3", "scale-8"]),
        (LISTED, "scale: 3, ", "rehearsal", ["scale-1", "scale-3"]),
        (FREE, 'scale: {nodes: "2,5, 6"}, ', "full", ["scale-2", "scale-5", "scale-6"]),
        (FREE, "scale: {nodes: 4}, ", "full", ["scale-4"]),
    ],
)
def test_a_series_has_the_counts_of_the_pack_or_of_the_campaign_file(
    changes: dict[str, str], launch: str, profile: str, members: list[str], tmp_path: Path
) -> None:
    assert read_points(tmp_path, changes, launch, profile) == members


@pytest.mark.parametrize(
    ("changes", "launch", "profile", "problem"),
    [
        (LISTED, "scale: 3, ", "full", "found 3; allowed: 8, the largest of the series; without the line, all (clause"),
        (LISTED, "scale: 2, ", "rehearsal", "found 2; allowed: 1, 3, 8, the largest of the series"),
        (
            FREE,
            "scale: 4, ",
            "full",
            'found 4; allowed: {nodes: "1, 2, 8"} alone (clause 5.1: all processes per node on ',
        ),
        (FREE, 'scale: {nodes: "4, 2"}, ', "full", "launch.scale.nodes"),
        (FREE, "scale: {nodes: 2, processes: 4}, ", "full", 'found a mapping; allowed: {nodes: "1, 2, 8"} alone'),
        (FREE, 'max: {nodes: "1, 2", processes_per_node: 2}, scale: {nodes: 2}, ', "full", "found several numbers"),
        ({"nodes: powers of two": 'nodes: "4, 2"'}, "", "full", 'found "4, 2"; allowed: '),
        ({"nodes: powers of two": "chunks: spread, nodes: all"}, "", "full", "needs chunks of nodes"),
        ({"nodes: powers of two": "nodes: chunks of 1"}, "", "full", 'found "chunks of 1"; allowed: '),
        ({"processes_per_node: all": "processes_per_node: chunks of 2"}, "", "full", "allowed for nodes only"),
    ],
)
def test_counts_of_a_series_that_do_not_fit_are_refused(
    changes: dict[str, str], launch: str, profile: str, problem: str, tmp_path: Path
) -> None:
    with pytest.raises(InputError) as error:
        read_points(tmp_path, changes, launch, profile)
    assert problem in str(error.value)
    assert "found a mapping" in problem or "found a mapping" not in str(error.value)


def test_a_condition_may_be_on_the_counts_of_a_series(tmp_path: Path) -> None:
    condition = {"holds: block >= 1": "holds: count(scale) >= 3 + 0 * nodes", **FREE}
    read_points(tmp_path, condition, "scale: {nodes: 1}, ")
    with pytest.raises(InputError, match=r"requires\[0\].holds: found count\(scope\)"):
        read_points(tmp_path, {"holds: block >= 1": "holds: count(scope) >= 3", **FREE}, "scale: {nodes: 1}, ")
