"""A campaign file and its rule pack, read together: the input of all later stages."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from campaign.config import resolution
from campaign.config.format import Campaign
from campaign.config.load import load
from campaign.config.rules.output_format import BUILT_IN
from campaign.config.rules.pack import RulePack
from campaign.config.waivers import NAMESPACE, NO_ANSWERS, Answers, Granted, Waiver, statement
from campaign.core.errors import InputError
from campaign.core.model import Paths


@dataclass(frozen=True, slots=True)
class Opened:
    """A campaign file with its rule pack, settled for it, and its answers to findings."""

    campaign: Campaign
    pack: RulePack
    answers: Answers = NO_ANSWERS

    @property
    def paths(self) -> Paths:
        return Paths(self.campaign.results)


def open_campaign(file: Path) -> Opened:
    campaign, pack = load(file)
    for program in pack.programs:
        if program.applet not in BUILT_IN and campaign.benchmark.path(program.id) is None:
            key = "benchmark.programs" if pack.phases[0].id else "benchmark.executable"
            raise InputError(
                f"{file}: {key}: found builtin; the built-in benchmark has no {program.applet}; give the program's path"
            )
    signers = resolution.content(campaign.allowed_signers) if campaign.allowed_signers else None
    answers = Answers(
        tuple(_granted(campaign, pack, waiver, signers) for waiver in campaign.waivers), campaign.explanations
    )
    return Opened(campaign, pack, answers)


def granted_by(opened: Opened, signers: Path | None) -> Answers:
    """The campaign's answers if waivers count only when signed by the key of the person whom they name. Without keys,
    no waiver counts.
    """
    granted = []
    for waiver in opened.campaign.waivers if signers else ():
        each = _granted(opened.campaign, opened.pack, waiver, signers)
        if each.signer and not is_named(each.signer, waiver.by):
            each = Granted(
                waiver,
                problem=(
                    f"signed by {each.signer}, but granted by {waiver.by}; the signer must be the person who grants it"
                ),
            )
        granted.append(each)
    return Answers(tuple(granted), opened.answers.explanations)


def is_named(signer: str, by: str) -> bool:
    """Whether a key's principal is the person whom a waiver names, allowing for different spellings."""
    principal, local, name = (
        "".join(filter(str.isalnum, text.casefold())) for text in (signer, signer.partition("@")[0], by)
    )
    return bool(name) and (name in principal or (bool(local) and local in name))


def _granted(campaign: Campaign, pack: RulePack, waiver: Waiver, signers: Path | None) -> Granted:
    if waiver.signature is None or signers is None:
        return Granted(waiver, problem="the waiver is not signed")
    from campaign.core import signatures

    text = statement(campaign.name, pack.id, waiver).encode()
    signer = signatures.verify(text, resolution.content(waiver.signature), signers, NAMESPACE)
    return Granted(waiver, signer.by, signer.problem)
