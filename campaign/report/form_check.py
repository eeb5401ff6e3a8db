"""The forms of an RFP before anybody has measured: whether each name in them exists, and a sample of what is
filled in.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields

from campaign.config.forms import ANSWERS, OFFERED, SCORES, VALUES, FormEntry
from campaign.config.rfp import Rfp, unknown_words
from campaign.config.rules.pack import RulePack
from campaign.config.system import Proposed
from campaign.core import units
from campaign.core.columns import sequence_columns
from campaign.core.errors import InputError
from campaign.core.schema import suggestion
from campaign.report import grid
from campaign.report.foreign import form_file

COLUMNS = sequence_columns("cell", "holds", "for example")
TEXTS = {"unit": "{unit}", "status": "measured", "note": "its notes", "date": "2026-01-31"}


def forms_text(rfp: Rfp, packs: Mapping[str, RulePack], width: int) -> str:
    """Each form with its cells, what they hold, and a sample. Raises InputError with every form and cell that is
    wrong.
    """
    problems: list[str] = []
    texts = []
    for mapping in rfp.forms:
        path, lines = rfp.path.parent / mapping.file, []
        try:
            for place in form_file.form_places(path, form_file.read_form(path), mapping):
                try:
                    lines.append((str(place.spot), place.entry.name, sample_text(place.entry, rfp, packs)))
                except ValueError as error:
                    problems.append(f"{path}: cell {place.spot}: {place.entry.name}: {error}")
        except InputError as error:
            problems += error.problems
        if not lines and not problems:
            problems.append(f"{path}: no cell is marked or mapped")
        texts.append(f"form {mapping.file}:\n{grid.plain_grid(COLUMNS, lines, width)}")
    if problems:
        raise InputError(*problems)
    return "\n".join(texts)


def sample_text(entry: FormEntry, rfp: Rfp, packs: Mapping[str, RulePack]) -> str:
    """What such a cell may hold. Raises ValueError if the RFP has no such name."""
    if entry.result.startswith(SCORES):
        _check_name(entry.result.removeprefix(SCORES), [score.id for score in rfp.scores])
        return "1.23"
    part, _, name = entry.result.partition("/")
    if part not in packs and not entry.is_of_result:
        part, name = rfp.parts[0].id, entry.result
    _check_name(part, packs)
    pack = packs[part]
    if name.startswith(OFFERED):
        _check_name(name.removeprefix(OFFERED), [field.name for field in fields(Proposed)])
        return f"16{entry.unit and ' '}{entry.unit}"
    if not entry.is_of_result:
        if name.startswith(ANSWERS):
            _check_name(name.removeprefix(ANSWERS), [clause.id for clause in pack.clauses if clause.answered])
        return "a text of the campaign file"
    words = name.split("/")
    if len(words) != 4:
        raise ValueError("found no result; allowed: part/target/launch/files/operation")
    for word, ids in unknown_words(pack, words[1:]):
        _check_name(word, ids)
    # Of values that the campaign decides, the operation has no name yet.
    unit = next((operation.unit for operation in pack.operations if operation.id == words[3]), entry.unit)
    if entry.field in TEXTS:
        return TEXTS[entry.field].format(unit=entry.unit or unit)
    if entry.field not in VALUES:
        return "16"
    units.convert_unit(1, unit, entry.unit or unit)
    return f"1234.5 {entry.unit or unit}"


def _check_name(name: str, names: Mapping[str, object] | list[str]) -> None:
    if name not in names:
        raise ValueError(f"found {name}; {suggestion(name, names, allowed=units.listing(names) or 'none')}")
