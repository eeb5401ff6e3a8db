"""The page in a real browser, as wide as a desktop's window and as a phone, light and dark: it fits, leads to each
number's origin with and without its script, filters, sorts, fetches nothing, and prints.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from campaign.config.format import Target
from campaign.config.rules.entries import Plot
from campaign.core.errors import EnvironmentLacks
from campaign.core.findings import Finding, Severity
from campaign.report.plots import shapes, svg
from campaign.report.plots.attempts import DONE, FAILED, STOPPED
from campaign.report.plots.searches import CHOSEN, CONFIRMED, CURVE, RUN
from campaign.report.write import write_pdf, write_report
from tests.report.test_write import FINDING, contents, contents_in
from tests.support.browser import Browser, Tab
from tests.support.results import eventful_results

DESKTOP, PHONE = 1400, 390
SHOWN = "[...document.querySelectorAll('table.numbers td[id]')].filter(one => one.checkVisibility()).length"
FIRST = "scratch/single/shared/create"
OPENED = "document.querySelector('.source:target')"
OUTPUT = "\n".join(
    f"line {number} of the output <script>alert({number})</script> {'x' * 300}" for number in range(1, 40)
)


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of a campaign on two targets that has gone through whatever can happen, with its raw outputs."""
    root = tmp_path_factory.mktemp("results")
    results = eventful_results()
    targets = Target("scratch", "/scratch/user"), Target("project", "/project/user", "A <b>slow</b> one")
    results.campaign = replace(results.campaign, targets=targets)
    operations = ("create", "stat", "remove")
    plots = tuple(Plot(f"rates-{x}", "Rates", "bars", operations, x=x) for x in ("", "files"))
    results.pack = replace(results.pack, plots=plots)
    for run, number in results.records:
        folder = root / "runs" / run / str(number)
        folder.mkdir(parents=True)
        (folder / "stdout").write_text(OUTPUT)
    unchecked = Finding("CCH-04", Severity.WARNING, "campaign", "the page cache was not seen", checked=False)
    return write_report(root / "report", contents_in(contents(results, (FINDING, unchecked)), root))


@pytest.fixture(params=[DESKTOP, PHONE], ids=["desktop", "phone"])
def tab(request: pytest.FixtureRequest, browser: Browser, page: Path) -> Iterator[Tab]:
    definition = browser.open(page, request.param)
    yield definition
    assert definition.complaints == []
    assert set(definition.requested) == {page.as_uri()}
    definition.close()


@pytest.fixture(params=[DESKTOP, PHONE], ids=["desktop", "phone"])
def scriptless(request: pytest.FixtureRequest, browser: Browser, page: Path) -> Iterator[Tab]:
    definition = browser.open(page, request.param, scripts=False)
    yield definition
    definition.close()


def link(cell: str) -> str:
    return f'table.numbers a[href="#{cell}"]'


def luminance(colour: str) -> float:
    """Of `rgb(…)`, by the Web Content Accessibility Guidelines."""
    parts = [int(part) / 255 for part in re.findall(r"\d+", colour)[:3]]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(ink: str, paper: str) -> float:
    low, high = sorted(map(luminance, (ink, paper)))
    return (high + 0.05) / (low + 0.05)


def test_the_page_is_not_wider_than_its_window(tab: Tab) -> None:
    assert tab.get("document.documentElement.scrollWidth <= innerWidth")
    tab.click(link(FIRST))
    tab.wait_for(OPENED)
    assert tab.get("document.documentElement.scrollWidth <= innerWidth")
    assert tab.get(f"{OPENED}.scrollWidth <= {OPENED}.clientWidth")


def test_the_plots_fit_and_their_smallest_text_is_readable(tab: Tab) -> None:
    plots = tab.get(
        "[...document.querySelectorAll('.panels > svg')].map(one => {"
        "  const box = one.getBoundingClientRect();"
        "  const texts = [...one.querySelectorAll('text')].map(text => text.getBoundingClientRect());"
        "  const cut = texts.filter(text => text.left < box.left || text.right > box.right + 1).length;"
        "  return {right: box.right, scale: box.width / one.viewBox.baseVal.width, cut};})"
    )
    assert len(plots) == 3 + 3 + 4 + 1  # the map of all results, bars, lines, jobs
    for plot in plots:
        assert plot["right"] <= tab.get("innerWidth")
        assert plot["cut"] == 0
        assert 10 * plot["scale"] >= 9  # pixels: the smallest text is 10 high


