"""Outputs read as a rule pack says: real programs' captures, every format, and what damage of them gives."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from campaign.config.rules.output_format import DeclaredRecord, OutputFormat, Passage
from campaign.core.records import Observation, Record
from campaign.results.parsers import declared, lines, output
from tests.support import captures
from tests.support.builders import COMPLETION
from tests.support.captures import DATA, declared_form
from tests.support.examples import examples
from tests.support.facts import completion_facts, write

CAPTURES = DATA / "declared"
ALL = [capture.path.name for capture in captures.find() if capture.applet == "declared"]


def read(name: str) -> tuple[list[Record], Observation]:
    return declared.parse(declared_form(name), (CAPTURES / name).read_text(), name)


def form(kind: str, *records: DeclaredRecord, **further_fields: Any) -> OutputFormat:
    return OutputFormat(kind, records, applet="solitaire", **further_fields)


def values(form: OutputFormat, text: str) -> dict[str, tuple[float, int]]:
    return {r.operation: (r.value, r.source.line) for r in declared.parse(form, text, "stdout")[0]}


def errors(form: OutputFormat, text: str) -> list[str]:
    return [str(remark) for remark in declared.parse(form, text, "stdout")[1].errors]


# --- captures of real programs


@pytest.mark.parametrize("name", ALL)
def test_every_number_stands_in_the_line_that_it_names(name: str) -> None:
    lines = (CAPTURES / name).read_text().split("\n")
    for record in read(name)[0]:
        numbers = [f"{record.value:.2f}", f"{record.value:.1f}", f"{record.value:g}", f"{record.value:.6f}"]
        factors = {"MiB/s": 1048576, "us": 1000} if name.startswith("fio") else {}
        numbers.append(f"{record.value * factors.get(record.unit, 1):.0f}")
        assert any(number in lines[record.source.line - 1] for number in numbers), record


@pytest.mark.parametrize(
    ("name", "operation", "value", "unit", "line"),
    [
        ("stream-5.10.txt", "triad", 6111.9, "MB/s", 30),
        ("osu_latency-7.4.txt", "latency-1", 0.28, "us", 5),
        ("osu_bw-7.4.txt", "bandwidth-1", None, "MB/s", 5),
        ("osu_mbw_mr-7.4.txt", "rate-1-8", 12045301.63, "messages/s", 8),
        ("hpcg-3.1.txt", "rating", 0.151425, "GFLOP/s", 119),
        ("hpcc-1.5.0.txt", "hpl", 0.000610218, "Tflop/s", 450),
        ("hpl-2.3.txt", "gflops", 10.808, "Gflop/s", 47),
        ("gromacs-2022.5.txt", "rate", 4.652, "ns/day", 556),
        ("lammps-22Jul2025.txt", "energy", -8.7455292, "eV", 43),
        ("mlperf-storage-2.0.json", "samples", 204.38404, "samples/s", 24),
        ("mdworkbench-4.1.txt", "rate", 9029.3, "ops/s", 6),
        ("npb-3.4-ft.txt", "ft-s", 653.76, "Mop/s", 30),
        ("fio-3.33-write.json", "bandwidth", 1082401042 / 1048576, "MiB/s", 70),
    ],
)
def test_a_capture_gives_its_numbers(name: str, operation: str, value: float | None, unit: str, line: int) -> None:
    record = next(record for record in read(name)[0] if record.operation == operation)
    assert (record.unit, record.source.line) == (unit, line)
    assert value is None or record.value == pytest.approx(value, rel=1e-4)


def test_what_a_program_prints_of_its_iterations_goes_with_the_number() -> None:
    record = read("osu_allreduce-7.4.txt")[0][0]
    assert (record.value, record.minimum, record.iterations) == (15.84, 11.25, 50)


def test_facts_say_which_program_ran_and_on_how_many_processes() -> None:
    assert read("stream-5.10.txt")[1].program == "STREAM version $Revision: 5.10 $"
    assert read("hpcg-3.1.txt")[1].processes == 2


def test_a_rate_that_does_not_agree_with_size_and_time_is_an_error() -> None:
    text = (CAPTURES / "stream-5.10.txt").read_text()
    found_errors = errors(declared_form("stream"), text.replace("4287.0", "9287.0"))
    assert found_errors == [
        "stdout:27: copy: 9287 MB/s does not agree with 2 * bytes * elements / best_s / 1e6 = 4286.9583; "
        "result not used"
    ]


@pytest.mark.parametrize(
    ("rate", "agrees"), [("0.03", True), ("0.04", False), ("0.030", False), ("25e-3", True), ("3", False)]
)
def test_a_rate_may_differ_by_what_the_rounding_of_its_digits_leaves_open(rate: str, agrees: bool) -> None:
    record = DeclaredRecord(
        "rate", "MB/s", r"(?P<size>[0-9]+) +(?P<value>[0-9.e-]+) +(?P<messages>[0-9.]+)",
        plausible="messages * size / 1e6", within=1e-5,
    )  # fmt: skip
    assert bool(errors(form("text", record), f"1 {rate} 25413.27\n")) is not agrees


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("hpl-2.3.txt", "...... PASSED", "...... FAILED"),
        ("hpl-2.3.txt", "0 tests completed and failed", "1 tests completed and failed"),
        ("hpl-2.3.txt", "16.0\n", "99.0\n"),
        ("hpcc-1.5.0.txt", "\nSuccess=1", "\nSuccess=0"),
        ("hpcc-1.5.0.txt", "...... PASSED", "...... FAILED"),
    ],
)
def test_a_test_that_failed_or_another_threshold_is_not_passed_over(name: str, old: str, new: str) -> None:
    text = (CAPTURES / name).read_text()
    assert text.count(old) == 1
    assert errors(declared_form(name), text.replace(old, new))


MICROSECONDS = st.integers(6, 500).map(lambda count: count * 1e-6)


@given(st.integers(10**6, 10**12), MICROSECONDS, MICROSECONDS)
def test_what_a_program_prints_in_few_digits_never_contradicts_itself(size: int, seconds: float, pause: float) -> None:
    record = DeclaredRecord(
        "rate", "MB/s", r"(?P<size>[0-9]+) +(?P<value>[0-9.]+) +(?P<seconds>[0-9.]+) +(?P<pause>[0-9.]+)",
        plausible="size / (seconds + pause) / 1e6", within=0.0,
    )  # fmt: skip
    rate = size / (seconds + pause) / 1e6
    assert not errors(form("text", record), f"{size} {rate:.3f} {seconds:.5f} {pause:.5f}\n")


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("io500-app.txt", "ior-hard-read       10.0", "ior-hard-read       90.0"),
        ("io500-app.txt", "TOTAL 37.169", "TOTAL 39.169"),
        ("io500-script.txt", "find              800.000", "find              900.000"),
        ("npb-3.4-ft.txt", "                   653.76", "                   953.76"),
        ("npb-3.4-ft.txt", "                   163.44", "                   193.44"),
        ("hpcg-3.1.txt", "Raw Total B/W=1.1528", "Raw Total B/W=1.7528"),
        ("hpcc-1.5.0.txt", "HPL_Tflops=0.000610218", "HPL_Tflops=0.0009"),
        ("hpcc-1.5.0.txt", "MPIRandomAccess_GUPs=0.0018422", "MPIRandomAccess_GUPs=0.9"),
        ("hpl-2.3.txt", "1.0808e+01", "1.0908e+01"),
        ("hpl-2.3.txt", "N      :    9984", "N      :    9216"),
        ("hpl-2.3.txt", "1 tests completed and passed", "2 tests completed and passed"),
        ("gromacs-2022.5.txt", "Performance:        4.652", "Performance:        9.652"),
        ("gromacs-2022.5.txt", "command line: 200 steps", "command line: 10000 steps"),
        ("lammps-22Jul2025.txt", "26.774 timesteps", "29.774 timesteps"),
        ("lammps-22Jul2025.txt", "steps with 128 atoms", "steps with 1024 atoms"),
        ("osu_allreduce-7.4.txt", "11.71             11.62", "19.71             11.62"),
        ("mlperf-storage-2.0.json", "203.1174,", "213.1174,"),
        ("mlperf-storage-2.0.json", "93.4127,", "99.4127,"),
        ("mdworkbench-4.1.txt", "rate:9029.3 iops/s", "rate:9929.3 iops/s"),
        ("mdworkbench-4.1.txt", "tp:16.8", "tp:19.8"),
        ("mdworkbench-4.1.txt", "objects:4800 rate:9.510", "objects:4900 rate:9.510"),
        ("mdworkbench-4.1.txt", "op-max:2.4560e-02s", "op-max:2.9560e-02s"),
        ("osu_mbw_mr-7.4.txt", "4670.95", "4640.95"),
        ("fio-3.33-write.json", '"bw_bytes" : 1082401032', '"bw_bytes" : 1092401032'),
        ("fio-3.33-write.json", '"iops" : 16516.129032', '"iops" : 17516.129032'),
    ],
)
def test_a_number_that_the_rest_of_its_output_contradicts_is_an_error(name: str, old: str, new: str) -> None:
    text = (CAPTURES / name).read_text()
    assert text.count(old) == 1
    assert "does not agree with" in " ".join(errors(declared_form(name), text.replace(old, new)))


@pytest.mark.parametrize("number", ["1e400", "0e400", "1e-400", "9e999", "1e300", "1e19", "999999999999999999e99"])
@pytest.mark.parametrize("name", ["size", "value", "time", "count", "moved_bytes", "iterations", "mean"])
def test_a_number_that_no_machine_holds_is_read_or_refused_but_nothing_raises(number: str, name: str) -> None:
    fields = {
        "value": "1.5",
        "size": "1",
        "time": "1",
        "count": "1",
        "moved_bytes": "1",
        "iterations": "1",
        "mean": "1.5",
    }
    pattern = " ".join(f"{name}=(?P<{name}>[0-9.e+-]+)" for name in fields)
    declared_record = DeclaredRecord("rate", unit="MB/s", pattern=pattern, plausible="value * size", within=0.5)
    for texts in ({**fields, name: number}, dict.fromkeys(fields, number)):
        line = " ".join(f"{field}={text}" for field, text in texts.items())
        records, _ = declared.parse(form("text", declared_record), f"{line}\n", "stdout")
        for record in records:
            assert math.isfinite(record.value), line
            counts = record.iterations or 0, record.operations_done or 0, record.moved_bytes or 0
            assert max(counts) < 2**63, line


def test_a_formula_may_name_other_records_of_the_output_in_their_units() -> None:
    part = DeclaredRecord("part-one", "MB/s", "one: (?P<value>[0-9.]+) kB/s", factor=0.001)
    record = DeclaredRecord("whole", "MB/s", "whole: (?P<value>[0-9.]+)", plausible="2 * part_one", within=0.0)
    assert errors(form("text", part, record), "whole: 7.0\none: 3510 kB/s\n") == []  # 3.51 is 3.5 in these digits
    assert errors(form("text", part, record), "whole: 8.0\none: 3510 kB/s\n") == [
        "stdout:1: whole: 8 MB/s does not agree with 2 * part_one = 7.02; result not used"
    ]
    assert errors(form("text", part, record), "whole: 7.0\n") == [
        "stdout:1: whole: plausibility not checked: no value for part_one; result not used"
    ]


# --- damage


def damage(text: str, seed: int) -> str:
    """As outputs are damaged: cut off, lines lost or doubled, and another process's words between or within lines."""
    random = Random(seed)
    for _ in range(random.randint(1, 3)):
        lines = text.split("\n")
        at, length = random.randrange(len(lines)), random.randint(1, 3)
        kind = random.randrange(5)
        if kind == 0:
            text = text[: random.randint(0, len(text))]
        elif kind == 1:
            text = "\n".join(lines[:at] + lines[at + length :])
        elif kind == 2:
            text = "\n".join(lines[: at + length] + lines[at:])
        else:
            place = random.randint(0, len(text)) if kind == 3 else len("\n".join(lines[:at]))
            text = f"{text[:place]}\nnode7: something else\n{text[place:]}"
    return text


