"""What `plan` says of the rules before anything runs: over all rule packs, on a fake Slurm."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from campaign.config.definition import open_campaign
from campaign.config.rules import packs
from campaign.config.rules.pack import RulePack
from campaign.core import resources
from campaign.core.errors import INCOMPLETE, OK, InputError
from campaign.pipeline import campaign_state, planning, preflight
from campaign.pipeline.request import Request
from campaign.plan import matrix
from campaign.report import views
from tests.pipeline.test_declared_packs import CAPTURES, PRINTED, with_inputs_made_here
from tests.support import builders, fake_slurm, source_trees
from tests.support.command_line import call, drive
from tests.support.fake_slurm import Fake

EVERY = sorted(path.stem for path in resources.PACKS.glob("*.yaml"))
PLACES, CORES = 4, 8  # of the fake cluster
COUNTED = b"int main(void) { double begin = MPI_Wtime(); creat(name, 0600); return MPI_Wtime() > begin; }\n"
# Rules that are broken by an edit of the campaign file, by what it adds to the file of any pack.
BY_FILE = {
    "SRC-01", "SRC-02", "SRC-03", "SRC-04", "SRC-05", "SRC-07", "GEO-04", "PRJ-01", "PRJ-02", "PRJ-03", "ENV-01",
    "ENV-02", "CMP-02", "WVR-01",
}  # fmt: skip
# What the other packs' first programs print: without an output of their own, nothing that is read.
PRINTS = {
    "mdtest": f'exec /bin/bash {fake_slurm.MDTEST} "$@"',
    "stream": f"cat {CAPTURES}/stream-5.10.txt",
}
LARGER = "uk-nnss-omb"  # asks for more nodes than the cluster has
SIZES = {"md-workbench": {"objects": "9", "precreate": "8"}}  # that break a condition of the pack
WHOLE = {"crossroads-mdtest", "esif-hpc-4-mdtest"}  # packs with numbers for the whole system
# Packs that are run too, each of another kind: tests on a real Slurm run them all.
RUN = {
    "crossroads-mdtest", "esif-hpc-4-lammps", "io500", "jupiter-io", "md-workbench", "mlperf-storage", "npb", "osu",
    "stream",
}  # fmt: skip


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Fake]:
    monkeypatch.chdir(tmp_path)
    with fake_slurm.running_cluster(tmp_path, monkeypatch) as fake:
        yield fake


def program(folder: Path, name: str, prints: str) -> str:
    """A program with a name of its own, which prints what was captured of the real one."""
    path = folder / "programs" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n# {name}\n{prints}\n")
    path.chmod(0o755)
    return str(path)


def campaign_of(pack: RulePack, folder: Path) -> dict[str, Any]:
    """A campaign file of the pack that can be submitted to the fake cluster, for programs that are scripts."""
    call("init", "--rules", pack.id, folder / "init.yaml")
    fields: dict[str, Any] = yaml.load((folder / "init.yaml").read_text(), Loader=yaml.CSafeLoader)
    for key in ("system", "contact"):
        del fields[key]
    fields |= {"name": "before", "profile": "full", "slurm": {"partition": "batch", "time": "1m"}}
    fields["targets"] = [{"name": "scratch", "directory": str(folder / "scratch"), "description": "a file system"}]
    (folder / "scratch").mkdir()
    text = re.sub(r"\b16\b", "2", json.dumps(fields["launch"]))
    fields["launch"] = json.loads(re.sub(r'"nodes": (\d+)', lambda match: f'"nodes": {min(4, int(match[1]))}', text))
    too_wide = [condition.id for condition in pack.launch if (condition.nodes or 0) > PLACES]
    fields["declined"] = [{"cells": f"*/{name}/*/*", "reason": "the cluster has four nodes"} for name in too_wide]
    names = [program.id for program in pack.programs]
    outputs = PRINTED | {"own-" + name: output for name, output in PRINTED.items()}
    prints = (
        f'[ "${{SLURM_PROCID:-0}}" != 0 ] || {{ {outputs[pack.id][1]}; }}'
        if pack.id in outputs
        else PRINTS.get(names[0], "echo nothing")
    )
    if pack.phases[0].id:
        fields["benchmark"] = {
            "programs": {name: program(folder, name, prints) for name in names},
            "dialect": "rank-offset",
        }
    else:
        fields["benchmark"] = {"executable": program(folder, names[0], prints), "dialect": "rank-offset"}
    fields["launcher"] = {"prefix": ["/bin/sh"]}
    inputs = [input_file.id for input_file in pack.inputs if not input_file.path]
    if inputs:
        fields["inputs"] = [{"id": name, "path": str(folder / "bin" / name)} for name in inputs]
    return fields


def break_rules(pack: RulePack, fields: dict[str, Any], folder: Path, cell: str) -> dict[str, Any]:
    """The same with everything that the campaign file alone can do wrong. `cell`: the one that is projected."""
    published = source_trees.tree(mdtest_c=COUNTED, README=b"published\n")
    built = source_trees.tree(mdtest_c=COUNTED.replace(b"creat(name, 0600);", b""), README=b"published\n")
    for name, tree in (("published", published), ("built", built)):
        source_trees.write(folder / name, tree)
    (folder / "fix.patch").write_text("--- a/README\n+++ b/README\n@@ -1 +1 @@\n-published\n+other\n")
    fields["source"] = {
        "pristine": str(folder / "published"), "modified": str(folder / "built"), "patch": str(folder / "fix.patch"),
        "sha256": "0" * 64, "build": {"flags": "-DTUNED -DN=1", "binary_sha256": "1" * 64},
    }  # fmt: skip
    if len(pack.programs) > 1 and pack.phases[0].id:
        fields["source"]["builds"] = {pack.programs[0].id: {"flags": "-DTUNED", "binary_sha256": "1" * 64}}
    fields["slurm"]["environment"] = {"IOR_FAKE_NODE": "1"}
    (folder / "log").write_text("nothing\n")
    fields["projections"] = [{
        "cells": cell, "nodes": 9, "processes": 9,
        "base_system": "<name>", "generation": "new", "formula": "a", "inputs": {"a": 5.0}, "uncertainty": "5%",
        "logs": [str(folder / "log")], "sources": {"a": f"{folder}/log:1 create"},
    }]  # fmt: skip
    (folder / "other").mkdir()
    fields["targets"].append({"name": "other", "directory": str(folder / "other"), "description": "a file system"})
    fields.setdefault("declined", []).append({"cells": "other/*/*/*", "reason": "not offered"})
    dates = {"reason": "agreed", "by": "buyer", "date": "2020-01-01", "expires": "2099-01-01"}
    fields["waivers"] = [{"rule": next(iter(pack.checks)), "cells": "scratch/*/*/*", **dates}]
    if pack.id in SIZES:
        fields["variables"] = SIZES[pack.id]
    if pack.id in WHOLE:
        fields["launch"]["max"] = {"nodes": 2, "processes": 6}  # a total of 2^20 files is no multiple of it
    return fields


@dataclass(frozen=True)
class Planned:
    pack: RulePack
    file: Path

    def findings(self) -> set[tuple[str, str]]:
        """Rules and wordings of the violations and required explanations that `plan` names."""
        definition = open_campaign(self.file)
        submission = preflight.check(definition, planning.plan(definition), Request()).submission
        return {
            (finding.rule, finding.wording)
            for finding in submission.all_findings
            if finding.violated or finding.unanswered
        }


def write(file: Path, fields: dict[str, Any]) -> None:
    file.write_text(yaml.dump(fields, Dumper=yaml.CSafeDumper, sort_keys=False))


def plan_pack(name: str, folder: Path, monkeypatch: pytest.MonkeyPatch, wrong: bool) -> Planned:
    pack = packs.load(resources.PACKS / f"{name}.yaml")
    if any(not input_file.path for input_file in pack.inputs):
        (folder / "bin").mkdir()
        own_name, place = with_inputs_made_here(folder, name, resources.PACKS)
        monkeypatch.setenv("CAMPAIGN_RULES", str(place))
        pack = packs.load(place / f"{own_name}.yaml")
    fields = campaign_of(pack, folder)
    file = folder / "c.yaml"
    write(file, fields)
    if wrong:
        definition = open_campaign(file)
        cell = str(matrix.cells(definition.campaign, definition.pack)[0])
        write(file, break_rules(pack, fields, folder, cell))
    return Planned(pack, file)


# --- what `run` does about it


def full_size_file(cluster: Fake, name: str) -> Path:
    """A campaign at full size with half of the nodes under the condition for all, and a build without a record."""
    file = fake_slurm.campaign_file(cluster.root.parent, name)
    text = file.read_text().replace("profile: rehearsal\nitems_total: 64\n", "profile: full\n")
    file.write_text(text.replace("max: {nodes: 4, processes: 8}", "max: {nodes: 2, processes: 4}"))
    return file


LOST = (
    "campaign: GEO-03: below the maximum concurrency of partition batch, without a projection to it (expected 32 "
    "processes on 4 nodes; found 4 processes on 2 nodes)\n"
)


def test_a_run_that_would_have_to_be_measured_again_needs_a_word_of_consent(cluster: Fake) -> None:
    file = full_size_file(cluster, "half")
    planned = call("plan", file)
    assert planned.returncode == INCOMPLETE
    assert "'campaign run' refuses this plan without --despite-violations" in planned.stderr
    assert "GEO-03 [8.5]  below the maximum concurrency of partition batch" in planned.stdout
    refused = drive("run", file)
    assert refused.returncode == InputError.exit_status
    assert refused.stderr == (
        f"{LOST}these runs would have to be measured again; change the campaign file ('campaign plan {file}' says "
        "more), or measure them all the same with --despite-violations\n"
    )
    assert cluster.jobs() == []
    process = drive("run", file, "--despite-violations")
    assert "these results will be invalid: GEO-03: below the maximum concurrency" in process.stderr
    assert cluster.jobs() != []


def test_only_the_cells_that_are_measured_matter(cluster: Fake) -> None:
    file = full_size_file(cluster, "some")
    process = drive("run", file, "--only", "scratch/single/*/*")
    assert "GEO-03" not in process.stderr
    assert "to be corrected in the campaign file, before or after the run: SRC-05: build record lacks" in process.stderr
    assert cluster.jobs() != []


def test_a_rehearsal_says_it_and_goes_on(cluster: Fake) -> None:
    file = full_size_file(cluster, "small")
    file.write_text(file.read_text().replace("profile: full", "profile: rehearsal\nitems_total: 64"))
    assert call("plan", file).returncode == OK
    process = drive("run", file)
    assert "these results will be invalid: GEO-03: below the maximum concurrency" in process.stderr
    assert cluster.jobs() != []


def test_the_findings_are_in_the_plan_as_data(cluster: Fake) -> None:
    findings = json.loads(call("plan", full_size_file(cluster, "data"), "--json").stdout)["findings"]
    assert {finding["rule"] for finding in findings} == {"GEO-03", "SRC-05", "ENV-01", "ENV-02"}
    assert {finding["severity"] for finding in findings if finding["rule"] == "GEO-03"} == {"E"}
    assert all(finding["title"] and finding["remedy"] for finding in findings)


# --- nothing comes as a surprise

# What only a run shows, of the rules that the campaign file can break too: wordings of findings.
ONLY_RUN = {
    "SRC-01": {"the executed program is not the version that the RFP requires"},
    "SRC-04": {
        "ranks ran a program other than the declared one",
        "ranks also ran programs other than the benchmark and what launcher.prefix names",
        "ranks also ran programs that are not declared under launcher.prefix",
    },
    "GEO-04": {"the output names nodes that were not in the job"},
    "PRJ-01": {
        "reported as measured, but every operation is equal to {line}",
        "reported as measured, but every operation is exactly {factor} times {line}",
    },
}


@pytest.mark.parametrize("name", EVERY)
def test_every_rule_that_the_campaign_file_breaks_is_named_by_plan_and_the_run_finds_none_that_could_have_been(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cluster: Fake
) -> None:
    """Of all packs the plan, of some also the run."""
    planned = plan_pack(name, tmp_path, monkeypatch, wrong=True)
    before, definition = planned.findings(), open_campaign(planned.file)
    decided = {rule for rule, _ in before}
    expected = BY_FILE & planned.pack.checks.keys()
    if not planned.pack.builds:
        expected -= {"SRC-07"}
    if name in SIZES or name == "esif-hpc-4-mdtest":
        expected.add("GEO-05")
    if name in WHOLE:
        expected.add("GEO-03")
    assert expected - decided == set()
    if name not in RUN:
        return
    first = Request().select_runs(definition.campaign, planning.plan(definition).runs)[0].cells()[0]
    process = drive("run", planned.file, "--despite-violations", "--only", "/".join((*first.line, "*")))
    assert process.returncode in (OK, INCOMPLETE), process.stderr
    after = {
        (finding.rule, finding.wording)
        for finding in campaign_state.current_submission(definition, print).all_findings
        if finding.violated or finding.unanswered
    }
    new = {(rule, wording) for rule, wording in after - before if wording not in ONLY_RUN.get(rule, ())}
    assert {(rule, wording) for rule, wording in new if rule in decided} == set()


@pytest.mark.parametrize("name", EVERY)
def test_a_plan_that_breaks_nothing_is_not_blamed(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cluster: Fake
) -> None:
    planned = plan_pack(name, tmp_path, monkeypatch, wrong=False)
    of_cluster = {"GEO-05"} if name == LARGER else set()
    assert {rule for rule, _ in planned.findings()} - {"ENV-01", "ENV-02", "SRC-05"} == of_cluster


# --- the whole screen


@pytest.mark.parametrize("width", [80, 140])
@pytest.mark.parametrize("tiers", ["one", "two"])
def test_the_plan_is_followed_by_what_is_known_before_it_runs(tiers: str, width: int, cluster: Fake) -> None:
    file = full_size_file(cluster, "screen")
    fields = yaml.safe_load(file.read_text())
    if tiers == "two":
        (cluster.root.parent / "project").mkdir()
        fields["targets"].append({"name": "project", "directory": str(cluster.root.parent / "project")})
    file.write_text(yaml.safe_dump(fields))
    definition = open_campaign(file)
    checked = preflight.check(definition, planning.plan(definition), Request())
    text = views.plan_text(definition, checked.plan, (), width, brief=True)
    text += f"\n\n{views.forecast_text(checked.submission, width)}\n"
    builders.golden(f"plan-{tiers}-{width}.txt", text)
