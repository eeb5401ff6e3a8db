"""RUN-10: the energy of the runs against what the rules require. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from campaign.core.grouping import grouped
from campaign.core.model import Finding
from campaign.core.units import digits
from campaign.judge.findings import at_full_size, note, to_explain, unchecked, violation
from campaign.judge.submission import Submission
from campaign.results.case import Case
from campaign.results.environment.energy import SLURM

NODE_W = (1.0, 100e3)  # mean powers of a node that may be true


def recorded(submission: Submission) -> Iterator[Finding]:
    """RUN-10: each valid result has its energy, and its peak power if asked for, by the level that the rules accept."""
    demand, given = submission.pack.energy, submission.campaign.energy
    results = [case for case in submission.results if case.valid and case.complete]
    lower = demand.level is not None and (given.level or 0) < demand.level
    if lower and given.source:
        form = at_full_size(violation, submission.full)
        level = given.level or "not declared"
        cells = [row.cell for row in submission.planned_rows]
        wording = "the energy was measured by a lower level of the Green500's methods than clause {clause} requires"
        yield from submission.over(form, cells, wording, f"level {demand.level}", level, clause=demand.clause)
    found = [(finding, cell) for case in results for finding in _of(case) for cell in case.run.cells()]
    alike = grouped(((finding, finding.message), cell) for finding, cell in found)
    for (finding, _), of_finding in alike.items():
        yield from submission.over(lambda about, made=finding: replace(made, subject=about), of_finding)


def _of(case: Case) -> Iterator[Finding]:
    metered, completion = case.metered, case.evidence.completion
    if metered.joules is None or completion is None:
        yield unchecked("energy not recorded: {why}", why=metered.problem)
        return
    if metered.peak_w is None and case.pack.energy.peak:
        yield unchecked("peak power not recorded: its source reads nothing in between")
    seconds, had = completion.ended - completion.started, len(case.evidence.environment.job_nodes)
    each_w = metered.joules / max(seconds, 1.0) / case.run.job_nodes
    if not NODE_W[0] <= each_w <= NODE_W[1]:
        wording = "the mean power of a node cannot be true: the source did not read what it should"
        yield to_explain(wording, "1 W to 100 kW", f"{digits(each_w)} W")
    if had > case.run.job_nodes and case.run.energy not in ("", SLURM):
        yield to_explain("the energy includes nodes that the run did not use", case.run.job_nodes, f"{had} nodes")
    if metered.turned_over:
        yield note(
            "counters that began again at 0 during the run are accounted for", "", f"{metered.turned_over} times"
        )
