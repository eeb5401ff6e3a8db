"""How well the model of contention finds what made a noisy sweep, and how often it claims a limit that is not there.

Sweeps of 1 to 8 pairs and 11 sizes, with noise of 10% (log-normal): one of a node whose limit is reached, two whose
limit is not, one whose pairs share a rate of messages. Claimed is the share of fits that say that the node's limit is
reached; `gain` is that of 8 pairs over one, fitted over true. Of each figure over the fits: the median.
"""

from __future__ import annotations

import math
import os
import random
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from itertools import repeat
from statistics import median

from tabulate import tabulate

from campaign.statistics.contention import ContentionFit, ContentionModel, Point, fit
from tests.bench.machine import FULL
from tests.bench.shares import share_text, wilson
from tests.bench.table import Row

SWEEPS = 60 if FULL else 20
NOISE = 0.1
MOST_WRONG = 0.05  # of claims of a limit that the sweep did not reach
LEAST_RIGHT = 0.9
MOST_OFF = 0.1  # of a gain
SIZES = [4**power for power in range(11)]
SMALL, LARGE = 16, 2**20
MODELS = {
    "limit reached": (ContentionModel(2e-6, 3e9, 1.2e9, 0.5e9), True),
    "limit far off": (ContentionModel(1e-6, 1e11, 1e9, 0.8e9), False),
    "limit not far off": (ContentionModel(1e-6, 7e9, 1e9, 0.8e9), False),
    "rate of messages shared": (ContentionModel(1e-6, 1.06e10, 1e10, 1e9, 0.237e-6), True),
}


def gain(model: ContentionModel, size: int) -> float:
    return 8 * model.seconds(1, size) / model.seconds(8, size)


def fit_sweep(name: str, seed: int) -> ContentionFit:
    source = random.Random(f"{name} {seed}")
    model = MODELS[name][0]
    return fit(
        [
            Point(pairs, size, model.seconds(pairs, size) * math.exp(source.gauss(0, NOISE)))
            for pairs in range(1, 9)
            for size in SIZES
        ]
    )


def main() -> Iterator[Row]:
    body, claimed, missed = [], [], list[str]()
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        for name, (model, reached) in MODELS.items():
            fits = list(pool.map(fit_sweep, repeat(name), range(SWEEPS)))
            claims = sum(fit.node_limit_reached for fit in fits)
            low, high = wilson(claims, SWEEPS)
            claimed.append(f"{claims / SWEEPS:.0%}")
            off = [
                median(gain(contention_fit.model, size) for contention_fit in fits) / gain(model, size)
                for size in (SMALL, LARGE)
            ]
            body.append(
                [
                    name, share_text(claims, SWEEPS),
                    *(f"{gain(model, size):.2f}, {part:.3f}" for size, part in zip((SMALL, LARGE), off, strict=True)),
                    f"{median(fit.held_back.median for fit in fits):.1%}",
                    f"{median(fit.held_back.ninth_decile for fit in fits):.1%}",
                ]
            )  # fmt: skip
            if not reached and low > MOST_WRONG:
                missed.append(f"{name}: {claims} of {SWEEPS} fits claim a limit")
            if name == "limit reached" and high < LEAST_RIGHT:
                missed.append(f"{name}: only {claims} of {SWEEPS} fits say so")
            missed += [f"{name}: a gain is off by {part - 1:+.0%}" for part in off if abs(part - 1) > MOST_OFF]
    headers = [
        "sweep", "claimed", f"gain at {SMALL} B", f"gain at {LARGE} B", "error on held-out points",
        "90th percentile",
    ]  # fmt: skip
    print(
        f"{SWEEPS} sweeps each, noise {NOISE:.0%}; bars: wrong claims up to {MOST_WRONG:.0%}, right ones "
        f"{LEAST_RIGHT:.0%} or more, gains within {MOST_OFF:.0%}"
    )
    print(tabulate(body, headers, disable_numparse=True))
    print("\n".join(missed))
    yield Row(
        f"fits of the contention model that claim a node's limit, of {SWEEPS} sweeps each: {', '.join(MODELS)}",
        f"≥ {LEAST_RIGHT:.0%}; others ≤ {MOST_WRONG:.0%}",
        ", ".join(claimed),
        missed=bool(missed),
    )
