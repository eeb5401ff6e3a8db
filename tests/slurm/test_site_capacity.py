"""What a job of whole nodes gets at sites that keep something back, on a real Slurm: cores and memory for the system,
limits of partitions, accounts and QOS.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from campaign.core import users
from campaign.sandbox import slurmconf
from campaign.sandbox.cluster import Sandbox
from campaign.sandbox.layout import Layout, Shape
from tests.support.cases import Case, make_case
from tests.support.sandbox_fixture import running

pytestmark = [pytest.mark.slurm, pytest.mark.mpi, pytest.mark.timeout(900)]

NODES = {
    "node[1-2]": "CPUs=4 CoresPerSocket=4 RealMemory=2000 CoreSpecCount=1 MemSpecLimit=300",
    "node[3-5]": "CPUs=4 CoresPerSocket=4 RealMemory=2000",
    "node[6-7]": "CPUs=8 CoresPerSocket=4 ThreadsPerCore=2 RealMemory=2000",
}
PARTITIONS = {
    "system": "Nodes=node[1-2]",
    "little": "Nodes=node[3-5] DefMemPerNode=200",
    "narrow": "Nodes=node[3-5] MaxNodes=2",
    "capped": "Nodes=node[3-5] MaxMemPerNode=1500",
    "cut": "Nodes=node[3-5] MaxCPUsPerNode=3",
    "shared": "Nodes=node[3-5] OverSubscribe=FORCE:2",
    "threads": "Nodes=node[6-7]",
}
SETTINGS = "SelectTypeParameters=CR_Core_Memory\nAccountingStorageEnforce=associations,limits,qos\n"
USER = users.user_name(os.getuid())
THREE = "{nodes: 3, processes: 6}"


def of_site(text: str) -> str:
    """slurm.conf with these nodes and partitions."""
    lines = [line for line in text.splitlines() if not line.startswith("SelectTypeParameters=")]
    for place, line in enumerate(lines):
        if node := re.match(r"NodeName=node(\d)", line):
            (kind,) = (kind for names, kind in NODES.items() if re.fullmatch(names, f"node{node[1]}"))
            lines[place] = f"{line.partition(' CPUs=')[0]} {kind}"
    lines += [f"PartitionName={name} State=UP {options}" for name, options in PARTITIONS.items()]
    return "\n".join([*lines, SETTINGS])


@pytest.fixture(scope="module")
def site() -> Iterator[Sandbox]:
    written_slurm_conf = slurmconf.slurm_conf

    def slurm_conf(layout: Layout, *arguments: Any) -> str:
        return of_site(written_slurm_conf(layout, *arguments))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(slurmconf, "slurm_conf", slurm_conf)
        with running(Shape(nodes=7, cpus=4, accounting=True)) as cluster:
            yield cluster


def campaign(folder: Path, site: Sandbox, name: str, settings: str, launch_max: str = "all") -> Case:
    case = make_case(folder, site, name, 240, launch_max=launch_max)
    case.file.write_text(case.file.read_text().replace("slurm:\n", f"slurm:\n  {settings}\n"))
    return case


def refused(case: Case) -> str:
    process = subprocess.run(case.command("plan"), env=case.environment(), capture_output=True, text=True, timeout=800)
    assert process.returncode == 2, process.stdout + process.stderr
    return " ".join(process.stderr.split())


def printed_plan(case: Case) -> str:
    process = subprocess.run(case.command("plan"), env=case.environment(), capture_output=True, text=True, timeout=800)
    assert process.returncode == 0, process.stderr
    return " ".join((process.stdout + process.stderr).split())


def findings_of(case: Case, rule: str, verb: str = "check") -> list[dict[str, Any]]:
    findings = json.loads(case.call(verb, "--json", status=None))
    return [finding for finding in findings if finding["rule"] == rule]


def test_cores_and_memory_that_a_site_keeps_for_the_system_are_not_counted(tmp_path: Path, site: Sandbox) -> None:
    case = campaign(tmp_path, site, "system", "partition: system")
    case.call("run", "--only", "scratch/max/*/*")
    plan = json.loads((case.results / "plan.json").read_text())
    assert {run["processes"] for run in plan["runs"] if run["launch"] == "max"} == {6}
    assert (plan["partition"]["cores_per_node"], plan["partition"]["memory_mib"]) == (3, 1700)
    assert findings_of(case, "GEO-03") == []
    assert (
        "partition system: 2 nodes, all usable with 3 cores each; without 1 core (CoreSpecCount), 300 MiB "
        "(MemSpecLimit), kept for the system"
    ) in case.call("plan")


def test_hardware_threads_run_processes_where_the_campaign_file_says_so(tmp_path: Path, site: Sandbox) -> None:
    eight = "{nodes: 2, processes: 16}"
    assert (
        "launch.max: found 8 processes per node; the nodes of partition threads have 4 cores; use 4 or fewer, or set "
        "slurm.processes_per_core: 2 for processes on hardware threads"
    ) in refused(campaign(tmp_path, site, "cores", "partition: threads", eight))
    case = campaign(tmp_path, site, "threads", "partition: threads\n  processes_per_core: 2")
    case.call("run", "--only", "scratch/max/shared/*")
    plan = json.loads((case.results / "plan.json").read_text())
    assert {run["processes"] for run in plan["runs"] if run["launch"] == "max"} == {16}
    assert findings_of(case, "GEO-03") == []
    fewer = campaign(tmp_path, site, "fewer", "partition: threads\n  processes_per_core: 2", "{nodes: 2, processes: 8}")
    findings = json.loads(fewer.call("plan", "--json"))["findings"]
    expected = {finding["expected"] for finding in findings if finding["rule"] == "GEO-03"}
    assert expected == {"16 processes on 2 nodes"}


def test_jobs_get_all_memory_of_their_nodes_whatever_the_partitions_default(tmp_path: Path, site: Sandbox) -> None:
    case = campaign(tmp_path, site, "little", "partition: little")
    case.call("run", "--only", "scratch/peak/shared/*")
    (record,) = case.results.glob("jobs/*/accounting.json")
    job = json.loads(record.read_text())["job"]
    assert "mem=4000M" in job.get("TRES", job.get("AllocTRES", "")), job
    (end,) = case.completions()
    assert end


def test_of_a_partition_that_limits_the_nodes_of_a_job_so_many_are_the_maximum(tmp_path: Path, site: Sandbox) -> None:
    assert ("launch.max: found 3 nodes; partition narrow allows 2 in one job; use 2 or fewer") in refused(
        campaign(tmp_path, site, "wide", "partition: narrow", THREE)
    )
    case = campaign(tmp_path, site, "narrow", "partition: narrow")
    case.call("run", "--only", "scratch/max/shared/*")
    (finding,) = findings_of(case, "GEO-03")
    assert (finding["severity"], finding["expected"], finding["actual"]) == (
        "W", "3 nodes", "2 nodes (MaxNodes=2 of partition narrow)",
    )  # fmt: skip


def test_of_a_list_of_partitions_the_smallest_is_planned_and_the_one_of_the_job_is_judged(
    tmp_path: Path, site: Sandbox
) -> None:
    case = campaign(tmp_path, site, "list", "partition: system,little")
    (other,) = case.slurm("sbatch", "--parsable", "--partition=system", "--exclusive", "--wrap=sleep 600").split()
    try:
        text = printed_plan(case)
        assert "whose sizes differ: the maximum is 2 nodes of 3 processes, and below the maximum of those" in text
        assert "system,little: the smallest numbers count; partition system: 2 nodes" in text
        case.call("run", "--only", "scratch/max/shared/*", status=1)
    finally:
        case.slurm("scancel", other)
    plan = json.loads((case.results / "plan.json").read_text())
    assert {run["processes"] for run in plan["runs"] if run["launch"] == "max"} == {6}
    findings = findings_of(case, "GEO-03")
    assert {(finding["expected"], finding["actual"]) for finding in findings} == {
        ("12 processes on 3 nodes", "6 processes on 2 nodes")
    }
    assert "partition little" in findings[0]["message"]
    assert ("launch.max.nodes: found 3 nodes; partition system has 2; use 2 or fewer") in refused(
        campaign(tmp_path, site, "larger", "partition: little,system", THREE)
    )


def test_more_memory_than_a_job_may_have_is_refused_with_the_option_that_mends_it(
    tmp_path: Path, site: Sandbox
) -> None:
    assert (
        "jobs ask for 2000 MiB of each node, by default for all of its memory (--mem=0), with which they never start: "
        "MaxMemPerNode=1500 of partition capped; add --mem=1500M"
    ) in refused(campaign(tmp_path, site, "capped", "partition: capped", THREE))
    mended = campaign(tmp_path, site, "mended", "partition: capped\n  directives: [--mem=1500M]", THREE)
    mended.call("plan")


def test_a_partition_that_gives_no_job_whole_nodes_is_named(tmp_path: Path, site: Sandbox) -> None:
    assert (
        "Requested node configuration is not available; not without --exclusive, which campaign adds: results need "
        "whole nodes: name a partition whose jobs get all CPUs of a node (MaxCPUsPerNode)"
    ) in refused(campaign(tmp_path, site, "cut", "partition: cut", THREE))


def test_a_partition_whose_jobs_share_nodes_is_named(tmp_path: Path, site: Sandbox) -> None:
    case = campaign(tmp_path, site, "shared", "partition: shared", THREE)
    assert "partition shared has OverSubscribe=FORCE:2: other jobs may get the same nodes" in printed_plan(case)


def test_a_driver_in_a_job_that_holds_its_nodes_says_so_at_once(tmp_path: Path, site: Sandbox) -> None:
    case = campaign(tmp_path, site, "inside", "partition: little", THREE)
    log = tmp_path / "log"
    command = shlex.join(case.command("run"))
    case.slurm("sbatch", "--wait", "--partition=little", "--nodes=1", f"--output={log}", f"--wrap={command}; echo $?")
    message, _, status = " ".join(log.read_text().split()).rpartition(" ")
    assert status == "3"
    assert re.search(
        r"this runs in batch job \d+, which holds node\d: a job of 3 nodes would wait until it ends", message
    )


@pytest.mark.parametrize(
    ("owner", "limit", "problem"),
    [
        (
            ["account", "bench"], "GrpTRES=node=2",
            "launch.max: found 3 nodes; account bench allows 2 in one job; use 2 or fewer, or another slurm.account: "
            "GrpTRES=node=2, with which a larger job never starts",
        ),
        (
            ["qos", "normal"], "MaxTRESPerJob=cpu=11",
            "launch.max: found 3 nodes; QOS normal allows 2 in one job; use 2 or fewer, or another slurm.qos: "
            "MaxTRES=cpu=11, with which a larger job never starts",
        ),
        (
            ["qos", "normal"], "MaxTRESPerJob=mem=4G",
            "launch.max: found 3 nodes; QOS normal allows 2 in one job; use 2 or fewer, or another slurm.qos: "
            "MaxTRES=mem=4096M, with which a larger job never starts",
        ),
    ],
)  # fmt: skip
def test_a_limit_of_an_account_or_a_qos_that_a_job_exceeds_is_named(
    owner: list[str], limit: str, problem: str, tmp_path: Path, site: Sandbox
) -> None:
    case = campaign(tmp_path, site, re.sub("[^a-z]", "", limit), "partition: little\n  account: projects", THREE)
    kind, name = owner
    field, _, value = limit.partition("=")
    for words in ("add account bench", "add account projects parent=bench", f"add user {USER} account=projects"):
        subprocess.run(["sacctmgr", "-i", *words.split()], env=case.environment(), capture_output=True, timeout=800)
    case.slurm("sacctmgr", "-i", "modify", kind, name, "set", limit)
    try:
        assert problem in refused(case)
        case.file.write_text(case.file.read_text().replace(THREE, "all"))
        runs = json.loads(case.call("plan", "--json"))["runs"]
        assert {run["nodes"] for run in runs if run["launch"] == "max"} == {2}
    finally:
        case.slurm("sacctmgr", "-i", "modify", kind, name, "set", f"{field}={value.partition('=')[0]}=-1")
