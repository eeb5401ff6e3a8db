"""Cases of the rules over what is on record of a campaign."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import replace

from campaign.config.format import Declined, Target
from campaign.config.rules.entries import Note
from campaign.core.findings import Finding, Severity
from campaign.core.records import Record
from campaign.core.runs import Attempt, State, Status
from campaign.judge.submission import Submission
from tests.judge.cases import Example, broken, compliant, disclosed, rehearsed, unchecked
from tests.support import builders
from tests.support.results import Results

FIRST = "scratch/single/shared/create"
FIRST_RUN = "scratch.single.shared.r1"


@functools.cache  # most cases begin with it, and none changes it
def good_submission(profile: str = "full", repetitions: int = 1) -> Submission:
    """A campaign in which every run went as planned; no two runs have the same numbers."""
    results = Results(
        campaign=builders.campaign(profile=profile, repetitions=repetitions), pack=builders.pack(profile=profile)
    )
    for number, run in enumerate(results.runs):
        rate = 1000.0 * run.geometry.processes + number
        seen = {"shift_effective": run.geometry.processes_per_node}
        results.add_to(run, (rate, 4 * rate - 17 * number**2, 0.8 * rate), seen=seen, started=100.0 + number)
    submission = results.submission()
    return replace(
        submission,
        again=results.records,
        folders=frozenset((attempt.run, attempt.number) for attempt in submission.attempts),
    )


def with_first_row(submission: Submission, **first: object) -> Submission:
    """With other values in the first row."""
    return replace(submission, rows=(replace(submission.rows[0], **first), *submission.rows[1:]))  # type: ignore[arg-type]


def targets(*names: str) -> Submission:
    """The same with these targets in the campaign file."""
    submission = good_submission()
    targets = tuple(Target(name, f"/{name}/user") for name in names)
    return replace(submission, campaign=replace(submission.campaign, targets=targets))


def with_second_reading(**first: object) -> Submission:
    """The raw output of the first run gives something else now."""
    submission = good_submission()
    second_records: Mapping[tuple[str, int], tuple[Record, ...]] = submission.again or {}
    create, *other_records = second_records[FIRST_RUN, 1]
    return replace(submission, again={**second_records, (FIRST_RUN, 1): (replace(create, **first), *other_records)})  # type: ignore[arg-type]


def in_nodes(noted: bool) -> Submission:
    """A benchmark that counts -N in nodes, with or without a note of the pack on it."""
    submission = good_submission()
    runs = tuple(
        builders.with_words(run, arguments=(*run.arguments[: run.arguments.index("-N") + 1], "1", *run.arguments[-1:]))
        for run in submission.runs
    )
    notes = (Note("8.4", "-N counts nodes", ("FLG-08",)),) if noted else (Note("8.4", "something else"),)
    return replace(submission, runs=runs, pack=replace(submission.pack, notes=notes))


def literal_offset() -> Submission:
    submission = in_nodes(noted=False)
    return replace(submission, pack=builders.with_phase(submission.pack, arguments=("-N", "1")))


def with_attempts(*further_attempts: Attempt, folders: bool = True) -> Submission:
    """With further attempts on record."""
    submission = good_submission()
    attempts = (*submission.attempts, *further_attempts)
    attempt_keys = frozenset(
        (attempt.run, attempt.number) for attempt in (attempts if folders else submission.attempts)
    )
    return replace(submission, attempts=attempts, folders=attempt_keys)


def further_attempt(number: int, state: State, **changes: object) -> Attempt:
    first = good_submission().runs[0]
    return builders.attempt(first, number=number, state=state, **changes)


def measured_again(profile: str = "full", *against: Finding) -> Submission:
    """The first run has a second attempt, with these findings of its own."""
    submission = good_submission(profile)
    first = submission.results[0]
    second = replace(first, attempt=further_attempt(2, State.DONE), judge=lambda *_: (*first.findings, *against))
    attempts = (*submission.attempts, second.attempt)
    attempt_keys = frozenset((attempt.run, attempt.number) for attempt in attempts)
    return replace(submission, attempts=attempts, results=(*submission.results, second), folders=attempt_keys)


def failed_with_results(*records: Record) -> Submission:
    """The first run has an attempt that failed, with these records or with those of all operations."""
    submission = measured_again()
    *other_cases, last = submission.results
    failed = replace(last, attempt=replace(last.attempt, state=State.FAILED), records=records or last.records)
    return replace(submission, attempts=(*submission.attempts[:-1], failed.attempt), results=(*other_cases, failed))


def declined() -> Submission:
    submission = good_submission()
    rows = tuple(replace(row, status=Status.DECLINED, note="no time", value=None) for row in submission.rows)
    return replace(
        submission, rows=rows, campaign=replace(submission.campaign, declined=(Declined("*/*/*/*", "no time"),))
    )


N_MESSAGE = "-N means something else in this benchmark than in the rules"

ALWAYS_CHECKED = {"CMP-01", "CMP-02", "CMP-03", "FLG-08"}  # the plan and the table are there

EXAMPLES: list[Example] = [
    broken(
        "CMP-01",
        "results are missing from the table",
        replace(good_submission(), rows=good_submission().rows[3:]),
        "each once",
        "absent",
        "scratch/single/shared/*",
    ),
    broken(
        "CMP-01",
        "results are in the table more than once",
        replace(good_submission(), rows=(*good_submission().rows, good_submission().rows[0])),
        "each once",
        "several",
        FIRST,
    ),
    broken(
        "CMP-01",
        "the table has results that the rules do not ask for",
        with_first_row(good_submission(), cell=replace(good_submission().rows[0].cell, launch="other")),
        "only the rule pack's results",
        "others",
        "scratch/other/shared/*",
    ),
    compliant("CMP-01", "36 cells", good_submission()),
    broken(
        "CMP-02",
        "no results for target archive",
        targets("scratch", "archive"),
        "a full set of results",
        "none",
        "archive/*/*/*",
    ),
    broken(
        "CMP-02",
        "all results of target scratch are declined",
        declined(),
        "a full set of results",
        "declined: no time",
        "scratch/*/*/*",
        Severity.WARNING,
    ),
    compliant("CMP-02", "a matrix for the target", good_submission()),
    broken(
        "CMP-03",
        "no value: missing",
        with_first_row(good_submission(), status=Status.MISSING, note="not run yet"),
        "measured, projected or declined",
        "not run yet",
        FIRST,
    ),
    compliant("CMP-03", "36 numbers", good_submission()),
    compliant("CMP-03", "one is declined", with_first_row(good_submission(), status=Status.DECLINED, note="no time")),
    broken(
        "CMP-04",
        f"runs/{FIRST_RUN}/1/stdout line 14 does not contain the reported value",
        with_second_reading(value=1001.0),
        "1000.0 ops/s",
        "1001.0 ops/s",
        FIRST,
    ),
    broken(
        "CMP-04",
        f"runs/{FIRST_RUN}/1/stdout line 14 does not contain the reported value",
        with_second_reading(operation="read"),
        "1000.0 ops/s",
        "no such result",
        FIRST,
    ),
    broken(
        "CMP-04",
        f"raw output changed or deleted: runs/{FIRST_RUN}/1/stdout, whose line 14 had the reported value",
        replace(good_submission(), again={**(good_submission().again or {}), (FIRST_RUN, 1): ()}),
        "1000.0 ops/s",
        "no such result",
        FIRST,
    ),
    broken(
        "CMP-04",
        "values without a run and a log line",
        with_first_row(good_submission(), record=None),
        "a run and a log line",
        "none",
        FIRST,
    ),
    compliant("CMP-04", "every line gives its number", good_submission()),
    compliant(
        "CMP-04", "a projection has no line", with_first_row(good_submission(), record=None, status=Status.PROJECTED)
    ),
    unchecked("CMP-04", "nobody read again", replace(good_submission(), again=None)),
    broken(
        "FLG-08",
        f"{N_MESSAGE}; no interpretation is recorded",
        in_nodes(noted=False),
        "-N 4 (by the rules)",
        "-N 1",
        "scratch/peak/shared/*",
    ),
    disclosed(
        "FLG-08",
        f"{N_MESSAGE}; interpreted by the rule pack's note on 8.4",
        in_nodes(noted=True),
        "-N 4 (by the rules)",
        "-N 1",
        "scratch/peak/shared/*",
    ),
    compliant("FLG-08", "-N counts ranks", good_submission()),
    compliant("FLG-08", "the rules themselves give the value", literal_offset()),
    broken(
        "RUN-08",
        f"attempts of {FIRST_RUN} are not on record",
        with_attempts(further_attempt(4, State.FAILED)),
        "1 to 4",
        "2, 3 missing",
    ),
    broken(
        "RUN-08",
        f"raw output of attempts of {FIRST_RUN} is missing",
        with_attempts(further_attempt(2, State.FAILED), folders=False),
        "raw output of every attempt",
        "2 missing",
    ),
    broken(
        "RUN-08",
        f"attempt 2 of {FIRST_RUN}: its job recorded a complete measurement, but the journal records another end",
        replace(with_attempts(further_attempt(2, State.REFUSED)), unused=frozenset({(FIRST_RUN, 2)})),
        "done",
        "refused",
        "scratch/single/shared/*",
        Severity.ERROR,
    ),
    broken(
        "RUN-08",
        f"attempt 2 of {FIRST_RUN}: its job recorded a complete measurement, but the journal records another end",
        replace(with_attempts(further_attempt(2, State.LOST)), unused=frozenset({(FIRST_RUN, 2)})),
        "done",
        "lost",
        "scratch/single/shared/*",
    ),
    broken(
        "RUN-08",
        "attempts that did not end well have all their results in their output",
        failed_with_results(),
        "a part of the results, or none",
        f"{FIRST_RUN}/2 (failed)",
    ),
    disclosed(  # before it ran
        "RUN-08",
        "attempts that the table does not report (kept on record): 1 cancelled",
        with_attempts(further_attempt(2, State.CANCELLED)),
    ),
    disclosed(  # of its first phases
        "RUN-08",
        "attempts that the table does not report (kept on record): 1 failed",
        failed_with_results(*builders.records()[:2]),
    ),
    broken(
        "RUN-08",
        f"{FIRST_RUN} was measured again although it had a valid result",
        measured_again(),
        "one valid result of each repetition",
        "2 valid results",
        "scratch/single/shared/*",
    ),
    rehearsed(
        "RUN-08",
        f"{FIRST_RUN} was measured again although it had a valid result",
        measured_again("rehearsal"),
        "one valid result of each repetition",
        "2 valid results",
        "scratch/single/shared/*",
    ),
    broken(
        "RUN-08",
        "attempts that are not used in the results have records that contradict each other",
        measured_again("full", Finding("EVD-06", Severity.ERROR, f"{FIRST_RUN}/2", "records disagree")),
        "records that agree",
        f"{FIRST_RUN}/2 (EVD-06)",
    ),
    disclosed(
        "RUN-08",
        "attempts that the table does not report (kept on record): 2 failed, 1 lost, 1 measured with other settings, "
        "1 superseded",
        with_attempts(
            further_attempt(2, State.FAILED),
            further_attempt(3, State.LOST),
            further_attempt(4, State.SUPERSEDED),
            further_attempt(5, State.DONE, fingerprint="0" * 16),
            further_attempt(6, State.FAILED),
        ),
    ),
    compliant("RUN-08", "every attempt is used in a result", good_submission()),
    compliant("RUN-08", "an attempt under way", with_attempts(further_attempt(2, State.RUNNING))),
    unchecked("RUN-08", "nobody looked for the folders", replace(good_submission(), folders=None)),
]
