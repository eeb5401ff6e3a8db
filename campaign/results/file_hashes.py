"""The hashes of an attempt's files, which the journal has from its end on, and the files that differ from them."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from campaign.core import journal, untrusted
from campaign.core.errors import pass_on_limit
from campaign.core.paths import Paths
from campaign.core.runs import State
from campaign.results.environment.facts import Altered


def digests(folder: Path) -> dict[str, str]:
    """The SHA-256 of every plain file in an attempt's folder, by relative path. Unreadable files are left out."""
    digest_by_name = {}
    for name, path in _files(folder):
        try:
            if stat.S_ISREG(path.lstat().st_mode):
                digest_by_name[name] = untrusted.digest(path)
        except OSError as error:
            pass_on_limit(error)
    return dict(sorted(digest_by_name.items()))


def altered_files(paths: Paths, chain: journal.Chain) -> dict[tuple[str, int], tuple[Altered, ...]]:
    """The files of successful attempts that differ from the hashes in the journal or are gone, by run and number."""
    altered_by_attempt = {}
    for event in journal.events_at(paths.journal, chain.ends):
        if event["state"] == State.DONE:
            attempt, files, changed_since = (event["run"], event["number"]), event.get("files", {}), event["time"]
            folder = paths.attempt(*attempt)
            digests_now = {name: _digest_now(folder, name, old, changed_since) for name, old in files.items()}
            altered_by_attempt[attempt] = tuple(
                Altered(name, old, digests_now[name]) for name, old in files.items() if old != digests_now[name]
            )
    return {attempt: files for attempt, files in altered_by_attempt.items() if files}


def _digest_now(folder: Path, name: str, recorded_digest: str, changed_since: float) -> str:
    """The SHA-256 of a recorded file as it is now; "" if it is gone. It is as recorded if it cannot be read, or if the
    kernel has not seen it changed since then (seconds since 1970).
    """
    path = f"{folder}/{name}"
    try:
        status = os.lstat(path)
        is_same = not stat.S_ISREG(status.st_mode) or status.st_ctime < changed_since
        return recorded_digest if is_same else untrusted.digest(path)
    except (OSError, ValueError) as error:
        pass_on_limit(error)
    # It may have a name that is not UTF-8.
    return ({name: recorded_digest for name, _ in _files(folder)} | digests(folder)).get(name, "")


def _files(folder: Path) -> Iterator[tuple[str, Path]]:
    """Everything in an attempt's folder that is no directory, by its relative path in UTF-8."""
    for directory, _, names in os.walk(folder, onerror=pass_on_limit):
        for path in (Path(directory, name) for name in names):
            yield _in_utf8(path.relative_to(folder)), path


def _in_utf8(name: Path) -> str:
    """A name of any bytes; those that are no UTF-8 as \\xff."""
    return os.fsencode(name).decode(errors="backslashreplace")
