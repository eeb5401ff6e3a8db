"""What the database keeps of a job's surroundings comes back, and what many jobs say alike is read once."""

from __future__ import annotations

from dataclasses import replace

from campaign.results.environment import kept
from campaign.results.environment.facts import NOTHING, Evidence
from campaign.results.environment.witness import Witness
from tests.support import builders


def test_an_environment_comes_back() -> None:
    environment = builders.environment(3)
    assert kept.restore(*kept.dump(environment)) == environment


def test_jobs_whose_nodes_say_the_same_share_their_facts() -> None:
    first = builders.environment(3)
    other = replace(first, variables={**first.variables, "SLURM_JOB_ID": "18"})
    one, two = kept.restore(*kept.dump(first)), kept.restore(*kept.dump(other))
    assert one.facts is two.facts
    assert one.by_node("zone") is two.by_node("zone")


def test_jobs_on_other_nodes_do_not_share_what_is_told_by_node() -> None:
    first = builders.environment(2)
    other = replace(first, nodes=tuple(replace(node, name=f"other-{node.name}") for node in first.nodes))
    one, two = kept.restore(*kept.dump(first)), kept.restore(*kept.dump(other))
    assert one.facts is two.facts
    assert two.by_node("zone").keys() == {f"other-{name}" for name in one.by_node("zone")} != set()


def test_a_witness_with_its_ranks_comes_back() -> None:
    seen = Witness(True, {"a" * 64: "/usr/bin/mdtest"}, ranks={"0": f"n1 {'a' * 16}"})
    written = kept.dump_rest(Evidence(witness=seen))
    assert kept.restore_rest(*written, NOTHING.environment, None).witness == seen


def test_runs_whose_ranks_were_seen_alike_share_them() -> None:
    seen = Witness(True, {"0" * 64: "/opt/mdtest"}, ranks={"0": "n1 0123456789abcdef"})
    texts = kept.dump_rest(Evidence(witness=seen))
    first, second = (kept.restore_rest(*texts, NOTHING.environment, None).witness for _ in range(2))
    assert first is second
    moved = kept.dump_rest(Evidence(witness=replace(seen, ranks={"0": "n2 0123456789abcdef"})))
    assert kept.restore_rest(*moved, NOTHING.environment, None).witness.ranks == {"0": "n2 0123456789abcdef"}