def test_the_plots_name_processes_and_nodes(tab: Tab) -> None:
    texts = tab.get("[...document.querySelectorAll('.panels > svg')].map(one => one.textContent + one.ariaLabel)")
    assert all("1 × 1" in text and "8 × 2" in text and "32 × 4" in text for text in texts[3:6])
    assert [re.findall(r"\d+ process\w* × \d nodes?$", text) for text in texts[6:10]] == [
        ["1 process × 1 node"], ["4 processes × 1 node"], ["8 processes × 2 nodes"], ["32 processes × 4 nodes"],
    ]  # fmt: skip


def test_a_click_on_a_number_opens_its_origin_with_the_log_line_and_those_around_it(tab: Tab) -> None:
    tab.click(link(FIRST))
    tab.wait_for(OPENED)
    panel = tab.get(f"{OPENED}.innerText")
    assert "srun --nodes=1 --ntasks=1" in panel and "/opt/bench/mdtest -F -C -T -r -n 1000" in panel
    assert "attempt 1 of 1, job 17" in panel
    assert tab.get(f"{OPENED}.querySelectorAll('.log i').length") == 11
    assert tab.get(f"{OPENED}.querySelector('mark').textContent").startswith("line 14 of the output <script>alert(14)")
    number = f"document.querySelector({json.dumps(link(FIRST))})"
    tab.wait_for(f"{number}.getBoundingClientRect().bottom <= {OPENED}.getBoundingClientRect().top")
    tab.click(".source:target .close")
    tab.wait_for(f"!{OPENED}")


def test_the_targets_stand_beside_each_other_in_one_table_that_leads_to_theirs(tab: Tab) -> None:
    table = "document.querySelector('.overview table')"
    tab.click(".overview summary")
    assert tab.get(f"[...{table}.tHead.rows[0].cells].map(cell => cell.textContent)") == ["", "scratch", "project"]
    rows = f"[...{table}.tBodies[0].rows]"
    assert tab.get(f"{rows}.filter(row => row.cells.length === 3).length") == 36
    led = f"{table}.querySelector('td a')"
    origin = f"document.querySelector({led}.getAttribute('href'))"
    assert tab.get(f"{origin}.querySelector('a').getAttribute('href')") == f"#{FIRST}"
    assert tab.get(f"{origin}.querySelector('a').textContent") == tab.get(f"{led}.textContent")
    tab.choose("#f-operation", "Stat")
    assert not tab.get(f"{table}.checkVisibility()")


def test_an_invalid_number_opens_its_findings(tab: Tab) -> None:
    tab.click(link("scratch/peak/shared/create"))
    tab.wait_for(OPENED)
    assert "E FLG-01" in tab.get(f"{OPENED}.innerText")


def test_the_keyboard_opens_a_number_goes_on_to_the_next_and_comes_back(tab: Tab) -> None:
    tab.get(f"document.querySelector({json.dumps(link(FIRST))}).focus()")
    tab.press("Enter")
    tab.wait_for(f"{OPENED}?.id === '{FIRST}' && document.activeElement === {OPENED}")
    tab.press("ArrowRight")
    tab.wait_for(f"{OPENED}.id === 'scratch/single/shared/stat' && document.activeElement === {OPENED}")
    tab.press("ArrowLeft")
    tab.wait_for(f"{OPENED}.id === '{FIRST}' && document.activeElement === {OPENED}")
    tab.press("Tab")
    tab.wait_for("document.activeElement.className === 'close'")
    tab.press("Escape")
    tab.wait_for(f"!{OPENED} && document.activeElement.getAttribute('href') === '#{FIRST}'")


