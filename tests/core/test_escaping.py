"""Hostile text in every format that a table is printed in: it is shown, and it breaks and starts nothing."""

from __future__ import annotations

import csv
import html.parser
import io
import re
import string
import unicodedata
from dataclasses import replace

import pytest
import tabulate
from hypothesis import given, settings
from hypothesis import strategies as st

from campaign.config.format import Campaign, Declined, Target
from campaign.config.rules.pack import RulePack
from campaign.core import escaping
from campaign.report import printing, table
from campaign.results.cells import IN_CSV
from tests.support import builders
from tests.support.examples import examples
from tests.support.results import Results, eventful_results

STYLES = sorted(tabulate.tabulate_formats)
WIKIS = ("asciidoc", "jira", "mediawiki", "moinmoin", "orgtbl", "textile", "youtrack")
hostile = st.text(string.punctuation + "│║┃ \n\r\t\x00\x1b\u202e\ue001\ud800ab1é", max_size=24)


@pytest.mark.parametrize(
    ("text", "output"),
    [
        ("n\u043ede1", "n\\u043ede1"),
        ("\u0410CME Systems", "\\u0410CME Systems"),
        ("Lustr\u0435 2.15 on \uff4exs", "Lustr\\u0435 2.15 on \\uff4exs"),
        ("\U0001d427ode", "\\U0001d427ode"),
        ("J\u00fcrgen M\u00fcller, \u0421\u0430\u043d\u043a\u0442", None),
        ("5 \u03bcs, \u0394t, \u03c1max, 120 \u2126", None),
    ],
)
def test_a_letter_of_another_script_in_a_latin_word_is_shown_by_its_number(text: str, output: str | None) -> None:
    assert escaping.plain(text) == (output or text)


@given(st.text(max_size=40) | hostile)
def test_plain_text_is_on_one_line_and_has_nothing_that_cannot_be_seen(text: str) -> None:
    plain = escaping.plain(text)
    assert len(plain.splitlines()) <= 1
    assert {unicodedata.category(character) for character in plain} & {"Cc", "Cs", "Co", "Zl", "Zp"} == set()
    assert not re.search("[\u202a-\u202e\u2066-\u2069]", plain)


def test_what_cannot_be_seen_is_written_as_its_number() -> None:
    assert escaping.plain("a\x1b[31m\u202eb\ue000\ud800") == "a\\x1b[31m\\u202eb\\ue000\\ud800"


@pytest.mark.parametrize("text", ["Größe 3×10⁶ µs", "名前", "a\u200db\u200cc", "\ufffd"])
def test_ordinary_text_of_any_language_stays(text: str) -> None:
    assert escaping.plain(text) == text


@pytest.mark.parametrize("text", ["=1+1", "+SUM(A1)", "-2+3", "@cmd", "\t=1", " =1", "\r=1", "＝1"])
def test_what_a_spreadsheet_would_take_for_a_formula_has_an_apostrophe(text: str) -> None:
    assert escaping.spreadsheet(text).startswith("'")


@pytest.mark.parametrize("text", ["-5", "-5.25", "+3e-9", "17", "1-2", "a=b", "scratch/-x", ""])
def test_numbers_and_other_text_stay_in_a_spreadsheet(text: str) -> None:
    assert escaping.spreadsheet(text) == text


# --- whole tables


def titled(text: str) -> tuple[Campaign, RulePack]:
    """A campaign and a pack with a text in every place that a printed table shows."""
    pack = builders.small_pack(caption=text)
    titled_pack = replace(
        pack,
        files=tuple(replace(configuration, title=text) for configuration in pack.files),
        launch=tuple(replace(condition, title=text) for condition in pack.launch),
        operations=tuple(replace(operation, title=f"{operation.id}{text}") for operation in pack.operations),
    )
    return builders.campaign(
        targets=(Target("scratch", f"/{text}"),), declined=(Declined("*/*/*/*", f"x{text}"),)
    ), titled_pack


def printed_table(text: str, style: str) -> str:
    campaign, pack = titled(text)
    results = Results(campaign=campaign, pack=pack)
    return table.table_text(results.rows(), results.campaign, results.pack, style)