@settings(max_examples=examples(200))
@given(st.sampled_from(ALL), st.integers(0, 2**32))
def test_damage_gives_no_other_number_without_saying_that_something_is_wrong(name: str, seed: int) -> None:
    records, seen = declared.parse(declared_form(name), damage((CAPTURES / name).read_text(), seed), name)
    true_values = {(record.operation, record.value, record.unit) for record in read(name)[0]}
    values = {(record.operation, record.value, record.unit) for record in records}
    assert values <= true_values or seen.errors or seen.unparsed or not seen.complete


@pytest.mark.parametrize("name", ALL)
def test_a_cut_output_that_has_a_closing_line_is_not_complete(name: str) -> None:
    text = (CAPTURES / name).read_text().rstrip("\n")
    for share in (0.0, 0.3, 0.6, 0.9):
        assert not declared.parse(declared_form(name), text[: int(len(text) * share)], name)[1].complete or (
            name.startswith("osu") and text[: int(len(text) * share)].endswith("\n")
        )


@settings(max_examples=examples(200))
@given(st.sampled_from(ALL), st.text(max_size=300))
def test_any_text_is_read_or_refused_but_nothing_raises(name: str, text: str) -> None:
    declared.parse(declared_form(name), text, "stdout")


@pytest.mark.parametrize(("text", "complete"), [("", True), ("done\n", True), ("cut", False)])
def test_the_output_of_a_program_without_numbers_is_complete_with_its_last_line(text: str, complete: bool) -> None:
    records, seen = declared.parse(form("text", harmless=("done|cut",)), text, "stdout")
    assert (records, seen.complete, not seen.errors) == ([], complete, complete)


