"""Every rule pack from `init` to `report` on a real Slurm of several nodes, and new packs that are YAML alone."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from campaign.config.rules import packs
from campaign.config.rules.output_format import BUILT_IN
from campaign.core.units import plural
from campaign.results.parsers.bench_jsonl import timelines
from campaign.sandbox.cluster import Sandbox
from tests.support import facts
from tests.support.bench_binary import build
from tests.support.cases import Case, new_target
from tests.support.command_line import call

pytestmark = [pytest.mark.slurm, pytest.mark.mpi, pytest.mark.timeout(900)]

RULES = Path(__file__).parents[2] / "rules"


@dataclass(frozen=True)
class Setting:
    """How a pack is run here: its launch conditions, and sizes that take seconds."""

    launch: str
    variables: str
    runs: int
    cells: int


PACKS = {
    "ior-cache-ladder": Setting(
        "node: 2\n  nodes: {nodes: 2, processes: 4}", "transfer: 64k\n  block: 256k\n  segments: 2", runs=12, cells=24
    ),
    "nfstest-sweep": Setting("clients: {nodes: 2, processes: 4}", "largest: 256\n  repeats: 2", runs=4, cells=32),
    "chunk-pool": Setting("node: 2\n  clients: {nodes: 2, processes: 4}", "total: 16M", runs=4, cells=28),
    "network-contention": Setting("two-nodes: 6", "smallest: 16\n  largest: 65536\n  window: 4", runs=1, cells=105),
    "checkpoint": Setting("node: 3\n  nodes: {nodes: 2, processes: 4}", "memory_list: '1m,2m'", runs=2, cells=24),
}
# Of long loads or several programs, which test_phases.py runs.
ELSEWHERE = ("esif-hpc-4-ior", "esif-hpc-4-mdtest", "io500", "nersc-10-io", "uk-nnss-io", "jupiter-io")
CaseOfPack = Callable[[str], Case]


def case_of(
    folder: Path,
    sandbox: Sandbox,
    rules: str,
    launch: str,
    variables: str = "",
    further_text: str = "",
    packs: Path | None = None,
    target: Path | None = None,
) -> Case:
    """A campaign file as `campaign init` writes it, filled in. `packs`: a directory with further rule packs."""
    file = folder / f"{folder.name}.yaml"
    own_rules = {"CAMPAIGN_RULES": str(packs)} if packs else {}
    case = Case(file, target or new_target(sandbox, folder.name), sandbox, own_rules)
    case.call("init", "--rules", rules)
    text = file.read_text()
    text = re.sub(r"(?m)^    directory: .*", f"    directory: {case.target}", text)
    text = re.sub(r"(?m)^slurm:\n(?:  .*\n)+", "", text)
    text = re.sub(r"(?m)^launch:\n(?:  .*\n)+", f"launch:\n  {launch}\n", text)
    variables_text = f"variables:\n  {variables}\n" if variables else ""
    file.write_text(f"{text}\n{variables_text}slurm:\n  time: 2m\n{further_text}")
    return case


@pytest.fixture(scope="module")
def case_of_pack(tmp_path_factory: pytest.TempPathFactory, sandbox: Sandbox) -> CaseOfPack:
    """The campaign of a pack that has run from beginning to end, once for all tests."""
    cases: dict[str, Case] = {}

    def campaign_of(pack: str) -> Case:
        if pack not in cases:
            setting = PACKS[pack]
            case = case_of(tmp_path_factory.mktemp(pack), sandbox, pack, setting.launch, setting.variables)
            assert f"{plural(setting.runs, 'run')} for {setting.cells} cells" in case.call("plan")
            case.call("run")
            case.call("report")
            cases[pack] = case
        return cases[pack]

    return campaign_of


def values(case: Case) -> dict[str, float]:
    """By launch, files and operation."""
    return {f"{row['launch']}/{row['files']}/{row['operation']}": row["value"] for row in case.table(status=None)}


def lines_of(case: Case, run: str) -> list[dict[str, Any]]:
    text = (case.results / "runs" / run / "1" / "bench.jsonl").read_text()
    return [json.loads(line) for line in text.splitlines()]


def executed_words(case: Case, run: str) -> str:
    """The words of the command line after the program, the attempt's directory as DIR."""
    attempt = json.loads((case.results / "runs" / run / "1" / "attempt.json").read_text())
    words = " ".join(lines_of(case, run)[0]["argv"][1:])
    return words.replace(f"{case.target}/campaign-{attempt['token']}", "DIR")


