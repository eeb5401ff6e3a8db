"""The campaign file's `launcher`: what may start the ranks and stand before the benchmark."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from campaign.config import definition as config
from campaign.config import slurm_keys
from campaign.config.launcher import SRUN_OPTIONS
from campaign.core.errors import InputError
from campaign.core.runs import SRUN, Launcher

PACK = (Path(__file__).parents[2] / "rules" / "stream.yaml").read_text()
LAUNCHERS = """
launchers:
  - {program: srun, options: [--cpu-bind], clause: practice}
  - {program: numactl, clause: practice}
  - {program: wrapper, clause: practice}
"""
TWO = """\
id: two
version: 1
title: Two
document: Two
caption: Two
programs: [{{id: ior}}]
phases:
  - {{id: first, clause: "1", nodes: 1, program: ior, arguments: "-w"}}
  - {{id: second, clause: "1", {where}, program: ior, arguments: "-w"}}
launch: [{{id: one, title: One, clause: "1"}}]
files: [{{id: all, title: All, clause: "1"}}]
operations: [{{id: write, phase: first, record: write, title: Write, unit: MiB/s}}]
selection: {{operation: write, best: highest, clause: "1"}}
"""
OPEN_MPI = ("-n", "{processes}", "--map-by", "ppr:{processes_per_node}:node")


def load(tmp_path: Path, launcher: str, further_text: str = "") -> Launcher:
    (tmp_path / "mine.yaml").write_text(PACK.replace("id: stream\n", "id: mine\n", 1) + further_text)
    file = tmp_path / "c.yaml"
    file.write_text(
        f"name: demo\nrules: {tmp_path}/mine.yaml\nprofile: rehearsal\n"
        "targets: [{name: scratch, directory: /scratch/u}]\nbenchmark: {executable: /opt/stream}\n" + launcher
    )
    return config.load(file)[0].launcher


def problem(tmp_path: Path, launcher: str, further_text: str = "") -> str:
    with pytest.raises(InputError) as caught:
        load(tmp_path, f"launcher: {launcher}\n", further_text)
    (single_problem,) = caught.value.problems
    return single_problem.removeprefix(f"{tmp_path}/c.yaml:").partition(": ")[2]


def test_without_the_section_srun_starts_the_ranks(tmp_path: Path) -> None:
    assert load(tmp_path, "") == SRUN


def test_binding_options_and_a_prefix_whose_files_lie_beside_the_campaign_file(tmp_path: Path) -> None:
    words = "{options: [--cpu-bind=cores, '--distribution=block:cyclic'], prefix: [./wrap.sh, numactl, --localalloc]}"
    options, prefix = ("--cpu-bind=cores", "--distribution=block:cyclic"), (f"{tmp_path}/wrap.sh", "numactl")
    assert load(tmp_path, f"launcher: {words}\n") == Launcher("srun", options, (), (*prefix, "--localalloc"))


def test_mpirun_places_ranks_by_open_mpis_words_and_another_by_those_that_are_given(tmp_path: Path) -> None:
    launcher = load(tmp_path, "launcher: {program: mpirun, options: [--bind-to, core]}\n")
    assert launcher == Launcher("mpirun", ("--bind-to", "core"), OPEN_MPI)
    words = "[-n, '{processes}', -ppn, '{processes_per_node}']"
    other = load(tmp_path, f"launcher: {{program: /opt/mpich/bin/mpiexec.hydra, placement: {words}}}\n")
    assert other.placement == ("-n", "{processes}", "-ppn", "{processes_per_node}")


@pytest.mark.parametrize(
    ("launcher", "says"),
    [
        ("{options: [--ntasks=4]}", "options of srun are taken from a fixed list and written as --name=value"),
        ("{options: [--cpu-bnd=cores]}", "did you mean --cpu-bind?"),
        ("{options: ['--distribution=cyclic']}", "ranks must be placed in blocks on the nodes"),
        ("{placement: [-n, '{processes}']}", "not allowed with srun"),
        ("{program: ibrun}", "the placement options of ibrun are unknown"),
        ("{program: ./mpirun}", "allowed: a program's name, or an absolute path"),
        ("{program: mpirun, options: [-np, 4]}", "move it to launcher.placement"),
        ("{program: mpirun, options: [--map-by, core]}", "move it to launcher.placement"),
        ("{program: x, placement: ['{processes}', '{ranks}']}", "found {ranks}; allowed: {processes}"),
        ("{prefix: [env, HF_TOKEN=abc, ./wrap.sh]}", "found HF_TOKEN, which looks like a secret"),
        ("{prefix: [./wrap.sh, --password, abc]}", "found --password, which looks like a secret"),
        ("{prefix: [./wrap.sh, https://me:abc@site/x]}", 'found "https://...@site/x", which looks like a secret'),
        ("{image: /i.sqfs}", 'found "/i.sqfs", which neither launcher.prefix nor launcher.options name'),
        ("{image: /i.sqfs, prefix: [apptainer, exec, /other.sqfs]}", "name it there too, as in 'prefix: [apptainer, "),
        ("{prefix: [--mem]}", "allowed as first word: a program, such as numactl or ./wrapper.sh"),
    ],
)
def test_what_would_change_the_placement_is_refused(tmp_path: Path, launcher: str, says: str) -> None:
    assert says in problem(tmp_path, launcher)


@pytest.mark.parametrize(
    ("launcher", "image"),
    [
        ("{prefix: [apptainer, exec, --bind=/scratch, ./i.sif], image: ./i.sif}", "/i.sif"),
        ("{options: ['--container-image=site/mdtest:4', --container-mounts=/scratch], image: 'site/mdtest:4'}", ""),
        ("{options: ['--uenv=prgenv-gnu/24.7:v3', --view=default], image: 'prgenv-gnu/24.7:v3'}", ""),
    ],
)
def test_an_image_is_one_that_the_prefix_or_an_option_of_a_plugin_names(
    tmp_path: Path, launcher: str, image: str
) -> None:
    read = load(tmp_path, f"launcher: {launcher}\n")
    assert read.image == (f"{tmp_path}{image}" if image else launcher.rpartition("image: '")[2].rstrip("'}"))
    assert any(read.image in word for word in (*read.prefix, *read.options))


@pytest.mark.parametrize("where", ["nodes: other", "nodes: 1, beside: first"])
def test_only_srun_places_phases_on_other_nodes(tmp_path: Path, where: str) -> None:
    (tmp_path / "two.yaml").write_text(TWO.format(where=where))
    (tmp_path / "c.yaml").write_text(
        f"name: demo\nrules: {tmp_path}/two.yaml\nprofile: rehearsal\nlauncher: {{program: mpirun}}\n"
        "targets: [{name: scratch, directory: /scratch/u}]\n"
    )
    with pytest.raises(
        InputError, match="found mpirun; rule pack two runs a phase on other nodes than an earlier phase"
    ):
        config.load(tmp_path / "c.yaml")


def test_a_pack_that_names_launchers_allows_no_other(tmp_path: Path) -> None:
    allowed = "launcher: {options: [--cpu-bind=cores], prefix: [numactl, --localalloc]}\n"
    assert load(tmp_path, allowed, LAUNCHERS).prefix == ("numactl", "--localalloc")
    assert load(tmp_path, "launcher: {prefix: [./any.sh]}\n", LAUNCHERS).prefix == (f"{tmp_path}/any.sh",)
    assert "; options of srun allowed by " in problem(tmp_path, "{options: [--mem-bind=local]}", LAUNCHERS)
    assert problem(tmp_path, "{program: mpirun}", LAUNCHERS).endswith(": srun, numactl, wrapper")
    assert problem(tmp_path, "{prefix: [nsys, profile]}", LAUNCHERS).startswith("launcher.prefix[0]: found nsys;")


def test_a_launch_condition_has_options_of_its_own_beside_those_of_all_runs(tmp_path: Path) -> None:
    file = tmp_path / "c.yaml"
    file.write_text(OWN_OPTIONS.format(options="['--cpu-bind=map_cpu:0,8']"))
    campaign, _ = config.load(file)
    assert campaign.launcher.of_launch("peak").options == ("--mem-bind=local", "--cpu-bind=map_cpu:0,8")
    assert campaign.launcher.of_launch("max").options == ("--mem-bind=local",)


def test_options_of_a_launch_condition_are_checked_as_those_of_all_runs(tmp_path: Path) -> None:
    file = tmp_path / "c.yaml"
    file.write_text(OWN_OPTIONS.format(options="[--nodelist=n1]"))
    with pytest.raises(
        InputError, match=r"launch\.peak\.options\[0\]: found .--nodelist=n1.; options of srun are taken"
    ):
        config.load(file)


OWN_OPTIONS = """\
name: demo
rules: crossroads-mdtest
profile: rehearsal
targets: [{{name: scratch, directory: /scratch/u}}]
launch:
  single: 1
  node: 4
  peak: {{nodes: 2, processes: 4, options: {options}}}
  max: all
launcher: {{options: [--mem-bind=local]}}
"""


def test_the_man_page_says_of_each_option_that_a_campaign_file_may_add_what_it_changes() -> None:
    page = (Path(__file__).parents[2] / "docs" / "man5" / "campaign-file.5").read_text()
    for heading, options in (("SBATCH IN SLURM", slurm_keys.ALLOWED_DIRECTIVES), ("SRUN IN LAUNCHER", SRUN_OPTIONS)):
        section = page.partition(f".SH OPTIONS OF {heading}")[2].partition("\n.SH ")[0].replace("\\-", "-")
        assert re.findall(r"fB--([a-z-]+)", section) == sorted(options)
        assert section.count("\nchanges ") == len(options)
