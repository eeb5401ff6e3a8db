"""The benchmark's JSON lines give records with what happened, and a file that is not whole says so."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from campaign.core.records import Attestation, Observation, Record, Source
from campaign.results.parsers import bench_jsonl, json_applets
from campaign.results.parsers.bench_jsonl import parse
from tests.support.captures import texts_of

DATA = Path(__file__).parents[2] / "data"

Line = dict[str, Any]

START: Line = {
    "type": "start", "format": 1, "program": "bench", "version": "0.1.0", "applet": "mdtest",
    "argv": ["./mdtest", "-F", "-C", "-T", "-r", "-n", "16", "-d", "/scratch/it's", "-N", "2"],
    "binary_sha256": "ab" * 32, "binary_agreed": True, "compiler": "gcc", "compiler_flags": "-O2", "mpi": "Open MPI",
    "unix_time": 1795234847.8, "processes": 4, "nodes": 2, "processes_per_node": 2, "placement": "block",
    "rank_to_node": [
        {"node": "n1", "unix_time": 1.0, "ranks": "0-1"}, {"node": "n2", "unix_time": 1.0, "ranks": "2-3"},
    ],
    "job_id": "12", "step_id": "0",
}  # fmt: skip
SHIFT: Line = {"type": "shift", "requested": 2, "effective": 2, "ranks_per_node": 2, "whole_nodes": True}
END: Line = {"type": "end", "status": "ok", "failed_operations": 0, "exit_status": 0, "unix_time": 1795234849.0}


def phase(operation: str = "create", **changes: Any) -> Line:
    line = {
        "type": "phase", "iteration": 0, "operation": operation, "object": "file", "rate_ops_s": 200.0,
        "elapsed_s": 0.32, "operations_counted": 64, "operations_done": 64, "files_counted": 64, "files_true": 64,
        "failed": 0, "true_rate_ops_s": 200.0,
        "rank_rate_ops_s": {"fastest": 60.0, "median": 55.0, "slowest": 50.0},
        "slowest_rank": 3, "slowest_node": "n2", "rank_shift": 0, "remote_share": 0.0,
    }  # fmt: skip
    return line | changes


def record(value: float, name: str = "write", **changes: Any) -> Line:
    return {"type": "record", "record": name, "value": value, "unit": "MiB/s"} | changes


def text(*lines: Line) -> str:
    return "".join(json.dumps(line) + "\n" for line in lines)


def test_a_whole_file_gives_records_and_what_is_known_of_the_execution() -> None:
    records, seen = parse(text(START, SHIFT, phase(), END), "bench.jsonl")
    assert records == [
        Record(
            "create", 200.0, "ops/s", Source("bench.jsonl", 3),
            minimum=200.0, mean=200.0, stddev=0.0, iterations=1, operations_done=64, elapsed_s=0.32, remote_share=0.0,
            rank_fastest=60.0, rank_median=55.0, rank_slowest=50.0,
        )
    ]  # fmt: skip
    assert seen == Observation(
        program="campaign bench 0.1.0",
        argv=tuple(START["argv"]),
        processes=4,
        nodes=2,
        processes_per_node=2,
        placement="block",
        shift_requested=2,
        shift_effective=2,
        whole_nodes=True,
        binary_sha256="ab" * 32,
        binary_agreed=True,
        job_id="12",
        step_id="0",
        node_names=("n1", "n2"),
        began=1795234847.8,
        ended=1795234849.0,
        failed_operations=0,
        complete=True,
        attestation=Attestation(compiler="gcc", clocks={"n1": 1.0, "n2": 1.0}, phases_s=0.32),
    )


def test_what_belongs_to_one_iteration_is_that_of_the_best() -> None:
    slow, fair = 64 / 100, 64 / 160
    phases = [
        phase(rate_ops_s=100.0, true_rate_ops_s=100.0, elapsed_s=slow),
        phase(),
        phase(rate_ops_s=160.0, true_rate_ops_s=160.0, elapsed_s=fair),
    ]
    records, seen = parse(text(START, *phases, END), "bench.jsonl")
    assert (records[0].elapsed_s, records[0].iterations, texts_of(seen.errors)) == (0.32, 3, ())


def test_what_the_benchmark_measured_of_its_own_timing_is_read() -> None:
    lines = (START | {"clock_step_s": 3e-8}, phase(start_skew_s=0.002), END)
    records, seen = parse(text(*lines), "bench.jsonl")
    assert (records[0].start_skew_s, seen.clock_step_s) == (0.002, 3e-8)


@pytest.mark.parametrize("skew", [None, "absent"])
def test_without_barriers_and_in_files_of_version_0_1_0_the_start_skew_is_not_known(skew: str | None) -> None:
    line = phase() if skew == "absent" else phase(start_skew_s=skew)
    records, seen = parse(text(START, line, END), "bench.jsonl")
    assert (records[0].start_skew_s, seen.clock_step_s, texts_of(seen.errors)) == (None, None, ())


@pytest.mark.parametrize("name", ["rate_ops_s", "true_rate_ops_s"])
def test_a_rate_that_does_not_fit_its_count_and_time_is_an_error(name: str) -> None:
    _, seen = parse(text(START, phase(**{name: 987.0}), END), "bench.jsonl")
    assert f"bench.jsonl:2: {name}: 987.000 is not 64 operations in 0.320000000 s: inconsistent output" in texts_of(
        seen.errors
    )


def test_the_true_numbers_stand_where_the_formula_counts_more_than_happened() -> None:
    fields = phase(files_true=16)
    removed = phase("remove", operations_done=16, files_true=16, true_rate_ops_s=50.0)
    records, _ = parse(text(START, fields, removed, END), "bench.jsonl")
    assert [(r.operation, r.value, r.true_value, r.operations_done, r.files_true) for r in records] == [
        ("create", 200.0, 200.0, 64, 16),
        ("remove", 200.0, 50.0, 16, 16),
    ]


def test_directories_and_trees_have_names_of_their_own() -> None:
    pairs = [("create", "directory"), ("tree_create", "directory"), ("stat", "file")]
    lines = [phase(operation, object=thing) for operation, thing in pairs]
    records, _ = parse(text(START, *lines, END), "bench.jsonl")
    assert [record.operation for record in records] == ["dir_create", "tree_create", "stat"]


def test_of_several_task_counts_that_of_all_tasks_is_the_result() -> None:
    few_entries = [phase(processes=2, rate_ops_s=900.0, elapsed_s=64 / 900)]
    records, seen = parse(text(START, *few_entries, phase(processes=4), END), "bench.jsonl")
    assert [(record.value, record.source.line) for record in records] == [(200.0, 3)]
    assert seen.errors == ()


def test_failures_are_reported_with_their_place_and_make_the_end_an_error() -> None:
    failed = {
        "type": "error", "message": "No such file or directory (ENOENT)", "rank": 3, "node": "n2",
        "path": "/scratch/a", "operation": "stat", "errno": 2, "errno_name": "ENOENT",
    }  # fmt: skip
    warned = {"type": "warning", "message": "clock is coarse"}
    ended_fields = END | {"status": "failed", "failed_operations": 7, "exit_status": 1}
    _, seen = parse(text(START, warned, failed, ended_fields), "bench.jsonl")
    assert texts_of(seen.warnings) == ("bench.jsonl:2: clock is coarse",)
    assert texts_of(seen.errors) == (
        "bench.jsonl:3: stat '/scratch/a' on rank 3 (n2): No such file or directory (ENOENT)",
        "bench.jsonl:4: benchmark status failed: 7 failed operations, exit status 1",
    )
    assert (seen.failed_operations, seen.complete) == (7, True)


def test_ranks_that_ran_different_executables_are_an_error() -> None:
    _, seen = parse(text(START | {"binary_agreed": False}, END), "bench.jsonl")
    assert texts_of(seen.errors) == ("bench.jsonl:1: the ranks ran different executables; the hash is that of rank 0",)


def test_a_file_without_an_end_belongs_to_a_run_that_died() -> None:
    records, seen = parse(text(START, phase(failed=0)), "bench.jsonl")
    assert len(records) == 1
    assert (seen.complete, seen.failed_operations) == (False, None)
    assert texts_of(seen.errors) == ("bench.jsonl: no `end` line: the benchmark ended early",)


def test_failures_that_were_counted_before_a_run_died_are_known() -> None:
    assert parse(text(START, phase(failed=5)), "bench.jsonl")[1].failed_operations == 5


def test_a_last_line_that_was_cut_off_is_tolerated_and_said() -> None:
    full_text = text(START, phase())
    records, seen = parse(full_text + json.dumps(END)[:20], "bench.jsonl")
    assert len(records) == 1
    assert texts_of(seen.errors)[0] == "bench.jsonl:3: last line truncated"
    assert len(seen.unparsed) == 1


def test_a_file_without_the_clocks_of_its_nodes_is_refused_whole() -> None:
    nodes = [{"node": "n1", "ranks": "0-1"}, {"node": "n2", "ranks": "2-3"}]
    records, seen = parse(text(START | {"rank_to_node": nodes}, phase(), END), "bench.jsonl")
    assert (records, texts_of(seen.errors)) == (
        [],
        ("bench.jsonl:1: unix_time: None is not a number ≥ 0; file ignored",),
    )


@pytest.mark.parametrize("version", [2, 0, "1", True, None, 1.5])
def test_another_format_is_refused_whole(version: object) -> None:
    records, seen = parse(text(START | {"format": version}, phase(), END), "bench.jsonl")
    assert records == []
    assert not seen.complete
    assert texts_of(seen.errors) == (f"bench.jsonl:1: format {version!r}; expected 1; file ignored",)


def test_a_file_that_does_not_begin_with_start_is_refused_whole() -> None:
    records, seen = parse(text(phase(), START, END), "bench.jsonl")
    assert records == []
    assert texts_of(seen.errors) == ("bench.jsonl:1: first line is `phase`; expected `start`; file ignored",)


def test_an_empty_file_is_reported_as_empty() -> None:
    assert texts_of(parse("", "bench.jsonl")[1].errors) == ("bench.jsonl: empty: the benchmark wrote no results",)


def test_two_executions_in_one_file_are_an_error() -> None:
    _, seen = parse(text(START, START, END), "bench.jsonl")
    assert texts_of(seen.errors) == ("bench.jsonl:2: second `start` line: several runs wrote this file",)


def test_what_comes_after_the_end_is_an_error() -> None:
    records, seen = parse(text(START, END, phase()), "bench.jsonl")
    assert records == []
    assert texts_of(seen.errors) == ("bench.jsonl:3: `phase` line after the `end` line",)


def test_a_record_line_is_a_result_of_whichever_applet_wrote_it() -> None:
    ranks = {"fastest": 60.0, "median": 55.0, "slowest": 50.0}
    lines = (record(200.0, elapsed_s=0.3, ranks=ranks, remote_share=0.5), record(100.0), record(4.0, "time", unit="s"))
    records, seen = parse(text(START | {"applet": "pool"}, *lines, record(3.0, "time", unit="s"), END), "bench.jsonl")
    assert records == [
        Record(
            "write", 200.0, "MiB/s", Source("bench.jsonl", 2), minimum=100.0, mean=150.0, stddev=records[0].stddev,
            iterations=2, elapsed_s=0.3, remote_share=0.5, rank_fastest=60.0, rank_median=55.0, rank_slowest=50.0,
            each=records[0].each,
        ),
        Record(
            "time", 3.0, "s", Source("bench.jsonl", 5), minimum=3.0, mean=3.5, stddev=records[1].stddev, iterations=2,
            statistic="minimum", each=records[1].each,
        ),
    ]  # fmt: skip
    assert [iteration.value for iteration in records[0].each] == [200.0, 100.0]
    assert texts_of(seen.errors) == ()


def test_lines_beside_the_results_of_an_applet_are_known() -> None:
    entries: list[dict[str, object]] = [{"type": kind} for kind in ("bandwidth", "phase", "plan", "result", "verify")]
    entries.append(
        {"type": "process", "operation": "write", "rank": 0, "node": "n", "interval_s": 1, "timeline_bytes": []}
    )
    _, seen = parse(text(START | {"applet": "pool"}, *entries, {"type": "odd"}, END), "bench.jsonl")
    assert (seen.errors, texts_of(seen.unparsed)) == (
        (),
        ("bench.jsonl:8: unknown line type 'odd' of applet pool",),
    )


@pytest.mark.parametrize(
    "change", [{"value": None}, {"value": "9"}, {"record": 3}, {"unit": None}, {"ranks": 3}, {"elapsed_s": -1}]
)
def test_a_record_line_that_is_not_as_the_format_says_is_an_error(change: Line) -> None:
    records, seen = parse(text(START | {"applet": "pool"}, record(200.0) | change, END), "bench.jsonl")
    assert (records, len(seen.errors), len(seen.unparsed)) == ([], 1, 1)


def test_unknown_types_are_kept_as_unknown_and_unknown_fields_are_ignored() -> None:
    records, seen = parse(text(START | {"x": 1}, {"type": "odd"}, phase(x=[]), END), "bench.jsonl")
    assert len(records) == 1
    assert seen.errors == ()
    assert texts_of(seen.unparsed) == ("bench.jsonl:2: unknown line type 'odd' of applet mdtest",)


@pytest.mark.parametrize(
    "line",
    [
        "[1, 2]", "17", '{"type": 3}', "{}", "nonsense", '{"type": "phase", "rate_ops_s": NaN}', "[" * 100_000,
        '{"type": "phase", "elapsed_s": 1e999}', '{"type": "end", "failed_operations": ' + "9" * 5000 + "}",
        json.dumps(phase(rate_ops_s="200")), json.dumps(phase(rate_ops_s=-1)), json.dumps(phase(operations_done=1.5)),
        json.dumps(phase(failed=True)), json.dumps(phase(rank_rate_ops_s=3)), json.dumps(phase("burn")),
        json.dumps(phase(object="fifo")), json.dumps(phase(true_rate_ops_s=None)), json.dumps(phase(failed=None)),
        json.dumps(SHIFT | {"effective": -1}), json.dumps(SHIFT | {"whole_nodes": 1}), json.dumps({"type": "error"}),
    ],
)  # fmt: skip
def test_a_line_that_is_not_as_the_format_says_is_an_error_and_the_others_are_read(line: str) -> None:
    records, seen = parse(text(START, phase("stat")) + line + "\n" + text(END), "bench.jsonl")
    assert [record.operation for record in records] == ["stat"]
    assert seen.complete
    assert len(seen.errors) == 1
    assert texts_of(seen.errors)[0].startswith("bench.jsonl:3: ")
    assert len(seen.unparsed) == 1


@pytest.mark.parametrize("key", ["argv", "processes", "placement", "binary_sha256", "binary_agreed", "applet"])
def test_a_start_that_lacks_a_field_names_it(key: str) -> None:
    start = {name: value for name, value in START.items() if name != key}
    _, seen = parse(text(start, END), "bench.jsonl")
    assert len(seen.errors) == 1
    assert texts_of(seen.errors)[0].startswith(f"bench.jsonl:1: {key}: ")


def test_text_that_could_not_be_stored_or_shown_is_mended_or_refused() -> None:
    _, seen = parse(text(START | {"argv": ["./mdtest", "\ud800"]}, END), "bench.jsonl")
    assert seen.argv == ("./mdtest", "?")
    _, seen = parse(text(START | {"version": "\x1b[2J"}, END), "bench.jsonl")
    assert texts_of(seen.errors)[0].startswith("bench.jsonl:1: version: ")
    assert texts_of(seen.errors)[0].isprintable()


@pytest.mark.parametrize("file", sorted(DATA.glob("*/bench-*/bench.jsonl")), ids=str)
def test_a_file_of_the_benchmark_itself_has_no_unknown_line(file: Path) -> None:
    records, seen = parse(file.read_text(), "bench.jsonl")
    assert bool(records) != file.parent.name.endswith("directory-absent")
    assert seen.complete
    assert seen.unparsed == ()
    assert (seen.errors == ()) == (seen.failed_operations == 0)


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=5,
)
_templates = st.sampled_from([START, SHIFT, phase(), END, {"type": "warning", "message": "x"}])


@st.composite
def damaged_outputs(draw: st.DrawFn) -> str:
    lines = [START] if draw(st.booleans()) else []
    for _ in range(draw(st.integers(0, 6))):
        line = dict(draw(_templates))
        if draw(st.booleans()):
            line[draw(st.sampled_from(sorted(line)))] = draw(_json)
        lines.append(line)
    content = text(*lines)
    if content and draw(st.booleans()):
        where = draw(st.integers(0, len(content) - 1))
        content = content[:where] + draw(st.text(max_size=5)) + content[where + draw(st.integers(0, 20)) :]
    return content


@given(damaged_outputs())
def test_a_damaged_file_never_gives_a_number_that_is_not_in_its_line(content: str) -> None:
    records, seen = parse(content, "bench.jsonl")
    lines = content.split("\n")
    for record in records:
        assert json.loads(lines[record.source.line - 1])["rate_ops_s"] == record.value
    for message in (*texts_of(seen.errors), *texts_of(seen.warnings), *texts_of(seen.unparsed)):
        assert message.startswith("bench.jsonl:")
        assert message.isprintable()


@given(st.text())
def test_garbage_gives_no_records_and_an_error(content: str) -> None:
    records, seen = parse(content, "bench.jsonl")
    assert records == []
    assert seen.errors


@pytest.mark.parametrize(
    ("ranks", "message"),
    [
        (["0-1", "2"], "rank_to_node has 2 nodes and 3 ranks; expected 2 and 4"),
        (["0-3"], "rank_to_node has 1 nodes and 4 ranks; expected 2 and 4"),
        (["0-1", "1-2"], "rank_to_node: some ranks are missing or listed twice"),
        (["0-2", "3"], "rank_to_node has 1 to 3 ranks per node; expected 2"),
        (["0,2", "1,3"], "rank_to_node: the ranks of a node are not consecutive, but the placement is block"),
        (["0-1", "two"], "rank_to_node: 'two' is not a list of ranges such as 0-3,8; file ignored"),
    ],
)
def test_a_map_of_ranks_that_is_not_the_placement_beside_it_is_an_error(ranks: list[str], message: str) -> None:
    nodes = [{"node": f"n{number}", "unix_time": 1.0, "ranks": own_text} for number, own_text in enumerate(ranks)]
    _, seen = parse(text({**START, "rank_to_node": nodes}, SHIFT, phase(), END), "bench.jsonl")
    assert f"bench.jsonl:1: {message}" in texts_of(seen.errors)


@pytest.mark.parametrize("ranks", [(1.0, 1.0, 1.0), (50.0, 55.0, 60.0), (49.0, 48.0, 47.0), (60.0, 55.0, 49.0)])
def test_rates_of_ranks_that_do_not_give_the_rate_are_an_error(ranks: tuple[float, float, float]) -> None:
    rates = dict(zip(("fastest", "median", "slowest"), ranks, strict=True))
    _, seen = parse(text(START, SHIFT, phase(rank_rate_ops_s=rates), END), "bench.jsonl")
    assert any("rank_rate_ops_s: " in error and "cannot give 200.000" in error for error in texts_of(seen.errors)), (
        texts_of(seen.errors)
    )


@given(st.integers(1, 100_000), st.integers(1, 10**9), st.floats(1e-4, 1e5), st.floats(0.001, 1.0))
def test_what_the_program_writes_of_a_phase_never_contradicts_itself(
    processes: int, items: int, elapsed: float, share: float
) -> None:
    """All ranks do as many items; the fastest takes a share of the slowest's time. Rates have three decimals."""
    rates = {"fastest": items / elapsed / share, "median": items / elapsed, "slowest": items / elapsed}
    total, rate = processes * items, float(f"{processes * items / elapsed:.3f}")
    counts = dict.fromkeys(("operations_counted", "operations_done", "files_counted", "files_true"), total)
    line = phase(
        rate_ops_s=rate, true_rate_ops_s=rate, elapsed_s=float(f"{elapsed:.9f}"), **counts,
        rank_rate_ops_s={name: float(f"{value:.3f}") for name, value in rates.items()},
    )  # fmt: skip
    nodes = [{"node": "n1", "unix_time": 1.0, "ranks": f"0-{processes - 1}"}]
    start = START | {"processes": processes, "nodes": 1, "processes_per_node": processes, "rank_to_node": nodes}
    lines = start, SHIFT, line, END
    assert texts_of(parse(text(*lines), "bench.jsonl")[1].errors) == ()


