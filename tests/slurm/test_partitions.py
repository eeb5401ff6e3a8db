from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from campaign.core.errors import EnvironmentLacks, UnknownState
from campaign.slurm import partitions
from campaign.slurm.partitions import NotInSlurm, Partition, Unusable
from tests.support import fake_slurm
from tests.support.fake_slurm import Fake

SET = "|root|1795376728|"  # who set a state, and when
BY = ("root", 1795376728)


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Fake]:
    with fake_slurm.started(tmp_path, monkeypatch) as fake:
        yield fake


def test_the_default_partition_is_taken_where_none_is_named(cluster: Fake) -> None:
    expected = Partition("batch", 4, 4, 8, 86400, (), default=True)
    assert partitions.read("") == partitions.read("batch") == expected


def test_nodes_that_cannot_be_used_are_left_out_and_told() -> None:
    sinfo = (
        f"n1|128|2|64|idle{SET}none\nn2|128|2|64|mixed-{SET}none\nn3|256|2|64|allocated{SET}none\nn4|64|1|64|planned{SET}none\n"
        f"n5|128|2|64|down*{SET}Not responding\nn6|128|2|64|drained{SET}disk | bad\nn7|128|2|64|idle*{SET}none\n"
        f"n8|8|1|8|maint${SET}none\nn9|128|2|64|idle~{SET}none\n"
    )
    assert partitions.parse({"PartitionName": "big", "MaxTime": "2-12:30:15"}, sinfo) == Partition(
        name="big",
        nodes=9,
        usable=5,
        cores_per_node=64,
        time_limit_s=2 * 86400 + 12 * 3600 + 30 * 60 + 15,
        unusable=(
            Unusable("n5", "down", "down*", "Not responding", *BY),
            Unusable("n6", "drained", "drained", "disk | bad", *BY),
            Unusable("n7", "down", "idle*"),
            Unusable("n8", "reserved", "maint$"),
        ),
    )


def test_nodes_that_are_alike_come_in_one_line() -> None:
    partition = partitions.parse(
        {"PartitionName": "p"}, "n[01-10],x7|8|1|8|idle|Unknown|Unknown|none\nn[11-12]|4|1|4|down*|root|7|dead\n"
    )
    assert (partition.nodes, partition.usable, partition.cores_per_node) == (13, 11, 8)
    dead = ("down", "down*", "dead", "root", 7)
    assert partition.unusable == (Unusable("n11", *dead), Unusable("n12", *dead))


def test_a_list_of_nodes_that_is_none_is_refused() -> None:
    with pytest.raises(UnknownState, match=r"unexpected output of sinfo: 'n\[1-'"):
        partitions.parse({"PartitionName": "p"}, "n[1-|8|1|8|idle|Unknown|Unknown|none\n")


def test_of_ten_thousand_nodes_that_are_down_the_first_are_named() -> None:
    account = partitions.parse({"PartitionName": "p"}, "n[1-10000]|8|1|8|down*|Unknown|Unknown|none\n").account
    assert account.startswith("partition p: 10000 nodes, none usable; 10000 down: n1 (down*), n2 (down*), ")
    assert account.endswith(", n8 (down*) and 9992 more")


STATES = {
    "idle": "", "allocated": "", "mixed": "", "completing": "", "planned": "", "idle~": "", "mixed-": "",
    "down": "down", "down*": "down", "idle*": "down", "fail": "down", "failing": "down",
    "drained": "drained", "draining": "drained", "drained*": "down", "drained$": "drained",
    "reserved": "reserved", "maint": "reserved", "idle$": "reserved", "allocated$": "reserved",
    "unknown": "unknown", "future": "future", "powering_down": "powering_down",
}  # fmt: skip


@pytest.mark.parametrize(("state", "why"), STATES.items())
def test_why_a_node_cannot_be_used_is_told_apart(state: str, why: str) -> None:
    partition = partitions.parse({"PartitionName": "p"}, f"n1|8|1|8|{state}{SET}none\n")
    assert [one.why for one in partition.unusable] == ([why] if why else [])
    assert partition.usable == (not why)


