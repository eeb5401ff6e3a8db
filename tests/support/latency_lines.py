"""Lines of type `latency`, as the benchmark writes them."""

from __future__ import annotations

from typing import Any

from campaign.results.parsers.json_applets import PERCENTILES


def fields(values: list[int], **changes: object) -> dict[str, Any]:
    """The line of these latencies in ns, whose percentiles are computed here in the plainest way."""
    fields: dict[str, Any] = {
        "type": "latency", "iteration": 0, "operation": "create", "object": "file", "start_s": 3.0, "length_s": 1.0,
        "count": len(values), "percentiles_s": None, "bucket_ns": sorted(set(values)),
    }  # fmt: skip
    fields["counts"] = [values.count(limit) for limit in fields["bucket_ns"]]
    if values:
        fields["percentiles_s"] = {
            name: round(
                1e-9 * next(value for value in sorted(values) if _not_above(values, value) >= share * len(values)), 9
            )
            for name, share in PERCENTILES.items()
        }
    return fields | changes


def _not_above(values: list[int], limit: int) -> int:
    return sum(value <= limit for value in values)
