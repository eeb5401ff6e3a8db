"""What real sites do, on a real Slurm: unlike nodes in one partition, a plugin and an administrator that rename jobs,
texts of several lines in every place where Slurm takes one, an environment variable that changes how options are read,
variables that each job gets, a node's clock that is set back.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from campaign.config.slurm_keys import Slurm
from campaign.results.environment import reading
from campaign.sandbox import slurmconf
from campaign.sandbox.cluster import Sandbox
from campaign.sandbox.layout import Layout, Shape
from campaign.slurm import partitions
from campaign.slurm.partitions import NodeKind
from tests.support.cases import Case, make_case, wait_until
from tests.support.sandbox_fixture import running

pytestmark = [pytest.mark.slurm, pytest.mark.timeout(600)]

KINDS = {
    "node1": "CPUs=4 CoresPerSocket=4 RealMemory=2000 Feature=cpu,milan",
    "node2": "CPUs=4 CoresPerSocket=4 RealMemory=2000 Feature=cpu,milan,rack1",
    "node3": "CPUs=16 Sockets=2 CoresPerSocket=4 ThreadsPerCore=2 RealMemory=4000 Feature=cpu,genoa",
    "node4": "CPUs=16 Sockets=2 CoresPerSocket=4 ThreadsPerCore=2 RealMemory=4000 Feature=cpu,genoa",
}
RENAMES = """
function slurm_job_submit(job_desc, part_list, submit_uid)
    job_desc.name = "site of user " .. submit_uid
    return slurm.SUCCESS
end
function slurm_job_modify(job_desc, job_rec, part_list, modify_uid)
    return slurm.SUCCESS
