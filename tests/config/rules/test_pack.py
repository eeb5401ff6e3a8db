"""A pack as it is written becomes the pack of one campaign."""

from __future__ import annotations

from dataclasses import replace

import pytest

from campaign.config.rules.entries import FileConfiguration, LaunchCondition, Operation, Selection, ValueOf, Variable
from campaign.config.rules.pack import RulePack, settle, swept_values
from campaign.config.rules.sweeps import Sweep
from campaign.core.runs import Geometry
from campaign.plan import matrix
from tests.support import builders

PACK = builders.pack(
    arguments=("-b", "{block}", "-m", "{memory}", "-p", "{count}", "-o", "{directory}/x.{block}", "{flags}"),
    launch=(
        LaunchCondition("node", "One node", "1", nodes=1),
        LaunchCondition("pair", "Two nodes", "2", nodes=2),
    ),
    files=(FileConfiguration("all", "Blocks of {block}", "3", ("--size", "{block}")),),
    variables=(Variable("block", "16m", "1m", "4"), Variable("memory", "1m,4m", "1m", "4", free=True)),
    sweeps=(
        Sweep("size", values="{memory}"),
        Sweep("count", first="1", last="{processes_per_node}", times="2", always_last=True),
    ),
    operations=(
        Operation("best", "Rate", "MiB/s", record="best-{block}"),
        Operation("rate-{count}-{size}", "{size}", "MiB/s", record="rate-{count}-{size}", row="{count} processes"),
    ),
)
LAUNCH = {"node": Geometry(1, 3), "pair": Geometry(2, 4)}


def settle_pack(profile: str = "full", **values: str) -> RulePack:
    return settle(PACK, profile, LAUNCH, values)


def test_variables_have_the_profiles_values_in_arguments_files_and_operations() -> None:
    full, rehearsal = settle_pack(), settle_pack("rehearsal")
    assert full.files == (FileConfiguration("all", "Blocks of 16m", "3", ("--size", "16m")),)
    assert full.arguments[:2] == ("-b", "16m")
    assert "{directory}/x.1m" in rehearsal.arguments
    assert rehearsal.operations[0] == Operation("best", "Rate", "MiB/s", record="best-1m", template="best")
    assert (full.profile, full.values) == ("full", {"block": "16m", "memory": "1m,4m"})


def test_a_value_of_the_campaign_takes_the_place_of_the_packs() -> None:
    assert settle_pack("rehearsal", block="2m").values == {"block": "2m", "memory": "1m"}


def test_an_operation_with_sweeps_stands_for_one_of_each_point_and_launch_condition() -> None:
    operations = {operation.id: operation for operation in settle_pack().operations}
    assert list(operations) == [
        *("best", "rate-1-1m", "rate-1-4m", "rate-2-1m", "rate-2-4m", "rate-3-1m", "rate-3-4m"),
    ]
    assert operations["rate-3-4m"] == Operation(
        id="rate-3-4m",
        title="4m",
        record="rate-3-4m",
        unit="MiB/s",
        row="3 processes",
        template="rate-{count}-{size}",
        at=(("count", "3"), ("size", "4m")),
        launch=("node",),
    )
    assert operations["rate-2-4m"].launch == ()
    assert [operation.id for operation in settle_pack().operations_of("pair")] == list(operations)[:5]


def test_the_table_has_a_cell_for_each_operation_of_a_launch_condition() -> None:
    campaign = builders.campaign(launch=LAUNCH, profile="full")
    names = [str(cell) for cell in matrix.cells(campaign, settle_pack())]
    assert len(names) == 7 + 5
    assert "scratch/node/all/rate-3-1m" in names
    assert "scratch/pair/all/rate-3-1m" not in names


def test_a_run_is_given_the_values_and_the_points_of_its_own_geometry() -> None:
    campaign = builders.campaign(launch=LAUNCH, profile="full")
    node, pair = builders.expand(campaign, settle_pack())
    assert " ".join(node.arguments) == "-b 16m -m 1m,4m -p 1,2,3 -o {directory}/x.16m --size 16m"
    assert " ".join(pair.arguments) == "-b 16m -m 1m,4m -p 1,2 -o {directory}/x.16m --size 16m"
    assert node.operations == tuple(operation.id for operation in settle_pack().operations_of("node"))
    assert swept_values(settle_pack(), Geometry(1, 5)) == {"count": "1,2,4,5"}


def test_a_sweep_that_the_campaigns_values_break_is_refused() -> None:
    with pytest.raises(ValueError, match="sweep size: 1m,1m; allowed: values that differ"):
        settle_pack(memory="1m,1m")


def test_an_unknown_geometry_leaves_out_only_what_depends_on_it() -> None:
    pack = settle(PACK, "full", {"node": None, "pair": Geometry(2, 4)}, {})
    assert [operation.id for operation in pack.operations_of("node")] == ["best"]


def test_a_pack_without_sweeps_keeps_its_operations_for_every_launch_condition() -> None:
    pack = builders.pack()
    settled_pack = settle(pack, "full", builders.GEOMETRIES, {})
    assert [
        (operation.id, operation.title, operation.record, operation.launch) for operation in settled_pack.operations
    ] == [(operation.id, operation.title, operation.record, ()) for operation in pack.operations]
    assert (settled_pack.arguments, settled_pack.files) == (pack.arguments, pack.files)


def test_the_last_point_of_a_sweep_decides_which_attempt_is_reported() -> None:
    pack = settle(replace(PACK, selection=Selection("rate-{count}-{size}", "highest", "4")), "full", LAUNCH, {})
    assert pack.deciding_operation("node").id == "rate-3-4m"
    assert pack.deciding_operation("pair").id == "rate-2-4m"
    assert builders.pack().deciding_operation("node").id == "create"


def test_a_variable_has_other_values_for_some_runs_and_the_campaigns_come_first() -> None:
    cases = (ValueOf("64m", "4m", launch="node"), ValueOf("32m", "3m", files="all"))
    varied = builders.pack(
        arguments=("-b", "{block}", "-s{= block / 1024 ^ 2}", "{flags}"),
        launch=PACK.launch,
        files=(FileConfiguration("all", "All", "3"), FileConfiguration("other", "Other", "3")),
        variables=(Variable("block", "16m", "1m", "4", cases=cases),),
        items_total={},
    )
    campaign = builders.campaign(launch=dict(LAUNCH))

    def words(written_values: dict[str, str]) -> dict[str, tuple[str, ...]]:
        settled_pack = settle(varied, "rehearsal", LAUNCH, written_values)
        runs = matrix.expand(campaign, settled_pack, LAUNCH, {"mdtest": matrix.Executable("/opt/mdtest")})
        return {f"{run.launch}/{run.files}": run.arguments[1:] for run in runs}

    assert words({}) == {
        "node/all": ("4m", "-s4"), "node/other": ("4m", "-s4"), "pair/all": ("3m", "-s3"), "pair/other": ("1m", "-s1")
    }  # fmt: skip
    assert set(words({"block": "2m"}).values()) == {("2m", "-s2")}
    assert words({"block@scratch/pair/*": "8m"}) == {
        "node/all": ("4m", "-s4"), "node/other": ("4m", "-s4"), "pair/all": ("8m", "-s8"), "pair/other": ("8m", "-s8")
    }  # fmt: skip
