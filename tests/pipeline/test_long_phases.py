"""The shipped packs of several phases, each of which lasts longer than any tolerance, on a clock that the test sets."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from campaign.config.definition import open_campaign
from campaign.config.rules import packs
from campaign.core import resources
from campaign.core.findings import Finding, Severity
from campaign.judge import engine
from campaign.judge.job_facts import CONTROLLER_S
from campaign.pipeline import campaign_state, planning
from campaign.pipeline.request import Request
from campaign.results.case import Case
from tests.pipeline.test_before import cluster, plan_pack
from tests.support.bench_faults import library
from tests.support.command_line import drive
from tests.support.fake_slurm import Fake

__all__ = ["cluster"]  # a fixture
pytestmark = pytest.mark.timeout(900)

PHASED = [path.stem for path in sorted(resources.PACKS.glob("*.yaml")) if len(packs.load(path).phases) > 1]
LASTS_S = 4000  # longer than the largest tolerance, and than what the captured outputs say
# Rules that compare times. A program that is a script prints the times of its capture, which RUN-02 reports.
OF_TIMES = {"EVD-06", "RUN-02", "RUN-09"}
OF_CAPTURE = "outside the run: the output's "


def lengthen(program: Path, ahead: Path) -> None:
    """Have the first rank of a program set the clock ahead, before it prints what it printed."""
    lines = program.read_text().splitlines(keepends=True)
    new = f"{ahead}.$$"
    wait = f'[ "$SLURM_PROCID" != 0 ] || {{ echo $(($(cat {ahead}) + {LASTS_S})) >{new}; mv {new} {ahead}; }}\n'
    program.write_text("".join((*lines[:1], wait, *lines[1:])))


def time_findings(case: Case) -> Iterator[Finding]:
    """What the rules about times find in a run and in each of its phases."""
    for part in (case, *case.phases.values()):
        for finding in engine.judge_by_rules(engine.ATTEMPT_RULES, OF_TIMES, part, part.subject):
            if finding.checked and finding.severity is not Severity.INFO and OF_CAPTURE not in finding.message:
                yield finding


@pytest.mark.parametrize("name", PHASED)
def test_a_run_whose_phases_last_longer_than_every_tolerance_is_accused_of_nothing(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cluster: Fake
) -> None:
    planned = plan_pack(name, tmp_path, monkeypatch, wrong=False)
    ahead = tmp_path / "ahead"
    ahead.write_text("0")
    for program in (tmp_path / "programs").iterdir():
        lengthen(program, ahead)
    definition = open_campaign(planned.file)
    first = Request().select_runs(definition.campaign, planning.plan(definition).runs)[0].cells()[0]
    monkeypatch.setenv("CLOCK_AHEAD", str(ahead))
    monkeypatch.setenv("LD_PRELOAD", str(library("clock_ahead")))
    drive("run", planned.file, "--despite-violations", "--only", "/".join((*first.line, "*")))
    monkeypatch.delenv("LD_PRELOAD")
    (case,) = campaign_state.current_submission(definition, print, with_results=True).results[:1]
    completion = case.evidence.completion
    assert completion is not None
    launched = {command.phase for command in case.run.launched}
    lasted = [times.ended - times.started for times in completion.phases if times.phase in launched]
    assert len(lasted) == len(launched), completion.reason
    assert min(lasted) > CONTROLLER_S
    assert [finding.message for finding in time_findings(case)] == []
