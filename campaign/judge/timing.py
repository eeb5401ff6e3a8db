"""The rules about how long phases and operations took, and whether the servers took part in them. Pure."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence

from campaign.config.rules.catalogue import Quantity, parse, show
from campaign.config.rules.entries import Operation
from campaign.config.rules.pack import RulePack
from campaign.core.model import Cell, Finding, Record, Status
from campaign.judge.findings import at_full_size, doubt, note, to_explain, unchecked, violation
from campaign.judge.submission import Submission
from campaign.results.case import Case
from campaign.results.cells import Row
from campaign.results.environment.facts import Served

RATE = "ops/s"
UNCERTAINTY_STEPS = (0.001, 0.01, 0.05, 0.1, 0.5)


def long_enough(case: Case) -> Iterator[Finding]:
    """RUN-07: each phase that the rules allow to be made longer is long enough to be measured. If the RFP fixes its
    size, its length and the resulting uncertainty are noted, as they are in a rehearsal.
    """
    minimum, unusable = (case.pack.parameter("RUN-07", name) for name in ("minimum", "unusable"))
    lasted: list[tuple[Operation, Record, float]] = []
    for operation, record in case.reported:
        seconds = phase_seconds(case, record.measured[0]) or _at_most(case, operation)
        if seconds is None:
            yield unchecked("phase duration not in the output", operation=operation.id)
        else:
            lasted.append((operation, record, seconds))
    yield from _below_rule(case, lasted)
    short = [phase for phase in lasted if phase[2] < minimum and not phase[0].lasts]
    hopeless = [phase for phase in short if phase[2] < unusable]
    if not short:
        return
    means = case.pack.lengthened_by()
    if not case.full:
        form = at_full_size(violation if hopeless else to_explain, full=False) if means else note
        yield form("rehearsal: phases are short", *_lengths(minimum, short))
    elif not means:
        yield _fixed_size(case, minimum, short)
    elif hopeless:
        yield violation(
            "phases too short to be valid; extend them with {means}",
            *_lengths(unusable, hopeless),
            means=" or ".join(means),
        )
    else:
        yield to_explain(
            "phases are short; extend them with {means}", *_lengths(minimum, short), means=" or ".join(means)
        )


def _at_most(case: Case, operation: Operation) -> float | None:
    """For a phase whose output gives no time: how long the job saw it, if even that is shorter than the RFP's time."""
    completion = case.evidence.completion
    if completion is None or not operation.lasts:
        return None
    lasted = completion.ended - completion.started
    return lasted if lasted < parse(Quantity.DURATION, operation.lasts) else None


def _below_rule(case: Case, lasted: Sequence[tuple[Operation, Record, float]]) -> Iterator[Finding]:
    """Phases that are shorter than the RFP's minimum for them."""
    for operation, record, seconds in lasted:
        wanted = parse(Quantity.DURATION, operation.lasts) if operation.lasts else 0.0
        if seconds < wanted:
            yield at_full_size(violation, case.full)(
                "the phase is shorter than the rules require"
                if case.full
                else "the phase is shorter than the rules require (rehearsal): INVALID as a result",
                *_lengths(wanted, [(operation, record, seconds)]),
                operation=operation.id,
            )


def _lengths(wanted: float, phases: Sequence[tuple[Operation, Record, float]]) -> tuple[str, str]:
    """The required and the actual length of these phases."""
    lasted = [f"{operation.id} {_two_digits(seconds)} s" for operation, _, seconds in phases]
    return _or_more(wanted), ", ".join(lasted)


@functools.lru_cache(maxsize=64)
def _or_more(seconds: float) -> str:
    return f"{show(Quantity.DURATION, seconds)} or more"


def _fixed_size(case: Case, minimum: float, phases: Sequence[tuple[Operation, Record, float]]) -> Finding:
    """The note about phases whose length is fixed: how long they took, and how exact their times are."""
    step = case.seen.clock_step_s
    uncertain: list[float | None] = []
    parts = []
    for operation, record, seconds in phases:
        if step is None or record.start_skew_s is None:
            uncertain.append(None)
            parts.append(f"{operation.id} {_two_digits(seconds)} s (clock step and start skew not recorded)")
        else:
            share = (step + record.start_skew_s) / seconds
            uncertain.append(share)
            parts.append(
                f"{operation.id} {_two_digits(seconds)} s, uncertain by {_two_digits(100 * share)}% (clock "
                f"{_short(step)}, ranks started within {_short(record.start_skew_s)})"
            )
    return note(
        "short phases (size fixed by the rules); timing uncertainty: {uncertainty}",
        f"{show(Quantity.DURATION, minimum)} or more, where the rules allow a change",
        ", ".join(parts),
        uncertainty=_in_steps(uncertain),
    )


