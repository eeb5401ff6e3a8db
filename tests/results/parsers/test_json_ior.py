"""The JSON lines of ior: what they add to the text, and what is wrong with them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from campaign.results.parsers.bench_jsonl import parse
from tests.results.parsers.test_bench_jsonl import END, START

Line = dict[str, Any]

IOR_TEST: Line = {"type": "test", "test": 0, "processes": 2, "nodes": 1, "processes_per_node": 2}
IOR_PHASE: Line = {
    "type": "phase", "test": 0, "iteration": 0, "operation": "read", "rate_mib_s": 100.0, "elapsed_s": 2.0,
    "rank_rate_mib_s": {"fastest": 60.0, "median": 50.0, "slowest": 40.0}, "remote_share": 1.0, "cached_share": 0.25,
    "dirty_share": 0.5,
}  # fmt: skip


def text(*lines: Line) -> str:
    return "".join(json.dumps(line) + "\n" for line in (START | {"applet": "ior", "argv": ["ior"]}, *lines, END))


def test_a_read_of_ior_says_what_was_cached_and_a_write_what_was_still_in_memory() -> None:
    write = IOR_PHASE | {"operation": "write"}
    lines = (IOR_TEST, write, IOR_PHASE)
    wrote, read = parse(text(*lines), "f")[0]
    assert (wrote.operation, wrote.cached_share, wrote.dirty_share) == ("write", None, 0.5)
    assert (read.operation, read.cached_share, read.dirty_share, read.remote_share) == ("read", 0.25, None, 1.0)
    assert read.rank_slowest == 40.0


def test_a_mixed_load_has_a_record_of_each_side() -> None:
    write, read = ({"operation": f"mix-{access}", "processes": 1, "beside_share": 1.0} for access in ("write", "read"))
    wrote, record = parse(text(IOR_TEST, IOR_PHASE | write, IOR_PHASE | read), "f")[0]
    assert (wrote.operation, wrote.cached_share, wrote.dirty_share) == ("mix-write", None, 0.5)
    assert (record.operation, record.cached_share, record.dirty_share) == ("mix-read", 0.25, None)


def test_bytes_beyond_53_bits_are_exact() -> None:
    largest = (1 << 63) - 1
    assert parse(text(IOR_TEST, IOR_PHASE | {"bytes": largest}), "f")[0][0].moved_bytes == largest
    assert parse(text(IOR_TEST, IOR_PHASE | {"bytes": largest + 1}), "f")[0] == []


def test_the_processes_of_ior_are_those_that_take_part() -> None:
    _, seen = parse(text(IOR_TEST, IOR_PHASE), "f")
    assert (seen.processes, seen.nodes) == (2, 1)


def test_several_tests_of_a_script_keep_their_numbers() -> None:
    second = [line | {"test": 1} for line in (IOR_TEST, IOR_PHASE)]
    records, _ = parse(text(IOR_TEST, IOR_PHASE, *second), "f")
    assert [record.operation for record in records] == ["read-0", "read-1"]


def test_the_repetitions_of_a_test_are_one_record_with_the_deviation_of_all() -> None:
    slow = IOR_PHASE | {"iteration": 1, "rate_mib_s": 60.0, "elapsed_s": 3.0}
    (record,) = parse(text(IOR_TEST, slow, IOR_PHASE), "f")[0]
    assert (record.value, record.elapsed_s, record.source.line) == (100.0, 2.0, 4)
    assert (record.minimum, record.mean, record.iterations) == (60.0, 80.0, 2)
    assert record.stddev == pytest.approx(20.0)
    assert [iteration.value for iteration in record.each] == [60.0, 100.0]


def test_data_that_was_wrong_counts_as_failed() -> None:
    check = {"type": "verification", "failed": 3}
    end = END | {"failed_operations": 0}
    lines = text(IOR_TEST, IOR_PHASE, check).replace(json.dumps(END), json.dumps(end))
    assert parse(lines, "f")[1].failed_operations == 3


@pytest.mark.parametrize(
    ("line", "change"),
    [
        (IOR_PHASE, {"operation": "stat"}),
        (IOR_PHASE, {"rank_rate_mib_s": 3}),
        (IOR_PHASE, {"rate_mib_s": "fast"}),
    ],
)
def test_a_line_that_is_not_as_the_format_says_is_an_error(line: Line, change: Line) -> None:
    _, seen = parse(text(line | change), "f")
    assert len(seen.errors) >= 1
    assert len(seen.unparsed) == 1
