"""What several benchmarks need: how they start programs, where these put their files, and medians with an interval."""

from __future__ import annotations

import os
import resource
import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from campaign.statistics.intervals import median_interval

BUILD = Path(__file__).parents[2] / "bench-src" / "build"
Rates = dict[str, float]  # by operation
FULL = bool(os.environ.get("FULL"))  # simulations at full size


def mdtests() -> list[Path]:
    """MDTEST, upstream's program: one path, or several with a colon between them."""
    return [Path(path) for path in os.environ.get("MDTEST", "").split(os.pathsep) if path]


def mpirun(processes: int, command: Iterable[object]) -> str:
    """What it prints."""
    settings = {"OMPI_MCA_mpi_yield_when_idle": "1"}
    if os.geteuid() == 0:
        settings |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    return subprocess.run(
        ["mpirun", "--oversubscribe", "-np", str(processes), *map(str, command)],
        env=os.environ | settings,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        timeout=120,
    ).stdout


@contextmanager
def tmpfs() -> Iterator[Path]:
    base = Path("/dev/shm")
    with tempfile.TemporaryDirectory(prefix="campaign-bench-", dir=base if base.is_dir() else None) as scratch:
        yield Path(scratch)


@contextmanager
def journaled_ext4() -> Iterator[Path | None]:
    """On an image file; None where it cannot be mounted."""
    with tempfile.TemporaryDirectory(prefix="campaign-bench-") as scratch:
        image, mounted = Path(scratch) / "image", Path(scratch) / "mounted"
        mounted.mkdir()
        with image.open("wb") as file:
            file.truncate(4 << 30)
        make: list[str | Path] = [
            "mkfs.ext4",
            "-q",
            "-F",
            "-O",
            "has_journal",
            "-E",
            "lazy_itable_init=0,lazy_journal_init=0",
            image,
        ]
        mount: list[str | Path] = ["mount", "-o", "loop", image, mounted]
        if not all(shutil.which(tool) for tool in ("mkfs.ext4", "mount")) or any(
            subprocess.run(command, timeout=60).returncode for command in (make, mount)
        ):
            print("not measured on ext4: mounting an image needs root, and mkfs.ext4")
            yield None
            return
        try:
            yield mounted
        finally:
            subprocess.run(["umount", mounted], check=True, timeout=60)


def cpu_seconds() -> tuple[float, float]:
    """Of the whole machine, and of this process and the ended ones that it started."""
    fields = [int(field) for field in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]
    busy = (sum(fields) - fields[3] - fields[4]) / os.sysconf("SC_CLK_TCK")  # without idle and waiting for disks
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return busy, sum(usage.ru_utime + usage.ru_stime for usage in used)


@contextmanager
def watch_other_work() -> Iterator[None]:
    """Says afterwards how busy the processors were with something else: above a few percent, ratios are luck."""
    began, (busy, own_busy) = time.monotonic(), cpu_seconds()
    yield
    busy_after, own_after = cpu_seconds()
    available = (time.monotonic() - began) * (os.cpu_count() or 1)
    share = max(0.0, (busy_after - busy) - (own_after - own_busy)) / available
    print(f"processors busy with other work meanwhile: {share:.0%}{' (too much for ratios)' if share > 0.05 else ''}")


@dataclass(frozen=True)
class Middle:
    """A median within its interval: of ratios of neighbouring turns, since the speed of the machine drifts."""

    low: float
    median: float
    high: float

    @classmethod
    def of_values(cls, values: Iterable[float], confidence: float = 0.95) -> Middle:
        """Of fewer than 6 values, from the lowest to the highest."""
        ordered = sorted(values)
        low, high = median_interval(ordered, confidence) or (ordered[0], ordered[-1])
        return cls(low, statistics.median(ordered), high)

    @property
    def spread(self) -> str:
        return f"{self.low:.2f}–{self.high:.2f}"


def ratios_of(
    first: Sequence[Rates], other: Sequence[Rates], operations: Iterable[str], confidence: float = 0.95
) -> list[Middle]:
    """Of each operation, over the first rounds, in which both took part."""
    pairs = list(zip(first, other, strict=False))
    return [
        Middle.of_values((mine[operation] / theirs[operation] for mine, theirs in pairs), confidence)
        for operation in operations
    ]


def medians(middles: Iterable[Middle]) -> str:
    return ", ".join(f"{middle.median:.2f}" for middle in middles)


def spreads(middles: Iterable[Middle]) -> str:
    return ", ".join(middle.spread for middle in middles)
