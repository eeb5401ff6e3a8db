"""The nfstest applet, driven as its users drive it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.support.bench_binary import AT_ONCE, Reply, launch
from tests.support.bench_faults import (
    fault_environment,
    files,
    launch_and_lose_a_rank,
    launch_with_file_limit,
    messages,
    sanitizer_messages,
    sanitizer_options,
    warnings,
)

pytestmark = [pytest.mark.mpi, pytest.mark.timeout(900)]

EXAMPLE = ("n3", "uK", "m256", "M1024", "b256", "K2", "d1", "c1", "v1", "R2")


def nfstest(tmp_path: Path, *words: object, ranks: int = 4, node_of_rank: str = "R", **options: Any) -> Reply:
    """Four processes on four nodes, in a directory of the test."""
    (tmp_path / "shared").mkdir(exist_ok=True)
    return launch(tmp_path, "nfstest", f"f{tmp_path}/shared", *words, ranks=ranks, node_of_rank=node_of_rank, **options)


def mask(text: str, directory: object) -> str:
    """Times and rates become #; sizes stay."""
    text = text.replace(str(directory), "DIR")
    text = re.sub(r"(?<=T=) *\d+\.\ds", "   #s", text)
    text = re.sub(r"(?<=complete in) +\d+\.\d", "     #", text)
    text = re.sub(r"(?<=R=)\d+\.\d", "#", text)
    return re.sub(r"(at TFS=)\d+", r"\1#", text)


def block(repeat: int, size: int) -> str:
    total = f"--- TFS={12 * size}Kb".ljust(16)
    return (
        f"Starting test iteration = {repeat} for FS = {size}Kb.\n"
        f"{total}WTT=   #s AWT=   #s     LWR=#Kb/s TWR=#Kb/s\n"
        f"{total}RTT=   #s ART=   #s     LRR=#Kb/s TRR=#Kb/s\n"
        "\n"
    )


VERBOSE = (
    """\
FILETEST/NFS/MPI of 2003/07/04 is running with following parameters:
        Unit is 1Kb = 1024 bytes
        File size: 256Kb to 1024Kb, buffer size: 256Kb
        Number of processes: 4, number of files: 3, total: 12
        Checking correctness of read buffer.
        Using direct I/O calls (read/write).
        Number of iterations for whole test: 2
        Testing file system: DIR/shared
        Nodes: n0 n1 n2 n3

"""
    + "".join(block(repeat, size) for repeat in (0, 1) for size in (256, 512, 1024))
    + """\
Testing complete in     # seconds
--- Best writing rate achieved: TWR=# Kb/s (at TFS=#Kb)
--- Best reading rate achieved: TRR=# Kb/s (at TFS=#Kb)
"""
)


def test_the_text_has_the_form_of_the_test_s_description(tmp_path: Path) -> None:
    reply = nfstest(tmp_path, *EXAMPLE)
    assert (reply.status, reply.err) == (0, "")
    assert mask(reply.out, tmp_path) == VERBOSE
    assert files(tmp_path) == ["shared"]


def test_without_v1_only_results_are_printed(tmp_path: Path) -> None:
    reply = nfstest(tmp_path, *[word for word in EXAMPLE if word != "v1"])
    assert mask(reply.out, tmp_path) == "".join(line for line in VERBOSE.splitlines(True) if line.startswith("---"))


def test_the_results_go_to_the_output_file(tmp_path: Path) -> None:
    reply = nfstest(tmp_path, *EXAMPLE, "onfstest.res")
    assert (reply.status, reply.out) == (0, "")
    assert mask((tmp_path / "nfstest.res").read_text(), tmp_path) == VERBOSE


def test_parameters_come_in_any_order_between_options(tmp_path: Path) -> None:
    reply = nfstest(tmp_path, "R1", "--json", tmp_path / "other.jsonl", "M1024", "d1", "m1024", ranks=2)
    assert reply.status == 0
    assert '"operation": "read"' in (tmp_path / "other.jsonl").read_text()
    assert launch(tmp_path, "nfstest", "-h").out.startswith("usage: nfstest [parameters] [options]\n")


