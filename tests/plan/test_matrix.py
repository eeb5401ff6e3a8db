from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from campaign.config.definition import open_campaign
from campaign.config.format import Benchmark, Target
from campaign.config.rules import packs, programs
from campaign.config.slurm_keys import Slurm
from campaign.config.system import Proposed
from campaign.core.errors import InputError
from campaign.core.runs import Cell, Geometry, Input, Launcher, Run
from campaign.plan import matrix
from campaign.plan.dialect import Dialect, offset_argument
from tests.support import builders
from tests.support.examples import examples

quick = settings(max_examples=examples(100))
counts = st.integers(1, 200)
geometries = st.builds(lambda nodes, per_node: Geometry(nodes, nodes * per_node), counts, counts)
targets = st.lists(st.sampled_from("abcdef"), min_size=1, max_size=4, unique=True)


@quick
@given(st.integers(1, 2**40), geometries)
def test_processes_times_n_reaches_the_total_and_no_smaller_n_does(total: int, geometry: Geometry) -> None:
    numbers = matrix.items(builders.campaign(items_total=total), builders.pack(), geometry)
    assert numbers is not None
    per_process, total_items = numbers
    assert total_items == per_process * geometry.processes >= total
    assert (per_process - 1) * geometry.processes < total


def test_the_total_is_the_profiles_unless_the_campaign_says_another() -> None:
    pack = builders.pack(items_total={"full": 64, "rehearsal": 16})
    assert matrix.items(builders.campaign(profile="full"), pack, Geometry(1, 4)) == (16, 64)
    assert matrix.items(builders.campaign(), pack, Geometry(1, 4)) == (4, 16)
    assert matrix.items(builders.campaign(items_total=8), pack, Geometry(1, 4)) == (2, 8)


def test_a_benchmark_without_items_has_no_count() -> None:
    pack = builders.pack(items_total={}, arguments=("-d", "{directory}", "{flags}"))
    run = builders.expand(rules=pack)[0]
    assert (run.items_per_process, run.items_total, run.notes) == (None, None, ())
    assert run.arguments == ("-d", "{directory}")


def test_the_last_line_of_a_program_is_known_by_its_dialect_or_by_its_pack_and_changes_no_fingerprint() -> None:
    external = Benchmark(Path("/opt/bench/mdtest"), "rank-offset")
    ends = [
        builders.expand(builders.campaign(benchmark=benchmark))[0].commands[0].end
        for benchmark in (external, Benchmark())
    ]
    assert ends == ["-- finished at .+ --", ""]
    assert re.fullmatch(ends[0], "-- finished at 11/23/2026 21:23:54 --")
    for last_line in ("Finished            : Sat Nov 21 05:56:45 2026", "Run finished: Sat Nov 21 05:56:45 2026"):
        assert re.fullmatch(programs.built_in_format("ior").end, last_line)
    (hpcg,) = packs.load("hpcg").programs
    assert hpcg.last_line.startswith("Final Summary::")
    run = builders.expand(builders.campaign(benchmark=external))[0]
    bare_run = replace(run, commands=tuple(replace(command, end="") for command in run.commands))
    assert matrix.fingerprint(run) == matrix.fingerprint(bare_run)


def test_a_total_that_does_not_divide_is_reported_and_one_that_does_is_not() -> None:
    runs = {run.launch: run for run in builders.expand()}
    assert runs["max"].items_total == 1024
    assert runs["max"].notes == ("1000 files are not divisible by 32 processes: rounded up to 32 each, 1024 in total",)
    assert runs["peak"].notes == ()


@quick
@given(targets, st.integers(1, 4))
def test_every_cell_is_in_the_table_once_and_is_measured_by_one_run_of_each_repetition(
    names: list[str], repetitions: int
) -> None:
    campaign = builders.campaign(targets=tuple(Target(name, f"/{name}") for name in names), repetitions=repetitions)
    cells = matrix.cells(campaign, builders.pack())
    assert len(cells) == len(set(cells)) == len(names) * 4 * 3 * 3
    runs = builders.expand(campaign)
    assert len({run.id for run in runs}) == len(runs)
    for repetition in range(1, repetitions + 1):
        measured = [cell for run in runs if run.repetition == repetition for cell in run.cells()]
        assert sorted(map(str, measured)) == sorted(map(str, cells))


def test_the_crossroads_pack_has_36_cells_in_the_order_of_its_table() -> None:
    cells = matrix.cells(builders.campaign(), packs.load("crossroads-mdtest"))
    assert len(cells) == 36
    assert cells[:4] == (
        Cell("scratch", "single", "shared", "create"),
        Cell("scratch", "single", "shared", "stat"),
        Cell("scratch", "single", "shared", "remove"),
        Cell("scratch", "node", "shared", "create"),
    )
    assert cells[-1] == Cell("scratch", "max", "onefile", "remove")


