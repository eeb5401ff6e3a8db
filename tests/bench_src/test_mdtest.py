"""The mdtest applet, driven as its users drive it."""

from __future__ import annotations

import csv
import hashlib
import json
import os
import re
import shutil
import socket
import statistics
import struct
from pathlib import Path
from typing import Any

import pytest

from campaign import __version__
from campaign.results.parsers import bench_jsonl
from tests.support.bench_binary import AT_ONCE, Reply, build, launch, run_group, shell_words
from tests.support.bench_faults import fault_environment, launch_and_lose_a_rank, sanitizer_messages, sanitizer_options

pytestmark = [pytest.mark.mpi, pytest.mark.timeout(900)]

CROSSROADS = ("mdtest", "-F", "-C", "-T", "-r")


def mask(text: str, directory: object) -> str:
    """Numbers that differ from run to run become # of the same width, the place becomes DIR."""
    text = text.replace(str(build()), "BUILD").replace(str(directory), "DIR")
    text = re.sub(r"\d\d/\d\d/\d{4} \d\d:\d\d:\d\d", "STAMP", text)
    text = text.replace(f"campaign bench {__version__}", "campaign bench VERSION")
    text = re.sub(r"(?<=FS                  : )\d+\.\d [KMGTPE]iB", "# GiB", text)
    text = re.sub(r"(?<=Used FS: )\d+\.\d|(?<=Used Inodes: )\d+\.\d|(?<=   Inodes: )\d+\.\d", "#", text)
    return re.sub(r" *\d+\.\d{3}(?= |$)", lambda match: "#".rjust(len(match[0])), text, flags=re.MULTILINE)


def names_below(directory: Path) -> list[str]:
    return sorted(str(path.relative_to(directory)) for path in directory.rglob("*"))


# --- the text

SHARED_DIRECTORY = """\
-- started at STAMP --

mdtest (campaign bench VERSION) was launched with 4 total task(s) on 2 node(s)
Command line used: BUILD/mdtest '-F' '-C' '-T' '-r' '-n' '16' '-d' 'DIR' '-N' '2'
Nodemap: 1100
Path                : DIR
FS                  : # GiB   Used FS: #%   Inodes: # Mi   Used Inodes: #%
Shifting ranks by 2 for each phase.
4 tasks, 64 files

SUMMARY rate (in ops/sec): (of 1 iterations)
   Operation                     Max            Min           Mean        Std Dev
   ---------                     ---            ---           ----        -------
   File creation                       #              #              #              #
   File stat                           #              #              #              #
   File read                           #              #              #              #
   File removal                        #              #              #              #
   Tree creation                       #              #              #              #
   Tree removal                        #              #              #              #
-- finished at STAMP --

"""

ONE_FILE = """\

Shared files (-S): what was really performed (of 1 iterations)
   Operation                  Counted      Performed   Max true ops/sec
   ---------                  -------      ---------   ----------------
   create file                        64             64                  #
   stat   file                        64             64                  #
   remove file                        64             16                  #
   create tree                         1              1                  #
   remove tree                         1              1                  #
-- finished at STAMP --
"""

BOTH_KINDS = """\
4 tasks, 64 files/directories

SUMMARY rate (in ops/sec): (of 2 iterations)
   Operation                     Max            Min           Mean        Std Dev
   ---------                     ---            ---           ----        -------
   Directory creation                  #              #              #              #
   Directory stat                      #              #              #              #
   Directory removal                   #              #              #              #
   File creation                       #              #              #              #
   File stat                           #              #              #              #
   File read                           #              #              #              #
   File removal                        #              #              #              #
   Tree creation                       #              #              #              #
   Tree removal                        #              #              #              #

SUMMARY time (in ms/op): (of 2 iterations)
   Operation                     Max            Min           Mean        Std Dev
   ---------                     ---            ---           ----        -------
   Directory creation                  #              #              #              #
   Directory stat                      #              #              #              #
   Directory removal                   #              #              #              #
   File creation                       #              #              #              #
   File stat                           #              #              #              #
   File read                           #              #              #              #
   File removal                        #              #              #              #
   Tree creation                       #              #              #              #
   Tree removal                        #              #              #              #
Note: as with mdtest 4.1, these are seconds of a whole phase, whatever its title says.
-- finished at STAMP --

"""


def test_the_text_has_the_layout_of_mdtest_4(tmp_path: Path) -> None:
    reply = launch(tmp_path, *CROSSROADS, "-n", 16, "-d", tmp_path, "-N", 2, ranks=4, node_of_rank="R/2")
    assert (reply.status, reply.errors) == (0, [])
    assert mask(reply.out, tmp_path) == SHARED_DIRECTORY


def test_unique_directories_print_the_same(tmp_path: Path) -> None:
    reply = launch(tmp_path, *CROSSROADS, "-n", 16, "-d", tmp_path, "-N", 2, "-u", ranks=4, node_of_rank="R/2")
    assert mask(reply.out, tmp_path) == SHARED_DIRECTORY.replace("'-N' '2'", "'-N' '2' '-u'")


def test_without_a_number_of_items_only_the_tree_is_made_as_mdtest_does(tmp_path: Path) -> None:
    reply = launch(tmp_path, "mdtest", "-a", "POSIX", "-V=2", "-d", tmp_path)
    assert reply.status == 0
    assert "rank -1" not in reply.out
    rates = re.findall(r"^   (File|Tree) creation +([0-9.]+)", reply.out, re.MULTILINE)
    assert [(kind, float(rate) > 0) for kind, rate in rates] == [("File", False), ("Tree", True)]
    assert names_below(tmp_path) == ["bench.jsonl"]


def test_shared_files_print_what_was_really_performed_too(tmp_path: Path) -> None:
    reply = launch(tmp_path, *CROSSROADS, "-n", 16, "-d", tmp_path, "-N", 2, "-S", ranks=4, node_of_rank="R/2")
    note = "Shared files (-S): 16 files are made; mdtest counts each once for every task.\n"
    expected = SHARED_DIRECTORY.replace("'-N' '2'", "'-N' '2' '-S'").replace("64 files\n", f"64 files\n{note}")
    assert mask(reply.out, tmp_path) == expected.replace("-- finished at STAMP --\n", ONE_FILE)


@pytest.mark.parametrize("option", ["-S", "--latency"])
def test_a_script_that_looks_for_mdtests_rows_finds_each_once(tmp_path: Path, option: str) -> None:
    """IO500's scripts take the line that begins with the operation, as `awk '/^ *File creation/ {print $3}'` does."""
    reply = launch(tmp_path, *CROSSROADS, "-n", 4, "-d", tmp_path, "-N", 1, option, ranks=2)
    for row in ("File creation", "File stat", "File removal", "Tree creation", "Tree removal"):
        assert sum(row in line for line in reply.out.splitlines()) == 1


def test_rates_and_times_of_files_and_directories(tmp_path: Path) -> None:
    reply = launch(tmp_path, "mdtest", "-n", 16, "-d", tmp_path, "-i", 2, "-P", ranks=4)
    assert mask(reply.out, tmp_path).endswith(BOTH_KINDS)


def test_z_prints_times_instead_of_rates(tmp_path: Path) -> None:
    reply = launch(tmp_path, "mdtest", "-n", 16, "-d", tmp_path, "-Z", "-U", "-F", "-k")
    assert re.findall(r"^SUMMARY .*", reply.out, re.MULTILINE) == ["SUMMARY time (in ms/op): (of 1 iterations)"]
    created = re.search(r"^   File creation +([0-9.]+)", reply.out, re.MULTILINE)
    (phase,) = (phase for phase in reply.lines_of("phase", object="file") if phase["operation"] == "create")
    assert created is not None and float(created[1]) == pytest.approx(phase["elapsed_s"], abs=5.01e-4)
    refused = launch(tmp_path, "mdtest", "-n", 16, "-d", tmp_path, "-U", "-F", "--warningAsErrors")
    message = "-U has no effect: it renames directories, of which -F makes none"
    assert (refused.status, refused.errors) == (2, [f"mdtest: {message} (an error by --warningAsErrors)"])
    assert [line["message"] for line in reply.lines_of("warning")] == [message]


