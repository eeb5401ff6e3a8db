"""Campaigns against each other: verdicts, acceptance, and what is printed of them."""

from __future__ import annotations

import csv
import io
import json
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import tabulate
from hypothesis import given, settings
from hypothesis import strategies as st

from campaign.cli.main import main
from campaign.core import workers
from campaign.core.errors import INCOMPLETE, OK, USAGE, InputError
from campaign.report.compare import rendering, verdicts
from campaign.report.compare.comparison import (
    CellComparison,
    CellVerdict,
    OfferComparison,
    Terms,
    offer_letter,
    parse_day,
    parse_targets,
    parse_terms,
)
from campaign.report.compare.gains import summarize_gains
from campaign.report.decision import DecisionBlock
from tests.support import builders, offers
from tests.support.offers import CELLS, gap, in_turns, noisy, offer, row

LOW = (100.0, 101.0, 102.0, 103.0, 104.0, 105.0)
HIGH = (110.0, 111.0, 112.0, 113.0, 114.0, 115.0)
FIVE_PERCENT = Terms(0.95)


def compare_rows(first: offers.Row, second: offers.Row, terms: Terms | None = None) -> CellComparison:
    """The only cell of two offers."""
    ((cell,),) = verdicts.compare([offer(first), offer(second)], terms).cells
    return cell


def decision(comparison: OfferComparison) -> DecisionBlock:
    return rendering.comparison_decision(comparison, [offer.source for offer in comparison.offers])


def text_of(comparison: OfferComparison, style: str) -> str:
    return rendering.comparison_text(comparison, decision(comparison), style)


def kinds(comparison: OfferComparison) -> set[CellVerdict]:
    return {cell.verdict for column in comparison.cells for cell in column}


@pytest.mark.parametrize("style", ["simple", "csv", "json"])
@pytest.mark.parametrize("terms", [None, FIVE_PERCENT])
def test_several_processes_compare_as_one_does(
    style: str, terms: Terms | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    all_offers = [noisy(seed) for seed in range(9)] + [offer(row(LOW), gap("invalid", CELLS[1]))]
    in_one = text_of(verdicts.compare(all_offers, terms), style)
    monkeypatch.setattr(workers, "FEWEST_ITEMS", 1)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2})
    assert text_of(verdicts.compare(all_offers, terms), style) == in_one


# --- whether a difference is real


def test_a_difference_that_every_repetition_shows_is_real() -> None:
    up, down = compare_rows(row(LOW), row(HIGH)), compare_rows(row(HIGH), row(LOW))
    assert (up.verdict, up.fails, down.verdict, down.fails) == (CellVerdict.BETTER, False, CellVerdict.WORSE, True)
    assert up.ratio == pytest.approx(112.5 / 102.5, rel=0.001)
    assert up.low is not None and up.low > 1


def test_where_the_lowest_is_the_best_more_is_worse() -> None:
    slower = compare_rows(row(LOW, best="lowest", unit="s"), row(HIGH, best="lowest", unit="s"))
    assert (slower.verdict, slower.fails) == (CellVerdict.WORSE, True)
    assert slower.ratio is not None and slower.ratio > 1
    assert slower.gain == pytest.approx(1 / slower.ratio)


def test_one_repetition_is_a_bare_ratio_and_not_tested() -> None:
    cell = compare_rows(row((100.0,)), row((300.0,)))
    assert (cell.verdict, cell.reason) == (CellVerdict.UNTOLD, "1 repetition each")
    assert (cell.ratio, cell.low, cell.high, cell.p) == (pytest.approx(3), None, None, None)


@pytest.mark.parametrize(("jobs", "seen"), [(1, False), (2, False), (6, True)])
def test_repetitions_of_one_job_count_as_one(jobs: int, seen: bool) -> None:
    def row_of_jobs(values: Sequence[float]) -> offers.Row:
        return {
            **row(values),
            "statistics": {"n": len(values), "values": list(values), "jobs": jobs, "started": in_turns(6)},
        }

    cell = compare_rows(row_of_jobs(LOW), row_of_jobs(HIGH))
    assert cell.verdict is (CellVerdict.BETTER if seen else CellVerdict.UNTOLD)
    if not seen:
        jobs_text = "1 job" if jobs == 1 else "2 jobs"
        assert cell.reason == f"6 repetitions in {jobs_text} each"
    output = text_of(verdicts.compare([offer(row_of_jobs(values)) for values in (LOW, HIGH, LOW)]), "plain")
    (line,) = (line for line in output.splitlines() if line.startswith("scratch/"))
    assert ("°" in line) != seen  # the marks of the best value are by the same test
    assert ("Set repetitions: 4 or more and slurm.allocation: run" in output) != seen


def test_more_repetitions_of_the_same_are_no_better_although_their_highest_is() -> None:
    cell = compare_rows(row((100.0, 104.0, 102.0, 103.0)), row((100.0, 104.0, 102.0, 103.0, 99.0, 108.0, 101.0, 102.5)))
    assert cell.reported_ratio is not None and cell.reported_ratio > 1
    assert cell.verdict is CellVerdict.SAME


