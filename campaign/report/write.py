"""Writes the report: the table in every form, the findings, the plots, and one page with all of it.

The page, index.html, needs no other file and no network. Every text of the campaign and of raw outputs is escaped.
Described in docs/report.md.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from campaign.core import outputs
from campaign.core.errors import EnvironmentLacks, writing
from campaign.plan import adaptive
from campaign.report import page, table
from campaign.report.contents import Contents
from campaign.report.findings_view import check_text, findings_json
from campaign.report.plots import attempts, kinds
from campaign.report.plots.searches import search_plot
from campaign.report.workbook.write import workbook
from campaign.statistics import contention


def write_report(directory: Path, contents: Contents) -> Path:
    """Write the report's files into a directory, which is created if necessary; gives the path of its page.

    Files of an earlier report are overwritten, others stay. Raises InputError or EnvironmentLacks if it cannot be
    written.
    """
    with writing(directory):
        directory.mkdir(parents=True, exist_ok=True)
        pictures = {
            target.name: kinds.draw_plots(
                contents.pack,
                target.name,
                [row for row in contents.rows if row.cell.target == target.name],
                contents.campaign.results,
                directory,
            )
            for target in contents.campaign.targets
        }
        jobs = attempts.attempts_plot(contents.attempts, contents.results)
        if jobs:
            kinds.write_plot(directory / attempts.FILE, attempts.TITLE, jobs)
        summaries = _search_summaries(directory, contents)
        models = {
            picture.file.removesuffix(".svg") + (f" ({name})" if name else ""): fit
            for drawn in pictures.values()
            for picture in drawn
            for name, fit in picture.drawn.models
        }
        for name, text in _text_files(contents, models).items():
            outputs.write_in_directory(directory / name, text)
        path = directory / "table.xlsx"
        outputs.write_in_directory(path, workbook(path, contents))
        path = directory / "index.html"
        outputs.write_in_directory(path, page.page_html(directory, contents, pictures, models, summaries, jobs))
    return path


def _search_summaries(directory: Path, contents: Contents) -> list[dict[str, Any]]:
    """How each number of processes was determined, with its plot, if anything was measured."""
    units = {operation.id: operation.unit for operation in contents.pack.operations}
    summaries = []
    for number, progress in enumerate(contents.searches, 1):
        unit = units.get(progress.search.operation, "geometric mean")
        drawn = search_plot(progress, unit)
        if drawn is not None:
            name = progress.search.key.replace("/", "-").replace("*", "all")
            kinds.write_plot(directory / f"search-{number}-{name}.svg", f"Search for {progress.search.key}", drawn)
        most_processes = max((request.processes for request in progress.points), default=0)
        summaries.append(
            {
                "progress": progress,
                "drawn": drawn,
                "unit": unit,
                "law": adaptive.fit_scaling(progress),
                "extrapolated": 2 * most_processes,  # the processes to which the law is extrapolated
            }
        )
    return summaries


def _text_files(contents: Contents, models: Mapping[str, contention.ContentionFit]) -> dict[str, str]:
    rows, campaign, pack = contents.rows, contents.campaign, contents.pack
    files = {
        "table.txt": table.table_text(rows, campaign, pack, "simple", details=True) + "\n",
        "table.csv": table.as_csv(rows),
        "table.json": table.as_json(rows),
        "findings.txt": check_text(contents, contents.decision) + "\n",
        "findings.json": findings_json(pack, contents.findings),
    }
    if contents.searches:
        progress = [adaptive.as_json(search) for search in contents.searches]
        files["searches.json"] = json.dumps(progress, indent=1, ensure_ascii=False) + "\n"
    if models:
        fits = {name: fit.as_json() for name, fit in models.items()}
        files["contention.json"] = json.dumps(fits, indent=1) + "\n"
    return files


# --- the page as PDF, printed by an installed browser with the page's style for print

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "microsoft-edge")
PATIENCE_S = 120.0
# Nothing must be loaded, stored or shown, and the page's address must not be printed on each sheet.
FLAGS = (
    *("--headless", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--no-pdf-header-footer"),
)


def write_pdf(page: Path) -> Path:
    """Print a page to a PDF with its name. Raises EnvironmentLacks without a browser, or if it fails."""
    browser = next((path for name in BROWSERS if (path := shutil.which(name))), None)
    if browser is None:
        raise EnvironmentLacks(
            f"--pdf: no browser found in PATH ({', '.join(BROWSERS)}); install one (Debian: apt-get install chromium), "
            f"or open {page} in any browser and print it to a file"
        )
    pdf = page.resolve().with_suffix(".pdf")
    with tempfile.TemporaryDirectory(prefix="campaign-pdf-", ignore_cleanup_errors=True) as profile:
        profile_pdf = Path(profile) / pdf.name
        # Chromium's own sandbox refuses root.
        root = ["--no-sandbox"] if os.geteuid() == 0 else []
        options = [f"--user-data-dir={profile}", f"--print-to-pdf={profile_pdf}", page.resolve().as_uri()]
        error = _run_browser([browser, *FLAGS, *root, *options])
        if not profile_pdf.is_file():
            raise EnvironmentLacks(f"--pdf: {browser} did not print {page}: {error or 'no output'}")
        outputs.write_in_directory(pdf, profile_pdf.read_bytes())
    return page.with_suffix(".pdf")


def _run_browser(command: list[str]) -> str:
    """The last line of a program's stderr, after it and all processes that it started have ended."""
    process = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True
    )
    try:
        _, errors = process.communicate(timeout=PATIENCE_S)
    except subprocess.TimeoutExpired:
        return f"no answer within {PATIENCE_S:.0f} s"
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    return (errors.decode(errors="replace").strip().splitlines() or [""])[-1]
