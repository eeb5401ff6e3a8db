"""IOR's text, JSON and CSV: only what the summary holds is a result, and the rows must bear it out."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from campaign.core.records import Record, Source
from campaign.results.parsers.ior_formats import parse
from tests.support import captures
from tests.support.captures import texts_of

TEXT = (captures.DATA / "ior" / "ior-4.1-F-C-e.txt").read_text()
OWN = (captures.DATA / "ior" / "bench-0.1.0-synced" / "stdout").read_text()
JSON = (captures.DATA / "ior" / "ior-4.1.json").read_text()
# The columns of older releases, as the tutorial has them.
TUTORIAL = """IOR-3.0.1: MPI Coordinated Test of Parallel I/O
Command line used: ./ior -t 1m -b 16m -s 16 -F
Participating tasks: 64

access bw(MiB/s) block(KiB) xfer(KiB) open(s) wr/rd(s) close(s) total(s) iter
------ --------- ---------- --------- -------- -------- -------- -------- ----
write 33645 16384 1024.00 0.007693 0.486249 0.195494 0.486972 1
read 149473 16384 1024.00 0.004936 0.108627 0.016479 0.109612 1
remove - - - - - - 6.08 1
Max Write: 33645.21 MiB/sec (35279.56 MB/sec)
Max Read:  149473.10 MiB/sec (156733.90 MB/sec)