def test_among_many_cells_a_chance_difference_is_not_called_real() -> None:
    cells = [("scratch", "node", "shared", f"operation-{number}") for number in range(40)]
    first = offer(*(row(LOW, cell) for cell in cells))
    second_values = [value + 1e-6 for value in LOW]  # two measurements never have the same numbers
    second = offer(row(HIGH, cells[0]), *(row(second_values, cell) for cell in cells[1:]))
    alone = compare_rows(row(LOW), row(HIGH))
    many_cell = verdicts.compare([first, second]).cells[0][0]
    assert alone.p == many_cell.p
    assert (alone.verdict, many_cell.verdict) == (CellVerdict.BETTER, CellVerdict.SAME)
    assert many_cell.adjusted_p == pytest.approx(40 * (alone.p or 0))


@settings(max_examples=30)
@given(st.integers(0, 10**6), st.integers(1, 8), st.floats(0.001, 0.5))
def test_a_campaign_never_differs_from_itself(seed: int, repetitions: int, noise: float) -> None:
    comparison = verdicts.compare([noisy(seed, repetitions, noise)] * 2)
    assert kinds(comparison) == {CellVerdict.SAME if repetitions >= 4 else CellVerdict.UNTOLD}
    assert {cell.ratio for cell in comparison.cells[0]} == {1.0}
    assert comparison.passed is (repetitions >= 4)
    assert comparison.remarks[1][-1] == "the same results as the first's: compared with itself, which shows nothing"


def test_a_rehearsal_compared_with_itself_is_called_so_before_what_limits_both() -> None:
    small = offer(row(LOW, rules={**offers.RULES, "profile": "rehearsal"}))
    question = {
        question.name: question
        for question in rendering.comparison_decision(verdicts.compare([small, small]), ["a", "a"]).questions
    }["alike"]
    assert (question.answer, question.reason) == (
        "open",
        "B: the same results as the first's: compared with itself, which shows nothing; "
        "A: rehearsal size: not a compliant result.",
    )


@settings(max_examples=30)
@given(st.integers(0, 10**6), st.integers(1, 8), st.floats(0.5, 2))
def test_the_other_order_of_two_campaigns_turns_every_ratio_round(seed: int, repetitions: int, factor: float) -> None:
    pair = [noisy(seed, repetitions), noisy(seed + 1, repetitions, factor=lambda cell: factor)]
    turned = {CellVerdict.BETTER: CellVerdict.WORSE, CellVerdict.WORSE: CellVerdict.BETTER}
    for forward, reverse in zip(verdicts.compare(pair).cells[0], verdicts.compare(pair[::-1]).cells[0], strict=True):
        assert forward.ratio == pytest.approx(1 / (reverse.ratio or 0))
        assert forward.low is None if reverse.high is None else forward.low == pytest.approx(1 / reverse.high)
        assert (forward.p, forward.adjusted_p) == (reverse.p, reverse.adjusted_p)
        assert forward.verdict == turned.get(reverse.verdict, reverse.verdict)


# --- sessions

DAY_S, HOUR_S = 86400.0, 3600.0


def row_with_starts(values: Sequence[float], starts: Sequence[float]) -> offers.Row:
    return {**row(values), "statistics": {"n": len(values), "values": list(values), "started": list(starts)}}


@pytest.mark.parametrize(
    ("first", "second", "verdict"),
    [
        ([HOUR_S * index for index in range(6)], [DAY_S + HOUR_S * index for index in range(6)], CellVerdict.SESSION),
        ([HOUR_S * index for index in range(6)], [], CellVerdict.SESSION),  # not known
        (
            [HOUR_S * index for index in range(0, 12, 2)],
            [HOUR_S * index for index in range(1, 12, 2)],
            CellVerdict.BETTER,
        ),
        ([DAY_S * index for index in range(6)], [DAY_S * index for index in range(6, 12)], CellVerdict.BETTER),
        (
            [DAY_S * index for index in (0, 0, 0, 1, 1, 1)],
            [DAY_S * index for index in range(6, 12)],
            CellVerdict.SESSION,
        ),
    ],
    ids=["a day each", "unknown", "in turns", "six days each", "two days and six"],
)
def test_a_difference_between_sessions_may_be_the_days(
    first: list[float], second: list[float], verdict: CellVerdict
) -> None:
    offered = [offer(row_with_starts(LOW, first)), offer(row_with_starts(HIGH, second))]
    compared = verdicts.compare(offered)
    ((cell,),) = compared.cells
    assert (cell.verdict, cell.over_sessions) == (verdict, verdict is CellVerdict.BETTER)
    assert cell.fails is (verdict is CellVerdict.SESSION)
    ((commitment,),) = verdicts.compare(offered, FIVE_PERCENT).cells
    assert commitment.verdict is CellVerdict.BETTER  # a commitment has to be reached on any day
    reason = decision(compared).questions[0].reason
    assert ("within the sessions measured" in reason) is cell.fails
    assert reason.startswith("B is different, maybe by the day, in 1 of 1 result; ") is cell.fails
    same_comparison = verdicts.compare([offer(row_with_starts(LOW, first)), offer(row_with_starts(LOW[::-1], second))])
    assert kinds(same_comparison) == {CellVerdict.SAME} and same_comparison.passed


