"""One cause is told once, with the values that differ."""

from __future__ import annotations

from dataclasses import replace

from campaign.core.findings import Finding, Severity
from campaign.core.runs import Cell
from campaign.report import causes


def late_rank(rank: int = 1, node: str = "n1", **changes: object) -> Finding:
    finding = Finding(
        "R", Severity.INFO, "x", "rank {rank} on {node} was late", values={"rank": str(rank), "node": node}
    )
    return replace(finding, **changes)  # type: ignore[arg-type]


def messages(*findings: Finding) -> list[str]:
    return [finding.message for finding in causes.merge_causes(findings)]


def test_findings_that_differ_in_one_value_have_one_message() -> None:
    assert messages(late_rank(1), late_rank(2), late_rank(2)) == ["rank 1, 2 on n1 was late"] * 3


def test_findings_of_other_rules_or_with_two_values_that_differ_stay_apart() -> None:
    assert messages(late_rank(1), late_rank(2, "n2")) == ["rank 1 on n1 was late", "rank 2 on n2 was late"]
    assert messages(late_rank(1), late_rank(2, rule="S")) == ["rank 1 on n1 was late", "rank 2 on n1 was late"]
    assert messages(late_rank(wording="some text 1", values={}), late_rank(wording="some text 2", values={})) == [
        "some text 1",
        "some text 2",
    ]


def test_a_text_without_values_may_have_any_braces() -> None:
    assert messages(late_rank(wording="{directory} is {unknown}", values={})) == ["{directory} is {unknown}"]


def test_many_values_are_counted() -> None:
    assert messages(*map(late_rank, range(9)))[0] == "rank 0, 1, 2, 3, 4, 5, and 3 more on n1 was late"


def test_operations_and_phases_are_values_too() -> None:
    assert (
        messages(late_rank(operation="stat"), late_rank(operation="create"))
        == ["stat, create: rank 1 on n1 was late"] * 2
    )
    assert (
        messages(late_rank(phase="find"), late_rank(phase="purge")) == ["rank 1 on n1 was late (phase find, purge)"] * 2
    )
    assert messages(late_rank(operation="stat"), late_rank()) == [
        "stat: rank 1 on n1 was late",
        "rank 1 on n1 was late",
    ]


def test_a_finding_concerns_its_cells_or_where_it_names_none_all() -> None:
    stat, create = (Cell("t", "node", "unique", operation) for operation in ("stat", "create"))
    finding = replace(late_rank(), cells=(stat,))
    assert (finding.concerns(stat), finding.concerns(create)) == (True, False)
    assert late_rank().concerns(create)


def test_values_that_are_put_together_change_nothing_else() -> None:
    first, second = late_rank(1, subject="a"), late_rank(2, subject="b")
    assert [(finding.subject, finding.values) for finding in causes.merge_causes([first, second])] == [
        ("a", {"rank": "1, 2", "node": "n1"}),
        ("b", {"rank": "1, 2", "node": "n1"}),
    ]


def test_lines_of_raw_output_that_differ_in_their_place_are_one_cause() -> None:
    texts = ["runs/a.r1/1/stderr:1: mdtest: no licence", "runs/a.r2/3/stderr:14: mdtest: no licence"]
    assert causes.distinct_texts(texts) == texts[:1]
    assert causes.listed_values([*texts, "runs/a.r1/1/stdout: empty"]) == f"{texts[0]}, runs/a.r1/1/stdout: empty"


def test_numbers_elsewhere_are_not_folded() -> None:
    assert causes.distinct_texts(["create 0.3 s", "create 0.4 s"]) == ["create 0.3 s", "create 0.4 s"]


def test_lists_of_names_become_one_list_with_each_name_once() -> None:
    assert set(messages(*(late_rank(node=nodes) for nodes in ("node1", "node1, node2", "node3")))) == {
        "rank 1 on node1, node2, node3 was late"
    }


def test_a_failure_that_differs_in_its_run_its_rank_and_what_is_in_its_own_directory_is_one_cause() -> None:
    line = "runs/{run}/1/stderr:1: mdtest: rank {rank} on node1: create '/s/campaign-{token}/{file}' failed: ENOSPC"
    failures = [
        line.format(run="scratch.single.shared.r1", rank=0, token="e5e92845", file="test-dir.0-0/file.mdtest.0.194"),
        line.format(run="scratch.max.onefile.r1", rank=31, token="33d2a1dc", file="file.mdtest.shared.4"),
    ]
    assert causes.distinct_texts(failures) == failures[:1]
    assert causes.distinct_texts([*failures, failures[0].replace("ENOSPC", "EIO")])[1:] == [
        failures[0].replace("ENOSPC", "EIO")
    ]