Summary of all tests:
Operation   Max(MiB)   Min(MiB)  Mean(MiB)     StdDev    Mean(s) Test# #Tasks tPN reps fPP reord segcnt API RefNum
write       33645.21   33645.21   33645.21       0.00    0.48697 0 64 16 1 1 0 16 POSIX 0
read       149473.10  149473.10  149473.10       0.00    0.10961 0 64 16 1 1 0 16 POSIX 0
Finished: Tue Mar  1 10:00:00 2016
"""


def rates(text: str) -> dict[str, float]:
    return {record.operation: record.value for record in parse(text, "stdout")[0]}


def errors(text: str) -> tuple[str, ...]:
    return texts_of(parse(text, "stdout")[1].errors)


def row(text: str, start: str) -> str:
    return next(line for line in text[text.index("Summary of") :].split("\n") if line.startswith(start))


def test_a_row_of_the_summary_is_a_record_with_its_spread() -> None:
    assert parse(TEXT, "stdout")[0][0] == Record(
        "write",
        2279.05,
        "MiB/s",
        Source("stdout", 42),
        minimum=527.91,
        mean=1403.48,
        stddev=875.57,
        iterations=2,
        moved_bytes=512 << 20,
    )


def test_older_releases_have_fewer_columns_and_the_same_results() -> None:
    assert rates(TUTORIAL) == {"write": 33645.21, "read": 149473.10}
    _, seen = parse(TUTORIAL, "stdout")
    assert (seen.program, seen.argv) == ("IOR-3.0.1", ("./ior", "-t", "1m", "-b", "16m", "-s", "16", "-F"))
    assert seen.complete


def test_the_words_of_the_applets_command_line_are_quoted_and_ior_joins_them_with_blanks() -> None:
    assert parse(OWN, "stdout")[1].argv[-1] == "/scratch/user/a file.dat"
    upstream = TEXT.replace("/scratch/user/ext4/ior.dat", "/scratch/a file.dat")
    assert parse(upstream, "stdout")[1].argv[-2:] == ("/scratch/a", "file.dat")


def test_the_geometry_is_that_of_the_options() -> None:
    _, seen = parse(OWN, "stdout")
    assert (seen.processes, seen.nodes, seen.processes_per_node, seen.placement) == (4, 2, 2, None)
    uneven = OWN.replace("clients per node    : 2", "clients per node    : 3")
    assert parse(uneven, "stdout")[1].processes_per_node is None


def test_tests_of_a_script_have_the_number_of_the_test() -> None:
    text = (captures.DATA / "ior" / "ior-4.1-script.txt").read_text()
    assert list(rates(text)) == ["write-0", "read-0", "write-1", "read-1"]


def test_a_row_outside_of_the_summary_is_no_result_and_leaves_none_that_it_contradicts() -> None:
    planted = row(TEXT, "write").replace("2279.05", "9999.05")
    for text in (TEXT.replace("Options: ", planted + "\nOptions: "), TEXT + planted + "\n"):
        assert rates(text) == {"read": rates(TEXT)["read"]}
        assert "write: 3 iterations, but 2 expected; result not used" in errors(text)[0]


# IOR called by another program, as by IO500: the output ends with the last row.
LIBRARY = TEXT[: TEXT.index("\nSummary of")]


def test_without_a_summary_the_rows_are_the_result_once_each_repetition_has_its_own() -> None:
    of_rows, seen = parse(LIBRARY, "stdout")
    assert {record.operation: (record.value, record.source.line, record.iterations) for record in of_rows} == {
        "write": (2279.05, 37, 2),
        "read": (12102.0, 36, 2),
    }
    assert seen.complete and not seen.errors
    assert "no summary of all tests" in texts_of(seen.warnings)[0]


def test_rows_without_a_summary_are_no_result_while_one_is_missing_or_contradicts_itself() -> None:
    last = LIBRARY[: LIBRARY.rstrip().rindex("\n") + 1]
    assert (parse(last, "stdout")[0], parse(last, "stdout")[1].complete) == ([], False)
    forged = LIBRARY.replace("write     2279.05", "write     9279.05")
    assert forged != LIBRARY and not rates(forged)
    assert "bw(MiB/s) is 9279.05" in errors(forged)[0]
    assert not rates(OWN[: OWN.index("\nSummary of")])  # the applet always prints its summary


def test_a_summary_that_its_rows_do_not_bear_out_is_an_error() -> None:
    old = row(TEXT, "write")
    higher = "9279.05     527.91    4903.48    4375.57    9279.05     527.91    4903.48    4375.57"
    changed_text = re.sub(r"2279\.05 .*?  875\.57 .*?  875\.57", higher, old)
    text = TEXT.replace(old, changed_text)
    assert list(rates(text)) == ["read"]
    assert errors(text) == (
        "stdout:42: write: max is 9279.05, but the rest of the output gives 2279.05; result not used",
    )


@pytest.mark.parametrize("column", ["2279.05", "527.91", "1403.48", "875.57"])
def test_a_spread_that_no_two_iterations_have_is_an_error_and_no_result(column: str) -> None:
    old = row(TEXT, "write")
    text = TEXT.replace(old, old.replace(column, "9" + column[1:], 1))
    assert list(rates(text)) == ["read"]
    assert "cannot be those of 2 iterations; result not used" in errors(text)[0]


def test_transfers_a_second_that_do_not_give_the_rate_are_an_error() -> None:
    old = row(TEXT, "write")
    text = TEXT.replace(old, old.replace("875.57    2279.05", "875.57    2278.05"))
    assert list(rates(text)) == ["read"]
    assert "max is 2279.05, but the rest of the output gives 2278.05" in errors(text)[0]


def test_fewer_rows_than_repetitions_are_an_error_and_leave_no_result() -> None:
    first = next(line for line in TEXT.split("\n") if line.startswith("write     527.91"))
    text = TEXT.replace(first + "\n", "")
    assert list(rates(text)) == ["read"]
    assert errors(text) == ("stdout:41: write: 1 iterations, but 2 expected; result not used",)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("2279.05     527.91", "2279.05     x27.91"),
        ("    2   1 ", "    2 "),
    ],
)
def test_a_row_that_is_not_whole_is_an_error_and_no_result(old: str, new: str) -> None:
    full_text = row(TEXT, "write")
    assert old in full_text
    text = TEXT.replace(full_text, full_text.replace(old, new, 1))
    assert list(rates(text)) == ["read"]
    assert "truncated summary row" in errors(text)[0]


def test_a_result_that_stands_twice_counts_once_and_is_an_error() -> None:
    full_text = row(TEXT, "write")
    text = TEXT.replace(full_text, f"{full_text}\n{full_text}")
    assert rates(text) == rates(TEXT)
    assert errors(text) == ("stdout:43: write appears twice; the first, in line 42, is used",)


def test_two_executions_in_one_output_are_an_error() -> None:
    assert "second run in one output" in errors(TEXT + TEXT)[0]


def test_data_that_is_not_what_was_written_is_an_error_though_ior_calls_it_a_warning() -> None:
    text = (captures.DATA / "ior" / "ior-4.1-wrong-data.txt").read_text()
    assert errors(text) == ("stdout:34: WARNING: Incorrect data on read (1 errors found).",)


def test_the_applets_own_warnings_are_no_errors_whatever_their_words() -> None:
    text = OWN.replace("WARNING: read 0", "WARNING: the file system cannot say it failed: read 0")
    assert errors(text) == ()


def test_a_command_line_that_is_cut_off_is_not_known() -> None:
    _, seen = parse(OWN.replace("file.dat'\n", "file.dat\n", 1), "stdout")
    assert seen.argv == ()
    assert "command line truncated" in texts_of(seen.warnings)[0]


# --- JSON


def test_the_json_of_ior_gives_the_numbers_at_their_lines() -> None:
    records, seen = parse(JSON, "stdout")
    assert records[0] == Record(
        "write",
        1083.9548,
        "MiB/s",
        Source("stdout", 153),
        minimum=965.5483,
        mean=1024.7516,
        stddev=59.2033,
        iterations=2,
    )
    assert (seen.processes, seen.nodes, seen.complete) == (2, 1, True)


def test_the_json_of_the_applet_names_its_program_as_its_other_outputs_do() -> None:
    text = JSON.replace('"Version": "', '"Version": "campaign bench ')
    assert parse(text, "stdout")[1].program.startswith("campaign bench 4")


@pytest.mark.parametrize("text", ["json", "csv"])
def test_what_ior_prints_between_the_lines_of_another_format_changes_none_of_its_numbers(text: str) -> None:
    output = (captures.DATA / "ior" / f"ior-4.1.{text}").read_text()
    lines = output.splitlines(keepends=True)
    between = (
        'WARNING: The file "f" exists already and will be deleted\n',
        "stonewalling pairs accessed min: 8 max: 8 -- min data: 0.0 GiB mean data: 0.0 GiB time: 0.0s\n",
        "Using Time Stamp 1795410752 (0x6b03cb40) for Data Signature\n",
    )
    (records, seen), (plain, before) = (
        parse("".join((*between, *lines[:3], *between, *lines[3:])), "stdout"),
        parse(output, "stdout"),
    )
    assert [(record.operation, record.value, record.stddev) for record in records] == [
        (record.operation, record.value, record.stddev) for record in plain
    ]
    assert len(plain) == 2
    assert [record.source.line for record in records] == [
        record.source.line + (6 if record.source.line > 3 else 3) for record in plain
    ]
    assert (seen.errors, seen.unparsed) == ((), ())
    assert len(seen.warnings) == len(before.warnings) + 2
    wrong = "WARNING: incorrect data on read (4 errors found).\n"
    assert texts_of(parse(wrong + output, "stdout")[1].errors) == (f"stdout:1: {wrong.strip()}",)


def test_json_that_was_cut_off_gives_nothing() -> None:
    records, seen = parse(JSON[: len(JSON) // 2], "stdout")
    assert (records, seen.complete) == ([], False)
    assert "not JSON" in texts_of(seen.errors)[0]


@pytest.mark.parametrize("value", [None, "fast", True, -1, 1e300, []])
def test_a_number_of_the_json_that_is_none_is_an_error(value: object) -> None:
    data = json.loads(JSON)
    data["summary"][0]["bwMaxMIB"] = value
    records, seen = parse(json.dumps(data, indent=1), "stdout")
    assert [record.operation for record in records] == ["read"]
    assert len(seen.errors) == 1


def test_json_without_a_summary_holds_no_results() -> None:
    data = json.loads(JSON)
    del data["summary"]
    assert "no summary" in texts_of(parse(json.dumps(data), "stdout")[1].errors)[0]


# --- CSV


def test_the_csv_of_ior_gives_the_best_row_of_each_access_and_no_end() -> None:
    text = (captures.DATA / "ior" / "ior-4.1.csv").read_text()
    records, seen = parse(text, "stdout")
    assert [(r.operation, r.value, r.source.line, r.iterations) for r in records] == [
        ("write", 3824.4117, 2, 2),
        ("read", 5535.3794, 5, 2),
    ]
    assert not seen.complete
    assert seen.processes == 2


CSV = (captures.DATA / "ior" / "ior-4.1.csv").read_text()


@pytest.mark.parametrize(("old", "new"), [("3824.4117", "9824.4117"), ("0.0087,0.0335,2,0", "0.0087,0.9335,2,0")])
def test_a_row_of_csv_whose_rate_does_not_fit_its_times_is_an_error_and_no_result(old: str, new: str) -> None:
    records, seen = parse(CSV.replace(old, new), "stdout")
    assert [(record.operation, record.value) for record in records] == [("read", 5535.3794)]
    assert "write: bw(MiB/s) is" in texts_of(seen.errors)[0]


@given(st.integers(1, 10**6), st.integers(1, 1 << 30), st.floats(1e-4, 1e5), st.floats(1.0, 3.0))
def test_a_row_of_csv_as_ior_prints_it_never_contradicts_itself(
    transfers: int, size: int, busy: float, longer: float
) -> None:
    """The applet counts transfers over the whole time, IOR over that of the transfers alone."""
    for counted_s in (busy, busy * longer):
        row_is_read(transfers, size, busy, busy * longer, counted_s)


def row_is_read(transfers: int, size: int, busy: float, total: float, counted_s: float) -> None:
    moved = transfers * size / (1 << 20)
    names = CSV.splitlines()[0].split(",")
    row = {
        "access": "write", "bw(MiB/s)": f"{moved / total:.4f}", "IOPS": f"{transfers / counted_s:.4f}", "iter": "0",
        "xfer(KiB)": f"{size / 1024:.4f}", "wr/rd(s)": f"{busy:.4f}", "total(s)": f"{total:.4f}", "numTasks": "2",
    }  # fmt: skip
    text = ",".join(names) + "\n" + ",".join(row.get(name, "0.0000") for name in names) + "\n"
    assert parse(text, "stdout")[1].errors == ()


def test_a_row_of_csv_that_is_missing_is_noticed_by_the_next_ones_number() -> None:
    lines = CSV.splitlines(keepends=True)
    records, seen = parse("".join([lines[0], *lines[2:]]), "stdout")
    assert [record.operation for record in records] == ["read"]
    assert "write: iter is 1, but the rest of the output gives 0" in texts_of(seen.errors)[0]


def test_csv_that_ends_between_the_rows_of_an_iteration_is_an_error() -> None:
    records, seen = parse(CSV[: CSV.rindex("read")], "stdout")
    assert [record.operation for record in records] == ["write"]
    assert texts_of(seen.errors) == ("stdout: read: 1 iterations, but 2 expected; result not used",)
    assert not parse(CSV[: CSV.rindex("write")], "stdout")[1].errors  # that of a shorter run


@pytest.mark.parametrize("key", ["bwMaxMIB", "bwMinMIB", "bwMeanMIB", "OPsMax", "repetitions"])
def test_a_summary_of_the_json_that_its_tests_do_not_bear_out_is_an_error_and_no_result(key: str) -> None:
    data = json.loads(JSON)
    data["summary"][0][key] += 7
    records, seen = parse(json.dumps(data, indent=1), "stdout")
    assert [record.operation for record in records] == ["read"]
    assert "result not used" in texts_of(seen.errors)[0]


def test_a_test_that_is_not_in_the_summary_is_an_error_and_the_others_keep_their_names() -> None:
    text = (captures.DATA / "ior" / "bench-0.1.0-script" / "stdout").read_text()
    summary = text.index("Summary of all tests:")
    lines = text[summary:].splitlines(keepends=True)
    records, seen = parse(text[:summary] + "".join([*lines[:2], *lines[4:]]), "stdout")
    assert [record.operation for record in records] == ["write-1", "read-1"]
    assert captures.texts_of(seen.errors) == (
        "stdout: read-0: rows of iterations, but no row in the summary; result not used",
        "stdout: write-0: rows of iterations, but no row in the summary; result not used",
    )
