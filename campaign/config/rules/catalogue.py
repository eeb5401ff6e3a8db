"""The catalogue of run rules: id, requirement, severity, level and parameters of each. Pure data.

A rule pack lists the ids that apply to its RFP, each with its clause and, if the RFP sets other values, its parameters.
What each rule checks is described in docs/rules.md.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

from campaign.config.rules.guidance import GUIDANCE
from campaign.core.model import Severity


class Level(StrEnum):
    """What a rule is judged on."""

    ATTEMPT = "attempt"  # one ended attempt, from its own outputs
    CAMPAIGN = "campaign"  # all attempts and cells together, the sources and the systems
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
    parameters: Mapping[str, Parameter]
    why: str = ""  # why it matters to the buyer
    remedy: str = ""  # what the vendor should do about a violation


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


_E, _W, _I = Severity.ERROR, Severity.WARNING, Severity.INFO


def _rule(statement: str, severity: Severity, level: Level, **parameters: Parameter) -> RuleEntry:
    return RuleEntry(statement, severity, level, parameters)


_RULES: Mapping[str, RuleEntry] = {
    "CMP-01": _rule(
        "the table has every result that the rules ask for, for each tier and protocol, and no other",
        _E,
        Level.CAMPAIGN,
    ),
    "CMP-02": _rule("every declared tier and protocol has a full set of results", _E, Level.CAMPAIGN),
    "CMP-03": _rule("every result is measured, projected, or declined with a reason", _E, Level.CAMPAIGN),
    "CMP-04": _rule("every value is traceable to a run and to the log line that contains it", _E, Level.CAMPAIGN),
    "CMP-05": _rule(
        "the bundle contains every referenced log and nothing else; other attempts are listed in an index",
        _W,
        Level.BUNDLE,
    ),
    "FLG-01": _rule("all mandatory flags were used", _E, Level.ATTEMPT),
    "FLG-02": _rule("the flags of the file configuration are those of the rules", _E, Level.ATTEMPT),
    "FLG-03": _rule("no flag outside the allowed list was used", _E, Level.ATTEMPT),
    "FLG-04": _rule("the benchmark ran at the size that the rules ask for", _E, Level.ATTEMPT),
    "FLG-05": _rule("the benchmark wrote to the declared target, by an absolute path", _E, Level.ATTEMPT),
    "FLG-06": _rule("the rank offset (`-N`) is the one that the rules ask for", _E, Level.ATTEMPT),
    "FLG-07": _rule("the rank offset moved each phase to another node", _E, Level.ATTEMPT),
    "FLG-08": _rule(
        "where `-N` means something else in the benchmark than in the rules, the interpretation is recorded",
        _W,
        Level.CAMPAIGN,
    ),
    "GEO-01": _rule("ranks are placed in equal, consecutive blocks on the nodes", _E, Level.ATTEMPT),
    "GEO-02": _rule("process and node counts meet the launch condition", _E, Level.ATTEMPT),
    "GEO-03": _rule(
        "the maximum concurrency uses the whole partition, or is projected to it; required shares of the system are "
        "reached",
        _E,
        Level.CAMPAIGN,
    ),
    "GEO-04": _rule("nothing in the environment fakes nodes, and each node is a separate machine", _E, Level.ATTEMPT),
    "GEO-05": _rule("sizes and counts of the run meet the conditions of the rules", _E, Level.ATTEMPT),
    "SRC-01": _rule("the source is the version that the rules name", _E, Level.CAMPAIGN),
    "SRC-02": _rule("the submitted patch accounts for all source changes", _E, Level.CAMPAIGN),
    "SRC-03": _rule(
        "source changes affect building and launching only",
        _E,
        Level.CAMPAIGN,
    ),
    "SRC-04": _rule("one binary, from the recorded build, ran on all ranks and in all runs", _E, Level.CAMPAIGN),
    "SRC-05": _rule(
        "compiler, flags and libraries are recorded, and preloaded libraries are disclosed", _E, Level.CAMPAIGN
    ),
    "SRC-06": _rule("the built-in benchmark was built from its published source", _E, Level.CAMPAIGN),
    "RUN-01": _rule("the run finished with exit status 0 and was not requeued", _E, Level.ATTEMPT),
    "RUN-02": _rule("the times in the output lie within those of the run and of the job", _E, Level.ATTEMPT),
    "RUN-03": _rule(
        "job id, nodes and task count agree between output, job records and Slurm's accounting", _E, Level.ATTEMPT
    ),
    "RUN-04": _rule("nodes were exclusive; other load on the cluster is disclosed", _W, Level.ATTEMPT),
    "RUN-05": _rule(
        "the directory was empty before and after the run; capacity and inode counts are recorded", _E, Level.ATTEMPT
    ),
    "RUN-06": _rule("the output is complete and free of errors, and every rate is above zero", _E, Level.ATTEMPT),
    "RUN-07": _rule(
        "phases are long enough to be measured, where the rules leave their length open",
        _W,
        Level.ATTEMPT,
        minimum=Parameter(Quantity.DURATION, 10.0, "phases shorter than this require an explanation"),
        unusable=Parameter(Quantity.DURATION, 1.0, "phases shorter than this are a violation"),
    ),
    "RUN-08": _rule("all attempts are kept on record, including failed and unused ones", _W, Level.CAMPAIGN),
    "RUN-09": _rule(
        "all phases of a result ran in one job, each once and in order, with no other work between them",
        _E,
        Level.ATTEMPT,
    ),
    "CCH-01": _rule("client caches were bypassed or dropped, and the output shows it", _W, Level.ATTEMPT),
    "CCH-02": _rule(
        "the servers performed the operations that remote phases report, where server counters are supplied",
        _E,
        Level.CAMPAIGN,
        operations=Parameter(Quantity.FACTOR, 1.0, "minimum number of server operations per stat"),
    ),
    "CCH-03": _rule(
        "the time per operation is plausible for a remote file system",
        _W,
        Level.ATTEMPT,
        floor=Parameter(Quantity.DURATION, 10e-6, "shortest plausible time per operation on a remote file system"),
    ),
    "CCH-04": _rule("single-node results are labelled as within reach of the client cache", _I, Level.ATTEMPT),
    "CCH-05": _rule(
        "bandwidths are of the storage, not of memory",
        _E,
        Level.ATTEMPT,
        share=Parameter(Quantity.SHARE, 0.05, "largest share of the bytes that may come from memory"),
        memory=Parameter(
            Quantity.FACTOR, 0.0, "minimum number of bytes moved, as a multiple of the memory of the run's nodes"
        ),
    ),
    "STA-01": _rule("all operations of a table line come from one run", _E, Level.CAMPAIGN),
    "STA-02": _rule("the reported run is the one that the rules select", _E, Level.CAMPAIGN),
    "STA-03": _rule(
        "there are enough repetitions for a confidence interval, or the rules' minimum with disclosure",
        _W,
        Level.CAMPAIGN,
        wanted=Parameter(Quantity.COUNT, 6, "repetitions needed for a confidence interval of the median"),
        minimum=Parameter(Quantity.COUNT, 1, "minimum number of repetitions that the RFP allows"),
    ),
    "STA-04": _rule(
        "variation between repetitions is within limits, and there is no trend over time",
        _W,
        Level.CAMPAIGN,
        variation=Parameter(Quantity.SHARE, 0.05, "largest coefficient of variation without a finding"),
        explain=Parameter(Quantity.SHARE, 0.1, "coefficient of variation above which the finding names this limit"),
        drift=Parameter(Quantity.FACTOR, 0.005, "p-value below which a trend over time is reported"),
    ),
    "STA-05": _rule(
        "values have the unit that the rules ask for and are not rounded without explanation", _E, Level.ATTEMPT
    ),
    "SEL-01": _rule("the best process count has measured neighbours on both sides", _E, Level.CAMPAIGN),
    "SEL-02": _rule("the reported process count was tuned and confirmed by confirmation runs", _E, Level.CAMPAIGN),
    "SEL-03": _rule("reported runs are separate from tuning runs", _E, Level.CAMPAIGN),
    "PHY-01": _rule(
        "single-process rates agree between file configurations, or are explained",
        _W,
        Level.CAMPAIGN,
        factor=Parameter(Quantity.FACTOR, 2.0, "largest ratio between the fastest and the slowest file configuration"),
    ),
    "PHY-02": _rule(
        "results of many processes are not slower than the single-process result, or are explained",
        _W,
        Level.CAMPAIGN,
        below=Parameter(Quantity.SHARE, 0.05, "how far a rate may be below the single-process rate"),
    ),
    "PHY-03": _rule(
        "where the benchmark's formula overcounts, actual rates and counts are reported too", _E, Level.ATTEMPT
    ),
    "PHY-04": _rule(
        "no operation is faster than a system call, and no bandwidth exceeds that of memory and network adapters",
        _E,
        Level.ATTEMPT,
        call=Parameter(
            Quantity.DURATION, 0.1e-6, "shortest plausible time per operation of one process; no system call is faster"
        ),
        memory=Parameter(Quantity.FACTOR, 4000, "highest plausible memory bandwidth of a node, in GB/s"),
    ),
    "PHY-05": _rule(
        "stat rates are not below the creation rates of the same row, or are explained",
        _W,
        Level.CAMPAIGN,
        below=Parameter(Quantity.SHARE, 0.05, "how far a stat rate may be below the creation rate of its row"),
    ),
    "PRJ-01": _rule(
        "projections are labelled and follow from a model; no measured line repeats another", _E, Level.CAMPAIGN
    ),
    "PRJ-02": _rule(
        "a projection names base system, generation, formula, inputs and uncertainty; recomputing it gives its value",
        _E,
        Level.CAMPAIGN,
    ),
    "PRJ-03": _rule(
        "the logs of the base system are included, and contain each input where it was read", _E, Level.CAMPAIGN
    ),
    "ENV-01": _rule("the system description is complete, without placeholders", _E, Level.CAMPAIGN),
    "ENV-02": _rule("tuning by users and by administrators is listed separately", _W, Level.CAMPAIGN),
    "ENV-03": _rule(
        "the environment did not change during the campaign and is the same on all nodes", _W, Level.CAMPAIGN
    ),
    "ENV-04": _rule(
        "the file system that the nodes mounted is the one that the campaign file describes", _E, Level.CAMPAIGN
    ),
    "ENV-05": _rule(
        "the measured system is configured as the proposed one, or each difference is explained", _W, Level.CAMPAIGN
    ),
    "EVD-01": _rule("the bundle is complete and unchanged, and no path points outside it", _E, Level.BUNDLE),
    "EVD-02": _rule("the journal is unedited and starts with the buyer's nonce, if one was given", _E, Level.CAMPAIGN),
    "EVD-03": _rule("the bundle is signed with a key that the buyer trusts", _E, Level.BUNDLE),
    "EVD-04": _rule(
        "offline re-evaluation of the raw logs gives identical tables, findings and verdict", _E, Level.BUNDLE
    ),
    "EVD-05": _rule("the rule pack is the published one", _E, Level.CAMPAIGN),
    "EVD-06": _rule(
        "the records of a run by driver, job, Slurm and benchmark do not contradict each other", _E, Level.ATTEMPT
    ),
    "EVD-07": _rule(
        "runs on one storage do not overlap, and each job ran the benchmark once for each of its attempts",
        _E,
        Level.CAMPAIGN,
    ),
    "WVR-01": _rule("waivers are signed, limited in scope and time, and shown with the result", _E, Level.CAMPAIGN),
}

PRACTICE = "practice"  # in place of a clause: good measurement practice, in no RFP

# Always judged, even if a pack does not list them: these rules ask whether the evidence is true and belongs to the
# offered system, not whether it meets the RFP. A pack may list them with its clause and other parameters.
ALWAYS = ("SRC-06", "PHY-04", "PHY-05", "ENV-04", "ENV-05", "EVD-06", "EVD-07")

CATALOGUE: Mapping[str, RuleEntry] = {
    rule: replace(entry, why=GUIDANCE[rule].why, remedy=GUIDANCE[rule].remedy) for rule, entry in _RULES.items()
}


def judged(checks: Mapping[str, str]) -> dict[str, str]:
    """The rules that a pack lists, each with its clause, and those that are always judged."""
    return {**checks, **{rule: PRACTICE for rule in ALWAYS if rule not in checks}}
