"""Whether all nodes see one target: what a job finds out before it measures."""

from __future__ import annotations

from pathlib import Path

import pytest

from campaign.results.environment import reading
from tests.support.jobs import Job, cluster, job

__all__ = ["cluster", "job"]  # fixtures

BOOT = Path("/proc/sys/kernel/random/boot_id").read_text().partition("-")[0]
DIFFERENT = "see different directories; name one that all nodes see"


@pytest.fixture
def file_system(tmp_path: Path, job: Job) -> Path:
    """What `stat` takes the target's file system for: the text of this file."""
    kind = tmp_path / "kind"
    stat = tmp_path / "bin" / "stat"
    stat.write_text(f'#!/bin/sh\n[ "$1 $2 $3" != "-f -c %T" ] || exec cat "{kind}"\nexec /usr/bin/stat "$@"\n')
    stat.chmod(0o755)
    job.environment["SLURMD_NODENAME"] = "n1"
    job.environment["SLURM_SUBMIT_HOST"] = "login1"
    return kind


def file_identity(path: Path) -> str:
    status = path.stat()
    return f"{status.st_dev}:{status.st_ino}"


@pytest.mark.parametrize("kind", ["tmpfs", "xfs", "ext2/ext3", "overlayfs"])
def test_a_directory_on_a_disk_of_the_node_is_not_measured_as_shared_storage(
    kind: str, job: Job, file_system: Path
) -> None:
    file_system.write_text(kind)
    job.submitted_from = ("00000000", file_identity(job.target))
    assert job.plan().run() == 1
    assert job.end_of() == (
        "refused",
        f"{job.target} is not shared: on n1 it is of the node's own {kind}; name a directory that all nodes see",
    )
    assert job.left() == []


def test_a_network_file_system_is_measured_whatever_the_submitting_machine_sees(job: Job, file_system: Path) -> None:
    file_system.write_text("lustre")
    job.submitted_from = ("00000000", "1:1")
    assert job.plan().run() == 0


def test_virtual_nodes_of_one_machine_share_what_is_the_same_directory_on_it(job: Job, file_system: Path) -> None:
    file_system.write_text("tmpfs")
    job.submitted_from = (BOOT, file_identity(job.target))
    assert job.plan().run() == 0


def test_a_link_to_a_directory_is_the_directory(job: Job, file_system: Path) -> None:
    file_system.write_text("tmpfs")
    job.target.rename(job.root / "behind")
    job.target.symlink_to("behind")
    job.submitted_from = (BOOT, file_identity(job.target))
    assert job.plan().run() == 0


def test_virtual_nodes_of_one_machine_do_not_share_what_is_another_directory_on_it(job: Job, file_system: Path) -> None:
    file_system.write_text("tmpfs")
    job.submitted_from = (BOOT, "1:1")
    assert job.plan().run() == 1
    assert job.end_of() == ("refused", f"{job.target} is not shared: n1 and login1 {DIFFERENT}")


@pytest.mark.parametrize("origin", [("", ""), (BOOT, "")])
def test_what_the_submitting_machine_does_not_see_or_say_refuses_nothing(
    origin: tuple[str, str], job: Job, file_system: Path
) -> None:
    file_system.write_text("tmpfs")
    job.submitted_from = origin
    assert job.plan().run() == 0


def test_the_nodes_of_a_job_look_for_a_file_that_the_first_one_made(job: Job) -> None:
    job.environment["SLURM_JOB_NUM_NODES"] = "2"
    assert job.plan().run() == 0
    assert reading.read(job.folder).environment.by_node("target.seen") == {
        "n1": "shared",
        "n2": "shared",
    }
    assert job.left() == []
