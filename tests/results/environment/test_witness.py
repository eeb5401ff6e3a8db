"""What was seen of the ranks, as the job wrote it down."""

from __future__ import annotations

import json
from dataclasses import replace

from campaign.core.decode import decode, dumps
from campaign.results.environment import reading
from campaign.results.environment.facts import Evidence, Executed, Witness

PROGRAM, WRAPPER = "ab" * 32, "cd" * 32
RAN = {
    "nodes": [{"name": "n1", "clock": None, "boot": None}, {"name": "n2", "clock": None, "boot": None}],
    "incomplete": "",
    "facts": {
        f"program.{PROGRAM}": [{"nodes": "0-1", "value": "/opt/mdtest"}],
        f"program.{WRAPPER}": [{"nodes": "0", "value": "/usr/bin/bash"}],
        "library.libc.so.6": [{"nodes": "0", "value": "/lib/libc.so.6 1"}, {"nodes": "1", "value": "/lib/libc.so.6 2"}],
        "env.LD_PRELOAD": [{"nodes": "1", "value": "/opt/fast.so"}],
    },
    "problems": [],
}
LINES = f"0 n1 {WRAPPER[:16]},{PROGRAM[:16]}\n1 n2 {PROGRAM[:16]}\n"


def read(ran: object = RAN, lines: str = LINES) -> Witness:
    content = json.dumps({"format": 2, "made": True, "before": None, "after": None, "ran": ran}).encode()
    return replace(reading.parse(content).witness, ranks=reading.ranks_of(lines))


def test_the_files_that_each_rank_executed_in_their_order() -> None:
    seen = read()
    assert list(seen.executed()) == [Executed(0, "", "n1", (WRAPPER, PROGRAM)), Executed(1, "", "n2", (PROGRAM,))]
    assert seen.programs == {PROGRAM: "/opt/mdtest", WRAPPER: "/usr/bin/bash"}
    assert seen.libraries == {"libc.so.6": ("/lib/libc.so.6 1", "/lib/libc.so.6 2")}
    assert seen.preloads == {"LD_PRELOAD": ("/opt/fast.so",)}
    assert seen.placement() == ("n1", "n2")


def test_a_placement_of_which_a_rank_is_missing_is_none() -> None:
    assert read(lines=LINES.splitlines()[1]).placement() == ()
    assert read(lines="").placement() == ()


def test_a_job_that_did_not_look_says_nothing_and_one_that_could_not_says_why() -> None:
    assert not reading.parse(b'{"format": 2}').witness.watched
    failed = read({"nodes": [], "incomplete": "", "facts": {}, "problems": ["srun: error: no"]}, "")
    assert (failed.watched, failed.problems) == (True, ("srun: error: no",))


def test_each_phase_has_ranks_of_its_own() -> None:
    seen = read(lines=f"0 n1 {PROGRAM[:16]} write\n0 n2 {PROGRAM[:16]} read-back\n1 n3 {PROGRAM[:16]} read-back\n")
    assert [(each.rank, each.phase) for each in seen.executed()] == [(0, "write"), (0, "read-back"), (1, "read-back")]
    assert (seen.placement("write"), seen.placement("read-back")) == (("n1",), ("n2", "n3"))


def test_lines_that_are_none_are_left_out() -> None:
    assert reading.ranks_of(f"x n1 ab\n0 n1\n3 n1 {'0' * 16}\n1 n1 <b>\n") == {"3": f"n1 {'0' * 16}"}


def test_the_database_gives_it_back() -> None:
    evidence = reading.parse(json.dumps({"format": 2, "ran": RAN}).encode())
    assert decode(Evidence, json.loads(dumps(evidence))).witness == evidence.witness


def test_one_attempt_that_saw_another_program_is_read_by_itself_among_equals() -> None:
    forged = json.loads(json.dumps(RAN).replace("value", "other"))
    found = [read(RAN), read(forged), read(RAN), read({**RAN, "problems": ["not seen"]}), read("no object")]
    reading._witness.cache_clear()
    assert found[0] == found[2] == read(RAN)
    assert found[1] == read(forged) != found[0]
    assert found[3].problems == ("not seen", *found[0].problems)
    assert not found[4].watched
