"""Acceptance by sample, the decision: on honest samples, on those that leave a question, and on ways to cheat."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from campaign.core.errors import InputError
from campaign.core.findings import Finding, Severity
from campaign.core.runs import State, Status
from campaign.core.strict_yaml import Document
from campaign.evidence import acceptance, sample
from campaign.evidence.acceptance import AcceptanceOptions, SampleOutcome, accept, decide_sample
from campaign.judge.submission import Submission
from campaign.report.compare.comparison import CellVerdict
from campaign.report.decision import DecisionBlock
from campaign.results.cells import Row
from campaign.statistics.designs import Aims, Design
from tests.support import builders
from tests.support.results import Results

AIMS = Aims(0.05, 0.15, 0.25, 0.9)
WRITTEN = """name: offer
results: ../../results
repetitions: 5
items_total: 4096
launch: {peak: search}
targets: [{name: scratch, directory: /scratch}]
slurm: {partition: fast, environment: {OMPI_MCA_pml: ucx}}
benchmark: {executable: mdtest}
"""
FACTS = {"mount.type": "lustre", "library.libmpi.so.40": f"/lib/libmpi.so.40 {'cd' * 32}"}


def job_environment(facts: dict[str, str] | None = None, **variables: str) -> Any:
    environment = builders.environment(facts={**FACTS, **(facts or {})})
    texts = {"SLURM_JOB_PARTITION": "fast", "OMPI_MCA_pml": "ucx", **variables}
    return replace(environment, variables={**environment.variables, **texts})


def measured_submission(
    seed: int, repetitions: int, factor: float = 1.0, noise: float = 0.01, started: float = 0.0
) -> Submission:
    """A campaign in which every run went as planned."""
    chance = random.Random(seed)
    results = Results(campaign=builders.campaign(repetitions=repetitions))
    for run in results.runs:
        results.add_to(run, [rate * factor * math.exp(chance.gauss(0, noise)) for rate in (1e3, 4e3, 8e2)])
    submission = results.submission()
    times = builders.completion(started=started + 110.0, ended=started + 112.5)
    cases = tuple(
        replace(case, evidence=builders.evidence(environment=job_environment(), completion=times), judge=lambda *_: ())
        for case in submission.results
    )
    rows = tuple(replace(row, status=Status.MEASURED, findings=()) for row in submission.rows)
    campaign = replace(submission.campaign, document=Document(WRITTEN.encode(), "offer.yaml"))
    return replace(submission, campaign=campaign, results=cases, rows=rows)


OFFER = measured_submission(1, 5)
ASKED = sample.design_challenge(sample.offer_of(OFFER, "offer"), "head", "s", AIMS, Design(0, 3, 0.0))


def sample_submission(**changes: Any) -> Submission:
    return measured_submission(**{"seed": 2, "repetitions": 3, "started": 1000.0, **changes})


def sample_outcome(
    answer: Submission,
    *allowed: str,
    found_findings: tuple[Finding, ...] = (),
    challenge: sample.Challenge = ASKED,
    **buyer: Any,
) -> SampleOutcome:
    return decide_sample(challenge, OFFER, answer, found_findings, {}, AcceptanceOptions(allowed, **buyer))


def outcome_text(outcome: SampleOutcome) -> str:
    reasons = [cell.reason for cell in outcome.comparison.cells[0] if cell.reason]
    return "\n".join([*reasons, *acceptance.condition_texts(outcome)])


def block(outcome: SampleOutcome) -> DecisionBlock:
    return acceptance.acceptance_decision(outcome, "offers/offer.zip", "sample.yaml")


def answers(outcome: SampleOutcome) -> dict[str, str]:
    return {question.name: question.answer for question in block(outcome).questions}


def with_facts(environment: Any) -> Submission:
    """The first attempt's job found something else."""
    submission = sample_submission()
    drawn = next(
        case for case in submission.results if f"{case.run.target}/{case.run.launch}/{case.run.files}" in str(ASKED)
    )
    other = replace(drawn, evidence=replace(drawn.evidence, environment=environment))
    return replace(submission, results=tuple(other if case is drawn else case for case in submission.results))


