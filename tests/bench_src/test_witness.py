"""bench-src/witness: what a node says of itself, and what a job makes of it."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from campaign.core import resources
from campaign.results.environment import facts_file, reading
from tests.support.witness import facts_of, read_environment, run_job, run_node


@pytest.fixture
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("job")


def tree(root: Path, files: Mapping[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


# --- input files


def test_files_are_hashed_with_their_sizes_and_what_is_no_file_is_unread(tmp_path: Path) -> None:
    box = tmp_path / "a box"
    box.write_bytes(b"x" * 100_000)
    words = [resources.witness(), "hash", box, tmp_path, tmp_path / "none"]
    environment = {"SLURMD_NODENAME": "n7"}
    process = subprocess.run(words, capture_output=True, text=True, timeout=800, check=True, env=environment)
    assert process.stdout.splitlines() == [
        f"n7 {hashlib.sha256(box.read_bytes()).hexdigest()} 100000 {box}",
        f"n7 unread 0 {tmp_path}",
        f"n7 unread 0 {tmp_path / 'none'}",
    ]


# --- what a node says


def test_a_node_tells_processors_memory_and_settings(tmp_path: Path, place: Path) -> None:
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
    environment = facts_of(place, tmp_path, tmp_path)
    expected = {
        "cpu.model": "Example CPU @ 2.00GHz", "cpu.sockets": "2", "cpu.cores": "4", "cpu.threads": "8",
        "cpu.governor": "performance powersave", "memory.total": "1000 kB", "memory.hugepages": "3",
        "kernel.parameters": "mitigations=off isolcpus=1-3", "vm.dirty_ratio": "20", "os": "Example Linux 9",
        "transparent_hugepage.enabled": "always [madvise] never", "ld.so.preload": "/lib/libspy.so",
    }  # fmt: skip
    assert {name: environment.values(name) for name in expected} == {name: (text,) for name, text in expected.items()}


def test_a_node_tells_the_memory_of_its_accelerators(tmp_path: Path, place: Path) -> None:
    assert facts_of(place, tmp_path, tmp_path).devices == ()
    tree(
        tmp_path,
        {
            "sys/class/drm/card0/device/mem_info_vram_total": "68702699520\n",
            "sys/class/drm/card1/device/mem_info_vram_total": "68702699520\n",
            "proc/driver/nvidia/version": "NVRM version: 550\n",
            "bin/nvidia-smi": '#!/bin/sh\n[ "$1" = --query-gpu=memory.total ] && printf "81559\\n[N/A]\\n"\n',
        },
    )
    (tmp_path / "bin" / "nvidia-smi").chmod(0o755)
    environment = facts_of(place, tmp_path, tmp_path, PATH=f"{tmp_path}/bin:{os.environ['PATH']}")
    assert environment.values("device.memory") == ("65520 65520 81559 MiB",)
    assert environment.devices == ((65520 << 20, 65520 << 20, 81559 << 20),)


def test_a_node_without_proc_and_sys_says_who_it_is(tmp_path: Path, place: Path) -> None:
    environment = facts_of(place, tmp_path, tmp_path / "gone", SLURMD_NODENAME="n7")
    assert [node.name for node in environment.nodes] == ["n7"]
    assert environment.values("executable.problem") == ("this node does not see it",)
    assert environment.incomplete == ()


def mount_tree(root: Path, line: str) -> Path:
    """A node on which the mount that holds `root` is described by `line`."""
    point = subprocess.run(["stat", "-c", "%m", root], capture_output=True, text=True, check=True).stdout.strip()
    other = "20 1 8:1 / /somewhere/else rw - ext4 /dev/other rw\n"
    return tree(root, {"proc/self/mountinfo": f"{other}{line.format(point=point)}\n{other}"})


def test_a_mount_is_reported_with_its_options(tmp_path: Path, place: Path) -> None:
    root = mount_tree(
        tmp_path, "30 20 0:50 /export {point} rw,noatime shared:1 master:2 - nfs4 server:/a\\040b rw,vers=4.2"
    )
    environment = facts_of(place, root, tmp_path)
    expected = {
        "mount.inside": "/export",
        "mount.device": "0:50",
        "mount.options": "rw,noatime",
        "mount.type": "nfs4",
        "mount.source": "server:/a b",
        "mount.super_options": "rw,vers=4.2",
    }
    assert {name: environment.values(name) for name in expected} == {name: (text,) for name, text in expected.items()}


def test_the_mount_on_top_is_the_one_that_counts(tmp_path: Path, place: Path) -> None:
    line = "30 20 0:50 / {point} rw - tmpfs below rw\n31 20 0:51 / {point} ro - xfs above ro"
    assert facts_of(place, mount_tree(tmp_path, line), tmp_path).values("mount.source") == ("above",)


def test_a_link_to_a_directory_is_reported_with_the_mount_of_the_directory(tmp_path: Path, place: Path) -> None:
    (tmp_path / "link").symlink_to("/proc/self")
    assert facts_of(place, Path("/"), tmp_path / "link").values("mount.type") == ("proc",)


def test_an_nfs_client_tells_what_was_negotiated(tmp_path: Path, place: Path) -> None:
    root = mount_tree(tmp_path, "30 20 0:50 / {point} rw - nfs4 server:/a rw")
    point = facts_of(place, root, tmp_path).values("mount.point")[0]
    stats = (
        "device rootfs mounted on / with fstype rootfs\n"
        f"device server:/a mounted on {point} with fstype nfs4 statvers=1.1\n"
        "\topts:\trw,vers=4.2,rsize=1048576,nconnect=8\n\tage:\t77\n\tcaps:\tcaps=0x1,wtmult=512\n"
        "\tbytes:\t1 2 3\n"
        "device other:/b mounted on /b with fstype nfs4 statvers=1.1\n\topts:\tro\n"
    )
    tree(root, {"proc/self/mountstats": stats})
    assert facts_of(place, root, tmp_path).values("nfs.options") == (
        "opts: rw,vers=4.2,rsize=1048576,nconnect=8; caps: caps=0x1,wtmult=512; ",
    )


def test_a_lustre_client_tells_its_settings_once_for_all_servers(tmp_path: Path, place: Path) -> None:
    root = mount_tree(tmp_path, "30 20 0:50 / {point} rw,flock - lustre 10.0.0.1@o2ib:/scratch rw")
    files = {f"proc/fs/lustre/osc/scratch-OST{n:04x}-osc-ffff8881/max_rpcs_in_flight": "8\n" for n in range(5)}
    files |= {"proc/fs/lustre/osc/scratch-OST0005-osc-ffff8881/max_rpcs_in_flight": "16\n"}
    files |= {"proc/fs/lustre/llite/scratch-ffff8881/statahead_max": "32\n"}
    files |= {"proc/fs/lustre/llite/scratch-ffff8881/stats": "snapshot_time 5\n"}
    files |= {"sys/fs/lustre/version": "2.15.4\n"}
    environment = facts_of(place, tree(root, files), tmp_path)
    assert environment.values("lustre.osc.max_rpcs_in_flight") == ("8, 16",)
    assert environment.values("lustre.llite.statahead_max") == ("32",)
    assert environment.values("lustre.version.version") == ("2.15.4",)
    assert not any("stats" in name for name in environment.facts)


def test_a_node_tells_its_adapters(tmp_path: Path, place: Path) -> None:
    port = "sys/class/infiniband/mlx5_0/ports/1"
    files = {
        f"{port}/rate": "200 Gb/sec (4X HDR)\n",
        f"{port}/state": "4: ACTIVE\n",
        f"{port}/link_layer": "InfiniBand\n",
    }
    files |= {"sys/class/infiniband/mlx5_0/fw_ver": "20.31\n", "sys/class/net/eth0/speed": "100000\n"}
    files |= {"sys/class/net/eth0/device/x": "", "sys/class/net/lo/mtu": "65536\n", "sys/class/net/eth0/mtu": "9000\n"}
    environment = facts_of(place, tree(tmp_path, files), tmp_path)
    assert environment.values("fabric.mlx5_0.1") == ("InfiniBand, 4: ACTIVE, 200 Gb/sec (4X HDR), 20.31",)
    assert environment.values("net.eth0") == ("speed 100000, mtu 9000",)
    assert "net.lo" not in environment.facts


# --- meters


def readings(root: Path, energy: str, number: int = 0) -> list[str]:
    """What a node whose /sys is below `root` reads around a run."""
    words = f"run 1\t{root}\tsrun\nend\n"
    lines = run_node("-w", "-r", str(root), stdin=words, CAMPAIGN_ENERGY=energy, SLURM_NODEID=str(number)).decode()
    fields = [line.split("\t", 4) for line in lines.splitlines()]
    return [text.partition(" ")[2] for _, _, name, _, text in fields if name == "energy"]


def powercap(root: Path, zones: Mapping[str, str]) -> Path:
    """Zones with their name, what they have counted, and where they begin again."""
    keys = ("name", "energy_uj", "max_energy_range_uj")
    zone_files = [(zone, *pair) for zone, texts in zones.items() for pair in zip(keys, texts.split(), strict=False)]
    return tree(root, {f"sys/class/powercap/{zone}/{key}": f"{text}\n" for zone, key, text in zone_files})


def test_a_node_reads_the_counters_of_its_processors_and_memory(tmp_path: Path) -> None:
    zones = {
        "intel-rapl:0": "package-0 100 900", "intel-rapl:0:0": "core 7 900", "intel-rapl:0:1": "dram 20 800",
        "intel-rapl:1": "psys 5 900", "intel-rapl-mmio:0": "package-0 100 900",
    }  # fmt: skip
    expected = "rapl intel-rapl:0=package-0=100=900 intel-rapl:0:1=dram=20=800"
    assert readings(powercap(tmp_path, zones), "60 rapl") == [expected, expected]


def test_a_node_reports_that_its_counters_cannot_be_read(tmp_path: Path) -> None:
    assert readings(tmp_path, "60 rapl")[0] == f"problem no counters in {tmp_path}/sys/class/powercap/intel-rapl:*"
    root = powercap(tmp_path, {"intel-rapl:0": "package-0 100 900", "intel-rapl:1": "package-1"})
    assert readings(root, "60 rapl")[0].startswith(f"problem {root}/sys/class/powercap/intel-rapl:1/energy_uj cannot")


def test_a_meter_of_the_whole_job_is_read_on_its_first_node(tmp_path: Path) -> None:
    assert readings(tmp_path, "60 once echo ready; echo 5 W", number=1) == []
    assert readings(tmp_path, "60 once echo ready; echo 5 W") == ["command 5 W", "command 5 W"]


def test_a_command_that_fails_is_no_reading(tmp_path: Path) -> None:
    assert readings(tmp_path, "60 command echo 5 W; false")[0] == "problem echo 5 W, false fails or prints nothing"
    assert readings(tmp_path, "") == []


def test_an_executable_is_reported_with_the_libraries_that_it_loads(tmp_path: Path, place: Path) -> None:
    environment = facts_of(place, tmp_path, tmp_path, "/bin/bash")
    assert environment.values("executable.sha256") == (hashlib.sha256(Path("/bin/bash").read_bytes()).hexdigest(),)
    assert environment.values("executable.size") == (str(Path("/bin/bash").stat().st_size),)
    path, hash_ = environment.values("library.libc.so.6")[0].split()
    assert hash_ == hashlib.sha256(Path(path).read_bytes()).hexdigest()


def test_a_long_text_is_cut_and_marked_as_cut(tmp_path: Path, place: Path) -> None:
    environment = facts_of(place, tree(tmp_path, {"proc/sys/kernel/version": "x" * 9000}), tmp_path)
    assert environment.values("kernel.version")[0] == "x" * 4000 + " ... (cut)"
    text = facts_of(place, tmp_path, tmp_path, LD_PRELOAD_X="y" * 5000).values("env.LD_PRELOAD_X")[0]
    assert text == "y" * 4000 + " ... (cut)"


# --- folding


def lines(node: int, facts: Mapping[str, str]) -> str:
    return "".join(f"{node}\t0\t{name}\t.\t{text}\n" for name, text in facts.items())


def test_what_all_nodes_say_stands_once(tmp_path: Path, place: Path) -> None:
    messages = [
        lines(
            node,
            {"name": f"n{node}", "clock": f"{node}.5", "a": "same", "b": "odd" if node % 2 else "even", "end": "yes"},
        )
        for node in range(6)
    ]
    environment = read_environment(place, "".join(reversed(messages)).encode(), 6)
    assert [node.name for node in environment.nodes] == [f"n{node}" for node in range(6)]
    assert [(value.nodes, value.text) for value in environment.facts["a"]] == [("0-5", "same")]
    assert [(value.nodes, value.text) for value in environment.facts["b"]] == [("0,2,4", "even"), ("1,3,5", "odd")]
    assert environment.incomplete == ()


def test_a_thousand_nodes_take_little_room(place: Path) -> None:
    facts = {f"setting.{number}": f"value {number} " + "x" * 100 for number in range(120)}
    message = "".join(
        lines(node, {"name": f"node{node:04}", "clock": f"{node}.5", "boot": f"{node:08x}", **facts, "end": "yes"})
        for node in range(1000)
    )
    assert len(message) > 15_000_000
    content, _ = run_job(place, message.encode(), 1000)
    assert len(content) < 250_000
    assert len(reading.evidence_of(facts_file.parse(content)).environment.nodes) == 1000


def test_a_fact_that_every_node_says_otherwise_keeps_a_hundred_values(place: Path) -> None:
    message = "".join(lines(node, {"name": f"n{node}", "odd": str(node), "end": "yes"}) for node in range(250))
    environment = read_environment(place, message.encode(), 250)
    assert len(environment.facts["odd"]) == 100
    assert any(problem.endswith(": odd: the job dropped the values of 150 nodes") for problem in environment.problems)


def test_a_node_that_did_not_finish_is_named(place: Path) -> None:
    text = lines(0, {"name": "n1", "end": "yes"}) + lines(1, {"name": "n2"}) + "2\t0\tname\t+\tn"
    environment = read_environment(place, f"{text}\n".encode(), 3)
    assert environment.incomplete == (1,)
    assert [node.name for node in environment.nodes] == ["n1", "n2"]
    assert any(problem.endswith(": the names of 1 nodes are not known") for problem in environment.problems)


def test_pieces_of_several_nodes_that_come_mixed_are_put_together(place: Path) -> None:
    message = "0\t0\tname\t+\tn\n1\t0\tname\t+\tm\n0\t0\tname\t.\t1\n1\t0\tname\t.\t2\nsome banner\n"
    assert [node.name for node in read_environment(place, message.encode(), 2).nodes] == ["n1", "m2"]


PIECE = st.binary(max_size=12) | st.sampled_from(
    [b"0\t0\tname\t.\tn1", b"1\t0\ta\t+\tx", b'0\t0\ta\t.\ty\\"z"', b"0\t0\tend\t.\t", b"\t", b"7\t1\trank\t.\t"]
)


@settings(max_examples=20)
@given(st.lists(PIECE, max_size=12))
def test_whatever_the_nodes_say_the_record_can_be_read(messages: Sequence[bytes]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        content, _ = run_job(Path(folder), b"\n".join(messages), 2)
    evidence = reading.evidence_of(facts_file.parse(content))
    assert evidence.environment.recorded
    assert not any("not JSON" in problem for problem in evidence.environment.problems)


# --- the target


@pytest.mark.parametrize(
    ("messages", "refusal"),
    [
        (["shared", "shared", "shared"], ""),
        (
            ["shared", "apart", "apart"],
            "/no/scratch is not shared: n1 created a file in it that n2, n3 cannot see; "
            "name a directory that all nodes see",
        ),
        (["shared", "missing", "apart"], "/no/scratch does not exist on n2; create it where all nodes see it"),
    ],
)
def test_the_nodes_that_do_not_see_the_target_are_named(messages: list[str], refusal: str, place: Path) -> None:
    text = "".join(
        lines(node, {"name": f"n{node + 1}", "target.seen": message, "end": "yes"})
        for node, message in enumerate(messages)
    )
    assert run_job(place, text.encode(), len(messages), SLURMD_NODENAME="n1")[1] == refusal


def test_a_node_sees_the_file_or_lacks_it_or_lacks_the_directory(place: Path) -> None:
    (place / "mark").touch()

    def sees(directory: Path, mark: str) -> tuple[str, ...]:
        data = run_node("-d", str(directory), "-x", "/no/such", "-m", mark)
        return read_environment(place, data).values("target.seen")

    assert sees(place, "mark") == ("shared",)
    assert sees(place, "other") == ("apart",)
    assert sees(place / "no", "mark") == ("missing",)


# --- the job


def test_jobs_on_storage_of_their_own_do_not_count_as_load(place: Path) -> None:
    (place / "programs").mkdir()
    squeue = place / "programs" / "squeue"
    lines = (
        "7 campaign-target:aa", "8 campaign-target:bb", "8 campaign-target:bb", "9 (null)\n12 lines", "10 ",
        "11 two words",
    )  # fmt: skip
    script = "import sys\nmark = sys.argv[3].split('=')[1].split()[0]\n"
    squeue.write_text(f"#!{sys.executable}\n{script}for line in {lines!r}: print(mark, line)\n")
    squeue.chmod(0o755)

    def other_jobs(*words: str) -> int | None:
        content, _ = run_job(place, b"", 1, *words, SLURM_JOB_ID="7")
        return reading.evidence_of(facts_file.parse(content)).environment.other_jobs

    assert other_jobs() == 4
    assert other_jobs("-i", "campaign-target:cc", "-i", "campaign-target:bb") == 3
    squeue.write_text("#!/bin/sh\nexit 1\n")
    assert other_jobs() is None


# --- the script


def test_a_witness_that_waits_for_the_target_wakes_the_script_each_second(tmp_path: Path) -> None:
    """bash runs a trap only once it has read a line, where the signal came just before it began to read."""
    (tmp_path / ".campaign-lock").mkdir()
    (tmp_path / ".campaign-lock" / "owner").write_text("77 campaign-other-1 elsewhere\n")
    command = [resources.witness(), "job", "-d", tmp_path, "-x", "/bench", "--", tmp_path]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(b"lock\n")
        process.stdin.flush()
        answers = [process.stdout.readline() for _ in range(4)]
        assert answers[0].startswith(b"\twaiting for the target: ")
        assert answers[1:] == [b"\t\n"] * 3
        process.stdin.write(b"over\n")
        process.stdin.close()
        assert process.wait(300) == 0


def test_a_witness_says_of_a_request_that_it_does_not_know_that_it_is_of_another_version(tmp_path: Path) -> None:
    command = [resources.witness(), "job", "-d", tmp_path, "-x", "/bench", "--", tmp_path]
    process = subprocess.run(command, input=b"over\ninvent\tx\n", capture_output=True, timeout=800, check=True)
    (message,) = process.stdout.decode().splitlines()
    assert message.startswith(
        f"{resources.witness()} does not know 'invent', which the job's script says: they are of differ"
    )


# --- runs


def test_a_witness_obeys_every_line_however_they_come(place: Path) -> None:
    message = "".join(f"run {number}\t{place}\tsrun\nphase\nend\n" for number in (1, 2, 3))
    lines = [line.split("\t")[1:3] for line in run_node("-w", stdin=message).decode().splitlines()]
    assert sorted(lines) == sorted([str(number), word] for number in (1, 2, 3) for word in ("ready", "name", "end"))


def test_a_witness_tells_what_it_saw_after_a_moment_or_at_once_where_the_job_waits_for_it(place: Path) -> None:
    def told_after_s(*words: str) -> float:
        command = [resources.witness(), "node", "-w"]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdin is not None and process.stdout is not None
            process.stdin.write(f"run 1\t{place}\tsrun\n")
            process.stdin.flush()
            assert "\tready\t" in process.stdout.readline()
            began = time.monotonic()
            process.stdin.write("".join(f"{word}\n" for word in words))
            process.stdin.flush()
            while "\tend\t" not in process.stdout.readline():
                pass
            return time.monotonic() - began

    assert told_after_s("end") >= 0.05
    assert any(told_after_s("end", "now") < 0.05 for _ in range(100))  # other work on the machine delays it
