"""Selects the rules for judging a bundle: the buyer's; and finds how the bundle's pack differs from them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from enum import StrEnum
from pathlib import Path

from campaign.config.rules import packs
from campaign.config.rules.catalogue import CATALOGUE, show
from campaign.config.rules.pack import RulePack
from campaign.core.errors import InputError
from campaign.core.model import Finding
from campaign.judge.findings import unchecked, violation

WORDS = frozenset({"title", "document", "caption", "texts", "notes", "plots", "items_clause"})  # decide nothing
NOT_COMPARED = frozenset({"id", "path", "digest", "profile", "values", "checks", "parameters"}) | WORDS


class Copy(StrEnum):
    GIVEN = "given"  # with --rules
    INSTALLED = "installed"  # the buyer's own pack with that id
    BUNDLE = "bundle"  # the vendor's: the buyer has none


@dataclass(frozen=True, slots=True)
class Rules:
    """`path` is the pack to judge by, None for the one in the bundle; `differences`: how that one differs."""

    copy: Copy
    path: Path | None = None
    differences: tuple[str, ...] = ()

    def findings(self) -> Iterator[Finding]:
        """EVD-05, of a bundle."""
        if self.copy is Copy.BUNDLE:
            yield unchecked(
                "no rule pack of this id is installed: re-evaluated with the vendor's copy; pass yours with --rules"
            )
        for difference in self.differences:
            yield violation("the vendor's rule pack differs from yours: {difference}", difference=difference)


def choose(named: RulePack | None, evidence: Path) -> Rules:
    """Select the pack for judging the evidence. Raises InputError if the pack in it cannot be read."""
    paths = list((evidence / "rules").glob("*.yaml"))
    if len(paths) != 1:
        return Rules(Copy.BUNDLE)  # the re-evaluation reports it
    vendors = packs.load(paths[0])
    buyers, copy = named, Copy.GIVEN
    if buyers is None:
        try:
            buyers, copy = packs.load(vendors.id), Copy.INSTALLED
        except InputError:
            return Rules(Copy.BUNDLE)
    if vendors.digest == buyers.digest:
        return Rules(copy)
    return Rules(copy, buyers.path, tuple(_differences(vendors, buyers)) or ("only its texts differ",))


def _differences(vendors: RulePack, buyers: RulePack) -> Iterator[str]:
    """How the vendor's pack differs, the checks first."""
    for rule in buyers.checks:
        if rule not in vendors.checks:
            yield f"it does not check {rule} ({buyers.statement(rule)})"
    for rule in vendors.checks:
        if rule not in buyers.checks:
            yield f"it checks {rule}, which yours does not"
        for name, parameter in CATALOGUE[rule].parameters.items() if rule in CATALOGUE else ():
            vendors_value, buyers_value = vendors.parameter(rule, name), buyers.parameter(rule, name)
            if vendors_value != buyers_value:
                yield (
                    f"{rule}: {name} is {show(parameter.kind, vendors_value)}, yours is "
                    f"{show(parameter.kind, buyers_value)}"
                )
    if vendors.id != buyers.id:
        yield f"it is {vendors.id}, yours is {buyers.id}"
    for field in fields(RulePack):
        if field.name not in NOT_COMPARED and getattr(vendors, field.name) != getattr(buyers, field.name):
            yield f"'{field.name}' differs"
