"""Packs that say how an output is read, from the plan to the bundle: programs that print what was captured."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import zipfile
from pathlib import Path

import pytest

from campaign.config.rules import packs
from campaign.config.rules.output_format import BUILT_IN
from campaign.core import resources
from campaign.sandbox.cluster import Sandbox
from tests.support.captures import DATA
from tests.support.cases import Case, new_target
from tests.support.command_line import call

pytestmark = [pytest.mark.slurm, pytest.mark.mpi, pytest.mark.timeout(900)]
CAPTURES = DATA / "declared"


def case_of(folder: Path, sandbox: Sandbox, pack: str, launch: str, prints: str, place: Path = resources.PACKS) -> Case:
    """A campaign with scripts as its programs, which run the shell's words `prints`: their interpreter is declared."""
    (folder / "bin").mkdir()
    if any(not input_file.path for input_file in packs.load(place / f"{pack}.yaml").inputs):
        pack, place = with_inputs_made_here(folder, pack, place)
    names = [program.id for program in packs.load(place / f"{pack}.yaml").programs]
    for program in (folder / "bin" / name for name in names):
        program.write_text(f"#!/bin/sh\n{prints}\n")
        program.chmod(0o755)
    case = with_program(folder, sandbox, pack, launch, folder / "bin" / names[0], place)
    case.file.write_text(f"{case.file.read_text()}launcher:\n  prefix: [/bin/sh]\n")
    return case


def with_inputs_made_here(folder: Path, pack: str, place: Path) -> tuple[str, Path]:
    """A copy of a pack that requires files made here, in place of the document's, which are not the project's."""
    text = (place / f"{pack}.yaml").read_text().replace(f"id: {pack}\n", f"id: own-{pack}\n", 1)
    for input_file in packs.load(place / f"{pack}.yaml").inputs:
        (folder / "bin" / input_file.id).write_text(input_file.id)
        text = (
            text.replace(input_file.sha256, hashlib.sha256(input_file.id.encode()).hexdigest())
            if input_file.sha256
            else text
        )
    (folder / "packs").mkdir()
    (folder / "packs" / f"own-{pack}.yaml").write_text(text)
    return f"own-{pack}", folder / "packs"


def with_program(
    folder: Path, sandbox: Sandbox, pack: str, launch: str, program: Path, place: Path = resources.PACKS
) -> Case:
    """A campaign whose program, or whose programs in the same directory, are there."""
    target = new_target(sandbox, f"try-{pack}-{folder.name}")
    own_rules = {"CAMPAIGN_RULES": str(place)} if place != resources.PACKS else {}
    case = Case(folder / f"try-{pack}.yaml", target, sandbox, own_rules)
    case.call("init", "--rules", pack)
    text = case.file.read_text()
    text = re.sub(r"(?m)^    directory: .*", f"    directory: {case.target}", text)
    text = re.sub(
        r"<path of (.*)>", lambda name: str(program.with_name(name[1] if "programs:" in text else program.name)), text
    )
    text = re.sub(r"(?m)^slurm:\n(?:  .*\n)+", "", text)
    text = re.sub(r"(?m)^launch:\n(?:  .*\n)+", f"launch:\n  {launch}\n", text)
    case.file.write_text(f"{text}\nslurm:\n  time: 2m\n")
    return case


def test_the_numbers_of_a_declared_output_are_in_the_table_with_their_lines(tmp_path: Path, sandbox: Sandbox) -> None:
    case = case_of(tmp_path, sandbox, "stream", "node: 1", f"cat {CAPTURES}/stream-5.10.txt")
    case.call("run")
    rows = {row["operation"]: row for row in case.table()}
    assert {name: row["value"] for name, row in rows.items()} == {
        "copy": 4287.0, "scale": 3815.7, "add": 7790.8, "triad": 6111.9
    }  # fmt: skip
    assert {row["status"] for row in rows.values()} == {"measured"}
    case.call("bundle", "-o", str(tmp_path / "evidence.zip"))
    stdout = call("verify", tmp_path / "evidence.zip", "--details").stdout
    assert "re-evaluated from raw logs: identical" in stdout
    assert "6112" in stdout


def test_an_output_that_is_cut_off_gives_no_valid_number(tmp_path: Path, sandbox: Sandbox) -> None:
    case = case_of(tmp_path, sandbox, "stream", "node: 1", f"head -29 {CAPTURES}/stream-5.10.txt")
    case.call("run", status=1)
    assert "measured" not in {row["status"] for row in case.table(status=1)}


