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
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from campaign.config.values import parse_percent
from campaign.core import decode
from campaign.core.errors import InputError
from campaign.core.grouping import grouped
from campaign.core.model import Cell, Status
from campaign.core.strict_yaml import Document, plain, shown
from campaign.core.units import several
from campaign.judge.submission import Submission
from campaign.report.compare import offers
from campaign.report.decision import SAMPLE, YOU, DecisionBlock, Question, Step
from campaign.statistics import designs

FORMAT = 2
# Keys of a campaign file that describe the machine.
OF_MACHINE = ("slurm", "launcher", "targets", "benchmark")
MOST_REPETITIONS = 1000  # as a campaign file may have
ASSUMED = 0.05  # noise, if the bundle has too few repetitions
ENOUGH = 6  # repetitions, beyond the first of each cell, that show a noise
INFLATIONS = (0.2, 0.25, 0.3, 0.4, 0.5, 0.75, 1.0, 2.0, 5.0)  # that are tried in place of one that cannot be shown
FEW = 3  # repetitions of a sample that cannot keep the aims, but show its noise
LEAST = 0.01  # noise; below, two days differ more than two repetitions


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
    """`5%` and `15%,25%,90%`. Raises InputError."""
    chance = parse_percent(0.1, 99.9)
    try:
        inflation, share, power = catch.split(",")
        return designs.Aims(
            chance(honest), parse_percent(0.1, 900)(inflation), parse_percent(0.1, 100)(share), chance(power)
        )
    except ValueError as error:
        raise InputError(
            f"--honest {shown(honest)}, --catch {shown(catch)}: allowed: percentages from 0.1% to 900%, all but the "
            "inflation below 100% (a share: up to 100%), as in --honest 5% --catch 15%,25%,90% (inflation, share, "
            "power)"
        ) from error


# --- the design


def offer_of(whole: Submission, name: str) -> offers.Offer:
    return offers.read(name, [row.as_json() for row in whole.rows])


def measured(offer: offers.Offer) -> list[offers.OfferedCell]:
    """The measured cells of which there are ratios."""
    cells = offer.entries.values()
    return [each for each in cells if each.status is Status.MEASURED and min(each.repeated, default=0.0) > 0]


def drawn(offer: offers.Offer, number: int, seed: str) -> list[str]:
    """Draw this many measured cells, each with the same chance. Raises InputError if there are too few."""
    every = sorted(str(each.cell) for each in measured(offer))
    if not 1 <= number <= len(every):
        raise InputError(f"--cells {number}: allowed: 1 to {len(every)} (the number of measured results)")
    chance = random.Random(hashlib.sha256(f"campaign sample {seed}".encode()).digest())
    first = sorted(every, key=lambda _: chance.random())[:number]  # the same in every version of Python
    return [name for name in map(str, offer.entries) if name in first]


def noises(offer: offers.Offer) -> dict[Cell, designs.Noise]:
    """Of each measured cell: the noise of its target's operation, if its repetitions show it, otherwise that of all
    cells.
    """
    every = measured(offer)
    classes = grouped(((each.cell.target, each.cell.operation), each) for each in every)
    usual = _noise(every) or designs.Noise(math.sqrt(math.log1p(ASSUMED**2)), 1)
    known = {name: _noise(alike) or usual for name, alike in classes.items()}
    return {
        each.cell: replace(known[each.cell.target, each.cell.operation], repetitions=len(each.repeated))
        for each in every
    }


def _noise(cells: Sequence[offers.OfferedCell]) -> designs.Noise | None:
    """That of a repetition of each of the cells; None if there are too few repetitions to know it."""
    freedom = sum(len(each.repeated) - 1 for each in cells)
    if freedom < ENOUGH:
        return None
    return designs.Noise(max(LEAST, math.sqrt(sum(squares(each.repeated) for each in cells) / freedom)), 1)


def squares(values: Sequence[float]) -> float:
    """Of the logarithms of some values, around their mean."""
    logarithms = [math.log(value) for value in values]
    middle = math.fsum(logarithms) / len(logarithms)
    return sum((value - middle) ** 2 for value in logarithms)


