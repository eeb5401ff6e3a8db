"""How often a search is wrong about machines of sixteen families, how near it comes to the fewest processes, whether
what it promises holds, and what it costs.

The families are not those that the procedure was made on: rates that depend on how a count fills the groups of cores,
numbers of servers that nodes or processes have to be a multiple of, single counts above all others, cliffs, sharp
peaks, staircases; noise in two modes, drift, heavy tails, first runs 0.6 to 1.6 times as fast; scaling curves that
others published; plateaus, two humps, and two levels of servers. Wrong is a chosen count whose true rate is under 95%
of the true peak; beside it, what people do: of the
grid's counts the fewest whose best of 3 runs is within 5% of the highest. Resolved is a search that says so:
then the ratio of its count to the true minimum within the margin is compared with the bar. A search promises that the
true minimum lies between two counts (96%: 98% on each side; above one count where none is shown to be within the
margin), that its count reaches at least a share of the peak (98%), and a typical rate, the median of all runs that
there could be, for each count with 6 runs (95%). It says that rates moved, or came in two groups, where the runs show
it: false alarms are those of the families in which they do not. Behind each share: its 95% interval by Wilson. The last
table is the one of docs/search.md.
"""

from __future__ import annotations

import itertools
import math
import os
import random
import statistics
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

import scipy  # its parts are loaded where they are used
from tabulate import tabulate

from campaign.core.runs import Geometry
from campaign.plan.search import procedure
from campaign.plan.search.records import CONFIRM, CountChoice, Outcome, SearchRequest, Settings
from campaign.plan.search.space import SearchSpace, octaves
from tests.bench.machine import FULL
from tests.bench.shares import at_most, highest_by_chance, share_text, wilson
from tests.bench.table import Row

GOOD = 0.95
LEAST = Settings("").least
WRONG = {0.05: 0.02, 0.10: 0.03}  # at most, by noise
MINIMAL = {"two levels of servers": 1.6}  # chosen over fewest processes, mean of all searches of a family at most
FEWEST = 1.05  # median of chosen over fewest processes, where it is said to be resolved
RUNS = 0.60  # of three of every count, on one node at 10% noise
HOLDS = (0.93, 0.98)  # of the intervals of typical rates; of the minimum at least the first
CLAIMS = 0.02  # of false ones about measured counts, in each family
ALARMS = 0.01  # at most, up to 10% noise
SEARCHES = (
    {0.05: 130, 0.10: 130, 0.02: 50, 0.20: 50} if FULL else {0.05: 8, 0.10: 4}
)  # of each family and space, by noise

Curve = Callable[[Geometry], float]
NORMAL = statistics.NormalDist()
Noise = Callable[[random.Random, float, int], float]  # chance, size, number of the run: a log rate


@dataclass(frozen=True)
class Family:
    curve: Callable[[random.Random, SearchSpace], Curve]
    noise: Noise
    # Share of the noise of a size that is below a log rate, without its drift:
    share_below: Callable[[float, float], float]
    cores: tuple[int, ...] = (64,)
    has_cold_caches: bool = False  # the first run of each count has 0.6 to 1.6 times its rate


def _usl(chance: random.Random, most_processes: int, low: float = 0.4, high: float = 1.1) -> Callable[[float], float]:
    peak = most_processes ** chance.uniform(low, high)
    contention = chance.choice((0.0, 0.01, 0.05))
    return lambda p: p / (1 + contention * (p - 1) + (1 - contention) / peak**2 * p * (p - 1))


def _most_processes(space: SearchSpace) -> int:
    return space.most_nodes * space.most_per_node


def smooth(chance: random.Random, space: SearchSpace) -> Curve:
    law = _usl(chance, _most_processes(space))
    return lambda geometry: law(geometry.processes)


