"""The rules about how long phases and operations took, and whether any machine can be that fast (RUN-07, PHY-03,
PHY-04). Pure.

The limits of PHY-04 are far from what real systems reach. Of 2,330 results of 193 submissions to the IO500 lists up to
2025 (github.com/IO500/submission-data), the fastest metadata operation took 0.93 us per process (10,351,329 removals/s
of 9,600 processes, OceanStor Pacific, 2023), and the largest bandwidth was 266 GB/s per node.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence

from campaign.config.rules.catalogue import Parameter, Quantity, parse, show
from campaign.config.rules.entries import Operation
from campaign.core.findings import Finding, Severity
from campaign.core.records import Record
from campaign.core.units import digits, distinct_digits
from campaign.judge.findings import (
    BUILTIN,
    at_full_size,
    missing_output_form,
    note,
    to_explain,
    unchecked,
    unprovable,
    violation,
)
from campaign.judge.rule import attempt_rule
from campaign.results.case import Case
from campaign.results.environment.facts import Environment


@attempt_rule(
    "PHY-03",
    "where the benchmark's formula overcounts, actual rates and counts are reported too",
    why="a formula that counts work which was not done makes the rate look higher than it is",
    remedy="report the actual rate and count with the printed ones",
)
def check_inflated_rates(case: Case) -> Iterator[Finding]:
    """For operations marked as inflated, the actual rate besides the printed one: by the built-in benchmark itself, for
    other mdtests from their command line (`-S`, `-n`) and processes; noted. For others, a rate of more operations
    than were performed is a violation. Before version 4, mdtest prints the rate of its fastest process: tables say so
    at the number, and the actual rate is noted where the output shows it (`Min` of a single iteration, or items /
    longest time). Not checked: an external benchmark whose command line does not tell.
    """
    for operation, record in case.results:
        actual = _lower_true_value(record)
        if actual is not None and record.of_fastest:
            yield note(
                "the benchmark prints the rate of its fastest process",
                f"{digits(actual)} {record.unit} (actual)",
                f"{digits(record.value)} {record.unit} (printed)",
                operation=operation.id,
            )
            continue
        if operation.id not in case.files.inflated:
            if actual is not None:
                yield violation(
                    "fewer operations were performed than its rate counts",
                    f"{digits(record.value)} {record.unit} (by the formula)",
                    f"{digits(actual)} {record.unit} (actual)",
                    operation=operation.id,
                )
            continue
        # The built-in benchmark reports what was done; if it does not, that is no answer.
        builtin = case.observation.program.startswith(BUILTIN)
        if record.operations_done is None:
            yield (violation if builtin else unchecked)(
                "the rate assumes one operation for each process and file; this benchmark does not print how many "
                "there were, the built-in one does",
                operation=operation.id,
            )
        elif builtin and record.true_value is None and case.run.geometry.processes > 1:
            yield violation(
                "the output claims as many actual operations as the formula counts, which is impossible",
                operation=operation.id,
            )
        elif actual is not None:
            yield note(
                "the formula counts more operations than were performed",
                f"{digits(actual)} {record.unit} (actual)",
                f"{digits(record.value)} {record.unit} (by the formula)",
                operation=operation.id,
            )
        elif record.files_true is not None and record.files_true != case.run.items_total:
            yield note(
                "all processes share the same {unit}; the formula counts them once per process",
                f"{record.files_true} {case.pack.items_unit} (created)",
                f"{case.run.items_total} {case.pack.items_unit} (by the formula)",
                operation=operation.id,
                unit=case.pack.items_unit,
            )


def _lower_true_value(record: Record) -> float | None:
    """The actual number if it is less than the formula's; of means, one is rounded and the other is not."""
    actual = record.true_value
    return None if actual is None or actual >= record.value - 0.001 else actual


RATE = "ops/s"
BYTES = {
    "B/s": 1.0, "kB/s": 1e3, "KB/s": 1e3, "KiB/s": 2.0**10, "MB/s": 1e6, "MiB/s": 2.0**20, "GB/s": 1e9,
    "GiB/s": 2.0**30, "TB/s": 1e12, "TiB/s": 2.0**40,
}  # fmt: skip
RESOLVED_S = 1e-3  # a thousand steps of the clock that mdtest has before version 4
UNCERTAINTY_STEPS = (0.001, 0.01, 0.05, 0.1, 0.5)
_ETHERNET = re.compile(r"operstate up, speed ([1-9][0-9]{0,7}),.*")  # Mbit/s
_FABRIC = re.compile(r".*ACTIVE.*?([0-9.]{1,7}) Gb/sec.*")
LOCAL = frozenset({"tmpfs", "ramfs", "ext2", "ext3", "ext4", "xfs", "btrfs", "overlay", "zfs", "f2fs", "jfs"})
_Lasted = tuple[Operation, Record, float]  # the last: how many seconds its phase took


