"""Findings that compare an attempt's output with what the job and Slurm recorded around it."""

from campaign.core.messages import Message

# --- GEO-04
NO_ENVIRONMENT = Message("the job's environment was not recorded{why}", why=": n1: no answer")
FAKING_VARIABLE = Message("{name} can fake nodes, names or times", name="IOR_FAKE_NODES")
NODE_COUNT_DIFFERS = Message("{name} differs from the job's node count", name="SLURM_NNODES")
FAKING_LIBRARY = Message("{name} preloads a library that fakes names, times or topology", name="LD_PRELOAD")
PRELOADED = Message("{name} preloads a library into every process", name="LD_PRELOAD")
NO_NODE_NAMES = Message("node names not in the output")
FOREIGN_NODES = Message("the output names nodes that were not in the job")
SEPARATE_UNKNOWN = Message("cannot tell whether these nodes are separate machines: {nodes}", nodes="n1, n2")
ONE_MACHINE = Message('several "nodes" run on one physical machine')
SEPARATE_CLIENTS = Message('several "nodes" run on one physical machine, each with its own client of the file system')
ONE_CLIENT = Message(
    'several "nodes" share one client of the network file system: its cache can serve every '
    "phase, whatever the rank offset"
)
CLIENT_EACH = Message("one client per node")
MACHINE_EACH = Message("one machine per node")

# --- RUN-02
NO_COMPLETION = Message("completion.json is missing")
TIME_OUTSIDE = Message("outside the run: the output's {what}", what="start time")
PHASES_TOO_LONG = Message("phases in the output took longer than the run")
MOST_SECONDS = Message("at most {seconds:.1f} s", seconds=12.3)
BEFORE_SUBMISSION = Message("the run began before its job was submitted")
NO_JOB_TIMES = Message("job start and end were not recorded by Slurm")
OUTSIDE_JOB = Message("the run's times lie outside those of its job")
NO_TIMESTAMP = Message("no timestamp in the output")
NO_ZONE = Message("timestamps in the output have no time zone, and the nodes' time zone was not recorded")

# --- RUN-03
NO_JOB_RECORDS = Message("the job's records are missing{why}", why=": environment.json: not found")
FEWER_NODES = Message("the output names fewer nodes than it ran on")
NO_PROCESS_COUNT = Message("process count not in the output")
MORE_PROCESSES = Message("more processes ran than the job had tasks (according to {source})", source="scontrol")
OTHER_NODES_LISTED = Message("Slurm lists nodes that were not in the job")
WHILE_COMPLETING = Message("{nodes} or fewer while the job is COMPLETING", nodes="n1, n2")
STILL_COMPLETING = Message(
    "job nodes not confirmed: Slurm reported the job as {state}; run 'campaign collect FILE' "
    "while Slurm still has the job's record",
    state="COMPLETING",
)
NO_FINAL_RECORD = Message("Slurm's final record of the job is missing")
NO_STEP = Message("sacct shows no job step {step} (yet)", step="12.0")
NO_MATCHING_STEP = Message("sacct shows no matching job step (yet)")
STEPS_OF_LAUNCHER = Message("{program} starts the ranks itself: sacct shows no job step for them", program="mpirun")
TASKS_DIFFER = Message("sacct shows a different task count")
NODES_DIFFER = Message("sacct shows different nodes")
IN_OUTPUT = Message("{found} in the output", found=32)

# --- RUN-04 and RUN-05
EXCLUSIVE_UNKNOWN = Message("cannot tell whether the nodes were exclusive: no Slurm record")
NODES_SHARED = Message("other jobs may have shared the nodes")
SHARING = Message("OverSubscribe={value} (scontrol)", value="NO")
LOAD_UNKNOWN = Message("cannot tell whether other jobs used the file system: no Slurm record")
OTHER_LOAD = Message("other jobs were running on the cluster and may have used the file system")
DIRECTORY_UNKNOWN = Message("directory state before and after the run was not recorded")
DIRECTORY_NOT_NEW = Message("the job did not create the directory; its earlier contents are unknown")
FILES_LEFT = Message("the benchmark left files behind; the job removed them")
FILES = Message("{count} files", count=3)
NO_CAPACITY = Message("file system capacity and inode counts were not recorded")

# --- CCH-01
CACHE_ON_ONE_NODE = Message("files were accessed on the node that created them; results may come from client cache")
NO_CACHE_HANDLING = Message("client cache handling not in the output")
CACHE_NOT_AVOIDED = Message("no measure against client caching")
SHIFTED_OR_DROPPED = Message("phases shifted by whole nodes ({ranks} ranks per node), or caches dropped", ranks=16)
