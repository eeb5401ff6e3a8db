import os
from pathlib import Path
from typing import Any

import pytest

from campaign.config import definition as config
from campaign.config import init
from campaign.config.launch import AllCores
from campaign.config.rules import packs
from campaign.core import resources
from campaign.core.runs import Geometry

CROSSROADS = """\
# A campaign: the benchmark mdtest by the run rules crossroads-mdtest, version 1
# (Crossroads/ATS-3 MDTEST, 36 results for each tier and protocol).
#
# Replace the texts in <angle brackets>, check the other values, then:
#   campaign plan FILE   checks this file against the cluster and shows the runs; submits nothing
#   campaign run FILE    submits the missing runs, follows them and prints the tables; run it again to go on
# The run rules with their clauses: campaign rules crossroads-mdtest
# All keys are described in docs/campaign-file.md; many editors check them by the schema that this line names:
# yaml-language-server: $schema=SCHEMA

# Results are kept in results/<name> beside this file.
name: my-campaign

rules: crossroads-mdtest

# rehearsal: small trial run, all output marked not compliant. full: the RFP's size,
# 2^20 files in place of 16384.
profile: rehearsal

# List each storage tier and protocol that applications can use as a separate target. The benchmark creates its own
# directory in each target's directory and removes nothing else. $NAME is the value of an environment variable.
targets:
  - name: scratch
    directory: /path/to/scratch
    description: <tier, file system and protocol>
  # - name: burst
  #   directory: /burst/$USER
  #   description: <tier, file system and protocol>

# MPI processes and nodes of each launch condition, the same number on every node. A plain number where the number of
# nodes is fixed, otherwise {nodes: 4, processes: 64} or {nodes: 4, processes_per_node: 16}. `search` tunes the
# count automatically (docs/search.md).
launch:
  # Clause 8.5: A single MPI process.
  single: 1   # fixed: 1 process on 1 node
  # Clause 8.5: The optimal number of MPI processes on a single compute node.
  node: 16   # processes on 1 node; or search, to tune it automatically
  # Clause 8.5: The minimal number of MPI processes on multiple compute nodes that achieves the peak results.
  peak: {nodes: 2, processes_per_node: 16}   # or search
  # Clause 8.5: The maximum possible MPI-level concurrency on the proposed system.
  max: all   # all cores of the partition; or {nodes: N, processes: P}; or projected

# Independent repetitions of each run; the table reports the one with the highest create.
# Six or more give a confidence interval; {least: 6, most: 20, width: 5%} repeats until it is narrower than ±5%.
repetitions: 1

# slurm:
#   partition: compute
#   account: my-account
#   qos: normal
#   constraint: cpu
#   time: 1h                     # limit of one run
#   mpi: pmix                    # srun --mpi=list shows what there is
#   modules: [openmpi]
#   directives: [--licenses=scratch]
#   allocation: geometry         # runs per job: run (one), geometry (all of one geometry), one (all of a target)

# benchmark:
#   executable: builtin          # or the path of the RFP's own mdtest
#   extra_arguments: []          # allowed: -v, -V

# Cells that will not be measured, with the reason for the report.
# declined:
#   - cells: "scratch/max/*/*"
#     reason: <why>

# Clauses that are answered in words, for the compliance matrix (campaign table FILE --clauses).
# answers:
#   "8.2.2 tuning": <answer>   # Which settings of clients and servers were tuned, and will they be so in production?

# The proposed system, for the report. Replace each text in angle brackets.
system:
  system: <name, vendor and number of compute nodes>
  node: <processor, cores, memory and network adapters of a compute node>
  network: <network between clients and storage>
  storage servers: <number and kind>
  storage media: <kind and number of devices of each tier>
  file system: <name, version and configuration>
  clients: <number of clients, mount options and drivers>
  operating system: <distribution, kernel and kernel settings>
  compiler and MPI: <versions and flags>
  tuning by users: <what a user can set>
  tuning by administrators: <what only an administrator can set>

# The proposed system as facts, which are compared with the measured system (ENV-05).
# proposed: {nodes: 512, processor: EPYC 9654, cores: 192, memory: 768G, network: InfiniBand 400 Gb/sec,
#            devices: 4, device_memory: 80G, file_system: Lustre, mpi: Open MPI 4.1, operating_system: Rocky Linux 9}

contact:
  name: <person responsible for the results>
  organisation: <company or institute>
  email: <email address>
""".replace("SCHEMA", (resources.SCHEMAS / "campaign-file.json").as_uri())

SMALL = """id: small
version: 1
title: A small pack
document: D
caption: C
applet: ior
arguments: "{flags}"
launch:
  - {id: any, title: Any number, clause: "1"}
  - {id: pair, title: A pair, clause: "2", nodes: 2, processes: 2}
  - {id: two, title: Two nodes, clause: "3", nodes: 2}
  - {id: many, title: Many nodes, clause: "4", minimum_nodes: 8}
  - {id: whole, title: All of it, clause: "5", whole_system: true}
  - {id: half, title: Half, clause: "6", nodes: half, processes_per_node: power of two}
  - {id: tenth, title: A tenth, clause: "6", nodes: 10%}
files: [{id: all, title: T, clause: "2"}]
operations: [{id: write, title: W, record: write, unit: MiB/s}]
selection: {operation: write, best: highest, clause: "4"}
"""


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("USER", "u")
    monkeypatch.delenv("CAMPAIGN_RULES", raising=False)


