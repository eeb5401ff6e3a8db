"""The report: every form of the table, and a page that needs nothing beside it and believes nothing that it shows."""

from __future__ import annotations

import html.parser
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from campaign import contention, report
from campaign.errors import InputError
from campaign.model import Target
from campaign.report import Contents
from campaign.rules import Plot
from tests import builders
from tests.test_contention import FREE, LIMITED, sweep
from tests.test_table import Results, everything

FINDING = {
    "rule": "FLG-06", "severity": "E", "subject": "scratch.peak.unique.r1/1", "message": "-N is not the rank offset",
    "expected": "4", "actual": "1", "checked": True, "clause": "8.4",
}  # fmt: skip
PLOT = Plot("rates", "Rates", "bars", ("create", "stat", "remove"))


def contents(results: Results, findings: tuple[dict[str, Any], ...] = (FINDING,)) -> Contents:
    campaign = replace(
        results.campaign, system=(("storage", "4 servers & 96 disks"),), contact=(("name", "A. <Nobody>"),)
    )
    return Contents(
        campaign, results.pack, results.runs, results.rows(), findings, "rule  severity\n", Path("/results")
    )


class Page(html.parser.HTMLParser):
    """Tags with their attributes, and the text between them."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.texts.append(data)

    @property
    def text(self) -> str:
        return " ".join("".join(self.texts).split())


def test_the_page_of_a_campaign_that_went_through_everything(tmp_path: Path) -> None:
    page = report.write(tmp_path, contents(everything()))
    assert page == tmp_path / "index.html"
    builders.golden("report.html", page.read_text(encoding="utf-8"))


def test_every_form_of_the_table_is_written(tmp_path: Path) -> None:
    report.write(tmp_path, contents(everything()))
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "findings.json", "findings.txt", "index.html", "table.csv", "table.json", "table.txt", "table.xlsx",
    ]  # fmt: skip
    assert len(json.loads((tmp_path / "table.json").read_text())) == 36
    assert json.loads((tmp_path / "findings.json").read_text()) == [FINDING]
    assert (tmp_path / "table.xlsx").read_bytes().startswith(b"PK")


def test_pictures_are_files_and_inside_the_page(tmp_path: Path) -> None:
    results = everything()
    results.pack = replace(results.pack, plots=(PLOT,))
    page = Page(report.write(tmp_path, contents(results)))
    (image,) = [attributes for tag, attributes in page.tags if tag == "img"]
    assert (tmp_path / "scratch-rates.png").exists()
    assert str(image["src"]).startswith("data:image/png;base64,iVBOR")
    assert str(image["alt"]).startswith("Rates: ")


def test_the_page_needs_nothing_beside_it(tmp_path: Path) -> None:
    results = everything()
    results.pack = replace(results.pack, plots=(PLOT,))
    page = Page(report.write(tmp_path, contents(results)))
    assert not {"script", "link", "iframe", "object", "embed", "base", "form"} & {tag for tag, _ in page.tags}
    for _, attributes in page.tags:
        assert not [name for name in attributes if name.startswith("on") or name in ("href", "srcset")]
        assert str(attributes.get("src", "data:")).startswith("data:")
    policy = next(attributes for tag, attributes in page.tags if attributes.get("http-equiv"))
    assert str(policy["content"]).startswith("default-src 'none'")


HOSTILE = "<script>alert(1)</script>\"' onmouseover=x {{ 7 * 7 }} &amp; \u202e"


def test_every_text_is_shown_as_the_text_that_it_is(tmp_path: Path) -> None:
    results = everything()
    results.pack = replace(
        results.pack,
        caption=HOSTILE,
        files=tuple(replace(files, title=HOSTILE) for files in results.pack.files),
        launch=tuple(replace(launch, title=HOSTILE) for launch in results.pack.launch),
    )
    results.campaign = replace(results.campaign, targets=(Target("scratch", "/scratch/user", HOSTILE),))
    given = replace(contents(results, ({**FINDING, "message": HOSTILE, "expected": HOSTILE},)), findings_text=HOSTILE)
    page = Page(report.write(tmp_path, replace(given, campaign=replace(given.campaign, contact=((HOSTILE, HOSTILE),)))))
    assert {tag for tag, _ in page.tags} <= {
        *("html", "head", "meta", "title", "style", "body", "h1", "h2", "p", "b", "div", "table", "thead", "tbody"),
        *("tr", "th", "td", "sup", "dl", "dt", "dd", "details", "summary", "code", "br", "span", "img", "figure"),
        "figcaption",
    }
    assert not any("onmouseover" in attributes for _, attributes in page.tags)
    assert page.text.count("{{ 7 * 7 }}") >= 5


def test_every_number_of_the_table_names_its_origin(tmp_path: Path) -> None:
    results = everything()
    page = Page(report.write(tmp_path, contents(results)))
    titles = [str(attributes["title"]) for tag, attributes in page.tags if tag == "td" and "title" in attributes]
    assert len(titles) == 36
    for row in results.rows():
        if row.record is not None and row.run is not None:
            assert any(
                title.startswith(f"{row.value} {row.unit}, ") and f"{row.record.source.file} line" in title
                for title in titles
            )


def test_a_status_other_than_measured_stands_beside_the_number(tmp_path: Path) -> None:
    text = Page(report.write(tmp_path, contents(everything()))).text
    assert "not a compliant result" in text
    for status in ("invalid", "failed", "missing", "declined"):
        assert status in text


def test_findings_that_differ_only_in_their_subject_stand_once(tmp_path: Path) -> None:
    findings = tuple({**FINDING, "message": "said once", "subject": f"run{n}"} for n in range(5))
    page = Page(report.write(tmp_path, contents(everything(), findings)))
    assert page.text.count("said once") == 1
    assert "run0, run1, run2, run3, run4" in page.text


def test_errors_come_before_what_is_disclosed(tmp_path: Path) -> None:
    findings = ({**FINDING, "severity": "I", "message": "said only"}, {**FINDING, "message": "broken"})
    text = Page(report.write(tmp_path, contents(everything(), findings))).text
    assert text.index("broken") < text.index("said only")


def test_a_pack_that_is_not_the_projects_says_where_it_is_from(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text("id: mine\n")
    results = everything()
    results.pack = replace(results.pack, path=tmp_path / "mine.yaml")
    text = Page(report.write(tmp_path / "out", contents(results))).text
    assert re.search(rf"rules of {tmp_path}/mine.yaml, SHA-256 [0-9a-f]{{16}}: not a rule pack of this project\.", text)


def test_without_findings_the_page_says_so(tmp_path: Path) -> None:
    assert "None." in Page(report.write(tmp_path, contents(everything(), ()))).text


def test_a_second_report_writes_over_the_first_and_leaves_what_is_not_its_own(tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("mine")
    report.write(tmp_path, contents(everything()))
    first = (tmp_path / "index.html").read_bytes()
    report.write(tmp_path, contents(everything()))
    assert (tmp_path / "index.html").read_bytes() == first
    assert (tmp_path / "letter.txt").read_text() == "mine"


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match=re.escape(f"{tmp_path}/file: cannot be written: File exists")):
        report.write(tmp_path / "file", contents(everything()))
    with pytest.raises(InputError, match="cannot be written"):
        report.write(Path("/proc/nowhere"), contents(everything()))


# --- the model of contention


def test_a_model_is_told_with_its_units_and_its_errors() -> None:
    lines = dict(report.model_lines(contention.fit(sweep(LIMITED))))
    assert lines["α, a message without its bytes"].startswith("2 µs (")
    assert lines["R_N, what a node can send"].startswith("3000 MB/s (")
    assert lines["R_Ci, what each further one adds"].startswith("500 MB/s (")
    assert re.fullmatch(
        r"\d+\.\d% median, \d+\.\d% ninth decile, \d+\.\d% largest, of 88 points", lines["error on points held back"]
    )
    assert "error on the most pairs, held back together" in lines


def test_a_limit_that_was_not_reached_is_told_as_a_bound() -> None:
    lines = dict(report.model_lines(contention.fit(sweep(FREE))))
    assert lines["R_N, what a node can send"] == "not reached by this sweep: 6600 MB/s or more"
