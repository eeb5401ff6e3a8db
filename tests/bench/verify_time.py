"""How long `campaign verify` takes over the signed bundle of a full campaign: 36 cells, once and with 6 repetitions, in
seconds of wall time; and of one whose journal has a million events more, in seconds of CPU.

The campaign runs on the fake Slurm, whose logs are as long as the real ones; the program's start is part of the time.
"""

from __future__ import annotations

import json
import resource
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from tabulate import tabulate

from campaign.core.events import hash_of
from tests.bench.table import Row
from tests.support import bundled
from tests.support.command_line import CAMPAIGN

ROUNDS = 3
BAR_S = 3.0
EVENTS = 1_000_000


def main() -> Iterator[Row]:
    rows = list[tuple[str, int, str, float]]()
    for repetitions in (1, 6):
        with tempfile.TemporaryDirectory() as place:
            vendor = bundled.make(Path(place) / "campaign", repetitions)
            vendor.call("bundle", vendor.file, "-o", Path(place) / "b.zip", "--sign", vendor.key)
            for bundle in (vendor.root / "bag", Path(place) / "b.zip"):
                rows.append((bundle.suffix or "directory", 12 * repetitions, "wall", _median(vendor, bundle, _wall_s)))
            if repetitions == 1:
                _lengthen(vendor.root / "results/bundled/journal.jsonl")
                vendor.call("bundle", vendor.file, "-o", Path(place) / "long", "--sign", vendor.key)
                rows.append((f"{EVENTS} events", 12, "CPU", _median(vendor, Path(place) / "long", _cpu_s)))
    print(
        tabulate(([*row, f"{BAR_S:.0f}"] for row in rows), ["bundle", "attempts", "of", "s", "bar s"], floatfmt=".2f")
    )
    times = [seconds for *_, seconds in rows]
    yield Row(
        "`campaign verify`: 12 attempts, as folder and zip; a million events more in the journal, CPU; 72 attempts",
        f"≤ {BAR_S:g} s each",
        ", ".join(f"{seconds:.1f} s" for seconds in times),
        missed=max(times) > BAR_S,
    )


def _median(vendor: bundled.Vendor, bundle: Path, clock: Callable[[], float]) -> float:
    seconds = []
    for _ in range(ROUNDS):
        before = clock()
        process = subprocess.run(
            [CAMPAIGN, "verify", bundle, "--signers", vendor.signers, "--details"],
            capture_output=True,
            text=True,
            timeout=300,
        )
        seconds.append(clock() - before)
        assert "re-evaluated from raw logs: identical" in process.stdout, process.stdout + process.stderr
    return statistics.median(seconds)


def _wall_s() -> float:
    return time.perf_counter()


def _cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _lengthen(journal: Path) -> None:
    """Add events that change nothing."""
    last = journal.read_bytes().splitlines(keepends=True)[-1]
    head, began = hash_of(last), json.loads(last)["time"]
    with journal.open("ab") as file:
        for number in range(EVENTS):
            event = {"format": 1, "time": round(began + number / 1000, 3), "event": "note", "text": "x"}
            line = f"{json.dumps({**event, 'previous': head})}\n".encode()
            head = hash_of(line)
            file.write(line)
