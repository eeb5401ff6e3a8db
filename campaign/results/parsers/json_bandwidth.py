"""The JSON lines of ior, nfstest, mbw_mr, checkpoint and mpiio. Pure.

Their records are named as the readers of the applets' text name them, and are in the units of that text.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from campaign.core.model import Record, Source
from campaign.results.parsers.checkpoint_text import memory_name
from campaign.results.parsers.json_lines import (
    Execution,
    Line,
    Reader,
    Wrong,
    count,
    number,
    optional,
    spread,
    text,
    truth,
    word,
)
from campaign.results.parsers.nfstest_text import UNITS as NFSTEST_UNITS
from campaign.results.parsers.osu_text import UNITS as PAIR_UNITS

_MIB = 1 << 20
_UNIT_BYTES = {"b": 1, "Kb": 1 << 10, "Mb": 1 << 20}


def _skip(run: Execution, line_number: int, line: Line) -> None:
    """For lines that hold nothing beyond what others have."""


def _operation(line: Line, *allowed: str) -> str:
    operation = text(line, "operation")
    if operation not in allowed:
        raise Wrong(f"operation: {operation!r}, allowed: {', '.join(allowed)}")
    return operation


# --- ior


def _ior_test(run: Execution, line_number: int, line: Line) -> None:
    """The processes that take part may be fewer than were started."""
    run.seen = replace(
        run.seen,
        processes=count(line, "processes"),
        nodes=count(line, "nodes"),
        processes_per_node=count(line, "processes_per_node"),
    )


def _ior_name(line: Line) -> str:
    """`write-0`, for a script may have several tests."""
    return f"{_operation(line, 'write', 'read')}-{count(line, 'test')}"


def _ior_phase(run: Execution, line_number: int, line: Line) -> None:
    writes = text(line, "operation") == "write"
    details = {
        "elapsed_s": number(line, "elapsed_s"),
        "remote_share": optional(line, "remote_share"),
        "cached_share": None if writes else optional(line, "cached_share"),
        "dirty_share": optional(line, "dirty_share") if writes else None,
        **spread(line, "rank_rate_mib_s"),
    }
    run.offer(_ior_name(line), number(line, "rate_mib_s"), details)


def _ior_check(run: Execution, line_number: int, line: Line) -> None:
    run.failed_operations += count(line, "failed")


def _ior_result(run: Execution, line_number: int, line: Line) -> None:
    name = _ior_name(line)
    if name in run.results:
        raise Wrong(f"a second result of {name}, the first is in line {run.results[name].source.line}")
    run.results[name] = Record(
        operation=name,
        value=number(line, "max"),
        unit=word(line, "unit"),
        source=Source(run.file, line_number),
        minimum=number(line, "min"),
        mean=number(line, "mean"),
        stddev=number(line, "stddev"),
        iterations=count(line, "iterations"),
    )


# --- nfstest


def _nfstest_phase(run: Execution, line_number: int, line: Line) -> None:
    shown = line.get("text")
    if not isinstance(shown, dict) or shown.get("unit") not in _UNIT_BYTES:
        raise Wrong(f"text: {shown!r}, an object with one of the units {', '.join(_UNIT_BYTES)} is expected")
    letters = shown["unit"]
    unit_bytes, unit = _UNIT_BYTES[letters], NFSTEST_UNITS[letters]
    operation, rate = _operation(line, "write", "read"), number(shown, "total_rate")
    per_unit = _MIB / unit_bytes
    details = {
        "elapsed_s": number(line, "elapsed_s"),
        "remote_share": optional(line, "remote_share"),
        **{key: None if v is None else v * per_unit for key, v in spread(line, "rank_rate_mib_s").items()},
    }
    # The text names the size of a file with v1 only, otherwise that of all files.
    verbose = "v1" in run.seen.argv
    size = count(line, "file_bytes" if verbose else "total_bytes") // unit_bytes
    name = f"{operation}-{'' if verbose else 'of-'}{size}{letters.lower()}"
    run.repeats.add(name, rate, unit, line_number)
    run.offer(name, rate, details)
    run.offer(f"best-{operation}", rate, details)


def _nfstest_best(run: Execution, line_number: int, line: Line) -> None:
    operation = _operation(line, "write", "read")
    found = run.repeats.highest(f"{operation}-")
    if found is None:
        raise Wrong(f"a best rate of {operation} without a phase of it")
    run.repeats.add(f"best-{operation}", *found, line_number)


# --- mbw_mr


def _pairs(run: Execution, line_number: int, line: Line) -> None:
    pairs, size, window = count(line, "pairs"), count(line, "size_bytes"), count(line, "window")
    wrong = optional(line, "wrong_messages")
    if wrong:
        run.notes.error(line_number, f"{wrong:.0f} messages of {size} bytes did not arrive as they were sent")
        return
    total = number(line, "rate_mb_s")
    rate = number(line, "rate_messages_s")
    values = {"total": total, "rate": rate}
    if pairs == 1:
        run.earlier[size, window] = rate  # of small messages it has more digits than the bandwidth
    one = run.earlier.get((size, window))
    if "--sweep-pairs" in run.seen.argv and one and rate:
        values |= {"pair": number(line, "pair_rate_mb_s"), "rise": rate / one, "fall": one * pairs / rate}
    details = {"elapsed_s": number(line, "elapsed_s"), **spread(line, "pair_spread_mb_s")}
    for what, value in values.items():
        name = f"{what}-{pairs}-{size}-w{window}"
        run.repeats.add(name, value, PAIR_UNITS[what], line_number)
        run.offer(name, total, details if what == "pair" else {"elapsed_s": details["elapsed_s"]})


# --- checkpoint


def _checkpoint_phase(run: Execution, line_number: int, line: Line) -> None:
    operation = _operation(line, "checkpoint", "restart")
    memory = memory_name(f"{count(line, 'memory_bytes') / _MIB:.3f}")
    point = f"{count(line, 'processes')}-{memory}"
    rate, elapsed = number(line, "rate_mib_s"), number(line, "elapsed_s")
    details = {"elapsed_s": elapsed, "remote_share": optional(line, "remote_share")}
    details |= {"cached_share": optional(line, "cached_share")}
    run.repeats.add(f"{operation}-{point}", rate, "MiB/s", line_number)
    run.offer(f"{operation}-{point}", rate, {**details, **spread(line, "rank_rate_mib_s")})
    run.repeats.add(f"{operation}-time-{point}", elapsed, "s", line_number, lowest=True)
    run.offer(f"{operation}-time-{point}", rate, details)


# --- mpiio


def _mpiio_phase(run: Execution, line_number: int, line: Line) -> None:
    operation, rate = _operation(line, "write", "read"), number(line, "rate_mib_s")
    ranks = spread(line, "rank_rate_mib_s")
    details = {"elapsed_s": number(line, "elapsed_s"), "cached_share": optional(line, "cached_share"), **ranks}
    values = {
        f"{operation}-sum": number(line, "rank_rate_sum_mib_s"),
        **{f"{operation}-{key.removeprefix('rank_')}": value for key, value in ranks.items() if value is not None},
    }
    run.repeats.add(operation, rate, "MiB/s", line_number)
    run.offer(operation, rate, details)
    for name, value in values.items():
        run.repeats.add(name, value, "MiB/s", line_number)
        run.offer(name, rate, {})
    run.repeats.add(f"{operation}-reached", number(line, "share_of_sum"), "x", line_number)
    run.offer(f"{operation}-reached", rate, {})


def _mpiio_verify(run: Execution, line_number: int, line: Line) -> None:
    if not truth(line, "right"):
        run.notes.error(line_number, "the files do not hold what was written")


READERS: Mapping[str, Mapping[str, Reader]] = {
    "ior": {"test": _ior_test, "phase": _ior_phase, "verification": _ior_check, "result": _ior_result},
    "nfstest": {"phase": _nfstest_phase, "result": _skip, "best": _nfstest_best},
    "mbw_mr": {"bandwidth": _pairs},
    "checkpoint": {"phase": _checkpoint_phase, "result": _skip},
    "mpiio": {"plan": _skip, "process": _skip, "phase": _mpiio_phase, "verify": _mpiio_verify},
}

# Their records end with the number of a test or a window, which is left out where there is only one.
NUMBERED = frozenset({"ior", "mbw_mr"})