def test_in_a_reservation_its_nodes_count_and_no_others() -> None:
    sinfo = f"n1|8|1|8|reserved{SET}none\nn2|8|1|8|maint{SET}none\nn3|8|1|8|drained${SET}disk\nn4|8|1|8|idle{SET}none\n"
    partition = partitions.parse({"PartitionName": "p"}, sinfo, frozenset({"n1", "n2", "n3"}))
    assert partition.usable == 2
    assert {one.node: one.why for one in partition.unusable} == {"n3": "drained", "n4": "outside of the reservation"}


def test_the_account_of_a_partition_says_what_cannot_be_used_and_why() -> None:
    sinfo = f"n1|8|1|8|idle{SET}none\nn2|8|1|8|down*{SET}dead\nn3|8|1|8|drained{SET}disk\nn4|8|1|8|down{SET}none\n"
    partition = partitions.parse({"PartitionName": "p"}, sinfo)
    assert partition.account == (
        "partition p: 4 nodes, 1 usable with 8 cores each; 2 down: n2 (down*: dead set by root at "
        "2026-11-22 19:45:28 UTC), n4 (down); 1 drained: n3 (drained: disk set by root at 2026-11-22 19:45:28 UTC)"
    )
    whole = partitions.parse({"PartitionName": "p"}, f"n1|8|1|8|idle{SET}none\n")
    assert whole.account == "partition p: 1 node, all usable with 8 cores each"
    down = partitions.parse({"PartitionName": "p"}, f"n1|8|1|8|down{SET}none\n")
    assert down.account == "partition p: 1 node, none usable; 1 down: n1 (down)"
    assert partitions.parse({"PartitionName": "p"}, "").account == "partition p has no nodes"


def test_a_hardware_thread_is_not_a_core() -> None:
    row = {"PartitionName": "smt"}
    assert partitions.parse(row, f"n1|256|2|64|idle{SET}none").cores_per_node == 128
    assert partitions.parse(row, f"n1|100|2|64|idle{SET}none").cores_per_node == 100


def test_a_partition_without_a_usable_node_has_no_cores() -> None:
    assert partitions.parse({"PartitionName": "dark"}, f"n1|8|1|8|down{SET}none\n").cores_per_node == 0


@pytest.mark.parametrize("line", ["n1|8", "Welcome to the machine", "n1|8+|1|8|idle|none"])
def test_a_node_in_an_unknown_form_is_shown(line: str) -> None:
    with pytest.raises(UnknownState, match=r"^unexpected output of sinfo: "):
        partitions.parse({"PartitionName": "big"}, line)


def test_a_partition_that_does_not_exist_is_named_with_those_that_do(cluster: Fake) -> None:
    cluster.fault("scontrol-fails", "Partition bacth not found", once=True)
    with pytest.raises(NotInSlurm, match=r"^slurm\.partition: found bacth; .*; did you mean batch\?$"):
        partitions.read("bacth")


def test_a_reservation_that_does_not_exist_is_named(cluster: Fake) -> None:
    with pytest.raises(NotInSlurm, match=r"^slurm\.reservation: found acceptance; Slurm has no such reservation"):
        partitions.read("", "acceptance")


def test_the_partition_at_hand_is_the_default_one_and_none_where_no_slurm_answers(
    cluster: Fake, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = partitions.at_hand()
    assert found is not None and found.name == "batch"
    monkeypatch.setenv("PATH", "/nowhere")
    assert partitions.at_hand() is None


def test_the_nodes_architecture_is_that_of_the_first(cluster: Fake) -> None:
    assert partitions.architecture("batch") == os.uname().machine


def test_the_failure_of_a_question_is_said_in_slurms_words(cluster: Fake) -> None:
    cluster.fault("scontrol-fails", "slurm_load_partitions error: Invalid partition name specified")
    with pytest.raises(UnknownState, match="Invalid partition name specified"):
        partitions.read("nope")


@pytest.mark.parametrize("shown", ["No partitions in the system", "PartitionName=a Default=NO"])
def test_a_cluster_without_a_default_partition_is_said(cluster: Fake, shown: str) -> None:
    cluster.fault("scontrol-garbage", shown)
    with pytest.raises(EnvironmentLacks, match=r"no default partition; set slurm\.partition"):
        partitions.read("")


@pytest.mark.parametrize(
    ("text", "seconds"), [("UNLIMITED", None), ("00:30:00", 1800), ("12:00:00", 43200), ("1-00:00:00", 86400)]
)
def test_a_partitions_limit_is_read(text: str, seconds: int | None) -> None:
    assert partitions.parse_limit(text) == seconds
