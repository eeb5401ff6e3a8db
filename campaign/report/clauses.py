"""The compliance matrix in its printed forms, and the coverage of a pack's clauses. Pure."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from typing import Any

from campaign.config.rules import kinds
from campaign.config.rules.pack import RulePack
from campaign.core import units
from campaign.core.errors import InputError
from campaign.judge.clauses import ClauseLine, ClauseState, counted
from campaign.report import printing
from campaign.results.source.modifications import Section

HEADERS = ("Clause", "Requirement", "State", "Answer", "Evidence")
COLUMNS = ("clause", "requires", "how", "state", "answer", "by", "rules", "cells", "files", "why")
_LISTED = 3  # of cells and files
_BY = {"answered": "answered", "person": "by a person", "out_of_scope": "out of scope"}


def texts(line: ClauseLine) -> tuple[str, ...]:
    """A line as texts, by HEADERS."""
    evidence = (", ".join(line.rules), units.listed(line.cells, _LISTED), units.listed(line.files, _LISTED))
    answer = "; ".join(filter(None, (line.answer, line.why)))
    return line.clause.id, line.clause.requires, str(line.state), answer, "; ".join(filter(None, evidence))


def printed(lines: Sequence[ClauseLine], pack: RulePack, style: str, width: int) -> str:
    printing.check_format(style, "csv", "json", "xlsx")
    parts = (
        printing.paragraph(f"Compliance matrix: {pack.document}", style, width),
        printing.grid(HEADERS, list(map(texts, lines)), style, HEADERS, width),
        printing.paragraph(counted(lines), style, width),
    )
    return printing.document(parts, style) + "\n"


def section(lines: Sequence[ClauseLine]) -> Section:
    """The matrix as a part of the page."""
    return Section("Compliance matrix", counted(lines), HEADERS, tuple(map(texts, lines)))


def as_json(lines: Sequence[ClauseLine]) -> str:
    return json.dumps([line.as_json() for line in lines], indent=1, ensure_ascii=False) + "\n"


def as_csv(lines: Sequence[ClauseLine]) -> str:
    return printing.as_csv(COLUMNS, (line.as_json() for line in lines))


def open_text(lines: Sequence[ClauseLine]) -> str:
    """The questions that the vendor has not answered; "" if there are none."""
    missing = [line.clause for line in lines if line.clause.answered and line.state is ClauseState.OPEN]
    if not missing:
        return ""
    asked = "\n".join(f"  [{clause.id}] {clause.answered}" for clause in missing)
    return f"Clauses to answer under `answers` in the campaign file ({len(missing)}):\n{asked}"


# --- the coverage of a pack


def coverage(pack: RulePack, width: int) -> str:
    """Each clause of a pack, and how it is accounted for."""
    headers = ("Clause", "Requirement", "How", "By what")
    body = [
        (each["clause"], each["requires"], each["how"].replace("_", " "), "; ".join(each["by"]))
        for each in _covered(pack)
    ]
    counts = Counter(clause.how for clause in pack.clauses)
    how = {kinds.BY_CHECKS: "checked", **_BY}
    said = ", ".join(f"{counts[key]} {words}" for key, words in how.items() if counts[key])
    parts = (
        f"{pack.id}, version {pack.version}: clauses of {pack.document}",
        printing.plain_grid(headers, body, headers, width),
        f"{units.several(len(pack.clauses), 'clause')}: {said}",
    )
    return "\n".join(parts)


def coverage_json(pack: RulePack) -> str:
    return json.dumps(_covered(pack), indent=1, ensure_ascii=False)


def _covered(pack: RulePack) -> list[dict[str, Any]]:
    if not pack.clauses:
        raise InputError(f"rule pack {pack.id} does not list the clauses of its document; add `clauses` to {pack.path}")
    return [
        {
            "clause": clause.id,
            "requires": clause.requires,
            "how": clause.how,
            "by": [clause.text] if clause.text else list(map(str, clause.evidence)),
        }
        for clause in pack.clauses
    ]
