"""When a campaign stops since its jobs fail of one cause."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from campaign.core.runs import Attempt, Run, State
from campaign.pipeline.same_cause import same_cause
from tests.support import builders

RUNS = [builders.run(id=f"scratch.node.{files}.r1") for files in ("shared", "unique", "onefile", "other")]
LIBRARY = "the benchmark ended with status 127: libfabric.so.1 is missing"


def attempts(*ends: tuple[str, State, str], runs: Sequence[Run] = RUNS) -> list[Attempt]:
    """Of each run one: its job, its state and why; they ended in this order."""
    return [
        replace(builders.attempt(run), job=job, state=state, reason=reason, token=f"{place:08x}", ended=float(place))
        for place, (run, (job, state, reason)) in enumerate(zip(runs, ends, strict=False), 1)
    ]


def test_two_jobs_that_fail_of_one_cause_stop_a_campaign() -> None:
    failed = attempts(("a", State.FAILED, LIBRARY), ("b", State.FAILED, LIBRARY), ("c", State.PENDING, ""))
    assert same_cause(RUNS, failed, ()) == LIBRARY
    assert same_cause(RUNS, failed, {failed[0].token}) is None, "an earlier driver has seen that"


def test_runs_of_one_job_are_one_failure_as_long_as_another_job_is_left() -> None:
    ends = [("a", State.FAILED, LIBRARY), ("a", State.FAILED, LIBRARY)]
    assert same_cause(RUNS, attempts(*ends, ("b", State.RUNNING, "")), ()) is None
    assert same_cause(RUNS, attempts(*ends, ("b", State.FAILED, LIBRARY)), ()) == LIBRARY
    assert same_cause(RUNS, attempts(*ends, ("b", State.DONE, "")), ()) is None
    assert same_cause(RUNS, attempts(*ends, ("a", State.PENDING, "")), ()) == LIBRARY, "the only job that is left"


def test_what_slurm_did_not_take_has_not_failed() -> None:
    unsent = [(job, State.REFUSED, "not submitted: Socket timed out") for job in "ab"]
    assert same_cause(RUNS, attempts(*unsent, ("c", State.RUNNING, "")), ()) is None
    history = attempts(*unsent, ("c", State.FAILED, LIBRARY), ("d", State.FAILED, LIBRARY))
    assert same_cause(RUNS, history, ()) == LIBRARY


def test_a_result_or_another_cause_in_between_goes_on() -> None:
    other = ("b", State.FAILED, "the benchmark ended with status 3")
    for second in (("b", State.DONE, ""), other, ("b", State.NODE_FAIL, LIBRARY)):
        ends = [("a", State.FAILED, LIBRARY), second, ("c", State.FAILED, LIBRARY), ("d", State.PENDING, "")]
        assert same_cause(RUNS, attempts(*ends), ()) is None
