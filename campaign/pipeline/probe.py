"""`plan --probe`: a short job on as many nodes as the campaign needs, which reports what each of them sees, and whether
the benchmark's ranks find each other when launched as planned.
"""

from __future__ import annotations

import contextlib
import itertools
import shutil
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from campaign.config.definition import Definition
from campaign.config.launcher import PLACEMENTS
from campaign.config.slurm_keys import Slurm
from campaign.core.errors import EnvironmentLacks, UnknownState
from campaign.core.grouping import grouped
from campaign.core.runs import SRUN, Command, Geometry, Launcher, Run, State
from campaign.core.units import plural
from campaign.pipeline.places import nearest_existing_path
from campaign.pipeline.preflight import Checked
from campaign.slurm import commands, sbatch, scripts
from campaign.slurm.collect import text_of
from campaign.slurm.submit import prepare

LIMIT_S = 360  # of the probe's job: 2 minutes for what its nodes see, and some launches of at most 30 s
PAUSE_S = 0.5  # between two checks
GRACE_S = 10.0  # for its records to appear after its end
WORKS = ("works", "endless")  # what a launch that has started one MPI job is recorded as


@dataclass(frozen=True, slots=True)
class Probed:
    """`problems`: a line for each, with the names of its nodes."""

    job: str
    nodes: int
    problems: tuple[str, ...]
    launched: str = ""  # how the benchmark was launched, or why it was not

    @property
    def passed(self) -> str:
        """What the probe has shown if there are no problems."""
        return (
            f"probe (job {self.job}): {plural(self.nodes, 'node')} see the same directories, can write in them and "
            f"start the benchmark; {self.launched}"
        )


# Arguments with which a program prints its number of ranks within a second, by the parser of its output.
_SMALL = {
    "mdtest": ("-n", "1", "-d", "{directory}"),
    "ior": ("-b", "4096", "-t", "4096", "-o", "{directory}/data"),
}
# For other programs, whose run may be long: the MPI library that they have loaded shows it.
_LIBRARY = """import ctypes, sys
mpi, size = ctypes.CDLL(sys.argv[1], ctypes.RTLD_GLOBAL), ctypes.c_int()
try: world = ctypes.c_void_p(ctypes.addressof(ctypes.c_char.in_dll(mpi, "ompi_mpi_comm_world")))
except ValueError: world = ctypes.c_int(0x44000000)
mpi.MPI_Init(None, None)
mpi.MPI_Comm_size(world, ctypes.byref(size))
print("size", size.value, flush=True)
mpi.MPI_Finalize()"""


def probe(definition: Definition, checked: Checked, say: Callable[[str], None]) -> Probed:
    """Submit the probe and wait for it; an interruption cancels it. Raises EnvironmentLacks if it cannot be run."""
    runs = checked.plan.all_runs
    widest = max(runs, key=lambda run: (run.geometry.nodes, run.geometry.processes))
    folder = Path(tempfile.mkdtemp(prefix="campaign-probe-", dir=nearest_existing_path(definition.paths.root)))
    try:
        job, _ = prepare(definition, {}, (widest,), {}, map(str, itertools.count()).__next__)
        slurm = replace(job.slurm, time_s=LIMIT_S - scripts.JOB_OVERHEAD_S, template=None)
        job = replace(job, name=folder.name, folder=folder, slurm=slurm)
        script = folder / "probe.sbatch"
        targets = [target.directory for target in definition.campaign.targets if not target.is_in_job]
        directories = targets or [str(folder)]
        launches = _launches(definition, widest, slurm)
        text = scripts.render_probe(job, directories, list(launches.values()), _test_geometry(widest).processes)
        script.write_text(text, encoding="utf-8")
        answer = sbatch.submit(script)
        if answer.job_id is None:
            raise EnvironmentLacks(f"probe: {answer.message}")
        say(
            f"probe: submitted job {answer.job_id} on {plural(widest.geometry.nodes, 'node')}; waiting for it to end "
            "(Ctrl-C cancels it)"
        )
        try:
            state = _wait(answer.job_id, folder)
        except BaseException:
            commands.cancel([answer.job_id])
            raise
        return _read_records(folder, answer.job_id, widest, state, list(launches))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _test_geometry(run: Run) -> Geometry:
    """The geometry of the test: two ranks on each of two nodes, or fewer if the run has fewer."""
    nodes = min(2, run.geometry.nodes)
    return Geometry(nodes, nodes * min(2, run.geometry.processes_per_node))


