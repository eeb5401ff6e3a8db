"""Cases of the rule that compares what was measured on with what is proposed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from campaign.config.system import Proposed
from campaign.core.model import Severity
from campaign.judge.submission import Submission
from campaign.slurm.partitions import Partition
from tests.judge.cases import Example, broken, disclosed, kept, rehearsed, unchecked
from tests.judge.cases.submissions import whole
from tests.support import builders

FACTS = {
    "cpu.model": "AMD EPYC 9654 96-Core Processor",
    "cpu.cores": "192",
    "memory.total": "791000000 kB",
    "fabric.mlx5_0.1": "InfiniBand, ACTIVE, 400 Gb/sec (4X NDR)",
    "mount.type": "lustre",
    "os": "Rocky Linux 9.4 (Blue Onyx)",
}
ON_DEVICES = {**FACTS, "device.memory": "81559 81559 81559 81559 MiB"}
SOFTWARE = {"mpirun": "mpirun (Open MPI) 4.1.6", "srun": "slurm 23.11.4"}
PROPOSED = Proposed(
    nodes=4, processor="EPYC 9654", cores=192, memory=768 << 30, network="InfiniBand 400 Gb/sec",
    file_system="Lustre 2.15", mpi="Open MPI 4.1", operating_system="Rocky Linux 9",
)  # fmt: skip


def against(profile: str = "full", facts: dict[str, str] = FACTS, **proposed: Any) -> Submission:
    """A campaign on nodes with these facts, in which this is proposed."""
    given = whole(profile)
    evidence = builders.evidence(environment=builders.environment(facts=facts, software=SOFTWARE))
    results = tuple(replace(result, evidence=evidence) for result in given.results)
    campaign = replace(given.campaign, proposed=replace(PROPOSED, **proposed))
    return replace(given, results=results, campaign=campaign, partition=Partition("batch", 4, 4, 192, None, ()))


def differs(name: str, expected: str, actual: str, **proposed: Any) -> Example:
    message = f"the measured system differs from the proposed one: {name}"
    return broken("ENV-05", message, against(**proposed), expected, actual, "campaign", Severity.WARNING)


EXAMPLES: list[Example] = [
    kept("ENV-05", "as proposed", against()),
    differs("processor", "processor EPYC 9755", FACTS["cpu.model"], processor="EPYC 9755"),
    differs("cores", "cores 128", "192", cores=128),
    differs("memory", "memory 1.5 TiB", "754.4 GiB", memory=1536 << 30),
    differs("nodes", "nodes 512", "4", nodes=512),
    kept("ENV-05", "its accelerators", against(facts=ON_DEVICES, devices=4, device_memory=80 << 30)),
    broken("ENV-05", "the measured system differs from the proposed one: devices",
           against(facts=ON_DEVICES, devices=8), "devices 8", "4", "campaign", Severity.WARNING),
    broken("ENV-05", "the measured system differs from the proposed one: device memory",
           against(facts=ON_DEVICES, device_memory=96 << 30), "device memory 96 GiB", "79.65 GiB", "campaign",
           Severity.WARNING),
    unchecked("ENV-05", "accelerators of which no node says anything", against(devices=4, device_memory=80 << 30)),
    differs("network", "network Slingshot 200", f"fabric.mlx5_0.1 {FACTS['fabric.mlx5_0.1']}", network="Slingshot 200"),
    differs("file system", "file system GPFS 5", "lustre", file_system="GPFS 5"),
    differs("mpi", "mpi MPICH 4", SOFTWARE["mpirun"], mpi="MPICH 4"),
    differs("operating system", "operating system SLES 15", FACTS["os"], operating_system="SLES 15"),
    rehearsed("ENV-05", "the measured system differs from the proposed one: cores", against("rehearsal", cores=128),
              "cores 128", "192", "campaign"),
    disclosed("ENV-05", "proposed system not described under proposed: mpi; not compared with the "
                        "measured system", against(mpi=""), "", "", "campaign"),
    unchecked("ENV-05", "a fact was not recorded", against(facts={**FACTS, "cpu.model": ""})),
]  # fmt: skip
