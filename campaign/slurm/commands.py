"""The only user of Slurm's commands: each is a builder of arguments and a parser of the reply.

A command that fails, times out or answers in an unknown form raises UnknownState: it is never read as "no such job".
Practices and their reasons: docs/slurm.md.
"""

from __future__ import annotations

import os
import re
import secrets
import signal
import subprocess
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from campaign.core import resources, waiting
from campaign.core.errors import EnvironmentLacks, UnknownState
from campaign.core.runs import State
from campaign.results.environment.slurm_text import STATES, slurm_fields

QUERY_TIMEOUT_S = 30.0

# SLURM_* variables that are kept when calling Slurm: the cluster, who asks, and the PMIx fence that several slurmd on
# one host need.
_KEPT = frozenset({"SLURM_CONF", "SLURM_CONF_SERVER", "SLURM_JWT", "SLURM_PMIX_FENCE"})
_COMMANDS = frozenset({"sacct", "sacctmgr", "sbatch", "scancel", "scontrol", "sinfo", "squeue", "srun"})
# Exported shell functions would replace commands of the job; `module` is needed.
_SCRUBBED = re.compile("(SBATCH|SLURM|SRUN|SQUEUE|SACCT|SCANCEL|SINFO|PMIX|PMI|OMPI_COMM|BENCH|BASH_FUNC)_")
_MODULES = re.compile(r"BASH_FUNC_(_?module\w*|ml|switchml)(%%|\(\))$")


@dataclass(frozen=True, slots=True)
class Reply:
    status: int
    out: str
    err: str


@dataclass(frozen=True, slots=True)
class Job:
    """What Slurm reports of a job. `word` is its name for the state, `reason` why it waits or how it ended, `directory`
    where it was submitted.
    """

    id: str
    name: str
    state: State
    word: str
    reason: str = ""
    partition: str = ""
    directory: str = ""


def environment(command: str, base: Mapping[str, str] = os.environ) -> dict[str, str]:
    """The environment for one of Slurm's commands: an inherited SBATCH_TIMELIMIT would override the script. A job gets
    the names of the submitter's variables: further ones in it were set by Slurm.
    """
    kept_variables = {k: v for k, v in base.items() if k in _KEPT or not _SCRUBBED.match(k) or _MODULES.match(k)}
    return kept_variables | (
        {"CAMPAIGN_SUBMITTED_WITH": " ".join(kept_variables)} if command == "sbatch" else {"SLURM_TIME_FORMAT": "%s"}
    )


def call(
    arguments: Sequence[str],
    timeout_s: float = QUERY_TIMEOUT_S,
    cwd: Path | None = None,
    slow: Callable[[float], None] | None = None,
) -> Reply:
    """Run one of Slurm's commands.

    `slow` reports a long wait, of so many seconds. Raises EnvironmentLacks if the command is not installed,
    UnknownState if it hangs.
    """
    if arguments[0] in _COMMANDS and "SLURM_CONF" in os.environ:
        _read_configuration(Path(os.environ["SLURM_CONF"]))
    try:
        process = subprocess.Popen(
            arguments,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment(arguments[0]),
            cwd=cwd,
            # Ctrl-C is for the driver, which detaches; the outcome of a running sbatch is asked for later.
            start_new_session=True,
        )
    except FileNotFoundError:
        raise EnvironmentLacks(
            f"{arguments[0]} is not on PATH; run this on a login node, or install Slurm's client commands"
        ) from None
    except OSError as error:
        raise EnvironmentLacks(f"{arguments[0]}: {error.strerror}") from error
    with process:
        try:
            out, err = _outputs(process, arguments[0], timeout_s, slow)
        except BaseException:
            process.kill()
            raise
    message = err.decode(errors="replace")
    if process.returncode < 0 and not message:  # SIGPIPE, because slurmctld hung up
        message = f"ended by {signal.Signals(-process.returncode).name} without a message"
    return Reply(process.returncode, out.decode(errors="replace"), message)


