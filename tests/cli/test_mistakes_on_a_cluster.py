"""Mistakes that only a cluster shows: refused by `plan` as by `run`, with the same words. Nothing is submitted."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from campaign.core.errors import ENVIRONMENT, INCOMPLETE, OK, USAGE
from campaign.core.resources import BENCHMARK
from campaign.sandbox.cluster import Sandbox
from tests.cli.test_mistakes import FILE, InFile
from tests.support import command_line

pytestmark = pytest.mark.timeout(900)
BENCH = Path(__file__).parents[2] / "bench-src" / "build" / "mdtest"

# fmt: off
# TARGET is a directory of the cluster, HERE the one of the campaign file, which is the home directory, PLUGINS what
# srun lists for MPI.
ON_A_CLUSTER = (
    InFile("a partition with a typo",
           "c.yaml:11:20: slurm.partition: found sandbx; Slurm has no such partition; did you mean sandbox?",
           "slurm: {partition: sandbx}"),
    InFile("a reservation that does not exist",
           "c.yaml:11:22: slurm.reservation: found none; Slurm has no such reservation; "
           "remove the key or correct it",
           "slurm: {reservation: none}"),
    InFile("a node feature that does not exist",
           "c.yaml:11:21: slurm.constraint: found gpu; no node of partition sandbox has it; "
           "remove the key or correct it",
           "slurm: {constraint: gpu}"),
    InFile("a licence that does not exist",
           "c.yaml:11:22: slurm.directives[0]: found --licenses=scratch; "
           "sbatch --test-only: Invalid license specification; correct it or remove it",
           "slurm: {directives: [--licenses=scratch]}"),
    InFile("a GPU that the nodes lack",
           "c.yaml:11:30: slurm.directives[1]: found --gres=gpu:4; "
           "sbatch --test-only: Invalid generic resource (gres) specification; correct it or remove it",
           'slurm: {directives: [--nice, "--gres=gpu:4"]}'),
    InFile("more nodes than there are",
           "c.yaml:10:16: launch.max.nodes: found 40 nodes; partition sandbox has 4; use 4 or fewer",
           "nodes: 40, processes: 160", "nodes: 4, processes: 16"),
    InFile("more processes than cores",
           "c.yaml:8:9: launch.node: found 128 processes per node; "
           "the nodes of partition sandbox have 4 cores; use 4 or fewer",
           "node: 128", "node: 4"),
    InFile("an MPI plugin that does not exist",
           "c.yaml:11:14: slurm.mpi: found pmix_v9; srun --mpi=list has: PLUGINS",
           "slurm: {mpi: pmix_v9}"),
    InFile("a module where there is no module command",
           "c.yaml:11:19: slurm.modules[0]: openmpi/9 cannot be loaded: this shell has no module "
           "command, and jobs inherit its environment; load MPI in another way and remove the key, "
           "or start campaign in a shell with modules",
           "slurm: {modules: [openmpi/9]}"),
    InFile("a directory that is absent",
           "c.yaml:6:16: targets[0].directory: TARGET/nowhere does not exist; create it where all nodes see it",
           "/scratch/cli/nowhere", "/scratch/cli"),
    InFile("a file in the place of a directory",
           "c.yaml:6:16: targets[0].directory: TARGET/file is not a directory; name a directory",
           "/scratch/cli/file", "/scratch/cli"),
    InFile("a directory that cannot be written",
           "c.yaml:6:16: targets[0].directory: /proc is not writable: No such file or directory; "
           "name another directory",
           "directory: /proc", "directory: /scratch/cli"),
    InFile("a link to the home directory",
           "c.yaml:6:16: targets[0].directory: TARGET/link resolves to the home directory; name another directory",
           "/scratch/cli/link", "/scratch/cli"),
    InFile("two targets that a link makes one",
           "c.yaml:8:16: targets[1].directory: TARGET/self resolves to TARGET, which shares files "
           "with TARGET of target scratch; name separate directories",
           "  - name: again\n    directory: /scratch/self\nlaunch:", "launch:"),
    InFile("the directory that init wrote",
           "c.yaml:6:16: targets[0].directory: still the placeholder /path/to/scratch; "
           "name a directory that all nodes see",
           "directory: /path/to/scratch", "directory: /scratch/cli"),
    InFile("results in a place that cannot be written",
           "c.yaml:11:10: results: /proc/results cannot be created: No such file or directory; "
           "name another directory",
           "results: /proc/results"),
    InFile("results that are a file",
           "c.yaml:11:10: results: HERE/c.yaml is not a directory; name a directory",
           "results: c.yaml"),
    InFile("a benchmark for another machine",
           "c.yaml:11:25: benchmark.executable: HERE/foreign is built for s390x; the nodes are "
           "x86_64; build it for x86_64",
           "benchmark: {executable: ./foreign, dialect: rank-offset}"),
    InFile("a source file in the place of the benchmark",
           "c.yaml:11:25: benchmark.executable: HERE/mdtest.c is neither an ELF program nor a script with #!; "
           "name the benchmark's program",
           "benchmark: {executable: ./mdtest.c}"),
    InFile("a program that is no mdtest",
           "c.yaml:11:25: benchmark.executable: HERE/foreign: cannot determine whether -N counts ranks or nodes (in a "
           "test run it printed nothing, and the file contains no text of mdtest); set benchmark.dialect to "
           "rank-offset (mdtest up to 1.9.3, IOR up to 3.2) or node-offset (IOR 3.3.0 and later)",
           "benchmark: {executable: ./foreign}"),
    InFile("a launcher that is absent",
           "c.yaml:11:21: launcher.program: HERE/mpirun not found; build it or correct the path",
           "launcher: {program: HERE/mpirun}"),
    InFile("several mistakes at once",
           "c.yaml:6:16: targets[0].directory: /proc is not writable: No such file or directory; "
           "name another directory\n"
           "c.yaml:11:14: slurm.mpi: found pmix_v9; srun --mpi=list has: PLUGINS",
           "directory: /proc\nlaunch:\n  node: 4\n  peak: {nodes: 2, processes: 8}\n  max: {nodes: 4, processes: 16}\n"
           "slurm: {mpi: pmix_v9}\n", FILE.partition("directory: ")[2].join(("directory: ", ""))),
)
# fmt: on


@pytest.fixture
def desk(tmp_path: Path, sandbox: Sandbox) -> Path:
    """A directory to type in, which is the home directory, with a target that the nodes see."""
    target = tmp_path / "target"
    target.mkdir()
    (target / "file").touch()
    (target / "link").symlink_to(tmp_path)
    (tmp_path / "self").symlink_to(target)
    (tmp_path / "foreign").write_bytes(b"\x7fELF\x02\x02\x01" + bytes(11) + b"\0\x16" + bytes(40))
    (tmp_path / "mdtest.c").write_text("int main(void) { return 0; }\n")
    for name in ("foreign", "mdtest.c"):
        (tmp_path / name).chmod(0o755)
    return tmp_path


def call(desk: Path, sandbox: Sandbox, *words: str) -> subprocess.CompletedProcess[str]:
    environment = {**sandbox.environment(), "PATH": "/usr/bin:/bin", "HOME": str(desk)}
    return command_line.call(*words, environment=environment, cwd=desk)


def plugins(sandbox: Sandbox) -> str:
    """Slurm's for MPI, which differ between its versions."""
    listed = subprocess.run(
        ["srun", "--mpi=list"], env=os.environ | sandbox.environment(), capture_output=True, text=True, timeout=800
    )
    return ", ".join(sorted(set(re.findall(r"none|cray_shasta|pmi2|pmix(?:_v\d+)?", listed.stdout + listed.stderr))))


