"""What is wrong with a benchmark's output. The place, such as "stdout:9: ", is printed before each."""

from __future__ import annotations

from campaign.core.messages import Message

# --- any file

NO_OUTPUT = Message("no benchmark output: the file does not exist")
NO_JSON_LINES = Message("file not found: rank placement, failed operations and binary hash are unknown")
NOT_REGULAR = Message("not a regular file; ignored")
CANNOT_BE_READ = Message("cannot be read: {reason}", reason="Permission denied")
TOO_MANY_BYTES = Message("{size} bytes; only the first {read} were read", size=70_000_000, read=67_108_864)
TOO_MANY_LINES = Message("more than {most} lines; the rest was not read", most=200_000)
LINE_TOO_LONG = Message(
    "line of {length} characters ignored; at most {most} are read", length=2_000_000, most=1_048_576
)
LINE_SHORTENED = Message("{start}… ({length} characters)", start="Lmod Warning: the module", length=5000)
MORE_ERRORS = Message("{count} more errors", count=44)
MORE_WARNINGS = Message("{count} more warnings", count=44)
MORE_UNPARSED = Message("{count} more unrecognised lines", count=44)
MORE_ALIKE = Message("{line} (and {count} like it)", line="Hcol library init failed", count=279)
APPLET_UNKNOWN = Message("unknown applet {applet!r}; allowed: {allowed}", applet="mdtset", allowed="ior, mdtest")

NO_SAMPLE = Message("{path}: {why}; expected the output of a benchmark", path="osu.log", why="not found")

# --- text and JSON lines together

SAY_DIFFERENT = Message("{what}: bench.jsonl says {lines}, stdout says {printed}", what="nodes", lines=4, printed=2)
VALUES_DIFFER = Message(
    "{operation}: bench.jsonl says {column} {lines}, stdout says {printed} in line {line}",
    operation="create", column="value", lines=2512.3, printed=2513.3, line=14,
)  # fmt: skip
ONLY_IN_TEXT = Message("{operation}: result in stdout, but not in bench.jsonl", operation="create")
ONLY_IN_LINES = Message("{operation}: result in bench.jsonl, but not in stdout", operation="create")

# --- JSON lines

