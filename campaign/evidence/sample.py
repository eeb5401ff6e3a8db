"""Acceptance by sample: the buyer draws cells of a bundle, and has them measured again on the installed system.

Logs can be invented, a system cannot. A challenge is a campaign file with the vendor's settings that declines every row
of the table that was not drawn. Cells are drawn by a seed, so that both sides get the same ones. The measurement is
verified like a bundle: one made from the bundle's own logs is refused.
"""

from __future__ import annotations

import hashlib
import math
import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import NormalDist
from typing import Any

from campaign.core import temporary
from campaign.core.errors import InputError
from campaign.core.model import Status
from campaign.core.strict_yaml import plain, shown
from campaign.core.units import utc
from campaign.evidence import bundle, verify
from campaign.judge.engine import BUNDLE_RULES
from campaign.judge.records import fingerprint
from campaign.judge.submission import RECORDS, Submission
from campaign.pipeline import standing
from campaign.report.compare import sources
from campaign.report.compare.verdicts import OfferComparison, Terms
from campaign.results.case import Case
from campaign.results.cells import Row
from campaign.results.store import begun

HEAD = "# challenge of the bundle with journal head {head}, seed {seed}, cells: {cells}\n"
_HEAD = re.compile(r"# challenge of the bundle with journal head (\S+), seed (\S+), cells: (.+)")
# Keys of a campaign file that may differ on the installed system.
OF_MACHINE = ("slurm", "launcher", "targets", "benchmark", "results")
MOST_OBJECTIONS = 8
SPREAD = 0.05  # coefficient of variation if the bundle has none
FACTORS, SHARES = (1.1, 1.25, 1.5, 2.0), (0.1, 0.25, 0.5, 1.0)


@dataclass(frozen=True, slots=True)
class Challenge:
    """Which cells were drawn, from which bundle."""

    head: str
    seed: str
    cells: tuple[str, ...]

    @property
    def nonce(self) -> str:
        return f"sample-{self.seed}"


@dataclass(frozen=True, slots=True)
class SampleOutcome:
    """`objections`: why the answer is not one to this challenge. `other_settings`: changed keys of the challenge that
    describe the machine.
    """

    challenge: Challenge
    comparison: OfferComparison
    objections: tuple[str, ...]
    other_settings: tuple[str, ...]

    @property
    def passed(self) -> bool:
        return self.comparison.passed and not self.objections


def drawn(rows: Sequence[Row], number: int, seed: str) -> list[Row]:
    """Draw this many measured rows of a table, preferring those on many nodes. Raises InputError if there are
    too few.
    """
    measured = [row for row in rows if row.status is Status.MEASURED and row.value is not None and row.geometry]
    if not 1 <= number <= len(measured):
        raise InputError(f"--cells {number}: allowed: 1 to {len(measured)} (the number of measured results)")
    chance = random.Random(hashlib.sha256(f"campaign sample {seed}".encode()).digest())
    # A single node can be compared anywhere; an offer is about runs on many.
    weights = {str(row.cell): 1.0 + math.log2(row.geometry.nodes) for row in measured if row.geometry}
    # By exponential keys: equivalent to drawing one after another, each by its weight among the remaining ones.
    keys = {name: chance.expovariate(weight) for name, weight in sorted(weights.items())}
    first = sorted(keys, key=keys.__getitem__)[:number]
    return [row for row in measured if str(row.cell) in first]


def challenge(whole: Submission, head: str, number: int, seed: str) -> str:
    """The campaign file for the buyer's sample. Raises InputError if it cannot be drawn."""
    import yaml

    if not re.fullmatch(r"[A-Za-z0-9._-]{1,64}", seed):
        raise InputError(f"--seed {shown(seed[:80])}: allowed: up to 64 letters, digits and . _ -")
    chosen = drawn(whole.rows, number, seed)
    lines, every = ({row.cell.line for row in rows} for rows in (chosen, whole.rows))
    campaign = whole.campaign
    assert campaign.document is not None, "the campaign was read from its file"
    settings: dict[str, Any] = plain(campaign.document.root)
    settings["name"] = f"{campaign.name[:33]}-sample"
    settings["nonce"] = Challenge(head, seed, ()).nonce
    # The reported geometry of each launch condition: nothing is searched for again.
    sizes = {row.cell.launch: row.geometry for row in whole.rows if row.geometry}
    for name in settings.get("launch", {}).keys() & sizes.keys():
        settings["launch"][name] = {"nodes": sizes[name].nodes, "processes": sizes[name].processes}
    for part in ("search", "projections", "explanations", "waivers", "server_counters"):
        settings.pop(part, None)
    hashes = {each.id: each.sha256 for run in whole.runs for each in run.inputs}
    for given in settings.get("inputs", ()):
        given["sha256"] = hashes[given["id"]]  # the vendor may have measured with the file as it was then
    settings["declined"] = [
        {"cells": "/".join((*line, "*")), "reason": "not drawn for the sample"} for line in sorted(every - lines)
    ]
    head = HEAD.format(head=head, seed=seed, cells=" ".join(str(row.cell) for row in chosen))
    return head + yaml.safe_dump(settings, sort_keys=False, allow_unicode=True, width=120)


def read(file: Path) -> Challenge:
    """Parse the first line of a challenge. Raises InputError if it is none."""
    try:
        with file.open(encoding="utf-8") as stream:
            match = _HEAD.fullmatch(stream.readline(1 << 20).rstrip("\n"))
    except (OSError, UnicodeDecodeError):
        match = None
    if match is None:
        raise InputError(f"{file}: not a challenge of 'campaign sample'")
    return Challenge(match[1], match[2], tuple(match[3].split(" ")))


