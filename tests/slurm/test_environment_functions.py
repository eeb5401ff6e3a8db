"""templates/environment-functions.bash: what a job writes down of its surroundings."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from campaign.results.environment import reading
from campaign.results.environment.facts import Environment, Evidence
from tests.support import fake_slurm
from tests.support.fake_slurm import Fake
from tests.support.jobs import FUNCTIONS, LIMIT_S, Job, cluster, job

__all__ = ["cluster", "job"]  # fixtures


def bash(text: str, *arguments: str, **variables: str) -> bytes:
    """What the functions print."""
    source = f"{FUNCTIONS}; trap - EXIT; export LC_ALL=C; {text}"
    done = subprocess.run(
        ["bash", "-c", source, "bash", *arguments],
        env=os.environ | variables,
        capture_output=True,
        timeout=LIMIT_S,
        check=True,
    )
    assert done.stderr == b""
    return done.stdout


def recorded(job: Job, number: int = 1) -> Evidence:
    return reading.read(job.steps[number - 1].folder / "environment.json")


def facts_of(root: Path, directory: Path | str, executable: Path | str = "/no/such", **variables: str) -> Environment:
    """What one node says whose /proc and /sys are below `root`."""
    said = bash('campaign_node_facts "$@"', str(root), str(directory), str(executable), **variables)
    return folded(said)


def folded(lines: bytes) -> Environment:
    """What the job makes of the lines of its nodes."""
    path = Path(os.environ["TMPDIR_OF_TEST"]) / "facts"
    path.write_bytes(lines)
    content = b'{"format": 2, ' + bash('campaign_fold "$1"; printf %s "$REPLY"', str(path)) + b'"problems": []}'
    json.loads(content.decode("utf-8"))
    return reading.parse(content).environment


@pytest.fixture(autouse=True)
def place(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR_OF_TEST", str(tmp_path_factory.mktemp("facts")))


def tree(root: Path, files: Mapping[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


# --- a job's record


def test_a_job_records_all_its_nodes_and_each_attempt_has_its_own_room(job: Job) -> None:
    job.environment["SLURM_JOB_NUM_NODES"] = "2"
    assert job.plan(runs=2).run() == 0
    assert job.complain() == ""
    one, other = recorded(job, 1), recorded(job, 2)
    assert one.environment == other.environment
    found = one.environment
    assert [node.name for node in found.nodes] == ["n1", "n2"]
    assert found.incomplete == ()
    assert (found.directory, found.executable) == (str(job.target), str(fake_slurm.MDTEST))
    assert found.values("kernel.release") == (os.uname().release,)
    wanted = hashlib.sha256(fake_slurm.MDTEST.read_bytes()).hexdigest()
    assert found.by_node("executable.sha256") == {"n1": wanted, "n2": wanted}
    assert found.values("mount.point") and found.values("fs.type")
    assert found.software["srun"] == "slurm 22.05.8"
    assert found.started is not None and found.ended is not None
    assert all(found.clock_offset(name) == 0 for name in ("n1", "n2"))
    for evidence in (one, other):
        assert evidence.made is True
        assert evidence.before is not None and evidence.after is not None
        assert evidence.before.inodes > 0
    assert one.before != other.before


def test_a_job_leaves_only_its_record(job: Job) -> None:
    job.plan().run()
    assert sorted(path.name for path in job.folder.iterdir()) == ["environment.json", "job.sbatch", "stderr", "stdout"]


def test_nodes_that_cannot_be_asked_are_recorded_and_fail_no_run(job: Job) -> None:
    job.cluster.fault("environment-fails", "srun: error: no \x01 way")
    job.environment |= {"SLURM_JOB_NUM_NODES": "2", "SLURMD_NODENAME": "n1"}
    assert job.plan().run() == 0
    assert job.end_of() == ("done", "")
    found = recorded(job).environment
    told = "srun, by which the nodes are asked, ended with status 1: srun: error: no   way; no answer from n2"
    assert found.problems == (told,)
    assert len(found.nodes) == 1, "the first node speaks for itself"
    assert found.values("executable.sha256")


def test_a_job_that_is_ended_while_it_asks_its_nodes_claims_nothing(job: Job) -> None:
    job.cluster.fault("environment-waits")
    process = job.plan().start()
    fake_slurm.wait_until((job.cluster.root / "asked").exists, "the nodes are asked")
    os.killpg(process.pid, signal.SIGTERM)
    process.wait(LIMIT_S)
    assert not (job.steps[0].folder / "claim").exists()
    assert job.left() == []


def test_a_run_that_is_refused_has_made_no_directory(job: Job) -> None:
    Path(job.plan().steps[0].directory).mkdir()
    assert job.run() == 1
    assert recorded(job).made is False


SECRETS = {
    "SLURM_JWT": "1", "OMPI_TOKEN": "2", "UCX_SECRET_KEY": "3", "MPI_PASSWORD": "4", "SLURM_AUTH_X": "5",
    "LD_API_KEY": "6", "GITHUB_TOKEN": "7", "HOME_SWEET": "8", "OMPI_PROXY": "http://user:hush@proxy:8080",
    "IOR_ACCESS_KEY_ID": "9", "MPI_MY_PASS": "10", "OMPI_API_BEARER": "11", "UCX_CLIENT_CERT_DATA": "12",
    "UCX_cert": "13",
}  # fmt: skip
HARMLESS = {"UCX_COMPASS": "north", "MPI_PASSENGERS": "4", "UCX_BYPASS": "y", "FI_CERTAINTY": "1"}


def test_no_secret_is_written_down(job: Job) -> None:
    job.environment |= HARMLESS
    job.environment |= {name: value if "hush" in value else f"hush{value}" for name, value in SECRETS.items()}
    job.plan().run()
    text = (job.steps[0].folder / "environment.json").read_text()
    assert HARMLESS.items() <= json.loads(text)["environment"].items()
    assert "hush" not in text
    assert not any(name in text for name in SECRETS)


def test_what_slurm_set_is_told_from_what_the_submitter_had(job: Job) -> None:
    job.environment |= {
        "CAMPAIGN_SUBMITTED_WITH": "PATH UCX_TLS I_MPI_HYDRA_BOOTSTRAP",
        "UCX_TLS": "rc", "I_MPI_HYDRA_BOOTSTRAP": "ssh", "OMPI_MCA_plm_slurm_args": "--external launcher =",
        "PRTE_MCA_plm_slurm_args": "--external", "UCX_AUTH_TOKEN": "hush",
    }  # fmt: skip
    job.slurm = replace(job.slurm, environment=(("PRTE_MCA_plm_slurm_args", "mine"), ("UCX_LOG_LEVEL", "info")))
    job.plan().run()
    assert job.complain() == ""
    found = recorded(job).environment
    assert found.variables["OMPI_MCA_plm_slurm_args"] == "--external launcher ="
    given = {*job.environment, "UCX_LOG_LEVEL", "SLURM_JOB_ID"}
    assert given.intersection(found.set_by_slurm) == {"OMPI_MCA_plm_slurm_args"}
    assert not any(name.startswith("CAMPAIGN_") for name in found.variables)


def test_nothing_is_slurms_own_where_the_submitters_variables_are_not_known(job: Job) -> None:
    job.environment["OMPI_MCA_plm_slurm_args"] = "--external-launcher"
    job.plan().run()
    assert recorded(job).environment.set_by_slurm == ()


def test_jobs_on_storage_of_their_own_do_not_count_as_load(tmp_path: Path) -> None:
    squeue = tmp_path / "squeue"
    squeue.write_text(
        "#!/bin/sh\nown=${3#--format=}; own=${own%\\%A*}\nfor job in '7 campaign-target:aa' '8 campaign-target:bb' "
        "'8 campaign-target:bb' '9 (null)' '10 ' '11 two words\n12 lines'; do echo \"$own$job\"; done\n"
    )
    squeue.chmod(0o755)
    variables = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "SLURM_JOB_ID": "7"}
    assert bash("campaign_other_jobs", **variables) == b"4"
    beside = "campaign_independent_storage campaign-target:cc campaign-target:bb; campaign_other_jobs"
    assert bash(beside, **variables) == b"3"
    squeue.write_text("#!/bin/sh\nexit 1\n")
    assert bash("campaign_other_jobs", **variables) == b"null"


def test_a_preloaded_library_is_seen_in_the_job_and_on_the_nodes(job: Job) -> None:
    job.environment["DARSHAN_LOGPATH"] = "/x"
    job.plan().run()
    found = recorded(job).environment
    assert found.variables["DARSHAN_LOGPATH"] == "/x"
    assert found.values("env.DARSHAN_LOGPATH") == ("/x",)


# --- what a node says


def test_a_node_tells_processors_memory_and_settings(tmp_path: Path) -> None:
    processor = "processor\t: {}\nmodel name\t: Example CPU @ 2.00GHz\nphysical id\t: {}\ncore id\t: {}\n\n"
    tree(
        tmp_path,
        {
            "proc/cpuinfo": "".join(processor.format(n, n // 4, n % 2) for n in range(8)),
            "proc/meminfo": "MemTotal:       1000 kB\nMemFree: 7 kB\nSwapTotal: 0 kB\nHugePages_Total:   3\n",
            "proc/cmdline": "root=UUID=1234 quiet mitigations=off isolcpus=1-3 password=hush\n",
            "proc/sys/vm/dirty_ratio": "20\n",
            "sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never\n",
            "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor": "performance\n",
            "sys/devices/system/cpu/cpu1/cpufreq/scaling_governor": "powersave\n",
            "sys/devices/system/cpu/cpu2/cpufreq/scaling_governor": "performance\n",
            "etc/os-release": 'NAME="X"\nPRETTY_NAME="Example Linux 9"\n',
            "etc/ld.so.preload": "/lib/libspy.so\n",
        },
    )
    found = facts_of(tmp_path, tmp_path)
    expected = {
        "cpu.model": "Example CPU @ 2.00GHz", "cpu.sockets": "2", "cpu.cores": "4", "cpu.threads": "8",
        "cpu.governor": "performance powersave", "memory.total": "1000 kB", "memory.hugepages": "3",
        "kernel.parameters": "mitigations=off isolcpus=1-3", "vm.dirty_ratio": "20", "os": "Example Linux 9",
        "transparent_hugepage.enabled": "always [madvise] never", "ld.so.preload": "/lib/libspy.so",
    }  # fmt: skip
    assert {name: found.values(name) for name in expected} == {name: (text,) for name, text in expected.items()}


def test_a_node_without_proc_and_sys_says_who_it_is(tmp_path: Path) -> None:
    found = facts_of(tmp_path, tmp_path / "gone", SLURMD_NODENAME="n7")
    assert [node.name for node in found.nodes] == ["n7"]
    assert found.values("executable.problem") == ("this node does not see it",)
    assert found.incomplete == ()


def mounted(root: Path, line: str) -> Path:
    """A node on which the mount that holds `root` is described by `line`."""
    point = subprocess.run(["stat", "-c", "%m", root], capture_output=True, text=True, check=True).stdout.strip()
    other = "20 1 8:1 / /somewhere/else rw - ext4 /dev/other rw\n"
    return tree(root, {"proc/self/mountinfo": f"{other}{line.format(point=point)}\n{other}"})


def test_a_mount_is_told_with_its_options(tmp_path: Path) -> None:
    root = mounted(
        tmp_path, "30 20 0:50 /export {point} rw,noatime shared:1 master:2 - nfs4 server:/a\\040b rw,vers=4.2"
    )
    found = facts_of(root, tmp_path)
    expected = {
        "mount.inside": "/export",
        "mount.device": "0:50",
        "mount.options": "rw,noatime",
        "mount.type": "nfs4",
        "mount.source": "server:/a\\040b",
        "mount.super_options": "rw,vers=4.2",
    }
    assert {name: found.values(name) for name in expected} == {name: (text,) for name, text in expected.items()}


def test_the_mount_on_top_is_the_one_that_counts(tmp_path: Path) -> None:
    below = "30 20 0:50 / {point} rw - tmpfs below rw\n31 20 0:51 / {point} ro - xfs above ro"
    assert facts_of(mounted(tmp_path, below), tmp_path).values("mount.source") == ("above",)


def test_a_link_to_a_directory_is_told_with_the_mount_of_the_directory(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("/proc/self")
    assert facts_of(Path("/"), tmp_path / "link").values("mount.type") == ("proc",)


def test_an_nfs_client_tells_what_was_negotiated(tmp_path: Path) -> None:
    root = mounted(tmp_path, "30 20 0:50 / {point} rw - nfs4 server:/a rw")
    point = facts_of(root, tmp_path).values("mount.point")[0]
    stats = (
        "device rootfs mounted on / with fstype rootfs\n"
        f"device server:/a mounted on {point} with fstype nfs4 statvers=1.1\n"
        "\topts:\trw,vers=4.2,rsize=1048576,nconnect=8\n\tage:\t77\n\tcaps:\tcaps=0x1,wtmult=512\n"
        "\tbytes:\t1 2 3\n"
        "device other:/b mounted on /b with fstype nfs4 statvers=1.1\n\topts:\tro\n"
    )
    tree(root, {"proc/self/mountstats": stats})
    assert facts_of(root, tmp_path).values("nfs.options") == (
        "opts: rw,vers=4.2,rsize=1048576,nconnect=8; caps: caps=0x1,wtmult=512; ",
    )


def test_a_lustre_client_tells_its_settings_once_for_all_servers(tmp_path: Path) -> None:
    root = mounted(tmp_path, "30 20 0:50 / {point} rw,flock - lustre 10.0.0.1@o2ib:/scratch rw")
    files = {f"proc/fs/lustre/osc/scratch-OST{n:04x}-osc-ffff8881/max_rpcs_in_flight": "8\n" for n in range(5)}
    files |= {"proc/fs/lustre/osc/scratch-OST0005-osc-ffff8881/max_rpcs_in_flight": "16\n"}
    files |= {"proc/fs/lustre/llite/scratch-ffff8881/statahead_max": "32\n"}
    files |= {"proc/fs/lustre/llite/scratch-ffff8881/stats": "snapshot_time 5\n"}
    files |= {"sys/fs/lustre/version": "2.15.4\n"}
    found = facts_of(tree(root, files), tmp_path)
    assert found.values("lustre.osc.max_rpcs_in_flight") == ("8, 16",)
    assert found.values("lustre.llite.statahead_max") == ("32",)
    assert found.values("lustre.version.version") == ("2.15.4",)
    assert not any("stats" in name for name in found.facts)


def test_a_node_tells_its_adapters(tmp_path: Path) -> None:
    port = "sys/class/infiniband/mlx5_0/ports/1"
    files = {
        f"{port}/rate": "200 Gb/sec (4X HDR)\n",
        f"{port}/state": "4: ACTIVE\n",
        f"{port}/link_layer": "InfiniBand\n",
    }
    files |= {"sys/class/infiniband/mlx5_0/fw_ver": "20.31\n", "sys/class/net/eth0/speed": "100000\n"}
    files |= {"sys/class/net/eth0/device/x": "", "sys/class/net/lo/mtu": "65536\n", "sys/class/net/eth0/mtu": "9000\n"}
    found = facts_of(tree(tmp_path, files), tmp_path)
    assert found.values("fabric.mlx5_0.1") == ("InfiniBand, 4: ACTIVE, 200 Gb/sec (4X HDR), 20.31",)
    assert found.values("net.eth0") == ("speed 100000, mtu 9000",)
    assert "net.lo" not in found.facts


def test_an_executable_is_told_with_the_libraries_that_it_loads(tmp_path: Path) -> None:
    found = facts_of(tmp_path, tmp_path, "/bin/bash")
    assert found.values("executable.sha256") == (hashlib.sha256(Path("/bin/bash").read_bytes()).hexdigest(),)
    assert found.values("executable.size") == (str(Path("/bin/bash").stat().st_size),)
    path, hash_ = found.values("library.libc.so.6")[0].split()
    assert hash_ == hashlib.sha256(Path(path).read_bytes()).hexdigest()


def test_a_long_text_is_cut_and_says_so(tmp_path: Path) -> None:
    found = facts_of(tree(tmp_path, {"proc/sys/kernel/version": "x" * 9000}), tmp_path)
    assert len(found.values("kernel.version")[0]) == 4000
    text = facts_of(tmp_path, tmp_path, LD_PRELOAD_X="y" * 5000).values("env.LD_PRELOAD_X")[0]
    assert text == "y" * 4000 + " ... (cut)"


# --- folding


def lines(node: int, facts: Mapping[str, str]) -> str:
    return "".join(f"{node}\t{name}\t{json.dumps(text)}\n" for name, text in facts.items())


def test_what_all_nodes_say_stands_once(tmp_path: Path) -> None:
    said = [
        lines(
            node,
            {"name": f"n{node}", "clock": f"{node}.5", "a": "same", "b": "odd" if node % 2 else "even", "end": "yes"},
        )
        for node in range(6)
    ]
    found = folded("".join(reversed(said)).encode())
    assert [node.name for node in found.nodes] == [f"n{node}" for node in range(6)]
    assert [(value.nodes, value.text) for value in found.facts["a"]] == [((0, 1, 2, 3, 4, 5), "same")]
    assert [(value.nodes, value.text) for value in found.facts["b"]] == [((0, 2, 4), "even"), ((1, 3, 5), "odd")]
    assert found.incomplete == ()


def test_a_thousand_nodes_take_little_room() -> None:
    facts = {f"setting.{number}": f"value {number} " + "x" * 100 for number in range(120)}
    said = "".join(
        lines(node, {"name": f"node{node:04}", "clock": f"{node}.5", "boot": f"{node:08x}", **facts, "end": "yes"})
        for node in range(1000)
    )
    path = Path(os.environ["TMPDIR_OF_TEST"]) / "many"
    path.write_text(said)
    assert len(said) > 15_000_000
    assert len(bash('campaign_fold "$1"; printf %s "$REPLY"', str(path))) < 120_000
    assert len(folded(said.encode()).nodes) == 1000


def test_a_fact_that_every_node_says_otherwise_keeps_a_hundred_values() -> None:
    said = "".join(lines(node, {"name": f"n{node}", "odd": str(node), "end": "yes"}) for node in range(250))
    found = folded(said.encode())
    assert len(found.facts["odd"]) == 100
    assert "environment.json: facts.odd: the job dropped the values of 150 nodes" in found.problems


def test_a_node_that_did_not_finish_is_named() -> None:
    said = lines(0, {"name": "n1", "end": "yes"}) + lines(1, {"name": "n2"}) + '2\tname\t"n'
    found = folded(said.encode())
    assert found.incomplete == (1, 2)
    assert [node.name for node in found.nodes] == ["n1", "n2", ""]


def test_pieces_of_several_nodes_that_come_mixed_are_put_together() -> None:
    said = '0\tname\t"n\n1\tname\t"m\n0\tname\t1"\n1\tname\t2"\nsome banner\n0\tend\t"yes"\n1\tend\t"yes"\n'
    assert [node.name for node in folded(said.encode()).nodes] == ["n1", "m2"]


PIECE = st.binary(max_size=12) | st.sampled_from(
    [b'0\tname\t"n1"', b'1\ta\t"x', b'y\\"z"', b"0\tend\t", b"\t", b"7\ta\t"]
)


@settings(max_examples=40)
@given(st.lists(PIECE, max_size=12))
def test_whatever_the_nodes_say_the_record_can_be_read(said: Sequence[bytes]) -> None:
    path = Path(os.environ["TMPDIR_OF_TEST"]) / "any"
    path.write_bytes(b"\n".join(said))
    content = b'{"format": 2, ' + bash('campaign_fold "$1"; printf %s "$REPLY"', str(path)) + b'"problems": []}'
    told: Any = json.loads(content.decode("utf-8"))
    assert told.keys() == {"format", "nodes", "incomplete", "facts", "problems"}


def test_the_clusters_fake_is_told_nothing_of_the_question(job: Job, cluster: Fake) -> None:
    """Tests count launches: the job's question to its nodes is none."""
    job.plan().run()
    assert len(cluster.launched()) == 1