def test_a_build_is_judged_by_the_category_that_the_campaign_file_chooses(tmp_path: Path, sandbox: Sandbox) -> None:
    case = case_of(tmp_path, sandbox, "stream", "node: 1", f"cat {CAPTURES}/stream-5.10.txt")
    built = "source:\n  build: {compiler: gcc, flags: -O2 -DTUNED -std=c11, libraries: [glibc]}\n"
    case.file.write_text(f"{case.file.read_text()}{built}")
    violation = r"1 rule is VIOLATED: build [0-9a-f]{12} has a flag that is forbidden .* \(SRC-07\)"
    assert re.search(violation, " ".join(case.call("run").split()))
    output = case.call("modifications", status=1)
    assert "by class: mandatory -O2; forbidden -DTUNED; portability -std=c11" in output
    assert "SRC-07 [instructions 3 compiler]  build" in output
    case.file.write_text(f"{case.file.read_text()}build: tuned\n")
    assert "Memory bandwidth (MB/s, 10^6 bytes), tuned build: " in case.call("table")
    assert "Category of the build: tuned build (tuned, clause license). Changes that" in case.call("modifications")


def test_fio_itself_runs_by_its_pack_and_its_evidence_is_judged_the_same_again(
    tmp_path: Path, sandbox: Sandbox
) -> None:
    fio = Path(shutil.which("fio") or "fio")
    case = with_program(tmp_path, sandbox, "fio", "node: 1", fio)
    built = "source:\n  build: {compiler: gcc, flags: -O2, libraries: [glibc]}\n"
    case.file.write_text(f"{case.file.read_text()}{built}")
    case.call("run")
    rows = case.table()
    assert {row["status"] for row in rows} == {"measured"}
    assert all(row["value"] > 0 for row in rows)
    case.call("bundle", "-o", str(tmp_path / "evidence.zip"))
    stdout = call("verify", tmp_path / "evidence.zip", "--details").stdout
    assert "re-evaluated from raw logs: identical" in stdout


# --- every pack whose programs the site provides

PRINTED = {  # by pack: launch conditions, what its programs do, and how many of its cells have a number
    "hpcg": ("node: 2\n  max: {nodes: 2, processes: 4}", f"cat {CAPTURES}/hpcg-3.1.txt >HPCG-Benchmark_3.1.txt", 6),
    "io500-app": ("production: {nodes: 2, processes: 2}", f"cat {CAPTURES}/io500-app.txt", 16),
    "md-workbench": ("node: 2\n  max: {nodes: 2, processes: 4}", f"cat {CAPTURES}/mdworkbench-4.1.txt", 14),
    "mlperf-storage": (
        "node: 2\n  max: {nodes: 2, processes: 8}",
        'if [ "${0##*/}" = generate ]; then echo "[INFO] now Number of files for training dataset: 28000 [here]"; '
        'echo "[INFO] now Generation done [here]"; '
        f"else mkdir -p results && cat {CAPTURES}/mlperf-storage-2.0.json >results/summary.json; fi",
        36,
    ),
    "npb": (
        "node: {nodes: 1, processes_per_node: power of two}\n  half: {nodes: half, processes_per_node: power of two}\n"
        "  all: {nodes: power of two, processes_per_node: power of two}",
        f'cat {CAPTURES}/npb-3.4-"${{0##*/}}".txt',
        18,
    ),
    "osu": (
        "two-nodes: 2\n  node: 2\n  nodes: {nodes: 2, processes: 4}",
        # These were captured with more columns than the pack's command line asks for.
        "awk 'NF == 5 && /^[0-9]/ { print $1, $2; next } { sub(/ Min Latency.*/, \"\"); print }' "
        f'{CAPTURES}/osu_$(basename "$0" | tr - _)-7.4.txt',
        127,  # the captured collectives end at 1024 bytes
    ),
    "elbencho": (
        "node: 1",
        'for phase in WRITE READ RMFILES RMDIRS; do echo "$phase Elapsed time : 1"; '
        "echo ' Throughput MiB/s : 10 11'; echo ' Files/s : 10 12'; done",
        3,
    ),
    "uk-nnss-hpl": (
        "node: {processes_per_node: 4}\n  system: {nodes: 99%, processes_per_node: 1}",
        f"cat {CAPTURES}/hpl-2.3.txt",
        2,
    ),
    "hpcc": ("system: {nodes: 2, processes: 2}", f"cat {CAPTURES}/hpcc-1.5.0.txt >hpccoutf.txt", 8),
    "jupiter-gromacs": (
        "ion-channel: {nodes: 1, processes: 1}\n  stmv: {nodes: 1, processes: 1}",
        f"cat {CAPTURES}/gromacs-2022.5.txt >logfile.log",
        4,
    ),
    "uk-nnss-omb": ("nodes: {nodes: 2, processes: 3}", f"cat {CAPTURES}/omb-7.5.2.txt", 2),
    "esif-hpc-4-lammps": (
        "nodes-1: {processes: 2}\n  nodes-2: {processes: 2}\n  nodes-4: {processes: 4}\n  nodes-8: {processes: 8}\n"
        "declined:\n  - {cells: scratch/nodes-8/*/*, reason: the sandbox has four nodes}\n"
        "  - {cells: scratch/*/*-gpu/*, reason: the sandbox has no accelerators}",
        'if [ "${0##*/}" = bzip2 ]; then mv "$2" "${2%.bz2}"; '
        'else case "$2" in small*) n=744000;; medium*) n=5952000;; *) n=47616000; esac; '
        f'sed "s/with 5952000/with $n/; s/on 64 procs/on $SLURM_NTASKS procs/" {CAPTURES}/esif-lammps-29Aug2024.txt; '
        "fi",
        27,
    ),
    "uk-nnss-lammps": ("system: {nodes: 1, processes: 1}", f"cat {CAPTURES}/lammps-22Jul2025.txt", 4),
}
RUN_ABOVE = {"stream", "fio"}


