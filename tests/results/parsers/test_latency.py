"""`latency` lines: what is wrong in one is said with its line."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from campaign.core.untrusted import WrongField
from campaign.results.parsers.bench_jsonl import latencies as read_latencies
from campaign.results.parsers.bench_jsonl import parse
from campaign.results.parsers.json_applets import PERCENTILES, JsonLine, decode, latencies
from tests.support import captures
from tests.support.latency_lines import fields

TEXT = (captures.DATA / "mdtest" / "bench-0.1.0-two-nodes-three-iterations" / "bench.jsonl").read_text()
VALUES = [*range(1, 101)]  # latencies in ns


@given(st.lists(st.integers(0, 10**10), max_size=40))
def test_percentiles_can_be_computed_again_of_the_buckets(values: list[int]) -> None:
    found_latencies = latencies(decode(1, json.dumps(fields(values))))
    assert (found_latencies.start_s, found_latencies.length_s, found_latencies.count) == (3.0, 1.0, len(values))
    assert list(found_latencies.percentiles) == (list(PERCENTILES) if values else [])
    if values:
        assert found_latencies.percentiles["max"] == pytest.approx(max(values) * 1e-9)


@given(
    st.lists(st.integers(0, 10**6), min_size=1, max_size=20), st.sampled_from(["count", "counts", "bucket_ns", "p50"])
)
def test_no_other_number_passes(values: list[int], field: str) -> None:
    line = fields(values)
    if field == "count":
        line["count"] += 1
    elif field == "p50":
        line["percentiles_s"]["p50"] += 1e-6
    else:
        line[field][-1] += 10**7
    with pytest.raises(WrongField):
        latencies(JsonLine(line, 1))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"count": 99}, "bucket_ns, counts: 100 limits and 100 counts, 100 in all; expected: rising limits, each "
                        "with its count above 0, 99 in all"),
        ({"counts": [1]}, "bucket_ns, counts: 100 limits and 1 counts, 1 in all; expected: rising limits, each "
                          "with its count above 0, 100 in all"),
        ({"bucket_ns": 3}, "bucket_ns: 3 is not a list of whole numbers ≥ 0"),
        ({"percentiles_s": None}, "p50: None is not a number ≥ 0"),
        ({"percentiles_s": {"p50": 1.0}}, "percentiles_s: p50 is 1.0; by the buckets 0.000000050"),
        ({"length_s": "1"}, "length_s: '1' is not a number ≥ 0"),
    ],
)  # fmt: skip
def test_a_malformed_line_is_named_and_takes_nothing_with_it(changes: dict[str, object], message: str) -> None:
    lines = TEXT.splitlines(keepends=True)
    at = next(number for number, line in enumerate(lines) if '"phase"' in line) + 1
    lines[at:at] = [json.dumps(fields(VALUES)) + "\n", json.dumps(fields(VALUES, **changes)) + "\n"]
    records, seen = parse("".join(lines), "bench.jsonl")
    assert [(error.line, error.text) for error in seen.errors] == [(at + 2, message)]
    assert len(records) == len(parse(TEXT, "bench.jsonl")[0]) > 0


def test_counts_beyond_what_a_float_tells_apart_are_read() -> None:
    largest = {"count": (1 << 63) - 1, "bucket_ns": [7], "counts": [(1 << 63) - 1]}
    assert latencies(JsonLine(fields([7]) | largest, 1)).percentiles["max"] == 7e-9


def test_they_are_of_an_operation_and_an_iteration_and_of_all_processes() -> None:
    named_entries = [
        fields([1], start_s=0.0), fields([2], start_s=1.0), fields([3], iteration=1),
        fields([4], object="directory"), fields([5], processes=1),
    ]  # fmt: skip
    start, *other_words = TEXT.splitlines(keepends=True)
    latencies = read_latencies(start + "".join(json.dumps(line) + "\n" for line in named_entries) + other_words[-1])
    assert {key: [round(entry.percentiles["max"] * 1e9) for entry in series] for key, series in latencies.items()} == {
        ("create", 0): [1, 2], ("create", 1): [3], ("dir_create", 0): [4],
    }  # fmt: skip
    assert read_latencies("") == read_latencies("{}") == {}


@given(st.text(max_size=200))
def test_any_text_is_read(text: str) -> None:
    read_latencies(TEXT.splitlines(keepends=True)[0] + text + '{"type": "latency"' + text)
