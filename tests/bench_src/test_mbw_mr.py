"""The mbw_mr applet, driven as its users drive it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from campaign import __version__
from campaign.results.parsers.consistency import half_digit
from tests.support.bench_binary import AT_ONCE, Reply, launch
from tests.support.bench_faults import (
    launch_and_lose_a_rank,
    library,
    messages,
    sanitizer_messages,
    sanitizer_options,
    warnings,
)

pytestmark = [pytest.mark.mpi, pytest.mark.timeout(900)]

QUICK = ("-i", 5, "-x", 1)


def mbw_mr(tmp_path: Path, *options: object, **settings: Any) -> Reply:
    return launch(tmp_path, "mbw_mr", *options, **settings)


def mask(text: str) -> str:
    """Measured numbers become # of the same width."""
    return re.sub(r" *\d+\.\d{2,}\b", lambda match: "#".rjust(len(match[0])), text)


TWO_PAIRS = f"""\
# MPI Multiple Bandwidth / Message Rate Test (campaign bench {__version__}, output as of osu_mbw_mr)
# [ pairs: 2 ] [ window size: 64 ]
# Datatype: MPI_CHAR.
# Each window is timed by itself, after a barrier, which is in no time.
# The number of processes is odd: the last one, counted node after node, idles.
# Size                  MB/s        Messages/s
1                          #                 #
2                          #                 #
4                          #                 #
"""

SWEEP = f"""\
# MPI Multiple Bandwidth / Message Rate Test (campaign bench {__version__}, output as of osu_mbw_mr)
# [ pairs: 1 to 2 ] [ window size: 64 ]
# Datatype: MPI_CHAR.
# Rise: total over that of one pair. Fall: one pair's over what a pair has left.
# Size       Pairs        Total MB/s        Rise       MB/s a pair        Fall        Messages/s
1                1                 #           #                 #           #                 #
4                1                 #           #                 #           #                 #
16               1                 #           #                 #           #                 #
1                2                 #           #                 #           #                 #
4                2                 #           #                 #           #                 #
16               2                 #           #                 #           #                 #
"""

WINDOWS = f"""\
# MPI Multiple Bandwidth / Message Rate Test (campaign bench {__version__}, output as of osu_mbw_mr)
# [ pairs: 1 ] [ window size: varied ]
# Datatype: MPI_CHAR.
# Each window is timed by itself, after a barrier, which is in no time.

# Bandwidth (MB/s)
# Size    HEADER
8         ROW

# Message rate (Messages/s)
# Size    HEADER
8         ROW
"""


def test_the_text_has_the_form_of_osu_s_test(tmp_path: Path) -> None:
    reply = mbw_mr(tmp_path, "-m", 4, *QUICK, ranks=5)
    assert (reply.status, messages(reply, "mbw_mr")) == (0, [])
    assert mask(reply.out) == TWO_PAIRS


def test_every_size_is_measured_without_any_option(tmp_path: Path) -> None:
    """Up to 4 MiB: nothing but time decides how many sizes are printed."""
    reply = mbw_mr(tmp_path, ranks=4)
    assert reply.status == 0
    rows = [line.split() for line in reply.out.splitlines() if not line.startswith("#")]
    assert [int(row[0]) for row in rows] == [1 << power for power in range(23)]
    assert {line["pairs"] for line in reply.lines_of("bandwidth")} == {2}
    assert [(line["iterations"], line["warmup"]) for line in reply.lines_of("bandwidth")] == [(100, 10)] * 14 + [
        (20, 2)
    ] * 9


def test_the_sweep_prints_total_and_per_pair_bandwidth_with_ratios_to_one_pair(tmp_path: Path) -> None:
    reply = mbw_mr(tmp_path, "--sweep-pairs", "-m", 16, *QUICK, ranks=5)
    lines = [line for line in reply.out.splitlines(keepends=True) if "odd" not in line]
    assert mask("".join(lines)) == SWEEP
    rows = [[float(word) for word in line.split()] for line in lines if not line.startswith("#")]
    one_pair = {row[0]: row[6] * row[0] / 1e6 for row in rows if row[1] == 1}
    for size, pairs, total, rise, pair, fall, messages_s in rows:
        exact, alone = messages_s * size / 1e6, one_pair[size]
        assert total == pytest.approx(exact, rel=0.006, abs=1e-9)
        assert pair == pytest.approx(exact / pairs, rel=0.006, abs=1e-9)
        assert rise == pytest.approx(exact / alone, rel=0.01, abs=0.01)
        assert fall == pytest.approx(alone / (exact / pairs), rel=0.01, abs=0.01)


def test_windows_are_varied(tmp_path: Path) -> None:
    reply = mbw_mr(tmp_path, "-V", "-m", "8:8", *QUICK, ranks=2)
    header = "".join(f"    Window{1 << power:8d}" for power in range(8))
    row = "#".rjust(18) * 8
    assert mask(reply.out) == WINDOWS.replace("HEADER", header).replace("ROW", row)
    assert [line["window"] for line in reply.lines_of("bandwidth")] == [1 << power for power in range(8)]