# --- RUN-07


@attempt_rule(
    "RUN-07",
    "phases are long enough to be measured, where the rules leave their length open",
    why="in a short phase start-up and clock resolution weigh as much as the work itself",
    remedy="make the phase longer by the named variable or flag, and measure again",
    severity=Severity.WARNING,
    parameters={
        "minimum": Parameter(Quantity.DURATION, 10.0, "phases shorter than this require an explanation"),
        "unusable": Parameter(Quantity.DURATION, 1.0, "phases shorter than this are a violation"),
    },
)
def check_durations(case: Case) -> Iterator[Finding]:
    """The duration in the output, otherwise items / rate. Below `unusable` it is a violation (E) if the vendor can
    lengthen the phase (a free variable, or a flag with `lengthens`). If the RFP fixes the size, and in a rehearsal,
    noted, with the uncertainty (clock step + time between the first and the last rank's start) / duration.
    """
    minimum, unusable = (case.pack.parameter("RUN-07", name) for name in ("minimum", "unusable"))
    lasted: list[_Lasted] = []
    for operation, record in case.results:
        seconds = phase_s(case, record.measured_records[0]) or _longest_possible_s(case, operation)
        if seconds is None:
            yield missing_output_form(case)("phase duration not in the output", operation=operation.id)
        else:
            lasted.append((operation, record, seconds))
    yield from _check_required_durations(case, lasted)
    short = [phase for phase in lasted if phase[2] < minimum and not phase[0].lasts]
    hopeless = [phase for phase in short if phase[2] < unusable]
    remedies = case.pack.lengthened_by()
    if short and not case.full:
        form = at_full_size(violation if hopeless else to_explain, full=False) if remedies else note
        yield form("rehearsal: phases are short", *_required_and_actual(minimum, short))
    elif short and not remedies:
        yield _fixed_size_note(case, minimum, short)
    elif hopeless:
        yield violation(
            "phases too short to be valid",
            *_required_and_actual(unusable, hopeless),
            remedy=f"extend the phases with {' or '.join(remedies)}, and run again",
        )
    elif short:
        yield to_explain(
            "phases are short",
            *_required_and_actual(minimum, short),
            remedy=f"extend the phases with {' or '.join(remedies)}, and run again",
        )


def phase_s(case: Case, record: Record) -> float | None:
    """How long a phase took: from the output, otherwise all its items divided by the rate, the actual one if known."""
    if record.elapsed_s is not None:
        return record.elapsed_s
    if record.unit == RATE and case.run.items_total and record.value > 0 and not case.stonewalled:
        if record.true_value:
            return (record.operations_done or case.run.items_total) / record.true_value
        return case.run.items_total / record.value
    return None


def _longest_possible_s(case: Case, operation: Operation) -> float | None:
    """For a phase whose output gives no time: how long the job saw it, if even that is shorter than the RFP's time."""
    completion = case.evidence.completion
    if completion is None or not operation.lasts:
        return None
    lasted = completion.ended - completion.started
    return lasted if lasted < parse(Quantity.DURATION, operation.lasts) else None


def _check_required_durations(case: Case, lasted: Sequence[_Lasted]) -> Iterator[Finding]:
    """Phases that are shorter than the RFP's minimum for them."""
    for operation, record, seconds in lasted:
        required_s = parse(Quantity.DURATION, operation.lasts) if operation.lasts else 0.0
        if seconds < required_s:
            yield at_full_size(violation, case.full)(
                "the phase is shorter than the rules require"
                if case.full
                else "the phase is shorter than the rules require (rehearsal): INVALID as a result",
                *_required_and_actual(required_s, [(operation, record, seconds)]),
                operation=operation.id,
            )


def _required_and_actual(required_s: float, phases: Sequence[_Lasted]) -> tuple[str, str]:
    """The required and the actual length of these phases."""
    lasted = [f"{operation.id} {distinct_digits(seconds, required_s)[0]} s" for operation, _, seconds in phases]
    return at_least_text(required_s), ", ".join(lasted)


