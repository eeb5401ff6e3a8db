"""What a job wrote down of its surroundings, as the database keeps it."""

from __future__ import annotations

import json
from dataclasses import asdict, replace

from campaign.core.decode import decode
from campaign.results.environment.facts import Accounting, Environment, Evidence, Value
from campaign.results.environment.reading import ranges_of


def dump(environment: Environment) -> str:
    data = asdict(replace(environment, facts={}))
    data["facts"] = {
        name: [(_written(value.nodes), value.text) for value in values] for name, values in environment.facts.items()
    }
    return json.dumps(data, ensure_ascii=False)


def restore(text: str) -> Environment:
    """What `dump` wrote."""
    data = json.loads(text)
    facts, nodes = data.pop("facts"), len(data["nodes"])
    read = {name: tuple(Value(ranges_of(members, nodes), value) for members, value in facts[name]) for name in facts}
    return replace(decode(Environment, data), facts=read)


def _written(nodes: tuple[int, ...]) -> str:
    """0, 1, 2, 5 -> "0-2,5": what `ranges_of` reads."""
    parts: list[list[int]] = []
    for node in nodes:
        if parts and node == parts[-1][1] + 1:
            parts[-1][1] = node
        else:
            parts.append([node, node])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in parts)


def dump_rest(evidence: Evidence) -> str:
    """All of `evidence` but the environment and the accounting, which are a job's."""
    rest = asdict(replace(evidence, environment=Environment(), accounting=None))
    del rest["environment"], rest["accounting"]
    return json.dumps(rest)


def restore_rest(text: str, environment: Environment, accounting: Accounting | None) -> Evidence:
    return replace(decode(Evidence, json.loads(text)), environment=environment, accounting=accounting)