@pytest.mark.parametrize(
    ("times", "day", "verdict"),
    [
        (0.1, 2.0, CellVerdict.WORSE),
        (10.0, 2.0, CellVerdict.BETTER),
        (0.6, 2.0, CellVerdict.SESSION),
        (0.6, 1.2, CellVerdict.WORSE),
        (0.1, 20.0, CellVerdict.SESSION),
        (0.9, 1.0, CellVerdict.WORSE),
    ],
)
def test_a_difference_that_no_day_makes_is_called_so_though_each_side_has_its_own(
    times: float, day: float, verdict: CellVerdict
) -> None:
    slow = [times * value for value in LOW]
    day_of = [[DAY_S * number + HOUR_S * hour for hour in range(6)] for number in range(3)]
    offered = [
        offer(row_with_starts(LOW, day_of[0])),
        offer(row_with_starts(slow, day_of[1])),
        offer(row_with_starts(LOW[::-1], day_of[2])),
    ]
    compared = verdicts.compare(offered, day=day)
    ((cell,), _) = compared.cells
    assert (cell.verdict, cell.over_sessions) == (verdict, False)
    marks = " ".join(text_of(compared, "simple").split())
    assert ("two days of one system differ too, by up to a factor of " in marks) is (verdict is CellVerdict.SESSION)


@pytest.mark.parametrize("word", ["0.5", "20%", "inf", "-2", ""])
def test_a_day_is_a_factor_from_one(word: str) -> None:
    with pytest.raises(InputError, match=r"--day: found .*; allowed: a factor from 1, such as 1\.2"):
        parse_day(word)
    assert (parse_day(None), parse_day("1"), parse_day("1.25")) == (2, 1, 1.25)


def test_the_repetitions_of_a_session_count_as_one() -> None:
    """Six sessions of two repetitions that are alike show as much as one repetition in each."""
    starts = [DAY_S * day + HOUR_S * hour for day in range(6) for hour in (0, 1)]
    late = [start + 10 * DAY_S for start in starts]
    first, second = ([value for value in values for _ in (0, 1)] for values in (LOW, HIGH))
    cell = compare_rows(row_with_starts(first, starts), row_with_starts(second, late))
    alone = compare_rows(row_with_starts(LOW, starts[::2]), row_with_starts(HIGH, late[::2]))
    assert (cell.p, cell.low, cell.high) == (alone.p, alone.low, alone.high)


@pytest.mark.parametrize("starts", [[1.0], ["now"] * 6, 5])
def test_starts_that_are_no_times_are_refused(starts: Any) -> None:
    wrong = {**row(LOW), "statistics": {"n": 6, "values": list(LOW), "started": starts}}
    with pytest.raises(
        InputError, match=r"row 1: statistics\.started: found .*; allowed: a time in seconds since 1970"
    ):
        offer(wrong)


# --- cells that have no number, and cells that are not of the same thing


@pytest.mark.parametrize("status", ["missing", "failed", "invalid", "declined"])
def test_a_cell_without_a_number_is_shown_with_its_status_and_fails(status: str) -> None:
    number = {"value": 200.0} if status == "invalid" else {}
    for first, second, side_name in (
        (row(LOW), gap(status, **number), "this one"),
        (gap(status, **number), row(LOW), "the first"),
    ):
        cell = compare_rows(first, second)
        assert (cell.verdict, cell.reason, cell.ratio) == (CellVerdict.NONE, f"{side_name} is {status}", None)
        assert cell.fails


def test_what_both_declined_is_answered_but_shows_nothing() -> None:
    comparison = verdicts.compare([offer(gap("declined")), offer(gap("declined"))])
    assert not any(cell.fails for cell in comparison.cells[0])
    assert not comparison.passed


@pytest.mark.parametrize("projected", [(True, False), (False, True), (True, True)])
def test_a_projection_is_never_tested(projected: Sequence[bool]) -> None:
    first, second = (gap("projected", value=200.0) if is_so else row(LOW) for is_so in projected)
    cell = compare_rows(first, second)
    assert cell.verdict is CellVerdict.NONE
    assert cell.reason.endswith("is projected")
    assert cell.reported_ratio is not None
    assert cell.ratio is None
    assert cell.fails and cell.untested and cell.gain is None


