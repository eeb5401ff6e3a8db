"""The forms of the compliance matrix, and of a pack's coverage."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace

import pytest

from campaign.config.rules import packs
from campaign.config.rules.entries import CheckedBy, Clause
from campaign.core.errors import InputError
from campaign.judge.compliance import ClauseLine, ClauseState
from campaign.report import clauses, grid
from tests.support import builders

KEPT = ClauseLine(
    Clause("8.4", "flags", evidence=(CheckedBy("checks", "FLG-01"),)),
    ClauseState.KEPT,
    rules=("FLG-01",),
    cells=("*/*/*/*",),
    files=tuple(f"runs/{number}/1/stdout" for number in range(5)),
)
ASKED = Clause("9", "tuning", answered="What was tuned?")
OPEN = ClauseLine(ASKED, ClauseState.OPEN, why="no answer to: What was tuned?")
ANSWERED = ClauseLine(ASKED, ClauseState.ANSWERED, "=Nothing")


def test_a_line_names_its_rules_cells_and_the_first_files() -> None:
    assert grid.table_cells(clauses.COLUMNS, [KEPT])[0][-1] == (
        "FLG-01; */*/*/*; runs/0/1/stdout, runs/1/1/stdout, runs/2/1/stdout and 2 more"
    )


def test_json_has_every_field_and_all_files() -> None:
    first, second = json.loads(clauses.as_json([KEPT, OPEN]))
    assert (first["clause"], first["state"], first["by"]) == ("8.4", "kept", ["checks FLG-01"])
    assert len(first["files"]) == 5
    assert (second["how"], second["state"], second["why"]) == ("answered", "open", OPEN.why)


def test_csv_has_a_line_for_each_clause_and_no_text_is_a_formula() -> None:
    head, first, second = csv.reader(io.StringIO(clauses.as_csv([KEPT, ANSWERED])))
    assert head == list(KEPT.as_json())
    assert first[0] == "8.4"
    assert second[head.index("answer")] == "'=Nothing"


def test_the_printed_matrix_says_of_which_document_it_is_and_counts() -> None:
    text = clauses.matrix_text([KEPT, OPEN], builders.pack().document, "simple", 100)
    assert text.startswith(f"Compliance matrix: {builders.pack().document}")
    assert text.endswith("2 clauses: 1 kept, 1 open\n")


def test_another_format_is_one_of_tabulate_s() -> None:
    assert "| 8.4" in clauses.matrix_text([KEPT], builders.pack().document, "github", 100)
    with pytest.raises(InputError, match="unknown format"):
        clauses.matrix_text([KEPT], builders.pack().document, "nothing", 100)


def test_questions_without_an_answer_are_listed() -> None:
    assert clauses.open_questions([KEPT, OPEN]).endswith("(1):\n  [9] What was tuned?")
    assert clauses.open_questions([KEPT, ANSWERED]) == ""


def test_the_coverage_of_a_pack_ends_with_its_counts() -> None:
    text = clauses.coverage_text(packs.load("crossroads-mdtest"), 100)
    assert text.endswith("8 clauses: 6 checked, 1 answered, 1 by a person")


def test_the_coverage_as_json_says_by_what_each_clause_is_checked() -> None:
    fields = {entry["clause"]: entry for entry in json.loads(clauses.coverage_json(packs.load("crossroads-mdtest")))}
    assert fields["8.5.1"]["by"] == ["checks STA-05"]
    assert fields["8.2.2 tuning"]["how"] == "answered"


def test_a_pack_without_clauses_has_no_coverage() -> None:
    with pytest.raises(InputError, match="does not list the clauses"):
        clauses.coverage_text(replace(builders.pack(), clauses=()), 100)