def with_rows(change: Callable[[Any], Any], cells: tuple[str, ...] = ASKED.cells[:1]) -> Submission:
    submission = sample_submission()
    return replace(submission, rows=tuple(change(row) if str(row.cell) in cells else row for row in submission.rows))


def test_a_sample_of_the_committed_system_is_accepted() -> None:
    outcome = sample_outcome(sample_submission())
    assert (outcome.verdict, outcome.further, outcome.open) == (CellVerdict.ACCEPTED, 0, {})
    assert {cell.verdict for cell in outcome.comparison.cells[0]} == {CellVerdict.ACCEPTED}
    assert len(outcome.comparison.cells[0]) == len(ASKED.cells)
    assert list(acceptance.condition_texts(outcome)) == []
    assert block(outcome).headline == "ACCEPTED"
    assert answers(outcome) == {
        "measured": "yes", "conditions": "same", "results": "yes", "honest": "yes", "inflated": "yes", "days": "assumed"
    }  # fmt: skip
    assert block(outcome).questions[2].reason == (
        f"{len(ASKED.cells)} of {len(ASKED.cells)} drawn results are accepted."
    )


def test_a_slower_system_is_rejected_with_its_ratios() -> None:
    outcome = sample_outcome(sample_submission(factor=0.8))
    assert outcome.verdict is CellVerdict.REJECTED
    assert {cell.verdict for cell in outcome.comparison.cells[0]} == {CellVerdict.REJECTED}
    assert "geometric mean 8" in outcome_text(outcome)
    assert (block(outcome).headline, answers(outcome)["results"]) == ("REJECTED", "NO")
    assert f"{len(ASKED.cells)} of {len(ASKED.cells)} drawn results are rejected: scratch/" in block(outcome).sentence
    assert [(step.who, step.what[:15]) for step in block(outcome).steps] == [
        ("vendor", "Find and fix th"), ("you", "campaign sample"),
    ]  # fmt: skip


def test_the_decision_on_the_samples_of_several_parts_is_that_on_the_worst() -> None:
    honest, slow, unlike = (
        sample_outcome(sample_submission()),
        sample_outcome(sample_submission(factor=0.8)),
        sample_outcome(sample_submission(repetitions=1)),
    )
    assert unlike.verdict is CellVerdict.UNDECIDED
    for outcomes, worst in (((honest, slow, unlike), slow), ((honest, unlike), unlike), ((honest, honest), honest)):
        parts = {f"p{number}": outcome for number, outcome in enumerate(outcomes)}
        blocks = {part: block(outcome) for part, outcome in parts.items()}
        response_decision = acceptance.parts_decision(parts, blocks, "offers/offer.zip", "sample.yaml")
        assert (response_decision.headline, response_decision.may, response_decision.steps) == (
            block(worst).headline, block(worst).may, block(worst).steps
        )  # fmt: skip
        assert response_decision.questions[0].answer == block(worst).headline
        assert {question.name for question in response_decision.questions} == {*parts}
        assert acceptance.worst_verdict(outcome.verdict for outcome in outcomes) is worst.verdict


def test_where_the_lowest_value_is_the_best_a_higher_one_is_rejected() -> None:
    lower = tuple(replace(row, best="lowest") for row in OFFER.rows)
    for factor, outcome in ((1.3, CellVerdict.REJECTED), (0.99, CellVerdict.ACCEPTED)):
        answer = sample_submission(factor=factor)
        answer = replace(answer, rows=tuple(replace(row, best="lowest") for row in answer.rows))
        assert decide_sample(ASKED, replace(OFFER, rows=lower), answer, (), {}, AcceptanceOptions()).verdict is outcome


def test_the_buyers_limit_and_the_reported_numbers_alone_decide_where_he_says_so() -> None:
    answer = sample_submission(factor=0.9)
    assert sample_outcome(answer, limit=0.8).verdict is CellVerdict.ACCEPTED
    assert sample_outcome(answer, limit=0.8).challenge.design.limit == 0.8
    assert sample_outcome(answer, limit=0.99, reported=True).verdict is CellVerdict.REJECTED
    assert sample_outcome(answer, limit=0.8, reported=True).verdict is CellVerdict.ACCEPTED


