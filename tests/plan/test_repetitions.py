"""How many repetitions a run needs."""

from __future__ import annotations

from dataclasses import replace

from campaign.config.format import Campaign, Sequential
from campaign.core.runs import Run, State
from campaign.plan import adaptive
from campaign.results.case import Case
from tests.plan.test_adaptive import ended_case
from tests.support import builders

WANTED = Sequential(most=20, width=0.05)


def campaign() -> Campaign:
    return builders.campaign(repetitions=6, sequential=WANTED)


def possible_runs() -> tuple[Run, ...]:
    return builders.expand(replace(campaign(), repetitions=20), builders.small_pack())


def numbers(rates: dict[str, list[float | None]]) -> dict[str, int]:
    """Repetitions of each run, where these are the rates so far; None: it ended without one."""

    def results(run: Run) -> list[Case]:
        name, _, number = run.id.rpartition(".r")
        run_rates = rates.get(name, [])
        if int(number) > len(run_rates):
            return []
        rate = run_rates[int(number) - 1]
        return [ended_case(run, rate, State.DONE if rate else State.FAILED)]

    counts: dict[str, int] = {}
    for run in adaptive.needed_repetitions(campaign(), builders.small_pack(), possible_runs(), results):
        name = run.id.rpartition(".r")[0]
        counts[name] = counts.get(name, 0) + 1
    return {name: number for name, number in counts.items() if name in rates} if rates else counts


STEADY = [100.0, 101.0, 99.0, 100.5, 99.5, 100.0]
WIDE = [100.0, 150.0, 60.0, 120.0, 80.0, 100.0]
NODE, PEAK = "scratch.node.shared", "scratch.peak.unique"


def test_nothing_measured_yet_is_the_least() -> None:
    assert set(numbers({}).values()) == {6}


def test_a_narrow_interval_ends_it_and_a_wide_one_goes_on_for_that_run_alone() -> None:
    assert numbers({NODE: STEADY, PEAK: WIDE}) == {NODE: 6, PEAK: 8}


def test_it_goes_on_by_thirds_up_to_the_cap() -> None:
    counts = []
    rates: list[float | None] = list(WIDE)
    while not counts or counts[-1] > len(rates) - 1:
        count = numbers({PEAK: rates})[PEAK]
        if counts and count == counts[-1]:
            break
        counts.append(count)
        rates = [WIDE[index % 6] for index in range(count)]
    assert counts == [8, 10, 13, 17, 20]


def test_none_is_added_while_one_has_not_ended_and_none_where_none_gave_a_number() -> None:
    assert numbers({PEAK: WIDE[:5]}) == {PEAK: 6}
    assert numbers({PEAK: [None] * 6}) == {PEAK: 6}


def test_a_repetition_that_failed_is_made_up_for() -> None:
    assert numbers({PEAK: [*STEADY[:5], None]}) == {PEAK: 8}
    assert numbers({PEAK: [*STEADY[:5], None, *STEADY[:2]]}) == {PEAK: 8}


def test_a_plain_number_of_repetitions_is_that_number() -> None:
    campaign = builders.campaign(repetitions=2)
    runs = builders.expand(campaign, builders.small_pack())
    assert adaptive.needed_repetitions(campaign, builders.small_pack(), runs, lambda run: []) == runs