def test_v_prints_each_iteration_and_vv_the_spread(tmp_path: Path) -> None:
    reply = launch(tmp_path, *CROSSROADS, "-n", 16, "-d", tmp_path, "-i", 2, "-v", "-v", ranks=2)
    assert re.findall(r"^iteration (\d): (File \w+)", reply.out, re.MULTILINE) == [
        (iteration, name) for iteration in "01" for name in ("File creation", "File stat", "File removal")
    ]
    spread = r"^   ranks: fastest [\d.]+, median [\d.]+, slowest [\d.]+ ops/sec \(rank [01] on \S+\)$"
    assert len(re.findall(spread, reply.out, re.MULTILINE)) == 10
    assert launch(tmp_path, *CROSSROADS, "-n", 16, "-d", tmp_path, "-V2").out.count("ranks: fastest") == 5


def test_arguments_are_quoted_in_the_text_so_that_a_shell_reads_them_back(tmp_path: Path) -> None:
    place = tmp_path / "it's $HOME"
    reply = launch(tmp_path, *CROSSROADS, "-n", 1, "-d", place)
    line = next(line for line in reply.out.splitlines() if line.startswith("Command line used: "))
    assert line.endswith("'-d' '" + str(place).replace("'", "'\\''") + "'")
    assert reply.line_of("start")["argv"][-1] == str(place)


# --- the JSON lines


@pytest.fixture(scope="session")
def crossroads(tmp_path_factory: pytest.TempPathFactory) -> Reply:
    """Eight ranks on four pretended nodes, once in each process, which shares the tests of this file with others."""
    place = tmp_path_factory.mktemp("crossroads")
    reply = launch(place, *CROSSROADS, "-n", 50, "-d", place, "-N", 2, ranks=8, node_of_rank="R/2")
    assert (reply.status, reply.errors) == (0, [])
    return reply


def test_the_lines_come_in_their_order(crossroads: Reply) -> None:
    kinds = [(line["type"], line.get("operation")) for line in crossroads.lines]
    operations = ["tree_create", "create", "stat", "remove", "tree_remove"]
    results = ["create", "stat", "remove", "tree_create", "tree_remove"]
    assert kinds == [
        ("start", None),
        ("attestation", None),
        ("shift", None),
        *(("phase", operation) for operation in operations),
        *(("result", operation) for operation in results),
        ("end", None),
    ]


def nodes_and_ranks(start: dict[str, Any]) -> list[tuple[str, str]]:
    return [(node["node"], node["ranks"]) for node in start["rank_to_node"]]


def test_start_says_what_ran_where(crossroads: Reply) -> None:
    start = crossroads.line_of("start")
    assert start["format"] == 1
    assert (start["program"], start["applet"]) == ("bench", "mdtest")
    assert start["argv"][1:7] == ["-F", "-C", "-T", "-r", "-n", "50"]
    assert start["binary_sha256"] == hashlib.sha256((build() / "bench").read_bytes()).hexdigest()
    assert start["binary_agreed"] is True
    assert "-std=c11" in start["compiler_flags"] and start["compiler"] and start["mpi"]
    assert (start["processes"], start["nodes"], start["processes_per_node"]) == (8, 4, 2)
    assert start["placement"] == "block"
    ranks = ["0-1", "2-3", "4-5", "6-7"]
    assert nodes_and_ranks(start) == [(f"n{i}", text) for i, text in enumerate(ranks)]
    assert (start["job_id"], start["step_id"]) == (None, None)


def test_the_version_is_that_of_the_package(crossroads: Reply) -> None:
    assert crossroads.line_of("start")["version"] == __version__


def test_text_and_json_have_the_same_digits(crossroads: Reply) -> None:
    rows = {"create": "File creation", "stat": "File stat", "remove": "File removal", "tree_create": "Tree creation"}
    raw = {line["operation"]: line["max"] for line in crossroads.lines_of("result")}
    for operation, row in rows.items():
        (rate,) = re.findall(rf"^   {row} +(\S+)", crossroads.out, re.MULTILINE)
        assert rate == f"{raw[operation]:.3f}"
        assert crossroads.line_of("phase", operation=operation)["rate_ops_s"] == raw[operation]


def test_a_rate_is_the_counted_operations_over_the_slowest_ranks_time(crossroads: Reply) -> None:
    for phase in crossroads.lines_of("phase", object="file"):
        assert (phase["operations_counted"], phase["operations_done"], phase["failed"]) == (400, 400, 0)
        assert (phase["files_counted"], phase["files_true"]) == (400, 400)
        assert phase["rate_ops_s"] == pytest.approx(400 / phase["elapsed_s"], rel=1e-4)
        assert phase["true_rate_ops_s"] == phase["rate_ops_s"]


def test_the_spread_over_ranks_is_ordered_and_names_the_slowest(crossroads: Reply) -> None:
    for phase in crossroads.lines_of("phase", object="file"):
        spread = phase["rank_rate_ops_s"]
        assert 0 < spread["slowest"] <= spread["median"] <= spread["fastest"]
        assert phase["slowest_node"] == f"n{phase['slowest_rank'] // 2}"
        # A rank's own time leaves out the closing barrier, so all ranks together are at least as fast as the phase.
        assert 8 * spread["fastest"] >= phase["rate_ops_s"]
        assert phase["elapsed_s"] >= 50 / spread["slowest"] * 0.999


def test_the_benchmark_says_how_exact_its_times_are(crossroads: Reply) -> None:
    assert 1e-9 <= crossroads.line_of("start")["clock_step_s"] < 1
    for phase in crossroads.lines_of("phase"):
        assert 0 < phase["start_skew_s"] <= phase["elapsed_s"]


def test_without_barriers_the_start_skew_is_not_known_and_one_process_has_none(tmp_path: Path) -> None:
    free = launch(tmp_path, *CROSSROADS, "-n", 16, "-d", tmp_path, "-B", ranks=2)
    assert {phase["start_skew_s"] for phase in free.lines_of("phase")} == {None}
    alone = launch(tmp_path, *CROSSROADS, "-n", 16, "-d", tmp_path)
    assert {phase["start_skew_s"] for phase in alone.lines_of("phase")} == {0}


def test_the_driver_reads_the_lines_without_a_complaint(crossroads: Reply) -> None:
    text = "".join(json.dumps(line) + "\n" for line in crossroads.lines)
    records, seen = bench_jsonl.parse(text, "bench.jsonl")
    assert {record.operation for record in records} >= {"create", "stat", "remove"}
    assert not seen.errors


def test_the_end_says_that_all_went_well(crossroads: Reply) -> None:
    end = crossroads.line_of("end")
    assert (end["status"], end["failed_operations"], end["exit_status"]) == ("ok", 0, 0)
    assert end["unix_time"] >= crossroads.line_of("start")["unix_time"]


def test_json_file_option_wins_over_the_environment(tmp_path: Path) -> None:
    launch(tmp_path, *CROSSROADS, "-n", 1, "-d", tmp_path, "--json", tmp_path / "own.jsonl")
    assert (tmp_path / "own.jsonl").read_text().count("\n") == 14
    assert not (tmp_path / "bench.jsonl").exists()


def test_bytes_that_are_not_utf8_do_not_break_the_json(tmp_path: Path) -> None:
    place = os.fsdecode(os.fsencode(tmp_path) + b'/\xff"\\\n\x01\xc3\xa9')
    reply = launch(tmp_path, *CROSSROADS, "-n", 1, "-d", place)
    assert reply.status == 0
    assert reply.line_of("start")["argv"][-1] == f'{tmp_path}/\N{REPLACEMENT CHARACTER}"\\\n\x01é'


# --- shared files


def test_shared_files_are_counted_as_mdtest_counts_and_as_they_are(tmp_path: Path) -> None:
    reply = launch(tmp_path, *CROSSROADS, "-n", 50, "-d", tmp_path, "-N", 2, "-S", ranks=4)
    for operation, count in (("create", 200), ("stat", 200), ("remove", 50)):
        phase = reply.line_of("phase", operation=operation)
        assert (phase["operations_counted"], phase["operations_done"]) == (200, count)
        assert (phase["files_counted"], phase["files_true"]) == (200, 50)
        assert phase["rate_ops_s"] == pytest.approx(200 / phase["elapsed_s"], rel=1e-4)
        assert phase["true_rate_ops_s"] == pytest.approx(count / phase["elapsed_s"], rel=1e-4)
    assert reply.line_of("phase", operation="remove")["slowest_rank"] == 0


