"""A bundle verified offline: its hashes, its signature, its journal, and every number re-evaluated.

It comes from a stranger: it is copied into a private directory by `bagit`, which trusts nothing, and nothing that it
names is opened or executed on this machine.
"""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from campaign import __version__
from campaign.config.waivers import NAMESPACE, statement
from campaign.core import bagit, journal, signatures
from campaign.core.bagit import Bag
from campaign.core.errors import CampaignError, InputError
from campaign.core.escaping import plain
from campaign.core.model import Finding, Severity
from campaign.core.strict_yaml import shown
from campaign.evidence import bundle, messages, replay
from campaign.evidence.replay import Judged
from campaign.judge import engine
from campaign.judge.evidence import BUNDLE, HandedIn
from campaign.judge.findings import CAMPAIGN, of_rule, unchecked, violation
from campaign.judge.submission import measured_and_hidden
from campaign.report.verdict import OPEN
from campaign.slurm import scripts

LARGEST_INDEX = 64 << 20
LARGEST_SCRIPT = 4 << 20  # characters of a job script that are compared


@dataclass(frozen=True, slots=True)
class Asked:
    """What the buyer knows beside the bundle: keys that he trusts, the nonce that he gave, heads that he was sent."""

    signers: Path | None = None
    nonce: str | None = None
    heads: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Signed:
    """`signer` as the list of keys names it, "" without a list; `problem`: why the signature does not hold."""

    key: str = ""
    signer: str = ""
    problem: str = ""


@dataclass(frozen=True, slots=True)
class VerifiedBundle:
    """`findings` are about the bundle; those of the campaign are with `judged`, which is None where it cannot be."""

    name: str
    files: int
    size: int
    signed: Signed | None
    tool: str
    chain: journal.Chain
    findings: tuple[Finding, ...]
    judged: Judged | None

    @property
    def intact(self) -> bool:
        """Whether the bundle is what it says: a question open for want of a key or nonce does not break it."""
        return not any(finding.severity is Severity.ERROR for finding in self.findings)

    @property
    def broken(self) -> tuple[Finding, ...]:
        """Violations that are about no cell but the campaign as a whole, such as EVD-05: the rules are others."""
        findings = self.judged.submission.findings if self.judged else ()
        return tuple(finding for finding in findings if finding.subject == CAMPAIGN and finding.violated)

    @property
    def complies(self) -> bool:
        """Whether the bundle is intact, and the campaign in it has all its results and violates no rule as a whole."""
        rows = self.judged.submission.rows if self.judged else ()
        return self.intact and bool(rows) and not self.broken and not any(row.status in OPEN for row in rows)


@contextmanager
def verify(path: Path, asked: Asked) -> Iterator[VerifiedBundle]:
    """Look at a bundle; within the context the judged campaign's files are there to be reported.

    Raises InputError where there is nothing that could be a bundle, or no such list of keys.
    """
    if asked.signers is not None and not asked.signers.is_file():
        raise InputError(messages.NO_SIGNERS(path=asked.signers))
    with tempfile.TemporaryDirectory(prefix="campaign-verify.") as place:
        bag = bagit.read(path, Path(place))
        yield _verified(path, bag, asked)


def _verified(path: Path, bag: Bag, asked: Asked) -> VerifiedBundle:
    data = bag.root / "data"
    stated = {name: _text(data / name) for name in (*replay.OUTPUTS, bundle.CRATE)}
    chain = journal.look(data / "results" / "journal.jsonl")
    signed = _signed(bag, asked)
    tool, why, judged = "", "", None
    rederived: dict[str, str] = {}
    try:
        tool = replay.read_names(data).tool
        judged = replay.rederive(data)
        rederived = {**judged.files, bundle.CRATE: bundle.crate(judged, data, bag.info.get("Bagging-Date", ""))}
    except (CampaignError, ValueError) as error:
        why = plain(str(error).replace(f"{data}/", "")[:2000])
    except Exception as error:  # whatever a doctored file brings about is its fault, and must not end the verification
        why = plain(f"{type(error).__name__}: {error}"[:500])
    differing = _differing(stated, rederived)
    reworded = tuple(differing) if _is_earlier(tool) and _same_numbers(stated, rederived) else ()
    if reworded:
        differing = {}
    handed_in = HandedIn(
        problems=tuple(bag.problems),
        unsupported=(*_unsupported(data, bag, judged), *_beyond(data, bag, judged)) if judged else (),
        signature=" ".join(filter(None, (signed.signer, signed.key or "?"))) if signed else "",
        signature_problem=signed.problem if signed else "",
        signers_given=asked.signers is not None,
        not_judged=why,
        differing={**differing, **_planned_otherwise(data, judged)} if rederived and judged else None,
        reworded=reworded,
        tool=tool if tool != f"campaign {__version__}" else "",
    )
    stated_head = bag.info.get("Journal-Head", "none")
    findings = (
        *engine.judge_bundle(handed_in),
        *of_rule("EVD-02", BUNDLE, _of_journal(chain, asked, stated_head)),
        *of_rule("RUN-08", BUNDLE, _hidden(judged)),
        *of_rule("WVR-01", BUNDLE, _waivers(judged, asked)),
    )
    return VerifiedBundle(path.name, len(bag.digests), sum(bag.sizes.values()), signed, tool, chain, findings, judged)


