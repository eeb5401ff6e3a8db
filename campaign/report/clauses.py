"""The compliance matrix in its printed forms, and the coverage of a pack's clauses. Pure."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from campaign.config.rules import kinds
from campaign.config.rules.pack import RulePack
from campaign.core import units
from campaign.core.columns import Column
from campaign.core.errors import InputError
from campaign.judge.compliance import ClauseLine, ClauseState, count_states
from campaign.report import grid, printing

_LISTED = 3  # of cells and files
_BY = {"answered": "answered", "person": "by a person", "out_of_scope": "out of scope"}


def _evidence(line: ClauseLine) -> str:
    parts = (", ".join(line.rules), units.listing(line.cells, _LISTED), units.listing(line.files, _LISTED))
    return "; ".join(filter(None, parts))


COLUMNS: tuple[Column[ClauseLine], ...] = (
    Column("Clause", lambda line: line.clause.id, is_text=True, width=16),
    Column("Requirement", lambda line: line.clause.requires, is_text=True, width=60),
    Column("State", lambda line: line.state, is_text=True, width=14),
    Column("Answer", lambda line: "; ".join(filter(None, (line.answer, line.why))), is_text=True, width=60),
    Column("Evidence", _evidence, is_text=True, width=60),
)


def matrix_text(lines: Sequence[ClauseLine], document: str, style: str, width: int) -> str:
    printing.check_format(style, "csv", "json", "xlsx")
    parts = (
        printing.paragraph(f"Compliance matrix: {document}", style, width),
        grid.grid_text(COLUMNS, lines, style, width),
        printing.paragraph(count_states(lines), style, width),
    )
    return printing.document(parts, style) + "\n"


def as_json(lines: Sequence[ClauseLine]) -> str:
    return json.dumps([line.as_json() for line in lines], indent=1, ensure_ascii=False) + "\n"


def as_csv(lines: Sequence[ClauseLine]) -> str:
    return printing.as_csv([*lines[0].as_json()], (line.as_json() for line in lines))


def open_questions(lines: Sequence[ClauseLine]) -> str:
    """The questions that the vendor has not answered; "" if there are none."""
    missing = [line.clause for line in lines if line.clause.answered and line.state is ClauseState.OPEN]
    if not missing:
        return ""
    questions = "\n".join(f"  [{clause.id}] {clause.answered}" for clause in missing)
    return f"Clauses to answer under `answers` in the campaign file ({len(missing)}):\n{questions}"


# --- the coverage of a pack


_COVERAGE: tuple[Column[Mapping[str, Any]], ...] = (
    Column("Clause", lambda entry: entry["clause"], is_text=True),
    Column("Requirement", lambda entry: entry["requires"], is_text=True),
    Column("How", lambda entry: entry["how"].replace("_", " "), is_text=True),
    Column("By what", lambda entry: "; ".join(entry["by"]), is_text=True),
)


def coverage_text(pack: RulePack, width: int) -> str:
    """Each clause of a pack, and how it is accounted for."""
    counts = Counter(clause.accounting for clause in pack.clauses)
    labels = {kinds.BY_CHECKS: "checked", **_BY}
    totals = ", ".join(f"{counts[key]} {words}" for key, words in labels.items() if counts[key])
    parts = (
        f"{pack.id}, version {pack.version}: clauses of {pack.document}",
        grid.plain_grid(_COVERAGE, _coverage_entries(pack), width),
        f"{units.plural(len(pack.clauses), 'clause')}: {totals}",
    )
    return "\n".join(parts)


def coverage_json(pack: RulePack) -> str:
    return json.dumps(_coverage_entries(pack), indent=1, ensure_ascii=False)


def _coverage_entries(pack: RulePack) -> list[dict[str, Any]]:
    if not pack.clauses:
        raise InputError(f"rule pack {pack.id} does not list the clauses of its document; add `clauses` to {pack.path}")
    return [
        {
            "clause": clause.id,
            "requires": clause.requires,
            "how": clause.accounting,
            "by": [clause.text] if clause.text else list(map(str, clause.evidence)),
        }
        for clause in pack.clauses
    ]