def at_least_text(seconds: float) -> str:
    return f"{show(Quantity.DURATION, seconds)} or more"


def _fixed_size_note(case: Case, minimum: float, phases: Sequence[_Lasted]) -> Finding:
    """The note about phases whose length is fixed: how long they took, and how exact their times are."""
    step = case.observation.clock_step_s
    largest = 0.0
    parts = []
    for operation, record, seconds in phases:
        lasted = f"{operation.id} {_two_digits(seconds)} s"
        if step is None or record.start_skew_s is None:
            largest = math.inf
            parts.append(f"{lasted} (clock step and start skew not recorded)")
        else:
            share = (step + record.start_skew_s) / seconds
            largest = max(largest, share)
            parts.append(
                f"{lasted}, uncertain by {_two_digits(100 * share)}% (clock {short_time(step)}, ranks started within "
                f"{short_time(record.start_skew_s)})"
            )
    # Rounded up to a step, so that similar cells share one note of a table.
    steps = [f"under {show(Quantity.SHARE, step)}" for step in UNCERTAINTY_STEPS if largest < step]
    unknown = "not recorded" if largest == math.inf else "50% or more"
    return note(
        "short phases (size fixed by the rules); timing uncertainty: {uncertainty}",
        f"{at_least_text(minimum)}, where the rules allow a change",
        ", ".join(parts),
        uncertainty=steps[0] if steps else unknown,
    )


def short_time(seconds: float) -> str:
    """A time in the unit that suits it: 2.8 ms."""
    scale, unit = next((pair for pair in ((1.0, "s"), (1e-3, "ms"), (1e-6, "us")) if seconds >= pair[0]), (1e-9, "ns"))
    return f"{_two_digits(seconds / scale)} {unit}"


def _two_digits(value: float) -> str:
    """Two digits without an exponent, however long a phase or exact a clock."""
    if 0 < value < 1e-4:
        return "less than 0.0001"
    return f"{value:.2g}" if value < 99.5 else f"{value:.0f}"


def faster_operations(case: Case, shortest_s: float) -> tuple[dict[str, float], list[Finding]]:
    """The operations of which one took a process less time, with the seconds; and findings about those of which that is
    not known.
    """
    quick, unknown = dict[str, float](), list[Finding]()
    for operation, record in case.results:
        if record.unit != RATE:
            continue
        seconds, exact = _operation_s(case, operation, record)
        if seconds is None:
            unknown.append(missing_output_form(case)(_HOW_MANY_UNKNOWN, operation=operation.id))
        elif seconds < shortest_s and not exact:
            unknown.append(unprovable(_HOW_LONG_UNKNOWN, operation=operation.id))
        elif seconds < shortest_s:
            quick[operation.id] = seconds
    return quick, unknown


_HOW_MANY_UNKNOWN = (
    "this benchmark does not print how many operations it performed, so the time of one is unknown; the built-in one "
    "prints it"
)
_HOW_LONG_UNKNOWN = (
    "one process alone performed these operations, and this benchmark prints the rate of its fastest process: the time "
    "of one operation is not in its output"
)


def _operation_s(case: Case, operation: Operation, record: Record) -> tuple[float | None, bool]:
    """How long one operation took a process, and whether that is exact or the least that it can be. None if the rate is
    the product of a formula, and how many operations were performed is unknown.
    """
    rate, processes, exact = record.true_value, case.run.geometry.processes, True
    if rate is None:
        rate = record.value
        if operation.id in case.files.inflated and processes > 1:
            if record.operations_done is None or not case.run.items_total:
                return None, False
            rate, exact = rate * record.operations_done / case.run.items_total, False
    return (processes / rate if rate > 0 else math.inf), exact


