"""What the record of a job's surroundings costs: one node's facts, and those of 1,000 nodes put together.

The limit beside them is a bash that reads the same lines and a bash that starts and does nothing.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

from tabulate import tabulate

from campaign.results.environment import reading
from tests.support.jobs import FUNCTIONS

ROUNDS = 7
NODES = 1000
FACTS = 120  # as many as a node of this machine tells
BAR_NODE_S, BAR_FOLD_S, BAR_READ_S, BAR_BYTES = 1.0, 2.0, 0.2, 128 << 10
SOURCES = f"{FUNCTIONS}; trap - EXIT; export LC_ALL=C"


def bash(text: str, *arguments: str) -> tuple[float, bytes]:
    began = time.monotonic()
    done = subprocess.run(["bash", "-c", text, "bash", *arguments], capture_output=True, check=True, timeout=120)
    return time.monotonic() - began, done.stdout


def lines() -> str:
    facts = {f"setting.{number}": f"value {number} of this setting, on all nodes the same" for number in range(FACTS)}
    return "".join(
        f"{node}\t{name}\t{json.dumps(text)}\n"
        for node in range(NODES)
        for name, text in {
            "name": f"node{node:04}", "clock": f"{node}.5", "boot": f"{node:08x}", **facts, "end": "yes"
        }.items()
    )  # fmt: skip


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="campaign-bench-") as scratch:
        said = Path(scratch) / "facts"
        said.write_text(lines())
        commands = {
            "bash that does nothing": (SOURCES, ["x"], None),
            "one node's facts": (f'{SOURCES}; campaign_node_facts / "$1" "$2"', [scratch, "/bin/bash"], BAR_NODE_S),
            f"{NODES} nodes read": ('cat "$1"', [str(said)], None),
            f"{NODES} nodes put together": (f'{SOURCES}; campaign_fold "$1"', [str(said)], BAR_FOLD_S),
        }
        times: dict[str, list[float]] = {name: [] for name in commands}
        size = 0
        seconds = []
        for _ in range(ROUNDS):
            for name, (text, arguments, _bar) in commands.items():
                seconds, out = bash(text, *arguments)
                times[name].append(seconds)
            size = len(out)
            began = time.monotonic()
            found = reading.parse(b'{"format": 2, ' + out + b'"problems": []}').environment
            seconds.append(time.monotonic() - began)
            assert len(found.nodes) == NODES
    rows = [(name, statistics.median(times[name]), bar) for name, (_, _, bar) in commands.items()]
    rows.append((f"{NODES} nodes parsed by the driver", statistics.median(seconds), BAR_READ_S))
    body = [[name, f"{median:.3f}", f"{bar:.1f}" if bar else "none"] for name, median, bar in rows]
    print(tabulate(body, ["what", "median s", "bar s"], disable_numparse=True))
    print(f"record of {NODES} nodes: {size} bytes, bar {BAR_BYTES}")
    return sum(bar is not None and median > bar for _, median, bar in rows) + (size > BAR_BYTES)
