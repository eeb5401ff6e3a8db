"""Shares of simulations: how far they may be from the truth by chance."""

from __future__ import annotations

import math

from scipy.stats import binom


def wilson(hits: int, of: int) -> tuple[float, float]:
    """95% interval of a share."""
    middle, half = hits + 1.92, 1.96 * math.sqrt(hits * (of - hits) / max(1, of) + 0.96)
    return max(0.0, (middle - half) / (of + 3.84)), (middle + half) / (of + 3.84)


def told(hits: int, of: int) -> str:
    """A share with its interval."""
    low, high = wilson(hits, of)
    return f"{hits / of:.1%} ({100 * low:.1f}–{100 * high:.1f})" if of else "–"


def most(bar: float, of: int, chance: float = 0.01) -> float:
    """What a share exceeds only by this chance, if the true one is the bar."""
    return float(binom.isf(chance, of, bar) / of)


def at_most(bar: float, of: int, chance: float = 0.01) -> str:
    """The bar, and up to where so many simulations cannot tell."""
    return f"≤ {bar:.0%} (≤ {most(bar, of, chance):.1%} of {of:,})"