def designed(offer: offers.Offer, head: str, seed: str, aims: designs.Aims, fixed: designs.Design) -> Challenge:
    """The challenge that keeps the aims, or that the buyer insists on. Raises InputError if none does."""
    if not re.fullmatch(r"[A-Za-z0-9._-]{1,64}", seed):
        raise InputError(f"--seed {shown(seed[:80])}: allowed: up to 64 letters, digits and . _ -")
    if not 0 <= fixed.repetitions <= MOST_REPETITIONS:
        raise InputError(f"--repetitions {fixed.repetitions}: allowed: 1 to {MOST_REPETITIONS}")
    drawn(offer, fixed.cells or 1, seed)
    every = list(noises(offer).values())
    made, keeps = designs.design(every, aims, fixed)
    if not keeps and fixed == designs.OPEN:
        raise InputError(_unreachable(every, aims))
    if not keeps and not fixed.repetitions:  # the nearest one would have very many
        made, _ = designs.design(every, aims, replace(fixed, repetitions=FEW))
    return Challenge(FORMAT, head, seed, aims, made, made.repetitions, tuple(drawn(offer, made.cells, seed)))


def _unreachable(every: Sequence[designs.Noise], aims: designs.Aims) -> str:
    """Why no sample keeps the aims, and what one does."""
    fewest = several(min(each.repetitions for each in every), "repetition")
    instead = "no larger inflation that was tried is shown either"
    for larger in (replace(aims, inflation=inflation) for inflation in INFLATIONS if inflation > aims.inflation):
        made, keeps = designs.design(every, larger)
        if keeps:
            size = f"{made.cells} cells, {several(made.repetitions, 'repetition')}, limit {made.limit:g}"
            instead = f"reached: --catch {_catch(larger)} ({size})"
            break
    return (
        f"no sample of the {several(len(every), 'measured result')} keeps --honest {100 * aims.honest:g}% and --catch "
        f"{_catch(aims)} at a noise of {_range(every)} with {fewest} in the bundle; {instead}; a bundle with more "
        "repetitions reaches more; or insist on a sample with --cells, --repetitions or --at-least, whose true error "
        "rates are then printed"
    )


def _catch(aims: designs.Aims) -> str:
    return ",".join(f"{100 * part:g}%" for part in (aims.inflation, aims.share, aims.power))


def _range(every: Sequence[designs.Noise]) -> str:
    ends = dict.fromkeys(f"{100 * end(each.sigma for each in every):.1f}%" for end in (min, max))
    return " to ".join(ends)


def chances(asked: Challenge, offer: offers.Offer) -> Iterator[Question]:
    """The true error rates of a sample, and whether they are those that were asked for."""
    made, aims = asked.design, asked.aims
    rejected, _, caught = designs.rates(list(noises(offer).values()), aims, made)
    answer = "yes" if rejected <= aims.honest else "NO"
    yield Question(
        "honest", answer, f"a vendor is rejected with probability {rejected:.3f} (asked: at most {aims.honest:g})"
    )
    inflated = f"{100 * aims.share:g}% of the results {100 * aims.inflation:g}% too high"
    chance = f"{inflated} are caught with probability {caught:.3f} (asked: at least {aims.power:g})"
    yield Question("inflated", "yes" if caught >= aims.power else "NO", chance)


def decision_of(asked: Challenge, offer: offers.Offer, bundle: str, file: str) -> DecisionBlock:
    """For the buyer, before the sample is measured. `bundle`, `file`: as they are typed."""
    known, made = list(noises(offer).values()), asked.design
    own = _noise(measured(offer)) is not None
    of_noise = "from the bundle's repetitions" if own else "the bundle has too few repetitions"
    return DecisionBlock(
        "SAMPLE DRAWN",
        (bundle.rpartition("/")[2], file.rpartition("/")[2], f"seed {asked.seed}"),
        (
            Question(
                "size", f"{made.cells} of {len(known)}", f"results, {several(made.repetitions, 'repetition')} each"
            ),
            Question("limit", f"{made.limit:g}", "of the bundle's value or more passes"),
            *chances(asked, offer),
            Question("noise", "known" if own else "assumed", f"{_range(known)} of a repetition: {of_noise}"),
        ),
        "nothing yet: nothing has been measured again.",
        "that less inflation, or of fewer results, would be caught.",
        (
            Step(YOU, f"change in {file} what must differ on the installed system (below)"),
            Step(YOU, f"campaign run {file}"),
            Step(YOU, f"campaign accept {bundle} {file}"),
        ),
    )