def _text(path: Path) -> str | None:
    try:
        return path.read_bytes().decode("utf-8")
    except (OSError, UnicodeDecodeError):
        return None


def _signed(bag: Bag, asked: Asked) -> Signed | None:
    if bagit.SIGNATURE not in bag.digests or bagit.TAG_MANIFEST not in bag.digests:
        return None
    text, signature = (bag.root / bagit.TAG_MANIFEST).read_bytes(), bag.root / bagit.SIGNATURE
    maker = signatures.made_by(text, signature, bundle.NAMESPACE)
    if maker.problem or asked.signers is None:
        return Signed(maker.by, problem=maker.problem and f"{bagit.SIGNATURE}: {maker.problem}")
    signer = signatures.verify(text, signature, asked.signers, bundle.NAMESPACE)
    return Signed(maker.by, signer.by, signer.problem and f"{bagit.SIGNATURE}: {signer.problem}")


def _waivers(judged: Judged | None, asked: Asked) -> Iterator[Finding]:
    """WVR-01 by the keys that the buyer knows: those in the bundle are the vendor's word."""
    campaign = judged.submission.campaign if judged else None
    signed = [waiver for waiver in campaign.waivers if waiver.signature] if campaign else []
    if campaign is None or judged is None or not signed:
        return
    if asked.signers is None:
        yield unchecked(messages.WAIVERS_UNPROVED())
        return
    for waiver in signed:
        assert waiver.signature is not None, "only signed waivers are checked"
        text = statement(campaign.name, judged.submission.pack.id, waiver)
        signer = signatures.verify(text.encode(), judged.files_named[waiver.signature], asked.signers, NAMESPACE)
        if signer.problem:
            yield violation(messages.WAIVER_UNKNOWN_KEY(rule=waiver.rule, problem=signer.problem))


def _differing(stated: dict[str, str | None], rederived: dict[str, str]) -> dict[str, str]:
    """Files that differ from the bundle's when derived again, with the first line that differs."""
    differing: dict[str, str] = {}
    for name, text in rederived.items():
        kept = stated[name]
        if kept is None:
            differing[name] = messages.NOT_IN_BUNDLE()
        elif kept != text:
            differing[name] = _first_difference(kept, text)
    return differing


_NUMBER = ("target", "launch", "files", "operation", "value", "unit", "processes", "nodes", "run", "attempt", "source")


def _is_earlier(tool: str) -> bool:
    """Whether an earlier version of this program made the bundle, whose words are not those of today."""
    return bool(re.fullmatch(r"campaign \d+\.\d+\.\d+", tool)) and _numbers(tool) < _numbers(__version__)


