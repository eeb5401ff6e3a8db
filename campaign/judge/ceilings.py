"""The rule about the physically impossible: rates above limits of any machine. Pure.

The defaults are far from what real systems reach. Of 2,330 results of 193 submissions to the IO500 lists up to 2025
(github.com/IO500/submission-data), the fastest metadata operation took 0.93 us per process (10,351,329 removals/s of
9,600 processes, OceanStor Pacific, 2023), and the largest bandwidth was 266 GB/s per node.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from campaign.core.model import Finding, Record
from campaign.judge.findings import note, unchecked, violation
from campaign.judge.timing import RATE
from campaign.results.case import Case
from campaign.results.environment.facts import Environment

BYTES = {
    "B/s": 1.0, "kB/s": 1e3, "KB/s": 1e3, "KiB/s": 2.0**10, "MB/s": 1e6, "MiB/s": 2.0**20, "GB/s": 1e9,
    "GiB/s": 2.0**30, "TB/s": 1e12, "TiB/s": 2.0**40,
}  # fmt: skip
_ETHERNET = re.compile(r"operstate up, speed ([1-9][0-9]{0,7}),.*")  # Mbit/s
_FABRIC = re.compile(r".*ACTIVE.*?([0-9.]{1,7}) Gb/sec.*")
LOCAL = frozenset({"tmpfs", "ramfs", "ext2", "ext3", "ext4", "xfs", "btrfs", "overlay", "zfs", "f2fs"})


def within_physics(case: Case) -> Iterator[Finding]:
    """PHY-04: no operation is faster than a system call, and no rate exceeds what the network adapters can carry."""
    least = case.pack.parameter("PHY-04", "call")
    for operation, record in case.reported:
        if record.unit == RATE:
            rate = record.value if record.true_value is None else record.true_value
            # Without the actual count, a formula's product says nothing about a single operation.
            if record.true_value is None and operation.id in case.files.inflated and case.run.geometry.processes > 1:
                yield unchecked(
                    "this benchmark does not print how many operations it performed, so the time of one is unknown; "
                    "the built-in one prints it",
                    operation=operation.id,
                )
            elif rate > 0 and case.run.geometry.processes / rate < least:
                seconds = case.run.geometry.processes / rate
                yield violation(
                    "less time per operation than any system call takes: the work was not done",
                    f"{least * 1e6:g} us or more",
                    f"{seconds * 1e6:.2g} us per operation of a process",
                    operation=operation.id,
                )
        elif record.unit in BYTES:
            yield from _bytes(case, operation.id, record)


def _bytes(case: Case, operation: str, record: Record) -> Iterator[Finding]:
    nodes, carried = case.run.geometry.nodes, record.value * BYTES[record.unit]
    memory = case.pack.parameter("PHY-04", "memory") * 1e9 * nodes
    if carried > memory:
        yield violation(
            "bandwidth above what the nodes' memory can deliver",
            f"at most {_shown(memory)}",
            _shown(carried),
            operation=operation,
        )
        return
    if not case.files.storage or nodes == 1 or _is_local(case.evidence.environment):
        return  # the file system is not known to be on the network
    adapters, problem = adapters_of(case.evidence.environment)
    if problem:
        yield unchecked(problem)
    elif carried > adapters * nodes:
        # A cache that the pack allows for a share of the bytes is no fraud: CCH-05 judges it.
        form = violation if record.cached_share is None or record.cached_share < 1 else note
        limit = f"at most {_shown(adapters)} for each of {nodes} nodes"
        yield form(
            "bandwidth above what the nodes' network adapters can carry", limit, _shown(carried), operation=operation
        )


def _is_local(environment: Environment) -> bool:
    return any(kind in LOCAL for kind in environment.values("mount.type"))


def adapters_of(environment: Environment) -> tuple[float, str]:
    """Bytes per second that the best node's adapters carry in one direction, and why that is unknown."""
    if not environment.recorded:
        return 0.0, "network adapters not recorded"
    by_node: dict[str, float] = {}
    unknown = False
    for fact in environment.facts:
        if not fact.startswith(("net.", "fabric.")) or fact.startswith(("net.core", "net.ipv4")):
            continue
        for node, text in environment.by_node(fact).items():
            match = (_ETHERNET if fact.startswith("net.") else _FABRIC).fullmatch(text)
            scale = 1e6 if fact.startswith("net.") else 1e9
            if match:
                by_node[node] = by_node.get(node, 0.0) + float(match[1]) * scale / 8
            elif "down" not in text.casefold():
                unknown = True  # a virtual adapter, or one that reports no speed
    if unknown or not by_node:
        return 0.0, "speed of a network adapter not recorded"
    return max(by_node.values()), ""


def _shown(rate: float) -> str:
    return f"{rate / 1e9:,.4g} GB/s"