def test_an_empty_output_is_an_error_and_no_result() -> None:
    assert errors(declared_form("stream"), "") == [
        "stdout: no result: not output of stream, or it ended before its first result"
    ]


# --- formats

RATE = DeclaredRecord("rate", "MB/s", pattern=r"rate: (?P<value>[0-9.]+)")


@pytest.mark.parametrize(
    ("take", "value", "line"),
    [("only", 3.0, 1), ("first", 3.0, 1), ("last", 5.0, 4), ("maximum", 9.0, 2), ("minimum", 1.0, 3), ("mean", 4.5, 4),
     ("median", 4.0, 1)],
)  # fmt: skip
def test_of_several_matches_one_is_taken_or_what_they_come_to(take: str, value: float, line: int) -> None:
    text = "rate: 3\nrate: 9\nrate: 1\nrate: 5\nend\n"
    taking = form("text", replace(RATE, take=take), end="end")
    (record,) = declared.parse(taking, text, "stdout")[0]
    assert (record.value, record.source.line, record.iterations, record.mean) == (value, line, 4, 4.5)
    assert (record.minimum, round(record.stddev or 0, 3)) == (1.0, 3.416)
    assert bool(errors(taking, text)) == (take == "only")


def test_numbers_beyond_the_limit_are_one_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "MOST_NUMBERS", 2)
    taking = form("text", replace(RATE, take="sum"))
    assert values(taking, "rate: 3\n" * 5) == {"rate": (6.0, 2)}
    assert errors(taking, "rate: 3\n" * 5) == ["stdout:3: more than 2 numbers; the rest was not read"]


