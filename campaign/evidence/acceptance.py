"""Decides an acceptance by sample: the drawn cells, measured again, against those of the bundle.

The sample is verified like a bundle: one made from the bundle's own logs is refused. It has to be measured with the
vendor's settings on what the bundle was measured on, unless the buyer allows a difference.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path

from campaign.config.definition import open_campaign
from campaign.core import temporary
from campaign.core.errors import INCOMPLETE, OK, InputError, typed_path
from campaign.core.findings import Finding
from campaign.core.grouping import grouped
from campaign.core.runs import Cell, State
from campaign.core.units import distinct_digits, listing, plural, utc
from campaign.evidence import bundle, sample, verify
from campaign.evidence.bundle_decision import NOT_FULLY_CHECKED
from campaign.judge.campaign_jobs import unique_values
from campaign.judge.engine import BUNDLE_RULES
from campaign.judge.inputs import tuning_variables
from campaign.judge.loaded_code import preloaded_libraries
from campaign.judge.submission import RECORDS, Submission
from campaign.pipeline import campaign_state
from campaign.report.compare.comparison import CellComparison, CellVerdict, OfferComparison, Terms
from campaign.report.compare.offers import Offer
from campaign.report.compare.verdicts import compare
from campaign.report.decision import VENDOR, YOU, Compliance, DecisionBlock, Mark, Question, Step
from campaign.report.rfp_response import part_questions
from campaign.results.case import Case
from campaign.results.environment.facts import SHORT
from campaign.results.store import is_begun
from campaign.statistics import designs
from campaign.statistics.intervals import BREAK_S
from campaign.statistics.offer_noise import Model, Repetitions

MOST_OBJECTIONS = 8
FILE_KEYS = re.compile(r"inputs\.\d+\.path|rules")  # files that have to be the same, wherever they are
FASTER = "faster"  # the word by which the buyer allows a cell that is faster than noise explains
EXIT_STATUS = {
    CellVerdict.ACCEPTED: OK,
    CellVerdict.REJECTED: INCOMPLETE,
    CellVerdict.UNDECIDED: NOT_FULLY_CHECKED,
}


@dataclass(frozen=True, slots=True)
class AcceptanceOptions:
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
    def verdict(self) -> CellVerdict:
        if self.objections:
            return CellVerdict.REJECTED
        verdicts = {CellVerdict.UNDECIDED} if self.open else {cell.verdict for cell in self.comparison.cells[0]}
        return worst_verdict(verdicts)


def worst_verdict(verdicts: Iterable[CellVerdict]) -> CellVerdict:
    return min(verdicts, key=list(_MEANING).index, default=CellVerdict.ACCEPTED)


def accept(
    file: Path, submission: Submission, head: str, options: AcceptanceOptions, say: campaign_state.Say
) -> SampleOutcome:
    """Compare the drawn cells of a bundle with the measured sample. Raises InputError if they do not belong together,
    or if nothing was measured.
    """
    challenge = sample.read_challenge(file)
    if challenge.head != head:
        raise InputError(f"{file}: drawn from another bundle (the journal heads differ)")
    offer = sample.offer_of(submission, "the bundle")
    if list(challenge.cells) != sample.draw_cells(offer, challenge.design.cells, challenge.seed):
        raise InputError(f"{file}: its cells are not those that seed {challenge.seed} draws")
    changed_settings = _changed_settings(challenge, file, submission)
    definition = open_campaign(file)
    if definition.pack.digest != submission.pack.digest:
        raise InputError(
            f"{file}: rules: {definition.pack.path} differs from the pack of the bundle: SHA-256 "
            f"{definition.pack.digest}, expected {submission.pack.digest}"
        )
    if not is_begun(definition.paths):
        raise InputError(f"{file}: not measured yet; run it on the installed system: 'campaign run {typed_path(file)}'")
    with temporary.directory("campaign-accept.") as folder:
        answer = folder / "answer"
        bundle.write({"": bundle.open_part_record(file, say)}, answer, None)
        with verify.verify(answer, verify.Buyer(nonce=challenge.nonce)) as verified:
            if verified.evaluation is None:
                raise InputError(f"{file}: the sample cannot be re-evaluated", *map(_finding_text, verified.findings))
            measured = verified.evaluation.submission, verified.findings, changed_settings
            return decide_sample(challenge, submission, *measured, options)


def extended_challenge(outcome: SampleOutcome, file: Path) -> str:
    """The challenge, as it was measured, with the repetitions that would decide."""
    challenge = sample.read_challenge(file)
    extended = replace(challenge, repetitions=challenge.repetitions + outcome.further)
    return sample.challenge_text(extended, {**sample.read_settings(file), "repetitions": extended.repetitions})


def _changed_settings(challenge: sample.Challenge, file: Path, submission: Submission) -> Differences:
    """The settings that differ from those of the challenge. Raises InputError if they do not describe the machine."""
    drawn_settings = sample.challenge_settings(challenge, submission)
    old, new = map(sample.flatten_settings, (drawn_settings, sample.read_settings(file)))
    keys = [key for key in {**old, **new} if old.get(key) != new.get(key) and not FILE_KEYS.fullmatch(key)]
    if wrong := [key for key in keys if not sample.is_machine_setting(key)]:
        raise InputError(
            f"{file}: changed after it was drawn: {', '.join(wrong)}; only these keys may be changed for the installed "
            f"system: {', '.join(sample.MACHINE_KEYS)}"
        )
    return {key: (old.get(key, "not set"), new.get(key, "not set")) for key in keys}


# --- whether it is a measurement, and on what


def _objections(
    challenge: sample.Challenge,
    submission: Submission,
    sample_submission: Submission,
    sample_findings: Sequence[Finding],
) -> Iterator[str]:
    """Why the recorded runs are not a measurement for this challenge. `sample_findings`: about the sample's bundle."""
    subjects = {unique_values(case): case.subject for case in submission.results}
    for case in sample_submission.results:
        if (values := unique_values(case)) and values in subjects:
            yield (
                f"{case.subject} has the values of {subjects[values]} in the bundle to the last digit: it was copied, "
                "not measured"
            )
    last, began = max(_start_times(submission), default=0.0), min(_start_times(sample_submission), default=math.inf)
    if began < last:
        yield f"the sample began at {utc(began)}, before the last run of the bundle did ({utc(last)})"
    for row in sample_submission.rows:
        if len(row.values) > challenge.repetitions:
            yield f"{row.cell} has {len(row.values)} valid results; the challenge asks for {challenge.repetitions}"
    for finding in (*sample_findings, *sample_submission.all_findings):
        if finding.violated and finding.rule in RECORDS | BUNDLE_RULES:
            yield _finding_text(finding)


