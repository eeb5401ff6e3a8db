"""mdtest's text of every version gives its numbers, its circumstances, and nothing that is not there."""

from __future__ import annotations

import re
import statistics
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from campaign.core.records import Observation, Record
from campaign.results.parsers.lines import LONGEST_LINE
from campaign.results.parsers.mdtest_text import parse
from tests.support.captures import texts_of

DATA = Path(__file__).parents[2] / "data" / "mdtest"
CAPTURES = sorted(p.relative_to(DATA).as_posix() for p in [*DATA.glob("*.txt"), *DATA.glob("*/stdout")])


def read(name: str) -> tuple[list[Record], Observation]:
    return parse((DATA / name).read_text(), Path(name).name)


def rates(records: list[Record]) -> dict[str, float]:
    return {record.operation: record.value for record in records}


# --- captured outputs


LABELS = {
    "File creation": "create", "File stat": "stat", "File read": "read", "File removal": "remove",
    "Directory creation": "dir_create", "Directory stat": "dir_stat", "Directory rename": "dir_rename",
    "Directory removal": "dir_remove", "Tree creation": "tree_create", "Tree removal": "tree_remove",
}  # fmt: skip


@pytest.mark.parametrize("name", CAPTURES)
def test_the_rates_of_a_capture_are_those_that_a_plain_look_at_its_last_table_of_rates_finds(name: str) -> None:
    blocks = re.split(r"\n\n(?=SUMMARY|Shared files)|\n(?=\d+ tasks, )", (DATA / name).read_text())
    tables = [block for block in blocks if block.startswith("SUMMARY") and "(of" in block[:60]]
    tables = [block for block in tables if not re.match("SUMMARY (time|latency)", block)]
    fields = {}
    for line in tables[-1].splitlines()[3:] if tables else []:
        label = line[:23].strip(" :")
        words = [word for word in line.split() if re.fullmatch(r"[\d.]+", word)]
        if label in LABELS and float(words[-4]) > 0:
            fields[LABELS[label]] = float(words[-4])
    assert rates(read(name)[0]) == fields


# --- what an observation says


def test_the_two_meanings_of_N_give_the_same_shift_when_each_is_used_rightly() -> None:
    _, new = read("mdtest-4.1-two-nodes-shared-dir.txt")
    assert (new.shift_requested, new.shift_effective, new.whole_nodes) == (1, 2, True)
    _, trap = read("mdtest-4.1-shift-trap.txt")
    assert (trap.shift_requested, trap.shift_effective, trap.whole_nodes) == (2, 4, False)


def test_a_version_that_does_not_say_its_shift_leaves_it_open() -> None:
    _, seen = read("mdtest-1.8.4-two-nodes-shared-dir.txt")
    assert (seen.shift_requested, seen.shift_effective, seen.placement) == (2, None, None)


SHARED = {  # by version: the actual rates of creation, stat and removal, the last of which one of 4 processes performs
    "1.8.4-two-nodes-one-file": (None, None, None),  # its rates are those of the fastest process
    "3.3.0-two-nodes-one-file": (3817.140, 1328886.409, 610234.297 / 4),  # those of the slowest process are printed too
    "4.0.0-two-nodes-one-file": (4377.809, 1307846.314, 665783.180 / 4),
    "4.1-two-nodes-one-file": (3726.430, 718702.693, 249026.920 / 4),
}


@pytest.mark.parametrize("name", SHARED)
def test_what_was_performed_on_shared_files_follows_from_the_command_line(name: str) -> None:
    records = {record.operation: record for record in read(f"mdtest-{name}.txt")[0]}
    for (operation, count), rate in zip((("create", 1024), ("stat", 1024), ("remove", 256)), SHARED[name], strict=True):
        record = records[operation]
        assert (record.operations_done, record.files_true, record.true_value) == (count, 256, rate)
    assert records["tree_create"].operations_done is None


def one_iteration_case(layout: str, row: tuple[int, int, int, int], **changes: Any) -> Case:
    """Two nodes of one process: a row of creation, in thousandths."""
    numbers = plain_case().numbers | dict.fromkeys(plain_case().numbers, (2000, 2000, 2000, 0)) | {"File creation": row}
    return plain_case(layout, per_node=1, iterations=1, numbers=numbers, **changes)


def create_record(case: Case, *changes: tuple[str, str]) -> Record:
    text = case.text()
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    records, seen = parse(text, "stdout")
    assert not seen.errors
    return next(record for record in records if record.operation == "create")