@pytest.mark.parametrize("repetitions", [1, 3])
def test_what_cannot_be_tested_is_not_counted_as_not_worse(repetitions: int) -> None:
    fast = offer(*(row(HIGH[:repetitions], cell) for cell in CELLS))
    slow = offer(*(row([value / 10 for value in HIGH[:repetitions]], cell) for cell in CELLS), source="slow.json")
    comparison = verdicts.compare([fast, slow])
    block = decision(comparison)
    assert not comparison.passed
    assert block.headline == "B NOT TESTED"
    assert block.questions[0].reason.startswith("B is not tested; geometric mean 0.100 times A")
    assert block.questions[2].reason.startswith(
        f"8 of 8 results cannot be tested: scratch/node/shared/create ({repetitions} repetition"
    )
    assert block.steps[1].what.startswith("Set repetitions: 4 or more")


def test_the_decision_says_of_each_offer_whether_it_differs() -> None:
    offers = [offer(row(HIGH)), offer(row(LOW)), offer(row(HIGH[::-1])), offer(row([2 * value for value in HIGH]))]
    block = decision(verdicts.compare(offers))
    assert block.headline == "B WORSE, C NOT SHOWN TO DIFFER, D BETTER"
    assert [question.name for question in block.questions] == ["B", "C", "D", "complete", "tested", "alike"]
    block_by_terms = decision(verdicts.compare(offers, FIVE_PERCENT))
    assert block_by_terms.headline == "B NOT ACCEPTED, C ACCEPTED, D ACCEPTED"
    assert block_by_terms.questions[0].reason.startswith(
        "B reaches 0 of 1 commitment; scratch/node/shared/create: below the"
    )


def test_a_target_of_one_side_alone_is_one_line() -> None:
    burst = [row(LOW, ("burst", *cell[1:])) for cell in CELLS]
    first, second = offer(*(row(LOW, cell) for cell in CELLS), *burst), offer(*(row(HIGH, cell) for cell in CELLS))
    for offered in ([first, second], [first, second, second]):
        comparison = verdicts.compare(offered)
        output = text_of(comparison, "simple")
        assert [line.split()[0] for line in output.splitlines() if line.startswith("burst")] == ["burst/*/*/*"]
        assert (
            "have no value on one side: burst/node/shared/create (only in the first)." in decision(comparison).sentence
        )
        assert "burst/node" not in output.partition("\n\n")[2]
    assert len(verdicts.compare([first, second]).cells[0]) == 16


def test_cells_of_one_side_are_listed_after_the_others_and_fail() -> None:
    first, second = offer(row(LOW), row(LOW, CELLS[1])), offer(row(LOW), row(LOW, CELLS[2]))
    (column,) = verdicts.compare([first, second]).cells
    assert [(cell.cell.operation, cell.verdict, cell.reason) for cell in column] == [
        ("create", CellVerdict.SAME, ""),
        ("stat", CellVerdict.NONE, "only in the first"),
        ("create", CellVerdict.NONE, "only in this one"),
    ]
    assert [cell.fails for cell in column] == [False, True, True]


def test_numbers_of_two_units_or_directions_are_not_compared() -> None:
    units = compare_rows(row(LOW), row(LOW, unit="kops/s"))
    assert (units.verdict, units.reason, units.fails) == (CellVerdict.NONE, "units differ: ops/s, kops/s", True)
    assert compare_rows(row(LOW), row(LOW, best="lowest")).verdict is CellVerdict.NONE


def test_more_repetitions_than_can_be_held_against_each_other_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verdicts, "MAX_PAIRS", 35)
    with pytest.raises(InputError, match=r"36 pairs of repetitions with offer\.json; allowed: up to 35"):
        compare_rows(row(LOW), row(LOW))


def test_a_zero_has_no_ratio() -> None:
    cell = compare_rows(row((0.0, 1.0, 2.0, 3.0)), row(LOW))
    assert (cell.verdict, cell.reason) == (CellVerdict.UNTOLD, "value is 0: no ratio")


def test_a_negative_number_has_no_ratio() -> None:
    assert (
        compare_rows(row((-3.0, -1.0, -2.0, -3.0), unit="Ry"), row(LOW, unit="Ry")).reason
        == "value is below 0: no ratio"
    )


@pytest.mark.parametrize(("key", "value"), [("profile", "rehearsal"), ("id", "another")])
def test_campaigns_of_other_rules_or_size_are_refused(key: str, value: str) -> None:
    other = offer(row(LOW, rules={**offers.RULES, key: value}), source="b.json")
    with pytest.raises(InputError, match=f"b.json uses (rules|profile) {value}, offer.json uses "):
        verdicts.compare([offer(row(LOW)), other])


def test_campaigns_without_a_cell_in_common_are_reported_how_to_compare_their_targets() -> None:
    comparison = verdicts.compare([offer(row(LOW)), offer(row(LOW) | {"target": "burst"})])
    assert comparison.remarks[1][0] == (
        "no cell in common: its targets are burst, the first's scratch; '--map scratch=OTHER' matches two targets"
    )