def test_shared_files_are_the_same_few_for_all(tmp_path: Path) -> None:
    launch(tmp_path, "mdtest", "-F", "-C", "-n", 3, "-d", tmp_path / "d", "-S", ranks=4)
    files = [name for name in names_below(tmp_path / "d") if "file" in name]
    assert files == [f"test-dir.0-0/mdtest_tree.0/file.mdtest.shared.{i}" for i in range(3)]


# --- where the phases run


@pytest.mark.parametrize(
    ("nodes", "stat", "remove"),
    [(1, 0.0, 0.0), (2, 1.0, 1.0), (3, 1.0, 0.0), (4, 1.0, 1.0), (5, 1.0, 1.0)],
)
def test_a_shift_of_one_node_moves_the_phases_over_the_nodes(
    tmp_path: Path, nodes: int, stat: float, remove: float
) -> None:
    reply = launch(tmp_path, *CROSSROADS, "-n", 8, "-d", tmp_path, "-N", 2, ranks=2 * nodes, node_of_rank="R/2")
    shares = {phase["operation"]: phase["remote_share"] for phase in reply.lines_of("phase", object="file")}
    assert shares == {"create": 0.0, "stat": stat, "remove": remove}
    shifts = {phase["operation"]: phase["rank_shift"] for phase in reply.lines_of("phase", object="file")}
    assert shifts == {"create": 0, "stat": 2 % (2 * nodes), "remove": 6 % (2 * nodes)}
    shift = reply.line_of("shift")
    assert (shift["requested"], shift["effective"], shift["ranks_per_node"]) == (2, 2 % (2 * nodes), 2)
    assert shift["whole_nodes"] is (nodes > 1)


@pytest.mark.parametrize(
    ("node_of_rank", "offset", "share", "placement", "per_node"),
    [
        ("R/2", 1, 0.5, "block", 2),
        ("R/2", 4, 0.0, "block", 2),  # a multiple of all ranks: everything is local again
        ("R%2", 2, 0.0, "cyclic", 2),
        ("R%2", 1, 1.0, "cyclic", 2),
        ("R==1||R==2", 1, 0.5, "irregular", 2),
        ("R/3", 1, 0.5, "block", 0),
    ],
)
def test_the_remote_share_is_that_of_the_real_placement(
    tmp_path: Path, node_of_rank: str, offset: int, share: float, placement: str, per_node: int
) -> None:
    reply = launch(tmp_path, *CROSSROADS, "-n", 4, "-d", tmp_path, "-N", offset, ranks=4, node_of_rank=node_of_rank)
    start = reply.line_of("start")
    assert (start["placement"], start["processes_per_node"]) == (placement, per_node)
    assert reply.line_of("phase", operation="stat")["remote_share"] == share
    assert reply.line_of("shift")["whole_nodes"] is (share == 1.0)
    assert reply.line_of("shift")["processes_moved"] == 4 * share
    note = f"Note: -N {offset} moves the work of only {4 * share:.0f} of 4 tasks to another node.\n"
    assert (note in reply.out, "Note:" in reply.out) == (share < 1, share < 1)


def test_the_text_says_that_an_offset_on_one_node_moves_nothing(tmp_path: Path) -> None:
    reply = launch(tmp_path, *CROSSROADS, "-n", 4, "-d", tmp_path, "-N", 2, ranks=2)
    assert "\nNote: all tasks are on one node: -N 2 moves no task's work to another node.\n" in reply.out
    assert "Note:" not in launch(tmp_path, *CROSSROADS, "-n", 4, "-d", tmp_path, ranks=2).out


@pytest.mark.parametrize("options", [["-S"], ["-T"]])
def test_a_remote_share_that_cannot_be_known_is_null(tmp_path: Path, options: list[str]) -> None:
    launch(tmp_path, "mdtest", "-F", "-C", "-n", 4, "-d", tmp_path, ranks=2, node_of_rank="R")
    phases = ["-T", "-r"] if options == ["-T"] else ["-C", "-T", "-r", "-S", "-d", tmp_path / "s"]
    reply = launch(tmp_path, "mdtest", "-F", "-n", 4, "-d", tmp_path, *phases, "-N", 1, ranks=2, node_of_rank="R")
    assert reply.status == 0
    assert reply.line_of("phase", operation="stat")["remote_share"] is None


def test_ranges_of_ranks_are_listed_for_every_placement(tmp_path: Path) -> None:
    command = (*CROSSROADS, "-n", 1, "-d", tmp_path)
    cyclic = launch(tmp_path, *command, ranks=5, node_of_rank="R%2").line_of("start")
    assert nodes_and_ranks(cyclic) == [("n0", "0,2,4"), ("n1", "1,3")]
    irregular = launch(tmp_path, *command, ranks=6, node_of_rank="R==2||R==3").line_of("start")
    assert nodes_and_ranks(irregular) == [("n0", "0-1,4-5"), ("n1", "2-3")]


# --- the expected geometry


@pytest.mark.parametrize(
    ("node_of_rank", "expected", "message"),
    [
        ("R/2", {"BENCH_EXPECT_NODES": "4"}, "ranks are on 2 nodes, BENCH_EXPECT_NODES asks for 4"),
        ("R/2", {"BENCH_EXPECT_PPN": "4"}, "nodes have 2 ranks each, BENCH_EXPECT_PPN asks for 4"),
        (
            "R/3",
            {"BENCH_EXPECT_PPN": "2"},
            "nodes have different numbers of ranks, BENCH_EXPECT_PPN asks for 2 on each",
        ),
        (
            "R%2",
            {"BENCH_EXPECT_NODES": "2", "BENCH_EXPECT_PPN": "2"},
            "ranks are placed cyclic over the nodes, block placement (consecutive ranks share a node) is expected",
        ),
    ],
)
def test_another_geometry_than_the_expected_one_is_not_measured(
    tmp_path: Path, node_of_rank: str, expected: dict[str, str], message: str
) -> None:
    command = (*CROSSROADS, "-n", 4, "-d", tmp_path / "d")
    reply = launch(tmp_path, *command, ranks=4, node_of_rank=node_of_rank, env=expected | AT_ONCE)
    assert reply.status == 4
    assert reply.errors == [f"mdtest: {message}"]
    assert [line["type"] for line in reply.lines] == ["start", "attestation", "error", "end"]
    assert reply.line_of("error")["message"] == message
    assert (reply.line_of("end")["status"], reply.line_of("end")["exit_status"]) == ("failed", 4)
    assert not (tmp_path / "d").exists()


def test_the_expected_geometry_is_measured(tmp_path: Path) -> None:
    expected = {"BENCH_EXPECT_NODES": "2", "BENCH_EXPECT_PPN": "2"}
    reply = launch(tmp_path, *CROSSROADS, "-n", 4, "-d", tmp_path, ranks=4, node_of_rank="R/2", env=expected)
    assert (reply.status, len(reply.lines_of("result"))) == (0, 5)


def test_between_the_phases_a_command_runs_once_and_its_failure_is_a_warning(tmp_path: Path) -> None:
    command = f'echo "$1" >>{tmp_path}/ended; [ "$1" != stat ]'
    arguments = (*CROSSROADS, "-n", 4, "-d", tmp_path / "d", "-i", 2)
    reply = launch(tmp_path, *arguments, ranks=2, env={"BENCH_BETWEEN_PHASES": command})
    assert reply.status == 0
    assert (tmp_path / "ended").read_text().split() == 2 * ["begin", "create", "stat", "remove"]
    assert [warning["message"] for warning in reply.lines_of("warning")] == 2 * [
        "BENCH_BETWEEN_PHASES, run after 'stat', ended with status 1"
    ]


def test_an_expectation_that_is_no_number_is_refused(tmp_path: Path) -> None:
    reply = launch(tmp_path, *CROSSROADS, "-n", 4, "-d", tmp_path, ranks=2, env={"BENCH_EXPECT_NODES": "two"})
    assert reply.status == 2
    assert reply.errors == ["mdtest: environment variable BENCH_EXPECT_NODES: 'two' is not a whole number above 0"]


# --- wrong command lines

