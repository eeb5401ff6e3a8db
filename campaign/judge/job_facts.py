"""What Slurm recorded of a job and its steps, and how far the clocks of nodes and Slurm may differ. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from campaign.core.findings import Finding
from campaign.core.records import Record
from campaign.judge.findings import missing_output_form, unchecked
from campaign.judge.timing import RATE, phase_s
from campaign.results.case import Case
from campaign.results.environment.facts import Accounting, Environment

TOLERANCE_S = 2.0  # between clocks of one job's nodes, beyond their measured offset: a printed time is cut to 1 s
CONTROLLER_S = 60.0  # between Slurm's and other clocks, whose offset was not measured, or may be that large
SET_S = 1.0  # drift of a clock during a run that is not taken for a change of its time
WITNESS = "witness"  # the step that records nodes and ranks before and after a run
_IDENTITY = ("JobId", "SubmitTime")  # an id alone may have been reused for another job
STARTED_AGAIN = (
    "Slurm's final record belongs to a restart of the job after the run: nothing to compare the job's record with"
)


def printed_times(case: Case) -> tuple[dict[str, float], Finding | None]:
    """When the benchmark began and ended according to the output, by the clock of the job's first node; or that this is
    not checked.
    """
    observation, environment = case.observation, case.evidence.environment
    names = case.observation.node_names or case.placement
    offset = environment.clock_offset(names[0]) if names else 0.0
    output_times = {"start time": observation.began, "end time": observation.ended}
    exact = {name: time - offset for name, time in output_times.items() if time is not None}
    of_clock = {"start time": observation.began_local, "end time": observation.ended_local}
    clock = {name: time for name, time in of_clock.items() if time is not None}
    zone = _zone_s(environment, names[:1])
    if clock and zone is None:
        unclear = "timestamps in the output have no time zone, and the nodes' time zone was not recorded"
        return exact, None if exact else unchecked(unclear)
    # An output with both kinds of times has two clocks that must be right.
    local = {f"printed {name}" if name in exact else name: time - (zone or 0) - offset for name, time in clock.items()}
    return exact | local, None if exact or local else missing_output_form(case)("no timestamp in the output")


def clock_set_s(case: Case) -> float:
    """Seconds by which the clock of the job's first node was changed during the run (below zero: set back), by the
    kernel's clock, which cannot be set. 0.0 if the job did not record it.
    """
    completion = case.evidence.completion
    if completion is None or len(completion.uptime) != 2:
        return 0.0
    return completion.ended - completion.started - (completion.uptime[1] - completion.uptime[0])


def set_back_s(case: Case) -> float:
    """Seconds by which the clock of the job's first node was set back, as sites correct their clocks; 0.0 if it was
    changed by more than that.
    """
    back_s = -clock_set_s(case)
    return back_s if SET_S < back_s <= CONTROLLER_S else 0.0


def shortest_phases_s(case: Case) -> float:
    """The shortest time that the phases of the output can have taken. Phases with rates of items follow one another."""
    measured = {record.operation: record for _, record in case.results if not record.parts}  # some in several columns
    lasted = {name: _all_iterations_s(case, record) for name, record in measured.items()}
    following = [seconds for name, seconds in lasted.items() if measured[name].unit == RATE]
    return max([sum(following), *lasted.values()])


def _all_iterations_s(case: Case, record: Record) -> float:
    """At least: iterations other than the fastest took no less."""
    iterations_s = [seconds for iteration in record.each if (seconds := iteration.details.get("elapsed_s")) is not None]
    if iterations_s and len(iterations_s) == len(record.each):
        return sum(iterations_s)
    return (phase_s(case, record) or 0.0) * (record.iterations if record.statistic in ("maximum", "mean") else 1)


# --- small things


def accounting(case: Case) -> Accounting:
    """Slurm's final record of the job; empty if there is none."""
    return case.evidence.accounting or Accounting()


def has_no_accounting(case: Case) -> bool:
    """Whether Slurm kept a final record of the job but said that it has no accounting."""
    after = accounting(case)
    return bool(after.job) and not after.accounting and not after.steps


def is_started_again(case: Case) -> bool:
    """Whether Slurm's final record is of this job, but of a start after the run's end: a controller that lost its state
    in a crash believes that a running job is waiting, and starts or cancels it later.
    """
    during, after = case.evidence.environment.job, accounting(case).job
    completion, first, began = case.evidence.completion, during.get("StartTime", ""), after.get("StartTime", "")
    if completion is None or not first.isdigit() or not began.isdigit():
        return False
    is_same_job = all(during.get(key) and during[key] == after.get(key) for key in _IDENTITY)
    return is_same_job and int(first) <= completion.started + CONTROLLER_S and completion.ended < int(began)


def clock_ahead_s(job: Sequence[Case]) -> tuple[float, float]:
    """Seconds, at least and at most, by which the clock of a job's first node is ahead of Slurm's: Slurm started the
    job before its script began, and recorded its end after that of the last run. `job`: the cases of the job.
    """
    case = max(job, key=lambda case: case.evidence.completion.ended if case.evidence.completion else 0.0)
    completion, slurms = case.evidence.completion, accounting(case).job
    slurm_start, slurm_end = seconds(slurms.get("StartTime")), seconds(slurms.get("EndTime"))
    if completion is None or slurm_start is None or slurm_end is None or is_started_again(case):
        return -TOLERANCE_S, TOLERANCE_S
    first = case.evidence.environment.started or completion.started
    low, high = sorted((completion.ended - slurm_end - 1.0, first - slurm_start))  # Slurm's times are cut to a second
    return max(low, -CONTROLLER_S), min(high, CONTROLLER_S)


def _zone_s(environment: Environment, first: Sequence[str]) -> float | None:
    """Seconds east of Greenwich, from +0130: of the first node, or of all if its own zone is not recorded."""
    by_node = environment.by_node("zone")
    zones = {by_node[name] for name in first if name in by_node} or {*environment.values("zone")}
    match = re.fullmatch(r"([+-])(\d\d)(\d\d)", zones.pop()) if len(zones) == 1 else None
    return (1 if match[1] == "+" else -1) * (int(match[2]) * 3600 + int(match[3]) * 60) if match else None


def times_of_step(step: Mapping[str, str]) -> tuple[float, float] | None:
    """When a step in the accounting began and ended, in whole seconds; None if that is not recorded."""
    start, end = seconds(step.get("Start")), seconds(step.get("End"))
    return None if start is None or end is None else (start, end)


def seconds(text: str | None) -> float | None:
    return float(text) if text and re.fullmatch(r"\d{1,12}", text) else None


RESTORED = "only a controller that was restored from its saved state numbers steps again"
PROBES = ("bash", "witness")  # steps of the job itself, which find out where the ranks are and what they execute


def step_state(row: Mapping[str, str]) -> str:
    """COMPLETED, CANCELLED by 0 -> the state alone."""
    return row.get("State", "").partition(" ")[0]


def is_srun_step(step: Mapping[str, str]) -> bool:
    """Whether a step in the accounting is one of srun: neither batch nor extern."""
    return step.get("JobIDRaw", "").rpartition(".")[2].isdigit()
