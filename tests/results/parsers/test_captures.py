"""What holds for the reader of every benchmark's text: captures give what is expected, damage never gives a number."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from campaign.results.parsers import output
from tests.support import captures
from tests.support.captures import said

PARSE = {applet: output.parser(applet)[1] for applet in ("checkpoint", "ior", "mbw_mr", "mpiio", "nfstest")}
ALL = [(applet, name) for applet in PARSE for name in captures.texts(applet)]
FOLDERS = [(applet, name) for applet in PARSE for name in captures.folders(applet)]
FAILED = [(applet, name) for applet, name in FOLDERS if name.endswith("directory-absent")]
WRONG_DATA = {("ior", "ior-3.3.0-wrong-data.txt")}  # shows the bytes that differ


@pytest.mark.parametrize("applet", PARSE)
def test_every_capture_has_an_expectation_and_every_expectation_a_capture(applet: str) -> None:
    assert sorted(captures.expected(applet)) == captures.texts(applet)
    assert captures.texts(applet)


@pytest.mark.parametrize(("applet", "name"), ALL)
def test_a_capture_gives_what_is_expected(applet: str, name: str) -> None:
    found = captures.summary(*captures.read_text(applet, name, PARSE[applet]))
    assert found == captures.expected(applet)[name]


@pytest.mark.parametrize(("applet", "name"), ALL)
def test_every_number_stands_in_the_line_that_it_names(applet: str, name: str) -> None:
    text = (captures.DATA / applet / name).read_text()
    for record in captures.read_text(applet, name, PARSE[applet])[0]:
        assert captures.stands_in_its_line(record, text), record


@pytest.mark.parametrize(("applet", "name"), [one for one in ALL if one not in WRONG_DATA])
def test_no_line_of_a_capture_is_unknown(applet: str, name: str) -> None:
    assert captures.read_text(applet, name, PARSE[applet])[1].unparsed == ()


@pytest.mark.parametrize(("applet", "name"), [one for one in FOLDERS if one not in FAILED])
def test_the_text_and_the_json_lines_of_an_execution_agree(applet: str, name: str) -> None:
    records, seen = captures.read_folder(applet, name)
    assert (said(seen.errors), said(seen.unparsed), seen.complete, seen.failed_operations) == ((), (), True, 0)
    assert records
    assert all(record.elapsed_s is not None for record in records if record.operation in ("write", "read"))
    assert seen.placement == "block"
    assert seen.argv[0] == f"/opt/bench/{applet}"


@pytest.mark.parametrize(("applet", "name"), FAILED)
def test_an_execution_that_failed_has_no_number_and_says_why(applet: str, name: str) -> None:
    records, seen = captures.read_folder(applet, name)
    assert records == []
    assert any("No such file or directory" in error for error in said(seen.errors))


@pytest.mark.parametrize(("applet", "name"), [one for one in FOLDERS if one not in FAILED])
def test_a_number_changed_in_the_json_lines_is_found_out(applet: str, name: str) -> None:
    text = (captures.DATA / applet / name / "bench.jsonl").read_text()
    read = captures.read_folder(applet, name)[0]
    more, told = output.bench_jsonl.parse(text, "bench.jsonl")
    seen = captures.read_text(applet, f"{name}/stdout", PARSE[applet])[1]
    assert len(more) == len(read)
    for index, record in enumerate(more):
        changed = [*more]
        changed[index] = dataclasses.replace(record, value=record.value * 1.01 + 1)
        found = list(output._disagreements((read, seen), (changed, told)))
        assert any(record.operation in line for line in found)


@pytest.mark.parametrize("applet", PARSE)
def test_an_empty_output_is_an_error_and_no_result(applet: str) -> None:
    records, seen = PARSE[applet]("", "stdout")
    assert (records, seen.complete) == ([], False)
    assert len(seen.errors) == 1


@pytest.mark.parametrize("applet", PARSE)
def test_an_output_that_ends_early_is_not_complete(applet: str) -> None:
    name = next(
        name
        for name in captures.texts(applet)
        if name.endswith(("-sweep/stdout", "verbose/stdout", "slow/stdout", "restart/stdout"))
    )
    text = (captures.DATA / applet / name).read_text()
    for end in (0.2, 0.5, 0.8):
        cut = text[: int(len(text) * end)].rstrip("\n")
        assert not PARSE[applet](cut, "stdout")[1].complete


@pytest.mark.parametrize("applet", PARSE)
def test_windows_line_ends_change_no_number(applet: str) -> None:
    for name in captures.texts(applet):
        text = (captures.DATA / applet / name).read_text()
        assert PARSE[applet](text.replace("\n", "\r\n"), "f")[0] == PARSE[applet](text, "f")[0]


@settings(max_examples=400)
@given(st.sampled_from(ALL), st.integers(0, 2**32))
def test_a_damaged_output_never_gives_a_number_that_is_not_in_its_line(capture: tuple[str, str], seed: int) -> None:
    applet, name = capture
    text = captures.damaged((captures.DATA / applet / name).read_text(), seed)
    records, seen = PARSE[applet](text, "stdout")
    assert all(captures.stands_in_its_line(record, text) for record in records)
    assert len({record.operation for record in records}) == len(records)
    assert all(isinstance(line, str) for line in (*said(seen.errors), *said(seen.warnings), *said(seen.unparsed)))


@settings(max_examples=200)
@given(st.sampled_from(sorted(PARSE)), st.text(max_size=300))
def test_any_text_is_read_or_refused_but_nothing_raises(applet: str, text: str) -> None:
    PARSE[applet](text, "stdout")
