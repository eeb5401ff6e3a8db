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


def digests(folder: Path, changed_since: float = 0.0) -> dict[str, str]:
    """The SHA-256 of every plain file in an attempt's folder, by relative path. Unreadable files are left out, and
    those that the kernel has not seen changed since then (seconds since 1970).
    """
    digest_by_name = {}
    for name, path in _files(folder):
        try:
            status = path.lstat()
            if stat.S_ISREG(status.st_mode) and status.st_ctime >= changed_since:
                digest_by_name[name] = untrusted.digest(path)
        except OSError as error:
            pass_on_limit(error)
    return dict(sorted(digest_by_name.items()))


def altered_files(paths: Paths, chain: journal.Chain) -> dict[tuple[str, int], tuple[Altered, ...]]:
    """The files of successful attempts that differ from the hashes in the journal or are gone, by run and number."""
    altered_by_attempt = {}
    for event in journal.events_at(paths.journal, chain.ends):
        attempt, files, changed_since = (event["run"], event["number"]), event.get("files", {}), event["time"]
        folder = paths.attempt(*attempt)
        if event["state"] == State.DONE and any(_is_touched(f"{folder}/{name}", changed_since) for name in files):
            digests_now, names = digests(folder, changed_since), dict(_files(folder))
            old_digests = {name: old for name, old in files.items() if name in names}
            differences = (Altered(name, old, (old_digests | digests_now).get(name, "")) for name, old in files.items())
            altered_by_attempt[attempt] = tuple(file for file in differences if file.recorded != file.found)
    return {attempt: files for attempt, files in altered_by_attempt.items() if files}


def _files(folder: Path) -> Iterator[tuple[str, Path]]:
    """Everything in an attempt's folder that is no directory, by its relative path in UTF-8."""
    for directory, _, names in os.walk(folder, onerror=pass_on_limit):
        for path in (Path(directory, name) for name in names):
            yield _in_utf8(path.relative_to(folder)), path


def _is_touched(path: str, changed_since: float) -> bool:
    """Whether a file may have been changed since then. One that is not found may have a name that is not UTF-8."""
    try:
        return os.lstat(path).st_ctime >= changed_since
    except (OSError, ValueError) as error:
        pass_on_limit(error)
        return True


def _in_utf8(name: Path) -> str:
    """A name of any bytes; those that are no UTF-8 as \\xff."""
    return os.fsencode(name).decode(errors="backslashreplace")