def _finding_text(finding: Finding) -> str:
    texts = (("expected", finding.expected), ("found", finding.actual))
    comparison = ", ".join(f"{name} {text}" for name, text in texts if text)
    return f"{finding.rule} {finding.message}" + (f" ({comparison})" if comparison else "")


def _start_times(submission: Submission) -> list[float]:
    """When each run began, in seconds since 1970."""
    return [case.evidence.completion.started for case in submission.results if case.evidence.completion]


def _recorded_differences(
    challenge: sample.Challenge, submission: Submission, sample_submission: Submission
) -> Iterator[tuple[str, tuple[str, str]]]:
    """Differences between what the nodes recorded in bundle and sample for the rows that were drawn, by key."""
    lines = {row.cell.line for row in submission.rows if str(row.cell) in challenge.cells}
    bundle_facts, sample_facts = (
        grouped(
            dict.fromkeys(
                fact
                for case in measured.results
                if (case.run.target, case.run.launch, case.run.files) in lines
                for fact in _condition_facts(case)
            )
        )
        for measured in (submission, sample_submission)
    )
    for key in {**bundle_facts, **sample_facts}:
        first, second = bundle_facts.get(key, []), sample_facts.get(key, [])
        if not second or set(second) - set(first):
            yield key, (listing(first) or "none", listing(second) or "none")
    ends = Counter(attempt.state for attempt in sample_submission.attempts if attempt.state not in bundle.NOT_MEASURED)
    del ends[State.DONE]
    if ends:
        yield "attempts", ("each run once", ", ".join(f"{count} {state}" for state, count in ends.items()))


def _condition_facts(case: Case) -> Iterator[tuple[str, str]]:
    """What decides a result besides the settings: program, libraries, partition, file system, by key."""
    environment = case.evidence.environment
    facts = {
        f"mount.{case.run.target}": environment.values("mount.type"),
        "slurm.partition": [environment.partition],
        "binary": [
            text[:SHORT] for text in (*environment.values("executable.sha256"), case.observation.binary_sha256 or "")
        ],
        **{
            name: [text.rpartition(" ")[2][:SHORT] for text in environment.values(name)]
            for name in environment.fact_names("library.")
        },
        **{f"variable.{name}": [environment.fact_text(name)] for name in tuning_variables(environment)},
        **{f"preload.{name}": [text] for name, text in preloaded_libraries(case)},
    }
    yield from ((key, text) for key, texts in facts.items() for text in texts if text)


