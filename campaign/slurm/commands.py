"""The only user of Slurm's commands: each is a builder of arguments and a parser of the reply.

A command that fails, times out or answers in an unknown form raises UnknownState: it is never read as "no such job".
Practices and their reasons stand in docs/slurm.md.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from campaign.core.errors import EnvironmentLacks, UnknownState
from campaign.core.model import State
from campaign.results.environment.slurm_text import slurm_fields

QUERY_TIMEOUT_S = 30.0
SUBMIT_TIMEOUT_S = 60.0

# Kept of SLURM_* when calling Slurm: which cluster it is, and the PMIx fence, which several slurmd on one host need.
_KEPT = frozenset({"SLURM_CONF", "SLURM_PMIX_FENCE"})
_SCRUBBED = (
    "SBATCH_",
    "SLURM_",
    "SRUN_",
    "SQUEUE_",
    "SACCT_",
    "SCANCEL_",
    "SINFO_",
    "PMIX_",
    "PMI_",
    "OMPI_COMM_",
    "BENCH_",
    # Shell functions that the submitter exports would take the place of the job's commands; `module` is one of them.
    "BASH_FUNC_",
)
_MODULES = re.compile(r"BASH_FUNC_(_?module\w*|ml|switchml)(%%|\(\))$")

# Slurm's job states. An unknown one is held as running: neither success nor failure may be concluded from it.
STATES: Mapping[str, State] = {
    "PENDING": State.PENDING,
    "CONFIGURING": State.PENDING,
    "REQUEUED": State.PENDING,
    "REQUEUE_FED": State.PENDING,
    "REQUEUE_HOLD": State.PENDING,
    "SPECIAL_EXIT": State.PENDING,
    "RESV_DEL_HOLD": State.PENDING,
    "RUNNING": State.RUNNING,
    "COMPLETING": State.RUNNING,
    "STAGE_OUT": State.RUNNING,
    "SIGNALING": State.RUNNING,
    "RESIZING": State.RUNNING,
    "SUSPENDED": State.RUNNING,
    "STOPPED": State.RUNNING,
    "COMPLETED": State.DONE,
    "FAILED": State.FAILED,
    "OUT_OF_MEMORY": State.FAILED,
    "TIMEOUT": State.TIMEOUT,
    "DEADLINE": State.TIMEOUT,
    "CANCELLED": State.CANCELLED,
    "REVOKED": State.CANCELLED,
    "PREEMPTED": State.CANCELLED,
    "NODE_FAIL": State.NODE_FAIL,
    "BOOT_FAIL": State.NODE_FAIL,
}

# Reasons for which a pending job will never start unless somebody acts.
HOPELESS = frozenset(
    {
        "AccountNotAllowed",
        "AssocGrpCPUMinutesLimit",
        "AssocMaxCPUMinutesPerJobLimit",
        "AssocMaxCpuPerJobLimit",
        "AssocMaxJobsLimit",
        "AssocMaxNodePerJobLimit",
        "AssocMaxWallDurationPerJobLimit",
        "BadConstraints",
        "DependencyNeverSatisfied",
        "InvalidAccount",
        "InvalidQOS",
        "JobHeldAdmin",
        "JobHeldUser",
        "NodeDown",
        "PartitionDown",
        "PartitionInactive",
        "PartitionNodeLimit",
        "PartitionTimeLimit",
        "QOSMaxCpuPerJobLimit",
        "QOSMaxNodePerJobLimit",
        "QOSMaxNodePerUserLimit",
        "QOSMaxWallDurationPerJobLimit",
        "ReqNodeNotAvail",
    }
)


@dataclass(frozen=True, slots=True)
class Reply:
    status: int
    out: str
    err: str


@dataclass(frozen=True, slots=True)
class Job:
    """What Slurm says of a job. `word` is its own word for the state, `reason` why it waits or how it ended."""

    id: str
    name: str
    state: State
    word: str
    reason: str = ""
    comment: str = ""
    expected_start: float | None = None


@dataclass(frozen=True, slots=True)
class SbatchOutcome:
    """Outcome of sbatch. `uncertain`: it failed in a way that may have left a job behind; `message` is its own text."""

    job_id: str | None
    message: str
    uncertain: bool = False


@dataclass(frozen=True, slots=True)
class Unusable:
    """A node that no job of ours can get. `why`: down, drained, reserved, outside of the reservation, or the state."""

    node: str
    why: str
    state: str  # Slurm's own word
    reason: str = ""  # that an administrator gave

    def __str__(self) -> str:
        return f"{self.node} ({self.state}{f': {self.reason}' if self.reason else ''})"


@dataclass(frozen=True, slots=True)
class Partition:
    """A partition by Slurm's own account; `usable` nodes are neither down, drained nor reserved for others."""

    name: str
    nodes: int
    usable: int
    cores_per_node: int  # of the smallest usable node
    time_limit_s: int | None  # None: unlimited
    unusable: tuple[Unusable, ...]

    @property
    def account(self) -> str:
        """`partition big: 9 nodes, 7 usable with 64 cores each; 1 down: n5 (down*: dead); 1 drained: n6 (drained)`."""
        parts = [
            f"partition {self.name}: {self.nodes} node{'s' if self.nodes > 1 else ''}, "
            f"{'all' if self.usable == self.nodes else self.usable} usable with {self.cores_per_node} cores each"
        ]
        for why in dict.fromkeys(one.why for one in self.unusable):
            own = [str(one) for one in self.unusable if one.why == why]
            parts.append(f"{len(own)} {why}: {', '.join(own)}")
        return "; ".join(parts)