def test_a_row_may_be_of_the_iteration_in_which_one_of_its_numbers_was_best() -> None:
    read_rate = replace(RATE, name="read", pattern="read: (?P<value>[0-9.]+)", positioned_by="rate")
    taking = form("text", replace(RATE, take="maximum"), read_rate, end="end")
    text = "rate: 3\nread: 8\nrate: 9\nread: 5\nrate: 1\nread: 7\nend\n"
    assert values(taking, text) == {"rate": (9.0, 3), "read": (5.0, 4)}
    assert errors(taking, text) == []
    assert errors(taking, text.replace("read: 7\n", "")) == [
        "stdout:4: read: 2 matches, but rate has 3; they cannot be paired"
    ]


def test_a_missing_match_is_an_error_where_their_number_is_known() -> None:
    taking = form("text", replace(RATE, take="mean", matches=3))
    assert errors(taking, "rate: 3\nrate: 9\n") == ["stdout:2: rate: 2 matches; expected 3"]
    assert errors(taking, "rate: 3\nrate: 9\nrate: 4\n") == []


def test_a_record_may_be_required_as_often_as_a_fact_says() -> None:
    taking = form("text", replace(RATE, take="maximum", matches="rounds"), facts=(("rounds", "rounds: ([0-9]+)"),))
    assert errors(taking, "rounds: 2\nrate: 3\nrate: 9\n") == []
    assert errors(taking, "rounds: 3\nrate: 3\nrate: 9\n") == ["stdout:3: rate: 2 matches; expected 3"]
    assert errors(taking, "rate: 3\nrate: 9\n") == [
        "stdout:2: rate: 2 matches; expected as many as the fact `rounds` says, which is missing"
    ]


def test_a_section_without_its_number_is_an_output_that_ended_early() -> None:
    record = DeclaredRecord(
        "{phase}", "MB/s", "rate: (?P<value>[0-9.]+)", after="begin (?P<phase>[a-z]+)", matches="section"
    )
    text = "begin write\nrate: 3\nbegin read\n"
    assert declared.parse(form("text", record), text + "rate: 4\n", "stdout")[1].complete
    assert not declared.parse(form("text", record), text, "stdout")[1].complete
    assert errors(form("text", record), text) == ["stdout: {phase}: 1 matches in 2 sections; expected one in each"]


def test_a_gap_in_the_numbers_of_the_iterations_is_an_error_and_no_result() -> None:
    record = replace(RATE, pattern="(?P<iteration>[0-9]+) rate: (?P<value>[0-9.]+)", take="maximum", matches="same")
    assert values(form("text", record), "0 rate: 3\n1 rate: 4\n") == {"rate": (4.0, 2)}
    assert errors(form("text", record), "0 rate: 3\n2 rate: 4\n") == [
        "stdout:2: rate: iteration 2, but 1 expected; result not used"
    ]


