from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from campaign.config.slurm_keys import Slurm
from campaign.core.errors import EnvironmentLacks, UnknownState
from campaign.slurm import capacity, partitions
from campaign.slurm.partitions import ChosenNodes, NodeKind, NotInSlurm, Partition, Unusable
from tests.support import fake_slurm
from tests.support.answers import slurm_output
from tests.support.fake_slurm import Fake

BY = ("root", 1795376728)  # who set a state, and when
SET = "root|1795376728"
ALL: dict[str, str] = {"PartitionName": "p"}


def row(
    names: str, counts: str, state: str, reason: str = "none", properties: str = "64000||", by: str = "root|1795376728"
) -> str:
    """Of sinfo. `counts`: CPUs, sockets and cores of each; `has`: MiB, features, GRES."""
    return slurm_output(f"{names}|{counts}|{properties}|{state}|{by}|{reason}")


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Fake]:
    with fake_slurm.running_cluster(tmp_path, monkeypatch) as fake:
        yield fake


def test_the_default_partition_is_taken_where_none_is_named(cluster: Fake) -> None:
    expected = Partition(
        "batch",
        4,
        4,
        8,
        86400,
        (),
        default=True,
        memory_mib=64000,
        kinds=(NodeKind(4, 8, 64000, "", (), 2),),
        names=("n1", "n2", "n3", "n4"),
    )
    assert partitions.ask(Slurm()).partition == partitions.ask(Slurm("batch")).partition == expected


def test_nodes_that_cannot_be_used_are_left_out_and_told() -> None:
    sinfo = (
        row("n1", "128|2|64", "idle") + row("n2", "128|2|64", "mixed-") + row("n3", "256|2|64", "allocated")
        + row("n4", "64|1|64", "planned") + row("n5", "128|2|64", "down*", "Not responding")
        + row("n6", "128|2|64", "drained", "disk\nbad") + row("n7", "128|2|64", "idle*")
        + row("n8", "8|1|8", "maint$") + row("n9", "128|2|64", "idle~")
    )  # fmt: skip
    assert partitions.parse({"PartitionName": "big", "MaxTime": "2-12:30:15"}, sinfo) == Partition(
        name="big",
        nodes=9,
        usable=5,
        cores_per_node=64,
        time_limit_s=2 * 86400 + 12 * 3600 + 30 * 60 + 15,
        unusable=(
            Unusable("n5", "down", "down*", "Not responding", *BY),
            Unusable("n6", "drained", "drained", "disk\nbad", *BY),
            Unusable("n7", "down", "idle*"),
            Unusable("n8", "reserved", "maint$"),
        ),
        memory_mib=64000,
        kinds=(NodeKind(1, 64, 64000, "", ()), NodeKind(3, 128, 64000, "", ()), NodeKind(1, 128, 64000, "", (), 2)),
        names=("n1", "n2", "n3", "n4", "n9"),
        powered_down=1,
    )


def test_nodes_that_are_alike_come_in_one_line() -> None:
    partition = partitions.parse(
        ALL, row("n[01-10],x7", "8|1|8", "idle") + row("n[11-12]", "4|1|4", "down*", "dead", by="root|7")
    )
    assert (partition.nodes, partition.usable, partition.cores_per_node) == (13, 11, 8)
    dead = ("down", "down*", "dead", "root", 7)
    assert partition.unusable == (Unusable("n11", *dead), Unusable("n12", *dead))


def test_a_list_of_nodes_that_is_none_is_refused() -> None:
    with pytest.raises(UnknownState, match=r"unexpected output of sinfo: 'n\[1-'"):
        partitions.parse(ALL, row("n[1-", "8|1|8", "idle"))


def test_of_ten_thousand_nodes_that_are_down_the_first_are_named() -> None:
    account = partitions.parse(ALL, row("n[1-10000]", "8|1|8", "down*")).account
    assert account.startswith("partition p: 10000 nodes, none usable; 10000 down: n1 (down*), n2 (down*), ")
    assert account.endswith(", n8 (down*) and 9992 more")


STATES = {
    "idle": "", "allocated": "", "mixed": "", "completing": "", "planned": "", "idle~": "", "mixed-": "",
    "down": "down", "down*": "down", "idle*": "down", "fail": "down", "failing": "down",
    "drained": "drained", "draining": "drained", "drained*": "down", "drained$": "drained",
    "reserved": "reserved", "maint": "reserved", "idle$": "reserved", "allocated$": "reserved",
    "unknown": "unknown", "future": "future", "powering_down": "powering_down",
}  # fmt: skip


