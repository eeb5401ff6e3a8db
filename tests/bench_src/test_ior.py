"""The ior applet, driven as its users drive it."""

from __future__ import annotations

import csv
import json
import os
import re
import shutil
import struct
import zlib
from pathlib import Path
from typing import Any

import pytest

from campaign import __version__
from campaign.results.parsers.ior_formats import parse
from tests.support import bench_faults
from tests.support.bench_binary import AT_ONCE, SOURCES, Reply, build, launch, make

pytestmark = [pytest.mark.mpi, pytest.mark.timeout(900)]

MIB = 1 << 20
CACHESTAT, IO_URING_SETUP = 451, 425
SMALL = ("-t", "64k", "-b", "256k", "-s", "2")  # 512 KiB a process


def ior(scratch: Path, *options: object, ranks: int = 2, **settings: Any) -> Reply:
    """Runs the applet on the file f of the directory."""
    return launch(scratch, "ior", "-o", scratch / "f", *options, ranks=ranks, **settings)


def messages(reply: Reply) -> list[str]:
    """What the applet said on stderr, without mpirun's words."""
    return [line for line in reply.err.splitlines() if line.startswith("ior: ")]


def rows(reply: Reply) -> list[list[str]]:
    """The rows of the results' table."""
    table = reply.out.split("Summary of all tests:")[0]
    return [line.split() for line in table.splitlines() if re.match(r"((mix-)?(write|read)|remove) +[-\d]", line)]


def summary(reply: Reply) -> list[list[str]]:
    lines = reply.out.split("Summary of all tests:")[1].splitlines()
    return [line.split() for line in lines if re.match(r"(mix-)?(write|read) ", line)]


def warnings(reply: Reply) -> list[str]:
    return [line for line in reply.out.splitlines() if line.startswith("WARNING: ")]


def files(directory: Path) -> list[str]:
    return sorted(
        str(path.relative_to(directory))
        for path in directory.rglob("*")
        if path.is_file() and path.name != "bench.jsonl"
    )


def words(data: bytes) -> list[int]:
    return list(struct.unpack(f"<{len(data) // 8}Q", data))


# --- the text

SHARED_FILE = f"""\
ior (campaign bench {__version__}): parallel reads and writes, output in the form of IOR 4
Began               : STAMP
Command line        : ior -o DIR/f -t 1m -b 2m -s 2 -k
Machine             : Linux NODE
TestID              : 0
StartTime           : STAMP
Path                : DIR/f
FS                  : # GiB   Used FS: #%   Inodes: # Mi   Used Inodes: #%

Options: \n\
api                 : POSIX
apiVersion          : \n\
test filename       : DIR/f
access              : single-shared-file
type                : independent
segments            : 2
ordering in a file  : sequential
ordering inter file : no tasks offsets
nodes               : 2
tasks               : 4
clients per node    : 2
repetitions         : 1
xfersize            : 1 MiB
blocksize           : 2 MiB
aggregate filesize  : 16 MiB
data                : unique, signature chosen for each repetition
file system         : FILESYSTEM

Results: \n\

access    bw(MiB/s)  IOPS       Latency(s)  block(KiB) xfer(KiB)  open(s)    wr/rd(s)   close(s)   total(s)   iter
------    ---------  ----       ----------  ---------- ---------  --------   --------   --------   --------   ----
write     #          #          #           2048.00    1024.00    #          #          #          #          0   \n\
Signature of the data (for -G): #
Page cache before read: #% of the bytes (cachestat); written on another node: 0.0%
read      #          #          #           2048.00    1024.00    #          #          #          #          0   \n\
Max Write: # MiB/sec (# MB/sec)
Max Read:  # MiB/sec (# MB/sec)

Summary of all tests:
"""


def mask(reply: Reply, directory: Path) -> str:
    """The text up to the summary, without warnings and with # for what differs from run to run."""
    text = reply.out[: reply.out.index("Operation   Max(MiB)")].replace(str(directory), "DIR")
    text = "".join(line for line in text.splitlines(keepends=True) if not line.startswith("WARNING"))
    text = re.sub(r"\w{3} \w{3} [ \d]\d \d\d:\d\d:\d\d \d{4}", "STAMP", text)
    text = re.sub(r"(?<=Machine             : Linux )\S+", "NODE", text)
    text = re.sub(r"(?<=file system         : ).+", "FILESYSTEM", text)
    text = re.sub(r"(?<=FS                  : )[\d.]+ \wiB", "# GiB", text)
    text = re.sub(r"(?<=FS: )[\d.]+|(?<=Inodes: )[\d.]+|(?<=before read: )[\d.]+|(?<=\(for -G\): )\d+", "#", text)
    text = re.sub(r"(?<=[( ])(\d+\.\d{6}|\d+\.\d{3})( *)", lambda m: "#" + " " * (len(m[0]) - 1), text)
    return re.sub(r"# +(MiB/sec|MB/sec)", r"# \1", text)


def test_the_text_has_the_layout_of_ior_4(tmp_path: Path) -> None:
    reply = ior(tmp_path, "-t", "1m", "-b", "2m", "-s", 2, "-k", ranks=4, node_of_rank="R/2")
    assert (reply.status, messages(reply)) == (0, [])
    assert mask(reply, tmp_path) == SHARED_FILE


def test_rows_and_summary_have_the_columns_of_ior_4(tmp_path: Path) -> None:
    reply = ior(tmp_path, *SMALL, "-i", 2, "-F", "-C", "-e", "-A", 7, "-v")
    assert [row[0] for row in rows(reply)] == ["write", "read", "remove"] * 2
    assert {len(row) for row in rows(reply)} == {11}
    header = next(line for line in reply.out.splitlines() if line.startswith("Operation "))
    assert [len(line) for line in summary(reply)] == [len(header.split())] * 2 == [27, 27]
    write = dict(zip(header.split(), summary(reply)[0], strict=True))
    expected = {"#Tasks": "2", "tPN": "2", "reps": "2", "fPP": "1", "reord": "1", "reordoff": "1", "segcnt": "2"}
    expected |= {"blksiz": "262144", "xsize": "65536", "aggs(MiB)": "1.0", "API": "POSIX", "RefNum": "7"}
    assert expected.items() <= write.items()


def test_rows_summary_and_best_line_agree(tmp_path: Path) -> None:
    reply = ior(tmp_path, *SMALL, "-i", 3)
    for operation, line in zip(("write", "read"), summary(reply), strict=True):
        rates = [float(row[1]) for row in rows(reply) if row[0] == operation]
        best, worst, mean, deviation = map(float, line[1:5])
        assert (best, worst) == (max(rates), min(rates))
        assert mean == pytest.approx(sum(rates) / 3, abs=0.002)
        assert deviation == pytest.approx((sum((r - mean) ** 2 for r in rates) / 3) ** 0.5, rel=0.01, abs=0.01)
        assert f"Max {operation.title()}:" in reply.out
        assert f"{max(rates):.3f} MiB/sec" in reply.out


def test_bandwidth_is_bytes_over_the_total_time(tmp_path: Path) -> None:
    reply = ior(tmp_path, *SMALL, "-e")
    for phase in reply.lines_of("phase"):
        assert phase["bytes"] == MIB
        assert phase["rate_mib_s"] == pytest.approx(1 / phase["elapsed_s"], rel=1e-4, abs=5.01e-4)
        assert phase["rate_ops_s"] == pytest.approx(16 / phase["elapsed_s"], rel=1e-4, abs=5.01e-4)
        assert max(phase[part] for part in ("open_s", "transfer_s", "close_s")) <= phase["elapsed_s"]


# --- JSON lines, IOR's JSON and CSV


def test_json_lines_have_the_digits_of_the_text(tmp_path: Path) -> None:
    reply = ior(tmp_path, *SMALL, "-i", 2)
    assert [line["type"] for line in reply.lines if line["type"] != "warning"] == [
        "start",
        "attestation",
        "test",
        *["phase"] * 4,
        *["result"] * 2,
        "end",
    ]
    for phase, row in zip(reply.lines_of("phase"), rows(reply), strict=True):
        assert (phase["operation"], phase["iteration"]) == (row[0], int(row[10]))
        assert (f"{phase['rate_mib_s']:.3f}", f"{phase['rate_ops_s']:.3f}") == (row[1], row[2])
        assert float(row[9]) == pytest.approx(phase["elapsed_s"], abs=0.501e-6)  # nine decimals there, six here
    for result, line in zip(reply.lines_of("result"), summary(reply), strict=True):
        assert [f"{result[key]:.3f}" for key in ("max", "min", "mean", "stddev")] == line[1:5]
        assert result["unit"] == "MiB/s"


def test_json_and_csv_summaries_at_the_same_time_as_text(tmp_path: Path) -> None:
    summaries = f"summaryFormat=JSON,summaryFile={tmp_path}/s.json,summaryFormat=CSV,summaryFile={tmp_path}/s.csv"
    reply = ior(tmp_path, *SMALL, "-i", 2, "-O", summaries)
    assert len(rows(reply)) == 4
    document = json.loads((tmp_path / "s.json").read_text())
    table = list(csv.DictReader((tmp_path / "s.csv").open()))
    results = document["tests"][0]["Results"]
    for row, result, line in zip(rows(reply), results, table, strict=True):
        assert row[0] == result["access"] == line["access"]
        assert float(row[1]) == pytest.approx(result["bwMiB"], abs=0.001) == pytest.approx(float(line["bw(MiB/s)"]))
    test = document["tests"][0]
    assert (test["Parameters"]["transferSize"], test["Parameters"]["interTestDelay"]) == (65536, 0)
    assert test["Parameters"]["platform"].endswith("(Linux)")
    assert list(test)[3:7] == ["Capacity", "Used Capacity", "Inodes", "Used Inodes"]
    assert f"FS                  : {test['Capacity']}   Used FS: {test['Used Capacity']} " in reply.out
    assert [entry["operation"] for entry in document["summary"]] == ["write", "read"]
    assert document["summary"][0]["bwMaxMIB"] == pytest.approx(float(summary(reply)[0][1]), abs=0.001)
    assert ",".join(table[0]) == (
        "access,bw(MiB/s),IOPS,Latency,block(KiB),xfer(KiB),open(s),wr/rd(s),close(s),total(s),numTasks,iter"
    )