def test_the_formula_is_that_of_the_reference(tmp_path: Path) -> None:
    """MB/s = size · pairs · iterations · window / 10^6 / mean time of the senders; messages/s = 10^6 · MB/s / size."""
    reply = mbw_mr(tmp_path, "-m", "64:128", "-W", 16, *QUICK, ranks=4)
    assert [line["size_bytes"] for line in reply.lines_of("bandwidth")] == [64, 128]
    for line in reply.lines_of("bandwidth"):
        expected = line["size_bytes"] * 2 * 5 * 16 / 1e6 / line["elapsed_s"]
        assert line["rate_mb_s"] == pytest.approx(expected, rel=1e-3)
        assert line["rate_messages_s"] == pytest.approx(1e6 * expected / line["size_bytes"], rel=1e-3)
        assert line["pair_rate_mb_s"] == pytest.approx(expected / 2, rel=1e-3)
        spread = line["pair_spread_mb_s"]
        assert spread["slowest"] <= spread["median"] <= spread["fastest"]
        assert line["slowest_rank"] in (0, 1)
        assert line["wrong_messages"] is None
    text = [line.split() for line in reply.out.splitlines() if not line.startswith("#")]
    for row, line in zip(text, reply.lines_of("bandwidth"), strict=True):
        assert int(row[0]) == line["size_bytes"]
        for word, exact in zip(row[1:], (line["rate_mb_s"], line["rate_messages_s"]), strict=True):
            assert float(word) == pytest.approx(exact, abs=1.001 * half_digit(word))
    assert all(len(row[1].lstrip("0.").replace(".", "")) >= 3 for row in text)


def test_one_clock_contains_everything_between_the_first_and_the_last_window(tmp_path: Path) -> None:
    lines = mbw_mr(tmp_path, "--one-clock", "-m", "64:128", *QUICK, ranks=4).lines_of("bandwidth")
    assert [line["elapsed_s"] for line in lines] == [line["phase_s"] for line in lines]


def test_windows_that_are_timed_one_by_one_leave_out_the_barriers_before_them(tmp_path: Path) -> None:
    reply = mbw_mr(tmp_path, "-m", "64:128", *QUICK, ranks=4)
    assert "# Each window is timed by itself, after a barrier, which is in no time.\n" in reply.out
    for line in reply.lines_of("bandwidth"):
        assert 0 < line["elapsed_s"] < line["phase_s"]
        assert line["rate_mb_s"] == pytest.approx(line["size_bytes"] * 2 * 5 * 64 / 1e6 / line["elapsed_s"], rel=1e-3)


OF_OSU = f"""\
# MPI Multiple Bandwidth / Message Rate Test (campaign bench {__version__}, output as of osu_mbw_mr)
# [ pairs: 2 ] [ window size: 64 ]
# Datatype: MPI_INT.
# Each message of a window has a buffer of its own.
# Each window is timed by itself, after a barrier, which is in no time.
# Before each timed window there are 2 untimed ones.
# Size                  MB/s        Validation P50 Tail BW(MB/s) P100 Tail BW(MB/s)
4                          #              Pass                 #                 #
8                          #              Pass                 #                 #
"""


def test_options_of_osu_s_test(tmp_path: Path) -> None:
    options = ("-R", 0, "-b", "multiple", "-T", "mpi_int", "-c", "-u", 2, "-z50,100", "-m", 8)
    reply = mbw_mr(tmp_path, *options, *QUICK, ranks=4)
    assert (reply.status, messages(reply, "mbw_mr")) == (0, [])
    assert mask(reply.out) == OF_OSU
    assert [line["size_bytes"] for line in reply.lines_of("bandwidth")] == [4, 8]
    for line in reply.lines_of("bandwidth"):
        assert (line["datatype"], line["buffers"], line["wrong_messages"]) == ("MPI_INT", "multiple", 0)
        percentiles = line["window_percentiles_mb_s"]
        assert 0 < percentiles["p50"] <= percentiles["p100"]
    reply = mbw_mr(tmp_path, "-v")
    assert (reply.status, reply.out) == (0, OF_OSU.splitlines(keepends=True)[0])


@pytest.mark.parametrize("node_of_rank", ["R/4", "R%2"])
def test_pairs_go_from_one_node_to_the_other_however_ranks_are_placed(tmp_path: Path, node_of_rank: str) -> None:
    reply = mbw_mr(tmp_path, "--sweep-pairs", "-m", "1:1", *QUICK, ranks=8, node_of_rank=node_of_rank)
    assert [(line["pairs"], line["pairs_across_nodes"]) for line in reply.lines_of("bandwidth")] == [
        (1, 1),
        (2, 2),
        (3, 3),
        (4, 4),
    ]
    assert warnings(reply) == []


