"""templates/witness-functions.bash: what a job writes down of its surroundings, and of what its ranks execute."""

from __future__ import annotations

import hashlib
import os
import shutil
import signal
from dataclasses import replace
from pathlib import Path

import pytest

from campaign.core import resources
from campaign.core.runs import Geometry, Launcher
from campaign.results.environment import reading
from campaign.results.environment.facts import Evidence, HashedInput
from campaign.slurm.collect import read_evidence
from tests.support import builders, facts, fake_slurm
from tests.support.bench_binary import SOURCES, make
from tests.support.fake_slurm import Fake
from tests.support.jobs import LIMIT_S, Job, cluster, job

__all__ = ["cluster", "job"]  # fixtures


def attempt_evidence(job: Job, number: int = 1) -> Evidence:
    return reading.read(job.steps[number - 1].folder)


# --- a job's record


def test_a_job_records_all_its_nodes_and_each_attempt_has_its_own_room(job: Job) -> None:
    job.environment["SLURM_JOB_NUM_NODES"] = "2"
    assert job.plan(runs=2).run() == 0
    assert job.complain() == ""
    first_evidence, other = attempt_evidence(job, 1), attempt_evidence(job, 2)
    assert first_evidence.environment == other.environment
    environment = first_evidence.environment
    assert [node.name for node in environment.nodes] == ["n1", "n2"]
    assert environment.incomplete == ()
    assert environment.directory == str(job.target)
    assert environment.values("kernel.release") == (os.uname().release,)
    digest = hashlib.sha256(fake_slurm.MDTEST.read_bytes()).hexdigest()
    assert environment.by_node("executable.sha256") == {"n1": digest, "n2": digest}
    assert environment.values("mount.point") and environment.values("fs.type")
    assert environment.software["srun"] == "slurm 22.05.8"
    assert environment.started is not None and environment.ended is not None
    assert all(environment.clock_offset(name) == 0 for name in ("n1", "n2"))
    for evidence in (first_evidence, other):
        assert evidence.made is True
        assert evidence.before is not None and evidence.after is not None
        assert evidence.before.inodes > 0
    assert first_evidence.before != other.before


def test_all_nodes_hash_the_input_files_before_each_run(job: Job) -> None:
    box, none = job.root / "it's a box", job.root / "none"
    box.write_text("16 16 16")
    job.plan(runs=2).read(box, none)
    job.environment["SLURM_JOB_NUM_NODES"] = "2"
    assert job.run() == 0
    assert job.complain() == ""
    digest = hashlib.sha256(box.read_bytes()).hexdigest()
    for step in job.steps:
        evidence, problems = read_evidence(step.folder, step.token)
        assert problems == ()
        first = evidence.inputs[0].line
        assert evidence.inputs == (
            HashedInput("n1", str(box), digest, 8, first),
            HashedInput("n1", str(none), "", 0, first + 2),
            HashedInput("n2", str(box), digest, 8, first + 4),
            HashedInput("n2", str(none), "", 0, first + 6),
        )
        assert digest in (step.folder / "facts.jsonl").read_text().splitlines()[first - 1]


def test_nodes_that_do_not_hash_the_input_files_fail_no_run(job: Job) -> None:
    job.cluster.fault("hash-fails")
    job.plan().read(job.root / "box")
    assert job.run() == 0
    assert facts.read_source(job.steps[0].folder, "inputs") == []