def test_a_sample_that_varies_more_than_the_design_assumed_asks_for_further_repetitions(tmp_path: Path) -> None:
    outcome = sample_outcome(sample_submission(noise=0.04))
    assert (outcome.verdict, outcome.open) == (CellVerdict.UNDECIDED, {})
    assert "repetitions vary by 4" in outcome_text(outcome) and "the design assumed 1" in outcome_text(outcome)
    assert 20 < outcome.further < 100
    assert [step.what for step in block(outcome).steps] == [
        "campaign accept offers/offer.zip sample.yaml --further",
        "campaign run sample.yaml",
    ]
    file = tmp_path / "challenge.yaml"
    settings = {**sample.challenge_settings(ASKED, OFFER), "slurm": {"partition": "changed"}}
    file.write_text(sample.challenge_text(ASKED, settings))
    file.write_text(acceptance.extended_challenge(outcome, file))
    further_challenge = sample.read_challenge(file)
    assert (further_challenge.nonce, further_challenge.repetitions) == (ASKED.nonce, 3 + outcome.further)
    assert (
        "partition: changed" in file.read_text()
        and f"repetitions: {further_challenge.repetitions}\n" in file.read_text()
    )
    enough = sample_outcome(
        sample_submission(noise=0.04, repetitions=further_challenge.repetitions), challenge=further_challenge
    )
    assert (enough.verdict, enough.further) == (CellVerdict.ACCEPTED, 0)


def test_a_sample_is_decided_after_its_first_session_if_one_side_is_much_likelier() -> None:
    offer = sample.offer_of(OFFER, "offer")
    staged = sample.design_challenge(offer, "head", "s", AIMS, Design(0, 4, 0.9, 2))
    assert (staged.repetitions, staged.design.sessions) == (2, 2)
    honest = sample_outcome(sample_submission(repetitions=2), challenge=staged)
    assert (honest.verdict, honest.further) == (CellVerdict.ACCEPTED, 0)
    unclear = sample_outcome(sample_submission(repetitions=2, factor=0.89), challenge=staged)
    assert (unclear.verdict, unclear.further) == (CellVerdict.UNDECIDED, 1)
    reason = "not decided after 2 of 4 repetitions, in 1 of 2 sessions; measure the next ones 8 hours later"
    assert reason in outcome_text(unclear) and "--further" in block(unclear).steps[0].what
    missing = {"status": Status.MISSING, "value": None, "values": (), "note": "not run yet"}
    submission = sample_submission(repetitions=2)
    rows = tuple(replace(row, **missing) for row in submission.rows)
    assert sample_outcome(replace(submission, rows=rows), challenge=staged).verdict is CellVerdict.UNDECIDED
    # The buyer's own limit decides on what was measured.
    assert sample_outcome(sample_submission(repetitions=2, factor=0.89), challenge=staged, limit=0.95).verdict is (
        CellVerdict.REJECTED
    )


def with_fewer_values(row: Row, number: int) -> Row:
    values = row.values[:number]
    summary = replace(row.summary, n=number)
    return replace(row, values=values, value=values[0], summary=summary, started=row.started[:number])


def test_missing_repetitions_are_asked_for() -> None:
    outcome = sample_outcome(with_rows(lambda row: with_fewer_values(row, 2)))
    assert (outcome.verdict, outcome.further) == (CellVerdict.UNDECIDED, 1)
    assert "2 of 3 repetitions" in outcome_text(outcome) and "--further" in block(outcome).steps[0].what


def test_an_invalid_cell_says_which_rule_it_violates() -> None:
    wrong = Finding("ENV-04", Severity.ERROR, "scratch/*/*/*", "the file system is another", "ext4", "tmpfs")
    outcome = sample_outcome(with_rows(lambda row: replace(row, status=Status.INVALID, findings=(wrong,))))
    assert outcome.verdict is CellVerdict.UNDECIDED
    assert "invalid: ENV-04 the file system is another (expected ext4, found tmpfs)" in outcome_text(outcome)