NUMBERS = "--saveRankPerformanceDetails FILE has the numbers of all processes"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("-F -Q", "unknown option '-Q' (mdtest -h lists the options)"),
        ("-FCQr -n 4", "unknown option '-Q' in '-FCQr' (mdtest -h lists the options)"),
        ("--latencies", "unknown option '--latencies' (mdtest -h lists the options)"),
        ("--latency=3 -n 4", "option --latency: '3' is not a number from 0 to 1 (mdtest -h lists the options)"),
        ("-n 4 --print-all-procs", f"option --print-all-procs is not offered: {NUMBERS} (mdtest -h lists the options)"),
        ("-n 4 -Fk -w 8", "-k makes files without opening them: leave out -w"),
        ("-n 4 -R2 --random-seed=3", "-R2 and --random-seed give the seed twice"),
        ("-n 4 -a HDFS", "option -a: 'HDFS' is not POSIX or DUMMY"),
        ("-n", "option -n needs a value (COUNT) (mdtest -h lists the options)"),
        ("-n -1", "option -n: '-1' is too small: at least 0 is allowed (mdtest -h lists the options)"),
        (
            "-n 1 --posix.odirect -w 100",
            "--posix.odirect needs -w and -e in multiples of 512 bytes, or of what the storage wants",
        ),
        (
            "-n 1 --dataPacketType x",
            "--dataPacketType 'x' is not one of unique (u, also i and r), timestamp (t), offset (o)",
        ),
        (
            "-n 16q",
            "option -n: '16q' is not a whole number, with k, m, g, t, p or e for powers of 1024"
            " (mdtest -h lists the options)",
        ),
        ("-n 9e", "option -n: '9e' is beyond 64 bits (mdtest -h lists the options)"),
        ("-N -1 -n 4", "option -N: '-1' is out of range: 0 to 2147483647 is allowed (mdtest -h lists the options)"),
        ("-N 4k -n 4", "option -N: '4k' is not a whole number (mdtest -h lists the options)"),
        ("-Rx -n 4", "option -R: 'x' is not a whole number (mdtest -h lists the options)"),
        ("-d= -n 4", "option -d: its value (DIR[@DIR…]) is empty (mdtest -h lists the options)"),
        (
            "-n 4 16384",
            "unexpected argument '16384': every argument is an option or its value (mdtest -h lists the options)",
        ),
        ("-n 4 -I 4 -u", "-n and -I exclude each other with -u: with -I the number of items follows from the tree"),
        ("-n 4 -I 3", "-n 4 is not a multiple of -I 3"),
        ("-n 4 -F -D", "-F and -D exclude each other: leave both out for files and directories"),
        ("-n 4 -S", "-S shares files, not directories: add -F"),
        ("-n 4 -F -S -u", "-S and -u exclude each other: the same files for all, or a directory for each"),
        ("-n 4 -F -S -c", "-S and -c exclude each other: with -S all processes create"),
        ("-n 4 -F -S -d a@b", "-S needs one directory, -d names 2"),
        ("-n 4 -d a@@b", "-d 'a@@b' holds an empty directory name"),
        ("-n 4 -X", "-X verifies what is read: add -e BYTES"),
        ("-n 4 -w 10 -e 11", "-e 11 reads more than -w 10 writes"),
        ("-n 4 -D -W 1", "-W stops file creation: it needs -C and files"),
        ("-n 4 -F -W 1 -B", "-W and -B exclude each other"),
        ("-n 4 -f 2 -l 1", "-f 2 is more than -l 1"),
        ("-n 4 -l 3", "-f or -l asks for more tasks than the 2 that were started"),
        (
            "-n 10 -b 2 -z 1",
            "-n 10 does not divide by the 3 directories of the tree: only 9 items per process would be made;"
            " use -n 9 or -n 12",
        ),
        ("-n 4e -F", "4611686018427387904 items on each of 2 processes are beyond 64 bits"),
    ],
)
def test_a_wrong_command_line_gives_one_clear_message_and_makes_nothing(
    tmp_path: Path, arguments: str, message: str
) -> None:
    reply = launch(tmp_path, "mdtest", *arguments.split(), ranks=2, env=AT_ONCE)
    assert reply.status == 2
    assert reply.errors == [f"mdtest: {message}"]
    assert reply.out == ""
    assert names_below(tmp_path) == []


def test_ranks_with_different_command_lines_stop_instead_of_waiting_for_each_other(tmp_path: Path) -> None:
    program = ("bash", "-c", f"exec {build()}/mdtest -F -n $((1 + OMPI_COMM_WORLD_RANK))")
    status, _, err = run_group(["mpirun", "--oversubscribe", "-np", "2", *program], tmp_path, {})
    assert status == 2
    assert "mdtest: ranks were started with different command lines: give all of them the same\n" in err


