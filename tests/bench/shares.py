"""Shares of simulations: how far they may be from the truth by chance."""

from __future__ import annotations

import math

from scipy.stats import binom


def wilson(hits: int, trials: int) -> tuple[float, float]:
    """95% interval of a share."""
    middle, half = hits + 1.92, 1.96 * math.sqrt(hits * (trials - hits) / max(1, trials) + 0.96)
    return max(0.0, (middle - half) / (trials + 3.84)), (middle + half) / (trials + 3.84)


def share_text(hits: int, trials: int) -> str:
    """A share with its interval."""
    low, high = wilson(hits, trials)
    return f"{hits / trials:.1%} ({100 * low:.1f}–{100 * high:.1f})" if trials else "–"


def highest_by_chance(bar: float, trials: int, chance: float = 0.01) -> float:
    """What a share exceeds only by this chance, if the true one is the bar."""
    return float(binom.isf(chance, trials, bar) / trials)


def at_most(bar: float, trials: int, chance: float = 0.01) -> str:
    """The bar, and up to where so many simulations cannot tell."""
    return f"≤ {bar:.0%} (≤ {highest_by_chance(bar, trials, chance):.1%} of {trials:,})"
