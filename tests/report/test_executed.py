"""What really ran, folded over attempts."""

from __future__ import annotations

from dataclasses import replace

from campaign.core.runs import Launcher, State
from campaign.report import contents
from campaign.results.case import Case
from campaign.results.environment.facts import Environment, Evidence, Node, Value, Witness
from campaign.results.source import modifications
from campaign.results.source.facts import Sources
from tests.support import builders

PROGRAM, OTHER, SCRIPT, BASH, LIBRARY = "ab" * 32, "cd" * 32, "12" * 32, "34" * 32, "56" * 32


def case_of_attempt(number: int, hash: str = PROGRAM) -> Case:
    """An attempt of an external program behind a script."""
    facts = {
        "executable.sha256": hash,
        "prefix.1.w.sh": f"/w.sh {SCRIPT}",
        "prefix.1.w.sh.interpreter": f"/bin/bash {BASH}",
        "library.libc.so.6": f"/lib/libc.so.6 {LIBRARY}",
    }
    values = {name: (Value("0", text),) for name, text in facts.items()}
    witness = Witness(True, {hash: "/opt/bench/mdtest"}, libraries={"libc.so.6": (f"/other/libc.so.6 {LIBRARY}",)})
    evidence = Evidence(Environment(recorded=True, nodes=(Node("n1", "n1"),), facts=values), witness=witness)
    run = replace(builders.run(), launcher=Launcher(options=("--cpu-bind=cores",), prefix=("/w.sh", "-x")))
    seen = replace(builders.observation(), binary_sha256=None)
    return Case(
        builders.campaign(), builders.pack(), run, builders.attempt(run, number=number), (), {"": seen}, evidence
    )


def test_each_file_stands_once_with_its_hash_in_the_order_of_its_kinds() -> None:
    (section,) = contents.execution_sections([case_of_attempt(1), case_of_attempt(2)])
    assert section.rows == (
        ("launcher", "srun --cpu-bind=cores", "", ""),
        ("prefix", "/w.sh -x", "", ""),
        ("program", "/opt/bench/mdtest", PROGRAM, ""),
        ("before the program", "/w.sh", SCRIPT, ""),
        ("before the program", "/bin/bash", BASH, ""),
        ("executed by ranks", "/opt/bench/mdtest", PROGRAM, ""),
        ("library", "/other/libc.so.6", LIBRARY, ""),
    )


def test_what_some_attempts_executed_names_them() -> None:
    (section,) = contents.execution_sections([case_of_attempt(1), case_of_attempt(2), case_of_attempt(3, OTHER)])
    run = builders.run().id
    assert [row[2:] for row in section.rows if row[0] == "program"] == [
        (PROGRAM, f"2 of 3: {run}/1, {run}/2"),
        (OTHER, f"1 of 3: {run}/3"),
    ]


def test_the_report_of_modifications_says_it_as_lines() -> None:
    ran = contents.execution_sections([case_of_attempt(1), case_of_attempt(2, OTHER)])
    lines = [line.split() for line in modifications.text(Sources(problem="nothing"), ran=ran).splitlines()]
    assert lines[5:7] == [["What", "ran"], [*ran[0].about.split()]]
    assert ["before", "the", "program", "/w.sh", SCRIPT] in lines
    assert ["program", "/opt/bench/mdtest", OTHER, "1", "of", "2:", f"{builders.run().id}/2"] in lines


def test_where_nothing_has_ended_well_nothing_is_reported() -> None:
    failed = case_of_attempt(1)
    assert contents.execution_sections([replace(failed, attempt=replace(failed.attempt, state=State.FAILED))]) == ()
    assert contents.execution_sections([]) == ()
