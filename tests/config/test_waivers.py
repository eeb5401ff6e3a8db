"""Explanations and waivers: what they do to findings, and what a signature holds for."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest

from campaign.cli.main import main
from campaign.config.definition import open_campaign
from campaign.config.waivers import NAMESPACE, NO_ANSWERS, Answers, Explanation, Granted, Waiver, statement
from campaign.core import signatures
from campaign.core.errors import InputError
from campaign.core.findings import Severity
from campaign.core.runs import Status
from campaign.judge import engine
from campaign.report import notes
from tests.support import builders
from tests.support.results import Results

CELLS = "scratch/peak/unique/*"
WAIVER = Waiver(CELLS, "GEO-02", "one node was down", "B. Uyer", date(1969, 1, 1), date(1970, 1, 1))


def broken(answers: Answers = NO_ANSWERS, **seen: object) -> Results:
    """A campaign of which one run was on one node in place of two."""
    results = Results(answers=answers)
    results.add("peak.unique", seen={"nodes": 1, **seen})
    return results


def signed_answers(**changes: object) -> Answers:
    return Answers((Granted(replace(WAIVER, **changes), "buyer@site"),))  # type: ignore[arg-type]


# --- what they do


def test_a_waived_breach_stands_beside_its_number_and_does_not_block_it() -> None:
    row = broken(signed_answers()).row("peak/unique/create")
    finding = next(finding for finding in row.findings if finding.rule == "GEO-02")
    assert (row.status, finding.severity) == (Status.MEASURED, Severity.ERROR)
    assert finding.waived == "B. Uyer, 1969-01-01 until 1970-01-01: one node was down"
    assert [text for text in notes.table_notes([[row]], builders.pack()).texts if "waived" in text] == [
        "GEO-02 waived, B. Uyer, 1969-01-01 until 1970-01-01: one node was down: "
        "ran with other process or node counts than planned for peak"
    ]


@pytest.mark.parametrize(
    "answers",
    [
        Answers(),
        Answers((Granted(WAIVER, problem="the waiver is not signed"),)),
        signed_answers(rule="FLG-01"),
        signed_answers(cells="scratch/node/*/*"),
        signed_answers(
            cells="scratch/peak/unique/create"
        ),  # of a run all cells, since its numbers stand and fall together
        signed_answers(expires=date(1969, 12, 31)),  # the run was on 1970-01-01
    ],
)
def test_a_waiver_that_is_not_signed_or_not_for_it_changes_nothing(answers: Answers) -> None:
    row = broken(answers).row("peak/unique/create")
    assert row.status is Status.INVALID
    assert {finding.waived for finding in row.findings} == {""}


def test_only_the_waived_rule_is_waived() -> None:
    row = broken(signed_answers(), placement="cyclic").row("peak/unique/create")
    assert (row.status, {finding.rule for finding in row.findings if finding.blocks}) == (Status.INVALID, {"GEO-01"})


def test_an_explanation_stands_with_the_finding_and_makes_no_breach_good() -> None:
    answers = Answers(
        (), tuple(Explanation("scratch/*/*/*", rule, "the switch was replaced") for rule in ("FLG-04", "GEO-02"))
    )
    row = broken(answers).row("peak/unique/create")
    assert {finding.rule: finding.explained for finding in row.findings if finding.explained} == {
        "FLG-04": "the switch was replaced"
    }
    assert row.status is Status.INVALID


def test_a_finding_about_one_result_of_a_run_is_answered_where_the_answer_names_this_result() -> None:
    results = Results(answers=Answers((), (Explanation("*/*/*/create", "PHY-03", "it prints no count"),)))
    results.add("peak.onefile")  # whose files are created and removed once by one of the processes
    (case,) = results.cases()
    explanations = {finding.operation: finding.explained for finding in case.findings if finding.rule == "PHY-03"}
    assert explanations == {"create": "it prints no count", "remove": ""}


def test_findings_over_the_whole_campaign_are_answered_too() -> None:
    results = Results(pack=builders.pack(checks={"CMP-03": "8"}))
    answers = Answers((Granted(replace(WAIVER, rule="CMP-03", cells="*/max/*/*"), "buyer@site"),))
    findings = engine.judge_submission(replace(results.submission(), answers=answers))
    assert {finding.subject.split("/")[1]: bool(finding.waived) for finding in findings} == {
        **dict.fromkeys(("single", "node", "peak"), False),
        "max": True,
    }


# --- signatures


@pytest.fixture
def keys(tmp_path: Path) -> Path:
    """A buyer's key, a stranger's, and the list that holds the buyer's alone."""
    for name in ("buyer", "stranger"):
        command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", str(tmp_path / name)]
        subprocess.run(command, check=True, timeout=800)
    public = (tmp_path / "buyer.pub").read_text()
    (tmp_path / "signers").write_text(f'buyer@site namespaces="{NAMESPACE}" {public}')
    return tmp_path


