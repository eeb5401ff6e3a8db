"""What changed between two versions of a rule pack or an RFP, key by key in words, and which results still count."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from campaign.config import rfp
from campaign.config.rules import kinds, packs
from campaign.config.rules.pack import RulePack
from campaign.core.runs import Cell
from campaign.core.strict_yaml import Document, YamlNode, has_key, plain, quoted
from campaign.core.units import plural
from campaign.core.yaml_trees import entries_by_name, pairs_by_key
from campaign.results.cells import patterns

# Places of a pack that decide nothing, and those by which results are judged once they are measured.
_TEXTS = (
    *("id", "version", "title", "document", "caption", "clauses*", "notes*", "plots*", "extends", "without*"),
    *("*/title", "*/clause", "*/why", "*/row", "launch/*/text", "checks/*/text"),
)
_JUDGED = ("checks*", "requires*", "operations*", "selection*", "results*", "programs/*/results*", "builds*", "source*",
           "energy*", "allowed*", "launchers*")  # fmt: skip


@dataclass(frozen=True, slots=True)
class Amendment:
    """A key that differs; "" for a value that one of both lacks."""

    place: str  # launch/peak/nodes
    old: str
    new: str

    def __str__(self) -> str:
        return f"{self.place}: {self.old or 'none'}, now {self.new or 'none'}"

    def is_among(self, places: Sequence[str]) -> bool:
        return any(fnmatchcase(self.place, place) for place in places)


def comparison(earlier_path: str, later_path: str) -> str:
    """What `campaign rules OLD NEW` prints of two packs, or of two RFPs."""
    if not has_key(Path(earlier_path), "parts"):
        return amendment_text(packs.load(earlier_path), packs.load(later_path))
    (old_rfp, old_packs), (new_rfp, new_packs) = (
        rfp.load_with_packs(Path(path)) for path in (earlier_path, later_path)
    )
    changes = rfp_changes(old_rfp, new_rfp)
    lines = [_heading(old_rfp, new_rfp, changes), *(f"  {change}" for change in changes)]
    for part in (part for part in old_packs if part in new_packs):
        lines += [f"\npart {part}: {amendment_text(old_packs[part], new_packs[part])}"]
    return "\n".join(lines)


def _heading(earlier_pack: RulePack | rfp.Rfp, later_pack: RulePack | rfp.Rfp, changes: Sequence[Amendment]) -> str:
    versions = f"{earlier_pack.id} {earlier_pack.version} and {later_pack.id} {later_pack.version}"
    return f"{versions}: {plural(len(changes), 'change')}"


def pack_changes(earlier_pack: RulePack, later_pack: RulePack) -> list[Amendment]:
    """How a pack differs from another one, joined with what they extend."""
    assert earlier_pack.path and later_pack.path, "packs that were read have their paths"
    return [*_changes(packs.open_pack(earlier_pack.path)[0].root, packs.open_pack(later_pack.path)[0].root)]


def rfp_changes(earlier_rfp: rfp.Rfp, later_rfp: rfp.Rfp) -> list[Amendment]:
    """How an RFP differs from another one, apart from its packs."""
    return [*_changes(Document.open(earlier_rfp.path).root, Document.open(later_rfp.path).root)]


def _changes(old_node: YamlNode, new_node: YamlNode, place: str = "") -> Iterator[Amendment]:
    old_keys, new_keys = (pairs_by_key(node) or entries_by_name(node, kinds.NAMING) for node in (old_node, new_node))
    if old_keys and new_keys:
        for name in dict.fromkeys((*old_keys, *new_keys)):
            inner_place = f"{place}/{name}" if place else name
            if name in old_keys and name in new_keys:
                yield from _changes(old_keys[name][1], new_keys[name][1], inner_place)
            else:
                yield Amendment(
                    inner_place, *(_text(plain(keys[name][1])) if name in keys else "" for keys in (old_keys, new_keys))
                )
    elif (old_value := plain(old_node)) != (new_value := plain(new_node)):
        if isinstance(old_value, list) and isinstance(new_value, list):
            removed, added = (
                [entry for entry in entries if entry not in others]
                for entries, others in ((old_value, new_value), (new_value, old_value))
            )
            old_value, new_value = (removed, added) if removed or added else (old_value, new_value)
        yield Amendment(place, _text(old_value), _text(new_value))


def _text(value: object) -> str:
    return quoted(str(value), plain=True) if value != [] else ""


def amendment_text(earlier_pack: RulePack, later_pack: RulePack) -> str:
    """The changes of a pack, and which results measured under the old one count, for `campaign rules A B`."""
    changes = pack_changes(earlier_pack, later_pack)
    decisive = [change for change in changes if not change.is_among(_TEXTS)]
    judged_changes = [change for change in decisive if change.is_among(_JUDGED)]
    executed_changes = [change for change in decisive if change not in judged_changes]
    cells = earlier_pack.cells(["*"])
    cells_to_measure = [cell for cell in cells if any(_concerns(change, cell) for change in executed_changes)]
    cells_to_judge = [
        cell
        for cell in cells
        if cell not in cells_to_measure and any(_concerns(change, cell) for change in judged_changes)
    ]
    valid_cells = [cell for cell in cells if cell not in cells_to_measure and cell not in cells_to_judge]
    results = (
        ("to be measured again", cells_to_measure),
        ("to be re-evaluated", cells_to_judge),
        ("count as they are", valid_cells),
    )
    return "\n".join(
        [
            _heading(earlier_pack, later_pack, changes),
            *(f"  {change}" for change in changes),
            f"Results of {earlier_pack.id} {earlier_pack.version}:",
            *(f"  {name}: {', '.join(patterns(group, cells))}" for name, group in results if group),
        ]
    )


def _concerns(change: Amendment, cell: Cell) -> bool:
    """Whether a change may concern a result: of an entry for some, only these."""
    section, _, name = change.place.partition("/")
    own_name = {"launch": cell.launch, "files": cell.files, "operations": cell.operation}.get(section)
    return own_name is None or name.partition("/")[0] == own_name