def test_pairs_that_stay_on_one_node_are_warned_of(tmp_path: Path) -> None:
    reply = mbw_mr(tmp_path, "-p", 2, "-m", "1:1", *QUICK, ranks=8, node_of_rank="R/4")
    assert reply.line_of("bandwidth")["pairs_across_nodes"] == 0
    assert warnings(reply) == [
        "2 of 2 pairs stay on one node: give every node the same number of processes, and start two for each pair"
    ]
    assert "# 4 of 8 processes idle." in reply.out


def test_messages_are_validated_byte_by_byte(tmp_path: Path) -> None:
    reply = mbw_mr(tmp_path, "-c", "-m", "1:64k", *QUICK, ranks=4)
    assert reply.status == 0
    assert reply.out.count("              Pass\n") == 17
    assert {line["wrong_messages"] for line in reply.lines_of("bandwidth")} == {0}


@pytest.mark.parametrize(("after", "message"), [(6 * 64 - 1, "timed message"), (6 * 64 + 63, "message 63")])
def test_a_single_flipped_bit_fails_the_validation(tmp_path: Path, after: int, message: str) -> None:
    env = {
        "LD_PRELOAD": str(library("faulty_receive")),
        "FAULT_BYTES": "16",
        "FAULT_RANK": "1",
        "FAULT_AFTER": str(after),
    }
    reply = mbw_mr(tmp_path, "-c", "-m", "8:32", *QUICK, ranks=2, node_of_rank="R", env=env)
    assert reply.status == 1
    found_messages = messages(reply, "mbw_mr")
    assert len(found_messages) == 1
    pattern = rf"mbw_mr: rank 1 on n1: receive '{message} of 16 bytes' failed: byte 3 is 0x(..), 0x(..) was sent"
    match = re.fullmatch(pattern, found_messages[0])
    assert match is not None and int(match[1], 16) ^ int(match[2], 16) == 4
    rows = [line.split() for line in reply.out.splitlines() if line[:1].isdigit()]
    assert [row[-1] for row in rows] == ["Pass", "Fail", "Pass"]
    assert rows[1] == ["16", "nan", "nan", "Fail"]
    assert [line["wrong_messages"] for line in reply.lines_of("bandwidth")] == [0, 1, 0]
    assert [line["rate_mb_s"] is None for line in reply.lines_of("bandwidth")] == [False, True, False]
    assert reply.line_of("end")["status"] == "failed"


@pytest.mark.parametrize(
    ("options", "ranks", "message"),
    [
        (("-D", "cont"), 2, "option -D is not offered: messages are contiguous (mbw_mr -h lists the options)"),
        ((), 1, "1 process makes no pair: start at least 2"),
        (("-p", 3), 5, "option -p: 3 pairs need 6 processes, there are 5: at most 2"),
        (("-m", "8:4"), 2, "option -m: the smallest size 8 is above the largest 4"),
        (("-m", "x"), 2, "option -m: 'x' is not a number of bytes from 1 to 2147483647 (k, m, g: powers of 1024)"),
        (("-m", "0:8"), 2, "option -m: '0' is not a number of bytes from 1 to 2147483647 (k, m, g: powers of 1024)"),
        (("-m", "2g"), 2, "option -m: '2g' is not a number of bytes from 1 to 2147483647 (k, m, g: powers of 1024)"),
        (("-V", "--sweep-pairs"), 2, "options -V and --sweep-pairs exclude each other: vary one thing at a time"),
    ],
)
def test_wrong_command_lines_are_reported(
    tmp_path: Path, options: tuple[object, ...], ranks: int, message: str
) -> None:
    reply = mbw_mr(tmp_path, *options, ranks=ranks, env=AT_ONCE)
    assert (reply.status, messages(reply, "mbw_mr"), reply.out) == (2, [f"mbw_mr: {message}"], "")


def test_a_rank_that_dies_ends_the_run(tmp_path: Path) -> None:
    reply = launch_and_lose_a_rank(tmp_path, 1, 1.5, "mbw_mr", "-m", "8:8", "-i", 1 << 30, ranks=2)
    assert reply.status != 0
    assert "process rank 1" in reply.err and "signal 9" in reply.err
    assert (reply.lines_of("bandwidth"), reply.lines_of("end")) == ([], [])


def test_sanitizers_have_nothing_to_say(tmp_path: Path) -> None:
    windows = ("-c", "-m", "1:64k", "-b", "multiple", "-u", 1, "-z")
    one_pair, two_pairs = 2, 5  # and one that idles
    for ranks, options in (
        (one_pair, ("-c", "-m", "1:64k")),
        (two_pairs, windows),
        (two_pairs, ("--sweep-pairs", "-m", "1k")),
        (one_pair, ("-V", "-m", 64)),
    ):
        reply = mbw_mr(tmp_path, *options, *QUICK, ranks=ranks, **sanitizer_options())
        assert (reply.status, sanitizer_messages(reply)) == (0, [])