# --- what holds for every pack


def test_every_pack_of_the_project_is_run_here_or_by_the_tests_of_the_pipeline() -> None:
    every = {path.stem: packs.load(path) for path in RULES.glob("*.yaml")}
    built_in = {name for name, pack in every.items() if all(program.applet in BUILT_IN for program in pack.programs)}
    assert built_in == {*PACKS, *ELSEWHERE, "crossroads-mdtest"}


every = pytest.mark.parametrize("pack", PACKS)


@every
def test_every_cell_is_measured_and_stands_in_the_log_line_that_it_names(case_of_pack: CaseOfPack, pack: str) -> None:
    case = case_of_pack(pack)
    rows = case.table()
    assert len(rows) == PACKS[pack].cells
    assert {row["status"] for row in rows} == {"measured"}
    for row in rows:
        line = (case.results / row["source"]["file"]).read_text().splitlines()[row["source"]["line"] - 1]
        assert row["value"] in [float(number) for number in re.findall(r"[0-9]+(?:\.[0-9]+)?", line)], (row, line)


@every
def test_no_rule_is_broken_all_that_apply_are_judged_and_the_size_is_disclosed(
    case_of_pack: CaseOfPack, pack: str
) -> None:
    findings = json.loads(case_of_pack(pack).call("check", "--json"))
    assert [finding for finding in findings if finding["severity"] == "E"] == []
    assert any(
        finding["rule"] == "FLG-04" and "smaller than the rules require" in finding["message"] for finding in findings
    )
    unchecked = [finding for finding in findings if not finding["checked"]]
    assert {finding["rule"] for finding in unchecked if not finding["rule"].startswith("CMP")} == set()
    # The sandbox's Slurm keeps no accounting: that runs cannot be counted is noted.
    assert any(finding["rule"] == "EVD-07" and "cannot be counted" in finding["message"] for finding in findings)


@every
def test_nothing_is_left_in_the_target(case_of_pack: CaseOfPack, pack: str) -> None:
    case = case_of_pack(pack)
    assert list(case.target.iterdir()) == []
    assert {record["leftover_files"] for record in case.completions()} == {0}


@every
def test_the_report_has_the_tables_and_the_plots_of_the_pack(case_of_pack: CaseOfPack, pack: str) -> None:
    folder = case_of_pack(pack).results / "report"
    plots = re.findall(r"\{id: ([a-z]+), title: .*kind: ", (RULES / f"{pack}.yaml").read_text())
    pictures = {path.stem for path in folder.glob("*.svg")}
    assert pictures - {"jobs", "scratch-results"} == {f"scratch-{plot}" for plot in plots} != set()
    assert (folder / "index.html").read_text().count('<figure class="plot">') == len(pictures)
    assert len(json.loads((folder / "table.json").read_text())) == PACKS[pack].cells


@every
def test_a_deleted_database_is_rebuilt_with_the_same_table(case_of_pack: CaseOfPack, pack: str) -> None:
    case = case_of_pack(pack)
    before = case.call("table", "--format", "json")
    (case.results / "campaign.db").unlink()
    case.call("collect")
    assert case.call("table", "--format", "json") == before


@every
def test_what_was_measured_is_bundled_and_verified(case_of_pack: CaseOfPack, pack: str, tmp_path: Path) -> None:
    case_of_pack(pack).check_bundle(tmp_path / "evidence.zip")


# --- what each pack is for


def test_the_ladder_takes_the_four_steps_of_the_tutorial(case_of_pack: CaseOfPack) -> None:
    case = case_of_pack("ior-cache-ladder")
    steps = {"shared": "", "own": " -F", "reordered": " -F -C", "synced": " -F -C -e"}
    for files, flags in steps.items():
        assert executed_words(case, f"scratch.nodes.{files}.r1") == f"-t 64k -b 256k -s 2{flags} -o DIR/ior.dat"


