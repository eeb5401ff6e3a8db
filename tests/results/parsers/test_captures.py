"""What holds for every captured output of a benchmark: it gives what is expected, and damage never gives a number."""

from __future__ import annotations

import dataclasses
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from campaign.config.rules.output_format import BUILT_IN
from campaign.results.parsers import bench_jsonl, output
from tests.support import captures
from tests.support.captures import DATA, Capture, texts_of
from tests.support.examples import examples

ALL = captures.find()
RUNS = [capture for capture in ALL if (capture.path / "bench.jsonl").is_file()]
FAILED = [capture for capture in RUNS if capture.expected_summary()["observation"].get("failed_operations")]
PLAIN = [capture for capture in ALL if capture.applet not in ("declared", "mdtest")]  # numbers as in their lines
WRONG_DATA = "ior/ior-3.3.0-wrong-data.txt"  # shows the bytes that differ
PARSE = {applet: output.parser(applet) for applet in BUILT_IN}


@pytest.mark.parametrize("capture", ALL, ids=str)
def test_a_capture_gives_what_is_expected(capture: Capture) -> None:
    fields = captures.summary(*capture.read())
    assert json.loads(json.dumps(fields)) == capture.expected_summary()


def test_every_expectation_has_its_capture() -> None:
    assert set(DATA.rglob("*expected.json")) == {capture.expectation for capture in ALL}


@pytest.mark.parametrize("capture", PLAIN, ids=str)
def test_every_number_stands_in_the_line_that_it_names(capture: Capture) -> None:
    for record in capture.read_text()[0]:
        assert captures.stands_in_its_line(record, capture.text), record


@pytest.mark.parametrize("capture", [capture for capture in ALL if str(capture) != WRONG_DATA], ids=str)
def test_no_line_of_a_capture_is_unknown(capture: Capture) -> None:
    assert capture.read_text()[1].unparsed == ()


@pytest.mark.parametrize("capture", [capture for capture in RUNS if capture not in FAILED], ids=str)
def test_the_text_and_the_json_lines_of_an_execution_agree(capture: Capture) -> None:
    records, seen = capture.read()
    assert (texts_of(seen.errors), texts_of(seen.unparsed), seen.complete, seen.failed_operations) == (
        (),
        (),
        True,
        0,
    )
    assert records
    assert all(record.elapsed_s is not None for record in records if record.operation in ("write", "read"))
    assert seen.placement == "block"


@pytest.mark.parametrize("capture", FAILED, ids=str)
def test_an_execution_that_failed_says_why(capture: Capture) -> None:
    assert any("No such file or directory" in error for error in texts_of(capture.read()[1].errors))


@pytest.mark.parametrize("capture", [capture for capture in RUNS if capture not in FAILED], ids=str)
def test_a_number_changed_in_the_json_lines_is_found_out(capture: Capture) -> None:
    text = (capture.path / "bench.jsonl").read_text()
    read, seen = capture.read()[0], capture.read_text()[1]
    further_records, observation = bench_jsonl.parse(text, "bench.jsonl")
    assert len(further_records) == len(read)
    for index, record in enumerate(further_records):
        changed_records = [*further_records]
        changed_records[index] = dataclasses.replace(record, value=record.value * 1.01 + 1)
        disagreements = list(
            output._disagreements((read, seen), (changed_records, observation), "stdout", "bench.jsonl")
        )
        assert any(record.operation in line for line in disagreements)


@pytest.mark.parametrize("applet", PARSE)
def test_an_empty_output_is_an_error_and_no_result(applet: str) -> None:
    records, seen = PARSE[applet]("", "stdout")
    assert (records, seen.complete) == ([], False)
    assert len(seen.errors) == 1


@pytest.mark.parametrize("capture", [capture for capture in RUNS if capture not in FAILED], ids=str)
def test_an_output_that_ends_early_is_not_complete(capture: Capture) -> None:
    for end in (0.2, 0.5, 0.8):
        cut = capture.text[: int(len(capture.text) * end)].rstrip("\n")
        assert not capture.parse(cut, "stdout")[1].complete


@pytest.mark.parametrize("capture", ALL, ids=str)
def test_windows_line_ends_change_no_number(capture: Capture) -> None:
    assert capture.parse(capture.text.replace("\n", "\r\n"), "f")[0] == capture.parse(capture.text, "f")[0]


@settings(max_examples=examples(400))
@given(st.sampled_from(PLAIN), st.integers(0, 2**32))
def test_a_damaged_output_never_gives_a_number_that_is_not_in_its_line(capture: Capture, seed: int) -> None:
    text = captures.damage(capture.text, seed)
    records, seen = capture.parse(text, "stdout")
    assert all(captures.stands_in_its_line(record, text) for record in records)
    assert len({record.operation for record in records}) == len(records)
    assert all(
        isinstance(line, str) for line in (*texts_of(seen.errors), *texts_of(seen.warnings), *texts_of(seen.unparsed))
    )


@settings(max_examples=examples(200))
@given(st.sampled_from(sorted(PARSE)), st.text(max_size=300))
def test_any_text_is_read_or_refused_but_nothing_raises(applet: str, text: str) -> None:
    PARSE[applet](text, "stdout")
