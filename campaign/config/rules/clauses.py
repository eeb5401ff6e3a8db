"""The clauses of a pack's document, and what in the pack checks each: found by walking all entries with a `clause`, so
that a new kind of entry counts by itself.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from campaign.config.rules.entries import CheckedBy, Clause
from campaign.config.rules.kinds import OWN, UNCHECKED
from campaign.core.schema import Values, nearest_name
from campaign.core.strict_yaml import Place

_NAMED_BY = ("id", "flag", "program", "holds", "path", "operation", "name")  # the first of these keys names an entry


@dataclass(frozen=True, slots=True)
class _Mention:
    """An entry of the pack with a `clause`."""

    clause: str
    evidence: CheckedBy
    at: Place  # of the clause


def check(pack: Values, rules: Collection[str]) -> None:
    """Report clauses of a pack or an RFP that nothing accounts for, or that are accounted for twice, and mentions of
    unknown clauses. `rules`: those that a clause may name under `by`.
    """
    listed = pack.entries("clauses")
    if not listed:
        return
    mentions = list(_mentions(pack, ()))
    checking = {mention.clause for mention in mentions if mention.evidence.key != "notes"}
    ids = [clause["id"] for clause in listed if clause["id"]]
    for clause in listed:
        clause.require_all("by", rules, "a rule of the pack's checks")
        _check_account(clause, checking)
    for mention in mentions:
        if mention.clause not in (*ids, *OWN):
            similar_id = nearest_name(mention.clause, ids, cutoff=0.8)
            remedy = f"did you mean {similar_id}?" if similar_id else "add it to clauses"
            pack.problem(f"found {mention.clause}, which is not among the clauses; {remedy}", *mention.at)


def _check_account(clause: Values, checking: set[str]) -> None:
    """Check that a clause is accounted for in one way."""
    accounts = [key for key in UNCHECKED if clause[key]]
    if len(accounts) > 1 or (accounts and clause["by"]):
        keys = [*accounts, *["by"] * bool(clause["by"])]
        clause.problem(f"found {', '.join(keys)}; allowed: one of them", keys[1])
    elif not accounts and not clause["by"] and clause["id"] and clause["id"] not in checking:
        clause.problem(
            f"found {clause['id']}, which nothing in the pack checks; give this clause to the rule or the entry that "
            f"checks it, name rules under by, or add one of {', '.join(UNCHECKED)}",
            "id",
        )


def with_evidence(clauses: Sequence[Clause], pack: Values) -> Iterator[Clause]:
    """The clauses, each with what checks it."""
    mentions = [mention for mention in _mentions(pack, ()) if mention.evidence.key != "notes"]
    for clause in clauses:
        if clause.text:
            yield clause
            continue
        evidence = [CheckedBy("checks", rule) for rule in clause.by]
        evidence += [mention.evidence for mention in mentions if mention.clause == clause.id]
        yield replace(clause, evidence=tuple(dict.fromkeys(evidence)))


def _mentions(value: Any, at: Place) -> Iterator[_Mention]:
    """Every entry below a value that has a clause."""
    if at == ("checks",):
        for rule, check_values in value or ():
            clause = dict(check_values).get("clause") if isinstance(check_values, tuple) else check_values
            if clause:
                place = ("checks", rule, *["clause"] * isinstance(check_values, tuple))
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
