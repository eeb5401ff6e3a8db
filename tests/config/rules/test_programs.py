"""Packs of several programs and phases, and operations that a formula computes: what is read, and what is refused."""

from __future__ import annotations

import functools
from dataclasses import replace
from pathlib import Path

import pytest

from campaign.config.rules import packs, programs, text
from campaign.config.rules.pack import RulePack, settle
from campaign.core.errors import InputError
from campaign.core.runs import Geometry, Input, Run
from campaign.plan import matrix
from tests.support import builders

PACK = """id: small
version: 1
title: A small pack
document: The document
caption: Table
programs:
  - {id: ior}
  - {id: mdtest}
phases:
  - {id: config, clause: "1", write: "{directory}/input", text: "size = 1"}
  - {id: later, clause: "1", program: ior, arguments: "-w -k -o {directory}/data {flags}"}
  - {id: apart, clause: "1", program: ior, nodes: other, arguments: "-r -o {directory}/data"}
  - {id: purge, clause: "1", remove: "{directory}/data"}
  - {id: files, clause: "2", program: mdtest, arguments: "-n 8 -d {directory}/md"}
launch: [{id: one, title: One, clause: "1"}]
files: [{id: all, title: All, clause: "1", flags: [-F]}]
operations:
  - {id: write, phase: later, record: write, title: Write, unit: MiB/s}
  - {id: read, phase: apart, record: read, formula: value / 1024, printed: MiB/s, title: Read, unit: GiB/s}
  - {id: per-node, formula: (write + read) / nodes, title: Both, unit: MiB/s}
selection: {operation: per-node, best: highest, clause: "1"}
"""


def read(tmp_path: Path, *changes: tuple[str, str]) -> RulePack:
    pack_text = PACK
    for old, new in changes:
        assert old in pack_text
        pack_text = pack_text.replace(old, new, 1)
    path = tmp_path / "small.yaml"
    path.write_text(pack_text)
    return packs.load(path)


ONE = """id: small
version: 1
title: A small pack
document: The document
caption: Table
applet: my_solver
arguments: "-w --size=8 {flags}"
launch: [{id: one, title: One, clause: "1"}]
files: [{id: all, title: All, clause: "1", flags: [-F]}]
operations: [{id: write, record: write, title: Write, unit: MiB/s}]
results: {format: keyvalue, records: [{name: write, value: write, unit: MiB/s}]}
selection: {operation: write, best: highest, clause: "1"}
"""
RUN = "phases: [{id: run, clause: '1', program: my_solver, arguments: "
CHANGES = {
    "applet: my_solver": "programs: [{id: my_solver}]",
    "arguments: ": RUN,
    '{flags}"': '{flags}"}]',
    "record: write, title": "record: write, phase: run, title",
}
PHASED = functools.reduce(lambda text, change: text.replace(*change), CHANGES.items(), ONE)


@pytest.mark.parametrize("text", [ONE, PHASED])
def test_one_phase_in_either_form_has_the_same_flags_and_program(tmp_path: Path, text: str) -> None:
    path = tmp_path / "small.yaml"
    path.write_text(text)
    pack = packs.load(path)
    assert [program.id for program in pack.programs] == ["my_solver"]
    assert [flag.flag for flag in pack.fixed] == ["-w", "--size"]
    assert pack.arguments == ("-w", "--size=8", "{flags}")


def test_phases_keep_their_order_and_all_their_flags_are_mandatory(tmp_path: Path) -> None:
    pack = read(tmp_path)
    assert [(phase.id, phase.program, phase.nodes) for phase in pack.phases] == [
        ("config", "", "same"), ("later", "ior", "same"), ("apart", "ior", "other"), ("purge", "", "same"),
        ("files", "mdtest", "same"),
    ]  # fmt: skip
    assert pack.phases[0].arguments == ("{directory}/input", "size = 1")
    assert [flag.flag for flag in pack.phases[1].fixed] == ["-w", "-k", "-o"]
    applets = [(phase, form.applet) for phase, form in pack.outputs.items()]
    assert applets == [("later", "ior"), ("apart", "ior"), ("files", "mdtest")]


TWO_CONDITIONS = (
    ('launch: [{id: one, title: One, clause: "1"}]', 'launch: [{id: one, title: One, clause: "1"}, '
     '{id: two, title: Two, clause: "1"}]'),
    ("{id: apart, ", "{id: apart, launch: [two], "),
)  # fmt: skip


