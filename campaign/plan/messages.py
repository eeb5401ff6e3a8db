"""Texts about a plan: of its runs, and of how much of it is still to come."""

from __future__ import annotations

from campaign.core.messages import Message

# --- how much is to come
REMAINING_NONE = Message("remaining: nothing, all results are present")
REMAINING_UNKNOWN = Message("remaining: only runs that a search has not determined yet")
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
SEARCHES_VARY = Message("unfinished searches, whose number of runs is unknown: {searches}", searches=2)
SEARCH_BUDGET = Message("searches end after {node_h} more node-hours", node_h="12")
MORE_REPETITIONS = Message("up to {repetitions} if intervals are wide", repetitions="48 more repetitions")
UNRESOLVED = Message("unresolved runs not included")

# --- runs
TOTAL_NOT_DIVISIBLE = Message(
    "{processes} processes cannot split {total} {items} evenly, as clause {clause} requires; choose a divisor "
    "of {total}",
    processes=7,
    total=1048576,
    items="files",
    clause="8.4",
)
TOTAL_ROUNDED_UP = Message(
    "{asked} {items} are not divisible by {processes} processes: rounded up to {each} each, {total} in total",
    asked=16384,
    items="files",
    processes=7,
    each=2341,
    total=16387,
)
VARIABLES_SET = Message("the campaign file sets {variables}", variables="OMP_NUM_THREADS=1")
LAUNCHED_BY = Message("launched by {how}, as set in the campaign file", how="mpirun ... numactl --interleave=all")
OWN_TEMPLATE = Message("custom job template: {template}", template="job.j2")
PLACE_UNKNOWN = Message(
    "rule pack {pack}: arguments: unknown placeholder {place}; allowed: {allowed}",
    pack="site-mdtest",
    place="{proceses}",
    allowed="{processes}, {nodes}",
)

# --- what -N means to an external mdtest
PRINTED = Message("it printed {line!r}", line="mdtest: error while loading shared libraries")
PRINTED_NOTHING = Message("it printed nothing")
DIALECT_UNKNOWN = Message(
    "{path}: cannot determine whether -N counts ranks or nodes (in a test "
    "run {seen}, and the file contains no text of mdtest); set benchmark.dialect to {ranks} "
    "(mdtest up to 1.9.3, IOR up to 3.2) or {nodes} (IOR 3.3.0 and later)",
    path="/home/me/mdtest",
    seen="it printed nothing",
    ranks="rank-offset",
    nodes="node-offset",
)
OFFSET_IN_NODES = Message(
    "-N 1 instead of -N {ranks}: this mdtest counts -N in nodes of {ranks} processes; -N {ranks} would shift by "
    "{wrong} ranks, -N 1 shifts by {right}, one node",
    ranks=4,
    wrong=0,
    right=4,
)

# --- searches
SEARCH_NEEDS_NODES = Message(
    "the search needs {fewest} nodes or more ({asked}); the partition has {usable} usable",
    fewest=2,
    asked="the fewest processes on several nodes that reach the peak",
    usable=1,
)
SEARCH_EMPTY = Message(
    "the limits of the search allow no process count; widen search.nodes or search.processes_per_node"
)
FOUND_BY_SEARCH = Message("tuned: {reason}", reason="16 processes on 2 nodes: best rate.")
NO_RATE = Message("no run gave a result")
BUDGET_BEFORE_CONFIRMATION = Message("the budget was used up before confirmation runs")
NO_COUNT = Message("No process count found: {why}.", why="no run gave a result")
UNCONFIRMED = Message(
    "{count}: best rate so far, unconfirmed ({why}).",
    count="16 processes on 2 nodes",
    why="the budget was used up before confirmation runs",
)
FEWEST_SHOWN = Message(
    "{count}: smallest count shown to be within {margin} of the peak: {ratio:.1f}% of its rate, at least {low:.1f}% "
    "({confidence:g}% confidence, {runs} confirmation runs)",
    count="16 processes on 2 nodes",
    margin="5%",
    ratio=98.1,
    low=96.0,
    confidence=98,
    runs=12,
)
MOST_LIKELY = Message(
    "{count}: most likely to be within {margin} of the peak: {ratio:.1f}% of its rate, but only {low:.1f}% at "
    "{confidence:g}% confidence ({runs} confirmation runs)",
    count="16 processes on 2 nodes",
    margin="5%",
    ratio=98.1,
    low=93.0,
    confidence=98,
    runs=12,
)
RESOLVED = Message(
    "; no count below {fewest} is ({confidence:g}% confidence)", fewest="16 processes on 2 nodes", confidence=98
)
NOT_RESOLVED = Message(
    "; the minimum is not resolved: it is {fewest} or more ({confidence:g}% confidence), and {counts} counts cannot be "
    "told apart without about {runs} more runs",
    fewest="12 processes on 2 nodes",
    confidence=98,
    counts=4,
    runs=120,
)
NOT_RESOLVABLE = Message(
    "; the minimum is not resolved: it is {fewest} or more ({confidence:g}% confidence), and {counts} counts cannot be "
    "told apart, perhaps not even with {runs} more runs",
    fewest="12 processes on 2 nodes",
    confidence=98,
    counts=4,
    runs=1000,
)
NOT_SHOWN = Message("; about {runs} more runs are needed to show it", runs=120)
STOPPED_BY_BUDGET = Message("; stopped by the budget: best answer so far")
LARGEST_MEASURED = Message(
    "{count} is the largest count measured; a larger one may be faster", count="32 processes on 4 nodes"
)
SMALLEST_MEASURED = Message("{count} is the smallest count measured; a smaller one may be faster", count="2 processes")
COUNT_EXCLUDED = Message("{count}: excluded, since a run failed", count="8 processes on 2 nodes")
DRIFTED = Message(
    "rates changed by {change:+.0%} in the course of the search (first third of the runs to the last, p-value "
    "{p_value:.2g}); a change that is the same for all counts does not affect the choice, but if it was larger for "
    "some counts, another count may be the minimum before or after it",
    change=-0.18,
    p_value=0.0004,
)
TWO_GROUPS = Message(
    "rates came in two groups: {share:.0%} of the runs were about {slower:.0%} slower than the others, for example by "
    "other load; the rarer group has less weight in the choice, and if it affected some counts more than others, "
    "another count may be the minimum in it",
    share=0.2,
    slower=0.3,
)
