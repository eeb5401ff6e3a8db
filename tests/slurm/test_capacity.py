"""What a job of whole nodes gets, by what Slurm prints of nodes, partitions, QOS and accounts."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from campaign.config.slurm_keys import Slurm
from campaign.slurm import capacity, commands, partitions
from campaign.slurm.capacity import Association, NodeLimit, SystemShare

ROW = {"PartitionName": "p", "MaxNodes": "UNLIMITED"}
THREADS = "CoresPerSocket=4  CPUAlloc=0 CPUEfctv=6 CPUTot=8 CPULoad=9.38 RealMemory=2000 Sockets=1"
EARLIER = "CoresPerSocket=4  CPUAlloc=0 CPUTot=8 CPULoad=9.38 RealMemory=2000 Sockets=1"  # before 22.05


# --- nodes


@pytest.mark.parametrize(
    ("fields", "system"),
    [
        (f"{THREADS} CoreSpecCount=1 CPUSpecList=6-7 MemSpecLimit=300 State=IDLE ThreadsPerCore=2", (2, 300)),
        (f"{EARLIER} CoreSpecCount=1 CPUSpecList=6-7 State=IDLE ThreadsPerCore=2", (2, 0)),
        (f"{THREADS.replace('=6', '=8')} MemSpecLimit=300 State=IDLE ThreadsPerCore=2", (0, 300)),
    ],
)
def test_what_a_node_keeps_for_the_system_is_read(fields: str, system: tuple[int, int]) -> None:
    output = f"NodeName=n1 Arch=x86_64 {fields} Comment=CoreSpecCount=7\nNodeName=n2 Arch=x86_64 State=IDLE\n"
    assert capacity.parse_system_shares(output) == {"n1": SystemShare(*system)}


@pytest.mark.parametrize(
    ("directives", "memory_mib"),
    [
        ((), None),
        (("--mem=0",), None),
        (("--nice", "--mem=1500"), 1500),
        (("--mem=2G",), 2048),
        (("--mem=512000K",), 500),
        (("--mem-per-cpu=1G",), 8192),
    ],
)
def test_jobs_that_ask_for_less_than_all_memory_get_that(directives: Sequence[str], memory_mib: int | None) -> None:
    assert capacity.requested_memory_mib(directives, 8) == memory_mib


@pytest.mark.parametrize(
    ("partition", "slurm_conf", "limit"),
    [
        ({"MaxMemPerNode": "UNLIMITED"}, {"MaxMemPerNode": "UNLIMITED"}, None),
        ({"MaxMemPerNode": "1500"}, {"MaxMemPerNode": "1000"}, (1500, "MaxMemPerNode=1500 of partition p")),
        ({"MaxMemPerCPU": "400"}, {}, (3200, "MaxMemPerCPU=400 of partition p")),
        ({"MaxMemPerNode": "UNLIMITED"}, {"MaxMemPerCPU": "400"}, (3200, "MaxMemPerCPU=400 of slurm.conf")),
    ],
)
def test_the_most_memory_of_a_job_is_the_partitions_or_that_of_slurm_conf(
    partition: dict[str, str], slurm_conf: dict[str, str], limit: tuple[int, str] | None
) -> None:
    assert capacity.memory_limit(ROW | partition, slurm_conf, 8) == limit


def test_nodes_that_no_job_gets_are_not_counted_although_the_partition_lists_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(commands, "call", lambda *_: commands.Reply(1, "", "allocation failure: ..."))
    assert partitions._powered_down({"PartitionName": "p", "Nodes": "n[1-2]"}, "", Slurm()) == ""


def test_a_constraint_is_tested_by_slurm_where_it_does_not_show_the_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    tested_options: list[Sequence[str]] = []

    def call(command: Sequence[str], *_: object) -> commands.Reply:
        tested_options.append(command)
        return commands.Reply(0, "", "sbatch: Job 3 to start at 2026-11-28T05:34:20 using 8 processors on nodes n1")

    monkeypatch.setattr(commands, "call", call)
    row = {"PartitionName": "p", "Nodes": "n[1-2]", "TRES": "cpu=16,mem=8G,node=2,billing=16"}
    sinfo = partitions._powered_down(row, "", Slurm(constraint="spot&big"))
    assert "--constraint=spot&big" in tested_options[0]
    partition = partitions.parse(row, sinfo, choice=partitions.ChosenNodes("spot&big"))
    assert (partition.names, partition.powered_down) == (("n1", "n2"), 2)
    assert (partition.cores_per_node, partition.memory_mib) == (8, 4096)


# --- limits of one job: QOS


QOS = [
    "short|DenyOnLimit|00:02:00|||node=4|", "normal||||node=2|cpu=80,gres/gpu=4|", "long|||1-00:00:00|||",
    "own|DenyOnLimit,OverPartQOS|00:10:00||node=8||", "wide|PartitionMaxNodes|||||",
    "memory|||mem=1.50T|mem=400G,billing=9|mem=24000M,gres/gpu:a100=16|",
]  # fmt: skip


def limits(
    *names: str,
    association: Association | None = None,
    row: dict[str, str] = ROW,
    slurm: Slurm = Slurm(),  # noqa: B008
) -> list[tuple[int, str]]:
    of_node = capacity.resources_of_node(slurm, 16, 102400)
    found_limits = capacity.node_limits(row, capacity.parse_qos(QOS, names), association, of_node)
    return [(limit.nodes, str(limit)) for limit in found_limits]


@pytest.mark.parametrize(
    ("names", "limit"),
    [
        (["short"], ("short", 120)),
        (["normal"], None),
        (["normal", "short"], ("short", 120)),  # that of the partition has no limit of its own
        (["long", "short"], None),
        (["short", "own"], ("own", 600)),  # which comes before that of the partition
        (["unknown"], None),
    ],
)
def test_the_partitions_qos_limits_the_time_unless_the_jobs_comes_before_it(
    names: list[str], limit: tuple[str, int] | None
) -> None:
    lines = ["long||1-00:00:00||||" if line.startswith("long") else line for line in QOS]
    expected = ("long", 86400) if names[0] == "long" else limit
    assert capacity.time_limit(capacity.parse_qos(lines, names)) == expected


def test_limits_of_a_qos_on_nodes_and_cpus_are_counted_in_nodes() -> None:
    assert limits("normal") == [(2, "MaxTRES=node=2 of QOS normal"), (5, "MaxTRESPU=cpu=80 of QOS normal")]
    assert limits("wide") == limits() == []


def test_limits_on_memory_and_generic_resources_are_counted_in_nodes_of_those_that_ask_for_them() -> None:
    assert limits("memory") == [
        (0, "MaxTRESPU=mem=24000M of QOS memory"),
        (4, "MaxTRES=mem=409600M of QOS memory"),
        (15, "GrpTRES=mem=1572864M of QOS memory"),
    ]
    gpus = Slurm(gres=("gpu:a100:8", "nvme"))
    assert (0, "MaxTRESPU=gres/gpu=4 of QOS normal") in limits("normal", slurm=gpus)
    assert (2, "MaxTRESPU=gres/gpu:a100=16 of QOS memory") in limits("memory", slurm=gpus)
    two = Slurm(directives=("--gres=gpu:2",))
    assert (2, "MaxTRESPU=gres/gpu=4 of QOS normal") in limits("normal", slurm=two)


def test_of_two_qos_the_first_that_has_a_limit_decides() -> None:
    assert (2, "MaxTRES=node=2 of QOS normal") in limits("normal", "short")
    assert (8, "MaxTRES=node=8 of QOS own") in limits("normal", "own")


def test_a_partition_limits_the_nodes_of_a_job_unless_its_qos_lifts_that() -> None:
    row = ROW | {"MaxNodes": "3"}
    assert limits(row=row) == [(3, "MaxNodes=3 of partition p")]
    assert limits("wide", row=row) == []
    assert NodeLimit(3, "partition p", "MaxNodes=3", "partition") in capacity.node_limits(row, (), None, {})


# --- limits of one job: accounts, as sacctmgr 22.05 prints them


ACCOUNTS = ["root||||normal||", "bench|root|||normal|node=2|node=3", "sub|bench|||normal||node=3"]
USER = ["sub||||normal|cpu=64|node=3", "root||||normal||", "gpu||p|fast|fast,normal||"]


def test_the_accounts_above_limit_all_jobs_of_an_account_together() -> None:
    association = capacity.parse_association("sub", "p", USER, ACCOUNTS)
    assert association == Association(
        "sub",
        "normal",
        (
            ("user in account sub", {"cpu": 64}),
            ("account sub", {}),
            ("account bench", {"node": 2}),
            ("account root", {}),
        ),
        {"node": 3},
    )
    assert limits(association=association) == [
        (2, "GrpTRES=node=2 of account bench"),
        (3, "MaxTRES=node=3 of user in account sub"),
        (4, "GrpTRES=cpu=64 of user in account sub"),
    ]


def test_a_limit_of_the_qos_replaces_that_of_the_account() -> None:
    association = capacity.parse_association("sub", "p", USER, ACCOUNTS)
    assert (3, "MaxTRES=node=3 of user in account sub") not in limits("own", association=association)


def test_the_qos_of_a_job_is_the_default_one_or_the_only_one_and_otherwise_not_known() -> None:
    of_partition = capacity.parse_association("gpu", "p", USER, ACCOUNTS)
    assert of_partition and of_partition.qos == "fast"
    association = capacity.parse_association("a", "p", ["a||||x,y||"], [])
    assert association and association.qos == ""
    assert capacity.parse_association("gpu", "other", USER, ACCOUNTS) is None
    assert capacity.parse_association("none", "p", USER, ACCOUNTS) is None
