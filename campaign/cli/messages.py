"""What the command line prints beside tables and findings."""

from __future__ import annotations

from campaign.core.messages import Message

# --- wrong words on the command line
VERB_MISSPELT = Message("unknown verb {verb}; did you mean {near}?", verb="plna", near="plan")
VERB_UNKNOWN = Message("unknown verb {verb}; allowed: {verbs}", verb="fly", verbs="init, plan, run")
VERB_MISSING = Message("'campaign help' lists the verbs")
FILE_MISSING = Message("give the campaign file; 'campaign init FILE' writes a new one")
VERB_RESUME = Message("unknown verb {verb}; use 'campaign run', which also resumes", verb="resume")
VERB_START = Message("unknown verb {verb}; use 'campaign run'", verb="start")
VERB_SUBMIT = Message("unknown verb {verb}; use 'campaign run' (--detach returns at once)", verb="submit")
VERB_VERSION = Message("unknown verb {verb}; use 'campaign --version'", verb="version")
VERB_SECOND = Message("the verb comes first: campaign {verb} {word}", verb="plan", word="my-rfp.yaml")
OPTION_MISSPELT = Message("unknown option {option}; did you mean {near}?", option="--fromat", near="--format")
OPTION_UNKNOWN = Message("unknown option {option}; allowed: {options}", option="--colour", options="--format, --output")
ARGUMENTS_UNEXPECTED = Message("unexpected arguments: {words}", words="b.yaml c.yaml")
NODE_HOURS_WRONG = Message('--max-node-hours: found "{given}"; allowed: a number above 0, such as 12.5', given="many")
NOTIFY_ENDED = Message(
    "campaign {name}: ended with status {status}; results: {directory}",
    name="my-rfp", status=1, directory="results/my-rfp",
)  # fmt: skip
NOTIFY_STOPPED = Message(
    "campaign {name}: stopped with status {status}: {why}", name="my-rfp", status=3, why="the file system is full"
)
NOTIFY_STATUS = Message("ended with status {status}", status=127)
NOTIFY_ENDED_LATE = Message("killed after {seconds} s, with all that it had started", seconds=60)
NOTIFY_FAILED = Message("--notify: {command}: {why}", command="mail me@site", why="ended with status 127")
JOBS_WRONG = Message('--max-jobs: found "{given}"; allowed: a whole number above 0, such as 50', given="many")
WORKBOOK_NEEDS_FILE = Message("--format xlsx needs -o OUT, since a workbook cannot be printed")
WAIVERS_NONE = Message("--waiver {number}: the campaign file has no waivers; add one under waivers", number=3)
WAIVERS_FEWER = Message(
    "--waiver {number}: the campaign file has {waivers}; allowed: 1 to {last}", number=3, waivers="2 waivers", last=2
)
FORMAT_NOT_WRITTEN = Message(
    "{path}: tables are not written in this format; end the name with one of {known}, or give --format",
    path="table.xls",
    known=".csv, .xlsx, .tex",
)
FORMAT_OF_ANOTHER = Message(
    "{path}: the file name does not fit --format {given}; use --format {named}, or another name",
    path="table.xlsx",
    given="json",
    named="xlsx",
)
IS_A_DIRECTORY = Message("{path}: is a directory; name a file", path="/tmp")
NO_DIRECTORY = Message(
    "{path}: directory {directory} does not exist; create it or name another file", path="no/table.csv", directory="no"
)
CANNOT_BE_WRITTEN = Message("{path}: cannot be written: {why}", path="table.csv", why="No space left on device")