BY_RANK = (46_750_641, 17_161_900, 31_956_271, 14_794_371)  # of two processes: maximum, minimum, mean, deviation


def test_before_version_4_the_rate_of_one_iteration_is_that_of_the_slowest_process_where_it_is_printed() -> None:
    for layout, changes in (("3.3", ()), ("1.9", ()), ("3.2", ()), ("1.8", (("-F ", "-F -B "),))):
        record = create_record(one_iteration_case(layout, BY_RANK), *changes)
        assert (record.value, record.true_value, record.of_fastest) == (46750.641, 17161.9, True)


def test_before_version_4_the_longest_time_gives_the_rate_of_one_iteration() -> None:
    """32 files, and a table of times whose row of creation says 2.7 s."""
    case = one_iteration_case("3.2", (20_000, 20_000, 20_000, 0), with_times=True)
    times = "SUMMARY time:", "20.000         20.000         20.000          0.000"
    text = case.text().replace("SUMMARY time (in ms/op):", "SUMMARY time:")
    before, heading, after = text.partition(times[0])
    after = after.replace(times[1], times[1].replace("20.000", " 2.700", 1), 1)
    record = next(record for record in parse(before + heading + after, "stdout")[0] if record.operation == "create")
    assert (record.value, record.of_fastest) == (20.0, True)
    assert record.true_value == pytest.approx(32 / 2.7)


def test_where_the_text_does_not_show_the_rate_of_all_processes_none_is_derived() -> None:
    rows = (20_000, 20_000, 20_000, 0)
    for layout in ("1.8", "1.9", "3.2"):
        record = create_record(one_iteration_case(layout, rows))
        assert (record.value, record.true_value, record.of_fastest) == (20.0, None, True)
    creation = create_record(plain_case("3.3"))  # the slowest process may be that of another iteration
    assert (creation.true_value, creation.of_fastest) == (None, True)


def test_since_version_4_and_of_one_process_the_rate_is_that_of_all() -> None:
    row = (20_000, 20_000, 20_000, 0)
    for layout in ("4.0", "4.1", "4.1 with ranks", "own"):
        assert not create_record(one_iteration_case(layout, row)).of_fastest
    assert not create_record(replace(one_iteration_case("1.8", row), nodes=1)).of_fastest
    trees = [
        record for record in parse(one_iteration_case("1.8", row).text(), "stdout")[0] if "tree" in record.operation
    ]
    assert len(trees) == 2 and not any(record.of_fastest for record in trees)


def test_a_phase_that_took_no_time_by_the_clock_gives_no_result_and_leaves_the_others_as_they_are() -> None:
    text = plain_case("3.3", iterations=1, numbers=plain_case().numbers | {"File stat": (2001, 2001, 2001, 0)}).text()
    pattern = re.compile("(File stat +: ).*")
    for row in ("inf          2.000            inf           -nan", "inf            inf            inf            nan"):
        records, seen = parse(pattern.sub(rf"\1 {row}", text), "stdout")
        assert "stat" not in rates(records)
        assert "shorter than the benchmark's clock can resolve" in texts_of(seen.warnings)[0]
        assert not [line for line in texts_of(seen.errors) if "stat" in line]


def test_on_files_that_are_not_shared_or_not_counted_nothing_is_derived() -> None:
    text = (DATA / "mdtest-4.1-two-nodes-one-file.txt").read_text()
    for change in (("'-S'", "'-u'"), ("'256'", "'2x'"), ("'-S'", "'-S' '-W' '9'"), ("'-S'", "'-S' '-I' '2'")):
        assert {record.operations_done for record in parse(text.replace(*change), "stdout")[0]} == {None}


def test_a_faked_topology_is_an_error() -> None:
    _, seen = read("mdtest-4.1-two-nodes-shift-trap.txt")
    assert all("faked" in line for line in texts_of(seen.errors))
    assert len(seen.errors) == 2


def test_operations_that_failed_are_counted_though_mdtest_calls_them_warnings() -> None:
    records, seen = read("mdtest-4.1-stat-of-absent-files.txt")
    assert rates(records) == {"stat": 127280.918}
    assert seen.failed_operations == 64
    assert seen.complete
    assert len(seen.errors) == 21
    assert texts_of(seen.errors)[-1] == "mdtest-4.1-stat-of-absent-files.txt: 44 more errors"