def test_ranks_of_which_operations_failed_may_be_slower_than_the_phase() -> None:
    rates = {"fastest": 60.0, "median": 55.0, "slowest": 10.0}
    line = phase(rank_rate_ops_s=rates, failed=1)
    _, seen = parse(text(START, SHIFT, line, {**END, "failed_operations": 1}), "bench.jsonl")
    assert not any("rank_rate_ops_s" in error for error in texts_of(seen.errors))


def test_stats_that_were_not_shifted_as_the_shift_line_says_are_an_error() -> None:
    _, seen = parse(text(START, SHIFT, phase("stat", rank_shift=0), END), "bench.jsonl")
    assert any(
        "rank_shift of stat is 0, but the line of type shift says 2: inconsistent output" in error
        for error in texts_of(seen.errors)
    )


def test_the_length_of_all_phases_is_known_with_the_clock_of_the_run() -> None:
    nodes = [{"node": "n1", "ranks": "0-1", "unix_time": 1.0}, {"node": "n2", "ranks": "2-3", "unix_time": 1.0}]
    lines = (phase(), phase("rename", elapsed_s=0.64, rate_ops_s=100.0, true_rate_ops_s=100.0))
    ends = {**END, "clock_s": 3.0, "kernel_clock_s": 3.0}
    _, seen = parse(text({**START, "rank_to_node": nodes}, SHIFT, *lines, ends), "bench.jsonl")
    assert seen.attestation is not None
    assert seen.attestation.phases_s == pytest.approx(0.32 + 2 * 0.64)


def test_groups_of_processes_and_characters_of_a_line_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    group = {"type": "attestation", "processes": 2, "first_rank": 0, "first_node": "n1"}
    group |= {"objects": {}, "functions": {}, "environment": {}, "mount": {}}
    lines = text(START, SHIFT, group, group, {**group, "x": "y" * 2000}, phase(), END)
    assert parse(lines, "bench.jsonl")[1].errors == ()
    monkeypatch.setattr(bench_jsonl, "MOST_GROUPS", 1)
    monkeypatch.setattr(json_applets, "LONGEST_LINE", 2000)
    _, seen = parse(lines, "bench.jsonl")
    assert seen.attestation is not None and len(seen.attestation.groups) == 1
    assert [(error.line, error.text.partition(" ")[0]) for error in seen.errors] == [(4, "more"), (5, "line")]
