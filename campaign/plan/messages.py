"""What is said of a plan: of its runs, and of how much of it is still to come."""

from __future__ import annotations

from campaign.core.messages import Message

# --- how much is to come
REMAINING_NONE = Message("remaining: nothing, all results are present")
REMAINING_UNKNOWN = Message("remaining: only runs that are not determined yet")
REMAINING = Message(
    "remaining: {jobs}, {runs}, about {node_h:.1f} node-hours and {time} (estimated from finished runs{guesses})",
    jobs="2 jobs",
    runs="6 runs",
    node_h=1.5,
    time="32m",
    guesses="",
)
REMAINING_AT_MOST = Message(
    "remaining: {jobs}, {runs}, at most {node_h:.1f} node-hours and {time} (upper bound from slurm.time; nothing has "
    "run yet{guesses})",
    jobs="4 jobs",
    runs="12 runs",
    node_h=24,
    time="6h",
    guesses="",
)
SEARCHES_VARY = Message("searches that may need more or fewer runs: {searches}", searches=2)
SEARCH_BUDGET = Message("searches end after {node_h:.2g} more node-hours", node_h=12.0)
MORE_REPETITIONS = Message("up to {repetitions} if intervals are wide", repetitions="48 more repetitions")
UNRESOLVED = Message("unresolved runs not included")
