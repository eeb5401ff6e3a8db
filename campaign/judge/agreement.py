"""The facts of one attempt that several records contain, and the function that compares what these say. Pure.

A missing record contradicts nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from campaign.core.findings import Finding
from campaign.core.records import Completion
from campaign.core.runs import State
from campaign.core.units import listing, utc
from campaign.judge.findings import shorten, violation
from campaign.judge.job_facts import CONTROLLER_S, TOLERANCE_S, accounting, is_started_again, seconds, step_state
from campaign.results.case import Case
from campaign.results.environment.facts import Accounting
from campaign.results.environment.slurm_text import expand_nodes

SAME_S = 1.0  # between two copies of a time, one of which may be cut to a second
Span = tuple[float | None, float | None]  # from and until, in seconds since 1970; None: at any time
Value = str | float | Span  # a text, a time, or a span of time
_DIFFERS = "{what} differs between the records"
_WITH_EXIT_CODE = ("COMPLETED", "FAILED")  # states of jobs that ended by themselves


@dataclass(frozen=True, slots=True)
class Fact:
    """A fact, with what each record says of it (None: nothing). The first record that knows it is the expected one:
    texts of others are equal to its text, times of others lie in its span, or outside of it by at most `tolerance_s`.
    """

    name: str
    sources: Mapping[str, Callable[[Case], Value | None]]
    tolerance_s: float = 0.0
    message: str = _DIFFERS


def compare(facts: Sequence[Fact], case: Case) -> Iterator[Finding]:
    """A violation for each fact of which records of the attempt say different things."""
    for fact in facts:
        values = {source: value for source, read in fact.sources.items() if (value := read(case)) not in (None, "")}
        yield from disagreement(fact.name, values, fact.tolerance_s, fact.message)


def disagreement(
    name: str, values: Mapping[str, Value], tolerance_s: float = 0.0, message: str = _DIFFERS
) -> Iterator[Finding]:
    """A violation if values, each with its source, differ from the first one. Sources are named unless the message
    does so.
    """
    if not values:
        return
    (source, expected), *other_values = values.items()
    contrary_values = {source: value for source, value in other_values if not _agrees(value, expected, tolerance_s)}
    if contrary_values:
        texts = [
            f"{_text(value)} ({source})" if message == _DIFFERS else _text(value)
            for source, value in ({source: expected} | contrary_values).items()
        ]
        yield violation(message, texts[0], listing(texts[1:]), **({"what": name} if "{what}" in message else {}))


def _agrees(value: Value, expected: Value, tolerance_s: float) -> bool:
    if isinstance(value, str) or isinstance(expected, str):
        return value == expected
    (low, high), (earliest, latest) = _span(expected), _span(value)
    return not (
        (low is not None and earliest is not None and earliest < low - tolerance_s)
        or (high is not None and latest is not None and latest > high + tolerance_s)
    )


def _span(value: float | Span) -> Span:
    return value if isinstance(value, tuple) else (value, value)


def _text(value: Value) -> str:
    if isinstance(value, str):
        return shorten(value)
    if not isinstance(value, tuple):
        return utc(value)
    low, high = (None if time is None else utc(time) for time in value)
    return f"{low} to {high}" if low and high else f"after {low}" if low else f"before {high}"


# --- what records say: scontrol's fields, sacct's row about the job, the job's own record and variables


def _during(name: str) -> Callable[[Case], str | None]:
    return lambda case: case.evidence.environment.job.get(name)


def _after(name: str) -> Callable[[Case], str | None]:
    return lambda case: accounting(case).job.get(name)


def _final(case: Case) -> Accounting:
    """Slurm's final record, if it is of the start of the job that ran: it has none of a start that it forgot."""
    return Accounting() if is_started_again(case) else accounting(case)


def _after_end(case: Case) -> Accounting:
    return _final(case) if accounting(case).ended else Accounting()


def _variable(name: str) -> Callable[[Case], str | None]:
    return lambda case: case.evidence.environment.variables.get(name)


def _completion(read: Callable[[Completion], Value | None]) -> Callable[[Case], Value | None]:
    return lambda case: None if case.evidence.completion is None else read(case.evidence.completion)


def _journaled(read: Callable[[Case], float | None]) -> Callable[[Case], float | None]:
    return lambda case: read(case) if case.attempt.state is State.DONE else None


def _sorted_nodes(text: str | None) -> str | None:
    """A list of nodes expanded and sorted; None if it cannot be parsed, such as one that was cut."""
    names = expand_nodes(text or "")
    return None if names is None else ", ".join(sorted(names))


def _foreign_nodes(case: Case) -> str | None:
    """The nodes that answered, if others than the job's are among them: one that did not answer contradicts nothing."""
    environment = case.evidence.environment
    names = {node.name for node in environment.nodes if node.name}
    return ", ".join(sorted(names)) if names - set(environment.job_nodes) else None


def _exit_code(case: Case) -> str | None:
    """sacct's; it reports a cancelled job before its script has ended."""
    row = _after_end(case).allocation
    return row.get("ExitCode") if step_state(row) in _WITH_EXIT_CODE else None


def _submission_span(case: Case) -> Span | None:
    """The jobs of a campaign are recorded together, and submitted as slurmctld has room."""
    submitted, completion = case.attempt.submitted, case.evidence.completion
    return None if submitted is None or completion is None else (submitted, completion.started)


