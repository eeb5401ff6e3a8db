"""Trees of what is written in several YAML files, joined into one: each part keeps its file and its line. Pure.

Mappings are joined key by key, lists of entries with names by these names; any other value replaces the lower one.
"""

from __future__ import annotations

from collections.abc import Sequence as Names
from dataclasses import replace

from campaign.core.strict_yaml import Mapping, Scalar, Sequence, YamlNode

Keys = dict[
    str, tuple[Scalar, YamlNode]
]  # the keys of a mapping, or the names of a list's entries, each with its value


def pairs_by_key(node: YamlNode) -> Keys:
    """The key and the value of each entry of a mapping, by the key's text; empty for other nodes."""
    pairs = node.pairs if isinstance(node, Mapping) else ()
    return {key.text: (key, value) for key, value in pairs if isinstance(key, Scalar)}


def nested_pairs(keys: Keys, name: str) -> Keys:
    return pairs_by_key(keys[name][1]) if name in keys else {}


def entries_by_name(node: YamlNode, naming: Names[str]) -> Keys:
    """The entries of a list by their names, if all have one of their own: the value of the first of the keys `naming`
    that an entry has. Empty for other nodes.
    """
    items = node.items if isinstance(node, Sequence) else ()
    keys = [pairs_by_key(item) for item in items]
    names = [next((pairs[key][1] for key in naming if key in pairs), None) for pairs in keys]
    entries = {name.text: (name, item) for name, item in zip(names, items, strict=True) if isinstance(name, Scalar)}
    return entries if len(entries) == len(items) else {}


def with_pairs(node: YamlNode, keys: Keys) -> YamlNode:
    """The mapping, or the list of entries with names, with these in place of its own."""
    if isinstance(node, Mapping):
        return replace(node, pairs=tuple(keys.values()))
    return replace(node, items=tuple(value for _, value in keys.values())) if isinstance(node, Sequence) else node


def join(lower: Keys, upper: Keys, naming: Names[str] = ()) -> Keys:
    """`lower` with what `upper` says in place of it, or besides. `naming`: the keys that name an entry of a list."""
    keys = dict(lower)
    for name, (key, node) in upper.items():
        lower_node = lower[name][1] if name in lower else None
        if isinstance(lower_node, Mapping) and isinstance(node, Mapping):
            node = with_pairs(node, join(pairs_by_key(lower_node), pairs_by_key(node), naming))
        elif (
            lower_node
            and (entries := entries_by_name(node, naming))
            and (lower_entries := entries_by_name(lower_node, naming))
        ):
            node = with_pairs(node, join(lower_entries, entries, naming))
        keys[name] = key, node
    return keys


def without_place(node: YamlNode, place: str, naming: Names[str]) -> YamlNode | None:
    """The tree without a place in it, as `launch/tenth/nodes`; None if it has none of that name."""
    keys = pairs_by_key(node) or entries_by_name(node, naming)
    for name, (key, inner) in keys.items():
        if place == name:
            return with_pairs(node, {key_text: pair for key_text, pair in keys.items() if key_text != name})
        if place.startswith(f"{name}/") and (remainder := without_place(inner, place[len(name) + 1 :], naming)):
            return with_pairs(node, {**keys, name: (key, remainder)})
    return None