@pytest.mark.parametrize(("state", "reason"), STATES.items())
def test_why_a_node_cannot_be_used_is_reported_apart(state: str, reason: str) -> None:
    partition = partitions.parse(ALL, row("n1", "8|1|8", state))
    assert [unusable.why for unusable in partition.unusable] == ([reason] if reason else [])
    assert partition.usable == (not reason)


def test_in_a_reservation_its_nodes_count_and_no_others() -> None:
    states = {"n1": "reserved", "n2": "maint", "n3": "drained$", "n4": "idle"}
    sinfo = "".join(row(node, "8|1|8", state) for node, state in states.items())
    partition = partitions.parse(ALL, sinfo, frozenset({"n1", "n2", "n3"}))
    assert partition.usable == 2
    assert {unusable.node: unusable.why for unusable in partition.unusable} == {
        "n3": "drained",
        "n4": "outside of the reservation",
    }


def test_the_account_of_a_partition_says_what_cannot_be_used_and_why() -> None:
    sinfo = row("n1", "8|1|8", "idle") + row("n2", "8|1|8", "down*", "dead")
    sinfo += row("n3", "8|1|8", "drained", "disk") + row("n4", "8|1|8", "down")
    partition = partitions.parse(ALL, sinfo)
    assert partition.account == (
        "partition p: 4 nodes, 1 usable with 8 cores each; 2 down: n2 (down*: dead set by root at "
        "2026-11-22 19:45:28 UTC), n4 (down); 1 drained: n3 (drained: disk set by root at 2026-11-22 19:45:28 UTC)"
    )
    usable = partitions.parse(ALL, row("n1", "8|1|8", "idle"))
    assert usable.account == "partition p: 1 node, all usable with 8 cores each"
    down = partitions.parse(ALL, row("n1", "8|1|8", "down"))
    assert down.account == "partition p: 1 node, none usable; 1 down: n1 (down)"
    assert partitions.parse(ALL, "").account == "partition p has no nodes"


def test_a_hardware_thread_is_not_a_core() -> None:
    assert partitions.parse(ALL, row("n1", "256|2|64", "idle")).cores_per_node == 128
    assert partitions.parse(ALL, row("n1", "100|2|64", "idle")).cores_per_node == 100


def test_a_partition_without_a_usable_node_has_no_cores() -> None:
    assert partitions.parse(ALL, row("n1", "8|1|8", "down")).cores_per_node == 0


@pytest.mark.parametrize(
    "out",
    ["Welcome to the machine", slurm_output("n1|8"), row("n1", "8+|1|8", "idle")],
    ids=list("abc"),
)
def test_an_answer_without_a_node_that_can_be_read_is_shown(out: str) -> None:
    with pytest.raises(UnknownState, match=r"^unexpected output of sinfo: "):
        partitions.parse(ALL, out)


# --- nodes that are not alike

MIXED = (
    row("n[1-2]", "64|2|32", "idle", properties="256000|cpu,milan|(null)")
    + row("n3", "64|2|32", "mixed", properties="256000|cpu,milan,rack7|(null)")
    + row("g1", "128|1|64", "idle", properties="512000|genoa|gpu:2")
    + row("n4", "64|2|32", "down", "dead", properties="256000|cpu,milan|(null)")
)


def test_of_unlike_nodes_the_smallest_count_and_each_kind_is_reported() -> None:
    partition = partitions.parse(ALL, MIXED)
    assert (partition.nodes, partition.usable, partition.cores_per_node) == (5, 4, 64)
    assert partition.most_processors(Slurm()) == partition.processors(Slurm(processes_per_core=2)) == 64
    assert partition.most_processors(Slurm(processes_per_core=2)) == 128
    assert partition.memory_mib == 256000
    assert partition.kinds == (
        NodeKind(3, 64, 256000, "", ("cpu", "milan")),
        NodeKind(1, 64, 512000, "gpu:2", ("genoa",), 2),
    )
    assert partition.account == (
        "partition p: 5 nodes, 4 usable, not identical; 3 with 64 cores, 250 GiB (cpu, milan), 1 with 64 cores, 500 "
        "GiB, gpu:2 (genoa); the smallest counts: 64 cores per node; slurm.constraint chooses one kind; "
        "1 down: n4 (down: dead set by root at 2026-11-22 19:45:28 UTC)"
    )


