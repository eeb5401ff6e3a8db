"""The board's page: its tables, its page and its workbook."""

from __future__ import annotations

import io
import json
import re
import zipfile
from pathlib import Path

import openpyxl
import pytest

from campaign.report.compare import board, rendering, verdicts
from campaign.report.compare.offers import Offer
from campaign.report.scores import Scored, ScoredTerm
from campaign.report.workbook.board_sheets import board_workbook
from tests.support import reference
from tests.support.command_line import call
from tests.support.offers import CELLS, gap, noisy, offer, row


def board_of(*offers: Offer) -> board.Board:
    comparison = verdicts.compare(offers)
    names = [entry.source for entry in offers]
    stages = [board.table_stages(len(entry.entries)) for entry in offers]
    blocks = {"": rendering.comparison_decision(comparison, names)}
    return board.make_board(names, None, {"": comparison}, blocks, [], stages)


def lines_of(page: board.Board, title: str) -> list[list[object]]:
    section = next(section for section in page.sections if section.title == title)
    return [[column.value(line) for column in section.columns] for line in section.lines]


def test_offers_are_ranked_by_their_means_and_those_without_one_are_last() -> None:
    slow = noisy(3, factor=lambda _: 0.5)
    page = board_of(noisy(1), slow, noisy(2, factor=lambda _: 2.0), offer(gap("missing"), source="empty.json"))
    ranking = lines_of(page, "Ranking")
    assert [line[:2] for line in ranking] == [
        ["C: offer-2.json", 1], ["A: offer-1.json", 2], ["B: offer-3.json", 3], ["D: empty.json", ""],
    ]  # fmt: skip
    assert str(ranking[0][2]).startswith("2.0") and ranking[1][2] == "1.000" and ranking[3][2] == "no mean"


def test_scores_rank_the_offers_of_an_rfp_and_their_weights_are_shown() -> None:
    terms = (ScoredTerm("create", 100.0, 1.0, 120.0), ScoredTerm("stat", 200.0, 3.0, 100.0))
    scored = [
        [Scored("total", "Total", "arithmetic", value, terms if value else (), (), "no result" if not value else "")]
        for value in (1.5, None, 2.5)
    ]
    labels = ["A: a", "B: b", "C: c"]
    ranking = board._score_ranking(labels, scored)
    assert [line[:2] for line in ranking.lines] == [["C: c", 1], ["A: a", 2], ["B: b", ""]]
    assert ranking.lines[2][2] == "no value (no result)"
    assert board._weights(labels, scored).lines == [
        ["total", "arithmetic", "create", 1.0, 100.0, 120.0, None, 120.0],
        ["total", "arithmetic", "stat", 3.0, 200.0, 100.0, None, 100.0],
    ]


def test_what_was_not_tested_has_its_reason_and_what_would_decide() -> None:
    first = offer(row((100.0,) * 3, CELLS[0]), row((100.0,), CELLS[1]), row(cell=CELLS[2]), source="a.json")
    second = offer(row((100.0,) * 3, CELLS[0]), row((110.0,), CELLS[1]), gap("failed", CELLS[2]), source="b.json")
    page = board_of(first, second)
    assert [line[:3] for line in lines_of(page, "Not tested")] == [
        ["B", "cannot tell: 3 repetitions each", 1],
        ["B", "cannot tell: 1 repetition each", 1],
        ["B", "not compared: this one is failed", 1],
    ]
    assert [line[:3] for line in lines_of(page, "What it would take to decide")] == [
        ["B", "5 repetitions or more of each, each in its own job", 2],
        ["B", "a measured value of both offers in the same unit, or a decline that the buyer accepts", 1],
    ]
    assert lines_of(page, "Not tested")[2][3] == "scratch/max/*/*"


def test_a_difference_that_is_smaller_than_the_noise_needs_a_number_of_repetitions() -> None:
    page = board_of(noisy(1), noisy(2, factor=lambda _: 1.01))
    remedies = [str(line[1]) for line in lines_of(page, "What it would take to decide")]
    assert remedies
    for remedy in remedies:
        assert re.fullmatch(
            r"about [\d,]+ repetitions of each, if the ratio stays as it is|nothing practical: .*", remedy
        )


def test_the_page_has_a_row_and_a_dot_for_each_result_and_needs_no_other_file() -> None:
    html = board.board_html(board_of(noisy(1), noisy(2), noisy(3)))
    assert html.count("<h1>") == 1 and set(re.findall(r"https?://[^\"]+", html)) <= {"http://www.w3.org/2000/svg"}
    for cell in CELLS:
        assert f'<th scope="row" class="long">{"/".join(cell)}</th>' in html
    assert html.count("<title>A, ") + html.count("<title>B, ") + html.count("<title>C, ") == 3 * len(CELLS)


def test_texts_of_offers_are_escaped() -> None:
    html = board.board_html(board_of(offer(row(), source="<script>a.json"), offer(row(), source="b.json")))
    assert "<script>a" not in html and "&lt;script&gt;a.json" in html


def test_the_workbook_has_a_sheet_for_each_table() -> None:
    page = board_of(noisy(1), noisy(2))
    book = openpyxl.load_workbook(io.BytesIO(board_workbook(page)))
    assert book.sheetnames == [section.title for section in page.sections]
    assert [cell.value for cell in book["Ranking"][3]][:3] == ["offer", "rank", "times as good as A"]
    assert book["Results"].max_row == 3 + len(CELLS)


@pytest.fixture
def desk(tmp_path: Path) -> Path:
    for number, name in enumerate("ab"):
        rows = [row([100.0 + number + place for place in range(6)], cell) for cell in CELLS]
        (tmp_path / f"{name}.json").write_text(json.dumps(rows))
    return tmp_path


def test_the_format_is_that_of_the_name_and_a_table_alone_is_not_verified(desk: Path) -> None:
    process = call("compare", "a.json", "b.json", "-o", "board.html", cwd=desk)
    assert (process.returncode, process.stdout) == (0, "wrote board.html\n")
    assert (desk / "board.html").read_text().count("not checked, since it is no bundle") == 8
    call("compare", "a.json", "b.json", "-o", "board.xlsx", cwd=desk)
    assert zipfile.is_zipfile(desk / "board.xlsx")
    for style in ("pdf", "xlsx"):
        process = call("compare", "a.json", "b.json", "--format", style, cwd=desk)
        assert process.stderr == f"campaign: --format {style} needs -o OUT, since it cannot be printed\n"


def test_a_bundle_is_verified_by_the_buyers_terms(tmp_path: Path) -> None:
    (tmp_path / "terms.yaml").write_text(f"rules: crossroads-mdtest\nsigners: {reference.SIGNERS}\n")
    with reference.program_of_bundle():
        words = ("compare", reference.BUNDLE, reference.BUNDLE, "--format", "html")
        without_terms, with_terms = (
            call(*words, *further).stdout for further in ((), ("--terms", tmp_path / "terms.yaml"))
        )
    for html, seal in ((without_terms, "open: signed by an unknown key"), (with_terms, "ok: signed by a key that you")):
        assert seal in html and "ok: 36 of 36 results have a value" in html
        assert "open: rules need an answer" in html and "decisions open" in html
