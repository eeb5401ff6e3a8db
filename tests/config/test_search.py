"""What the campaign file says of searches and projections, and what of it contradicts itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from campaign.config import definition as config
from campaign.config.format import Campaign
from campaign.config.search import NotRun, Searched, SearchSettings
from campaign.core.errors import InputError
from campaign.core.runs import Geometry

HEAD = """name: demo
rules: crossroads-mdtest
profile: rehearsal
targets: [{name: scratch, directory: /scratch/u}]
"""
LAUNCH = "launch: {node: search, peak: search}\n"
PROJECTION = """projections:
  - cells: "scratch/max/*/*"
    nodes: 8
    processes: 64
    base_system: Earlier
    generation: twice the servers
    formula: measured * processes / base
    inputs: {measured: 1234.5, base: 32}
    uncertainty: 20%
    logs: [base.out]
"""


def load(tmp_path: Path, text: str) -> Campaign:
    (tmp_path / "base.out").write_text("1234.5")
    file = tmp_path / "c.yaml"
    file.write_text(HEAD + text)
    return config.load(file)[0]


def problems(tmp_path: Path, text: str) -> list[str]:
    with pytest.raises(InputError) as caught:
        load(tmp_path, text)
    return [problem.removeprefix(f"{tmp_path}/c.yaml:") for problem in caught.value.problems]


def test_searches_with_their_defaults_and_with_all_that_may_be_set(tmp_path: Path) -> None:
    campaign = load(tmp_path, LAUNCH)
    assert (campaign.launch["node"], campaign.launch["peak"], campaign.search) == (
        Searched(),
        Searched(),
        SearchSettings(),
    )
    settings_text = (
        "search: {operation: stat, per: all, margin: 10%, confidence: 95%, least: 4, most: 9, nodes: 3, "
        "processes_per_node: 96, budget: 12.5}\n"
    )
    assert load(tmp_path, LAUNCH + settings_text).search == SearchSettings("stat", "all", 0.1, 0.95, 4, 9, 3, 96, 12.5)


def test_a_condition_that_is_not_run_takes_its_numbers_from_a_projection(tmp_path: Path) -> None:
    campaign = load(tmp_path, f"launch: {{node: 4, peak: search, max: projected}}\n{PROJECTION}")
    assert campaign.launch["max"] == NotRun()
    assert campaign.projections[0].value == 2469.0
    assert campaign.projections[0].geometry == Geometry(8, 64)
    assert campaign.projections[0].logs == (tmp_path / "base.out",)


SEARCHES = {
    "{least: 9, most: 6}": "found 6, but least is 9; allowed: 9 or more",
    "{margin: 0.1%}": 'found "0.1%"; allowed: a percentage from 0.5% to 30%',
    "{margin: 40%}": 'found "40%"; allowed: a percentage from 0.5% to 30%',
    "{margin: -5%}": 'found "-5%"; allowed: a percentage from 0.5% to 30%',
    "{margin: 0.05}": "found 0.05, which has no percent sign; allowed: a percentage from 0.5% to 30%",
    "{confidence: 100%}": 'found "100%"; allowed: a percentage from 80% to 99.9%',
    "{nodes: 1}": "found 1; allowed: 2 or more for launch.peak",
    "{operation: open}": "found open; allowed: create, stat, remove",
    "{operation: creat}": "found creat; did you mean create?",
    "{budget: 0}": "found 0; allowed: a number above zero",
    "{per: node}": "found node; allowed: configuration, operation or all",
    "{least: 2}": "found 2; allowed: a whole number from 3 to 1000",
}


@pytest.mark.parametrize("text", SEARCHES)
def test_limits_that_cannot_be_are_refused_with_their_place(tmp_path: Path, text: str) -> None:
    messages = problems(tmp_path, f"{LAUNCH}search: {text}\n")
    assert len(messages) == 1
    assert messages[0].startswith("6:")
    key = text.strip("{}").split(", ")[-1].split(":")[0]
    assert f"search.{key}: " in messages[0]
    assert SEARCHES[text].replace('"', "") in messages[0].replace('"', "")


def test_all_that_is_wrong_is_reported_at_once(tmp_path: Path) -> None:
    messages = problems(tmp_path, f"{LAUNCH}search: {{least: 9, most: 6, nodes: 1, margin: 40%, operation: open}}\n")
    assert len(messages) == 4


def test_settings_of_a_search_that_nothing_asks_for_are_refused(tmp_path: Path) -> None:
    text = "launch: {node: 4, peak: {nodes: 2, processes: 8}}\nsearch: {margin: 3%}\n"
    remedy = "set one (such as launch.node: search) or remove the key"
    assert problems(tmp_path, text) == [f"6:9: search: no launch condition is set to search; {remedy}"]


PROJECTIONS = {
    (
        "    inputs: {measured: 1234.5, base: 32}\n",
        "    inputs: {measured: 1234.5}\n",
    ): "missing values for base, which the formula uses",
    ("    inputs: {measured: 1234.5, base: 32}\n", ""): "inputs: required key missing",
    ("base: 32}", "base: 32, more: 1}"): "not used by the formula; remove it",
    ("measured * processes / base", "9^9^9^9 * measured * base"): "cannot be computed",
    ("measured * processes / base", "measured / (base - 32)"): "cannot be computed",
    ("measured * processes / base", "base - measured"): "gives -1202.5; allowed: a number above zero",
    ("measured * processes / base", "__import__('os') * base"): "is not arithmetic; allowed: names and numbers",
    (
        "processes: 64",
        "processes: 63",
    ): "found 63 processes on 8 nodes; allowed: a multiple of 8 (the same number on each node)",
    ("[base.out]", "[nope.out]"): "file not found; correct the path",
    ("20%", "0%"): "allowed: a percentage from 0.1% to 100%",
    ("scratch/max/*/*", "scratch/max/shared/*"): "has no entry in projections; add one",
    ("scratch/max/*/*", "nope/max/*/*"): "no target nope; allowed: scratch",
    ("    base_system: Earlier\n", ""): "base_system: required key missing",
}


@pytest.mark.parametrize("change", PROJECTIONS, ids=str)
def test_a_projection_without_what_it_needs_is_refused(tmp_path: Path, change: tuple[str, str]) -> None:
    assert change[0] in PROJECTION
    text = f"launch: {{node: 4, peak: search, max: projected}}\n{PROJECTION.replace(*change)}"
    assert any(PROJECTIONS[change] in problem for problem in problems(tmp_path, text))


def test_a_condition_that_is_not_run_needs_projections(tmp_path: Path) -> None:
    messages = problems(tmp_path, "launch: {node: 4, peak: search, max: projected}\n")
    assert messages == [
        "5:38: launch.max: found projected, but scratch/max/shared/create has no entry in projections; add one, or one "
        "in declined"
    ]


def test_a_typo_in_a_launch_condition_says_nothing_of_the_search_that_nobody_asked_for(tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_text(
        HEAD.replace("crossroads-mdtest", "checkpoint") + "launch: {nod: 4, nodes: {nodes: 2, processes: 8}}\n"
    )
    with pytest.raises(InputError) as caught:
        config.load(tmp_path / "c.yaml")
    assert caught.value.problems == (
        f"{tmp_path}/c.yaml:5:15: launch.nod: rule pack checkpoint has no such launch condition; did you mean node?",
    )


def test_a_search_is_not_offered_where_the_rules_leave_nothing_to_tune(tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_text(HEAD.replace("crossroads-mdtest", "checkpoint") + "launch: {node: 4}\n")
    with pytest.raises(InputError) as caught:
        config.load(tmp_path / "c.yaml")
    assert "launch.nodes: required key missing; allowed: {nodes: 2, processes: 32} or " in caught.value.problems[0]


LAMMPS = """name: lm
rules: uk-nnss-lammps
profile: full
targets: [{name: t, directory: /scratch/u}]
benchmark: {programs: {lmp: /usr/bin/lmp}}
launch: {system: projected}
declined: [{cells: "t/system/kokkos/*", reason: no accelerators}]
""" + PROJECTION.replace("scratch/max/*/*", "t/system/host/loop")


def test_any_launch_condition_of_a_pack_that_judges_projections_may_be_projected_and_then_reads_no_input(
    tmp_path: Path,
) -> None:
    (tmp_path / "base.out").write_text("1234.5")
    file = tmp_path / "lm.yaml"
    file.write_text(LAMMPS)
    campaign = config.load(file)[0]
    assert (campaign.launch, campaign.inputs) == ({"system": NotRun()}, ())


def test_a_pack_that_judges_no_projections_has_none_but_of_the_maximum(tmp_path: Path) -> None:
    text = HEAD.replace("crossroads-mdtest", "checkpoint") + "launch: {nodes: projected}\n"
    (tmp_path / "c.yaml").write_text(text)
    with pytest.raises(InputError) as caught:
        config.load(tmp_path / "c.yaml")
    assert "launch.nodes: found projected; allowed: {nodes: 2, processes: 32} or " in str(caught.value)