def test_a_summary_without_a_file_takes_the_place_of_the_text(tmp_path: Path) -> None:
    reply = ior(tmp_path, *SMALL, "-O", "summaryFormat=JSON")
    assert json.loads(reply.out)["summary"][1]["operation"] == "read"
    reply = ior(tmp_path, *SMALL, "-O", "summaryFormat=CSV")
    assert [line.split(",")[0] for line in reply.out.splitlines()] == ["access", "write", "read"]


def test_a_summary_that_cannot_be_written_is_a_failure(tmp_path: Path) -> None:
    reply = ior(tmp_path, *SMALL, "-O", "summaryFormat=JSON,summaryFile=/dev/full")
    assert reply.status == 1
    assert messages(reply) == [
        "ior: cannot write the JSON summary '/dev/full': No space left on device (ENOSPC)",
    ]


# --- which bytes go where


def test_a_shared_file_has_a_block_of_each_rank_in_each_segment(tmp_path: Path) -> None:
    ior(tmp_path, "-w", "-k", "-t", "4k", "-b", "8k", "-s", 3, "-l", "t", "-G", 9, ranks=3)
    data = (tmp_path / "f").read_bytes()
    assert len(data) == 3 * 3 * 8192
    for block, start in enumerate(range(0, len(data), 8192)):
        rank = block % 3
        for transfer in (data[start : start + 4096], data[start + 4096 : start + 8192]):
            assert words(transfer) == [rank << 32 | 9 + word for word in range(512)]


def test_the_offset_pattern_shows_the_offset(tmp_path: Path) -> None:
    ior(tmp_path, "-w", "-k", "-t", "4k", "-b", "8k", "-s", 2, "-l", "offset", "-G", 9)
    data = (tmp_path / "f").read_bytes()
    for offset in range(0, len(data), 4096):
        rank = offset // 8192 % 2
        assert words(data[offset : offset + 16]) == [rank << 32 | offset, rank << 32 | 10]


def test_file_per_process_directories_and_several_names(tmp_path: Path) -> None:
    ior(tmp_path, "-w", "-k", *SMALL, "-F")
    assert files(tmp_path) == ["f.00000000", "f.00000001"]
    assert {(tmp_path / name).stat().st_size for name in files(tmp_path)} == {512 << 10}
    for name in files(tmp_path):
        (tmp_path / name).unlink()
    ior(tmp_path, "-w", "-k", *SMALL, "-F", "-u", "-m", "-i", 2)
    assert files(tmp_path) == ["0/f.00000000.0", "0/f.00000000.1", "1/f.00000001.0", "1/f.00000001.1"]
    shutil.rmtree(tmp_path / "0")
    shutil.rmtree(tmp_path / "1")
    launch(tmp_path, "ior", "-w", "-k", *SMALL, "-F", "-o", f"{tmp_path}/a@{tmp_path}/b", ranks=3)
    assert files(tmp_path) == ["a.00000000", "a.00000002", "b.00000001"]


