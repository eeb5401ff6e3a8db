"""templates/placement-functions.bash: where a launcher places the ranks of a benchmark that does not check it."""

from __future__ import annotations

import hashlib
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from campaign.core import resources
from campaign.core.runs import Geometry
from campaign.slurm import scripts
from tests.slurm.test_witness_functions import program, watch_run
from tests.support import builders, facts, fake_slurm
from tests.support.jobs import FUNCTIONS, Job, cluster, job

__all__ = ["cluster", "job"]  # fixtures


def probes(job: Job) -> list[str]:
    """The number of tasks of each probe of a placement, in their order among all launches; "run" for the others."""
    return [
        next(word for word in words if word.startswith("--ntasks=")) if "where" in words else "run"
        for words, _ in job.cluster.launches()
    ]


def placements(job: Job) -> list[list[str]]:
    return [facts.probe_lines(step.folder) for step in job.steps]


@pytest.mark.parametrize("geometry", [Geometry(1, 1), Geometry(1, 4), Geometry(2, 8), Geometry(3, 3), Geometry(3, 7)])
def test_ranks_that_were_not_all_seen_are_asked_for_after_the_run(job: Job, geometry: Geometry) -> None:
    job.probe = True
    job.cluster.fault("witness-blind")
    assert job.plan(geometry=geometry).run() == 0
    (launch, _), (probe, _) = job.cluster.launches()
    options = list(scripts.launcher(job.steps[0].run, job.slurm)[1:])
    without_mpi = ["--mpi=none" if word.startswith("--mpi=") else word for word in options]
    assert probe[: len(options) + 1] == [*without_mpi, str(resources.witness())]
    assert launch[: len(options) + 1] == [*options, str(fake_slurm.MDTEST)]
    nodes = [node for node, ranks in enumerate(geometry.blocks, 1) for _ in range(ranks)]
    assert placements(job) == [[f"{rank} n{node} -" for rank, node in enumerate(nodes)]]


def test_where_nobody_looks_the_launcher_is_asked_before_the_run_once_for_a_geometry(job: Job) -> None:
    job.probe = True
    job.cluster.fault("witness-fails", "srun: error: Unable to create step")
    assert job.plan(2, Geometry(2, 8)).run() == 0
    assert probes(job) == ["--ntasks=8", "run", "run"]
    first, second = placements(job)
    assert first == second != []


def test_ranks_that_were_all_seen_are_not_asked_for(job: Job) -> None:
    watch_run(job, program(job, "bench"))
    assert probes(job) == ["run"]
    assert placements(job) == [[]]


def test_a_run_whose_ranks_were_not_all_seen_is_recorded_once_nothing_runs_and_later_launchers_are_asked_before(
    job: Job,
) -> None:
    """Only n1 has a witness. What each launch asks: the first and the second run, then of both, and once beforehand."""
    job.probe = True
    assert job.plan(4, Geometry(2, 8)).run() == 0
    assert probes(job) == ["run", "run", "--ntasks=8", "--ntasks=8", "run", "--ntasks=8", "run"]
    first, *repetitions = placements(job)
    assert len(first) == 8
    assert repetitions == [first] * 3
    assert [job.end_of(number)[0] for number in (1, 2, 3, 4)] == ["done"] * 4


@pytest.mark.parametrize("placement", ["cyclic", "uneven"])
def test_any_other_placement_is_found_out_after_a_run_and_refused_from_then_on(job: Job, placement: str) -> None:
    job.probe, job.environment["SLURM_JOB_NUM_NODES"] = True, "2"
    job.cluster.fault("placement", placement)
    job.plan(3, Geometry(2, 4))
    words = {"executable": str(program(job, "bench")), "arguments": ("1",)}
    job.steps = [replace(step, run=builders.with_words(step.run, **words)) for step in job.steps]
    assert job.run() == 1
    reason = "the ranks are not block-placed and even on 2 nodes with 2 each: see facts.jsonl"
    assert [job.end_of(number) for number in (1, 2, 3)] == [("done", ""), ("done", ""), ("refused", reason)]
    assert probes(job) == ["run", "run", "--ntasks=4"]
    assert job.left() == []


@pytest.mark.parametrize(
    ("nodes", "on_each", "right"),
    [("aaabbcc", "2+1", True), ("aabbbcc", "2+1", False), ("aaabbbc", "2+1", False), ("aaabbbcc", "2+2", True)],
)
def test_larger_blocks_come_first(tmp_path: Path, nodes: str, on_each: str, right: bool) -> None:
    ranks = tmp_path / "placement.txt"
    ranks.write_text("".join(f"{rank} {node}\n" for rank, node in enumerate(nodes)))
    process = subprocess.run([resources.witness(), "placed", ranks, str(len(set(nodes))), on_each], check=False)
    assert (process.returncode == 0) is right