def test_a_witness_of_another_version_refuses_what_it_cannot_do(job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    witness, older = resources.witness(), job.root / "witness"
    reads = f"[[ $1 != job ]] || exec {witness} \"$@\" < <(sed -u 's/^inputs/newly/')"
    older.write_text(f'#!/bin/bash\n{reads}\nexec {witness} "$@"\n')
    older.chmod(0o755)
    monkeypatch.setattr(resources, "witness", lambda: older)
    job.plan().read(job.root / "box")
    assert job.run() == 1
    outcome, reason = job.end_of()
    assert outcome == "refused"
    assert "does not know 'newly', which the job's script says" in reason


def test_a_job_leaves_only_its_record(job: Job) -> None:
    job.plan().run()
    assert sorted(path.name for path in job.folder.iterdir()) == ["facts.jsonl", "job.sbatch", "stderr", "stdout"]


def test_nodes_that_cannot_be_asked_are_recorded_and_fail_no_run(job: Job) -> None:
    job.cluster.fault("environment-fails", "srun: error: no \x01 way")
    job.environment |= {"SLURM_JOB_NUM_NODES": "2", "SLURMD_NODENAME": "n1"}
    assert job.plan().run() == 0
    assert job.end_of() == ("done", "")
    environment = attempt_evidence(job).environment
    text = "srun, by which the nodes are asked, ended with status 1: srun: error: no   way; no answer from n2"
    assert environment.problems == (text,)
    assert len(environment.nodes) == 1, "the first node speaks for itself"
    assert environment.values("executable.sha256")


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
    assert attempt_evidence(job).made is False


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
    text = (job.steps[0].folder / "facts.jsonl").read_text()
    recorded_fields = {
        fact["name"].removeprefix("env."): fact["value"] for fact in facts.read_source(job.steps[0].folder, "host")
    }
    assert HARMLESS.items() <= recorded_fields.items()
    assert "hush" not in text
    assert not any(name in text for name in SECRETS)


def test_what_slurm_set_is_reported_from_what_the_submitter_had(job: Job) -> None:
    job.environment |= {
        "CAMPAIGN_SUBMITTED_WITH": "PATH UCX_TLS I_MPI_HYDRA_BOOTSTRAP",
        "UCX_TLS": "rc", "I_MPI_HYDRA_BOOTSTRAP": "ssh", "OMPI_MCA_plm_slurm_args": "--external launcher =",
        "PRTE_MCA_plm_slurm_args": "--external", "UCX_AUTH_TOKEN": "hush",
    }  # fmt: skip
    job.slurm = replace(job.slurm, environment=(("PRTE_MCA_plm_slurm_args", "mine"), ("UCX_LOG_LEVEL", "info")))
    job.plan().run()
    assert job.complain() == ""
    environment = attempt_evidence(job).environment
    assert environment.variables["OMPI_MCA_plm_slurm_args"] == "--external launcher ="
    names = {*job.environment, "UCX_LOG_LEVEL", "SLURM_JOB_ID"}
    assert names.intersection(environment.set_by_slurm) == {"OMPI_MCA_plm_slurm_args"}
    assert not any(name.startswith("CAMPAIGN_") for name in environment.variables)


def test_nothing_is_slurms_own_where_the_submitters_variables_are_not_known(job: Job) -> None:
    job.environment["OMPI_MCA_plm_slurm_args"] = "--external-launcher"
    job.plan().run()
    assert attempt_evidence(job).environment.set_by_slurm == ()


def test_a_preloaded_library_is_seen_in_the_job_and_on_the_nodes(job: Job) -> None:
    job.environment["DARSHAN_LOGPATH"] = "/x"
    job.plan().run()
    environment = attempt_evidence(job).environment
    assert environment.variables["DARSHAN_LOGPATH"] == "/x"
    assert environment.values("env.DARSHAN_LOGPATH") == ("/x",)


def test_the_clusters_fake_is_reported_nothing_of_the_question(job: Job, cluster: Fake) -> None:
    """Tests count launches: the job's question to its nodes is none."""
    job.plan().run()
    assert len(cluster.launches()) == 1


# --- what the ranks ran


def program(job: Job, name: str, text: str = "") -> Path:
    """A script, or a program under another name that waits."""
    path = job.root / name
    if text:
        path.write_text(f"#!/bin/bash\n{text}\n")
        path.chmod(0o755)
    else:
        shutil.copy("/bin/sleep", path)
        path.write_bytes(path.read_bytes() + name.encode())
    return path


def watch_run(
    job: Job, executable: Path, *prefix: str, environment: tuple[tuple[str, str | None], ...] = ()
) -> tuple[dict[str, str], list[tuple[str, ...]]]:
    """The programs that were seen, by their paths, and what each rank executed."""
    job.probe, job.environment["SLURM_JOB_NUM_NODES"] = True, "2"
    geometry, launcher = Geometry(2, 4), Launcher(prefix=prefix)
    job.plan(geometry=geometry)
    words = {"executable": str(executable), "arguments": ("5",), "prefix": prefix, "environment": environment}
    job.steps = [replace(step, run=builders.with_words(step.run, launcher=launcher, **words)) for step in job.steps]
    assert job.run() == 0, job.out() + job.complain()
    witness = read_evidence(job.steps[0].folder, job.steps[0].token)[0].witness
    assert witness.problems == ()
    assert witness.placement() == ("n1", "n1", "n2", "n2")
    names = {digest: Path(path).name for digest, path in witness.programs.items()}
    return dict(witness.programs), [
        tuple(names[digest] for digest in executed.digests) for executed in witness.executed()
    ]


def test_the_job_sees_what_its_ranks_execute_and_load(job: Job) -> None:
    path = program(job, "bench")
    programs, ranks = watch_run(job, path)
    assert programs == {hashlib.sha256(path.read_bytes()).hexdigest(): str(path)}
    assert ranks == [("bench",)] * 4
    libraries = read_evidence(job.steps[0].folder, job.steps[0].token)[0].witness.libraries
    assert any(name.startswith("libc.so") for name in libraries)
    assert not list(job.steps[0].folder.glob("ran.*"))


def test_the_job_sees_where_its_ranks_work_also_by_another_name_of_the_target(job: Job) -> None:
    """The kernel knows a directory by one name, of which links are others."""
    watch_run(job, program(job, "bench"))
    witness = read_evidence(job.steps[0].folder, job.steps[0].token)[0].witness
    assert (witness.directories, witness.other_directories) == ((job.steps[0].directory,), ())


def test_the_directory_of_a_rank_that_works_below_a_link_is_its_own(job: Job, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(job.target)
    real, job.target = job.target, tmp_path / "link"
    watch_run(job, program(job, "bench"))
    witness = read_evidence(job.steps[0].folder, job.steps[0].token)[0].witness
    assert (witness.directories, witness.other_directories) == ((f"{real}/{Path(job.steps[0].directory).name}",), ())


def test_a_rank_that_works_elsewhere_is_seen(job: Job) -> None:
    job.cluster.fault("elsewhere", "/dev/shm")
    watch_run(job, program(job, "bench"))
    witness = read_evidence(job.steps[0].folder, job.steps[0].token)[0].witness
    assert (witness.directories, witness.other_directories) == ((), ("/dev/shm on n[1-2]",))


def test_the_sanitizers_find_nothing_in_the_witnesses_of_a_job(job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    make("witness", "SAN=1")
    monkeypatch.setenv("CAMPAIGN_BENCHMARK", str(SOURCES / "build-san"))
    monkeypatch.setenv("ASAN_OPTIONS", "detect_leaks=0")  # what it has at its end, the kernel frees
    job.counters = "echo stat 1"
    watch_run(job, program(job, "bench"))
    assert job.complain() == ""


def test_another_program_under_the_name_of_the_declared_one_is_seen_as_what_it_is(job: Job) -> None:
    other = program(job, "other")
    _, ranks = watch_run(job, program(job, "bench", f'sleep 0.2; exec -a "$0" {other} "$@"'))
    assert all(executed[-1] == "other" for executed in ranks)
    environment = read_evidence(job.steps[0].folder, job.steps[0].token)[0].environment
    assert environment.values("executable.interpreter")[0].startswith("/usr/bin/bash ")


def test_a_wrapper_before_the_benchmark_is_hashed_with_its_interpreter(job: Job) -> None:
    wrapper, path = program(job, "wrapper", 'sleep 0.2; exec "$@"'), program(job, "bench")
    _, ranks = watch_run(job, path, str(wrapper))
    assert {words[-1] for words in ranks} == {"bench"} < {word for words in ranks for word in words} | {"bash", "sleep"}
    environment = read_evidence(job.steps[0].folder, job.steps[0].token)[0].environment
    assert environment.values("prefix.1.wrapper") == (f"{wrapper} {hashlib.sha256(wrapper.read_bytes()).hexdigest()}",)
    assert environment.values("prefix.1.wrapper.interpreter")[0].startswith("/usr/bin/bash ")


def test_a_rank_that_preloads_a_library_is_seen(job: Job) -> None:
    preload = job.root / "none.so"
    watch_run(job, program(job, "bench"), "env", f"LD_PRELOAD={preload}")
    witness = read_evidence(job.steps[0].folder, job.steps[0].token)[0].witness
    assert witness.preloads == {"LD_PRELOAD": (str(preload),)}


def test_the_variables_of_the_rules_are_recorded_also_where_a_rank_lacks_them(job: Job) -> None:
    job.environment["GMX_OLD"] = "x"
    set_by_rules = (("GMX_X", "1 2"), ("OMP_PLACES", ""), ("GMX_OLD", None))
    prefix = program(job, "wrap", '[ "$SLURM_PROCID" != 3 ] || unset GMX_X\nexec "$@"')
    watch_run(job, program(job, "bench"), "/bin/bash", str(prefix), environment=set_by_rules)
    witness = read_evidence(job.steps[0].folder, job.steps[0].token)[0].witness
    assert {name: set(values) for name, values in witness.variables.items()} == {
        "GMX_X": {"1 2", ""}, "OMP_PLACES": {""}, "GMX_OLD": {""}
    }  # fmt: skip


def test_one_step_looks_at_all_runs_of_a_job_each_by_itself(job: Job) -> None:
    job.probe, job.environment["SLURM_JOB_NUM_NODES"] = True, "2"
    job.plan(2, Geometry(2, 4))
    first, second = (program(job, name) for name in ("first", "second"))
    job.steps = [
        replace(step, run=builders.with_words(step.run, executable=str(path), arguments=("5",)))
        for step, path in zip(job.steps, (first, second), strict=True)
    ]
    assert job.run() == 0, job.out() + job.complain()
    seen = [read_evidence(step.folder, step.token)[0].witness for step in job.steps]
    assert [list(witness.programs.values()) for witness in seen] == [[str(first)], [str(second)]]
    assert [(len(witness.ranks), witness.problems) for witness in seen] == [(4, ())] * 2
    assert job.cluster.witnesses() == 1
    assert not list(job.folder.glob("ran.*"))


def test_witnesses_that_ended_are_started_again_for_the_next_run(job: Job) -> None:
    job.probe, job.environment["SLURM_JOB_NUM_NODES"] = True, "2"
    job.plan(2, Geometry(2, 4))
    kill = program(job, "kill", 'kill -KILL $(<"$FAKE_SLURM/witness.pids"); sleep 1')
    path = program(job, "bench")
    job.steps = [
        replace(step, run=builders.with_words(step.run, executable=str(program), arguments=("5",)))
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
    problem = "srun, by which the nodes are asked, ended with status 1: srun: error: no step can be made"
    assert evidence.environment.problems == (f"{problem}; no answer from n2",)


def test_witnesses_that_do_not_answer_are_waited_for_once_a_job(job: Job) -> None:
    job.probe, job.environment = True, {"SLURM_JOB_NUM_NODES": "2", "SLURMD_NODENAME": "n1"}
    job.constants = {"campaign_answer_s": 1, "campaign_ready_s": 1}
    job.cluster.fault("witness-hangs")
    assert job.plan(3, Geometry(2, 4)).run() == 0
    problems = [read_evidence(step.folder, step.token)[0].witness.problems for step in job.steps]
    never = "not watched: in an earlier run of this job the witnesses had not answered in time"
    assert problems == [("no answer from the witness of n1, n2 within 1 s",), (never,), (never,)]
    assert job.cluster.witnesses() == 2  # for the environment, and for the first run
    environment = read_evidence(job.steps[0].folder, job.steps[0].token)[0].environment
    assert environment.problems == ("the nodes had 1 s to answer; no answer from n2",)


def test_witnesses_that_do_not_tell_of_a_run_are_waited_for_once_a_job(job: Job) -> None:
    job.probe, job.environment["SLURM_JOB_NUM_NODES"] = True, "2"
    job.constants = {"campaign_ready_s": 1, "campaign_end_s": 1}
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