def test_a_record_that_a_line_excludes_is_not_read_below_it_and_above_it_is_of_another_run() -> None:
    record = replace(RATE, unless="title")
    assert values(form("text", record), "rate: 3\n") == {"rate": (3.0, 1)}
    assert values(form("text", record), "title\nrate: 3\n") == {}
    assert "second run in one output" in errors(form("text", record), "rate: 3\ntitle\n")[0]


def test_a_row_of_several_numbers_has_one_for_each_column_of_the_heading() -> None:
    record = DeclaredRecord(
        "at-{size}-{n}", "MB/s", "(?P<size>[0-9]+)(?P<value>( +[0-9.]+)+)", columns="N +(?P<n>[0-9]+)"
    )
    text = "# N  1  N  8\n64  1.5  9.5\n"
    assert values(form("text", record), text) == {"at-64-1": (1.5, 2), "at-64-8": (9.5, 2)}
    _, seen = declared.parse(form("text", record), text + "64  1.5\n", "stdout")
    assert captures.texts_of(seen.unparsed) == ("stdout:3: 64  1.5",)


def test_a_unit_that_is_printed_may_name_the_unit_of_the_number() -> None:
    record = replace(
        RATE, pattern="rate: (?P<value>[0-9.]+) (?P<unit>[A-Za-z]+)", units=(("Kb", "KiB/s"), ("k", 0.001))
    )
    for prefix, value, unit in (("Kb", 3.0, "KiB/s"), ("k", 0.003, "MB/s")):
        (result,) = declared.parse(form("text", record), f"rate: 3 {prefix}\n", "stdout")[0]
        assert (result.value, result.unit) == (value, unit)


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        ("value >= least and value <= most", True), ("least >= value", False), ("value == least * 3", True),
        ("unit == word", False), ("word == word", True), ("value == rate_{least}", False),
    ],
)  # fmt: skip
def test_a_condition_on_printed_numbers_and_words_holds_or_is_an_error(condition: str, holds: bool) -> None:
    record = replace(
        RATE, pattern="(?P<least>[0-9.]+) (?P<value>[0-9.]+) (?P<most>[0-9.]+) (?P<unit>[^ ]+) (?P<word>[a-z]+)",
        plausible=condition, within=0.0,
    )  # fmt: skip
    assert (errors(form("text", record), "1.0 3.0 4.0 MB/s x\n") == []) == holds


def test_a_number_for_checks_alone_is_no_result_and_makes_no_line_known() -> None:
    hidden = replace(RATE, name="highest", take="maximum", check_only=True)
    best = DeclaredRecord("best", "MB/s", "best: (?P<value>[0-9.]+)", plausible="highest", within=0.0)
    records, seen = declared.parse(form("text", hidden, best, end="best: .*"), "rate: 3\nrate: 5\nbest: 5\n", "stdout")
    assert [(record.operation, record.value) for record in records] == [("best", 5.0)]
    assert (seen.errors, len(seen.unparsed), seen.complete) == ((), 2, True)


def test_a_line_that_is_wrong_is_explained_in_the_packs_words() -> None:
    explained_format = form(
        "text", RATE, errors=(".* Fail",), explain=(("(?P<size>[0-9]+) .*", "{size} bytes were wrong"),)
    )
    assert errors(explained_format, "rate: 3\n8 Fail\n") == ["stdout:2: 8 bytes were wrong"]


def test_names_of_nodes_are_counted() -> None:
    _, seen = declared.parse(form("text", RATE, facts=(("node_names", "on:(.*)"),)), "on: a b a\nrate: 3\n", "stdout")
    assert (seen.node_names, seen.nodes) == (("a", "b"), 2)


def test_a_number_counts_only_below_its_heading() -> None:
    record = replace(RATE, name="rate-{phase}", after="phase (?P<phase>[a-z]+)", until="done")
    text = "rate: 1\nphase write\nrate: 2\nphase read\nrate: 3\ndone\nrate: 4\n"
    assert values(form("text", record), text) == {"rate-write": (2.0, 3), "rate-read": (3.0, 5)}
    unread = declared.parse(form("text", record), text, "stdout")[1].unparsed
    assert [remark.line for remark in unread] == [1, 7]


def test_a_heading_may_be_a_fact_too_and_facts_may_name_a_record() -> None:
    record = replace(RATE, name="{kind}-{size}", after="made by solitaire (?P<kind>[a-z]+)")
    taking = form("text", record, facts=(("program", "made by (solitaire [a-z]+)"), ("size", "size ([0-9]+)")))
    text = "made by solitaire write\nsize 8\nrate: 2\n"
    assert values(taking, text) == {"write-8": (2.0, 3)}
    assert declared.parse(taking, text, "stdout")[1].program == "solitaire write"
    assert "'write-{size}' is not a record's name" in errors(taking, text.replace("size 8\n", ""))[0]


