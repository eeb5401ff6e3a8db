"""The report: every form of the table, and a page that needs nothing beside it and believes nothing that it shows."""

from __future__ import annotations

import base64
import hashlib
import html.parser
import json
import re
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import ClassVar

import pytest

from campaign import __version__
from campaign.config.format import Target
from campaign.config.rules.catalogue import CATALOGUE
from campaign.config.rules.entries import Plot
from campaign.config.search import Projection
from campaign.core.columns import sequence_columns
from campaign.core.errors import InputError
from campaign.core.findings import Finding, Severity
from campaign.report import origins
from campaign.report.contents import Contents, Section
from campaign.report.decision import Compliance, DecisionBlock, Question, Step
from campaign.report.write import write_report
from tests.report.test_clauses import KEPT, OPEN
from tests.support import builders
from tests.support.results import Results, eventful_results

FINDING = Finding("FLG-06", Severity.ERROR, "scratch.peak.unique.r1/1", "-N is not the rank offset", "4", "1")
PLOT = Plot("rates", "Rates", "bars", ("create", "stat", "remove"))


def contents(results: Results, findings: tuple[Finding, ...] = (FINDING,)) -> Contents:
    campaign = replace(
        results.campaign,
        results=Path("/results"),
        system=(("storage", "4 servers & 96 disks"),),
        contact=(("name", "A. <Nobody>"),),
    )
    submission = results.submission()
    parts = submission.runs, submission.attempts, submission.results, submission.rows
    pack = replace(results.pack, checks={**results.pack.checks, "FLG-06": "8.4"})
    return Contents(campaign, pack, *parts, findings=findings, linked_results=campaign.results)


def contents_in(contents: Contents, root: Path) -> Contents:
    """With its results in `root`."""
    return replace(contents, campaign=replace(contents.campaign, results=root), linked_results=root)


def projected_results() -> Results:
    """A campaign of which one cell follows from an earlier system's."""
    inputs = (("base", 1234567.5),)
    projection = Projection(
        "*/max/shared/create", 4, 32, "Old & Co", "2nd", "base * nodes", inputs, 0.2, (Path("/old/log"),)
    )
    return Results(campaign=builders.campaign(projections=(projection,)))


class Page(html.parser.HTMLParser):
    """Tags with their attributes, and the text between them. Raises AssertionError where tags do not nest."""

    VOID = ("meta", "br")
    INSIDE: ClassVar = {
        "p": "p ul ol dl div table h2 h3 section figure details",
        "li": "li",
        "tr": "tr",
        "td": "td",
        "th": "td",
    }

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.open: list[str] = []
        self.feed(path.read_text(encoding="utf-8"))
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        above = self.open[-1] if self.open else ""
        assert tag not in self.INSIDE.get(above, "").split(), f"{tag} in {above} at {self.getpos()}"
        assert len({name for name, _ in attrs}) == len(attrs), f"an attribute twice at {self.getpos()}"
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open[-1:] == [tag], f"{tag} closes {self.open[-1:]} at {self.getpos()}"
        self.open.pop()

    def handle_data(self, data: str) -> None:
        self.texts.append(data)

    @property
    def text(self) -> str:
        return " ".join("".join(self.texts).split())


def test_the_page_of_a_campaign_that_went_through_everything(tmp_path: Path) -> None:
    page = write_report(tmp_path / "report", contents_in(contents(eventful_results()), tmp_path))
    assert page == tmp_path / "report" / "index.html"
    builders.golden(
        "report.html", page.read_text(encoding="utf-8").replace(f"campaign {__version__}", "campaign VERSION")
    )


