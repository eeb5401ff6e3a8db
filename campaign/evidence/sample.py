"""Acceptance by sample: the buyer draws cells of a bundle, and has them measured again on the installed system.

Logs can be invented, a system cannot. A challenge is a campaign file with the vendor's settings that declines every row
of the table that was not drawn, and measures below its own folder. Its first line has the design of the sample, and its
nonce the hash of that. Cells are drawn by a seed, so that both sides get the same ones.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import math
import random
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from campaign.config.values import parse_percent
from campaign.core import decode
from campaign.core.errors import InputError
from campaign.core.runs import Status
from campaign.core.strict_yaml import Document, plain, quoted
from campaign.core.units import plural
from campaign.judge.submission import Submission
from campaign.report.compare import offers
from campaign.report.decision import SAMPLE, YOU, DecisionBlock, Mark, Question, Step
from campaign.statistics import designs, intervals, offer_noise
from campaign.statistics.offer_noise import Model

FORMAT = 3
# Keys of a campaign file that describe the machine.
MACHINE_KEYS = ("slurm", "launcher", "targets", "benchmark")
MOST_REPETITIONS = 1000  # as a campaign file may have
INFLATIONS = (0.2, 0.25, 0.3, 0.4, 0.5, 0.75, 1.0, 2.0, 5.0)  # that are tried in place of one that cannot be shown
FEW_REPETITIONS = 3  # repetitions of a sample that cannot keep the aims, but show its noise
UNKNOWN_NOISE = (0.2, 1.0, 2.0)  # times the assumed one, if the bundle has too few repetitions
DAYS = (0.0, 0.03, 0.05)  # by which days may differ, for which the error rates are printed


@dataclass(frozen=True, slots=True)
class Challenge:
    """The sample of a bundle. `repetitions`: how often the drawn cells are measured, which is the design's unless more
    turned out to be needed.
    """

    format: int
    head: str  # of the bundle's journal
    seed: str
    aims: designs.Aims
    design: designs.Design
    repetitions: int
    cells: tuple[str, ...]

    @property
    def nonce(self) -> str:
        decided = decode.dumps(replace(self, repetitions=0, cells=()))
        return f"sample-{self.seed}-{hashlib.sha256(decided.encode()).hexdigest()[:8]}"


def parse_aims(honest: str, catch: str) -> designs.Aims:
    """The aims of a sample, from the words of its options: `5%`, and `15%,25%,90%`. Raises InputError."""
    chance = parse_percent(0.1, 99.9)
    try:
        inflation, share, power = catch.split(",")
        return designs.Aims(
            chance(honest), parse_percent(0.1, 900)(inflation), parse_percent(0.1, 100)(share), chance(power)
        )
    except ValueError as error:
        raise InputError(
            f"--honest {quoted(honest)}, --catch {quoted(catch)}: allowed: percentages from 0.1% to 900%, all but the "
            "inflation below 100% (a share: up to 100%), as in --honest 5% --catch 15%,25%,90% (inflation, share, "
            "power)"
        ) from error


# --- the design


def offer_of(submission: Submission, name: str) -> offers.Offer:
    return offers.parse_offer(name, [row.as_json() for row in submission.rows])


def sampled_offers(submissions: Mapping[str, Submission], name: str) -> dict[str, offers.Offer]:
    """The offer of each part from which a sample can be drawn; all parts if there is none of these."""
    parts = {part: offer_of(submission, name) for part, submission in submissions.items()}
    return {part: offer for part, offer in parts.items() if comparable_cells(offer)} or parts


def aims_of_part(aims: designs.Aims, parts: int) -> designs.Aims:
    """The aims of each of so many samples with which all together reject as many honest vendors as are allowed."""
    return replace(aims, honest=round(1 - (1 - aims.honest) ** (1 / parts), 12))


def comparable_cells(offer: offers.Offer) -> list[offers.OfferedCell]:
    """The measured cells whose values are positive, so that ratios can be formed."""
    return [
        cell
        for cell in offer.entries.values()
        if cell.status is Status.MEASURED and min(cell.repeated, default=0.0) > 0
    ]


def draw_cells(offer: offers.Offer, count: int, seed: str) -> list[str]:
    """Draw this many measured cells, each with the same chance. Raises InputError if there are too few."""
    cells = sorted(str(cell.cell) for cell in comparable_cells(offer))
    if not 1 <= count <= len(cells):
        raise InputError(f"--cells {count}: allowed: 1 to {len(cells)} (the number of measured results)")
    chance = random.Random(hashlib.sha256(f"campaign sample {seed}".encode()).digest())
    names = sorted(cells, key=lambda _: chance.random())[:count]  # the same in every version of Python
    return [name for name in map(str, offer.entries) if name in names]


def noise_model(offer: offers.Offer) -> Model:
    """The noise of the measured cells."""
    return offer_noise.estimate_noise(cell_repetitions(comparable_cells(offer)))


def cell_repetitions(cells: Sequence[offers.OfferedCell]) -> list[offer_noise.Repetitions]:
    """The repetitions of each cell in their sessions; all are of one, if it is not known when they were measured."""
    starts = {start for cell in cells for start in cell.started}
    session_of = dict(zip(starts, intervals.session_numbers([*starts]), strict=True))
    return [
        offer_noise.Repetitions(
            tuple(math.log(value) for value in cell.repeated),
            tuple(session_of[start] for start in cell.started) or (0,) * len(cell.repeated),
            cell.cell.target,
            (cell.cell.target, cell.cell.operation),
        )
        for cell in cells
    ]


def design_challenge(offer: offers.Offer, head: str, seed: str, aims: designs.Aims, fixed: designs.Design) -> Challenge:
    """The challenge that keeps the aims, or that the buyer insists on. Raises InputError if none does."""
    if not re.fullmatch(r"[A-Za-z0-9._-]{1,64}", seed):
        raise InputError(f"--seed {quoted(seed[:80])}: allowed: up to 64 letters, digits and . _ -")
    if not 0 <= fixed.repetitions <= MOST_REPETITIONS:
        raise InputError(f"--repetitions {fixed.repetitions}: allowed: 1 to {MOST_REPETITIONS}")
    most_sessions = fixed.repetitions or max(designs.REPETITIONS)
    if not 0 <= fixed.sessions <= most_sessions:
        raise InputError(f"--sessions {fixed.sessions}: allowed: 1 to {most_sessions}")
    draw_cells(offer, fixed.cells or 1, seed)
    model = noise_model(offer)
    design, keeps_aims = designs.design(model, aims, fixed)
    if not keeps_aims and fixed == designs.OPEN:
        raise InputError(_unreachable_message(model, aims))
    if not keeps_aims and not fixed.repetitions:  # the nearest one would have very many
        few = replace(fixed, repetitions=FEW_REPETITIONS, sessions=fixed.sessions or 1)
        design, _ = designs.design(model, aims, few)
    # What the buyer insists on is measured in as few stages as possible.
    repetitions = math.ceil(design.repetitions / design.sessions) if fixed.repetitions else design.stage
    return Challenge(FORMAT, head, seed, aims, design, repetitions, tuple(draw_cells(offer, design.cells, seed)))


def _unreachable_message(model: Model, aims: designs.Aims) -> str:
    """Why no sample keeps the aims, and what one does."""
    fewest = plural(min(noise.repetitions for noise in model.noises), "repetition")
    alternative = "no larger inflation that was tried is shown either"
    for larger in (replace(aims, inflation=inflation) for inflation in INFLATIONS if inflation > aims.inflation):
        design, keeps_aims = designs.design(model, larger)
        if keeps_aims:
            size = f"{design.cells} cells, {size_text(design)}, limit {design.limit:g}"
            alternative = f"reached: --catch {_catch_text(larger)} ({size})"
            break
    return (
        f"no sample of the {plural(len(model.noises), 'measured result')} keeps --honest {100 * aims.honest:g}% and "
        f"--catch {_catch_text(aims)} at a noise of {_noise_range(model)} with {fewest} in the bundle, if days differ "
        f"by {model.day:.0%}; {alternative}; a bundle with more repetitions in several sessions reaches more; or "
        "insist on a sample with --cells, --repetitions or --at-least, whose true error rates are then printed"
    )


def size_text(design: designs.Design) -> str:
    sessions = f" in {design.sessions} sessions on different days" if design.sessions > 1 else ""
    return f"{plural(design.repetitions, 'repetition')} each{sessions}"


def _catch_text(aims: designs.Aims) -> str:
    return ",".join(f"{100 * part:g}%" for part in (aims.inflation, aims.share, aims.power))


def _noise_range(model: Model) -> str:
    ends = dict.fromkeys(f"{100 * end(noise.sigma for noise in model.noises):.1f}%" for end in (min, max))
    return " to ".join(ends)


def error_rate_questions(challenge: Challenge, offer: offers.Offer) -> Iterator[Question]:
    """The true error rates of a sample, and whether they are those that were asked for."""
    model, aims = noise_model(offer), challenge.aims
    rejected, caught = _error_rates(challenge, model)
    yield _honest_question(rejected, aims)
    vendors = f"vendors who inflate {100 * aims.share:g}% of their results by {100 * aims.inflation:g}%"
    text = f"Detection: {_range_text(caught)} of {vendors} (required: {100 * aims.power:g}%)."
    yield Question("inflated", *_rated(min(caught) >= aims.power, text))
    source = "as the bundle's sessions show" if model.is_day_known else "an assumption: the bundle has one session"
    other_days = (
        f"At {day:.0%}: {_range_text(other_rejected)} and {_range_text(other_caught)}."
        for day in DAYS
        if f"{day:.0%}" != f"{model.day:.0%}"
        for other_rejected, other_caught in [_error_rates(challenge, replace(model, day=day))]
    )
    text = " ".join([f"The rates assume that days differ by {model.day:.1%}, {source}.", *other_days])
    yield Question("days", *(("known", text, Mark.OK) if model.is_day_known else ("assumed", text, Mark.OPEN)))


def _error_rates(challenge: Challenge, model: Model) -> tuple[list[float], list[float]]:
    """How probably an honest vendor is rejected at most, and an inflating one at least, with each noise that the bundle
    may have.
    """
    factors = (1.0,) if model.is_known else UNKNOWN_NOISE
    noises = [tuple(replace(noise, sigma=factor * noise.sigma) for noise in model.noises) for factor in factors]
    rates = [
        designs.outcome_probabilities(replace(model, noises=cell_noises), challenge.aims, challenge.design)
        for cell_noises in noises
    ]
    return [rejected for rejected, _, _ in rates], [caught for _, _, caught in rates]


def _range_text(rates: Sequence[float]) -> str:
    return " to ".join(dict.fromkeys(f"{max(0.0, end(rates)):.1%}" for end in (min, max)))


def _honest_question(rejected: Sequence[float], aims: designs.Aims) -> Question:
    text = f"False rejections: {_range_text(rejected)} of honest vendors (limit: {100 * aims.honest:g}%)."
    return Question("honest", *_rated(max(rejected) <= aims.honest, text))


def _rated(is_kept: bool, text: str) -> tuple[str, str, Mark]:
    """The answer, sentences and mark for an error rate."""
    return ("yes", text, Mark.OK) if is_kept else ("NO", f"{text} Use more repetitions.", Mark.BAD)


def parts_decision(
    challenges: Mapping[str, Challenge],
    parts: Mapping[str, offers.Offer],
    aims: designs.Aims,
    files: Iterable[str],
    bundle: str,
    file: str,
) -> DecisionBlock:
    """The buyer's decision before the samples of several parts are measured. `aims`: of all parts together; `files`: of
    each part.
    """
    passing, questions = [1.0, 1.0], []
    for part, challenge in challenges.items():
        model, design = noise_model(parts[part]), challenge.design
        rejected, _ = _error_rates(challenge, model)
        passing = [passed * (1 - end(rejected)) for passed, end in zip(passing, (min, max), strict=True)]
        questions.append(replace(_size_question(design, len(model.noises), f" of {part}"), name=part))
    return DecisionBlock(
        "SAMPLES DRAWN",
        (bundle.rpartition("/")[2], file.rpartition("/")[2]),
        (*questions, _honest_question([1 - passed for passed in passing], aims)),
        *_CONCLUSIONS,
        (*(Step(YOU, f"campaign run {name}") for name in files), Step(YOU, f"campaign accept {bundle} {file}")),
    )


_CONCLUSIONS = (
    "Nothing has been measured again yet.",
    "Less inflation, or inflation of fewer results, may remain undetected.",
)


def _size_question(design: designs.Design, total: int, place: str = "") -> Question:
    verb = "is" if design.cells == 1 else "are"
    number = f"{design.cells} of {total}"
    return Question("size", number, f"{number} results{place} {verb} drawn, with {size_text(design)}.", Mark.OK)


def sample_decision(challenge: Challenge, offer: offers.Offer, bundle: str, file: str) -> DecisionBlock:
    """The buyer's decision before the sample is measured. `bundle`, `file`: as they are typed in commands."""
    model, design = noise_model(offer), challenge.design
    answer, source, mark = "known", "as the bundle's repetitions show", Mark.OK
    if not model.is_known:
        factors = f"the rates hold for {min(UNKNOWN_NOISE):g} to {max(UNKNOWN_NOISE):g} times of it"
        answer, source, mark = (
            "assumed",
            f"an assumption: the bundle has too few repetitions, so {factors}",
            Mark.OPEN,
        )
    return DecisionBlock(
        "SAMPLE DRAWN",
        (bundle.rpartition("/")[2], file.rpartition("/")[2], f"seed {challenge.seed}"),
        (
            _size_question(design, len(model.noises)),
            Question(
                "limit",
                f"{design.limit:g}",
                f"A result passes if it reaches {100 * design.limit:g}% of the bundle's value.",
                Mark.OK,
            ),
            *error_rate_questions(challenge, offer),
            Question("noise", answer, f"Repetitions vary by {_noise_range(model)}, {source}.", mark),
        ),
        *_CONCLUSIONS,
        (
            Step(YOU, f"Adapt {file} to the installed system (below)."),
            Step(YOU, f"campaign run {file}"),
            Step(YOU, f"campaign accept {bundle} {file}"),
        ),
    )