def _launches(definition: Definition, run: Run, slurm: Slurm) -> dict[str, tuple[str, ...]]:
    """The words of the planned launch, and then of the others that this cluster supports, by the settings that select
    them.
    """
    planned, command = (
        run.launcher.without_label,
        replace(_rank_counting_command(definition, run.launched[0]), phase="", geometry=None, first_node=0),
    )
    planned_setting = f"slurm.mpi: {slurm.mpi}" if planned.is_srun else _launcher_setting(planned.program)
    launchers = {planned_setting: (planned, slurm.mpi)}
    options = planned.options if planned.is_srun else ()
    for mpi in commands.mpi_plugins():
        if mpi in ("pmix", "pmi2"):
            launchers.setdefault(f"slurm.mpi: {mpi}", (replace(SRUN, options=options), mpi))
    if planned.is_srun:
        launchers[_launcher_setting("mpirun")] = Launcher("mpirun", placement=PLACEMENTS["mpirun"]), slurm.mpi
    small = replace(run, geometry=_test_geometry(run), commands=(command,))
    return {
        setting: (
            *scripts.launcher(replace(small, launcher=launcher), replace(slurm, mpi=mpi), command),
            *command.words("{directory}"),
        )
        for setting, (launcher, mpi) in launchers.items()
    }


def _launcher_setting(program: str) -> str:
    return f"launcher: {{program: {program}}}"


def _rank_counting_command(definition: Definition, command: Command) -> Command:
    """How to find the number of ranks of such a command."""
    program = definition.pack.program(command.program)
    if definition.campaign.benchmark.path(command.program) is None:
        builtin = str(Path(command.executable).with_name("mdtest"))
        return replace(command, executable=builtin, arguments=_SMALL["mdtest"])
    if program.results is None and program.applet in _SMALL:
        return replace(command, arguments=_SMALL[program.applet])
    return replace(command, executable="python3", arguments=("-c", _LIBRARY, "{library}"), prefix=())


def _wait(job_id: str, folder: Path) -> str:
    """Wait until the probe's job has ended; gives Slurm's word for its state."""
    end_s = None
    while not (folder / "ended").exists():
        with contextlib.suppress(UnknownState):
            job = commands.queue({folder.name: job_id}).get(folder.name)
            if job is None or not job.state.active:
                end_s = end_s or time.monotonic()
                if time.monotonic() - end_s > GRACE_S:
                    return job.word if job else str(State.LOST)
        time.sleep(PAUSE_S)
    return ""


def _read_records(folder: Path, job: str, widest: Run, state: str, settings: Sequence[str]) -> Probed:
    """Problems by their text, each with the nodes that report it. `settings`: those of the launches, in their order."""
    nodes = widest.geometry.nodes
    lines = (line.partition("\t") for line in text_of(folder / "nodes").splitlines())
    texts = grouped((text, node) for node, _, text in lines)
    reporting_nodes = set(texts.pop("", ()))
    problems = [f"{', '.join(sorted(names))}: {text}" for text, names in texts.items()]
    if len(reporting_nodes) < nodes:
        cause = state or " ".join(text_of(folder / "nodes.err").splitlines()[-1:]) or "srun gave no reason"
        problems.append(f"probe (job {job}): {len(reporting_nodes)} of {plural(nodes, 'node')} answered; {cause}")
    if problems:  # these have to be fixed first
        return Probed(job, nodes, tuple(problems))
    launches = [line.split("\t", 2) for line in text_of(folder / "launches").splitlines()]
    if not launches:
        cause = state or "no reason given"
        return Probed(job, nodes, (f"probe (job {job}): ended before the benchmark was launched; {cause}",))
    kind, program, ranks = launches[0][0], widest.launched[0].executable, _test_geometry(widest).processes
    if kind == "unknown":
        unchecked = f"whether {settings[0]} starts {program} as one MPI job (ldd shows no MPI library of it)"
        return Probed(job, nodes, (), f"not checked: {unchecked}")
    if kind in WORKS:
        ends = ", which does not end by itself within 30 s: see RUN-01" if kind == "endless" else ""
        outcome = f"{settings[0]} starts {program} as one MPI job of {plural(ranks, 'rank')}{ends}"
        return Probed(job, nodes, (), outcome)
    return Probed(job, nodes, (_failure_text(program, launches, settings, ranks),))


def _failure_text(program: str, launches: Sequence[Sequence[str]], settings: Sequence[str], ranks: int) -> str:
    """What is wrong with the planned launch, and what to do."""
    planned_outcome, *other_outcomes = (_launch_outcome(kind, message, ranks) for kind, _, message in launches)
    if launches[-1][0] in WORKS:
        remedy = f"it starts with {settings[len(launches) - 1]}"
    else:
        failed = (f"{setting} ({other})" for setting, other in zip(settings[1:], other_outcomes, strict=False))
        remedy = f"tried without success too: {'; '.join(failed) or 'no other launcher found'}"
    library = launches[0][1] or "its MPI library is not known"
    return f"{settings[0]} does not start {program} ({library}) as one MPI job: {planned_outcome}; {remedy}"


def _launch_outcome(kind: str, message: str, ranks: int) -> str:
    if kind == "alone":
        return f"each of {ranks} ranks runs alone"
    return "it did not end within 30 s" if kind == "hangs" else f"it says: {message or 'no reason given'}"