def test_a_run_that_was_aborted_has_no_records_and_is_not_complete() -> None:
    records, seen = read("mdtest-3.3.0-stat-of-absent-files.txt")
    assert records == []
    assert not seen.complete
    assert len(seen.errors) == 4
    assert "unable to stat file" in texts_of(seen.errors)[0]


def test_of_the_summaries_of_several_task_counts_that_of_all_tasks_is_read_and_said() -> None:
    records, seen = read("mdtest-4.1-task-counts.txt")
    assert {record.source.line for record in records} == {46, 47, 49, 50, 51}
    assert seen.files_reported == 256
    assert seen.errors == ()
    assert texts_of(seen.warnings) == (
        "mdtest-4.1-task-counts.txt:43: 4 summaries (line 10: 1 tasks, line 21: 2 tasks, line 32: 3 tasks, "
        "line 43: 4 tasks); the one in line 43 is used",
    )


def test_the_columns_of_single_ranks_are_not_taken_for_the_rate() -> None:
    assert rates(read("mdtest-4.1-rank-statistics.txt")[0])["create"] == 1031.440


def test_a_table_of_times_alone_gives_no_rates() -> None:
    records, seen = read("mdtest-4.1-time-only.txt")
    assert records == []
    assert texts_of(seen.errors) == ("mdtest-4.1-time-only.txt:11: only times (-Z), no rates",)


# --- texts made for the purpose


@dataclass(frozen=True)
class Layout:
    version: str
    nodes: str
    quote: str
    summary: str
    row: str  # label
    number: str = "{:14.3f}"
    nodemap: bool = True
    ranks: bool = False  # statistics of single ranks before those of the iterations


LAYOUTS = {
    "1.8": Layout("mdtest-1.8.4", "nodes", "", "SUMMARY:", "   {:18}: ", "{:10.3f}", nodemap=False),
    "1.8 with the unit": Layout(
        "mdtest-1.8.1", "nodes", "", "SUMMARY (in ops/sec):", "   {:18}: ", "{:10.3f}", nodemap=False
    ),
    "1.9": Layout("mdtest-1.9.3", "node(s)", "", "SUMMARY:", "   {:18}: ", nodemap=False),
    "3.2": Layout("mdtest-1.9.3", "node(s)", '"', "SUMMARY rate:", "   {:18}: ", nodemap=False),
    "3.3": Layout("mdtest-3.3.0", "node(s)", "'", "SUMMARY rate:", "   {:26}: "),
    "4.0": Layout("mdtest-4.0.0", "node(s)", "'", "SUMMARY rate:", "   {:22} "),
    "4.1": Layout("mdtest-4.1.0+dev", "node(s)", "'", "SUMMARY rate (in ops/sec):", "   {:22} "),
    "4.1 with ranks": Layout("mdtest-4.1.0+dev", "node(s)", "'", "SUMMARY rate (in ops/sec):", "   {:18} ", ranks=True),
    "own": Layout("mdtest (campaign bench 0.1.0)", "node(s)", "own", "SUMMARY rate (in ops/sec):", "   {:22}"),
}
ROWS = {"C": "File creation", "T": "File stat", "E": "File read", "r": "File removal"}


def quote_words(words: tuple[str, ...], quote: str) -> str:
    if quote == "own":
        return words[0] + "".join(" '" + word.replace("'", "'\\''") + "'" for word in words[1:])
    return words[0] + "".join(f" {quote}{word}{quote}" for word in words[1:])