def test_the_root_directory_and_the_home_directory_are_refused(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (tmp_path / "link").symlink_to(home)
    for place in ("/", "//", "/.", home, tmp_path / "link", f"{tmp_path}/home/../home/"):
        reply = launch(tmp_path, *CROSSROADS, "-n", 1, "-d", place, ranks=2, env={"HOME": str(home), **AT_ONCE})
        assert reply.status == 2
        (error,) = reply.errors
        assert "is the root directory" in error or "is the home directory" in error
        assert "name a directory for the test" in error
    assert names_below(home) == []


def test_help_lists_every_option(tmp_path: Path) -> None:
    reply = launch(tmp_path, "mdtest", "-h", ranks=2)
    assert (reply.status, reply.err) == (0, "")
    assert reply.out.startswith("usage: mdtest -n COUNT [options]\n")
    letters = set(re.findall(r"^  -(\w)\b", reply.out, re.MULTILINE))
    assert letters == set("CTUErDFnIdNuScbzLweyYXkGRWxiptBflsPZvVah")
    names = {"latency", "json", "help", "verify-read", "dataPacketType", "posix.odirect", "saveRankPerformanceDetails"}
    names |= {"verify-write", "random-seed", "warningAsErrors"}
    assert set(re.findall(r"--([\w.-]+)", reply.out)) == names


def test_the_binary_lists_its_applets_and_how_it_was_built(tmp_path: Path) -> None:
    helped = launch(tmp_path, "bench", "--help")
    assert re.search(r"^  mdtest +rates of file and directory", helped.out, re.MULTILINE)
    version = launch(tmp_path, "bench", "--version")
    assert version.out.splitlines()[0].startswith(f"bench {__version__}")
    unknown = launch(tmp_path, "bench", "mdtset", ranks=2)
    assert (unknown.status, unknown.errors) == (2, ["bench: unknown applet 'mdtset' (bench --help lists them)"])
    assert launch(tmp_path, "bench", *CROSSROADS, "-n", 1, "-d", tmp_path).status == 0


# --- what lies on the disk


def test_creation_leaves_its_files_for_later_stats_and_removal(tmp_path: Path) -> None:
    place = tmp_path / "deep" / "down"
    command = ("-F", "-n", 2, "-d", place, "-i", 2)
    assert launch(tmp_path, "mdtest", "-C", *command, ranks=2).status == 0
    files = [f"file.mdtest.{rank}.{item}" for rank in range(2) for item in range(2)]
    assert names_below(place) == sorted(
        path
        for i in range(2)
        for path in (
            f"test-dir.{i}-0",
            f"test-dir.{i}-0/mdtest_tree.0",
            *(f"test-dir.{i}-0/mdtest_tree.0/{file}" for file in files),
        )
    )
    assert launch(tmp_path, "mdtest", "-T", *command, ranks=2).status == 0
    assert launch(tmp_path, "mdtest", "-r", *command, ranks=2).status == 0
    assert names_below(place) == []


def test_unique_trees_carry_their_ranks_number(tmp_path: Path) -> None:
    launch(tmp_path, "mdtest", "-C", "-F", "-n", 2, "-d", tmp_path / "d", "-u", "-b", 2, "-z", 1, "-L", ranks=2)
    base = "test-dir.0-0"
    expected = [base]
    for rank in range(2):
        top = f"{base}/mdtest_tree.{rank}.0"
        leaves = [f"{top}/mdtest_tree.{rank}.{k}" for k in (1, 2)]
        expected += [top, *leaves, *(f"{leaves[k - 1]}/file.mdtest.{rank}.{k}" for k in (1, 2))]
    assert names_below(tmp_path / "d") == sorted(expected)


@pytest.mark.parametrize("flags", [(), ("-t",), ("-B",)])
def test_with_an_offset_the_files_of_a_rank_lie_in_the_tree_of_the_rank_one_offset_further_on(
    tmp_path: Path, flags: tuple[str, ...]
) -> None:
    """As mdtest 1.9 to 4 have it, so that creation too works in a directory that another rank has made."""
    command = ("-F", "-n", 1, "-d", tmp_path / "d", "-u", "-N", 1, *flags)
    assert launch(tmp_path, "mdtest", "-C", *command, ranks=3).status == 0
    files = [path for path in names_below(tmp_path / "d") if "file" in path]
    assert files == [
        "test-dir.0-0/mdtest_tree.0.0/file.mdtest.2.0",
        "test-dir.0-0/mdtest_tree.1.0/file.mdtest.0.0",
        "test-dir.0-0/mdtest_tree.2.0/file.mdtest.1.0",
    ]
    assert launch(tmp_path, "mdtest", "-T", "-r", *command, ranks=3).status == 0
    assert names_below(tmp_path / "d") == []


def test_directories_are_items_too(tmp_path: Path) -> None:
    launch(tmp_path, "mdtest", "-C", "-n", 1, "-d", tmp_path / "d")
    tree = tmp_path / "d" / "test-dir.0-0" / "mdtest_tree.0"
    assert (tree / "dir.mdtest.0.0").is_dir() and (tree / "file.mdtest.0.0").is_file()


def test_ranks_take_turns_among_several_directories(tmp_path: Path) -> None:
    place = f"{tmp_path}/a@{tmp_path}/b/"
    launch(tmp_path, "mdtest", "-C", "-F", "-n", 1, "-d", place, ranks=3)
    tree = "test-dir.0-0/mdtest_tree.0"
    assert [path.name for path in sorted((tmp_path / "a" / tree).iterdir())] == ["file.mdtest.0.0", "file.mdtest.2.0"]
    assert [path.name for path in sorted((tmp_path / "b" / tree).iterdir())] == ["file.mdtest.1.0"]
    reply = launch(tmp_path, "mdtest", "-T", "-r", "-F", "-n", 1, "-d", place, "-N", 1, ranks=3)
    assert (reply.status, names_below(tmp_path)) == (0, ["a", "b", "bench.jsonl"])


@pytest.fixture(params=["link", "mount"])
def two_paths(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, Path, tuple[object, ...]]:
    """One directory by two paths: the words of -d, the directory, and what starts a program that sees both."""
    first, second = tmp_path / "a", tmp_path / "b"
    first.mkdir()
    if request.param == "link":
        second.symlink_to(first)
        return f"{first}@{second}", first, ()
    second.mkdir()
    mount = f'mount --bind {first} {second} && exec "$@"'
    return f"{first}@{second}", first, ("/usr/bin/unshare", "--map-root-user", "--mount", "sh", "-c", mount, "sh")


@pytest.mark.parametrize("options", [(), ("-F", "-N", 1), ("-F", "-c", "-t"), ("-i", 2, "-z", 1)])
def test_with_a_tree_for_each_process_two_paths_of_one_directory_are_as_good_as_two_directories(
    two_paths: tuple[str, Path, tuple[object, ...]], tmp_path: Path, options: tuple[object, ...]
) -> None:
    place, directory, start = two_paths
    words = (*start, build() / "mdtest", "-u", "-n", 4, *options, "-d", place)
    reply = launch(tmp_path, *words, ranks=4)
    assert (reply.status, reply.errors, names_below(directory)) == (0, [], [])
    assert {phase["failed"] for phase in reply.lines_of("phase")} == {0}
    assert launch(tmp_path, *words, "-C", ranks=4).status == 0
    assert launch(tmp_path, *words, "-C", ranks=4).errors[0].count("if an earlier run left it") == 1
    assert launch(tmp_path, *words, "-T", "-r", ranks=4).status == 0
    assert names_below(directory) == []


def test_without_a_tree_for_each_process_two_paths_of_one_directory_are_refused_with_the_reason(
    two_paths: tuple[str, Path, tuple[object, ...]], tmp_path: Path
) -> None:
    place, directory, start = two_paths
    reply = launch(tmp_path, *start, build() / "mdtest", "-F", "-n", 4, "-d", place, ranks=4)
    assert (reply.status, reply.lines_of("phase"), names_below(directory)) == (1, [], [])
    (error,) = reply.errors
    assert "another DIR of -d is this directory by another path; name it once, or add -u" in error


def test_a_directory_made_for_the_test_is_removed_again_and_an_older_one_stays(tmp_path: Path) -> None:
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "data").write_text("precious")
    launch(tmp_path, *CROSSROADS, "-n", 2, "-d", tmp_path / "old" / "new" / "newer")
    launch(tmp_path, *CROSSROADS, "-n", 2, "-d", tmp_path / "old")
    assert names_below(tmp_path) == ["bench.jsonl", "old", "old/data"]


def test_directories_are_renamed_and_have_their_names_back(tmp_path: Path) -> None:
    place = ("-n", 6, "-d", tmp_path / "d", "-N", 1)
    reply = launch(tmp_path, "mdtest", "-C", "-U", *place, ranks=3, node_of_rank="R")
    assert reply.status == 0
    phase = reply.line_of("phase", operation="rename")
    assert (phase["object"], phase["operations_done"], phase["rank_shift"], phase["remote_share"]) == (
        "directory",
        18,
        2,
        1,
    )
    text = "".join(json.dumps(line) + "\n" for line in reply.lines)
    assert "dir_rename" in {record.operation for record in bench_jsonl.parse(text, "bench.jsonl")[0]}
    rows = re.findall(r"^   (\w+ \w+) +[\d.]+ +", reply.out, re.MULTILINE)
    assert rows[:4] == ["Directory creation", "Directory stat", "Directory rename", "Directory removal"]
    assert len([name for name in names_below(tmp_path / "d") if "dir.mdtest" in name]) == 18
    assert not any("renamed" in name for name in names_below(tmp_path / "d"))
    assert launch(tmp_path, "mdtest", "-r", *place, ranks=3).status == 0
    files = launch(tmp_path, *CROSSROADS, "-U", "-n", 1, "-d", tmp_path)
    assert files.line_of("warning")["message"] == "-U has no effect: it renames directories, of which -F makes none"
    assert "Directory rename" not in files.out


def test_without_items_only_the_trees_are_made(tmp_path: Path) -> None:
    reply = launch(tmp_path, "mdtest", "-n", 0, "-z", 2, "-b", 2, "-R7", "-d", tmp_path / "d", ranks=2)
    assert (reply.status, reply.err) == (0, "")
    assert "2 tasks, 0 files/directories\n" in reply.out
    assert reply.line_of("phase", operation="tree_create")["operations_done"] == 7
    assert {phase["rate_ops_s"] for phase in reply.lines_of("phase", object="file")} == {0}


def test_n_and_i_together_work_in_several_test_directories(tmp_path: Path) -> None:
    command = ("mdtest", "-n", 6, "-I", 2, "-d", tmp_path / "d", "-N", 1)
    created = launch(tmp_path, *command, "-C", ranks=2)
    assert "2 tasks, 12 files/directories\n" in created.out
    tests = sorted(path.name for path in (tmp_path / "d").iterdir())
    assert tests == ["test-dir.0-0", "test-dir.0-1", "test-dir.0-2"]
    names = [sorted(path.name for path in (tmp_path / "d" / test).glob("*/file.*")) for test in tests]
    assert names == [[f"file.mdtest.{rank}.{item}" for rank in range(2) for item in range(2)]] * 3
    removed = launch(tmp_path, *command, "-T", "-E", "-r", "-R", ranks=2)
    assert (removed.status, names_below(tmp_path)) == (0, ["bench.jsonl", "d"])
    assert removed.line_of("phase", operation="tree_remove")["operations_done"] == 3
    reply = launch(tmp_path, *CROSSROADS, "-n", 6, "-I", 2, "-c", "-d", tmp_path / "d", ranks=2)
    assert (reply.status, names_below(tmp_path)) == (0, ["bench.jsonl", "d"])


def test_a_test_directory_that_is_there_already_costs_the_others_of_that_run_too(tmp_path: Path) -> None:
    (tmp_path / "test-dir.0-2").mkdir()
    reply = launch(tmp_path, *CROSSROADS, "-n", 6, "-I", 2, "-d", tmp_path)
    assert reply.status == 1
    assert "test-dir.0-2" in reply.err
    assert names_below(tmp_path) == ["bench.jsonl", "test-dir.0-2"]