def environment(base: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment for Slurm's commands: an inherited SBATCH_TIMELIMIT would override the script."""
    source = os.environ if base is None else base
    return {k: v for k, v in source.items() if k in _KEPT or not k.startswith(_SCRUBBED) or _MODULES.match(k)}


def call(arguments: Sequence[str], timeout_s: float = QUERY_TIMEOUT_S, cwd: Path | None = None) -> Reply:
    """Run one of Slurm's commands. Raises EnvironmentLacks where it is not installed, UnknownState where it hangs."""
    try:
        done = subprocess.run(
            arguments,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=timeout_s,
            env=environment() | {"SLURM_TIME_FORMAT": "%s"} if arguments[0] != "sbatch" else environment(),
            cwd=cwd,
            check=False,
            # A Ctrl-C is for the driver, which detaches; what came of an sbatch under way is asked later.
            start_new_session=True,
        )
    except FileNotFoundError:
        raise EnvironmentLacks(
            f"{arguments[0]} is not on PATH: run this where Slurm's client commands are installed "
            "(Debian: slurm-client), or start a cluster on this machine with 'campaign sandbox start'"
        ) from None
    except OSError as error:
        raise EnvironmentLacks(f"{arguments[0]}: {error.strerror}") from error
    except subprocess.TimeoutExpired:
        raise UnknownState(f"{arguments[0]} did not answer within {timeout_s:g} s") from None
    return Reply(done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace"))


def _ask(arguments: Sequence[str]) -> str:
    reply = call(arguments)
    if reply.status != 0:
        told = "; ".join((reply.err.strip() or reply.out.strip()).splitlines())
        raise UnknownState(f"{arguments[0]} failed with status {reply.status}: {told}")
    return reply.out


# --- answering at all


def reachable() -> str | None:
    """None where slurmctld answers, otherwise why not."""
    try:
        reply = call(["scontrol", "ping"], timeout_s=10)
    except EnvironmentLacks as error:
        return str(error)
    if reply.status == 0 and re.search(r"\bUP\b", reply.out):
        return None
    return (reply.err.strip() or reply.out.strip() or f"scontrol ping ended with status {reply.status}").splitlines()[
        -1
    ]


# --- submitting

_JOB_ID = re.compile(r"^(\d+)(?:;(\S+))?$")
# Words of a failure on the way to slurmctld or back: the job may exist. Any other failure is a refusal.
_TRANSPORT = re.compile(
    r"timed out|contact|Zero Bytes|transport|connect|temporarily|communication|Killed", re.IGNORECASE
)


def submit(script: Path, after: Sequence[str] = ()) -> SbatchOutcome:
    """Submit `script`, to start when the jobs `after` have ended in whatever way."""
    arguments = ["sbatch", "--parsable"]
    if after:
        arguments.append("--dependency=afterany:" + ":".join(after))
    arguments.append(str(script))
    try:
        reply = call(arguments, SUBMIT_TIMEOUT_S, cwd=script.parent)
    except UnknownState as error:
        return SbatchOutcome(None, str(error), uncertain=True)
    return parse_submission(reply)


def parse_submission(reply: Reply) -> SbatchOutcome:
    """A site's banner beside the id is tolerated on its own lines; the id must stand alone on exactly one."""
    message = reply.err.strip()
    if reply.status != 0:
        text = message or reply.out.strip() or f"sbatch ended with status {reply.status}"
        return SbatchOutcome(None, text, uncertain=reply.status < 0 or bool(_TRANSPORT.search(text)))
    ids = [match[1] for line in reply.out.splitlines() if (match := _JOB_ID.match(line.strip()))]
    if len(ids) != 1:
        return SbatchOutcome(None, f"sbatch answered in an unknown form: {reply.out.strip()!r}", uncertain=True)
    return SbatchOutcome(ids[0], message)


# --- following

_QUEUE_FORMAT = "%A|%T|%r|%S|%j|%k"
_BATCH = 200  # job names in one command line


def queue(names: Iterable[str]) -> dict[str, Job]:
    """The jobs of these names that slurmctld still knows, by name, ended ones included."""
    found: dict[str, Job] = {}
    wanted = sorted(set(names))
    for start in range(0, len(wanted), _BATCH):
        batch = wanted[start : start + _BATCH]
        out = _ask(["squeue", "--noheader", "--states=all", f"--format={_QUEUE_FORMAT}", f"--name={','.join(batch)}"])
        found.update((job.name, job) for job in parse_queue(out))
    return found


def my_active_jobs() -> list[Job]:
    """All jobs of this user that have not ended: to find those of other campaigns on the same target."""
    return parse_queue(_ask(["squeue", "--noheader", "--me", f"--format={_QUEUE_FORMAT}"]))


def parse_queue(out: str) -> list[Job]:
    jobs = []
    for line in out.splitlines():
        fields = line.split("|", 5)
        if len(fields) != 6:
            raise UnknownState(f"squeue answered in an unknown form: {line!r}")
        job_id, word, reason, start, name, comment = fields
        expected = float(start) if start.isdigit() else None
        jobs.append(Job(job_id, name, _state(word), word, _reason(word, reason), comment, expected))
    return jobs


def _state(word: str) -> State:
    return STATES.get(word, State.RUNNING)


def _reason(word: str, reason: str) -> str:
    reason = "" if reason in ("None", "") else reason
    if word not in STATES:
        return f"Slurm calls its state {word}, which is not known here"
    return reason


def accounting(names: Iterable[str], since: float) -> dict[str, Job] | None:
    """The latest job of each name in the accounting, submitted after `since`; None where there is no accounting."""
    wanted = sorted(set(names))
    if not wanted:
        return {}
    begin = int(since) - 60
    reply = call(
        [
            "sacct", "--allocations", "--noheader", "--parsable2", f"--starttime=uts{begin}",
            f"--name={','.join(wanted)}", "--format=JobIDRaw,State,ExitCode,JobName%80",
        ]
    )  # fmt: skip
    if reply.status != 0:
        if "disabled" in reply.err:
            return None
        raise UnknownState(f"sacct failed with status {reply.status}: {reply.err.strip()}")
    return {job.name: job for job in parse_accounting(reply.out)}


def parse_accounting(out: str) -> list[Job]:
    jobs = []
    for line in out.splitlines():
        fields = line.split("|", 3)
        if len(fields) != 4:
            raise UnknownState(f"sacct answered in an unknown form: {line!r}")
        job_id, state, exit_code, name = fields
        word = state.split()[0] if state else ""
        by = f" {state.partition(' ')[2]}" if " " in state else ""
        jobs.append(Job(job_id, name, _state(word), word, f"{word}{by}, exit code {exit_code}"))
    return jobs


def show_job(job_id: str) -> Job | None:
    """One job from slurmctld's memory; None where it says that there is no such job."""
    reply = call(["scontrol", "show", "job", "--oneliner", job_id])
    if reply.status != 0:
        if "Invalid job id" in reply.err:
            return None
        raise UnknownState(f"scontrol failed with status {reply.status}: {reply.err.strip()}")
    fields = dict(re.findall(r"(\w+)=(\S*)", reply.out))
    word = fields.get("JobState", "")
    detail = f"{fields.get('Reason', '')}, exit code {fields.get('ExitCode', '?')}".removeprefix("None, ")
    return Job(job_id, fields.get("JobName", ""), _state(word), word, detail)


def fields_of_job(job_id: str) -> dict[str, str] | None:
    """All that slurmctld says of a job, times in seconds since 1970; None where it says that there is no such job."""
    reply = call(["scontrol", "show", "job", "--oneliner", job_id])
    if reply.status != 0:
        if "Invalid job id" in reply.err:
            return None
        raise UnknownState(f"scontrol failed with status {reply.status}: {reply.err.strip()}")
    return slurm_fields(reply.out.partition("\n")[0])


STEP_FIELDS = ("JobIDRaw", "JobName", "State", "ExitCode", "NNodes", "NTasks", "NodeList", "Start", "End")


def accounted_steps(job_id: str) -> list[dict[str, str]] | None:
    """A job and its steps in the accounting; None where there is no accounting."""
    reply = call(["sacct", "--noheader", "--parsable2", f"--jobs={job_id}", f"--format={','.join(STEP_FIELDS)}"])
    if reply.status != 0:
        if "disabled" in reply.err:
            return None
        raise UnknownState(f"sacct failed with status {reply.status}: {reply.err.strip()}")
    rows = [line.split("|") for line in reply.out.splitlines()]
    return [dict(zip(STEP_FIELDS, row, strict=True)) for row in rows if len(row) == len(STEP_FIELDS)]


def cancel(job_ids: Sequence[str]) -> None:
    """End these jobs; those that have ended by themselves meanwhile are no error."""
    if not job_ids:
        return
    reply = call(["scancel", *job_ids])
    told = [line for line in reply.err.splitlines() if not re.search("Invalid job id|already complet", line)]
    if reply.status != 0 and (told or not reply.err.strip()):
        raise UnknownState(f"scancel failed with status {reply.status}: {' '.join(told)}")


# --- the machine


def one_task(partition: str, mpi: str) -> tuple[str, ...]:
    """The srun that starts one process on a compute node, for a question that is answered in seconds."""
    options = ("--nodes=1", "--ntasks=1", "--time=1", f"--mpi={mpi}", "--quiet")
    return ("srun", *options, *((f"--partition={partition}",) if partition else ()))


def partition(name: str, reservation: str = "") -> Partition:
    """A partition's nodes, cores and limit; the default partition for an empty name. With a reservation, its nodes are
    those that count.
    """
    shown = _ask(["scontrol", "show", "partition", "--oneliner", *([name] if name else [])])
    rows = [dict(re.findall(r"(\w+)=(\S*)", line)) for line in shown.splitlines() if "PartitionName=" in line]
    if not name:
        rows = [row for row in rows if row.get("Default") == "YES"]
        if not rows:
            raise EnvironmentLacks("Slurm has no default partition: name one in the campaign file (slurm.partition)")
    if not rows:
        raise UnknownState(f"scontrol answered in an unknown form: {shown.strip()!r}")
    row = rows[0]
    own = _reserved(reservation) if reservation else None
    out = _ask(["sinfo", "--noheader", "--Node", f"--partition={row['PartitionName']}", f"--format={_NODE_FORMAT}"])
    return parse_partition(row, out, own)


def _reserved(reservation: str) -> frozenset[str]:
    """The nodes of a reservation."""
    shown = _ask(["scontrol", "show", "reservation", "--oneliner", reservation])
    nodes = re.search(r"\bNodes=(\S+)", shown)
    if not nodes or nodes[1] == "(null)":
        return frozenset()
    return frozenset(_ask(["scontrol", "show", "hostnames", nodes[1]]).split())


_NODE_FORMAT = "%N|%c|%X|%Y|%T|%E"  # name, CPUs, sockets, cores of each, state, reason
_USABLE = ("idle", "allocated", "mixed", "completing", "planned")
_RESERVED = ("reserved", "maint")


def parse_partition(row: Mapping[str, str], sinfo: str, own: frozenset[str] | None = None) -> Partition:
    """`own`: the nodes of the reservation that jobs run in, where there is one."""
    usable: list[int] = []
    unusable: list[Unusable] = []
    for line in sinfo.splitlines():
        fields = line.split("|", 5)
        if len(fields) != 6 or not all(field.isdigit() for field in fields[1:4]):
            raise UnknownState(f"sinfo answered in an unknown form: {line!r}")
        node, cpus, sockets, cores, state, reason = fields
        why = _why_unusable(node, state, own)
        if why:
            unusable.append(Unusable(node, why, state, reason if reason not in ("", "none") else ""))
        else:
            # A CPU may be a hardware thread, of which a core has several.
            usable.append(min(int(cpus), int(sockets) * int(cores)))
    return Partition(
        name=row["PartitionName"],
        nodes=len(usable) + len(unusable),
        usable=len(usable),
        cores_per_node=min(usable, default=0),
        time_limit_s=parse_limit(row.get("MaxTime", "UNLIMITED")),
        unusable=tuple(unusable),
    )


def _why_unusable(node: str, state: str, own: frozenset[str] | None) -> str:
    """ "" where jobs can have it."""
    # A suffix marks a node that does not respond (*), is powered down (~, #, !, %) or reserved for maintenance ($).
    bare = state.rstrip("*~#!%$@^-+")
    marks = state[len(bare) :]
    reserved = bare in _RESERVED or "$" in marks
    if own is not None and node not in own:
        return "outside of the reservation"
    if "*" in marks or bare.startswith(("down", "fail")):
        return "down"
    if bare.startswith("drain"):
        return "drained"
    if reserved:
        return "" if own is not None else "reserved"
    return "" if bare in _USABLE else bare


def parse_limit(text: str) -> int | None:
    """Slurm's D-HH:MM:SS or UNLIMITED, in seconds."""
    if text in ("UNLIMITED", "NONE", ""):
        return None
    days, _, clock = text.rpartition("-")
    hours, minutes, seconds = (int(part) for part in clock.split(":"))
    return int(days or 0) * 86400 + hours * 3600 + minutes * 60 + seconds