def with_paths(text: str, desk: Path) -> str:
    for name, path in (("HERE", desk), ("TARGET", desk / "target"), ("/scratch/cli", desk / "target")):
        text = text.replace(name, str(path))
    return text.replace("/scratch/self", str(desk / "self")).replace(f"{desk}/target/self", f"{desk}/self")


@pytest.mark.parametrize("verb", ["plan", "run"])
@pytest.mark.parametrize("mistake", ON_A_CLUSTER, ids=lambda mistake: mistake.name)
def test_plan_refuses_on_a_cluster_what_run_refuses(mistake: InFile, verb: str, desk: Path, sandbox: Sandbox) -> None:
    (desk / "c.yaml").write_text(with_paths(mistake.text, desk))
    process = call(desk, sandbox, verb, "c.yaml")
    says = with_paths(mistake.says, desk)
    says = says.replace("PLUGINS", plugins(sandbox)) if "PLUGINS" in says else says
    assert process.stderr == f"campaign: {says}\n"
    assert (process.returncode, process.stdout) == (USAGE, "")
    assert not (desk / "results").exists()
    assert sorted(path.name for path in (desk / "target").iterdir()) == ["file", "link"]


@pytest.mark.parametrize("verb", ["plan", "run"])
def test_a_benchmark_that_is_not_built_is_refused_by_both(verb: str, desk: Path, sandbox: Sandbox) -> None:
    (desk / "c.yaml").write_text(with_paths(FILE, desk))
    environment = {**sandbox.environment(), "PATH": "/usr/bin:/bin", "CAMPAIGN_BENCHMARK": str(desk / "nothing")}
    process = command_line.call(verb, "c.yaml", environment=environment, cwd=desk)
    assert process.stderr == (
        f"campaign: the benchmark is not built: {desk}/nothing/mdtest not found; run 'campaign build'\n"
    )
    assert (process.returncode, process.stdout) == (ENVIRONMENT, "")


