"""ior's own JSON lines: `test`, `phase`, `verification`. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from campaign.results.parsers.json_lines import Execution, JsonLine, LineReader


def _test(run: Execution, line: JsonLine) -> None:
    """The processes that take part may be fewer than were started."""
    run.seen = replace(
        run.seen,
        processes=line.count("processes"),
        nodes=line.count("nodes"),
        processes_per_node=line.count("processes_per_node"),
    )


def _phase(run: Execution, line: JsonLine) -> None:
    writes = line.text("operation") == "write"
    details = {
        "elapsed_s": line.number_of("elapsed_s"),
        "moved_bytes": line.count("bytes") if "bytes" in line.data else None,
        "remote_share": line.optional("remote_share"),
        "cached_share": None if writes else line.optional("cached_share"),
        "dirty_share": line.optional("dirty_share") if writes else None,
        **line.spread("rank_rate_mib_s"),
    }
    # A script may have several tests.
    operation = f"{line.one_of('operation', 'write', 'read')}-{line.count('test')}"
    run.results.add(operation, line.number_of("rate_mib_s"), "MiB/s", line.number, details)


def _check(run: Execution, line: JsonLine) -> None:
    run.failed_operations += line.count("failed")


READERS: Mapping[str, LineReader] = {"test": _test, "phase": _phase, "verification": _check}