def test_every_form_of_the_table_is_written(tmp_path: Path) -> None:
    write_report(tmp_path, contents(eventful_results()))
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "findings.json", "findings.txt", "index.html", "jobs.svg", "scratch-results.svg",
        "table.csv", "table.json", "table.txt", "table.xlsx",
    ]  # fmt: skip
    assert len(json.loads((tmp_path / "table.json").read_text())) == 36
    rule = CATALOGUE[FINDING.rule]
    known_texts = {"clause": "8.4", "title": rule.statement, "why": rule.why, "remedy": rule.remedy}
    assert json.loads((tmp_path / "findings.json").read_text()) == [{**FINDING.as_json(), **known_texts}]
    assert (tmp_path / "table.xlsx").read_bytes().startswith(b"PK")


def with_plot() -> Results:
    results = eventful_results()
    results.pack = replace(results.pack, plots=(PLOT,))
    return results


def test_plots_are_files_and_part_of_the_page(tmp_path: Path) -> None:
    page = Page(write_report(tmp_path, contents(with_plot())))
    assert (tmp_path / "scratch-rates.svg").exists()
    panels = [attributes for tag, attributes in page.tags if tag == "svg" and attributes.get("role") == "group"]
    assert [panel["aria-label"] for panel in panels] == [
        *2 * ["files in shared dir", "files in own dirs", "One file"],
        "Attempts by node",
    ]
    assert ("figcaption", {}) in page.tags and "Rates" in page.text


def test_the_page_needs_nothing_beside_it(tmp_path: Path) -> None:
    page = Page(write_report(tmp_path, contents(with_plot())))
    assert not {"link", "iframe", "object", "embed", "base", "form", "img", "image", "use"} & {t for t, _ in page.tags}
    ids = {attributes["id"] for _, attributes in page.tags if "id" in attributes}
    for _, attributes in page.tags:
        assert not [
            name for name in attributes if name.startswith("on") or name in ("src", "srcset", "style", "srcdoc")
        ]
        link = attributes.get("href")
        assert link is None or link.startswith("./") or link[1:] in ids, link
    style = (tmp_path / "index.html").read_text().split("<style>")[1].split("</style>")[0]
    assert not re.search(r"url\(|@import|@font-face", style)


def test_the_decision_comes_first_and_it_is_the_buyers_if_there_is_one(tmp_path: Path) -> None:
    steps = tuple(Step("you", f"step {number}") for number in range(1, 7))
    questions = (Question("evidence", "CONTRADICTED", "It was altered."),)
    block = DecisionBlock("NOT VALID", ("a.zip",), questions, "It shows", "nothing.", steps, Compliance.BROKEN)
    page = Page(write_report(tmp_path, replace(contents(Results()), of_buyer=block)))
    assert first_section(page) == {"class": "decision broken", "aria-label": "Decision"}
    assert "NOT VALID a.zip evidenceCONTRADICTEDIt was altered. It shows nothing. Next" in page.text
    assert "Next you step 1 you step 2 you step 3 you step 4 you step 5 you step 6 Results" in page.text
    page = Page(write_report(tmp_path, contents(Results())))
    assert first_section(page) == {"class": "decision rehearsal", "aria-label": "Decision"}
    assert "REHEARSAL campaign test, test-rules 7, rehearsal size completeNO0 of 36 results have" in page.text
    assert "Next vendor campaign run campaign.yaml vendor Run the result again" in page.text


def first_section(page: Page) -> dict[str, str | None]:
    return next(attributes for tag, attributes in page.tags if tag == "section")


def test_the_pages_policy_lets_its_own_style_and_script_run_and_nothing_else(tmp_path: Path) -> None:
    page = Page(write_report(tmp_path, contents(with_plot())))
    text = (tmp_path / "index.html").read_text(encoding="utf-8")
    (policy,) = [
        str(attributes["content"])
        for _, attributes in page.tags
        if attributes.get("http-equiv") == "Content-Security-Policy"
    ]
    hashes = []
    for tag in ("style", "script"):
        assert [attributes for name, attributes in page.tags if name == tag] == [{}]
        (element_text,) = re.findall(f"<{tag}>(.*?)</{tag}>", text, re.DOTALL)
        hashes.append(base64.b64encode(hashlib.sha256(element_text.encode()).digest()).decode())
    assert policy == (
        f"default-src 'none'; style-src 'sha256-{hashes[0]}'; script-src 'sha256-{hashes[1]}'; "
        "base-uri 'none'; form-action 'none'"
    )


