"""The search's second half: confirmation runs of the shortlist, in blocks, until they are distinguished. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from campaign.core.frozen import dataclass
from campaign.core.model import Geometry
from campaign.plan import messages
from campaign.plan.search.book import Book, estimates
from campaign.plan.search.nouns import CONFIRM, size
from campaign.statistics import intervals

SURE = 0.995  # one-sided: so sure that a point is below the margin before it is left out of further blocks


def confirm(book: Book, shortlist: Sequence[Geometry]) -> None:
    settings = book.settings
    live = list(shortlist)
    done, most = settings.least, settings.most
    if not live:
        return
    book.measure(CONFIRM, range(1, done + 1), live)
    repeated = False
    while True:
        live = _hopeful(book, live)
        if not live:
            return
        need = _blocks_needed(book, live, done)
        if need <= done or done >= most:
            if repeated or not _lower_than_explored(book):
                return
            # What was seen in the search is not seen again: as many fresh runs once more before it is believed.
            repeated = True
            need = done + settings.least
            most += settings.least
            book.remarks.append(messages.PEAK_NOT_REPRODUCED())
        upto = min(most, max(done + 1, min(need, done + max(1, done // 2))))
        book.measure(CONFIRM, range(done + 1, upto + 1), live)
        done = upto


@dataclass(frozen=True, slots=True)
class PairedDifference:
    """Log rate of a geometry less that of another, over the blocks that hold both: trimmed mean and standard error."""

    mean: float
    error: float
    blocks: int

    def bound(self, confidence: float) -> float:
        """How far the mean may be off on one side."""
        freedom = intervals.kept(self.blocks) - 1
        return intervals.t_quantile(confidence, freedom) * self.error if freedom > 0 else math.inf


Fresh = Mapping[Geometry, Mapping[int, float]]  # log rates of the fresh runs, by block


def compare(fresh: Fresh, geometry: Geometry, other: Geometry) -> PairedDifference:
    first, second = fresh[geometry], fresh[other]
    differences = [value - second[block] for block, value in first.items() if block in second]
    mean, error = intervals.trimmed(differences)
    return PairedDifference(mean, error, len(differences))


def peak_of(fresh: Fresh) -> Geometry:
    """The highest of those with the most runs: what was left out on the way was below it."""
    most = max(map(len, fresh.values()))
    whole = {geometry: values for geometry, values in fresh.items() if len(values) == most}
    level = {
        block: sum(values[block] for values in whole.values()) / len(whole) for block in next(iter(whole.values()))
    }
    means = {
        geometry: intervals.trimmed([value - level[block] for block, value in values.items()])[0]
        for geometry, values in whole.items()
    }
    return max(means, key=lambda geometry: (means[geometry], -geometry.processes, -geometry.nodes))


def _hopeful(book: Book, live: Sequence[Geometry]) -> list[Geometry]:
    """The counts that may still be within the margin."""
    fresh = book.fresh()
    alive = [geometry for geometry in live if geometry in fresh]
    if not alive:
        return []
    peak = peak_of(fresh)
    limit = math.log1p(-book.settings.margin)
    against = {geometry: compare(fresh, geometry, peak) for geometry in alive}
    return [tried for tried in alive if tried == peak or against[tried].mean + against[tried].bound(SURE) >= limit]


def _blocks_needed(book: Book, live: Sequence[Geometry], done: int) -> int:
    """How many blocks make each comparison as narrow as was asked, by what is known of the variation."""
    fresh = book.fresh()
    peak = peak_of(fresh)
    need = 0
    for geometry in live:
        if geometry == peak:
            continue
        against = compare(fresh, geometry, peak)
        # Of a larger count it is enough to know that it is not better by more than the margin.
        enough = book.settings.width
        if size(geometry) > size(peak):
            enough = max(enough, -math.log1p(-book.settings.margin) - against.mean)
        bound = against.bound(book.settings.confidence)
        need = max(need, math.ceil(against.blocks * (bound / enough) ** 2) if bound < math.inf else done)
    return need


def _lower_than_explored(book: Book) -> bool:
    """Whether the search saw a rate that the fresh runs do not come near, by more than its variation explains."""
    explored = estimates(book.explored())
    top = explored.top()
    fresh = book.fresh()
    values = fresh[peak_of(fresh)].values()
    best = sum(values) / len(values)
    noise = (explored.deviation or 0.0) / math.sqrt(explored.runs[top])
    return best < explored.effect[top] + math.log1p(-book.settings.margin) - 2 * noise
