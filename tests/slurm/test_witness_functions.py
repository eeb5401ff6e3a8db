"""templates/witness-functions.bash: where the ranks are, and what they execute."""

from __future__ import annotations

import hashlib
import os
import shutil
import signal
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from campaign.core.model import Geometry, Launcher
from campaign.slurm import scripts
from campaign.slurm.collect import read_evidence
from tests.support import builders, fake_slurm
from tests.support.jobs import FUNCTIONS, LIMIT_S, Job, cluster, job

__all__ = ["cluster", "job"]  # fixtures


# --- the placement, for benchmarks that do not check it


def probes(job: Job) -> list[str]:
    """The number of tasks of each probe of a placement, in their order among all launches; "run" for the others."""
    return [
        next(word for word in words if word.startswith("--ntasks=")) if "bash" in words else "run"
        for words, _ in job.cluster.launched()
    ]


def placements(job: Job) -> list[list[str]]:
    return [(step.folder / "placement.txt").read_text().splitlines() for step in job.steps]


@pytest.mark.parametrize("geometry", [Geometry(1, 1), Geometry(1, 4), Geometry(2, 8), Geometry(3, 3)])
def test_ranks_that_were_not_all_seen_are_asked_for_after_the_run(job: Job, geometry: Geometry) -> None:
    job.probe = True
    job.cluster.fault("witness-blind")
    assert job.plan(geometry=geometry).run() == 0
    (launch, _), (probe, _) = job.cluster.launched()
    options = list(scripts.launcher(job.steps[0].run, job.slurm)[1:])
    without_mpi = ["--mpi=none" if word.startswith("--mpi=") else word for word in options]
    assert probe[: len(options) + 1] == [*without_mpi, "bash"]
    assert launch[: len(options) + 1] == [*options, str(fake_slurm.MDTEST)]
    assert placements(job) == [
        [f"{rank} n{rank // geometry.processes_per_node + 1}" for rank in range(geometry.processes)]
    ]


def test_where_nobody_looks_the_launcher_is_asked_before_the_run_once_for_a_geometry(job: Job) -> None:
    job.probe = True
    job.cluster.fault("witness-fails", "srun: error: Unable to create step")
    assert job.plan(2, Geometry(2, 8)).run() == 0
    assert probes(job) == ["--ntasks=8", "run", "run"]
    first, second = placements(job)
    assert first == second != []


def test_ranks_that_were_all_seen_are_not_asked_for(job: Job) -> None:
    watched(job, program(job, "bench"))
    assert probes(job) == ["run"]
    assert not (job.steps[0].folder / "placement.txt").exists()


def test_a_run_whose_ranks_were_not_all_seen_is_recorded_once_nothing_runs_and_later_launchers_are_asked_before(
    job: Job,
) -> None:
    """Only n1 has a witness. What each launch asks: the first and the second run, then of both, and once beforehand."""
    job.probe = True
    assert job.plan(4, Geometry(2, 8)).run() == 0
    assert probes(job) == ["run", "run", "--ntasks=8", "--ntasks=8", "run", "--ntasks=8", "run"]
    first, *others = placements(job)
    assert len(first) == 8
    assert others == [first] * 3
    assert [job.end_of(number)[0] for number in (1, 2, 3, 4)] == ["done"] * 4


@pytest.mark.parametrize("placement", ["cyclic", "uneven"])
def test_any_other_placement_is_found_out_after_a_run_and_refused_from_then_on(job: Job, placement: str) -> None:
    job.probe, job.environment["SLURM_JOB_NUM_NODES"] = True, "2"
    job.cluster.fault("placement", placement)
    job.plan(3, Geometry(2, 4))
    words = {"executable": str(program(job, "bench")), "arguments": ("1",)}
    job.steps = [replace(step, run=builders.with_words(step.run, **words)) for step in job.steps]
    assert job.run() == 1
    reason = "the ranks are not block-placed and even on 2 nodes with 2 each: see placement.txt"
    assert [job.end_of(number) for number in (1, 2, 3)] == [("done", ""), ("done", ""), ("refused", reason)]
    assert probes(job) == ["run", "run", "--ntasks=4"]
    assert job.left() == []