def test_other_numbers_in_a_copy_of_the_first_are_changed_ones_and_fail() -> None:
    first = offer(*(row(LOW, cell) for cell in offers.CELLS))
    for values, alone in ([150.0], False), ([], True):  # with or without the column of repetitions
        changes = {"statistics": None, "value": 150.0} if alone else {}
        other_entries = [row(LOW, cell, **({"statistics": None} if alone else {})) for cell in offers.CELLS[1:]]
        comparison = verdicts.compare([first, offer(row(values or LOW, **changes), *other_entries)])
        assert [cell.verdict is CellVerdict.CHANGED for cell in comparison.cells[0]] == [True] + 7 * [False]
        assert not comparison.passed and decision(comparison).questions[0].reason.startswith(
            "B is changed in 1 of 8 results"
        )
    assert verdicts.compare([first, first]).passed


def test_what_limits_a_comparison_is_reported() -> None:
    other = row(LOW, rules={**offers.RULES, "version": 4, "variables": {"block": "1g"}}, processes=16, files_total=2000)
    together = {"n": 6, "values": list(LOW), "jobs": 1}
    comparison = verdicts.compare([offer(row(LOW)), offer({**other, "statistics": together})])
    assert comparison.remarks == (
        (),
        (
            "1 cell: all repetitions ran in one job, so they count as one value in intervals and tests",
            "rules crossroads-mdtest version 4; the first has version 3",
            "block: 1g; the first has not set",
            "1 cell: total item count differs from the first's",
            "1 cell: process or node counts differ from the first's",
            "1 cell: values equal the first's exactly: probably the same measurements",
        ),
    )
    edited = [offer(row(LOW, rules={**offers.RULES, "sha256": 64 * digit})) for digit in "ab"]
    assert verdicts.compare(edited).remarks[1][0] == (
        "rules crossroads-mdtest: same id and version as the first's, different content"
    )
    formula = verdicts.compare([offer(row(LOW, true_value=105.0)), offer(row(LOW, true_value=13.0))])
    assert formula.remarks[0] == ()
    assert formula.remarks[1][:2] == (
        "1 cell: rates inflated by the benchmark's formula (PHY-03)",
        "1 cell: the formula inflates the two campaigns differently",
    )
    small = offer(row(LOW, rules={**offers.RULES, "profile": "rehearsal"}))
    unknown = offer(row(LOW, campaign=None, rules=None))
    assert verdicts.compare([small, unknown]).remarks[0] == ("rehearsal size: not a compliant result",)
    assert "run rules not given in the source" in verdicts.compare([small, unknown]).remarks[1]


def test_offers_of_other_size_rules_or_operations_have_no_means_unless_forced() -> None:
    first = offer(row(LOW), row(LOW, CELLS[1]))
    unequal = {
        "operations missing: stat": offer(row(HIGH)),
        "operations not in the first: remove": offer(
            *(row(HIGH, (*CELLS[0][:3], operation)) for operation in ("create", "stat", "remove"))
        ),
        "2 cells: total item count differs from the first's": offer(
            *(row(HIGH, cell, files_total=9) for cell in CELLS[:2])
        ),
        "block: 1g; the first has not set": offer(
            *(row(HIGH, cell, rules={**offers.RULES, "variables": {"block": "1g"}}) for cell in CELLS[:2])
        ),
    }  # fmt: skip
    for remark, other in unequal.items():
        alone, forced = (verdicts.compare([first, other], is_unequal=forced) for forced in (False, True))
        assert remark in alone.remarks[1]
        assert (alone.in_means, forced.in_means) == ((False,), (True,))
        assert "no mean, since its size, rules or operations differ" in decision(alone).sentence
        summed = [
            json.loads(rendering.comparison_json(comparison, decision(comparison)))["offers"][1]["summary"]
            for comparison in (alone, forced)
        ]
        assert [entry["geometric_mean"] is None for entry in summed] == [True, False]
    rehearsed = offer(row(LOW, rules={**offers.RULES, "profile": "rehearsal"}))
    compared = verdicts.compare([first, rehearsed], is_unequal=True)
    assert compared.remarks[1][1].startswith("rules crossroads-mdtest, profile")


# --- targets of other names


def test_a_target_of_another_name_is_mapped() -> None:
    burst = offer(row(HIGH, ("burst", *CELLS[0][1:])))
    comparison = verdicts.compare([offer(row(LOW)), burst], None, {"burst": "scratch"})
    assert [(str(cell.cell), cell.verdict) for cell in comparison.cells[0]] == [
        ("scratch/node/shared/create", CellVerdict.BETTER)
    ]


