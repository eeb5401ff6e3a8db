"""Formulas of operations that name numbers of other launch conditions and repetitions."""

from __future__ import annotations

from pathlib import Path

import pytest

from campaign.config.rules import packs
from campaign.config.rules.pack import settle, unfold
from campaign.core.errors import InputError

PACK = """id: solve
version: 1
title: A solver
document: D
caption: C
applet: solver
arguments: "{size} {flags}"
variables: [{id: size, full: "1000", rehearsal: "10", clause: "1"}]
launch:
  - {id: one-core, title: One, clause: "1", processes: 1, nodes: 1}
  - {id: scale, title: "Nodes: {nodes}", clause: "1", nodes: powers of two, processes_per_node: 4}
files: [{id: all, title: T, clause: "1"}]
operations:
  - {id: time-step, title: Time, record: time, unit: s}
  - {id: speed, title: Speed, formula: 1 / time_step, unit: 1/s}
  - {id: total, title: Total, FORMULA, unit: x}
results:
  format: text
  facts: {program: "(solver .*)"}
  records: [{name: time, unit: s, pattern: "time (?P<value>.*)"}]
selection: {operation: time-step, best: lowest, clause: "1"}
"""


def load(tmp_path: Path, formula: str, **changes: str) -> packs.RulePack:
    text = PACK.replace("FORMULA", formula if ":" in formula else f'formula: "{formula}"')
    for old, new in changes.items():
        text = text.replace(old.replace("_", "-"), new)
    file = tmp_path / "solve.yaml"
    file.write_text(text)
    return packs.load(file)


@pytest.mark.parametrize(
    ("formula", "conditions"),
    [
        ("speed / speed@one_core", ("scale-1", "scale-2", "scale-4")),
        ("speed / (nodes / nodes@scale_1 * speed@scale_1)", ("one-core", "scale-2", "scale-4")),
        ("speed@one_core / time_step@scale_1 * speed", ("scale-2", "scale-4")),
        ("max(speed)", ()),
        ("harmean(time_step) / mean(time_step@one_core) / size", ("scale-1", "scale-2", "scale-4")),
    ],
)
def test_an_operation_is_in_all_launch_conditions_but_those_that_it_names(
    formula: str, conditions: tuple[str, ...], tmp_path: Path
) -> None:
    settled = settle(unfold(load(tmp_path, formula), {"scale": 4}), "full", {}, {})
    total = settled.operations[-1]
    assert (total.id, total.launch, total.is_across_executions) == ("total", conditions, True)
    assert [operation.is_across_executions for operation in settled.operations[:2]] == [False, False]
    assert settled.deciding_operation("scale-4").id == "time-step"


@pytest.mark.parametrize(
    ("formula", "expected"),
    [
        ("speed / speed@two", "found two; allowed: one_core, scale_1"),
        ("speed / speed@scale_2", "found scale_2; did you mean scale_1?"),
        ("speed / fast@one_core", "found fast; allowed: time_step, speed, processes, nodes"),
        ("speed / size@one_core", "found size; allowed: time_step, speed, processes"),
        ("mean(nodes) * speed", "found nodes; allowed: time_step, speed\n"),
        ("speed@one_core / speed@scale_1", "uses no result; allowed: time_step, speed"),
        ("speed @ one_core", "is not arithmetic; allowed: "),
        ("printed: s, record: time, formula: value / value@one_core", "not allowed beside `record`"),
    ],
)
def test_an_error_says_what_may_be_named(formula: str, expected: str, tmp_path: Path) -> None:
    with pytest.raises(InputError) as error:
        load(tmp_path, formula)
    assert expected in f"{error.value}\n"


def test_no_operation_is_computed_from_one_that_is_computed_across_executions(tmp_path: Path) -> None:
    further_text = "unit: x}\n  - {id: more, title: More, formula: total / 2, unit: x}\nresults"
    with pytest.raises(InputError, match=r"operations\[3\].formula: found total; allowed: time_step, speed"):
        load(tmp_path, "max(speed)", **{"unit: x}\nresults": further_text})


def test_it_selects_no_run(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="found total, computed from several executions; allowed: a result of one"):
        load(tmp_path, "max(speed)", **{"operation: time-step": "operation: total"})