@pytest.mark.parametrize("verb", ["plan", "run"])
def test_a_witness_that_is_not_built_beside_the_benchmark_is_refused_by_both(
    verb: str, desk: Path, sandbox: Sandbox
) -> None:
    (desk / "c.yaml").write_text(with_paths(FILE, desk))
    (desk / "built").mkdir()
    for path in (BENCHMARK / "build").iterdir():
        if path.name != "witness":
            (desk / "built" / path.name).symlink_to(path)
    environment = {**sandbox.environment(), "PATH": "/usr/bin:/bin", "CAMPAIGN_BENCHMARK": str(desk / "built")}
    process = command_line.call(verb, "c.yaml", environment=environment, cwd=desk)
    assert process.stderr == (
        f"campaign: the benchmark is not built: {desk}/built/witness not found; run 'campaign build'\n"
    )
    assert (process.returncode, process.stdout) == (ENVIRONMENT, "")


def test_the_file_that_init_writes_is_accepted_once_its_directory_is_given(desk: Path, sandbox: Sandbox) -> None:
    assert call(desk, sandbox, "init", "c.yaml").returncode == OK
    text = (desk / "c.yaml").read_text()
    assert "partition: sandbox" in text
    assert "node: 4 " in text
    assert "directory: $CAMPAIGN_SCRATCH\n" in text
    process = call(desk, sandbox, "plan", "c.yaml")
    assert process.returncode == OK, process.stderr


# --- what only the nodes show


def test_the_probe_names_the_nodes_that_do_not_see_the_directory(desk: Path, sandbox: Sandbox) -> None:
    (desk / "c.yaml").write_text(FILE.replace("/scratch/cli", "/dev/shm"))
    process = call(desk, sandbox, "plan", "c.yaml", "--probe")
    submitted, problem = process.stderr.splitlines()
    assert submitted.startswith("probe: submitted job ") and "on 4 nodes" in submitted
    assert problem == (
        "node2, node3, node4: /dev/shm is not shared: a file that node1 created in it is not there; "
        "name a directory that all nodes see"
    )
    assert process.returncode == ENVIRONMENT
    assert [path.name for path in desk.iterdir() if path.name.startswith(("results", "campaign-probe"))] == []


def test_the_probe_accepts_what_all_nodes_see_and_leaves_nothing_behind(desk: Path, sandbox: Sandbox) -> None:
    (desk / "c.yaml").write_text(with_paths(FILE, desk))
    process = call(desk, sandbox, "plan", "c.yaml", "--probe")
    assert process.returncode == OK, process.stderr
    assert process.stdout.splitlines()[-1].endswith(
        "4 nodes see the same directories, can write in them and start the benchmark; "
        f"slurm.mpi: pmix starts {BENCH} as one MPI job of 4 ranks"
    )
    assert sorted(path.name for path in (desk / "target").iterdir()) == ["file", "link"]
    plan = call(desk, sandbox, "plan", "c.yaml").stdout
    assert re.search(r"\nchecked by the probe \(job \d+\), since which nothing that it depends on has changed\n$", plan)