HOSTILE = "<script>alert(1)</script>\"' onmouseover=x {{ 7 * 7 }} &amp; \u202e"


def test_every_text_is_shown_as_the_text_that_it_is(tmp_path: Path) -> None:
    results = eventful_results()
    results.pack = replace(
        results.pack,
        caption=HOSTILE,
        files=tuple(replace(files, title=HOSTILE) for files in results.pack.files),
        launch=tuple(replace(launch, title=HOSTILE) for launch in results.pack.launch),
    )
    results.campaign = replace(results.campaign, targets=(Target("scratch", "/scratch/user", HOSTILE),))
    hostile_contents = contents(results, (replace(FINDING, wording=HOSTILE, expected=HOSTILE),))
    page = Page(
        write_report(
            tmp_path,
            replace(hostile_contents, campaign=replace(hostile_contents.campaign, contact=((HOSTILE, HOSTILE),))),
        )
    )
    written_tags = {tag for tag, _ in Page(write_report(tmp_path / "harmless", contents(eventful_results()))).tags}
    assert {tag for tag, _ in page.tags} <= written_tags
    assert "\u202e" not in page.text
    assert not any("onmouseover" in attributes for _, attributes in page.tags)
    assert page.text.count("{{ 7 * 7 }}") >= 5


def test_a_hostile_log_is_shown_as_text_and_cut(tmp_path: Path) -> None:
    hostile_contents = contents_in(contents(eventful_results()), tmp_path)
    folder = tmp_path / "runs" / "scratch.single.shared.r1" / "1"
    folder.mkdir(parents=True)
    line = f"</pre></aside>{HOSTILE} \x1b[31m {'y' * 300}\r"
    (folder / "stdout").write_bytes(b"\xff\n" + "\n".join([line] * 30).encode())
    page = Page(write_report(tmp_path / "report", hostile_contents))
    written_tags = {tag for tag, _ in Page(write_report(tmp_path / "harmless", contents(eventful_results()))).tags}
    assert {tag for tag, _ in page.tags} <= written_tags | {"pre", "mark", "i"}
    assert page.text.count("</pre></aside><script>alert(1)") == 33  # 11 lines for each of the run's 3 numbers
    assert "y" * 200 not in page.text and "…" in page.text
    assert "\x1b" not in page.text and "\\x1b[31m" in page.text


def test_a_log_that_is_a_link_or_gone_is_not_read_and_said(tmp_path: Path) -> None:
    all_contents = contents_in(contents(eventful_results()), tmp_path)
    folder = tmp_path / "runs" / "scratch.single.shared.r1" / "1"
    folder.mkdir(parents=True)
    (folder / "stdout").symlink_to("/etc/passwd")
    text = Page(write_report(tmp_path / "report", all_contents)).text
    assert "root:" not in text
    assert "the raw output cannot be read: Too many levels of symbolic links" in text
    assert "the raw output cannot be read: No such file or directory" in text


def test_the_excerpts_of_a_page_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(origins, "EXCERPTS", 1000)
    all_contents = contents_in(contents(eventful_results()), tmp_path)
    for row in all_contents.rows:
        if row.record is not None:
            (tmp_path / row.record.source.file).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / row.record.source.file).write_text("\n".join(["z" * 50] * 30))
    page = Page(write_report(tmp_path / "report", all_contents))
    assert page.text.count("z" * 50) == 11
    assert "left out because this page would become too large" in page.text