def test_a_computed_operation_is_of_the_launch_conditions_that_measure_all_its_parts(tmp_path: Path) -> None:
    pack = settle(read(tmp_path, *TWO_CONDITIONS), "full", {"one": Geometry(2, 2), "two": Geometry(2, 2)}, {})
    assert {launch: [operation.id for operation in pack.operations_of(launch)] for launch in ("one", "two")} == {
        "one": ["write"], "two": ["write", "read", "per-node"],
    }  # fmt: skip
    assert pack.deciding_operation("one").id == "write"


def test_a_computed_operation_whose_parts_are_never_measured_together_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        read(tmp_path, *TWO_CONDITIONS, ("{id: later, ", "{id: later, launch: [one], "))
    assert caught.value.problems == (
        f"{tmp_path}/small.yaml:20:29: operations[2].formula: no launch condition measures all results of the "
        "formula; use results of phases that run under the same one",
    )


RESULTS = """results:
  format: text
  records: [{name: "{kernel}-{class}", pattern: "(?P<kernel>[a-z]+): (?P<value>[0-9]+)", unit: s}]
  facts: {class: "class ([A-Z])"}
selection:"""


def test_programs_without_results_of_their_own_have_those_of_the_pack(tmp_path: Path) -> None:
    solver = ("  - {id: mdtest}\n", "  - {id: mdtest}\n  - {id: ep}\n  - {id: cg}\n")
    own_phases = (
        '{id: ep, clause: "2", program: ep, arguments: "1"}\n  - {id: cg, clause: "2", program: cg, arguments: "1"}\n'
    )
    phases = ('{id: files, clause: "2"', own_phases + '  - {id: files, clause: "2"')
    operation_change = ("operations:\n", "operations:\n  - {id: ep, phase: ep, record: ep-a, title: EP, unit: s}\n")
    pack = read(tmp_path, solver, phases, operation_change, ("selection:", RESULTS))
    forms = [program.results for program in pack.programs]
    assert [form and form.records[0].name for form in forms] == [None, None, "{kernel}-{class}", "{kernel}-{class}"]
    with pytest.raises(InputError, match=r"results: no operation uses these results"):
        read(tmp_path, ("selection:", RESULTS))


RAW = r"""variable x index 1 # ${x} {{x}} {"nx": 4} {directory} {= 1 +}"""


def test_a_raw_text_reaches_the_file_and_the_readers_as_it_is_written(tmp_path: Path) -> None:
    pack = read(tmp_path, ('text: "size = 1"}', f"text: '{RAW}', raw: true}}"))
    run = planned_run(tmp_path, Geometry(2, 2), ('text: "size = 1"}', f"text: '{RAW}', raw: true}}"))
    assert run.commands[0].words("/there") == ("campaign_write", "/there/input", RAW)
    assert RAW in text.text(pack, width=300)


@pytest.mark.parametrize("phase_text", ["${x}", "{{x}}"])
def test_in_a_text_that_is_not_raw_an_unknown_name_in_braces_is_refused(tmp_path: Path, phase_text: str) -> None:
    with pytest.raises(InputError, match=r"phases\[0\]\.text: found \{x\}"):
        read(tmp_path, ("size = 1", phase_text))


def test_raw_belongs_to_a_text(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"phases\[1\]\.raw: give exactly one of: `program`"):
        read(tmp_path, ('program: ior, arguments: "-w', 'raw: true, program: ior, arguments: "-w'))


COUNTS = ('clause: "1", program: ior, arg', 'clause: "1", nodes: nodes / 2, processes: 3, program: ior, arg')
SIZED = ("-w -k -o {directory}/data {flags}", "-w -k -b {= processes * 4} -o {directory}/{nodes} {flags}")


def planned_run(tmp_path: Path, geometry: Geometry, *changes: tuple[str, str]) -> Run:
    settled_pack = settle(read(tmp_path, *changes), "full", {"one": geometry}, {})
    campaign = replace(builders.campaign(), rules=str(tmp_path / "small.yaml"), items_total=None)
    executables = {name: matrix.Executable(f"/opt/{name}") for name in ("ior", "mdtest")}
    return matrix.expand(campaign, settled_pack, {"one": geometry}, executables)[0]