def test_the_crossroads_commands_are_those_of_the_rfp() -> None:
    campaign = builders.campaign(profile="full", launch={"peak": Geometry(4, 64)})
    shared_run, unique, onefile = builders.expand(campaign, packs.load("crossroads-mdtest"))
    words = ("-F", "-C", "-T", "-r", "-n", "16384", "-d", "{directory}", "-N", "16")
    assert shared_run.arguments == words
    assert unique.arguments == (*words, "-u")
    assert onefile.arguments == (*words, "-S")


def test_a_launch_condition_without_a_geometry_has_cells_but_no_runs() -> None:
    campaign = builders.campaign(launch={"node": Geometry(1, 4)})
    assert {run.launch for run in builders.expand(campaign)} == {"node"}
    assert {cell.launch for cell in matrix.cells(campaign, builders.pack())} == {"single", "node", "peak", "max"}


def test_a_translated_offset_is_executed_and_disclosed() -> None:
    geometry = Geometry(2, 8)
    executable = {"mdtest": matrix.Executable("/opt/mdtest", Dialect.NODE_OFFSET)}
    run = matrix.expand(builders.campaign(), builders.pack(), {"peak": geometry}, executable)[0]
    assert run.arguments[run.arguments.index("-N") + 1] == "1"
    assert run.notes == (offset_argument(Dialect.NODE_OFFSET, geometry)[1],)
    assert run.notes[0].startswith("-N 1 instead of -N 4")


def test_a_chosen_launcher_is_executed_and_disclosed() -> None:
    chosen_launcher = Launcher("mpirun", ("--bind-to", "core"), prefix=("numactl", "--localalloc"))
    run = builders.expand(builders.campaign(launcher=chosen_launcher))[0]
    assert (run.launcher, run.commands[0].prefix) == (chosen_launcher, chosen_launcher.prefix)
    message = "launched by mpirun --bind-to core ... numactl --localalloc, as set in the campaign file"
    assert message in run.notes


def test_extra_arguments_come_last() -> None:
    campaign = builders.campaign(benchmark=replace(builders.campaign().benchmark, extra_arguments=("-v", "-v")))
    assert all(run.arguments[-2:] == ("-v", "-v") for run in builders.expand(campaign))


def test_an_unknown_placeholder_is_refused_with_those_that_are_known() -> None:
    with pytest.raises(InputError) as caught:
        builders.expand(rules=builders.pack(arguments=("-n", "{nproc}", "{flags}")))
    assert str(caught.value) == (
        "rule pack test-rules: arguments: unknown placeholder {nproc}; allowed: {processes}, {nodes}, "
        "{processes_per_node}, {items_per_process}, {items_total}, {rank_offset}, {directory}, {flags}"
    )


EXECUTED = {
    "environment": (("OMP_NUM_THREADS", "1"),),
    "node": "n1",
    "chunk": ("n1", "n2"),
    "prepare": ("mkdir {directory}/data",),
    "gres": "gpu:4",
    "inputs": (Input("box", "/work/box.in", "ab" * 32),),
    "threads": 2,
    "geometry": Geometry(4, 8),
    "directory": "/other",
    "executable": "/opt/other/mdtest",
    "arguments": ("-F", "-C", "-T", "-r", "-n", "126", "-d", "{directory}", "-N", "4", "-u"),
    "launcher": Launcher(prefix=("numactl", "--localalloc")),
}
NOT_EXECUTED = {
    "energy": "slurm",
    "id": "scratch.peak.unique.r2",
    "repetition": 2,
    "target": "renamed",
    "launch": "best",
    "files": "own",
    "operations": ("create",),
    "items_per_process": 1,
    "items_total": 1,
    "notes": ("said",),
    "phase": "grid",
}


def test_every_field_of_a_run_either_decides_what_is_executed_or_does_not() -> None:
    expected_fields = (EXECUTED.keys() | NOT_EXECUTED.keys()) - {"executable", "arguments"}
    assert expected_fields | {"fingerprint", "commands"} == set(Run.__dataclass_fields__)


@pytest.mark.parametrize(("field", "value"), EXECUTED.items())
def test_the_fingerprint_changes_with_what_is_executed(field: str, value: object) -> None:
    assert matrix.fingerprint(builders.run(**{field: value})) != matrix.fingerprint(builders.run())


