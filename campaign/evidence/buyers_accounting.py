"""EVD-06: compares a bundle with Slurm's accounting as the buyer has it, which the vendor cannot have written."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path, PurePosixPath

from campaign.core import untrusted
from campaign.core.errors import InputError
from campaign.core.findings import Finding, Severity
from campaign.core.grouping import grouped
from campaign.core.units import listing
from campaign.judge import engine
from campaign.judge.findings import CAMPAIGN, to_explain, violation
from campaign.judge.submission import Submission
from campaign.results.case import Case
from campaign.results.environment.facts import Accounting

# Its columns, by the names that scontrol has for them.
_COLUMNS = {
    "JobIDRaw": "JobId", "JobName": "JobName", "State": "JobState", "Start": "StartTime", "End": "EndTime",
    "NodeList": "NodeList", "WorkDir": "WorkDir",
}  # fmt: skip
# With a column that may be missing.
SACCT = f"SLURM_TIME_FORMAT=%s sacct --parsable2 --format={','.join(_COLUMNS)},Suspended --starttime=… --endtime=…"


def read_accounting(path: Path) -> list[dict[str, str]]:
    """The jobs, and their steps, in the output of SACCT. Raises InputError."""
    names, *lines = untrusted.text(str(path), path.read_bytes(), f"the output of {SACCT}").splitlines() or [""]
    rows = [dict(zip(names.split("|"), line.split("|"), strict=False)) for line in lines]
    for number, row in enumerate(rows or [{}], 2):
        if not _COLUMNS.keys() <= row.keys() or not re.fullmatch("[0-9]{1,12}|None|Unknown", row["Start"]):
            raise InputError(f"{path}:{number}: not a line with these columns and times: {SACCT}")
    return rows


def check_accounting(rows: Sequence[Mapping[str, str]], submission: Submission) -> Iterator[Finding]:
    """The jobs of the journal are in the accounting, and the records of their runs fit it as the rules demand."""
    ordered = sorted(rows, key=lambda row: "." in row["JobIDRaw"])  # jobs before their steps
    of_jobs = grouped((row["JobIDRaw"].partition(".")[0], row) for row in ordered)
    jobs = {attempt.job_id or "": attempt.job for attempt in submission.attempts}
    for job_id in jobs.keys() - of_jobs.keys() - {""}:
        yield violation("job {job} is not in the accounting that you gave", jobs[job_id], None, job=job_id)
    folders = {PurePosixPath(row["WorkDir"]).parent for job_id in jobs for row in of_jobs.get(job_id, ())[:1]}
    foreign_jobs = [(job_id, row["WorkDir"]) for job_id, (row, *_) in of_jobs.items() if job_id not in jobs]
    if campaign_jobs := [job_id for job_id, folder in foreign_jobs if PurePosixPath(folder).parent in folders]:
        yield to_explain(
            "the accounting that you gave has jobs of this campaign that are not in its journal",
            "only jobs of the journal",
            listing(campaign_jobs),
        )
    results = tuple(_with_accounting(case, of_jobs.get(case.attempt.job_id or "", ())) for case in submission.results)
    findings = engine.judge_by_rules(engine.RULES, {"EVD-07"}, replace(submission, results=results), CAMPAIGN)
    known_findings = {
        (finding.subject, finding.message)
        for finding in chain(submission.findings, *(case.findings for case in submission.results))
    }
    for finding in chain(findings, *map(engine.judge, results)):
        if (
            finding.checked
            and finding.severity is not Severity.INFO
            and (finding.subject, finding.message) not in known_findings
        ):
            yield replace(finding, wording=f"by the accounting that you gave: {finding.wording}")


def _with_accounting(case: Case, rows: Sequence[Mapping[str, str]]) -> Case:
    """An attempt with these rows as Slurm's record of its job."""
    job = {name: rows[0][column].partition(" by ")[0] for column, name in _COLUMNS.items()} if rows else {}
    accounted = Accounting(0.0, job, True, tuple(rows))
    return replace(case, evidence=replace(case.evidence, accounting=accounted)) if rows else case