def design_remarks(challenge: Challenge, offer: offers.Offer) -> Iterator[str]:
    """Lines about the design that the decision does not have: the power for each class of results."""
    model, design, aims = noise_model(offer), challenge.design, challenge.aims
    undecided = designs.outcome_probabilities(model, aims, design)[1]
    yield f"an honest vendor has to explain results faster than noise with probability {undecided:.3f}"
    classes = [(cell.target, cell.launch, cell.operation) for cell in (entry.cell for entry in comparable_cells(offer))]
    power_by_class = {
        name: designs.outcome_probabilities(
            model, aims, design, [aims.inflation * (name in names) for names in classes]
        )[2]
        for name in dict.fromkeys(itertools.chain(*classes))
    }
    inflated = f"a vendor who inflates all results of a class by {100 * aims.inflation:g}% is detected with probability"
    yield f"{inflated}: {', '.join(f'{name} {p:.2f}' for name, p in power_by_class.items())}"


# --- the challenge's file


def challenge_settings(challenge: Challenge, submission: Submission) -> dict[str, Any]:
    """The content of the challenge's campaign file: the vendor's settings, without what was not drawn."""
    campaign = submission.campaign
    assert campaign.document is not None, "the campaign was read from its file"
    settings: dict[str, Any] = plain(campaign.document.root)
    settings |= {
        "name": f"{campaign.name[:33]}-sample",
        "nonce": challenge.nonce,
        "results": str(Path("results", campaign.part)),  # next to the challenge, wherever the vendor's were
        "repetitions": challenge.repetitions,
    }
    # The reported geometry of each launch condition: nothing is searched for again.
    sizes = {row.cell.launch: row.geometry for row in submission.rows if row.geometry}
    for name in settings.get("launch", {}).keys() & sizes.keys():
        settings["launch"][name] = {"nodes": sizes[name].nodes, "processes": sizes[name].processes}
    for key in ("search", "projections", "explanations", "waivers", "server_counters"):
        settings.pop(key, None)
    hashes = {file.id: file.sha256 for run in submission.runs for file in run.inputs}
    for entry in settings.get("inputs", ()):
        entry["sha256"] = hashes[entry["id"]]  # the vendor may have measured with the file as it was then
    all_lines = {row.cell.line for row in submission.rows}
    drawn_lines = {row.cell.line for row in submission.rows if str(row.cell) in challenge.cells}
    settings["declined"] = [
        {"cells": "/".join((*line, "*")), "reason": "not drawn for the sample"}
        for line in sorted(all_lines - drawn_lines)
    ]
    return settings


