"""What the driver says while it checks, submits and follows a campaign."""

from __future__ import annotations

from campaign.core.messages import Message

# --- preflight: a campaign that cannot be submitted as it stands; what follows file:line:column: key

SLURM_SILENT = Message(
    "Slurm does not answer: {why}; 'campaign run --sandbox' starts a cluster on this machine",
    why="scontrol is not on PATH",
)
NOT_CHECKED = Message(
    "not checked: partition, limits, account, QOS, MPI plugin, modules, benchmark, directories (Slurm does not answer: "
    "{why})",
    why="scontrol is not on PATH",
)
ONLY_A_PROBE = Message(
    "not checked: whether all nodes see the same directories, load the modules and start the "
    "benchmark as one MPI job; 'campaign plan --probe' checks this with a short job"
)
PROBED = Message(
    "probe (job {job}): {nodes} see the same directories, can write in them and start the benchmark; {launched}",
    job=12, nodes="4 nodes", launched="slurm.mpi: pmix starts /opt/mdtest as one MPI job of 4 ranks",
)  # fmt: skip
LAUNCH_WORKS = Message(
    "{planned} starts {executable} as one MPI job of {ranks}{ends}", planned="slurm.mpi: pmix", executable="/mdtest",
    ranks="4 ranks", ends=", which does not end by itself",
)  # fmt: skip
LAUNCH_UNKNOWN = Message(
    "not checked: whether {planned} starts {executable} as one MPI job (ldd shows no MPI library of it)",
    planned="slurm.mpi: pmix", executable="/opt/xhpcg",
)  # fmt: skip
LAUNCH_PROBLEM = Message(
    "{planned} does not start {executable} ({library}) as one MPI job: {why}; {remedy}", planned="slurm.mpi: pmix",
    executable="/opt/mdtest", library="libmpich.so.12", why="each of 4 ranks is alone", remedy="slurm.mpi: pmi2 does",
)  # fmt: skip
LAUNCH_ENDLESS = Message(", which does not end by itself within 30 s: see RUN-01")
NO_OTHER = Message("no other launcher found")
RANKS_ALONE = Message("each of {ranks} ranks runs alone", ranks=4)
LAUNCH_HANGS = Message("it did not end within 30 s")
LAUNCH_FAILS = Message("it says: {said}", said="PMIX ERROR: NOT-SUPPORTED")
LAUNCH_OTHER = Message("it starts with {setting}", setting="slurm.mpi: pmi2")
LAUNCH_NONE = Message("tried without success too: {others}", others="slurm.mpi: pmi2 (each of 4 ranks runs alone)")
LAUNCH_NOT_TRIED = Message("probe (job {job}): ended before the benchmark was launched; {why}", job=12, why="TIMEOUT")
NO_REASON = Message("no reason given")
MPI_NOT_KNOWN = Message("its MPI library is not known")
PROBE_SUBMITTED = Message(
    "probe: submitted job {job} on {nodes}; waiting for it to end (Ctrl-C cancels it)", job=12, nodes="4 nodes"
)
PROBE_REFUSED = Message("probe: {why}", why="sbatch: error: Batch job submission failed: Invalid qos specification")
PROBE_PROBLEM = Message("{nodes}: {problem}", nodes="node2, node3", problem="/dev/shm is not shared")
PROBE_INCOMPLETE = Message(
    "probe (job {job}): {answered} of {nodes} answered; {why}", job=12, answered=2, nodes="4 nodes", why="TIMEOUT"
)
PLACEHOLDER_LEFT = Message("still a placeholder: {found}; fill it in", found="<name, vendor>")
PLACEHOLDERS_LEFT = Message(
    "{texts} still to be filled in before a run with profile full: {keys}",
    texts="2 placeholders",
    keys="system.node, contact.name",
)
WAIVER_WITHOUT_EFFECT = Message(
    "{key}: has no effect and makes the results of {cells} invalid (WVR-01): {problem}; have it signed by a key in "
    "allowed_signers, or remove it",
    key="waivers[0]",
    cells="scratch/*/*/*",
    problem="the waiver is not signed",
)
WAIVER_EXPIRED = Message(
    "{key}: has expired on {day}: what is measured now makes the results of {cells} invalid (WVR-01); have it granted "
    "again, or remove it",
    key="waivers[0]",
    day="2026-01-31",
    cells="scratch/*/*/*",
)
RESULTS_OF_ANOTHER = Message(
    "found {name}, but {results} holds the results of {file}; give this campaign another name, or another results "
    "directory",
    name="site",
    results="/home/me/results/site",
    file="/home/me/other.yaml",
)
NODES_TOO_MANY = Message(
    "found {asked} nodes; partition {partition} has {there}; use {there} or fewer", asked=40, partition="cpu", there=4
)
NODES_NONE = Message(
    "found {asked} nodes; partition {partition} has none; name another partition", asked=4, partition="cpu"
)
PROCESSES_TOO_MANY = Message(
    "found {asked} processes per node; the nodes of partition {partition} have {cores} cores; use {cores} or fewer",
    asked=128,
    partition="cpu",
    cores=8,
)
BELOW_SHARE = Message(
    "found {found}; allowed: {needs} (clause {clause}), in partition {partition} at least {least}; or remove the line",
    found="8 processes on 2 nodes", needs="1 process per node on half of the nodes", clause="5.4", partition="cpu",
    least="4 processes on 4 nodes",
)  # fmt: skip
SERIES_ENDS_EARLY = Message(
    "the series ends at {found}; at full size it goes up to {least} in partition {partition} (clause {clause}); give a "
    "larger number",
    found="4 processes on 2 nodes", least="8 processes on 4 nodes", partition="cpu", clause="5.1",
)  # fmt: skip
TIME_TOO_LONG = Message(
    "a job of {runs} of {each} needs {asked}; {where} allows {limit}; set a shorter slurm.time",
    runs="1 run",
    each="6h",
    asked="6h1m",
    where="partition cpu",
    limit="4h",
)
TIME_TOO_LONG_TOGETHER = Message(
    "a job of {runs} of {each} needs {asked}; {where} allows {limit}; set a shorter slurm.time, or "
    "slurm.allocation: run, which gives each run a job of its own",
    runs="3 runs",
    each="2h",
    asked="6h1m",
    where="QOS short",
    limit="4h",
)
PARTITION_CLOSED = Message(
    "found {name}, which takes no jobs (its state is {state}); name another partition, or ask the administrators",
    name="cpu", state="DRAIN",
)  # fmt: skip
PARTITION_DOWN = Message("partition {name} is DOWN: its jobs wait until an administrator sets it UP", name="cpu")
NOT_ADMITTED = Message(
    "found {value}, with which jobs wait for ever in partition {partition}; allowed there: {allowed}", value="physics",
    partition="chem", allowed="chemistry",
)  # fmt: skip
ANY_BUT = Message("any but {names}", names="physics")
NODES_OF_A_JOB = Message(
    "found {asked} nodes; partition {partition} allows {most} in one job; use {most} or fewer", asked=4,
    partition="narrow", most=2,
)  # fmt: skip
SBATCH_REFUSES_VALUE = Message(
    "found {value}; sbatch --test-only: {why}; {others}", value="gpus", why="Invalid feature specification",
    others="did you mean gpu?",
)  # fmt: skip
CORRECT_OR_REMOVE = Message("correct it or remove it")
SBATCH_REFUSES = Message(
    "sbatch --test-only refuses a job of {nodes} nodes with {processes} processes each: {why}",
    nodes=4,
    processes=8,
    why="Requested node configuration is not available",
)
MPI_UNKNOWN = Message("found {name}; srun --mpi=list has: {known}", name="pmix_v9", known="none, pmi2, pmix, pmix_v4")
MPI_WITHOUT_PMIX = Message(
    "found {name}; srun --mpi=list has: {known}. This Slurm has no PMIx plugin: with Open MPI set "
    "'launcher: {{program: mpirun}}', with MPICH or Intel MPI 'slurm.mpi: pmi2'",
    name="pmix",
    known="none, pmi2",
)
MODULE_UNKNOWN = Message("{name} cannot be loaded: {why}", name="openmpi/9", why="no module command in this shell")
DIRECTORY_PLACEHOLDER = Message("still the placeholder {path}; name a directory that all nodes see", path="/x")
DIRECTORY_MISSING = Message("{path} does not exist; create it where all nodes see it", path="/scratch/me/x")
DIRECTORY_UNWRITABLE = Message(
    "{path} is not writable: {why}; name another directory", path="/proc", why="No such file"
)
DIRECTORY_IS_A_FILE = Message("{path} is not a directory; name a directory", path="/scratch/me/file")
DIRECTORY_FORBIDDEN = Message(
    "{path} resolves to {where}; name another directory", path="/scratch/link", where="the home directory"
)
DIRECTORIES_OVERLAP = Message(
    "{path} resolves to {real}, which shares files with {other} of target {target}; name separate directories",
    path="/scratch/link",
    real="/lustre/x",
    other="/lustre",
    target="lustre",
)
RESULTS_UNWRITABLE = Message(
    "{path} cannot be created: {why}; name another directory", path="/proc/results", why="No such file or directory"
)

