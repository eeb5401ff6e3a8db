"""The mpiio applet, driven as its users drive it."""

from __future__ import annotations

import os
import re
from concurrent.futures import ThreadPoolExecutor
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
from tests.support.fake_slurm import wait_until

pytestmark = [pytest.mark.mpi, pytest.mark.timeout(900)]

MIB = 1 << 20
APIS = ("URING", "AIO", "POSIX")
SMALL = ("-b", "64K", "-c", "1M", "-s", "20M")


def mpiio(tmp_path: Path, *options: object, ranks: int = 2, **settings: Any) -> Reply:
    """On the files f.00000 … of the test's directory, as many nodes as processes."""
    return launch(tmp_path, "mpiio", "-f", tmp_path / "f", *options, ranks=ranks, node_of_rank="R", **settings)


def mask(text: str, directory: object) -> str:
    text = text.replace(str(directory), "DIR")
    text = re.sub(r"\d+\.\d\d\d?", "#", text)
    text = re.sub(r"rank \d on n\d", "RANK", text)
    return re.sub(r"(Wrote|Read) \d+ chunks, \d+", r"\1 #", text)


HEADER = """\
Rank 00000 | Blocksize: 65536
Rank 00000 | Max outstanding requests: 4
Rank 00000 | File name: DIR/f.00000
"""
PROCESSES = """\
Processes:	fastest #, median #, slowest # MiB/sec (RANK)
Sum:	# MiB/sec of the processes while they were at work; reached: # of it
"""
POOL = (
    HEADER
    + """\
Rank 00000 | Chunk size 1048576
Rank 00000 | Number of chunks 4
Rank 00000 | Requested bytes to write: 3500000
Rank 00000 | Bytes to write: 3500000
Server started
Chunks left	3
Chunks left	2
Chunks left	1
Chunks left	0
Rank 00000 | Wrote #
Process on rank 0 said 'bye'
Rank 00001 | Wrote #
Process on rank 1 said 'bye'
"""
    + PROCESSES
    + "BW:	# MiB/sec\n"
)
READ = (
    HEADER
    + """\
Rank 00000 | Chunk size 1048576
Rank 00000 | Number of chunks 4
Rank 00000 | Bytes to read: 3500000
Server started
Chunks left	3
Chunks left	2
Chunks left	1
Chunks left	0
Rank 00000 | Read #
Process on rank 0 said 'bye'
Rank 00001 | Read #
Process on rank 1 said 'bye'
"""
    + PROCESSES
    + "Read BW:	# MiB/sec\n"
)
STATIC = (
    HEADER
    + """\
Rank 00000 | Number of chunks 2
Rank 00000 | Requested bytes to write: 3500000
Rank 00000 | Bytes to write: 3500000
Static split
Rank 00000 | Wrote #
Process on rank 0 said 'bye'
Rank 00001 | Wrote #
Process on rank 1 said 'bye'
"""
    + PROCESSES
    + "BW:	# MiB/sec\n"
)


def test_the_text_is_that_of_the_chunk_pool(tmp_path: Path) -> None:
    reply = mpiio(tmp_path, "-b", "64K", "-r", 4, "-c", "1M", "-s", "3500k")
    assert (reply.status, reply.err) == (0, "")
    assert mask(reply.out, tmp_path) == POOL
    assert files(tmp_path) == ["f.00000", "f.00001"]


def test_files_are_read_back_on_request(tmp_path: Path) -> None:
    reply = mpiio(tmp_path, "-b", "64K", "-r", 4, "-c", "1M", "-s", "3500k", "--read", "--verify", "--unlink")
    assert (reply.status, messages(reply, "mpiio")) == (0, [])
    assert mask(reply.out, tmp_path) == POOL + READ + "Verified:	3500000 bytes\n"
    assert files(tmp_path) == []


def test_the_static_split_gives_equal_shares(tmp_path: Path) -> None:
    reply = mpiio(tmp_path, "--static", "-b", "64K", "-r", 4, "-s", "3500k")
    assert mask(reply.out, tmp_path) == STATIC
    assert [line["bytes"] for line in reply.lines_of("process")] == [27 * 65536, 3_500_000 - 27 * 65536]
    assert reply.line_of("plan")["mode"] == "static"


