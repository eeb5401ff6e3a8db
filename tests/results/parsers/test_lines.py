"""A line that holds no result is an error, a warning or unknown, by its words; and only so many are kept."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from campaign.config.rules import packs
from campaign.config.rules.output_format import Form
from campaign.core.line_pattern import LineSearch
from campaign.core.records import Observation, OutputRemark, Record, Source
from campaign.results.parsers import lines, notices, output
from campaign.results.parsers.lines import (
    KEPT,
    LONGEST_LINE,
    SHOWN,
    UNPARSED_KEPT,
    LineRules,
    Notes,
    Repeats,
    TextReader,
    deviation,
    grade,
    printable_line,
)
from tests.support.captures import texts_of


@pytest.mark.parametrize(
    "text",
    [
        "srun: error: n2: task 3: Exited with exit code 1",
        "slurmstepd: error: Detected 1 oom_kill event in StepId=12.0.",
        "srun: n1: error: task 0 launch failed: Invalid MPI plugin name",
        "application called MPI_Abort(MPI_COMM_WORLD, 1) - process 0",
        "[n1:77] *** Process received signal ***",
        "mpirun noticed that process rank 1 with PID 0 on node n1 exited on signal 9 (Killed).",
        "WARNING: write failed: No space left on device",
        "cp: cannot stat 'x': No such file or directory",
        "Permission denied",
        "lfs quota: Disk quota exceeded",
        "3 errors",
        "INVALID: 3 operations failed",
    ],
)
def test_an_error_is_known_by_its_words(text: str) -> None:
    assert grade(text) == "error"


@pytest.mark.parametrize(
    "text",
    [
        "WARNING: There was an error initializing an OpenFabrics device.",
        "libibverbs: Warning: couldn't load driver 'x'",
        '[n1:7] Set MCA parameter "orte_base_help_aggregate" to 0 to see all help / error messages',
        "[n1:7] 3 more processes have sent help message help-mpi-btl-openib.txt / no device",
    ],
)
def test_a_warning_is_known_by_its_words(text: str) -> None:
    assert grade(text) == "warning"


@pytest.mark.parametrize("text", ["", "no errors", "0 errors", "terror", "failover is on", "Loading modules"])
def test_other_words_say_nothing(text: str) -> None:
    assert grade(text) is None


@pytest.mark.parametrize("form", ["mdtest", "ior", packs.load("npb").programs[0].output], ids=["mdtest", "ior", "npb"])
@pytest.mark.parametrize("text", ["nothing", "an error", "a warning", "out of memory", "no errors, but it failed"])
def test_a_line_that_no_reader_knows_is_searched_a_few_times_by_re2(
    form: Form, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    searches = Counter[str]()

    class Counting(LineSearch):
        def __call__(self, line: str) -> bool:
            searches[line] += 1
            return super().__call__(line)

    for module in (lines, notices):
        for search in vars(module).values():
            if isinstance(search, LineSearch):
                monkeypatch.setattr(search, "__class__", Counting)
    output.parser(form)("".join(f"{text} {number}\n" for number in range(100)), "stdout")
    assert max(searches.values()) <= 6


def test_what_is_shown_can_be_printed_anywhere() -> None:
    assert printable_line("a\x1b[31mb\0\t\u2028c\ud800") == "a\\x1b[31mb\\x00\\t\\u2028c\\ud800"
    assert printable_line("é漢 x") == "é漢 x"
    long = printable_line("y" * 10_000)
    assert long == "y" * SHOWN + "… (10000 characters)"


def test_each_is_kept_with_its_place() -> None:
    notes = Notes("stdout")
    notes.unknown(3, "an error")
    notes.unknown(4, "a warning")
    notes.unknown(5, "a word")
    notes.unknown(6, "   ")
    notes.unknown(7, "-----")
    notes.error(None, "of the whole file")
    assert notes.added_to(Observation(program="p")) == Observation(
        program="p",
        errors=(OutputRemark("an error", "stdout", 3), OutputRemark("of the whole file", "stdout")),
        warnings=(OutputRemark("a warning", "stdout", 4),),
        unparsed=(OutputRemark("a word", "stdout", 5),),
    )


def test_that_srun_waited_for_the_step_before_says_nothing() -> None:
    notes = Notes("stderr")
    notes.unknown(1, "srun: Job 12 step creation temporarily disabled, retrying (Requested nodes are busy)")
    notes.unknown(2, "srun: Step created for job 12")
    notes.unknown(3, "srun: Step created for StepId=12.3")
    assert notes.added_to(Observation()) == Observation()


def test_of_very_many_the_first_are_kept_and_the_rest_is_counted() -> None:
    notes = Notes("stdout")
    for line in range(1000):
        notes.error(line, "e")
        notes.warning(line, "w")
        notes.unparsed(line, "u")
    seen = notes.added_to(Observation())
    assert (len(seen.errors), texts_of(seen.errors)[-1]) == (KEPT + 1, f"stdout: {1000 - KEPT} more errors")
    assert (len(seen.warnings), texts_of(seen.warnings)[-1]) == (KEPT + 1, f"stdout: {1000 - KEPT} more warnings")
    assert len(seen.unparsed) == UNPARSED_KEPT + 1
    assert texts_of(seen.unparsed)[-1] == f"stdout: {1000 - UNPARSED_KEPT} more unrecognised lines"


# --- iterations


def test_the_best_value_counts_with_its_line_and_the_spread_of_all() -> None:
    repeats = Repeats(Notes("f"))
    for line, (rate, time) in enumerate([(1.0, 4.0), (4.0, 1.0), (2.0, 2.0)], 7):
        repeats.add("rate", rate, "MiB/s", line)
        repeats.add("time", time, "s", line)
    assert repeats.records() == [
        Record("rate", 4.0, "MiB/s", Source("f", 8), 1.0, 7 / 3, deviation([1, 4, 2]), 3),
        Record("time", 1.0, "s", Source("f", 8), 1.0, 7 / 3, deviation([4, 1, 2]), 3, statistic="minimum"),
    ]


def test_one_value_has_no_deviation_and_two_have_that_of_a_sample() -> None:
    assert deviation([5.0]) == 0.0
    assert deviation([1.0, 3.0]) == pytest.approx(2**0.5)


@given(st.lists(st.floats(0, 1e9), min_size=1, max_size=20))
def test_the_best_lies_at_an_end_of_the_spread(values: list[float]) -> None:
    repeats = Repeats(Notes("f"))
    for line, value in enumerate(values, 1):
        repeats.add("x", value, "s", line)
    record = repeats.records()[0]
    assert record.value == record.minimum == min(values)
    assert values[record.source.line - 1] == record.value


# --- the reader of a text


class _HplReader(TextReader):
    rules = LineRules(known_lines=r"|=+")

    @rules(r"WR\S+ +(?P<rate>[0-9.]+)")
    def result(self, number: int, match: re.Match[str]) -> None:
        rate = float(match["rate"])
        if "hpl" not in self.records or self.records["hpl"].value < rate:
            self.records["hpl"] = Record("hpl", rate, "Gflop/s", Source(self.file, number))

    @rules(r"WR.*")
    def other(self, number: int, match: re.Match[str]) -> None:
        self.notes.unreadable(number, match[0], f"no rate: {match[0]}")

    def finish(self, text: str) -> None:
        self.observation = replace(self.observation, complete=bool(self.records))


def test_the_first_rule_that_matches_the_whole_line_takes_it() -> None:
    records, seen = _HplReader("stdout").read("====\r\n\nWR11 2.5\nWR12 4.0\nWR13 fast\n")
    assert [(record.operation, record.value, record.source) for record in records] == [
        ("hpl", 4.0, Source("stdout", 4))
    ]
    wrong = OutputRemark("no rate: WR13 fast", "stdout", 5)
    assert seen == Observation(complete=True, errors=(wrong,), unparsed=(replace(wrong, text="WR13 fast"),))


def test_a_line_that_no_rule_knows_is_noted_by_its_words() -> None:
    _, seen = _HplReader("stdout").read("a word\nan error\na warning\n")
    assert (texts_of(seen.unparsed), texts_of(seen.errors), texts_of(seen.warnings)) == (
        ("stdout:1: a word",),
        ("stdout:2: an error",),
        ("stdout:3: a warning",),
    )


def test_an_endless_line_is_an_error_and_is_given_to_no_rule() -> None:
    _, seen = _HplReader("stdout").read("=" * (LONGEST_LINE + 1))
    assert texts_of(seen.errors) == (
        f"stdout:1: line of {LONGEST_LINE + 1} characters ignored; at most {LONGEST_LINE} are read",
    )


def test_numbers_beyond_the_limit_are_one_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "MOST_NUMBERS", 3)
    monkeypatch.setattr(lines, "MOST_RESULTS", 2)
    notes = Notes("f")
    repeats = Repeats(notes)
    for line, operation in enumerate(("x", "x", "x", "x", "x"), 1):
        repeats.add(operation, line, "s", line)
    assert [record.iterations for record in repeats.records()] == [3]
    names = Repeats(notes)
    for line, operation in enumerate(("x", "y", "z"), 6):
        names.add(operation, line, "s", line)
    assert [record.operation for record in names.records()] == ["x", "y"]
    errors = [(error.line, error.text) for error in notes.added_to(Observation()).errors]
    assert errors == [
        (4, "more than 3 numbers; the rest was not read"),
        (8, "more than 2 results; the rest was not read"),
    ]


def test_many_iterations_are_a_spread_without_each_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "MOST_ITERATIONS", 2)
    repeats = Repeats(Notes("f"))
    for line in (1, 2, 3):
        repeats.add("x", line, "ops/s", line)
    (record,) = repeats.records()
    assert (record.value, record.minimum, record.iterations, record.each) == (3, 1, 3, ())
