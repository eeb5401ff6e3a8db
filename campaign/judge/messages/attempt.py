"""Findings over one attempt by its own output."""

from campaign.core.messages import Message

# --- FLG
NONE_OF = Message("none of {flags}", flags="-S -u")
COMMAND_DIFFERS = Message("the executed command differs from the planned one")
OTHER_PROGRAM = Message("a program other than the planned one was executed")
VALUES_DIFFER = Message("values differ from the rule pack's")
REHEARSAL_SIZE = Message("rehearsal: smaller than the rules require, never a compliant result")
NO_ITEM_COUNT = Message("item count not in the output")
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

# --- RUN
NO_JSON_LINES = Message("bench.jsonl is missing or unreadable; the built-in benchmark always writes it")
OPERATIONS_FAILED = Message("operations failed")
INCOMPLETE_OUTPUT = Message("the benchmark output is incomplete (no closing line)")

# --- PHY and STA: what the benchmark's formula counts, and units
ACTUAL_RATE = Message("{rate} {unit} (actual)", rate="30870", unit="ops/s")
FORMULA_RATE = Message("{rate} {unit} (by the formula)", rate="493920", unit="ops/s")
ITEMS_CREATED = Message("{count} {unit} (created)", count=4096, unit="files")
ITEMS_COUNTED = Message("{count} {unit} (by the formula)", count=16384, unit="files")

# --- CCH
THREADS_UNKNOWN = Message("threads per process not recorded")
OTHER_THREADS = Message("processes ran with a different number of threads than planned")
MULTIPLE = Message("{size} ({multiple:g} x {memory})", size="72 GiB", multiple=1.5, memory="48 GiB")
MOST_OF_BYTES = Message("at most {share} of the bytes", share="5%")
SHARE_OF_BYTES = Message("{share} of the bytes", share="40.0%")
CACHE_WITHIN_REACH = Message("single node: results may include client cache")