@attempt_rule(
    "PHY-04",
    "no operation is faster than a system call, and no bandwidth exceeds that of memory and network adapters",
    why="a rate that no machine can reach was not measured",
    remedy=(
        "find out what the benchmark actually did; if the limit is wrong for this machine, the buyer can set another "
        "one"
    ),
    parameters={
        "call": Parameter(
            Quantity.DURATION,
            1e-07,
            "shortest plausible time per operation of one process; no system call is faster",
        ),
        "memory": Parameter(Quantity.FACTOR, 4000, "highest plausible memory bandwidth of a node, in GB/s"),
    },
    is_always_judged=True,
)
def check_limits(case: Case) -> Iterator[Finding]:
    """Time per operation of one process (processes / actual rate) compared with `call`, bandwidth per node compared
    with `memory`; with `storage` on several nodes of a shared file system, if no cache answered, also compared with
    the recorded adapters × nodes. Not checked: a rate of the fastest process alone (mdtest before version 4) with
    more processes than cores on a node, or of a phase below 1 ms.
    """
    shortest_s = case.pack.parameter("PHY-04", "call")
    for operation, record in case.results:
        if record.unit in BYTES:
            yield from _check_bandwidth(case, operation.id, record)
        if any(part.of_fastest and part.true_value is None for part in record.measured_records):
            yield from _check_fastest_process(case, operation.id, record)
    quick, unknown = faster_operations(case, shortest_s)
    yield from unknown
    for name, seconds in quick.items():
        needed, actual = distinct_digits(shortest_s * 1e6, seconds * 1e6)
        yield violation(
            "less time per operation than any system call takes: the work was not done",
            f"{needed} us or more",
            f"{actual} us per operation of a process",
            operation=name,
        )


def _check_fastest_process(case: Case, operation: str, record: Record) -> Iterator[Finding]:
    """A rate of the fastest process alone tells nothing of the phase where processes wait for a core, or where the
    phase is hardly longer than the steps of their clock.
    """
    cores = [int(text) for text in case.evidence.environment.values("cpu.cores") if text.isdigit()]
    seconds = phase_s(case, record.measured_records[0])
    if cores and case.run.geometry.processes_per_node > min(cores):
        yield unprovable(
            "more processes than cores on a node, and the rate is that of the fastest process",
            f"at most {min(cores)} on a node",
            case.run.geometry.processes_per_node,
            operation=operation,
        )
    elif seconds is not None and seconds < RESOLVED_S:
        yield unprovable(
            "the phase was too short for the benchmark's clock, and the rate is that of its fastest process",
            f"{short_time(RESOLVED_S)} or more",
            short_time(seconds),
            operation=operation,
        )


def _check_bandwidth(case: Case, operation: str, record: Record) -> Iterator[Finding]:
    nodes, carried = case.run.geometry.nodes, record.value * BYTES[record.unit]
    memory = case.pack.parameter("PHY-04", "memory") * 1e9 * nodes
    if carried > memory:
        largest, actual = distinct_digits(memory / 1e9, carried / 1e9)
        yield violation(
            "bandwidth above what the nodes' memory can deliver",
            f"at most {largest} GB/s",
            f"{actual} GB/s",
            operation=operation,
        )
        return
    environment = case.evidence.environment
    if not case.files.storage or nodes == 1 or LOCAL.intersection(environment.values("mount.type")):
        return  # the file system is not known to be on the network
    adapters, problem = adapter_bandwidth(environment)
    if problem:
        yield unchecked(problem)
    elif carried > adapters * nodes:
        # A cache that the pack allows for a share of the bytes is no fraud: CCH-05 judges it.
        allowed = record.cached_share is not None and record.cached_share >= 1
        largest, actual, per_node = distinct_digits(adapters * nodes / 1e9, carried / 1e9, adapters / 1e9)
        yield (note if allowed else violation)(
            "bandwidth above what the nodes' network adapters can carry",
            f"at most {largest} GB/s ({per_node} GB/s for each of {nodes} nodes)",
            f"{actual} GB/s",
            operation=operation,
        )


def adapter_bandwidth(environment: Environment) -> tuple[float, str]:
    """Bytes per second that the best node's adapters carry in one direction, and why that is unknown."""
    if not environment.recorded:
        return 0.0, "network adapters not recorded"
    by_node: dict[str, float] = {}
    unknown = False
    for fact in environment.facts:
        if not fact.startswith(("net.", "fabric.")) or fact.startswith(("net.core", "net.ipv4")):
            continue
        pattern, scale = (_ETHERNET, 1e6) if fact.startswith("net.") else (_FABRIC, 1e9)
        for node, text in environment.by_node(fact).items():
            if match := pattern.fullmatch(text):
                by_node[node] = by_node.get(node, 0.0) + float(match[1]) * scale / 8
            elif "down" not in text.casefold():
                unknown = True  # a virtual adapter, or one that reports no speed
    if unknown or not by_node:
        return 0.0, "speed of a network adapter not recorded"
    return max(by_node.values()), ""