def _outputs(
    process: subprocess.Popen[bytes], command: str, timeout_s: float, slow: Callable[[float], None] | None
) -> tuple[bytes, bytes]:
    """stdout and stderr, once it has ended."""
    patience_s = min(waiting.SLOW_S, timeout_s)
    try:
        return process.communicate(timeout=patience_s)
    except subprocess.TimeoutExpired:
        pass
    if slow:
        slow(patience_s)
    else:
        waiting.tell_listener(
            f"waiting for {command}, which has not answered for {round(patience_s)} s; given up after "
            f"{round(timeout_s)} s"
        )
    try:
        return process.communicate(timeout=timeout_s - patience_s)
    except subprocess.TimeoutExpired as expired:
        lines = (expired.stderr or b"").decode(errors="replace").strip().splitlines()
        last_line = f"; it said: {lines[-1]}" if lines else ""
        raise UnknownState(f"{command} did not answer within {timeout_s:g} s{last_line}") from None


def _read_configuration(path: Path) -> None:
    """Check that Slurm's configuration can be read: otherwise each of its commands tries for a minute before it reports
    this.
    """
    try:
        path.open("rb").close()
    except OSError as error:
        raise EnvironmentLacks(
            f"SLURM_CONF={path}: {error.strerror}; correct or unset this environment variable"
        ) from error


def ask(arguments: Sequence[str]) -> str:
    """The output of a command. Raises UnknownState if it fails."""
    return answer(arguments) or ""


def answer(arguments: Sequence[str], unless: str | None = None) -> str | None:
    """The output of a command; None if it fails with a message that contains `unless`."""
    reply = call(arguments)
    if reply.status == 0:
        return reply.out
    if unless is not None and unless in reply.err + reply.out:
        return None
    output = "; ".join((reply.err.strip() or reply.out.strip()).splitlines())
    raise UnknownState(f"{arguments[0]} failed with status {reply.status}: {output}")


# --- tables: squeue, sinfo, sacct
#
# Names, comments and reasons are anybody's texts: they may contain newlines, bars, quotes, even whole lines of an
# answer. So each field is requested with a random mark after it, and answers are split only at these marks.

MARK = f"@{secrets.token_hex(8)}@"
_reported_commands: set[str] = set()  # commands whose unreadable rows were already reported


def squeue_format(letters: str) -> str:
    """The option with which squeue or sinfo prints these fields, separated by MARK."""
    return "--format=" + "".join(f"%{letter}{MARK}" for letter in letters)


def sacct_format(fields: Sequence[str]) -> tuple[str, ...]:
    """The options with which sacct prints these fields, separated by MARK."""
    return "--parsable", f"--delimiter={MARK}", f"--format={','.join(fields)}"


def rows(command: str, out: str, width: int, counts: Sequence[int] = (0,)) -> Iterator[tuple[str, ...]]:
    """The rows of an answer, each with so many fields, those at `counts` in digits. Other lines, such as a site's
    greeting, and unreadable rows are left out and reported once; UnknownState if there are no others.
    """
    *fields, after_last = out.split(MARK)
    row_count, unread = 0, [after_last]
    for start in range(0, len(fields), width):
        row = fields[start : start + width]
        between, _, row[0] = row[0].rpartition("\n")  # an id, or a list of nodes
        unread.append(between)
        if len(row) == width and row[0] and all(row[place].isdigit() for place in counts):
            row_count += 1
            yield tuple(row)
        else:
            unread.append("|".join(row))
    tell(command, [text for text in unread if text.strip()], row_count)


def tell(command: str, unread: Sequence[str], read: int) -> None:
    """Report the unreadable rows of an answer, with the number of readable ones."""
    if not unread:
        return
    text = unread[0].strip()
    if not read:
        raise UnknownState(f"unexpected output of {command}: {text!r}")
    if command not in _reported_commands:
        _reported_commands.add(command)
        waiting.tell_listener(
            f"{len(unread)} parts of what {command} answers cannot be read and are left out, the first is: {text!r}"
        )


# --- answering at all


def reachable() -> str | None:
    """None if slurmctld answers, otherwise why not."""
    try:
        reply = call(["scontrol", "ping"])
    except EnvironmentLacks as error:
        return str(error)
    if reply.status == 0 and re.search(r"\bUP\b", reply.out):
        return None
    silent = command_silent(command="scontrol ping", status=reply.status)
    output = reply.err.strip() or reply.out.strip() or silent
    # Below the problem it asks for the daemon to be restored, in a frame of asterisks.
    lines = [line for line in output.splitlines() if re.search("[A-Za-z]", line)]
    return next((line for line in lines if "DOWN" in line), lines[-1] if lines else silent)