@pytest.mark.parametrize("api", APIS)
def test_every_byte_is_written_the_remainder_too(tmp_path: Path, api: str) -> None:
    reply = mpiio(tmp_path, "-a", api, "-b", 1000, "-c", "30k", "-s", 1_000_007, "-r", 3, "--read", "--verify", ranks=3)
    assert (reply.status, messages(reply, "mpiio")) == (0, [])
    sizes = [(tmp_path / f"f.0000{rank}").stat().st_size for rank in range(3)]
    assert sum(sizes) == 1_000_007
    for operation in ("write", "read"):
        processes = reply.lines_of("process", operation=operation)
        assert [line["rank"] for line in processes] == [0, 1, 2]
        assert sum(line["bytes"] for line in processes) == 1_000_007
        assert sum(line["chunks"] for line in processes) == reply.line_of("plan", operation=operation)["chunks"]
        for line in processes:
            assert sum(line["timeline_bytes"]) == line["bytes"]
    assert [line["bytes"] for line in reply.lines_of("process", operation="write")] == sizes
    assert reply.line_of("plan", operation="write")["chunks"] == 34
    assert reply.line_of("verify")["right"] is True


def test_a_back_end_without_overlap_is_reported(tmp_path: Path) -> None:
    reply = mpiio(tmp_path, "-r", 8, "-a", "POSIX", *SMALL)
    assert (reply.line_of("plan")["outstanding"], "Max outstanding requests: 1\n" in reply.out) == (1, True)


def test_multipliers_are_of_1000_and_of_1024(tmp_path: Path) -> None:
    plan = mpiio(tmp_path, "-b", "3k", "-c", "2K", "-s", "1m", "-a", "DUMMY").line_of("plan")
    assert (plan["block_bytes"], plan["chunk_bytes"], plan["total_bytes"]) == (3000, 2048, 1_000_000)


def test_sizes_beyond_32_bits_stay_exact(tmp_path: Path) -> None:
    reply = mpiio(tmp_path, "-b", "64M", "-c", "5G", "-s", "20G", "-a", "DUMMY", "--read", ranks=3)
    assert (reply.status, [phase["bytes"] for phase in reply.lines_of("phase")]) == (0, [20 << 30] * 2)


def test_the_data_is_neither_zero_nor_the_same_twice(tmp_path: Path) -> None:
    mpiio(tmp_path, *SMALL)
    blocks = [
        data[at : at + 4096]
        for data in ((tmp_path / f"f.0000{rank}").read_bytes() for rank in range(2))
        for at in range(0, len(data), 4096)
    ]
    assert len(blocks) == 20 * 256
    assert len(set(blocks)) == len(blocks)


def test_bandwidth_is_all_bytes_over_the_slowest_process_s_time(tmp_path: Path) -> None:
    reply = mpiio(tmp_path, *SMALL, "--fsync", ranks=3)
    phase, processes = reply.line_of("phase"), reply.lines_of("process")
    assert phase["elapsed_s"] == max(line["own_s"] for line in processes)
    assert phase["rate_mib_s"] == pytest.approx(20 / phase["elapsed_s"], rel=1e-4, abs=5.01e-4)
    match = re.search(r"^BW:\t(\S+) MiB/sec$", reply.out, re.MULTILINE)
    assert match is not None and float(match[1]) == pytest.approx(phase["rate_mib_s"], abs=5.51e-3)
    worked = [line for line in processes if line["bytes"] > 0]
    for line in worked:
        assert line["rate_mib_s"] == pytest.approx(line["bytes"] / MIB / line["own_s"], abs=2e-3)
        assert 0 <= line["fsync_s"] < line["own_s"]
    assert phase["rank_rate_sum_mib_s"] == pytest.approx(sum(line["rate_mib_s"] for line in processes), abs=0.01)
    total = sum(line["bytes"] / MIB / line["own_s"] for line in worked)
    assert phase["share_of_sum"] == pytest.approx(20 / phase["elapsed_s"] / total, abs=1e-5)
    slowest = min(worked, key=lambda line: float(line["rate_mib_s"]))
    assert (phase["slowest_rank"], phase["slowest_node"]) == (slowest["rank"], f"n{slowest['rank']}")
    assert phase["tracker"]["answers"] == 20 + 3


# --- what the pool is for