def test_the_api_dummy_touches_no_storage_and_counts_everything(tmp_path: Path) -> None:
    place, count = tmp_path / "d", tmp_path / "count"
    command = ("mdtest", "-I", 20, "-a", "DUMMY", "-d", place, "-x", count)
    for phases in (["-C", "-W", 1], ["-T", "-v"], ["-D", "-v"], ["-c", "-U", "-Y", "-w", 100, "-e", 100, "-X"]):
        reply = launch(tmp_path, *command, *phases, ranks=2)
        assert reply.status == 0
        assert [line["message"] for line in reply.lines_of("warning")] == [
            "-a DUMMY: nothing is created, looked at or removed; the rates are those of the benchmark itself"
        ]
        items = [phase for phase in reply.lines_of("phase") if not phase["operation"].startswith("tree")]
        assert items and {phase["operations_done"] for phase in items} == {40}
        assert not place.exists()
    assert count.read_text() == "20\n"


def test_process_0_creates_everything_with_c_and_every_rank_opens_its_own(tmp_path: Path) -> None:
    reply = launch(tmp_path, *CROSSROADS, "-n", 5, "-d", tmp_path, "-c", "-w", 8, ranks=3)
    assert reply.status == 0
    for operation in ("create", "remove"):
        phase = reply.line_of("phase", operation=operation)
        assert (phase["operations_done"], phase["slowest_rank"]) == (15, 0)


def test_the_trees_of_u_count_into_creation_and_removal_with_t(tmp_path: Path) -> None:
    reply = launch(tmp_path, "mdtest", "-n", 3, "-b", 2, "-z", 1, "-d", tmp_path / "d", "-u", "-t", "-N", 1, ranks=2)
    assert reply.status == 0
    assert reply.lines_of("phase", operation="tree_create") == []
    assert not (tmp_path / "d").exists()


def test_t_without_u_is_taken_as_mdtest_takes_it_and_warned_of(tmp_path: Path) -> None:
    """The hard test of IO500: `mdtest -t -F -w 3901 -e 3901 …`, without -u."""
    hard = ("mdtest", "-t", "-F", "-P", "-w", 3901, "-e", 3901, "-n", 3, "-N", 1, "-d", tmp_path / "d")
    reply = launch(tmp_path, *hard, ranks=2)
    assert reply.status == 0
    assert reply.line_of("warning")["message"] == "-t has no effect: it counts the trees of -u, which is not given"
    assert [phase["operations_done"] for phase in reply.lines_of("phase", operation="tree_create")] == [1]


# --- data


def test_data_is_read_back_as_it_was_written(tmp_path: Path) -> None:
    size = (1 << 20) + 5001  # more than the buffer
    command = ("mdtest", "-F", "-n", 2, "-d", tmp_path / "d", "-N", 1)
    assert launch(tmp_path, *command, "-C", "-w", size, "-y", "-Y", ranks=2).status == 0
    files = sorted((tmp_path / "d").rglob("file.*"))
    contents = [file.read_bytes() for file in files]
    assert [len(content) for content in contents] == [size] * 4
    assert len(set(contents)) == 4
    assert launch(tmp_path, *command, "-E", "-e", size, "-X", ranks=2).status == 0


def test_the_seed_and_the_kind_of_the_data(tmp_path: Path) -> None:
    command = ("mdtest", "-F", "-n", 1, "-d", tmp_path / "d")
    contents = []
    kinds = [("--dataPacketType", "t"), ("--dataPacketType", "o", "--verify-write")]
    for options in ((), ("-G", 5), ("-G", -5), *(("-G", -5, *kind) for kind in kinds)):
        assert launch(tmp_path, *command, "-C", "-w", 4104, *options).status == 0
        contents += [file.read_bytes() for file in (tmp_path / "d").rglob("file.*")]
        read = [word for word in options if word != "--verify-write"]
        assert launch(tmp_path, *command, "-E", "-r", "-e", 4104, "-X", *read).status == 0
    assert len(set(contents)) == 5
    assert contents[3][8:24] == struct.pack("<2Q", 2**64 - 4, 2**64 - 3)
    assert contents[4][:24] + contents[4][4096:] == struct.pack("<4Q", 0, 2**64 - 4, 2**64 - 3, 0)  # file number 0
    launch(tmp_path, *command, "-C", "-w", 4096, "-G", 5)
    assert launch(tmp_path, *command, "-E", "-e", 4096, "-X", "-G", 6).status == 1


def test_files_may_be_written_and_read_past_the_page_cache(tmp_path: Path) -> None:
    reply = launch(
        tmp_path, "mdtest", "-F", "-n", 2, "-w", 8192, "-e", 8192, "-X", "--posix.odirect", "-d", tmp_path, ranks=2
    )
    assert (reply.status, reply.err) == (0, "")
    refused = launch(tmp_path, "mdtest", "-F", "-C", "-n", 1, "-w", 8704, "--posix.odirect", "-d", tmp_path / "d")
    assert refused.status == 0 or refused.line_of("error")["errno_name"] == "EINVAL"


def test_numbers_of_each_process_go_to_a_csv_file(tmp_path: Path) -> None:
    ranks = tmp_path / "ranks.csv"
    reply = launch(
        tmp_path, *CROSSROADS, "-n", 7, "-i", 2, "--saveRankPerformanceDetails", ranks, "-d", tmp_path / "d", ranks=2
    )
    table = list(csv.DictReader(ranks.open()))
    assert reply.status == 0
    assert list(table[0]) == ["iteration", "object", "operation", "rank", "items", "runtime", "rate"]
    assert len(table) == 2 * 5 * 2
    created = [row for row in table if (row["object"], row["operation"]) == ("file", "create")]
    assert [(row["iteration"], row["rank"], float(row["items"])) for row in created] == [
        (str(iteration), str(rank), 7) for iteration in range(2) for rank in range(2)
    ]
    assert all(float(row["rate"]) > 0 for row in created)


def test_many_more_ranks_than_processors_create_find_and_remove_every_file(tmp_path: Path) -> None:
    reply = launch(tmp_path, *CROSSROADS, "-E", "-n", 3, "-u", "-d", tmp_path / "d", ranks=32)
    fields = {phase["operation"]: phase["operations_done"] for phase in reply.lines_of("phase", object="file")}
    assert fields == dict.fromkeys(("create", "stat", "read", "remove"), 32 * 3)
    assert not (tmp_path / "d").exists()


@pytest.mark.parametrize("ranks", [2, 4, 5])
def test_the_spread_over_ranks_is_that_of_their_numbers(tmp_path: Path, ranks: int) -> None:
    file = tmp_path / "ranks.csv"
    words = ("-n", 5, "-i", 3, "--saveRankPerformanceDetails", file, "-d", tmp_path / "d")
    reply = launch(tmp_path, *CROSSROADS, *words, ranks=ranks)
    rates: dict[tuple[str, ...], list[float]] = {}
    for row in csv.DictReader(file.open()):
        rates.setdefault((row["iteration"], row["object"], row["operation"]), []).append(float(row["rate"]))
    phases = reply.lines_of("phase", object="file")
    assert len(phases) == 3 * 3
    for phase in phases:
        rank_rates, spread = rates[str(phase["iteration"]), "file", phase["operation"]], phase["rank_rate_ops_s"]
        expected = (min(rank_rates), statistics.median(rank_rates), max(rank_rates))
        assert (spread["slowest"], spread["median"], spread["fastest"]) == pytest.approx(
            expected, rel=1e-4, abs=5.01e-4
        )
        assert rank_rates[phase["slowest_rank"]] == min(rank_rates)


def test_a_single_flipped_bit_is_found_and_its_place_reported(tmp_path: Path) -> None:
    command = ("mdtest", "-F", "-n", 3, "-d", tmp_path)
    launch(tmp_path, *command, "-C", "-w", 5000)
    victim = tmp_path / "test-dir.0-0" / "mdtest_tree.0" / "file.mdtest.0.1"
    content = bytearray(victim.read_bytes())
    content[4321] ^= 16
    victim.write_bytes(content)
    reply = launch(tmp_path, *command, "-E", "-e", 5000, "-X")
    assert reply.status == 1
    expected, flipped = content[4321] ^ 16, content[4321]
    message = f"byte 4321 differs: 0x{expected:02x} expected, 0x{flipped:02x} found"
    error = reply.line_of("error")
    assert (error["message"], error["path"], error["errno"]) == (message, str(victim), None)
    phase = reply.line_of("phase", operation="read")
    assert (phase["operations_done"], phase["failed"]) == (2, 1)


