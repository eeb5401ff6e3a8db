"""Conditions of a pack's `requires`: which names they may have, and which rule judges them."""

from __future__ import annotations

from pathlib import Path

import pytest

from campaign.config.rules import packs
from campaign.core import resources
from campaign.core.errors import InputError

PACK = """id: solve
version: 1
title: A solver
document: D
caption: C
applet: solver
arguments: "{size} {flags}"
variables: [{id: size, full: "1000", rehearsal: "10", clause: "1"}]
launch: [{id: node, title: One node, clause: "1", nodes: 1}]
files: [{id: all, title: T, clause: "1"}]
operations:
  - {id: time-step, title: Time, record: time, unit: s}
  - {id: speed, title: Speed, formula: 1 / time_step, unit: 1/s}
  - {id: average, title: Mean, formula: mean(speed), unit: 1/s}
results:
  format: text
  facts: {program: "(solver .*)", size: "size (.*)"}
  records:
    - {name: time, unit: s, pattern: "time (?P<value>.*)"}
    - {name: "residual-{of}", unit: "1", pattern: "residual (?P<of>[a-z]+) (?P<value>.*)"}
selection: {operation: time-step, best: lowest, clause: "1"}
requires: [REQUIRES]
checks: {RULES}
"""


def errors(tmp_path: Path, requires: str, rules: str = 'RES-01: "3"') -> str:
    """What is wrong with the pack; "" for nothing."""
    file = tmp_path / "solve.yaml"
    file.write_text(PACK.replace("REQUIRES", requires).replace("RULES", rules))
    try:
        pack = packs.load(file)
    except InputError as error:
        return str(error)
    judging_rules = {pack.judging_rule(entry) for entry in pack.requires}
    assert judging_rules == set(pack.checks)
    return ""


@pytest.mark.parametrize(
    "holds", ["residual_x <= 1e-8", "time_step < 19", "speed > 5% * time", "size == {size}", "time <= 3 * {nodes}"]
)
def test_a_condition_may_name_operations_records_facts_and_planned_values(holds: str, tmp_path: Path) -> None:
    assert errors(tmp_path, f'{{holds: "{holds}", clause: "3"}}') == ""


def test_a_condition_on_planned_and_recorded_sizes_is_not_one_on_results(tmp_path: Path) -> None:
    assert errors(tmp_path, '{holds: nodes >= 1, clause: "3"}', 'GEO-05: "3"') == ""


def test_a_condition_over_repetitions_or_nodes_names_operations_as_those_of_several(tmp_path: Path) -> None:
    holds = '{holds: "max(time_step) - min(time_step) <= 5% * mean(time_step)", clause: "3", over: nodes}'
    assert errors(tmp_path, holds, 'RES-02: "3"') == ""


def test_a_condition_on_a_number_of_several_executions_is_judged_by_the_rule_of_several(tmp_path: Path) -> None:
    assert errors(tmp_path, '{holds: average >= 2 * speed, clause: "3", full_size: true}', 'RES-02: "3"') == ""


def test_a_misspelt_over_is_the_only_error(tmp_path: Path) -> None:
    messages = errors(tmp_path, '{holds: max(speed) <= 2, clause: "3", over: repetition}', 'RES-02: "3"')
    assert "over: found repetition; allowed: repetitions or nodes" in messages
    assert len(messages.splitlines()) == 1


@pytest.mark.parametrize(
    ("holds", "expected"),
    [
        ("total_2_8 >= 3 * fall_4_1", ""),
        ("pair_1_1 <= total_1_1", ""),
        ("latency <= 3", "found latency; allowed: "),
        ("latency <= 3", "total_{pairs}_{size}"),
    ],
)
def test_records_of_a_built_in_program_with_a_description_may_be_named(
    holds: str, expected: str, tmp_path: Path
) -> None:
    text = (resources.PACKS / "network-contention.yaml").read_text()
    file = tmp_path / "network-contention.yaml"
    requires = f'requires: [{{holds: "{holds}", clause: practice}}]\nchecks:\n  RES-01: practice\n'
    file.write_text(text.replace("\nchecks:\n", f"\n{requires}"))
    if not expected:
        assert packs.load(file).requires
        return
    with pytest.raises(InputError) as error:
        packs.load(file)
    assert expected in str(error.value)


@pytest.mark.parametrize(
    ("requires", "expected"),
    [
        ('{holds: max(speed) <= 1, clause: "3"}', "found max(speed); allowed: with `over: repetitions`"),
        ('{holds: max(loss) <= 1, clause: "3", over: nodes}', "found loss; allowed: time_step, speed"),
        ('{holds: speed <= max(speed), clause: "3", over: nodes}', "found speed; allowed: "),
        ('{holds: nodes >= 2, clause: "3", over: nodes}', "from several results, such as max(fom)"),
        (
            '{holds: max(speed) <= 1, clause: "3", over: nodes, if_printed: true}',
            "not allowed beside `over`; remove it",
        ),
        ('{holds: loss <= 1, clause: "3"}', "found loss; allowed: "),
        ('{holds: max(average) <= 1, clause: "3", over: nodes}', "found average; allowed: time_step, speed"),
        ('{holds: average <= time, clause: "3"}', "found time; "),
        (
            '{holds: average <= 1, clause: "3", if_printed: true}',
            "not allowed in a condition on numbers of several executions; remove it",
        ),
        ('{holds: "size == {loss}", clause: "3"}', "found loss; allowed: processes, nodes"),
        ('{holds: size ~ 1, clause: "3"}', "two formulas with >=, <=, ==, < or > between them"),
        ('{holds: time <= moved, clause: "3"}', "found moved together with results; write two conditions"),
        ('{holds: nodes >= 1, clause: "3"}', "conditions on sizes and counts in `requires` and GEO-05 among `checks`"),
        ('{holds: nodes >= 1, clause: "3", explain: true}', "not allowed in a condition on sizes and counts"),
        ("", "conditions on results in `requires` and RES-01 among `checks`, or neither"),
    ],
)
def test_an_error_says_what_is_allowed(requires: str, expected: str, tmp_path: Path) -> None:
    assert expected in errors(tmp_path, requires)


def test_conditions_are_checked_where_the_section_energy_cannot_be_read(tmp_path: Path) -> None:
    file = tmp_path / "solve.yaml"
    text = PACK.replace("REQUIRES", '{holds: nodes >= 1, clause: "3"}').replace("RULES", 'GEO-05: "3"')
    file.write_text(f"{text}energy: [joules]\n")
    with pytest.raises(InputError, match="energy: found a list"):
        packs.load(file)