def test_launchers_with_options_of_the_users_are_asked_before_the_first_run_and_not_again(job: Job) -> None:
    job.plan_with_mpirun(Geometry(2, 8), Geometry(2, 4))
    assert job.run() == 0, job.out() + job.complain()
    asked = probes(job)
    assert (set(asked[:2]), asked[2:]) == ({"--ntasks=8", "--ntasks=4"}, ["run", "run"])
    assert [len(lines) for lines in placements(job)] == [8, 4]
    assert not (job.folder / "placement").exists()


@pytest.mark.parametrize("placement", ["cyclic", "uneven"])
def test_the_probe_refuses_any_other_placement(job: Job, placement: str) -> None:
    job.cluster.fault("placement", placement)
    assert job.plan_with_mpirun(Geometry(2, 8)).run() == 1
    reason = "the ranks are not block-placed and even on 2 nodes with 4 each: see placement.txt"
    assert job.end_of() == ("refused", reason)
    assert probes(job) == ["--ntasks=8"] * 2  # before the first run, and again when its turn came
    assert job.left() == []


def test_a_probe_that_does_not_end_is_ended(tmp_path: Path) -> None:
    launcher = tmp_path / "srun"
    launcher.write_text("#!/bin/sh\nexec sleep 300\n")
    launcher.chmod(0o755)
    script = f"""{FUNCTIONS}
        campaign_probe_longest=0.1 campaign_words=1 campaign_nodes=1 campaign_per_node=1
        campaign_probe {tmp_path} {launcher}"""
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=300, check=False)
    assert (done.returncode, done.stdout) == (1, "the placement probe failed: it did not end in 0.1 s")


def test_a_launcher_that_failed_before_the_first_run_is_probed_again_when_its_turn_comes(job: Job) -> None:
    job.cluster.fault("srun-fails.once", "srun: error: Unable to create step")
    assert job.plan_with_mpirun(Geometry(2, 8)).run() == 0
    assert probes(job) == ["--ntasks=8", "--ntasks=8", "run"]
    assert len(placements(job)[0]) == 8


def test_a_probe_that_cannot_be_launched_is_said(job: Job) -> None:
    job.cluster.fault("srun-fails", "srun: error: Invalid MPI type 'pmix'")
    assert job.plan_with_mpirun(Geometry(1, 1)).run() == 1
    assert job.end_of() == ("refused", "the placement probe failed: srun: error: Invalid MPI type 'pmix'")


# --- what the ranks ran


def program(job: Job, name: str, text: str = "") -> Path:
    """A script, or a program under another name that waits a second."""
    path = job.root / name
    if text:
        path.write_text(f"#!/bin/bash\n{text}\n")
        path.chmod(0o755)
    else:
        shutil.copy("/bin/sleep", path)
        path.write_bytes(path.read_bytes() + name.encode())
    return path


def watched(job: Job, executable: Path, *prefix: str) -> tuple[dict[str, str], list[tuple[str, ...]]]:
    """The programs that were seen, by their paths, and what each rank executed."""
    job.probe, job.environment["SLURM_JOB_NUM_NODES"] = True, "2"
    geometry, launcher = Geometry(2, 4), Launcher(prefix=prefix)
    job.plan(geometry=geometry)
    words = {"executable": str(executable), "arguments": ("2",), "prefix": prefix}
    job.steps = [replace(step, run=builders.with_words(step.run, launcher=launcher, **words)) for step in job.steps]
    assert job.run() == 0, job.out() + job.complain()
    witness = read_evidence(job.steps[0].folder, job.steps[0].token)[0].witness
    assert witness.problems == ()
    assert witness.placement() == ("n1", "n1", "n2", "n2")
    names = {digest: Path(path).name for digest, path in witness.programs.items()}
    return dict(witness.programs), [tuple(names[one] for one in each.digests) for each in witness.executed()]


def test_the_job_sees_what_its_ranks_execute_and_load(job: Job) -> None:
    path = program(job, "bench")
    programs, ranks = watched(job, path)
    assert programs == {hashlib.sha256(path.read_bytes()).hexdigest(): str(path)}
    assert ranks == [("bench",)] * 4
    libraries = read_evidence(job.steps[0].folder, job.steps[0].token)[0].witness.libraries
    assert any(name.startswith("libc.so") for name in libraries)
    assert not list(job.steps[0].folder.glob("ran.[!t]*"))


