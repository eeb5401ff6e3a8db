"""The multi-pair test's text: of OSU's program, and of the applet's sweep and windows."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from campaign.core.records import Record, Source
from campaign.results.parsers import output
from tests.support import captures
from tests.support.captures import texts_of

parse = output.parser("mbw_mr")
OSU = (captures.DATA / "mbw_mr" / "osu_mbw_mr-7.4-4-processes.txt").read_text()
SWEEP = (captures.DATA / "mbw_mr" / "bench-0.1.0-sweep" / "stdout").read_text()


def values(text: str) -> dict[str, float]:
    return {record.operation: record.value for record in parse(text, "stdout")[0]}


def test_a_line_gives_the_bandwidth_and_the_message_rate_of_all_pairs() -> None:
    records, seen = parse(OSU, "stdout")
    assert records[:2] == [
        Record("total-2-1", 9.68, "MB/s", Source("stdout", 5)),
        Record("rate-2-1", 9682757.32, "messages/s", Source("stdout", 5)),
    ]
    assert (seen.program, seen.complete) == ("OSU MPI Multiple Bandwidth / Message Rate Test v7.4", True)


# Of OSU 7.4 with -c -z and with -R 0 -z50,75.
TAILS = """\
# OSU MPI Multiple Bandwidth / Message Rate Test v7.4
# [ pairs: 1 ] [ window size: 64 ]
# Datatype: MPI_CHAR.
# Size                  MB/s        Messages/s        Validation P50 Tail BW(MB/s) P90 Tail BW(MB/s) P99 Tail BW(MB/s)
1                       5.78        5780503.45              Pass              5.63              5.88              5.88
2                      11.39        5695926.52              Pass             11.22             11.96             11.96
"""
NO_RATE = """\
# OSU MPI Multiple Bandwidth / Message Rate Test v7.4
# [ pairs: 1 ] [ window size: 64 ]
# Datatype: MPI_CHAR.
# Size                  MB/s P50 Tail BW(MB/s) P75 Tail BW(MB/s)
1                       7.00              6.69              7.28
2                      14.42             14.39             15.77
"""


def test_percentiles_beside_the_rates_and_a_table_without_message_rates_are_read() -> None:
    assert values(TAILS) == {"total-1-1": 5.78, "rate-1-1": 5780503.45, "total-1-2": 11.39, "rate-1-2": 5695926.52}
    assert values(NO_RATE) == {"total-1-1": 7.00, "total-1-2": 14.42}
    for text in (TAILS, NO_RATE):
        _, seen = parse(text, "stdout")
        assert (seen.errors, seen.unparsed, seen.complete) == ((), (), True)


def test_a_sweep_gives_total_and_bandwidth_a_pair_with_their_ratios_to_one_pair() -> None:
    found_values = values(SWEEP)
    assert {name for name in found_values if name.endswith("-2-16")} == {
        f"{name}-2-16" for name in ("total", "rise", "pair", "fall", "rate")
    }
    assert found_values["rise-1-16"] == found_values["fall-1-16"] == 1.0


def test_a_small_rate_has_more_decimals_and_is_compared_with_all_of_them() -> None:
    """A busy machine sends 400 messages of one byte in a second: with two decimals that is 0.00 MB/s."""
    row = f"1         {'0.000400':>18}{'400.00':>18}"
    line = OSU.split("\n")[4]
    assert values(OSU.replace(line, row))["total-2-1"] == 0.0004
    _, seen = parse(OSU.replace(line, row.replace("0.000400", "0.000410")), "stdout")
    assert "total-2-1" not in values(OSU.replace(line, row.replace("0.000400", "0.000410")))
    assert len(seen.errors) == 2


@given(st.floats(0.01, 1e8), st.floats(0.01, 2.0), st.integers(2, 64), st.sampled_from([1, 4096, 1 << 30]))
def test_what_the_program_printed_never_contradicts_itself(alone: float, fall: float, pairs: int, size: int) -> None:
    """Rates in messages a second: of one pair, and of several, each of which has so much of it left."""
    lines = [line for line in SWEEP.splitlines() if line.startswith("#") or not line]
    for count, rate in ((1, alone), (pairs, alone * pairs * fall)):
        total, single = rate * size / 1e6, alone * size / 1e6
        figures = (total, total / single, total / count, single * count / total, rate)
        lines.append(f"{size:<10}{count:8}" + "".join(f" {figure:.{decimals(figure)}f}" for figure in figures))
    records, seen = parse("\n".join(lines) + "\n", "stdout")
    assert (len(records), seen.errors) == (10, ())


def decimals(value: float) -> int:
    """Those of the program: two, and more for a small value, which would have too few digits left."""
    count = 2
    while 0 < value < 1 and count < 9:
        value, count = value * 10, count + 1
    return count


def test_what_happened_with_a_wrong_message_is_an_error() -> None:
    text = OSU.replace("9682757.32", "9682757.32              Fail").replace(
        "Messages/s\n", "Messages/s        Validation\n"
    )
    assert texts_of(parse(text, "stdout")[1].errors) == ("stdout:5: messages of 1 bytes arrived damaged",)


def test_a_line_that_stands_twice_counts_once() -> None:
    line = OSU.split("\n")[4]
    text = OSU.replace(line, f"{line}\n{line.replace('9.68', '8.68')}")
    assert values(text)["total-2-1"] == 9.68
    assert "a second total-2-1; the first, in line 5, is used" in texts_of(parse(text, "stdout")[1].errors)[0]


def test_a_line_before_its_headings_is_no_result() -> None:
    lines = OSU.split("\n")
    text = "\n".join([lines[0], *lines[4:6], *lines[1:4], *lines[6:]])
    assert "total-2-1" not in values(text)
    assert len(parse(text, "stdout")[1].unparsed) == 2


def test_two_beginnings_are_an_error() -> None:
    assert "second run in one output" in texts_of(parse(OSU + OSU, "stdout")[1].errors)[0]


def test_a_last_line_without_its_end_is_not_complete() -> None:
    assert not parse(OSU.rstrip("\n"), "stdout")[1].complete


def test_a_rate_of_messages_that_came_wrong_is_none() -> None:
    line = OSU.split("\n")[4]
    text = OSU.replace(line, "1                        nan               nan              Fail")
    assert "total-2-1" not in values(text)
    assert texts_of(parse(text, "stdout")[1].errors) == ("stdout:5: messages of 1 bytes arrived damaged",)
    line = SWEEP.split("\n")[5]
    _, seen = parse(
        SWEEP.replace(line, "1                1               nan         nan               nan         nan    nan"),
        "stdout",
    )
    assert texts_of(seen.errors)[0] == "stdout:6: messages of 1 bytes arrived damaged"


def test_a_bandwidth_that_its_message_rate_does_not_give_is_an_error_and_no_result() -> None:
    line = next(line for line in OSU.splitlines() if line.startswith("1024 "))
    text = OSU.replace(line, line.replace(" 6", " 9", 1))
    true_records, records = (parse(source, "stdout")[0] for source in (OSU, text))
    lost = {record.operation for record in true_records} - {record.operation for record in records}
    assert {operation.partition("-")[0] for operation in lost} == {"total", "rate"}
    assert (
        "9513.98 MB/s does not agree with rate * size / 1e6 = 6513.9787; result not used"
        in texts_of(parse(text, "stdout")[1].errors)[0]
    )


def test_no_pairs_at_all_are_no_result() -> None:
    text = (captures.DATA / "mbw_mr" / "bench-0.1.0-sizes" / "stdout").read_text()
    records, seen = parse(text.replace("pairs: 2", "pairs: 0"), "stdout")
    assert records == []
    assert any("pairs: 0" in line for line in captures.texts_of(seen.unparsed))
