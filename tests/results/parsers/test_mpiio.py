"""The chunk pool's text: the bandwidth of all, and what the processes reached while they were at work."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from campaign.results.parsers import output
from tests.support import captures
from tests.support.captures import texts_of

parse = output.parser("mpiio")
POOL = (captures.DATA / "mpiio" / "bench-0.1.0-pool-slow" / "stdout").read_text()
MODEL = (captures.DATA / "mpiio" / "mpiio-6GiB.txt").read_text()


def values(text: str) -> dict[str, float]:
    return {record.operation: record.value for record in parse(text, "stdout")[0]}


def test_each_phase_has_its_bandwidth_and_that_of_its_processes() -> None:
    found_values = values(POOL)
    assert set(found_values) == {
        name
        for phase in ("write", "read")
        for name in (phase, *(f"{phase}-{part}" for part in ("sum", "reached", "fastest", "median", "slowest")))
    }
    assert found_values["write"] <= found_values["write-sum"]
    assert abs(found_values["write"] / found_values["write-sum"] - found_values["write-reached"]) < 0.001


def test_what_the_model_calls_mb_is_mib_and_said() -> None:
    records, seen = parse(MODEL, "stdout")
    assert [(record.operation, record.value, record.unit) for record in records] == [("write", 279.0, "MiB/s")]
    assert texts_of(seen.warnings) == ("stdout:111: the program prints MB but means MiB (1048576 bytes)",)


def test_a_clock_too_coarse_for_the_run_gives_no_number() -> None:
    records, seen = parse(MODEL.replace("279.00", "Inf"), "stdout")
    assert records == []
    assert "clock is too coarse" in texts_of(seen.errors)[0]


def test_a_read_that_was_begun_and_not_ended_is_not_complete() -> None:
    assert not parse(POOL[: POOL.index("Read BW")], "stdout")[1].complete


def test_several_copies_are_an_error() -> None:
    assert "a second write; the first, in line 111, is used" in texts_of(parse(MODEL + MODEL, "stdout")[1].errors)[0]


def test_parts_belong_to_the_bandwidth_that_follows_them() -> None:
    lost = POOL.replace("\nBW:", "\nBandwidth:")
    assert "write" not in values(lost)
    assert values(lost)["read-reached"] in (values(POOL)["write-reached"], values(POOL)["read-reached"])


@pytest.mark.parametrize(
    ("old", "new", "lost"),
    [
        ("reached: 0.864", "reached: 0.964", {"read", "read-sum", "read-reached"}),
        ("slowest 4.34", "slowest 44.34", {"read-fastest"}),
    ],
)
def test_a_bandwidth_that_the_lines_above_it_contradict_is_an_error_and_no_result(
    old: str, new: str, lost: set[str]
) -> None:
    text = (captures.DATA / "mpiio" / "bench-0.1.0-pool-slow" / "stdout").read_text()
    assert old in text
    records, seen = parse(text.replace(old, new), "stdout")
    operations = {record.operation for record in records}
    assert operations == set(values(POOL)) - lost
    assert "result not used" in texts_of(seen.errors)[0]


@given(st.lists(st.floats(0.001, 1e5), min_size=1, max_size=5), st.floats(0.01, 1.0))
def test_what_the_program_printed_never_contradicts_itself(rates: list[float], reached: float) -> None:
    text = (
        "Rank 00000 | Bytes to write: 100\n"
        f"Processes:\tfastest {max(rates):.2f}, median {sorted(rates)[len(rates) // 2]:.2f}, slowest {min(rates):.2f} "
        f"MiB/sec (rank 0 on n0)\nSum:\t{sum(rates):.2f} MiB/sec of the processes while they were at work; "
        f"reached: {reached:.3f} of it\nBW:\t{sum(rates) * reached:.2f} MiB/sec\n"
    )
    records, seen = parse(text, "stdout")
    assert (len(records), seen.errors) == (6, ())


def test_processes_that_are_named_twice_in_a_phase_are_an_error() -> None:
    text = (captures.DATA / "mpiio" / "bench-0.1.0-static-slow" / "stdout").read_text()
    line = next(line for line in text.splitlines(keepends=True) if line.startswith("Processes:"))
    errors = texts_of(parse(text.replace(line, line * 2, 1), "stdout")[1].errors)
    assert any("a second write-fastest" in error for error in errors)
