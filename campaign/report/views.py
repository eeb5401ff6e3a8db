"""The plan and the states of its runs, as text and as JSON."""

from __future__ import annotations

import functools
import math
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from campaign.config.definition import Definition
from campaign.config.format import Campaign
from campaign.core import resources, units
from campaign.core.columns import Column
from campaign.core.grouping import grouped
from campaign.core.runs import Attempt, Run, State
from campaign.judge.submission import Submission
from campaign.pipeline.planning import Plan
from campaign.plan import matrix
from campaign.plan.estimate import estimate
from campaign.report import decision, findings_view, grid, printing
from campaign.results.cells import Row, is_left_out
from campaign.slurm import scripts

LEFT_OUT = "left out"  # of a run: all its cells are declined or projected
BAR = 30  # columns that show how many runs have ended
MOST_WATCHED = 200  # runs: more than any screen has lines


def plan_text(
    definition: Definition,
    planned: Plan,
    attempts: Sequence[Attempt] = (),
    width: int = printing.WIDEST,
    folded_commands: bool = False,
    brief: bool = False,
) -> str:
    """`plan`'s output: the runs by geometry with their command lines (each on one line, or folded so that a shell can
    read it), and what is not settled. `brief`: without the runs.
    """
    campaign, pack = definition.campaign, definition.pack
    planned = replace(planned, runs=tuple(run for run in planned.runs if not is_left_out(campaign, run.cells())))
    every = matrix.cells(campaign, pack)
    cells = [cell for cell in every if not is_left_out(campaign, (cell,))]
    columns: list[Column[Run]] = [
        Column("run", lambda run: run.id),
        Column("nodes", lambda run: run.geometry.nodes),
        Column("processes", lambda run: run.geometry.processes),
        Column("n", lambda run: run.items_per_process),
        Column(pack.items_unit, lambda run: run.items_total),
    ]
    return resources.render_template(
        "plan.txt.j2",
        campaign=campaign,
        pack=pack,
        planned=planned,
        cells=cells,
        without=len(every) - len(cells),
        jobs=len(matrix.batches(planned.runs, campaign.slurm.allocation)),
        brief=brief,
        grid=grid.plain_grid(columns if pack.items_total else columns[:3], planned.runs, width),
        commands=lambda run: scripts.each_command(run, campaign.slurm, "TOKEN"),
        command=functools.partial(_command, width=width if folded_commands else math.inf),
        estimate=estimate(campaign, planned.runs, planned.searches, attempts, bool(planned.unresolved)).text,
        several=units.plural,
    )


def forecast_text(submission: Submission, width: int = printing.WIDEST) -> str:
    """What the rules say of a plan: violations and required explanations in the words of `check`, and which rules ask
    for more at full size.
    """
    pack, findings = submission.pack, submission.all_findings
    certain = [finding for finding in findings if finding.violated or finding.unanswered or decision.is_waived(finding)]
    lines = ["Known before the run: no rule is violated"]
    if certain:
        lines = ["Known before the run:", "", findings_view.findings_text(pack, certain, submission.rows, width)]
    at_full = units.listing(dict.fromkeys(finding.rule for finding in findings if finding.at_full))
    if at_full:
        lines += [*[""] * bool(certain), f"At full size also: {at_full}; 'campaign check' says why"]
    return "\n".join(lines)


def _command(words: Sequence[str], width: float) -> str:
    """A command on several lines that a shell reads as one."""
    lines = [f"  {shlex.quote(words[0])}"]
    for word in map(shlex.quote, words[1:]):
        if len(lines[-1]) + len(word) + 3 > width:  # with a space, and the backslash that may follow
            lines[-1] += " \\"
            lines.append(f"      {word}")
        else:
            lines[-1] += f" {word}"
    return "\n".join(lines)


def run_states(submission: Submission) -> list[dict[str, Any]]:
    """Each run with its latest attempt; without one it is `planned`, or `left out` if all its cells are declined or
    projected.
    """
    runs = submission.all_runs
    attempts_by_run = matrix.attempts_by_run(runs, submission.attempts)
    blocking_findings = [(row.origin, finding) for row in submission.rows for finding in row.findings if finding.blocks]
    invalid = {
        origin: f"INVALID: {first.rule} {first.message}" for origin, (first, *_) in grouped(blocking_findings).items()
    }
    return [_run_state(run, attempts_by_run[run.id], submission.campaign, invalid) for run in runs]


def _run_state(run: Run, attempts: Sequence[Attempt], campaign: Campaign, invalid: Mapping[str, str]) -> dict[str, Any]:
    last = attempts[-1] if attempts else None
    unasked = last is None and is_left_out(campaign, run.cells())
    return {
        "run": run.id,
        "phase": run.phase,
        "state": last.state if last else LEFT_OUT if unasked else "planned",
        "active": last.state.active if last else False,
        "attempt": last.number if last else None,
        "attempts": len(attempts),
        "job_id": last.job_id if last else None,
        "reason": last.reason or invalid.get(f"{run.id}/{last.number}", "")
        if last
        else "all its cells are declined or projected"
        if unasked
        else "",
        "started": last.started if last else None,
        "ended": last.ended if last else None,
    }


STATES: tuple[Column[Mapping[str, Any]], ...] = (
    Column("run", lambda state: state["run"]),
    # The mark is beside the state: long first columns are folded, and it would be on a line without the run.
    Column("state", lambda state: state["state"] + (" (search)" if state["phase"] else ""), is_text=True),
    Column("attempt", lambda state: state["attempt"], is_text=True),
    Column("job", lambda state: state["job_id"], is_text=True),
    Column("reason", lambda state: state["reason"], is_text=True),
)


def states_text(states: Sequence[dict[str, Any]], width: int = printing.WIDEST) -> str:
    return grid.plain_grid(STATES, states, width)


def totals_text(states: Sequence[dict[str, Any]], rows: Sequence[Row], width: int) -> str:
    """How many runs are in each state, and how many results have each status."""
    counts = ("run", [state["state"] for state in states]), ("result", [row.status for row in rows])
    return "\n".join(line for count in counts for line in printing.wrap(units.count_by_kind(*count), width, "", "  "))


def watched_text(states: Sequence[dict[str, Any]], time_left: str, width: int) -> str:
    """How far a campaign is, and the runs that failed, run or wait. `time_left`: in words, or ""."""
    runs = [state for state in states if state["state"] != LEFT_OUT]
    unfinished = [state for state in runs if state["active"] or not state["attempt"]]
    failed = [state for state in runs if state["attempt"] and not state["active"] and state["state"] != State.DONE]
    number, failures = len(runs) - len(unfinished), f", {len(failed)} failed" if failed else ""
    filled = BAR * number // max(len(runs), 1)
    count = f"{'█' * filled}{'░' * (BAR - filled)} {number} of {len(runs)} runs ended{failures}{time_left}"
    lines = printing.wrap(count, width, "", "  ")
    return "\n".join([*lines, "", states_text([*failed, *unfinished][:MOST_WATCHED], width)])
