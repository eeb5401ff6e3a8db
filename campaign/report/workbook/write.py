"""What is submitted as an XLSX workbook: a summary, each target's table in the RFP's layout, and the evidence.

Text is text: a name that looks like a formula or a link stays a name. Numbers are numbers with all their digits, shown
rounded; one that does not count (invalid) is text, so that no sum takes it in. Described in docs/report.md.
"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from campaign.core.errors import InputError
from campaign.report.contents import Contents
from campaign.report.messages.tables import NOT_WRITTEN
from campaign.report.workbook import records, results
from campaign.report.workbook.sheets import Sheets

_OPTIONS = {"strings_to_formulas": False, "strings_to_urls": False, "strings_to_numbers": False}
_DATE = datetime(1980, 1, 1, tzinfo=UTC)  # of a workbook in which nothing is measured


def write_workbook(path: Path, contents: Contents) -> None:
    """The same contents give the same bytes. Raises InputError for a path that cannot be written."""
    import xlsxwriter
    from xlsxwriter.exceptions import FileCreateError

    try:
        with xlsxwriter.Workbook(path, _OPTIONS) as book:
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
    except FileCreateError as error:
        raise InputError(NOT_WRITTEN(path=path, why=_reason(error))) from error


def _reason(error: Exception) -> str:
    """The library's error holds that of the system."""
    cause = error.args[0] if error.args else error
    return str(getattr(cause, "strerror", None) or cause)
