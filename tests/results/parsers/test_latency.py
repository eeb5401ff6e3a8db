"""`latency` lines: what is wrong in one is said with its line."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from campaign.core.untrusted import WrongField
from campaign.results.parsers.bench_jsonl import parse
from campaign.results.parsers.json_applets import PERCENTILES, JsonLine, decode, latencies
from tests.support import captures

TEXT = (captures.DATA / "mdtest" / "bench-0.1.0-two-nodes-three-iterations" / "bench.jsonl").read_text()
VALUES = [*range(1, 101)]  # latencies in ns


def fields(values: list[int], **changes: object) -> dict[str, Any]:
    """The line of these latencies, whose percentiles are computed here in the plainest way."""
    ordered = sorted(values)
    limits = sorted(set(values))
    made: dict[str, Any] = {
        "type": "latency", "start_s": 3.0, "length_s": 0.5, "count": len(values), "percentiles_s": None,
        "bucket_ns": limits, "counts": [values.count(limit) for limit in limits],
    }  # fmt: skip
    if values:
        reached = {name: next(n for n in ordered if share * len(values) <= sum(value <= n for value in values))
                   for name, share in PERCENTILES.items()}  # fmt: skip
        made["percentiles_s"] = {name: round(value * 1e-9, 9) for name, value in reached.items()}
    return made | changes


@given(st.lists(st.integers(0, 10**10), max_size=40))
def test_percentiles_can_be_computed_again_of_the_buckets(values: list[int]) -> None:
    found = latencies(decode(1, json.dumps(fields(values))))
    assert (found.start_s, found.length_s, found.count) == (3.0, 0.5, len(values))
    assert list(found.percentiles) == (list(PERCENTILES) if values else [])
    if values:
        assert found.percentiles["max"] == pytest.approx(max(values) * 1e-9)


@given(
    st.lists(st.integers(0, 10**6), min_size=1, max_size=20), st.sampled_from(["count", "counts", "bucket_ns", "p50"])
)
def test_no_other_number_passes(values: list[int], changed: str) -> None:
    line = fields(values)
    if changed == "count":
        line["count"] += 1
    elif changed == "p50":
        line["percentiles_s"]["p50"] += 1e-6
    else:
        line[changed][-1] += 10**7
    with pytest.raises(WrongField):
        latencies(JsonLine(line, 1))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"count": 99}, "count: 99, but the counts of the buckets add up to 100: inconsistent output"),
        ({"counts": [1]}, "bucket_ns, counts: not 100 rising limits, each with its count above 0"),
        ({"bucket_ns": 3}, "bucket_ns: 3 is not a list of whole numbers ≥ 0"),
        ({"percentiles_s": None}, "percentiles_s: None is not an object"),
        ({"percentiles_s": {"p50": 1.0}}, "percentiles_s: p50 is 1.000000000, but 0.000000050 by the buckets: "
                                          "inconsistent output"),
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