def test_another_program_under_the_name_of_the_declared_one_is_seen_as_what_it_is(job: Job) -> None:
    other = program(job, "other")
    _, ranks = watched(job, program(job, "bench", f'sleep 0.2; exec -a "$0" {other} "$@"'))
    assert all(executed[-1] == "other" for executed in ranks)
    environment = read_evidence(job.steps[0].folder, job.steps[0].token)[0].environment
    assert environment.values("executable.interpreter")[0].startswith("/usr/bin/bash ")


def test_a_wrapper_before_the_benchmark_is_hashed_with_its_interpreter(job: Job) -> None:
    wrapper, path = program(job, "wrapper", 'sleep 0.2; exec "$@"'), program(job, "bench")
    _, ranks = watched(job, path, str(wrapper))
    assert {words[-1] for words in ranks} == {"bench"} < {word for words in ranks for word in words} | {"bash", "sleep"}
    facts = read_evidence(job.steps[0].folder, job.steps[0].token)[0].environment
    assert facts.values("prefix.1.wrapper") == (f"{wrapper} {hashlib.sha256(wrapper.read_bytes()).hexdigest()}",)
    assert facts.values("prefix.1.wrapper.interpreter")[0].startswith("/usr/bin/bash ")


def test_a_rank_that_preloads_a_library_is_seen(job: Job) -> None:
    preload = job.root / "none.so"
    watched(job, program(job, "bench"), "env", f"LD_PRELOAD={preload}")
    witness = read_evidence(job.steps[0].folder, job.steps[0].token)[0].witness
    assert witness.preloads == {"LD_PRELOAD": (str(preload),)}


def test_one_step_looks_at_all_runs_of_a_job_each_by_itself(job: Job) -> None:
    job.probe, job.environment["SLURM_JOB_NUM_NODES"] = True, "2"
    job.plan(2, Geometry(2, 4))
    first, second = (program(job, name) for name in ("first", "second"))
    job.steps = [
        replace(step, run=builders.with_words(step.run, executable=str(path), arguments=("1",)))
        for step, path in zip(job.steps, (first, second), strict=True)
    ]
    assert job.run() == 0, job.out() + job.complain()
    seen = [read_evidence(step.folder, step.token)[0].witness for step in job.steps]
    assert [list(witness.programs.values()) for witness in seen] == [[str(first)], [str(second)]]
    assert [(len(witness.ranks), witness.problems) for witness in seen] == [(4, ())] * 2
    assert job.cluster.witnesses() == 1
    assert not list(job.folder.glob("ran.*"))


def test_a_file_is_read_once_a_job_unless_it_changes_however_well_that_is_hidden(tmp_path: Path) -> None:
    file, log = tmp_path / "program", tmp_path / "log"
    file.write_bytes(b"1" * 4096)
    first, second = (hashlib.sha256(byte * 4096).hexdigest() for byte in (b"1", b"2"))
    script = f"""{FUNCTIONS}
        timeout() {{ echo read >>{log}; "${{@:2}}"; }}
        declare -A hashed=()
        look() {{ local -A hashes=() inodes=(); campaign_watch_hash /proc/self/fd/7; echo "${{hashes[7]}}"; }}
        exec 7<{file}
        look; sleep 3; look; look
        touch -r {file} {tmp_path}/time; tr 1 2 <{file} | dd of={file} conv=notrunc status=none
        touch -r {tmp_path}/time {file}; look"""
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=300, check=True)
    assert done.stdout.split() == [first, first, first, second]
    assert log.read_text().split() == ["read"] * 3  # too new to be sure of at first; then once; then it had changed


@pytest.mark.parametrize("forgotten", [0, 1])
def test_a_witness_obeys_every_line_though_bash_forgets_what_came_as_its_time_was_over(
    tmp_path: Path, forgotten: int
) -> None:
    """bash's `read -t` says that the time is over, and what it had read by then is gone: one character or none."""
    script = f"""{FUNCTIONS}
        read() {{
            [[ $* == "-r -t "*" -d   _" ]] || {{ builtin read "$@"; return; }}
            sleep 0.02
            builtin read -t 0 && builtin read -r -N {forgotten} _
            return 142
        }}
        exec {{campaign_watch_in}}> >(campaign_watch_node >{tmp_path}/said)
        for run in 1 2 3; do
            for words in /runs/$run$'\t'srun phase end; do campaign_watch_tells "$words"; sleep 0.1; done
        done
        exec {{campaign_watch_in}}>&-; wait"""
    subprocess.run(["bash", "-c", script], timeout=300, check=True)
    said = [line.split("\t")[1] for line in (tmp_path / "said").read_text().splitlines()]
    assert [said.count(word) for word in ("ready", "name", "end")] == [3, 3, 3]