@dataclass(frozen=True)
class Case:
    """An execution of `nodes` x `per_node` processes, and four numbers in thousandths for each row."""

    layout: str
    argv: tuple[str, ...]
    nodes: int
    per_node: int
    items: int
    iterations: int
    numbers: dict[str, tuple[int, int, int, int]]  # by label: maximum, minimum, mean, deviation
    with_times: bool = False

    @property
    def processes(self) -> int:
        return self.nodes * self.per_node

    def text(self) -> str:
        layout = LAYOUTS[self.layout]
        lines = [
            "-- started at 11/21/2026 02:00:05 --",
            "",
            f"{layout.version} was launched with {self.processes} total task(s) on {self.nodes} {layout.nodes}",
            f"Command line used: {quote_words(self.argv, layout.quote)}",
            *(["Nodemap: " + "1" * self.per_node + "0" * (self.processes - self.per_node)] if layout.nodemap else []),
            "Path                : /scratch/user",
            "FS                  : 23.5 GiB   Used FS: 0.0%   Inodes: 2.9 Mi   Used Inodes: 0.0%",
            *(
                [f"V-0: Rank   0 Line  2594 Shifting ranks by {self.per_node} for each phase."]
                if layout.nodemap
                else []
            ),
            f"{self.processes} tasks, {self.processes * self.items} files",
            "",
            *self.table(layout.summary),
            *(["", *self.table("SUMMARY time (in ms/op):")] if self.with_times else []),
            "-- finished at 11/21/2026 02:00:06 --",
            "",
        ]
        return "\n".join(lines)

    def table(self, title: str) -> list[str]:
        layout = LAYOUTS[self.layout]
        single = "per Rank: Max            Min           Mean      per Iteration: " if layout.ranks else ""
        lines = [
            f"{title} (of {self.iterations} iterations)",
            f"   Operation     {single}                Max            Min           Mean        Std Dev",
            "   ---------                     ---            ---           ----        -------",
        ]
        for label, numbers in self.numbers.items():
            columns = ((9, 5, 7) if layout.ranks else ()) + numbers
            cells = " ".join(layout.number.format(number / 1000) for number in columns)
            lines.append(layout.row.format(label) + cells)
        return lines


def plain_case(layout: str = "4.1", **changes: Any) -> Case:
    numbers = {
        label: (2000 + n, 1000 + n, 1500 + n, 500)
        for n, label in enumerate([*ROWS.values(), "Tree creation", "Tree removal"])
    }
    numbers["File read"] = (0, 0, 0, 0)
    argv = ("./mdtest", "-F", "-C", "-T", "-r", "-n", "16", "-d", "/scratch/user", "-N", "1")
    case = Case(layout, argv, nodes=2, per_node=2, items=16, iterations=2, numbers=numbers)
    return replace(case, **changes)


def number_lines(text: str, word: str) -> int:
    return 1 + next(n for n, line in enumerate(text.split("\n")) if word in line)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_plain_text_is_read_without_a_complaint(layout: str) -> None:
    text = plain_case(layout).text()
    records, seen = parse(text, "stdout")
    assert rates(records) == {"create": 2.0, "stat": 2.001, "remove": 2.003, "tree_create": 2.004, "tree_remove": 2.005}
    assert records[1].source.line == number_lines(text, "File stat")
    assert (texts_of(seen.errors), texts_of(seen.warnings), texts_of(seen.unparsed)) == ((), (), ())
    assert seen.complete


OF_1_8_1 = """\
-- started at 11/23/2009 09:05:29 --

mdtest-1.8.1 was launched with 2 total task(s) on 1 nodes
Command line used: ./mdtest -F -d /scratch/user -n 100 -i 2
Path: /scratch
FS: 28.8 GiB   Used FS: 8.6%   8.6%Inodes: 1.8 Mi   Used Inodes: 5.1%

time to create tree: 0.000078 sec
tree creation rate: 12826.617737 ops/sec

2 tasks, 200 files

SUMMARY (in ops/sec):
   Operation                  Max        Min       Mean    Std Dev
   ---------                  ---        ---       ----    -------
   File creation     :  42024.989  28731.061  35378.025   6646.964
   File stat         : 146756.613  17447.551  82102.082  64654.531
   File removal      : 156884.384  42024.989  99454.686  57429.698

time to remove tree: 0.001031 sec
tree removal rate: 970.005550 ops/sec

-- finished at 11/23/2009 09:05:29 --
"""


def test_the_heading_of_1_8_1_has_the_unit_and_no_iterations() -> None:
    """They are those of the command line. It has no rows of reading and of trees."""
    records, seen = parse(OF_1_8_1, "stdout")
    assert rates(records) == {"create": 42024.989, "stat": 146756.613, "remove": 156884.384}
    assert {record.iterations for record in records} == {2}
    assert (texts_of(seen.errors), texts_of(seen.unparsed), seen.complete) == ((), (), True)


def test_a_phase_that_was_not_asked_for_has_no_record_and_one_that_gave_nothing_has_a_zero() -> None:
    case = plain_case(numbers=plain_case().numbers | {"File stat": (0, 0, 0, 0)})
    assert rates(parse(case.text(), "stdout")[0]).get("stat") == 0
    assert "read" not in rates(parse(case.text(), "stdout")[0])


