"""A comparison as CSV and JSON. Pure."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import asdict
from typing import Any

from campaign.core import escaping
from campaign.report.compare.offers import Offer, OfferedCell
from campaign.report.compare.verdicts import CellComparison, OfferComparison, letters, summary, typical

COLUMNS = (
    "target", "launch", "files", "operation", "unit", "best", "first", "offer", "first_status", "status",
    "first_value", "value", "first_n", "n", "first_median", "median", "reported_ratio", "ratio", "low", "high", "p",
    "adjusted_p", "verdict", "reason", "fails",
)  # fmt: skip


def as_csv(comparison: OfferComparison) -> str:
    """A line for each cell of each offer except the first."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for place, column in enumerate(comparison.cells, 1):
        for cell in column:
            flat = _cell_json(cell)
            for side, prefix in (("first", "first_"), ("this", "")):
                entry = flat[side] or {}
                flat |= {f"{prefix}{key}": entry.get(key) for key in ("status", "value", "n", "median")}
            flat |= {"unit": escaping.spreadsheet(flat["unit"]), "first": "A", "offer": letters(place)}
            flat |= {"reason": escaping.plain(cell.reason), "fails": "yes" if cell.fails else "no"}
            writer.writerow([flat[name] for name in COLUMNS])
    return out.getvalue()


def as_json(comparison: OfferComparison) -> str:
    """One object, with each cell on a line of its own."""
    terms = {"least": comparison.terms.least, "reported_alone": comparison.terms.reported} if comparison.terms else None
    offers = ",\n".join(_offer_json(place, offer, comparison) for place, offer in enumerate(comparison.offers))
    return (
        f'{{"format": 1, "acceptance": {json.dumps(terms)}, "passed": {json.dumps(comparison.passed)}, "offers": [\n'
        f"{offers}\n]}}\n"
    )


def _offer_json(place: int, offer: Offer, comparison: OfferComparison) -> str:
    column = comparison.cells[place - 1] if place else ()
    means = summary(column)
    head = {
        "offer": letters(place),
        "source": offer.source,
        "campaign": offer.campaign or None,
        "rules": offer.rules,
        "version": offer.version,
        "profile": offer.profile,
        "remarks": list(comparison.remarks[place]),
        "summary": {
            "cells": means.compared,
            "geometric_mean": means.mean,
            "by_launch": means.by_launch,
            "by_operation": means.by_operation,
            "verdicts": {verdict: number for verdict, number in means.verdicts.items() if number},
        }
        if place
        else None,
    }
    cells = ",\n".join(json.dumps(_cell_json(cell)) for cell in column)
    return f'{json.dumps(head)[:-1]}, "cells": [{cells}]}}'


def _cell_json(cell: CellComparison) -> dict[str, Any]:
    entry = cell.first or cell.second
    return {
        **asdict(cell.cell),
        "unit": entry.unit if entry else None,
        "best": cell.best,
        "first": _entry_json(cell.first),
        "this": _entry_json(cell.second),
        "reported_ratio": cell.reported,
        "ratio": cell.ratio,
        "low": cell.low,
        "high": cell.high,
        "p": cell.p,
        "adjusted_p": cell.adjusted,
        "verdict": cell.verdict,
        "reason": cell.reason,
        "fails": cell.fails,
    }


def _entry_json(entry: OfferedCell | None) -> dict[str, Any] | None:
    if entry is None:
        return None
    return {
        "value": entry.value,
        "status": entry.status,
        "n": len(entry.values),
        "median": typical(entry) if entry.values else None,
        "jobs": entry.jobs,
        "processes": entry.processes,
        "nodes": entry.nodes,
    }