def test_the_ladder_says_which_reads_were_of_memory(case_of_pack: CaseOfPack) -> None:
    case = case_of_pack("ior-cache-ladder")
    findings = json.loads(case.call("check", "--json"))
    memory = {
        finding["subject"] for finding in findings if finding["rule"] == "CCH-05" and "read" in finding["message"]
    }
    shares = {
        f"{run}/1": next(
            line["cached_share"]
            for line in lines_of(case, run)
            if line["type"] == "phase" and line["operation"] == "read"
        )
        for run in case.states()
    }
    assert memory == {subject for subject, share in shares.items() if share is not None and share > 0.05}


def test_the_sweep_of_nfstest_reads_what_other_nodes_wrote_and_reports_the_best(case_of_pack: CaseOfPack) -> None:
    case = case_of_pack("nfstest-sweep")
    found_values = values(case)
    for operation in ("write", "read"):
        sizes = [found_values[f"clients/direct/{operation}-{size}"] for size in (64, 128, 256)]
        assert found_values[f"clients/direct/best-{operation}"] == max(sizes)
    reads = [line for line in lines_of(case, "scratch.clients.direct.r1") if line.get("operation") == "read"]
    assert {line["remote_share"] for line in reads if line["type"] == "phase"} == {1.0}
    assert executed_words(case, "scratch.clients.buffered.r1") == "n3 uK m64 M256 b64 K2 fDIR d0 c1 v1 R2"


def rounding(*numbers: float) -> float:
    """The largest relative difference between one of these numbers and the one computed of the others, all of which are
    printed with two decimals or, below 1, with three digits: a busy machine can make a rate hundreds of times smaller.
    """
    return 1.01 * sum(0.005 / max(number, 1) for number in numbers)


def test_contention_has_the_ratios_to_one_pair_and_a_model_with_its_error(case_of_pack: CaseOfPack) -> None:
    case = case_of_pack("network-contention")
    found_values = values(case)
    for pairs in (1, 2, 3):
        for size in (16, 1024, 65536):
            rate, alone = (
                found_values[f"two-nodes/one-way/rate-{pairs}-{size}"],
                found_values[f"two-nodes/one-way/rate-1-{size}"],
            )
            rise, fall = (found_values[f"two-nodes/one-way/{name}-{pairs}-{size}"] for name in ("rise", "fall"))
            assert rise == pytest.approx(rate / alone, rel=rounding(rise, rate, alone))
            assert fall == pytest.approx(alone * pairs / rate, rel=rounding(fall, rate, alone))
    assert {
        line["pairs_across_nodes"] == line["pairs"]
        for line in lines_of(case, "scratch.two-nodes.one-way.r1")
        if "pairs" in line
    } == {True}
    (fit,) = json.loads((case.results / "report" / "contention.json").read_text()).values()
    assert fit["held_back"]["points"] == 21
    assert fit["model"]["latency_s"] > 0


def test_a_checkpoint_is_measured_over_memory_and_processes_up_to_all(case_of_pack: CaseOfPack) -> None:
    case = case_of_pack("checkpoint")
    assert executed_words(case, "scratch.node.images.r1") == "-d DIR -m 1m,2m -p 1,2,3"
    assert executed_words(case, "scratch.nodes.images.r1") == "-d DIR -m 1m,2m -p 1,2,4"
    found_values = values(case)
    assert found_values["node/images/rate-3-2m"] == pytest.approx(6 / found_values["node/images/time-3-2m"], rel=0.01)


# --- a new pack is YAML alone


def write_pack(folder: Path, name: str, text: str) -> Path:
    """A directory with one pack of that name."""
    packs = folder / "packs"
    packs.mkdir()
    (packs / f"{name}.yaml").write_text(text)
    return packs