def test_every_pack_of_other_programs_is_run_here() -> None:
    every = {path.stem: packs.load(path) for path in resources.PACKS.glob("*.yaml")}
    pack_names = {
        name for name, pack in every.items() if not all(program.applet in BUILT_IN for program in pack.programs)
    }
    assert pack_names == {*PRINTED, *RUN_ABOVE}


@pytest.mark.parametrize("pack", PRINTED)
def test_what_a_pack_of_other_programs_ran_is_bundled_and_verified(pack: str, tmp_path: Path, sandbox: Sandbox) -> None:
    launch, prints, cells = PRINTED[pack]
    case = case_of(tmp_path, sandbox, pack, launch, f'if [ "${{SLURM_PROCID:-0}}" = 0 ]; then {prints}; fi')
    case.call("run", status=None)
    assert len([row for row in case.table(status=None) if row["value"] is not None]) == cells
    case.check_bundle(tmp_path / "evidence.zip")


BROKEN = {  # by what is wrong: the pack, launch conditions, what its program prints, and the conditions that it breaks
    "energy and atoms": (
        "uk-nnss-lammps",
        "system: {nodes: 1, processes: 1}",
        f"sed 's/-8.7455292/-8.7345292/; s/128 atoms/16 atoms/' {CAPTURES}/lammps-22Jul2025.txt",
        ("abs(energy + 8.7467391)", "atoms == 2 * 4^3; found"),
    ),
    "ticks": (
        "stream",
        "node: 1",
        f"sed 's/16889 clock ticks/12 clock ticks/' {CAPTURES}/stream-5.10.txt",
        ("ticks >= 20; found ticks 12",),
    ),
    "steps": (
        "jupiter-gromacs",
        "ion-channel: {nodes: 1, processes: 1}\n  stmv: {nodes: 1, processes: 1}",
        f"sed 's/command line: 200 steps/command line: 199 steps/' {CAPTURES}/gromacs-2022.5.txt >logfile.log",
        ("steps == 200; found steps 199",),
    ),
}


@pytest.mark.parametrize("wrong", BROKEN)
def test_a_result_that_a_document_does_not_accept_is_invalid(wrong: str, tmp_path: Path, sandbox: Sandbox) -> None:
    pack, launch, prints, conditions = BROKEN[wrong]
    case = case_of(tmp_path, sandbox, pack, launch, prints)
    case.call("run", status=None)
    document = json.loads(case.call("check", "--json", status=1))
    broken = [finding for finding in document if (finding["rule"], finding["severity"]) == ("RES-01", "E")]
    assert [condition for condition in conditions if condition not in json.dumps(broken)] == []


TEXT = """it's "quoted", `not executed`, $HOME and $(touch pwned) and ${X}
\t{ "json": {"a": [1, 2]}, "tab": "\\t" }
campaign_run r 1 00000001 /f /d 0 srun /bin/false
campaign_end
#SBATCH --nodes=9
srun=1
\\ at the end \\
    '''deep''' $'x' {{ 7 * 7 }} {% raw %} é #"""
TEXTS = f"""\
id: texts
version: 1
title: A pack that writes any text
document: nothing but this test
caption: Texts
programs:
  - id: reader
    results:
      format: text
      records: [{{name: bytes, pattern: '(?P<value>[0-9]+) bytes', unit: B}}]
phases:
  - {{id: config, clause: "1", write: "{{directory}}/config.ini", text: {json.dumps(TEXT)}}}
  - {{id: read, clause: "1", program: reader, arguments: "{{directory}}/config.ini"}}
  - {{id: purge, clause: "1", remove: "{{directory}}"}}
launch: [{{id: node, title: One node, clause: "1", processes: 1, nodes: 1}}]
files: [{{id: default, title: As it is, clause: "1"}}]
operations: [{{id: bytes, title: Bytes, phase: read, record: bytes, unit: B}}]
selection: {{operation: bytes, best: highest, clause: "1"}}
checks: {{RUN-06: "1"}}
"""