@pytest.mark.parametrize(
    ("targets", "message"),
    [
        ({"scratch": "home"}, "--map home=scratch: home is not a target of offer.json; allowed: scratch"),
        ({"home": "scratch"}, "--map scratch=home: home is not a target of any other offer; allowed: burst, scratch"),
        ({"burst": "scratch"}, "--map scratch=burst: offer.json already has a target scratch"),
    ],
)
def test_a_map_to_nothing_or_to_two_is_refused(targets: dict[str, str], message: str) -> None:
    two_targets = offer(row(LOW), row(LOW, ("burst", *CELLS[0][1:])))
    with pytest.raises(InputError) as caught:
        verdicts.compare([offer(row(LOW)), two_targets], None, targets)
    assert str(caught.value) == message


@pytest.mark.parametrize("words", [["scratch"], ["=a"], ["a="], ["a=b", "a=c"], ["a=b", "c=b"]])
def test_a_map_is_two_names_each_once(words: list[str]) -> None:
    with pytest.raises(InputError, match="--map"):
        parse_targets(words)


# --- acceptance


def test_a_commitment_is_reached_where_its_number_and_its_repetitions_are() -> None:
    assert compare_rows(row(LOW), row(LOW), FIVE_PERCENT).verdict is CellVerdict.WITHIN
    assert compare_rows(row(LOW), row(HIGH), FIVE_PERCENT).verdict is CellVerdict.BETTER


def test_a_commitment_is_missed_where_the_repetitions_show_it() -> None:
    cell = compare_rows(row(HIGH), row(LOW), FIVE_PERCENT)
    assert (cell.verdict, cell.fails) == (CellVerdict.BELOW, True)
    assert cell.reason == "reported value 91.30% of the commitment"
    lucky = compare_rows(row(HIGH), row((*LOW[:-1], 200.0)), FIVE_PERCENT)
    assert (lucky.verdict, lucky.reason) == (CellVerdict.BELOW, "repetitions show at most 93.69% of the commitment")


def test_repetitions_that_may_be_below_the_commitment_do_not_reach_it() -> None:
    wide = (80.0, 90.0, 100.0, 110.0, 120.0, 130.0)
    cell = compare_rows(row(wide), row(wide), FIVE_PERCENT)
    assert (cell.verdict, cell.fails) == (CellVerdict.UNTOLD, True)
    assert cell.reason.startswith("repetitions show only ")


def test_one_repetition_reaches_nothing_unless_the_reported_numbers_alone_decide() -> None:
    single = (row((100.0,)), row((99.0,)))
    assert (compare_rows(*single, FIVE_PERCENT).verdict, compare_rows(*single, FIVE_PERCENT).fails) == (
        CellVerdict.UNTOLD,
        True,
    )
    alone = compare_rows(*single, Terms(0.95, reported_alone=True))
    assert (alone.verdict, alone.fails) == (CellVerdict.WITHIN, False)
    assert compare_rows(row((100.0,)), row((94.9,)), Terms(0.95, reported_alone=True)).fails


@pytest.mark.parametrize("commitment", [gap("projected", value=103.0), row((103.0,)), row((103.0,), statistics=None)])
def test_a_commitment_that_is_one_number_is_held_against_the_repetitions(commitment: offers.Row) -> None:
    cell = compare_rows(commitment, row(LOW), FIVE_PERCENT)
    assert (cell.verdict, cell.fails) == (CellVerdict.WITHIN, False)
    assert cell.ratio == pytest.approx((102 * 103) ** 0.5 / 103)
    assert compare_rows(commitment, row([value * 0.9 for value in LOW]), FIVE_PERCENT).verdict is CellVerdict.BELOW


def test_where_the_lowest_is_the_best_a_time_may_be_longer_by_the_tolerance() -> None:
    def verdict_of(factor: float) -> CellVerdict:
        times = [1.0, 1.001, 1.002, 1.003, 1.004, 1.005]
        timed = {"best": "lowest", "unit": "s"}
        longer = [factor * time for time in times]
        return compare_rows(
            row(times, value=1.0, **timed), row(longer, value=min(longer), **timed), FIVE_PERCENT
        ).verdict

    assert [verdict_of(factor) for factor in (0.9, 1.04, 1.06)] == [
        CellVerdict.BETTER,
        CellVerdict.WITHIN,
        CellVerdict.BELOW,
    ]


@pytest.mark.parametrize("status", ["missing", "failed", "invalid", "declined", "projected"])
def test_what_was_committed_has_to_be_measured(status: str) -> None:
    number = {"value": 500.0} if status in ("invalid", "projected") else {}
    cell = compare_rows(row(LOW), gap(status, **number), FIVE_PERCENT)
    assert (cell.verdict, cell.fails) == (CellVerdict.NONE, True)


@pytest.mark.parametrize(("status", "fails"), [("missing", True), ("invalid", True), ("declined", False)])
def test_a_commitment_without_a_number_fails_unless_it_was_declined(status: str, fails: bool) -> None:
    assert compare_rows(gap(status), row(LOW), FIVE_PERCENT).fails == fails


