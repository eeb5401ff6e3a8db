"""The limits of PHY-04 against what real systems published: no false alarm."""

from __future__ import annotations

from dataclasses import replace

import pytest

from campaign.core.runs import Geometry
from campaign.judge.timing import adapter_bandwidth, check_limits
from campaign.results.environment.facts import Environment
from tests.judge.cases.attempts import case
from tests.support import builders

# The extremes of the IO500 lists from 2023 to 2025: nodes, processes, operation, result (kIOPS or GiB/s).
PUBLISHED = (
    ("OceanStor Pacific, submission 663", 10, 9600, "mdtest-easy-delete", 10351329.269583),
    ("OceanStor Pacific, submission 663", 10, 9600, "mdtest-hard-stat", 9672549.307207),
    ("OceanStor Pacific, submission 663", 10, 9600, "mdtest-easy-write", 8468598.499990),
    ("OceanStor Pacific, submission 663", 10, 9600, "ior-easy-write", 2480.692929),
    ("OceanStor Pacific, submission 663", 10, 9600, "ior-hard-read", 2382.227666),
    ("SuperFS, submission 662", 10, 1200, "mdtest-hard-delete", 890351.793719),
    ("SuperFS, submission 662", 10, 1200, "mdtest-easy-stat", 464749.912904),
    ("SuperFS, submission 660", 300, 36000, "mdtest-easy-delete", 15393360.456729),
    ("DAOS on Aurora, submission 688", 300, 62400, "ior-easy-write", 20693.627959),
    ("DAOS on Aurora, submission 688", 300, 62400, "mdtest-hard-stat", 230086.031462),
    ("DAOS on Aurora, submission 696", 10, 2080, "ior-easy-read", 1301.326143),
    ("DAOS, submission 781", 10, 960, "ior-easy-write", 977.733176),
    ("EXAScaler, submission 767", 10, 1280, "ior-easy-write", 854.068426),
)


@pytest.mark.parametrize(("system", "nodes", "processes", "operation", "value"), PUBLISHED)
def test_published_results_of_flash_systems_are_possible(
    system: str, nodes: int, processes: int, operation: str, value: float
) -> None:
    rate = operation.startswith("mdtest")
    scale, unit = (1000, "ops/s") if rate else (1, "GiB/s")
    original = case(builders.run(geometry=Geometry(nodes, processes)))
    records = tuple(replace(record, value=value * scale, unit=unit) for record in builders.records())
    assert list(check_limits(replace(original, records=records))) == []


@pytest.mark.parametrize(
    ("facts", "speed"),
    [
        ({"net.eth0": "operstate up, speed 100000, mtu 9000"}, 12.5e9),
        ({"net.a": "operstate up, speed 25000, mtu 9000", "net.b": "operstate up, speed 25000, mtu 9000"}, 6.25e9),
        ({"fabric.mlx5_0.1": "InfiniBand, 4: ACTIVE, 400 Gb/sec (4X NDR), 28.3.1"}, 50e9),
        ({"net.core.rmem_max": "4194304"}, 0.0),
        ({"fabric.cxi0": "present"}, 0.0),
        ({}, 0.0),
    ],
)
def test_the_adapters_of_a_node_are_added_up_or_not_known(facts: dict[str, str], speed: float) -> None:
    bandwidth, problem = adapter_bandwidth(builders.environment(facts=facts))
    assert (bandwidth, bool(problem)) == (speed, not speed)


def test_without_a_record_of_the_environment_no_adapter_is_known() -> None:
    assert adapter_bandwidth(Environment()) == (0.0, "network adapters not recorded")