@pytest.mark.parametrize(
    ("choice", "nodes", "memory_mib"),
    [
        (ChosenNodes("genoa"), 1, 512000),
        (ChosenNodes("cpu&milan"), 4, 256000),
        (ChosenNodes("cpu&genoa|milan"), 5, 256000),  # not evaluated
        (ChosenNodes("genoa|rack7"), 2, 256000),
        (ChosenNodes("milan", named="n[1-3],g1"), 3, 256000),
        (ChosenNodes(excluded="n[1-4]"), 1, 512000),
    ],
)
def test_only_nodes_that_the_campaign_file_chooses_count(choice: ChosenNodes, nodes: int, memory_mib: int) -> None:
    partition = partitions.parse(ALL, MIXED, None, choice)
    assert (partition.nodes, partition.memory_mib) == (nodes, memory_mib)


def test_the_account_says_what_was_chosen_and_what_was_assumed() -> None:
    assert partitions.parse(ALL, MIXED, None, ChosenNodes("genoa")).account == (
        "partition p with constraint genoa: 1 node, all usable with 64 cores each"
    )
    unclear = partitions.parse(ALL, MIXED, None, ChosenNodes("[milan|genoa]", excluded="n4"))
    assert unclear.account.startswith("partition p with constraint [milan|genoa], without n4: 4 nodes, all usable, not")
    assert unclear.account.endswith("; [milan|genoa] cannot be evaluated here: counted as if it excluded no node")


def test_a_constraint_that_no_node_meets_is_named_with_what_it_may_mean() -> None:
    with pytest.raises(NotInSlurm, match=r"^slurm\.constraint: found milann; no node of partition p .* mean milan\?$"):
        partitions.parse(ALL, MIXED, None, ChosenNodes("milann"))


def test_unlike_nodes_are_reported_apart_also_where_a_reason_looks_like_a_row() -> None:
    sinfo = row("n1", "64|2|32", "drained", "bad\nn9") + MIXED
    assert {node.node: node.reason for node in partitions.parse(ALL, sinfo).unusable} == {"n1": "bad\nn9", "n4": "dead"}


def test_a_partition_that_does_not_exist_is_named_with_those_that_do(cluster: Fake) -> None:
    cluster.fault("scontrol-fails", "Partition bacth not found", one_time=True)
    with pytest.raises(NotInSlurm, match=r"^slurm\.partition: found bacth; .*; did you mean batch\?$"):
        partitions.ask(Slurm("bacth"))


def test_a_reservation_that_does_not_exist_is_named(cluster: Fake) -> None:
    with pytest.raises(NotInSlurm, match=r"^slurm\.reservation: found acceptance; Slurm has no such reservation"):
        partitions.ask(Slurm(reservation="acceptance"))


def test_the_partition_at_hand_is_the_default_one_and_none_where_no_slurm_answers(
    cluster: Fake, monkeypatch: pytest.MonkeyPatch
) -> None:
    partition = partitions.at_hand()
    assert partition is not None and partition.name == "batch"
    monkeypatch.setenv("PATH", "/nowhere")
    assert partitions.at_hand() is None


def test_the_nodes_architecture_is_that_of_the_first(cluster: Fake) -> None:
    assert partitions.architecture("batch") == os.uname().machine


def test_the_failure_of_a_question_is_reported_in_slurms_words(cluster: Fake) -> None:
    cluster.fault("scontrol-fails", "slurm_load_partitions error: Invalid partition name specified")
    with pytest.raises(UnknownState, match="Invalid partition name specified"):
        partitions.ask(Slurm("nope"))


@pytest.mark.parametrize("output", ["No partitions in the system", "PartitionName=a Default=NO"])
def test_a_cluster_without_a_default_partition_is_reported(cluster: Fake, output: str) -> None:
    cluster.fault("scontrol-garbage", output)
    with pytest.raises(EnvironmentLacks, match=r"no default partition; set slurm\.partition"):
        partitions.ask(Slurm())


@pytest.mark.parametrize(
    ("text", "seconds"), [("UNLIMITED", None), ("00:30:00", 1800), ("12:00:00", 43200), ("1-00:00:00", 86400)]
)
def test_a_partitions_limit_is_read(text: str, seconds: int | None) -> None:
    assert capacity.parse_limit(text) == seconds
