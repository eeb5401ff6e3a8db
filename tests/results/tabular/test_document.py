"""Word forms: merged cells, and marks that are cut into runs."""

from __future__ import annotations

from pathlib import Path

from campaign.results.tabular import form
from campaign.results.tabular.form import Spot
from tests.support import forms


def test_tables_are_sheets_with_their_merged_cells_closed(tmp_path: Path) -> None:
    read = form.read(forms.document(tmp_path / "form.docx"))
    assert read.sheets == ("table 1", "text")
    assert read.box(Spot("text", 1, 1)).text == "Peak: {{ scratch/peak/shared/stat }} ops/s, measured."
    assert [read.box(Spot("table 1", 1, column)).text for column in (1, 2, 3)] == ["Operation", "", "Rate"]
    assert read.box(Spot("table 1", 1, 2)).closed == "it is merged into another cell"
    assert read.box(Spot("table 1", 9, 1)).closed == "its table has no such cell"