def test_every_number_of_the_table_leads_to_its_origin_and_back(tmp_path: Path) -> None:
    results = eventful_results()
    page = Page(write_report(tmp_path, contents(results)))
    links = {
        str(attributes["href"]): str(attributes["title"])
        for tag, attributes in page.tags
        if tag == "a" and "title" in attributes
    }
    targets = {
        str(attributes["href"]) for tag, attributes in page.tags if tag == "a" and attributes.get("class") == "close"
    }
    panels = {attributes["id"] for tag, attributes in page.tags if tag == "aside"}
    for number, row in enumerate(results.rows(), 1):
        assert f"#c{number}" in targets and str(row.cell) in panels
        title = links[f"#{row.cell}"]
        if row.record is not None and row.run is not None:
            assert title.startswith(f"{row.value} {row.unit}, ") and f"{row.record.source.file} line" in title
        else:
            assert title == str(row.cell)


def test_the_raw_output_is_linked_relative_to_the_page(tmp_path: Path) -> None:
    all_contents = contents_in(contents(eventful_results()), tmp_path)
    page = Page(write_report(tmp_path / "report", all_contents))
    links = [
        str(attributes["href"])
        for tag, attributes in page.tags
        if tag == "a" and str(attributes["href"]).startswith("./")
    ]
    assert links[0] == "./../runs/scratch.single.shared.r1/1/stdout"


def test_every_id_is_there_once_and_every_part_has_a_heading(tmp_path: Path) -> None:
    page = Page(write_report(tmp_path, contents(with_plot())))
    ids = [attributes["id"] for _, attributes in page.tags if "id" in attributes]
    assert len(ids) == len(set(ids)) > 72
    levels = [int(tag[1]) for tag, _ in page.tags if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))
    tags = [tag for tag, _ in page.tags]
    assert [tags.count(tag) for tag in ("header", "main", "footer", "nav")] == [1, 1, 1, 1]
    for tag, attributes in page.tags:
        if tag == "svg":
            assert attributes.get("aria-label") or attributes.get("aria-hidden")
        if tag == "th":
            assert attributes.get("scope") in ("col", "row", "rowgroup")
        if tag == "table":
            assert attributes["class"] in ("answers", "numbers", "list", "list small", "list of-rules")


def test_a_projected_number_says_so_and_how_it_came_about(tmp_path: Path) -> None:
    page = Page(write_report(tmp_path, contents(projected_results())))
    assert "4,938,270 projected" in page.text
    assert "3,950,616 to 5,925,924" in page.text and "Old & Co (2nd)" in page.text
    assert "base * nodes with base = 1234567.5" in page.text
    assert "projections" in {attributes.get("id") for _, attributes in page.tags}


def test_what_other_parts_found_out_stands_in_sections_of_its_own(tmp_path: Path) -> None:
    all_contents = replace(
        contents(eventful_results()),
        environment=(Section("Kernel", "of each node", sequence_columns("node", "kernel"), (("n1", HOSTILE),)),),
        modifications=(Section("No modifications", "both trees have the same hash", preformatted=f"+{HOSTILE}"),),
    )
    page = Page(write_report(tmp_path, all_contents))
    assert {"modifications", "system"} <= {attributes.get("id") for _, attributes in page.tags}
    assert "Kernel of each node nodekernel n1<script>" in page.text
    assert "No modifications both trees have the same hash +<script>" in page.text


def test_a_status_other_than_measured_stands_beside_the_number(tmp_path: Path) -> None:
    text = Page(write_report(tmp_path, contents(eventful_results()))).text
    assert "not a compliant result" in text
    for status in ("invalid", "failed", "missing", "declined"):
        assert status in text


def test_findings_that_differ_only_in_their_subject_stand_once(tmp_path: Path) -> None:
    findings = tuple(replace(FINDING, wording="said once", subject=f"run{n}") for n in range(5))
    page = Page(write_report(tmp_path, contents(eventful_results(), findings)))
    assert page.text.partition("A rule that was not checked")[2].count("said once") == 1
    assert "run0, run1, run2, run3, run4" in page.text


