"""The checkpoint applet, driven as its users drive it."""

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

MIB = 1 << 20


def checkpoint(tmp_path: Path, *options: object, ranks: int = 4, node_of_rank: str = "R/2", **settings: Any) -> Reply:
    """Four processes on two nodes."""
    return launch(tmp_path, "checkpoint", "-d", tmp_path, *options, ranks=ranks, node_of_rank=node_of_rank, **settings)


def mask(text: str, directory: object) -> str:
    """Times and rates become # of the same width; sizes stay."""
    text = text.replace(str(directory), "DIR")
    text = re.sub(r" *\d+\.\d{6}", lambda match: "#".rjust(len(match[0])), text)
    return re.sub(r" *\d+\.\d{3}(?= +\d+$)", lambda match: "#".rjust(len(match[0])), text, flags=re.MULTILINE)


SWEEP = """\
checkpoint: memory image of each process to its own file, fsync included; below DIR
operation    processes   MiB a process      MiB in all       time(s)    wr/rd(s)    fsync(s)           MiB/s  iter
checkpoint           1           1.000           1.000             #           #           #               #     0
restart              1           1.000           1.000             #           #           #               #     0
checkpoint           1           2.000           2.000             #           #           #               #     0
restart              1           2.000           2.000             #           #           #               #     0
checkpoint           3           1.000           3.000             #           #           #               #     0
restart              3           1.000           3.000             #           #           #               #     0
checkpoint           3           2.000           6.000             #           #           #               #     0
restart              3           2.000           6.000             #           #           #               #     0
"""


def test_memory_and_processes_are_swept(tmp_path: Path) -> None:
    reply = checkpoint(tmp_path, "-m", "1m:2m", "-p", "1,3", "--restart")
    assert (reply.status, messages(reply, "checkpoint")) == (0, [])
    assert mask(reply.out, tmp_path) == SWEEP
    assert [(line["processes"], line["nodes"]) for line in reply.lines_of("phase", operation="checkpoint")] == [
        (1, 1),
        (1, 1),
        (3, 2),
        (3, 2),
    ]
    assert files(tmp_path) == []


def test_all_processes_with_64_mib_are_the_default(tmp_path: Path) -> None:
    phase = checkpoint(tmp_path).line_of("phase")
    assert (phase["processes"], phase["memory_bytes"], phase["total_bytes"]) == (4, 64 * MIB, 256 * MIB)


def test_bandwidth_is_all_memory_over_the_slowest_process_s_time(tmp_path: Path) -> None:
    reply = checkpoint(tmp_path, "-m", "3m", "-i", 3)
    phases = reply.lines_of("phase")
    assert [phase["iteration"] for phase in phases] == [0, 1, 2]
    rows = [line.split() for line in reply.out.splitlines() if line.startswith("checkpoint ")]
    for phase, row in zip(phases, rows, strict=True):
        assert phase["rate_mib_s"] == pytest.approx(12 / phase["elapsed_s"], rel=1e-4, abs=5.01e-4)
        assert max(phase[step] for step in ("open_s", "write_s", "fsync_s", "close_s")) <= phase["elapsed_s"]
        assert phase["fsync_s"] > 0
        times = [phase[name] for name in ("elapsed_s", "write_s", "fsync_s")]  # nine decimals, six in the text
        assert [float(word) for word in row[4:7]] == pytest.approx(times, abs=0.501e-6)
        assert row[7] == f"{phase['rate_mib_s']:.3f}"
        spread = phase["rank_rate_mib_s"]
        assert spread["slowest"] <= spread["median"] <= spread["fastest"]
        assert phase["slowest_node"] == f"n{phase['slowest_rank'] // 2}"
    for prefix, field in (("checkpoint", "rate_mib_s"), ("checkpoint-time", "elapsed_s")):
        records = [
            line for line in reply.lines_of("record") if re.fullmatch(rf"{prefix}-[0-9]+-[0-9.]+m", line["record"])
        ]
        assert [line["value"] for line in records] == [pytest.approx(phase[field], abs=1e-3) for phase in phases]


def test_a_restart_reads_on_another_node_and_says_what_was_cached(tmp_path: Path) -> None:
    phase = checkpoint(tmp_path, "-m", "2m", "-r").line_of("phase", operation="restart")
    assert phase["remote_share"] == 1
    assert 0 <= phase["cached_share"] <= 1
    reply = checkpoint(tmp_path, "-m", "2m", "-r", node_of_rank="0")
    assert reply.line_of("phase", operation="restart")["remote_share"] == 0
    if reply.line_of("phase", operation="restart")["cached_share"] > 0.01:
        assert "the restart's rate is in part one of memory" in warnings(reply)[0]


# --- what goes wrong


def test_a_single_flipped_bit_is_found(tmp_path: Path) -> None:
    env = fault_environment("/image.2", "pwrite", error=-2, rank=2, after=1)
    reply = checkpoint(tmp_path, "-m", "2m", "-t", "1m", "-r", env=env)
    assert reply.status == 1
    found_messages = messages(reply, "checkpoint")
    assert len(found_messages) == 1
    match = re.fullmatch(
        rf"checkpoint: rank 0 on n0: verify '{tmp_path}/checkpoint\.\w+/image\.2' failed: "
        r"byte 1048579 is 0x(..), 0x(..) was written",
        found_messages[0],
    )
    assert match is not None and int(match[1], 16) ^ int(match[2], 16) == 4
    assert [phase["operation"] for phase in reply.lines_of("phase")] == ["checkpoint"]
    assert ("restart" in reply.out, reply.line_of("end")["status"]) == (False, "failed")
    assert files(tmp_path) == []