def test_without_a_command_line_a_zero_is_no_result_and_gives_a_warning() -> None:
    text = re.sub("Command line used.*\n", "", plain_case().text())
    records, seen = parse(text, "stdout")
    assert rates(records) == rates(parse(plain_case().text(), "stdout")[0])
    assert texts_of(seen.warnings) == (
        "stdout:10: no command line in the output: requested phases unknown; rows of 0 are not used",
    )


def test_windows_line_ends_change_nothing() -> None:
    text = plain_case().text()
    assert parse(text.replace("\n", "\r\n"), "stdout") == parse(text, "stdout")


def test_a_row_outside_of_a_summary_is_no_result() -> None:
    row = "   File creation             9999999.000    9999999.000    9999999.000          0.000\n"
    text = plain_case().text()
    for planted in (row + text, text + row, text.replace("4 tasks", row + "4 tasks")):
        records, seen = parse(planted, "stdout")
        assert rates(records)["create"] == 2.0
        assert any("9999999" in line for line in texts_of(seen.unparsed))


def test_a_row_in_the_path_is_no_result() -> None:
    path = "Path                : /scratch/user   File creation             9999999.000    9999999.000    9999999.000"
    records, seen = parse(plain_case().text().replace("Path                : /scratch/user", path), "stdout")
    assert rates(records)["create"] == 2.0
    assert seen.errors == ()


def test_a_planted_summary_makes_the_result_doubtful() -> None:
    planted = "\n".join(plain_case(numbers={"File creation": (9, 9, 9, 0)}).table("SUMMARY rate:"))
    records, seen = parse(plain_case().text().replace("Path ", planted + "\n\nPath "), "stdout")
    assert rates(records)["create"] == 2.0
    assert len(seen.errors) == 1
    assert "2 summaries" in texts_of(seen.errors)[0]


def test_a_row_that_stands_twice_counts_neither_time() -> None:
    text = plain_case().text()
    row = next(line for line in text.split("\n") if "File stat" in line)
    records, seen = parse(text.replace(row, row + "\n" + row.replace("2.001", "9.001")), "stdout")
    assert "stat" not in rates(records)
    assert len(seen.errors) == 1


def test_two_executions_in_one_output_are_an_error() -> None:
    _, seen = parse(plain_case().text() * 2, "stdout")
    assert texts_of(seen.errors)[0] == "stdout: 2 runs in one output; the last one is used"


def test_copies_that_did_not_find_each_other_are_named() -> None:
    _, seen = parse(plain_case(nodes=1, per_node=1).text() * 4, "stdout")
    assert "4 separate copies ran with 1 task each" in texts_of(seen.errors)[0]


def test_a_summary_of_fewer_tasks_than_were_launched_is_an_error() -> None:
    _, seen = parse(plain_case().text().replace("4 tasks, 64 files", "2 tasks, 32 files"), "stdout")
    assert texts_of(seen.errors) == ("stdout:11: summary of 2 tasks; expected 4",)


def test_a_rank_that_was_faster_than_the_clock_can_tell_takes_no_row_of_the_iterations_away() -> None:
    layout = next(name for name, layout in LAYOUTS.items() if layout.ranks)
    text = plain_case(layout).text()
    of_rank = re.search("File stat .*?(0.009)", text)
    assert of_rank
    fast = text[: of_rank.start(1)] + "  inf" + text[of_rank.end(1) :] + "Test Directory read inf,inf\n"
    records, seen = parse(fast, "stdout")
    assert rates(records) == rates(parse(text, "stdout")[0])
    assert (seen.errors, seen.unparsed) == ((), ())


def test_a_row_that_the_benchmark_marks_as_invalid_is_kept_with_an_error() -> None:
    text = re.sub("(File stat .*)", r"\1   INVALID", plain_case("own").text())
    records, seen = parse(text, "stdout")
    assert rates(records)["stat"] == 2.001
    assert len(seen.errors) == 1
    assert "invalid" in texts_of(seen.errors)[0]


def test_a_row_that_is_missing_leaves_the_others_as_they_are() -> None:
    """Whether the rules use that row is known to RUN-06 alone."""
    text = re.sub(".*File stat.*\n", "", plain_case().text())
    records, seen = parse(text, "stdout")
    assert texts_of(seen.warnings) == ("stdout:11: the summary lacks stat, requested on the command line",)
    assert not seen.errors
    assert rates(records).keys() == {"create", "remove", "tree_create", "tree_remove"}