def test_what_was_not_committed_need_not_be_reached_but_nothing_at_all_is_no_acceptance() -> None:
    further_comparison = verdicts.compare([offer(row(LOW)), offer(row(LOW), gap("missing", CELLS[1]))], FIVE_PERCENT)
    assert further_comparison.passed
    nothing = verdicts.compare([offer(gap("declined")), offer(row(LOW))], FIVE_PERCENT)
    assert not nothing.passed


@pytest.mark.parametrize(
    ("tolerance", "at_least", "factor"), [("5%", None, 0.95), ("0%", None, 1.0), (None, "0.9", 0.9), (None, "1", 1.0)]
)
def test_the_terms_of_an_acceptance(tolerance: str | None, at_least: str | None, factor: float) -> None:
    assert parse_terms(tolerance, at_least, False) == Terms(pytest.approx(factor))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("tolerance", "at_least", "by_reported"),
    [("5", None, False), ("100%", None, False), ("-1%", None, False), (None, "95", False), (None, "0", False),
     (None, ".9", False), (None, "nan", False), (None, None, True)],
)  # fmt: skip
def test_other_terms_are_refused(tolerance: str | None, at_least: str | None, by_reported: bool) -> None:
    with pytest.raises(InputError, match=r"--tolerance|--at-least|--reported"):
        parse_terms(tolerance, at_least, by_reported)


# --- forms


def everything() -> list[Any]:
    """Two offers with whatever can happen to a cell."""
    first = offer(
        row(LOW, CELLS[0]), row(HIGH, CELLS[1]), row(LOW, CELLS[2]), row((100.0,), CELLS[3]),
        gap("projected", CELLS[4], value=120.0), row(LOW, CELLS[5], unit="s", best="lowest"), gap("missing", CELLS[6]),
        source="first.json",
    )  # fmt: skip
    second = offer(
        row(HIGH, CELLS[0]), row(LOW, CELLS[1]), row(LOW[::-1], CELLS[2]), row((90.0,), CELLS[3]),
        row(LOW, CELLS[4]), row(HIGH, CELLS[5], unit="s", best="lowest"), gap("invalid", CELLS[6], value=7.0),
        row(LOW, CELLS[7]), source="second.json",
    )  # fmt: skip
    return [first, second]


def test_the_printed_comparison_of_two() -> None:
    builders.golden("compare.txt", text_of(verdicts.compare(everything()), "simple"))


def test_in_80_columns_each_result_has_its_value_and_its_verdict_on_one_line() -> None:
    comparison = verdicts.compare(everything())
    text = rendering.comparison_text(comparison, rendering.comparison_decision(comparison, ["A", "B"]), "simple", 80)
    builders.golden("compare-80.txt", text)
    assert max(map(len, text.splitlines())) <= 80
    lines = [line for line in text.splitlines() if re.match("scratch/.* (ops/s|s) ", line)]
    assert [line.split()[0] for line in lines] == ["/".join(cell) for cell in CELLS]
    assert all(line[-1] in "+-=?/" for line in lines)


def test_the_printed_comparison_of_three() -> None:
    builders.golden("compare-many.txt", text_of(verdicts.compare([*everything(), everything()[0]]), "simple"))


def test_the_printed_acceptance() -> None:
    builders.golden("compare-acceptance.txt", text_of(verdicts.compare(everything(), FIVE_PERCENT), "simple"))


def test_the_forms_agree_on_every_verdict() -> None:
    comparison = verdicts.compare(everything())
    from_csv = list(csv.DictReader(io.StringIO(rendering.comparison_csv(comparison))))
    from_json = json.loads(rendering.comparison_json(comparison, decision(comparison)))["offers"][1]["cells"]
    assert [line["verdict"] for line in from_csv] == [cell["verdict"] for cell in from_json]
    assert [line["verdict"] for line in from_csv] == [cell.verdict for cell in comparison.cells[0]]
    assert [line["ratio"] for line in from_csv] == [str(cell["ratio"] or "") for cell in from_json]
    assert [line["fails"] == "yes" for line in from_csv] == [cell["fails"] for cell in from_json]


@pytest.mark.parametrize("style", sorted(tabulate.tabulate_formats))
def test_every_format_of_tabulate_prints_every_cell(style: str) -> None:
    output = text_of(verdicts.compare(everything()), style)
    assert output.count("shared") >= 4


def test_a_formula_in_a_unit_is_text_to_a_spreadsheet() -> None:
    formula = row(LOW, unit="=1+1")
    assert ",'=1+1," in rendering.comparison_csv(verdicts.compare([offer(formula), offer(formula)]))


def test_markup_in_a_unit_or_a_name_is_text() -> None:
    wild = row(LOW, unit="<b>ops</b>")
    for style in ("html", "unsafehtml"):
        output = text_of(verdicts.compare([offer(wild, source="<script>a.json"), offer(wild)]), style)
        assert "<b>" not in output
        assert "<script>" not in output


def test_an_unknown_format_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(InputError, match=r"--format tabel: unknown format; allowed: .*, csv, json"):
        text_of(verdicts.compare(everything()), "tabel")


