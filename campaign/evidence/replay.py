"""Re-evaluates a campaign from its evidence alone: the result must be the bundle's, on any machine.

The evidence is a folder with `campaign.yaml`, `names.json`, `rules/<id>.yaml` and `results/`. Nothing on this machine
is used: no Slurm, no environment, no program. The same function makes the tables for the bundle and for the buyer, who
may judge by other rules.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from pathlib import Path

from campaign import __version__
from campaign.config import resolution
from campaign.config.definition import Definition, open_campaign, signed_answers
from campaign.config.format import Campaign
from campaign.config.rules import packs
from campaign.config.rules.pack import RulePack
from campaign.core import bagit
from campaign.core.decode import decode
from campaign.core.errors import InputError
from campaign.core.findings import Finding
from campaign.core.journal import Chain
from campaign.core.paths import Paths
from campaign.core.runs import Cell
from campaign.core.strict_yaml import quoted
from campaign.core.units import listing
from campaign.judge.compliance import compliance_matrix
from campaign.judge.findings import unchecked_by_buyer, violation
from campaign.judge.submission import Submission
from campaign.pipeline import campaign_state
from campaign.report import amendments, clauses, decision, findings_view, table

FORMAT = 1
LARGEST_NAMES = 1 << 20  # bytes of names.json
Accepted = Callable[[Sequence[Finding], Sequence[Cell]], Mapping[Finding, Finding]]
CLAUSES = ("tables/clauses.csv", "tables/clauses.json")  # if the pack lists those of its document


@dataclass(frozen=True, slots=True)
class Evaluation:
    """`files`: the rendered files, by their names in the evidence."""

    submission: Submission
    files: dict[str, str]
    named_files: Mapping[Path, Path]  # files that the campaign file names, with their places in the evidence
    chain: Chain | None = None  # the journal's

    @property
    def head(self) -> str:
        """The hash of the journal's last line; "" if there is none."""
        return self.chain.head if self.chain else ""


@dataclass(frozen=True, slots=True)
class BundleNames:
    """names.json: the values of the campaign file's variables and paths where it was run, and the program that made the
    bundle.
    """

    format: int
    tool: str
    rules: str  # as the campaign file names them
    pack: str  # the rule pack's path there
    variables: Mapping[str, str]
    paths: Mapping[str, str]
    files: Mapping[str, str]  # places in the evidence of files that the campaign file names, by their paths there
    part: str = ""  # of the campaign file


def names_as_json(names: resolution.Names, campaign: Campaign, pack: Path, files: Mapping[str, str]) -> str:
    """The names.json of a bundle that this version makes."""
    record = BundleNames(
        *(FORMAT, f"campaign {__version__}", campaign.rules, str(pack), names.variables, names.paths, files),
        part=campaign.part,
    )
    return as_json(asdict(record))


def as_json(value: object) -> str:
    """The form of the bundle's own JSON files."""
    return json.dumps(value, indent=1, ensure_ascii=False) + "\n"


def read_names(evidence: Path) -> BundleNames:
    """Raises ValueError if it is not a valid record."""
    path = evidence / "names.json"
    if not path.is_file() or path.stat().st_size > LARGEST_NAMES:
        raise ValueError(f"names.json: missing, or larger than {LARGEST_NAMES} bytes")
    try:
        record = decode(BundleNames, json.loads(path.read_text(encoding="utf-8")), pass_over_unknown=True)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"names.json: not written by this program: {quoted(str(error))}") from error
    if record.format != FORMAT:
        raise ValueError(f"names.json: format {record.format}; this version reads format {FORMAT}")
    if wrong := [name for name in record.files.values() if bagit.unfit_name_reason(name)]:
        raise ValueError(f"names.json: files: {quoted(wrong[0])}: {bagit.unfit_name_reason(wrong[0])}")
    return record


@dataclass(frozen=True, slots=True)
class BuyersTerms:
    """The buyer's rules: `pack` instead of the one in the evidence, whose waivers count, and which findings about these
    cells are accepted.
    """

    pack: Path | None
    waiver_signers: Path | None
    accepted: Accepted