def test_the_address_of_a_number_can_be_sent_to_somebody(tab: Tab, page: Path) -> None:
    tab.go(f"{page.as_uri()}#scratch/node/unique/stat")
    tab.wait_for(f"{OPENED}?.id === 'scratch/node/unique/stat'")


def test_each_filter_leaves_what_it_names_and_shows_its_count(tab: Tab) -> None:
    assert tab.get(SHOWN) == 72
    tab.choose("#f-target", "scratch")
    assert tab.get(SHOWN) == 36
    tab.choose("#f-operation", "Stat")
    assert tab.get("[...document.querySelectorAll('.target .numbers thead')][0].innerText").split() == [
        "Stat", "ops/s", "Processes", "Nodes",
    ]  # fmt: skip
    tab.choose("#f-status", "invalid")
    assert tab.get("document.getElementById('f-count').textContent") == (
        "1 of 72 results shown: target scratch, operation Stat, status invalid"
    )
    rows = "[...document.querySelectorAll('.numbers tbody tr')].filter(row => row.checkVisibility())"
    assert tab.get(f"{rows}.map(row => row.cells[0].textContent)") == [
        "1000/1024 files in shared dir",
        "Fewest for the peak",
    ]
    listed = "[...document.querySelectorAll('#origins tbody tr')].filter(row => !row.hidden).length"
    assert tab.get(listed) == 1
    tab.click("#f-all")
    assert tab.get(SHOWN) == 72 and tab.get(listed) == 72
    assert tab.get("document.getElementById('f-count').textContent") == ""


def test_a_filter_by_finding_leaves_the_numbers_that_have_it(tab: Tab) -> None:
    tab.choose("#f-finding", "GEO-02")
    assert tab.get("document.getElementById('f-count').textContent") == "3 of 72 results shown: finding GEO-02"
    assert tab.get(SHOWN) == 3
    left = "[...document.querySelectorAll('td[id]')].filter(one => one.checkVisibility())"
    assert tab.get(f"{left}.every(one => one.textContent.includes('GEO-02'))")
    assert not tab.get("document.querySelector('[data-target=project]').checkVisibility()")


def test_a_heading_orders_the_lines_below_it_and_at_last_as_the_rules_do(tab: Tab) -> None:
    heading = ".target thead th:nth-child(2)"
    labels = "[...document.querySelector('.target tbody').rows].map(row => row.cells[0].textContent)"
    by_rules = tab.get(labels)
    orders = []
    for _ in range(3):
        tab.click(f"{heading} button")
        orders.append((tab.get(f"document.querySelector('{heading}').ariaSort"), tab.get(labels)))
    assert [order for order, _ in orders] == ["ascending", "descending", "none"]
    assert orders[0][1][5:10] == [by_rules[5], by_rules[7], by_rules[6], by_rules[8], by_rules[9]]
    assert orders[2][1] == by_rules


def test_the_list_of_all_results_is_ordered_by_any_column(tab: Tab) -> None:
    tab.click("a[href='#origins']")
    tab.wait_for("document.querySelector('#origins').checkVisibility()")
    values = "[...document.querySelectorAll('#origins tbody tr')].map(row => parseFloat(row.cells[1].textContent))"
    numbers = tab.get(f"{values}.filter(Number.isFinite)")
    tab.click("#origins thead th:nth-child(2) button")
    assert tab.get(f"{values}.slice(0, {len(numbers)})") == sorted(numbers)
    tab.choose("#f-status", "invalid")  # still finds the numbers of the lines
    assert tab.get(SHOWN) == 3