# --- the benchmark's program

PROGRAM_MISSING = Message("{path} not found; build it or correct the path", path="/home/me/mdtest")
PROGRAM_IS_A_DIRECTORY = Message("{path} is a directory; name the program in it", path="/home/me/ior")
PATH_IN_ARGUMENTS = Message(
    "found {word}, a path outside the target's directory; allowed: words without a path (FLG-05)", word="/tmp/stonewall"
)
PROGRAM_NOT_EXECUTABLE = Message("{path} is not executable by this user; make it so (chmod +x)", path="/home/me/mdtest")
PROGRAM_OF_NO_KIND = Message(
    "{path} is neither an ELF program nor a script with #!; name the benchmark's program", path="/home/me/mdtest.c"
)
PROGRAM_IS_SCRIPT = Message(
    "{path} is a script of {interpreter}, which can start any program; if it starts the benchmark, name the "
    "benchmark's program here and the script under launcher.prefix; if it is the benchmark itself, put {interpreter} "
    "under launcher.prefix",
    path="/home/me/mdtest.sh", interpreter="/bin/bash",
)  # fmt: skip
NOT_ON_PATH = Message(
    "{key}: {name} not found on this machine's PATH; if the nodes lack it too, all runs fail: correct the name or "
    "give the full path",
    key="launcher.prefix[0]",
    name="numactll",
)
PROGRAM_OF_ANOTHER_MACHINE = Message(
    "{path} is built for {found}; the nodes are {nodes}; build it for {nodes}", path="/x/mdtest", found="aarch64",
    nodes="x86_64",
)  # fmt: skip
NOT_BUILT = Message("the benchmark is not built: {path} not found; run 'campaign build'", path="/x/build/mdtest")
MEASURED_WITH_ANOTHER = Message(
    "this campaign was measured with {path}, which no longer exists; restore it, or set "
    "CAMPAIGN_BENCHMARK={built} to measure everything again",
    path="/old/build/mdtest",
    built="/new/build",
)
DIALECT_NOT_RECORDED = Message(
    "plan.json does not record the meaning of -N for {path}; set benchmark.dialect", path="/home/me/mdtest"
)

