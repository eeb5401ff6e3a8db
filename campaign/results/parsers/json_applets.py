"""The benchmark's JSON lines: the fields of a line, the state after the lines so far, and the lines of mdtest and ior,
whose results are `phase` lines of their own: one for each iteration. Pure.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from itertools import accumulate

from campaign.core import untrusted
from campaign.core.records import Observation
from campaign.core.untrusted import JsonFields, WrongField
from campaign.results.parsers.ior_text import ACCESSES
from campaign.results.parsers.lines import Notes, Repeats, line_too_long

LONGEST_LINE = 4 << 20  # of 50,000 nodes


@dataclass(frozen=True, slots=True)
class JsonLine(JsonFields):
    """An object in JSON, in line `number`."""

    number: int

    def word(self, key: str) -> str:
        """A name, a version or a unit, which is printed in tables."""
        value = self.text(key)
        if not value.isprintable() or len(value) > 100:
            raise WrongField(f"{key}: {value!r} is not a short printable text")
        return value

    def objects(self, key: str) -> list[JsonLine]:
        value = self.data.get(key, [])
        if not isinstance(value, list) or not all(isinstance(entry, dict) for entry in value):
            raise WrongField(f"{key}: not a list of objects")
        return [JsonLine(entry, self.number) for entry in value]

    def texts(self, key: str) -> dict[str, str]:
        """An object of strings; null becomes "", and a missing object is empty."""
        entries = JsonFields(self.entries(key) if self.get(key) is not None else {})
        return {name: "" if text is None else entries.text(name) for name, text in entries.data.items()}

    def spread(self, key: str) -> dict[str, float | None]:
        """The record fields for `{"fastest": …, "median": …, "slowest": …}`."""
        ranks = JsonFields(self.entries(key) if self.get(key) is not None else {})
        return {f"rank_{name}": ranks.optional(name) for name in ("fastest", "median", "slowest")}


def decode(number: int, raw: str, last: bool = False) -> JsonLine:
    """A line as an object with a `type`. Raises WrongField; `last`: it has no newline."""
    if len(raw) > LONGEST_LINE:
        raise WrongField(line_too_long(length=len(raw), limit=LONGEST_LINE))
    try:
        data = json.loads(raw, parse_constant=untrusted.refuse_constant)
    except (ValueError, RecursionError) as error:
        # A complete line ends with a newline, so the last piece of the text was cut.
        raise WrongField("last line truncated" if last else f"not JSON: {error}") from None
    if not isinstance(data, dict) or not isinstance(data.get("type"), str):
        raise WrongField("not a JSON object with a `type`")
    return JsonLine(data, number)


PERCENTILES = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99, "p999": 0.999, "max": 1.0}


@dataclass(frozen=True, slots=True)
class Latencies:
    """The operations that ended in an interval of a phase, with the percentiles of their latencies in seconds; none if
    `count` is 0.
    """

    start_s: float
    length_s: float
    count: int
    percentiles: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Timeline:
    """Bytes that a process moved in each interval from the start of the phase; intervals of one phase are equal."""

    rank: int
    node: str
    interval_s: float
    bytes: tuple[int, ...]


@dataclass(slots=True)
class Execution:
    """What the lines so far have said."""

    notes: Notes
    applet: str
    results: Repeats
    keeps_courses: bool = False  # whether `timelines` and `latencies` are kept, which results do not need
    observation: Observation = field(default_factory=Observation)
    failed_operations: int = 0  # of the phases
    phases_s: float = 0.0  # of phases that follow one another
    ended: bool = False
    timelines: dict[str, list[Timeline]] = field(default_factory=dict)  # by operation
    latencies: dict[tuple[str, int], list[Latencies]] = field(default_factory=dict)  # by operation and iteration


LineReader = Callable[[Execution, JsonLine], None]


# --- with --latency, after each phase: its operations, interval by interval


def latencies(line: JsonLine) -> Latencies:
    """Raises WrongField also if a percentile is not that of the buckets."""
    limits, counts, count = line.counts("bucket_ns"), line.counts("counts"), line.count("count")
    if len(limits) != len(counts) or limits != sorted(set(limits)) or 0 in counts or sum(counts) != count:
        raise WrongField(
            f"bucket_ns, counts: {len(limits)} limits and {len(counts)} counts, {sum(counts)} in all; expected: rising "
            f"limits, each with its count above 0, {count} in all"
        )
    reached = list(zip(limits, accumulate(counts), strict=True))
    percentiles = {
        name: next((limit for limit, seen in reached if seen >= share * count), limits[-1]) / 1e9
        for name, share in PERCENTILES.items()
        if count
    }
    given = JsonFields.from_value(line.get("percentiles_s"))
    for name, of_buckets in percentiles.items():
        if abs(given.number_of(name) - of_buckets) > 1e-9 * (0.5 + of_buckets):
            raise WrongField(f"percentiles_s: {name} is {given.get(name)}; by the buckets {of_buckets:.9f}")
    return Latencies(line.number_of("start_s"), line.number_of("length_s"), count, percentiles)


def _latency(run: Execution, line: JsonLine) -> None:
    latencies_of_line = latencies(line)
    if _includes_all_processes(run, line) and run.keeps_courses:
        operation = _operation(line) if "object" in line.data else _test_record_name(line)
        run.latencies.setdefault((operation, line.count("iteration")), []).append(latencies_of_line)


# --- ior


def _test(run: Execution, line: JsonLine) -> None:
    """The processes that take part may be fewer than were started."""
    run.observation = replace(
        run.observation,
        processes=line.count("processes"),
        nodes=line.count("nodes"),
        processes_per_node=line.count("processes_per_node"),
    )


def _transfer(run: Execution, line: JsonLine) -> None:
    writes = line.text("operation").endswith("write")
    details = {
        "elapsed_s": line.number_of("elapsed_s"),
        "moved_bytes": line.count("bytes") if "bytes" in line.data else None,
        "remote_share": line.optional("remote_share"),
        "cached_share": None if writes else line.optional("cached_share"),
        "dirty_share": line.optional("dirty_share") if writes else None,
        **line.spread("rank_rate_mib_s"),
    }
    run.results.add(_test_record_name(line), line.number_of("rate_mib_s"), "MiB/s", line.number, details)


def _test_record_name(line: JsonLine) -> str:
    """Name of the record: a script may have several tests."""
    return f"{line.choice('operation', *ACCESSES)}-{line.count('test')}"


def _check(run: Execution, line: JsonLine) -> None:
    run.failed_operations += line.count("failed")


# --- mdtest: with several task counts (-f -l -s), those of all processes are the result


def _includes_all_processes(run: Execution, line: JsonLine) -> bool:
    return "processes" not in line.data or line.count("processes") == run.observation.processes


def _operation(line: JsonLine) -> str:
    """Name of the record: `create` for a file, `dir_create` for a directory, `tree_create`."""
    operation = line.text("operation")
    if operation not in ("create", "stat", "read", "rename", "remove", "tree_create", "tree_remove"):
        raise WrongField(f"unknown operation {operation!r}")
    object_kind = line.choice("object", "file", "directory")
    return f"dir_{operation}" if object_kind == "directory" and not operation.startswith("tree_") else operation


def _phase(run: Execution, line: JsonLine) -> None:
    operation, elapsed_s = _operation(line), line.number_of("elapsed_s")
    run.phases_s += elapsed_s * (2 if operation.endswith("rename") else 1)  # it is renamed back after the phase
    if not _includes_all_processes(run, line):
        return
    operations_counted, operations_done = line.count("operations_counted"), line.count("operations_done")
    files, files_true = line.count("files_counted"), line.count("files_true")
    true_rate = line.number_of("true_rate_ops_s")
    # If the formula counts what happened, there is no second number to show.
    inflated = operations_done != operations_counted or files_true != files
    spread = line.spread("rank_rate_ops_s")
    details = {
        "true_value": true_rate if inflated else None,
        "files_true": files_true if inflated else None,
        "operations_done": operations_done,
        "elapsed_s": elapsed_s,
        "start_skew_s": line.optional("start_skew_s"),
        "remote_share": line.optional("remote_share"),
        **spread,
    }
    rate = line.number_of("rate_ops_s")
    _check_rate("rate_ops_s", rate, operations_counted, elapsed_s)
    _check_rate("true_rate_ops_s", true_rate, operations_done, elapsed_s)
    failed = line.count("failed")
    _check_spread(spread, true_rate, run.observation.processes, is_synchronous=not failed)
    _check_shift(run, line, operation)
    run.failed_operations += failed
    run.results.add(operation, rate, "ops/s", line.number, details)


def _check_rate(name: str, rate: float, operations: int, elapsed_s: float) -> None:
    """The rate must fit the count and the time on its line."""
    if elapsed_s <= 0:
        return
    rounding = 1e-6 + 1e-9 / elapsed_s  # relative; the time has nine decimals
    if abs(rate * elapsed_s - operations) > operations * rounding + 1e-3 * elapsed_s:
        raise WrongField(f"{name}: {rate:.3f} is not {operations} operations in {elapsed_s:.9f} s: inconsistent output")


def _check_shift(run: Execution, line: JsonLine, operation: str) -> None:
    """The stat phase is the first on another node: it must be shifted as the previous line says."""
    shift, effective = line.optional("rank_shift"), run.observation.shift_effective
    if operation == "stat" and shift is not None and effective is not None and shift != effective:
        raise WrongField(
            f"rank_shift of stat is {shift:g}, but the line of type shift says {effective}: inconsistent output"
        )


def _check_spread(spread: Mapping[str, float | None], rate: float, processes: int | None, is_synchronous: bool) -> None:
    """All ranks together are at least as fast as the phase, which waits for the slowest. `is_synchronous`: all of them
    did the same number of operations.
    """
    fastest, median, slowest = spread.values()
    if fastest is None or median is None or slowest is None or processes is None:
        return
    upper_limit = ((slowest if is_synchronous else fastest) + 0.001) * processes  # both are rounded
    if not slowest <= median <= fastest or upper_limit < rate * 0.99:
        raise WrongField(
            f"rank_rate_ops_s: {processes} ranks with {slowest:.3f} to {fastest:.3f} (median {median:.3f}) cannot give "
            f"{rate:.3f}: inconsistent output"
        )


def _shift(run: Execution, line: JsonLine) -> None:
    if _includes_all_processes(run, line):
        run.observation = replace(
            run.observation,
            shift_requested=line.count("requested"),
            shift_effective=line.count("effective"),
            whole_nodes=line.boolean("whole_nodes"),
        )


READERS: Mapping[str, Mapping[str, LineReader]] = {
    "ior": {"test": _test, "phase": _transfer, "latency": _latency, "verification": _check},
    "mdtest": {"phase": _phase, "latency": _latency, "shift": _shift},
}