def test_two_paths_of_one_directory_hold_a_file_of_each_process(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").symlink_to(tmp_path / "a")
    place = ("-F", "-o", f"{tmp_path}/a/f@{tmp_path}/b/f")
    reply = launch(tmp_path, "ior", "-w", "-r", "-W", "-R", "-k", *SMALL, *place, ranks=3)
    assert (reply.status, messages(reply), files(tmp_path)) == (0, [], [f"a/f.0000000{rank}" for rank in range(3)])
    assert launch(tmp_path, "ior", *SMALL, *place, ranks=3).status == 0
    assert files(tmp_path) == []


def test_files_and_directories_are_removed_at_the_end(tmp_path: Path) -> None:
    assert ior(tmp_path, *SMALL, "-F", "-u", "-i", 2).status == 0
    assert [path.name for path in tmp_path.iterdir()] == ["bench.jsonl"]


def test_files_that_this_run_did_not_write_stay(tmp_path: Path) -> None:
    ior(tmp_path, "-w", "-k", *SMALL)
    assert ior(tmp_path, "-r", *SMALL).status == 0
    assert files(tmp_path) == ["f"]


def test_existing_files_are_replaced_unless_they_are_to_be_used(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"x" * (3 * MIB))
    ior(tmp_path, "-w", "-k", "-E", *SMALL)
    assert (tmp_path / "f").stat().st_size == 3 * MIB
    ior(tmp_path, "-w", "-k", *SMALL)
    assert (tmp_path / "f").stat().st_size == MIB


def test_files_of_somebody_else_are_replaced_with_a_word_and_kept_with_e(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"x" * (3 * MIB))
    kept_reply = ior(tmp_path, "-w", "-i", 2, "-E", *SMALL)
    warning = f"WARNING: 1 files such as '{tmp_path}/f' are not of this run: "
    assert kept_reply.status == 0 and f"{warning}-E writes into them, and they stay\n" in kept_reply.out
    assert (tmp_path / "f").stat().st_size == 3 * MIB
    replaced = ior(tmp_path, "-w", "-i", 2, *SMALL)
    assert replaced.out.count(f"{warning}they are replaced, as -E was not given\n") == 1
    assert files(tmp_path) == []
    for option in ("-w", "-r"):
        assert "are not of this run" not in ior(tmp_path, option, "-k", *SMALL).out


def test_what_is_no_regular_file_is_never_removed(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "f")
    reply = ior(tmp_path, "-w", *SMALL)
    assert reply.status == 1
    assert messages(reply)[0].endswith(f"remove '{tmp_path}/f' failed: it is no regular file: -E writes into it")
    assert (tmp_path / "f").is_fifo()


def test_a_later_test_of_a_script_keeps_the_file_that_was_there(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"x" * MIB)
    lines = [
        "IOR START",
        f"testFile={tmp_path}/f",
        "useExistingTestFile=1",
        "writeFile=1",
        "RUN",
        "RUN",
        "IOR STOP",
        "",
    ]
    (tmp_path / "script").write_text("\n".join(lines))
    assert launch(tmp_path, "ior", "-f", tmp_path / "script", ranks=2).status == 0
    assert files(tmp_path) == ["f", "script"]


@pytest.mark.parametrize("order", ["-z", "-zz", "-z-z"])
@pytest.mark.parametrize("api", ["POSIX", "URING", "AIO", "MPIIO"])
def test_random_orders_write_what_belongs_there(tmp_path: Path, order: str, api: str) -> None:
    reply = ior(tmp_path, "-w", "-r", "-W", "-R", order, "-t", "4k", "-b", "64k", "-s", 4, "-a", api)
    assert (reply.status, messages(reply)) == (0, [])
    assert [check["bytes_checked"] for check in reply.lines_of("verification")] == [512 << 10] * 2


def test_only_as_many_processes_take_part_as_are_asked_for(tmp_path: Path) -> None:
    for letter in ("-n", "-N"):
        reply = ior(tmp_path, *SMALL, letter, 2, ranks=3)
        assert reply.status == 0
        assert {phase["bytes"] for phase in reply.lines_of("phase")} == {MIB}
        assert reply.line_of("test")["processes"] == 2


# --- data


def test_data_can_neither_be_compressed_nor_deduplicated(tmp_path: Path) -> None:
    ior(tmp_path, "-w", "-k", "-F", "-t", "64k", "-b", "2m", "-s", 2)
    data = b"".join((tmp_path / name).read_bytes() for name in files(tmp_path))
    blocks = [data[start : start + 4096] for start in range(0, len(data), 4096)]
    assert len(set(blocks)) == len(blocks) == 2048
    assert len(zlib.compress(data, 9)) > 0.99 * len(data)


def test_every_run_has_other_data_and_a_signature_gives_the_same(tmp_path: Path) -> None:
    seen = []
    for options in ((), (), ("-G", 5), ("-G", 5)):
        reply = ior(tmp_path, "-w", "-k", *SMALL, *options)
        seen.append(((tmp_path / "f").read_bytes(), reply.line_of("phase")["signature"]))
    assert seen[0] != seen[1]
    assert seen[2] == seen[3]
    assert seen[2][1] == 5
    reply = ior(tmp_path, "-r", "-R", "-G", 5, *SMALL)
    assert reply.status == 0


def test_a_signature_may_be_below_0(tmp_path: Path) -> None:
    reply = ior(tmp_path, "-w", "-k", "-l", "t", "-G", -3, *SMALL, ranks=1)
    assert (reply.status, reply.line_of("phase")["signature"], reply.line_of("test")["signature"]) == (0, -3, -3)
    assert words((tmp_path / "f").read_bytes()[:40]) == [2**64 - 3, 2**64 - 2, 2**64 - 1, 0, 1]
    assert ior(tmp_path, "-r", "-R", "-l", "t", "-G", -3, *SMALL, ranks=1).status == 0


def test_the_signature_that_was_chosen_is_printed_where_the_file_is_kept(tmp_path: Path) -> None:
    written_reply = ior(tmp_path, "-w", "-k", *SMALL)
    match = re.search(r"^Signature of the data \(for -G\): (\d+)$", written_reply.out, re.MULTILINE)
    assert match is not None
    assert ior(tmp_path, "-r", "-R", "-G", match[1], *SMALL).status == 0


@pytest.mark.parametrize("kind", ["unique", "t", "offset"])
@pytest.mark.parametrize("bit", [0, 5])
def test_a_single_flipped_bit_is_seen_with_its_place(tmp_path: Path, kind: str, bit: int) -> None:
    ior(tmp_path, "-w", "-k", "-G", 5, "-l", kind, *SMALL)
    place = 300_001
    with (tmp_path / "f").open("r+b") as file:
        file.seek(place)
        right = file.read(1)[0]
        file.seek(place)
        file.write(bytes([right ^ 1 << bit]))
    reply = ior(tmp_path, "-r", "-R", "-G", 5, "-l", kind, *SMALL)
    assert reply.status == 1
    assert f"byte {place}: 0x{right:02x} expected, 0x{right ^ 1 << bit:02x} found; 1 wrong of" in messages(reply)[0]
    assert "read check '" in messages(reply)[0] and f"{tmp_path}/f" in messages(reply)[0]
    assert rows(reply) == [] and reply.lines_of("phase") == [] and reply.lines_of("result") == []
    assert reply.line_of("verification")["bytes_wrong"] == 1
    assert reply.line_of("error")["rank"] == 1  # 300,001 is in rank 1's first block


def test_wrong_data_after_writing_withholds_the_number(tmp_path: Path) -> None:
    """Writes of rank 1 go only half through, and say that they went whole."""
    env = ior_fault(tmp_path, "pwrite", rank=1, error=-1)
    reply = ior(tmp_path, "-w", "-W", *SMALL, env=env)
    assert reply.status == 1
    assert rows(reply) == [] and reply.lines_of("result") == []
    assert reply.line_of("verification")["transfers_wrong"] == 7  # and the file is too short for the last one
    assert reply.line_of("verification")["failed"] == 8
    assert warnings(reply)[-1].startswith("WARNING: write check: ")
    assert files(tmp_path) == []


def test_checks_without_writing_or_reading(tmp_path: Path) -> None:
    ior(tmp_path, "-w", "-k", "-G", 5, *SMALL)
    for check in ("-W", "-R"):
        reply = ior(tmp_path, check, "-G", 5, *SMALL)
        assert reply.status == 0
        assert reply.line_of("verification")["bytes_checked"] == MIB
        assert reply.lines_of("phase") == []
    assert ior(tmp_path, "-R", "-G", 6, *SMALL).status == 1


def test_quit_on_error_ends_at_the_first(tmp_path: Path) -> None:
    ior(tmp_path, "-w", "-k", "-G", 5, *SMALL)
    goes_on = ior(tmp_path, "-r", "-R", "-G", 6, "-i", 2, *SMALL)
    ends = ior(tmp_path, "-r", "-R", "-G", 6, "-i", 2, "-q", *SMALL)
    assert [line["transfers_wrong"] for line in goes_on.lines_of("verification")] == [16, 16]
    assert [line["transfers_wrong"] for line in ends.lines_of("verification")] == [2]  # of each rank one


# --- whose data is read


def test_reading_what_other_nodes_wrote(tmp_path: Path) -> None:
    reply = ior(tmp_path, *SMALL, "-F", "-C", ranks=4, node_of_rank="R/2")
    read = reply.line_of("phase", operation="read")
    assert (read["remote_share"], read["rank_shift"]) == (1, 2)
    assert "written on another node: 100.0%" in reply.out
    reply = ior(tmp_path, *SMALL, "-F", ranks=4, node_of_rank="R/2")
    assert reply.line_of("phase", operation="read")["remote_share"] == 0


def test_without_whole_nodes_the_real_share_is_reported(tmp_path: Path) -> None:
    reply = ior(tmp_path, *SMALL, "-F", "-C", ranks=3, node_of_rank="R/2")  # nodes of 2 and 1: a shift by one rank
    assert reply.line_of("phase", operation="read")["remote_share"] == pytest.approx(2 / 3, abs=1e-6)


def test_on_one_node_a_warning_says_that_reordering_has_no_effect(tmp_path: Path) -> None:
    reply = ior(tmp_path, *SMALL, "-F", "-C")
    assert reply.line_of("phase", operation="read")["remote_share"] == 0
    assert (
        "WARNING: -C has no effect on the page cache: all 2 processes are on one node, which wrote what they read"
        in (warnings(reply))
    )


@pytest.mark.parametrize(("offset", "reader", "checker"), [(1, 1, 0), (2, 0, 3)])
def test_the_reader_and_the_checker_of_a_file(tmp_path: Path, offset: int, reader: int, checker: int) -> None:
    """Rank 2's data is read by rank 2 - Q; -W looks one node further, so that the reader's cache stays clean."""
    ior(tmp_path, "-w", "-k", "-G", 5, *SMALL, "-F", ranks=4)
    (tmp_path / "f.00000002").unlink()
    shift = ("-F", "-C", "-Q", offset, "-G", 5, *SMALL)
    read = ior(tmp_path, "-r", *shift, ranks=4, node_of_rank="R")
    checked = ior(tmp_path, "-W", *shift, ranks=4, node_of_rank="R")
    assert (read.line_of("error")["rank"], read.line_of("error")["node"]) == (reader, f"n{reader}")
    assert checked.line_of("error")["rank"] == checker


def test_random_readers_are_on_other_nodes(tmp_path: Path) -> None:
    for seed in (1, 2, -3):
        reply = ior(tmp_path, *SMALL, "-F", "-Z", "-X", seed, "-R", "-w", "-r", ranks=4, node_of_rank="R/2")
        assert reply.status == 0
        assert reply.line_of("phase", operation="read")["remote_share"] == 1
    reply = ior(tmp_path, *SMALL, "-F", "-ZZ", "-R", "-w", "-r", ranks=4, node_of_rank="R/2")
    assert reply.status == 0
    assert reply.line_of("phase", operation="read")["rank_shift"] is None


# --- what was in memory


def is_on_storage(reply: Reply) -> bool:
    """Are the tests' files on a file system with storage behind it?"""
    return not reply.line_of("test")["in_memory"]


def test_a_cached_read_says_that_it_measures_memory(tmp_path: Path) -> None:
    reply = ior(tmp_path, *SMALL)
    read = reply.line_of("phase", operation="read")
    assert read["cached_share"] == 1
    assert read["cache_method"] == "cachestat"
    assert "Page cache before read: 100.0% of the bytes (cachestat)" in reply.out
    if is_on_storage(reply):
        assert any(
            "100.0% of the bytes were in the page cache of the node that read them" in w for w in warnings(reply)
        )


def test_a_write_that_did_not_reach_storage_is_reported(tmp_path: Path) -> None:
    reply = ior(tmp_path, *SMALL, "-w", "-i", 2)
    if not is_on_storage(reply):
        pytest.skip("the directory of the tests has no storage behind it")
    assert {phase["dirty_share"] for phase in reply.lines_of("phase")} == {1}
    found_warnings = [w for w in warnings(reply) if "were still only in memory when the clock stopped" in w]
    assert [("(-e counts" in w) for w in found_warnings] == [True, False]  # the advice stands there once
    reply = ior(tmp_path, *SMALL, "-w", "-e")
    assert reply.line_of("phase")["dirty_share"] == 0
    assert reply.line_of("phase")["fsync_s"] > 0
    assert warnings(reply) == []


def test_dropped_pages_leave_the_cache(tmp_path: Path) -> None:
    reply = ior(tmp_path, *SMALL, "-e", "--drop-cache", "-i", 2)
    if not is_on_storage(reply):
        pytest.skip("the directory of the tests has no storage behind it")
    assert [phase["cached_share"] for phase in reply.lines_of("phase", operation="read")] == [0, 0]
    assert warnings(reply) == []


def test_a_kernel_without_cachestat_is_asked_by_mincore(tmp_path: Path) -> None:
    reply = ior_without_calls(tmp_path, [CACHESTAT], *SMALL)
    read = reply.line_of("phase", operation="read")
    assert (read["cache_method"], read["cached_share"], read["dirty_share"]) == ("mincore", 1, None)


def ior_on_two_machines(directory: Path, *options: object) -> Reply:
    """Rank 1 sees another kernel's start in its own mount namespace."""
    (directory / "boot_id").write_text("another machine\n")
    mount = f'mount --bind {directory}/boot_id /proc/sys/kernel/random/boot_id && exec "$@"'
    script = (
        'export SLURMD_NODENAME=n$OMPI_COMM_WORLD_RANK; [ "$OMPI_COMM_WORLD_RANK" = 0 ] && exec "$@"; '
        f"exec unshare --mount --map-root-user bash -c '{mount}' bash \"$@\""
    )
    command = ("/bin/bash", "-c", script, "bash", build() / "ior", "-o", directory / "f", *SMALL, *options)
    return launch(directory, *command, ranks=2, env={"OMPI_MCA_btl_vader_single_copy_mechanism": "none"})


def test_no_file_is_opened_before_the_timed_open_unless_this_machine_had_it_open(tmp_path: Path) -> None:
    written_reply = ior_on_two_machines(tmp_path, "-F", "-C", "-w", "-r", "-k")
    read = written_reply.line_of("phase", operation="read")
    assert (read["cache_method"], read["cached_share"], read["dirty_share"]) == ("new files", 0, 0)
    for options, method in (((), None), (("--cache-check",), "cachestat"), (("--drop-cache",), "cachestat")):
        read = ior(tmp_path, "-r", "-F", *SMALL, *options).line_of("phase")
        assert (read["cache_method"], read["cached_share"] is None) == (method, method is None)
    unknown = ior(tmp_path, "-r", "-F", *SMALL)
    assert "Page cache before read: unknown; " in unknown.out
    assert "is unknown (--cache-check looks, and so opens the files before the clock starts)" in unknown.out


def test_large_files_are_sampled(tmp_path: Path) -> None:
    reply = ior(tmp_path, "-t", "1m", "-b", "32m", "-w", "-r", "-B", "-e", ranks=1)
    read = reply.line_of("phase", operation="read")
    assert read["cache_pages_asked"] == 64 * 16
    assert read["cached_share"] == 0 or not is_on_storage(reply)


def test_memory_file_systems_and_no_storage_are_named(tmp_path: Path) -> None:
    memory = Path("/dev/shm")
    if memory.is_dir():
        reply = launch(tmp_path, "ior", "-o", memory / f"campaign-{tmp_path.name}", *SMALL, ranks=2)
        assert reply.line_of("test")["in_memory"] is True
        assert "which has no storage behind it: all numbers measure memory" in warnings(reply)[0]
    reply = ior(tmp_path, *SMALL, "-a", "NULL")
    assert warnings(reply) == ["WARNING: api DUMMY moves no bytes: the numbers measure this program alone"]
    assert files(tmp_path) == []


def test_direct_transfers_leave_nothing_in_the_cache(tmp_path: Path) -> None:
    for options in (["-B"], ["--posix.odirect", "-a", "URING"], ["-O", "useO_DIRECT=1", "-a", "AIO"]):
        reply = ior(tmp_path, *SMALL, "-w", "-r", "-W", "-R", *options)
        assert (reply.status, messages(reply)) == (0, [])
        if is_on_storage(reply):
            assert reply.line_of("phase", operation="read")["cached_share"] == 0
            assert warnings(reply) == []


def test_memory_of_the_node_is_held(tmp_path: Path) -> None:
    reply = ior(tmp_path, *SMALL, "-M", "64m")
    assert reply.line_of("test")["memory_per_node_bytes"] == 64 * MIB
    assert "memoryPerNode       : 64m" in reply.out
    reply = ior(tmp_path, *SMALL, "-M", "1p")
    assert reply.status == 2
    assert messages(reply) == [
        "ior: cannot take 1p of a node's memory (-M): Cannot allocate memory (ENOMEM): a node has less available"
    ]


# --- back ends


@pytest.mark.parametrize(
    "options",
    [
        ("-a", "POSIX"),
        ("-a", "POSIX", "-Y", "-g", "-F"),
        ("-a", "URING"),
        ("-a", "URING", "--queue-depth=3", "-F", "-Y"),
        ("-a", "AIO", "--queue-depth", 5),
        ("-a", "MPIIO"),
        ("-a", "MPIIO", "-c", "-e"),
        ("-a", "MPIIO", "-F", "-Y", "-H"),
        ("-a", "MPIIO", "-Y"),
        ("-a", "MMAP"),
        ("-a", "MMAP", "-F", "-z", "-Y", "--mmap.madv_dont_need", "--mmap.madv_pattern"),
    ],
)
def test_every_back_end_writes_and_reads_the_right_bytes(tmp_path: Path, options: tuple[object, ...]) -> None:
    reply = ior(tmp_path, "-w", "-r", "-W", "-R", *SMALL, *options, ranks=3)
    assert (reply.status, messages(reply)) == (0, [])
    assert [check["bytes_checked"] for check in reply.lines_of("verification")] == [3 << 19] * 2
    assert files(tmp_path) == []


BEYOND = ("-b", "5g", "-t", "1m", "-k", "-w", "-r", "-W", "-R")


@pytest.mark.parametrize(
    "options",
    [
        ("-a", "POSIX", *BEYOND),
        ("-a", "URING", *BEYOND),
        ("-a", "AIO", *BEYOND),
        ("-a", "MPIIO", "-c", *BEYOND),
        ("-a", "MPIIO", "-V", *BEYOND),
        ("-a", "MMAP", "-E", *BEYOND),
        ("-a", "HDF5", "--hdf5.noFill", *BEYOND),
        ("-a", "POSIX", "-z", *BEYOND, "-b", "1m", "-s", 6000),
    ],
)
def test_transfers_beyond_4_gib_of_a_file_are_right(tmp_path: Path, options: tuple[object, ...]) -> None:
    """Three transfers of each process, so that the file has hardly any blocks; MMAP would take them for its length."""
    if "HDF5" in options and not (build() / "hdf5.so").exists():
        options = ("-a", "MPIIO", *BEYOND)
    with (tmp_path / "f").open("wb") as file:
        file.truncate(10 << 30 if "MMAP" in options else 0)
    reply = ior(tmp_path, *options, "-O", "stoneWallingWearOutIterations=3")
    assert (reply.status, messages(reply)) == (0, [])
    assert [check["bytes_checked"] for check in reply.lines_of("verification")] == [6 * MIB] * 2
    status = (tmp_path / "f").stat()
    assert status.st_size > 5 << 30 and status.st_blocks * 512 < 64 * MIB


def test_counts_of_bytes_are_exact_up_to_64_bits(tmp_path: Path) -> None:
    reply = ior(tmp_path, "--dryRun", "-t", 8, "-b", (1 << 59) + 8, "-s", 3, ranks=2)
    assert (reply.status, reply.line_of("test")["bytes_planned"]) == (0, 2 * 3 * ((1 << 59) + 8))
    assert parse(reply.out, "stdout")[1].unparsed == ()


def test_a_list_of_transfers_grows_with_those_that_are_made(tmp_path: Path) -> None:
    """Room for all that are planned would be 27 EB."""
    settings = f"savePerOpDataCSV={tmp_path}/each,stoneWallingWearOutIterations=1100000"
    reply = ior(tmp_path, "-a", "DUMMY", "-w", "-t", 8, "-b", "7e", "-O", settings, ranks=1)
    assert (reply.status, messages(reply)) == (0, [])
    with (tmp_path / "each-0-00000.csv").open() as file:
        assert sum(1 for _ in file) == reply.line_of("phase")["transfers"] + 1 == 1_100_001


def test_without_io_uring_posix_aio_is_used(tmp_path: Path) -> None:
    reply = ior_without_calls(tmp_path, [IO_URING_SETUP], "-a", "URING", "-w", "-r", "-R", *SMALL)
    assert reply.status == 0
    assert (reply.line_of("test")["api"], reply.line_of("test")["api_asked"]) == ("AIO", "URING")
    assert "WARNING: this machine has no URING: api AIO is used" in warnings(reply)


def ior_without_calls(directory: Path, numbers: list[int], *options: object) -> Reply:
    """On a kernel that lacks these system calls."""
    wrapper = build() / "test" / "without_calls"
    make(str(wrapper.relative_to(SOURCES)))
    command = [*map(str, numbers), "--", build() / "ior", "-o", directory / "f", *options]
    return launch(directory, "without_calls", *command, ranks=2, directory=wrapper.parent)


def test_files_get_their_blocks_at_open_where_that_is_asked_for_or_writes_would_take_turns(tmp_path: Path) -> None:
    for options, preallocated in (
        (["-p"], True),
        (["-p", "-a", "MPIIO"], True),
        (["-a", "URING", "-B"], True),
        (["-a", "URING"], False),
        (["-B"], False),
    ):
        reply = ior(tmp_path, "-w", "-W", *SMALL, *options)
        assert (reply.status, messages(reply)) == (0, [])
        assert reply.line_of("test")["preallocated"] is preallocated
        assert ("preallocated        : 1" in reply.out) is preallocated
    reply = ior(tmp_path, "-w", "-p", "-t", "64k", "-b", "1p")
    assert reply.status == 1
    assert "(ENOSPC)" in messages(reply)[0] or "(EFBIG)" in messages(reply)[0]
    assert rows(reply) == [] and files(tmp_path) == []


# --- time


def test_a_deadline_counts_what_was_moved_until_then(tmp_path: Path) -> None:
    reply = ior(tmp_path, "-F", "-D", 1, "-t", "64k", "-b", "64g", "-w", "-r", "-R", "-Y")
    write, read = reply.lines_of("phase")
    assert reply.status == 0
    assert write["elapsed_s"] > 0.9
    assert 0 < write["bytes"] == write["stonewall"]["bytes"] < 128 << 30
    assert write["bytes"] >= read["bytes"] == reply.line_of("verification")["bytes_checked"]
    assert read["bytes"] == write["bytes"] or read["stonewall"] is not None  # reading has a deadline, too


def test_a_deadline_that_nobody_met_is_no_stonewall(tmp_path: Path) -> None:
    reply = ior(tmp_path, *SMALL, "-D", 600)
    assert [phase["stonewall"] for phase in reply.lines_of("phase")] == [None, None]
    assert [line[10:12] for line in summary(reply)] == [["NA", "NA"]] * 2


def test_wearing_out_brings_all_to_the_same_amount(tmp_path: Path) -> None:
    options = ("-F", "-D", 1, "-t", "64k", "-b", "64g", "-w", "-k", "-Y", "-O", "stoneWallingWearOut=1")
    reply = ior(tmp_path, *options)
    write = reply.line_of("phase")
    sizes = {(tmp_path / name).stat().st_size for name in files(tmp_path)}
    assert len(sizes) == 1
    assert 2 * sizes.pop() == write["bytes"] >= write["stonewall"]["bytes"] > 0


def test_a_later_read_goes_by_the_file_of_the_stonewall(tmp_path: Path) -> None:
    status, sizes = tmp_path / "stonewall", ("-F", "-t", "64k", "-b", "64g")
    wall = f"stoneWallingStatusFile={status},stoneWallingWearOut=1"
    write = ior(tmp_path, *sizes, "-w", "-k", "-Y", "-D", 1, "-O", wall).line_of("phase")
    assert int(status.read_text()) * 2 * (64 << 10) == write["bytes"]
    read = ior(tmp_path, *sizes, "-r", "-O", wall)
    assert (read.status, read.line_of("phase")["bytes"]) == (0, write["bytes"])
    status.unlink()
    absent = ior(tmp_path, *sizes, "-r", "-O", wall)
    assert absent.status == 2
    assert "has no number of transfers: a run with -w writes it" in messages(absent)[0]


def test_numbers_of_each_rank_go_to_a_csv_file(tmp_path: Path) -> None:
    reply = ior(tmp_path, *SMALL, "-i", 2, "-O", f"saveRankPerformanceDetailsCSV={tmp_path}/ranks.csv")
    table = list(csv.DictReader((tmp_path / "ranks.csv").open()))
    assert [(row["access"], row["rank"]) for row in table] == [
        ("write", "0"),
        ("write", "1"),
        ("read", "0"),
        ("read", "1"),
    ] * 2
    for row, phase in zip(table[::2], reply.lines_of("phase"), strict=True):
        assert 0 < float(row["runtime"]) <= float(row["runtime-with-openclose"]) <= phase["elapsed_s"] + 1e-6
        assert float(row["throughput"]) >= float(row["throughput-withopenclose"]) > 0
        # Bytes a second, as IOR has it.
        assert float(row["throughput-withopenclose"]) * float(row["runtime-with-openclose"]) == pytest.approx(512 << 10)
    failing = ior(tmp_path, *SMALL, "-w", "-O", "saveRankPerformanceDetailsCSV=/dev/full")
    assert (failing.status, failing.line_of("error")["errno_name"]) == (1, "ENOSPC")


@pytest.mark.parametrize("api", ["POSIX", "URING"])
def test_single_transfers_are_timed_on_request_and_at_no_other_time(api: str, tmp_path: Path) -> None:
    reply = ior(tmp_path, "-a", api, *SMALL, "-e", "--latency", ranks=2)
    for phase in reply.lines_of("phase"):
        percentiles = list(phase["latency_percentiles_s"].values())
        assert percentiles == sorted(percentiles) and 0 < percentiles[-1] <= phase["elapsed_s"] * 33 / 32
        over_time = phase["over_time"]
        assert sum(over_time["bytes"]) == phase["bytes"]
        assert (len(over_time["bytes"]) - 1) * over_time["interval_s"] <= phase["elapsed_s"]
        assert len(over_time["bytes"]) <= 60
    elements = re.findall(r"^(Latency|Bandwidth) of (write|read) ", reply.out, re.MULTILINE)
    assert elements == [(element, access) for access in ("write", "read") for element in ("Latency", "Bandwidth")]
    assert not parse(reply.out, "stdout")[1].unparsed
    bare_reply = ior(tmp_path, "-a", api, *SMALL, ranks=2)
    assert "Latency of" not in bare_reply.out
    assert not any("over_time" in phase for phase in bare_reply.lines_of("phase"))


# --- a mixed load


MIXED = ("-w", "--mixed", 50, "-t", "64k", "-b", "256k", "-s", 2)  # 512 KiB a process
SIDES = ("mix-write", "mix-read")


@pytest.mark.parametrize(
    "options",
    [
        ("-r",),
        ("-F", "-e", "-z", "-m", "-i", 2),
        ("-F", "-u", "-C", "--drop-cache", "-Y"),
        ("-a", "URING", "-zz"),
        ("-a", "MPIIO", "-c", "-g"),
        ("-a", "MPIIO", "-V"),
        ("-a", "MMAP", "-l", "o"),
        ("-a", "HDF5", "-c"),
        ("-l", "t", "-O", "minTimeDuration=1"),
    ],
)
def test_some_read_what_was_written_while_others_write(tmp_path: Path, options: tuple[object, ...]) -> None:
    if "HDF5" in options and not (build() / "hdf5.so").exists():
        options = ("-a", "MPIIO", "-F")
    reply = ior(tmp_path, *MIXED, "-W", "-R", "--latency", *options, ranks=4, node_of_rank="R/2")
    assert (reply.status, messages(reply)) == (0, [])
    for iteration in range(2 if "-i" in options else 1):
        phases = {phase["operation"]: phase for phase in reply.lines_of("phase", iteration=iteration)}
        assert [name for name in phases if name in SIDES] == list(SIDES)
        for name in SIDES:
            phase = phases[name]
            assert phase["processes"] == 2 and phase["bytes"] >= MIB and phase["bytes"] % (MIB // 2) == 0
            assert phase["rate_mib_s"] == pytest.approx(phase["bytes"] / MIB / phase["elapsed_s"], rel=1e-4, abs=1e-3)
            timed = reply.lines_of("latency", operation=name, iteration=iteration)
            assert phase["transfers"] == sum(line["count"] for line in timed)
            assert sum(phase["over_time"]["bytes"]) == phase["bytes"]
        assert max(phases[name]["beside_share"] for name in SIDES) == 1
        assert phases["mix-read"]["signature"] == phases["write"]["signature"] == ~phases["mix-write"]["signature"]
        checks = [check["bytes_checked"] for check in reply.lines_of("verification", iteration=iteration)]
        assert checks == [2 * MIB, MIB, MIB] + [2 * MIB] * ("-r" in options)
    assert "mixed               : 2 tasks read, 2 write\n" in reply.out
    records, seen = parse(reply.out, "stdout")
    assert seen.unparsed == () and {*SIDES, "write"} <= {record.operation for record in records}
    assert files(tmp_path) == []


def test_both_sides_of_a_mixed_load_go_on_until_the_deadline(tmp_path: Path) -> None:
    nodes = "R>8?2:R>5"  # of 6, 3 and 2 processes
    reply = ior(tmp_path, *MIXED, "-F", "-D", 1, "-W", "-R", "--latency", ranks=11, node_of_rank=nodes)
    assert reply.status == 0
    assert [row[0] for row in rows(reply)] == ["write", *SIDES] == [row[0] for row in summary(reply)]
    for name, processes in (("mix-write", 5), ("mix-read", 6)):
        phase = reply.line_of("phase", operation=name)
        assert phase["processes"] == processes
        assert phase["stonewall"]["elapsed_s"] >= 1 and phase["bytes"] > 0
        assert phase["bytes"] == sum(phase["over_time"]["bytes"]) == 65536 * phase["transfers"]
        assert phase["transfers"] == sum(line["count"] for line in reply.lines_of("latency", operation=name))


def test_a_side_that_is_alone_for_a_tenth_of_its_time_is_named(tmp_path: Path) -> None:
    """Which one that is, the machine decides; here the side that opens its files late, if the other does not wait."""
    reply = ior(tmp_path, *MIXED, "-a", "DUMMY", "--dummy.delay-create", 300_000, ranks=2)
    phases = [reply.line_of("phase", operation=name) for name in SIDES]
    shortest_s = min(phase["elapsed_s"] for phase in phases)
    for phase in phases:
        assert phase["beside_share"] == pytest.approx(shortest_s / phase["elapsed_s"], rel=1e-3, abs=1e-6)
    alone = [phase["operation"] for phase in phases if phase["beside_share"] < 0.9]
    assert [warning.split()[1] for warning in warnings(reply) if "keeps both at it" in warning] == alone


def test_a_mixed_load_reads_the_files_of_an_earlier_run(tmp_path: Path) -> None:
    ior(tmp_path, "-w", "-k", *SMALL, "-G", 3)
    before = (tmp_path / "f").read_bytes()
    reply = ior(tmp_path, "--mixed", 1, *SMALL, "-R", "-W", "-G", 3)
    assert (reply.status, [phase["operation"] for phase in reply.lines_of("phase")]) == (0, list(SIDES))
    assert (tmp_path / "f").read_bytes() == before and files(tmp_path) == ["f"]


@pytest.mark.parametrize(("operation", "after"), [("write", 8), ("read", 4)])
def test_what_fails_on_one_side_leaves_both_without_a_number(tmp_path: Path, operation: str, after: int) -> None:
    reply = ior(tmp_path, *MIXED, "-F", "-k", ranks=2, env=ior_fault(tmp_path, f"p{operation}", after=after))
    assert reply.status == 1
    failed = len([message for message in messages(reply) if f"{operation} '{tmp_path}/f.0000000" in message])
    assert failed >= 1
    for name in SIDES:
        assert f"{name:10}INVALID: {failed} operations failed in repetition 0\n" in reply.out
    assert {phase["operation"] for phase in reply.lines_of("phase")} == {"write"}
    assert files(tmp_path) == ["f.00000000", "f.00000001"]


def test_wrong_bytes_of_a_mixed_load_are_seen_on_both_sides(tmp_path: Path) -> None:
    turned = bench_faults.fault_environment(tmp_path / "f.mixed", "pwrite", -2, None, 0)
    written_reply = ior(tmp_path, *MIXED, "-W", "-K", "-G", 5, ranks=2, env=turned)
    assert (written_reply.status, rows(written_reply)[1:]) == (1, [])
    assert "write check" in messages(written_reply)[0] and f"{tmp_path}/f.mixed" in messages(written_reply)[0]
    assert files(tmp_path) == ["f", "f.mixed"]
    (tmp_path / "f.mixed").unlink()
    with (tmp_path / "f").open("r+b") as file:
        file.seek(300_001)
        right = file.read(1)[0]
        file.seek(300_001)
        file.write(bytes([right ^ 1]))
    read = ior(tmp_path, "--mixed", 50, *SMALL, "-R", "-G", 5, ranks=2)
    assert (read.status, rows(read), read.line_of("verification")["bytes_wrong"]) == (1, [], 1)
    assert f"byte 300001: 0x{right:02x} expected" in messages(read)[0]
    assert files(tmp_path) == ["f"]


def test_a_file_of_the_mixed_load_s_name_stays(tmp_path: Path) -> None:
    (tmp_path / "f.mixed").write_text("mine")
    reply = ior(tmp_path, *MIXED)
    assert reply.status == 1
    assert "it exists, and is not of this run: remove it, or give another -o" in messages(reply)[0]
    assert (tmp_path / "f.mixed").read_text() == "mine" and files(tmp_path) == ["f.mixed"]


def test_a_process_far_from_the_mean_is_named(tmp_path: Path) -> None:
    delays = ("-a", "DUMMY", "--dummy.delay-create", 2_500_000, "--dummy.delay-only-rank0")
    texts = ior_fault(tmp_path, "none") | {"CLOCK_SLEEPS": "1"}
    reply = ior(tmp_path, *SMALL, "-w", "-j", 1, *delays, ranks=3, env=texts)
    assert reply.line_of("phase")["elapsed_s"] == pytest.approx(2.5)
    found_warnings = [w for w in warnings(reply) if "(-j)" in w]
    assert len(found_warnings) == 1
    assert "write 0: 1 processes took more than 1 s (-j) more or less than the mean of 0.833 s" in found_warnings[0]
    assert "the furthest: rank 0, 2.500" in found_warnings[0]


def test_no_storage_can_take_its_time(tmp_path: Path) -> None:
    delays = ("--dummy.delay-xfer", 20_000, "--dummy.delay-sync", 100_000, "--dummy.delay-close", 100_000)
    write, read = ior(tmp_path, "-a", "DUMMY", *SMALL, "-e", *delays, ranks=1).lines_of("phase")
    assert write["elapsed_s"] > 8 * 0.02 + 0.2 and write["latency_s"] >= 0.02
    assert read["elapsed_s"] > 8 * 0.02 + 0.1


def test_random_reads_go_to_the_whole_file_however_long_it_is(tmp_path: Path) -> None:
    """`-zz` reads a file of an earlier run: 1 MiB of data, then a hole, and the settings name no more than 128 KiB."""
    ior(tmp_path, "-w", "-k", *SMALL)
    read = ior(tmp_path, "-r", "-zz", "-t", "4k", "-b", "64k", "-G", 1)
    assert (read.status, read.line_of("phase")["bytes"]) == (0, 128 << 10)
    with (tmp_path / "f").open("r+b") as file:
        file.truncate(20_000)
    assert ior(tmp_path, "-r", "-zz", "-t", "4k", "-b", "64k", "-G", 1).status == 0


def test_reading_with_a_deadline_goes_by_the_length_of_kept_files(tmp_path: Path) -> None:
    ior(tmp_path, "-w", "-k", "-F", "-t", "64k", "-b", "1m")
    reply = ior(tmp_path, "-r", "-F", "-D", 600, "-t", "64k", "-b", "64g")
    assert (reply.status, reply.line_of("phase")["bytes"]) == (0, 2 * MIB)


@pytest.mark.parametrize("readers", [("-C",), ("-Z", "-X", 3, "-i", 2), ("-ZZ", "-zz")])
def test_each_reader_goes_by_the_length_of_the_file_that_it_reads(tmp_path: Path, readers: tuple[object, ...]) -> None:
    """Beyond the end of a shorter file than another's, a read would fail."""
    for rank in range(4):
        with (tmp_path / f"f.{rank:08}").open("wb") as file:
            file.truncate((rank + 1) << 20)
    reply = ior(tmp_path, "-r", "-F", "-D", 600, "-t", "64k", "-b", "64m", *readers, ranks=4, node_of_rank="R/2")
    assert reply.status == 0, reply.err
    if readers == ("-C",):
        assert reply.line_of("phase")["bytes"] == 10 * MIB


def test_a_pause_may_be_a_part_of_a_second(tmp_path: Path) -> None:
    reply = ior(tmp_path, *SMALL, "-d", 0.1, ranks=1)
    assert reply.out.count("delaying 0.1 seconds . . .") == 2


def test_a_pause_before_each_phase(tmp_path: Path) -> None:
    reply = ior(tmp_path, *SMALL, "-d", 1, ranks=1)
    assert reply.out.count("delaying 1 seconds . . .") == 2
    assert reply.line_of("end")["unix_time"] - reply.line_of("start")["unix_time"] > 2


def test_no_phase_starts_after_the_time_is_up(tmp_path: Path) -> None:
    """On a clock on which the pause before writing takes 100 s, longer than the minute."""
    env = ior_fault(tmp_path, "none") | {"CLOCK_SLEEPS": "100"}
    reply = ior(tmp_path, *SMALL, "-T", 1, "-d", 1, "-i", 2, ranks=1, env=env)
    assert [row[0] for row in rows(reply)] == ["write"]
    assert reply.status == 0


# --- scripts

SCRIPT = """
# tests of a day
IOR START
  testFile={directory}/f, filePerProc=1   # every rank its own
  writeFile=1
  readFile=1
  transferSize=64k
  individualDataSets=0
RUN
  blockSize=128k
  numTasks=1
RUN
  api=URING, queueDepth=4, numTasks=0
RUN
IOR STOP
"""


def test_the_options_are_the_defaults_of_a_script_and_one_that_it_sets_itself_is_named(tmp_path: Path) -> None:
    (tmp_path / "script").write_text(SCRIPT.format(directory=tmp_path))
    reply = launch(tmp_path, "ior", "-W", "-b", "256k", "-f", tmp_path / "script", "-t", "4k", "-i", 2, ranks=2)
    assert (reply.status, messages(reply)) == (0, [])
    assert warnings(reply)[0] == "WARNING: option -t (transferSize) is not used: the script sets it otherwise"
    tests = reply.lines_of("test")
    assert [test["block_bytes"] for test in tests] == [256 << 10, 128 << 10, 128 << 10]
    assert {test["transfer_bytes"] for test in tests} == {64 << 10}
    assert [(test["api"], test["processes"]) for test in tests] == [("POSIX", 2), ("POSIX", 1), ("URING", 2)]
    assert len(reply.lines_of("verification")) == 6  # -W
    assert [line[12] for line in summary(reply)] == ["0", "0", "1", "1", "2", "2"]
    assert [line["iterations"] for line in reply.lines_of("result")] == [2] * 6
    assert files(tmp_path) == ["script"]


OF_IOR_4 = """\
IOR START
  blockSize=128k, transferSize=64k, segmentCount=2
  minTimeDuration=1
RUN
  minTimeDuration=0
  stoneWallingWearOutIterations=3, checkWrite=1, writeFile=1, readFile=1
RUN
  stoneWallingWearOutIterations=0
  randomOffset=1, --randomPrefill=32k, --random-offset-seed=7, --posix.rangelocks=1
RUN
  randomOffset=0, --randomPrefill=0, --random-offset-seed=-1, --posix.rangelocks=0
  api=MPIIO, --mpiio.useFileView=1, -c=1, hintsFileName={directory}/hints, showHints=1
RUN
  api=POSIX, --mpiio.useFileView=0, -c=0, hintsFileName=, showHints=0
  interIODelay=20000, memoryPerTask=4m, readFile=0
  savePerOpDataCSV={directory}/each, saveRankPerformanceDetailsCSV={directory}/ranks.csv
RUN
IOR STOP
"""


def test_settings_of_ior_4_in_a_script(tmp_path: Path) -> None:
    (tmp_path / "script").write_text(OF_IOR_4.format(directory=tmp_path))
    (tmp_path / "hints").write_text("IOR_HINT__MPI__cb_nodes=1\n")
    # The file of the command line, which the script does not name.
    reply = ior(tmp_path, "-f", tmp_path / "script", ranks=2)
    assert (reply.status, messages(reply)) == (0, [])
    assert {test["test_file"] for test in reply.lines_of("test")} == {str(tmp_path / "f")}
    assert not [line for line in warnings(reply) if "not used" in line]
    pass_bytes = 2 * 2 * (128 << 10)
    for phase in reply.lines_of("phase", test=0):  # again and again, each time from the beginning
        assert phase["transfer_s"] >= 1 and phase["bytes"] % (pass_bytes // 2) == 0 and phase["bytes"] >= pass_bytes
    limited = reply.lines_of("phase", test=1)
    assert [phase["transfers"] for phase in limited] == [6, 6]
    assert reply.line_of("verification", test=1)["bytes_checked"] == 6 << 16
    assert [check["bytes_checked"] for check in reply.lines_of("verification")[1:]] == [pass_bytes] * 3
    paused = reply.line_of("phase", test=4)
    assert paused["transfer_s"] >= 4 * 0.02
    (head, *transfers), (_, *other_transfers) = (
        list(csv.reader((tmp_path / f"each-0-0000{rank}.csv").open())) for rank in (0, 1)
    )
    assert (head, len(transfers), len(other_transfers)) == (["time", "runtime", "tp"], 4, 4)
    for time, runtime, rate in transfers:
        assert float(runtime) * float(rate) == pytest.approx(64 << 10, rel=1e-5)
        assert float(time) + float(runtime) <= paused["elapsed_s"]
    assert [row["access"] for row in csv.DictReader((tmp_path / "ranks.csv").open())] == ["write"] * 2
    assert "hint                : cb_nodes = 1\n" in reply.out
    assert [test["file_view"] for test in reply.lines_of("test")] == [False] * 3 + [True, False]


def test_warnings_are_errors_on_request_and_nothing_is_lost_by_one(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("somebody's")
    reply = ior(tmp_path, *SMALL, "-w", "--warningAsErrors", "-i", 3, ranks=1)
    assert (reply.status, reply.lines_of("phase")) == (1, [])
    assert (tmp_path / "f").read_text() == "somebody's"
    reply = ior(tmp_path, *SMALL, "-w", "--warningAsErrors", "-E", "-X", 3, "--dryRun", ranks=1)
    assert reply.status == 1
    assert warnings(reply) == ["WARNING: -X (reorderTasksRandomSeed) is not used: nobody reads at random: -Z does"]
    assert (tmp_path / "f").read_text() == "somebody's"
    (tmp_path / "f").unlink()
    # What a number measures is told, and no error.
    assert ior(tmp_path, *SMALL, "-w", "-r", "--warningAsErrors", ranks=1).status == 0


HDF5_TESTS = """\
IOR START
  api=HDF5, collective=1, segmentCount=3, setTimeStampSignature=5, dataPacketType=offset
  checkWrite=1, checkRead=1, writeFile=1, readFile=1, keepFile=1, showHints=1
RUN
  collective=0, filePerProc=1, reorderTasks=1, fsync=1, fsyncPerWrite=1
RUN
  filePerProc=0, segmentCount=1, keepFile=0, testFile={directory}/g
  --hdf5.chunkSize=4k, --hdf5.setAlignment=4k, --hdf5.noFill=1, --hdf5.collectiveMetadata=1
RUN
IOR STOP
"""


def test_hdf5_files_have_the_layout_of_ior_or_the_build_s_lack_is_named(tmp_path: Path) -> None:
    (tmp_path / "script").write_text(HDF5_TESTS.format(directory=tmp_path))
    sizes = ("-t", "32k", "-b", "64k", "-f", tmp_path / "script")
    reply = ior(tmp_path, *sizes, ranks=2, node_of_rank="R")
    if not (build() / "hdf5.so").exists():
        assert reply.status == 2
        assert re.match(
            r".*api \(-a\) HDF5 is not there: this program was built without it, .*: .+", messages(reply)[0]
        )
        return
    assert (reply.status, messages(reply)) == (0, [])
    tests = reply.lines_of("test")
    assert [(test["api"], test["hdf5"]["chunk_elements"]) for test in tests] == [
        ("HDF5", 0),
        ("HDF5", 0),
        ("HDF5", 4096),
    ]
    assert {check["bytes_checked"] for check in reply.lines_of("verification")} == {2 * 3 << 16, 2 << 16}
    assert [phase["bytes"] for phase in reply.lines_of("phase")] == [2 * 3 << 16] * 4 + [2 << 16] * 2
    assert {phase["remote_share"] for phase in reply.lines_of("phase", test=1, operation="read")} == {1.0}
    shared_data = (tmp_path / "f").read_bytes()
    # In the dataset of a segment the blocks of the ranks follow each other: rank << 32 | offset begins each block.
    for segment in range(3):
        for rank in range(2):
            offset = (segment * 2 + rank) << 16
            stamp = struct.pack("<QQ", rank << 32 | offset, rank << 32 | 6)
            at = shared_data.find(stamp)
            assert at > 0 and words(shared_data[at + 4096 : at + 4112]) == [rank << 32 | 2 * offset, rank << 32 | 518]
    assert [f"Dataset-0000.{segment:04}".encode() in shared_data for segment in range(4)] == [True, True, True, False]
    assert sorted(files(tmp_path)) == ["f", "f.00000000", "f.00000001", "script"]


def test_a_later_test_reads_and_removes_what_an_earlier_one_kept(tmp_path: Path) -> None:
    lines = [f"IOR START\ntestFile={tmp_path}/f\nwriteFile=1\nkeepFile=1\nRUN", "writeFile=0\nreadFile=1", "keepFile=0"]
    (tmp_path / "script").write_text("\n".join([*lines, "RUN", "IOR STOP", ""]))
    reply = launch(tmp_path, "ior", "-f", tmp_path / "script", ranks=2)
    assert [phase["operation"] for phase in reply.lines_of("phase")] == ["write", "read"]
    assert files(tmp_path) == ["script"]


def test_settings_after_the_last_run_of_a_script_are_a_test_as_in_ior(tmp_path: Path) -> None:
    (tmp_path / "script").write_text(f"IOR START\ntestFile={tmp_path}/f\nwriteFile=1\nrun\nblockSize=2m\n  ior stop\n")
    reply = launch(tmp_path, "ior", "-f", tmp_path / "script", ranks=2)
    assert (reply.status, messages(reply)) == (0, [])
    assert [test["block_bytes"] for test in reply.lines_of("test")] == [1 << 20, 2 << 20]


def test_a_check_asked_for_before_the_script_leaves_its_tests_what_they_are(tmp_path: Path) -> None:
    """As the tutorial says of `./IOR -W -f script`: it "defaults all tests in 'script' to use write data checking"."""
    text = f"IOR START\ntestFile={tmp_path}/f\nRUN\nfilePerProc=1\nRUN\nIOR STOP\n"
    (tmp_path / "script").write_text(text)
    reply = launch(tmp_path, "ior", "-W", "-f", tmp_path / "script", ranks=2)
    assert (reply.status, messages(reply)) == (0, [])
    assert [phase["operation"] for phase in reply.lines_of("phase")] == ["write", "read"] * 2
    assert [check["bytes_wrong"] for check in reply.lines_of("verification")] == [0, 0]
    (tmp_path / "script").write_text(text.replace("RUN", "checkWrite=1\nRUN", 1))
    reply = launch(tmp_path, "ior", "-W", "-f", tmp_path / "script", ranks=2)
    assert reply.status == 2
    assert "add -w, or -G" in messages(reply)[0]


def test_a_wrong_script_is_refused_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "script").write_text("IOR START\nblockSize=3k\ntransferSize=2k\nRUN\nIOR STOP\n")
    reply = launch(tmp_path, "ior", "-f", tmp_path / "script", ranks=2)
    assert reply.status == 2
    assert messages(reply) == [
        f"ior: script '{tmp_path}/script' line 4: block size (-b) 3072 is not a multiple of the transfer size (-t) 2048"
    ]
    reply = launch(tmp_path, "ior", "-f", tmp_path / "absent", ranks=2)
    assert (reply.status, len(messages(reply))) == (2, 1)
    assert "No such file or directory (ENOENT)" in messages(reply)[0]


# --- faults


def ior_fault(directory: Path, call: str, rank: int | None = None, error: int = 5, after: int = 0) -> dict[str, str]:
    return bench_faults.fault_environment(directory / "f", call, error, rank, after)


@pytest.mark.parametrize(
    ("call", "error", "operation", "text"),
    [
        ("pwrite", 28, "write", "No space left on device (ENOSPC), at offset 393216"),
        ("pread", 5, "read", "Input/output error (EIO), at offset 393216"),
        ("fsync", 5, "fsync", "Input/output error (EIO)"),
        ("close", 122, "close", "Disk quota exceeded (EDQUOT)"),
    ],
)
def test_a_failing_call_is_named_and_nothing_looks_valid(
    tmp_path: Path, call: str, error: int, operation: str, text: str
) -> None:
    env = ior_fault(tmp_path, call, rank=1, error=error, after=2 if call in ("pwrite", "pread") else 0)
    reply = ior(tmp_path, *SMALL, "-e", "-w", "-r", "-i", 3, "-q", env=env, ranks=2, node_of_rank="R")
    assert reply.status == 1
    assert messages(reply) == [f"ior: rank 1 on n1: {operation} '{tmp_path}/f' failed: {text}"]
    assert reply.line_of("error")["errno"] == error
    assert [row[0] for row in rows(reply)] == (["write"] if operation == "read" else [])
    assert ("Max Read" in reply.out, "Max Write" in reply.out) == (False, operation == "read")
    assert reply.line_of("end")["status"] == "failed"
    assert files(tmp_path) == []


def test_a_failed_repetition_is_marked_and_the_others_are_measured(tmp_path: Path) -> None:
    """The file of the first repetition cannot be written, the others can."""
    env = bench_faults.fault_environment(tmp_path / "f.0", "pwrite", 28, 1)
    reply = ior(tmp_path, *SMALL, "-m", "-i", 3, env=env)
    assert reply.status == 1
    assert "write     INVALID: 1 operations failed in repetition 0\n" in reply.out
    assert [(row[0], row[10]) for row in rows(reply)] == [("write", "1"), ("read", "1"), ("write", "2"), ("read", "2")]
    assert "\nINVALID: 1 operations failed: the repetitions in which they did are in no number above.\n" in reply.out
    assert [(result["operation"], result["iterations"]) for result in reply.lines_of("result")] == [
        ("write", 2),
        ("read", 2),
    ]
    assert (reply.line_of("end")["status"], files(tmp_path)) == ("failed", [])
    ended_reply = ior(tmp_path, *SMALL, "-m", "-i", 3, "-q", env=env)
    assert (ended_reply.status, rows(ended_reply)) == (1, [])
    assert "write     INVALID: 1 operations failed in repetition 0\n" in ended_reply.out


def test_a_file_that_may_not_become_that_long_is_an_error_and_no_end(tmp_path: Path) -> None:
    reply = bench_faults.launch_with_file_limit(
        tmp_path, 1, 256, "ior", "-o", tmp_path / "f", *SMALL, "-w", "-F", ranks=2
    )
    assert reply.status == 1
    assert "File too large (EFBIG)" in messages(reply)[0] and "rank 1 on" in messages(reply)[0]
    assert (reply.line_of("end")["status"], rows(reply), files(tmp_path)) == ("failed", [], [])


def test_short_transfers_are_continued_or_an_error(tmp_path: Path) -> None:
    for call in ("pwrite", "pread"):
        env = ior_fault(tmp_path, call, error=0)
        reply = ior(tmp_path, "-t", "64k", "-b", "64k", "-w", "-r", "-R", "-G", 3, env=env)
        assert (reply.status, messages(reply)) == (0, [])
        reply = ior(tmp_path, "-t", "64k", "-b", "64k", "-w", "-r", "-x", env=env, ranks=1)
        assert reply.status == 1
        assert "32768 of 65536 bytes" in messages(reply)[0] and "(one attempt, -x)" in messages(reply)[0]


def test_files_with_errors_are_kept_on_request(tmp_path: Path) -> None:
    env = ior_fault(tmp_path, "pwrite", rank=1, error=28, after=2)
    assert ior(tmp_path, *SMALL, "-K", env=env).status == 1
    assert files(tmp_path) == ["f"]


def test_absent_files_and_directories_are_named(tmp_path: Path) -> None:
    reply = launch(tmp_path, "ior", "-o", tmp_path / "no" / "f", *SMALL, ranks=2)
    assert reply.status == 1
    assert messages(reply) == [
        f"ior: rank {rank} on {reply.lines[0]['rank_to_node'][0]['node']}: open '{tmp_path}/no/f' failed: "
        "No such file or directory (ENOENT)"
        for rank in range(2)
    ]
    reply = ior(tmp_path, *SMALL, "-r")
    assert reply.status == 1 and rows(reply) == []


def test_a_file_that_is_too_short_is_no_number(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"x" * 100_000)
    reply = ior(tmp_path, "-r", *SMALL, ranks=1)
    assert reply.status == 1
    assert "got 34464 of 65536 bytes at offset 65536: the file ends there" in messages(reply)[0]
    assert rows(reply) == []


def test_alignment_errors_of_direct_transfers_are_explained(tmp_path: Path) -> None:
    reply = ior(tmp_path, "-B", "-t", 1000, "-b", 2000, ranks=1)
    if reply.status == 0:
        pytest.skip("the file system of the tests takes direct transfers of any size")
    assert "O_DIRECT wants -t and offsets in multiples of" in messages(reply)[0]
    assert "-t 1000, offset 0" in messages(reply)[0]
    assert files(tmp_path) == []


@pytest.mark.parametrize("layout", [["-F"], ["-F", "-u"]])
def test_a_dead_rank_ends_the_run_and_the_files_go(tmp_path: Path, layout: list[str]) -> None:
    """Rank 1 kills itself while all write; the others are ended by the launcher and clean up, rank 1's file too."""
    script = '[ "$OMPI_COMM_WORLD_RANK" = 1 ] && (sleep 1; kill -9 $$) & exec "$@"'
    command = [build() / "ior", "-o", tmp_path / "f", "-w", *layout, "-Y", "-t", "64k", "-b", "64g"]
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "dying").write_text(f"#!/bin/bash\n{script}\n")
    (tmp_path / "bin" / "dying").chmod(0o755)
    reply = launch(tmp_path, "dying", *command, ranks=3, directory=tmp_path / "bin")
    assert reply.status != 0
    assert reply.lines_of("end") == [] and rows(reply) == []
    assert [name for name in files(tmp_path) if not name.startswith("bin")] == []


@pytest.mark.parametrize("collective", [[], ["-c"]])
def test_mpi_io_that_is_cut_short_says_why(tmp_path: Path, collective: list[str]) -> None:
    command = ["-a", "MPIIO", *collective, "-w", "-t", "256k", "-b", "1m", "-o", tmp_path / "f"]
    reply = bench_faults.launch_with_file_limit(tmp_path, 0, 512, "ior", *command, ranks=2)
    assert reply.status == 1
    assert any(line.startswith("ior: rank 0 on ") and "File too large (EFBIG)" in line for line in messages(reply))
    assert rows(reply) == []
    assert files(tmp_path) == []


def test_a_hint_for_another_layer_is_a_warning(tmp_path: Path) -> None:
    """IOR's own examples contain hints for GPFS next to those for MPI."""
    (tmp_path / "hints").write_text("IOR_HINT__GPFS__important=1\nIOR_HINT__MPI__cb_buffer_size=77777\n")
    words = ("-a", "MPIIO", "-H", "-w", "-b", "256k", "-o", tmp_path / "f", "-U", tmp_path / "hints")
    reply = launch(tmp_path, "ior", *words, ranks=2)
    assert (reply.status, messages(reply)) == (0, [])
    assert "hint                : cb_buffer_size = 77777\n" in reply.out
    problem = "is not used: only IOR_HINT__MPI__NAME reaches the library"
    assert f"WARNING: hint IOR_HINT__GPFS__important {problem}" in warnings(reply)


def test_hints_of_the_environment_reach_mpi_io(tmp_path: Path) -> None:
    hints = {"IOR_HINT__MPI__cb_buffer_size": "77777", "IOR_HINT__MPI__": "1", "IOR_HINT__MPI__empty": ""}
    reply = launch(tmp_path, "ior", "-a", "MPIIO", "-H", "-w", "-b", "256k", "-o", tmp_path / "f", ranks=2, env=hints)
    assert (reply.status, messages(reply)) == (0, [])
    assert "hint                : cb_buffer_size = 77777\n" in reply.out


def test_mpi_io_takes_a_name_without_a_directory(tmp_path: Path) -> None:
    reply = launch(tmp_path, "ior", "-a", "MPIIO", "-w", "-r", "-b", "256k", "-o", "f", ranks=2)
    assert (reply.status, messages(reply)) == (0, [])
    assert len(rows(reply)) == 2
    assert files(tmp_path) == []


def test_a_signal_removes_the_files(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "ended").write_text(
        f'#!/bin/bash\n(until [[ -s {tmp_path}/f ]]; do sleep 0.2; done; kill -TERM $$) & exec "$@"\n'
    )
    (tmp_path / "bin" / "ended").chmod(0o755)
    for keep, left in (([], []), (["-k"], ["f"])):
        command = [build() / "ior", "-o", tmp_path / "f", "-w", "-Y", "-t", "64k", "-b", "64g", *keep]
        assert launch(tmp_path, "ended", *command, ranks=1, directory=tmp_path / "bin").status != 0
        assert [name for name in files(tmp_path) if name.startswith("f")] == left


# --- options


SEE_HELP = "(ior -h lists the options)"
STRIDED = "one call would move a piece of every segment, all with the same bytes, which no check could tell apart"
UNKNOWN_DATA = (
    "-W and -R need to know the data of a file that this test does not write: add -w, or -G with the number that the "
    "writing run had"
)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["-b", "3k", "-t", "2k"], "block size (-b) 3072 is not a multiple of the transfer size (-t) 2048"),
        (["-n", 3], "3 processes are asked for (-n, numTasks), 2 were started"),
        (["-a", "S3"], "api (-a) 'S3' is not one of POSIX, MPIIO, MMAP, URING, AIO, DUMMY, HDF5"),
        (["-O", "what=1"], f"option -O: unknown setting 'what' (the names stand in docs/ior.md) {SEE_HELP}"),
        (["-i", 0], f"option -i: '0' is out of range: 1 to 1000000 is allowed {SEE_HELP}"),
        (["-R"], UNKNOWN_DATA),
        (["-S"], f"option -S is not offered: {STRIDED} {SEE_HELP}"),
    ],
)
def test_wrong_options_are_refused_once(tmp_path: Path, options: list[object], message: str) -> None:
    reply = ior(tmp_path, *options, env=AT_ONCE)
    assert (reply.status, messages(reply), reply.out) == (2, [f"ior: {message}"], "")
    assert files(tmp_path) == []