def test_a_pack_that_slows_one_process_shows_what_each_did(tmp_path: Path, sandbox: Sandbox) -> None:
    text = (RULES / "chunk-pool.yaml").read_text()
    text = text.replace("id: chunk-pool\n", "id: slow-pool\n").replace("--fsync", "--slow 1:4 --pace 16M --fsync", 1)
    text = text.replace(
        "fixed:\n", "fixed:\n  - {flag: --slow, clause: practice}\n  - {flag: --pace, clause: practice}\n"
    )
    text = text.replace("full: 100M, rehearsal: 1M", "full: 100M, rehearsal: 128K")
    text = text.replace("full: 1M, rehearsal: 256K", "full: 1M, rehearsal: 32K")
    packs = write_pack(tmp_path, "slow-pool", text)
    case = case_of(
        tmp_path, sandbox, "slow-pool", "node: 2\n  clients: {nodes: 2, processes: 4}", "total: 16M", packs=packs
    )
    case.call("run", "--only", "scratch/clients/*/*")
    found_values = values(case)
    for split in ("static", "pool"):
        lines = lines_of(case, f"scratch.clients.{split}.r1")
        (phase,) = (line for line in lines if line["type"] == "phase" and line["operation"] == "write")
        processes = [line for line in lines if line["type"] == "process" and line["operation"] == "write"]
        assert [line["slowed"] for line in processes] == [1, 4, 1, 1]
        assert processes[1]["own_s"] >= (processes[1]["bytes"] - 32768) / (4 << 20)
        assert found_values[f"clients/{split}/write-reached"] == pytest.approx(phase["share_of_sum"], abs=5.01e-4)
    timeline = timelines((case.results / "runs/scratch.clients.static.r1/1/bench.jsonl").read_text())["write"]
    assert {line.rank: sum(line.bytes) for line in timeline} == dict.fromkeys(range(4), 4 << 20)
    assert "custom rule" in case.call("table", status=None)  # a pack that is not the project's says where it is from


OWN = """\
id: own-metadata
version: 1
title: Creation over the number of files, a pack of its own
document: nothing but this test
caption: Creation (ops/s)
applet: mdtest
arguments: "-F -C -r --latency -n {items_per_process} -w {bytes} -d {directory} {flags}"
variables:
  - {id: bytes, full: 4096, rehearsal: 0, clause: "1"}
launch:
  - {id: pair, title: Two nodes, clause: "1", nodes: 2}
files:
  - {id: plain, title: "{items_total} files of {bytes} bytes", clause: "1"}
  - {id: apart, title: In directories of their own, clause: "1", flags: [-u]}
operations:
  - {id: create, title: Creation, record: create, unit: ops/s}
  - {id: gone, title: Removal, record: remove, unit: ops/s}
fixed:
  - {flag: -F, clause: "1"}
  - {flag: -C, clause: "1"}
  - {flag: -r, clause: "1"}
  - {flag: --latency, clause: "1"}
derived:
  - {flag: -n, value: true, clause: "1"}
  - {flag: -w, value: true, clause: "1"}
  - {flag: -d, value: true, clause: "1"}
items: {full: 4096, rehearsal: 64, clause: "1"}
selection: {operation: create, best: highest, clause: "1"}
checks: {FLG-01: "1", FLG-02: "1", FLG-03: "1", FLG-04: "1", FLG-05: "1", GEO-01: "1", GEO-02: "1", RUN-06: "1"}
plots:
  - {id: rates, title: Rates, kind: bars, operations: [create, gone], x: files}
  - {id: over-time, title: Latency over time, kind: latency, operations: [create, gone]}
"""


def test_a_pack_of_ones_own_is_listed_planned_run_and_reported(tmp_path: Path, sandbox: Sandbox) -> None:
    packs = write_pack(tmp_path, "own-metadata", OWN)
    case = case_of(tmp_path, sandbox, "own-metadata", "pair: 4", packs=packs)
    listed = call("rules", environment=case.environment())
    assert "own-metadata        version 1  Creation over the number of files, a pack of its own" in listed.stdout
    plan = case.call("plan")
    assert re.search(r"mdtest -F -C -r --latency -n 16 -w 0 -d \S+campaign-TOKEN -u$", plan, re.MULTILINE)
    case.call("run")
    assert {row["operation"] for row in case.table()} == {"create", "gone"}
    assert "64 files of 0 bytes" in case.call("table")
    case.call("report", "-o", str(tmp_path / "out"))
    assert (tmp_path / "out" / "scratch-rates.svg").exists()
    assert (tmp_path / "out" / "scratch-over-time.svg").exists()
    with (tmp_path / "out" / "scratch-over-time.csv").open(newline="") as file:
        intervals = list(csv.DictReader(file))
    for row in case.table():
        of_row = [
            interval
            for interval in intervals
            if (interval["files"], interval["operation"]) == (row["files"], row["operation"])
        ]
        assert sum(int(entry["count"]) for entry in of_row) == 64