# Open MPI 4 is told of the ranks and refuses to start; with Open MPI 5 each starts for itself.
PMIX_ONLY = (
    rf"slurm\.mpi: pmi2 does not start {re.escape(str(BENCH))} \(libmpi\.so\.40\) as one MPI job: "
    r"(it says: .+|each of 4 ranks runs alone); it starts with slurm\.mpi: pmix"
)


@pytest.mark.parametrize("pack", ["crossroads-mdtest", "hpcg"])
def test_the_probe_says_which_plugin_starts_a_benchmark_that_the_chosen_one_does_not(
    pack: str, desk: Path, sandbox: Sandbox
) -> None:
    text = with_paths(FILE, desk) + "slurm: {time: 1m, mpi: pmi2}\n"
    if pack == "hpcg":  # whose program would run for minutes: only its MPI library is started
        text = text.replace("crossroads-mdtest", pack).replace("  peak: {nodes: 2, processes: 8}\n", "")
        text += f"benchmark: {{executable: {BENCH}}}\n"
    (desk / "c.yaml").write_text(text)
    process = call(desk, sandbox, "plan", "c.yaml", "--probe")
    assert process.returncode == ENVIRONMENT, process.stdout + process.stderr
    problem = process.stderr.splitlines()[-1]
    assert re.fullmatch(PMIX_ONLY, problem), problem
    assert sorted(path.name for path in (desk / "target").iterdir()) == ["file", "link"]


def test_the_probe_sees_ranks_that_do_not_find_each_other(desk: Path, sandbox: Sandbox) -> None:
    alone = desk / "mdtest.sh"  # as MPICH's ranks under a plugin that they do not know
    alone.write_text(
        f'#!/bin/sh\nexec env -i PATH="$PATH" HOME="$HOME" OMPI_MCA_ess_singleton_isolated=1 {BENCH} "$@"\n'
    )
    alone.chmod(0o755)
    of_script = f"benchmark: {{executable: {alone}, dialect: rank-offset}}\nlauncher: {{prefix: [/bin/sh]}}\n"
    (desk / "c.yaml").write_text(f"{with_paths(FILE, desk)}\n{of_script}")
    process = call(desk, sandbox, "plan", "c.yaml", "--probe")
    assert process.returncode == ENVIRONMENT, process.stdout + process.stderr
    problem = process.stderr.splitlines()[-1]
    assert problem.startswith(
        f"slurm.mpi: pmix does not start {alone} (its MPI library is not known) as one MPI job: "
        "each of 4 ranks runs alone; tried without success too: slurm.mpi: pmi2 (each of 4 ranks runs alone); "
    ), problem
    assert sorted(path.name for path in (desk / "target").iterdir()) == ["file", "link"]


@pytest.mark.parametrize(
    ("cells", "says"),
    [
        ("scratch/single/shared/*", "/dev/shm is not shared: node1 and {host} see different directories"),
        ("scratch/peak/shared/*", "/dev/shm is not shared: node1 created a file in it that node2 cannot see"),
    ],
)
def test_a_directory_of_one_node_gives_no_number(cells: str, says: str, desk: Path, sandbox: Sandbox) -> None:
    (desk / "c.yaml").write_text(FILE.replace("/scratch/cli", "/dev/shm"))
    process = call(desk, sandbox, "run", "c.yaml", "--only", cells)
    host = subprocess.run(["hostname"], capture_output=True, text=True, check=True).stdout.strip()
    assert says.format(host=host) in process.stdout
    assert "measured" not in process.stdout
    assert process.returncode == INCOMPLETE