def test_the_formulas_hold(tmp_path: Path) -> None:
    """TFS = FS·n·np, AWT = WTT/n, LWR = n·FS/WTT, TWT = TFS/WTT, and the same for reads."""
    reply = nfstest(tmp_path, "n5", "ub", "m1000", "M9000", "s4000", "b512", ranks=3)
    phases = reply.lines_of("phase")
    assert [(p["operation"], p["file_bytes"]) for p in phases] == [
        (operation, size) for size in (1000, 5000, 9000) for operation in ("write", "read")
    ]
    text = [line for line in reply.out.splitlines() if "TFS" in line and "Best" not in line]
    for phase, line in zip(phases, text, strict=True):
        size, elapsed = phase["file_bytes"], phase["elapsed_s"]
        assert phase["total_bytes"] == size * 5 * 3
        assert phase["file_s"] == pytest.approx(elapsed / 5, abs=1e-9)
        assert phase["local_rate_mib_s"] == pytest.approx(5 * size / elapsed / 2**20, rel=1e-3, abs=1e-3)
        assert phase["rate_mib_s"] == pytest.approx(15 * size / elapsed / 2**20, rel=1e-3, abs=1e-3)
        assert phase["text"]["total_rate"] == pytest.approx(15 * size / elapsed, rel=1e-3)
        assert f"--- TFS={15 * size}b" in line
        assert line.endswith(f"R={phase['text']['total_rate']:.1f}b/s")
        assert f"R={phase['text']['local_rate']:.1f}b/s" in line
        assert phase["buffer_bytes"] == 512
        spread = phase["rank_rate_mib_s"]
        assert spread["slowest"] <= spread["median"] <= spread["fastest"]
        assert phase["slowest_node"] == f"n{phase['slowest_rank']}"


def test_the_best_rates_are_the_highest_of_all_iterations(tmp_path: Path) -> None:
    reply = nfstest(tmp_path, "m64", "M256", "R3", "v1")
    for operation, name, letter in (("write", "writing", "W"), ("read", "reading", "R")):
        best = max(reply.lines_of("phase", operation=operation), key=lambda phase: float(phase["rate_mib_s"]))
        line = reply.line_of("record", record=f"best-{operation}")
        assert line["value"] == pytest.approx(best["rate_mib_s"] * 1024, abs=0.6)  # MiB have three decimals
        assert (line["unit"], line["elapsed_s"]) == ("KiB/s", best["elapsed_s"])
        rate, total = best["text"]["total_rate"], best["total_bytes"] // 1024
        assert f"--- Best {name} rate achieved: T{letter}R={rate:.1f} Kb/s (at TFS={total}Kb)\n" in reply.out
        for size in (64, 128, 256):
            rates = [p["rate_mib_s"] for p in reply.lines_of("phase", operation=operation, file_bytes=size * 1024)]
            values = [line["value"] for line in reply.lines_of("record", record=f"{operation}-{size}kb")]
            assert values == [pytest.approx(rate * 1024, abs=1) for rate in rates]


@pytest.mark.parametrize("node_of_rank", ["R", "R/2", "R%2"])
def test_every_file_is_read_on_another_node_than_wrote_it(tmp_path: Path, node_of_rank: str) -> None:
    reply = nfstest(tmp_path, "m64", "n6", "c1", node_of_rank=node_of_rank)
    phase = reply.line_of("phase", operation="read")
    assert (phase["foreign_share"], phase["remote_share"]) == (1, 1)
    assert reply.err == ""


def test_one_node_reads_the_files_of_other_processes_and_is_warned_of_its_cache(tmp_path: Path) -> None:
    reply = nfstest(tmp_path, "m64", "n6", "c1", node_of_rank="0")
    phase = reply.line_of("phase", operation="read")
    assert (phase["foreign_share"], phase["remote_share"]) == (1, 0)
    assert warnings(reply) == [
        "all processes are on one node: files are read on the node that wrote them, its page cache is in reach"
    ]