def test_a_file_that_is_too_short_is_no_successful_read(tmp_path: Path) -> None:
    command = ("mdtest", "-F", "-n", 1, "-d", tmp_path)
    launch(tmp_path, *command, "-C", "-w", 100)
    reply = launch(tmp_path, *command, "-E", "-e", 101)
    assert (reply.status, reply.line_of("error")["message"]) == (1, "100 bytes are there, 101 were to be read")


# --- order, stonewall, numbers of tasks, latency


def test_a_random_order_still_visits_every_file_and_says_its_seed(tmp_path: Path) -> None:
    command = ("mdtest", "-F", "-n", 300, "-b", 2, "-z", 1, "-d", tmp_path)
    seeded = launch(tmp_path, *command, "-R1234", ranks=2)
    assert seeded.status == 0
    assert "\nrandom seed: 1234\n" in seeded.out
    assert seeded.line_of("phase", operation="stat")["operations_done"] == 600
    chosen_reply = launch(tmp_path, *command, "-R")
    assert re.search(r"^random seed: \d{9,}$", chosen_reply.out, re.MULTILINE)


def test_a_stonewall_stops_creation_and_its_count_serves_later_runs(tmp_path: Path) -> None:
    command = ("mdtest", "-F", "-n", "1g", "-d", tmp_path / "d", "-x", tmp_path / "count")
    created = launch(tmp_path, *command, "-C", "-W", 1, ranks=2)
    count = int((tmp_path / "count").read_text())
    assert 0 < count < 1 << 30
    assert f"all went on to {count}, that is {2 * count} files.\n" in created.out
    assert len(list((tmp_path / "d").rglob("file.*"))) == 2 * count
    phase = created.line_of("phase", operation="create")
    assert (phase["operations_counted"], phase["files_true"]) == (2 * count, 2 * count)
    assert phase["elapsed_s"] >= 1
    removed = launch(tmp_path, *command, "-T", "-r", ranks=2)
    assert removed.status == 0
    assert removed.line_of("phase", operation="remove")["operations_done"] == 2 * count
    missing = launch(tmp_path, *command[:-1], tmp_path / "none", "-T", ranks=2)
    assert missing.status == 2
    assert missing.errors == [
        f"mdtest: -x '{tmp_path}/none': No such file or directory (ENOENT); a run with -C writes it"
    ]


def test_numbers_of_items_beyond_32_bits_are_in_the_names(tmp_path: Path) -> None:
    """The leaf's items have the numbers behind those that the directory above it would have."""
    command = ("mdtest", "-F", "-I", 5_000_000_000, "-z", 1, "-L", "-d", tmp_path / "d", "-W", 1)
    reply = launch(tmp_path, *command, "-C", "-T")
    assert (reply.status, reply.line_of("phase", operation="stat")["failed"]) == (0, 0)
    path = next((tmp_path / "d").glob("test-dir.*/mdtest_tree.0/mdtest_tree.1/file.mdtest.0.5000000000"))
    assert path.is_file()
    shutil.rmtree(tmp_path / "d")


def test_a_stonewall_that_was_not_reached_is_none(tmp_path: Path) -> None:
    reply = launch(tmp_path, *CROSSROADS, "-n", 4, "-d", tmp_path, "-W", 600, ranks=2)
    assert "Stonewall of 600 s not reached: all files were created before.\n" in reply.out


def test_a_count_that_cannot_be_kept_fails_the_run_but_no_phase(tmp_path: Path) -> None:
    reply = launch(tmp_path, *CROSSROADS, "-n", 2, "-d", tmp_path, "-x", "/dev/full", ranks=2)
    assert_invalid(reply, 1)
    assert reply.line_of("error")["path"] == "/dev/full"
    assert [phase["failed"] for phase in reply.lines_of("phase")] == [0, 0, 0, 0, 0]


def test_several_numbers_of_tasks_run_one_after_the_other(tmp_path: Path) -> None:
    reply = launch(tmp_path, *CROSSROADS, "-n", 5, "-d", tmp_path, "-f", 1, "-l", 4, "-s", 2, "-N", 1, ranks=4)
    assert re.findall(r"^(\d) tasks, (\d+) files$", reply.out, re.MULTILINE) == [("1", "5"), ("3", "15")]
    assert [line["processes"] for line in reply.lines_of("result", operation="create")] == [1, 3]


def test_latencies_are_taken_only_on_request(tmp_path: Path) -> None:
    command = (*CROSSROADS, "-n", 200, "-d", tmp_path)
    assert all("latency_s" not in phase for phase in launch(tmp_path, *command, ranks=2).lines_of("phase"))
    reply = launch(tmp_path, *command, "--latency", ranks=2)
    assert "SUMMARY latency (in microseconds an operation)" in reply.out
    for phase in reply.lines_of("phase", object="file"):
        latency = phase["latency_s"]
        values = [latency[key] for key in ("p50", "p90", "p99", "p999", "max")]
        assert values == sorted(values)
        assert 0 < values[0] < 2 * phase["elapsed_s"] / 200 * 2
        assert values[-1] <= phase["elapsed_s"] * 1.05


# --- faults


def assert_invalid(reply: Reply, failed: int) -> None:
    assert reply.status == 1
    assert f"\nINVALID: {failed} operations failed: no number of this run is a result.\n" in reply.out
    end = reply.line_of("end")
    assert (end["status"], end["failed_operations"], end["exit_status"]) == ("failed", failed, 1)


def test_operations_that_fail_are_reported_counted_and_never_a_result(tmp_path: Path) -> None:
    command = ("mdtest", "-F", "-n", 10, "-d", tmp_path, "-N", 1)
    launch(tmp_path, "mdtest", "-F", "-n", 10, "-d", tmp_path, "-C", ranks=2)
    tree = tmp_path / "test-dir.0-0" / "mdtest_tree.0"
    for item in range(5):
        (tree / f"file.mdtest.1.{item}").unlink()
    reply = launch(tmp_path, *command, "-T", ranks=2, node_of_rank="R")
    assert_invalid(reply, 5)
    phase = reply.line_of("phase", operation="stat")
    assert (phase["operations_counted"], phase["operations_done"], phase["failed"]) == (20, 15, 5)
    assert re.search(r"^   File stat .* INVALID$", reply.out, re.MULTILINE)
    assert reply.errors == [
        f"mdtest: rank 0 on n0: stat '{tree}/file.mdtest.1.{item}' failed: No such file or directory (ENOENT)"
        for item in range(3)
    ] + ["mdtest: rank 0 on n0: 2 more failed operations"]
    assert [
        (e["rank"], e["node"], e["operation"], e["errno"], e["errno_name"], e["path"]) for e in reply.lines_of("error")
    ] == [(0, "n0", "stat", 2, "ENOENT", f"{tree}/file.mdtest.1.{item}") for item in range(3)]


def test_stats_of_files_that_were_never_made_are_invalid(tmp_path: Path) -> None:
    reply = launch(tmp_path, "mdtest", "-F", "-n", 10, "-d", tmp_path, "-T", ranks=2)
    assert_invalid(reply, 20)
    assert reply.line_of("phase", operation="stat")["operations_done"] == 0
    assert reply.line_of("phase", operation="stat")["true_rate_ops_s"] == 0
    assert {error["rank"] for error in reply.lines_of("error")} == {0, 1}


def test_a_test_directory_of_somebody_else_is_an_error_and_stays(tmp_path: Path) -> None:
    (tmp_path / "test-dir.0-0").mkdir()
    (tmp_path / "test-dir.0-0" / "thesis").write_text("precious")
    reply = launch(tmp_path, *CROSSROADS, "-n", 10, "-d", tmp_path, ranks=2)
    assert reply.status == 1
    assert "INVALID: 1 operations failed before anything could be measured.\n" in reply.out
    assert reply.lines_of("result") == []
    assert "if an earlier run left it, remove it with -r or by hand" in reply.errors[0]
    assert (tmp_path / "test-dir.0-0" / "thesis").read_text() == "precious"


def test_of_several_directories_none_keeps_a_test_directory_when_one_cannot_have_it(tmp_path: Path) -> None:
    (tmp_path / "b" / "test-dir.0-0").mkdir(parents=True)
    reply = launch(tmp_path, *CROSSROADS, "-n", 1, "-d", f"{tmp_path}/a@{tmp_path}/b", ranks=2)
    assert reply.status == 1
    assert names_below(tmp_path) == ["b", "b/test-dir.0-0", "bench.jsonl"]


