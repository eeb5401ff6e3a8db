"""Decides an acceptance by sample: the drawn cells, measured again, against those of the bundle.

The sample is verified like a bundle: one made from the bundle's own logs is refused. It has to be measured with the
vendor's settings on what the bundle was measured on, unless the buyer allows a difference.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path

from campaign.core import temporary
from campaign.core.errors import INCOMPLETE, OK, InputError, typed
from campaign.core.grouping import grouped
from campaign.core.model import Cell, Finding, State
from campaign.core.units import apart, listed, several, utc
from campaign.evidence import bundle, sample, verify
from campaign.evidence.bundle_decision import NOT_FULLY_CHECKED
from campaign.judge import attested, system
from campaign.judge.engine import BUNDLE_RULES
from campaign.judge.records import fingerprint
from campaign.judge.submission import RECORDS, Submission
from campaign.pipeline import standing
from campaign.report.compare.offers import Offer
from campaign.report.compare.verdicts import CellComparison, CellVerdict, OfferComparison, Terms, compare
from campaign.report.decision import VENDOR, YOU, Compliance, DecisionBlock, Question, Step
from campaign.results.case import Case
from campaign.results.environment.facts import SHORT
from campaign.results.store import begun
from campaign.statistics import designs

MOST_OBJECTIONS = 8
INPUT_PATH = re.compile(r"inputs\.\d+\.path")  # the file is the same, wherever it is
FASTER = "faster"  # the word by which the buyer allows a cell that is faster than noise explains
EXIT_STATUS = {
    CellVerdict.ACCEPTED: OK,
    CellVerdict.REJECTED: INCOMPLETE,
    CellVerdict.UNDECIDED: NOT_FULLY_CHECKED,
}


@dataclass(frozen=True, slots=True)
class Buyer:
    """What the buyer says at the acceptance. `allowed`: patterns of the keys of differences. `limit`: in place of the
    design's, unless 0. `reported`: the reported numbers decide, as in a contract that does not mention repetitions.
    """

    allowed: tuple[str, ...] = ()
    limit: float = 0.0
    reported: bool = False

    def allows(self, key: str) -> bool:
        return any(fnmatchcase(key, pattern) for pattern in self.allowed)


Differences = Mapping[str, tuple[str, str]]  # by key, what the bundle was measured on or with, and what the sample was


@dataclass(frozen=True, slots=True)
class SampleOutcome:
    """`comparison`: of the drawn cells, each of which has one of the verdicts of EXIT_STATUS. `objections`: why this is
    no measurement of the sample. `allowed`, `open`: differences that the buyer allows, and others. `further`:
    repetitions that would decide, beyond those of the challenge; 0: none would, or none are needed.
    """

    challenge: sample.Challenge
    comparison: OfferComparison
    objections: tuple[str, ...]
    allowed: Differences
    open: Differences
    further: int

    @property
    def outcome(self) -> CellVerdict:
        if self.objections:
            return CellVerdict.REJECTED
        found = {CellVerdict.UNDECIDED} if self.open else {cell.verdict for cell in self.comparison.cells[0]}
        order = (CellVerdict.REJECTED, CellVerdict.UNDECIDED)
        return next((verdict for verdict in order if verdict in found), CellVerdict.ACCEPTED)


def accept(file: Path, whole: Submission, head: str, buyer: Buyer, say: standing.Say) -> SampleOutcome:
    """Compare the drawn cells of a bundle with the measured sample. Raises InputError if they do not belong together,
    or if nothing was measured.
    """
    asked = sample.read(file)
    if asked.head != head:
        raise InputError(f"{file}: drawn from another bundle (the journal heads differ)")
    if list(asked.cells) != sample.drawn(sample.offer_of(whole, "the bundle"), asked.design.cells, asked.seed):
        raise InputError(f"{file}: its cells are not those that seed {asked.seed} draws")
    changed = _changed(asked, file, whole)
    definition, names = bundle.open_recorded(file)
    if not begun(definition.paths):
        raise InputError(f"{file}: not measured yet; run it on the installed system: 'campaign run {typed(file)}'")
    with temporary.directory("campaign-accept.") as folder:
        answer = folder / "answer"
        bundle.write(definition, names, *standing.on_record(definition, say), answer, None)
        with verify.verify(answer, verify.Asked(nonce=asked.nonce)) as verified:
            if verified.judged is None:
                raise InputError(f"{file}: the sample cannot be re-evaluated", *map(_said, verified.findings))
            return judged(asked, whole, verified.judged.submission, verified.findings, changed, buyer)


def further(accepted: SampleOutcome, file: Path) -> str:
    """The challenge, as it was measured, with the repetitions that would decide."""
    asked = sample.read(file)
    more = replace(asked, repetitions=asked.repetitions + accepted.further)
    return sample.written(more, {**sample.settings_in(file), "repetitions": more.repetitions})


def _changed(asked: sample.Challenge, file: Path, whole: Submission) -> Differences:
    """The settings that differ from the drawn ones. Raises InputError if they do not describe the machine."""
    old, new = sample.flat(sample.settings_of(asked, whole)), sample.flat(sample.settings_in(file))
    keys = [key for key in {**old, **new} if old.get(key) != new.get(key) and not INPUT_PATH.fullmatch(key)]
    if wrong := [key for key in keys if not sample.is_of_machine(key)]:
        raise InputError(
            f"{file}: changed after it was drawn: {', '.join(wrong)}; only these keys may be changed for the installed "
            f"system: {', '.join(sample.OF_MACHINE)}"
        )
    return {key: (old.get(key, "not set"), new.get(key, "not set")) for key in keys}


# --- whether it is a measurement, and on what


def _objections(
    asked: sample.Challenge, whole: Submission, answer: Submission, found: Sequence[Finding]
) -> Iterator[str]:
    """Why the recorded runs are not a measurement for this challenge."""
    known = {fingerprint(case): case.subject for case in whole.results}
    for case in answer.results:
        if (own := fingerprint(case)) and own in known:
            yield (
                f"{case.subject} has the values of {known[own]} in the bundle to the last digit: it was copied, not "
                "measured"
            )
    last, began = max(_times(whole), default=0.0), min(_times(answer), default=math.inf)
    if began < last:
        yield f"the sample began at {utc(began)}, before the last run of the bundle did ({utc(last)})"
    for row in answer.rows:
        if len(row.values) > asked.repetitions:
            yield f"{row.cell} has {len(row.values)} valid results; the challenge asks for {asked.repetitions}"
    for each in (*found, *answer.all_findings):
        if each.violated and each.rule in RECORDS | BUNDLE_RULES:
            yield _said(each)


def _said(finding: Finding) -> str:
    texts = (("expected", finding.expected), ("found", finding.actual))
    beside = ", ".join(f"{name} {text}" for name, text in texts if text)
    return f"{finding.rule} {finding.message}" + (f" ({beside})" if beside else "")


def _times(of: Submission) -> list[float]:
    """When each run began."""
    return [case.evidence.completion.started for case in of.results if case.evidence.completion]


def _differences(
    asked: sample.Challenge, whole: Submission, answer: Submission
) -> Iterator[tuple[str, tuple[str, str]]]:
    """Between what the nodes recorded of the drawn rows."""
    lines = {row.cell.line for row in whole.rows if str(row.cell) in asked.cells}
    old, new = (
        grouped(
            dict.fromkeys(
                fact
                for case in side.results
                if (case.run.target, case.run.launch, case.run.files) in lines
                for fact in _facts(case)
            )
        )
        for side in (whole, answer)
    )
    for key in {**old, **new}:
        first, second = old.get(key, []), new.get(key, [])
        if not second or set(second) - set(first):
            yield key, (listed(first) or "none", listed(second) or "none")
    ends = Counter(attempt.state for attempt in answer.attempts if attempt.state not in bundle.NOT_MEASURED)
    del ends[State.DONE]
    if ends:
        yield "attempts", ("each run once", ", ".join(f"{count} {state}" for state, count in ends.items()))


def _facts(case: Case) -> Iterator[tuple[str, str]]:
    """What decides a result besides the settings."""
    environment = case.evidence.environment
    facts = {
        f"mount.{case.run.target}": environment.values("mount.type"),
        "slurm.partition": [environment.variables.get("SLURM_JOB_PARTITION", "")],
        "binary": [text[:SHORT] for text in (*environment.values("executable.sha256"), case.seen.binary_sha256 or "")],
        **{
            name: [text.rpartition(" ")[2][:SHORT] for text in environment.values(name)]
            for name in environment.under("library.")
        },
        **{f"variable.{name}": [environment.told(name)] for name in system.tuning(environment)},
        **{f"preload.{name}": [text] for name, text in attested.preloads(case)},
    }
    yield from ((key, text) for key, texts in facts.items() for text in texts if text)


# --- the cells


def judged(
    asked: sample.Challenge,
    whole: Submission,
    answer: Submission,
    found: Sequence[Finding],
    changed: Differences,
    buyer: Buyer,
) -> SampleOutcome:
    """Decide on what was measured. `found`: findings about its bundle. `changed`: its settings."""
    asked = replace(asked, design=replace(asked.design, limit=buyer.limit or asked.design.limit))
    differing = {**dict(_differences(asked, whole, answer)), **changed}
    offers = sample.offer_of(whole, "the bundle"), sample.offer_of(answer, "the sample")
    why = {
        row.cell: "; ".join([_said(each) for each in row.findings if each.blocks] or [row.note]) for row in answer.rows
    }
    comparison, more = decided(asked, offers, buyer, why)
    return SampleOutcome(
        asked,
        comparison,
        tuple(dict.fromkeys(_objections(asked, whole, answer, found)))[:MOST_OBJECTIONS],
        {key: both for key, both in differing.items() if buyer.allows(key)},
        {key: both for key, both in differing.items() if not buyer.allows(key)},
        more,
    )


def decided(
    asked: sample.Challenge, offers: Sequence[Offer], buyer: Buyer, why: Mapping[Cell, str]
) -> tuple[OfferComparison, int]:
    """The drawn cells of bundle and sample, each with its verdict, and how many further repetitions would decide on
    all of them. `why`: what is known of a cell that was not measured, or is invalid.
    """
    comparison = compare(offers, Terms(asked.design.limit, buyer.reported, not buyer.reported))
    cells = [cell for cell in comparison.cells[0] if str(cell.cell) in asked.cells]
    noises, least = sample.noises(offers[0]), asked.design.repetitions
    fewest = min((number for cell in cells if (number := _repetitions(cell))), default=least)
    excess = 0.0 if buyer.reported else _excess(cells, noises, fewest / least)
    column = tuple(_decided(asked, cell, noises[cell.cell], excess, buyer, why.get(cell.cell, "")) for cell in cells)
    return replace(comparison, cells=(column,)), max(0, least - fewest, math.ceil(excess * least) - fewest)


def _repetitions(cell: CellComparison) -> int:
    return len(cell.second.repeated) if cell.second and cell.reported else 0


def _excess(cells: Sequence[CellComparison], noises: Mapping[Cell, designs.Noise], times: float) -> float:
    """The variance of the sample's repetitions, relative to what the design assumed, if they are too few for it;
    otherwise 0. `times`: how many they are, relative to the design's.
    """
    known = [(cell.second.repeated, noises[cell.cell].sigma) for cell in cells if cell.ratio and cell.second]
    freedom = sum(len(values) - 1 for values, _ in known)
    if not freedom:
        return 0.0
    excess = sum(sample.squares(values) / sigma**2 for values, sigma in known) / freedom
    return excess if designs.more_noise(excess / times, freedom) else 0.0


def _decided(
    asked: sample.Challenge, cell: CellComparison, noise: designs.Noise, excess: float, buyer: Buyer, why: str
) -> CellComparison:
    number, least, ceiling = _repetitions(cell), asked.design.repetitions, asked.design.ceiling(noise)
    ratio = cell.reported if buyer.reported else cell.ratio
    better = 1 / ratio if ratio and cell.best == "lowest" else ratio
    question = ""
    if cell.verdict in (CellVerdict.NONE, CellVerdict.UNTOLD) or not better:
        question = f"{cell.second.status if cell.second else cell.reason}: {why}".rstrip(": ")
    elif number < least:
        question = f"{number} of {several(least, 'repetition')}"
    elif excess:
        question = f"repetitions vary by {math.sqrt(excess) * noise.sigma:.1%}; the design assumed {noise.sigma:.1%}"
    elif better > ceiling and not buyer.allows(FASTER):
        texts = apart(better, ceiling)
        question = f"{texts[0]} times the bundle's; noise explains up to {texts[1]} (--allow {FASTER})"
    if question:
        return replace(cell, verdict=CellVerdict.UNDECIDED, reason=question, fails=True)
    return replace(cell, verdict=CellVerdict.REJECTED if cell.fails else CellVerdict.ACCEPTED)


# --- in words


def told(accepted: SampleOutcome) -> Iterator[str]:
    """What is not about a cell."""
    for words, differences in (("allowed", accepted.allowed), ("not allowed (--allow KEY)", accepted.open)):
        for key, (old, new) in differences.items():
            yield f"{words}: {key}: {old} in the bundle, {new} in the sample"
    yield from (f"not a valid sample: {each}" for each in accepted.objections)


def decision_of(accepted: SampleOutcome, bundle: str, file: str) -> DecisionBlock:
    """For the buyer. `bundle`, `file`: as they are typed."""
    objections, comparison, asked = accepted.objections, accepted.comparison, accepted.challenge
    cells = sorted(comparison.cells[0], key=lambda cell: list(EXIT_STATUS).index(cell.verdict), reverse=True)
    counts = ", ".join(f"{number} {word}" for word, number in Counter(cell.verdict for cell in cells).items())
    number = f"{counts} of {several(len(cells), 'drawn result')}"
    _, kind, may, may_not = _MEANT[accepted.outcome]
    if objections:
        may, may_not = "nothing: this is no measurement of the drawn sample.", _MEANT[CellVerdict.UNDECIDED][-1]
    by_means = comparison.terms is not None and comparison.terms.means
    return DecisionBlock(
        accepted.outcome.upper(),
        (bundle.rpartition("/")[2], file.rpartition("/")[2], f"seed {asked.seed}"),
        (
            Question("measured", "NO" if objections else "yes", "; ".join(objections) or "anew, after the bundle"),
            _conditions(accepted),
            Question(
                "results",
                _MEANT[cells[0].verdict][0],
                f"{number}: {cells[0].cell}: {cells[0].reason}" if cells[0].reason else number,
            ),
            *(sample.chances(asked, comparison.offers[0]) if by_means else ()),
        ),
        may,
        may_not,
        tuple(_steps(accepted, cells, bundle, file)),
        kind,
    )


_MEANT = {
    CellVerdict.ACCEPTED: (
        "yes",
        Compliance.COMPLIES,
        "the system reaches the drawn results.",
        "that it reaches the results that were not drawn.",
    ),
    CellVerdict.REJECTED: (
        "NO",
        Compliance.BROKEN,
        "the system does not reach the bundle's results.",
        "why: a fault, other settings and an inflated offer look alike.",
    ),
    CellVerdict.UNDECIDED: (
        "open",
        Compliance.UNCHECKED,
        "nothing yet.",
        "that the system reaches the bundle's results, or that it does not.",
    ),
}


def _conditions(accepted: SampleOutcome) -> Question:
    """Whether bundle and sample were measured on the same, with the same settings."""
    differing = accepted.open or accepted.allowed
    said = "; ".join(f"{key}: {old} in the bundle, {new} in the sample" for key, (old, new) in differing.items())
    answer = "open" if accepted.open else "allowed" if differing else "same"
    return Question("conditions", answer, said or "settings, programs, libraries and file system")


def _steps(accepted: SampleOutcome, cells: Sequence[CellComparison], bundle: str, file: str) -> Iterator[Step]:
    again = f"campaign accept {bundle} {file}"
    draw = f"campaign sample {bundle} --seed NEW -o NEW.yaml"
    if accepted.objections:
        yield Step(YOU, draw)
    elif accepted.open:
        yield Step(YOU, f"if you accept the differences: {again} {' '.join(f'--allow {key}' for key in accepted.open)}")
    elif accepted.further:
        yield Step(YOU, f"{again} --further; campaign run {file}")
    elif accepted.outcome is CellVerdict.REJECTED:
        yield Step(VENDOR, "find why the installed system is slower, and mend it")
        yield Step(YOU, draw)
    elif accepted.outcome is CellVerdict.ACCEPTED:
        yield Step(YOU, "enter the sample in your terms, under `shown`")
    elif cells[0].reported is None:
        yield Step(YOU, f"mend what made runs fail; campaign run {file}; {again}")
    else:
        yield Step(VENDOR, "explain why the results are faster than noise allows")
        yield Step(YOU, f"if you accept that: {again} --allow {FASTER}")