def test_a_node_with_most_of_the_processes_is_reported(tmp_path: Path) -> None:
    reply = nfstest(tmp_path, "m64", "c1", node_of_rank="R/3")
    phase = reply.line_of("phase", operation="read")
    assert (phase["foreign_share"], phase["remote_share"]) == (1, 0.5)
    assert warnings(reply) == [
        "one node has more than half of the processes: 50.0% of the files are read on the node that wrote them"
    ]


def test_by_default_a_process_writes_as_many_files_as_there_are_processes(tmp_path: Path) -> None:
    assert nfstest(tmp_path, "m1", "ub", ranks=3).line_of("phase", operation="write")["files_per_process"] == 3


def test_sizes_above_the_quota_are_left_out(tmp_path: Path) -> None:
    reply = nfstest(tmp_path, "n3", "m64", "M1024", "S1536", "v1")
    assert [phase["file_bytes"] for phase in reply.lines_of("phase", operation="write")] == [65536, 131072]
    assert "        Quota for all files: 1536Kb\n" in reply.out


# --- what goes wrong


def test_a_single_flipped_bit_is_found(tmp_path: Path) -> None:
    env = fault_environment("/file.2.1", "write", error=-2, rank=2, after=5)
    reply = nfstest(tmp_path, "d1", "c1", "m64", "b8", "n2", "v1", env=env, ranks=3)
    assert reply.status == 1
    found_messages = messages(reply, "nfstest")
    assert len(found_messages) == 1
    pattern = rf"nfstest: rank 0 on n0: check '{tmp_path}/shared/nfstest\.\w+/file\.2\.1' failed: "
    assert re.fullmatch(pattern + "byte 40963 is 0x06, its writer wrote 0x02", found_messages[0])
    assert ([phase["operation"] for phase in reply.lines_of("phase")], "RRR" in reply.out) == (["write"], False)
    assert "Best" not in reply.out
    assert files(tmp_path) == ["shared"]
    assert nfstest(tmp_path, "d1", "m64", "b8", "n2", env=env, ranks=3).status == 0  # without c1 nobody looks


@pytest.mark.parametrize(
    ("call", "error", "operation", "text"),
    [
        ("write", 28, "write", "No space left on device (ENOSPC)"),
        ("read", 5, "read", "Input/output error (EIO)"),
        ("close", 122, "close", "Disk quota exceeded (EDQUOT)"),
    ],
)
def test_a_failing_call_is_named_and_nothing_looks_valid(
    tmp_path: Path, call: str, error: int, operation: str, text: str
) -> None:
    reply = nfstest(
        tmp_path, "d1", "m64", env=fault_environment("/file.1.0", call, error, rank=0 if call == "read" else 1), ranks=2
    )
    rank = 0 if call == "read" else 1
    assert reply.status == 1
    found_messages = messages(reply, "nfstest")
    assert len(found_messages) == 1
    pattern = rf"nfstest: rank {rank} on n{rank}: {operation} '{tmp_path}/shared/nfstest\.\w+/file\.1\.0' failed: "
    assert re.fullmatch(pattern + re.escape(text), found_messages[0])
    line = reply.line_of("error")
    assert (line["rank"], line["node"], line["errno"], line["operation"]) == (rank, f"n{rank}", error, operation)
    assert [phase["operation"] for phase in reply.lines_of("phase")] == (["write"] if call == "read" else [])
    assert ("TRR" in reply.out, "Best" in reply.out, reply.lines_of("record", record="best-read")) == (False, False, [])
    assert reply.line_of("end")["status"] == "failed"
    assert files(tmp_path) == ["shared"]


def test_a_stream_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    words = (f"f{tmp_path}", "uM", "m64", "n1")
    reply = launch_with_file_limit(tmp_path, 1, 40000, "nfstest", *words, ranks=2)
    assert reply.status == 1
    assert re.fullmatch(
        rf"nfstest: rank 1 on \S+: write '{tmp_path}/nfstest\.\w+/file\.1\.0' failed: File too large \(EFBIG\)",
        messages(reply, "nfstest")[0],
    )
    assert (reply.lines_of("phase"), files(tmp_path)) == ([], [])