MIXED = """\
id: own-mixed
version: 1
title: Readers beside writers, a pack of its own
document: nothing but this test
caption: Bandwidth (MiB/s)
applet: ior
arguments: "-w --mixed {share} -t 64k -b 1m -F -D 1 -W -R -o {directory}/f {flags}"
variables:
  - {id: share, full: 70, rehearsal: 50, clause: "1"}
launch:
  - {id: pair, title: Two nodes, clause: "1", nodes: 2}
files:
  - {id: own, title: A file for each process, clause: "1"}
operations:
  - {id: alone, title: Write, record: write, unit: MiB/s}
  - {id: writers, title: Write beside reads, record: mix-write, unit: MiB/s}
  - {id: readers, title: Read beside writes, record: mix-read, unit: MiB/s}
derived:
  - {flag: -w, clause: "1"}
  - {flag: --mixed, value: true, clause: "1"}
  - {flag: -t, value: true, clause: "1"}
  - {flag: -b, value: true, clause: "1"}
  - {flag: -F, clause: "1"}
  - {flag: -D, value: true, clause: "1"}
  - {flag: -W, clause: "1"}
  - {flag: -R, clause: "1"}
  - {flag: -o, value: true, clause: "1"}
selection: {operation: readers, best: highest, clause: "1"}
checks: {FLG-01: "1", FLG-02: "1", GEO-01: "1", RUN-06: "1", CCH-05: "1"}
"""


def test_a_pack_of_ones_own_measures_readers_beside_writers(tmp_path: Path, sandbox: Sandbox) -> None:
    case = case_of(tmp_path, sandbox, "own-mixed", "pair: 4", packs=write_pack(tmp_path, "own-mixed", MIXED))
    case.call("run")
    found_values = values(case)
    phases = {line["operation"]: line for line in lines_of(case, "scratch.pair.own.r1") if line["type"] == "phase"}
    sides = {"alone": "write", "writers": "mix-write", "readers": "mix-read"}
    assert found_values == {f"pair/own/{cell}": phases[access]["rate_mib_s"] for cell, access in sides.items()}
    assert phases["mix-read"]["processes"] == phases["mix-write"]["processes"] == 2
    assert "CCH-05" in case.call("check", "--details", status=None)


def test_a_pack_with_an_error_is_refused_with_its_place_before_anything_is_submitted(
    tmp_path: Path, sandbox: Sandbox
) -> None:
    packs = write_pack(tmp_path, "own-metadata", OWN)
    case = case_of(tmp_path, sandbox, "own-metadata", "pair: 4", packs=packs)
    (packs / "own-metadata.yaml").write_text(OWN.replace("{bytes} -d", "{byts} -d"))
    driver = case.start("run")
    _, err = driver.communicate(timeout=800)
    assert driver.returncode == 2
    assert "own-metadata.yaml:7:12: arguments: found {byts}; allowed:" in err
    assert not case.results.exists()


# --- a program of the RFP's own


def test_an_external_ior_is_read_from_its_text_and_placed_where_the_job_saw_it(
    tmp_path: Path, sandbox: Sandbox
) -> None:
    binary = build() / "ior"
    setting = PACKS["ior-cache-ladder"]
    further_text = f"benchmark:\n  executable: {binary}\n"
    case = case_of(tmp_path, sandbox, "ior-cache-ladder", setting.launch, setting.variables, further_text)
    case.call("run", "--only", "scratch/nodes/synced/*")
    folder = case.results / "runs" / "scratch.nodes.synced.r1" / "1"
    nodes = facts.nodes_of_ranks(folder)
    assert nodes == [nodes[0]] * 2 + [nodes[2]] * 2
    rows = [row for row in case.table(status=1) if row["status"] == "measured"]
    assert {row["operation"] for row in rows} == {"write", "read"}