class Tags(html.parser.HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.data = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        self.data += data


def skeleton(text: str, style: str) -> list[object]:
    """What the reader of a format makes a table's structure of, line by line."""
    if "html" in style:
        return list(Tags(text).tags)
    if style.startswith("latex"):
        return [re.sub(r"\\[\\]|[^&{}\\\n]|\\[&%$#_{}]", lambda m: m[0] if m[0] == r"\\" else "", text).count(separator)
                for separator in ("&", r"\\", "\n")]  # fmt: skip
    if style in ("pipe", "github"):
        return [len(re.findall(r"(?<!\\)(?:\\\\)*\|", line)) for line in text.splitlines()]
    separators = {"tsv": "\t", "plain": "", "simple": "", "rst": ""}.get(style, "|" if style in WIKIS else "|│║┃")
    return [[character for character in line if character in separators] for line in text.splitlines()]


def innocent(text: str, style: str) -> str:
    """Letters that take the room of a text and are broken where it is: at blanks and behind slashes."""

    def spelled(match: re.Match[str]) -> str:
        return "/" if match[0] == "/" else "a" * len(escaping.shield(match[0], style))

    return re.sub(r"[^\t\n\v\f\r ]", spelled, text)


@pytest.mark.parametrize("style", STYLES)
@settings(max_examples=examples(15))
@given(text=hostile)
def test_no_text_changes_the_structure_of_a_table(style: str, text: str) -> None:
    # Long texts are folded in some formats and a wide table comes in parts, as one of innocent words as wide does.
    other = innocent(text, style) if style in printing.TEXT_FORMATS else "a"
    assert skeleton(printed_table(text, style), style) == skeleton(printed_table(other, style), style)


MARKUP = (
    r"""<script>alert(1)</script> [a](javascript:b) [[c]] {{d}} {html} __TOC__ '''e''' `f` *g* "h":http://i $x^2$"""
)


@pytest.mark.parametrize("style", ["html", "unsafehtml"])
@settings(max_examples=examples(25))
@given(text=hostile | st.just(MARKUP))
def test_a_page_shows_the_text_as_it_is(style: str, text: str) -> None:
    page = Tags(printed_table(text, style))
    assert set(page.tags) <= {"p", "table", "caption", "thead", "tbody", "tr", "th", "td"}
    assert escaping.plain(text).strip() in page.data


@pytest.mark.parametrize("style", ["mediawiki", "moinmoin", "textile", "asciidoc", "jira", "youtrack"])
def test_a_wiki_gets_no_character_of_a_text_that_it_could_take_for_its_own(style: str) -> None:
    lines = [line for line in printed_table(MARKUP, style).splitlines() if "alert" in line]
    assert len(lines) >= 5
    for line in lines:
        assert not re.search(r"<script|\[a\]|\[\[|\{\{|\{html|__|'''e|`|\*g|\"h|\$", line), line


@pytest.mark.parametrize("style", ["pipe", "github", "rst"])
def test_markdown_and_restructured_text_get_their_marks_behind_a_backslash(style: str) -> None:
    for line in printed_table(MARKUP, style).splitlines():
        assert not re.search(r"(?<!\\)[`*<]", re.sub(r"\\\\", "", line)) or "alert" not in line, line


@pytest.mark.parametrize("text", [".. include:: /etc/passwd", "# heading", "=====", "- item", "include::/etc/passwd[]"])
@pytest.mark.parametrize("style", ["pipe", "github", "rst", "asciidoc", "mediawiki", "textile", "jira"])
def test_no_paragraph_begins_what_a_markup_would_act_on(style: str, text: str) -> None:
    first = printed_table(text, style).splitlines()[0]
    assert not first.startswith(text)
    if style == "asciidoc":
        assert "::" not in first


def test_latex_takes_nothing_at_the_start_of_a_row_for_an_argument_of_the_row_before() -> None:
    for style in ("latex", "latex_raw", "latex_booktabs", "latex_longtable"):
        for text in ("[2cm]", "*"):
            assert not re.search(r"\\\\\s*[\[*]", printed_table(text, style)), style


def test_tab_separated_values_hold_no_formula() -> None:
    for line in printed_table("=1+1", "tsv").splitlines():
        for cell in line.split("\t"):
            assert not cell.strip().startswith("="), line


@settings(max_examples=examples(50))
@given(hostile)
def test_comma_separated_values_keep_their_columns_and_hold_no_formula(text: str) -> None:
    results = eventful_results()
    rows = [replace(row, cell=replace(row.cell, target=text), unit=text) for row in results.rows()]
    lines = list(csv.reader(io.StringIO(table.as_csv(rows))))
    assert {len(line) for line in lines} == {len(IN_CSV)}
    assert len(lines) == 1 + len(rows)
    for line in lines[1:]:
        assert not re.match(r"\s*[=+@-](?!\d+$)", line[0])


def test_a_negative_number_stays_a_number() -> None:
    row = replace(eventful_results().rows()[0], value=-5.25)
    assert next(csv.DictReader(io.StringIO(table.as_csv([row]))))["value"] == "-5.25"
