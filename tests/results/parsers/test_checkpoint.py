"""The checkpoint's text: bandwidth and time of each number of processes and size of memory."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from campaign.results.parsers import output
from tests.support import captures

parse = output.parser("checkpoint")
TEXT = (captures.DATA / "checkpoint" / "bench-0.1.0-restart" / "stdout").read_text()


@pytest.mark.parametrize(
    ("mib", "name"), [("1.000", "1m"), ("1024.000", "1024m"), ("2.441", "2.441m"), ("0.500", "0.5m")]
)
def test_memory_is_named_in_mib(mib: str, name: str) -> None:
    row = f"checkpoint 1 {mib} {mib} 1.000000 1.0 0.0 {mib} 0\n"
    assert {record.operation for record in parse(row, "stdout")[0]} == {
        f"checkpoint-1-{name}",
        f"checkpoint-time-1-{name}",
    }


def test_the_shortest_time_and_the_highest_bandwidth_of_the_iterations_count() -> None:
    rows = [line.split() for line in TEXT.split("\n") if line.startswith("checkpoint ") and line.split()[1] == "2"]
    mine = [row for row in rows if row[2] == "1.000"]
    records = {record.operation: record for record in parse(TEXT, "stdout")[0]}
    assert records["checkpoint-2-1m"].value == max(float(row[7]) for row in mine)
    assert records["checkpoint-time-2-1m"].value == min(float(row[4]) for row in mine)
    assert records["checkpoint-time-2-1m"].unit == "s"
    assert records["checkpoint-2-1m"].iterations == 2


def test_a_restart_has_records_of_its_own() -> None:
    names = {record.operation for record in parse(TEXT, "stdout")[0]}
    assert {"restart-3-1m", "restart-time-3-2.441m"} <= names


def test_an_output_that_ends_within_a_row_is_not_complete_and_what_follows_the_rows_is_unrecognised() -> None:
    assert parse(TEXT, "stdout")[1].complete
    assert captures.texts_of(parse(TEXT + "and then\n", "stdout")[1].unparsed) == ("stdout:27: and then",)
    assert not parse(TEXT[:-20], "stdout")[1].complete


@pytest.mark.parametrize(
    ("old", "new"),
    [("293.668     0", "793.668     0"), ("0.003405", "0.009405"), (" 1.000      0.003405", " 3.000      0.003405")],
)
def test_a_row_that_contradicts_itself_is_an_error_and_leaves_no_result_of_its_kind(old: str, new: str) -> None:
    assert old in TEXT
    records, seen = parse(TEXT.replace(old, new, 1), "stdout")
    lost = {record.operation for record in parse(TEXT, "stdout")[0]} - {record.operation for record in records}
    assert lost == {"checkpoint-1-1m", "checkpoint-time-1-1m"}
    assert "result not used" in str(seen.errors[0])


@given(st.integers(1, 10**11), st.integers(1, 10**5), st.floats(1e-2, 1e5))
def test_what_the_program_printed_never_contradicts_itself(memory: int, processes: int, elapsed: float) -> None:
    share_mib = memory / 1048576
    total_mib, times = share_mib * processes, f"{elapsed:14.6f}    0.000000    0.000000"
    row = f"checkpoint  {processes:10}{share_mib:16.3f}{total_mib:16.3f}{times}{total_mib / elapsed:16.3f}     0\n"
    assert parse(row, "stdout")[1].errors == ()


def test_what_lost_an_iteration_is_an_error_and_gives_no_number() -> None:
    lines = TEXT.splitlines(keepends=True)
    records, seen = parse("".join(lines[:-1]), "stdout")
    assert {"restart-3-2.441m", "restart-time-3-2.441m"}.isdisjoint(record.operation for record in records)
    assert captures.texts_of(seen.errors) == (
        "stdout: restart-3-2.441m: 1 matches; expected 2; result not used",
        "stdout: restart-time-3-2.441m: 1 matches; expected 2; result not used",
    )
