"""The hashes of an attempt's files, which the journal has from its end on, and the files that differ from them."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path

from campaign.core import archives, journal, untrusted
from campaign.core.errors import pass_on_limit
from campaign.core.paths import Paths
from campaign.core.runs import State
from campaign.results.environment.facts import Altered

AlteredFiles = Mapping[tuple[str, int], tuple[Altered, ...]]  # by run and number of the attempt


def digests(folder: Path) -> dict[str, str]:
    """The SHA-256 of every plain file in an attempt's folder, by relative path. Unreadable files are left out."""
    digest_by_name = {name: _digest_now(f"{path}", "", 0.0) for name, path in _files(folder)}
    return {name: digest for name, digest in sorted(digest_by_name.items()) if digest}


def altered_files(paths: Paths, chain: journal.Chain) -> AlteredFiles:
    """The files of successful attempts that differ from the hashes in the journal or are gone, by run and number."""
    altered_by_attempt = {}
    for event in journal.events_at(paths.journal, chain.ends):
        if event["state"] == State.DONE:
            folder, files, changed_since = (
                paths.attempt(event["run"], event["number"]),
                event.get("files", {}),
                event["time"],
            )
            digests_now = {  # a name of a doctored bundle may lead out of it
                name: None if archives.is_outside(name) else _digest_now(f"{folder}/{name}", old, changed_since)
                for name, old in files.items()
            }
            if None in digests_now.values():  # a file is gone, or its name is not UTF-8
                walked = {name: files.get(name, "") for name, _ in _files(folder)} | digests(folder)
                digests_now = {name: digest or walked.get(name, "") for name, digest in digests_now.items()}
            altered_by_attempt[event["run"], event["number"]] = tuple(
                Altered(name, old, digests_now[name] or "") for name, old in files.items() if old != digests_now[name]
            )
    return {attempt: files for attempt, files in altered_by_attempt.items() if files}


def _digest_now(path: str, recorded_digest: str, changed_since: float) -> str | None:
    """The SHA-256 of a recorded file as it is now, None if it is not found. It is as recorded unless it is a plain file
    that the kernel has seen changed since then (seconds since 1970), and can be read.
    """
    digest = None
    try:
        status = os.lstat(path)
        digest = recorded_digest
        if stat.S_ISREG(status.st_mode) and status.st_ctime >= changed_since:
            digest = untrusted.digest(path)
    except (OSError, ValueError) as error:
        pass_on_limit(error)
    return digest


def _files(folder: Path) -> Iterator[tuple[str, Path]]:
    """Everything in an attempt's folder that is no directory, by its relative path in UTF-8."""
    for directory, _, names in os.walk(folder, onerror=pass_on_limit):
        yield from ((_in_utf8(path.relative_to(folder)), path) for path in map(Path(directory).joinpath, names))


def _in_utf8(name: Path) -> str:
    """A name of any bytes; those that are no UTF-8 as \\xff."""
    return os.fsencode(name).decode(errors="backslashreplace")
