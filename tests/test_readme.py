"""README and report page show what the program prints: the table of a campaign at full size, and how it is verified."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support import reference


def test_the_samples_are_what_the_program_prints() -> None:
    for page, text in reference.samples().items():
        assert page.read_text(encoding="utf-8") == text, f"{page.name}: run 'make docs'"


def test_a_table_of_another_form_is_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    text = reference.REPORT.read_text(encoding="utf-8")
    page = tmp_path / "report.md"
    monkeypatch.setattr(reference, "REPORT", page)
    for old, new in (("    Nodes", "  Nodes"), ("[1] ", "[1]  ")):
        assert old in text
        page.write_text(text.replace(old, new, 1), encoding="utf-8")
        assert reference.samples()[page] == text


def test_the_table_fits_a_screen() -> None:
    _, _, other_remaining_text = reference.REPORT.read_text(encoding="utf-8").partition("\nMDTEST Microbenchmark")
    table = other_remaining_text.partition("\n```")[0]
    assert len(table.splitlines()) > 30
    assert max(map(len, table.splitlines())) <= 120


def test_the_readme_is_read_in_five_minutes() -> None:
    assert len(reference.README.read_text(encoding="utf-8").splitlines()) <= 150