def slurm_span(case: Case) -> Span | None:
    """When the job began and ended, by Slurm's final record, otherwise by that during the job."""
    job = _final(case).job or case.evidence.environment.job
    began = seconds(job.get("StartTime"))
    return None if began is None else (began, seconds(job.get("EndTime")))


# --- the table: fact, what each record says of it, tolerance

JOB_FACTS = (  # RUN-03
    Fact(
        "job id",
        {
            "submitted": lambda case: case.attempt.job_id,
            "output": lambda case: case.observation.job_id,
            "job in facts.jsonl": _completion(lambda completion: completion.job_id),
            "host in facts.jsonl": _variable("SLURM_JOB_ID"),
            "scontrol during the job": _during("JobId"),
            "scontrol after the job": _after("JobId"),
        },
    ),
    Fact(
        "node list",
        {
            "job in facts.jsonl": _completion(lambda completion: _sorted_nodes(completion.nodes)),
            "host in facts.jsonl": lambda case: _sorted_nodes(_variable("SLURM_JOB_NODELIST")(case)),
            "nodes that answered": _foreign_nodes,
            "scontrol during the job": lambda case: _sorted_nodes(_during("NodeList")(case)),
            "sacct": lambda case: _sorted_nodes(_final(case).allocation.get("NodeList")),
            "scontrol after the job": lambda case: _sorted_nodes(_after_end(case).job.get("NodeList")),
        },
    ),
)
JOB_NAME = Fact(
    "job name",
    {
        "submitted": lambda case: case.attempt.job,
        "job in facts.jsonl": _completion(lambda completion: completion.job_name),
        "host in facts.jsonl": _variable("SLURM_JOB_NAME"),
        "scontrol during the job": _during("JobName"),
        "scontrol after the job": _after("JobName"),
    },
)
RUN_TIMES = (  # RUN-02
    Fact(
        "submission",
        {
            "journal": lambda case: (case.attempt.submitted, None),
            "job in facts.jsonl": _completion(lambda completion: completion.started),
        },
        CONTROLLER_S,
        "the run began before its job was submitted",
    ),
    Fact(
        "time of the job",
        {
            "scontrol": lambda case: slurm_span(case) or (None, None),
            "job in facts.jsonl": _completion(lambda completion: (completion.started, completion.ended)),
        },
        CONTROLLER_S,
        "the run's times lie outside those of its job",
    ),
)
JOURNAL_TIMES = (  # EVD-06
    Fact(
        "start",
        {
            "job in facts.jsonl": _completion(lambda completion: completion.started),
            "journal": _journaled(lambda case: case.attempt.started),
        },
        SAME_S,
        "{what} of the run differs between the journal and the job's record",
    ),
    Fact(
        "end",
        {
            "job in facts.jsonl": _completion(lambda completion: completion.ended),
            "journal": _journaled(lambda case: case.attempt.ended),
        },
        SAME_S,
        "{what} of the run differs between the journal and the job's record",
    ),
)
_WRONG_TIME = "the {what} was recorded at the wrong time"
ORDER = (  # EVD-06
    Fact(
        "environment",
        {
            "job in facts.jsonl": _completion(lambda completion: (None, completion.started + TOLERANCE_S)),
            "host in facts.jsonl": lambda case: case.evidence.environment.started,
        },
        message=_WRONG_TIME,
    ),
    Fact(
        "state of the file system before the run",
        {
            "job in facts.jsonl": _completion(lambda completion: (None, completion.started + TOLERANCE_S)),
            "before": lambda case: case.evidence.before.time if case.evidence.before else None,
        },
        message=_WRONG_TIME,
    ),
    Fact(
        "state of the file system after the run",
        {
            "job in facts.jsonl": _completion(lambda completion: (completion.ended - TOLERANCE_S, None)),
            "after": lambda case: case.evidence.after.time if case.evidence.after else None,
        },
        message=_WRONG_TIME,
    ),
)
SLURM_FACTS = (  # EVD-06
    Fact(
        "partition",
        {
            "host in facts.jsonl": _variable("SLURM_JOB_PARTITION"),
            "scontrol during the job": _during("Partition"),
            "scontrol after the job": _after("Partition"),
        },
    ),
    Fact(
        "start of the job",
        {
            "scontrol during the job": _during("StartTime"),
            "scontrol after the job": lambda case: _final(case).job.get("StartTime"),
            "sacct": lambda case: _final(case).allocation.get("Start"),
        },
    ),
    Fact(
        "exit code of the job",
        {"scontrol after the job": lambda case: _after_end(case).job.get("ExitCode"), "sacct": _exit_code},
    ),
    Fact(
        "state of the job",
        {
            "scontrol after the job": lambda case: _after_end(case).job.get("JobState"),
            "sacct": lambda case: step_state(_after_end(case).allocation),
        },
    ),
    Fact(
        "number of restarts of the job",
        {
            "job in facts.jsonl": _completion(lambda completion: str(completion.restart_count)),
            "scontrol after the job": lambda case: _after("Restarts")(case) if case.evidence.completion else None,
            "scontrol during the job": lambda case: _during("Restarts")(case) if case.evidence.completion else None,
        },
    ),
    Fact(
        "submission",
        {
            "journal": _submission_span,
            "scontrol": lambda case: (
                seconds(accounting(case).job.get("SubmitTime", case.evidence.environment.job.get("SubmitTime")))
                if _submission_span(case)
                else None
            ),
        },
        CONTROLLER_S,
        "submission time differs between Slurm and the journal",
    ),
)
