"""What a search measured, over the number of processes: all points, intervals, the chosen count and why."""

from __future__ import annotations

from typing import TYPE_CHECKING

from campaign.plan import searches as searching
from campaign.plan.search.nouns import CONFIRM
from campaign.report.plots.drawing import COLOURS, plain

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def figure(standing: searching.SearchProgress, unit: str) -> Figure | None:
    """None before anything was measured."""
    import textwrap

    from matplotlib.figure import Figure

    points = [(request, found.rate) for request, found in standing.points.items() if found.rate]
    if not points:
        return None
    made = Figure(figsize=(7.5, 5.2), layout="constrained")
    axes = made.subplots()
    for name, marker, colour, fresh in (
        ("runs of the search", ".", COLOURS[4], False),
        ("fresh runs", "o", COLOURS[0], True),
    ):
        own = [(request.processes, rate) for request, rate in points if (request.phase == CONFIRM) == fresh]
        if own:
            axes.plot(*zip(*own, strict=True), marker, color=colour, label=name, markersize=5, alpha=0.6)
    decision = standing.decision
    if decision is not None:
        shown = [
            (one.geometry.processes, one.rate, one.low, one.high)
            for one in decision.candidates
            if one.rate and one.low and one.high
        ]
        for processes, rate, low, high in shown:
            axes.errorbar(
                processes, rate, yerr=[[rate - low], [high - rate]], color=COLOURS[7], capsize=3, fmt="_", markersize=9
            )
        if decision.geometry is not None:
            chosen = decision.geometry
            axes.axvline(
                chosen.processes, color=COLOURS[5], linestyle="--", zorder=0,
                label=f"chosen: {chosen.processes} on {chosen.nodes} node{'s' if chosen.nodes > 1 else ''}",
            )  # fmt: skip
        if standing.sought.space.most_nodes > 1:
            for one in decision.candidates:
                if one.rate:
                    axes.annotate(
                        str(one.geometry), (one.geometry.processes, one.high or one.rate), (0, 4),
                        textcoords="offset points", ha="center", fontsize=7,
                    )  # fmt: skip
    axes.set_xscale("log", base=2)
    ticks = sorted({request.processes for request, _ in points})
    axes.set_xticks(ticks[:: max(1, len(ticks) // 10)], [str(tick) for tick in ticks[:: max(1, len(ticks) // 10)]])
    axes.set_ylim(bottom=0)
    axes.set_xlabel("processes")
    axes.set_ylabel(plain(f"{standing.sought.operation} ({unit})"))
    axes.grid(alpha=0.25)
    axes.legend(fontsize=8, frameon=False)
    why = decision.reason if decision else "The search has not ended."
    several = standing.sought.space.most_nodes > 1
    bars = f"bars: 95% intervals{'; labels: nodes x processes on each' if several else ''}"
    title = [f"Search for {standing.sought.key}", *textwrap.wrap(why, 100), bars]
    made.suptitle(plain("\n".join(title)), fontsize=9)
    return made