def test_every_column_of_a_table_can_be_reached_and_a_table_wider_than_the_window_is_marked(tab: Tab) -> None:
    tables = tab.get(
        "[...document.querySelectorAll('.target .wide')].map(one => {"
        "  const said = one.previousElementSibling;"
        "  one.scrollLeft = one.scrollWidth;"
        "  const last = one.querySelector('thead th:last-child').getBoundingClientRect();"
        "  return {wide: one.scrollWidth > one.clientWidth, said: said.checkVisibility() && said.textContent,"
        "    right: last.right};})"
    )
    for table in tables:
        assert table["said"] == ("5 columns: scroll the table sideways to see Nodes." if table["wide"] else False)
        assert table["right"] <= tab.get("innerWidth")
    if tab.get("innerWidth") == PHONE:
        assert all(table["wide"] for table in tables)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_texts_can_be_read_on_their_ground_in_both_modes(tab: Tab, scheme: str) -> None:
    tab.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
    paper = tab.get("getComputedStyle(document.body).backgroundColor")
    assert (luminance(paper) < 0.1) == (scheme == "dark")
    texts = "[...document.querySelectorAll('h1, h2, .small, td > a, sup > a, .plot text:not(rect ~ text)')]"
    colours = "one.localName === 'text' ? getComputedStyle(one).fill : getComputedStyle(one).color"
    for colour in tab.get(f"[...new Set({texts}.map(one => {colours}))]"):
        assert contrast(colour, paper) >= 4.5, (colour, paper)
    tiles = tab.get(
        "[...document.querySelectorAll('.plot rect ~ text')].map("
        "one => [one, one.parentNode.querySelector('rect')].map(each => getComputedStyle(each).fill))"
    )
    assert len(tiles) >= 36
    for of_text, of_tile in {tuple(colours) for colours in tiles}:
        assert contrast(of_text, of_tile) >= 4.5, (of_text, of_tile)
    block = "document.querySelector('.decision')"
    ground = tab.get(f"getComputedStyle({block}).backgroundColor")
    for part in (".headline", ".small", "td", "li"):
        colour = tab.get(f"getComputedStyle({block}.querySelector('{part}')).color")
        assert contrast(colour, ground) >= 4.5, (part, colour, ground)


@pytest.mark.programs
def test_the_marks_of_plots_can_be_told_from_a_dark_ground(browser: Browser, page: Path) -> None:
    tab = browser.open(page, DESKTOP)
    tab.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark"}])
    paper = tab.get("getComputedStyle(document.body).backgroundColor")
    for colour in (*shapes.COLOURS, RUN, CONFIRMED, CHOSEN, CURVE, DONE, FAILED, STOPPED, svg.INK):
        for property in ("fill", "stroke"):
            drawn_colour = tab.get(
                f"(one => {{ one.setAttribute('{property}', '{colour}'); return getComputedStyle(one).{property}; }})"
                "(document.querySelector('.plot rect'))"
            )
            assert contrast(drawn_colour, paper) >= 3, (colour, drawn_colour)
    tab.close()


def test_without_scripts_numbers_open_and_close_and_no_filter_is_offered(scriptless: Tab) -> None:
    assert scriptless.get("document.getElementById('filters').checkVisibility()") is False
    assert scriptless.get(SHOWN) == 72
    scriptless.click(link(FIRST))
    scriptless.wait_for(OPENED)
    assert "line 14 of the output" in scriptless.get(f"{OPENED}.innerText")
    scriptless.press("Tab")  # from the panel that was opened
    scriptless.wait_for("document.activeElement.className === 'close'")
    scriptless.press("Enter")
    scriptless.wait_for(f"!{OPENED}")
    assert scriptless.get("document.documentElement.scrollWidth <= innerWidth")


def test_in_print_panels_and_filters_are_left_out_and_all_origins_are_listed(tab: Tab) -> None:
    tab.click(link(FIRST))
    tab.wait_for(OPENED)
    tab.call("Emulation.setEmulatedMedia", media="print")
    visible = "[...document.querySelectorAll('{}')].filter(one => one.checkVisibility()).length"
    assert tab.get(visible.format(".source, nav, #filters")) == 0
    assert tab.get(visible.format("#origins tbody tr")) == 72
    tab.choose("#f-status", "invalid")
    assert tab.get("document.getElementById('f-count').checkVisibility()")  # a filtered print has to say so


