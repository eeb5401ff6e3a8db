"""What a job wrote down of its surroundings, as the database keeps it."""

from __future__ import annotations

import functools
import json
from dataclasses import fields, replace

from campaign.core.decode import decode, dumps
from campaign.results.environment.facts import Accounting, Environment, Evidence, Facts, Value
from campaign.results.environment.reading import ranges_of
from campaign.results.environment.witness import Witness


def dump(environment: Environment) -> str:
    # A text by itself: jobs on the same nodes say the same, which is then read once.
    kept = {field.name: getattr(environment, field.name) for field in fields(Environment)}
    return dumps(kept | {"facts": environment.facts.written})


def restore(text: str) -> Environment:
    """What `dump` wrote."""
    data = json.loads(text)
    facts = data.pop("facts")
    text = facts if isinstance(facts, str) else json.dumps(facts)  # as versions up to 0.2.0 kept them
    return replace(decode(Environment, data), facts=_facts(text, len(data["nodes"])))


@functools.lru_cache(maxsize=256)
def _facts(text: str, nodes: int) -> Facts:
    facts = json.loads(text)
    return Facts(
        {name: tuple(Value(ranges_of(members, nodes), value) for members, value in facts[name]) for name in facts}
    )


def dump_rest(evidence: Evidence) -> str:
    """All of `evidence` but the environment and the accounting, which are a job's."""
    of_job = ("environment", "accounting")
    return dumps({field.name: getattr(evidence, field.name) for field in fields(Evidence) if field.name not in of_job})


def restore_rest(text: str, environment: Environment, accounting: Accounting | None) -> Evidence:
    data = json.loads(text)
    witness = data.pop("witness", {})
    ranks = witness.pop("ranks", {})
    seen = _witness(json.dumps(witness))
    return replace(
        decode(Evidence, data),
        environment=environment,
        accounting=accounting,
        witness=replace(seen, ranks=decode(Witness, {"ranks": ranks}).ranks) if ranks else seen,
    )


@functools.lru_cache(maxsize=256)
def _witness(text: str) -> Witness:
    """Without its ranks: most runs of a campaign load the same files."""
    return decode(Witness, json.loads(text))
