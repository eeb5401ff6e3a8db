"""Findings about sizes and counts that a pack requires of what was run."""

from campaign.core.messages import Message

NOT_HELD = Message(
    "clause {clause} requires {condition}; found {values}",
    clause="4.2", condition="write: moved >= 1.5 * memory * nodes", values="moved 16384, memory 24e9, nodes 2",
)  # fmt: skip
UNKNOWN = Message("{condition}: {names} not recorded", condition="moved >= 2 * memory", names="memory")
