"""The values of facts: each that the catalogue lists, as recorded, and as planned before the run."""

from __future__ import annotations

from dataclasses import replace

import pytest

from campaign.config.rules import facts
from campaign.config.rules.entries import Operation, Reference
from campaign.config.system import Proposed
from campaign.core.runs import State
from campaign.results.case import Case, fact_values
from campaign.results.environment.facts import Witness
from tests.judge.cases.attempts import case
from tests.support import builders

OF_EXECUTION = [fact.name for fact in facts.CATALOGUE if fact.name not in (*facts.OF_LINE, facts.MOVED)]
PROPOSED = Proposed(nodes=4, processor="EPYC", cores=96, memory=2**38, devices=2, device_memory=2**36, mpi="MPICH")


def case_of_plan() -> Case:
    submitting = case(state=State.SUBMITTING)
    slurm = replace(submitting.campaign.slurm, node_memory=2**37, node_cores=64)
    return replace(submitting, campaign=replace(submitting.campaign, slurm=slurm, proposed=PROPOSED))


@pytest.mark.parametrize("name", OF_EXECUTION)
def test_a_fact_of_an_execution_is_of_its_kind_or_left_out(name: str) -> None:
    for situation in (case(), case_of_plan()):
        value = fact_values(situation, [name]).get(name, "" if facts.BY_NAME[name].is_text else 0.0)
        assert isinstance(value, str) is facts.BY_NAME[name].is_text


def test_before_the_run_the_sizes_of_nodes_are_those_of_the_plan() -> None:
    names = ("memory", "cores", "devices", "device_memory", "offered.mpi", "offered.nodes", "used.nodes", "used.mpi")
    assert fact_values(case_of_plan(), names) == {
        "memory": 2**37, "cores": 64, "devices": 2, "device_memory": 2**36, "offered.mpi": "MPICH", "offered.nodes": 4,
        "used.nodes": 2,
    }  # fmt: skip


def test_nodes_with_different_processors_have_no_single_one() -> None:
    environment = builders.environment(facts={"cpu.model": "AMD EPYC 9654"})
    uniform_case = replace(case(), evidence=builders.evidence(environment=environment))
    assert fact_values(uniform_case, ["used.processor"]) == {"used.processor": "AMD EPYC 9654"}
    (value,) = environment.facts["cpu.model"]
    mixed_environment = replace(
        environment, facts={"cpu.model": (replace(value, nodes="0"), replace(value, nodes="1", text="Xeon"))}
    )
    mixed_case = replace(case(), evidence=builders.evidence(environment=mixed_environment))
    assert fact_values(mixed_case, ["used.processor"]) == {}


def test_memory_is_that_of_the_node_that_used_most_and_only_if_all_reported_it() -> None:
    ranks = {"0": "n1 0", "1": "n2 0"}
    witness = Witness(watched=True, ranks=ranks, memory={"n1": (400, 100, 300), "n2": (350, 200, 0)})
    assert (witness.memory_of_node, witness.memory_of_process) == (350 << 10, 200 << 10)
    incomplete_witness = replace(witness, memory={"n1": (400, 100, 300)})
    assert (incomplete_witness.memory_of_node, incomplete_witness.memory_of_process) == (None, None)


def test_an_operations_formula_may_name_a_reference_at_its_point() -> None:
    original = case()
    operation = Operation("speed-up", "Speed-up", "x", formula="create / reference")
    nodes = original.run.geometry.nodes

    def speed_up(*points: tuple[float, float]) -> float | None:
        reference = Reference("reference", "nodes", points, "linear", "4")
        operations = (*original.pack.operations, operation)
        pack = replace(original.pack, operations=operations, references=(reference,))
        record = replace(original, pack=pack).result(operation)
        return record.value if record else None

    assert speed_up((nodes - 1, 100.0), (nodes + 1, 300.0)) == pytest.approx(1000 / 200)
    assert speed_up((nodes + 1, 100.0), (nodes + 2, 300.0)) is None, "no value beyond its points"


def test_an_operations_formula_may_name_facts_of_its_run() -> None:
    operation = Operation("per-byte", "Rate for each byte", "x", formula="create / memory_used")
    witness = Witness(watched=True, ranks={"0": "n1 0"}, memory={"n1": (1, 1, 0)})
    original = case()
    pack = replace(original.pack, operations=(*original.pack.operations, operation))
    run = replace(original.run, operations=(*original.run.operations, operation.id))
    measured = replace(original, pack=pack, run=run, evidence=builders.evidence(witness=witness))
    record = measured.result(operation)
    assert record and record.value == pytest.approx(1000 / 1024)
    assert replace(measured, evidence=builders.evidence()).result(operation) is None
