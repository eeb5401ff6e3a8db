"""A comparison as CSV and JSON. Pure."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

from campaign.core import escaping
from campaign.report.compare.offers import Offer, OfferedCell
from campaign.report.compare.summary import letters, summary, typical
from campaign.report.compare.verdicts import CellComparison, OfferComparison

COLUMNS = (
    "target", "launch", "files", "operation", "unit", "best", "first", "offer", "first_status", "status",
    "first_value", "value", "first_n", "n", "first_median", "median", "reported_ratio", "ratio", "low", "high", "p",
    "adjusted_p", "verdict", "reason", "fails",
)  # fmt: skip


def as_csv(found: OfferComparison) -> str:
    """A line for each cell of each offer but the first."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for place, column in enumerate(found.cells, 1):
        for one in column:
            sides = (one.first, one.second)
            writer.writerow(
                [
                    one.cell.target,
                    one.cell.launch,
                    one.cell.files,
                    one.cell.operation,
                    *next((escaping.spreadsheet(side.unit), side.best) for side in sides if side),
                    "A",
                    letters(place),
                    *(side.status if side else "" for side in sides),
                    *(side.value if side else None for side in sides),
                    *(len(side.values) if side else None for side in sides),
                    *(typical(side) if side and side.values else None for side in sides),
                    *(one.reported, one.ratio, one.low, one.high, one.p, one.adjusted),
                    one.verdict,
                    escaping.plain(one.reason),
                    "yes" if one.fails else "no",
                ]
            )
    return out.getvalue()


def as_json(found: OfferComparison) -> str:
    """One object; each cell stands on a line of its own."""
    terms = {"least": found.terms.least, "reported_alone": found.terms.reported} if found.terms else None
    offers = ",\n".join(_offer_json(place, offer, found) for place, offer in enumerate(found.offers))
    return (
        f'{{"format": 1, "acceptance": {json.dumps(terms)}, "passed": {json.dumps(found.passed)}, "offers": [\n'
        f"{offers}\n]}}\n"
    )


def _offer_json(place: int, offer: Offer, found: OfferComparison) -> str:
    column = found.cells[place - 1] if place else ()
    means = summary(column)
    head = {
        "offer": letters(place),
        "source": offer.source,
        "campaign": offer.campaign or None,
        "rules": offer.rules,
        "version": offer.version,
        "profile": offer.profile,
        "remarks": list(found.remarks[place]),
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
    cells = ",\n".join(json.dumps(_cell_json(one)) for one in column)
    return f'{json.dumps(head)[:-1]}, "cells": [{cells}]}}'


def _cell_json(one: CellComparison) -> dict[str, Any]:
    entry = one.first or one.second
    return {
        "target": one.cell.target,
        "launch": one.cell.launch,
        "files": one.cell.files,
        "operation": one.cell.operation,
        "unit": entry.unit if entry else None,
        "best": one.best,
        "first": _entry_json(one.first),
        "this": _entry_json(one.second),
        "reported_ratio": one.reported,
        "ratio": one.ratio,
        "low": one.low,
        "high": one.high,
        "p": one.p,
        "adjusted_p": one.adjusted,
        "verdict": one.verdict,
        "reason": one.reason,
        "fails": one.fails,
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
