"""Whether a submission complies with its run rules, in the words that stand first in everything handed in. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from campaign.catalogue import CATALOGUE
from campaign.contents import Contents
from campaign.model import Severity, Status
from campaign.table import origin

OPEN = (Status.INVALID, Status.FAILED, Status.MISSING)


class Kind(StrEnum):
    REHEARSAL = "rehearsal"  # says nothing about compliance, whatever its numbers
    BROKEN = "broken"
    UNCHECKED = "unchecked"  # nothing is known to be broken
    COMPLIES = "complies"


@dataclass(frozen=True, slots=True)
class Reason:
    """`rules`: (id, statement, how often) of those that it is about."""

    text: str
    rules: tuple[tuple[str, str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Verdict:
    kind: Kind
    headline: str
    reasons: tuple[Reason, ...]


def verdict(contents: Contents) -> Verdict:
    """A rule that was not checked has not passed, so it never leaves a plain "complies"."""
    pack, findings = contents.pack, contents.findings
    errors = [one for one in findings if one["checked"] and one["severity"] == Severity.ERROR]
    warnings = [one for one in findings if one["checked"] and one["severity"] == Severity.WARNING]
    broken = _rules([one for one in errors if not one["waived"]])
    waived = _rules([one for one in errors if one["waived"]])
    asked = _rules([one for one in warnings if not one["explained"]])
    unchecked = _rules([one for one in findings if not one["checked"]])
    without = sum(row.status in OPEN for row in contents.rows)
    rehearsal = contents.campaign.profile != "full"
    reasons = [
        Reason(f"The rules are not a pack of this project: {origin(pack).strip(' []')}.") if origin(pack) else None,
        Reason(f"{without} of {len(contents.rows)} cells have no valid number.") if without else None,
        Reason(f"{_many(len(broken), 'rule')} broken:", broken) if broken else None,
        Reason(f"{_many(len(waived), 'rule')} broken and waived:", waived) if waived else None,
        Reason(f"{_many(len(asked), 'rule')} with findings that need an answer:", asked) if asked else None,
        Reason(f"{_many(len(unchecked), 'rule')} of {len(pack.checks)} not checked, which is no pass:", unchecked)
        if unchecked
        else None,
    ]
    if rehearsal:
        kind, headline = Kind.REHEARSAL, f"{contents.campaign.profile.capitalize()} size: not a compliant result"
    elif broken or without:
        kind, headline = Kind.BROKEN, "Does not comply with the run rules"
    elif unchecked:
        kind, headline = Kind.UNCHECKED, "No rule is known to be broken, and not all were checked"
    else:
        but = " and ".join([*["waived breaches"] * bool(waived), *["questions to answer"] * bool(asked)])
        kind, headline = Kind.COMPLIES, f"Complies with the run rules{f', with {but}' if but else ''}"
    size = Reason(f"It tries out the campaign's steps: {_size(contents)}.") if rehearsal else None
    return Verdict(kind, headline, tuple(reason for reason in (size, *reasons) if reason is not None))


def _rules(findings: Sequence[dict[str, Any]]) -> tuple[tuple[str, str, int], ...]:
    ids = sorted({one["rule"] for one in findings}, key=list(CATALOGUE).index)
    return tuple((rule, CATALOGUE[rule].statement, sum(one["rule"] == rule for one in findings)) for rule in ids)


def _many(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _size(contents: Contents) -> str:
    pack, campaign = contents.pack, contents.campaign
    found = []
    if pack.items_total:
        total = campaign.items_total or pack.items_total.get(campaign.profile, 0)
        found.append(f"{total} {pack.items_unit} in place of {pack.items_total.get('full', 0)}")
    found += [
        f"{one.id} {pack.values[one.id]} in place of {one.full}"
        for one in pack.variables
        if pack.values.get(one.id, one.full) != one.full
    ]
    return "; ".join(found) or "not at the size of the rules"
