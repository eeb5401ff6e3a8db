"""Plan, states and findings as people and programs read them."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from campaign import matrix, modifications, scripts, searching
from campaign.cells import Row
from campaign.contents import Contents, Section
from campaign.estimate import estimate
from campaign.model import Attempt, Finding, Run
from campaign.pipeline import Standing
from campaign.planning import Opened, Plan
from campaign.rules import RulePack, Variable


def plan_text(opened: Opened, planned: Plan, attempts: Sequence[Attempt] = ()) -> str:
    """What `plan` prints: the runs by geometry with their command lines, and what is not settled."""
    import tabulate

    campaign, pack = opened.campaign, opened.pack
    cells = matrix.cells(campaign, pack)
    jobs = len(matrix.batches(planned.runs, campaign.slurm.allocation))
    lines = [
        f"campaign {campaign.name}: rules {pack.id} version {pack.version}, profile {campaign.profile}",
        f"{len(planned.runs)} runs for {len(cells)} cells in {jobs} jobs (allocation: {campaign.slurm.allocation})",
        "",
    ]
    counted = bool(pack.items_total)
    body = [
        [run.id, run.geometry.nodes, run.geometry.processes, *([run.items_per_process, run.items_total] * counted)]
        for run in planned.runs
    ]
    headers = ["run", "nodes", "processes", *(["n", pack.items_unit] * counted)]
    lines += [tabulate.tabulate(body, headers, tablefmt="simple"), ""]
    lines += [_variable(variable, pack) for variable in pack.variables]
    lines += [""] * bool(pack.variables)
    for run in planned.runs:
        command = (*scripts.launcher(run, campaign.slurm), *scripts.command(run, "TOKEN"))
        lines += [f"{run.id}:", f"  {shlex.join(command)}", *(f"  note: {note}" for note in run.notes)]
    for standing in planned.searches:
        lines.append(f"search {standing.sought.key}: {_standing(standing)}")
        if standing.decision:
            lines += [f"  note: {remark}" for remark in standing.decision.remarks]
    lines += [f"not settled: {reason}" for reason in planned.unresolved.values()]
    slurm = campaign.slurm
    lines.append(estimate(planned.runs, planned.searches, attempts, slurm.allocation, slurm.time_s).text)
    return "\n".join(lines)


def _variable(variable: Variable, pack: RulePack) -> str:
    value = pack.values[variable.id]
    full = "" if value == variable.full else f", at full size {variable.full}"
    return f"{variable.id}: {value}{full}{f' ({variable.why})' if variable.why else ''}"


def _standing(standing: searching.Standing) -> str:
    if standing.decision:
        return standing.decision.reason
    return f"{len(standing.points)} points measured, {len(standing.wanted)} runs next"


def states(planned: Plan, attempts: Sequence[Attempt]) -> list[dict[str, Any]]:
    """Each run with its latest attempt; `planned` where there is none yet."""
    counted = matrix.attempts_by_run(planned.all_runs, attempts)
    return [_state(run, counted[run.id]) for run in planned.all_runs]


def _state(run: Run, attempts: Sequence[Attempt]) -> dict[str, Any]:
    last = attempts[-1] if attempts else None
    return {
        "run": run.id,
        "phase": run.phase,
        "state": last.state if last else "planned",
        "active": last.state.active if last else False,
        "attempt": last.number if last else None,
        "attempts": len(attempts),
        "job_id": last.job_id if last else None,
        "reason": last.reason if last else "",
        "started": last.started if last else None,
        "ended": last.ended if last else None,
    }


def states_text(rows: Sequence[dict[str, Any]]) -> str:
    import tabulate

    body = [
        [row["run"] + (" (search)" if row["phase"] else ""), row["state"], row["attempt"], row["job_id"], row["reason"]]
        for row in rows
    ]
    return tabulate.tabulate(
        body, ["run", "state", "attempt", "job", "reason"], tablefmt="simple", disable_numparse=True
    )


def findings(pack: RulePack, rows: Sequence[Row], others: Sequence[Finding]) -> list[dict[str, Any]]:
    """Every finding once, with the rule's clause in the RFP: those of the rows and those about more than cells."""
    found = dict.fromkeys([*(finding for row in rows for finding in row.findings), *others])
    return [{**asdict(finding), "clause": pack.checks.get(finding.rule, "")} for finding in found]


def findings_text(rows: Sequence[dict[str, Any]]) -> str:
    import tabulate

    body = [
        [
            row["rule"] if row["checked"] else f"{row['rule']} not checked",
            row["severity"],
            row["subject"],
            row["message"],
            row["expected"],
            row["actual"],
        ]
        for row in rows
    ]
    headers = ["rule", "severity", "subject", "finding", "expected", "found"]
    return tabulate.tabulate(
        body, headers, tablefmt="simple", disable_numparse=True, maxcolwidths=[None, None, None, 48, 32, 32]
    )


def contents(opened: Opened, found: Standing) -> Contents:
    """What the files for people are made of."""
    told = findings(opened.pack, found.rows, found.findings)
    return Contents(
        opened.campaign,
        opened.pack,
        found.plan.runs,
        found.rows,
        told,
        findings_text(told),
        opened.paths.root,
        found.plan.searches,
        found.attempts,
        modifications=tuple(Section(*part) for part in modifications.parts(found.sources)),
    )