def test_removal_leaves_what_mdtest_did_not_make(tmp_path: Path) -> None:
    command = ("mdtest", "-F", "-n", 3, "-d", tmp_path)
    launch(tmp_path, *command, "-C")
    thesis = tmp_path / "test-dir.0-0" / "mdtest_tree.0" / "thesis"
    thesis.write_text("precious")
    reply = launch(tmp_path, *command, "-r")
    assert_invalid(reply, 2)
    assert [error["errno_name"] for error in reply.lines_of("error")] == ["ENOTEMPTY", "ENOTEMPTY"]
    assert names_below(tmp_path / "test-dir.0-0") == ["mdtest_tree.0", "mdtest_tree.0/thesis"]


def test_a_place_where_nothing_can_be_made_is_an_error_without_any_number(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    reply = launch(tmp_path, *CROSSROADS, "-n", 10, "-d", tmp_path / "file" / "d", ranks=2, node_of_rank="R")
    assert reply.status == 1
    assert reply.errors == [f"mdtest: rank 0 on n0: mkdir '{tmp_path}/file/d' failed: Not a directory (ENOTDIR)"]
    assert "SUMMARY" not in reply.out
    assert [line["type"] for line in reply.lines] == ["start", "attestation", "error", "end"]


def test_a_full_file_system_is_an_error_and_is_left_clean(tmp_path: Path) -> None:
    place = tmp_path / "small"
    place.mkdir()
    mdtest = shell_words(build() / "mdtest", "-F", "-C", "-T", "-r", "-n", 40, "-d", place / "d")
    script = (
        f"mount -t tmpfs -o nr_inodes=54 none {place} && {{ mpirun --oversubscribe -np 2 {mdtest}; "
        f"status=$?; ls -A {place} >{tmp_path}/left; exit $status; }}"
    )
    namespace = ["unshare", "--mount", "--map-root-user", "bash", "-c", script]
    status, out, err = run_group(namespace, tmp_path, {"BENCH_JSON": str(tmp_path / "bench.jsonl")})
    assert status == 1, err
    assert "No space left on device (ENOSPC)" in err
    # 54 inodes are the mount's root, d, test-dir, the tree and 50 files: 30 of 80 creations, stats and removals fail.
    assert "INVALID: 90 operations failed" in out
    assert (tmp_path / "left").read_text() == ""


def test_a_full_disk_under_the_output_is_never_a_success(tmp_path: Path) -> None:
    command = [str(build() / "mdtest"), "-F", "-n", "1", "-d", str(tmp_path / "d")]
    full = os.open("/dev/full", os.O_WRONLY)
    try:
        status, _, err = run_group(command, tmp_path, {}, stdout=full)
        assert (status, err) == (1, "mdtest: warning: cannot write the text output: No space left on device (ENOSPC)\n")
        status, _, err = run_group([str(build() / "bench"), "--help"], tmp_path, {}, stdout=full)
        assert (status, err) == (1, "bench: warning: cannot write the text output\n")
    finally:
        os.close(full)
    status, _, err = run_group([*command, "--json", "/dev/full"], tmp_path, {})
    assert (status, err) == (1, "mdtest: warning: cannot write the JSON output: No space left on device (ENOSPC)\n")
    status, _, err = run_group([*command, "--json", str(tmp_path / "no" / "file")], tmp_path, {})
    assert status == 2
    assert err == f"mdtest: cannot write the JSON file '{tmp_path}/no/file': No such file or directory (ENOENT)\n"


def test_a_run_whose_rank_dies_leaves_no_end_line_and_fails(tmp_path: Path) -> None:
    program = f"{build()}/mdtest -F -n 1g -d {tmp_path}/d -C"
    # Rank 1 is a child of its shell, so that the shell can end exactly that one.
    at_work = f"until [ -e {tmp_path}/d/test-dir.0-0 ]; do sleep 0.1; done"
    script = f'if [ "$OMPI_COMM_WORLD_RANK" = 1 ]; then {program} & {at_work}; kill -9 $!; wait $!; else {program}; fi'
    command = ["mpirun", "--oversubscribe", "-np", "2", "bash", "-c", script]
    status, out, _ = run_group(command, tmp_path, {"BENCH_JSON": str(tmp_path / "bench.jsonl")})
    assert status != 0
    assert "SUMMARY" not in out
    assert '"type": "end"' not in (tmp_path / "bench.jsonl").read_text()


@pytest.mark.parametrize("lost", [0, 1, 2])
def test_nothing_of_a_run_with_removal_is_left_when_a_rank_dies(tmp_path: Path, lost: int) -> None:
    tree = ("-n", 14, "-z", 2, "-b", 2, "-u", "-i", 1_000_000)
    reply = launch_and_lose_a_rank(tmp_path, lost, 1.5, "mdtest", *tree, "-d", f"{tmp_path}@{tmp_path}/b", ranks=3)
    assert reply.status != 0 and reply.lines_of("end") == []
    assert [name for name in names_below(tmp_path) if name not in ("b", "bench.jsonl")] == []


@pytest.mark.parametrize("call", ["mkdir", "rmdir"])
def test_a_rank_that_dies_where_an_iteration_begins_or_ends_leaves_nothing(tmp_path: Path, call: str) -> None:
    """Once it has made the second test directory, or before it removes that."""
    dies = fault_environment("test-dir.1-0", call, rank=0, after=0 if call == "mkdir" else 1)
    reply = launch(tmp_path, "mdtest", "-F", "-n", 4, "-i", 3, "-d", tmp_path, ranks=3, env=dies)
    assert reply.status != 0 and reply.lines_of("end") == []
    assert [name for name in names_below(tmp_path) if name != "bench.jsonl"] == []


def test_what_an_earlier_run_left_is_not_removed(tmp_path: Path) -> None:
    (tmp_path / "test-dir.1-0").mkdir()
    reply = launch(tmp_path, "mdtest", "-n", 4, "-i", 3, "-d", tmp_path, ranks=2)
    assert reply.status != 0
    assert [name for name in names_below(tmp_path) if name != "bench.jsonl"] == ["test-dir.1-0"]


def test_ranks_that_run_another_binary_are_noticed(tmp_path: Path) -> None:
    shutil.copy(build() / "bench", tmp_path / "copy")
    with (tmp_path / "copy").open("ab") as other:
        other.write(b"\0")
    program = f"exec -a mdtest $([ $OMPI_COMM_WORLD_RANK = 1 ] && echo {tmp_path}/copy || echo {build()}/bench)"
    arguments = f"-F -n 1 -d {tmp_path}/d --json {tmp_path}/bench.jsonl"
    command = ["mpirun", "--oversubscribe", "-np", "2", "bash", "-c", f"{program} {arguments}"]
    status, _, err = run_group(command, tmp_path, {})
    assert status == 0
    assert '"binary_agreed": false' in (tmp_path / "bench.jsonl").read_text()
    first, other = (hashlib.sha256(path.read_bytes()).hexdigest() for path in (build() / "bench", tmp_path / "copy"))
    match = re.search(
        "mdtest: warning: ranks run different executables: rank 1 on (.*) has (.*), rank 0 has (.*)\n", err
    )
    assert match and match.groups() == (socket.gethostname(), other, first)


# --- the build with sanitizers


def test_the_sanitizers_find_nothing(tmp_path: Path) -> None:
    every = "-n 6 -b 2 -z 1 -u -t -N 1 -w 100 -e 50 -X -y -c --latency -v -v"
    two_directories = f"-F -n 1000000 -W 1 -L -z 1 -d {tmp_path}/a@{tmp_path}/b"
    for command in (every, "-F -S -n 5 -N 2 -i 2 -P -B -R7", two_directories, "-n 5 -l 3 -s 2"):
        place = () if "-d" in command else ("-d", tmp_path / "d")
        words = (*command.split(), *place)
        reply = launch(tmp_path, "mdtest", *words, ranks=3, node_of_rank="R!=1", **sanitizer_options())
        assert (reply.status, reply.err) == (0, "")
    failing = launch(tmp_path, "mdtest", "-F", "-T", "-n", 5, "-d", tmp_path, ranks=3, **sanitizer_options())
    assert (failing.status, sanitizer_messages(failing)) == (1, [])
    assert launch(tmp_path, "mdtest", "-n", "x", ranks=2, **sanitizer_options()).status == 2