@pytest.mark.parametrize(
    "cell",
    ["nan", "-nan", "inf", "-1.000", "1e9", "********", "2,001", "2.00", "2.0010", "2", "", "2.001 2.001", "2.001x",
     "1234567890123.000", "٢.001", "\0" + "2.001"],
)  # fmt: skip
def test_what_is_not_a_number_of_three_decimals_is_an_error_and_no_result(cell: str) -> None:
    text = re.sub(r"(File stat +)2\.001", lambda match: match[1] + cell, plain_case().text())
    records, seen = parse(text, "stdout")
    assert "stat" not in rates(records)
    assert len(seen.errors) == 1
    assert texts_of(seen.errors)[0].startswith(f"stdout:{number_lines(text, 'File stat')}: ")
    assert len(seen.unparsed) == 1


def test_a_mean_outside_of_its_bounds_is_an_error_and_no_result() -> None:
    case = plain_case(numbers=plain_case().numbers | {"File stat": (1000, 2000, 3000, 0)})
    records, seen = parse(case.text(), "stdout")
    assert "stat" not in rates(records)
    assert "cannot be those of 2 iterations" in texts_of(seen.errors)[0]


def test_a_row_broken_into_by_a_message_is_an_error_and_no_result() -> None:
    text = plain_case().text().replace("   File stat  ", "   File stWARNING: unable to stat file /scratch/x\nat  ")
    records, seen = parse(text, "stdout")
    assert "stat" not in rates(records)
    assert texts_of(seen.errors)[0].endswith("WARNING: unable to stat file /scratch/x")


def test_a_message_between_the_rows_is_kept_and_the_rows_after_it_are_read() -> None:
    message = "srun: error: n2: task 3: Bus error"
    text = re.sub("(.*File stat.*)", message + r"\n\1", plain_case().text())
    records, seen = parse(text, "stdout")
    assert rates(records)["stat"] == 2.001
    assert texts_of(seen.errors) == (f"stdout:{number_lines(text, 'srun')}: {message}",)


@pytest.mark.parametrize(
    ("message", "where"),
    [
        ("WARNING: unable to create file /scratch/a", "errors"),
        ("WARNING: Backend returned error during statfs", "warnings"),
        ("WARNING: Read bytes is 0, thus, a read test will actually just open/close", "warnings"),
        ('ERROR: open64("/scratch/a", 66, 0664) failed. Error: No space left, (aiori-POSIX.c:618)', "errors"),
        ("11/21/2026 03:53:34: Process 3(n2): FAILED in main, unable to chdir: No such file or directory", "errors"),
        ("MPI_ABORT was invoked on rank 0 in communicator MPI_COMM_WORLD", "errors"),
        ("slurmstepd: error: *** STEP 12.0 ON n1 CANCELLED AT 2026-11-21T02:00:00 DUE TO TIME LIMIT ***", "errors"),
        ("[n1:123] Signal: Bus error (7)", "errors"),
        ("V-1: Rank   3 LineWARNING: unable to stat file x", "errors"),
        ("Welcome to this cluster", "unparsed"),
        ("failures : 3", "errors"),
    ],
)
def test_a_message_is_kept_where_it_belongs(message: str, where: str) -> None:
    _, seen = parse(f"{message}\n{plain_case().text()}", "stdout")
    assert texts_of(getattr(seen, where)) == (f"stdout:1: {message}",)
    assert len(seen.errors) + len(seen.warnings) + len(seen.unparsed) == 1


def test_an_output_that_was_cut_off_is_not_complete() -> None:
    text = plain_case().text()
    for end in range(len(text)):
        records, seen = parse(text[:end], "stdout")
        assert seen.complete == (end >= text.index(" --\n", 50) + 3)
        true_rates = rates(parse(text, "stdout")[0])
        assert all(true_rates[operation] == value for operation, value in rates(records).items())


def test_what_is_no_output_of_mdtest_is_reported() -> None:
    for text in ("", "\n", "hello\n"):
        records, seen = parse(text, "stdout")
        assert records == []
        assert not seen.complete
        assert texts_of(seen.errors) == (
            "stdout: not mdtest output: line 'mdtest-… was launched with … total task(s)' missing",
        )


