"""What a job wrote down of its surroundings, as the database keeps it."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from typing import Any

from campaign.core.model import Completion
from campaign.results.environment.facts import Accounting, Environment, Evidence, Node, Space, Value
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
    nodes = tuple(Node(**node) for node in data["nodes"])
    return Environment(
        **{key: tuple(value) if isinstance(value, list) else value for key, value in data.items()}
        | {
            "nodes": nodes,
            "facts": {
                name: tuple(Value(ranges_of(members, len(nodes)), text) for members, text in values)
                for name, values in data["facts"].items()
            },
            "space": _space(data["space"]),
        }
    )


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
    kept = ("made", "before", "after", "completion", "placement")
    return json.dumps(
        {key: value for key, value in asdict(replace(evidence, environment=Environment())).items() if key in kept}
    )


def restore_rest(text: str, environment: Environment, accounting: Accounting | None) -> Evidence:
    data = json.loads(text)
    completion = Completion(**data["completion"]) if data["completion"] else None
    before, after = _space(data["before"]), _space(data["after"])
    return Evidence(environment, data["made"], before, after, completion, accounting, tuple(data["placement"]))


def dump_accounting(accounting: Accounting) -> str:
    return json.dumps(asdict(accounting))


def restore_accounting(text: str) -> Accounting:
    """What `dump_accounting` wrote."""
    data = json.loads(text)
    return Accounting(**{**data, "steps": tuple(data["steps"]), "problems": tuple(data["problems"])})


def _space(data: dict[str, Any] | None) -> Space | None:
    return Space(**data) if data else None