# --- the plan

PLAN_MISSING = Message(
    "{path}: missing, although the campaign has begun; only this file says what {keys} meant then: restore it from a "
    "backup or a bundle, or write the numbers of processes into the campaign file",
    path="results/offer/plan.json",
    keys="launch.max",
)
PLAN_NO_OBJECT = Message("not an object: {found}", found="null")
PLAN_DAMAGED = Message(
    "{path}: damaged ({why}); restore it from a backup, or remove it to plan again",
    path="results/site/plan.json",
    why="EOF",
)
PLAN_OF_ANOTHER = Message(
    "{path}: the plan of another campaign ({campaign}, results in {results}); restore this campaign's own from a "
    "backup or a bundle, or remove it to plan again",
    path="results/site/plan.json",
    campaign="offer",
    results="/home/me/results/offer",
)
GEOMETRY_NOT_RECORDED = Message("plan.json does not record the process count of launch.{name}", name="max")
GEOMETRY_WITHOUT_NODES = Message(
    "launch.{name} is {word}, but no node is usable ({account}); name another partition under slurm.partition, or ask "
    "the "
    "administrator",
    name="max",
    word="all",
    account="partition cpu: 1 node, none usable; 1 down: n1 (down)",
)
GEOMETRY_WITHOUT_SLURM = Message(
    "launch.{name} is {word}, which needs the size of the partition from Slurm: {why}",
    name="max",
    word="all",
    why="sinfo is not on PATH",
)
NODE_UNKNOWN = Message(
    "the rules need the {name} of a node, which Slurm does not report (for memory, set slurm.node_memory)",
    name="memory",
)
OUTDATED = Message(
    "not used: {runs} measured with other settings ({changes}); 'campaign run' measures again",
    runs="3 runs",
    changes="slurm.partition: cpu -> gpu",
)
SUCH_AS = Message("such as {change}", change="command line: -n 256 -> -n 512")
OUTDATED_GONE = Message(
    "not used: {runs} that the campaign file no longer contains ({names})", runs="1 run", names="a.b.c.r1"
)
CELLS_STATUS = Message("no cell matches {pattern!r}; did you mean {near}?", pattern="fialed", near="failed")
CELLS_UNKNOWN = Message(
    "no cell matches {pattern!r}; cells are target/launch/files/operation, as in {example}",
    pattern="scratch/nod/*/*",
    example="scratch/single/shared/create",
)
CELLS_UNKNOWN_PART = Message(
    "no cell matches {pattern!r}: no {axis} {part}; {others}",
    pattern="scratch/nod/*/*",
    axis="launch condition",
    part="nod",
    others="did you mean node?",
)
SCRIPTS_UNWRITABLE = Message("{path}: cannot be written: {why}; name another directory", path="/proc/x", why="No space")

