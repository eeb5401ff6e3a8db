"""Run rules at work on a network file system with one client per node: what inflates a number, and what catches it."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from campaign.slurm.sandbox.cluster import Sandbox
from campaign.slurm.sandbox.layout import Shape
from campaign.slurm.sandbox.processes import Process
from campaign.slurm.sandbox.storage import Storage
from tests.support.cases import Case, make_case, wait_until
from tests.support.sandbox_fixture import need_storage

pytestmark = [pytest.mark.slurm, pytest.mark.mpi]

BENCH = Path(__file__).parents[2] / "bench-src" / "build" / "mdtest"
SHARED, UNIQUE, ONE_FILE = (f"scratch/peak/{files}/*" for files in ("shared", "unique", "onefile"))


# The rules that say something about a rate of stats, by severity, and those that were not checked.
Said = dict[str, set[str]]


def on_storage(folder: Path, sandbox: Sandbox, name: str, more: str = "", target: Path | None = None) -> Case:
    """4 processes on each of 4 nodes, on a file system whose servers are asked what they counted."""
    case = make_case(folder, sandbox, name, items=256, target=target or sandbox.layout.storage, more=more)
    text = case.file.read_text().replace("peak: {nodes: 2, processes: 8}", "peak: {nodes: 4, processes: 16}")
    place = f"directory: {case.target}"
    case.file.write_text(text.replace(place, f"{place}\n    server_counters: $CAMPAIGN_STORAGE_COUNTERS"))
    return case


def judged(case: Case, *cells: str) -> list[Said]:
    case.call("run", *(word for cell in cells for word in ("--only", cell)), status=None)
    keys = ("target", "launch", "files", "operation")
    rows = {"/".join(row[key] for key in keys): row for row in case.table(status=None)}
    found = []
    for cell in cells:
        said: Said = {"E": set(), "W": set(), "I": set(), "unchecked": set()}
        for finding in rows[cell.replace("*", "stat")]["findings"]:
            said[finding["severity"] if finding["checked"] else "unchecked"].add(finding["rule"])
        found.append(said)
    return found


def test_honest_runs_pass_and_the_servers_confirm_them(tmp_path: Path, gluster: Sandbox) -> None:
    case = on_storage(tmp_path, gluster, "honest")
    honest = judged(case, SHARED, UNIQUE, ONE_FILE, "scratch/node/shared/*")
    facts = json.loads((case.results / "runs/scratch.peak.shared.r1/1/environment.json").read_text())["facts"]
    assert [entry["value"] for entry in facts["mount.type"]] == ["fuse.glusterfs"]
    assert len(facts["mount.device"]) == 4
    (client,) = (entry["value"] for entry in facts["gluster.client"])
    assert "brick2/options/remote-host 127.0.0.1" in client
    assert "cache/options/md-cache-timeout 30" in client
    for said in honest:
        assert said["E"] | said["W"] == set()
        assert not said["unchecked"] & {"CCH-01", "CCH-02", "CCH-03", "FLG-07", "GEO-01", "GEO-04"}
    shared, unique, one_file, one_node = (said["I"] for said in honest)
    assert "GEO-04" in shared & unique & one_file, "the nodes share this machine, each with its own client"
    assert "CCH-02" not in shared | unique
    assert "CCH-02" in one_file, "each node had opened the files itself"
    assert one_node >= {"CCH-01", "CCH-04", "FLG-07"}


def test_without_the_shift_caches_answer_and_that_is_caught(tmp_path: Path, gluster: Sandbox) -> None:
    # -N 0; and with a directory for each process what `-N 4` comes to in mdtest 4.x, which multiplies it by 4.
    wrapper = tmp_path / "mdtest"
    wrapper.write_text(
        """#!/bin/bash
        args=("$@")
        [[ " $* " == *" -u "* ]] && offset=16 || offset=0
        for i in "${!args[@]}"; do [ "${args[i]}" != -N ] || args[i+1]=$offset; done
        exec "${args[@]}"
        """
    )
    wrapper.chmod(0o755)
    more = f"benchmark: {{executable: {BENCH}}}\nlauncher: {{prefix: [{wrapper}]}}"
    for said in judged(on_storage(tmp_path, gluster, "unshifted", more), SHARED, UNIQUE):
        assert said["E"] >= {"FLG-07", "CCH-02"}
        assert "CCH-01" in said["W"]


def test_with_ranks_in_turns_over_the_nodes_caches_answer_and_that_is_caught(tmp_path: Path, gluster: Sandbox) -> None:
    srun = tmp_path / "bin" / "srun"
    srun.parent.mkdir()
    turns = '"${@/--distribution=block/--distribution=cyclic}"'
    srun.write_text(f"#!/bin/bash\nunset BENCH_EXPECT_NODES BENCH_EXPECT_PPN\nexec {shutil.which('srun')} {turns}\n")
    srun.chmod(0o755)
    case = on_storage(tmp_path, gluster, "cyclic")
    case.variables["PATH"] = f"{srun.parent}:{os.environ['PATH']}"
    (said,) = judged(case, SHARED)
    assert said["E"] >= {"GEO-01", "FLG-07", "CCH-02"}


@pytest.fixture
def one_client(gluster: Sandbox) -> Iterator[Path]:
    """The same storage, mounted once for all nodes, as they see it below the scratch."""
    point = gluster.layout.scratch / "one-client"
    point.mkdir()
    client: list[str | Path] = [
        "glusterfs",
        "-f",
        gluster.layout.client_volume,
        "-l",
        gluster.layout.log("one-client"),
        point,
    ]
    subprocess.run(client, check=True, timeout=30)
    try:
        yield point
    finally:
        subprocess.run(["umount", "--lazy", point], check=True, timeout=30)


def test_the_cache_of_one_client_posing_as_four_nodes_is_caught(
    tmp_path: Path, gluster: Sandbox, one_client: Path
) -> None:
    (said,) = judged(on_storage(tmp_path, gluster, "one", target=one_client), SHARED)
    assert said["E"] >= {"GEO-04", "CCH-02"}


@pytest.fixture(scope="module")
def broken() -> Iterator[Sandbox]:
    """A cluster with storage that a test may break, and repairs."""
    need_storage()
    with tempfile.TemporaryDirectory(prefix="campaign-") as folder:
        sandbox = Sandbox.start(Path(folder) / "s", BREAKABLE, os.getpid())
        try:
            yield sandbox
        finally:
            sandbox.stop()


BREAKABLE = Shape(nodes=2, cpus=4, storage=Storage(bricks=2))


def process(sandbox: Sandbox, name: str) -> Process:
    state = sandbox.layout.load()
    assert state is not None
    return state.processes[name]


def restart(sandbox: Sandbox) -> None:
    Sandbox.start(sandbox.layout.top, BREAKABLE)


def unmount(sandbox: Sandbox) -> None:
    enter = ["nsenter", "--mount", "--pid", "--target", str(process(sandbox, "client.node2").pid)]
    subprocess.run([*enter, "umount", "--lazy", sandbox.layout.storage], check=True, timeout=10)


def fill(sandbox: Sandbox) -> None:
    """The bricks take a few hundred files more: what the run creates meanwhile."""
    for more in range(300, 3000, 300):  # the run may create as many before the limit is there
        used = os.statvfs(sandbox.layout.bricks)
        limit = f"remount,nr_inodes={used.f_files - used.f_ffree + more}"
        if subprocess.run(["mount", "-o", limit, sandbox.layout.bricks], timeout=10, check=False).returncode == 0:
            return
    raise AssertionError("the bricks cannot be limited")


def room(sandbox: Sandbox) -> None:
    subprocess.run(["mount", "-o", "remount,nr_inodes=1m", sandbox.layout.bricks], check=True, timeout=10)


@pytest.mark.parametrize(
    ("fault", "repair"),
    [
        (lambda sandbox: process(sandbox, "brick1").kill(5), restart),
        (
            lambda sandbox: os.kill(process(sandbox, "brick1").pid, signal.SIGSTOP),
            lambda sandbox: os.kill(process(sandbox, "brick1").pid, signal.SIGCONT),
        ),
        (unmount, restart),
        (fill, room),
    ],
    ids=["a brick dies", "a brick is frozen", "a client is unmounted", "the bricks are full"],
)
def test_a_fault_of_the_storage_fails_the_run_with_its_reason_and_the_next_one_completes(
    fault: Callable[[Sandbox], object], repair: Callable[[Sandbox], object], tmp_path: Path, broken: Sandbox
) -> None:
    def created() -> set[Path]:
        return set(broken.layout.bricks.glob("brick?/campaign-*/test-dir.0-0/mdtest_tree.0/file.*"))

    earlier = created()
    case = make_case(tmp_path, broken, "faulty", items=2000, target=broken.layout.storage)
    running = case.start("run", "--only", SHARED)
    wait_until(lambda: created() - earlier)
    fault(broken)
    try:
        running.communicate(timeout=100)
    finally:
        running.kill()
        repair(broken)
    assert running.returncode == 1
    state = case.states()["scratch.peak.shared.r1"]
    assert state["state"] == "failed"
    assert state["reason"]
    case.file.write_text(case.file.read_text().replace("items_total: 2000", "items_total: 64"))
    case.call("run", "--only", SHARED, status=None)
    assert case.states()["scratch.peak.shared.r1"]["state"] == "done"
