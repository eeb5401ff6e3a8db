"""facts.jsonl and accounting.json: read within bounds, whatever they hold."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from campaign.core.decode import decode, dumps
from campaign.results.completion import read_completion
from campaign.results.environment import facts_file, reading
from campaign.results.environment.facts import Accounting, Environment, Evidence, FileSystemSpace, Node, Served, Value
from campaign.results.environment.facts_file import LARGEST_BYTES
from campaign.results.environment.slurm_text import expand_nodes, slurm_fields
from tests.support import builders
from tests.support.facts import Fact, completion_facts, fact, probe_facts, text

SPACE = {"block_size": 4096, "blocks": 10, "free": 9, "available": 8, "inodes": 7, "inodes_free": 6}


def space(when: str, **changes: Any) -> list[Fact]:
    return [fact("target", f"{when}.{name}", value, time=1.5) for name, value in (SPACE | changes).items()]


GIVEN: list[Fact] = [
    fact("host", "started", 100.0, unit="s"),
    fact("host", "ended", 101.0, unit="s"),
    fact("host", "hostname", "h1"),
    fact("host", "directory", "/scratch"),
    fact("host", "executable", "/opt/mdtest"),
    fact("host", "software.srun", "slurm 23.11"),
    fact("host", "storage.lfs osts", "OBDS:; 0: scratch-OST0000 ACTIVE"),
    fact("host", "env.SLURM_JOB_ID", "17"),
    fact("host", "env.OMPI_MCA_plm_slurm_args", "--external-launcher"),
    fact("host", "set_by_slurm", "OMPI_MCA_plm_slurm_args"),
    fact("host", "problem", "srun said no"),
    fact("slurm", "job", "JobId=17 JobName=two words Comment=(null) NodeList=n[1-2]"),
    fact("slurm", "other_jobs", 3),
    *space("space"),
    fact("node", "answered", True, node="n[1-3]"),
    fact("node", "hostname", "h1", node="n1"),
    fact("node", "clock", "99.0", node="n1"),
    fact("node", "clock", "100.500000", node="n2"),
    fact("node", "boot", "ab", node="n1"),
    fact("node", "boot", "cd", node="n2"),
    fact("node", "cpu.model", "A", node="n[1-2]"),
    fact("node", "cpu.model", "B", node="n3"),
    fact("node", "state.load", "3", node="n[1-3]"),  # changes from moment to moment: not part of the environment
    fact("node", "end", "yes", node="n[1-2]"),
    *space("before"),
    fact("job", "made", True),
]


def parse(content: bytes) -> Evidence:
    return reading.evidence_of(facts_file.parse(content))


def read(*changes: Fact) -> Evidence:
    """With other facts in place of those with the same name."""
    names = {(line["source"], line["name"]) for line in changes}
    kept_given = [line for line in GIVEN if (line["source"], line["name"]) not in names]
    return parse(text(*kept_given, *changes).encode())


def test_a_line_that_is_nested_too_deeply_is_a_problem_of_it_alone() -> None:
    for depth in (100_000, *range(900, 1100, 7)):
        nested = b'{"source": "ranks", "name": "watched", "value": ' + b"[" * depth + b"]" * depth + b"}\n"
        evidence = parse(text(*GIVEN).encode() + nested)
        assert not evidence.witness.watched
        assert evidence.environment.directory == "/scratch"


def test_a_whole_file_is_read() -> None:
    space = FileSystemSpace(1.5, 4096, 10, 9, 8, 7, 6)
    assert read() == Evidence(
        Environment(
            recorded=True,
            started=100.0,
            ended=101.0,
            directory="/scratch",
            nodes=(Node("n1", "h1", 99.0, "ab"), Node("n2", "n2", 100.5, "cd"), Node("n3", "n3")),
            incomplete=(2,),
            facts={"cpu.model": (Value("0-1", "A"), Value("2", "B"))},
            variables={"SLURM_JOB_ID": "17", "OMPI_MCA_plm_slurm_args": "--external-launcher"},
            set_by_slurm=("OMPI_MCA_plm_slurm_args",),
            job={"JobId": "17", "JobName": "two words", "Comment": "(null)", "NodeList": "n[1-2]"},
            other_jobs=3,
            software={"srun": "slurm 23.11"},
            storage={"lfs osts": "OBDS:; 0: scratch-OST0000 ACTIVE"},
            space=space,
            problems=("srun said no",),
        ),
        made=True,
        before=space,
    )


def test_a_fact_is_found_by_node_and_by_how_many_say_it() -> None:
    environment = read().environment
    assert environment.by_node("cpu.model") == {"n1": "A", "n2": "A", "n3": "B"}
    assert environment.values("cpu.model") == ("A", "B")
    assert (environment.by_node("no.such"), environment.values("no.such")) == ({}, ())


def test_a_clock_is_off_by_what_lies_outside_of_the_time_of_asking() -> None:
    environment = read().environment
    assert [environment.clock_offset(name) for name in ("n1", "n2", "n3", "n4")] == [-1.0, 0.0, 0.0, 0.0]
    late = read(fact("node", "clock", "161.0", node="n1")).environment
    assert late.clock_offset("n1") == 60.0


WRONG: dict[str, tuple[Sequence[Fact], str]] = {
    "a text that is a number": ([fact("slurm", "job", 7)], "job: 7 is not a string"),
    "a time that is a text": ([fact("host", "started", "now")], "started: 'now' is not a number ≥ 0"),
    "a time beyond all": ([fact("host", "ended", 1e400)], "ended: inf is not a number ≥ 0"),
    "a count that is true": ([fact("slurm", "other_jobs", True)], "other_jobs: True is not a whole number ≥ 0"),
    "a variable that is a number": ([fact("host", "env.A", 1)], "host: A: 1 is not a string"),
    "nodes that are none": (
        [fact("node", "answered", True, node="n[")],
        "answered: 'n[' is not a list of at most 100000 nodes",
    ),
    "a node without a name": ([fact("node", "nameless", 1)], "the names of 1 nodes are not known"),
    "a value that is none": ([fact("node", "a", None, node="n1")], "a: not a text of nodes that answered"),
    "values of nodes that are not there": (
        [fact("node", "a", "x", node="n[1-4]")],
        "a: not a text of nodes that answered",
    ),
    "values of a million nodes": (
        [fact("node", "a", "x", node="n[1-999999]")],
        "a: 'n[1-999999]' is not a list of at most 100000 nodes",
    ),
    "two values of one node": (
        [fact("node", "a", "x", node="n[1-2]"), fact("node", "a", "y", node="n2")],
        "a: two values for one node",
    ),
    "values that were not kept": ([fact("node", "dropped.a", 7)], "a: the job dropped the values of 7 nodes"),
    "a space without inodes": (
        space("before", inodes=None),
        "before does not describe the space of a file system: inodes: None is not a whole number ≥ 0",
    ),
    "a space of less than nothing": (
        space("after", free=-1),
        "after does not describe the space of a file system: free: -1 is not a whole number ≥ 0",
    ),
    "made by something else": ([fact("job", "made", "yes")], "made: 'yes' is not true or false"),
    "problems that are none": ([fact("host", "problem", 3)], "host: problem: 3 is not a string"),
    "a fact without a source": ([{"source": "", "name": "a"}], "source: '' is not a text"),
    "a time of a fact that is a text": ([fact("host", "a", 1, time="now")], "time: 'now' is not a number ≥ 0"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_not_as_it_should_be_is_a_problem_and_the_rest_is_read(name: str) -> None:
    changes, problem = WRONG[name]
    evidence = read(*changes)
    assert any(
        re.fullmatch(rf"facts\.jsonl:( |[0-9]+: ){re.escape(problem)}", message)
        for message in evidence.environment.problems
    )
    assert evidence.environment.directory == "/scratch"


def test_damaged_lines_are_named_and_the_others_read() -> None:
    header, *lines = text(*GIVEN).splitlines()
    evidence = parse(
        "\n".join([header, '{"source": "host", "na', *lines, "[]", "\udcff"]).encode(errors="surrogateescape")
    )
    last = len(lines) + 3
    begin, kind, *_ = [problem for problem in evidence.environment.problems if problem != "srun said no"]
    assert begin.startswith("facts.jsonl:2: not JSON: Unterminated string")
    assert kind == f"facts.jsonl:{last}: not a JSON object"
    assert evidence.environment.nodes == read().environment.nodes


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "not JSON: Expecting value: line 1 column 1 (char 0)"),
        (b"[]", "not a JSON object"),
        (b'{"format": 2}', "format 2; expected 1"),
        (b'{"format": true}', "format True; expected 1"),
        (b"\xff", "not JSON: 'utf-8' codec can't decode byte 0xff in position 0: invalid start byte"),
        (b'{"format": 1}\n', "no facts about the nodes"),
    ],
)
def test_a_file_that_is_none_of_ours_is_a_problem(content: bytes, problem: str) -> None:
    assert parse(content).environment == Environment(problems=(f"facts.jsonl: {problem}",))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
OTHERS = [
    fact("ranks", "watched", True),
    fact("ranks", "executed", "0" * 16, node="n1", rank="0"),
    *probe_facts("0 n1 -"),
    fact("inputs", "/box", "a" * 64, node="n1"),
    fact("meter", "command", "5 J", node="n1", time=1.0),
    fact("servers", "operations", {"stat": 1}, phase="stat"),
]


@given(
    st.lists(
        st.tuples(
            st.sampled_from([*GIVEN, *OTHERS]),
            st.sampled_from(["source", "node", "rank", "phase", "name", "value", "unit", "time"]),
            JSON,
        ),
        max_size=5,
    )
)
def test_whatever_stands_in_its_fields_nothing_is_raised_and_it_can_be_stored(
    changes: list[tuple[Fact, str, object]],
) -> None:
    other_entries = [{**line, key: value} for line, key, value in changes]
    evidence = parse(text(*GIVEN, *OTHERS, *other_entries).encode())
    assert decode(Evidence, json.loads(dumps(evidence))) == evidence
    dumps(evidence).encode("utf-8")


@given(st.binary(max_size=200))
def test_no_bytes_raise_anything(content: bytes) -> None:
    assert not parse(content).environment.recorded
    assert not parse(b'{"format": 1}\n' + content).environment.recorded


def test_what_is_kept_comes_back() -> None:
    evidence = builders.evidence(placement={"": ("n1", "n2")}, loader_variables={"write": (), "read": ("LD_A=ab",)})
    assert decode(Evidence, json.loads(dumps(evidence))) == evidence


@pytest.mark.parametrize("make", ["absent", "link", "pipe", "folder", "large"])
def test_only_a_plain_file_of_bounded_size_is_read(tmp_path: Path, make: str) -> None:
    path = tmp_path / "facts.jsonl"
    if make == "link":
        (tmp_path / "other").write_text(text(*GIVEN))
        path.symlink_to("other")
    elif make == "pipe":
        os.mkfifo(path)
    elif make == "folder":
        path.mkdir()
    elif make == "large":
        with path.open("wb") as file:
            file.truncate(LARGEST_BYTES + 1)
    evidence = reading.read(tmp_path)
    assert not evidence.environment.recorded
    assert evidence.environment.problems[0].startswith("facts.jsonl: ")


def test_an_attempt_that_has_not_ended_has_the_facts_that_are_there(tmp_path: Path) -> None:
    (tmp_path / "facts.jsonl.new").write_text(text(*GIVEN, *completion_facts(builders.COMPLETION)))
    assert reading.read(tmp_path).environment == read().environment
    assert read_completion(tmp_path) is None


# --- Slurm's words


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("n1", ("n1",)),
        ("n[1-3,7]", ("n1", "n2", "n3", "n7")),
        ("n[08-11]", ("n08", "n09", "n10", "n11")),
        ("n[1-2],login1,x[3]", ("n1", "n2", "login1", "x3")),
        ("rack[1-2]n[01-02]", ("rack1n01", "rack1n02", "rack2n01", "rack2n02")),
        ("n[1-2].site", ("n1.site", "n2.site")),
    ],
)
def test_a_list_of_nodes_is_expanded(text: str, names: tuple[str, ...]) -> None:
    assert expand_nodes(text) == names


@pytest.mark.parametrize("text", ["", "(null)", "n[3-1]", "n[", "n[a]", "n[1-999999999]", "n[1-400]m[1-400]", "n1,,n2"])
def test_what_is_no_list_of_nodes_or_too_long_is_none(text: str) -> None:
    assert expand_nodes(text) is None


@given(st.text(st.sampled_from("n1[]-,"), max_size=30))
def test_no_list_of_nodes_raises_anything(text: str) -> None:
    expand_nodes(text)


def test_a_value_of_scontrol_goes_on_to_the_next_key() -> None:
    found_slurm_fields = slurm_fields(
        "JobId=17 JobName=a name with blanks ReqB:S:C:T=0:0:*:* Command=/x/a=b.sh WorkDir=/x Power= "
    )
    assert found_slurm_fields == {
        "JobId": "17", "JobName": "a name with blanks", "ReqB:S:C:T": "0:0:*:*", "Command": "/x/a=b.sh",
        "WorkDir": "/x", "Power": "",
    }  # fmt: skip
    assert slurm_fields("slurm_load_jobs error: Invalid job id specified") == {}


# --- accounting.json


def test_an_accounting_is_read_and_kept(tmp_path: Path) -> None:
    path = tmp_path / "accounting.json"
    record = {"format": 1, "asked": 9.5, "job": {"JobId": "17"}, "accounting": True, "steps": [{"NTasks": "8"}]}
    path.write_text(json.dumps(record))
    assert reading.read_accounting(path) == Accounting(9.5, {"JobId": "17"}, True, ({"NTasks": "8"},))


def test_no_accounting_is_none(tmp_path: Path) -> None:
    assert reading.read_accounting(tmp_path / "accounting.json") is None


@given(st.dictionaries(st.sampled_from(["asked", "job", "accounting", "steps"]), JSON))
def test_whatever_stands_in_an_accounting_nothing_is_raised(fields: dict[str, Any]) -> None:
    accounting = reading.parse_accounting(json.dumps({"format": 1, **fields}).encode())
    assert decode(Accounting, json.loads(json.dumps(asdict(accounting)))) == accounting


@given(st.binary(max_size=200))
def test_no_bytes_of_an_accounting_raise_anything(content: bytes) -> None:
    assert reading.parse_accounting(content).problems


# --- the servers' counters


def readings(*rows: tuple[str, int, int, int]) -> list[Fact]:
    """At moments with their counts of creates, stats and removes."""
    return [
        fact("servers", "operations", {"create": create, "stat": stat, "remove": remove}, phase=when, time=1.5)
        for when, create, stat, remove in rows
    ]


def phases(*rows: tuple[str, int, int, int]) -> dict[str, Served]:
    return dict(parse(text(*readings(*rows)).encode()).served)


def test_counts_after_each_phase_tell_exactly_what_the_servers_did_in_it() -> None:
    rows = [("begin", 5, 9, 1), ("create", 105, 110, 1), ("stat", 105, 210, 1), ("remove", 105, 310, 101)]
    exact = {"create": Served(100, 100), "stat": Served(100, 100), "remove": Served(100, 100)}
    assert phases(*rows, ("end", 105, 311, 102)) == exact


def test_of_several_iterations_the_one_counts_in_which_the_servers_did_least() -> None:
    first = [("begin", 0, 0, 0), ("create", 10, 10, 0), ("stat", 10, 20, 0), ("remove", 10, 30, 10)]
    second = [("begin", 10, 30, 10), ("create", 20, 40, 10), ("stat", 20, 43, 10), ("remove", 20, 50, 20)]
    assert phases(*first, *second)["stat"] == Served(3, 3)


def test_samples_bound_the_stats_by_when_files_were_created_and_removed() -> None:
    rows = [(0, 0, 0), (40, 40, 0), (100, 130, 0), (100, 180, 0), (100, 230, 20), (100, 300, 100)]
    assert phases(*(("sample", *row) for row in rows)) == {"stat": Served(180 - 130, 230 - 40)}


def test_two_samples_alone_give_only_the_most_that_can_have_been() -> None:
    assert phases(("begin", 0, 0, 0), ("end", 100, 300, 100)) == {"stat": Served(0, 300)}


def test_servers_that_started_anew_or_files_of_others_tell_nothing() -> None:
    assert phases(("begin", 5, 9, 1), ("create", 105, 8, 1), ("stat", 105, 210, 1)) == {}
    assert phases(("sample", 0, 0, 0), ("sample", 50, 50, 10), ("sample", 60, 99, 60), ("sample", 70, 99, 60)) == {}


def test_what_is_no_count_is_passed_over() -> None:
    bad = [[], "a", {"stat": True}, {"stat": -1}]
    good = readings(("begin", 0, 0, 0), ("create", 1, 0, 0), ("stat", 1, 7, 0))
    wrong = [fact("servers", "operations", value, phase="stat") for value in bad]
    assert parse(text(*wrong, *good).encode()).served["stat"] == Served(7, 7)


def test_where_a_reading_failed_nothing_is_known() -> None:
    failed = fact("servers", "problem", "no servers", phase="stat", time=1.5)
    before, after = readings(("begin", 0, 0, 0), ("create", 1, 0, 0)), readings(("remove", 1, 9, 1))
    assert parse(text(*before, failed, *after).encode()).served == {}


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9), st.integers(0, 9)), max_size=12), st.integers(0, 11))
def test_more_samples_never_widen_the_bounds(steps: list[tuple[int, int, int]], left_out: int) -> None:
    rows, total = [("sample", 0, 0, 0)], (0, 0, 0)
    for step in steps:
        total = (total[0] + step[0], total[1] + step[1], total[2] + step[2])
        rows.append(("sample", *total))
    fewer = rows[:-1][:left_out] + rows[:-1][left_out + 1 :] + rows[-1:]
    if left_out == 0 or not (wide := phases(*fewer)):
        return  # the first one says what had been counted before
    narrow = phases(*rows)
    assert not narrow or wide["stat"].least <= narrow["stat"].least <= narrow["stat"].most <= wide["stat"].most
