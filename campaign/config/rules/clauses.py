"""The clauses of a pack's document, and what in the pack checks each: found by walking all entries with a `clause`, so
that a new kind of entry counts by itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from campaign.config.rules.entries import CheckedBy, Clause
from campaign.config.rules.kinds import OWN, UNCHECKED
from campaign.core.schema import Values, near
from campaign.core.strict_yaml import Place

_NAMED_BY = ("id", "flag", "program", "holds", "path", "operation", "name")  # the first of these keys names an entry


@dataclass(frozen=True, slots=True)
class _Mention:
    """An entry of the pack with a `clause`."""

    clause: str
    evidence: CheckedBy
    at: Place  # of the clause


def check(pack: Values) -> None:
    """Report clauses that nothing accounts for, or that are accounted for twice, and mentions of unknown clauses."""
    listed = pack.entries("clauses")
    if not listed:
        return
    mentions, rules = list(_mentions(pack, ())), [rule for rule, _ in pack["checks"] or ()]
    checking = {each.clause for each in mentions if each.evidence.key != "notes"}
    ids = [clause["id"] for clause in listed if clause["id"]]
    for clause in listed:
        clause.require_all("by", rules, "a rule of the pack's checks")
        _check_account(clause, checking)
    for each in mentions:
        if each.clause not in (*ids, *OWN):
            meant = near(each.clause, ids, cutoff=0.8)
            remedy = f"did you mean {meant}?" if meant else "add it to clauses"
            pack.problem(f"found {each.clause}, which is not among the clauses; {remedy}", *each.at)


def _check_account(clause: Values, checking: set[str]) -> None:
    """Check that a clause is accounted for in one way."""
    others = [key for key in UNCHECKED if clause[key]]
    if len(others) > 1 or (others and clause["by"]):
        given = [*others, *["by"] * bool(clause["by"])]
        clause.problem(f"found {', '.join(given)}; allowed: one of them", given[1])
    elif not others and not clause["by"] and clause["id"] and clause["id"] not in checking:
        clause.problem(
            f"found {clause['id']}, which nothing in the pack checks; give this clause to the rule or the entry that "
            f"checks it, name rules under by, or add one of {', '.join(UNCHECKED)}",
            "id",
        )


def with_evidence(clauses: Sequence[Clause], pack: Values) -> Iterator[Clause]:
    """The clauses, each with what checks it."""
    mentions = [each for each in _mentions(pack, ()) if each.evidence.key != "notes"]
    for clause in clauses:
        if clause.text:
            yield clause
            continue
        found = [CheckedBy("checks", rule) for rule in clause.by]
        found += [each.evidence for each in mentions if each.clause == clause.id]
        yield replace(clause, evidence=tuple(dict.fromkeys(found)))


def _mentions(value: Any, at: Place) -> Iterator[_Mention]:
    """Every entry below a value that has a clause."""
    if at == ("checks",):
        for rule, given in value or ():
            clause = dict(given).get("clause") if isinstance(given, tuple) else given
            if clause:
                place = ("checks", rule, *["clause"] * isinstance(given, tuple))
                yield _Mention(clause, CheckedBy("checks", rule), place)
    elif isinstance(value, Values):
        if clause := value.get("clause"):
            key = next(part for part in reversed(at) if isinstance(part, str))
            name = next((value[name] for name in _NAMED_BY if value.get(name)), "")
            yield _Mention(clause, CheckedBy(key, str(name)), (*at, "clause"))
        for key, inner in value.items():
            yield from _mentions(inner, (*at, key))
    elif isinstance(value, tuple):
        for index, inner in enumerate(value):
            yield from _mentions(inner, (*at, index))