@pytest.mark.parametrize(("field", "value"), NOT_EXECUTED.items())
def test_the_fingerprint_stays_where_what_is_executed_stays(field: str, value: object) -> None:
    assert matrix.fingerprint(builders.run(**{field: value})) == matrix.fingerprint(builders.run())


words = st.lists(st.text(max_size=4), max_size=4).map(tuple)


@quick
@given(words, words, st.text(max_size=4), st.text(max_size=4))
def test_words_that_differ_in_any_way_have_another_fingerprint(
    words: tuple[str, ...], other: tuple[str, ...], program: str, another: str
) -> None:
    first = builders.run(arguments=words, executable=program)
    second = builders.run(arguments=other, executable=another)
    are_same = (words, program) == (other, another)
    assert (matrix.fingerprint(first) == matrix.fingerprint(second)) == are_same


@quick
@given(targets, st.integers(1, 3), st.sampled_from(["run", "geometry", "one"]))
def test_batches_hold_every_run_once_in_order_and_never_two_targets(
    names: list[str], repetitions: int, allocation: str
) -> None:
    campaign = builders.campaign(targets=tuple(Target(name, f"/{name}") for name in names), repetitions=repetitions)
    runs = builders.expand(campaign)
    batches = matrix.batches(runs, allocation)
    assert sorted((run for batch in batches for run in batch), key=runs.index) == list(runs)
    for batch in batches:
        assert list(batch) == sorted(batch, key=runs.index)
        assert len({run.target for run in batch}) == 1
    if allocation == "run":
        assert all(len(batch) == 1 for batch in batches)
    elif allocation == "geometry":
        assert len(batches) == len({(run.target, run.repetition, run.geometry) for run in runs})
        assert all(len({run.geometry for run in batch}) == 1 for batch in batches)
    else:
        assert len(batches) == len(names)


def test_a_round_of_a_search_is_one_job_where_runs_share_one_and_its_next_round_another() -> None:
    tuning = [
        builders.run(id=f"{phase}-{processes}.{block}", phase=phase, repetition=block, geometry=Geometry(1, processes))
        for phase, block in [("grid", 1), ("confirm", 1), ("confirm", 2)]
        for processes in (1, 2, 4)
    ]
    assert [len(batch) for batch in matrix.batches(tuning, "one")] == [3, 3, 3]
    assert len(matrix.batches(tuning, "geometry")) == 9


def test_attempts_count_for_a_run_only_where_they_executed_what_it_says_now() -> None:
    run = builders.run()
    ours, older, other = (
        builders.attempt(run),
        builders.attempt(run, number=2, fingerprint="0" * 16),
        builders.attempt(run, run="scratch.gone.unique.r1"),
    )
    assert matrix.attempts_by_run([run], [ours, older, other]) == {run.id: [ours]}


def test_more_processes_than_files_make_one_each_and_raise_the_number_of_files() -> None:
    geometry = Geometry(2**14, 2**21)
    run = matrix.expand(
        builders.campaign(profile="full"),
        builders.pack(),
        {"max": geometry},
        {"mdtest": matrix.Executable("/opt/mdtest")},
    )[0]
    assert (run.items_per_process, run.items_total) == (1, 2**21)
    assert run.notes == (
        "1048576 files are not divisible by 2097152 processes: rounded up to 1 each, 2097152 in total",
    )


def test_words_are_computed_of_the_geometry_the_memory_of_a_node_and_variables_as_whole_numbers() -> None:
    words = (
        "-b",
        "{= ceil(1.5 * memory * nodes / processes / block)}",
        "-n{= processes_per_node / 3 }",
        "{flags}",
    )
    pack = replace(builders.with_phase(builders.pack(), arguments=words), items_total={}, values={"block": "2m"})
    memory = builders.campaign(slurm=Slurm(node_memory=24 << 30))
    run = matrix.expand(memory, pack, {"peak": Geometry(2, 8)}, PROGRAM)[0]
    assert run.arguments == ("-b", "4608", "-n2")
    with pytest.raises(InputError, match="no value for memory"):
        matrix.expand(builders.campaign(), pack, {"peak": Geometry(2, 8)}, PROGRAM)


def test_words_are_computed_of_the_devices_that_the_campaign_file_describes() -> None:
    words = ("-b", "{= 80% * device_memory * devices / processes_per_node}", "{flags}")
    pack = replace(builders.with_phase(builders.pack(), arguments=words), items_total={})
    campaign = builders.campaign(proposed=Proposed(devices=4, device_memory=80 << 30))
    run = matrix.expand(campaign, pack, {"peak": Geometry(2, 8)}, PROGRAM)[0]
    assert run.arguments == ("-b", str(64 << 30))
    with pytest.raises(InputError, match="no value for device"):
        matrix.expand(builders.campaign(), pack, {"peak": Geometry(2, 8)}, PROGRAM)