def test_an_output_without_a_fact_that_the_pack_requires_is_not_complete() -> None:
    record = DeclaredRecord("rate", "MB/s", pattern="rate (?P<value>[0-9]+)")
    facts = (("threads", "threads ([0-9]+)"), ("size", "size ([0-9]+)"))
    taking = form("text", record, facts=facts, required=("threads",))
    assert errors(taking, "threads 4\nrate 7\n") == []
    assert errors(taking, "size 4\nrate 7\n") == ["stdout: the output lacks required facts: threads"]


def test_in_a_passage_no_line_is_unrecognised_but_its_words_count() -> None:
    taking = form("text", RATE, passages=(Passage("settings:", "end of settings"),), harmless=("errors: 0",))
    text = "a\nsettings:\nb\nerrors: 0\nwarning: c\nfailed: d\nend of settings\ne\nrate: 1\n"
    seen = declared.parse(taking, text, "stdout")[1]
    assert [remark.line for remark in seen.unparsed] == [1, 8]
    assert ([remark.line for remark in seen.warnings], [remark.line for remark in seen.errors]) == ([5], [6])


TIMES = DeclaredRecord("mean-{size}", "us", value="t_avg[usec]", labels=(("size", "#bytes"),))


def test_columns_of_a_heading_may_be_one_space_apart() -> None:
    text = "       #bytes #repetitions  t_min[usec]  t_avg[usec]\n  0  100  0.03  0.04\n  8  100  1.16  3.55\n"
    assert values(form("table", TIMES), text) == {"mean-0": (0.04, 2), "mean-8": (3.55, 3)}
    assert errors(form("table", TIMES), text) == []


@pytest.mark.parametrize(("kind", "text"), [("table", "n  rate\n8  2.5\n"), ("csv", "n,rate\n8,2.5\n")])
def test_a_heading_of_single_words_is_no_row(kind: str, text: str) -> None:
    taking = form(kind, DeclaredRecord("rate", "MB/s", value="rate"))
    assert (values(taking, text), errors(taking, text)) == ({"rate": (2.5, 2)}, [])


def test_where_no_heading_has_all_columns_the_nearest_is_shown_as_it_is_read() -> None:
    assert errors(form("table", TIMES), "#bytes #repetitions  t_avg\n  0  100  0.04\n") == [
        "stdout: no table: no line has all columns of a record; the closest line lacks t_avg[usec]; its columns: "
        "#bytes | #repetitions | t_avg"
    ]


@pytest.mark.parametrize(("name", "seconds"), [("time", 250.0), ("time_ms", 0.25), ("time_us", 0.00025)])
def test_the_time_of_a_phase_may_be_in_parts_of_a_second(name: str, seconds: float) -> None:
    record = replace(RATE, pattern=rf"rate: (?P<value>[0-9.]+) in (?P<{name}>[0-9.]+)")
    assert declared.parse(form("text", record), "rate: 2 in 250\n", "stdout")[0][0].elapsed_s == pytest.approx(seconds)


def test_units_that_the_line_prints_have_their_factors() -> None:
    record = replace(RATE, pattern=r"(?P<value>[0-9.]+) (?P<unit>[A-Za-z]+/s)", units=(("KB/s", 0.001), ("MB/s", 1.0)))
    assert values(form("text", record), "1500 KB/s\n") == {"rate": (1.5, 1)}
    assert errors(form("text", record), "2 GB/s\n")[0] == "stdout:1: unit 'GB/s'; the rule pack expects KB/s, MB/s"


@pytest.mark.parametrize("number", ["nan", "1.2.3", "1e999", "-4", ""])
def test_what_is_no_number_gives_none(number: str) -> None:
    taking = form("text", replace(RATE, pattern="rate: (?P<value>.*)"))
    assert values(taking, f"rate: {number}\n") == {}
    assert errors(taking, f"rate: {number}\n")


def test_key_and_value_may_have_an_equals_sign_or_a_colon() -> None:
    taking = form("keyvalue", DeclaredRecord("rate", "MB/s", value="final rate"), facts=(("program", "made by"),))
    assert values(taking, "made by: solitaire 2\n final rate = 12.5 MB/s\n") == {"rate": (12.5, 2)}
    assert values(taking, "made by: solitaire 2\nfinal rate: 12.5\n") == {"rate": (12.5, 2)}
    assert values(taking, "final rate = 12.5 GB/s\n") == {}


