"""The JSON lines of the bandwidth applets: what they add to the text, and what is wrong with them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from campaign.results.parsers.bench_jsonl import parse
from tests.results.parsers.test_bench_jsonl import END, START
from tests.support import captures
from tests.support.captures import said

Line = dict[str, Any]

IOR_TEST: Line = {"type": "test", "test": 0, "processes": 2, "nodes": 1, "processes_per_node": 2}
IOR_PHASE: Line = {
    "type": "phase", "test": 0, "iteration": 0, "operation": "read", "rate_mib_s": 100.0, "elapsed_s": 2.0,
    "rank_rate_mib_s": {"fastest": 60.0, "median": 50.0, "slowest": 40.0}, "remote_share": 1.0, "cached_share": 0.25,
    "dirty_share": 0.5,
}  # fmt: skip
IOR_RESULT: Line = {
    "type": "result", "test": 0, "operation": "read", "max": 100.0, "min": 100.0, "mean": 100.0, "stddev": 0.0,
    "iterations": 1, "unit": "MiB/s",
}  # fmt: skip
CHECKPOINT_PHASE: Line = {
    "type": "phase", "operation": "checkpoint", "processes": 1, "memory_bytes": 1048576, "rate_mib_s": 1.0,
    "elapsed_s": 1.0,
}  # fmt: skip
PAIRS: Line = {
    "type": "bandwidth", "size_bytes": 16, "pairs": 1, "window": 64, "elapsed_s": 0.5, "rate_mb_s": 8.0,
    "rate_messages_s": 500000.0, "pair_rate_mb_s": 8.0, "pair_spread_mb_s": {"fastest": 8, "median": 8, "slowest": 8},
    "wrong_messages": None,
}  # fmt: skip
NFS_PHASE: Line = {
    "type": "phase", "iteration": 0, "operation": "write", "file_bytes": 262144, "total_bytes": 3145728,
    "elapsed_s": 0.1, "text": {"unit": "Kb", "local_rate": 1.0, "total_rate": 23985.4},
    "rank_rate_mib_s": {"fastest": 2.0, "median": 1.5, "slowest": 1.0},
}  # fmt: skip


def text(applet: str, *lines: Line, argv: tuple[str, ...] = ()) -> str:
    start = START | {"applet": applet, "argv": [applet, *argv]}
    return "".join(json.dumps(line) + "\n" for line in (start, *lines, END))


def test_a_read_of_ior_says_what_was_cached_and_a_write_what_was_still_in_memory() -> None:
    write = IOR_PHASE | {"operation": "write"}
    lines = (IOR_TEST, write, IOR_PHASE, IOR_RESULT | {"operation": "write"}, IOR_RESULT)
    wrote, read = parse(text("ior", *lines), "f")[0]
    assert (wrote.operation, wrote.cached_share, wrote.dirty_share) == ("write", None, 0.5)
    assert (read.operation, read.cached_share, read.dirty_share, read.remote_share) == ("read", 0.25, None, 1.0)
    assert read.rank_slowest == 40.0


def test_the_processes_of_ior_are_those_that_take_part() -> None:
    _, seen = parse(text("ior", IOR_TEST, IOR_PHASE, IOR_RESULT), "f")
    assert (seen.processes, seen.nodes) == (2, 1)


def test_several_tests_of_a_script_keep_their_numbers() -> None:
    second = [line | {"test": 1} for line in (IOR_TEST, IOR_PHASE, IOR_RESULT)]
    records, _ = parse(text("ior", IOR_TEST, IOR_PHASE, IOR_RESULT, *second), "f")
    assert [record.operation for record in records] == ["read-0", "read-1"]


def test_a_result_that_no_phase_bears_out_is_an_error() -> None:
    _, seen = parse(text("ior", IOR_TEST, IOR_RESULT), "f")
    assert "result without a phase" in said(seen.errors)[0]
    _, seen = parse(text("ior", IOR_TEST, IOR_PHASE, IOR_RESULT | {"max": 200.0}), "f")
    assert "max is 200.0, but the best phase has 100.0" in said(seen.errors)[0]


def test_data_that_was_wrong_counts_as_failed() -> None:
    check = {"type": "verification", "failed": 3}
    end = END | {"failed_operations": 0}
    lines = text("ior", IOR_TEST, IOR_PHASE, IOR_RESULT, check).replace(json.dumps(END), json.dumps(end))
    assert parse(lines, "f")[1].failed_operations == 3


def test_ratios_to_one_pair_come_from_the_message_rates_of_a_sweep() -> None:
    two = PAIRS | {"pairs": 2, "rate_mb_s": 12.0, "rate_messages_s": 750000.0, "pair_rate_mb_s": 6.0}
    records, _ = parse(text("mbw_mr", PAIRS, two, argv=("--sweep-pairs",)), "f")
    found = {record.operation: record.value for record in records}
    assert (found["rise-2-16"], found["fall-2-16"], found["pair-2-16"]) == (1.5, pytest.approx(4 / 3), 6.0)
    plain, _ = parse(text("mbw_mr", PAIRS, two), "f")
    assert {record.operation.split("-")[0] for record in plain} == {"total", "rate"}


def test_several_windows_are_told_apart() -> None:
    records, _ = parse(text("mbw_mr", PAIRS, PAIRS | {"window": 1}), "f")
    assert {record.operation for record in records} == {f"{w}-1-16-w{n}" for w in ("total", "rate") for n in (1, 64)}


def test_a_message_that_arrived_wrong_is_an_error() -> None:
    bad = PAIRS | {"wrong_messages": 2, "rate_mb_s": None, "rate_messages_s": None}
    records, seen = parse(text("mbw_mr", bad), "f")
    assert records == []
    assert said(seen.errors) == ("f:2: 2 messages of 16 bytes arrived damaged",)


def test_files_that_do_not_hold_what_was_written_are_an_error() -> None:
    _, seen = parse(text("mpiio", {"type": "verify", "bytes": 1, "right": False}), "f")
    assert said(seen.errors) == ("f:2: verification failed: the files do not contain the written data",)


def test_the_rates_of_nfstest_are_those_of_its_text_in_the_texts_unit() -> None:
    records, _ = parse(text("nfstest", NFS_PHASE, {"type": "best", "operation": "write"}, argv=("v1",)), "f")
    assert [(r.operation, r.value, r.unit, r.rank_slowest) for r in records] == [
        ("write-256kb", 23985.4, "KiB/s", 1024.0),
        ("best-write", 23985.4, "KiB/s", 1024.0),
    ]


def test_a_best_rate_without_a_phase_is_an_error() -> None:
    _, seen = parse(text("nfstest", {"type": "best", "operation": "read"}), "f")
    assert "best read rate without a read phase" in said(seen.errors)[0]


@pytest.mark.parametrize(
    ("applet", "line", "change"),
    [
        ("ior", IOR_PHASE, {"operation": "stat"}),
        ("ior", IOR_PHASE, {"rank_rate_mib_s": 3}),
        ("ior", IOR_RESULT, {"max": "fast"}),
        ("mbw_mr", PAIRS, {"pairs": -1}),
        ("mbw_mr", PAIRS, {"wrong_messages": "many"}),
        ("nfstest", NFS_PHASE, {"text": {"unit": "furlong"}}),
        ("checkpoint", {"type": "phase", "operation": "checkpoint"}, {"memory_bytes": 1.5}),
        ("checkpoint", CHECKPOINT_PHASE, {"rank_rate_mib_s": 3}),
        ("mpiio", {"type": "phase", "operation": "write"}, {"rate_mib_s": None}),
    ],
)
def test_a_line_that_is_not_as_the_format_says_is_an_error(applet: str, line: Line, change: Line) -> None:
    _, seen = parse(text(applet, line | change), "f")
    assert len(seen.errors) >= 1
    assert len(seen.unparsed) == 1


@pytest.mark.parametrize("applet", ["ior", "nfstest", "mbw_mr", "mpiio", "checkpoint"])
def test_a_file_of_the_benchmark_itself_has_no_unknown_line(applet: str) -> None:
    for name in captures.folders(applet):
        assert said(parse((captures.DATA / applet / name / "bench.jsonl").read_text(), "f")[1].unparsed) == ()
