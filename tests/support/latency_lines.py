"""Lines of type `latency`, as the benchmark writes them."""

from __future__ import annotations

from typing import Any

from campaign.results.parsers.json_applets import PERCENTILES


def fields(values: list[int], **changes: object) -> dict[str, Any]:
    """The line of these latencies in ns, whose percentiles are computed here in the plainest way."""
    made: dict[str, Any] = {
        "type": "latency", "iteration": 0, "operation": "create", "object": "file", "start_s": 3.0, "length_s": 1.0,
        "count": len(values), "percentiles_s": None, "bucket_ns": sorted(set(values)),
    }  # fmt: skip
    made["counts"] = [values.count(limit) for limit in made["bucket_ns"]]
    if values:
        made["percentiles_s"] = {
            name: round(
                1e-9 * next(each for each in sorted(values) if _not_above(values, each) >= share * len(values)), 9
            )
            for name, share in PERCENTILES.items()
        }
    return made | changes


def _not_above(values: list[int], limit: int) -> int:
    return sum(value <= limit for value in values)
