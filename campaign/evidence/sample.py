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
from campaign.core.grouping import grouped
from campaign.core.runs import Cell, Status
from campaign.core.strict_yaml import Document, plain, quoted
from campaign.core.units import plural
from campaign.judge.submission import Submission
from campaign.report.compare import offers
from campaign.report.decision import SAMPLE, YOU, DecisionBlock, Mark, Question, Step
from campaign.statistics import designs

FORMAT = 2
# Keys of a campaign file that describe the machine.
MACHINE_KEYS = ("slurm", "launcher", "targets", "benchmark")
MOST_REPETITIONS = 1000  # as a campaign file may have
ASSUMED_NOISE = 0.05  # noise, if the bundle has too few repetitions
ENOUGH_REPETITIONS = 6  # repetitions, beyond the first of each cell, that show a noise
INFLATIONS = (0.2, 0.25, 0.3, 0.4, 0.5, 0.75, 1.0, 2.0, 5.0)  # that are tried in place of one that cannot be shown
FEW_REPETITIONS = 3  # repetitions of a sample that cannot keep the aims, but show its noise
LEAST_NOISE = 0.01  # noise; below, two days differ more than two repetitions


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


def noise_by_cell(offer: offers.Offer) -> dict[Cell, designs.Noise]:
    """The noise of each measured cell: that of its target and operation, if their repetitions show it, or that of all
    cells.
    """
    cells = comparable_cells(offer)
    classes = grouped(((cell.cell.target, cell.cell.operation), cell) for cell in cells)
    noise_of_all = _pooled_noise(cells) or designs.Noise(math.sqrt(math.log1p(ASSUMED_NOISE**2)), 1)
    noise_of_class = {name: _pooled_noise(cells_of_class) or noise_of_all for name, cells_of_class in classes.items()}
    return {
        cell.cell: replace(noise_of_class[cell.cell.target, cell.cell.operation], repetitions=len(cell.repeated))
        for cell in cells
    }


def _pooled_noise(cells: Sequence[offers.OfferedCell]) -> designs.Noise | None:
    """The noise of one repetition, from those of all the cells; None if there are too few of them."""
    freedom = sum(len(cell.repeated) - 1 for cell in cells)
    if freedom < ENOUGH_REPETITIONS:
        return None
    variance = sum(sum_of_log_squares(cell.repeated) for cell in cells) / freedom
    return designs.Noise(max(LEAST_NOISE, math.sqrt(variance)), 1)


def sum_of_log_squares(values: Sequence[float]) -> float:
    """The sum of squares of the values' logarithms around their mean."""
    logarithms = [math.log(value) for value in values]
    middle = math.fsum(logarithms) / len(logarithms)
    return sum((value - middle) ** 2 for value in logarithms)


def design_challenge(offer: offers.Offer, head: str, seed: str, aims: designs.Aims, fixed: designs.Design) -> Challenge:
    """The challenge that keeps the aims, or that the buyer insists on. Raises InputError if none does."""
    if not re.fullmatch(r"[A-Za-z0-9._-]{1,64}", seed):
        raise InputError(f"--seed {quoted(seed[:80])}: allowed: up to 64 letters, digits and . _ -")
    if not 0 <= fixed.repetitions <= MOST_REPETITIONS:
        raise InputError(f"--repetitions {fixed.repetitions}: allowed: 1 to {MOST_REPETITIONS}")
    draw_cells(offer, fixed.cells or 1, seed)
    noises = list(noise_by_cell(offer).values())
    design, keeps_aims = designs.design(noises, aims, fixed)
    if not keeps_aims and fixed == designs.OPEN:
        raise InputError(_unreachable_message(noises, aims))
    if not keeps_aims and not fixed.repetitions:  # the nearest one would have very many
        design, _ = designs.design(noises, aims, replace(fixed, repetitions=FEW_REPETITIONS))
    return Challenge(FORMAT, head, seed, aims, design, design.repetitions, tuple(draw_cells(offer, design.cells, seed)))


def _unreachable_message(noises: Sequence[designs.Noise], aims: designs.Aims) -> str:
    """Why no sample keeps the aims, and what one does."""
    fewest = plural(min(noise.repetitions for noise in noises), "repetition")
    alternative = "no larger inflation that was tried is shown either"
    for larger in (replace(aims, inflation=inflation) for inflation in INFLATIONS if inflation > aims.inflation):
        design, keeps_aims = designs.design(noises, larger)
        if keeps_aims:
            size = f"{design.cells} cells, {plural(design.repetitions, 'repetition')}, limit {design.limit:g}"
            alternative = f"reached: --catch {_catch_text(larger)} ({size})"
            break
    return (
        f"no sample of the {plural(len(noises), 'measured result')} keeps --honest {100 * aims.honest:g}% and --catch "
        f"{_catch_text(aims)} at a noise of {_noise_range(noises)} with {fewest} in the bundle; {alternative}; a "
        "bundle with more repetitions reaches more; or insist on a sample with --cells, --repetitions or --at-least, "
        "whose true error rates are then printed"
    )


