"""Finds the number of processes that a launch condition asks for: what to measure next, and the decision. Pure.

The procedure is written as if every measurement were at hand, and replayed from its beginning over the points that are:
where one is missing, the replay ends with what to measure next. So it depends on nothing but the points, and goes on
after any interruption as if there had been none.

Procedure 2 (adaptive, on a model of the curve) is that of new campaigns. Campaigns that began with procedure 1 keep to
it, so that their records give the same decision again:

1. A grid, log-spaced over nodes and processes per node, in randomised blocks; what is far below the top is left.
2. Midpoints around the top, and around the fewest processes that may still be within the margin of it.
3. The shortlist of what may be the answer, measured afresh in randomised blocks until comparisons are narrow enough.
4. From the count with the highest rate downwards, each is compared with it on those fresh runs alone: one-sided
   non-inferiority of the log rates within the margin. The walk ends at the first that is not shown, which keeps the
   error of the whole walk at that of one comparison; the answer is the last that is.

Rates are compared as logarithms, within blocks, so that a drift of the system cancels.
"""

from __future__ import annotations

from campaign.plan.search import adaptive
from campaign.plan.search.book import Book, Missing, Spent
from campaign.plan.search.confirm import confirm
from campaign.plan.search.decide import decide
from campaign.plan.search.explore import explore, shortlist
from campaign.plan.search.nouns import Decision, Measured, Next, SearchSpace, Settings


def step(space: SearchSpace, settings: Settings, measured: Measured) -> Next | Decision:
    """What to measure next, or the decision. Asks for nothing outside of `space`, and nothing twice.

    Raises ValueError where the space is empty.
    """
    book = Book(space, settings, measured)
    complete = True
    try:
        if settings.procedure == 1:
            explore(book)
            confirm(book, shortlist(book))
        else:
            adaptive.measure(book)
    except Spent:
        complete = False
    except Missing as missing:
        return Next(missing.requests)
    return decide(book, complete)