@pytest.mark.parametrize(
    ("nodemap", "nodes", "placement", "per_node"),
    [
        ("1111", 1, "block", 4),
        ("1100", 2, "block", 2),
        ("1010", 2, "cyclic", 2),
        ("1001", 2, "irregular", 2),
        ("1110", 2, "block", 0),
        ("1000", 4, "block", 1),
        ("1111", 2, None, None),
        ("1100", 1, None, None),
        ("110", 2, None, None),
    ],
)
def test_the_node_map_tells_the_placement_as_far_as_it_goes(
    nodemap: str, nodes: int, placement: str | None, per_node: int | None
) -> None:
    text = re.sub("Nodemap: .*", f"Nodemap: {nodemap}", plain_case().text()).replace("on 2 node", f"on {nodes} node")
    _, seen = parse(text, "stdout")
    assert (seen.placement, seen.processes_per_node) == (placement, per_node)
    assert len(seen.warnings) == (placement is None)


def test_a_command_line_that_was_cut_off_is_not_taken_for_the_whole() -> None:
    _, seen = parse(plain_case().text().replace(" '-N' '1'", " '-N"), "stdout")
    assert seen.argv == ()
    assert "command line truncated" in texts_of(seen.warnings)[0]


def test_very_long_lines_and_very_many_lines_stay_bounded() -> None:
    """Reading that is not linear in their length would run into the timeout of the test."""
    _, seen = parse("File creation " + "1 " * LONGEST_LINE + "\n" + plain_case().text(), "stdout")
    assert f"at most {LONGEST_LINE} are read" in texts_of(seen.errors)[0]
    _, seen = parse("WARNING: unable to stat file /scratch/user/a\n" * 100_000 + plain_case().text(), "stdout")
    assert (len(seen.errors), seen.failed_operations) == (21, 100_000)


# --- for all texts

_thousandths = st.integers(1, 10**15 - 1)
_word = st.text(
    st.characters(codec="utf-8", exclude_categories=["Cc", "Cs", "Z"], exclude_characters="'\""), min_size=1
)
_free = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]))


@st.composite
def cases(draw: st.DrawFn) -> Case:
    layout = draw(st.sampled_from(sorted(LAYOUTS)))
    quote = LAYOUTS[layout].quote
    directory = "/" + draw(_word if quote == "" else _free)
    if quote in ("'", '"'):
        # A quote beside a blank is one that was lost from between two words.
        directory = re.sub(f"{quote}(?= )|(?<= ){quote}", "", directory).rstrip(quote)
    phases = draw(st.sets(st.sampled_from(sorted(ROWS)), min_size=1))
    options = draw(st.permutations([("-F",), ("-d", directory), ("-N", "1"), *((f"-{phase}",) for phase in phases)]))
    numbers = {}
    iterations, is_population = draw(st.integers(1, 6)), draw(st.booleans())
    for label in [*ROWS.values(), "Tree creation", "Tree removal"]:
        rates = draw(st.lists(_thousandths, min_size=iterations, max_size=iterations))
        deviation = statistics.pstdev(rates) if is_population or iterations == 1 else statistics.stdev(rates)
        numbers[label] = (max(rates), min(rates), round(statistics.mean(rates)), round(deviation))
    for phase, label in ROWS.items():
        if phase not in phases:
            numbers[label] = (0, 0, 0, 0)
    for phase, label in (("C", "Tree creation"), ("r", "Tree removal")):
        if phase not in phases:
            numbers[label] = (0, 0, 0, 0)
    return Case(
        layout=layout,
        argv=("./mdtest", *(word for option in options for word in option)),
        nodes=draw(st.integers(1, 4)),
        per_node=draw(st.integers(1, 4)),
        items=draw(st.integers(1, 10**6)),
        iterations=iterations,
        numbers=numbers,
        with_times=draw(st.booleans()),
    )


@given(cases())
def test_whatever_is_printed_in_any_layout_is_read_back_exactly(case: Case) -> None:
    text = case.text()
    records, seen = parse(text, "stdout")
    spreads = {
        LABELS[label]: tuple(float(f"{number / 1000:.3f}") for number in numbers)
        for label, numbers in case.numbers.items()
        if numbers[0] or label in asked_rows(case.argv)
    }
    assert {r.operation: (r.value, r.minimum, r.mean, r.stddev) for r in records} == spreads
    assert {r.iterations for r in records} <= {case.iterations}
    assert (seen.errors, seen.warnings, seen.unparsed, seen.complete) == ((), (), (), True)
    assert (seen.argv, seen.shift_requested) == (case.argv, 1)
    assert (seen.processes, seen.nodes) == (case.processes, case.nodes)
    assert seen.files_reported == case.processes * case.items
    if LAYOUTS[case.layout].nodemap:
        assert (seen.placement, seen.processes_per_node) == ("block", case.per_node)
        assert seen.shift_effective == case.per_node
        assert seen.whole_nodes == (case.nodes > 1)


