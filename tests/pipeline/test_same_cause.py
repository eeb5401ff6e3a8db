"""When a campaign stops since its jobs fail of one cause."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path

from campaign.core.model import Attempt, Paths, Run, State
from campaign.pipeline import run
from tests.support import builders

RUNS = [builders.run(id=f"scratch.node.{files}.r1") for files in ("shared", "unique", "onefile", "other")]
LIBRARY = "the benchmark ended with status 127: libfabric.so.1 is missing"


def same_cause(of: Sequence[Attempt], before: Collection[str] = ()) -> str | None:
    """By the exit statuses that stand in the reasons."""
    return run.same_cause(RUNS, of, before, lambda attempt: "".join(re.findall(r"status (\d+)", attempt.reason)))


def attempts(*ends: tuple[str, State, str], runs: Sequence[Run] = RUNS) -> list[Attempt]:
    """Of each run one: its job, its state and why; they ended in this order."""
    return [
        replace(builders.attempt(run), job=job, state=state, reason=reason, token=f"{place:08x}", ended=float(place))
        for place, (run, (job, state, reason)) in enumerate(zip(runs, ends, strict=False), 1)
    ]


def test_two_jobs_that_fail_of_one_cause_stop_a_campaign() -> None:
    failed = attempts(("a", State.FAILED, LIBRARY), ("b", State.FAILED, LIBRARY), ("c", State.PENDING, ""))
    assert same_cause(failed) == LIBRARY
    assert same_cause(failed, {failed[0].token}) is None, "an earlier driver has seen that"


def test_two_jobs_that_end_in_the_same_way_have_the_same_cause_whatever_their_programs_print() -> None:
    other = LIBRARY.replace("is missing", "is missing on node17, as its operator knows")
    assert same_cause(attempts(("a", State.FAILED, LIBRARY), ("b", State.FAILED, other))) == LIBRARY


def test_how_a_job_recorded_an_end_is_compared(tmp_path: Path) -> None:
    attempt, paths = builders.attempt(RUNS[0]), Paths(tmp_path)
    folder = paths.attempt(attempt.run, attempt.number)
    folder.mkdir(parents=True)
    assert run._end_of(paths, attempt) == ()
    texts = dict.fromkeys(("reason", "job_id", "job_name", "nodes"), "")
    numbers = dict.fromkeys(("started", "ended", "leftover_files", "restart_count"), 0)
    record = {"format": 1, "token": attempt.token, "outcome": "failed", "exit_status": 127, **texts, **numbers}
    (folder / "completion.json").write_text(json.dumps(record))
    assert run._end_of(paths, attempt) == ("failed", 127, 0)
    (folder / "completion.json").write_text("{")
    assert run._end_of(paths, attempt) == ()


def test_runs_of_one_job_are_one_failure_as_long_as_another_job_is_left() -> None:
    ends = [("a", State.FAILED, LIBRARY), ("a", State.FAILED, LIBRARY)]
    assert same_cause(attempts(*ends, ("b", State.RUNNING, ""))) is None
    assert same_cause(attempts(*ends, ("b", State.FAILED, LIBRARY))) == LIBRARY
    assert same_cause(attempts(*ends, ("b", State.DONE, ""))) is None
    assert same_cause(attempts(*ends, ("a", State.PENDING, ""))) == LIBRARY, "the only job that is left"


def test_what_slurm_did_not_take_has_not_failed() -> None:
    unsent = [(job, State.REFUSED, "not submitted: Socket timed out") for job in "ab"]
    assert same_cause(attempts(*unsent, ("c", State.RUNNING, ""))) is None
    then = attempts(*unsent, ("c", State.FAILED, LIBRARY), ("d", State.FAILED, LIBRARY))
    assert same_cause(then) == LIBRARY


def test_a_result_or_another_cause_in_between_goes_on() -> None:
    other = ("b", State.FAILED, "the benchmark ended with status 3")
    for second in (("b", State.DONE, ""), other, ("b", State.NODE_FAIL, LIBRARY)):
        ends = [("a", State.FAILED, LIBRARY), second, ("c", State.FAILED, LIBRARY), ("d", State.PENDING, "")]
        assert same_cause(attempts(*ends)) is None
