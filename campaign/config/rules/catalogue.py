"""The catalogue of run rules: what each id says, how much a breach weighs, over what it is judged, and its parameters.

Pure data. A rule pack lists the ids that apply to its RFP, each with the clause that it comes from and, where the RFP
asks for other values, its parameters. What each rule looks at is described in docs/rules.md.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from campaign.core.messages import FOUND
from campaign.core.model import Severity


class Level(StrEnum):
    """Over what a rule is judged."""

    ATTEMPT = "attempt"  # one ended attempt, by its own outputs
    CAMPAIGN = "campaign"  # all attempts and cells together, the sources and the systems
    BUNDLE = "bundle"  # a bundle that was handed in


class Quantity(StrEnum):
    """What a parameter is; its value tells how one is written in a rule pack."""

    DURATION = "a time such as 10s, 2.5ms or 20us"
    SHARE = "a share such as 5%"
    COUNT = "a whole number"
    FACTOR = "a number such as 2 or 1.5"


@dataclass(frozen=True, slots=True)
class Parameter:
    kind: Quantity
    default: float  # seconds, a share of 1, or the number itself
    says: str


@dataclass(frozen=True, slots=True)
class RuleEntry:
    statement: str
    severity: Severity  # of a breach, where nothing makes it lighter
    level: Level
    parameters: Mapping[str, Parameter]


_PATTERNS = {
    Quantity.DURATION: r"([0-9]{1,6}(?:\.[0-9]{1,6})?)(us|ms|s)",
    Quantity.SHARE: r"([0-9]{1,3}(?:\.[0-9]{1,3})?)(%)",
    Quantity.COUNT: r"([0-9]{1,9})()",
    Quantity.FACTOR: r"([0-9]{1,9}(?:\.[0-9]{1,6})?)()",
}
_SCALES = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "%": 0.01, "": 1.0}


def parse(kind: Quantity, text: str) -> float:
    """The value of a parameter as a rule pack writes it. Raises ValueError with what is allowed."""
    match = re.fullmatch(_PATTERNS[kind], text)
    if not match:
        raise ValueError(FOUND(found=f'"{text}"', allowed=kind))
    return float(match[1]) * _SCALES[match[2]]


def show(kind: Quantity, value: float) -> str:
    """As a rule pack would write it."""
    if kind is Quantity.SHARE:
        return f"{100 * value:g}%"
    if kind is Quantity.DURATION:
        unit = "us" if 0 < value < 1e-3 else "ms" if 0 < value < 1 else "s"
        return f"{value / _SCALES[unit]:g}{unit}"
    return f"{value:g}"


_E, _W, _I = Severity.ERROR, Severity.WARNING, Severity.INFO


def _rule(statement: str, severity: Severity, level: Level, **parameters: Parameter) -> RuleEntry:
    return RuleEntry(statement, severity, level, parameters)


CATALOGUE: Mapping[str, RuleEntry] = {
    "CMP-01": _rule("all cells of the matrix are present for each protocol and tier", _E, Level.CAMPAIGN),
    "CMP-02": _rule("every declared tier and protocol has a matrix", _E, Level.CAMPAIGN),
    "CMP-03": _rule("every cell is measured, projected, or declined with a reason", _E, Level.CAMPAIGN),
    "CMP-04": _rule(
        "every number links to a run and a log line, and reading that line again gives it", _E, Level.CAMPAIGN
    ),
    "CMP-05": _rule(
        "all and only the supporting logs are in the submission; the rest is in an index", _W, Level.BUNDLE
    ),
    "FLG-01": _rule("the flags that must not be omitted are in the executed argv", _E, Level.ATTEMPT),
    "FLG-02": _rule("the configuration's flag is right (none, `-u`, `-S`)", _E, Level.ATTEMPT),
    "FLG-03": _rule("no flag outside the allowed list", _E, Level.ATTEMPT),
    "FLG-04": _rule("processes × n = 2^20 (or at least, where the pack says so)", _E, Level.ATTEMPT),
    "FLG-05": _rule("`-d` absolute and on the file system claimed", _E, Level.ATTEMPT),
    "FLG-06": _rule("`-N` is what the RFP's text says for this benchmark's dialect", _E, Level.ATTEMPT),
    "FLG-07": _rule("the effective shift puts the phases on different nodes", _E, Level.ATTEMPT),
    "FLG-08": _rule("a conflict of FLG-06 and FLG-07 has an interpretation on record", _W, Level.CAMPAIGN),
    "GEO-01": _rule("ranks block-placed and even", _E, Level.ATTEMPT),
    "GEO-02": _rule("condition 1 has one process; 2 one node; 3 two nodes or more", _E, Level.ATTEMPT),
    "GEO-03": _rule("condition 4 equals the declared maximum concurrency, or is a projection", _E, Level.CAMPAIGN),
    "GEO-04": _rule("no faked topology in the environment", _E, Level.ATTEMPT),
    "SRC-01": _rule("the source pin matches the RFP's version", _E, Level.CAMPAIGN),
    "SRC-02": _rule("the differences from the pin equal the patch supplied", _E, Level.CAMPAIGN),
    "SRC-03": _rule(
        "the patch touches building and running only; edits to timing or I/O are flagged for a reviewer",
        _W,
        Level.CAMPAIGN,
    ),
    "SRC-04": _rule(
        "one binary hash on all ranks and through the campaign, from the recorded build", _E, Level.CAMPAIGN
    ),
    "SRC-05": _rule("compiler, flags and libraries recorded; preloads disclosed", _E, Level.CAMPAIGN),
    "RUN-01": _rule("job completed, exit 0, not requeued", _E, Level.ATTEMPT),
    "RUN-02": _rule("times in the log lie in the job's window", _E, Level.ATTEMPT),
    "RUN-03": _rule("job id, nodes and task count agree between log, environment and accounting", _E, Level.ATTEMPT),
    "RUN-04": _rule("nodes exclusive; contention on the file system disclosed", _W, Level.ATTEMPT),
    "RUN-05": _rule("directory empty before, clean after; capacity and inodes recorded", _E, Level.ATTEMPT),
    "RUN-06": _rule("no error line in the output; all phases above zero", _E, Level.ATTEMPT),
    "RUN-07": _rule(
        "a phase that may be made longer lasts 10 s or more (under 1 s: unusable)",
        _W,
        Level.ATTEMPT,
        minimum=Parameter(Quantity.DURATION, 10.0, "the shortest phase that is good"),
        unusable=Parameter(Quantity.DURATION, 1.0, "below it a phase is unusable"),
    ),
    "RUN-08": _rule("failed runs kept and counted", _W, Level.CAMPAIGN),
    "CCH-01": _rule("cache state reset, or the way it was defeated, on record", _W, Level.ATTEMPT),
    "CCH-02": _rule(
        "server operations per stat at or above the threshold on remote phases, where counters exist",
        _E,
        Level.CAMPAIGN,
        operations=Parameter(Quantity.FACTOR, 1.0, "operations at the servers for each stat, at least"),
    ),
    "CCH-03": _rule(
        "per-process latency not below a measured floor",
        _W,
        Level.ATTEMPT,
        floor=Parameter(
            Quantity.DURATION, 10e-6, "the time of one operation of a process that no remote file system goes below"
        ),
    ),
    "CCH-04": _rule('single-node cells labelled "client cache in reach"', _I, Level.ATTEMPT),
    "CCH-05": _rule(
        "bandwidth: data at least the RFP's multiple of memory, fsync, effective reorder not zero",
        _E,
        Level.ATTEMPT,
        share=Parameter(Quantity.SHARE, 0.05, "of the bytes: from there on a bandwidth is memory's"),
    ),
    "STA-01": _rule("the three operations come from one run", _E, Level.CAMPAIGN),
    "STA-02": _rule("the run reported is the selected one (highest creation)", _E, Level.CAMPAIGN),
    "STA-03": _rule(
        "6 repetitions or more, or the RFP's minimum with disclosure",
        _W,
        Level.CAMPAIGN,
        wanted=Parameter(Quantity.COUNT, 6, "repetitions that give an interval of the median"),
        minimum=Parameter(Quantity.COUNT, 1, "repetitions that the RFP asks for"),
    ),
    "STA-04": _rule(
        "interval, variation and drift reported, thresholds met",
        _W,
        Level.CAMPAIGN,
        variation=Parameter(Quantity.SHARE, 0.05, "coefficient of variation that is still good"),
        explain=Parameter(Quantity.SHARE, 0.1, "from there on it needs an explanation"),
        drift=Parameter(Quantity.FACTOR, 0.001, "p-value of a trend over time from which on it is said"),
    ),
    "STA-05": _rule("units are operations per second; no unexplained rounding", _E, Level.ATTEMPT),
    "SEL-01": _rule("an optimum has points on both sides of it", _E, Level.CAMPAIGN),
    "SEL-02": _rule("a minimal-peak claim passes non-inferiority on fresh runs", _E, Level.CAMPAIGN),
    "SEL-03": _rule("runs that confirm are not the runs that selected", _E, Level.CAMPAIGN),
    "PHY-01": _rule(
        "one process alone: the three layouts agree, or it is explained",
        _W,
        Level.CAMPAIGN,
        factor=Parameter(Quantity.FACTOR, 2.0, "from the slowest to the fastest layout"),
    ),
    "PHY-02": _rule(
        "conditions 2 to 4 not below condition 1 without an explanation",
        _W,
        Level.CAMPAIGN,
        below=Parameter(Quantity.SHARE, 0.05, "how far below the single process a rate may lie"),
    ),
    "PHY-03": _rule("`-S`: printed and true operations and file counts reported", _E, Level.ATTEMPT),
    "PRJ-01": _rule("projections labelled; never equal to a measurement without a model", _E, Level.CAMPAIGN),
    "PRJ-02": _rule(
        "a projection names base system, generation, formula, inputs, uncertainty, and computing it again gives it",
        _E,
        Level.CAMPAIGN,
    ),
    "PRJ-03": _rule("the base system's logs are included", _E, Level.CAMPAIGN),
    "ENV-01": _rule("the platform description is filled in, without placeholders", _E, Level.CAMPAIGN),
    "ENV-02": _rule("tuning split into user and administrator", _W, Level.CAMPAIGN),
    "ENV-03": _rule("the environment did not change within the campaign", _W, Level.CAMPAIGN),
    "EVD-01": _rule("the bundle is complete, its checksums hold, nothing points outside it", _E, Level.BUNDLE),
    "EVD-02": _rule(
        "the journal's chain is whole, and anchored by the buyer's nonce where one was given", _E, Level.CAMPAIGN
    ),
    "EVD-03": _rule("signatures by listed keys", _E, Level.BUNDLE),
    "EVD-04": _rule("the verdict computed again offline is the same, byte for byte", _E, Level.BUNDLE),
    "EVD-05": _rule("the rule pack is the current one", _E, Level.CAMPAIGN),
    "WVR-01": _rule("waivers signed, scoped, dated, shown beside the cell", _E, Level.CAMPAIGN),
}
