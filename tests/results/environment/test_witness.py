"""What was seen of the ranks, as the job wrote it down."""

from __future__ import annotations

import json

from campaign.core.decode import decode, dumps
from campaign.results.environment import facts_file, reading
from campaign.results.environment.facts import Evidence, Executed, Witness
from campaign.results.environment.reading import MOST_RANKS
from tests.support.facts import Fact, fact, text

PROGRAM, WRAPPER = "ab" * 32, "cd" * 32
RAN = [
    fact("ranks", "watched", True),
    fact("ranks", "answered", True, node="n[1-2]"),
    fact("ranks", f"program.{PROGRAM}", "/opt/mdtest", node="n[1-2]"),
    fact("ranks", f"program.{WRAPPER}", "/usr/bin/bash", node="n1"),
    fact("ranks", "library.libc.so.6", "/lib/libc.so.6 1", node="n1"),
    fact("ranks", "library.libc.so.6", "/lib/libc.so.6 2", node="n2"),
    fact("ranks", "env.LD_PRELOAD", "/opt/fast.so", node="n2"),
]


def executed_fact(rank: str, node: str, *hashes: str, phase: str = "") -> Fact:
    return fact("ranks", "executed", ",".join(hash_[:16] for hash_ in hashes), node=node, rank=rank, phase=phase)


RANKS = [executed_fact("0", "n1", WRAPPER, PROGRAM), executed_fact("1", "n2", PROGRAM)]


def read(*facts: Fact) -> Witness:
    return reading.evidence_of(facts_file.parse(text(*facts).encode())).witness


def test_the_files_that_each_rank_executed_in_their_order() -> None:
    seen = read(*RAN, *RANKS)
    assert list(seen.executed()) == [Executed(0, "", "n1", (WRAPPER, PROGRAM)), Executed(1, "", "n2", (PROGRAM,))]
    assert seen.programs == {PROGRAM: "/opt/mdtest", WRAPPER: "/usr/bin/bash"}
    assert seen.libraries == {"libc.so.6": ("/lib/libc.so.6 1", "/lib/libc.so.6 2")}
    assert seen.preloads == {"LD_PRELOAD": ("/opt/fast.so",)}
    assert seen.placement() == ("n1", "n2")


def test_a_placement_of_which_a_rank_is_missing_is_none() -> None:
    assert read(*RAN, RANKS[1]).placement() == ()
    assert read(*RAN).placement() == ()


def test_a_job_that_did_not_look_says_nothing_and_one_that_could_not_says_why() -> None:
    assert not read().watched
    failed = read(RAN[0], fact("ranks", "problem", "srun: error: no"))
    assert (failed.watched, failed.problems) == (True, ("srun: error: no",))


def test_each_phase_has_ranks_of_its_own() -> None:
    other_entries = [
        executed_fact("0", "n2", PROGRAM, phase="read-back"),
        executed_fact("1", "n3", PROGRAM, phase="read-back"),
    ]
    seen = read(*RAN, executed_fact("0", "n1", PROGRAM, phase="write"), *other_entries)
    assert [(executed.rank, executed.phase) for executed in seen.executed()] == [
        (0, "write"),
        (0, "read-back"),
        (1, "read-back"),
    ]
    assert (seen.placement("write"), seen.placement("read-back")) == (("n1",), ("n2", "n3"))


def test_successive_ranks_of_a_node_stand_in_one_fact() -> None:
    seen = read(*RAN, executed_fact("0-1", "n1", PROGRAM), executed_fact("2,3", "n2", PROGRAM))
    assert seen.placement() == ("n1", "n1", "n2", "n2")


def test_facts_that_are_none_are_left_out() -> None:
    wrong = [fact("ranks", "executed", "<b>", node="n1", rank="1"), executed_fact("x", "n1", PROGRAM)]
    far, no_node = executed_fact("0-99999999", "n1", PROGRAM), executed_fact("2", "", PROGRAM)
    seen = read(*RAN, *wrong, no_node, executed_fact("3", "n1", "0" * 16))
    assert seen.ranks == {"3": f"n1 {'0' * 16}"}
    assert len(seen.problems) == 2
    assert len(read(*RAN, far).ranks) == MOST_RANKS


def test_the_database_gives_it_back() -> None:
    witness = read(*RAN, *RANKS)
    assert decode(Evidence, json.loads(dumps(Evidence(witness=witness)))).witness == witness


def test_one_attempt_that_saw_another_program_is_read_by_itself_among_equals() -> None:
    forged = [{**line, "value": 1} if line["name"].startswith("program.") else line for line in RAN]
    witnesses = [
        read(*RAN),
        read(*forged),
        read(*RAN),
        read(*RAN, fact("ranks", "problem", "not seen")),
        read({**RAN[0], "value": 0}),
    ]
    assert witnesses[0] == witnesses[2] == read(*RAN)
    assert witnesses[1] == read(*forged) != witnesses[0]
    assert witnesses[3].problems == ("not seen", *witnesses[0].problems)
    assert not witnesses[4].watched