def test_a_csv_file_gives_the_column_of_the_rows_that_are_asked_for() -> None:
    record = DeclaredRecord(
        "write", "MiB/s", value="bw(MiB/s)", where=(("access", "write"),), take="maximum", matches=2
    )
    taking = form("csv", record, harmless=("read,.*",))
    text = (DATA / "ior" / "ior-4.1.csv").read_text()
    records, seen = declared.parse(taking, text, "stdout")
    assert [(r.value, r.source.line, r.iterations) for r in records] == [(3824.4117, 2, 2)]
    assert (seen.errors, seen.unparsed, seen.complete) == ((), (), True)


def test_json_lines_give_the_entries_that_are_asked_for() -> None:
    record = DeclaredRecord(
        "rate-{size}", "MB/s", value="rate", where=(("type", "result"),), labels=(("size", "size"),)
    )
    text = 'hello\n{"type": "start"}\n{"type": "result", "size": 8, "rate": 2.5}\n{"type": "result", "si\n'
    records, seen = declared.parse(form("jsonl", record, harmless=("hello",)), text, "stdout")
    assert [(r.operation, r.value, r.source.line) for r in records] == [("rate-8", 2.5, 3)]
    assert [remark.line for remark in seen.errors] == [4]
    assert not seen.complete


def test_patterns_grade_lines_of_stdout_and_stderr() -> None:
    taking = form("text", RATE, errors=("BAD .*",), warnings=("odd .*",), harmless=("hello, no error", "BAD weather"))
    text = "hello, no error\nodd thing\nBAD weather\nBus error\nwhat is this\nrate: 1\n"
    seen = declared.parse(taking, text, "stdout")[1]
    assert [str(remark) for remark in seen.errors] == ["stdout:3: BAD weather", "stdout:4: Bus error"]
    assert [str(remark) for remark in seen.warnings] == ["stdout:2: odd thing"]
    assert [str(remark) for remark in seen.unparsed] == ["stdout:5: what is this"]
    on_stderr = declared.notes(taking, text, "stderr").added_to(Observation())
    assert len(on_stderr.errors) == 2


def test_no_pattern_of_harmless_lines_hides_a_crash() -> None:
    assert errors(form("text", RATE, harmless=(".*",)), "rate: 1\nsrun: error: node1: task 0: Killed\n")


def test_a_result_after_the_closing_line_is_an_error() -> None:
    taking = form("text", RATE, end="end")
    assert "after the line that ends" in errors(taking, "rate: 1\nend\nrate: 2\n")[0]
    assert "second line that ends" in errors(taking, "rate: 1\nend\nend\n")[0]
    assert "ended early" in errors(taking, "rate: 1\n")[0]


def test_stdout_and_stderr_of_an_attempt_are_read_together(tmp_path: Path) -> None:
    (tmp_path / "stdout").write_text("rate: 1\n")
    (tmp_path / "stderr").write_text("slurmstepd: error: something\n")
    records, seen = output.read(form("text", RATE), tmp_path, tmp_path)
    assert [record.source.file for record in records] == ["stdout"]
    assert [str(remark) for remark in seen.errors] == ["stderr:1: slurmstepd: error: something"]
    assert output.read(form("text", RATE), tmp_path / "none", tmp_path)[1].errors


# --- numbers and outputs in other forms

ENERGY = DeclaredRecord("energy", "Ry", pattern="total energy = (?P<value>[^ ]+)( (?P<unit>[a-zA-Z]*))?")


def test_an_energy_may_be_negative_and_a_rate_may_not() -> None:
    assert values(form("text", ENERGY), "total energy = -1.5D+01\n") == {"energy": (-15.0, 1)}
    assert errors(form("text", replace(ENERGY, unit="MB/s")), "total energy = -1.5\n")[0] == (
        "stdout:1: value: '-1.5' is not a number ≥ 0, as one in MB/s is"
    )


def test_a_duration_is_a_number_of_seconds_only() -> None:
    assert values(form("text", replace(ENERGY, unit="s")), "total energy = 5m58.18s\n") == {"energy": (358.18, 1)}
    assert "its unit is us" in errors(form("text", replace(ENERGY, unit="us")), "total energy = 1:02:03\n")[0]


def test_a_number_may_have_a_unit_or_none_and_the_plain_one_need_not_be_listed() -> None:
    record = DeclaredRecord("n", "ops", pattern="(?P<value>[0-9.,]+)(?P<unit>[kM]?|ops)", units=(("k", 1000.0),))
    taking = form("text", record)
    assert [values(taking, f"{text}\n")["n"][0] for text in ("1,234.5", "1.5k", "7ops")] == [1234.5, 1500, 7]
    assert errors(taking, "1M\n")[0] == "stdout:1: unit 'M'; the rule pack expects k, ops"