FULL = Message(
    "{path}: {why}; free space, then run the same command again", path="results/my-rfp/plan.json",
    why="No space left on device",
)  # fmt: skip
NO_MEMORY = Message("this machine has not enough memory (ulimit -v, cgroup): use a larger one, or free memory")
REFUSED_AT = Message("{path}: {why}", path="results/my-rfp/run.log", why="Permission denied")
REFUSED_TO = Message(
    "{path}: {why}: {place} belongs to {owner} and has mode {mode}; you are {user}. Change its permissions",
    path="results/my-rfp/plan.json", why="Permission denied", place="results/my-rfp", owner="alice", mode="700",
    user="bob",
)  # fmt: skip
REFUSED_BELOW = Message(
    "{path}: {place} is not a directory; move it away, then run the same command again",
    path="results/my-rfp/jobs/campaign-my-rfp-1", place="results/my-rfp/jobs",
)  # fmt: skip
REFUSED_IN = Message(
    "the operating system refused an operation: {why}, at {place}: {code}; check disks, memory and limits (ulimit -a), "
    "then run the same command again",
    why="Resource temporarily unavailable", place="campaign/slurm/commands.py:88", code="subprocess.Popen(command)",
)  # fmt: skip

# --- what was done
WROTE_CAMPAIGN_FILE = Message(
    "wrote {file}: replace the texts in <angle brackets>, then run 'campaign plan {word}'",
    file="my-rfp.yaml",
    word="my-rfp.yaml",
)
BUILT = Message("built {directory}", directory="bench-src/build")
USE_THIS_BUILD = Message("to use this build: export CAMPAIGN_BENCHMARK={directory}", directory="/opt/bench")
READ_AGAIN = Message("read {attempts} from {directory}", attempts="12 attempts", directory="results/offer")
WROTE = Message("wrote {path}", path="results/offer/report/index.html")
WROTE_SCRIPTS = Message("wrote {scripts} to {directory}", scripts="4 job scripts", directory="scripts")
WROTE_BUNDLE = Message("wrote {path}: {files}, {attempts}", path="offer.zip", files="240 files", attempts="12 attempts")
LISTED_ONLY = Message("{attempts} without raw output: listed only in the bundle's index", attempts="3 attempts")
JOURNAL_HEAD = Message("journal head (send it to the buyer): {head}", head="5f3a…")
VERIFY_WITH = Message("verify:  campaign verify {path}", path="offer.zip")
NOTE = Message("note: {remark}", remark="the benchmark is not built: run 'campaign build'")

# --- a campaign under way
STORAGE_ALONE = Message(
    "--storage {given}: allowed only with --sandbox, which starts a cluster with this storage", given="gluster"
)
STORAGE_UNUSED = Message(
    "--storage {given} is ignored: Slurm answers on this machine, so no sandbox is started", given="gluster"
)
SANDBOX_STARTED = Message("no Slurm found: started a sandbox of virtual nodes in {directory}", directory="/run/sandbox")
LOG = Message("log: {path}", path="results/offer/run.log")
NO_LOG = Message(
    "no log is kept: {path}: {why}; move it away, and 'campaign run' keeps one again",
    path="results/offer/run.log",
    why="Is a directory",
)
INTERRUPTED = Message("interrupted")
NOTHING_SUBMITTED = Message(
    "interrupted; no job of this campaign is in Slurm; 'campaign run {file}' submits what is missing",
    file="my-rfp.yaml",
)
INTERRUPTED_EARLY = Message("interrupted; this command has submitted nothing")
INTERRUPTED_TWICE = Message(
    "interrupted twice; 'campaign status {file}' shows this campaign's jobs, 'campaign run {file}' continues",
    file="my-rfp.yaml",
)
JOBS_GO_ON = Message(
    "interrupted; {jobs} of this campaign in Slurm: {ids}. 'campaign run {file}' continues, "
    "'campaign cancel {file}' cancels them",
    jobs="2 jobs",
    ids="12, 13",
    file="my-rfp.yaml",
)
SANDBOX_ENDS_JOBS = Message(
    "interrupted; the sandbox is stopped with {jobs} of this campaign: {ids}", jobs="2 jobs", ids="12, 13"
)
SUBMITTED = Message(
    "{jobs} of this campaign in Slurm: {ids}\n'campaign status {file}' shows them, 'campaign run {file}' follows them",
    jobs="4 jobs",
    ids="12, 13, 14, 15",
    file="my-rfp.yaml",
)
SUBMITTED_NONE = Message(
    "no job of this campaign is in Slurm: nothing is left to run, or Slurm refused all jobs\n"
    "'campaign status {file}' shows all runs",
    file="my-rfp.yaml",
)
CANCELLED = Message("cancelled {jobs}", jobs="3 jobs")
CANCELLED_NONE = Message("no jobs to cancel")
RESULTS = Message("results: {directory}", directory="results/offer")
CELL_WITH_VALUE = Message(
    "{cell}: {status} {value:.3f} {unit}",
    cell="scratch/max/unique/stat",
    status="measured",
    value=1234.5,
    unit="ops/s",
)
CELL_WITHOUT_VALUE = Message("{cell}: {status}: {why}", cell="scratch/max/unique/stat", status="failed", why="timeout")
CELL_ATTEMPT = Message(" (attempt {number} of {attempts})", number=2, attempts=3)
CELL_MEDIAN = Message(" (median of {valid} valid attempts: {median:.3f})", valid=3, median=123.456)

