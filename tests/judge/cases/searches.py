"""Cases of the rules over how a count was found."""

from __future__ import annotations

from dataclasses import replace

from campaign.config.search import Searched
from campaign.core.findings import Severity
from campaign.core.runs import Geometry, Status
from campaign.judge.submission import Submission
from campaign.plan.adaptive import Search, SearchProgress
from campaign.plan.search.records import Candidate, CountChoice, Drift, Settings, SlowRuns
from campaign.plan.search.space import SearchSpace
from tests.judge.cases import Example, broken, compliant, disclosed, unchecked
from tests.judge.cases.submissions import good_submission

KEY = "scratch/node/unique/*"
SOUGHT = Search(
    *("scratch", "node", ("unique",), "create", ("create", "stat", "remove")),
    space=SearchSpace(fewest_nodes=1, most_nodes=1, most_per_node=8),
    settings=Settings("seed"),
)
CANDIDATES = tuple(Candidate(Geometry(1, count), 6, 6, rate) for count, rate in ((2, 9.0), (4, 10.0), (8, 9.0)))
FOUND = CountChoice(Geometry(1, 2), Geometry(1, 4), True, True, "2 processes reach the peak of 4", CANDIDATES)

OPEN = replace(FOUND, resolved=False, possible_counts=(Geometry(1, 1), Geometry(1, 2)), further=40)
LOWEST = replace(
    FOUND, geometry=Geometry(1, 1), peak=Geometry(1, 1), candidates=(Candidate(Geometry(1, 1), 6, 6, 11.0), *CANDIDATES)
)


def searched(decision: CountChoice | None, **changes: object) -> Submission:
    """A campaign with one search that has come so far."""
    standing = SearchProgress(SOUGHT, (), (), {}, decision)
    submission = good_submission()
    campaign = replace(
        submission.campaign, launch={**submission.campaign.launch, "node": Searched(), "peak": Searched()}
    )
    return replace(submission, campaign=campaign, searches=(replace(standing, **changes),))  # type: ignore[arg-type]


def of_the_search() -> Submission:
    submission = good_submission()
    return replace(submission, searches=(SearchProgress(SOUGHT, submission.runs[:1], (), {}, FOUND),))


def with_both_rules() -> Submission:
    submission = good_submission()
    return replace(submission, pack=replace(submission.pack, checks={"SEL-01": "1", "SEL-02": "1"}))


def declined(submission: Submission) -> Submission:
    """With all results declined."""
    return replace(submission, rows=tuple(replace(row, status=Status.DECLINED, note="no") for row in submission.rows))


ALWAYS_CHECKED = {"SEL-03"}  # the table and the searches' runs are there

EXAMPLES: list[Example] = [
    broken(
        "SEL-01",
        "the best rate is at the edge of the measured range; a better one may lie beyond",
        searched(replace(FOUND, peak=Geometry(1, 8))),
        "measured counts on both sides",
        "8 processes; measured: 2 to 8",
        KEY,
        Severity.WARNING,
    ),
    compliant("SEL-01", "the peak between slower counts", searched(FOUND)),
    compliant("SEL-01", "one process is the peak, and nothing is below", searched(LOWEST)),
    unchecked("SEL-01", "no decision yet", searched(None)),
    compliant("SEL-01", "a count that was given, as SEL-02 says", with_both_rules()),
    unchecked("SEL-01", "a count that was given, in a pack without SEL-02", good_submission()),
    compliant("SEL-01", "no decision on results that are all declined", declined(searched(None))),
    broken(
        "SEL-02",
        "the budget is spent",
        searched(replace(FOUND, confirmed=False, reason="the budget is spent")),
        "confirmation runs that reach the peak",
        "none",
        KEY,
    ),
    disclosed(
        "SEL-02",
        "the count is within the margin of the peak, but smaller ones may be too",
        searched(OPEN),
        "smaller counts shown to be outside the margin",
        "2 counts from 1 to 2 processes cannot be told apart without about 40 more runs",
        KEY,
    ),
    broken(
        "SEL-02",
        "the count is within the margin of the peak, but smaller ones may be too",
        searched(OPEN, search=replace(SOUGHT, space=replace(SOUGHT.space, most_nodes=4))),
        "smaller counts shown to be outside the margin",
        "2 counts from 1 to 2 processes cannot be told apart without about 40 more runs",
        KEY,
        Severity.WARNING,
    ),
    broken(
        "SEL-02",
        "no count was shown to be within the margin of the peak; the most likely one is reported",
        searched(replace(OPEN, is_shown=False)),
        "a count shown to be within 5% of the peak",
        "2 counts from 1 to 2 processes cannot be told apart without about 40 more runs",
        KEY,
        Severity.WARNING,
    ),
    compliant(
        "SEL-02", "the minimum is resolved", searched(replace(FOUND, resolved=True, possible_counts=(Geometry(1, 2),)))
    ),
    broken(
        "SEL-02",
        "the best answer so far",
        searched(replace(FOUND, complete=False, reason="the best answer so far")),
        "a complete search",
        "stopped by the budget",
        KEY,
        Severity.WARNING,
    ),
    compliant("SEL-02", "fresh runs that confirm", searched(FOUND)),
    unchecked("SEL-02", "no decision yet", searched(None)),
    unchecked("SEL-02", "a count that was given", good_submission()),
    compliant("SEL-02", "a count that was given for results that are all declined", declined(good_submission())),
    compliant("SEL-02", "no decision on results that are all declined", declined(searched(None))),
    disclosed(
        "SEL-02",
        "rates changed during the search; if they did not change equally for all counts, the choice may be wrong",
        searched(replace(FOUND, drift=Drift(0.001, -0.18))),
        "a trend in time with a p-value of 0.005 or more",
        "-18% from the first third of the runs to the last, p-value 0.001",
        KEY,
    ),
    compliant("SEL-02", "a trend that chance explains", searched(replace(FOUND, drift=Drift(0.01, -0.02)))),
    disclosed(
        "SEL-02",
        "rates form two groups, for example because of other load; the choice holds for the larger group; whether it "
        "holds for the other one is not known",
        searched(replace(FOUND, slow_runs=SlowRuns(0.2, 0.3))),
        "the runs of a count vary about one rate",
        "20% of the runs about 30% slower than the others",
        KEY,
    ),
    broken(
        "SEL-03",
        "the reported run is a tuning run, not a confirmation run",
        of_the_search(),
        "a confirmation run",
        "scratch.single.shared.r1",
        "scratch/single/shared/create",
    ),
    compliant("SEL-03", "fresh runs in the table", searched(FOUND)),
]