EMPTY = Message("empty: the benchmark wrote no results")
NO_END = Message("no `end` line: the benchmark ended early")
FILE_IGNORED = Message("{why}; file ignored", why="format 2; expected 1")
LINE_CUT_OFF = Message("last line truncated")
NOT_JSON = Message("not JSON: {error}", error="Expecting value: line 1 column 1 (char 0)")
NOT_A_JSON_NUMBER = Message("{word} is not a number", word="NaN")
NO_TYPE = Message("not a JSON object with a `type`")
TYPE_UNKNOWN = Message("unknown line type {kind!r} of applet {applet}", kind="stage", applet="mdtest")
FIRST_LINE = Message("first line is `{kind}`; expected `start`", kind="phase")
SECOND_START = Message("second `start` line: several runs wrote this file")
ATTESTED_ALONE = Message("`attestation` line, but the `start` line has no clocks of the nodes")
AFTER_END = Message("`{kind}` line after the `end` line", kind="phase")
FORMAT_UNKNOWN = Message("format {found!r}; expected {known}", found=2, known=1)
NOT_A_STRING = Message("{key}: {found!r} is not a string", key="applet", found=3)
NOT_A_WORD = Message("{key}: {found!r} is not a short printable text", key="version", found="0.2\n")
NOT_A_NUMBER = Message("{key}: {found!r} is not a number ≥ 0", key="elapsed_s", found="0.1")
NOT_A_COUNT = Message("{key}: {found!r} is not a whole number ≥ 0", key="nodes", found=1.5)
NOT_A_TRUTH = Message("{key}: {found!r} is not true or false", key="binary_agreed", found=1)
NOT_STRINGS = Message("{key}: not a list of strings", key="argv")
NOT_OBJECTS = Message("{key}: not a list of objects", key="rank_to_node")
NOT_AN_OBJECT = Message("{key}: {found!r} is not an object", key="rank_rate_ops_s", found=3)
NOT_ALLOWED = Message(
    "{key}: {found!r}; allowed: {allowed}", key="placement", found="random", allowed="block, cyclic, irregular"
)
NOT_RANKS = Message("rank_to_node: {found!r} are not ranges of ranks such as 0-3,8", found="0..3")
MAP_SIZE = Message(
    "rank_to_node has {found_nodes} nodes and {found_ranks} ranks; expected {nodes} and {ranks}",
    found_nodes=2, found_ranks=8, nodes=2, ranks=16,
)  # fmt: skip
MAP_TOO_LONG = Message("rank_to_node has {ranks} ranks; at most {most} are read", ranks=20_000_000, most=10_000_000)
MAP_RANKS = Message("rank_to_node: some ranks are missing or listed twice")
MAP_PER_NODE = Message("rank_to_node has {found} ranks per node; expected {expected}", found="2 to 6", expected=4)
MAP_NOT_BLOCK = Message("rank_to_node: the ranks of a node are not consecutive, but the placement is block")
BINARIES_DIFFER = Message("the ranks ran different executables; the hash is that of rank 0")
ENDED_AS = Message(
    "benchmark status {status}: {failed} failed operations, exit status {code}", status="failed", failed=3, code=1
)
SECOND_RESULT = Message("second result of {operation}; the first is in line {first}", operation="create", first=7)
NOT_THE_BEST = Message(
    "{operation}: max is {maximum}, but the best phase has {best}: inconsistent output",
    operation="create", maximum=2512.3, best=2498.1,
)  # fmt: skip
NO_PHASE = Message("{operation}: result without a phase", operation="create")
BEST_WITHOUT_PHASE = Message("best {operation} rate without a {operation} phase", operation="write")
UNIT_UNKNOWN = Message("text: {found!r} is not an object with one of the units {units}", found=3, units="b, Kb, Mb")
OPERATION_UNKNOWN = Message("unknown operation {found!r}", found="rename")
RATE_WRONG = Message(
    "{name}: {rate:.3f} is not {operations} operations in {seconds:.9f} s: inconsistent output",
    name="rate_ops_s", rate=2512.3, operations=1000, seconds=0.42,
)  # fmt: skip
SPREAD_WRONG = Message(
    "rank_rate_ops_s: {ranks} ranks with {slowest:.3f} to {fastest:.3f} (median {median:.3f}) "
    "cannot give {rate:.3f}: inconsistent output",
    slowest=600.1, median=610.2, fastest=620.3, ranks=4, rate=9999.0,
)  # fmt: skip
SHIFT_WRONG = Message(
    "rank_shift of stat is {found}, but the line of type shift says {expected}: inconsistent output",
    found=0,
    expected=8,
)
FILES_DIFFER = Message("verification failed: the files do not contain the written data")

# --- any text

COMMAND_TRUNCATED = Message("command line truncated or damaged in the output: executed command unknown")
NO_COMMAND = Message("no command line in the output: requested phases unknown; rows of 0 are not used")
TWO_RUNS = Message("a second run in one output: several copies were started instead of one MPI job?")
APPEARS_TWICE = Message("{name} appears twice; the first, in line {first}, is used", name="write", first=31)
NO_ROWS = Message("no results")
NOT_IN_SUMMARY = Message("{name}: rows of iterations, but no row in the summary; result not used", name="write-0")

SPREAD_IMPOSSIBLE = Message(
    "{name}: max, min, mean and standard deviation cannot be those of {count} iterations; result not used: {line}",
    name="File stat", count=1, line="File stat  9.000 8.000 9.000 0.000",
)  # fmt: skip
CONTRADICTS = Message(
    "{name}: {column} is {found}, but the rest of the output gives {expected:.8g}; result not "
    "used",
    name="write", column="Max(MiB)", found=812.3, expected=790.1,
)  # fmt: skip
COUNT_CONTRADICTS = Message(
    "{name}: {found} iterations, but {expected} expected; result not used", name="write", found=1, expected=2
)

FEWER_ITERATIONS = Message(
    "{name}: {found} iterations, but {expected} expected", name="write-256kb", found=1, expected=2
)
ITERATIONS_UNKNOWN = Message("the line 'Number of iterations for whole test' is missing: iterations may be missing")
SECTION_MISSING = Message("{name}: a line 'Starting test iteration …' is missing; result not used", name="write-256kb")

