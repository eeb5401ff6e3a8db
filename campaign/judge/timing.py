"""The rules about how long phases and operations took, and whether the servers took part in them. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from campaign.catalogue import Kind, show
from campaign.judge.case import Case, subject
from campaign.judge.submission import Submission
from campaign.model import Finding, Record, Severity, Status
from campaign.rules import Operation

RATE = "ops/s"


def long_enough(case: Case) -> Iterator[Finding]:
    """RUN-07: each phase lasts long enough to be measured; a rehearsal is too small for that, which is disclosed."""
    minimum, unusable = (case.pack.parameter("RUN-07", name) for name in ("minimum", "unusable"))
    lasted: list[tuple[Operation, float]] = []
    for operation in case.operations:
        record = case.record(operation)
        if record is None:
            continue
        seconds = phase_seconds(case, record)
        if seconds is None:
            yield case.unchecked("RUN-07", f"{operation.id}: the output does not say how long the phase lasted")
        else:
            lasted.append((operation, seconds))
    short = [f"{operation.id} {seconds:.2g} s" for operation, seconds in lasted if seconds < minimum]
    hopeless = [f"{operation.id} {seconds:.2g} s" for operation, seconds in lasted if seconds < unusable]
    if hopeless and case.full:
        message = "phases are too short to be of use"
        yield case.broken("RUN-07", message, f"{show(Kind.DURATION, unusable)} or more", ", ".join(hopeless))
    elif short:
        message = "phases are short" if case.full else "rehearsal size: phases are short"
        yield case.doubtful("RUN-07", message, f"{show(Kind.DURATION, minimum)} or more", ", ".join(short))


def phase_seconds(case: Case, record: Record) -> float | None:
    """How long a phase lasted: as the output says, otherwise by its own formula, all items over the rate."""
    if record.elapsed_s is not None:
        return record.elapsed_s
    if record.unit == RATE and case.run.items_total and record.value > 0 and not _stonewalled(case):
        return case.run.items_total / record.value
    return None


def _stonewalled(case: Case) -> bool:
    """Whether a timer (-W), or the file of one (-x), may end a phase before all items are done."""
    return any(word.startswith(("-W", "-x", "--stonewall")) for word in case.planned)


def remote_latency(case: Case) -> Iterator[Finding]:
    """CCH-03: no operation is quicker than a remote file system can answer.

    On one node its client may answer for it, and in a rehearsal the file system may be a local one: then it is
    disclosed.
    """
    floor = case.pack.parameter("CCH-03", "floor")
    quick = []
    for operation in case.operations:
        record = case.record(operation)
        if record is None or record.unit != RATE:
            continue
        rate = record.true_value
        if rate is None and operation.id in case.files.inflated and case.run.geometry.processes > 1:
            yield case.unchecked(
                "CCH-03", f"{operation.id}: the output does not say how many operations were performed"
            )
            continue
        rate = record.value if rate is None else rate
        if rate > 0 and case.run.geometry.processes / rate < floor:
            quick.append(f"{operation.id} {case.run.geometry.processes / rate * 1e6:.2g} us")
    if quick:
        found = case.doubtful if case.run.geometry.nodes > 1 else case.disclosed
        yield found(
            "CCH-03",
            "an operation takes a process less time than a remote file system needs: a cache answered, or it is local",
            f"{show(Kind.DURATION, floor)} or more",
            ", ".join(quick),
        )


def servers_took_part(submission: Submission) -> Iterator[Finding]:
    """CCH-02: the servers performed as many operations as the stats of a phase whose files another node had made.

    Only where the campaign file gives what they counted: no client can tell.
    """
    threshold = submission.pack.parameter("CCH-02", "operations")
    counters = {(one.attempt, one.operation): one for one in submission.campaign.server_counters}
    records = {operation.id: operation.record for operation in submission.pack.operations}
    uncounted = []
    for row in submission.rows:
        remote = row.run is not None and row.run.geometry.nodes > 1
        if not remote or row.value is None or row.status is Status.PROJECTED or records[row.cell.operation] != "stat":
            continue
        if row.run is None or row.attempt is None or row.record is None:
            continue
        counter = counters.get((subject(row.run.id, row.attempt.number), row.cell.operation))
        stats = row.record.operations_done or row.run.items_total
        if counter is None or not stats:
            uncounted.append(row.cell)
        elif counter.operations < threshold * stats:
            yield Finding(
                "CCH-02",
                Severity.ERROR,
                str(row.cell),
                "the servers performed fewer operations than there were stats: a cache answered",
                f"{threshold:g} for each of {stats} stats",
                f"{counter.operations}, by {counter.log.name}",
            )
    yield from submission.unchecked("CCH-02", uncounted, "the campaign file gives no counters of the servers")