end
"""
TEXT = 'disk | "bad"\nnode9@1@1\tJobState=FAILED é'


# What Slurm itself does since 23.11, as a site can have every release do it.
SETS = "#!/bin/sh\necho export OMPI_MCA_plm_slurm_args=--external-launcher\n"


def with_unlike_nodes(text: str, prolog: Path) -> str:
    """slurm.conf with these nodes, the plugin, and a program that sets variables of each job."""
    lines = text.splitlines()
    for place, line in enumerate(lines):
        if line.startswith("NodeName="):
            node = line.partition(" ")[0].removeprefix("NodeName=")
            lines[place] = f"{line.partition(' CPUs=')[0]} {KINDS[node]}"
    return "\n".join([*lines, "JobSubmitPlugins=lua", f"TaskProlog={prolog}", ""])


@pytest.fixture(scope="module")
def site() -> Iterator[Sandbox]:
    written_slurm_conf = slurmconf.slurm_conf

    def slurm_conf(layout: Layout, *arguments: object) -> str:
        (layout.top / "job_submit.lua").write_text(RENAMES)
        prolog = layout.top / "prolog"
        prolog.write_text(SETS)
        prolog.chmod(0o755)
        return with_unlike_nodes(written_slurm_conf(layout, *arguments), prolog)  # type: ignore[arg-type]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(slurmconf, "slurm_conf", slurm_conf)
        with running(Shape(nodes=4, cpus=4, accounting=True)) as cluster:
            yield cluster


@pytest.fixture(autouse=True)
def environment(site: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (site.environment() | {"POSIXLY_CORRECT": "1"}).items():
        monkeypatch.setenv(name, value)


def campaign(
    folder: Path, site: Sandbox, name: str, further_text: str, launch_max: str = "{nodes: 2, processes: 6}"
) -> Case:
    case = make_case(folder, site, name, 256, launch_max=launch_max)
    case.file.write_text(case.file.read_text().replace("slurm:\n", f"slurm:\n{further_text}"))
    return case


def test_unlike_nodes_are_reported_apart() -> None:
    partition = partitions.ask(Slurm()).partition
    milan, genoa = (NodeKind(2, 4, 2000, "", ("cpu", "milan")), NodeKind(2, 8, 4000, "", ("cpu", "genoa"), 2))
    assert (partition.nodes, partition.cores_per_node, partition.memory_mib) == (4, 4, 2000)
    assert partition.kinds == (milan, genoa)
    assert partitions.ask(Slurm(constraint="cpu&genoa")).partition.kinds == (genoa,)
    assert partitions.ask(Slurm(directives=("--nodelist=node[1-3]",))).partition.kinds == (
        milan,
        replace(genoa, nodes=1),
    )


def test_a_campaign_on_unlike_nodes_uses_the_smallest_or_the_kind_that_it_chooses(
    tmp_path: Path, site: Sandbox
) -> None:
    mixed = campaign(tmp_path, site, "mixed", "", "all")
    plan = json.loads(mixed.call("plan", "--json"))
    assert {run["processes"] for run in plan["runs"] if run["launch"] == "max"} == {16}
    assert (
        "partition sandbox: 4 nodes, all usable, not identical; 2 with 4 cores, 1.953 GiB (cpu, milan), 2 with 8 "
        "cores, 3.906 GiB (cpu, genoa); the smallest counts: 4 cores per node; slurm.constraint chooses one kind"
    ) in mixed.call("plan")
    chosen_case = campaign(tmp_path, site, "chosen", "  constraint: genoa\n", "all")
    plan = json.loads(chosen_case.call("plan", "--json"))
    assert {(run["nodes"], run["processes"]) for run in plan["runs"] if run["launch"] == "max"} == {(2, 16)}


def test_a_campaign_among_foreign_texts_and_renamed_jobs_is_measured_and_valid(tmp_path: Path, site: Sandbox) -> None:
    case = campaign(tmp_path, site, "texts", "  constraint: genoa\n", "all")
    script = tmp_path / "other.sh"
    script.write_text("#!/bin/bash\nsleep 600\n")
    (other,) = case.slurm(
        "sbatch", "--parsable", "-N1", "-Cmilan", "--output=/dev/null", f"--comment={TEXT}", str(script)
    ).split()
    case.slurm("scontrol", "update", f"jobid={other}", f"jobname={TEXT}")
    case.slurm("scontrol", "update", "nodename=node2", "state=drain", f"reason={TEXT}")
    try:
        driver = case.start("run")
        wait_until(lambda: any(row["state"] == "running" for row in case.states().values()), goal="a run under way")
        jobs = case.slurm("squeue", "--noheader", "--me", "--format=%A", "--states=running,pending").split()
        for job in set(jobs) - {other}:
            with suppress(subprocess.CalledProcessError):  # it has just ended
                case.slurm("scontrol", "update", f"jobid={job}", f"jobname={TEXT}")
        out, err = driver.communicate(timeout=400)
        assert driver.returncode == 0, out + err
        findings = json.loads(case.call("check", "--json", status=None))
        renamed = [finding for finding in findings if finding["rule"] == "RUN-03"]
        assert renamed and {finding["severity"] for finding in renamed} == {"I"}, renamed
        assert len(case.completions()) == len(case.states())
    finally:
        case.slurm("scancel", other)
        case.slurm("scontrol", "update", "nodename=node2", "state=resume")


def test_variables_of_the_site_and_a_clock_that_is_set_back_are_not_held_against_the_results(
    tmp_path: Path, site: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("POSIXLY_CORRECT")  # bash then reads no BASH_ENV
    case = campaign(tmp_path, site, "clock", "  constraint: genoa\n")
    first = case.results / "runs" / "scratch.single.shared.r1" / "1" / "stdout"
    clock = tmp_path / "bin" / "date"
    clock.parent.mkdir()
    clock.write_text(
        f"#!/bin/sh\n[ -s {first} ] && back=20 || back=0\n"
        "/bin/date +'%s %6N' | { read s n; echo $((s - back)).$n; }\n"
    )
    clock.chmod(0o755)
    bash = tmp_path / "bash-env"
    bash.write_text("[[ $0 != *slurm_script ]] || unset EPOCHREALTIME\n")
    case.variables.update(PATH=f"{clock.parent}:{os.environ['PATH']}", BASH_ENV=str(bash))
    case.call("run", "--only", "scratch/single/shared/*")  # the benchmark's own clock stays as it is
    findings = json.loads(case.call("check", "--json", status=None))
    findings_by_rule = {
        rule: [finding for finding in findings if finding["rule"] == rule] for rule in ("ENV-02", "EVD-06", "RUN-02")
    }
    (variables,) = [
        finding["actual"]
        for finding in findings_by_rule["ENV-02"]
        if "OMPI_MCA_mpi_yield_when_idle" in finding["actual"]
    ]
    assert "OMPI_MCA_plm_slurm_args" not in variables
    assert "OMPI_MCA_plm_slurm_args" in reading.read(first.parent).environment.set_by_slurm
    set_back = [finding for finding in findings_by_rule["EVD-06"] if "clock" in finding["message"]]
    assert [(finding["severity"], finding["subject"]) for finding in set_back] == [
        ("W", "scratch.single.shared.r1/1")
    ], "the benchmark, whose clock nobody set, says so: without it, it would be noted"
    assert float(set_back[0]["actual"].split()[1]) == pytest.approx(-20, abs=15)  # between two looks a machine may wait
    assert {
        finding["severity"]
        for finding in (*findings_by_rule["EVD-06"], *findings_by_rule["RUN-02"])
        if finding["checked"]
    } <= {"I", "W"}
    assert sum(row["status"] == "measured" for row in case.table(status=1)) == 3


def test_a_slurm_conf_that_is_not_there_is_named_at_once(tmp_path: Path, site: Sandbox) -> None:
    case = campaign(tmp_path, site, "nowhere", "")
    case.variables["SLURM_CONF"] = str(tmp_path / "slurm.conf")
    process = subprocess.run(case.command("run"), env=case.environment(), capture_output=True, text=True, timeout=800)
    assert process.returncode == 3
    assert f"SLURM_CONF={tmp_path}/slurm.conf: " in process.stderr
