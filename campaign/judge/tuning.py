"""The rules about how the counts of a launch condition were determined (SEL). Pure."""

from __future__ import annotations

from collections.abc import Iterator

from campaign.core.findings import Finding
from campaign.core.runs import Geometry, Status, matches
from campaign.judge.findings import note, to_explain, to_explain_at_full_size, unchecked, violation
from campaign.judge.rule import campaign_rule
from campaign.judge.submission import Submission
from campaign.plan.adaptive import SearchProgress
from campaign.plan.search.records import DRIFT, CountChoice
from campaign.results.cells import patterns

# --- how the counts of a launch condition were determined


@campaign_rule(
    "SEL-01",
    "the best process count has measured neighbours on both sides",
    why="at the edge of the measured range a better process count may lie just beyond it",
    remedy="widen the range under search, and run again: campaign run FILE",
)
def check_neighbours(submission: Submission) -> Iterator[Finding]:
    """The counts around each search's peak; a peak at the end of the range: W. Not checked: the search has not
    finished, or the count was specified.
    """
    if "SEL-02" not in submission.pack.checks:
        yield from _untuned_counts(submission)
    for progress in _judged_searches(submission):
        choice = progress.choice
        if choice is None or choice.peak is None:
            yield _unfinished_search(progress.search.key)
            continue
        measured = [candidate.geometry.processes for candidate in choice.candidates if candidate.rate]
        lowest = (
            min(measured) if min(measured) > progress.search.space.fewest_nodes else 0
        )  # nothing is below one process
        if not lowest < choice.peak.processes < max(measured):
            yield to_explain(
                "the best rate is at the edge of the measured range; a better one may lie beyond",
                "measured counts on both sides",
                f"{choice.peak.processes} processes; measured: {min(measured)} to {max(measured)}",
                about=progress.search.key,
            )


@campaign_rule(
    "SEL-02",
    "the reported process count was tuned and confirmed by confirmation runs",
    why="a process count that was best once may have been best by chance",
    remedy="set the launch condition to search, or raise its budget, and run again: campaign run FILE",
)
def check_confirmation(submission: Submission) -> Iterator[Finding]:
    """The count's confirmation runs. W: the budget ended the search, the count was not shown to be within the margin,
    or on several nodes not to be the smallest (on one node, and in a rehearsal, noted). Drift is noted.

    On several nodes the minimum is required; on one node the optimum, for which any count within the margin is
    accepted.
    """
    yield from _untuned_counts(submission)
    for progress in _judged_searches(submission):
        choice, key = progress.choice, progress.search.key
        if choice is None or choice.geometry is None:
            yield _unfinished_search(key)
        elif not choice.confirmed:
            yield violation(choice.reason.removesuffix("."), "confirmation runs that reach the peak", "none", about=key)
        elif not choice.complete:
            yield to_explain(choice.reason.removesuffix("."), "a complete search", "stopped by the budget", about=key)
        elif not choice.is_shown:
            yield to_explain_at_full_size(submission.full)(
                "no count was shown to be within the margin of the peak; the most likely one is reported",
                f"a count shown to be within {progress.search.settings.margin:.0%} of the peak",
                _similar_counts(choice),
                about=key,
            )
        elif choice.resolved is False:
            form = to_explain_at_full_size(submission.full) if progress.search.space.most_nodes > 1 else note
            yield form(
                "the count is within the margin of the peak, but smaller ones may be too",
                "smaller counts shown to be outside the margin",
                _similar_counts(choice),
                about=key,
                remedy="raise the budget under search, and run again: campaign run FILE",
            )
        if choice is not None:
            yield from _note_unsteady_rates(choice, key)


def _note_unsteady_rates(choice: CountChoice, key: str) -> Iterator[Finding]:
    """Signs that the system was not steady during the runs."""
    if (drift := choice.drift) and drift.is_significant:
        yield note(
            "rates changed during the search; if they did not change equally for all counts, the choice may be wrong",
            f"a trend in time with a p-value of {DRIFT} or more",
            f"{drift.change:+.0%} from the first third of the runs to the last, p-value {drift.p_value:.2g}",
            about=key,
        )
    if slow := choice.slow_runs:
        yield note(
            "rates form two groups, for example because of other load; the choice holds for the larger group; whether "
            "it holds for the other one is not known",
            "the runs of a count vary about one rate",
            f"{slow.share:.0%} of the runs about {slow.slower:.0%} slower than the others",
            about=key,
        )


def _similar_counts(choice: CountChoice) -> str:
    counts = choice.possible_counts
    return (
        f"{len(counts)} counts from {counts[0].processes} to {counts[-1].processes} processes cannot be told apart "
        f"without about {choice.further} more runs"
    )


@campaign_rule(
    "SEL-03",
    "reported runs are separate from tuning runs",
    why="the best of many tuning runs is, by chance, higher than a typical run",
    remedy="report a confirmation run in place of the tuning run",
)
def check_separate_runs(submission: Submission) -> Iterator[Finding]:
    """The runs of the table compared with those of the searches."""
    searched = {run.id for progress in submission.searches for run in progress.runs}
    for row in submission.rows:
        if row.run and row.run.id in searched:
            yield violation(
                "the reported run is a tuning run, not a confirmation run",
                "a confirmation run",
                row.run.id,
                about=row.cell,
            )


def _untuned_counts(submission: Submission) -> Iterator[Finding]:
    """A count given in the file was not searched for; a count that the RFP fixes needs no search."""
    for condition in submission.pack.launch:
        fixed = condition.processes is not None or condition.by_partition
        if fixed or not isinstance(submission.campaign.launch.get(condition.id), Geometry):
            continue
        of_launch = [row for row in submission.rows if row.cell.launch == condition.id]
        required_cells = [row.cell for row in of_launch if row.status is not Status.DECLINED]
        for pattern in (
            [f"*/{condition.id}/*/*"]
            if len(required_cells) == len(of_launch)
            else patterns(required_cells, submission.cells)
        ):
            yield unchecked(
                "the process count is given, not tuned: no run shows that other counts are worse",
                about=pattern,
                remedy="set the launch condition to search, or explain the count",
            )


def _judged_searches(submission: Submission) -> Iterator[SearchProgress]:
    """The searches without those whose results are all declined."""
    for progress in submission.searches:
        if {row.status for row in submission.rows if matches(row.cell, progress.search.key)} != {Status.DECLINED}:
            yield progress


def _unfinished_search(key: str) -> Finding:
    return unchecked("tuning has not finished", about=key, remedy="continue the tuning: campaign run FILE")