def _numbers(version: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", version)]


def _same_numbers(stated: dict[str, str | None], rederived: dict[str, str]) -> bool:
    """Whether both tables have the same numbers from the same log lines, whatever else they say."""
    try:
        kept, again = (
            [[cell[key] for key in _NUMBER] for cell in json.loads(tables["tables/table.json"] or "")]
            for tables in (stated, rederived)
        )
    except (ValueError, TypeError, KeyError, RecursionError):
        return False
    return kept == again


def _planned_otherwise(data: Path, judged: Judged) -> dict[str, str]:
    """Attempts whose own description, or job script, is not of the run that the plan made again has."""
    differing: dict[str, str] = {}
    runs = {run.id: run for run in judged.submission.all_runs}
    for attempt in judged.submission.attempts:
        run = runs.get(attempt.run)
        folder = data / "results" / "runs" / attempt.run / str(attempt.number)
        if run is None or run.fingerprint != attempt.fingerprint:
            continue
        if (text := _text(folder / "attempt.json")) is not None:
            planned, recorded = scripts.described(run, attempt.number, attempt.token, attempt.job), _object(text)
            wrong = next((key for key, value in planned.items() if recorded.get(key) != value), None)
            if wrong is not None:
                differing[f"results/runs/{attempt.run}/{attempt.number}/attempt.json"] = messages.PLANNED_OTHERWISE(
                    name=wrong, found=shown(str(recorded.get(wrong))[:120]), planned=shown(str(planned[wrong])[:120])
                )
        script = _text(folder / "job.sbatch")
        if script is not None and not scripts.executes(script[:LARGEST_SCRIPT], run, attempt.token):
            differing[f"results/runs/{attempt.run}/{attempt.number}/job.sbatch"] = messages.SCRIPT_DIFFERS()
    return differing


def _object(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _first_difference(kept: str, rebuilt: str) -> str:
    kept_lines, rebuilt_lines = kept.split("\n"), rebuilt.split("\n")
    for number, (left, right) in enumerate(zip(kept_lines, rebuilt_lines, strict=False), 1):
        if left != right:
            said_so, again = shown(left.strip()[:120]), shown(right.strip()[:120])
            return messages.LINE_DIFFERS(line=number, found=said_so, again=again)
    return messages.LENGTH_DIFFERS(found=len(kept_lines), again=len(rebuilt_lines))


def _unsupported(data: Path, bag: Bag, judged: Judged) -> Iterator[str]:
    """CMP-05: folders of attempts that no table refers to, and attempts that the index does not have."""
    known = {(attempt.run, attempt.number): attempt for attempt in judged.submission.attempts}
    wanted = {run.id: run.fingerprint for run in judged.submission.all_runs}
    folders: dict[tuple[str, str], set[str]] = {}
    for name in bag.digests:
        parts = name.split("/")
        if parts[:3] == ["data", "results", "runs"] and len(parts) > 5:
            folders.setdefault((parts[3], parts[4]), set()).add(parts[5])
    for run, number in sorted(folders):
        recorded = known.get((run, int(number))) if number.isdigit() else None
        if recorded is None:
            yield messages.NOT_IN_JOURNAL(place=f"results/runs/{run}/{number}")
        elif wanted.get(run) != recorded.fingerprint and folders[run, number] - set(bundle.ALWAYS):
            yield messages.UNREFERENCED(place=f"results/runs/{run}/{number}")
    counted = bundle.counted_attempts(judged.submission)
    listed, counts = _index(data / "index.json")
    for (run, attempt), recorded in sorted(known.items()):
        if (run, attempt) not in listed:
            yield messages.NOT_INDEXED(attempt=attempt, run=run)
        elif listed.pop((run, attempt)) != bundle.entry_of(recorded, counted):
            yield messages.INDEXED_OTHERWISE(attempt=attempt, run=run)
    for run, attempt in sorted(listed):
        yield messages.INDEXED_ONLY(attempt=attempt, run=shown(run))
    if counts != bundle.counts(judged.submission.attempts):
        yield messages.COUNTS_DIFFER()


def _beyond(data: Path, bag: Bag, judged: Judged) -> Iterator[str]:
    """CMP-05: files that no bundle has, whatever they are."""
    fixed = {*replay.OUTPUTS, bundle.CRATE, "campaign.yaml", "names.json", "index.json"}
    named = {str(path.relative_to(data)) for path in judged.files_named.values()}
    jobs = {attempt.job for attempt in judged.submission.attempts}
    for name in sorted(bag.digests):
        if not name.startswith(bagit.PAYLOAD):
            continue
        inner = name.removeprefix(bagit.PAYLOAD)
        first, *rest = inner.split("/")
        of_results = first == "results" and rest[0] in bundle.RESULTS and (rest[0] != "jobs" or rest[1] in jobs)
        if not (of_results or inner in fixed | named or (first == "rules" and len(rest) == 1)):
            yield messages.UNREFERENCED(place=shown(inner))


def _index(path: Path) -> tuple[dict[tuple[str, int], dict[str, Any]], Any]:
    """What the index says of each attempt, as `bundle.entry_of` gives it, and its counts."""
    try:
        if path.stat().st_size > LARGEST_INDEX:
            return {}, None
        data: Any = json.loads(path.read_text(encoding="utf-8"))
        listed = {
            (str(kept["run"]), int(kept["attempt"])): {key: kept[key] for key in kept if key not in ("files", "why")}
            for kept in data["attempts"]
        }
        return listed, data["counts"]
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return {}, None


def _hidden(judged: Judged | None) -> Iterator[Finding]:
    """RUN-08, of a pack that does not list it: a choice among results is one by any rules."""
    if judged and "RUN-08" not in judged.submission.pack.checks:
        yield from measured_and_hidden(judged.submission)


def _of_journal(chain: journal.Chain, asked: Asked, stated_head: str) -> Iterator[Finding]:
    """EVD-02, with what the buyer alone knows."""
    if chain.problem:
        yield violation(messages.JOURNAL_BROKEN(problem=chain.problem))
        return
    if stated_head != (chain.head or "none"):
        yield violation(messages.HEAD_DIFFERS(), chain.head or "none", stated_head)
    if asked.nonce is not None and chain.nonce != asked.nonce:
        yield violation(messages.NONCE_DIFFERS(), asked.nonce, chain.nonce or "none")
    for head in asked.heads:
        if head not in chain.heads:
            yield violation(messages.HEAD_MISSING(), head, chain.head or "an empty journal")
