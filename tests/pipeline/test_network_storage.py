"""Run rules at work on a network file system with one client per node: what inflates a number, and what catches it."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from campaign.core.processes import Process
from campaign.results.environment import reading
from campaign.results.parsers.bench_jsonl import timelines
from campaign.sandbox import storage
from campaign.sandbox.cluster import Sandbox
from campaign.sandbox.layout import Shape
from campaign.sandbox.storage import Storage
from tests.pipeline.test_packs import case_of
from tests.support.cases import Case, make_case, wait_until
from tests.support.sandbox_fixture import need_storage, running

pytestmark = [pytest.mark.slurm, pytest.mark.mpi, pytest.mark.timeout(900)]

BENCH = Path(__file__).parents[2] / "bench-src" / "build" / "mdtest"
SHARED, UNIQUE, ONE_FILE = (f"scratch/peak/{files}/*" for files in ("shared", "unique", "onefile"))


# The rules that say something about a rate of stats, by severity, and those that were not checked.
Said = dict[str, set[str]]


def on_storage(
    folder: Path,
    sandbox: Sandbox,
    name: str,
    nodes: int,
    per_node: int,
    further_text: str = "",
    target: Path | None = None,
) -> Case:
    """The condition peak on that geometry, on a file system whose servers are asked what they counted."""
    case = make_case(folder, sandbox, name, items=128, target=target or sandbox.layout.storage, lines=further_text)
    peak = f"peak: {{nodes: {nodes}, processes: {nodes * per_node}}}"
    text = case.file.read_text().replace("peak: {nodes: 2, processes: 4}", peak)
    assert peak in text
    place = f"directory: {case.target}"
    case.file.write_text(text.replace(place, f"{place}\n    server_counters: $CAMPAIGN_STORAGE_COUNTERS"))
    return case


def rules_by_cell(case: Case, *cells: str) -> list[Said]:
    case.call("run", *(word for cell in cells for word in ("--only", cell)), status=None)
    keys = ("target", "launch", "files", "operation")
    rows = {"/".join(row[key] for key in keys): row for row in case.table(status=None)}
    rule_sets = []
    for cell in cells:
        rules: Said = {"E": set(), "W": set(), "I": set(), "unchecked": set()}
        for finding in rows[cell.replace("*", "stat")]["findings"]:
            rules[finding["severity"] if finding["checked"] else "unchecked"].add(finding["rule"])
        rule_sets.append(rules)
    return rule_sets


def test_honest_runs_pass_and_the_servers_confirm_them(tmp_path: Path, gluster: Sandbox) -> None:
    case = on_storage(tmp_path, gluster, "honest", 4, 1)
    honest = rules_by_cell(case, SHARED, UNIQUE, ONE_FILE, "scratch/node/shared/*")
    environment = reading.read(case.results / "runs/scratch.peak.shared.r1/1").environment
    assert environment.values("mount.type") == ("fuse.glusterfs",)
    assert len(environment.values("mount.device")) == 4
    (client,) = environment.values("gluster.client")
    assert "brick2/options/remote-host 127.0.0.1" in client
    assert "cache/options/md-cache-timeout 30" in client
    for rules in honest:
        assert rules["E"] | rules["W"] == set()
        assert not rules["unchecked"] & {"CCH-01", "CCH-02", "CCH-03", "FLG-07", "GEO-01", "GEO-04"}
    shared_file, unique, one_file, one_node = (cell_rules["I"] for cell_rules in honest)
    assert "GEO-04" in shared_file & unique & one_file, "the nodes share this machine, each with its own client"
    assert "CCH-02" not in shared_file | unique
    assert "CCH-02" in one_file, "each node had opened the files itself"
    assert one_node >= {"CCH-01", "CCH-04", "FLG-07"}


def test_without_the_shift_caches_answer_and_that_is_caught(tmp_path: Path, gluster: Sandbox) -> None:
    # -N 0; and with a directory for each process what `-N 2` comes to in mdtest 4.x, which multiplies it by 2.
    wrapper = tmp_path / "mdtest"
    wrapper.write_text(
        """#!/bin/bash
        args=("$@")
        [[ " $* " == *" -u "* ]] && offset=4 || offset=0
        for i in "${!args[@]}"; do [ "${args[i]}" != -N ] || args[i+1]=$offset; done
        exec "${args[@]}"
        """
    )
    wrapper.chmod(0o755)
    further_text = f"benchmark: {{executable: {BENCH}}}\nlauncher: {{prefix: [{wrapper}]}}"
    for rules in rules_by_cell(on_storage(tmp_path, gluster, "unshifted", 2, 2, further_text), SHARED, UNIQUE):
        assert rules["E"] >= {"FLG-07", "CCH-02"}
        assert "CCH-01" in rules["W"]


def test_with_ranks_in_turns_over_the_nodes_caches_answer_and_that_is_caught(tmp_path: Path, gluster: Sandbox) -> None:
    srun = tmp_path / "bin" / "srun"
    srun.parent.mkdir()
    turns = '"${@/--distribution=block/--distribution=cyclic}"'
    srun.write_text(f"#!/bin/bash\nunset BENCH_EXPECT_NODES BENCH_EXPECT_PPN\nexec {shutil.which('srun')} {turns}\n")
    srun.chmod(0o755)
    case = on_storage(tmp_path, gluster, "cyclic", 2, 2)
    case.variables["PATH"] = f"{srun.parent}:{os.environ['PATH']}"
    (rules,) = rules_by_cell(case, SHARED)
    assert rules["E"] >= {"GEO-01", "FLG-07", "CCH-02"}


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
    subprocess.run(client, check=True, timeout=800)
    try:
        yield point
    finally:
        subprocess.run(["umount", "--lazy", point], check=True, timeout=800)


def test_the_cache_of_one_client_posing_as_four_nodes_is_caught(
    tmp_path: Path, gluster: Sandbox, one_client: Path
) -> None:
    (rules,) = rules_by_cell(on_storage(tmp_path, gluster, "one", 4, 1, target=one_client), SHARED)
    assert rules["E"] >= {"GEO-04", "CCH-02"}


def test_the_timeline_of_a_chunk_pool_shows_the_processes_of_the_slow_brick(tmp_path: Path) -> None:
    """The brick of a process is the one that has its file: known while the run is at work, since it removes them."""
    need_storage()
    on_brick: dict[int, str] = {}

    def has_all_chunks(bricks: Path) -> bool:
        files = bricks.glob("brick?/campaign-*/chunks.*")
        on_brick.update((int(file.suffix[1:]), file.parts[-3]) for file in files)
        return len(on_brick) == 8

    with running(Shape(nodes=2, cpus=4, storage=Storage(bricks=2, slow_ms=60))) as sandbox:
        launch, target = "node: 2\n  clients: {nodes: 2, processes: 8}", sandbox.layout.storage
        case = case_of(tmp_path, sandbox, "chunk-pool", launch, "total: 16M", target=target)
        driver = case.start("run", "--only", "scratch/clients/static/*")
        try:
            wait_until(lambda: has_all_chunks(sandbox.layout.bricks))
            assert driver.wait(300) == 0
        finally:
            driver.kill()
    lines = timelines((case.results / "runs/scratch.clients.static.r1/1/bench.jsonl").read_text())["write"]
    busy_s = {line.rank: len(line.bytes) * line.interval_s for line in lines}
    slow = {rank for rank, brick in on_brick.items() if brick == "brick2"}
    assert slow
    assert slow < busy_s.keys()
    # Eight blocks, of which four are outstanding at a time, each 60 ms late.
    assert min(busy_s[rank] for rank in slow) > 2 * 0.06


def test_own_data_is_read_from_the_nodes_cache_and_that_of_another_node_from_the_servers(
    tmp_path: Path, gluster: Sandbox
) -> None:
    launch, sizes = "node: 2\n  nodes: {nodes: 2, processes: 2}", "transfer: 64k\n  block: 256k\n  segments: 2"
    case = case_of(tmp_path, gluster, "ior-cache-ladder", launch, sizes, target=gluster.layout.storage)
    case.call("run", "--only", "scratch/nodes/own/*", "--only", "scratch/nodes/reordered/*")
    rules_by_files = {
        row["files"]: {finding["rule"] for finding in row["findings"]}
        for row in case.table(status=None)
        if row["status"] == "measured"
    }
    # Nothing that the storage can show is left unchecked: what is said is the size, that the nodes share a machine, and
    # that no single process was measured.
    disclosed = {"FLG-04", "GEO-04", "ENV-04", "PHY-06"}
    assert rules_by_files == {"own": {*disclosed, "CCH-05", "RUN-06"}, "reordered": disclosed}


@pytest.fixture(scope="module")
def breakable_sandbox() -> Iterator[Sandbox]:
    """A cluster with storage that a test may break, and repairs. Its clients give up a silent brick soon."""
    need_storage()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(storage, "PING_TIMEOUT_S", 4)
        with running(BREAKABLE) as cluster:
            yield cluster


BREAKABLE = Shape(nodes=2, cpus=4, storage=Storage(bricks=2))


def process(sandbox: Sandbox, name: str) -> Process:
    state = sandbox.layout.load()
    assert state is not None
    return state.processes[name]


def restart(sandbox: Sandbox) -> None:
    Sandbox.start(sandbox.layout.top, BREAKABLE)


def unmount(sandbox: Sandbox) -> None:
    enter = ["nsenter", "--mount", "--pid", "--target", str(process(sandbox, "client.node2").pid)]
    subprocess.run([*enter, "umount", "--lazy", sandbox.layout.storage], check=True, timeout=800)


@pytest.mark.parametrize(
    ("fault", "repair"),
    [
        (lambda sandbox: process(sandbox, "brick1").kill(5), restart),
        (
            lambda sandbox: os.kill(process(sandbox, "brick1").pid, signal.SIGSTOP),
            lambda sandbox: os.kill(process(sandbox, "brick1").pid, signal.SIGCONT),
        ),
        (unmount, restart),
    ],
    ids=["a brick dies", "a brick is frozen", "a client is unmounted"],
)
def test_a_fault_of_the_storage_fails_the_run_with_its_reason_and_the_next_one_completes(
    fault: Callable[[Sandbox], object], repair: Callable[[Sandbox], object], tmp_path: Path, breakable_sandbox: Sandbox
) -> None:
    def created_files() -> set[Path]:
        return set(breakable_sandbox.layout.bricks.glob("brick?/campaign-*/test-dir.0-0/mdtest_tree.0/file.*"))

    earlier = created_files()
    case = make_case(
        tmp_path, breakable_sandbox, "faulty", items=2000, target=breakable_sandbox.layout.storage, launch_max="all"
    )
    case.file.write_text(case.file.read_text().replace("processes: 4", "processes: 2"))
    driver = case.start("run", "--only", SHARED)
    wait_until(lambda: created_files() - earlier)
    fault(breakable_sandbox)
    try:
        driver.communicate(timeout=800)
    finally:
        driver.kill()
        repair(breakable_sandbox)
    assert driver.returncode == 1
    state = case.states()["scratch.peak.shared.r1"]
    assert state["state"] == "failed"
    assert state["reason"]
    case.file.write_text(case.file.read_text().replace("items_total: 2000", "items_total: 64"))
    case.call("run", "--only", SHARED, status=None)
    assert case.states()["scratch.peak.shared.r1"]["state"] == "done"