# --- mdtest

NOT_MDTEST = Message("not mdtest output: line 'mdtest-… was launched with … total task(s)' missing")
SEPARATE_COPIES = Message(
    "{count} separate copies ran with 1 task each instead of one MPI job: "
    "set slurm.mpi to a plugin that fits the MPI library (srun --mpi=list)",
    count=8,
)
SEVERAL_RUNS = Message("{count} runs in one output; the last one is used", count=2)
SECOND_COMMAND = Message("second command line differs from the first: {line}", line="mdtest -n 1 -d /scratch")
SHIFT_CHANGED = Message("ranks shifted by {ranks}, but by {before} in an earlier line", ranks=4, before=8)
TOPOLOGY_FAKED = Message("topology faked by the environment (IOR_FAKE_*): {line}", line="Fake number of node: using 2")
MAP_CONTRADICTS = Message(
    "node map {ranks} contradicts {processes} processes on {nodes} nodes; ignored", ranks="1111", processes=4, nodes=2
)
ROW_TRUNCATED = Message("truncated summary row: {line}", line="   File creation      2512.300")
ROW_TWICE = Message(
    "{label} appears twice in one summary, first in line {first}; neither is used: {line}",
    label="File stat", first=14, line="File stat  9.000 9.000 9.000 0.000",
)  # fmt: skip
ROW_NUMBERS = Message("expected {count} numbers with three decimals: {line}", count=4, line="File stat  9.0 9.0 9 0")
ROW_MARKED = Message("row marked invalid by the benchmark: {line}", line="File stat  9.000 9.000 9.000 0.000  INVALID")
NO_SUMMARY = Message("no SUMMARY: no results")
ONLY_TIMES = Message("only times (-Z), no rates")
SEVERAL_SUMMARIES = Message(
    "{count} summaries ({listed}); the one in line {line} is used",
    count=2, listed="line 10: 2 tasks, line 22: 4 tasks", line=22,
)  # fmt: skip
SUMMARY_TASKS = Message("summary of {tasks} tasks; expected {processes}", tasks=2, processes=4)
ROWS_ZERO = Message("the command line requests phases whose rows are 0: {rows}", rows="create, remove")
ROWS_MISSING = Message("the summary lacks {rows}, requested on the command line", rows="create, remove")

# --- IOR

NOT_IOR = Message("not IOR output: line 'MPI Coordinated Test of Parallel I/O' missing")
ROWS_FOR_SUMMARY = Message(
    "no summary of all tests (IOR called by another program?): results are read from the rows of the iterations"
)
NO_IOR_SUMMARY = Message("no summary of all tests: no results")
NOT_IOR_JSON = Message("not JSON ({error}): the benchmark ended early or wrote something else", error="Extra data")
NO_JSON_SUMMARY = Message("no summary with one line per operation: no results")
NOT_AN_ENTRY = Message("not a summary entry with operation, TestID and rates")
CSV_NO_END = Message("CSV has no closing line: cannot tell whether the benchmark finished")

# --- other benchmarks

NOT_PAIRS = Message("not output of this test: line 'Multiple Bandwidth / Message Rate Test' missing")
RATE_ALONE = Message("{name}: bandwidth or message rate missing; the other is not used", name="2-1024-w64")
MESSAGES_DAMAGED = Message("messages of {size} bytes arrived damaged", size=1024)
MESSAGES_COUNTED = Message("{count:.0f} messages of {size} bytes arrived damaged", count=3, size=1024)
NOT_NFSTEST = Message("not NFSTEST output, or it ended before its first result (line '--- TFS=…')")
NOT_POOL = Message("not output of the chunk pool, or it ended before its first result (line 'BW:')")
NOT_CHECKPOINT = Message("not output of checkpoint, or it ended before its first result")
CLOCK_TOO_COARSE = Message("no bandwidth, the clock is too coarse: {line}", line="BW:\tinf MB/sec")
MIB_AS_MB = Message("the program prints MB but means MiB (1048576 bytes)")
