"""Cases of the rule that compares what was measured on with what is proposed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from campaign.config.system import Proposed
from campaign.core.findings import Severity
from campaign.judge.submission import Submission
from campaign.slurm.partitions import Partition
from tests.judge.cases import Example, broken, compliant, disclosed, rehearsed, unchecked
from tests.judge.cases.submissions import good_submission
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


def proposal(profile: str = "full", facts: dict[str, str] = FACTS, **proposed: Any) -> Submission:
    """A campaign on nodes with these facts, in which this is proposed."""
    submission = good_submission(profile)
    evidence = builders.evidence(environment=builders.environment(facts=facts, software=SOFTWARE))
    results = tuple(replace(result, evidence=evidence) for result in submission.results)
    campaign = replace(submission.campaign, proposed=replace(PROPOSED, **proposed))
    return replace(submission, results=results, campaign=campaign, partition=Partition("batch", 4, 4, 192, None, ()))


def differs(name: str, expected: str, actual: str, **proposed: Any) -> Example:
    message = f"the measured system differs from the proposed one: {name}"
    return broken("ENV-05", message, proposal(**proposed), expected, actual, "campaign", Severity.WARNING)


ON_A_VIRTUAL_MACHINE = {
    "cpu.model": "Intel(R) Xeon(R) Processor", "cpu.cores": "2", "cpu.threads": "2", "memory.total": "24684092 kB",
    "net.eth0": "operstate up, speed -1, mtu 1400", "net.core.rmem_max": "4194304", "mount.type": "tmpfs",
    "os": "Debian GNU/Linux 12 (bookworm)", "kernel.release": "6.18.44",
}  # fmt: skip
ON_XEON = {**FACTS, "cpu.model": "Intel(R) Xeon(R) Platinum 8480+", "cpu.cores": "112", "cpu.threads": "224"}
ON_TEN_GIGABITS = {**ON_XEON, "fabric.mlx5_0.1": "", "net.eth0": "operstate up, speed 10000, mtu 9000"}
OLD = {**FACTS, "cpu.model": "Intel(R) Xeon(R) CPU E5-2690 v4 @ 2.60GHz", "kernel.release": "4.18.0-553.el8.x86_64"}


def described(facts: dict[str, str], profile: str = "full", **system: str) -> Submission:
    """A campaign on nodes with these facts, whose system is described so."""
    submission = proposal(profile, {name: text for name, text in facts.items() if text})
    texts = tuple((key.replace("_", " "), text) for key, text in system.items())
    return replace(submission, campaign=replace(submission.campaign, proposed=Proposed(), system=texts))


def contradicted(facts: dict[str, str], key: str, text: str, described_text: str, recorded_text: str) -> Example:
    message = f"the description of the system contradicts what the nodes recorded: system: {key.replace('_', ' ')}"
    return broken(
        "ENV-05", message, described(facts, **{key: text}), described_text, recorded_text, "campaign", Severity.WARNING
    )


def honest(name: str, facts: dict[str, str], **system: str) -> Example:
    """A description that must not be accused; a rehearsal would note it."""
    return compliant("ENV-05", name, described(facts, "rehearsal", **system))


DESCRIBED: list[Example] = [
    contradicted(ON_A_VIRTUAL_MACHINE, "node", "2x AMD EPYC 9654 (192 cores), 768 GB DDR5, NDR 400", "epyc",
                 "Intel(R) Xeon(R) Processor"),
    contradicted(ON_A_VIRTUAL_MACHINE, "node", "2x AMD EPYC 9654 (192 cores), 768 GB DDR5, NDR 400", "192 cores", "2"),
    contradicted(ON_A_VIRTUAL_MACHINE, "node", "24 x 32 GiB DDR5", "24 x 32 gib ddr", "24684092 kB"),
    contradicted(ON_A_VIRTUAL_MACHINE, "node", "192 cores, ConnectX-7 with NDR 400", "ndr",
                 "no such adapter (net.eth0)"),
    contradicted(ON_A_VIRTUAL_MACHINE, "network", "InfiniBand fat tree", "infiniband", "no such adapter (net.eth0)"),
    contradicted(ON_A_VIRTUAL_MACHINE, "operating_system", "RHEL 9.4, kernel 5.14", "red hat",
                 "Debian GNU/Linux 12 (bookworm)"),
    contradicted(OLD, "operating_system", "Rocky Linux 9.4 with kernel 5.14", "5.14", "4.18.0-553.el8.x86_64"),
    contradicted(ON_XEON, "node", "2 x Intel Xeon Platinum 8592+, 512 GB RAM", "8592",
                 "Intel(R) Xeon(R) Platinum 8480+"),
    contradicted(OLD, "node", "Xeon E5-2699 v4", "2699", "Intel(R) Xeon(R) CPU E5-2690 v4 @ 2.60GHz"),
    #
    honest("the virtual cluster of one machine", ON_A_VIRTUAL_MACHINE,
           node="virtual node of 8 CPUs; all nodes share the 2 cores and the memory of the machine",
           network="shared memory and the loopback interface of the machine",
           operating_system="Debian; kernel and settings are in facts.jsonl of each attempt"),
    honest("marks, sockets and threads", ON_XEON,
           node="2 sockets with Intel Xeon Platinum 8480+ of 56 cores (224 threads), 768 GiB DDR5, 3.2 TB NVMe"),
    honest("a series, and a size behind the family's name", FACTS, node="dual-socket AMD EPYC 9004, 1536 GB in total"),
    honest("a series with its model", FACTS, node="two 96-core AMD EPYC 9004 (Genoa) processors, model 9654"),
    honest("memory without what firmware keeps, in either unit", FACTS,
           node="EPYC 9654, 768 GB RAM, 4 GB of memory per core"),
    honest("unlike nodes of which one kind measured", ON_XEON,
           node="CPU nodes: 2x AMD EPYC 9654, 192 cores, 1.5 TB RAM; GPU nodes: Intel Xeon 8480+, 112 cores, 512 GB "
                "RAM, 8 accelerators with 16896 CUDA cores and 141 GB HBM3e"),
    honest("clients behind routers", ON_TEN_GIGABITS,
           node="Xeon 8480+, 10 Gb/s Ethernet", network="InfiniBand NDR of the servers, reached by Ethernet routers"),
    honest("names that no node records", ON_XEON, node="ThinkSystem SR650 V3", network="Spectrum-X",
           operating_system="TOSS 4", cores_per_node="192"),
    honest("a distribution's other name", {**FACTS, "os": "SUSE Linux Enterprise Server 15 SP5"},
           operating_system="SLES 15 SP5 (clients), Rocky 9 (servers), kernel parameters by the vendor"),
    honest("a placeholder", ON_A_VIRTUAL_MACHINE, node="<192 cores>"),
]  # fmt: skip

EXAMPLES: list[Example] = [
    compliant("ENV-05", "as proposed", proposal()),
    differs("processor", "processor EPYC 9755", FACTS["cpu.model"], processor="EPYC 9755"),
    differs("cores", "cores 128", "192", cores=128),
    differs("memory", "memory 1.5 TiB", "754.4 GiB", memory=1536 << 30),
    differs("nodes", "nodes 512", "4", nodes=512),
    compliant("ENV-05", "its accelerators", proposal(facts=ON_DEVICES, devices=4, device_memory=80 << 30)),
    broken("ENV-05", "the measured system differs from the proposed one: devices",
           proposal(facts=ON_DEVICES, devices=8), "devices 8", "4", "campaign", Severity.WARNING),
    broken("ENV-05", "the measured system differs from the proposed one: device memory",
           proposal(facts=ON_DEVICES, device_memory=96 << 30), "device memory 96 GiB", "79.65 GiB", "campaign",
           Severity.WARNING),
    unchecked("ENV-05", "accelerators of which no node says anything", proposal(devices=4, device_memory=80 << 30)),
    differs("network", "network Slingshot 200", f"fabric.mlx5_0.1 {FACTS['fabric.mlx5_0.1']}", network="Slingshot 200"),
    differs("file system", "file system GPFS 5", "lustre", file_system="GPFS 5"),
    differs("mpi", "mpi MPICH 4", SOFTWARE["mpirun"], mpi="MPICH 4"),
    differs("operating system", "operating system SLES 15", FACTS["os"], operating_system="SLES 15"),
    rehearsed("ENV-05", "the measured system differs from the proposed one: cores", proposal("rehearsal", cores=128),
              "cores 128", "192", "campaign"),
    disclosed("ENV-05", "proposed system not described under proposed: mpi; not compared with the "
                        "measured system", proposal(mpi=""), "", "", "campaign"),
    unchecked("ENV-05", "a fact was not recorded", proposal(facts={**FACTS, "cpu.model": ""})),
    *DESCRIBED,
]  # fmt: skip
