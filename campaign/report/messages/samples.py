"""`campaign rules --test`: what a pack reads from sample outputs."""

from __future__ import annotations

from campaign.core.messages import Message

NO_SAMPLES = Message("--test {pack}: no LOG; expected one or more outputs of {applet}", pack="osu", applet="osu_bw")
COMPLETE = Message("complete")
INCOMPLETE = Message("not complete: its numbers are not used")
COUNTS = Message(
    "{records} numbers, {errors} errors, {warnings} warnings, {unread} unrecognised lines",
    records=4, errors=0, warnings=1, unread=0,
)  # fmt: skip
RECORDS_NOT_FOUND = Message("in the pack's table, but not in these outputs: {names}", names="copy, triad")
COMPUTED = Message("computed by the pack's formulas:")