def test_a_phase_with_counts_of_its_own_has_them_in_its_words_and_on_the_first_nodes(tmp_path: Path) -> None:
    run = planned_run(tmp_path, Geometry(4, 16), COUNTS, SIZED)
    first_command, second_command = run.commands[1:3]
    assert (first_command.geometry, first_command.first_node, first_command.arguments) == (
        Geometry(2, 3), 0, ("-w", "-k", "-b", "12", "-o", "{directory}/2", "-F")
    )  # fmt: skip
    assert (second_command.geometry, second_command.first_node, run.job_nodes) == (None, 4, 8)
    assert "with nodes / 2 nodes and 3 processes" in text.text(read(tmp_path, COUNTS), width=300)


def test_a_phase_without_a_process_count_has_as_many_on_each_node_as_the_launch_condition(tmp_path: Path) -> None:
    change = (COUNTS[0], COUNTS[1].replace("nodes / 2, processes: 3", "1"))
    assert planned_run(tmp_path, Geometry(4, 16), change).commands[1].geometry == Geometry(1, 4)


def test_other_counts_of_a_phase_are_other_runs(tmp_path: Path) -> None:
    first = planned_run(tmp_path, Geometry(4, 16), COUNTS)
    second = planned_run(tmp_path, Geometry(4, 16), (COUNTS[0], COUNTS[1].replace("3", "4")))
    assert first.fingerprint != second.fingerprint


@pytest.mark.parametrize("counts", ["nodes: 8", "nodes: 2, processes: 1", "nodes: nodes - 4"])
def test_counts_that_do_not_fit_the_launch_condition_are_refused(tmp_path: Path, counts: str) -> None:
    change = (COUNTS[0], COUNTS[1].replace("nodes: nodes / 2, processes: 3", counts))
    with pytest.raises(InputError, match=r"phase later: [0-9]+ processes on [0-9]+ nodes; allowed: 1 to 4 nodes"):
        planned_run(tmp_path, Geometry(4, 16), change)


HALF = ('"1", program: ior, arguments: "-w', '"1", nodes: nodes / 2, program: ior, arguments: "-w')
BESIDE = ("nodes: other, arg", "nodes: 1, processes: 2, beside: later, arg")


def test_phases_that_start_together_are_on_nodes_behind_each_other(tmp_path: Path) -> None:
    load_phase = (
        "  - {id: purge",
        '  - {id: load, clause: "1", beside: later, nodes: 1, program: ior, arguments: "-w"}\n  - {id: purge',
    )
    run = planned_run(tmp_path, Geometry(4, 16), HALF, BESIDE, load_phase)
    assert [(command.phase, command.first_node, command.geometry) for command in run.commands[1:4]] == [
        ("later", 0, Geometry(2, 8)), ("apart", 2, Geometry(1, 2)), ("load", 3, Geometry(1, 4)),
    ]  # fmt: skip
    assert [[command.phase for command in group] for group in run.simultaneous_commands] == [
        ["config"], ["later", "apart", "load"], ["purge"], ["files"]
    ]  # fmt: skip
    assert run.job_nodes == 4
    assert "at the same time as later" in text.text(read(tmp_path, HALF, BESIDE), width=300)


def test_a_phase_on_other_nodes_starts_together_with_one_on_all_nodes_of_the_launch_condition(tmp_path: Path) -> None:
    run = planned_run(tmp_path, Geometry(4, 16), ("nodes: other", "nodes: other, beside: later"))
    assert [(command.beside, command.first_node) for command in run.commands[1:3]] == [(False, 0), (True, 4)]
    assert run.job_nodes == 8


def test_phases_that_start_together_are_another_run_than_one_after_another(tmp_path: Path) -> None:
    sequential, together = (
        planned_run(tmp_path, Geometry(4, 16), ("nodes: other", f"nodes: other{suffix}")).fingerprint
        for suffix in ("", ", beside: later")
    )
    assert sequential != together


