"""The rules about caches of clients and servers (CCH). Pure."""

from __future__ import annotations

from collections.abc import Iterator

from campaign.config.rules.catalogue import Parameter, Quantity
from campaign.core.findings import Finding, Severity
from campaign.core.runs import Cell
from campaign.core.units import distinct_digits, format_size
from campaign.judge.conditions import WITHIN
from campaign.judge.findings import (
    at_full_size,
    missing_output_form,
    note,
    to_explain,
    to_explain_at_full_size,
    unchecked,
    violation,
)
from campaign.judge.rule import Needs, attempt_rule, campaign_rule
from campaign.judge.submission import Submission
from campaign.judge.timing import BYTES, at_least_text, faster_operations
from campaign.results.case import Case
from campaign.results.environment.facts import Served

EVIDENT = 2  # times the memory of the nodes: so much data cannot have come from it


@attempt_rule(
    "CCH-05",
    "bandwidths are of the storage, not of memory",
    why="the bandwidth of memory says nothing about the storage",
    remedy="measure more data than the nodes' memory holds, with fsync and with another node reading the data",
    parameters={
        "share": Parameter(Quantity.SHARE, 0.05, "largest share of the bytes that may come from memory"),
        "memory": Parameter(
            Quantity.FACTOR,
            0.0,
            "minimum number of bytes moved, as a multiple of the memory of the run's nodes",
        ),
    },
)
def check_storage_bandwidth(case: Case) -> Iterator[Finding]:
    """For `files` with `storage`: shares of bytes read from the page cache, and not yet on storage when timing ended;
    without such shares, the data must be twice the nodes' memory. With `memory`: the bytes moved compared with that
    multiple. On one node, and in a rehearsal, noted. Not checked: neither shares nor size show it, or memory was not
    recorded.
    """
    yield from _check_moved_bytes(case)
    allowed, memory = case.pack.parameter("CCH-05", "share"), case.memory
    for operation, record in case.results:
        if record.cached_share is None and record.dirty_share is None:
            moved = record.moved_bytes
            if case.files.storage and (moved is None or memory is None):
                yield unchecked("page cache contents not in the output", operation=operation.id)
            elif case.files.storage and moved is not None and memory is not None and moved < EVIDENT * memory:
                yield unchecked(
                    "page cache contents not in the output, and {moved} of data fit into {memory} of memory",
                    operation=operation.id,
                    moved=format_size(moved),
                    memory=format_size(memory),
                )
            continue
        for share, cause in (
            (record.cached_share, "the data was already in the reading node's page cache"),
            (record.dirty_share, "the data was not yet on storage when timing ended"),
        ):
            if share is None or share <= allowed:
                continue
            # A single node cannot read from elsewhere, and a rehearsal is too small to leave the cache.
            must = case.files.storage and case.run.geometry.nodes > 1
            largest, actual = distinct_digits(100 * allowed, 100 * share)
            yield (at_full_size(violation, case.full) if must else note)(
                "bandwidth of memory, not of storage: {why}",
                f"at most {largest}% of the bytes",
                f"{actual}% of the bytes",
                operation=operation.id,
                why=cause,
            )


def _check_moved_bytes(case: Case) -> Iterator[Finding]:
    """The bytes moved for each bandwidth, compared with the recorded memory of the nodes."""
    multiple, memory = case.pack.parameter("CCH-05", "memory"), case.memory
    anywhere = any(files.storage for files in case.pack.files)
    if not multiple or (anywhere and not case.files.storage):
        return
    for operation, result in case.results:
        for record in result.measured_records:
            if record.unit not in BYTES:
                continue
            if record.moved_bytes is None or memory is None:
                yield unchecked("amount of data or memory of the nodes not recorded", operation=operation.id)
            elif record.moved_bytes < multiple * memory * (1 - WITHIN):
                yield at_full_size(violation, case.full)(
                    "less data moved than the rules require for the nodes' memory",
                    f"{format_size(multiple * memory)} ({multiple:g} x {format_size(memory)})",
                    format_size(record.moved_bytes),
                    operation=operation.id,
                )


@attempt_rule(
    "CCH-04",
    "single-node results are labelled as within reach of the client cache",
    why="on a single node the client's cache may answer instead of the servers",
    remedy="nothing; the label stays with the result",
    severity=Severity.INFO,
)
def note_client_cache(case: Case) -> Iterator[Finding]:
    """One node."""
    if case.run.geometry.nodes == 1:
        yield note("single node: results may include client cache")


