"""Slurm's accounting that the buyer hands in is compared with every job of a bundle."""

from __future__ import annotations

import functools
import json
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from campaign.cli.main import main
from campaign.core import journal
from campaign.core.findings import Finding
from campaign.evidence import copies, verify
from campaign.evidence.verify import Buyer
from campaign.sandbox.cluster import Sandbox
from campaign.sandbox.layout import Shape
from tests.support import reference
from tests.support.cases import make_case

COLUMNS = ("JobIDRaw", "JobName", "State", "Start", "End", "NodeList", "WorkDir", "NTasks", "NNodes")
Rows = list[dict[str, str]]


@pytest.fixture(scope="module")
def bag(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bundle of a campaign on a real Slurm with accounting."""
    folder = tmp_path_factory.mktemp("accounted")
    with zipfile.ZipFile(reference.BUNDLE) as archive:
        archive.extractall(folder)
    return folder / "my-rfp"


def of_buyer(bag: Path) -> Rows:
    """What the buyer's sacct says of the jobs: at first the same as the vendor's."""
    rows = []
    for path in sorted((bag / "data/results/jobs").glob("*/accounting.json")):
        record = json.loads(path.read_text())
        job = record["job"]
        rows += [{**step, "WorkDir": job["WorkDir"]} for step in record["steps"]]
    return rows


@functools.cache
def found_without(bag: Path) -> frozenset[Finding]:
    with verify.verify(bag, Buyer()) as verified:
        return frozenset(verified.findings)


def found_by(bag: Path, rows: Rows) -> list[Finding]:
    """What is found by the accounting alone."""
    file = bag.parent / "sacct.txt"
    lines = ["|".join(COLUMNS), *("|".join(row[name] for name in COLUMNS) for row in rows)]
    file.write_text("\n".join(lines) + "\n")
    with verify.verify(bag, Buyer(sacct=file)) as verified:
        return [finding for finding in verified.findings if finding not in found_without(bag)]


def test_an_honest_bundle_agrees_with_the_accounting(bag: Path) -> None:
    assert found_by(bag, of_buyer(bag)) == []
    jobs = [row for row in of_buyer(bag) if "." not in row["JobIDRaw"]]  # sacct --allocations
    of_others = {**jobs[0], "JobIDRaw": "999", "JobName": "other", "WorkDir": "/home/other/work"}
    assert found_by(bag, [*jobs, of_others]) == []


def last_job(**changes: str) -> Callable[[Rows], object]:
    return lambda rows: next(row for row in reversed(rows) if "." not in row["JobIDRaw"]).update(changes)


@pytest.mark.parametrize(
    ("name", "directory", "other_jobs", "is_question"),
    [
        ("campaign-my-rfp-{challenge}01234567", "/elsewhere/jobs/x", (), True),
        ("renamed-by-the-site", "/elsewhere/jobs/campaign-my-rfp-{challenge}01234567", (), True),
        ("campaign-my-rfp-0123456701234567", "/elsewhere/jobs/x", (), False),
        ("campaign-my-rfp-{challenge}01234567", "/elsewhere/jobs/campaign-my-rfp-{challenge}01234567",
         ("campaign-my-rfp-{challenge}01234567",), False),
    ],
)  # fmt: skip
def test_a_job_with_the_challenge_of_this_nonce_is_a_question_wherever_it_ran(
    bag: Path, name: str, directory: str, other_jobs: tuple[str, ...], is_question: bool
) -> None:
    """Also one of several campaigns of which the best is submitted; not one in the journal of another part."""
    challenge = journal.challenge("buyer-2026")
    job = dict(of_buyer(bag)[0], JobIDRaw="99", JobName=name, WorkDir=directory)
    job = {column: value.format(challenge=challenge) for column, value in job.items()}
    with verify.verify(bag, Buyer()) as verified:
        assert verified.evaluation is not None
        submission = verified.evaluation.submission
    submission = replace(submission, campaign=replace(submission.campaign, nonce="buyer-2026"))
    other_names = [other_job.format(challenge=challenge) for other_job in other_jobs]
    findings = copies.check_accounting([*of_buyer(bag), job], submission, other_names)
    questions = [finding for finding in findings if "not in its journal" in finding.message]
    assert [finding.actual for finding in questions] == [f"99 in {job['WorkDir']}"] * is_question


def shift_hour(rows: Rows) -> None:
    for row in rows:
        row.update(Start=str(int(row["Start"]) + 3600), End=str(int(row["End"]) + 3600))


def shifted_without_steps(rows: Rows) -> None:
    rows[:] = [row for row in rows if "." not in row["JobIDRaw"]]
    shift_hour(rows)


def without_a_job(rows: Rows) -> None:
    rows[:] = [row for row in rows if row["JobIDRaw"].partition(".")[0] != "5"]


def with_another_job(rows: Rows) -> None:
    rows.append({**rows[0], "JobIDRaw": "11", "JobName": "campaign-my-rfp-00000000"})


def without_steps_of_the_benchmark(rows: Rows) -> None:
    rows[:] = [row for row in rows if row["JobIDRaw"] != "5.2"]


def with_more_steps(rows: Rows) -> None:
    step = next(row for row in rows if row["JobIDRaw"] == "5.3")
    rows += [{**step, "JobIDRaw": f"5.{number}"} for number in range(4, 9)]


YOURS = "by the accounting that you gave: "


@pytest.mark.parametrize(
    ("change", "messages", "severity"),
    [
        (without_a_job, ["job 5 is not in the accounting that you gave"], "E"),
        (with_another_job, ["the accounting that you gave has jobs of this campaign that are not in its journal"],
         "W"),
        (last_job(NodeList="node9", JobName="x", WorkDir="/y"),
         [f"{YOURS}node list differs between the records", f"{YOURS}job name differs between the records"], "E"),
        (shift_hour, [f"{YOURS}the run's times lie outside those of its job",
                      f"{YOURS}start of the job differs between the records"], "E"),
        (shifted_without_steps, [f"{YOURS}the run's times lie outside those of its job"], "E"),
        (with_more_steps, [f"{YOURS}sacct shows a different number of benchmark runs in job 5 than submitted attempts"],
         "E"),
        (without_steps_of_the_benchmark, [f"{YOURS}sacct lacks job steps of job 5: Slurm numbers the steps of a job "
                                          "without gaps"], "W"),
    ],
)  # fmt: skip
def test_what_the_accounting_contradicts_is_found(
    bag: Path, change: Callable[[Rows], object], messages: list[str], severity: str
) -> None:
    rows = of_buyer(bag)
    change(rows)
    findings = found_by(bag, rows)
    assert {
        finding.message for finding in findings if finding.severity == severity and finding.rule == "EVD-06"
    } >= set(messages)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "JobIDRaw|JobName\n1|x\n",
        "|".join(COLUMNS) + "\n1|x|COMPLETED|2026-11-21T06:27:00|2026-11-21T06:27:00|x|n|/|1|1\n",
    ],
)
def test_an_accounting_of_another_form_is_refused_with_the_command(
    bag: Path, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    file = bag.parent / "sacct.txt"
    file.write_text(text)
    assert main(["verify", str(bag), "--sacct", str(file)]) == 2
    assert copies.SACCT in capsys.readouterr().err
    assert main(["verify", str(bag), "--sacct", str(bag / "nowhere")]) == 2
    assert "nowhere: not found" in capsys.readouterr().err


@pytest.mark.slurm
@pytest.mark.mpi
def test_what_sacct_really_prints_agrees_with_a_real_campaign(tmp_path: Path, sandbox_directory: Path) -> None:
    with_accounting = Sandbox.start(sandbox_directory, Shape(nodes=4, accounting=True))
    case = make_case(tmp_path, with_accounting, "accounted")
    case.call("run", "--only", "scratch/*/shared/*", status=None)
    case.call("bundle", "-o", str(tmp_path / "bag"), status=None)
    command = copies.SACCT.replace(" --starttime=… --endtime=…", " --starttime=now-1hour")
    (tmp_path / "sacct.txt").write_text(case.slurm("sh", "-c", command))
    rows = copies.read_accounting(tmp_path / "sacct.txt")
    assert len([row for row in rows if row["JobIDRaw"].isdigit()]) >= 3
    with verify.verify(tmp_path / "bag", Buyer()) as bare_verified:
        before = set(bare_verified.findings)
    with verify.verify(tmp_path / "bag", Buyer(sacct=tmp_path / "sacct.txt")) as verified:
        assert [finding for finding in verified.findings if finding not in before] == []
