"""Numbers that formulas compute: of all parts or not at all, with every line that they come from."""

from __future__ import annotations

from dataclasses import replace

import pytest

from campaign.config.rules.entries import Operation, Requirement
from campaign.config.rules.programs import Phase, Program
from campaign.core.findings import Finding, Severity
from campaign.core.records import Observation, OutputRemark, PhaseTimes, Record, Source, record_key
from campaign.core.runs import Cell, Command, State, Status  # fmt: skip
from campaign.judge.engine import judge
from campaign.judge.rows import with_findings
from campaign.results.case import Case
from campaign.results.cells import Row
from tests.support import builders

OPERATIONS = (
    Operation(
        "easy-write", "Easy", "GiB/s", record="write", phase="easy", formula="value / 1024", printed_unit="MiB/s"
    ),
    Operation("hard-write", "Hard", "MiB/s", record="write", phase="hard"),
    Operation("middle", "Middle", "MiB/s", record="", formula="geomean(1024 * easy_write, hard_write)"),
    Operation("each", "Each", "MiB/s", record="", formula="middle / nodes * factor"),
)
PACK = builders.pack(
    programs=(Program("ior", "ior"),),
    operations=OPERATIONS,
    values={"factor": "10"},
)
PACK = replace(PACK, phases=tuple(Phase(name, "ior", ("-o", "{directory}/x"), "1") for name in ("easy", "hard")))
EASY = Record("easy/write", 2048.0, "MiB/s", Source("runs/r/1/easy/stdout", 7), elapsed_s=2.0)
HARD = Record("hard/write", 128.0, "MiB/s", Source("runs/r/1/hard/stdout", 9), elapsed_s=3.0)


def case(*records: Record) -> Case:
    run = builders.run(
        commands=tuple(Command("/ior", ("-o", "{directory}/x"), name, "ior") for name in ("easy", "hard"))
    )
    completion = replace(
        builders.completion(), phases=(PhaseTimes("easy", 0, 110.0, 111.0), PhaseTimes("hard", 0, 111.0, 112.0))
    )
    outputs = {name: Observation(program=name) for name in ("easy", "hard")}
    return Case(
        builders.campaign(), PACK, run, builders.attempt(), records, outputs, builders.evidence(completion=completion)
    )


def test_a_number_is_computed_of_others_and_names_all_their_lines() -> None:
    results = {operation.id: case(EASY, HARD).result(operation) for operation in OPERATIONS}
    assert {name: record.value for name, record in results.items() if record} == pytest.approx(
        {"easy-write": 2.0, "hard-write": 128.0, "middle": 512.0, "each": 2560.0}
    )
    assert results["each"] is not None
    assert results["each"].measured_records == (EASY, HARD)
    assert (results["each"].unit, results["each"].operation) == ("MiB/s", "each")


@pytest.mark.parametrize("records", [(EASY,), (HARD,), (), (EASY, replace(HARD, value=-1.0))])
def test_without_a_part_or_a_finite_value_there_is_no_number(records: tuple[Record, ...]) -> None:
    assert case(*records).result(OPERATIONS[2]) is None
    assert not case(*records).complete


def test_each_phase_is_looked_at_by_itself_with_its_own_records_and_time() -> None:
    parts = case(EASY, HARD).phases
    assert list(parts) == ["easy", "hard"]
    assert [record.operation for record in parts["hard"].records] == ["write"]
    assert parts["hard"].observation.program == "hard"
    assert parts["hard"].evidence.completion is not None
    assert (parts["hard"].evidence.completion.started, parts["hard"].evidence.completion.ended) == (111.0, 112.0)
    assert [operation.id for operation in parts["hard"].operations] == ["hard-write"]


def test_a_number_computed_of_an_invalid_one_is_invalid() -> None:
    attempt_case = case(EASY, HARD)
    rows = [
        Row(
            Cell("scratch", "peak", "unique", operation.id), operation.unit, Status.MEASURED, attempt_case.run, 1.0,
            attempt_case.attempt, attempt_case.result(operation),
        )
        for operation in OPERATIONS
    ]  # fmt: skip
    broken = Finding("CMP-04", Severity.ERROR, "scratch/peak/unique/hard-write", "the log line has another value")
    judged_rows = with_findings(rows, [broken])
    assert [row.status for row in judged_rows] == [Status.MEASURED, Status.INVALID, Status.INVALID, Status.INVALID]
    assert judged_rows[3].note == "computed from scratch/peak/unique/hard-write, which is invalid"


def test_a_condition_on_counts_is_about_the_ranks_that_the_job_saw_in_each_phase() -> None:
    pack = replace(PACK, requires=(Requirement("nodes == 2", "4.2"),), checks={"GEO-05": "4"}, profile="full")
    attempt_case = replace(case(EASY, HARD), pack=pack)
    places = {"easy": ("n1", "n2"), "hard": ("n1", "n1")}
    evidence = replace(attempt_case.evidence, placement=places)
    (finding,) = judge(replace(attempt_case, evidence=evidence))
    assert (finding.severity, finding.message) == (
        Severity.ERROR, "clause 4.2 requires nodes == 2; found nodes 1 (phase hard)"
    )  # fmt: skip
    (unseen,) = judge(attempt_case)
    assert (unseen.checked, unseen.message) == (False, "nodes == 2: nodes not recorded")


@pytest.mark.parametrize("name", ["", "easy"])
def test_a_condition_on_counts_is_judged_of_an_only_phase_with_a_name_and_without(name: str) -> None:
    pack = replace(
        PACK,
        phases=(Phase(name, "ior", ("-o", "{directory}/x"), "1"),),
        operations=(Operation("write", "Write", "MiB/s", record="write", phase=name),),
        requires=(Requirement("nodes == 2", "4.2"), Requirement("processes == 2", "4.2")),
        checks={"GEO-05": "4"},
        profile="full",
    )
    run = builders.run(commands=(Command("/ior", ("-o", "{directory}/x"), name, "ior"),))
    evidence = builders.evidence(placement={name: ("n1", "n1")})
    record = replace(EASY, operation=record_key(name, "write"))
    case = Case(builders.campaign(), pack, run, builders.attempt(), (record,), {name: Observation()}, evidence)
    (finding,) = judge(case)
    assert finding.message.removesuffix(f" (phase {name})") == "clause 4.2 requires nodes == 2; found nodes 1"


def test_a_note_about_a_phase_or_an_operation_is_about_their_results_alone() -> None:
    lasting = tuple(
        replace(operation, lasts="10s") if operation.id == "easy-write" else operation for operation in OPERATIONS
    )
    checks = {"RUN-01": "", "RUN-06": "", "RUN-07": ""}
    pack = replace(PACK, operations=lasting, checks=checks, profile="rehearsal")
    attempt_case = case(EASY, HARD)
    attempt_case = replace(
        attempt_case,
        pack=pack,
        run=replace(attempt_case.run, operations=tuple(operation.id for operation in OPERATIONS)),
        outputs={
            "easy": Observation(complete=True),
            "hard": Observation(unparsed=(OutputRemark("hm"),), complete=True),
        },
    )
    operations = {
        (finding.rule, finding.phase, finding.operation): [cell.operation for cell in finding.cells]
        for finding in judge(attempt_case)
    }
    assert operations["RUN-06", "hard", ""] == ["hard-write"]
    assert operations["RUN-07", "easy", "easy-write"] == ["easy-write"]
    broken = replace(attempt_case, attempt=replace(attempt_case.attempt, state=State.FAILED, reason="no"))
    assert {len(finding.cells) for finding in judge(broken) if finding.rule == "RUN-01"} == {len(OPERATIONS)}
