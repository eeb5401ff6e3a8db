"""What is said of jobs and of what Slurm answers."""

from __future__ import annotations

from campaign.core.messages import Message

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
