"""Small builders of the driver's nouns: everything has a value that works, a test gives what it is about."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from campaign.config.format import Benchmark, Campaign, Target
from campaign.config.rules.entries import FileConfiguration, LaunchCondition, Operation, Selection
from campaign.config.rules.pack import RulePack
from campaign.config.rules.programs import Flag, Phase, Program
from campaign.config.slurm_keys import Slurm
from campaign.core.findings import Finding, Severity
from campaign.core.paths import Paths
from campaign.core.records import Completion, Observation, Record, Source
from campaign.core.runs import Attempt, Command, Geometry, Planned, Run, State
from campaign.plan import matrix
from campaign.results.environment.facts import Accounting, Environment, Evidence, FileSystemSpace, Node, Value
from campaign.results.store import Store
from campaign.slurm import scripts

GOLDENS = Path(__file__).parents[1] / "goldens"
TOKEN = "0a1b2c3d"
GEOMETRIES = {
    "single": Geometry(1, 1),
    "node": Geometry(1, 4),
    "peak": Geometry(2, 8),
    "max": Geometry(4, 32),
}

# How an attempt ended.
COMPLETION: dict[str, Any] = {
    "token": "t",
    "outcome": "done",
    "reason": "",
    "exit_status": 0,
    "started": 1.5,
    "ended": 2.5,
    "job_id": "7",
    "job_name": "j",
    "nodes": "n1",
    "leftover_files": 0,
    "restart_count": 0,
    "more": "that a later version writes",
}


def golden(name: str, text: str) -> None:
    """Compare whole with `goldens/<name>`; a golden that is not there is a failure, never written by the test."""
    expected = (GOLDENS / name).read_text(encoding="utf-8")
    assert text == expected, f"differs from goldens/{name}:\n{text}"


PHASE = Phase(
    "",
    "mdtest",
    (
        *("-F", "-C", "-T", "-r"),
        *("-n", "{items_per_process}", "-d", "{directory}", "-N", "{rank_offset}", "{flags}"),
    ),
    fixed=tuple(Flag(flag, False, "6") for flag in ("-F", "-C", "-T", "-r")),
    derived=tuple(Flag(flag, True, "8.4") for flag in ("-n", "-d", "-N")),
    allowed=(Flag("-v", False, "6"),),
)


def pack(**changes: Any) -> RulePack:
    """The rules of a benchmark like the Crossroads mdtest: 4 launch conditions, 3 file configurations, 3 operations."""
    pack = RulePack(
        id="test-rules",
        version=7,
        title="Rules of the tests",
        document="the tests' run rules",
        caption="Metadata (operations/s)",
        launch=(
            LaunchCondition("single", "Single Process", "1", processes=1, nodes=1),
            LaunchCondition("node", "Best on one node", "2", nodes=1),
            LaunchCondition("peak", "Fewest for the peak", "3", minimum_nodes=2),
            LaunchCondition("max", "All there is", "4", whole_system=True),
        ),
        files=(
            FileConfiguration("shared", "{items_total} files in shared dir", "5"),
            FileConfiguration("unique", "{items_total} files in own dirs", "5", ("-u",)),
            FileConfiguration("onefile", "One file", "5", ("-S",), ("create", "remove")),
        ),
        operations=(
            Operation("create", "Create", "ops/s", record="create"),
            Operation("stat", "Stat", "ops/s", record="stat"),
            Operation("remove", "Remove", "ops/s", record="remove"),
        ),
        programs=(Program("mdtest", "mdtest"),),
        phases=(PHASE,),
        selection=Selection("create", "highest", "9"),
        items_total={"full": 2**20, "rehearsal": 1000},
        items_unit="files",
        checks=dict.fromkeys(ALL_CHECKS, "9"),
    )
    return with_phase(pack, **changes)


def with_phase(pack: RulePack, **changes: Any) -> RulePack:
    """The pack with these changes, be they its own or those of its only phase."""
    phase_changes = {key: changes.pop(key) for key in ("arguments", "fixed", "derived", "allowed") if key in changes}
    if phase_changes:
        changes["phases"] = (replace(pack.phases[0], **phase_changes), *pack.phases[1:])
    return replace(pack, **changes)


ALL_CHECKS = (
    *("FLG-01", "FLG-02", "FLG-03", "FLG-04", "FLG-05", "FLG-06", "FLG-07", "GEO-01", "GEO-02"),
    *("RUN-01", "RUN-06", "STA-05", "PHY-03", "CCH-04", "CCH-05"),
)


def small_pack(**changes: Any) -> RulePack:
    """The same with two launch conditions and two file configurations: 4 runs, 12 cells for each target."""
    large_pack = pack()
    return pack(**{"launch": large_pack.launch[1:3], "files": large_pack.files[:2], **changes})


def campaign(root: Path = Path("/work/results/test"), **changes: Any) -> Campaign:
    """A rehearsal on one target, with results in `root`."""
    campaign = Campaign(
        path=root / "campaign.yaml",
        name="test",
        rules="test-rules",
        profile="rehearsal",
        results=root,
        targets=(Target("scratch", "/scratch/user"),),
        launch=dict(GEOMETRIES),
        slurm=Slurm(partition="batch", time_s=90),
        benchmark=Benchmark(Path("/opt/bench/mdtest"), "rank-offset"),
    )
    return replace(campaign, **changes)


def expand(config: Campaign | None = None, rules: RulePack | None = None) -> tuple[Run, ...]:
    """The runs of a campaign whose launch conditions are all numbers."""
    config, rules = config or campaign(), rules or pack()
    geometries = {launch.id: config.launch[launch.id] for launch in rules.launch if launch.id in config.launch}
    return matrix.expand(config, rules, geometries, executables(config, rules))  # type: ignore[arg-type]


def executables(campaign: Campaign, rules: RulePack) -> dict[str, matrix.Executable]:
    return {program.id: matrix.Executable(str(campaign.benchmark.path(program.id))) for program in rules.programs}


ARGUMENTS = ("-F", "-C", "-T", "-r", "-n", "125", "-d", "{directory}", "-N", "4", "-u")


def run(**changes: Any) -> Run:
    """scratch.peak.unique.r1: 8 processes on 2 nodes, 125 files each."""
    run = Run(
        id="scratch.peak.unique.r1",
        target="scratch",
        launch="peak",
        files="unique",
        repetition=1,
        geometry=Geometry(2, 8),
        directory="/scratch/user",
        commands=(Command("/opt/bench/mdtest", ARGUMENTS, program="mdtest"),),
        operations=("create", "stat", "remove"),
        items_per_process=125,
        items_total=1000,
        notes=(),
        fingerprint="f" * 16,
    )
    return with_words(run, **changes)


def with_words(run: Run, **changes: Any) -> Run:
    """The run with these changes, be they its own or those of its first command."""
    command_changes = {key: changes.pop(key) for key in ("arguments", "executable", "prefix") if key in changes}
    if command_changes:
        changes["commands"] = (replace(run.commands[0], **command_changes), *run.commands[1:])
    return replace(run, **changes)


def attempt(planned_run: Run | None = None, **changes: Any) -> Attempt:
    """A first attempt that is done."""
    planned_run = planned_run or run()
    attempt = Attempt(
        planned_run.id, 1, TOKEN, "campaign-test-1", planned_run.fingerprint, State.DONE, job_id="17", submitted=100.0,
        started=110.0, ended=112.5,
    )  # fmt: skip
    return replace(attempt, **changes)


def records(values: Sequence[float] = (1000.0, 4000.0, 800.0), folder: str = "runs/r/1") -> tuple[Record, ...]:
    """Rates of creation, stat and removal."""
    names = ("create", "stat", "remove")
    return tuple(
        Record(name, value, "ops/s", Source(f"{folder}/stdout", 14 + line), value, value, 0.0)
        for line, (name, value) in enumerate(zip(names, values, strict=True))
    )


def observation(
    planned_run: Run | None = None, directory: str = f"/scratch/user/campaign-{TOKEN}", **changes: Any
) -> Observation:
    """What the output of a run says where everything went as planned."""
    planned_run = planned_run or run()
    observation = Observation(
        program="mdtest-1.9.3",
        argv=(planned_run.executable, *(word.replace("{directory}", directory) for word in planned_run.arguments)),
        processes=planned_run.geometry.processes,
        nodes=planned_run.geometry.nodes,
        processes_per_node=planned_run.geometry.processes_per_node,
        placement="block",
        shift_requested=planned_run.geometry.processes_per_node,
        shift_effective=planned_run.geometry.processes_per_node,
        whole_nodes=planned_run.geometry.nodes > 1,
        files_reported=planned_run.items_total,
        failed_operations=0,
        complete=True,
    )
    return replace(observation, **changes)


SPACE = FileSystemSpace(110.0, 4096, 1000, 900, 800, 5000, 4000)


def environment(count: int = 2, facts: dict[str, str] | None = None, **changes: Any) -> Environment:
    """What job 17 on n1, n2, … found around itself; `facts` are the same on all nodes."""
    names = [f"n{number}" for number in range(1, count + 1)]
    everywhere = {"zone": "+0000", "kernel.release": "6.1.0", "executable.sha256": "ab" * 32, **(facts or {})}
    listed = ",".join(names)
    environment = Environment(
        recorded=True,
        started=109.0,
        ended=109.5,
        directory="/scratch/user",
        nodes=tuple(Node(name, name, 109.2, f"b{name}") for name in names),
        facts={name: (Value(f"0-{count - 1}", text),) for name, text in everywhere.items()},
        variables={
            "SLURM_JOB_ID": "17",
            "SLURM_JOB_NAME": "campaign-test-1",
            "SLURM_JOB_NODELIST": listed,
            "SLURM_NTASKS": "8",
        },
        job={
            "JobId": "17",
            "JobName": "campaign-test-1",
            "NodeList": listed,
            "OverSubscribe": "NO",
            "StartTime": "108",
        },
        other_jobs=0,
        space=SPACE,
    )
    return replace(environment, **changes)


def accounting(**job: str) -> Accounting:
    """What Slurm says of job 17 after its end; without accounting."""
    texts = {
        "JobId": "17", "JobName": "campaign-test-1", "JobState": "COMPLETED", "NodeList": "n[1-2]", "NumTasks": "8",
        "OverSubscribe": "NO", "StartTime": "108", "EndTime": "113",
    }  # fmt: skip
    return Accounting(asked=114.0, job=texts | job)


def completion(**changes: Any) -> Completion:
    return replace(Completion("done", "", 0, 110.0, 112.5, "17", "campaign-test-1", "n[1-2]", 0, 0), **changes)


def evidence(**changes: Any) -> Evidence:
    """Where everything went as planned."""
    evidence = Evidence(environment(), True, SPACE, replace(SPACE, time=112.5), completion(), accounting())
    return replace(evidence, **changes)


def finding(**changes: Any) -> Finding:
    return replace(
        Finding("FLG-06", Severity.ERROR, f"{run().id}/1", "-N does not shift the ranks by one node", "4", "1"),
        **changes,
    )


def filled_store(root: Path, runs: Sequence[Run], job: str = "campaign-test-1", submitter: str = "host:1:1") -> Store:
    """A store with one job that carries a first attempt of each run, submitted as job 17."""
    store = Store(Paths(root))
    planned = [Planned(run, 1, f"{number:08x}", root / run.id) for number, run in enumerate(runs, 1)]
    store.plan_job(job, runs[0].target, submitter, planned, *scripts.rendered_by())
    store.submitted(job, "17", "")
    return store
