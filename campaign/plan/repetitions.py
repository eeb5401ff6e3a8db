"""How many repetitions a run needs until the interval of its median is narrow enough. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from campaign.config.format import Campaign, Sequential
from campaign.config.rules.pack import RulePack
from campaign.core.grouping import grouped
from campaign.core.model import Run
from campaign.plan.searches import OWN_ENDS
from campaign.results.case import Case, deciding
from campaign.statistics import intervals


def needed(
    campaign: Campaign, pack: RulePack, runs: Sequence[Run], results: Callable[[Run], Sequence[Case]]
) -> tuple[Run, ...]:
    """The runs that are needed so far, out of all possible repetitions.

    The operation that selects the reported run decides. Repetitions are added by thirds, so that the queue is not
    waited for once for each; none is added while one has not ended, or if none has a number.
    """
    wanted = campaign.sequential
    if wanted is None:
        return tuple(runs)
    counts = {
        name: _count(wanted, campaign.repetitions, [_outcome(pack, run, results(run)) for run in of_family])
        for name, of_family in grouped((family(run), run) for run in runs).items()
    }
    return tuple(run for run in runs if run.repetition <= counts[family(run)])


def family(run: Run) -> str:
    """The name that repetitions of a run share."""
    return run.id.rpartition(".")[0]


def _outcome(pack: RulePack, run: Run, tried: Sequence[Case]) -> tuple[bool, float | None]:
    """Whether a run has ended, and its number if that is valid."""
    good = next((case for case in tried if case.valid and case.complete), None)
    record = good.result(deciding(pack, run)) if good else None
    return any(case.attempt.state in OWN_ENDS for case in tried), record.value if record else None


def _count(wanted: Sequential, least: int, outcomes: Sequence[tuple[bool, float | None]]) -> int:
    count = least
    while count < wanted.most:
        seen = outcomes[:count]
        values = [value for _, value in seen if value is not None]
        if not values or not all(ended for ended, _ in seen) or _narrow(values, wanted.width):
            break
        count = min(wanted.most, count + max(1, count // 3))
    return count


def _narrow(values: Sequence[float], width: float) -> bool:
    summary = intervals.summarize(values)
    if summary.median is None or summary.low is None or summary.high is None:
        return False
    return (summary.high - summary.low) / 2 <= width * abs(summary.median)