def sign(keys: Path, text: str, by: str = "buyer", namespace: str = NAMESPACE) -> Path:
    path = keys / "waiver.txt"
    path.write_text(text)
    command = ["ssh-keygen", "-q", "-Y", "sign", "-f", str(keys / by), "-n", namespace, str(path)]
    subprocess.run(command, check=True, timeout=800, capture_output=True)
    return path.with_name("waiver.txt.sig")


TEXT = statement("demo", "crossroads-mdtest", WAIVER)


def test_a_signature_over_the_statement_names_its_signer(keys: Path) -> None:
    signature = signatures.verify(TEXT.encode(), sign(keys, TEXT), keys / "signers", NAMESPACE)
    assert signature == signatures.SignatureCheck("buyer@site")


@pytest.mark.parametrize(
    ("by", "namespace", "text"),
    [
        ("stranger", NAMESPACE, TEXT),
        ("buyer", "email", TEXT),
        ("buyer", NAMESPACE, TEXT.replace("peak", "*")),
        ("buyer", NAMESPACE, TEXT.replace("1970", "1980")),
    ],
)
def test_any_other_key_text_or_purpose_is_refused(keys: Path, by: str, namespace: str, text: str) -> None:
    signature = signatures.verify(TEXT.encode(), sign(keys, text, by, namespace), keys / "signers", NAMESPACE)
    assert (signature.by, bool(signature.problem)) == ("", True)


def test_what_is_not_there_or_no_signature_is_refused_with_its_name(keys: Path) -> None:
    absent = keys / "absent"
    assert signatures.verify(b"", absent, keys / "signers", NAMESPACE).problem.endswith("absent: not found")
    assert signatures.verify(b"", keys / "buyer", absent, NAMESPACE).problem.endswith("absent: not found")
    noise = keys / "noise"
    noise.write_bytes(bytes(range(256)))
    assert signatures.verify(b"", noise, keys / "signers", NAMESPACE).problem


FILE = """name: demo
rules: crossroads-mdtest
profile: rehearsal
targets: [{name: scratch, directory: /scratch/user}]
launch: {node: 4, peak: {nodes: 2, processes: 8}, max: {nodes: 2, processes: 8}}
allowed_signers: signers
waivers:
  - {cells: "*/max/*/*", rule: GEO-02, reason: half of it, by: B. Uyer, date: "2026-11-01", expires: "2026-12-01"}
  - cells: "*/max/*/*"
    rule: RUN-07
    reason: too fast to last
    by: B. Uyer
    date: "2026-11-01"
    expires: "2026-12-01"
    signature: waiver.txt.sig
"""


def test_the_printed_statement_signed_is_a_waiver(keys: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = keys / "demo.yaml"
    file.write_text(FILE)
    assert main(["check", str(file), "--waiver", "2"]) == 0
    sign(keys, capsys.readouterr().out)
    unsigned, good = open_campaign(file).answers.waivers
    assert (unsigned.signer, unsigned.problem) == ("", "the waiver is not signed")
    assert (good.signer, good.problem) == ("buyer@site", "")
    file.write_text(FILE.replace("too fast to last", "too fast"))
    assert open_campaign(file).answers.waivers[1].signer == ""
    assert main(["check", str(file), "--waiver", "3"]) == 2


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        (
            'expires: "2026-12-01"}',
            'expires: "2026-10-01"}',
            "waivers[0].expires: found 2026-10-01, which is before its date 2026-11-01; ",
        ),
        (
            'date: "2026-11-01", ',
            "date: 2026-11-01, ",
            "waivers[0].date: found 2026-11-01, which YAML reads as a date; ",
        ),
        (
            'date: "2026-11-01", ',
            'date: "2026-11-31", ',
            'waivers[0].date: found "2026-11-31"; allowed: a day in quotes',
        ),
        (
            "rule: GEO-02",
            "rule: CCH-05",
            "waivers[0].rule: found CCH-05, which is not in rule pack crossroads-mdtest; see",
        ),
        (
            "allowed_signers: signers\n",
            "",
            "waivers[1].signature: found a signature, but allowed_signers is missing; add",
        ),
        (
            '"*/max/*/*", rule',
            '"*/many/*/*", rule',
            'waivers[0].cells: found "*/many/*/*": no launch condition many; allowed: single',
        ),
    ],
)
def test_a_waiver_that_cannot_hold_is_refused_in_the_file(tmp_path: Path, old: str, new: str, problem: str) -> None:
    file = tmp_path / "demo.yaml"
    assert old in FILE
    file.write_text(FILE.replace(old, new, 1))
    with pytest.raises(InputError) as caught:
        open_campaign(file)
    assert problem in str(caught.value)