def test_a_phase_of_the_command_line_whose_row_is_zero_leaves_the_others_as_they_are() -> None:
    """As mdtest on DAOS prints a row of 0. A rate of 0 that the rules use is one for RUN-06."""
    text = (DATA / "mdtest-4.1-two-nodes-unique-dirs.txt").read_text()
    assert not parse(text, "stdout")[1].warnings
    damaged = text.replace("'-r'", "'-E'")
    assert damaged != text
    records, seen = parse(damaged, "stdout")
    assert texts_of(seen.warnings)[0].endswith("requests phases whose rows are 0: read")
    assert not seen.errors
    assert {**rates(parse(text, "stdout")[0]), "read": 0.0} == rates(records)


def asked_rows(argv: tuple[str, ...]) -> set[str]:
    rows = {label for letter, label in ROWS.items() if f"-{letter}" in argv}
    return rows | {f"Tree {row.split()[1]}" for row in rows if row in ("File creation", "File removal")}


def assert_every_record_stands_in_its_line(text: str) -> None:
    records, seen = parse(text, "stdout")
    lines = text.split("\n")
    labels = {operation: label for label, operation in LABELS.items()}
    assert len({record.operation for record in records}) == len(records)
    for record in records:
        line = lines[record.source.line - 1]
        assert line.lstrip().startswith(labels[record.operation])
        numbers = [record.value, record.minimum, record.mean, record.stddev]
        # Damage that joins two columns may put zeros before a number, which change nothing.
        bare = re.sub(r"(?<![0-9.])0+(?=[0-9])", "", re.sub(" +INVALID", "", line))
        assert bare.split()[-4:] == [f"{number:.3f}" for number in numbers]
    for message in (*texts_of(seen.errors), *texts_of(seen.warnings), *texts_of(seen.unparsed)):
        assert message.startswith("stdout:")
        assert len(message) < 600
        assert message.isprintable()


_garbage = st.one_of(
    st.text(max_size=30),
    st.sampled_from(
        ["\n", "\r", "\0", "SUMMARY rate:", "SUMMARY: (of 1 iterations)\n", "File creation", "nan", " 1.000", "*", "-",
         "WARNING: ", "4 tasks, 64 files\n", "mdtest-1.9.3 was launched with 1 total task(s) on 1 node(s)\n", "'",
         "   Operation     Max Min Mean Std Dev\n", "   ---------  ---\n", "Nodemap: 1", "Command line used: x",
         "   File stat : 1.000 1.000 1.000 0.000\n", "-- finished at x --\n", "INVALID"]
    ),
)  # fmt: skip


@given(cases(), st.lists(st.tuples(st.floats(0, 1), st.integers(0, 60), _garbage), min_size=1, max_size=8))
def test_a_text_with_random_damage_never_gives_a_number_that_is_not_in_its_line(
    case: Case, damage: list[tuple[float, int, str]]
) -> None:
    text = case.text()
    for where, length, garbage in damage:
        start = int(where * len(text))
        text = text[:start] + garbage + text[start + length :]
    assert_every_record_stands_in_its_line(text)


@given(cases(), st.randoms(use_true_random=False))
def test_a_text_with_its_lines_in_disorder_never_gives_a_number_that_is_not_in_its_line(
    case: Case, random: Random
) -> None:
    lines = case.text().split("\n")
    random.shuffle(lines)
    assert_every_record_stands_in_its_line("\n".join(lines))


@given(st.lists(_garbage).map("".join))
@example("Command line used: " + "'" * 1000)
@example("Nodemap: ")
def test_garbage_is_read_without_harm(text: str) -> None:
    assert_every_record_stands_in_its_line(text)


@given(st.binary())
def test_bytes_that_are_no_text_are_read_without_harm(content: bytes) -> None:
    assert_every_record_stands_in_its_line(content.decode("utf-8", errors="replace"))