def test_findings_that_say_the_same_of_different_values_stand_once_with_each_value(tmp_path: Path) -> None:
    findings = tuple(replace(FINDING, wording="said once", subject=f"run{n}", actual=f"{n}%") for n in range(3))
    page = Page(write_report(tmp_path, contents(eventful_results(), findings)))
    assert page.text.partition("A rule that was not checked")[2].count("said once") == 1
    assert "3 findings with different values" in page.text
    assert "run1: expected 4, found 1%" in page.text


def test_an_answer_and_a_waiver_stand_beside_their_finding(tmp_path: Path) -> None:
    findings = (
        replace(FINDING, waived="by the buyer"),
        replace(FINDING, severity=Severity.WARNING, explained="it is that slow"),
    )
    text = Page(write_report(tmp_path, contents(eventful_results(), findings))).text
    assert "Waived, by the buyer" in text and "Explanation: it is that slow" in text


def test_errors_come_before_what_is_disclosed(tmp_path: Path) -> None:
    findings = (replace(FINDING, severity=Severity.INFO, wording="said only"), replace(FINDING, wording="broken"))
    text = Page(write_report(tmp_path, contents(eventful_results(), findings))).text
    assert text.index("broken") < text.index("said only")


def test_what_to_do_about_a_rule_is_said_once(tmp_path: Path) -> None:
    findings = tuple(replace(FINDING, wording=f"wrong {number}") for number in range(3))
    text = Page(write_report(tmp_path, contents(eventful_results(), findings))).text
    assert text.count("To do: ") == 1 and text.index("wrong 0") < text.index("To do: ") < text.index("wrong 1")


def test_a_pack_that_is_not_the_projects_says_where_it_is_from(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text("id: mine\n")
    results = eventful_results()
    results.pack = replace(results.pack, path=tmp_path / "mine.yaml", digest="0123456789abcdef" * 4)
    text = Page(write_report(tmp_path / "out", contents(results))).text
    assert f"custom rule pack {tmp_path}/mine.yaml, SHA-256 0123456789abcdef" in text


def test_a_long_list_of_origins_is_printed_broad_and_a_short_one_is_not(tmp_path: Path) -> None:
    all_contents = contents(eventful_results())
    few_text = write_report(tmp_path / "few", all_contents).read_text(encoding="utf-8")
    many_text = write_report(tmp_path / "many", replace(all_contents, rows=all_contents.rows * 3)).read_text(
        encoding="utf-8"
    )
    assert '<section class="origin">' in few_text
    assert '<section class="origin broad">' in many_text


def test_the_page_says_that_there_are_no_findings(tmp_path: Path) -> None:
    assert "None." in Page(write_report(tmp_path, contents(eventful_results(), ()))).text


def test_a_second_report_writes_over_the_first_and_leaves_what_is_not_its_own(tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("mine")
    write_report(tmp_path, contents(eventful_results()))
    first = (tmp_path / "index.html").read_bytes()
    write_report(tmp_path, contents(eventful_results()))
    assert (tmp_path / "index.html").read_bytes() == first
    assert (tmp_path / "letter.txt").read_text() == "mine"


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match=re.escape(f"{tmp_path}/file: cannot be written: File exists")):
        write_report(tmp_path / "file", contents(eventful_results()))
    with pytest.raises(InputError, match="cannot be written"):
        write_report(Path("/proc/nowhere"), contents(eventful_results()))


def test_the_compliance_matrix_is_a_part_of_the_page_if_the_pack_lists_its_clauses(tmp_path: Path) -> None:
    all_contents = contents_in(contents(eventful_results()), tmp_path)
    bare_text = write_report(tmp_path, all_contents).read_text()
    page = write_report(tmp_path, replace(all_contents, clauses=(KEPT, OPEN))).read_text()
    assert 'id="clauses"' in page
    assert "2 clauses: 1 kept, 1 open" in page
    assert 'id="clauses"' not in bare_text