@pytest.mark.parametrize(
    ("call", "error", "operation", "text"),
    [
        ("pwrite", 28, "write", "No space left on device (ENOSPC)"),
        ("pread", 5, "read", "Input/output error (EIO)"),
        ("fsync", 5, "fsync", "Input/output error (EIO)"),
        ("close", 122, "close", "Disk quota exceeded (EDQUOT)"),
    ],
)
def test_a_failing_call_is_named_and_nothing_looks_valid(
    tmp_path: Path, call: str, error: int, operation: str, text: str
) -> None:
    rank = 3 if call == "pread" else 1  # the reader of rank 1's image is on the other node
    env = fault_environment("/image.1", call, error, rank=rank)
    reply = checkpoint(tmp_path, "-m", "1m:4m", "-r", env=env)
    assert reply.status == 1
    found_messages = messages(reply, "checkpoint")
    assert len(found_messages) == 1
    pattern = rf"checkpoint: rank {rank} on n{rank // 2}: {operation} '{tmp_path}/checkpoint\.\w+/image\.1' failed: "
    assert re.fullmatch(pattern + re.escape(text), found_messages[0])
    line = reply.line_of("error")
    assert (line["rank"], line["errno"], line["operation"]) == (rank, error, operation)
    assert [phase["operation"] for phase in reply.lines_of("phase")] == (["checkpoint"] if call == "pread" else [])
    assert reply.line_of("end")["status"] == "failed"
    assert files(tmp_path) == []


def test_short_calls_are_continued(tmp_path: Path) -> None:
    for call in ("pwrite", "pread"):
        reply = checkpoint(tmp_path, "-m", "1m", "-r", env=fault_environment("/image.", call, error=0))
        assert (reply.status, messages(reply, "checkpoint")) == (0, [])


def test_an_image_that_became_shorter_is_no_number(tmp_path: Path) -> None:
    env = fault_environment("/image.1", "pwrite", error=-1, rank=1)
    reply = checkpoint(tmp_path, "-m", "1m", "-t", "1m", "-r", env=env)
    assert reply.status == 1
    assert messages(reply, "checkpoint")[0].endswith("/image.1' failed: the file ends after 524288 of 1048576 bytes")


def test_a_file_system_without_room_is_named(tmp_path: Path) -> None:
    options = ("-d", tmp_path, "-m", "64m")
    reply = launch_with_file_limit(tmp_path, 1, 40000, "checkpoint", *options, ranks=2)
    assert reply.status == 1
    assert "image.1' failed: File too large (EFBIG)" in messages(reply, "checkpoint")[0]
    assert (reply.lines_of("phase"), files(tmp_path)) == ([], [])


def test_an_absent_directory_is_named(tmp_path: Path) -> None:
    reply = checkpoint(tmp_path, "-d", tmp_path / "absent")
    assert (reply.status, reply.out) == (1, "")
    assert messages(reply, "checkpoint") == [
        f"checkpoint: rank 0 on n0: mkdir below '{tmp_path}/absent' failed: No such file or directory (ENOENT)"
    ]


def test_more_memory_than_there_is_is_refused_before_anything_is_taken(tmp_path: Path) -> None:
    reply = checkpoint(tmp_path, "-m", "1m:512t")
    assert (reply.status, reply.out, files(tmp_path)) == (2, "", [])
    assert re.fullmatch(
        r"checkpoint: option -m: 4 images on node n\d need 2\.0 PiB of memory, at most \S+ [KMGTP]iB is there "
        r"\(nine tenths of what is free\): use less memory or fewer processes a node",
        messages(reply, "checkpoint")[0],
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("-m", "x"), "option -m: 'x' is not a whole number, with k, m, g or t (checkpoint -h explains LIST)"),
        (("-p", 9), "option -p: '9' is out of range: 1 to 4 is allowed (checkpoint -h explains LIST)"),
        (("-p", "4:2"), "option -p: '4:2' goes downwards (checkpoint -h explains LIST)"),
        (("-p", "1:4,4"), "option -p: 4 is in the list twice (checkpoint -h explains LIST)"),
        (
            ("-m", "1300,1400"),
            "option -m: 1300 and 1400 bytes are both printed as 0.001 MiB (checkpoint -h explains LIST)",
        ),
        (("-t", 0), "option -t: '0' is out of range: 1 to 1073741824 is allowed (checkpoint -h lists the options)"),
    ],
)
def test_wrong_command_lines_are_reported(tmp_path: Path, options: tuple[object, ...], message: str) -> None:
    reply = checkpoint(tmp_path, *options, env=AT_ONCE)
    assert (reply.status, messages(reply, "checkpoint"), reply.out) == (2, [f"checkpoint: {message}"], "")


@pytest.mark.parametrize("lost", [0, 1, 2])
def test_nothing_is_left_when_a_rank_dies(tmp_path: Path, lost: int) -> None:
    options = ("-d", tmp_path, "-m", "4m", "-i", 1_000_000)
    reply = launch_and_lose_a_rank(tmp_path, lost, 1.5, "checkpoint", *options, ranks=3)
    assert reply.status != 0
    assert f"process rank {lost}" in reply.err and "signal 9" in reply.err
    assert reply.lines_of("end") == []
    assert files(tmp_path) == []


def test_sanitizers_have_nothing_to_say(tmp_path: Path) -> None:
    options = ("-m", "1k:1m", "-p", "1:4", "-r", "-t", 1000)
    reply = checkpoint(tmp_path, *options, **sanitizer_options())
    assert (reply.status, sanitizer_messages(reply)) == (0, [])
