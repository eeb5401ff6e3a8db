"""sbatch, and what its failures mean: that Slurm refused the job, that it will take it later, or that nobody knows.

One list of Slurm's words serves submission and `--test-only`. They are those of slurm_errno.c, 20.11 to 26.05.
"""

from __future__ import annotations

import random
import re
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from campaign.core import temporary
from campaign.core.errors import UnknownState
from campaign.slurm import commands

TIMEOUT_S = 60.0
PAUSE_S = (1.0, 60.0)  # shortest and longest, roughly, of the pauses between tries
TESTS = 4  # tries of --test-only

_JOB_ID = re.compile(r"^(\d+)(?:;(\S+))?$")
_SAYS_WHO = re.compile(r"^(sbatch: )?(error: )?((allocation failure|Batch job submission failed): )?", re.MULTILINE)
# In sbatch's last line, about slurmctld's answer: it was away, too busy, or its answer was lost. Messages of a site's
# own rules are in the lines above.
_PASSES = re.compile(
    "(?i)timed out|unable to contact|zero bytes|(send|receive|connection|shutdown) failure|broken pipe|munge|"
    "connection (refused|reset|closed|forced|rejected)|transport endpoint|no route to host|network is unreachable|"
    "rate limit|please retry|try again|temporarily|retrying|standby mode|shutting down|missing socket|"
    "MaxJobCount|connect to database|talking to the database|authentication error|generating job credential|"
    "i/o error writing script|cannot allocate memory"
)
# Messages of slurmctld, or of sbatch before it asks, about a job that is not accepted. After any other failure the job
# may exist: "Unspecified error", a site's own message.
_REFUSES = re.compile(
    "(?i)(max|grp)submitjob|submit limit|"
    "invalid (account|qos|partition|generic|feature|license|wckey|job array|gres|trackable|directive|time-min)|"
    "no partition specified|not permitted to use|not in this partition|more (processors|tasks) (requested )?than|"
    "(node|cpu|task) (count|distribution) specification invalid|job size specification|parameter too long|"
    "requested (node configuration|partition configuration|time limit|reservation|gres|account|operation)|"
    "access(/permission)? denied|violates accounting/qos policy|memory (required|specification)|burst buffer|"
    "required (node|partition) not available|time limit specification required|job dependency|submissions disabled|"
    "unrecognized option|invalid option|not look like a batch script|dos line breaks|unable to open file"
)
# A job refused so by --test-only is accepted, and waits until nodes come back.
_FOR_NOW = re.compile("(?i)nodes are busy|node not available|nodes required .* down")
# A limit of the account, QOS or user on the number of jobs; sbatch names it in the line above its last.
_FULL = re.compile("(?i)(Max|Grp)SubmitJob|submit limit (was |has been )?(reached|exceeded)")
_POLICY = "Job violates accounting/QOS policy"


@dataclass(frozen=True, slots=True)
class SbatchAnswer:
    """Outcome of sbatch; `message` is its own text. `uncertain`: it failed in a way that may have left a job behind.
    `passes`: the failure is transient and not about the job.
    """

    job_id: str | None
    message: str
    uncertain: bool = False
    passes: bool = False

    @property
    def refused(self) -> bool:
        return self.job_id is None and not self.uncertain and not self.passes

    def is_full(self, has_other_jobs: bool) -> bool:
        """Whether a limit on the number of jobs was reached, so that the job will be accepted later. `has_other_jobs`:
        whether there are jobs that may have reached it: Slurm has one message for this and for permanent limits.
        """
        return self.refused and bool(_FULL.search(self.message) or (has_other_jobs and _POLICY in self.message))


def submit(script: Path, after: Sequence[str] = (), slow: Callable[[float], None] | None = None) -> SbatchAnswer:
    """Submit `script`, to start when the jobs `after` have ended in any way. `slow`: as in `call`."""
    dependency = ["--dependency=afterany:" + ":".join(after)] if after else []
    try:
        reply = commands.call(["sbatch", "--parsable", *dependency, str(script)], TIMEOUT_S, script.parent, slow)
    except UnknownState as error:
        return SbatchAnswer(None, str(error), uncertain=True, passes=True)
    return parse(reply)


def parse(reply: commands.Reply) -> SbatchAnswer:
    """A site's greeting on lines of its own is tolerated; the id must be alone on exactly one line."""
    if reply.status != 0:
        text, passes = message_of(reply), _is_transient(reply)
        return SbatchAnswer(None, text, uncertain=passes or not _REFUSES.search(text), passes=passes)
    ids = [match[1] for line in reply.out.splitlines() if (match := _JOB_ID.match(line.strip()))]
    if len(ids) != 1:
        return SbatchAnswer(None, f"unexpected output of sbatch: {reply.out.strip()!r}", uncertain=True)
    return SbatchAnswer(ids[0], reply.err.strip())


