"""Findings about sizes and counts that a pack requires of what was run."""

from campaign.core.messages import Message

NOT_HELD = Message(
    "not as clause {clause} requires: {condition}, with {values}",
    clause="4.2", condition="write: moved >= 1.5 * memory * nodes", values="moved 16384, memory 24e9, nodes 2",
)  # fmt: skip
UNKNOWN = Message("{condition}: {names} not on record", condition="moved >= 2 * memory", names="memory")