def described(asked: Challenge, offer: offers.Offer) -> Iterator[str]:
    """What the decision does not say of the design."""
    known, made, aims = noises(offer), asked.design, asked.aims
    every = list(known.values())
    undecided = designs.rates(every, aims, made)[1]
    yield f"an honest vendor is asked why a cell is faster than noise explains with probability {undecided:.3f}"
    classes = [(cell.target, cell.launch, cell.operation) for cell in known]
    of_class = {
        name: designs.rates(every, aims, made, [aims.inflation * (name in those) for those in classes])[2]
        for name in dict.fromkeys(itertools.chain(*classes))
    }
    inflated = f"inflated by {100 * aims.inflation:g}%, all results of a class are caught with probability"
    yield f"{inflated}: {', '.join(f'{name} {p:.2f}' for name, p in of_class.items())}"


# --- the challenge's file


def settings_of(asked: Challenge, whole: Submission) -> dict[str, Any]:
    """The vendor's settings, as the drawn cells are measured with."""
    campaign = whole.campaign
    assert campaign.document is not None, "the campaign was read from its file"
    settings: dict[str, Any] = plain(campaign.document.root)
    settings |= {
        "name": f"{campaign.name[:33]}-sample",
        "nonce": asked.nonce,
        "results": "results",  # beside the challenge, wherever the vendor's were
        "repetitions": asked.repetitions,
    }
    # The reported geometry of each launch condition: nothing is searched for again.
    sizes = {row.cell.launch: row.geometry for row in whole.rows if row.geometry}
    for name in settings.get("launch", {}).keys() & sizes.keys():
        settings["launch"][name] = {"nodes": sizes[name].nodes, "processes": sizes[name].processes}
    for part in ("search", "projections", "explanations", "waivers", "server_counters"):
        settings.pop(part, None)
    hashes = {each.id: each.sha256 for run in whole.runs for each in run.inputs}
    for given in settings.get("inputs", ()):
        given["sha256"] = hashes[given["id"]]  # the vendor may have measured with the file as it was then
    every = {row.cell.line for row in whole.rows}
    lines = {row.cell.line for row in whole.rows if str(row.cell) in asked.cells}
    settings["declined"] = [
        {"cells": "/".join((*line, "*")), "reason": "not drawn for the sample"} for line in sorted(every - lines)
    ]
    return settings


def written(asked: Challenge, settings: Mapping[str, Any]) -> str:
    import yaml

    return f"{SAMPLE}{decode.dumps(asked)}\n{yaml.safe_dump(settings, sort_keys=False, allow_unicode=True, width=120)}"


def settings_in(file: Path) -> dict[str, Any]:
    """The settings of a challenge, as they are now. Raises InputError."""
    document = Document.open(file)
    document.finish()
    settings: dict[str, Any] = plain(document.root)
    return settings


def flat(settings: Any, key: str = "") -> dict[str, str]:
    """Each setting by its key, such as `targets.scratch.directory`."""
    if isinstance(settings, list):
        named = all(isinstance(each, dict) and "name" in each for each in settings)
        settings = {each["name"] if named else str(place): each for place, each in enumerate(settings)}
    if not isinstance(settings, dict):
        return {key: settings if isinstance(settings, str) else json.dumps(settings, default=str)}
    inner = (flat(value, f"{key}.{name}" if key else name) for name, value in settings.items())
    return dict(itertools.chain.from_iterable(each.items() for each in inner))


def is_of_machine(key: str) -> bool:
    """Whether a setting may differ on the installed system, with the buyer's word."""
    return key.partition(".")[0] in OF_MACHINE


def read(file: Path) -> Challenge:
    """Parse the first line of a challenge. Raises InputError if it is none."""
    try:
        with file.open(encoding="utf-8") as stream:
            line = stream.readline(1 << 20)
        asked = decode.decode(Challenge, json.loads(line.removeprefix(SAMPLE)))
        made = asked.design
        least = min(made.cells, made.repetitions, asked.repetitions)
        if asked.format != FORMAT or least < 1 or not 0.01 <= made.limit <= 1:
            raise ValueError(f"format {asked.format}")
    except (OSError, ValueError) as error:
        raise InputError(f"{file}: not a challenge as this version's 'campaign sample' writes it: {error}") from error
    return asked