def groups(chance: random.Random, space: SearchSpace) -> Curve:
    """Full speed only where the processes of a node fill its groups of cores evenly."""
    cores, law = space.most_per_node, _usl(chance, _most_processes(space), 0.6)
    sizes = [size for size in range(4, cores // 2 + 1) if cores % size == 0 and size in (4, 6, 7, 8, 9, 12, 14, 16, 18)]
    group, loss, divisors = chance.choice(sizes), chance.uniform(0.07, 0.3), chance.random() < 0.5

    def rate(geometry: Geometry) -> float:
        even = geometry.processes_per_node % group == 0 or (divisors and group % geometry.processes_per_node == 0)
        return law(geometry.processes) * (1.0 if even else 1 - loss)

    return rate


def cliff(chance: random.Random, space: SearchSpace) -> Curve:
    """Rises, and steps down by 7 to 40% above a count of processes on a node."""
    edge = chance.choice((space.most_per_node // 2, round(space.most_per_node ** chance.uniform(0.6, 0.95))))
    step, slope = chance.uniform(0.07, 0.4), chance.uniform(0.2, 0.8)
    return lambda geometry: geometry.processes**slope * (1.0 if geometry.processes_per_node <= edge else 1 - step)


def sharp(chance: random.Random, space: SearchSpace) -> Curve:
    """A tent over the logarithm: 5% are lost within 2 to 8% of the count."""
    at = chance.uniform(0.35, 0.95) * math.log(_most_processes(space))
    left, right = (0.05 / chance.uniform(0.02, 0.08) for _ in range(2))

    def rate(geometry: Geometry) -> float:
        distance = math.log(geometry.processes) - at
        return math.exp(-min(3.0, (right if distance > 0 else left) * abs(distance)))

    return rate


def staircase(chance: random.Random, space: SearchSpace) -> Curve:
    """A step for each group of processes on a node that is full."""
    width = chance.choice([size for size in (4, 6, 8, 12, 16) if size <= space.most_per_node // 2])
    law = _usl(chance, _most_processes(space), 0.6)
    return lambda geometry: law(max(1, geometry.processes_per_node // width * width) * geometry.nodes)


def flat(chance: random.Random, space: SearchSpace) -> Curve:
    knee = _most_processes(space) ** chance.uniform(0.3, 0.9)
    return lambda geometry: min(1.0, geometry.processes / knee)


def humps(chance: random.Random, space: SearchSpace) -> Curve:
    log_most = math.log2(_most_processes(space))
    tops = [chance.uniform(0.15, 0.45) * log_most, chance.uniform(0.65, 1.0) * log_most]
    heights = [1.0, chance.uniform(0.8, 0.98)]
    chance.shuffle(heights)
    wide = chance.uniform(0.9, 1.6)
    return lambda geometry: max(
        0.05,
        *(
            h * math.exp(-(((math.log2(geometry.processes) - t) / wide) ** 2) / 2)
            for h, t in zip(heights, tops, strict=True)
        ),
    )


def servers(chance: random.Random, space: SearchSpace) -> Curve:
    """Higher where nodes, or processes where there is one node, are a multiple of a number of servers."""
    number, lift, law = (
        chance.choice((3, 5, 6, 7)),
        chance.uniform(0.07, 0.3),
        _usl(chance, _most_processes(space), 0.6),
    )

    def rate(geometry: Geometry) -> float:
        count = geometry.nodes if space.most_nodes > 1 else geometry.processes
        return law(geometry.processes) * (1.0 if count % number == 0 else 1 - lift)

    return rate


def two_levels(chance: random.Random, space: SearchSpace) -> Curve:
    """Two kinds of servers: the first are busy early, with most of the rate, the second much later."""
    log_most, share = math.log(_most_processes(space)), chance.uniform(0.85, 0.97)
    first = math.exp(chance.uniform(0.3, 0.6) * log_most)
    second = first * math.exp(chance.uniform(0.1, 0.4) * log_most)
    return lambda geometry: (
        share * min(1.0, geometry.processes / first) + (1 - share) * min(1.0, geometry.processes / second)
    )


def spikes(chance: random.Random, space: SearchSpace) -> Curve:
    """Some counts are higher than all others beside them by 7 to 30%, for no reason that a model knows."""
    law, lift, seed = _usl(chance, _most_processes(space), 0.6), chance.uniform(0.07, 0.3), chance.random()

    def rate(geometry: Geometry) -> float:
        high = random.Random(f"{seed}/{geometry.nodes}/{geometry.processes}").random() < 0.1
        return law(geometry.processes) * (1.0 if high else 1 - lift)

    return rate


# (processes, rate): ray tracing on an SGI Origin, SPEC SDM on 16 processors (both in Gunther, Guerrilla Capacity
# Planning, 2007); MDTEST creates by one process, one node, several nodes (Crossroads, table 8.6), per layout.
PUBLISHED = (
    ((1, 20), (4, 78), (8, 130), (12, 170), (16, 190), (20, 200), (28, 230), (32, 260), (48, 280), (64, 310)),
    ((1, 64.9), (18, 995.9), (36, 1652.4), (72, 1853.2), (108, 1828.9), (144, 1775.0), (180, 1702.2), (216, 1652.8)),
    ((1, 5702), (32, 6899), (512, 79901)),
    ((1, 5706), (32, 72817), (512, 183740)),
)  # fmt: skip


def published_curve(chance: random.Random, space: SearchSpace) -> Curve:
    points = chance.choice(PUBLISHED)
    scale = _most_processes(space) / points[-1][0] * chance.choice((0.5, 1.0, 2.0))

    def rate(geometry: Geometry) -> float:
        at = max(1.0, geometry.processes / scale)
        for (p, x), (q, y) in itertools.pairwise(points):
            if at <= q:
                return float(x * (y / x) ** (math.log(at / p) / math.log(q / p)))
        return float(points[-1][1])

    return rate


SLOW, DISTURBED = math.log(0.5), math.log(0.7)


def normal(chance: random.Random, size: float, run: int) -> float:
    """One run in 100 at half its rate."""
    slow = SLOW if chance.random() < 0.01 else 0.0
    return slow + chance.gauss(0, size)


def below_normal(value: float, size: float) -> float:
    return 0.99 * NORMAL.cdf(value / size) + 0.01 * NORMAL.cdf((value - SLOW) / size)


def two_modes(chance: random.Random, size: float, run: int) -> float:
    """Another user's load takes 30% in every fifth run."""
    return (DISTURBED if chance.random() < 0.2 else 0.0) + chance.gauss(0, size)


def below_two(value: float, size: float) -> float:
    return 0.8 * NORMAL.cdf(value / size) + 0.2 * NORMAL.cdf((value - DISTURBED) / size)


def heavy(chance: random.Random, size: float, run: int) -> float:
    """Student's distribution with 3 degrees of freedom; its quartiles are those of the normal one."""
    square = sum(chance.gauss(0, 1) ** 2 for _ in range(3)) / 3
    return float(size * 0.882 * chance.gauss(0, 1) / math.sqrt(square))


def below_heavy(value: float, size: float) -> float:
    t = value / size / 0.882 / math.sqrt(3)
    return 0.5 + (t / (1 + t**2) + math.atan(t)) / math.pi


def drifting(chance: random.Random, size: float, run: int) -> float:
    """Down by 30% in 100 runs, and a cycle of 40 runs by 10% both ways."""
    return normal(chance, size, run) + drift(run)


def drift(run: int) -> float:
    return -0.3 * run / 100 + 0.1 * math.sin(run / 6.4)


FAMILIES = {
    "smooth (USL)": Family(smooth, normal, below_normal),
    "groups of cores": Family(groups, normal, below_normal, (36, 48, 56, 64, 72)),
    "cliffs": Family(cliff, normal, below_normal),
    "sharp peaks": Family(sharp, normal, below_normal),
    "staircases": Family(staircase, normal, below_normal, (48, 64)),
    "numbers of servers": Family(servers, normal, below_normal),
    "spikes": Family(spikes, normal, below_normal),
    "cliffs, two modes of noise": Family(cliff, two_modes, below_two),
    "flat from a knee": Family(flat, normal, below_normal),
    "two humps": Family(humps, normal, below_normal),
    "published curves": Family(published_curve, normal, below_normal),
    "two modes of noise": Family(smooth, two_modes, below_two),
    "drift": Family(flat, drifting, below_normal),
    "heavy tails": Family(smooth, heavy, below_heavy),
    "two levels of servers": Family(two_levels, normal, below_normal),
    "cold caches": Family(smooth, normal, below_normal, has_cold_caches=True),
}


UNSEEN = ("numbers of servers", "spikes")  # without a bar of wrong ones: a count that is not measured may be far above


@dataclass(frozen=True)
class Searched:
    quality: float
    of_measured: float  # its true rate, as a share of the highest true rate of a measured count
    contradicts: bool  # its median is below 95% of another one's in the blocks of both, or it has too few runs
    runs: int
    every: int
    ratio: float
    is_shown: bool
    resolved: bool
    is_undercut: bool  # a measured count below the one that it names is within the margin of the measured peak
    holds: bool  # the true minimum lies between the counts that it names; above the lower one, where none is shown
    bound: bool | None  # it reaches the named share of the measured peak; None where the count is the peak itself
    rates: tuple[bool, ...]  # the typical rate lies in the interval of each count
    moved: bool  # it says that rates changed in time
    groups: bool  # it says that they came in two groups
    by_best: float  # of the true peak: what the best of 3 runs of the grid's counts would have chosen


def search(name: str, where: str, noise: float, number: int) -> Searched:
    family = FAMILIES[name]
    chance = random.Random(f"{name}/{where}/{noise}/{number}")
    cores = chance.choice(family.cores)
    space = SearchSpace(1, 1, cores) if where == "node" else SearchSpace(2, 16, cores // 2)
    curve = family.curve(chance, space)
    every = [
        Geometry(nodes, nodes * per)
        for nodes in range(space.fewest_nodes, space.most_nodes + 1)
        for per in range(1, space.most_per_node + 1)
    ]
    true = {geometry: curve(geometry) for geometry in every}
    peak, request_count = max(true.values()), [0]
    shifts: dict[tuple[Geometry, bool], list[float]] = {}  # by drift, of each count's runs
    logs: dict[Geometry, dict[tuple[str, int], float]] = {}
    cold = math.log(chance.uniform(0.6, 1.6)) if family.has_cold_caches else 0.0

    def measure(request: SearchRequest) -> Outcome:
        request_count[0] += 1
        geometry, shift = request.geometry, drift(request_count[0]) if family.noise is drifting else 0.0
        shifts.setdefault((geometry, request.phase == CONFIRM), []).append(shift)
        log = math.log(true[geometry]) + family.noise(chance, noise, request_count[0])
        log += 0.0 if geometry in logs else cold
        logs.setdefault(geometry, {})[request.phase, request.block] = log
        return Outcome(math.exp(log), request.nodes)

    decision = procedure.step(space, Settings(seed=str(number)), measure)
    assert isinstance(decision, CountChoice) and decision.geometry is not None
    fewest = min(geometry.processes for geometry in every if true[geometry] >= GOOD * peak)
    low, high = (decision.possible_counts or (decision.geometry,))[0].processes, decision.geometry.processes
    quality = true[decision.geometry] / peak
    chosen_candidate = next(candidate for candidate in decision.candidates if candidate.geometry == decision.geometry)
    rates = [
        candidate.low <= true[candidate.geometry] * math.exp(median_of(family, noise, shift)) <= candidate.high
        for candidate in decision.candidates
        if candidate.low is not None and candidate.high is not None
        for shift in [shifts[candidate.geometry, candidate.fresh_runs > 0]]
    ]
    geometries = {candidate.geometry for candidate in decision.candidates if candidate.rate}
    of_measured = true[decision.geometry] / max(true[geometry] for geometry in geometries)
    is_undercut = any(
        geometry.processes < low and true[geometry] >= GOOD * max(true[other] for other in geometries)
        for geometry in geometries
    )
    return Searched(
        quality, of_measured, _contradicts(logs, decision.geometry),
        len(decision.requests), len(every), high / fewest, decision.is_shown, decision.resolved is not False,
        is_undercut, low <= fewest and (fewest <= high or not decision.is_shown),
        None if chosen_candidate.ratio_low is None else chosen_candidate.ratio_low <= of_measured, tuple(rates),
        decision.drift is not None and decision.drift.is_significant, decision.slow_runs is not None,
        true[best_of_three(space, true, family, noise, number)] / peak,
    )  # fmt: skip


def _contradicts(logs: dict[Geometry, dict[tuple[str, int], float]], chosen_count: Geometry) -> bool:
    """Whether a choice has fewer confirmation runs than it needs, or is slower than a count that has them, by the
    median of the blocks in which both were measured.
    """
    fresh = {
        geometry: {block: log for (phase, block), log in runs.items() if phase == CONFIRM}
        for geometry, runs in logs.items()
    }
    own_runs = fresh.get(chosen_count, {})
    return len(own_runs) < LEAST or any(
        len(blocks := own_runs.keys() & runs.keys()) >= LEAST
        and statistics.median(own_runs[block] - runs[block] for block in blocks) < math.log(GOOD)
        for runs in fresh.values()
    )


def median_of(family: Family, noise: float, shifts: list[float]) -> float:
    """Of the log rates that runs with these shifts may have, half are below it."""

    def excess_share(value: float) -> float:
        return sum(family.share_below(value - shift, noise) for shift in shifts) / len(shifts) - 0.5

    return float(scipy.optimize.brentq(excess_share, min(shifts) - 1, max(shifts) + 1))


def best_of_three(
    space: SearchSpace, true: dict[Geometry, float], family: Family, noise: float, number: int
) -> Geometry:
    chance, run = random.Random(f"best of 3/{number}"), itertools.count(1)
    grid = [geometry for geometry in octaves(space) if geometry in true]
    best_rates = {
        geometry: max(math.log(true[geometry]) + family.noise(chance, noise, next(run)) for _ in range(3))
        for geometry in grid
    }
    top = max(best_rates.values())
    return min(
        (geometry for geometry in grid if best_rates[geometry] >= top + math.log(GOOD)),
        key=lambda geometry: geometry.processes,
    )


Outcomes = dict[tuple[str, float], dict[str, list[Searched]]]  # by space and noise, then by family


def simulate_searches(searches: dict[float, int], names: list[str]) -> Outcomes:
    outcomes: Outcomes = {}
    with ProcessPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        for noise, number in searches.items():
            for where in ("node", "peak"):
                found_searches = outcomes[where, noise] = {
                    name: list(
                        pool.map(
                            search,
                            *([argument] * number for argument in (name, where, noise)),
                            range(number),
                            chunksize=2,
                        )
                    )
                    for name in names
                }
                print(f"\n{noise:.0%} noise, {where}: {number} searches of each family", flush=True)
                body = [[name, *summary({name: same_searches})] for name, same_searches in found_searches.items()]
                print(tabulate(body, ["family", *HEADERS], disable_numparse=True), flush=True)
    return outcomes


def main() -> Iterator[Row]:
    bars = [f"typical rates in their intervals {HOLDS[0]:.0%} to {HOLDS[1]:.0%}, minimum from {HOLDS[0]:.0%} on"]
    bars += [f"x fewest where resolved up to {FEWEST}", f"runs on one node at 10% noise up to {RUNS:.0%} of 3 of each"]
    bars += [f"false alarms up to {ALARMS:.0%} at up to {max(WRONG):.0%} noise"]
    print(f"bars: {'; '.join(bars)}; all allow for chance")
    outcomes = simulate_searches(SEARCHES, list(FAMILIES))
    print(f"\n{all_together(outcomes)}")
    for (where, noise), by_family in outcomes.items():
        if noise in WRONG:
            wrong = [
                search.quality < GOOD
                for name, same_searches in by_family.items()
                if name not in UNSEEN
                for search in same_searches
            ]
            low, high = wilson(sum(wrong), len(wrong))
            nodes = "one node" if where == "node" else "2 to 16 nodes"
            yield Row(
                f"simulated searches, {noise:.0%} noise, {nodes}: chose a count below {GOOD:.0%} of the peak",
                at_most(WRONG[noise], len(wrong)),
                f"{statistics.mean(wrong):.1%}",
                spread=f"{low:.1%}–{high:.1%}",
                missed=statistics.mean(wrong) > highest_by_chance(WRONG[noise], len(wrong)),
            )
    for name, bar in MINIMAL.items():
        ratios = [
            search.ratio for (_, noise), by_family in outcomes.items() if noise == 0.05 for search in by_family[name]
        ]
        error = 1.96 * statistics.stdev(ratios) / math.sqrt(len(ratios))
        yield Row(
            f"simulated searches, 5% noise, {name}: chosen / fewest processes within the margin, mean",
            f"≤ {bar}",
            f"{statistics.mean(ratios):.2f}",
            spread=f"{statistics.mean(ratios) - error:.2f}–{statistics.mean(ratios) + error:.2f}",
            missed=statistics.mean(ratios) - error > bar,
        )
    missed = list(misses(outcomes))
    print("\n".join(missed))
    number = sum(len(same_searches) for searches in outcomes.values() for same_searches in searches.values())
    yield Row(
        f"{number:,} simulated searches: promises of [search.md](search.md) that are not kept",
        "0",
        "; ".join(missed) or "0",
        missed=bool(missed),
    )


def all_together(outcomes: Outcomes) -> str:
    """All families: the table of docs/search.md."""
    body = [
        [f"{noise:.0%}", "1" if where == "node" else "2–16", sum(map(len, by_family.values())), *summary(by_family)]
        for (where, noise), by_family in sorted(outcomes.items(), key=lambda item: (item[0][1], item[0][0]))
    ]
    return tabulate(body, ["noise", "nodes", "searches", *HEADERS], "github", disable_numparse=True)


def _all(searches: dict[str, list[Searched]]) -> list[Searched]:
    return [search for same_searches in searches.values() for search in same_searches]


def alarms_by_kind(searches: dict[str, list[Searched]]) -> dict[str, tuple[list[bool], list[bool]]]:
    """Whether searches said that rates moved, or came in two groups: where they did, and where they did not."""

    def split(noise: Noise, has_alarm: Callable[[Searched], bool]) -> tuple[list[bool], list[bool]]:
        where, elsewhere = ([n for n in searches if (FAMILIES[n].noise is noise) == is_so] for is_so in (True, False))
        return [has_alarm(search) for n in where for search in searches[n]], [
            has_alarm(search) for n in elsewhere for search in searches[n]
        ]

    return {
        "a change in time": split(drifting, lambda search: search.moved),
        "two groups": split(two_modes, lambda search: search.groups),
    }


def misses(outcomes: Outcomes) -> Iterator[str]:
    for (where, noise), by_family in outcomes.items():
        all_searches, at = _all(by_family), f"at {noise:.0%} noise, {where}"
        holds, rates = [search.holds for search in all_searches], [ok for search in all_searches for ok in search.rates]
        if wilson(sum(holds), len(holds))[1] < HOLDS[0]:
            yield f"minimum between the counts {at}: {share(holds)}"
        low, high = wilson(sum(rates), len(rates))
        if high < HOLDS[0] or low > HOLDS[1]:
            yield f"typical rates in their intervals {at}: {share(rates)}"
        if contradicting := sum(search.contradicts for search in all_searches):
            yield f"against their own runs {at}: {contradicting}"
        for name, same_searches in by_family.items():
            for claim, false in (
                (
                    "shown, wrong among the measured",
                    [search.is_shown and search.of_measured < GOOD for search in same_searches],
                ),
                ("a measured count below is within the margin", [search.is_undercut for search in same_searches]),
            ):
                if false and statistics.mean(false) > highest_by_chance(CLAIMS, len(false)):
                    yield f"{claim} {at}, {name}: {share(false)}"
        if (ratio := statistics.median([search.ratio for search in all_searches if search.resolved] or [1.0])) > FEWEST:
            yield f"x fewest where resolved {at}: {ratio:.2f}"
        for claim, (_, alarms) in alarms_by_kind(by_family).items():
            if noise <= max(WRONG) and statistics.mean(alarms) > highest_by_chance(ALARMS, len(alarms)):
                yield f"false alarms of {claim} {at}: {share(alarms)}"
    node = _all(outcomes["node", 0.10])
    if (runs := sum(search.runs for search in node) / sum(3 * search.every for search in node)) > RUNS:
        yield f"runs on one node: {runs:.0%}"


HEADERS = [
    "wrong", "worst", "best of 3 wrong", "against own runs", "shown, wrong of measured", "measured count below", "runs",
    "of 3 of each", "resolved", "x fewest if so, if not", "minimum between", "share of peak", "typical rates",
    "change seen, falsely", "two groups seen, falsely",
]  # fmt: skip


def share(outcomes: list[bool]) -> str:
    return share_text(sum(outcomes), len(outcomes))


def summary(by_family: dict[str, list[Searched]]) -> list[str]:
    searches = _all(by_family)
    ratios = [[search.ratio for search in searches if search.resolved == resolved] for resolved in (True, False)]
    return [
        share([o.quality < GOOD for o in searches]),
        f"{min(o.quality for o in searches):.1%}",
        f"{statistics.mean(o.by_best < GOOD for o in searches):.0%}",
        str(sum(o.contradicts for o in searches)),
        f"{sum(o.is_shown for o in searches)}, {sum(o.is_shown and o.of_measured < GOOD for o in searches)}",
        share([o.is_undercut for o in searches]),
        f"{statistics.mean(o.runs for o in searches):.0f}",
        f"{sum(o.runs for o in searches) / sum(3 * o.every for o in searches):.0%}",
        f"{len(ratios[0]) / len(searches):.0%}",
        ", ".join(f"{statistics.median(ratio):.2f}" if ratio else "–" for ratio in ratios),
        share([o.holds for o in searches]),
        share([o.bound for o in searches if o.bound is not None]),
        share([ok for o in searches for ok in o.rates]),
        *(
            ", ".join([*(f"{statistics.mean(outcomes):.0%}" for outcomes in [seen] if outcomes), share(alarms)])
            for seen, alarms in alarms_by_kind(by_family).values()
        ),
    ]
