"""NFSTEST's text: rates by size of file, the highest over the iterations, in the unit of the text."""

from __future__ import annotations

from campaign.core.model import Record, Source
from campaign.results.parsers.nfstest_text import parse
from tests.support import captures
from tests.support.captures import said

TEXT = (captures.DATA / "nfstest" / "nfstest-2003.txt").read_text()


def values(text: str) -> dict[str, float]:
    return {record.operation: record.value for record in parse(text, "stdout")[0]}


def test_the_example_of_the_description_is_read_as_it_is_explained_there() -> None:
    assert values(TEXT) == {
        "write-256kb": 23985.4, "read-256kb": 36475.0, "write-512kb": 24997.8, "read-512kb": 40719.8,
        "write-1024kb": 25144.6, "read-1024kb": 42959.5, "best-write": 25144.6, "best-read": 43103.2,
    }  # fmt: skip
    _, seen = parse(TEXT, "stdout")
    assert (seen.processes, seen.nodes, seen.complete) == (4, 4, True)


def test_the_kb_of_the_text_are_1024_bytes() -> None:
    assert parse(TEXT, "stdout")[0][0].unit == "KiB/s"


def test_the_highest_of_the_iterations_counts_and_names_its_line() -> None:
    again = TEXT.replace("iteration = 0 for FS = 512Kb", "iteration = 1 for FS = 256Kb")
    record = parse(again, "stdout")[0][0]
    assert record == Record(
        "write-256kb", 24997.8, "KiB/s", Source("stdout", 16), minimum=23985.4, mean=24491.6,
        stddev=record.stddev, iterations=2,
    )  # fmt: skip


def test_without_the_header_a_size_is_that_of_all_files() -> None:
    terse = "\n".join(line for line in TEXT.split("\n") if line.startswith("---")) + "\n"
    assert values(terse)["write-of-3072kb"] == 23985.4
    assert parse(terse, "stdout")[1].complete


def test_an_output_without_the_best_rates_is_not_complete() -> None:
    assert not parse(TEXT[: TEXT.index("--- Best reading")], "stdout")[1].complete


def test_two_executions_in_one_output_are_an_error() -> None:
    _, seen = parse(TEXT + TEXT, "stdout")
    assert "second run in one output" in said(seen.errors)[0]
    assert "second run in one output" in said(seen.errors)[1]


def test_an_error_of_the_program_is_one() -> None:
    _, seen = parse(TEXT.replace("Testing complete", "cannot open file 3\nTesting complete"), "stdout")
    assert said(seen.errors) == ("stdout:23: cannot open file 3",)
