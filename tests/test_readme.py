"""The README shows what the program prints: the table of a campaign at full size, whole, and how it is verified."""

from __future__ import annotations

from tests.support import reference


def test_the_samples_of_the_readme_are_what_the_program_prints() -> None:
    text = reference.README.read_text(encoding="utf-8")
    assert text == reference.readme(text), "run 'make docs'"


def test_a_table_of_another_form_in_the_readme_is_found() -> None:
    text = reference.README.read_text(encoding="utf-8")
    for old, new in (("    Nodes", "  Nodes"), ("[1] ", "[1]  "), ("re-evaluated from raw logs", "judged again")):
        assert old in text
        stale = text.replace(old, new, 1)
        assert stale != reference.readme(stale)


def test_the_table_of_the_readme_fits_a_screen() -> None:
    _, _, rest = reference.README.read_text(encoding="utf-8").partition("\nMDTEST Microbenchmark")
    table = rest.partition("\n```")[0]
    assert max(map(len, table.splitlines())) <= 120