# --- the cells


def decide_sample(
    challenge: sample.Challenge,
    submission: Submission,
    sample_submission: Submission,
    sample_findings: Sequence[Finding],
    changed_settings: Differences,
    options: AcceptanceOptions,
) -> SampleOutcome:
    """The outcome of a sample that was measured and verified. `sample_findings`: about the sample's bundle."""
    challenge = replace(challenge, design=replace(challenge.design, limit=options.limit or challenge.design.limit))
    differences = {**dict(_recorded_differences(challenge, submission, sample_submission)), **changed_settings}
    offers = sample.offer_of(submission, "the bundle"), sample.offer_of(sample_submission, "the sample")
    reasons = {
        row.cell: "; ".join([_finding_text(finding) for finding in row.findings if finding.blocks] or [row.note])
        for row in sample_submission.rows
    }
    comparison, further = decide_cells(challenge, offers, options, reasons)
    return SampleOutcome(
        challenge,
        comparison,
        tuple(dict.fromkeys(_objections(challenge, submission, sample_submission, sample_findings)))[:MOST_OBJECTIONS],
        {key: values for key, values in differences.items() if options.allows(key)},
        {key: values for key, values in differences.items() if not options.allows(key)},
        further,
    )


def decide_cells(
    challenge: sample.Challenge, offers: Sequence[Offer], options: AcceptanceOptions, reasons: Mapping[Cell, str]
) -> tuple[OfferComparison, int]:
    """The drawn cells of bundle and sample, each with its verdict, and how many further repetitions would decide on
    all of them. `reasons`: what is known of a cell that was not measured, or is invalid.
    """
    comparison = compare(offers, Terms(challenge.design.limit, options.reported, not options.reported))
    cells = [cell for cell in comparison.cells[0] if str(cell.cell) in challenge.cells]
    stage = _measured_stage(challenge, offers[0], cells)
    excess = 0.0 if options.reported else stage.excess
    problem, further = "", challenge.repetitions - stage.size.repetitions
    if not (options.reported or options.limit) and not stage.is_decided(challenge):
        lacking = challenge.design.repetitions - challenge.repetitions
        further = max(further, min(challenge.design.stage, lacking) if lacking > 0 else challenge.design.stage)
        is_other_day = stage.size.sessions < challenge.design.sessions
        problem = (
            f"not decided after {stage.size.repetitions} of {plural(challenge.design.repetitions, 'repetition')}, in "
            f"{stage.size.sessions} of {plural(challenge.design.sessions, 'session')}"
        ) + (f"; measure the next ones {BREAK_S / 3600:g} hours later" if is_other_day else "")
    ceilings = challenge.design.ceilings(stage.model)
    column = tuple(
        _decide_cell(
            challenge, cell, stage.model.noises[place].sigma, float(ceilings[place]), excess, options, problem,
            reasons.get(cell.cell, ""),
        )
        for place, cell in zip(stage.places, cells, strict=True)
    )  # fmt: skip
    further = max(further, math.ceil(excess * challenge.design.repetitions) - stage.size.repetitions)
    return replace(comparison, cells=(column,)), further


@dataclass(frozen=True, slots=True)
class _Stage:
    """What was measured of a sample. `places`: of the drawn cells in the model of the bundle's noise; `size`: the
    repetitions and sessions that each has; `ratios`: logarithms of those that are known, by place; `excess`: the
    variance of the repetitions relative to what the design assumed, if they are too few for it, otherwise 0.
    """

    model: Model
    places: tuple[int, ...]
    size: designs.Design
    ratios: Mapping[int, float]
    excess: float

    def is_decided(self, challenge: sample.Challenge) -> bool:
        """Whether the design's rule decides on the results that are known."""
        if not self.ratios:
            return True
        places, ratios = [*self.ratios], [[*self.ratios.values()]]
        decisions = designs.decisions(self.model, challenge.aims, challenge.design, self.size, places, ratios)
        return any(decision[0] for decision in decisions)


