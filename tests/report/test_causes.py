"""One cause is told once, with the values that differ."""

from __future__ import annotations

import copy
import json

from campaign.core.messages import Message
from campaign.core.model import Cell
from campaign.judge.messages.sources import NODES_RAN_OTHERS
from campaign.report import causes

LATE = Message("{operation}: rank {rank} on {node} was late", operation="stat", rank=3, node="n1")
SHORT = Message("{seconds:.1f} s are too short", seconds=0.3)


def test_texts_that_differ_in_one_value_become_one() -> None:
    texts = [LATE(operation="stat", rank=rank, node="n1") for rank in (1, 2, 2)]
    whole = "stat: rank 1, 2 on n1 was late"
    assert causes.merged(("R", text) for text in texts) == {("R", text): whole for text in texts}


def test_texts_of_other_rules_in_two_values_or_of_a_format_stay_apart() -> None:
    first, second = LATE(operation="stat", rank=1, node="n1"), LATE(operation="stat", rank=2, node="n2")
    assert causes.merged([("R", first), ("R", second)]) == {}
    assert causes.merged([("R", first), ("S", LATE(operation="stat", rank=2, node="n1"))]) == {}
    assert causes.merged([("R", SHORT(seconds=0.1)), ("R", SHORT(seconds=0.2))]) == {}
    assert causes.merged([("R", "some text 1"), ("R", "some text 2")]) == {}


def test_many_values_are_counted() -> None:
    texts = [LATE(operation="stat", rank=rank, node="n1") for rank in range(9)]
    assert causes.merged(("R", text) for text in texts)["R", texts[0]] == (
        "stat: rank 0, 1, 2, 3, 4, 5, and 3 more on n1 was late"
    )


def test_an_operation_in_front_is_told_by_the_cells_it_concerns() -> None:
    text = LATE(operation="stat", rank=1, node="n1")
    assert causes.apart(text) == ("stat", "rank 1 on n1 was late")
    assert causes.apart("stat: plain text") == ("", "stat: plain text")
    assert causes.concerns(text, Cell("t", "node", "unique", "stat"))
    assert not causes.concerns(text, Cell("t", "node", "unique", "create"))


def test_what_a_message_says_is_a_text_as_any_other() -> None:
    text = LATE(operation="stat", rank=1, node="n1")
    assert text == "stat: rank 1 on n1 was late"
    assert json.dumps(text) == '"stat: rank 1 on n1 was late"'
    assert copy.deepcopy(text) == text
    assert text.values["rank"] == 1


def test_lines_of_raw_output_that_differ_in_their_place_are_one_cause() -> None:
    same = ["runs/a.r1/1/stderr:1: mdtest: no licence", "runs/a.r2/3/stderr:14: mdtest: no licence"]
    assert causes.once(same) == same[:1]
    assert causes.listed([*same, "runs/a.r1/1/stdout: empty"]) == f"{same[0]}, runs/a.r1/1/stdout: empty"


def test_numbers_elsewhere_are_not_folded() -> None:
    assert causes.once(["create 0.3 s", "create 0.4 s"]) == ["create 0.3 s", "create 0.4 s"]


def test_lists_of_names_become_one_list_with_each_name_once() -> None:
    lists = [NODES_RAN_OTHERS(file="/opt/mdtest", nodes=nodes) for nodes in ("node1", "node1, node2", "node3")]
    assert set(causes.merged(("SRC-04", text) for text in lists).values()) == {
        "/opt/mdtest is another file on node1, node2, node3"
    }


def test_a_failure_that_differs_in_its_run_its_rank_and_what_is_in_its_own_directory_is_one_cause() -> None:
    line = "runs/{run}/1/stderr:1: mdtest: rank {rank} on node1: create '/s/campaign-{token}/{file}' failed: ENOSPC"
    failures = [
        line.format(run="scratch.single.shared.r1", rank=0, token="e5e92845", file="test-dir.0-0/file.mdtest.0.194"),
        line.format(run="scratch.max.onefile.r1", rank=31, token="33d2a1dc", file="file.mdtest.shared.4"),
    ]
    assert causes.once(failures) == failures[:1]
    assert causes.once([*failures, failures[0].replace("ENOSPC", "EIO")])[1:] == [failures[0].replace("ENOSPC", "EIO")]