@attempt_rule(
    "CCH-01",
    "client caches were bypassed or dropped, and the output shows it",
    why="a rate from the client's cache says nothing about the file servers",
    remedy="measure on two nodes or more with a rank offset of one node, or explain how caches were dropped",
    severity=Severity.WARNING,
)
def check_client_cache(case: Case) -> Iterator[Finding]:
    """Phases on other nodes, by the effective shift, or dropped caches."""
    observation, geometry = case.observation, case.run.geometry
    if any(record.cached_share is not None for record in case.records):
        return  # the output says what the cache held: CCH-05 judges it
    if geometry.nodes == 1:
        yield note("files were accessed on the node that created them; results may come from client cache")
    elif observation.shift_effective is None:
        yield missing_output_form(case)("client cache handling not in the output")
    elif observation.shift_effective % geometry.processes == 0 or observation.whole_nodes is False:
        yield to_explain(
            "no measure against client caching",
            f"phases shifted by whole nodes ({geometry.processes_per_node} ranks per node), or caches dropped",
            f"a rank shift of {observation.shift_effective} among {geometry.processes} ranks",
        )


# --- CCH-03, PHY-04


@attempt_rule(
    "CCH-03",
    "the time per operation is plausible for a remote file system",
    why="an operation faster than any network round trip did not reach a remote server",
    remedy="check that the target is the offered file system and that its clients do not cache, or explain the latency",
    severity=Severity.WARNING,
    parameters={
        "floor": Parameter(Quantity.DURATION, 1e-05, "shortest plausible time per operation on a remote file system"),
    },
)
def check_latency(case: Case) -> Iterator[Finding]:
    """Processes divided by the actual rate, compared with `floor`. Before version 4, mdtest prints its fastest
    process's rate: not checked below `floor` where only another one worked (removal with `-S`). On one node, and in
    a rehearsal, noted.
    """
    floor = case.pack.parameter("CCH-03", "floor")
    quick, unknown = faster_operations(case, floor)
    yield from unknown
    if quick:
        yield (to_explain_at_full_size(case.full) if case.run.geometry.nodes > 1 else note)(
            "per-operation latency is below any network round trip: results come from cache or a local file system",
            at_least_text(floor),
            ", ".join(f"{name} {distinct_digits(seconds * 1e6, floor * 1e6)[0]} us" for name, seconds in quick.items()),
        )


# --- CCH-02


@campaign_rule(
    "CCH-02",
    "the servers performed the operations that remote phases report, where server counters are supplied",
    why="if the servers performed fewer operations than the clients report, caches answered the rest",
    remedy="switch off client caching of attributes, measure again, and supply the servers' counters",
    parameters={
        "operations": Parameter(Quantity.FACTOR, 1.0, "minimum number of server operations per stat"),
    },
    needs=Needs.NUMBERS,
)
def check_server_operations(submission: Submission) -> Iterator[Finding]:
    """For stat on several nodes, the operations that the servers counted (`facts.jsonl`, or `server_counters` of the
    campaign file). Noted: files shared by all processes, which each node opened itself; no counters at all.

    Checked only if the servers were asked during the run, or the campaign file gives their counters: clients cannot
    tell. A campaign without any counters says so; it is the buyer who may ask for them.
    """
    threshold = submission.pack.parameter("CCH-02", "operations")
    counters = {(counter.attempt, counter.operation): counter for counter in submission.campaign.server_counters}
    cases = {case.subject: case for case in submission.results}
    targets_with_counters = {target.name for target in submission.campaign.targets if target.server_counters}
    of_stats = {operation.id for operation in submission.pack.operations if operation.record == "stat"}
    unknown: dict[str, list[Cell]] = {}
    cells_without_counters: list[Cell] = []
    for row in submission.measured_rows:
        case = cases.get(row.origin)
        if case is None or case.run.geometry.nodes == 1 or row.cell.operation not in of_stats:
            continue
        counter, served = counters.get((case.subject, row.cell.operation)), case.evidence.served.get("stat")
        stats = (row.record.operations_done if row.record else None) or case.run.items_total
        if counter is not None:
            served = Served(counter.operations, counter.operations)
        if served is None or not stats:
            if row.cell.target in targets_with_counters:
                missing = "server_counters: the command printed no counts before and after the stat phase"
                unknown.setdefault(f"{missing} of this attempt", []).append(row.cell)
            elif counters:
                unknown.setdefault("server_counters has no counters of this attempt", []).append(row.cell)
            else:
                cells_without_counters.append(row.cell)
        elif served.most < threshold * stats:
            form, message = violation, "servers performed fewer operations than clients issued: results come from cache"
            if case.files.inflated:  # a shift cannot remove the shared files from the cache of a node that opened them
                form = note
                message = (
                    "all nodes opened the shared files themselves: their own caches can answer stat calls, whatever "
                    "the rank offset"
                )
            yield form(
                message,
                f"at least {threshold:g} for each of {stats} stat calls",
                f"{served.most} server operations (from {counter.log.name if counter else 'facts.jsonl'})",
                about=row.cell,
            )
        elif served.least < threshold * stats:
            unclear = "server-side counters were read too rarely to tell the stat phase from the others"
            unknown.setdefault(unclear, []).append(row.cell)
    for reason, cells in unknown.items():
        yield from submission.per_line(unchecked, cells, reason)
    yield from submission.per_line(
        note, cells_without_counters, "no server-side counters supplied under server_counters"
    )