def test_a_slow_process_does_less_instead_of_making_all_wait(tmp_path: Path) -> None:
    """One of four waits within its first chunk until the others have moved all the rest."""
    other_paths = [tmp_path / f"f.0000{rank}" for rank in range(3)]
    go = tmp_path / "go"
    env = fault_environment("/f.00003", "pwrite", error=-3, rank=3, after=1) | {"FAULT_UNTIL": str(go)}

    def rest_is_moved() -> bool:
        return sum(path.stat().st_size for path in other_paths if path.exists()) >= 15 * MIB // 4

    with ThreadPoolExecutor() as pool:
        running = pool.submit(mpiio, tmp_path, "-a", "POSIX", "-b", "64K", "-c", "256K", "-s", "4M", ranks=4, env=env)
        try:
            wait_until(rest_is_moved, "the others have moved the rest")
        finally:
            go.touch()
    *fast, slow = (line["chunks"] for line in running.result().lines_of("process"))
    assert slow <= 1  # none where the others had taken all before it began
    assert sum(fast) == 16 - slow


def counted_clock(transfer_ns: int) -> dict[str, str]:
    """Each transfer takes so long, whatever the machine does meanwhile."""
    return fault_environment("none", "none") | {"CLOCK_TRANSFER_NS": str(transfer_ns)}


def test_all_wait_for_a_slow_process_with_a_static_split(tmp_path: Path) -> None:
    """One of four is four times slower: together they reach a third of the sum of what they do."""
    options = ("-a", "POSIX", "-b", "64K", "-s", "8M", "--slow", "3:4", "--pace", "40M", "--unlink")
    reply = mpiio(tmp_path, "--static", *options, ranks=4, env=counted_clock(0))
    phase = reply.line_of("phase")
    assert (phase["slowest_rank"], phase["slowest_node"]) == (3, "n3")
    fast_s = 31 / 16 / 40  # until the last of 32 blocks may be moved
    assert [line["own_s"] for line in reply.lines_of("process")] == pytest.approx([fast_s, fast_s, fast_s, 4 * fast_s])
    assert phase["rank_rate_sum_mib_s"] == pytest.approx(2 * 3.25 / fast_s, abs=5.01e-4)
    assert phase["share_of_sum"] == pytest.approx(1 / 3.25, abs=1e-6)
    assert [line["slowed"] for line in reply.lines_of("process")] == [1, 1, 1, 4]


def test_a_slowed_process_takes_as_many_times_as_long_without_a_pace_too(tmp_path: Path) -> None:
    options = ("--static", "-a", "POSIX", "-b", "1M", "-s", "20M", "--slow", "1:20", "--unlink")
    reply = mpiio(tmp_path, *options, env=counted_clock(1_000_000))
    assert [line["own_s"] for line in reply.lines_of("process")] == pytest.approx([0.01, 0.2])


def test_the_timeline_shows_who_was_slow_and_when(tmp_path: Path) -> None:
    options = ("--static", "-a", "POSIX", *SMALL, "--pace", "20M", "--slow", "1:3", "--interval", 0.05, "--unlink")
    fast, slow = mpiio(tmp_path, *options, env=counted_clock(0)).lines_of("process")
    assert (fast["interval_s"], slow["interval_s"]) == (0.05, 0.05)
    assert fast["timeline_bytes"] == [MIB] * 10
    assert slow["timeline_bytes"] == pytest.approx([MIB / 3] * 30, abs=65536)


def test_timelines_of_long_runs_have_longer_intervals_that_all_ranks_share(tmp_path: Path) -> None:
    reply = mpiio(tmp_path, *SMALL, "--pace", "20M", "--slow", "1:3", "--interval", 0.00001, "--unlink")
    intervals = {line["interval_s"] for line in reply.lines_of("process")}
    assert len(intervals) == 1 and intervals.pop() > 0.0001
    assert all(len(line["timeline_bytes"]) <= 1024 for line in reply.lines_of("process"))


def test_handing_out_burns_no_core(tmp_path: Path) -> None:
    """Two seconds of a paced run: rank 0's tracker and the others' askers use a small part of a processor."""
    reply = mpiio(tmp_path, "-b", "256K", "-c", "2M", "-s", "80M", "--pace", "20M", "--unlink")
    phase = reply.line_of("phase")
    assert phase["elapsed_s"] > 1.5
    assert phase["tracker"]["cpu_s"] < 0.15 * phase["elapsed_s"]
    assert phase["tracker"]["asker_cpu_s"] < 0.05 * phase["elapsed_s"]