def test_a_cell_that_was_not_measured_is_undecided() -> None:
    row = {"status": Status.MISSING, "value": None, "values": (), "note": "not run yet"}
    assert "missing: not run yet" in outcome_text(
        sample_outcome(with_rows(lambda table_row: replace(table_row, **row)))
    )
    submission = replace(
        sample_submission(), rows=tuple(row for row in sample_submission().rows if str(row.cell) != ASKED.cells[0])
    )
    assert "only in the first" in outcome_text(sample_outcome(submission))
    assert sample_outcome(submission).verdict is CellVerdict.UNDECIDED
    assert (
        block(sample_outcome(submission))
        .steps[0]
        .what.startswith("Fix the cause of failed runs, then run: campaign run sample.yaml")
    )


# --- ways to cheat, each with what names it


def copied_sample() -> Submission:
    submission = sample_submission()
    return replace(
        submission, results=(replace(submission.results[0], records=OFFER.results[0].records), *submission.results[1:])
    )


def sample_with_cancelled_attempt() -> Submission:
    submission = sample_submission()
    return replace(
        submission, attempts=(*submission.attempts, replace(submission.attempts[0], number=2, state=State.CANCELLED))
    )


def job(**variables: str) -> Callable[[], Submission]:
    return lambda: with_facts(job_environment(**variables))


def node(name: str, text: str) -> Callable[[], Submission]:
    return lambda: with_facts(job_environment({name: text}))


RECORDED: dict[str, tuple[Callable[[], Submission], str]] = {
    "another mount": (node("mount.type", "tmpfs"), "mount.scratch: lustre in the bundle, tmpfs"),
    "another partition": (job(SLURM_JOB_PARTITION="big"), "slurm.partition: fast in the bundle, big"),
    "another binary": (node("executable.sha256", "ef" * 32), "binary: abab"),
    "another library": (node("library.libmpi.so.40", f"/lib/libmpi.so.40 {'12' * 32}"), "libmpi.so.40: cdcd"),
    "a further library": (node("library.libfast.so", "/x 12"), "library.libfast.so: none in the bundle, 12"),
    "a preload": (job(LD_PRELOAD="/x/libfast.so"), "LD_PRELOAD: none in the bundle, /x/libfast.so"),
    "other tuning": (job(OMPI_MCA_pml="ob1"), "variable.OMPI_MCA_pml: ucx in the bundle, ob1"),
    "more tuning": (job(UCX_TLS="shm"), "variable.UCX_TLS: none in the bundle, shm"),
    "more repetitions": (lambda: sample_submission(repetitions=6), "has 6 valid results; the challenge asks for 3"),
    "cancelled attempts": (
        sample_with_cancelled_attempt,
        "attempts: each run once in the bundle, 1 cancelled in the sample",
    ),
    "copied logs": (copied_sample, "to the last digit: it was copied, not measured"),
    "old measurements": (lambda: sample_submission(started=-50.0), "before the last run of the bundle did"),
    "too fast": (lambda: sample_submission(factor=189.0), "times the bundle's; noise explains up to"),
}


@pytest.mark.parametrize(("answer", "name"), RECORDED.values(), ids=RECORDED)
def test_a_sample_that_was_measured_otherwise_is_not_accepted(answer: Callable[[], Submission], name: str) -> None:
    outcome = sample_outcome(answer())
    assert outcome.verdict is not CellVerdict.ACCEPTED
    assert name in outcome_text(outcome)
    assert block(outcome).steps


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ("RUN-02", "outside the run: the output's start time"),
        ("EVD-06", "the clock of the job's first node was set during the run"),
        ("EVD-02", "the nonce is another"),
        ("SRC-04", "the ranks executed another program"),
    ],
)
def test_a_sample_whose_records_contradict_each_other_is_rejected(rule: str, message: str) -> None:
    wrong = Finding(rule, Severity.ERROR, "scratch.single.shared.r1/1", message, "this", "that")
    outcome = sample_outcome(sample_submission(), found_findings=(wrong,))
    assert outcome.verdict is CellVerdict.REJECTED
    assert f"not a valid sample: {rule} {message} (expected this, found that)" in outcome_text(outcome)
    assert (answers(outcome)["measured"], block(outcome).may[:11]) == ("NO", "This is not")


