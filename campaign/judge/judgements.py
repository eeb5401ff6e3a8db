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
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from operator import attrgetter
from pathlib import Path
from types import MappingProxyType
from typing import Any, cast

import campaign
from campaign.config.definition import Definition
from campaign.core import resources, untrusted
from campaign.core.decode import decode, dumps
from campaign.core.errors import EnvironmentLacks, pass_on_limit
from campaign.core.findings import Finding
from campaign.core.paths import Paths
from campaign.core.runs import Attempt
from campaign.core.workers import results_in_order
from campaign.judge.submission import Submission
from campaign.results.case import Case
from campaign.results.cells import Row
from campaign.results.environment.facts import Altered
from campaign.results.file_hashes import AlteredFiles
from campaign.results.source import modifications
from campaign.results.store import MOST_RUNS, Store, sha256_of

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
    campaign's answers.
    """

    def __init__(self, store: Store, basis: str, judge: Callable[[Case], Iterable[Finding]]) -> None:
        self._store, self._basis, self._judge = store, basis, judge
        self._digests = store.result_digests()
        self._new: dict[str, tuple[str, str]] = {}

    def _key(self, attempt: Attempt, files: Sequence[Altered]) -> str:
        """The hash of everything that the findings depend on. `files`: those that were changed since its end."""
        return sha256_of(self._basis, self._digests.get((attempt.run, attempt.number)), attempt, tuple(files))

    def findings(self, case: Case) -> tuple[Finding, ...]:
        """The kept findings of an attempt; those without are judged here."""
        key = self._key(case.attempt, case.evidence.altered)
        _, text = self._new.get(case.subject) or (key, self._store.judgement(case.subject, key))
        if not text:
            text = self._findings_json(case)
            self._new[case.subject] = key, text
        return findings_of(text)

    def _findings_json(self, case: Case) -> str:
        return findings_json(tuple(self._judge(case)))

    def judge_in_pieces(
        self,
        attempts: Iterable[Attempt],
        changed_files: AlteredFiles,
        cases_of: Callable[[Sequence[Attempt]], Sequence[Case]],
    ) -> None:
        """Judge those of these attempts without kept findings, on all cores, and in pieces, which take little memory
        and are kept if it is interrupted. `cases_of`: gives the cases of a piece.
        """
        keys = {
            attempt: self._key(attempt, changed_files.get((attempt.run, attempt.number), ()))
            for attempt in attempts
            if attempt.is_judged
        }
        kept_keys = self._store.kept_keys()
        unjudged = [attempt for attempt, key in keys.items() if kept_keys.get(attempt.subject) != key]
        for start in range(0, len(unjudged), MOST_RUNS):
            cases = cases_of(unjudged[start : start + MOST_RUNS])
            steps = "judging attempts", start, len(unjudged)
            texts = results_in_order(self._findings_json, cases, attrgetter("subject"), *steps)
            self._new |= {case.subject: (keys[case.attempt], text) for case, text in zip(cases, texts, strict=True)}
            self.keep()

    def keep(self, judgements: Mapping[str, tuple[str, str]] = MappingProxyType({})) -> None:
        """Keep the new findings, and other judgements, by subject; if the file system is full, they are judged
        again.
        """
        with suppress(EnvironmentLacks):
            self._store.keep_judgements({**self._new, **judgements})
            self._new.clear()


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
    for run, number, files, names in store.files():
        folder = f"{paths.runs}/{run}/{number}"
        times = [_time_of_change(f"{folder}/{name}") for name in ("", *names)]
        digest.update(f"{folder} {files} {times}\n".encode(errors="surrogatepass"))
    return digest.hexdigest()


def _time_of_change(path: str) -> int:
    """In nanoseconds since 1970; 0 where nothing is found."""
    try:
        return os.lstat(path).st_ctime_ns
    except (OSError, ValueError) as error:
        pass_on_limit(error)
        return 0
