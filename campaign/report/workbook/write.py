"""The results as an XLSX workbook: a summary, each target's table in the RFP's layout, and the evidence.

Text is text: a name that looks like a formula or a link stays a name. Numbers have all their digits, and are shown
rounded; an invalid number is text, so that no sum includes it. Described in docs/report.md.
"""

from __future__ import annotations

from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path

from campaign.report.contents import Contents
from campaign.report.workbook import records, results
from campaign.report.workbook.sheets import Sheets

# The library's temporary files would be in $TMPDIR, and if that is full it prints a traceback.
_OPTIONS = {"in_memory": True, "strings_to_formulas": False, "strings_to_urls": False, "strings_to_numbers": False}
_DATE = datetime(1980, 1, 1, tzinfo=UTC)  # of a workbook without measurements


def workbook(path: Path, contents: Contents) -> bytes:
    """Write the workbook to `path`, from which its links lead to the raw outputs. The same contents give the same
    bytes.
    """
    import xlsxwriter

    file = BytesIO()
    with xlsxwriter.Workbook(file, _OPTIONS) as book:
        ended = [attempt.ended for attempt in contents.attempts if attempt.ended is not None]
        created = datetime.fromtimestamp(max(ended), UTC) if ended else _DATE
        book.set_properties({"created": created.replace(tzinfo=None), "title": contents.campaign.name})
        sheets = Sheets(book, contents)
        results.summary(sheets)
        for target, name in zip(contents.campaign.targets, sheets.targets, strict=True):
            results.target(sheets, target, name)
        if len(contents.campaign.targets) > 1:
            results.overview(sheets)
        records.system(sheets)
        records.projections(sheets)
        records.findings(sheets)
        records.provenance(sheets, path)
        records.runs(sheets)
    return file.getvalue()