def test_phases_that_start_together_must_fit_the_launch_condition(tmp_path: Path) -> None:
    expected = (
        "apart: needs 5 nodes together with the phases that start with it; allowed: 4, the nodes of launch condition"
    )
    with pytest.raises(InputError, match=expected):
        planned_run(tmp_path, Geometry(4, 16), HALF, ("nodes: other", "nodes: 3, beside: later"))


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (("nodes: other", "nodes: other, beside: files"), r"\[2\]\.beside: found files; allowed: the phase before it"),
        (("nodes: other", "nodes: other, beside: config"), r"\[2\]\.beside: found config; allowed"),
        (("program: mdtest, arg", "nodes: 1, beside: apart, program: mdtest, arg"), r"\[4\]\.beside: found apart"),
        (("nodes: other", "beside: later"), r"\[2\].*starts together with later, on its own nodes"),
        (("nodes: other", "nodes: 1, beside: later"), r"\[2\].*on its own nodes; allowed: a number"),
        (("nodes: other", "nodes: other, beside: later, launch: [one]"), r"launch: it starts together with later, whi"),
        (('"{directory}/data"}', '"{directory}/data", beside: apart}'), r"\[3\]\.beside: give exactly one of"),
        (('arguments: "-r', 'arguments: "beside=x'), r"\[2\]\.arguments: found beside=x; allowed: words that"),
    ],
)  # fmt: skip
def test_phases_that_cannot_start_together_are_refused(tmp_path: Path, change: tuple[str, str], problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        read(tmp_path, change)


COPIES = (
    'clause: "2", program: mdtest, arguments: "',
    'clause: "2", copies: fill, processes: 2, nodes: 1, program: mdtest, arguments: "-d {directory}/{copy} ',
)
OF_COPIES = (
    "selection:",
    "  - {id: min, phase: files, record: create, formula: FORMULA, printed: 1/s, unit: 1/s, title: x}\nselection:",
)


def test_copies_fill_the_launch_condition_on_blocks_of_nodes(tmp_path: Path) -> None:
    run = planned_run(tmp_path, Geometry(2, 8), COPIES)
    copies = [(command.phase, command.first_node, command.beside, command.arguments[1]) for command in run.commands[4:]]
    assert copies == [
        ("files.1", 0, False, "{directory}/1"), ("files.2", 0, True, "{directory}/2"),
        ("files.3", 1, True, "{directory}/3"), ("files.4", 1, True, "{directory}/4"),
    ]  # fmt: skip
    assert {command.geometry for command in run.commands[4:]} == {Geometry(1, 2)}
    assert "in as many copies as there is room for" in text.text(read(tmp_path, COPIES), width=300)


def test_fewer_copies_than_there_is_room_for_are_spread_over_the_nodes(tmp_path: Path) -> None:
    run = planned_run(tmp_path, Geometry(4, 16), COPIES, ("copies: fill", "copies: nodes / 2"))
    assert [(command.phase, command.first_node) for command in run.commands[4:]] == [("files.1", 0), ("files.2", 2)]


def test_more_copies_than_there_is_room_for_are_refused(tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match=r"phase files: 5 copies of 1x2; allowed: 1 to 4, for which the launch condition"
    ):
        planned_run(tmp_path, Geometry(2, 8), COPIES, ("copies: fill", "copies: 5"))


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ([COPIES, (OF_COPIES[0], OF_COPIES[1].replace("formula: FORMULA, printed: 1/s, ", ""))],
         r"operations\[3\]\.formula: required key missing: phase files has copies; allowed: a formula such as min\(v"),
        ([(OF_COPIES[0], OF_COPIES[1].replace("FORMULA", "min(value over copies)"))], "found copies"),
        ([COPIES, ("copies: fill", "copies: fill, beside: purge")], r"copies: found fill with `beside`; remove one"),
        ([COPIES, ("copies: fill, ", "")], r"arguments: found \{copy\}; allowed"),
        ([('remove: "{directory}/data"', 'copies: "2", remove: "{directory}/data"')], "give exactly one of"),
    ],
)  # fmt: skip
def test_copies_that_cannot_be_are_refused(tmp_path: Path, changes: list[tuple[str, str]], problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        read(tmp_path, *changes)


@pytest.mark.parametrize("formula", ["min(value over copies)", "3600 * count(value over copies) / makespan"])
def test_a_result_may_be_computed_of_all_copies_and_of_their_time(tmp_path: Path, formula: str) -> None:
    pack = read(tmp_path, COPIES, (OF_COPIES[0], OF_COPIES[1].replace("FORMULA", formula)))
    assert not pack.operations[-1].is_across_executions


INPUT = ("phases:\n", f'inputs: [{{id: box, sha256: {"a" * 64}, clause: "1"}}]\nphases:\n')


def test_a_phase_writes_the_path_of_an_input_or_copies_it(tmp_path: Path) -> None:
    also = (
        'text: "size = 1"}',
        'text: "read {box}"}\n  - {id: copy, clause: "1", write: "{directory}/in", input: box}',
    )
    settled_pack = settle(read(tmp_path, INPUT, also), "full", {"one": Geometry(2, 2)}, {})
    campaign = replace(builders.campaign(), items_total=None, inputs=(Input("box", "/work/the box"),))
    executables = {name: matrix.Executable(f"/opt/{name}") for name in ("ior", "mdtest")}
    run = matrix.expand(campaign, settled_pack, {"one": Geometry(2, 2)}, executables)[0]
    assert [command.words("/there") for command in run.commands[:2]] == [
        ("campaign_write", "/there/input", "read /work/the box"),
        ("campaign_copy", "/there/in", "/work/the box"),
    ]
    assert "copy {directory}/in {box}" in text.text(settled_pack, width=300)


@pytest.mark.parametrize(
    ("phase_text", "problem"),
    [
        ("input: bx", r"phases\[0\]\.input: found bx; did you mean box"),
        ("text: a, input: box", r"phases\[0\]\.text: found both `text` and `input`; remove one"),
    ],
)
def test_a_copy_is_of_an_input_and_of_nothing_else(tmp_path: Path, phase_text: str, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        read(tmp_path, INPUT, ('text: "size = 1"', phase_text))


def test_a_phase_by_itself_is_a_pack_for_one_program(tmp_path: Path) -> None:
    part = read(tmp_path).of_phase["apart"]
    assert (part.outputs, part.phases[0].id) == ({"": programs.built_in_format("ior")}, "")
    assert [(operation.id, operation.key) for operation in part.operations] == [("read", "read")]


REFUSED = {
    ('purge, clause: "1",', 'purge, clause: "1", processes: 1,'): "phases[3].processes: give exactly one of: `program`",
    ("program: ior, arguments: \"-w", "program: ior, nodes: core, arguments: \"-w"): "phases[1].nodes: found core; did",
    ("program: mdtest, arguments: \"-n 8", "program: mdtest, processes: 1, arguments: \"-n {items_per_process}"):
        "phases[4].arguments: the phase has its own `processes`, but the items in its command line",
    ("  - {id: mdtest}\n", ""): "phases[4].program: found mdtest; allowed: ior",
    ("  - {id: ior}\n", "  - {id: ior}\n  - {id: mpiio}\n"): "programs[1].id: no phase runs mpiio; use or remove it",
    ("id: small\n", "id: small\napplet: ior\n"): "applet: found `applet` in a pack with phases",
    ("phases:", "variables: []\nnotphases:"): "unknown key",
    ('remove: "{directory}/data"', 'remove: "/data"'): 'phases[3].remove: found "/data"; allowed: {directory}',
    ('remove: "{directory}/data"', 'remove: "{directory}/.."'): 'phases[3].remove: found "{directory}/.."',
    ('remove: "{directory}/data"', "program: ior, remove: '{directory}'"): "give exactly one of: `program`",
    ("-n 8 -d", "phase=1 -n 8 -d"): "found phase=1; allowed: words that do not begin with phase=",
    ("program: ior, arguments: \"-w", "program: ior, nodes: other, arguments: \"-w"): "no earlier phase ran",
    ("{id: write, phase: later,", "{id: write,"): "operations[0].phase: required key missing; allowed: later, apart",
    ("{id: write, phase: later,", "{id: write, phase: purge,"): "operations[0].phase: found purge; allowed: later",
    (" printed: MiB/s,", ""): "operations[1].printed: the printed unit is required if both",
    ("(write + read)", "(write + stat)"): "operations[2].formula: found stat; allowed: write, read, processes",
    ("(write + read) / nodes", "nodes * 2"): "operations[2].formula: uses no result; allowed: write, read",
    ("(write + read) / nodes", "write +"): "operations[2].formula: 'write +' is not a valid formula",
    ("{id: per-node, formula", "{id: write-1, formula: write, title: A, unit: x}\n  - {id: write.1, formula: write, "
     "title: B, unit: x}\n  - {id: per-node, formula: write_1, title: C, unit: x}\n  - {id: last, formula"):
        "write_1 matches several operations",
    ("record: write, title", "title"): "operations[0].record: required key missing",
}  # fmt: skip


@pytest.mark.parametrize(("change", "message"), REFUSED.items(), ids=[text[:40] for text in REFUSED.values()])
def test_what_does_not_fit_together_is_refused(tmp_path: Path, change: tuple[str, str], message: str) -> None:
    with pytest.raises(InputError) as caught:
        read(tmp_path, change)
    assert message in str(caught.value)
