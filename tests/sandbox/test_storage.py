"""The sandbox's network file system: one client per node, servers that count, and nothing left behind."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from campaign.core.errors import ENVIRONMENT, EnvironmentLacks, InputError
from campaign.sandbox import machine, storage
from campaign.sandbox.cluster import Sandbox
from campaign.sandbox.layout import Shape
from campaign.sandbox.storage import Storage
from tests.sandbox.test_sandbox import command, left_behind, process_of, run_on_sandbox, wait_until
from tests.support.sandbox_fixture import need_storage

TIMED = pytest.mark.timeout(900)


def on_node(sandbox: Sandbox, node: str, script: str) -> str:
    return run_on_sandbox(sandbox, "srun", "-N1", f"--nodelist={node}", "bash", "-ec", script)


def operation_counts(sandbox: Sandbox) -> dict[str, int]:
    lines = on_node(sandbox, "node1", str(sandbox.layout.counters)).splitlines()
    return {kind: int(number) for kind, number in (line.split() for line in lines)}


@TIMED
def test_what_one_node_writes_the_others_read_each_through_a_client_of_its_own(gluster: Sandbox) -> None:
    on_node(gluster, "node1", "echo written >$CAMPAIGN_STORAGE/shared")
    seen = run_on_sandbox(
        gluster, "srun", "-N4", "bash", "-ec", "cat $CAMPAIGN_STORAGE/shared; stat -c %d $CAMPAIGN_STORAGE"
    )
    lines = seen.split()
    assert lines.count("written") == 4
    assert len(set(lines) - {"written"}) == 4, "each node has a device of its own"
    # The machine itself is no client: it can neither see nor change what lies there.
    assert list(gluster.layout.storage.iterdir()) == []
    with pytest.raises(OSError, match="Read-only"):
        (gluster.layout.storage / "local").write_text("")


@TIMED
def test_the_servers_count_each_kind_of_operation_on_all_bricks(gluster: Sandbox) -> None:
    before = operation_counts(gluster)
    on_node(gluster, "node2", "cd $CAMPAIGN_STORAGE; for i in {1..20}; do echo $i >counted.$i; done")
    created = operation_counts(gluster)
    on_node(gluster, "node3", "cd $CAMPAIGN_STORAGE; stat counted.{1..20} >/dev/null; cat counted.* >/dev/null")
    seen = operation_counts(gluster)
    on_node(gluster, "node3", "cd $CAMPAIGN_STORAGE; stat counted.{1..20} >/dev/null")
    on_node(gluster, "node2", "cd $CAMPAIGN_STORAGE; rm counted.*")
    after = operation_counts(gluster)
    assert created["create"] - before["create"] == 20
    assert created["write"] - before["write"] == 20
    assert seen["stat"] - created["stat"] >= 20
    assert seen["create"] == created["create"]
    assert after["remove"] - seen["remove"] == 20
    assert set(before) == {"create", "read", "read_bytes", "remove", "stat", "write", "write_bytes"}


@TIMED
def test_with_storage_a_dead_client_brick_or_node_comes_back_and_stop_leaves_nothing(sandbox_directory: Path) -> None:
    need_storage()
    shape = Shape(nodes=2, cpus=2, storage=Storage(bricks=2, on_disk=True))
    sandbox = Sandbox.start(sandbox_directory, shape)
    on_node(sandbox, "node1", "echo kept >$CAMPAIGN_STORAGE/file")
    for victim in ("client.node2", "brick1", "slurmd.node2"):
        wait_until(lambda: {node.state for node in sandbox.status().nodes} == {"idle"})
        assert process_of(sandbox, victim).kill(5)
        assert sandbox.status().dead == (victim,)
        Sandbox.start(sandbox_directory, shape)
        assert sandbox.running()
        assert on_node(sandbox, "node2", "cat $CAMPAIGN_STORAGE/file") == "kept\n"
    sandbox.stop()
    assert left_behind(sandbox_directory) == []


@TIMED
def test_a_node_without_its_client_can_write_nothing(sandbox_directory: Path) -> None:
    need_storage()
    sandbox = Sandbox.start(sandbox_directory, Shape(nodes=1, cpus=1, storage=Storage(bricks=1)))
    on_node(sandbox, "node1", "umount --lazy $CAMPAIGN_STORAGE")
    assert "refused" in on_node(sandbox, "node1", "touch $CAMPAIGN_STORAGE/x 2>/dev/null || echo refused")
    assert sandbox.status().dead == ("client.node1",)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("nfs", "found storage 'nfs'; allowed: gluster[,bricks=N][,disk][,slow=MS]"),
        ("gluster,brick=2", "found storage option 'brick=2'; allowed: bricks=N, disk, slow=MS; did you mean bricks?"),
        ("gluster,bricks=0", "found storage option bricks=0; allowed: a whole number from 1 to 16"),
        ("gluster,bricks=two", "found storage option bricks=two; allowed: a whole number from 1 to 16"),
        ("gluster,slow=", "found storage option slow=; allowed: a whole number from 1 to 10000"),
    ],
)
def test_an_unknown_storage_is_refused_with_what_is_allowed(text: str, problem: str) -> None:
    with pytest.raises(InputError) as raised:
        Storage.parse(text)
    assert str(raised.value) == f"sandbox: {problem}"


def test_a_storage_is_read_and_said_in_words() -> None:
    assert str(Storage.parse("gluster")) == "gluster storage of 1 brick on memory"
    assert Storage.parse("gluster,bricks=3,slow=5,disk") == Storage(3, True, 5)
    assert str(Storage(3, True, 5)) == "gluster storage of 3 bricks on disk, the last slowed down by 5 ms"
    assert not Storage.parse("")


def test_missing_packages_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for program in ("nsenter", "glusterfs"):
        (tmp_path / program).symlink_to(shutil.which("true") or "")
    monkeypatch.setattr(machine, "PROGRAMS_PATH", str(tmp_path))
    with pytest.raises(
        EnvironmentLacks, match="sandbox: glusterfsd not found; install the Debian packages: apt-get install"
    ):
        storage.require()


def test_a_normal_user_is_told_why_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(storage, "PACKAGES", {"true": "coreutils"})
    with pytest.raises(EnvironmentLacks, match="needs root \\(you are user 1000\\): its bricks use trusted extended"):
        storage.require()


@pytest.mark.slurm
def test_on_a_machine_without_fuse_the_reason_is_given_and_nothing_is_left(sandbox_directory: Path) -> None:
    need_storage()
    hide = 'mount --bind /dev/fuse /dev/fuse && mount -o remount,bind,nodev /dev/fuse && exec "$@"'
    start = command("start", "--storage", "gluster", "--dir", sandbox_directory)
    result = subprocess.run(["unshare", "--mount", "sh", "-c", hide, "sh", *start], capture_output=True, text=True)
    assert (result.returncode, result.stderr) == (
        ENVIRONMENT,
        "campaign: sandbox: gluster storage needs FUSE, but /dev/fuse cannot be opened: Permission "
        "denied; load the module fuse, or give the device to the container\n",
    )
    assert left_behind(sandbox_directory) == []
