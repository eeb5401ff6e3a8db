"""Judgements that the campaign's database keeps, each under the hash of everything that it depends on.

They spare `status`, `table`, `report`, `fill`, `compare` and `run` judging again what has not changed. Whoever can
write to the database can change them: `check`, `bundle` and `verify` judge from the raw files, and never read them.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import sys
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import campaign
from campaign.config.definition import Definition
from campaign.core import resources, untrusted
from campaign.core.decode import decode, dumps
from campaign.core.errors import EnvironmentLacks, pass_on_limit
from campaign.core.findings import Finding
from campaign.core.paths import Paths
from campaign.judge.submission import Submission
from campaign.results.case import Case
from campaign.results.cells import Row
from campaign.results.source import modifications
from campaign.results.store import Store, sha256_of

_PACKAGE = Path(campaign.__file__).parent


@functools.cache
def _digest_of_program() -> str:
    """The hash of this program's code and rule packs, so that no other version's judgement is used."""
    files = [path for path in _PACKAGE.rglob("*") if path.suffix in (".py", ".yaml", ".json", ".sql")]
    contents = [path.read_bytes() for path in sorted([*files, *resources.PACKS.glob("*.yaml")])]
    return sha256_of(campaign.__version__, sys.version, contents)


def digest_of_basis(definition: Definition, *planned: object) -> str:
    """The hash of what all judgements of a campaign depend on: the program, the campaign file, the pack and the plan.
    The campaign's answers are added to the findings of attempts whenever they are read.
    """
    unanswered = replace(definition.campaign, explanations=(), waivers=())
    return sha256_of(_digest_of_program(), unanswered, definition.pack, planned)


class JudgedAttempts:
    """Judges attempts, except those whose findings are kept. `judge`: gives an attempt's findings, without the
    campaign's answers. `new`: the findings that are not kept yet.
    """

    def __init__(self, store: Store, basis: str, judge: Callable[[Case], Iterable[Finding]]) -> None:
        self._store, self._basis, self._judge = store, basis, judge
        self._digests = store.result_digests()
        self.new: dict[str, tuple[str, str]] = {}

    def findings(self, case: Case) -> tuple[Finding, ...]:
        attempt = case.attempt
        digest = self._digests.get((attempt.run, attempt.number))
        key = sha256_of(self._basis, digest, attempt, case.run.fingerprint, case.evidence.altered)
        if text := self._store.judgement(case.subject, key):
            return findings_of(text)
        findings = tuple(self._judge(case))
        self.new[case.subject] = key, findings_json(findings)
        return findings

    def keep(self) -> None:
        """Keep the new ones; if the file system is full, they are judged again."""
        if self.new:
            with suppress(EnvironmentLacks):
                self._store.keep_judgements(self.new)


def findings_json(findings: tuple[Finding, ...]) -> str:
    return dumps(findings)


def findings_of(text: str) -> tuple[Finding, ...]:
    """The findings of their JSON."""
    return cast(tuple[Finding, ...], decode(cast(Any, tuple[Finding, ...]), json.loads(text)))


# --- the judgement of the campaign: its rows, and the findings beyond single attempts


@dataclass(frozen=True, slots=True)
class _KeptRow:
    row: Row  # without its run, which the plan has
    run: str  # its id


@dataclass(frozen=True, slots=True)
class _Judgement:
    rows: tuple[_KeptRow, ...]
    findings: tuple[Finding, ...]


def judgement_json(submission: Submission) -> str:
    rows = [_KeptRow(replace(row, run=None), row.run.id if row.run else "") for row in submission.rows]
    return dumps(_Judgement(tuple(rows), submission.findings))


def with_judgement(submission: Submission, text: str) -> Submission:
    """The campaign with the rows and findings of its kept judgement."""
    judgement = decode(_Judgement, json.loads(text))
    ids = {kept_row.run for kept_row in judgement.rows}
    runs = {run.id: run for run in submission.runs if run.id in ids}
    rows = [replace(kept_row.row, run=runs.get(kept_row.run)) for kept_row in judgement.rows]
    return replace(submission, rows=tuple(rows), findings=judgement.findings)


def key_of_campaign(basis: str, submission: Submission, store: Store, paths: Paths) -> str:
    """The hash of everything that the judgement of a campaign depends on. `submission`: without results."""
    return sha256_of(
        basis,
        (submission.answers.waivers, submission.answers.explanations),
        [(run.id, run.fingerprint) for run in submission.all_runs],
        (submission.sources, modifications.own_source(), submission.logs),
        untrusted.digest(paths.journal),
        store.under_way(),
        store.result_digests(),
        _digest_of_changes(store, paths),
    )


def _digest_of_changes(store: Store, paths: Paths) -> str:
    """A hash that changes with each attempt's folder and with the files that the journal has of it: when the kernel
    has last seen them changed. Nothing is read.
    """
    digest = hashlib.sha256()
    for run, number, files in store.files():
        folder = f"{paths.runs}/{run}/{number}"
        for name in ("", *files):
            digest.update(f"{folder}/{name} {_time_of_change(f'{folder}/{name}')}\n".encode(errors="surrogatepass"))
    return digest.hexdigest()


def _time_of_change(path: str) -> int:
    """In nanoseconds since 1970; 0 where nothing is found."""
    try:
        return os.lstat(path).st_ctime_ns
    except (OSError, ValueError) as error:
        pass_on_limit(error)
        return 0