def test_a_difference_counts_for_nothing_once_the_buyer_allows_it() -> None:
    answer = with_facts(job_environment({"mount.type": "nfs", "library.libmpi.so.40": "/lib/libmpi.so.40 12"}))
    assert sample_outcome(answer, "mount.*").verdict is CellVerdict.UNDECIDED
    outcome = sample_outcome(answer, "mount.scratch", "library.*")
    assert outcome.verdict is CellVerdict.ACCEPTED
    assert "allowed: mount.scratch: lustre in the bundle, nfs, lustre in the sample" in outcome_text(outcome)
    assert answers(outcome)["conditions"] == "allowed"
    faster = sample_outcome(sample_submission(factor=3.0))
    assert block(faster).steps[-1].what.endswith("campaign accept offers/offer.zip sample.yaml --allow faster")
    assert sample_outcome(sample_submission(factor=3.0), "faster").verdict is CellVerdict.ACCEPTED


CHANGED: dict[str, tuple[str, str, str]] = {
    "another bundle": ('"head": "head"', '"head": "tail"', "drawn from another bundle"),
    "another seed": ('"seed": "s"', '"seed": "t"', "not those that seed t draws"),
    "fewer cells": (f'"{ASKED.cells[0]}", ', "", "not those that seed s draws"),
    "a lower limit": (f'"limit": {ASKED.design.limit}', '"limit": 0.5', "after it was drawn: nonce"),
    "another nonce": ("nonce: sample-s", "nonce: other-s", "after it was drawn: nonce"),
    "fewer repetitions": ("\nrepetitions: 3", "\nrepetitions: 1", "after it was drawn: repetitions"),
    "another place": ("results: results", "results: /elsewhere", "after it was drawn: results"),
    "another size": ("items_total: 4096", "items_total: 16", "after it was drawn: items_total"),
    "another geometry": ("processes: 8", "processes: 2", "after it was drawn: launch.peak.processes"),
    "declined cells": ("not drawn for", "too slow for", "after it was drawn: declined.0.reason"),
}


def challenge(tmp_path: Path, old: str, new: str) -> Path:
    text = sample.challenge_text(ASKED, sample.challenge_settings(ASKED, OFFER))
    assert old in text
    (tmp_path / "challenge.yaml").write_text(text.replace(old, new))
    return tmp_path / "challenge.yaml"


@pytest.mark.parametrize(("old", "new", "name"), CHANGED.values(), ids=CHANGED)
def test_a_challenge_that_was_changed_is_refused(tmp_path: Path, old: str, new: str, name: str) -> None:
    with pytest.raises(InputError) as refused:
        accept(challenge(tmp_path, old, new), OFFER, "head", AcceptanceOptions(), print)
    assert name in str(refused.value)


MACHINE: list[tuple[str, str, str]] = [
    ("partition: fast", "partition: big", "slurm.partition: fast in the bundle, big in the sample"),
    ("partition: fast", "partition: fast\n  constraint: cold", "slurm.constraint: not set in the bundle, cold in"),
    ("OMPI_MCA_pml: ucx", "OMPI_MCA_pml: ob1", "slurm.environment.OMPI_MCA_pml: ucx in the bundle, ob1 in"),
    ("directory: /scratch", "directory: /dev/shm", "targets.scratch.directory: /scratch in the bundle, /dev/shm in"),
    ("executable: mdtest", "executable: fastest", "benchmark.executable: mdtest in the bundle, fastest in"),
    ("benchmark:", "launcher:\n  prefix: [env, X=1]\nbenchmark:", "launcher.prefix.0: not set in the bundle, env in"),
]


@pytest.mark.parametrize(("old", "new", "name"), MACHINE, ids=[case[1] for case in MACHINE])
def test_settings_of_the_machine_need_the_buyers_word(tmp_path: Path, old: str, new: str, name: str) -> None:
    changed_settings = acceptance._changed_settings(ASKED, challenge(tmp_path, old, new), OFFER)
    outcome = decide_sample(ASKED, OFFER, sample_submission(), (), changed_settings, AcceptanceOptions())
    assert (outcome.verdict, len(outcome.open)) == (CellVerdict.UNDECIDED, len(changed_settings))
    assert name in outcome_text(outcome)
    keys = tuple(changed_settings)
    assert (
        decide_sample(ASKED, OFFER, sample_submission(), (), changed_settings, AcceptanceOptions(keys)).verdict
        is CellVerdict.ACCEPTED
    )
