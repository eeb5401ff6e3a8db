"""Findings over one attempt by its own output."""

from campaign.core.messages import Message

# --- FLG
FLAGS_MISSING = Message("mandatory flags missing: {flags}", flags="-F -C")
WRONG_FLAGS = Message("wrong flags for file configuration {files}", files="unique")
NONE_OF = Message("none of {flags}", flags="-S -u")
COMMAND_DIFFERS = Message("the executed command differs from the planned one")
OTHER_PROGRAM = Message("a program other than the planned one was executed")
VALUES_DIFFER = Message("values differ from the rule pack's")
REHEARSAL_SIZE = Message("rehearsal: smaller than the rules require, never a compliant result")
NO_ITEM_COUNT = Message("item count not in the output")
ITEM_COUNT_DIFFERS = Message("the benchmark counted a different number of {unit} than planned", unit="files")
OTHER_DIRECTORY = Message("the benchmark used a directory other than the attempt's")
PATH_ADDED = Message("the campaign file adds a path outside the target's directory to the command line")
NO_PATH = Message("only the attempt's own directory")
OFFSET_WRONG = Message("-N does not shift the ranks by one node")
OFFSET_IN_NODES = Message("this mdtest version takes -N in nodes; equivalent to the required rank offset")
OFFSET_OF_RANKS = Message("an offset of {ranks} ranks", ranks=16)
SINGLE_NODE = Message("single node: all phases ran on the node that created the files, as there is no other")
NO_SHIFT = Message("rank shift not in the output")
RAN_WHERE_CREATED = Message("all phases ran on the node that created the files")
RAN_ELSEWHERE = Message("phases ran on other nodes than the rules require")
SHIFT_TOO_SMALL = Message("rank shift too small: some ranks worked on files of their own node")
LOCAL_STATS = Message("some stat calls ran on the node that created the file")
REMOTE_SHARE = Message("{share} of the stat calls on another node", share="100%")

# --- GEO
NO_PLACEMENT = Message("rank placement not in the output")
NOT_IN_BLOCKS = Message("ranks are not placed in equal blocks")
PLACEMENT = Message("{placement} placement, {per_node} per node", placement="block", per_node=16)
NO_GEOMETRY = Message("number of {lacking} not in the output", lacking="processes and nodes")
OTHER_GEOMETRY = Message("ran with other process or node counts than planned for {launch}", launch="peak")
CONDITION_NOT_MET = Message("process or node count does not meet the launch condition {launch}", launch="peak")

# --- RUN
ENDED_BADLY = Message("the run ended as {state}: {reason}", state="failed", reason="exit status 1")
OUTPUT_ERROR = Message("error in the benchmark output: {line}", line="stderr:3: No space left on device")
OUTPUT_WARNING = Message("warning in the benchmark output: {line}", line="ranks started 4 ms apart")
NO_JSON_LINES = Message("bench.jsonl is missing or unreadable; the built-in benchmark always writes it")
OPERATIONS_FAILED = Message("operations failed")
INCOMPLETE_OUTPUT = Message("the benchmark output is incomplete (no closing line)")
NO_RESULT = Message("no result for {operation} in the output", operation="stat")
UNKNOWN_LINE = Message("unrecognised output line: {line}", line="stdout:12: hello")

# --- PHY and STA: what the benchmark's formula counts, and units
ACTUAL_COUNT_MISSING = Message(
    "{operation}: the rate assumes one operation for each process and file; this benchmark does not print how many "
    "there were, the built-in one does",
    operation="create",
)
COUNT_IMPOSSIBLE = Message(
    "{operation}: the output claims as many actual operations as the formula counts, which is impossible",
    operation="create",
)
OVERCOUNTED = Message("{operation}: the formula counts more operations than were performed", operation="create")
DONE_LESS = Message("{operation}: fewer operations were performed than its rate counts", operation="create")
ACTUAL_RATE = Message("{rate} {unit} (actual)", rate="30870", unit="ops/s")
FORMULA_RATE = Message("{rate} {unit} (by the formula)", rate="493920", unit="ops/s")
ITEMS_SHARED = Message(
    "{operation}: all processes share the same {unit}; the formula counts them once per process",
    operation="create",
    unit="files",
)
ITEMS_CREATED = Message("{count} {unit} (created)", count=4096, unit="files")
ITEMS_COUNTED = Message("{count} {unit} (by the formula)", count=16384, unit="files")
UNIT_DIFFERS = Message("unit of {operation} differs from the rule pack's", operation="create")

# --- CCH
NO_CACHE_CONTENTS = Message("{operation}: page cache contents not in the output", operation="read")
THREADS_UNKNOWN = Message("threads per process not recorded")
OTHER_THREADS = Message("processes ran with a different number of threads than planned")
NO_CACHE_EVIDENCE = Message(
    "{operation}: page cache contents not in the output, and {moved} of data fit into {memory} "
    "of memory",
    operation="read", moved="16 KiB", memory="48 GiB",
)  # fmt: skip
MULTIPLE_UNKNOWN = Message("{operation}: amount of data or memory of the nodes not recorded", operation="read")
TOO_FEW_BYTES = Message("{operation}: less data moved than the rules require for the nodes' memory", operation="read")
MULTIPLE = Message("{size} ({multiple:g} x {memory})", size="72 GiB", multiple=1.5, memory="48 GiB")
READ_FROM_CACHE = Message(
    "{operation}: bandwidth of memory, not of storage: the data was already in the reading node's page cache",
    operation="read",
)
NOT_YET_STORED = Message(
    "{operation}: bandwidth of memory, not of storage: the data was not yet on storage when timing ended",
    operation="write",
)
MOST_OF_BYTES = Message("at most {share} of the bytes", share="5%")
SHARE_OF_BYTES = Message("{share} of the bytes", share="40.0%")
CACHE_WITHIN_REACH = Message("single node: results may include client cache")
