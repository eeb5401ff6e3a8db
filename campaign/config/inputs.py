"""The input files of a campaign: those of its rule pack and those of its own file, with their paths."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from campaign.config import resolution
from campaign.config.rules.pack import RulePack
from campaign.config.values import beside
from campaign.core import untrusted
from campaign.core.errors import pass_on_limit
from campaign.core.model import Input
from campaign.core.schema import Values

PACK, CAMPAIGN, PLAN = "the rule pack", "the campaign file", "the first plan"  # whose word a hash is


def digest(path: str) -> str:
    """The SHA-256 of a file on this machine; "" if it cannot be read, or the campaign is another machine's."""
    try:
        return untrusted.digest(resolution.content(Path(path)))
    except OSError as error:
        pass_on_limit(error)
        return ""


def check(values: Values, pack: RulePack) -> None:
    fixed, given = {each.id: each for each in pack.inputs}, set()
    for entry in values.entries("inputs"):
        name, asked = entry["id"], fixed.get(entry["id"] or "")
        if name in given:
            entry.problem(f"found {name} a second time; allowed: ids that differ", "id")
        given.add(name)
        if asked and asked.sha256 and entry["sha256"] not in ("", None, asked.sha256):
            entry.problem(
                f"found {entry['sha256']}, but clause {asked.clause} fixes {asked.sha256}; remove the key", "sha256"
            )
    for each in pack.inputs:
        if not each.path and each.id not in given:
            values.problem(
                f"input {each.id} of rule pack {pack.id} is missing (clause {each.clause}); add "
                f"{{id: {each.id}, path: PATH}}",
                "inputs",
            )


def of_both(given: Sequence[Input], pack: RulePack) -> Iterator[Input]:
    """The pack's inputs, where the campaign file may say where they are, and further ones of the campaign file."""
    assert pack.path is not None, "a pack that was read has its path"
    own = {each.id: replace(each, by=CAMPAIGN if each.sha256 else "") for each in given}
    for each in pack.inputs:
        placed = own.pop(each.id, None) or Input(each.id, str(beside(pack.path, each.path, f"{pack.id}.yaml/")))
        by_pack = {"sha256": each.sha256, "by": PACK} if each.sha256 else {}
        yield replace(placed, clause=each.clause, **by_pack)
    yield from own.values()