def test_short_calls_are_continued(tmp_path: Path) -> None:
    for call in ("write", "read"):
        reply = nfstest(tmp_path, "d1", "c1", "m64", env=fault_environment("/file.", call, error=0), ranks=2)
        assert (reply.status, messages(reply, "nfstest")) == (0, [])


def test_bytes_that_were_not_written_are_found_by_the_check(tmp_path: Path) -> None:
    """A write that claims more than it did leaves a file that ends early."""
    reply = nfstest(tmp_path, "d1", "m64", "n1", env=fault_environment("/file.1.0", "write", error=-1, rank=1), ranks=2)
    assert reply.status == 1
    assert messages(reply, "nfstest")[0].endswith("failed: the file ends after 32768 of 65536 bytes")


def test_the_time_of_checking_is_reported(tmp_path: Path) -> None:
    phases = nfstest(tmp_path, "c1", "m64", "d1").lines_of("phase", operation="read")
    assert [0 < phase["check_s"] < phase["elapsed_s"] for phase in phases] == [True]
    assert nfstest(tmp_path, "m64").line_of("phase", operation="read")["check_s"] == 0


def test_an_absent_directory_is_named(tmp_path: Path) -> None:
    reply = launch(tmp_path, "nfstest", f"f{tmp_path}/absent", ranks=2, node_of_rank="R")
    assert reply.status == 1
    assert messages(reply, "nfstest") == [
        f"nfstest: rank 0 on n0: mkdir below '{tmp_path}/absent' failed: No such file or directory (ENOENT)"
    ]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["x5"], "unknown parameter 'x5' (nfstest -h lists the parameters)"),
        (["m9", "M8"], "smallest file size m9 is above the largest M8 (nfstest -h lists the parameters)"),
        (["S3"], "quota S3 is below what the smallest files need: 4096Kb (nfstest -h lists the parameters)"),
        (["-x"], "unknown option '-x' (nfstest -h lists the options)"),
        (
            ["o/absent/file"],
            "cannot write the output file '/absent/file' of parameter o: No such file or directory (ENOENT)",
        ),
    ],
)
def test_wrong_command_lines_are_reported(tmp_path: Path, words: list[str], message: str) -> None:
    reply = nfstest(tmp_path, *words, ranks=2, env=AT_ONCE)
    assert (reply.status, messages(reply, "nfstest"), reply.out) == (2, [f"nfstest: {message}"], "")


def test_an_output_file_on_a_full_disk_is_a_failure(tmp_path: Path) -> None:
    reply = nfstest(tmp_path, "m1", "o/dev/full")
    assert reply.status == 1
    assert messages(reply, "nfstest") == [
        "nfstest: cannot write the output file '/dev/full': No space left on device (ENOSPC)"
    ]


@pytest.mark.parametrize("lost", [0, 1, 2])
def test_nothing_is_left_when_a_rank_dies(tmp_path: Path, lost: int) -> None:
    words = ("nfstest", "m64", "R1000000", f"f{tmp_path}")
    reply = launch_and_lose_a_rank(tmp_path, lost, 0.5, *words, after="phase", ranks=3)
    assert reply.status != 0
    assert f"process rank {lost}" in reply.err and "signal 9" in reply.err
    assert (reply.lines_of("phase") != [], reply.lines_of("record", record="best-write"), reply.lines_of("end")) == (
        True,
        [],
        [],
    )
    assert files(tmp_path) == []


def test_sanitizers_have_nothing_to_say(tmp_path: Path) -> None:
    for words in (("d1", "c1", "b100"), ("d0", "c1", "M2048", "v1")):
        reply = nfstest(tmp_path, *words, **sanitizer_options())
        assert (reply.status, sanitizer_messages(reply)) == (0, [])
