"""The page as PDF, printed by an installed browser with the page's style for print."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path

from campaign.core import atomic
from campaign.core.errors import EnvironmentLacks

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "microsoft-edge")
PATIENCE_S = 120.0
# Nothing must be loaded, stored or shown, and the page's address must not be printed on each sheet.
FLAGS = (
    *("--headless", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--no-pdf-header-footer"),
)


def write(page: Path) -> Path:
    """Print a page to a PDF with its name. Raises EnvironmentLacks without a browser, or if it fails."""
    browser = next((path for name in BROWSERS if (path := shutil.which(name))), None)
    if browser is None:
        raise EnvironmentLacks(
            f"--pdf: no browser found in PATH ({', '.join(BROWSERS)}); install one (Debian: apt-get install chromium), "
            f"or open {page} in any browser and print it to a file"
        )
    pdf = page.resolve().with_suffix(".pdf")
    with tempfile.TemporaryDirectory(prefix="campaign-pdf-", ignore_cleanup_errors=True) as profile:
        printed = Path(profile) / pdf.name
        # Chromium's own sandbox refuses root.
        root = ["--no-sandbox"] if os.geteuid() == 0 else []
        asked = [f"--user-data-dir={profile}", f"--print-to-pdf={printed}", page.resolve().as_uri()]
        error = _call([browser, *FLAGS, *root, *asked])
        if not printed.is_file():
            raise EnvironmentLacks(f"--pdf: {browser} did not print {page}: {error or 'no output'}")
        atomic.write(pdf, printed.read_bytes())
    return page.with_suffix(".pdf")


def _call(command: list[str]) -> str:
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
