"""What a person reads of Slurm: commands that fail, jobs that are refused, scripts that would not do as planned."""

from __future__ import annotations

from campaign.core.messages import Message

# --- Slurm's commands

PROGRAM_MISSING = Message(
    "{program} is not on PATH; run this on a login node, or install Slurm's client commands", program="scontrol"
)
COMMAND_HANGS = Message("{command} did not answer within {seconds:g} s", command="squeue", seconds=30.0)
SAID_SO_FAR = Message("; it said: {line}", line='squeue: error: Unable to resolve "head"')
COMMAND_SLOW = Message(
    "waiting for {command}, which has not answered for {waited} s; given up after {longest} s",
    command="squeue",
    waited=5,
    longest=30,
)
COMMAND_FAILED = Message(
    "{command} failed with status {status}: {said}", command="scontrol", status=1, said="Unable to contact slurmctld"
)
COMMAND_ENDED = Message("ended by {signal} without a message", signal="SIGPIPE")
COMMAND_SILENT = Message("{command} ended with status {status} and no message", command="sbatch", status=1)
ANSWER_UNKNOWN = Message("unexpected output of {command}: {answer!r}", command="sinfo", answer="n1|many")
ANSWER_UNREAD = Message(
    "{count} parts of what {command} answers cannot be read and are left out, the first is: {first!r}",
    count=2, command="squeue", first="Maintenance tonight",
)  # fmt: skip
CONF_UNREADABLE = Message(
    "SLURM_CONF={path}: {why}; correct or unset this environment variable",
    path="/etc/slrum/slurm.conf", why="No such file or directory",
)  # fmt: skip
STATE_UNKNOWN = Message("unknown Slurm state {state}", state="FLYING")
NO_MODULE_COMMAND = Message(
    "this shell has no module command, and jobs inherit its environment; load MPI in another way "
    "and remove the key, or start campaign in a shell with modules"
)
MODULE_SAYS = Message("module load: {said}", said="ERROR: Unable to locate a modulefile for 'openmpi/9'")
PARTITION_UNKNOWN = Message(
    "found {name}; Slurm has no such partition; {others}", name="gpus", others="did you mean gpu?"
)
RESERVATION_UNKNOWN = Message(
    "found {name}; Slurm has no such reservation; remove the key or correct it", name="acceptance"
)
CONSTRAINT_UNMET = Message(
    "found {found}; no node of partition {partition} has it; {others}",
    found="milann", partition="compute", others="did you mean milan?",
)  # fmt: skip
REMOVE_OR_CORRECT = Message("remove the key or correct it")
CHOICE_UNCLEAR = Message("{texts} cannot be evaluated here: counted as if it excluded no node", texts="[milan|genoa]")
SMALLEST_COUNTS = Message("the smallest counts: {cores} cores per node; slurm.constraint chooses one kind", cores=64)
OUT_OF_SERVICE = Message(
    "not in service: {nodes}; ask the administrators", nodes="n5 (down*: Not responding set by slurm)"
)
SCRIPT_FAILED = Message(
    "not in service: {nodes}; the site's Prolog or Epilog failed on {failed}: ask the administrators to look into "
    "slurmd's log there and to resume it",
    nodes="n6 (drained: Prolog error set by root at 2026-11-22 19:45:28 UTC)", failed="n6",
)  # fmt: skip
NO_DEFAULT_PARTITION = Message(
    "Slurm has no default partition; set slurm.partition to one of: {names}", names="compute, gpu"
)

# --- job scripts, also those of a campaign's own template

FOLDER_UNFIT = Message(
    "results: {folder!r} contains a backslash or a line break, which Slurm does not accept in a "
    "job's output path; set results in the campaign file to another directory",
    folder="/home/me/a\\b/jobs/campaign-offer-0a1b2c3d",
)
TEMPLATE_BROKEN = Message(
    "{place}: {why}; compare with {original}", place="own.j2:7", why="x", original="job.sbatch.j2"
)
TEMPLATE_UNREADABLE = Message("{template}: {why}", template="own.j2", why="Permission denied")
SCRIPT_LACKS = Message(
    "{template}: the script lacks '#SBATCH {option}'; copy this line from job.sbatch.j2",
    template="own.j2",
    option="--exclusive",
)
SCRIPT_ADDS = Message(
    "{template}: the script adds '#SBATCH {option}', which is not planned; put it in slurm.directives",
    template="own.j2",
    option="--mem=0",
)
SCRIPT_BEGINS = Message(
    "{template}: the script does not begin with #!/bin/bash; make it the first line", template="own.j2"
)
SCRIPT_EXCLUDES = Message(
    "{template}: the script does not include {part} unchanged; include it as job.sbatch.j2 does",
    template="own.j2",
    part="job-functions.bash",
)
SCRIPT_SETS = Message(
    "{template}: the script sets {name}, which is reserved; remove it", template="own.j2", name="campaign_run"
)
SCRIPT_LINE = Message(
    "{template}: line {line} of the script: {what}",
    template="own.j2",
    line=812,
    what="campaign_run x: not planned",
)
LINE_BEGINS = Message("{found}; expected {planned}, once", found="campaign_begin x", planned="campaign_begin a b c")
LINE_NOT_PLANNED = Message("{found}: not planned, or duplicated", found="campaign_run x")
LINE_TOO_EARLY = Message("campaign_run before campaign_begin")
NEVER_BEGUN = Message("{template}: no campaign_begin line; copy it from job.sbatch.j2", template="own.j2")
NEVER_ENDED = Message("{template}: no campaign_end line; copy it from job.sbatch.j2", template="own.j2")
NEVER_RUN = Message(
    "{template}: no campaign_run line for {run}, so the script would not execute it; copy the loop from job.sbatch.j2",
    template="own.j2",
    run="a.b.c.r1",
)
OFFSET_DIFFERS = Message(
    "-N is {found} for {run}, which runs {per_node} processes per node: the rank offset must be {planned}{clause}",
    found=7,
    run="scratch.peak.unique.r1",
    per_node=4,
    planned=4,
    clause=" (clause 8.4)",
)
COMMAND_DIFFERS = Message(
    "the command of {run} {how}; planned: {planned}", run="scratch.peak.unique.r1", how="lacks -F", planned="srun ..."
)
COMMAND_UNQUOTED = Message(
    "the words of {run} are not quoted as in the plan: {found}", run="a.b.c.r1", found="srun a b"
)

