"""What a job wrote down of its surroundings, as the database keeps it."""

from __future__ import annotations

import functools
import json
from dataclasses import replace

from campaign.core.decode import decode, dumps, told
from campaign.results.environment.facts import NOTHING, Accounting, Environment, Evidence, Facts, Value
from campaign.results.environment.reading import ranges_of
from campaign.results.environment.witness import Witness


def dump(environment: Environment) -> str:
    # A text by itself: jobs on the same nodes say the same, which is then read once.
    return dumps(told(environment) | {"facts": environment.facts.written})


def restore(text: str) -> Environment:
    """What `dump` wrote."""
    data = json.loads(text)
    facts = data.pop("facts")
    text = facts if isinstance(facts, str) else json.dumps(facts)  # as versions up to 0.2.0 kept them
    return replace(decode(Environment, data), facts=_facts(text, len(data.get("nodes", ()))))


@functools.lru_cache(maxsize=256)
def _facts(text: str, nodes: int) -> Facts:
    facts = json.loads(text)
    return Facts(
        {name: tuple(Value(ranges_of(members, nodes), value) for members, value in facts[name]) for name in facts}
    )


def dump_rest(evidence: Evidence) -> str:
    """All of `evidence` but the environment and the accounting, which are a job's."""
    witness = evidence.witness
    # A text by itself: most runs of a campaign load the same files.
    apart = {"witness": dumps(replace(witness, ranks={})), "ranks": witness.ranks}
    return dumps(told(replace(evidence, environment=NOTHING.environment, accounting=None)) | apart)


def restore_rest(text: str, environment: Environment, accounting: Accounting | None) -> Evidence:
    data = json.loads(text)
    witness, ranks = data.pop("witness", "{}"), data.pop("ranks", {})
    if not isinstance(witness, str):  # as earlier versions kept it
        ranks = witness.pop("ranks", {})
        witness = json.dumps(witness)
    seen = _witness(witness)
    return replace(
        decode(Evidence, data),
        environment=environment,
        accounting=accounting,
        witness=replace(seen, ranks=decode(Witness, {"ranks": ranks}).ranks) if ranks else seen,
    )


@functools.lru_cache(maxsize=256)
def _witness(text: str) -> Witness:
    """Without its ranks."""
    return decode(Witness, json.loads(text))
