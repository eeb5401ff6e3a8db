"""`--latency`: what single operations took, second by second, of all ranks together."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from campaign.results.parsers.bench_jsonl import parse
from tests.support.bench_binary import Reply, launch
from tests.support.bench_faults import fault_environment, sanitizer_messages, sanitizer_options, undocumented_fields

pytestmark = [pytest.mark.mpi, pytest.mark.timeout(900)]

SLOW = ("-a", "DUMMY", "--dummy.delay-xfer", 2000, "-w", "-t", "4k", "-b", "12000k", "-o", "f", "--latency")


def ior_with_a_stall(tmp_path: Path, rank: int | None) -> Reply:
    """3000 transfers of 2 ms by each of two ranks, on a clock that only these move. One rank, or both, stop once for
    2.5 s, after 1.5 s.
    """
    env = fault_environment("none", "none", rank=rank, after=750) | {
        "CLOCK_SLEEPS": "1",
        "CLOCK_STALL_NS": "2500000000",
    }
    return launch(tmp_path, "ior", *SLOW, ranks=2, env=env)


def assert_complete(reply: Reply, operations: int, **phase: object) -> list[dict[str, Any]]:
    """The intervals of a phase follow one another to its end, and have every operation."""
    intervals = reply.lines_of("latency", **phase)
    elapsed_s = reply.line_of("phase", **phase)["elapsed_s"]
    assert [line["start_s"] for line in intervals] == [float(second) for second in range(len(intervals))]
    assert all(line["length_s"] == 1 for line in intervals[:-1])
    assert intervals[-1]["start_s"] + intervals[-1]["length_s"] == pytest.approx(elapsed_s, abs=1e-6)
    assert sum(line["count"] for line in intervals) == operations
    for line in intervals:
        assert sum(line["counts"]) == line["count"] and len(line["counts"]) == len(line["bucket_ns"])
        assert all(low < high for low, high in pairwise(line["bucket_ns"]))
        assert (line["percentiles_s"] is None) == (line["count"] == 0)
    return intervals


@pytest.mark.parametrize("rank", [None, 1])
def test_a_stall_is_in_the_second_in_which_it_ended(rank: int | None, tmp_path: Path) -> None:
    reply = ior_with_a_stall(tmp_path, rank)
    intervals = assert_complete(reply, 2 * 3000, operation="write")
    longest = [line["percentiles_s"]["max"] if line["count"] else 0.0 for line in intervals]
    assert longest[4] == max(longest) == pytest.approx(2.502, rel=1 / 32)
    empty = [number for number, line in enumerate(intervals) if line["count"] == 0]
    assert empty == ([2, 3] if rank is None else [])  # the other rank went on
    records, seen = parse((tmp_path / "bench.jsonl").read_text(), "bench.jsonl")
    assert [record.operation for record in records] == ["write"] and not (seen.errors or seen.unparsed)


def test_every_phase_of_mdtest_has_its_own(tmp_path: Path) -> None:
    options = ("-n", 20, "-i", 2, "-d", tmp_path, "--latency")
    reply = launch(tmp_path, "mdtest", *options, ranks=3, **sanitizer_options())
    assert (reply.status, sanitizer_messages(reply)) == (0, [])
    for phase in reply.lines_of("phase"):
        fields = {key: phase[key] for key in ("operation", "object", "iteration")}
        if phase["operation"].startswith("tree_"):
            assert reply.lines_of("latency", **fields) == []
        else:
            (interval,) = assert_complete(reply, 60, **fields)
            assert interval["percentiles_s"] == phase["latency_s"]
    assert undocumented_fields(reply) == set()
    types = [line["type"] for line in reply.lines if line["type"] in ("phase", "latency")]
    assert types[:4] == ["phase", "phase", "latency", "phase"]  # the tree's, then each with its own
    assert launch(tmp_path, "mdtest", *options[:-1]).lines_of("latency") == []


@pytest.mark.parametrize("api", ["POSIX", "URING", "MMAP"])
def test_every_phase_of_ior_has_its_own(api: str, tmp_path: Path) -> None:
    options = ("-a", api, "-t", "4k", "-b", "128k", "-i", 2, "-o", tmp_path / "f", "--latency")
    reply = launch(tmp_path, "ior", *options, ranks=2, **sanitizer_options())
    assert (reply.status, sanitizer_messages(reply)) == (0, [])
    assert undocumented_fields(reply) == set()
    for iteration in (0, 1):
        for operation in ("write", "read"):
            key: dict[str, object] = {"operation": operation, "iteration": iteration, "test": 0}
            (fields,) = assert_complete(reply, 64, **key)
            assert fields["percentiles_s"] == reply.line_of("phase", **key)["latency_percentiles_s"]
