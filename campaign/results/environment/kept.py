"""The environment of jobs in the form in which the database stores it."""

from __future__ import annotations

import functools
import json
from dataclasses import replace

from campaign.core.decode import decode, dumps, told
from campaign.results.environment.facts import Accounting, Environment, Evidence, Facts, Value
from campaign.results.environment.reading import ranges_of
from campaign.results.environment.witness import Witness


def dump(environment: Environment) -> tuple[str, str]:
    """As texts, with its facts separate: jobs on the same nodes have the same facts, which are then parsed once."""
    own = told(environment)
    own.pop("facts", None)
    return dumps(own), environment.facts.written


def restore(text: str, facts: str) -> Environment:
    """The inverse of `dump`."""
    data = json.loads(text)
    return replace(decode(Environment, data), facts=_facts(facts, len(data.get("nodes", ()))))


@functools.lru_cache(maxsize=256)
def _facts(text: str, nodes: int) -> Facts:
    facts = json.loads(text)
    return Facts(
        {name: tuple(Value(ranges_of(members, nodes), value) for members, value in facts[name]) for name in facts}
    )


def dump_rest(evidence: Evidence) -> tuple[str, str]:
    """All but the environment and the accounting, which are a job's. The witness apart, but for its ranks: most runs of
    a campaign load the same files.
    """
    own, witness = told(evidence), evidence.witness
    for name in ("environment", "accounting", "witness"):
        own.pop(name, None)
    return dumps(own | {"ranks": witness.ranks}), dumps(replace(witness, ranks={}))


def restore_rest(text: str, witness: str, environment: Environment, accounting: Accounting | None) -> Evidence:
    data = json.loads(text)
    ranks = data.pop("ranks", {})
    return replace(
        decode(Evidence, data),
        environment=environment,
        accounting=accounting,
        witness=_witness(witness, tuple(ranks.items())),
    )


@functools.lru_cache(maxsize=1024)
def _witness(text: str, ranks: tuple[tuple[str, str], ...] = ()) -> Witness:
    """Runs on the same nodes have the same ranks, which are then kept once, and judged once."""
    if not ranks:
        return decode(Witness, json.loads(text))
    # What the ranks executed is apart from where they were, and the same in more runs.
    return replace(_witness(text), ranks=decode(Witness, {"ranks": dict(ranks)}).ranks)