def test_many_chunks_go_to_many_processes(tmp_path: Path) -> None:
    reply = mpiio(tmp_path, "-a", "DUMMY", "-b", 1, "-c", 1, "-s", "20k", ranks=16)
    assert reply.status == 0
    assert sum(line["chunks"] for line in reply.lines_of("process")) == 20000
    tracker = reply.line_of("phase")["tracker"]
    assert tracker["answers"] == 20000 + 16
    assert tracker["answer_s"] == pytest.approx(tracker["busy_s"] / tracker["answers"], abs=1e-8)
    assert reply.out.count("Chunks left") == 100


# --- reading


def test_readers_start_on_other_nodes_files_and_say_what_was_cached(tmp_path: Path) -> None:
    """A process reads its own file where no other is left: of four equal ones a quarter at most."""
    assert mpiio(tmp_path, *SMALL, "--static", ranks=4).status == 0
    reply = mpiio(tmp_path, *SMALL, "--no-write", "--read", ranks=4)
    phase = reply.line_of("phase", operation="read")
    assert phase["own_share"] <= 0.25
    assert 0 <= phase["cached_share"] <= 1
    if phase["cached_share"] > 0.01:
        assert "are in their node's page cache: the read rate is in part one of memory" in warnings(reply)[0]


def test_files_of_an_earlier_run_are_read_in_another_geometry(tmp_path: Path) -> None:
    assert mpiio(tmp_path, *SMALL, ranks=3).status == 0
    reply = mpiio(tmp_path, "--no-write", "--read", "-b", "100k", "-c", "3M", ranks=3)
    assert (reply.status, messages(reply, "mpiio")) == (0, [])
    assert [phase["operation"] for phase in reply.lines_of("phase")] == ["read"]
    assert reply.line_of("phase")["bytes"] == 20 * MIB
    assert len(files(tmp_path)) == 3


def test_a_file_of_an_earlier_run_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "f.00001").write_bytes(bytes(50 * MIB))
    assert mpiio(tmp_path, *SMALL).status == 0
    assert sum((tmp_path / name).stat().st_size for name in files(tmp_path)) == 20 * MIB


def test_the_page_cache_can_be_passed_by(tmp_path: Path) -> None:
    reply = mpiio(tmp_path, *SMALL, "--direct", "--read", "--verify", ranks=1)
    if reply.status != 0:  # tmpfs before Linux 6.5
        assert "Invalid argument (EINVAL)" in messages(reply, "mpiio")[0]
        pytest.skip("the file system of the tests has no O_DIRECT")
    assert reply.line_of("plan", operation="read")["direct"] is True
    assert warnings(reply) == []


# --- what goes wrong


def fault_at_work(tmp_path: Path, path: str, call: str, error: int, after: int) -> dict[str, str]:
    """Rank 1 fails. The others' transfers wait until it has: of a pool they might take all, before it begins."""
    waiting = {"FAULT_SEEN": f"{tmp_path}.seen"} if call in ("pread", "pwrite") else {}
    return fault_environment(path, call, error, 1, after) | waiting


@pytest.mark.parametrize("mode", [(), ("--static",)])
def test_a_single_flipped_bit_is_found(tmp_path: Path, mode: tuple[str, ...]) -> None:
    env = fault_at_work(tmp_path, "/f.00001", "pwrite", error=-2, after=1)
    reply = mpiio(tmp_path, *mode, "-a", "POSIX", "-b", "64K", "-c", "1M", "-s", "4M", "--verify", env=env)
    assert reply.status == 1
    found_messages = messages(reply, "mpiio")
    assert len(found_messages) == 1
    match = re.fullmatch(
        rf"mpiio: rank 0 on n0: verify '{tmp_path}/f\.00001' failed: byte 65539 is 0x(..), 0x(..) was written",
        found_messages[0],
    )
    assert match is not None and int(match[1], 16) ^ int(match[2], 16) == 4
    assert reply.line_of("verify")["right"] is False
    assert "Verified:	FAILED of 4194304 bytes\n" in reply.out
    assert reply.line_of("end")["status"] == "failed"
    assert files(tmp_path) == []


