"""Findings that compare an attempt's output with what the job and Slurm recorded around it."""

from campaign.core.messages import Message

# --- GEO-04
NO_NODE_NAMES = Message("node names not in the output")
FOREIGN_NODES = Message("the output names nodes that were not in the job")
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
PHASES_TOO_LONG = Message("phases in the output took longer than the run")
MOST_SECONDS = Message("at most {seconds:.1f} s", seconds=12.3)
BEFORE_SUBMISSION = Message("the run began before its job was submitted")
NO_JOB_TIMES = Message("job start and end were not recorded by Slurm")
OUTSIDE_JOB = Message("the run's times lie outside those of its job")
NO_TIMESTAMP = Message("no timestamp in the output")
NO_ZONE = Message("timestamps in the output have no time zone, and the nodes' time zone was not recorded")

# --- RUN-03
FEWER_NODES = Message("the output names fewer nodes than it ran on")
NO_PROCESS_COUNT = Message("process count not in the output")
OTHER_NODES_LISTED = Message("Slurm lists nodes that were not in the job")
WHILE_COMPLETING = Message("{nodes} or fewer while the job is COMPLETING", nodes="n1, n2")
NO_FINAL_RECORD = Message("Slurm's final record of the job is missing")
TASKS_DIFFER = Message("sacct shows a different task count")
NODES_DIFFER = Message("sacct shows different nodes")
IN_OUTPUT = Message("{found} in the output", found=32)

# --- RUN-04 and RUN-05
EXCLUSIVE_UNKNOWN = Message("cannot tell whether the nodes were exclusive: no Slurm record")
NODES_SHARED = Message("other jobs may have shared the nodes")
SHARING = Message("OverSubscribe={value} (scontrol)", value="NO")
LOAD_UNKNOWN = Message("cannot tell whether other jobs used the file system: no Slurm record")
JOB_RENAMED = Message("the job was renamed after campaign submitted it; its id and directory are the same")
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
