"""Conditions of shipped packs on results of several phases."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from campaign.config.rules import packs
from campaign.config.rules.pack import settle
from campaign.core import resources
from campaign.core.findings import Severity
from campaign.core.records import Record, Source
from campaign.core.runs import Geometry
from campaign.judge.conditions import check_result_conditions
from campaign.plan import matrix
from campaign.results.case import Case
from tests.support import builders

EASY = {"io500": "ior-easy-read/read", "io500-app": "io500/ior-easy-read-bandwidth"}
HARD = {"io500": "ior-hard-read/read", "io500-app": "io500/ior-hard-read-bandwidth"}
RANDOM = "io500/random-read"


def condition_findings(name: str, printed_values: Mapping[str, float]) -> list[tuple[Severity, str]]:
    """What RES-01 says of an execution of the pack at full size that printed these values."""
    pack = settle(packs.load(resources.PACKS / f"{name}.yaml"), "full", {}, {})
    programs = {program.id: matrix.Executable(f"/bench/{program.id}") for program in pack.programs}
    (run,) = matrix.expand(builders.campaign(), pack, {"production": Geometry(2, 4)}, programs)
    records = tuple(Record(key, value, "GiB/s", Source("stdout", 7)) for key, value in printed_values.items())
    case = Case(builders.campaign(), pack, run, builders.attempt(run), records, {"": builders.observation(run)})
    return [(finding.severity, finding.message) for finding in check_result_conditions(case)]


@pytest.mark.parametrize("name", EASY)
def test_interleaved_reads_of_io500_that_beat_sequential_ones_are_to_be_explained(name: str) -> None:
    assert condition_findings(name, {EASY[name]: 9.0, HARD[name]: 8.0}) == []
    ((severity, text),) = condition_findings(name, {EASY[name]: 8.0, HARD[name]: 9.0})
    assert severity is Severity.WARNING
    assert "requires ior_hard_read <= ior_easy_read; found ior_hard_read" in text


def test_random_reads_of_an_extended_run_that_beat_sequential_ones_are_to_be_explained() -> None:
    usual = {EASY["io500-app"]: 9.0, HARD["io500-app"]: 8.0}
    assert condition_findings("io500-app", {**usual, RANDOM: 0.9}) == []
    ((severity, text),) = condition_findings("io500-app", {**usual, RANDOM: 90.0})
    assert severity is Severity.WARNING
    assert "requires random_read <= ior_easy_read; found random_read 90" in text