def test_a_run_has_the_generic_resources_of_its_launch_condition_and_others_of_the_campaign_file() -> None:
    campaign = builders.campaign(slurm=Slurm(gres=("gpu:a100:2", "nvme:1")))
    own_conditions = tuple(
        replace(condition, gres="gpu:4" if condition.id == "peak" else "") for condition in builders.pack().launch
    )
    geometries = {"peak": Geometry(2, 8), "single": Geometry(1, 1)}
    runs = matrix.expand(campaign, replace(builders.pack(), launch=own_conditions), geometries, PROGRAM)
    assert {run.launch: run.gres for run in runs} == {"peak": "gpu:4,nvme:1", "single": "gpu:a100:2,nvme:1"}
    batches = matrix.batches(runs, "one")
    assert [{run.gres for run in batch} for batch in batches] == [{"gpu:a100:2,nvme:1"}, {"gpu:4,nvme:1"}]


PROGRAM = {"mdtest": matrix.Executable("/bench/mdtest")}
# Settings with what each has where it is not written. Of the partition only Slurm knows which is the default.
DEFAULTS = (
    "repetitions: 1", "items_total: 16384", "launch: {node: 4, peak: {nodes: 2, processes_per_node: 4}, single: 1}",
    "slurm: {time: 1h, mpi: pmix, modules: [], directives: [], environment: {}, allocation: geometry}",
    "benchmark: {executable: builtin, dialect: auto, extra_arguments: []}", "results: results", "variables: {}",
    "search: {per: configuration, margin: 5%, confidence: 98%}", "declined: []",
    "targets: [{name: scratch, directory: //scratch/./cli/, description: flash}]",
)  # fmt: skip


@pytest.mark.parametrize("written_text", DEFAULTS)
def test_a_default_that_is_written_down_changes_no_run(written_text: str, tmp_path: Path) -> None:
    settings = {
        "name": "name: cli", "rules": "rules: crossroads-mdtest", "profile": "profile: rehearsal",
        "targets": "targets: [{name: scratch, directory: /scratch/cli}]",
        "launch": "launch: {node: 4, peak: {nodes: 2, processes: 8}}",
    }  # fmt: skip

    def fingerprints(lines: dict[str, str]) -> list[str]:
        file = tmp_path / "c.yaml"
        file.write_text("\n".join(lines.values()))
        definition = open_campaign(file)
        geometries = {name: at for name, at in definition.campaign.launch.items() if isinstance(at, Geometry)}
        return [
            run.fingerprint
            for run in matrix.expand(
                definition.campaign, definition.pack, geometries, {"mdtest": matrix.Executable("/bench/mdtest")}
            )
        ]

    assert fingerprints({**settings, written_text.partition(":")[0]: written_text}) == fingerprints(settings) != []


@pytest.mark.parametrize(
    ("chunks", "expected"),
    [
        ("contiguous", [("n1", "n2"), ("n3", "n4"), ("n5", "n1")]),
        ("spread", [("n1", "n4"), ("n2", "n5"), ("n3", "n1")]),
    ],
)
def test_every_usable_node_is_in_a_chunk(chunks: str, expected: list[tuple[str, str]]) -> None:
    assert [run.chunk for run in runs_of_chunks(chunks)] == expected
    assert [run.node for run in runs_of_chunks(chunks)] == ["chunk1", "chunk2", "chunk3"]
    assert len({run.fingerprint for run in runs_of_chunks(chunks)}) == 3


def test_random_chunks_are_the_same_in_every_plan_and_have_all_nodes() -> None:
    first, second = runs_of_chunks("random"), runs_of_chunks("random")
    assert first == second
    assert {node for run in first for node in run.only_nodes} == {"n1", "n2", "n3", "n4", "n5"}


def test_a_partition_without_nodes_for_a_chunk_is_refused() -> None:
    with pytest.raises(InputError, match=r"launch.node: needs 2 usable nodes \(.*\); found 1"):
        runs_of_chunks("spread", nodes=1)


def runs_of_chunks(chunks: str, nodes: int = 5) -> list[Run]:
    pack = builders.pack()
    condition = replace(pack.launch[0], id="node", nodes=None, share="chunks of 2", chunks=chunks)
    pack = replace(pack, launch=(condition,), files=pack.files[:1])
    campaign = builders.campaign()
    executables = {"mdtest": matrix.Executable("/opt/mdtest")}
    names = [f"n{number + 1}" for number in range(nodes)]
    return [*matrix.expand(campaign, pack, {"node": Geometry(2, 4)}, executables, nodes=names)]