@pytest.mark.parametrize(
    ("call", "error", "operation", "text"),
    [
        ("pwrite", 28, "write", "No space left on device (ENOSPC), at byte 131072"),
        ("pread", 5, "read", "Input/output error (EIO), at byte 131072"),
        ("fsync", 5, "fsync", "Input/output error (EIO)"),
        ("close", 122, "close", "Disk quota exceeded (EDQUOT)"),
    ],
)
def test_a_failing_call_is_named_and_nothing_looks_valid(
    tmp_path: Path, call: str, error: int, operation: str, text: str
) -> None:
    reading = call == "pread"
    path = "/f.00000" if reading else "/f.00001"
    env = fault_at_work(tmp_path, path, call, error, after=2 if call.startswith("p") else 0)
    options = ("-a", "POSIX", *SMALL, "--fsync", *(["--read"] if reading else []))
    reply = mpiio(tmp_path, *options, env=env)
    assert reply.status == 1
    name = "f.00000" if reading else "f.00001"
    assert messages(reply, "mpiio") == [f"mpiio: rank 1 on n1: {operation} '{tmp_path}/{name}' failed: {text}"]
    line = reply.line_of("error")
    assert (line["rank"], line["node"], line["errno"], line["path"]) == (1, "n1", error, f"{tmp_path}/{name}")
    assert [phase["operation"] for phase in reply.lines_of("phase")] == (["write"] if reading else [])
    assert reply.out.count("BW:") == (1 if reading else 0)
    assert reply.line_of("end")["status"] == "failed"
    assert files(tmp_path) == []


@pytest.mark.parametrize("api", APIS)
def test_asynchronous_transfers_that_fail_are_named_too(tmp_path: Path, api: str) -> None:
    """And the pool closes: the other processes do not go on for the 100 seconds that the rest would take."""
    options = ("-a", api, "-f", tmp_path / "f", "-s", "20G", "-c", "8M", "--pace", "100M")
    reply = launch_with_file_limit(tmp_path, 1, 40000, "mpiio", *options, ranks=2, node_of_rank=None)
    assert reply.status == 1
    found_messages = messages(reply, "mpiio")
    assert (
        len(found_messages) == 1
        and "write" in found_messages[0]
        and "File too large (EFBIG), at byte" in found_messages[0]
    )
    assert (reply.lines_of("phase"), "BW" in reply.out, files(tmp_path)) == ([], False, [])


@pytest.mark.parametrize("api", APIS)
def test_in_a_static_split_a_failure_ends_the_others_too(tmp_path: Path, api: str) -> None:
    """They do not go on for the 100 seconds that their shares would take."""
    options = ("--static", "-a", api, "-f", tmp_path / "f", "-s", "20G", "-b", "1M", "--pace", "100M", "--fsync")
    reply = launch_with_file_limit(tmp_path, 1, 40000, "mpiio", *options, ranks=3, node_of_rank=None)
    assert reply.status == 1
    found_messages = messages(reply, "mpiio")
    assert (
        len(found_messages) == 1
        and "write" in found_messages[0]
        and "File too large (EFBIG), at byte" in found_messages[0]
    )
    assert (reply.lines_of("phase"), "BW" in reply.out, files(tmp_path)) == ([], False, [])


def test_short_transfers_are_continued(tmp_path: Path) -> None:
    for call in ("pwrite", "pread"):
        options = ("-a", "POSIX", "-b", "64K", "-c", "256K", "-s", "2M", "--read", "--verify")
        reply = mpiio(tmp_path, *options, env=fault_environment("/f.0", call, error=0))
        assert (reply.status, messages(reply, "mpiio")) == (0, [])


def test_a_file_that_became_shorter_is_no_number(tmp_path: Path) -> None:
    env = fault_environment("/f.00001", "pwrite", error=-1, rank=1, after=31)
    reply = mpiio(tmp_path, "--static", "-a", "POSIX", "-b", "64K", "-s", "4M", "--read", env=env)
    assert reply.status == 1
    assert messages(reply, "mpiio") == [
        f"mpiio: rank 0 on n0: read '{tmp_path}/f.00001' failed: "
        "the file ends at byte 2064384, 32768 bytes more were expected"
    ]


def test_an_absent_directory_is_named_by_every_rank(tmp_path: Path) -> None:
    reply = mpiio(tmp_path, "-f", tmp_path / "no" / "f", *SMALL)
    assert reply.status == 1
    assert messages(reply, "mpiio") == [
        f"mpiio: rank {rank} on n{rank}: open '{tmp_path}/no/f.0000{rank}' failed: No such file or directory (ENOENT)"
        for rank in range(2)
    ]
    assert (reply.lines_of("phase"), "BW" in reply.out) == ([], False)