def refusal(script: str) -> str:
    """sbatch's full message if it would refuse a script; "" if not. Submits nothing. Raises UnknownState if it cannot
    be asked, after several tries.
    """
    with temporary.directory("campaign-") as folder:
        path = folder / "job.sbatch"
        path.write_text(script, encoding="utf-8")
        for _, pause_s in zip(range(TESTS), pauses(), strict=False):
            reply = commands.call(["sbatch", "--test-only", str(path)], TIMEOUT_S)
            if reply.status == 0 or _FOR_NOW.search(message_of(reply).splitlines()[-1]):
                return ""
            message = "; ".join(filter(None, _SAYS_WHO.sub("", message_of(reply)).splitlines()))
            if not _is_transient(reply):
                return message
            time.sleep(pause_s)
    raise UnknownState(f"sbatch --test-only failed with status {reply.status}: {message}")


def tested_processors(options: Sequence[str]) -> int | None:
    """The CPUs that a job with these options would get; None if sbatch refuses it. Submits nothing."""
    reply = commands.call(["sbatch", "--test-only", *options, "--wrap=:"], TIMEOUT_S)
    match = re.search(r"\busing (\d+) processors\b", reply.err)
    return int(match[1]) if match and reply.status == 0 else None


def pauses() -> Iterator[float]:
    """Growing pauses of random length: many drivers may wait for the same slurmctld."""
    pause_s, longest_s = PAUSE_S
    while True:
        yield pause_s * random.uniform(0.5, 1.5)
        pause_s = min(2 * pause_s, longest_s)


def message_of(reply: commands.Reply) -> str:
    silent = commands.command_silent(command="sbatch", status=reply.status)
    return reply.err.strip() or reply.out.strip() or silent


def _is_transient(reply: commands.Reply) -> bool:
    return reply.status < 0 or bool(_PASSES.search(message_of(reply).splitlines()[-1]))


# --- reasons for which a job waits

# Reasons for which a pending job never starts as submitted (squeue's manual, 20.11 to 26.05).
_NEVER = re.compile(
    "AccountNotAllowed|BadConstraints|DeadLine|DependencyNeverSatisfied|InvalidAccount|InvalidQOS|QOSNotAllowed|"
    "PartitionConfig|PartitionTimeLimit|ReservationDeleted|MaxMemPerLimit|QOSMin.*|"
    r"(Assoc|QOS)Max.*Per(Job|Node)(Limit)?|.*not permitted to use this partition.*"
)
_LACKS_NODES = "NodeDown|FrontEndDown|ReqNodeNotAvail|PartitionNodeLimit|Nodes required .*DOWN.*"
# Reasons for which it starts by itself once somebody has acted, and who that is.
_ONCE = {
    "JobHeldUser": "starts by itself once it is released: scontrol release {job}",
    "JobHeldAdmin|JobHoldMaxRequeue": (
        "starts by itself once an administrator releases it: ask about job {job}, no need to cancel it"
    ),
    "PartitionDown|PartitionInactive": (
        "job {job} starts by itself once the administrators open the partition; no need to cancel it"
    ),
    _LACKS_NODES: "job {job} starts by itself once enough nodes are back; no need to cancel it",
    "(Assoc|QOS)Grp.*Minutes(Limit)?|QOSUsageThreshold": (
        "job {job} starts by itself once the account has budget again: ask the administrators, no need to cancel it"
    ),
    "Reservation": "job {job} starts by itself when its reservation begins; no need to cancel it",
}


def lacks_nodes(reason: str) -> bool:
    """Whether a job waits because nodes are out of service."""
    return re.fullmatch(_LACKS_NODES, _word(reason)) is not None


def explain_reason(reason: str, job_id: str) -> str:
    """Why a job waits, in Slurm's words, and what has to be done if waiting alone does not help."""
    if _NEVER.fullmatch(_word(reason)):
        return (
            f"{reason} (never starts as it was submitted: 'campaign cancel', correct the campaign file, and run again)"
        )
    remark = next((text for words, text in _ONCE.items() if re.fullmatch(words, _word(reason))), "")
    return f"{reason} ({remark.format(job=job_id)})" if remark else reason


def _word(reason: str) -> str:
    """Slurm's word without its details (`ReqNodeNotAvail, UnavailableNodes:n5`); a sentence unchanged."""
    word = reason.partition(",")[0]
    return reason if " " in word else word
