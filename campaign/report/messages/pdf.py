"""What `campaign report --pdf` says where it cannot print the page."""

from __future__ import annotations

from campaign.core.messages import Message

NO_BROWSER = Message(
    "--pdf: no browser found in PATH ({browsers}); install one (Debian: apt-get install chromium), or open {page} in "
    "any browser and print it to a file",
    browsers="chromium, google-chrome",
    page="results/my-rfp/report/index.html",
)
NOT_PRINTED = Message(
    "--pdf: {browser} did not print {page}: {error}",
    browser="/usr/bin/chromium",
    page="results/my-rfp/report/index.html",
    error="no output",
)
NO_ANSWER = Message("no answer within {seconds} s", seconds=120)
NO_OUTPUT = Message("no output")
