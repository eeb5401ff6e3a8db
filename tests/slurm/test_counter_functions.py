"""templates/counter-functions.bash: what a target's servers have counted."""

from __future__ import annotations

import os
import subprocess
from typing import Any

import pytest

from tests.support import facts
from tests.support.fake_slurm import wait_until
from tests.support.jobs import LIMIT_S, Job, cluster, job

__all__ = ["cluster", "job"]  # fixtures


def counter_rows(job: Job) -> list[dict[str, Any]]:
    nothing, keys = {"counts": {}, "problem": ""}, {"operations": "counts", "problem": "problem"}
    return [
        {**nothing, "when": fact["phase"], keys[fact["name"]]: fact["value"]}
        for fact in facts.read_source(job.steps[0].folder, "servers")
    ]


def test_the_servers_are_asked_before_and_after_and_the_benchmark_can_ask_between(job: Job) -> None:
    job.counters = "echo create 007; echo stat $SLURM_JOB_ID"
    assert job.plan().run() == 0
    counts = {"create": 7, "stat": 1}
    assert counter_rows(job) == [{"when": when, "counts": counts, "problem": ""} for when in ("begin", "end")]
    ((_, environment),) = job.cluster.launches()
    (job.steps[0].folder / "facts.jsonl").rename(job.steps[0].folder / "facts.jsonl.new")  # as during the run
    requests = ["bash", "-c", environment["BENCH_BETWEEN_PHASES"], "sh", "stat"]
    subprocess.run(requests, env={"PATH": os.environ["PATH"], "SLURM_JOB_ID": "5"}, check=True, timeout=LIMIT_S)
    assert counter_rows(job)[-1] == {"when": "stat", "counts": {"create": 7, "stat": 5}, "problem": ""}
    assert job.complain() == ""


def test_an_external_benchmark_is_sampled_while_it_runs(job: Job) -> None:
    job.counters, job.probe = "echo stat 1", True
    job.cluster.fault("bench-waits")
    process = job.plan().start()
    rows = job.steps[0].folder / "facts.jsonl.new"
    wait_until(lambda: rows.exists() and '"sample"' in rows.read_text(), "it is sampled")
    job.cluster.mend("bench-waits")
    assert process.wait(LIMIT_S) == 0
    began, *sampled, end = [row["when"] for row in counter_rows(job)]
    assert (began, set(sampled), end) == ("begin", {"sample"}, "end")


@pytest.mark.parametrize(
    ("command", "problem"),
    [
        ("echo no servers; exit 3", "the command ended with status 3: no servers"),
        ("true", "the command ended with status 0: "),
        ("echo stat many", "not a kind and a number: stat many"),
    ],
)
def test_counters_that_cannot_be_read_are_reported_and_fail_no_run(job: Job, command: str, problem: str) -> None:
    job.counters = command
    assert job.plan().run() == 0
    assert counter_rows(job) == [{"when": when, "counts": {}, "problem": problem} for when in ("begin", "end")]