def test_the_sum_of_several_matches_has_the_sum_of_their_roundings() -> None:
    rates = replace(RATE, take="sum", matches=3)
    total = DeclaredRecord("total", "MB/s", pattern="total: (?P<value>[0-9.]+)", plausible="rate", within=0.0)
    text = "rate: 1.4\nrate: 1.4\nrate: 1.4\ntotal: {}\n"
    assert values(form("text", rates, total), text.format("4.3")) == {
        "rate": (pytest.approx(4.2), 3),
        "total": (4.3, 4),
    }
    assert "does not agree" in errors(form("text", rates, total), text.format("4.5"))[0]


def test_a_quotient_by_zero_is_not_checked_and_the_number_stays() -> None:
    record = replace(RATE, pattern="rate: (?P<value>[0-9.]+) in (?P<time>[0-9.]+)", plausible="10 / time")
    seen = declared.parse(form("text", record), "rate: 99 in 0.00\n", "stdout")
    assert ([record.value for record in seen[0]], seen[1].errors) == ([99.0], ())
    assert "not checked: 10 / time" in seen[1].warnings[0].text


def test_the_last_line_may_be_a_result_also_one_of_several() -> None:
    assert errors(form("text", RATE, end="rate: .*"), "rate: 1\n") == []
    output_format = form("text", replace(RATE, take="mean"), end="rate: .*")
    assert (values(output_format, "rate: 1\nrate: 3\n"), errors(output_format, "rate: 1\nrate: 3\n")) == (
        {"rate": (2.0, 2)},
        [],
    )


def test_several_files_each_have_their_last_line() -> None:
    taking = form("text", replace(RATE, take="sum"), end="done", file="logs/strm.*")
    assert errors(taking, "rate: 1\ndone\nrate: 2\ndone\n") == []
    assert "program ended early" in errors(taking, "rate: 1\ndone\nrate: 2\n")[0]
    jobs = form("json", DeclaredRecord("bw", "MB/s", value="bw", take="sum"), file="logs/*.json")
    assert values(jobs, '{"bw": 1}\n{"bw": 2.5}\n') == {"bw": (3.5, 2)}


def test_results_may_be_on_stderr(tmp_path: Path) -> None:
    (tmp_path / "stdout").write_text("hello\n")
    (tmp_path / "stderr").write_text("rate: 5\n")
    records, seen = output.read(form("text", RATE, stream="stderr"), tmp_path, tmp_path)
    assert [(record.value, record.source.file) for record in records] == [(5.0, "stderr")]
    assert [str(remark) for remark in seen.unparsed] == ["stdout:1: hello"]


def test_the_job_gives_the_time_of_a_launch(tmp_path: Path) -> None:
    (tmp_path / "stdout").write_text("rate: 5\n")
    taking = form("text", RATE, wall=True)
    assert [record.operation for record in output.read(taking, tmp_path, tmp_path)[0]] == ["rate"]
    record = completion_facts({**COMPLETION, "started": 100.0, "ended": 112.5, "uptime": [7.00, 19.48]})
    write(tmp_path, *record)
    records = {record.operation: record for record in output.read(taking, tmp_path, tmp_path)[0]}
    line = [fact["name"] for fact in record].index("ended") + 2
    assert (records["wall"].value, records["wall"].unit, records["wall"].source.line) == (12.5, "s", line)
    assert records["wall-uncertainty"].value == pytest.approx(0.03)
    write(tmp_path, *record[:4])
    assert [record.operation for record in output.read(taking, tmp_path, tmp_path)[0]] == ["rate"]


def test_the_uncertainty_of_a_phase_is_that_of_its_own_clock(tmp_path: Path) -> None:
    phases = [
        {"phase": "one", "exit_status": 0, "started": 100.0, "ended": 112.5, "uptime": [7.00, 19.48]},
        {"phase": "two", "exit_status": 0, "started": 113.0, "ended": 183.0},  # of a job that recorded only the run's
    ]
    record = {**COMPLETION, "started": 100.0, "ended": 190.0, "uptime": [7.00, 97.00], "phases": phases}
    write(tmp_path, *completion_facts(record))
    values = {record.operation: record.value for record in output.wall_times(tmp_path, tmp_path, "one")}
    assert values == {"wall": pytest.approx(12.5), "wall-uncertainty": pytest.approx(0.03)}
    assert [record.operation for record in output.wall_times(tmp_path, tmp_path, "two")] == ["wall"]
