"""A campaign file and its rule pack, read together: what every later stage works on."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from campaign.config import load as config
from campaign.config import messages
from campaign.config import names as resolution
from campaign.config.launch import fixed_geometries
from campaign.config.load import Campaign
from campaign.config.rules import load as rules
from campaign.config.rules.load import RulePack
from campaign.config.rules.settle import settle
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
    campaign = config.load(file)
    pack = rules.load(campaign.rules)
    if pack.results and campaign.benchmark.executable is None:
        raise InputError(messages.BUILTIN_HAS_NOT(file=file, applet=pack.applet))
    pack = settle(pack, campaign.profile, fixed_geometries(campaign.launch), campaign.variables)
    answers = Answers(tuple(_granted(campaign, pack, waiver) for waiver in campaign.waivers), campaign.explanations)
    return Opened(campaign, pack, answers)


def _granted(campaign: Campaign, pack: RulePack, waiver: Waiver) -> Granted:
    if waiver.signature is None or campaign.allowed_signers is None:
        return Granted(waiver, problem=messages.WAIVER_NOT_SIGNED())
    from campaign.core import signatures

    text = statement(campaign.name, pack.id, waiver).encode()
    signature, allowed = resolution.content(waiver.signature), resolution.content(campaign.allowed_signers)
    signer = signatures.verify(text, signature, allowed, NAMESPACE)
    return Granted(waiver, signer.by, signer.problem)