# --- while it runs
RUN_VALUES = Message("{operations} {unit}", operations="create 48230, stat 120345", unit="ops/s")
MORE_VALUES = Message("{count} more", count=96)
RUN_ENDED = Message(
    "[{done}/{total}] {run}: {outcome}", done=10, total=12, run="scratch.max.unique.r1", outcome="create 48230 ops/s"
)
RUNS_CANCELLED = Message(
    "[{done}/{total}] {runs} runs cancelled: {first} to {last}",
    done=12,
    total=12,
    runs=9,
    first="scratch.node.shared.r1",
    last="scratch.max.onefile.r1",
)
RUN_STATE = Message(
    "[{done}/{total}] {run} ({geometry} processes), attempt {attempt}: {state}",
    done=10,
    total=12,
    run="scratch.max.unique.r1",
    geometry="4 × 8",
    attempt=1,
    state="running",
)
JOB_WAITS = Message("job {job} is waiting: {reason}", job="12", reason="Resources")
RUNS_FINISHED = Message("{done} of {total} runs finished, {elapsed} elapsed", done=10, total=12, elapsed="1m5s")
TIME_LEFT = Message(" (about {time} left)", time="20s")
TIME_LEFT_GUESSED = Message(
    " (about {time} left; nothing comparable has run yet for {unlike})", time="10m", unlike="5 runs"
)

# --- head
NOTHING_RUN = Message(
    "no journal: campaign {campaign} has not been run; start with 'campaign run {file}'",
    campaign="my-rfp",
    file="f.yaml",
)
JOURNAL_BROKEN = Message("journal.jsonl: {problem}", problem="line 7: the hash does not match")

# --- sample and accept
EXISTS = Message("{path}: already exists; name a new file", path="challenge.yaml")
DRAWN = Message("cells to measure again: {cells}", cells="scratch/peak/shared/stat")
ACCEPTED = Message("ACCEPTED: every drawn cell reaches its committed value")
NOT_ACCEPTED = Message("NOT ACCEPTED: not every drawn cell is shown to reach its committed value")
NOT_ANSWERED = Message("NOT ACCEPTED: this is not a measurement of the drawn sample")
OTHER_SETTINGS = Message("the sample was run with other machine settings than the bundle: {keys}", keys="slurm")
OBJECTION = Message("not a valid sample: {objection}", objection="the journal does not start with the nonce")
NOT_REBUILT = Message(
    "{bundle}: the bundle was altered or cannot be re-evaluated, so its source was not built; see 'campaign verify'",
    bundle="offer.zip",
)
NOT_SAMPLED = Message("{bundle}: the bundle cannot be re-evaluated; see 'campaign verify'", bundle="offer.zip")
