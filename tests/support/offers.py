"""Tables of campaigns to compare, as their JSON has them."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

from campaign.report.compare.offers import Offer, parse_offer

RULES = {"id": "crossroads-mdtest", "version": 3, "profile": "full", "variables": {}}
CELLS = [
    ("scratch", launch, files, operation)
    for files in ("shared", "unique")
    for launch in ("node", "max")
    for operation in ("create", "stat")
]

Row = dict[str, Any]


def in_turns(repetitions: int) -> list[float]:
    """Starts of which those of two offers took turns: one of each on each day."""
    return [86400.0 * day for day in range(1, repetitions + 1)]


def row(values: Sequence[float] = (100.0,), cell: Sequence[str] = CELLS[0], **changes: Any) -> Row:
    """A measured cell with its repetitions; the highest is reported."""
    fields = {
        **dict(zip(("target", "launch", "files", "operation"), cell, strict=True)),
        "value": max(values),
        "unit": "ops/s",
        "best": "highest",
        "status": "measured",
        "processes": 8,
        "nodes": 2,
        "files_total": 1000,
        "statistics": {"n": len(values), "values": list(values), "jobs": len(values), "started": in_turns(len(values))},
        "campaign": "offer",
        "rules": RULES,
    }
    return {**fields, **changes}


def gap(status: str, cell: Sequence[str] = CELLS[0], **changes: Any) -> Row:
    """A cell without a number, or with one that is not measured."""
    return row(
        cell=cell, **{"value": None, "status": status, "statistics": {"n": 0, "values": [], "jobs": 0}, **changes}
    )


def offer(*rows: Row, source: str = "offer.json") -> Offer:
    return parse_offer(source, list(rows))


def noisy(
    seed: int, repetitions: int = 6, noise: float = 0.05, factor: Callable[[Sequence[str]], float] = lambda cell: 1.0
) -> Offer:
    """Every cell measured, with log-normal noise."""
    random_ = random.Random(seed)
    return offer(
        *(
            row(
                [1000.0 * place * factor(cell) * random_.lognormvariate(0, noise) for _ in range(repetitions)],
                cell,
                campaign=f"offer-{seed}",
            )
            for place, cell in enumerate(CELLS, 1)
        ),
        source=f"offer-{seed}.json",
    )