def test_launchers_with_options_of_the_users_are_asked_before_the_first_run_and_not_again(job: Job) -> None:
    job.plan_with_mpirun(Geometry(2, 8), Geometry(2, 4))
    assert job.run() == 0, job.out() + job.complain()
    probe_words = probes(job)
    assert (set(probe_words[:2]), probe_words[2:]) == ({"--ntasks=8", "--ntasks=4"}, ["run", "run"])
    assert [len(lines) for lines in placements(job)] == [8, 4]
    assert not (job.folder / "placement").exists()


@pytest.mark.parametrize("placement", ["cyclic", "uneven"])
def test_the_probe_refuses_any_other_placement(job: Job, placement: str) -> None:
    job.cluster.fault("placement", placement)
    assert job.plan_with_mpirun(Geometry(2, 8)).run() == 1
    reason = "the ranks are not block-placed and even on 2 nodes with 4 each: see facts.jsonl"
    assert job.end_of() == ("refused", reason)
    assert probes(job) == ["--ntasks=8"] * 2  # before the first run, and again when its turn came
    assert job.left() == []


def test_a_launcher_that_sets_variables_is_asked_what_it_gives_to_the_ranks_of_the_built_in_benchmark(job: Job) -> None:
    job.plan_with_mpirun(Geometry(2, 4))
    job.probe = False
    set_by_launcher(job, "LD_LIBRARY_PATH=/opt/mpi/lib LD_BIND_NOW=1 MANPATH=/opt/man")
    assert job.run() == 0, job.out() + job.complain()
    assert probes(job) == ["--ntasks=4", "run"]
    pairs = [f"{name}={hashlib.sha256(value).hexdigest()[:16]}" for name, value in _GIVEN]
    nodes = ("n1", "n1", "n2", "n2")
    assert placements(job) == [[f"{rank} {node} {','.join(pairs)}" for rank, node in enumerate(nodes)]]


_GIVEN = (("LD_BIND_NOW", b"1"), ("LD_LIBRARY_PATH", b"/opt/mpi/lib"))


def set_by_launcher(job: Job, variables: str, before: str = "") -> None:
    """The runs' launcher sets these variables."""
    program = Path(job.steps[0].run.launcher.program)
    program.unlink()
    program.write_text(f'#!/bin/sh\n{before}\nexec env {variables} {fake_slurm.BIN / "srun"} "$@"\n')
    program.chmod(0o755)


def test_the_built_in_benchmark_runs_where_its_launcher_does_not_answer(job: Job) -> None:
    job.plan_with_mpirun(Geometry(2, 4))
    job.probe = False
    set_by_launcher(job, "", before='case "$*" in *" where") echo "0 n1 -"; echo "1 n1"; exit 1 ;; esac')
    assert job.run() == 0, job.out() + job.complain()
    assert job.end_of() == ("done", "")
    assert placements(job) == [[]]


def test_a_run_that_the_srun_of_the_witnesses_starts_is_not_launched_twice(job: Job) -> None:
    assert job.plan(geometry=Geometry(2, 4)).run() == 0
    assert probes(job) == ["run"]


def test_a_probe_that_does_not_end_is_ended(tmp_path: Path) -> None:
    launcher = tmp_path / "srun"
    launcher.write_text("#!/bin/sh\nexec sleep 300\n")
    launcher.chmod(0o755)
    script = f"""{FUNCTIONS}
        campaign_probe_longest=0.1 campaign_words=1 campaign_nodes=1 campaign_per_node=1
        campaign_probe {tmp_path} {launcher}"""
    process = subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=800, check=False)
    assert (process.returncode, process.stdout) == (1, "the placement probe failed: it did not end in 0.1 s")


def test_a_launcher_that_failed_before_the_first_run_is_probed_again_when_its_turn_comes(job: Job) -> None:
    job.cluster.fault("srun-fails.once", "srun: error: Unable to create step")
    assert job.plan_with_mpirun(Geometry(2, 8)).run() == 0
    assert probes(job) == ["--ntasks=8", "--ntasks=8", "run"]
    assert len(placements(job)[0]) == 8


def test_a_probe_that_cannot_be_launched_is_reported(job: Job) -> None:
    job.cluster.fault("srun-fails", "srun: error: Invalid MPI type 'pmix'")
    assert job.plan_with_mpirun(Geometry(1, 1)).run() == 1
    assert job.end_of() == ("refused", "the placement probe failed: srun: error: Invalid MPI type 'pmix'")
