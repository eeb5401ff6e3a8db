"""Cases of the rule over the energy of the runs, and of conditions that name it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from campaign.config.format import EnergySource
from campaign.config.rules.entries import EnergyDemand
from campaign.core.findings import Severity
from campaign.judge.submission import Submission
from campaign.results.case import Case
from campaign.results.environment.facts import Metered
from tests.judge.cases import Example, broken, compliant, disclosed, rehearsed, unchecked
from tests.judge.cases.conditions import solved
from tests.judge.cases.numbers import repeated
from tests.support import builders

LINE = "scratch/single/shared/*"
LOWER = "the energy was measured by a lower level of the Green500's methods than clause 7 requires"
SOURCE = EnergySource("rapl", "processors and memory of all nodes", 2)


def metered(
    joules: float | None = 900.0,
    demand: EnergyDemand = EnergyDemand("7", 2),  # noqa: B008
    source: EnergySource = SOURCE,
    profile: str = "full",
    **changes: Any,
) -> Submission:
    """Two runs of 2.5 s on n1 and n2 (one node is used), whose meters gave this."""
    submission = repeated(1000, 1000)
    pack = replace(submission.pack, energy=demand, profile=profile)
    energy = Metered(joules, 500.0, ("n1", "n2"), 110.0, 112.5, **changes)
    evidence = builders.evidence(energy=energy, environment=builders.environment(submission.runs[0].job_nodes))
    results = tuple(
        replace(case, pack=pack, run=replace(case.run, energy=source.job_setting), evidence=evidence)
        for case in submission.results
    )
    campaign = replace(submission.campaign, energy=source, profile=profile)
    return replace(submission, pack=pack, campaign=campaign, results=results)


def on_more_nodes() -> Submission:
    submission = metered()
    evidence = replace(submission.results[0].evidence, environment=builders.environment(2))
    return replace(submission, results=tuple(replace(case, evidence=evidence) for case in submission.results))


def conditioned(holds: str, joules: float | None) -> Case:
    """A run with a condition on its energy."""
    case = solved(holds)
    run = replace(case.run, energy=SOURCE.job_setting)
    evidence = replace(
        case.evidence, energy=Metered(joules, None, ("n1", "n2"), 110.0, 112.5, problem="broken" * (not joules))
    )
    return replace(case, run=run, evidence=evidence, pack=replace(case.pack, energy=EnergyDemand("7")))


EXAMPLES: list[Example] = [
    compliant("RUN-10", "energy and peak power by an accepted level", metered(demand=EnergyDemand("7", 2, True))),
    compliant("RUN-10", "a higher level", metered(demand=EnergyDemand("7", 1))),
    broken("RUN-10", LOWER,
           metered(demand=EnergyDemand("7", 3)), "level 3", "2", LINE),
    broken("RUN-10", LOWER,
           metered(source=replace(SOURCE, level=None)), "level 2", "not declared", LINE),
    rehearsed("RUN-10", LOWER,
              metered(demand=EnergyDemand("7", 3), profile="rehearsal"), "level 3", "2", LINE),
    broken("RUN-10", "the mean power of a node cannot be true: the source did not read what it should",
           metered(1.0), "1 W to 100 kW", "0.4 W", LINE, Severity.WARNING),
    broken("RUN-10", "the energy includes nodes that the run did not use", on_more_nodes(), "1", "2 nodes",
           LINE, Severity.WARNING),
    disclosed("RUN-10", "energy counters began again at 0 during the run; this is corrected",
              metered(turned_over=2), "", "2 times", LINE),
    unchecked("RUN-10", "nobody measures", metered(source=EnergySource())),
    unchecked("RUN-10", "a node was not read", metered(None, problem="no readings of n2")),
    broken("RES-01", "clause 4.2 requires energy <= 0.0002; found energy 0.00025 (runs/scratch.peak.unique.r1/1/"
           "facts.jsonl:1)",
           conditioned("energy <= 0.0002", 900.0), "<= 0.0002", "0.00025", "scratch.peak.unique.r1/1"),
    compliant("RES-01", "an energy below its limit", conditioned("energy <= 0.0003", 900.0)),
    unchecked("RES-01", "an energy that nobody measured", conditioned("energy <= 0.0003", None)),
]  # fmt: skip