def configuration() -> dict[str, str]:
    """Slurm's settings: those of slurm.conf, and the defaults of others."""
    return dict(re.findall(r"^(\w+) *= (.*?)\s*$", ask(["scontrol", "show", "config"]), re.MULTILINE))


def other_clusters() -> Iterator[str]:
    """Variables by which Slurm's commands would ask another cluster; campaign does not pass them on."""
    for name in ("SLURM_CLUSTERS", "SBATCH_CLUSTERS"):
        cluster = os.environ.get(name, "")
        if cluster and cluster != configuration().get("ClusterName"):
            yield (
                f"{name}={cluster}: campaign uses one cluster only, that of this machine; unset it, or run campaign on "
                f"a login node of {cluster}"
            )


def command_silent(command: object, status: object) -> str:
    return f"{command} ended with status {status} and no message"


def one_task(partition: str, mpi: str) -> tuple[str, ...]:
    """The srun that starts one process on a compute node, for a question answered within seconds."""
    options = ("--nodes=1", "--ntasks=1", "--time=1", f"--mpi={mpi}", "--quiet")
    return ("srun", *options, *((f"--partition={partition}",) if partition else ()))


def srun_options() -> frozenset[str]:
    """The long options that `srun --help` lists, with those of the site's plugins; empty if it lists none."""
    return frozenset(re.findall(r"--([a-z][a-z-]+)", call(["srun", "--help"]).out))


def mpi_plugins() -> tuple[str, ...]:
    """The plugins that `srun --mpi` accepts here; empty if it does not list them."""
    reply = call(["srun", "--mpi=list"])
    lines = [line.removeprefix("srun:").strip() for line in (reply.out + reply.err).splitlines()]
    names = {line for line in lines if re.fullmatch(r"[a-z]\w*", line)}
    for line in lines:  # "specific pmix plugin versions available: pmix_v4,pmix_v3"
        names.update(re.findall(r"\w+", line.partition("versions available:")[2]))
    return tuple(sorted(names))


_LOAD = """type module >/dev/null 2>&1 || exit 3
source "$0"
for name in "$@"; do
    before=${LOADEDMODULES-}
    module load "$name" >&2 && campaign_compare_modules "$name" "$before" && continue
    printf %s "$name"
    echo "$REPLY" >&2
    exit 1
done"""


def unloadable(modules: Sequence[str]) -> tuple[str, str] | None:
    """The first of these modules that a job could not load, and why; None if it can load all. A job has this shell's
    environment, including its `module` command.
    """
    reply = call(["bash", "-c", _LOAD, str(resources.TEMPLATES / "module-functions.bash"), *modules])
    if reply.status == 0:
        return None
    if reply.status == 3:
        return (
            modules[0],
            (
                "this shell has no module command, and jobs inherit its environment; load MPI in another way and "
                "remove the key, or start campaign in a shell with modules"
            ),
        )
    return reply.out, f"module load: {' '.join(reply.err.split())[:200]}"


# --- following

_QUEUE_FIELDS = "ATrPZj"  # id, state, reason, partition, directory, name
_IN_ONE_WORD = 2000  # jobs per command: Linux limits an argument to 128 KiB
_NO_ACCOUNTING = "disabled"  # in sacct's message if the site has no accounting

# Recorded jobs: the name that each was submitted with, and its id if known.
Wanted = Mapping[str, str | None]


def queue(recorded_jobs: Wanted) -> dict[str, Job]:
    """The jobs among these that slurmctld still knows, by recorded name, including ended ones; with one query."""
    return jobs_by_recorded_name(recorded_jobs, my_jobs("--states=all")) if recorded_jobs else {}


def my_jobs(*options: str) -> list[Job]:
    """The jobs of this user; without options those that have not ended."""
    return parse_queue(ask(["squeue", "--noheader", "--me", "--all", *options, squeue_format(_QUEUE_FIELDS)]))


