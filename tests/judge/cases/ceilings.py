"""Cases of the rule about rates that no machine can reach."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from campaign.core.runs import Geometry
from campaign.results.case import Case
from tests.judge.cases import Example, broken, compliant, disclosed, unchecked
from tests.judge.cases.attempts import by_one_process, case, inflated
from tests.support import builders

LINK = "InfiniBand, 4: ACTIVE, 200 Gb/sec (4X HDR), 20.35.1012"
OF_STAT = "stat: less time per operation than any system call takes: the work was not done"
OF_BYTES = "create: bandwidth above what the nodes' network adapters can carry"


def rates(stat: float, processes: int = 4, nodes: int = 1, **changes: Any) -> Case:
    run = builders.run(geometry=Geometry(nodes, processes))
    return replace(case(run, records=builders.records((1000.0, stat, 800.0))), **changes)


def carried(value: float, unit: str = "GB/s", nodes: int = 2, storage: bool = True, share: float | None = None,
            **facts: str) -> Case:  # fmt: skip
    """Bytes, with the adapters of the nodes."""
    original = case(builders.run(geometry=Geometry(nodes, 4 * nodes)))
    adapters = {"fabric.mlx5_0.1": LINK, **{name.replace("_", "."): text for name, text in facts.items()}}
    texts = {"mount.type": "lustre", **adapters}
    evidence = builders.evidence(environment=builders.environment(nodes, facts=texts))
    records = tuple(replace(record, unit=unit, value=value, cached_share=share) for record in builders.records()[:1])
    files = tuple(replace(files, storage=storage) for files in original.pack.files)
    return replace(original, records=records, evidence=evidence, pack=replace(original.pack, files=files))


def lowered(case: Case, **values: float) -> Case:
    """By a pack with other limits."""
    parameters = {("PHY-04", name): value for name, value in values.items()}
    return replace(case, pack=replace(case.pack, parameters=parameters))


def of_fastest(stat: float = 2000.0, cores: int = 0, true_value: float | None = None) -> Case:
    """1000 stats by 4 processes of a node, of which the rate of the fastest is printed. `cores`: 0 if not recorded."""
    facts = {"cpu.cores": str(cores)} if cores else {}
    case = rates(stat, evidence=builders.evidence(environment=builders.environment(1, facts=facts)))
    create, of_stat, remove = case.records
    return replace(case, records=(create, replace(of_stat, of_fastest=True, true_value=true_value), remove))


EXAMPLES: list[Example] = [
    # A stat that does nothing, and 0.02 us for each operation.
    broken("PHY-04", OF_STAT, rates(303_682_972.0), "0.1 us or more", "0.0132 us per operation of a process"),
    broken("PHY-04", OF_STAT, rates(50e6, 1), "0.1 us or more", "0.02 us per operation of a process"),
    broken("PHY-04", OF_STAT, lowered(rates(1e6, 1), call=2e-6), "2 us or more",
           "1 us per operation of a process"),
    compliant("PHY-04", "the quickest stat of a local file system", rates(4e6, 1)),
    compliant("PHY-04", "an inflated rate whose actual one is possible", inflated(true_value=1e4)),
    compliant("PHY-04", "a limit that the buyer lowered", lowered(rates(50e6, 1), call=0.01e-6)),
    unchecked("PHY-04", "an inflated rate without the actual one", inflated()),
    unchecked("PHY-04", "removals by one process, of which the rate of the fastest is printed", by_one_process(1e9)),
    unchecked("PHY-04", "the fastest of more processes than cores", of_fastest(cores=2)),
    unchecked("PHY-04", "the fastest process of a phase that is too short for its clock", of_fastest(1.1e6)),
    compliant("PHY-04", "the fastest of as many processes as cores", of_fastest(cores=4)),
    compliant("PHY-04", "an actual rate that follows from the output", of_fastest(1.1e6, cores=2, true_value=1e4)),
    broken("PHY-04", OF_STAT, of_fastest(303_682_972.0), "0.1 us or more", "0.0132 us per operation of a process"),
    broken("PHY-04", "create: bandwidth above what the nodes' memory can deliver", carried(9000, nodes=2),
           "at most 8000 GB/s", "9000 GB/s"),
    broken("PHY-04", OF_BYTES, carried(51), "at most 50 GB/s (25 GB/s for each of 2 nodes)", "51 GB/s"),
    broken("PHY-04", OF_BYTES, carried(60_000, "MiB/s"), "at most 50 GB/s (25 GB/s for each of 2 nodes)", "62.9 GB/s"),
    disclosed("PHY-04", OF_BYTES, carried(51, share=1.0), "at most 50 GB/s (25 GB/s for each of 2 nodes)", "51 GB/s"),
    compliant("PHY-04", "what the adapters carry", carried(49)),
    compliant("PHY-04", "a configuration that measures caches", carried(51, storage=False)),
    compliant("PHY-04", "one node, whose own memory may answer", carried(51, nodes=1)),
    compliant("PHY-04", "two adapters", carried(60, net_eth0="operstate up, speed 100000, mtu 9000")),
    compliant("PHY-04", "an adapter that is down", carried(49, net_eth1="operstate down, speed -1, mtu 1500")),
    unchecked("PHY-04", "an adapter that tells no speed", carried(51, net_eth0="operstate up, speed -1, mtu 9000")),
]  # fmt: skip