def reevaluate(evidence: Path) -> Evaluation:
    """Judge the evidence, by the vendor's terms. Raises ValueError, or a CampaignError, if it cannot be judged."""
    with collected_evidence(evidence) as chain:
        return evaluate(evidence, chain)


@contextmanager
def collected_evidence(evidence: Path) -> Iterator[Chain | None]:
    """Within the context, the evidence has the database that `evaluate` reads, built from its logs. Gives the journal's
    chain. Raises as `reevaluate` does.
    """
    _check_no_database(Paths(evidence / "results"))
    with _open_evidence(evidence, None) as (definition, _):
        chain = campaign_state.collect(definition)[1] if definition.paths.journal.exists() else None
    try:
        yield chain
    finally:
        definition.paths.database.unlink(missing_ok=True)


def evaluate(evidence: Path, chain: Chain | None, terms: BuyersTerms | None = None) -> Evaluation:
    """Judge the evidence by the vendor's terms, or by others. Raises as `reevaluate` does."""
    with _open_evidence(evidence, terms) as (definition, named_files):
        submission = _without_paths(campaign_state.recorded_submission(definition, True, chain), str(evidence))
        accepted = terms.accepted(submission.all_findings, submission.cells) if terms else {}
        submission = _with_changed_findings(submission, lambda finding: accepted.get(finding, finding))
    return Evaluation(submission, _render_files(submission), named_files, chain)


@contextmanager
def _open_evidence(evidence: Path, terms: BuyersTerms | None) -> Iterator[tuple[Definition, dict[Path, Path]]]:
    """The campaign with what its file names taken from the evidence: `Evaluation.named_files`."""
    record = read_names(evidence)
    packs_in_evidence = packs.packs_in(evidence / "rules")
    if len(packs_in_evidence) != 1:
        raise ValueError(f"rules/: found {len(packs_in_evidence)} rule packs; expected one")
    files = {path: evidence / name for path, name in record.files.items()}
    pack = (terms.pack if terms else None) or packs_in_evidence[0]
    with resolution.use_names(
        resolution.Names(dict(record.variables), dict(record.paths), True, pack, record.part, files)
    ):
        definition = open_campaign(evidence / "campaign.yaml")
        definition = replace(
            definition,
            campaign=replace(definition.campaign, rules=record.rules, results=evidence / "results"),
            pack=replace(definition.pack, path=Path(record.pack)),
            answers=signed_answers(definition, terms.waiver_signers) if terms else definition.answers,
        )
        yield definition, {Path(path): place for path, place in files.items()}


def _check_no_database(paths: Paths) -> None:
    """Refuse a database in the evidence: it could contain triggers that change every number on import, and its side
    files could restore one. The database is built here from the logs.
    """
    for entry in paths.root.iterdir() if paths.root.is_dir() else ():
        if entry.name.casefold().startswith(paths.database.name):
            raise ValueError(f"results/{entry.name}: not allowed in a bundle; the database is rebuilt from the logs")


def _without_paths(submission: Submission, evidence: str) -> Submission:
    """Findings with paths relative to the evidence, wherever that is."""

    def shortened(text: str) -> str:
        return text.replace(f"{evidence}/", "")

    def shorten_finding(finding: Finding) -> Finding:
        return replace(
            finding,
            wording=shortened(finding.wording),
            expected=shortened(finding.expected),
            actual=shortened(finding.actual),
            values={name: shortened(value) for name, value in finding.values.items()},
        )

    rows = tuple(replace(row, note=shortened(row.note)) for row in submission.rows)
    return _with_changed_findings(replace(submission, rows=rows), shorten_finding)


def _with_changed_findings(submission: Submission, change: Callable[[Finding], Finding]) -> Submission:
    rows = tuple(replace(row, findings=tuple(map(change, row.findings))) for row in submission.rows)
    return replace(submission, rows=rows, findings=tuple(map(change, submission.findings)))