def test_a_text_of_any_characters_reaches_its_file_and_its_bundle_is_valid(tmp_path: Path, sandbox: Sandbox) -> None:
    place = tmp_path / "packs"
    place.mkdir()
    (place / "texts.yaml").write_text(TEXTS)
    prints = f'cat "$1" >{tmp_path}/read; printf "%s bytes\\n" "$(wc -c <"$1")"'
    case = case_of(tmp_path, sandbox, "texts", "node: 1", prints, place)
    case.call("run")
    written_text = (tmp_path / "read").read_text().removesuffix("\n")
    assert written_text == TEXT
    assert [row["value"] for row in case.table()] == [(tmp_path / "read").stat().st_size]
    case.check_bundle(tmp_path / "evidence.zip")


PROJECTED = """profile: full
declined: [{cells: "scratch/system/kokkos/*", reason: the offer has no accelerators}]
projections:
  - cells: scratch/system/host/loop
    nodes: 100
    processes: 6400
    base_system: Earlier, 50 nodes
    generation: the same processors
    formula: base * 50 / nodes
    inputs: {base: 39.0}
    sources: {base: "earlier.log:1 Loop time"}
    uncertainty: 10%
    logs: [earlier.log]
"""


def test_a_projected_result_is_judged_and_is_projected_in_table_form_bundle_and_verification(
    tmp_path: Path, sandbox: Sandbox
) -> None:
    case = case_of(tmp_path, sandbox, "uk-nnss-lammps", "system: projected", "exit 1")
    text = re.sub("(?m)^profile: .*\n", "", case.file.read_text())
    case.file.write_text(re.sub("<.*>", "none", text) + PROJECTED)
    (tmp_path / "earlier.log").write_text("Loop time of 39.0 on 3200 procs for 100 steps with 17179869184 atoms\n")
    assert "PROJECTED" in case.call("run")
    loop, rate = (row for row in case.table() if row["files"] == "host")
    assert [(row["status"], row["nodes"]) for row in (loop, rate)] == [("projected", 100)] * 2
    assert (loop["value"], rate["value"]) == (19.5, pytest.approx(2 * 2048**3 * 100 / 19.5 / 1e6))
    assert rate["projection"]["inputs"] == {"edge": 2048.0, "loop": 19.5}
    findings = json.loads(case.call("check", "--json", status=None))
    assert [
        (finding["severity"], finding["expected"], finding["actual"])
        for finding in findings
        if finding["rule"] == "RES-01"
    ] == [("W", "<= 19", "19.5")]

    form, filled = tmp_path / "form.csv", tmp_path / "filled.csv"
    form.write_text("time,\nrate,\n")
    mapping = tmp_path / "map.yaml"
    mapping.write_text("file: form.csv\ncells: {B1: scratch/system/host/loop, B2: scratch/system/host/rate}\n")
    case.call("fill", str(form), "--mapping", str(mapping), "-o", str(filled))
    assert filled.read_text().splitlines()[-1] == '"Projected, not measured: B1, B2"'
    assert (tmp_path / "filled.csv.origins.csv").read_text().count(",projected,") == 2
    case.check_bundle(tmp_path / "evidence.zip")
    arguments = ("--details", "--table", filled, "--mapping", mapping)
    verified = call("verify", tmp_path / "evidence.zip", *arguments, environment=case.environment())
    assert "(2 declined, 2 projected)" in verified.stdout
    assert "  open  Not proven: " in verified.stdout
    assert "2 cells of the mapping compared" in verified.stdout


def test_a_pack_that_extends_another_one_is_bundled_with_it_and_judged_by_both(
    tmp_path: Path, sandbox: Sandbox
) -> None:
    packs_folder = tmp_path / "packs"
    packs_folder.mkdir()
    for name, base in (("shorter", "stream"), ("own", "shorter")):
        own_keys = f"id: {name}\nversion: 1\nextends: {base}\ntitle: The {name} STREAM\n"
        (packs_folder / f"{name}.yaml").write_text(own_keys)
    case = case_of(tmp_path, sandbox, "own", "node: 1", f"cat {CAPTURES}/stream-5.10.txt", packs_folder)
    case.call("run", status=None)
    bundle = tmp_path / "evidence.zip"
    case.check_bundle(bundle)
    with zipfile.ZipFile(bundle) as archive:
        rules = sorted(name.rpartition("/")[2] for name in archive.namelist() if "/rules/" in name)
    assert rules == ["own.yaml", "shorter.yaml", "stream.yaml"]
    assert "rule pack: identical to yours" in call("verify", bundle, "--details", environment=case.environment()).stdout
    stranger = call("verify", bundle, "--details", "--json", environment=case.sandbox.environment())
    assert json.loads(stranger.stdout)["intact"], stranger.stdout
