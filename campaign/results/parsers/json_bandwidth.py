"""The JSON lines of ior, nfstest, mbw_mr, checkpoint and mpiio. Pure.

Their records are named as the readers of the applets' text name them, and are in the units of that text.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from campaign.results.parsers.json_lines import Execution, JsonLine, LineReader, WrongLine

NFSTEST_UNITS = {"b": "B/s", "Kb": "KiB/s", "Mb": "MiB/s"}
PAIR_UNITS = {"total": "MB/s", "pair": "MB/s", "rate": "messages/s", "rise": "x", "fall": "x"}
_MIB = 1 << 20


def memory_name(mib: str) -> str:
    return f"{mib.rstrip('0').rstrip('.')}m"


_UNIT_BYTES = {"b": 1, "Kb": 1 << 10, "Mb": 1 << 20}


def _skip(run: Execution, line: JsonLine) -> None:
    """For lines that hold nothing beyond what others have."""


# --- ior


def _ior_test(run: Execution, line: JsonLine) -> None:
    """The processes that take part may be fewer than were started."""
    run.seen = replace(
        run.seen,
        processes=line.count("processes"),
        nodes=line.count("nodes"),
        processes_per_node=line.count("processes_per_node"),
    )


def _ior_name(line: JsonLine) -> str:
    """`write-0`, for a script may have several tests."""
    return f"{line.one_of('operation', 'write', 'read')}-{line.count('test')}"


def _ior_phase(run: Execution, line: JsonLine) -> None:
    writes = line.text("operation") == "write"
    details = {
        "elapsed_s": line.number_of("elapsed_s"),
        "moved_bytes": line.count("bytes") if "bytes" in line.data else None,
        "remote_share": line.optional("remote_share"),
        "cached_share": None if writes else line.optional("cached_share"),
        "dirty_share": line.optional("dirty_share") if writes else None,
        **line.spread("rank_rate_mib_s"),
    }
    run.offer(line, _ior_name(line), line.number_of("rate_mib_s"), details)


def _ior_check(run: Execution, line: JsonLine) -> None:
    run.failed_operations += line.count("failed")


def _ior_result(run: Execution, line: JsonLine) -> None:
    run.result(_ior_name(line), line)


# --- nfstest


def _nfstest_phase(run: Execution, line: JsonLine) -> None:
    shown = line.get("text")
    if not isinstance(shown, dict) or shown.get("unit") not in _UNIT_BYTES:
        raise WrongLine(f"text: {shown!r} is not an object with one of the units {', '.join(_UNIT_BYTES)}")
    letters = shown["unit"]
    unit_bytes, unit = _UNIT_BYTES[letters], NFSTEST_UNITS[letters]
    operation, rate = line.one_of("operation", "write", "read"), JsonLine(line.number, shown).number_of("total_rate")
    per_unit = _MIB / unit_bytes
    details = {
        "elapsed_s": line.number_of("elapsed_s"),
        "remote_share": line.optional("remote_share"),
        **{key: None if v is None else v * per_unit for key, v in line.spread("rank_rate_mib_s").items()},
    }
    # The text names the size of a file with v1 only, otherwise that of all files.
    verbose = "v1" in run.seen.argv
    size = line.count("file_bytes" if verbose else "total_bytes") // unit_bytes
    name = f"{operation}-{'' if verbose else 'of-'}{size}{letters.lower()}"
    run.measured(line, name, rate, unit, rate, details)
    run.offer(line, f"best-{operation}", rate, details)


def _nfstest_best(run: Execution, line: JsonLine) -> None:
    operation = line.one_of("operation", "write", "read")
    highest = run.repeats.highest(f"{operation}-")
    if highest is None:
        raise WrongLine(f"best {operation} rate without a {operation} phase")
    run.repeats.add(f"best-{operation}", *highest, line.number)


# --- mbw_mr


def _pairs(run: Execution, line: JsonLine) -> None:
    pairs, size, window = line.count("pairs"), line.count("size_bytes"), line.count("window")
    wrong = line.optional("wrong_messages")
    if wrong:
        run.notes.error(line.number, f"{wrong:.0f} messages of {size} bytes arrived damaged")
        return
    total, rate = line.number_of("rate_mb_s"), line.number_of("rate_messages_s")
    values = {"total": total, "rate": rate}
    if pairs == 1:
        run.earlier[size, window] = rate  # of small messages it has more digits than the bandwidth
    one_pair = run.earlier.get((size, window))
    if "--sweep-pairs" in run.seen.argv and one_pair and rate:
        values |= {"pair": line.number_of("pair_rate_mb_s"), "rise": rate / one_pair, "fall": one_pair * pairs / rate}
    details = {"elapsed_s": line.number_of("elapsed_s"), **line.spread("pair_spread_mb_s")}
    for what, value in values.items():
        name = f"{what}-{pairs}-{size}-w{window}"
        known = details if what == "pair" else {"elapsed_s": details["elapsed_s"]}
        run.measured(line, name, value, PAIR_UNITS[what], total, known)


# --- checkpoint


def _checkpoint_phase(run: Execution, line: JsonLine) -> None:
    operation = line.one_of("operation", "checkpoint", "restart")
    memory = memory_name(f"{line.count('memory_bytes') / _MIB:.3f}")
    point = f"{line.count('processes')}-{memory}"
    rate, elapsed = line.number_of("rate_mib_s"), line.number_of("elapsed_s")
    details = {"elapsed_s": elapsed, **{name: line.optional(name) for name in ("remote_share", "cached_share")}}
    spread = line.spread("rank_rate_mib_s")
    run.measured(line, f"{operation}-{point}", rate, "MiB/s", rate, {**details, **spread})
    run.measured(line, f"{operation}-time-{point}", elapsed, "s", rate, details)


# --- mpiio


def _mpiio_phase(run: Execution, line: JsonLine) -> None:
    operation, rate = line.one_of("operation", "write", "read"), line.number_of("rate_mib_s")
    ranks = line.spread("rank_rate_mib_s")
    details = {"elapsed_s": line.number_of("elapsed_s"), "cached_share": line.optional("cached_share"), **ranks}
    run.measured(line, operation, rate, "MiB/s", rate, details)
    for key, value in {"rank_sum": line.number_of("rank_rate_sum_mib_s"), **ranks}.items():
        if value is not None:
            run.measured(line, f"{operation}-{key.removeprefix('rank_')}", value, "MiB/s", rate, {})
    run.measured(line, f"{operation}-reached", line.number_of("share_of_sum"), "x", rate, {})


def _mpiio_verify(run: Execution, line: JsonLine) -> None:
    if not line.truth("right"):
        run.notes.error(line.number, "verification failed: the files do not contain the written data")


READERS: Mapping[str, Mapping[str, LineReader]] = {
    "ior": {"test": _ior_test, "phase": _ior_phase, "verification": _ior_check, "result": _ior_result},
    "nfstest": {"phase": _nfstest_phase, "result": _skip, "best": _nfstest_best},
    "mbw_mr": {"bandwidth": _pairs},
    "checkpoint": {"phase": _checkpoint_phase, "result": _skip},
    "mpiio": {"plan": _skip, "process": _skip, "phase": _mpiio_phase, "verify": _mpiio_verify},
}

# Their records end with the number of a test or a window, which is left out where there is only one.
NUMBERED = frozenset({"ior", "mbw_mr"})
