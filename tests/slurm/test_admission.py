"""What partitions admit, as Slurm prints it."""

from __future__ import annotations

import os
import pwd
from collections.abc import Sequence

import pytest

from campaign.slurm import commands, partitions

SHOWN = (
    "PartitionName=chem AllowGroups=ALL AllowAccounts=chemistry,Physics AllowQos=ALL AllocNodes=ALL Default=NO "
    "QoS=N/A DefaultTime=NONE MaxNodes=UNLIMITED MaxTime=UNLIMITED State=UP TotalNodes=4 JobDefaults=(null)\n"
)


def admission(output: str) -> partitions.Admission:
    return partitions.terms_of(partitions.partition_fields(output)[0])


def test_a_partition_admits_the_accounts_that_it_names_and_every_qos_where_it_names_none() -> None:
    terms = admission(SHOWN)
    assert (terms.state, terms.sharing, terms.qos) == (partitions.UP, "NO", "")
    assert terms.admits("account", "physics")
    assert not terms.admits("account", "biology")
    assert terms.admits("qos", "any")


def test_what_a_partition_denies_it_does_not_admit() -> None:
    terms = admission(SHOWN.replace("AllowQos=ALL", "DenyQos=long,debug"))
    assert not terms.admits("qos", "debug")
    assert terms.admits("qos", "short")


def test_state_and_qos_are_read() -> None:
    terms = admission(SHOWN.replace("State=UP", "State=DOWN").replace("QoS=N/A", "QoS=short"))
    assert (terms.state, terms.qos) == (partitions.DOWN, "short")


@pytest.mark.parametrize(
    ("sharing", "shares"),
    [("NO", False), ("EXCLUSIVE", False), ("YES:4", False), ("FORCE:1", False), ("FORCE:4", True), ("FORCE", True)],
)
def test_only_a_partition_that_forces_it_lets_exclusive_jobs_share_nodes(sharing: str, shares: bool) -> None:
    assert admission(SHOWN.replace("State=UP", f"State=UP OverSubscribe={sharing}")).shares_nodes is shares


@pytest.mark.parametrize(
    ("key", "output", "names"),
    [
        ("account", "physics\nroot\n", ["physics", "root"]),
        ("qos", "normal\nnormal,short\n", ["normal", "short"]),
        ("constraint", "gpu,a100\n(null)\n", ["gpu", "a100"]),
        ("directives", "any\n", []),
    ],
)
def test_what_a_user_may_name_is_listed(
    key: str, output: str, names: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(commands, "call", lambda command: commands.Reply(0, output, ""))
    assert partitions.known_names(key, "batch") == names


def test_nothing_is_listed_where_the_site_keeps_no_accounts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commands, "call", lambda command: commands.Reply(1, "", "no accounting"))
    assert partitions.known_names("qos", "batch") == []


def test_of_a_user_without_a_name_slurm_is_asked_by_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pwd, "getpwuid", lambda number: {}[number])
    calls: list[Sequence[str]] = []

    def call(command: Sequence[str]) -> commands.Reply:
        calls.append(command)
        return commands.Reply(0, "", "")

    monkeypatch.setattr(commands, "call", call)
    assert partitions.known_names("qos", "batch") == []
    assert f"user={os.getuid()}" in calls[0]
