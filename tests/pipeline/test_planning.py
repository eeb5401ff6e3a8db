"""What a campaign would run: with which programs its results go on."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from campaign.config.definition import Definition, open_campaign
from campaign.config.system import Proposed
from campaign.core import events, journal, resources
from campaign.core.errors import EnvironmentLacks
from campaign.core.runs import Launcher
from campaign.pipeline import planning

FILE = """
name: moved
rules: crossroads-mdtest
profile: rehearsal
targets: [{name: scratch, directory: /scratch}]
launch: {single: 1, node: 4, peak: {nodes: 2, processes: 8}, max: {nodes: 2, processes: 16}}
"""


@pytest.fixture
def definition(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Definition:
    """A campaign that was planned by an installation that lies elsewhere."""
    monkeypatch.delenv("CAMPAIGN_BENCHMARK", raising=False)
    file = tmp_path / "moved.yaml"
    file.write_text(FILE)
    campaign = open_campaign(file)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    with monkeypatch.context() as patch:
        patch.setattr(resources, "binaries", lambda: elsewhere)
        campaign.paths.root.mkdir(parents=True)
        planning.write_plan(campaign, planning.plan(campaign))
    return campaign


def programs(definition: Definition) -> set[str]:
    return {run.executable for run in planning.plan(definition).runs}


def test_results_keep_the_program_that_they_were_measured_with(definition: Definition, tmp_path: Path) -> None:
    assert programs(definition) == {str(tmp_path / "elsewhere" / "mdtest")}


@pytest.mark.parametrize("indent", [None, 1, 4])
def test_a_plan_is_read_however_its_file_is_laid_out(definition: Definition, indent: int | None) -> None:
    path, argv = definition.paths.plan, ["srun", '/odd "]"\\/mdtest', "-x", "[1]"]
    stored = json.loads(path.read_text())
    for run in stored["runs"][::2]:
        run["argv"] = argv[1:]
    path.write_text(json.dumps(stored, indent=1))
    expected = planning.read_earlier_plan(definition)
    assert expected.built_in == Path(argv[1]).parent
    path.write_text(json.dumps(stored, indent=indent))
    assert planning.read_earlier_plan(definition) == expected


def test_a_wrapper_with_the_name_of_the_benchmark_is_not_taken_for_it(definition: Definition, tmp_path: Path) -> None:
    wrapper = tmp_path / "site" / "mdtest"
    campaign = replace(definition.campaign, launcher=Launcher(prefix=(str(wrapper),)))
    wrapped = replace(definition, campaign=campaign)
    planned = planning.plan(wrapped)
    planning.write_plan(wrapped, planned)
    assert planning.plan(wrapped).runs == planned.runs


def test_a_campaign_without_results_has_the_program_of_this_installation(definition: Definition) -> None:
    definition.paths.plan.unlink()
    assert programs(definition) == {str(resources.binaries() / "mdtest")}


def test_the_user_may_choose_another_program(definition: Definition, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CAMPAIGN_BENCHMARK", "/opt/bench")
    assert programs(definition) == {"/opt/bench/mdtest"}


def test_a_program_that_results_were_measured_with_and_that_is_gone_is_named(
    definition: Definition, tmp_path: Path
) -> None:
    text = planning.build_problem(definition, planning.read_earlier_plan(definition))
    assert text.startswith(f"this campaign was measured with {tmp_path}/elsewhere/mdtest, which no longer exists")
    assert text.endswith(f"CAMPAIGN_BENCHMARK={resources.binaries()} to measure everything again")
    (tmp_path / "elsewhere" / "mdtest").touch(0o755)
    assert planning.build_problem(definition, planning.read_earlier_plan(definition)) == ""


def test_an_external_benchmark_of_the_same_name_is_not_taken_for_the_built_in_one(definition: Definition) -> None:
    stored = json.loads(definition.paths.plan.read_text())
    definition.paths.plan.write_text(json.dumps(stored | {"executable": "/site/mdtest 1 2", "dialect": "rank-offset"}))
    assert programs(definition) == {str(resources.binaries() / "mdtest")}


@pytest.mark.parametrize("text", ["{", "null"])
def test_a_damaged_plan_is_named_with_the_way_out_and_one_written_anew_is_read(
    text: str, definition: Definition, tmp_path: Path
) -> None:
    plan_text = definition.paths.plan.read_text()
    definition.paths.plan.write_text(text)
    with pytest.raises(EnvironmentLacks, match=r"plan\.json: damaged \(.*\); restore it from a backup, or remove it"):
        planning.plan(definition)
    definition.paths.plan.write_text(plan_text)
    assert programs(definition) == {str(tmp_path / "elsewhere" / "mdtest")}


def test_the_plan_of_another_campaign_is_named_with_the_way_out(definition: Definition, tmp_path: Path) -> None:
    other = tmp_path / "other" / "journal.jsonl"
    other.parent.mkdir()
    for path in (definition.paths.journal, other):
        journal.append(path, {"event": "begin", "campaign": "offer", "number": str(path)}, events.START)
    planning.write_plan(definition, planning.plan(definition))  # a plan that names no journal is taken for its own
    own_text = definition.paths.plan.read_text()
    fields = json.loads(own_text) | {
        "journal": journal.first_event_hash(other),
        "campaign": "offer",
        "results": "/other/offer",
    }
    definition.paths.plan.write_text(json.dumps(fields))
    with pytest.raises(EnvironmentLacks) as refused:
        planning.plan(definition)
    assert str(refused.value) == (
        f"{definition.paths.plan}: the plan of another campaign (offer, results in /other/offer); restore this "
        "campaign's own from a backup or a bundle, or remove it to plan again"
    )
    definition.paths.plan.write_text(own_text)
    journal.append(
        definition.paths.journal, {"event": "cancel", "jobs": []}, journal.first_event_hash(definition.paths.journal)
    )
    planning.plan(definition)


def test_a_lost_plan_is_named_where_only_it_says_what_all_meant(definition: Definition) -> None:
    """The partition may have other nodes by now, so that the results would be of another geometry."""
    definition.paths.plan.unlink()
    file = definition.campaign.path
    file.write_text(FILE.replace("{nodes: 2, processes: 16}", "all"))
    definition.paths.jobs("campaign-moved-1").mkdir(parents=True)
    with pytest.raises(EnvironmentLacks, match=r"plan\.json: missing, .* only this file says what launch\.max meant"):
        planning.plan(open_campaign(file))
    file.write_text(FILE)
    assert planning.plan(open_campaign(file)).runs


# --- the default partition, by its name or by none


def write_older_plan(definition: Definition, partition: str, written_text: str, default: bool) -> None:
    """The plan of a campaign that began in this partition, with `slurm.partition` as it was written then."""
    stored = json.loads(definition.paths.plan.read_text())
    stored["partition"] = {
        "name": partition, "nodes": 2, "usable": 2, "cores_per_node": 8, "time_limit_s": None, "unusable": [],
        "default": default,
    }  # fmt: skip
    stored["partition_written"] = written_text
    definition.paths.plan.write_text(json.dumps(stored))


def fingerprints(definition: Definition, partition: str) -> set[str]:
    slurm = replace(definition.campaign.slurm, partition=partition)
    return {
        run.fingerprint
        for run in planning.plan(replace(definition, campaign=replace(definition.campaign, slurm=slurm))).runs
    }


@pytest.mark.parametrize(
    ("written_text", "default", "current", "count"),
    [
        ("", True, "compute", True),
        ("compute", True, "", True),
        ("", True, "gpu", False),
        ("compute", False, "compute", True),
        ("compute", False, "", False),
    ],
)
def test_results_count_where_the_default_partition_is_written_down_or_left_out(
    written_text: str, default: bool, current: str, count: bool, definition: Definition
) -> None:
    before = fingerprints(definition, written_text)
    write_older_plan(definition, "compute", written_text, default)
    assert (fingerprints(definition, current) == before) is count
    planning.write_plan(definition, planning.plan(definition))
    assert json.loads(definition.paths.plan.read_text())["partition_written"] == written_text


def with_variables(definition: Definition, *names: str) -> Definition:
    slurm = replace(definition.campaign.slurm, environment=tuple((name, "1") for name in names))
    return replace(definition, campaign=replace(definition.campaign, slurm=slurm))


def test_results_count_where_the_variables_are_written_in_another_order(definition: Definition) -> None:
    begun = with_variables(definition, "B", "A")
    planned = planning.plan(begun)
    assert planning.plan(with_variables(definition, "A", "B")).runs == planned.runs
    planning.write_plan(begun, planned)
    for names, count in ((("A", "B"), True), (("A",), False), (("A", "B", "C"), False), (("A", "C"), False)):
        current = with_variables(definition, *names)
        assert (planning.plan(current).runs == planned.runs) is count
    # Also after they were others for a while.
    planning.write_plan(current := with_variables(definition, "C", "B", "A"), planning.plan(current))
    assert planning.plan(begun).runs == planning.plan(with_variables(definition, "A", "B")).runs == planned.runs


def test_what_formulas_need_of_a_device_is_asked_of_the_campaign_file(definition: Definition) -> None:
    (phase,) = definition.pack.phases
    words = (*phase.arguments, "-q", "{= device_memory / devices}")
    computed_definition = replace(definition, pack=replace(definition.pack, phases=(replace(phase, arguments=words),)))
    assert planning.plan(computed_definition).unresolved == {
        "devices": "the rules need devices (accelerators of a node); set proposed.devices",
        "device_memory": "the rules need device_memory (of an accelerator); set proposed.device_memory",
    }
    campaign = replace(computed_definition.campaign, proposed=Proposed(devices=4, device_memory=80 << 30))
    assert {run.arguments[-1] for run in planning.plan(replace(computed_definition, campaign=campaign)).runs} == {
        str(20 << 30)
    }