def _measured_stage(challenge: sample.Challenge, first: Offer, cells: Sequence[CellComparison]) -> _Stage:
    model, comparable = sample.noise_model(first), sample.comparable_cells(first)
    places = [place for place, entry in enumerate(comparable) if str(entry.cell) in challenge.cells]
    measured = {place: cell for place, cell in zip(places, cells, strict=True) if cell.ratio and cell.second}
    repeated = sample.cell_repetitions([cell.second for cell in measured.values() if cell.second])
    counts = [number for cell in cells if (number := _repetition_count(cell))]
    sessions = [len(set(repetitions.sessions)) for repetitions in repeated]
    size = replace(
        challenge.design,
        repetitions=min(counts, default=challenge.repetitions),
        sessions=min(sessions, default=1),
    )
    ratios = {
        place: math.log(cell.ratio) * (-1 if cell.best == "lowest" else 1)
        for place, cell in measured.items()
        if cell.ratio
    }
    assumed = [model.noises[place].sigma for place in measured]
    return _Stage(model, tuple(places), size, ratios, _excess_variance(challenge, repeated, assumed, size.repetitions))


def _repetition_count(cell: CellComparison) -> int:
    return len(cell.second.repeated) if cell.second and cell.reported_ratio else 0


def _excess_variance(
    challenge: sample.Challenge, repeated: Sequence[Repetitions], assumed: Sequence[float], fewest: int
) -> float:
    freedom = sum(repetitions.freedom for repetitions in repeated)
    if not freedom:
        return 0.0
    squares = (
        residual**2 / sigma**2
        for repetitions, sigma in zip(repeated, assumed, strict=True)
        for residual in repetitions.residuals
    )
    excess = sum(squares) / freedom
    return excess if designs.is_noisier(excess / max(1, fewest / challenge.design.repetitions), freedom) else 0.0


def _decide_cell(
    challenge: sample.Challenge,
    cell: CellComparison,
    sigma: float,
    ceiling: float,
    excess: float,
    options: AcceptanceOptions,
    open_stage: str,
    reason: str,
) -> CellComparison:
    """The cell with its verdict. `sigma`: the assumed noise; `open_stage`: why the sample is not decided yet; `reason`:
    why the cell has no valid value.
    """
    repetitions, minimum = _repetition_count(cell), challenge.repetitions
    ratio = cell.reported_ratio if options.reported else cell.ratio
    better = 1 / ratio if ratio and cell.best == "lowest" else ratio
    problem = open_stage
    if cell.verdict in (CellVerdict.NONE, CellVerdict.UNTOLD) or not better:
        problem = f"{cell.second.status if cell.second else cell.reason}: {reason}".rstrip(": ")
    elif repetitions < minimum:
        problem = f"{repetitions} of {plural(minimum, 'repetition')}"
    elif excess:
        problem = f"repetitions vary by {math.sqrt(excess) * sigma:.1%}; the design assumed {sigma:.1%}"
    elif better > ceiling and not options.allows(FASTER):
        texts = distinct_digits(better, ceiling)
        problem = f"{texts[0]} times the bundle's; noise explains up to {texts[1]} (--allow {FASTER})"
    if problem:
        return replace(cell, verdict=CellVerdict.UNDECIDED, reason=problem, fails=True)
    return replace(cell, verdict=CellVerdict.REJECTED if cell.fails else CellVerdict.ACCEPTED)


# --- in words


def condition_texts(outcome: SampleOutcome) -> Iterator[str]:
    """Lines about the sample in total: differences between its conditions and the bundle's, and objections."""
    for words, differences in (("allowed", outcome.allowed), ("not allowed (--allow KEY)", outcome.open)):
        for key, (old, new) in differences.items():
            yield f"{words}: {key}: {old} in the bundle, {new} in the sample"
    yield from (f"not a valid sample: {objection}" for objection in outcome.objections)


def parts_decision(
    outcomes: Mapping[str, SampleOutcome], blocks: Mapping[str, DecisionBlock], bundle: str, file: str
) -> DecisionBlock:
    """The buyer's decision on the samples of all parts, from those on each: that on the worst."""
    order = sorted(outcomes, key=lambda part: list(_MEANING).index(outcomes[part].verdict))
    worst = blocks[order[0]]
    names = bundle.rpartition("/")[2], file.rpartition("/")[2]
    questions = part_questions({part: blocks[part] for part in order})
    return DecisionBlock(worst.headline, names, tuple(questions), worst.may, worst.may_not, worst.steps, worst.kind)