def _render_files(submission: Submission) -> dict[str, str]:
    campaign, pack = submission.campaign, submission.pack
    verdict = decision.compliance_verdict(submission)
    states = dict.fromkeys(row.status for row in submission.rows)
    summary = {
        "format": FORMAT,
        "campaign": campaign.name,
        "rules": {"id": pack.id, "version": pack.version, "sha256": pack.digest},
        "profile": campaign.profile,
        "verdict": verdict.kind,
        "headline": verdict.headline,
        "reasons": [
            {"text": reason.text, "rules": {rule: count for rule, _, count in reason.rules}}
            for reason in verdict.reasons
        ],
        "cells": {state: sum(row.status == state for row in submission.rows) for state in states},
    }
    lines = compliance_matrix(submission)
    answers = zip(CLAUSES, (clauses.as_csv(lines), clauses.as_json(lines)), strict=True) if lines else ()
    return {
        "tables/table.txt": table.table_text(submission.rows, campaign, pack, "simple", details=True) + "\n",
        "tables/table.csv": table.as_csv(submission.rows),
        "tables/table.json": table.as_json(submission.rows),
        "findings.txt": findings_view.check_text(submission, decision.campaign_decision(submission)) + "\n",
        "findings.json": findings_view.findings_json(pack, submission.all_findings),
        "verdict.json": as_json(summary),
        **dict(answers),
    }


# --- the rules to judge by: the buyer's, and how the bundle's pack differs from them


class RulesCopy(StrEnum):
    GIVEN = "given"  # with --rules
    INSTALLED = "installed"  # the buyer's own pack with that id
    BUNDLE = "bundle"  # the vendor's: the buyer has none


@dataclass(frozen=True, slots=True)
class Rules:
    """`path` is the pack to judge by, None for the one in the bundle; `differences`: how that one differs. `measured`:
    which version that is, if the buyer's is another one; `problem`: why this cannot judge the bundle.
    """

    copy: RulesCopy
    path: Path | None = None
    differences: tuple[str, ...] = ()
    measured: str = ""
    problem: str = ""

    def findings(self) -> Iterator[Finding]:
        """EVD-05, of a bundle."""
        if self.copy is RulesCopy.BUNDLE:
            yield unchecked_by_buyer(
                "re-evaluated with the vendor's copy: no rule pack of this id is installed",
                remedy="pass your rule pack with --rules",
            )
        elif self.measured:
            judging = (
                f"judged by the vendor's, since yours does not fit: {self.problem}"
                if self.problem
                else "judged by yours"
            )
            yield measured_under(self.measured, self.differences, judging)
        else:
            for difference in self.differences:
                yield violation("the vendor's rule pack differs from yours: {difference}", difference=difference)


def measured_under(versions: str, differences: Sequence[str], judging: str) -> Finding:
    """What is open where the rules were amended after the measurement: no contradiction."""
    wording = "measured under {versions}; differs in {differences}; {judging}"
    return unchecked_by_buyer(wording, versions=versions, differences=listing(differences), judging=judging)


def choose_rules(named_pack: RulePack | None, evidence: Path) -> Rules:
    """Select the pack for judging the evidence. Raises InputError if the pack in it cannot be read."""
    paths = packs.packs_in(evidence / "rules")
    if len(paths) != 1:
        return Rules(RulesCopy.BUNDLE)  # the re-evaluation reports it
    vendors = packs.load(paths[0])
    buyers, copy = named_pack, RulesCopy.GIVEN
    if buyers is None:
        try:
            buyers, copy = packs.load(vendors.id), RulesCopy.INSTALLED
        except InputError:
            return Rules(RulesCopy.BUNDLE)
    if vendors.digest == buyers.digest:
        return Rules(copy)
    differences = tuple(map(str, amendments.pack_changes(vendors, buyers))) or ("only its comments differ",)
    versions = f"version {vendors.version}, yours is version {buyers.version}"
    is_amended = vendors.id == buyers.id and vendors.version != buyers.version
    return Rules(copy, buyers.path, differences, versions if is_amended else "")