def test_the_best_median_is_marked_and_what_cannot_be_told_from_it() -> None:
    offers = [offer(row(values)) for values in (LOW, HIGH, (*LOW, 900.0), HIGH[::-1], (112.0,))]
    line = (
        text_of(verdicts.compare(offers), "plain").split("\nscratch/node/shared/create", 1)[1].splitlines()[0].split()
    )
    assert [word for word in line if word.strip("*°").isdigit()] == ["105", "*115", "900", "°115", "°112"]


def test_offers_have_letters() -> None:
    assert [offer_letter(place) for place in (0, 25, 26, 701, 702)] == ["A", "Z", "AA", "ZZ", "AAA"]


def test_the_summary_has_geometric_means_of_gains() -> None:
    first = offer(row((100.0,), CELLS[0]), row((100.0,), CELLS[1], best="lowest"))
    second = offer(row((200.0,), CELLS[0]), row((50.0,), CELLS[1], best="lowest"))
    (column,) = verdicts.compare([first, second]).cells
    summary = summarize_gains(column)
    assert summary.mean == pytest.approx(2)
    assert summary.by_operation == {"create": pytest.approx(2), "stat": pytest.approx(2)}
    assert summary.verdicts[CellVerdict.UNTOLD] == summary.compared == 2
    assert summary.interval is None


def test_the_mean_has_the_interval_of_the_repetitions_means() -> None:
    """Results of one run vary together: 8 cells that share their noise show no more than one of them."""
    first, second = (offer(*(row(values, cell) for cell in CELLS)) for values in (LOW, HIGH))
    (column,) = verdicts.compare([first, second]).cells
    summary = summarize_gains(column)
    assert summary.interval == (pytest.approx(column[0].low), pytest.approx(column[0].high))
    assert summary.over_sessions and summary.mean == pytest.approx(column[0].ratio)


# --- the verb


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    rows = {"low": row(LOW), "high": row(HIGH), "missing": gap("missing")}
    for name, one_row in rows.items():
        (tmp_path / f"{name}.json").write_text(json.dumps([one_row]))
    return {name: tmp_path / f"{name}.json" for name in rows}


@pytest.mark.parametrize(
    ("words", "status"),
    [
        (["low", "high"], OK),
        (["low", "low"], OK),
        (["high", "low"], INCOMPLETE),
        (["low", "missing"], INCOMPLETE),
        (["high", "low", "--tolerance", "5%"], INCOMPLETE),
        (["high", "low", "--tolerance", "15%"], OK),
        (["high", "low", "--at-least", "0.85"], OK),
        (["low", "high", "low", "--tolerance", "15%"], OK),
        (["low"], USAGE),
        (["low", "absent"], USAGE),
        (["low", "high", "--reported"], USAGE),
        (["low", "high", "--map", "scratch=burst"], USAGE),
    ],
)
def test_the_exit_status_says_how_it_came_out(
    files: dict[str, Path], words: list[str], status: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compare", *(str(files.get(word, word)) for word in words)]) == status
    assert bool(capsys.readouterr().err) == (status == USAGE)


def test_the_output_goes_where_it_is_told(files: dict[str, Path], tmp_path: Path) -> None:
    out = tmp_path / "out.csv"
    words = ["compare", str(files["low"]), str(files["high"]), "--format", "csv", "-o", str(out)]
    assert main(words) == OK
    assert out.read_text().startswith("target,launch,files,operation,unit")


@pytest.mark.parametrize(("number", "is_named"), [("127264411", True), ("127264412", False)])
def test_numbers_that_a_spreadsheet_multiplied_are_named(
    number: str, is_named: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, value in (("a.csv", "127264.411"), ("b.csv", number)):
        (tmp_path / name).write_text(f"target,launch,files,operation,value\nscratch,node,unique,stat,{value}\n")
    main(["compare", str(tmp_path / "a.csv"), str(tmp_path / "b.csv"), "--format", "json"])
    assert ("1 cell: exactly 1,000 times the first's: a spreadsheet" in capsys.readouterr().out) == is_named


def test_geometric_means_are_of_actual_rates() -> None:
    """Twice the processes double what a formula counts, and nothing else."""
    low, high = [100.0, 101.0, 102.0, 103.0], [200.0, 202.0, 204.0, 206.0]
    first = offer(row(low, true_value=103.0 / 8), row(low, CELLS[1]))
    comparison = verdicts.compare([first, offer(row(high, true_value=206.0 / 16), row(low, CELLS[1]))])
    inflated, honest = comparison.cells[0]
    assert inflated.ratio == pytest.approx(2)
    assert inflated.gain == pytest.approx(1)
    assert honest.gain == pytest.approx(1)
    assert summarize_gains(comparison.cells[0]).mean == pytest.approx(1)
    message = text_of(comparison, "simple")
    assert "Geometric means use actual rates" in " ".join(message.split())
