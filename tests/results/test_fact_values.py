"""The values of facts: each that the catalogue lists, as recorded, and as planned before the run."""

from __future__ import annotations

from dataclasses import replace

import pytest

from campaign.config.rules import facts
from campaign.config.system import Proposed
from campaign.core.runs import State
from campaign.results.case import Case
from campaign.results.environment.facts import Witness
from campaign.results.fact_values import fact_values
from tests.judge.cases.attempts import case
from tests.support import builders

OF_EXECUTION = [fact.name for fact in facts.CATALOGUE if fact.name not in (*facts.OF_LINE, facts.MOVED)]
PROPOSED = Proposed(nodes=4, processor="EPYC", cores=96, memory=2**38, devices=2, device_memory=2**36, mpi="MPICH")


def planned() -> Case:
    case_of_plan = case(state=State.SUBMITTING)
    slurm = replace(case_of_plan.campaign.slurm, node_memory=2**37, node_cores=64)
    return replace(case_of_plan, campaign=replace(case_of_plan.campaign, slurm=slurm, proposed=PROPOSED))


@pytest.mark.parametrize("name", OF_EXECUTION)
def test_a_fact_of_an_execution_is_of_its_kind_or_left_out(name: str) -> None:
    for situation in (case(), planned()):
        value = fact_values(situation, [name]).get(name, "" if facts.BY_NAME[name].is_text else 0.0)
        assert isinstance(value, str) is facts.BY_NAME[name].is_text


def test_before_the_run_the_sizes_of_nodes_are_those_of_the_plan() -> None:
    names = ("memory", "cores", "devices", "device_memory", "offered.mpi", "offered.nodes", "used.nodes", "used.mpi")
    assert fact_values(planned(), names) == {
        "memory": 2**37, "cores": 64, "devices": 2, "device_memory": 2**36, "offered.mpi": "MPICH", "offered.nodes": 4,
        "used.nodes": 2,
    }  # fmt: skip


def test_nodes_with_different_processors_have_no_single_one() -> None:
    environment = builders.environment(facts={"cpu.model": "AMD EPYC 9654"})
    same = replace(case(), evidence=builders.evidence(environment=environment))
    assert fact_values(same, ["used.processor"]) == {"used.processor": "AMD EPYC 9654"}
    (value,) = environment.facts["cpu.model"]
    several = replace(
        environment, facts={"cpu.model": (replace(value, nodes="0"), replace(value, nodes="1", text="Xeon"))}
    )
    different = replace(case(), evidence=builders.evidence(environment=several))
    assert fact_values(different, ["used.processor"]) == {}


def test_memory_is_that_of_the_node_that_used_most_and_only_if_all_reported_it() -> None:
    ranks = {"0": "n1 0", "1": "n2 0"}
    witness = Witness(watched=True, ranks=ranks, memory={"n1": (400, 100, 300), "n2": (350, 200, 0)})
    assert (witness.memory_of_node, witness.memory_of_process) == (350 << 10, 200 << 10)
    partly = replace(witness, memory={"n1": (400, 100, 300)})
    assert (partly.memory_of_node, partly.memory_of_process) == (None, None)