def _catch_text(aims: designs.Aims) -> str:
    return ",".join(f"{100 * part:g}%" for part in (aims.inflation, aims.share, aims.power))


def _noise_range(noises: Sequence[designs.Noise]) -> str:
    ends = dict.fromkeys(f"{100 * end(noise.sigma for noise in noises):.1f}%" for end in (min, max))
    return " to ".join(ends)


def error_rate_questions(challenge: Challenge, offer: offers.Offer) -> Iterator[Question]:
    """The true error rates of a sample, and whether they are those that were asked for."""
    design, aims = challenge.design, challenge.aims
    rejected, _, caught = designs.outcome_probabilities(list(noise_by_cell(offer).values()), aims, design)
    yield _honest_question(rejected, aims)
    vendors = f"vendors who inflate {100 * aims.share:g}% of their results by {100 * aims.inflation:g}%"
    text = f"Detection: {caught:.1%} of {vendors} (required: {100 * aims.power:g}%)."
    is_kept = caught >= aims.power
    yield Question("inflated", *_rated(is_kept, text))


def _honest_question(rejected: float, aims: designs.Aims) -> Question:
    text = f"False rejections: {rejected:.1%} of honest vendors (limit: {100 * aims.honest:g}%)."
    return Question("honest", *_rated(rejected <= aims.honest, text))


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
    passing, questions = 1.0, []
    for part, challenge in challenges.items():
        noises, design = list(noise_by_cell(parts[part]).values()), challenge.design
        passing *= 1 - designs.outcome_probabilities(noises, challenge.aims, design)[0]
        questions.append(replace(_size_question(design, len(noises), f" of {part}"), name=part))
    return DecisionBlock(
        "SAMPLES DRAWN",
        (bundle.rpartition("/")[2], file.rpartition("/")[2]),
        (*questions, _honest_question(1 - passing, aims)),
        *_CONCLUSIONS,
        (*(Step(YOU, f"campaign run {name}") for name in files), Step(YOU, f"campaign accept {bundle} {file}")),
    )


_CONCLUSIONS = (
    "Nothing has been measured again yet.",
    "Less inflation, or inflation of fewer results, may remain undetected.",
)


def _size_question(design: designs.Design, total: int, place: str = "") -> Question:
    verb = "is" if design.cells == 1 else "are"
    number, repetitions = f"{design.cells} of {total}", plural(design.repetitions, "repetition")
    return Question("size", number, f"{number} results{place} {verb} drawn, with {repetitions} each.", Mark.OK)


def sample_decision(challenge: Challenge, offer: offers.Offer, bundle: str, file: str) -> DecisionBlock:
    """The buyer's decision before the sample is measured. `bundle`, `file`: as they are typed in commands."""
    noises, design = list(noise_by_cell(offer).values()), challenge.design
    answer, source, mark = "known", "as the bundle's repetitions show", Mark.OK
    if _pooled_noise(comparable_cells(offer)) is None:
        answer, source, mark = "assumed", "an assumption: the bundle has too few repetitions", Mark.OPEN
    return DecisionBlock(
        "SAMPLE DRAWN",
        (bundle.rpartition("/")[2], file.rpartition("/")[2], f"seed {challenge.seed}"),
        (
            _size_question(design, len(noises)),
            Question(
                "limit",
                f"{design.limit:g}",
                f"A result passes if it reaches {100 * design.limit:g}% of the bundle's value.",
                Mark.OK,
            ),
            *error_rate_questions(challenge, offer),
            Question("noise", answer, f"Repetitions vary by {_noise_range(noises)}, {source}.", mark),
        ),
        *_CONCLUSIONS,
        (
            Step(YOU, f"Change in {file} what must differ on the installed system (below)."),
            Step(YOU, f"campaign run {file}"),
            Step(YOU, f"campaign accept {bundle} {file}"),
        ),
    )


def design_remarks(challenge: Challenge, offer: offers.Offer) -> Iterator[str]:
    """Lines about the design that the decision does not have: the power for each class of results."""
    cell_noises, design, aims = noise_by_cell(offer), challenge.design, challenge.aims
    noises = list(cell_noises.values())
    undecided = designs.outcome_probabilities(noises, aims, design)[1]
    yield f"an honest vendor is asked why a cell is faster than noise explains with probability {undecided:.3f}"
    classes = [(cell.target, cell.launch, cell.operation) for cell in cell_noises]
    power_by_class = {
        name: designs.outcome_probabilities(
            noises, aims, design, [aims.inflation * (name in names) for names in classes]
        )[2]
        for name in dict.fromkeys(itertools.chain(*classes))
    }
    inflated = f"inflated by {100 * aims.inflation:g}%, all results of a class are caught with probability"
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
        smallest = min(design.cells, design.repetitions, challenge.repetitions)
        if challenge.format != FORMAT or smallest < 1 or not 0.01 <= design.limit <= 1:
            raise ValueError(f"format {challenge.format}")
    except (OSError, ValueError) as error:
        raise InputError(f"{file}: not a challenge as this version's 'campaign sample' writes it: {error}") from error
    return challenge