# --- building the benchmark

BUILD_DIRECTORY = Message(
    "{path}: cannot be created: {why}; choose another directory with -o", path="/opt/bench", why="Permission denied"
)
BUILD_FAILED = Message(
    "compiling the benchmark with {wrapper} failed; see its messages above\n"
    "Load the module of your MPI, or name its compiler wrapper with --mpicc ({wrappers})",
    wrapper="mpicc",
    wrappers="mpicc of Open MPI or MPICH",
)
BUILD_PATH = Message(
    "{path}: make does not take a path with a space or one of : ; # $ % \\ ' \"; choose another with -o", path="/a b"
)
MAKE_MISSING = Message("make: not found; install GNU make")
WRAPPER_MISSING = Message(
    "{wrapper}: not found; load the module of your MPI (or install its development package), or name its compiler "
    "wrapper with --mpicc ({wrappers})",
    wrapper="mpicx",
    wrappers="mpicc of Open MPI or MPICH",
)

# --- what was asked
NOTHING_CHOSEN = Message("no result is {statuses}; nothing to run", statuses="failed or invalid")

# --- under way
SEARCH_DECIDED = Message("search {cells}: {reason}", cells="scratch/peak/*/*", reason="16 processes reach the peak")
LEFT_BEHIND = Message(
    "left on the target, as a job could not remove it: {directories}; the next job removes it, or remove it yourself",
    directories="/lustre/me/campaign-0a1b2c3d",
)
SEARCH_STUCK = Message(
    "the search cannot go on: {run} could not be executed; find the cause with 'campaign status' and run again",
    run="scratch.peak.unique.explore-2x4.1",
)
MORE_REPETITIONS = Message("adding {runs}: intervals are wider than repetitions.width", runs="4 runs")
FILE_SYSTEM_FULL = Message(
    "the file system of {directory}, or a quota there, is full: {run}: {cause}\n"
    "cancelling {jobs}, which would fail too; free space there or get more quota, and run again, or use --keep-going",
    directory="/scratch/me",
    run="scratch.node.shared.r1",
    cause="the benchmark ended with status 1: stderr:1: /scratch/me/campaign-0a1b2c3d/file: No space left on device",
    jobs="3 jobs",
)
RESULTS_FULL = Message(
    "{why}\ncancelled {jobs}, whose results could not be written",
    why="results/offer/journal.jsonl: cannot be written: No space left on device",
    jobs="3 jobs",
)
SAME_CAUSE = Message(
    "the first two jobs failed with the same cause: {cause}\ncancelling {jobs}; correct the cause and run again, or "
    "use --keep-going",
    cause="the benchmark ended with status 1",
    jobs="3 jobs",
)
CANCELLED_MEANWHILE = Message(
    "the campaign was cancelled; nothing more is submitted. 'campaign run {file}' continues", file="my-rfp.yaml"
)
NODE_HOURS_REACHED = Message(
    "not submitted: {jobs} ({runs}). --max-node-hours is {most:.15g}; {used} are used or "
    "reserved, and the next job may use {next} more; --max-node-hours {enough:.15g} is enough for all",
    jobs="2 jobs",
    runs="6 runs",
    most=10,
    used="8.2",
    next="4.1",
    enough=16.4,
)
CANCEL_UNFINISHED = Message("the cancelled jobs have not ended yet; check with 'campaign status'")

# --- what is on record
SOURCE_READ_ONLY = Message("source not checked: no write permission in {directory}", directory="results/offer")
SOURCE_NOT_CHECKED = Message("source not checked: {why}", why="patch: not found")
SLURM_NOT_ASKED = Message("job states may be out of date: {why}", why="squeue: not found")
JOURNAL_DAMAGED = Message(
    "{path}: {problem}; nobody can verify these results: restore the file from a backup",
    path="results/offer/journal.jsonl",
    problem="hash chain broken at line 7",
)
NOTHING_RUN_YET = Message(
    "campaign {name} has no results yet; start with 'campaign run {file}'", name="offer", file="my-rfp.yaml"
)