@pytest.mark.programs
def test_in_print_two_plots_stand_beside_each_other_on_a_sheet_of_a4(browser: Browser, page: Path) -> None:
    tab = browser.open(page, DESKTOP)
    tab.call("Emulation.setEmulatedMedia", media="print")
    tab.get("document.body.style.width = '182mm'")  # without the margins
    panels = "[...document.querySelectorAll('.panels')]"
    tops = tab.get(f"{panels}.map(one => [...one.children].map(each => each.getBoundingClientRect().top))")
    assert [len(top) - len(set(top)) for top in tops] == [1, 1, 2, 0]  # of 3 panels twice, of 4, and of 1
    tab.close()


def test_the_page_is_printed_to_pdf_by_an_installed_browser(page: Path) -> None:
    path = write_pdf(page)
    assert path == page.with_suffix(".pdf")
    data = path.read_bytes()
    assert data.startswith(b"%PDF-") and data.count(b"/Type /Page\n") > 2


def test_printed_the_decision_and_the_first_table_are_on_page_one_and_no_heading_ends_a_page(page: Path) -> None:
    path = write_pdf(page)
    text = subprocess.run(["pdftotext", "-layout", path, "-"], capture_output=True, text=True, check=True).stdout
    first, *other_words = [sheet.strip() for sheet in text.split("\f") if sheet.strip()]
    assert first.index("REHEARSAL") < first.index("scratch (/scratch/user)") < first.index("All there is")
    assert first.count("All there is") == 3  # in each of the three groups of files
    assert not any("All targets" in sheet or "scroll the table" in sheet for sheet in (first, *other_words))
    lists = [sheet for sheet in other_words if re.search(r"\.r1/1 +17 ", sheet)]
    assert len(lists) > 1 and all("Raw output, line" in sheet for sheet in lists)
    headings = ("Results", "Findings", "System", "Rates", "How to check", "Command lines", "Origin of the numbers")
    for sheet in (first, *other_words):
        *_, last, _ = [line.strip() for line in sheet.splitlines() if line.strip()]  # above the page's number
        assert last not in headings and "files in" not in last, last


def test_without_a_browser_pdf_says_what_to_install_and_what_else_to_do(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(
        EnvironmentLacks, match=r"no browser found in PATH.*apt-get install chromium.*print it to a file"
    ):
        write_pdf(page)


def test_a_browser_that_fails_is_named_with_what_it_said(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    browser = tmp_path / "chromium"
    browser.write_text("#!/bin/sh\necho out of memory >&2\nexit 1\n")
    browser.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin")
    with pytest.raises(EnvironmentLacks, match=f"{browser} did not print .*: out of memory"):
        write_pdf(page)


def test_the_name_the_verdict_and_the_parts_stay_while_one_scrolls(tab: Tab) -> None:
    tab.get("scrollTo(0, 3000)")
    header = "document.querySelector('header')"
    assert tab.get(f"{header}.getBoundingClientRect().top") == 0
    assert tab.get(f"{header}.querySelector('.top').innerText").split() == [
        *("test", "REHEARSAL", "measured", "1970-01-01"),
    ]
    tab.click("header a[href='#findings']")
    tab.wait_for(
        f"document.querySelector('#findings').getBoundingClientRect().top >= {header}.getBoundingClientRect().bottom"
    )


def test_findings_are_filtered_by_rule_and_by_who_has_to_act(tab: Tab) -> None:
    groups = "[...document.querySelectorAll('.group')].filter(one => one.checkVisibility()).map(one => one.ariaLabel)"
    assert tab.get(groups) == ["Violations (these results are invalid)", "Not checked (does not count as passed)"]
    tab.choose("[data-name=rule]", "CCH-04")
    assert tab.get(groups) == ["Not checked (does not count as passed)"]
    assert tab.get("document.querySelector('#finding-filters output').textContent") == (
        "1 of 2 findings shown: rule CCH-04"
    )
    tab.choose("[data-name=rule]", "")
    assert len(tab.get(groups)) == 2


def test_without_scripts_all_findings_are_shown(scriptless: Tab) -> None:
    assert scriptless.get("document.querySelectorAll('.group tbody tr:not([hidden])').length") == 2
    assert not scriptless.get("document.getElementById('finding-filters').checkVisibility()")