def jobs_by_recorded_name(recorded_jobs: Wanted, jobs: Iterable[Job]) -> dict[str, Job]:
    """Jobs by id if it is known, and always by the token in the recorded name, since ids are reused. A renamed job is
    recognised by the name of the directory that it was submitted in.
    """
    jobs_by_name: dict[str, Job] = {}
    for job in jobs:
        for name in {job.name, _directory_name(job.directory)}:
            if (
                name in recorded_jobs
                and recorded_jobs[name] in (None, job.id)
                and (name not in jobs_by_name or job.state.active)
            ):
                jobs_by_name[name] = job
    return jobs_by_name


def _directory_name(directory: str) -> str:
    return directory.rstrip("/").rpartition("/")[2]


def parse_queue(out: str) -> list[Job]:
    jobs = []
    for job_id, word, reason, partition, directory, name in rows("squeue", out, 6):
        explanation = "" if reason == "None" else reason
        if word not in STATES:
            explanation = f"unknown Slurm state {word}"
        jobs.append(Job(job_id, name, STATES.get(word, State.RUNNING), word, explanation, partition, directory))
    return jobs


def accounting(recorded_jobs: Wanted, submitted_after: float) -> dict[str, Job] | None:
    """The accounting's record of these jobs, by recorded name, if submitted after `submitted_after`; None if there is
    no accounting.
    """
    jobs: list[Job] = []
    ids = [job_id for job_id in recorded_jobs.values() if job_id]
    names = [name for name, job_id in recorded_jobs.items() if not job_id]
    for option, words in (("jobs", sorted(ids)), ("name", sorted(names))):
        for start in range(0, len(words), _IN_ONE_WORD):
            selection = f"--{option}={','.join(words[start : start + _IN_ONE_WORD])}"
            fields = sacct_format(("JobIDRaw", "State", "ExitCode", "WorkDir", "JobName"))
            command = [
                "sacct",
                "--allocations",
                "--noheader",
                f"--starttime=uts{int(submitted_after) - 60}",
                selection,
                *fields,
            ]
            out = answer(command, unless=_NO_ACCOUNTING)
            if out is None:
                return None
            jobs += parse_accounting(out)
    return jobs_by_recorded_name(recorded_jobs, jobs)


def parse_accounting(out: str) -> list[Job]:
    jobs = []
    for job_id, state, exit_code, directory, name in rows("sacct", out, 5):
        word = state.partition(" ")[0]  # for a cancelled one it adds who did it
        reason = f"{state}, exit code {exit_code}"
        jobs.append(Job(job_id, name, STATES.get(word, State.RUNNING), word, reason, directory=directory))
    return jobs


def fields_of_job(job_id: str, name: str) -> dict[str, str]:
    """All fields that slurmctld has of a job, times in seconds since 1970; empty if it does not know this id with this
    name.
    """
    out = answer(["scontrol", "--oneliner", "show", "job", job_id], unless="Invalid job id") or ""
    fields = slurm_fields(out)
    return fields if name in (fields.get("JobName"), _directory_name(fields.get("WorkDir", ""))) else {}


STEP_FIELDS = (
    "JobIDRaw", "JobName", "State", "ExitCode", "NNodes", "NTasks", "NodeList", "Start", "End", "ConsumedEnergyRaw",
    "ConsumedEnergy", "Suspended",
)  # fmt: skip


def accounted_steps(job_id: str, name: str) -> list[dict[str, str]] | None:
    """A job that was submitted with this name, and its steps, in the accounting; None if there is no accounting."""
    format_options = sacct_format((*STEP_FIELDS, "WorkDir"))
    out = answer(["sacct", "--noheader", f"--jobs={job_id}", *format_options], unless=_NO_ACCOUNTING)
    if out is None:
        return None
    step_rows = list(rows("sacct", out, len(STEP_FIELDS) + 1, counts=()))
    if not any(name in (row[1], _directory_name(row[-1])) for row in step_rows):
        return []
    return [dict(zip(STEP_FIELDS, row, strict=False)) for row in step_rows]


def cancel(job_ids: Sequence[str]) -> None:
    """End these jobs; it is no error if they have ended by themselves meanwhile."""
    if not job_ids:
        return
    reply = call(["scancel", *job_ids])
    failures = [line for line in reply.err.splitlines() if not re.search("Invalid job id|already complet", line)]
    if reply.status != 0 and (failures or not reply.err.strip()):
        output = "; ".join(failures)
        raise UnknownState(f"scancel failed with status {reply.status}: {output}")