def test_the_tutorials_command_lines_run_as_they_stand(tmp_path: Path) -> None:
    """`./IOR -w -r -o filename`, `./ior -t 1m -b 16m -s 16 -F -C -e` (here with less data), `./IOR -W -f script`."""
    first = launch(tmp_path, "IOR", "-w", "-r", "-o", tmp_path / "filename")
    assert [row[0] for row in rows(first)] == ["write", "read"]
    for ladder in ([], ["-F"], ["-F", "-C"], ["-F", "-C", "-e"]):
        reply = ior(tmp_path, "-t", "1m", "-b", "2m", "-s", 2, *ladder)
        assert (reply.status, [row[0] for row in rows(reply)]) == (0, ["write", "read"])
    (tmp_path / "script").write_text(f"IOR START\ntestFile={tmp_path}/f\nwriteFile=1\nRUN\nIOR STOP\n")
    scripted = launch(tmp_path, "IOR", "-W", "-f", tmp_path / "script", ranks=2)
    assert scripted.line_of("verification")["bytes_wrong"] == 0


def test_values_may_be_attached_with_an_equals_sign(tmp_path: Path) -> None:
    reply = ior(tmp_path, "-t=64k", "-b=128k", "-s=3")
    assert reply.line_of("test")["bytes_planned"] == 2 * 3 * 128 << 10