def test_witnesses_that_ended_are_started_again_for_the_next_run(job: Job) -> None:
    job.probe, job.environment["SLURM_JOB_NUM_NODES"] = True, "2"
    job.plan(2, Geometry(2, 4))
    kill = program(job, "kill", 'kill -KILL $(<"$FAKE_SLURM/witness.pids"); sleep 1')
    path = program(job, "bench")
    job.steps = [
        replace(step, run=builders.with_words(step.run, executable=str(program), arguments=("1",)))
        for step, program in zip(job.steps, (kill, path), strict=True)
    ]
    assert job.run() == 0, job.out() + job.complain()
    seen = [read_evidence(step.folder, step.token)[0].witness for step in job.steps]
    assert seen[0].problems != () and seen[1].problems == ()
    assert list(seen[1].programs.values()) == [str(path)]
    assert job.cluster.witnesses() == 2


def test_a_run_goes_on_where_nobody_can_look(job: Job) -> None:
    job.probe, job.environment["SLURMD_NODENAME"] = True, "n1"
    job.cluster.fault("witness-fails", "srun: error: no step can be made")
    assert job.plan(geometry=Geometry(2, 4)).run() == 0
    evidence = read_evidence(job.steps[0].folder, job.steps[0].token)[0]
    seen = "no answer from the witness of n1, n2: srun: error: no step can be made"
    assert (evidence.witness.watched, evidence.witness.problems) == (True, (seen,))
    told = "srun, by which the nodes are asked, ended with status 1: srun: error: no step can be made"
    assert evidence.environment.problems == (f"{told}; no answer from n2",)


def test_witnesses_that_do_not_answer_are_waited_for_once_a_job(job: Job) -> None:
    job.probe, job.environment = True, {"SLURM_JOB_NUM_NODES": "2", "SLURMD_NODENAME": "n1"}
    job.constants = {"campaign_answer_s": 1, "campaign_watch_ready_s": 1}
    job.cluster.fault("witness-hangs")
    assert job.plan(3, Geometry(2, 4)).run() == 0
    problems = [read_evidence(step.folder, step.token)[0].witness.problems for step in job.steps]
    never = "not watched: in an earlier run of this job the witnesses had not answered in time"
    assert problems == [("no answer from the witness of n1, n2 within 1 s",), (never,), (never,)]
    assert job.cluster.witnesses() == 2  # for the environment, and for the first run
    told = read_evidence(job.steps[0].folder, job.steps[0].token)[0].environment
    assert told.problems == ("the nodes had 1 s to answer; no answer from n2",)


def test_witnesses_that_do_not_tell_of_a_run_are_waited_for_once_a_job(job: Job) -> None:
    job.probe, job.environment["SLURM_JOB_NUM_NODES"] = True, "2"
    job.constants = {"campaign_watch_ready_s": 1, "campaign_watch_end_s": 1}
    job.plan(3, Geometry(2, 4))
    stop = program(job, "stop", 'kill -STOP $(<"$FAKE_SLURM/witness.pids")')
    job.steps = [
        replace(step, run=builders.with_words(step.run, executable=str(stop), arguments=())) for step in job.steps
    ]
    assert job.run() == 0, job.out() + job.complain()
    problems = [read_evidence(step.folder, step.token)[0].witness.problems for step in job.steps]
    assert all(problem.startswith("no answer from the witness of n1, n2") for problem in problems[0])
    assert problems[-1] == ("not watched: in an earlier run of this job the witnesses had not answered in time",)
    assert job.cluster.witnesses() == 1


def test_a_job_ends_though_the_srun_of_its_witnesses_cannot_be_asked_to(job: Job) -> None:
    job.probe = True
    job.cluster.fault("witness-hangs")
    process = job.plan(geometry=Geometry(2, 4)).start()
    fake_slurm.wait_until(job.cluster.witnesses, "the witnesses are started")
    os.killpg(process.pid, signal.SIGTERM)
    process.wait(LIMIT_S)
    assert not (job.steps[0].folder / "claim").exists()
    assert job.left() == []