def _in_steps(shares: Sequence[float | None]) -> str:
    """The largest uncertainty, rounded up to a step, so that similar cells share one note of a table."""
    known = [share for share in shares if share is not None]
    if len(known) < len(shares):
        return "not recorded"
    return next(
        (f"under {show(Quantity.SHARE, step)}" for step in UNCERTAINTY_STEPS if max(known) < step), "50% or more"
    )


def _short(seconds: float) -> str:
    """A time in the unit that suits it: 2.8 ms."""
    scale, unit = next((pair for pair in ((1.0, "s"), (1e-3, "ms"), (1e-6, "us")) if seconds >= pair[0]), (1e-9, "ns"))
    return f"{_two_digits(seconds / scale)} {unit}"


def _two_digits(value: float) -> str:
    """Two digits without an exponent, however long a phase or exact a clock."""
    if 0 < value < 1e-4:
        return "less than 0.0001"
    return f"{value:.2g}" if value < 99.5 else f"{value:.0f}"


def phase_seconds(case: Case, record: Record) -> float | None:
    """How long a phase took: from the output, otherwise all its items divided by the rate."""
    if record.elapsed_s is not None:
        return record.elapsed_s
    if record.unit == RATE and case.run.items_total and record.value > 0 and not case.stonewalled:
        return case.run.items_total / record.value
    return None


def remote_latency(case: Case) -> Iterator[Finding]:
    """CCH-03: no operation is faster than a remote file system can answer. On a single node the client's cache may
    answer, and in a rehearsal the file system may be local: then it is noted.
    """
    floor = case.pack.parameter("CCH-03", "floor")
    quick = []
    for operation, record in case.reported:
        if record.unit != RATE:
            continue
        rate = record.true_value
        if rate is None and operation.id in case.files.inflated and case.run.geometry.processes > 1:
            yield unchecked(
                "this benchmark does not print how many operations it performed, so the time of one is unknown; the "
                "built-in one prints it",
                operation=operation.id,
            )
            continue
        rate = record.value if rate is None else rate
        if rate > 0 and case.run.geometry.processes / rate < floor:
            quick.append(f"{operation.id} {case.run.geometry.processes / rate * 1e6:.2g} us")
    if quick:
        yield (doubt(case.full) if case.run.geometry.nodes > 1 else note)(
            "per-operation latency is below any network round trip: results come from cache or a local file system",
            _or_more(floor),
            ", ".join(quick),
        )


def servers_took_part(submission: Submission) -> Iterator[Finding]:
    """CCH-02: the servers performed as many operations as the stats of a phase whose files another node had created.

    Checked only if the servers were asked during the run, or the campaign file gives their counters: clients cannot
    tell.
    """
    threshold = submission.pack.parameter("CCH-02", "operations")
    given = {(counter.attempt, counter.operation): counter for counter in submission.campaign.server_counters}
    cases = {case.subject: case for case in submission.results}
    asked = {target.name for target in submission.campaign.targets if target.server_counters}
    unknown: dict[str, list[Cell]] = {}
    for row in submission.rows:
        case = cases.get(row.origin or "")
        if case is None or not _claims_remote_stats(row, submission.pack):
            continue
        counter, served = given.get((case.subject, row.cell.operation)), case.evidence.served.get("stat")
        stats = (row.record.operations_done if row.record else None) or case.run.items_total
        if counter is not None:
            served = Served(counter.operations, counter.operations)
        if served is None or not stats:
            missing = (
                "server_counters: the command printed no counts before and after the stat phase of this attempt"
                if row.cell.target in asked
                else "no server-side counters supplied under server_counters"
            )
            unknown.setdefault(missing, []).append(row.cell)
        elif served.most < threshold * stats:
            # Each node opened the shared files: a shift cannot remove them from its client's cache.
            form, message = (
                (
                    note,
                    (
                        "all nodes opened the shared files themselves: their own caches can answer stat calls, "
                        "whatever the rank offset"
                    ),
                )
                if case.files.inflated
                else (violation, "servers performed fewer operations than clients issued: results come from cache")
            )
            log = counter.log.name if counter is not None else "counters.jsonl"
            yield form(
                message,
                f"at least {threshold:g} for each of {stats} stat calls",
                f"{served.most} server operations (from {log})",
                about=row.cell,
            )
        elif served.least < threshold * stats:
            unknown.setdefault(
                "server-side counters were read too rarely to tell the stat phase from the others", []
            ).append(row.cell)
    for why, cells in unknown.items():
        yield from submission.over(unchecked, cells, why)


def _claims_remote_stats(row: Row, pack: RulePack) -> bool:
    """Whether it has a measured rate of stats on several nodes."""
    records = {operation.id: operation.record for operation in pack.operations}
    remote = row.run is not None and row.run.geometry.nodes > 1
    return (
        remote
        and row.value is not None
        and row.status is not Status.PROJECTED
        and records[row.cell.operation] == "stat"
    )
