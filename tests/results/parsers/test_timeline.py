from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from campaign.results.parsers.bench_jsonl import parse, timelines
from campaign.results.parsers.json_applets import Timeline
from tests.support import captures

TEXT = (captures.DATA / "mpiio" / "bench-0.1.0-static-slow" / "bench.jsonl").read_text()
START = TEXT.splitlines(keepends=True)[0]


def line(**changes: object) -> str:
    fields = {
        "type": "process",
        "operation": "write",
        "rank": 1,
        "node": "n1",
        "interval_s": 0.5,
        "timeline_bytes": [1, 0],
    }
    return json.dumps(fields | changes) + "\n"


def test_every_process_of_a_phase_has_its_timeline_in_the_order_of_the_ranks() -> None:
    found_timelines = timelines(TEXT)
    assert set(found_timelines) == {"write", "read"}
    assert [timeline.rank for timeline in found_timelines["write"]] == [0, 1, 2, 3]
    assert {timeline.interval_s for timeline in found_timelines["write"]} == {0.02}
    assert {sum(timeline.bytes) for timeline in found_timelines["write"]} == {8 << 18}


def test_the_slow_process_takes_longest() -> None:
    assert max(timelines(TEXT)["write"], key=lambda timeline: len(timeline.bytes)).rank == 1


def test_what_is_no_timeline_is_left_out_and_named_by_its_line() -> None:
    wrong = [
        line(rank="1"), line(rank=True), line(node=3), line(operation=None), line(interval_s=0), line(interval_s="1"),
        line(timeline_bytes=3), line(timeline_bytes=[-1]), line(timeline_bytes=[1.5]), line(type="phase"),
        '{"type": "process"', "[]\n", '"process"\n',
    ]  # fmt: skip
    text = START + "".join(wrong) + line()
    assert timelines(text) == {"write": [Timeline(1, "n1", 0.5, (1, 0))]}
    _, seen = parse(text, "bench.jsonl")
    messages = {remark.line: remark.text for remark in seen.errors}
    assert messages[2] == "rank: '1' is not a whole number ≥ 0"
    assert messages[6] == "interval_s: 0 is not above 0 and below 1e9"
    assert messages[8] == "timeline_bytes: 3 is not a list of whole numbers ≥ 0"
    assert messages[10] == "timeline_bytes: list is not a list of whole numbers ≥ 0"


def test_timelines_of_other_intervals_than_the_first_are_left_out() -> None:
    assert len(timelines(START + line() + line(rank=2, interval_s=1.0))["write"]) == 1


@given(st.text(max_size=200))
def test_any_text_is_read(text: str) -> None:
    timelines(START + text + '{"type": "process"' + text)
