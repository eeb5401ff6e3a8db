"""What a campaign re-evaluated from its evidence says: files by their places in the evidence, wherever that lies."""

from __future__ import annotations

from dataclasses import replace

from campaign.core.findings import Finding, Severity
from campaign.evidence import replay
from tests.support.results import eventful_results


def test_findings_name_files_within_the_evidence() -> None:
    named_finding = Finding("SRC-04", Severity.ERROR, "campaign", "{path} ran", "/tmp/place/jobs/1", "none")
    named_finding = replace(named_finding, values={"path": "/tmp/place/bin/x"})
    other = replace(named_finding, expected="one", actual="two", values={"path": "/opt/run"})
    submission = replace(eventful_results().submission(), findings=(named_finding, other))
    findings = replay._without_paths(submission, "/tmp/place").findings
    assert findings == (replace(named_finding, expected="jobs/1", values={"path": "bin/x"}), other)
