"""The catalogue of run rules: severity, level, requirement, why it matters, what to do, and parameters.

A rule pack lists the ids that apply to its RFP, each with its clause and, if the RFP sets other values, its parameters.
What each rule checks is described in docs/rules.md. A rule itself is written in `campaign.judge`, with all that the
catalogue says of it (`campaign/judge/rule.py`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from campaign.core.findings import Severity


class Level(StrEnum):
    """What a rule is judged on."""

    ATTEMPT = "attempt"  # one ended attempt, from its own outputs
    CAMPAIGN = "campaign"  # all attempts and cells together, the sources and the systems
    RFP = "rfp"  # all parts of an RFP together
    BUNDLE = "bundle"  # a submitted bundle


class Quantity(StrEnum):
    """The kind of a parameter; the value says how it is written in a rule pack."""

    DURATION = "a time such as 10s, 2.5ms or 20us"
    SHARE = "a share such as 5%"
    COUNT = "a whole number"
    FACTOR = "a number such as 2 or 1.5"


@dataclass(frozen=True, slots=True)
class Parameter:
    kind: Quantity
    default: float  # seconds, a share of 1, or a plain number
    says: str


@dataclass(frozen=True, slots=True)
class RuleEntry:
    statement: str  # the requirement; a pack may give the RFP's words
    severity: Severity  # of a violation; some findings have a lower one
    level: Level
    why: str  # why it matters to the buyer
    remedy: str  # what the vendor should do about a violation
    parameters: Mapping[str, Parameter] = field(default_factory=dict)
    # It asks whether the evidence is true and belongs to the offered system, not whether it meets the RFP: judged even
    # if a pack does not list it; a pack may list it with its clause and other parameters.
    is_always_judged: bool = False
    is_about_records: bool = False  # that the benchmark did not write
    is_fixed_afterwards: bool = False  # whether the campaign file can fix a violation after the measurement


_PATTERNS = {
    Quantity.DURATION: r"([0-9]{1,6}(?:\.[0-9]{1,6})?)(us|ms|s)",
    Quantity.SHARE: r"([0-9]{1,3}(?:\.[0-9]{1,3})?)(%)",
    Quantity.COUNT: r"([0-9]{1,9})()",
    Quantity.FACTOR: r"([0-9]{1,9}(?:\.[0-9]{1,6})?)()",
}
_SCALES = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "%": 0.01, "": 1.0}


def parse(kind: Quantity, text: str) -> float:
    """A parameter's value from its text in a rule pack. Raises ValueError with what is allowed."""
    match = re.fullmatch(_PATTERNS[kind], text)
    if not match:
        raise ValueError(f'found "{text}"; allowed: {kind}')
    return float(match[1]) * _SCALES[match[2]]


def show(kind: Quantity, value: float) -> str:
    """A parameter's value as written in a rule pack."""
    if kind is Quantity.SHARE:
        return f"{100 * value:.12g}%"
    if kind is Quantity.DURATION:
        unit = "us" if 0 < value < 1e-3 else "ms" if 0 < value < 1 else "s"
        return f"{value / _SCALES[unit]:.12g}{unit}"
    return f"{value:.15g}"


def _entry(properties: Mapping[str, Any]) -> RuleEntry:
    parameters = {
        name: Parameter(Quantity[parameter["kind"]], parameter["default"], parameter["says"])
        for name, parameter in properties["parameters"].items()
    }
    of_enums = {"severity": Severity(properties["severity"]), "level": Level(properties["level"])}
    return RuleEntry(**{**properties, **of_enums, "parameters": parameters})


_FILE = Path(__file__).with_name("catalogue.json")  # generated from the decorators in `campaign.judge` by `make docs`
CATALOGUE: Mapping[str, RuleEntry] = {
    rule: _entry(properties) for rule, properties in json.loads(_FILE.read_text(encoding="utf-8")).items()
}

OF_RFP = frozenset(rule for rule, entry in CATALOGUE.items() if entry.level is Level.RFP)
PRACTICE = "practice"  # in place of a clause: good measurement practice, in no RFP


def judged_rules(checks: Mapping[str, str]) -> dict[str, str]:
    """The rules that a pack lists, each with its clause, and those that are always judged."""
    always = {rule: PRACTICE for rule, entry in CATALOGUE.items() if entry.is_always_judged and rule not in checks}
    return {**checks, **always}
