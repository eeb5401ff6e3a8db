"""What the driver says while it plans, submits and follows a campaign."""

from __future__ import annotations

from campaign.core.messages import Message

# --- what was asked
NOTHING_CHOSEN = Message("no chosen cell has the status {statuses}", statuses="failed or invalid")

# --- under way
SEARCH_DECIDED = Message("search {cells}: {reason}", cells="scratch/peak/*/*", reason="16 processes reach the peak")
SEARCH_STUCK = Message(
    "search is stuck: {run} could not be executed; find the cause with 'campaign status' and run again",
    run="scratch.peak.unique.explore-2x4.1",
)
MORE_REPETITIONS = Message("adding {runs}: intervals are wider than repetitions.width", runs="4 runs")
SAME_CAUSE = Message(
    "the first two runs failed with the same cause: {cause}\ncancelling {jobs}; correct the cause and run again, or "
    "use --keep-going",
    cause="the benchmark ended with status 1",
    jobs="3 jobs",
)
NODE_HOURS_REACHED = Message(
    "not submitted: {jobs} ({runs}). --max-node-hours is {most:g}; {used:.3g} are used or in use, and the next job may "
    "use {next:.3g} more",
    jobs="2 jobs",
    runs="6 runs",
    most=10,
    used=8.2,
    next=4.1,
)
CANCEL_UNFINISHED = Message("the cancelled jobs have not ended yet; check with 'campaign status'")

# --- what is on record
SOURCE_READ_ONLY = Message("source not checked: no write permission in {directory}", directory="results/offer")
SOURCE_NOT_CHECKED = Message("source not checked: {why}", why="patch: not found")
SLURM_NOT_ASKED = Message("job states may be out of date: {why}", why="squeue: not found")
NOTHING_RUN_YET = Message(
    "campaign {name} has no results yet; start with 'campaign run {file}'", name="offer", file="my-rfp.yaml"
)