def test_a_second_campaign_file_of_the_same_name_is_refused(desk: Path, sandbox: Sandbox) -> None:
    (desk / "c.yaml").write_text(with_paths(FILE, desk))
    assert call(desk, sandbox, "run", "c.yaml", "--only", "scratch/single/unique/*").returncode == OK
    (desk / "d.yaml").write_text(with_paths(FILE, desk))
    for verb in ("plan", "run", "table"):
        process = call(desk, sandbox, verb, "d.yaml")
        assert process.stderr == (
            f"campaign: d.yaml:1:7: name: found cli, but {desk}/results/cli holds the results of {desk}/c.yaml; "
            "give this campaign another name, or another results directory\n"
        )
        assert (process.returncode, process.stdout) == (USAGE, "")
    (desk / "c.yaml").unlink()  # renamed
    assert "1 run" not in call(desk, sandbox, "plan", "d.yaml").stderr


def test_writing_down_the_default_partition_keeps_the_results_and_another_setting_is_named(
    desk: Path, sandbox: Sandbox
) -> None:
    file = desk / "c.yaml"
    selection = ("--only", "scratch/node/unique/*")
    file.write_text(with_paths(FILE, desk))
    assert call(desk, sandbox, "run", "c.yaml", *selection).returncode == OK
    file.write_text(with_paths(FILE, desk) + "slurm: {partition: sandbox}\n")
    assert call(desk, sandbox, "plan", "c.yaml").stderr == ""
    assert "attempt 1 of 1" in call(desk, sandbox, "run", "c.yaml", *selection).stdout
    file.write_text(with_paths(FILE, desk).replace("node: 4", "node: 2") + "slurm: {mpi: pmi2}\n")
    assert call(desk, sandbox, "plan", "c.yaml").stderr == (
        "note: not used: 1 run measured with other settings (launch.node: 1 node, 4 processes -> 1 "
        "node, 2 processes; slurm.mpi: pmix -> pmi2); 'campaign run' measures again\n"
    )


def test_words_before_the_benchmark_that_this_machine_does_not_find_are_noted(desk: Path, sandbox: Sandbox) -> None:
    (desk / "c.yaml").write_text(with_paths(FILE, desk) + "launcher: {prefix: [numactll]}\n")
    process = call(desk, sandbox, "plan", "c.yaml")
    assert process.stderr == (
        "note: launcher.prefix[0]: numactll not found on this machine's PATH; if the nodes lack it too, all runs fail: "
        "correct the name or give the full path\n"
    )
    assert process.returncode == OK


def test_words_before_the_benchmark_that_were_added_are_named_as_such(desk: Path, sandbox: Sandbox) -> None:
    file = desk / "c.yaml"
    file.write_text(with_paths(FILE, desk))
    assert call(desk, sandbox, "run", "c.yaml", "--only", "scratch/node/unique/*").returncode == OK
    file.write_text(with_paths(FILE, desk) + "launcher: {prefix: [env, -u, NOTHING]}\n")
    assert call(desk, sandbox, "plan", "c.yaml").stderr == (
        "note: not used: 1 run measured with other settings (launcher.prefix: none -> env -u NOTHING); "
        "'campaign run' measures again\n"
    )


def test_the_scripts_that_run_would_submit_are_written(desk: Path, sandbox: Sandbox) -> None:
    (desk / "c.yaml").write_text(with_paths(FILE, desk) + 'declined: [{cells: "*/max/*/*", reason: none}]\n')
    process = call(desk, sandbox, "plan", "c.yaml", "--scripts", "scripts")
    assert process.returncode == OK, process.stderr
    assert process.stderr.endswith("wrote 3 job scripts to scripts\n")
    assert "9 runs for 27 cells in 3 jobs (allocation: geometry)\n9 cells declined or projected" in process.stdout
    assert sorted(path.name for path in (desk / "scripts").iterdir()) == [
        "1-scratch.single.shared.r1.sbatch",
        "2-scratch.node.shared.r1.sbatch",
        "3-scratch.peak.shared.r1.sbatch",
    ]
    script = (desk / "scripts" / "3-scratch.peak.shared.r1.sbatch").read_text()
    assert script.count("\n    campaign_run ") == 3
    assert "#SBATCH --nodes=2\n" in script