# --- submission

SUBMITTED = Message("submitted job {job}: {runs} ({first} first)", job=12, runs="3 runs", first="a.b.c.r1")
SUBMITTED_REMARK = Message(
    "submitted job {job}: {runs} ({first} first); sbatch says: {remark}",
    job=12,
    runs="3 runs",
    first="a.b.c.r1",
    remark="sbatch: your allocation ends soon",
)
UNCERTAIN = Message(
    "sbatch failed for {runs}, but the job may exist; asking Slurm: {why}", runs="3 runs", why="timed out"
)
STILL_UNCERTAIN = Message("whether Slurm has {runs} is not known yet; asking on while the others run", runs="3 runs")
SUBMITTED_AGAIN = Message(
    "Slurm has no job named {job}; submitting its {runs} again", job="campaign-offer-0a1b2c3d", runs="3 runs"
)
GIVEN_UP = Message(
    "not submitted: sbatch has failed for {minutes} min ({why}); run again when Slurm takes jobs again",
    minutes=30,
    why="sbatch: error: Batch job submission failed: Socket timed out on send/recv operation",
)
REFUSED = Message("Slurm refused {runs}: {why}", runs="3 runs", why="Invalid account specified")
REFUSED_ATTEMPT = Message("Slurm refused the job: {why}", why="Invalid account specified")
MOST_JOBS = Message("--max-jobs is {most}", most=1000)
SBATCH_SLOW = Message(
    "sbatch has not answered for {waited} s, so slurmctld is slow or busy; {left} still to submit, one after another; "
    "each sbatch may take up to {longest} s",
    waited=5,
    left="47 jobs",
    longest=60,
)
WAITS_FOR_ROOM = Message(
    "{left} not submitted yet, waiting for room in the queue: {why}", left="8 jobs", why="QOSMaxSubmitJobPerUserLimit"
)
NOT_SENT = Message("not submitted: the driver stopped first")
UNCLAIMED = Message("{folder}/claim: {why}", folder="runs/a.b.c.r1/1", why="Permission denied")

# --- accounting

JOB_FORGOTTEN = Message("Slurm no longer has a record of the job")
JOB_ENDING = Message(
    "job {job} is still {state}; waiting up to {seconds:g} s for its final record", job=12, state="COMPLETING",
    seconds=60,
)  # fmt: skip
RECORD_UNWRITABLE = Message("{path}: {why}", path="jobs/campaign-offer/accounting.json", why="No space left on device")


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
    "records {outcome}, status {status}, {restarts} restarts, but the attempt is recorded as done",
    outcome="failed",
    status=1,
    restarts=0,
)
RECORD_OF_ANOTHER_JOB = Message("belongs to job {job}, but the attempt was job {own}", job="13", own="12")
ID_FROM_RECORD = Message("job id from the job's own record")
ID_BY_NAME = Message("job id found by the job's name")

# --- what Slurm says
SLURM_SILENT = Message("Slurm does not answer; retrying ({why})", why="squeue failed with status 1")
SLURM_ANSWERS = Message("Slurm answers again")
HOPELESS = Message(
    "{reason} (never starts as it was submitted: 'campaign cancel', correct the campaign file, and run again)",
    reason="InvalidQOS",
)
WAITS_FOR_TURN = Message("waiting for its turn in job {job} (running)", job="12")
RUN_LIMIT = Message("stopped after {elapsed}, the time limit of one run; raise slurm.time", elapsed="5m")
JOB_LIMIT = Message("{word} after {limit}; raise slurm.time, of which this limit is made", word="TIMEOUT", limit="16m")
ENDED_BEFORE = Message("job {job}: {why} before this run started", job="12", why="TIMEOUT")
OUTPUT_NOT_CREATED = Message(
    "; its node did not create {path}: check that all nodes see the results directory ('campaign plan --probe FILE')",
    path="results/offer/jobs/campaign-offer-0a1b2c3d/stdout",
)
ENDED_DURING = Message("job {job}: {why} during this run", job="12", why="TIMEOUT")
ONLY_IN_ACCOUNTING = Message("job {job} is not in squeue; sacct says {word}", job="12", word="RUNNING")
NOT_SUBMITTED = Message("not submitted: no job named {job} in Slurm", job="campaign-offer-0a1b2c3d")
SBATCH_SAID = Message(" (sbatch said: {message})", message="Unable to contact slurm controller")
GONE = Message("job {job} disappeared from Slurm without a record", job="12")
BESIDES = Message("{reason}; {nodes}", reason="Resources", nodes="not in service: n5 (down)")
RUNAWAY = Message("; sacct still says {word} (see: sacctmgr show runawayjobs)", word="RUNNING")
