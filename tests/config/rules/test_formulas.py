"""Formulas of operations that name numbers of other launch conditions and repetitions."""

from __future__ import annotations

from pathlib import Path

import pytest

from campaign.config.rules import packs
from campaign.config.rules.pack import settle, unfold
from campaign.core.errors import InputError
from campaign.core.formula import names as formula_names
from campaign.results.case import is_member

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


BOTH = ("all", "some")
TWO_FILES = """clause: "1"}, {id: some, title: S, clause: "1"}]\noper"""


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
    settled = settle(unfold(load(tmp_path, formula), {"scale": (1, 2, 4)}), "full", {}, {})
    total = settled.operations[-1]
    assert (total.id, total.launch, total.is_across_executions) == ("total", conditions, True)
    assert [operation.is_across_executions for operation in settled.operations[:2]] == [False, False]
    assert settled.deciding_operation("scale-4").id == "time-step"


@pytest.mark.parametrize(
    ("formula", "conditions", "files"),
    [
        ("max(speed over scale)", ("scale-4",), BOTH),
        ("speed / max(speed over scale)", (), BOTH),
        ("max(speed over scale) / speed@one_core", ("scale-4",), BOTH),
        ("speed@scale_1 / min(speed over scale)", ("scale-4",), BOTH),
        ("geomean(speed over files)", (), ("some",)),
        ("speed / speed@files.all", (), ("some",)),
        ("max(speed over scale) / max(speed over files)", ("scale-4",), ("some",)),
        ("trimmed_mean(speed)", (), BOTH),
    ],
)
def test_a_formula_over_a_set_is_in_the_last_line_of_it_unless_it_has_a_number_of_its_own(
    formula: str, conditions: tuple[str, ...], files: tuple[str, ...], tmp_path: Path
) -> None:
    pack = load(tmp_path, formula, **{'clause: "1"}]\noper': TWO_FILES})
    settled = settle(unfold(pack, {"scale": (1, 2, 4)}), "full", {}, {})
    total = settled.operations[-1]
    assert (total.launch, total.files or BOTH, total.is_across_executions) == (conditions, files, True)
    assert {cell.files for cell in settled.cells(["t"]) if cell.operation == "total"} == {*files}


def swept_pack(tmp_path: Path, formula: str) -> packs.RulePack:
    rates = "unit: s}\n  - {id: 'rate-{width}', title: R, record: 'rate-{width}', unit: s}\n  - {id: speed"
    records = "".join(f"{{name: rate-{width}, unit: s, pattern: '{width} (?P<value>.*)'}}, " for width in (1, 8))
    swept = {"launch:": "sweeps: [{id: width, values: '1,8'}]\nlaunch:", "{size}": "{size} {width}"}
    changes = {"unit: s}\n  - {id: speed": rates, "records: [": f"records: [{records}", **swept}
    return load(tmp_path, formula, **changes)


def test_a_formula_over_a_sweep_is_of_one_execution(tmp_path: Path) -> None:
    operations = settle(swept_pack(tmp_path, "max(rate_{width} over width)"), "full", {}, {}).operations
    assert [operation.id for operation in operations if is_member(operation, operations[-1].formula[4:-1])] == []
    (name,) = formula_names(operations[-1].formula)
    assert [operation.id for operation in operations if is_member(operation, name)] == ["rate-1", "rate-8"]
    assert not operations[-1].is_across_executions


def test_an_operation_of_several_executions_has_no_sweep_of_one(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="found width; allowed: scale, files"):
        swept_pack(tmp_path, "max(rate_{width} over width) / max(speed over scale)")
    with pytest.raises(InputError, match=r"found \{width\}; allowed: sweeps that the id contains"):
        swept_pack(tmp_path, "max(rate_{width} over width) / rate_{width}")


@pytest.mark.parametrize(
    ("formula", "expected"),
    [
        ("max(speed over width)", "found width; allowed: scale, files"),
        ("max(nodes over scale) * speed", "found nodes; allowed: time_step, speed"),
        ("max(fast over scale)", "found fast; allowed: time_step, speed\n"),
        ("speed / speed@files.none", "found files.none; allowed: one_core, scale_1, files.all"),
        ("max(speed over scale) / speed over scale", "'speed over scale' is several numbers"),
        ("speed / speed@two", "found two; allowed: one_core, scale_1"),
        ("speed / speed@scale_2", "found scale_2; did you mean scale_1?"),
        ("speed / fast@one_core", "found fast; allowed: time_step, speed, processes, nodes"),
        ("speed / size@one_core", "found size; allowed: time_step, speed, processes"),
        ("mean(nodes) * speed", "found nodes; allowed: time_step, speed\n"),
        ("speed@one_core / speed@scale_1", "uses no result; allowed: time_step, speed"),
        ("speed @ one_core", "is not arithmetic; allowed: "),
        ("printed: s, record: time, formula: value / value@one_core", "not allowed with `record`"),
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
