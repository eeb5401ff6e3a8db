"""Recovers a damaged journal: the damaged file is kept beside it, and what is lost is recorded."""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Iterator

from campaign.config.definition import Definition
from campaign.core import journal, untrusted
from campaign.core.errors import EnvironmentLacks, write_error
from campaign.core.events import Event
from campaign.core.paths import Paths
from campaign.core.units import listing
from campaign.judge.history import check_recovery
from campaign.pipeline.campaign_state import Say
from campaign.results.attempt_record import read_attempt_record
from campaign.results.environment import facts_file
from campaign.results.store import Store, is_begun
from campaign.slurm import submit


def recover(definition: Definition, say: Say) -> bool:
    """Replace a damaged journal by what it still proves, and report what is lost; False if nothing is damaged. Raises
    EnvironmentLacks if a driver is running, and if nothing can be written.
    """
    paths, rewritten = definition.paths, []

    def rewrite(known_bytes: int) -> bool:
        if event := _rewrite_journal(paths, known_bytes):
            rewritten.append(event)
        return bool(rewritten)

    if is_begun(paths):
        Store.recover(paths, rewrite)
    for event in rewritten:
        for finding in check_recovery(event):
            say(finding.message)
        if jobs := list(dict.fromkeys(_unfinished_jobs(paths, event))):
            say(
                f"jobs that no line names any more may still be queued or running: {listing(jobs)}; cancel each with "
                "scancel --name=JOB before you measure again"
            )
    return bool(rewritten)


def _rewrite_journal(paths: Paths, known_bytes: int) -> Event | None:
    path, reading = paths.journal, journal.Reading(paths.journal)
    for _ in reading.sound():
        pass
    chain, missing = reading.chain, max(0, known_bytes - path.stat().st_size)
    # A crash only cuts off what nothing has read yet.
    if known_bytes <= reading.offset and (not chain.problem or chain.cut_off):
        return None
    salvage, new = journal.Salvage(path), path.with_name(f"{path.name}.new")
    names = (path.with_name(journal.DAMAGED.format(number=number)) for number in itertools.count(1))
    damaged = next(candidate for candidate in names if not candidate.exists())
    try:
        with new.open("wb") as file:
            file.writelines(salvage.lines())
        if not missing and not salvage.lost:
            raise EnvironmentLacks(f"{path}: {chain.problem}; restore that file from a backup")
        if running := list(filter(submit.is_running, salvage.submitters)):
            raise EnvironmentLacks(
                f"a driver is at work ({listing(running)}, host:process:start): wait until it has ended, or stop it; "
                "nothing was changed"
            )
        shutil.copy2(path, damaged)
        event: Event = {
            "event": "recovered",
            "damaged": damaged.name,
            "sha256": untrusted.digest(damaged),
            "lost": salvage.lost,
            "missing": missing,
            "open": salvage.open,
            "unnamed": sorted(name for name in _attempt_folders(paths) if name not in salvage.ends),
        }
        journal.append(new, event, salvage.head)
        for written_file in (damaged, new):
            journal.sync(written_file)
        new.replace(path)
    except OSError as error:
        raise write_error(error, f"{error.filename or path}: cannot be written: {error.strerror}") from error
    finally:
        new.unlink(missing_ok=True)
    return event


def _attempt_folders(paths: Paths) -> Iterator[str]:
    """The attempts that have a folder."""
    for folder in paths.runs.glob("*/*"):
        if folder.is_dir() and folder.name.isdecimal():
            yield f"{folder.parent.name}/{folder.name}"


def _unfinished_jobs(paths: Paths, event: Event) -> Iterator[str]:
    """The jobs of attempts that no line names and that have not recorded their end."""
    for name in event["unnamed"]:
        folder = paths.runs / name
        job = read_attempt_record(folder).get("job")
        if job and not facts_file.has_ended(folder):
            yield str(job)
