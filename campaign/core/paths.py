"""Where a campaign keeps its files, and where the parts of a bundle are."""

from __future__ import annotations

from pathlib import Path

# Of a bundle that answers an RFP: a complete bundle of each part; the RFP, and what follows from the parts.
PARTS, RFP, RESPONSE = "data/parts", "data/rfp.yaml", "data/response.json"


def bundle_of_part(bundle: Path, part: str) -> Path:
    """The directory of a part's bundle; a part without a name is the only one, whose bundle is the entire one."""
    return bundle / PARTS / part if part else bundle


def parts_of_bundle(bundle: Path) -> tuple[str, ...]:
    """The names of the parts that a bundle has; only "" for a single rule pack."""
    places = (bundle / PARTS).iterdir() if (bundle / PARTS).is_dir() else ()
    return tuple(sorted(place.name for place in places if (place / "bagit.txt").is_file())) or ("",)


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
