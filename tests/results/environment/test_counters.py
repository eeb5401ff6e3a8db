"""What a target's servers counted during an execution, read from counters.jsonl."""

from __future__ import annotations

import json
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from campaign.results.environment import reading
from campaign.results.environment.facts import Served


def lines(*rows: tuple[str, int, int, int]) -> bytes:
    """Of moments with their counts of creates, stats and removes."""
    counts = [{"create": create, "stat": stat, "remove": remove} for _, create, stat, remove in rows]
    return b"\n".join(
        json.dumps({"time": 1.5, "when": row[0], "counts": count, "problem": ""}).encode()
        for row, count in zip(rows, counts, strict=True)
    )


def phases(*rows: tuple[str, int, int, int]) -> dict[str, Served]:
    return reading.served(reading.samples(lines(*rows)))


def test_counts_after_each_phase_tell_exactly_what_the_servers_did_in_it() -> None:
    rows = [("begin", 5, 9, 1), ("create", 105, 110, 1), ("stat", 105, 210, 1), ("remove", 105, 310, 101)]
    exact = {"create": Served(100, 100), "stat": Served(100, 100), "remove": Served(100, 100)}
    assert phases(*rows, ("end", 105, 311, 102)) == exact


def test_of_several_iterations_the_one_counts_in_which_the_servers_did_least() -> None:
    first = [("begin", 0, 0, 0), ("create", 10, 10, 0), ("stat", 10, 20, 0), ("remove", 10, 30, 10)]
    second = [("begin", 10, 30, 10), ("create", 20, 40, 10), ("stat", 20, 43, 10), ("remove", 20, 50, 20)]
    assert phases(*first, *second)["stat"] == Served(3, 3)


def test_samples_bound_the_stats_by_when_files_were_created_and_removed() -> None:
    rows = [(0, 0, 0), (40, 40, 0), (100, 130, 0), (100, 180, 0), (100, 230, 20), (100, 300, 100)]
    assert phases(*(("sample", *row) for row in rows)) == {"stat": Served(180 - 130, 230 - 40)}


def test_two_samples_alone_give_only_the_most_that_can_have_been() -> None:
    assert phases(("begin", 0, 0, 0), ("end", 100, 300, 100)) == {"stat": Served(0, 300)}


def test_servers_that_started_anew_or_files_of_others_tell_nothing() -> None:
    assert phases(("begin", 5, 9, 1), ("create", 105, 8, 1), ("stat", 105, 210, 1)) == {}
    assert phases(("sample", 0, 0, 0), ("sample", 50, 50, 10), ("sample", 60, 99, 60), ("sample", 70, 99, 60)) == {}


def test_what_is_no_count_is_passed_over(tmp_path: Path) -> None:
    bad = [
        b"{",
        b"[]",
        b'{"when": 1, "counts": {}}',
        b'{"when": "stat", "counts": {"stat": true}}',
        b"\xff",
        b"[" * 9999,
    ]
    good = lines(("begin", 0, 0, 0), ("create", 1, 0, 0), ("stat", 1, 7, 0))
    path = tmp_path / "counters.jsonl"
    path.write_bytes(b"\n".join([*bad, good]))
    assert reading.read_counters(path)["stat"] == Served(7, 7)
    assert reading.read_counters(tmp_path / "absent") == {}
    assert reading.read_counters(tmp_path) == {}


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9), st.integers(0, 9)), max_size=12), st.integers(0, 11))
def test_more_samples_never_widen_the_bounds(steps: list[tuple[int, int, int]], left_out: int) -> None:
    rows, total = [("sample", 0, 0, 0)], (0, 0, 0)
    for step in steps:
        total = (total[0] + step[0], total[1] + step[1], total[2] + step[2])
        rows.append(("sample", *total))
    fewer = rows[:-1][:left_out] + rows[:-1][left_out + 1 :] + rows[-1:]
    if left_out == 0 or not (wide := phases(*fewer)):
        return  # the first one says what had been counted before
    narrow = phases(*rows)
    assert not narrow or wide["stat"].least <= narrow["stat"].least <= narrow["stat"].most <= wide["stat"].most
