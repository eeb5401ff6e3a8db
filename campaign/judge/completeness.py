"""The rules about the results that must be in the table, and where each comes from (CMP). Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from campaign.core.findings import Finding
from campaign.core.runs import State, Status
from campaign.judge.findings import to_explain, unchecked, violation
from campaign.judge.rule import Needs, campaign_rule
from campaign.judge.submission import Submission
from campaign.plan import matrix
from campaign.results.case import Case
from campaign.results.cells import patterns


@campaign_rule(
    "CMP-01",
    "the table has every result that the rules ask for, for each tier and protocol, and no other",
    why="a table with missing or extra results cannot be compared with other offers",
    remedy="add the missing results to the table and remove those that the rules do not ask for",
)
def check_cells(submission: Submission) -> Iterator[Finding]:
    """Each of the pack's cells for each target, exactly once."""
    required_cells = matrix.cells(submission.campaign, submission.pack)
    cell_counts = Counter(submission.cells)
    for pattern in patterns([cell for cell in required_cells if not cell_counts[cell]], required_cells):
        yield violation(
            "results are missing from the table",
            "each once",
            "absent",
            about=pattern,
            remedy="add the missing results to the table",
        )
    repeated_cells = [cell for cell, count in cell_counts.items() if count > 1]
    yield from submission.per_line(
        violation,
        repeated_cells,
        "results are in the table more than once",
        "each once",
        "several",
        remedy="keep one row of each result in the table",
    )
    foreign = [cell for cell in cell_counts if cell not in set(required_cells)]
    yield from submission.per_line(
        violation,
        foreign,
        "the table has results that the rules do not ask for",
        "only the rule pack's results",
        "others",
        remedy="remove these results from the table",
    )


@campaign_rule(
    "CMP-02",
    "every declared tier and protocol has a full set of results",
    why="a tier or protocol without results is offered without any proof of its performance",
    remedy="measure or project results for the target, or explain why the offer does not need them",
)
def check_targets(submission: Submission) -> Iterator[Finding]:
    """A target that is declined completely requires an explanation (W)."""
    for target in submission.campaign.targets:
        rows = [row for row in submission.rows if row.cell.target == target.name]
        pattern = f"{target.name}/*/*/*"
        if not rows:
            yield violation(
                "no results for target {target}", "a full set of results", "none", about=pattern, target=target.name
            )
        elif all(row.status is Status.DECLINED for row in rows):
            yield to_explain(
                "all results of target {target} are declined",
                "a full set of results",
                f"declined: {rows[0].note}",
                about=pattern,
                target=target.name,
                remedy="explain why the offer does not need the target, or measure it",
            )


@campaign_rule(
    "CMP-03",
    "every result is measured, projected, or declined with a reason",
    why="a result without a value leaves a gap in the comparison of offers",
    remedy="give a projection or a reason for declining, or run again: campaign run FILE",
    needs=Needs.END,
)
def check_values(submission: Submission) -> Iterator[Finding]:
    """Each cell's status."""
    for row in submission.rows:
        if row.status in (Status.MISSING, Status.FAILED):
            failed = row.attempt is not None and not row.attempt.state.active and row.attempt.state is not State.DONE
            state = str(row.attempt.state) if row.attempt and failed else row.note  # RUN-01 says why
            yield violation(
                "no value: {status}",
                "measured, projected or declined",
                state,
                about=row.cell,
                status=row.status,
                remedy="fix the cause, and run again: campaign run FILE" if failed else "measure: campaign run FILE",
            )


@campaign_rule(
    "CMP-04",
    "every value is traceable to a run and to the log line that contains it",
    why="a value that no log contains may have been mistyped or invented",
    remedy="submit the raw output of each value, with the run and the log line that the value comes from",
    is_about_records=True,
    needs=Needs.NUMBERS,
)
def check_traces(submission: Submission) -> Iterator[Finding]:
    """Each number is read again: the same operation in the same line of the same file must give the same number and
    unit (projections have no line).
    """
    unread, traceless = [], []
    cases = {case.subject: case for case in submission.results}
    for row in submission.measured_rows:
        if row.run is None or row.attempt is None or row.record is None:
            traceless.append(row.cell)
            continue
        executed = [cases[subject] for subject in row.executions] or [
            Case(submission.campaign, submission.pack, row.run, row.attempt, (), {})
        ]
        results = [(submission.again or {}).get((case.run.id, case.attempt.number)) for case in executed]
        if None in results:
            unread.append(row.cell)
            continue
        reread = [
            replace(case, records=tuple(reread_records or ()))
            for case, reread_records in zip(executed, results, strict=True)
        ]
        reread_parts = [
            part for case in reread for part in case.records_of("" if row.executions else row.cell.operation)
        ]
        for record in row.record.measured_records:
            source = record.source
            same_line = [
                subject for subject in reread_parts if (subject.operation, subject.source) == (record.operation, source)
            ]
            if {(result.value, result.unit) for result in same_line} != {(record.value, record.unit)}:
                form, wording = violation, "{file} line {line} does not contain the reported value"
                if not any(results):
                    form = partial(
                        form, remedy="restore the raw output, or run the result again: campaign rerun FILE CELL"
                    )
                    wording = "raw output changed or deleted: {file}, whose line {line} had the reported value"
                yield form(
                    wording,
                    f"{record.value} {record.unit}",
                    ", ".join(f"{result.value} {result.unit}" for result in same_line) or "no such result",
                    about=row.cell,
                    file=source.file,
                    line=source.line,
                )
    yield from submission.per_line(
        violation, traceless, "values without a run and a log line", "a run and a log line", "none"
    )
    yield from submission.per_line(unchecked, unread, "raw output was not read again")