def test_every_option_and_setting_stands_in_the_manual(tmp_path: Path) -> None:
    manual = (SOURCES.parent / "docs" / "ior.md").read_text()
    listed = launch(tmp_path, "ior", "-h").out
    options = re.findall(r"^  (-\w|--[\w.-]+)(?:, (--[\w.-]+))?", listed, re.MULTILINE)
    source = (SOURCES / "ior" / "settings.c").read_text()
    settings = re.findall(r'^    \{"(\w+)", (?:\'|0,)', source, re.MULTILINE)
    assert len(options) > 35 and len(settings) > 60
    for name in [name for pair in options for name in pair if name] + settings:
        assert f"`{name}" in manual, f"{name} is missing in docs/ior.md"


# --- sanitizers


def test_no_sanitizer_finds_anything(tmp_path: Path) -> None:
    (tmp_path / "hints").write_text("IOR_HINT__MPI__cb_nodes=1\n")
    has_hdf5 = (build() / "hdf5.so").exists()
    single = f"savePerOpDataCSV={tmp_path}/each,interIODelay=10,stoneWallingWearOutIterations=5,memoryPerTask=1m"
    for options in (
        ("-a", "HDF5" if has_hdf5 else "MPIIO", "-w", "-r", "-R", "-c", "--hdf5.chunkSize", 512, "-H"),
        ("-a", "MPIIO", "-V", "-c", "-w", "-r", "-W", "-U", tmp_path / "hints"),
        ("-w", "-z", "--randomPrefill", "64k", "-W", "--posix.rangelocks", "-O", single),
        ("-w", "-O", "minTimeDuration=1", "-l", "o", "-G", -5),
        ("--mixed", 70, "-F", "-W", "-R", "-w", "-D", 1, "--latency", "-j", 5),
        ("--mixed", 70, "-a", "MPIIO", "-c", "-W", "-R", "-w", "-K", "-i", 2),
        ("-w", "-r", "-R", "-z", "-b", "3g", "-s", 1000, "-O", "stoneWallingWearOutIterations=2"),
        ("-F", "-C", "-e", "-W", "-R", "-w", "-r", "-z", "-g", "-v", "-v", "-i", 2, "--drop-cache", "-M", "8m"),
        ("-a", "URING", "-w", "-r", "-R", "-ZZ", "-B"),
        ("-a", "AIO", "-w", "-r", "-D", 1, "-O", f"stoneWallingWearOut=1,summaryFormat=JSON,summaryFile={tmp_path}/s"),
        ("-a", "MPIIO", "-c", "-w", "-r", "-R", "-l", "o", "-O", "summaryFormat=CSV"),
    ):
        reply = ior(tmp_path, *SMALL, *options, node_of_rank="R", **bench_faults.sanitizer_options())
        assert (reply.status, bench_faults.sanitizer_messages(reply)) == (0, [])