def accept(place: Path, file: Path, whole: Submission, head: str, terms: Terms, say: standing.Say) -> SampleOutcome:
    """Compare the drawn cells of the bundle at `place` with the measured sample. Raises InputError if they do not
    belong together.
    """
    asked = read(file)
    if asked.head != head:
        raise InputError(f"{file}: drawn from another bundle (the journal heads differ)")
    if set(asked.cells) != {str(row.cell) for row in drawn(whole.rows, len(asked.cells), asked.seed)}:
        raise InputError(f"{file}: its cells are not those that seed {asked.seed} draws")
    others = _other_settings(asked, file, whole)
    opened, names = bundle.open_recorded(file)
    with temporary.directory("campaign-accept.") as folder:
        answer = file
        objections: tuple[str, ...] = ()
        if begun(opened.paths):
            answer = folder / "answer"
            bundle.write(opened, names, *standing.on_record(opened, say), answer, None)
            objections = _objections(asked, answer, whole)
        compared = sources.compare([place, answer], terms)
    kept = tuple(tuple(cell for cell in column if str(cell.cell) in asked.cells) for column in compared.cells)
    return SampleOutcome(asked, replace(compared, cells=kept), objections, others)


def _other_settings(asked: Challenge, file: Path, whole: Submission) -> tuple[str, ...]:
    """Keys whose values differ from the drawn ones. Raises InputError if they do not describe the machine."""
    import yaml

    texts = challenge(whole, asked.head, len(asked.cells), asked.seed), file.read_text(encoding="utf-8")
    wanted, found = (yaml.safe_load(text) for text in texts)
    for settings in (wanted, found):
        for given in settings.get("inputs", ()):
            given.pop("path", None)  # the files are the same, wherever they are
    others = tuple(key for key in {**wanted, **found} if wanted.get(key) != found.get(key))
    if wrong := [key for key in others if key not in OF_MACHINE]:
        raise InputError(
            f"{file}: changed after it was drawn: {', '.join(wrong)}; only these keys may be changed for the installed "
            f"system: {', '.join(OF_MACHINE)}"
        )
    return others


def _objections(asked: Challenge, answer: Path, whole: Submission) -> tuple[str, ...]:
    """Why the recorded runs are not a measurement for this challenge."""
    with verify.verify(answer, verify.Asked(nonce=asked.nonce)) as verified:
        judged = verified.judged
        findings = (*verified.findings, *(judged.submission.all_findings if judged else ()))
        wrong = [
            f"{each.rule} {each.message} (expected {each.expected}, found {each.actual})"
            for each in findings
            if each.violated and each.rule in RECORDS | BUNDLE_RULES
        ]
        sampled = judged.submission.results if judged else ()
    known = {fingerprint(case): case.subject for case in whole.results}
    copied: list[str] = [
        f"{case.subject} has the values of {known[own]} in the bundle to the last digit: it was copied, not measured"
        for case in sampled
        if (own := fingerprint(case)) and own in known
    ]
    last, began = _times(whole.results, max), _times(sampled, min)
    if last is not None and began is not None and began < last:
        copied.append(f"the sample began at {utc(began)}, before the last run of the bundle did ({utc(last)})")
    return tuple(dict.fromkeys([*copied, *wrong]))[:MOST_OBJECTIONS]


def _times(cases: Sequence[Case], choose: Callable[..., float]) -> float | None:
    """When the first or the last run began."""
    times = [case.evidence.completion.started for case in cases if case.evidence.completion]
    return choose(times) if times else None


def error_rates(rows: Sequence[Row], drawn: int, least: float) -> str:
    """The probabilities that a vendor who inflates a share of the cells by a factor is caught, and that an honest one
    is.
    """
    # The spread of the ratio of two measurements, from the largest variation of the bundle's repetitions.
    spread = math.sqrt(2) * max([row.summary.cv for row in rows if row.summary.cv] or [SPREAD])
    honest = 1 - NormalDist(1.0, spread).cdf(least)
    lines: list[str] = [
        (
            f"{drawn} of {len(rows)} cells drawn; two measurements of one cell differ by up to {100 * spread:.0f}%; a "
            f"cell passes at a ratio of {least:g} or more"
        ),
        f"an honest vendor is rejected with probability {1 - honest**drawn:.2g}",
    ]
    for factor in FACTORS:
        passes = 1 - NormalDist(1 / factor, spread / factor).cdf(least)
        caught = [
            f"{100 * share:g}%: {caught_with(len(rows), drawn, round(share * len(rows)), passes, honest):.2f}"
            for share in SHARES
        ]
        lines.append(
            f"a vendor who inflates cells by {factor:g} is caught with probability (by share of inflated cells) "
            f"{', '.join(caught)}"
        )
    return "\n".join(lines)


def caught_with(every: int, drawn: int, inflated: int, passes: float, honest: float) -> float:
    """The probability that at least one of the drawn cells fails, if so many of all are inflated."""
    survives = sum(
        math.comb(inflated, hit) * math.comb(every - inflated, drawn - hit) * passes**hit * honest ** (drawn - hit)
        for hit in range(min(drawn, inflated) + 1)
        if drawn - hit <= every - inflated
    )
    return 1 - survives / math.comb(every, drawn)
