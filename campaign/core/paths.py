"""Where a campaign keeps its files."""

from __future__ import annotations

from pathlib import Path


class Paths:
    """Where a campaign keeps its files: `results/<campaign>/`."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.database = root / "campaign.db"
        self.journal = root / "journal.jsonl"
        self.plan = root / "plan.json"
        self.source = root / "source"
        self.report = root / "report"
        self.runs = root / "runs"
        self.timestamps = root / "timestamps"

    def jobs(self, job: str) -> Path:
        return self.root / "jobs" / job

    def attempt(self, run: str, number: int) -> Path:
        return self.runs / run / str(number)
