"""What a person reads of Slurm: commands that fail, jobs that are refused, scripts that would not do as planned."""

from __future__ import annotations

from campaign.core.messages import Message

# --- Slurm's commands

PROGRAM_MISSING = Message(
    "{program} is not on PATH; run this where Slurm's client commands are installed (Debian: slurm-client)",
    program="scontrol",
)
COMMAND_HANGS = Message("{command} did not answer within {seconds:g} s", command="squeue", seconds=30.0)
COMMAND_FAILED = Message(
    "{command} failed with status {status}: {said}", command="scontrol", status=1, said="Unable to contact slurmctld"
)
COMMAND_SILENT = Message("{command} ended with status {status} and no message", command="sbatch", status=1)
ANSWER_UNKNOWN = Message("unexpected output of {command}: {answer!r}", command="sinfo", answer="n1|many")
STATE_UNKNOWN = Message("unknown Slurm state {state}", state="FLYING")
NO_MODULE_COMMAND = Message(
    "no module command in this shell, whose environment jobs get; load MPI otherwise and remove the key, or run this "
    "in a shell that has it"
)
MODULE_SAYS = Message("module load says: {said}", said="ERROR: Unable to locate a modulefile for 'openmpi/9'")
PARTITION_UNKNOWN = Message("found {name}; Slurm has no such partition; {others}", name="gpus", others="did you mean gpu?")
RESERVATION_UNKNOWN = Message(
    "found {name}; Slurm has no such reservation; remove the key or correct it", name="acceptance"
)
NO_DEFAULT_PARTITION = Message(
    "Slurm has no default partition; set slurm.partition to one of: {names}", names="compute, gpu"
)


# --- a job's own record
COMPLETION_NO_FILE = Message("not a regular file of at most {most} bytes", most=1048576)
COMPLETION_UNREADABLE = Message(
    "{path}: cannot be read: {why}", path="runs/scratch.max.unique.r1/1/completion.json", why="Expecting value"
)
COMPLETION_NO_OBJECT = Message("{path}: not a JSON object", path="runs/scratch.max.unique.r1/1/completion.json")
COMPLETION_FORMAT = Message(
    "{path}: found format {format!r}; allowed: 1", path="runs/scratch.max.unique.r1/1/completion.json", format=2
)
COMPLETION_OF_ANOTHER = Message(
    "{path}: belongs to another attempt: its token is {token!r}, this attempt's is {own!r}",
    path="runs/scratch.max.unique.r1/1/completion.json",
    token="12ab34cd",
    own="0a1b2c3d",
)
COMPLETION_LACKS = Message(
    "{path}: field {field} is missing", path="runs/scratch.max.unique.r1/1/completion.json", field="'outcome'"
)
COMPLETION_TYPE = Message(
    "{path}: a field has the wrong type: {why}",
    path="runs/scratch.max.unique.r1/1/completion.json",
    why="could not convert string to float: 'x'",
)
DONE_WITHOUT_RECORD = Message("missing, but the attempt is recorded as done")
DONE_AGAINST_RECORD = Message(
    "says {outcome}, status {status}, {restarts} restarts, but the attempt is recorded as done",
    outcome="failed",
    status=1,
    restarts=0,
)
RECORD_OF_ANOTHER_JOB = Message("is of job {job}, but the attempt was job {own}", job="13", own="12")
ID_FROM_RECORD = Message("job id from the job's own record")
ID_BY_NAME = Message("job id found by the job's name")

# --- what Slurm says
SLURM_SILENT = Message("Slurm does not answer; retrying ({why})", why="squeue failed with status 1")
SLURM_ANSWERS = Message("Slurm answers again")
HOPELESS = Message("{reason} (cannot start by itself; cancel it and correct the campaign file)", reason="JobHeldUser")
WAITS_FOR_TURN = Message("waiting for its turn in job {job} (running)", job="12")
ENDED_BEFORE = Message("job {job}: {why}, before this run started", job="12", why="TIMEOUT")
ENDED_DURING = Message("job {job}: {why}, during this run", job="12", why="TIMEOUT")
ONLY_IN_ACCOUNTING = Message("job {job} is not in squeue; sacct says {word}", job="12", word="RUNNING")
NOT_SUBMITTED = Message("not submitted: no job named {job} in Slurm", job="campaign-offer-0a1b2c3d")
SBATCH_SAID = Message(" (sbatch said: {message})", message="Unable to contact slurm controller")
GONE = Message("job {job} disappeared from Slurm without a record", job="12")
RUNAWAY = Message("; sacct still says {word} (see: sacctmgr show runawayjobs)", word="RUNNING")
