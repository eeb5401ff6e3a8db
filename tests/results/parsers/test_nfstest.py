"""NFSTEST's text: rates by size of file, the highest over the iterations, in the unit of the text."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from campaign.core.records import Record, Source
from campaign.results.parsers import output
from tests.support import captures
from tests.support.captures import texts_of

parse = output.parser("nfstest")
DOING = ("write", "read")
EXAMPLE = (captures.DATA / "nfstest" / "nfstest-2003.txt").read_text()  # with sections left out
TEXT = (captures.DATA / "nfstest" / "bench-0.1.0-verbose" / "stdout").read_text()


def values(text: str) -> dict[str, float]:
    return {record.operation: record.value for record in parse(text, "stdout")[0]}


def test_the_example_of_the_description_is_read_as_it_is_explained_there() -> None:
    assert values(EXAMPLE) == {
        "write-256kb": 23985.4, "read-256kb": 36475.0, "write-512kb": 24997.8, "read-512kb": 40719.8,
        "write-1024kb": 25144.6, "read-1024kb": 42959.5, "best-write": 25144.6,
    }  # fmt: skip
    _, seen = parse(EXAMPLE, "stdout")
    assert (seen.processes, seen.nodes, seen.complete) == (4, 4, True)


def test_the_example_lacks_sections_and_with_them_its_best_rate_of_reading() -> None:
    errors = texts_of(parse(EXAMPLE, "stdout")[1].errors)
    assert [error.partition(": ")[2] for error in errors] == [
        *(f"{doing}-{size}kb: 1 matches; expected 2" for size in (256, 512, 1024) for doing in ("write", "read")),
        "best-read: 43103.2 KiB/s does not agree with highest_read = 42959.5; result not used",
        "best-read: 43103.2 KiB/s does not agree with highest_read_of_12288kb = 42959.5; result not used",
    ]


def test_the_kb_of_the_text_are_1024_bytes() -> None:
    assert parse(TEXT, "stdout")[0][0].unit == "KiB/s"


def test_the_highest_of_the_iterations_counts_and_names_its_line() -> None:
    record = parse(TEXT, "stdout")[0][0]
    assert record == Record(
        "write-256kb", 4199693.2, "KiB/s", Source("stdout", 24), minimum=733954.4, mean=(4199693.2 + 733954.4) / 2,
        stddev=record.stddev, iterations=2,
    )  # fmt: skip


def test_without_the_header_a_size_is_that_of_all_files() -> None:
    terse = "\n".join(line for line in EXAMPLE.split("\n") if line.startswith("---")) + "\n"
    assert values(terse)["write-of-3072kb"] == 23985.4
    assert parse(terse, "stdout")[1].complete


def test_a_best_rate_above_the_rows_is_no_number() -> None:
    lines = EXAMPLE.splitlines(keepends=True)
    best = next(line for line in lines if line.startswith("--- Best reading"))
    lines.remove(best)
    records, seen = parse("".join([*lines[:3], best, *lines[3:]]), "stdout")
    assert "best-read" not in {record.operation for record in records}
    assert any("a result after the line that ends the output" in error for error in texts_of(seen.errors))


def test_an_output_without_the_best_rates_is_not_complete() -> None:
    assert not parse(TEXT[: TEXT.index("--- Best reading")], "stdout")[1].complete


def test_two_executions_in_one_output_are_an_error() -> None:
    _, seen = parse(TEXT + TEXT, "stdout")
    assert any("a second line that ends an output: several runs" in error for error in texts_of(seen.errors))


def test_an_error_of_the_program_is_one() -> None:
    _, seen = parse(TEXT.replace("Testing complete", "cannot open file 3\nTesting complete"), "stdout")
    assert texts_of(seen.errors) == ("stdout:35: cannot open file 3",)


# --- texts that contradict themselves


@pytest.mark.parametrize("number", range(6))
def test_a_section_without_its_first_line_gives_no_number_to_another_size(number: int) -> None:
    lines = TEXT.split("\n")
    at = [place for place, line in enumerate(lines) if line.startswith("Starting test")][number]
    text = "\n".join(lines[:at] + lines[at + 1 :])
    sections = re.findall(r"FS = (\d+Kb).\n.*TWR=([0-9.]+)Kb/s\n.*TRR=([0-9.]+)Kb/s", TEXT)
    true_values = {
        (f"{doing}-{size.lower()}", float(rates[i])) for size, *rates in sections for i, doing in enumerate(DOING)
    }
    found_values = {(name, value) for name, value in values(text).items() if not name.startswith("best-")}
    assert len(found_values) >= 4
    assert found_values <= true_values
    assert parse(text, "stdout")[1].errors


def test_a_section_that_is_missing_is_an_error() -> None:
    start = TEXT.index("Starting test iteration = 1 for FS = 256Kb")
    text = TEXT[:start] + TEXT[TEXT.index("Starting test iteration = 1 for FS = 512Kb") :]
    assert texts_of(parse(text, "stdout")[1].errors) == (
        "stdout:12: write-256kb: 1 matches; expected 2", "stdout:13: read-256kb: 1 matches; expected 2",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("old", "new", "lost"),
    [
        ("TFS=3072Kb  WTT", "TFS=6144Kb  WTT", "write-256kb"),
        ("TWR=4199693.2Kb/s", "TWR=9199693.2Kb/s", "write-256kb"),
        ("LRR=4143367.0Kb/s", "LRR=9143367.0Kb/s", "read-512kb"),
        ("WTT= 0.0s", "WTT= 7.0s", "write-256kb"),
        ("TWR=6878157.3 Kb/s", "TWR=6878157.4 Kb/s", "best-write"),
        ("(at TFS=12288Kb)", "(at TFS=6144Kb)", "best-write"),
    ],
)
def test_a_rate_that_the_text_contradicts_is_an_error_and_no_result(old: str, new: str, lost: str) -> None:
    text = TEXT.replace(old, new, 1)
    assert lost not in values(text)
    assert values(text).items() <= values(TEXT).items()
    assert "result not used" in texts_of(parse(text, "stdout")[1].errors)[0]


def output_text(processes: int, sizes: list[tuple[int, float]]) -> str:
    """A text as the program prints it, of the size of all files and the seconds of each phase."""
    rows, best = [], dict.fromkeys("WR", (0.0, 0))
    for total, elapsed in sizes:
        for letter in "WR":
            rate = total / elapsed
            best[letter] = max(best[letter], (rate, total), key=lambda pair: pair[0])
            times = f"{letter}TT={elapsed:4.1f}s A{letter}T={elapsed:4.1f}s"
            rates = f"L{letter}R={rate / processes:.1f}Mb/s T{letter}R={rate:.1f}Mb/s"
            rows.append(f"--- TFS={total}Mb     {times}   {rates}")
    for letter, doing in (("W", "writing"), ("R", "reading")):
        rate, total = best[letter]
        rows.append(f"--- Best {doing} rate achieved: T{letter}R={rate:.1f} Mb/s (at TFS={total}Mb)")
    return "\n".join(rows) + "\n"


@given(st.integers(1, 64), st.dictionaries(st.integers(1, 10**7), st.floats(0.001, 1e5), min_size=1, max_size=4))
def test_what_the_program_printed_never_contradicts_itself(processes: int, sizes: dict[int, float]) -> None:
    assert parse(output_text(processes, list(sizes.items())), "stdout")[1].errors == ()


def test_a_phase_of_many_minutes_is_as_exact_as_its_rate() -> None:
    """100.04 Mb/s are printed as 100.0: 16384 Mb at that rate take 163.8 s, not 163.84."""
    assert values(output_text(8, [(163_777, 1637.1)]))["write-of-163777mb"] == 100.0


def test_of_two_sizes_with_the_same_printed_rate_either_may_be_the_best() -> None:
    for sizes in ([(1024, 1.0001), (2048, 2.0)], [(1024, 1.0), (2048, 2.0002)]):
        assert parse(output_text(4, sizes), "stdout")[1].errors == ()


def test_a_text_that_lost_its_parameters_but_not_its_title_shifts_no_number_to_another_name() -> None:
    text = (captures.DATA / "nfstest" / "bench-0.1.0-bytes" / "stdout").read_text()
    lines = text.splitlines(keepends=True)
    records, seen = parse("".join([*lines[:2], *lines[10:]]), "stdout")
    assert {record.operation for record in records} <= {"write-2000b", "read-2000b", "best-write", "best-read"}
    assert "---" in captures.texts_of(seen.unparsed)[0]


def test_a_text_without_its_number_of_iterations_may_have_lost_some() -> None:
    lost = re.sub(" +Number of iterations.*\n", "", TEXT)
    errors = texts_of(parse(lost, "stdout")[1].errors)
    assert errors[0] == (
        "stdout:23: write-256kb: 2 matches; expected as many as the fact `iterations` says, which is missing"
    )


def test_rates_before_the_title_are_of_another_run() -> None:
    row = next(line for line in TEXT.splitlines(keepends=True) if line.startswith("--- TFS="))
    assert any("second run in one output" in line for line in texts_of(parse(row + TEXT, "stdout")[1].errors))