def test_absent_files_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "f.00000").write_bytes(b"x")
    reply = mpiio(tmp_path, "--no-write", "--read")
    assert reply.status == 1
    assert messages(reply, "mpiio") == [
        f"mpiio: rank 1 on n1: stat '{tmp_path}/f.00001' failed: No such file or directory (ENOENT), "
        "--no-write reads one file for each process"
    ]
    assert files(tmp_path) == ["f.00000"]  # not this run's
    (tmp_path / "f.00000").write_bytes(b"")
    (tmp_path / "f.00001").write_bytes(b"")
    reply = mpiio(tmp_path, "--no-write", "--read")
    assert messages(reply, "mpiio") == [f"mpiio: files '{tmp_path}/f.00000' … are empty: there is nothing to read"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("-a", "MPIIO"), "option -a: 'MPIIO' is not URING, AIO, POSIX or DUMMY"),
        (("--slow", "2:4"), "option --slow: there is no rank 2, only 0 to 1"),
        (("--slow", "1:0.5"), "option --slow: factor '0.5' is out of range: 1 to 1000000 is allowed"),
        (("--slow", "1"), "option --slow: '1' is not a list of RANK:FACTOR"),
        (
            ("--no-write", "--read", "--unlink"),
            "option --unlink removes what this run wrote, which with --no-write is nothing",
        ),
        (("--no-write",), "option --no-write leaves nothing to do: add --read"),
        (("--verify", "--no-write", "--read"), "option --verify needs files that this run wrote"),
        (("--verify", "-a", "dummy"), "option --verify needs files that this run wrote"),
        (("--direct", "-c", 5000), "option -c: 5000 is not a multiple of 4096, as --direct needs"),
        (("--interval", 0), "option --interval: 0 is out of range: 0.000001 to 1000000 seconds are allowed"),
    ],
)
def test_wrong_command_lines_are_reported(tmp_path: Path, options: tuple[object, ...], message: str) -> None:
    reply = mpiio(tmp_path, *options, env=AT_ONCE)
    assert (reply.status, messages(reply, "mpiio"), reply.out) == (2, [f"mpiio: {message}"], "")


def test_files_that_were_there_are_replaced_with_a_word_and_only_regular_ones(tmp_path: Path) -> None:
    (tmp_path / "f.00001").write_text("old")
    reply = mpiio(tmp_path, *SMALL)
    assert warnings(reply)[0] == f"1 files '{tmp_path}/f.00000' … that an earlier run left are replaced"
    (tmp_path / "f.00000").unlink()
    os.mkfifo(tmp_path / "f.00000")
    reply = mpiio(tmp_path, *SMALL, "--unlink")
    assert reply.status == 1
    assert messages(reply, "mpiio") == [
        f"mpiio: rank 0 on n0: unlink '{tmp_path}/f.00000' failed: it is no regular file: choose another name (-f)"
    ]
    assert (tmp_path / "f.00000").is_fifo()


@pytest.mark.parametrize("lost", [0, 1, 2])
def test_files_are_unlinked_when_a_rank_dies(tmp_path: Path, lost: int) -> None:
    options = ("-f", tmp_path / "f", "-s", "20G", "--pace", "20M", "--unlink")
    reply = launch_and_lose_a_rank(tmp_path, lost, 1.5, "mpiio", *options, ranks=3)
    assert reply.status != 0
    assert f"process rank {lost}" in reply.err and "signal 9" in reply.err
    assert (reply.lines_of("phase"), reply.lines_of("end"), "BW" in reply.out) == ([], [], False)
    assert files(tmp_path) == []


def test_sanitizers_have_nothing_to_say(tmp_path: Path) -> None:
    for options in ([], ["--static"], ["-a", "AIO", "--fsync"], ["-a", "POSIX", "--slow", "1:2"], ["-r", 1, "-c", 100]):
        words = (
            "-b",
            "16K",
            "-c",
            "256K",
            "-s",
            "2M" if "-r" not in options else "20k",
            *options,
            "--read",
            "--verify",
        )
        reply = mpiio(tmp_path, *words, "--unlink", ranks=3, **sanitizer_options())
        assert (reply.status, sanitizer_messages(reply)) == (0, [])
    assert files(tmp_path) == []
