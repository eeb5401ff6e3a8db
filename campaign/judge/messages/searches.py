"""Findings about how the process counts of a launch condition were found."""

from campaign.core.messages import Message

AT_EDGE = Message("the best rate is at the edge of the measured range; a better one may lie beyond")
BOTH_SIDES = Message("measured counts on both sides")
PEAK_AT = Message("{peak} processes; measured: {low} to {high}", peak=64, low=8, high=64)
CONFIRMATION_RUNS = Message("confirmation runs that reach the peak")
COMPLETE_TUNING = Message("a complete search")
CUT_SHORT = Message("stopped by the budget")
NOT_SHOWN = Message("no count was shown to be within the margin of the peak; the most likely one is reported")
SHOWN = Message("a count shown to be within {margin:.0%} of the peak", margin=0.05)
NOT_RESOLVED = Message("the count is within the margin of the peak, but smaller ones may be too")
ONE_COUNT = Message("smaller counts shown to be outside the margin")
NOT_APART = Message(
    "{counts} counts from {low} to {high} processes cannot be told apart without about {further} more runs",
    counts=9,
    low=16,
    high=48,
    further=240,
)
DRIFTED = Message(
    "rates changed in the course of the search; that does not affect the choice if all counts changed alike, "
    "which is not known"
)
DRIFT_LIMIT = Message("a trend in time with a p-value of {limit} or more", limit=0.005)
DRIFT_FOUND = Message(
    "{change:+.0%} from the first third of the runs to the last, p-value {p_value:.2g}", change=-0.18, p_value=0.0004
)
TWO_GROUPS = Message(
    "rates came in two groups, for example by other load; the choice holds for the more frequent group, and for the "
    "other one if it affects all counts alike, which is not known"
)
ONE_GROUP = Message("the runs of a count vary about one rate")
GROUPS_FOUND = Message("{share:.0%} of the runs about {slower:.0%} slower than the others", share=0.2, slower=0.3)
TUNING_RUN = Message("the reported run is a tuning run, not a confirmation run")
CONFIRMATION_RUN = Message("a confirmation run")
NOT_TUNED = Message(
    "the campaign file gives the process count; no runs with other counts show that it is the right one"
)
UNFINISHED = Message("tuning has not finished")