def write(path: Path, *words: Any) -> None:
    path.write_text(init.text_for(path, *words))


def test_the_file_for_crossroads_explains_every_key_that_a_newcomer_needs() -> None:
    assert init.text("crossroads-mdtest") == CROSSROADS


def test_the_written_file_loads_as_it_is(tmp_path: Path) -> None:
    write(tmp_path / "my-campaign.yaml", "crossroads-mdtest")
    assert (tmp_path / "my-campaign.yaml").read_text() == CROSSROADS
    campaign = config.load(tmp_path / "my-campaign.yaml")[0]
    assert (campaign.name, campaign.rules, campaign.profile) == ("my-campaign", "crossroads-mdtest", "rehearsal")
    assert [target.directory for target in campaign.targets] == [init.DIRECTORY]
    assert campaign.launch == {
        "single": Geometry(1, 1),
        "node": Geometry(1, 16),
        "peak": Geometry(2, 32),
        "max": AllCores(),
    }


def test_the_keys_that_are_commented_out_load_too(tmp_path: Path) -> None:
    """Every `# key: value` line is the campaign file's, so that taking the # away gives what it says."""
    lines = []
    for line in CROSSROADS.splitlines():
        body = line.lstrip(" ").removeprefix("# ")
        indent = line[: len(line) - len(line.lstrip(" "))]
        name = body.lstrip(" -").partition(":")[0]
        is_key = line.lstrip(" ").startswith("#") and (name.isidentifier() or name.startswith('"'))
        lines.append(f"{indent}{body}" if is_key and not body.startswith(("A campaign", "rehearsal:")) else line)
    path = tmp_path / "c.yaml"
    path.write_text("\n".join(lines) + "\n")
    campaign = config.load(path)[0]
    assert [target.name for target in campaign.targets] == ["scratch", "burst"]
    assert (campaign.slurm.partition, campaign.slurm.account, campaign.slurm.time_s) == ("compute", "my-account", 3600)
    assert campaign.slurm.directives == ("--licenses=scratch",)
    assert campaign.benchmark.executable is None
    assert campaign.declined[0].cells == "scratch/max/*/*"
    assert campaign.answers == (("8.2.2 tuning", "<answer>"),)


def test_on_a_cluster_the_file_has_its_partition_its_cores_and_a_directory_that_exists(tmp_path: Path) -> None:
    write(tmp_path / "c.yaml", "crossroads-mdtest", init.Site("batch", 56, "$HOME/lustre"))
    campaign = config.load(tmp_path / "c.yaml")[0]
    assert campaign.slurm.partition == "batch"
    assert campaign.launch["node"] == Geometry(1, 32)  # a power of two, so that the files divide
    assert campaign.launch["peak"] == Geometry(2, 64)
    assert [target.directory for target in campaign.targets] == [f"{os.environ['HOME']}/lustre"]


def test_a_pack_of_any_form_gives_a_file_that_loads(tmp_path: Path) -> None:
    pack = tmp_path / 'a "quoted" directory' / "small.yaml"
    pack.parent.mkdir()
    pack.write_text(SMALL)
    write(tmp_path / "c.yaml", str(pack))
    campaign = config.load(tmp_path / "c.yaml")[0]
    assert packs.load(campaign.rules).id == "small"
    assert campaign.launch == {
        "any": Geometry(2, 32),
        "pair": Geometry(2, 2),
        "two": Geometry(2, 32),
        "many": Geometry(8, 128),
        "whole": AllCores(),
        "half": AllCores("half", "power of two"),
        "tenth": AllCores("10%", 16),
    }


def test_a_selecting_operation_with_sweeps_says_which_of_its_values_decide() -> None:
    assert "with the lowest time-{count}-{memory} (with the last values of its sweeps).\n" in init.text("checkpoint")
    assert "with the highest create.\n" in init.text("crossroads-mdtest")


def test_values_of_the_command_line_are_listed_with_what_they_are_at_full_size(tmp_path: Path) -> None:
    path = tmp_path / "small.yaml"
    variables = (
        'variables:\n- {id: block, full: 16m, rehearsal: 1m, clause: "1", why: contiguous bytes}\n'
        '- {id: segments, full: 16, rehearsal: 4, clause: "1", free: true}\n'
    )
    path.write_text(SMALL.replace('arguments: "{flags}"', 'arguments: "b{block} s{segments} {flags}"') + variables)
    assert """
profile: rehearsal

# Values of the command line (shown: those of a rehearsal). At full size only those marked free may be changed.
# variables:
#   block: 1m    # contiguous bytes; full size: 16m
#   segments: 4  # full size: free, 16

# List each storage""" in init.text(str(path))


@pytest.mark.parametrize(
    ("file", "name"), [("my-rfp.yaml", "my-rfp"), ("RFP 2026 (draft).yml", "RFP-2026-draft"), ("…", "my-campaign")]
)
def test_the_campaign_has_the_name_of_its_file(file: str, name: str, tmp_path: Path) -> None:
    write(tmp_path / file, "crossroads-mdtest")
    assert f"\nname: {name}\n" in (tmp_path / file).read_text()