def acceptance_decision(outcome: SampleOutcome, bundle: str, file: str) -> DecisionBlock:
    """The buyer's decision on a measured sample. `bundle`, `file`: as they are typed in commands."""
    objections, comparison, challenge = outcome.objections, outcome.comparison, outcome.challenge
    cells = sorted(comparison.cells[0], key=lambda cell: list(EXIT_STATUS).index(cell.verdict), reverse=True)
    _, kind, may, may_not = _MEANING[outcome.verdict]
    if objections:
        may, may_not = "This is not a measurement of the drawn sample.", _MEANING[CellVerdict.UNDECIDED][-1]
    by_means = comparison.terms is not None and comparison.terms.by_means
    return DecisionBlock(
        outcome.verdict.upper(),
        (bundle.rpartition("/")[2], file.rpartition("/")[2], f"seed {challenge.seed}"),
        (
            _measured_question(objections),
            _conditions(outcome),
            _results_question(cells),
            *(sample.error_rate_questions(challenge, comparison.offers[0]) if by_means else ()),
        ),
        may,
        may_not,
        tuple(_steps(outcome, cells, bundle, file)),
        kind,
    )


_MEANING = {  # the worst first
    CellVerdict.REJECTED: (
        ("NO", Mark.BAD),
        Compliance.BROKEN,
        "The system does not reach the bundle's results.",
        "This does not show why: a fault, other settings and an inflated offer look the same.",
    ),
    CellVerdict.UNDECIDED: (
        ("open", Mark.OPEN),
        Compliance.UNCHECKED,
        "Nothing is decided yet.",
        "This does not show whether the system reaches the bundle's results.",
    ),
    CellVerdict.ACCEPTED: (
        ("yes", Mark.OK),
        Compliance.COMPLIES,
        "The system reaches the drawn results.",
        "This does not show that it reaches the results that were not drawn.",
    ),
}


def _measured_question(objections: Sequence[str]) -> Question:
    """Whether the sample was measured, and not made from the bundle."""
    if not objections:
        return Question("measured", "yes", "The sample was measured after the bundle.", Mark.OK)
    further = f" (1 of {plural(len(objections), 'objection')})" if len(objections) > 1 else ""
    return Question("measured", "NO", f"Not a valid sample: {objections[0]}{further}.", Mark.BAD)


def _results_question(cells: Sequence[CellComparison]) -> Question:
    """How many cells have the worst verdict, and why the first, which has it."""
    verdict = cells[0].verdict
    (answer, mark), *_ = _MEANING[verdict]
    number = sum(cell.verdict is verdict for cell in cells)
    text = f"{number} of {plural(len(cells), 'drawn result')} {'is' if number == 1 else 'are'} {verdict}"
    first = f": {cells[0].cell} ({cells[0].reason})" if cells[0].reason else ""
    return Question("results", answer, f"{text}{first}.", mark)


def _conditions(outcome: SampleOutcome) -> Question:
    """Whether bundle and sample were measured on the same system, with the same settings."""
    differences = outcome.open or outcome.allowed
    if not differences:
        text = "Settings, programs, libraries and file system are those of the bundle."
        return Question("conditions", "same", text, Mark.OK)
    number = plural(len(differences), "difference")
    listed = "; ".join(f"{key} is {old} in the bundle, {new} in the sample" for key, (old, new) in differences.items())
    if outcome.open:
        return Question("conditions", "open", f"{number} from the bundle: {listed}.", Mark.OPEN)
    return Question("conditions", "allowed", f"{number} from the bundle, which you allow: {listed}.", Mark.OK)


def _steps(outcome: SampleOutcome, cells: Sequence[CellComparison], bundle: str, file: str) -> Iterator[Step]:
    accept_command = f"campaign accept {bundle} {file}"
    sample_command = f"campaign sample {bundle} --seed NEW -o NEW.yaml"
    if outcome.objections:
        yield Step(YOU, sample_command)
    elif outcome.open:
        allowed = " ".join(f"--allow {key}" for key in outcome.open)
        yield Step(YOU, f"If you accept the differences: {accept_command} {allowed}")
    elif outcome.further:
        yield Step(YOU, f"{accept_command} --further")
        yield Step(YOU, f"campaign run {file}")
    elif outcome.verdict is CellVerdict.REJECTED:
        yield Step(VENDOR, "Find and fix the cause of the shortfall.")
        yield Step(YOU, sample_command)
    elif outcome.verdict is CellVerdict.ACCEPTED:
        yield Step(YOU, "Enter the sample in your terms, under `shown`.")
    elif cells[0].reported_ratio is None:
        yield Step(YOU, f"Fix the cause of failed runs, then run: campaign run {file}")
        yield Step(YOU, accept_command)
    else:
        yield Step(VENDOR, "Explain why the results are faster than noise explains.")
        yield Step(YOU, f"If you accept that: {accept_command} --allow {FASTER}")