def challenge_text(challenge: Challenge, settings: Mapping[str, Any]) -> str:
    """The challenge's file: its design in the first line, then the settings."""
    import yaml

    content = yaml.safe_dump(settings, sort_keys=False, allow_unicode=True, width=120)
    return f"{SAMPLE}{decode.dumps(challenge)}\n{content}"


def read_settings(file: Path) -> dict[str, Any]:
    """The settings in a challenge's file, which may have been changed. Raises InputError."""
    document = Document.open(file)
    document.finish()
    settings: dict[str, Any] = plain(document.root)
    return settings


def flatten_settings(settings: Any, key: str = "") -> dict[str, str]:
    """Each setting by its key, such as `targets.scratch.directory`."""
    if isinstance(settings, list):
        has_names = all(isinstance(entry, dict) and "name" in entry for entry in settings)
        settings = {entry["name"] if has_names else str(place): entry for place, entry in enumerate(settings)}
    if not isinstance(settings, dict):
        return {key: settings if isinstance(settings, str) else json.dumps(settings, default=str)}
    inner = (flatten_settings(value, f"{key}.{name}" if key else name) for name, value in settings.items())
    return dict(itertools.chain.from_iterable(flat.items() for flat in inner))


def is_machine_setting(key: str) -> bool:
    """Whether a setting may differ on the installed system, if the buyer allows it."""
    return key.partition(".")[0] in MACHINE_KEYS


def read_challenge(file: Path) -> Challenge:
    """Parse the first line of a challenge. Raises InputError if it is none."""
    try:
        with file.open(encoding="utf-8") as stream:
            line = stream.readline(1 << 20)
        challenge = decode.decode(Challenge, json.loads(line.removeprefix(SAMPLE)))
        design = challenge.design
        smallest = min(design.cells, design.repetitions, design.sessions, challenge.repetitions)
        if 1 <= challenge.format < FORMAT:
            raise ValueError(
                f"an earlier version drew it (format {challenge.format}, this one's is {FORMAT}), whose error rates "
                "do not hold on another day; draw it again, or accept it with that version"
            )
        if challenge.format != FORMAT or smallest < 1 or not 0.01 <= design.limit <= 1:
            raise ValueError(f"format {challenge.format}")
    except (OSError, ValueError) as error:
        raise InputError(f"{file}: not a challenge as this version's 'campaign sample' writes it: {error}") from error
    return challenge
