"""mdtest's own JSON lines: `phase`, `result`, `shift`. With several task counts (-f -l -s), those of all processes are
the result. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from campaign.core.model import Record, Source
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


def _of_all(take: Reader) -> Reader:
    def checked(run: Execution, line_number: int, line: Line) -> None:
        if "processes" not in line or count(line, "processes") == run.seen.processes:
            take(run, line_number, line)

    return checked


def _operation(line: Line) -> str:
    """Name of the record: `create` for a file, `dir_create` for a directory, `tree_create`."""
    operation, thing = text(line, "operation"), text(line, "object")
    if operation not in ("create", "stat", "read", "remove", "tree_create", "tree_remove"):
        raise Wrong(f"operation: {operation!r} is not known here")
    if thing not in ("file", "directory"):
        raise Wrong(f"object: {thing!r}, allowed: file, directory")
    return f"dir_{operation}" if thing == "directory" and not operation.startswith("tree_") else operation


def _phase(run: Execution, line_number: int, line: Line) -> None:
    operation = _operation(line)
    counted, done = count(line, "operations_counted"), count(line, "operations_done")
    files, files_true = count(line, "files_counted"), count(line, "files_true")
    true_rate, elapsed_s = number(line, "true_rate_ops_s"), number(line, "elapsed_s")
    # Where the formula counts what happened, there is no second number to show.
    inflated = done != counted or files_true != files
    details = {
        "true_value": true_rate if inflated else None,
        "files_true": files_true if inflated else None,
        "operations_done": done,
        "elapsed_s": elapsed_s,
        "start_skew_s": optional(line, "start_skew_s"),
        "remote_share": optional(line, "remote_share"),
        **spread(line, "rank_rate_ops_s"),
    }
    rate = number(line, "rate_ops_s")
    _check_rate("rate_ops_s", rate, counted, elapsed_s)
    _check_rate("true_rate_ops_s", true_rate, done, elapsed_s)
    _check_spread(
        details["rank_fastest"], details["rank_median"], details["rank_slowest"], true_rate, run.seen.processes
    )
    run.failed_operations += count(line, "failed")
    run.offer(operation, rate, details)


def _check_rate(name: str, rate: float, operations: int, elapsed_s: float) -> None:
    """A rate that somebody changed does not fit the count and the time beside it."""
    if elapsed_s <= 0:
        return
    printed = 1e-6 + 1e-9 / elapsed_s  # relative: the time has nine decimals
    if abs(rate * elapsed_s - operations) > operations * printed + 1e-3 * elapsed_s:
        raise Wrong(f"{name}: {rate:.3f} is not {operations} operations in {elapsed_s:.9f} s")


def _check_spread(
    fastest: float | None, median: float | None, slowest: float | None, rate: float, processes: int | None
) -> None:
    """All ranks together are as fast as the phase or faster, since the phase waits for the slowest."""
    if fastest is None or median is None or slowest is None or processes is None:
        return
    if not slowest <= median <= fastest or fastest * processes < rate * 0.99 - 0.001:
        ranks = f"{slowest:.3f}, {median:.3f} and {fastest:.3f} of {processes} ranks"
        raise Wrong(f"rank_rate_ops_s: {ranks} do not give {rate:.3f}")


def _result(run: Execution, line_number: int, line: Line) -> None:
    operation = _operation(line)
    if operation in run.results:
        raise Wrong(f"a second result of {operation}, the first is in line {run.results[operation].source.line}")
    run.results[operation] = Record(
        operation=operation,
        value=number(line, "max"),
        unit=word(line, "unit"),
        source=Source(run.file, line_number),
        minimum=number(line, "min"),
        mean=number(line, "mean"),
        stddev=number(line, "stddev"),
        iterations=count(line, "iterations"),
    )


def _shift(run: Execution, line_number: int, line: Line) -> None:
    run.seen = replace(
        run.seen,
        shift_requested=count(line, "requested"),
        shift_effective=count(line, "effective"),
        whole_nodes=truth(line, "whole_nodes"),
    )


READERS: Mapping[str, Reader] = {"phase": _of_all(_phase), "result": _of_all(_result), "shift": _of_all(_shift)}
