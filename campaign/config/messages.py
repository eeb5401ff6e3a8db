"""What is wrong with a campaign file or a rule pack: each message follows `FILE:line:column: key: `."""

from __future__ import annotations

from campaign.core.messages import Message

# --- the campaign file as a whole, and its rule pack

CAMPAIGN_FILE_NOT_FOUND = Message(
    "{path}: not found; 'campaign init {word}' writes a new one", path="my-campaign.yaml", word="my-campaign.yaml"
)
CAMPAIGN_FILE_MISSPELT = Message("{path}: not found; did you mean {near}?", path="campain.yaml", near="campaign.yaml")
CAMPAIGN_FILE_IS_DIRECTORY = Message("{path}: is a directory; give the campaign file", path=".")
NO_CAMPAIGN_FILE = Message(
    "{path}: not a campaign file: {what}", path="offer.zip", what="'campaign verify' reads bundles"
)
A_BUNDLE = Message("'campaign verify' reads bundles")
A_TABLE = Message("'campaign check' and 'campaign compare' read tables (.csv, .xlsx, .json)")
A_SPREADSHEET = Message("save a table as .xlsx or .csv; then 'campaign check' and 'campaign compare' read it")
PACK_NOT_FOUND = Message(
    'rule pack "{id}" not found; available: {available}; or give a path to a pack (.yaml)',
    id="ior-rules", available="crossroads-mdtest, checkpoint",
)  # fmt: skip
PACK_MISSPELT = Message('rule pack "{id}" not found; did you mean {near}?', id="crossroads", near="crossroads-mdtest")
PACK_SEVERAL_TIMES = Message(
    'rule pack "{id}" exists {count} times: {paths}; give the path of the one to use',
    id="mine", count=2, paths="rules/mine.yaml, /opt/rules/mine.yaml",
)  # fmt: skip
PACK_DIRECTORY_UNREADABLE = Message(
    "CAMPAIGN_RULES: {path}: {why}; allowed: directories with rule packs",
    path="/opt/rules", why="No such file or directory",
)  # fmt: skip
FILE_EXISTS = Message("{path}: already exists; name another file or remove it", path="my-campaign.yaml")
NO_DIRECTORY = Message(
    "{path}: directory {directory} does not exist; create it or name another file", path="no/c.yaml", directory="no"
)
CANNOT_BE_WRITTEN = Message(
    "{path}: cannot be written: {why}; name another file", path="c.yaml", why="Permission denied"
)

# --- paths and files

FILE_NOT_FOUND = Message("found {path}: file not found; correct the path", path='"server.log"')
OPTIONAL_FILE_NOT_FOUND = Message("found {path}: file not found; correct the path or remove the key", path='"job.j2"')
VARIABLE_NOT_SET = Message(
    "found ${name}, which is not set in the environment; set it or write the full path", name="SCRATHC"
)
VARIABLE_UNFIT = Message(
    "found ${name}, whose value is {value}; allowed: {allowed}", name="SCRATCH", value='"a$b"', allowed="a path"
)
DOLLAR = Message(
    "found a $ that is not part of $NAME or ${{NAME}} in {text}; allowed: {allowed}", text='"/a$"', allowed="a path"
)
BACKQUOTE = Message("found a backquote in {text}; allowed: {allowed}", text='"/a`b`"', allowed="a path")
TILDE = Message("found {text}: ~ is not expanded, write $HOME; allowed: {allowed}", text='"~/a"', allowed="a path")
NOT_ABSOLUTE = Message("found {path}, which is not absolute; allowed: {allowed}", path='"scratch"', allowed="a path")
SPACE_AT_END = Message(
    "found {path}, which ends with a space; allowed: {allowed}", path='"/scratch "', allowed="a path"
)
PARENT_DIRECTORY = Message("found .. in {path}; allowed: {allowed}", path='"/a/../b"', allowed="a path")
AT_SIGN = Message(
    "found @ in {path}, which mdtest reads as a separator between directories; allowed: {allowed}",
    path='"/a@b"', allowed="a path",
)  # fmt: skip
FORBIDDEN_DIRECTORY = Message(
    "found {path}, which is {place}; allowed: {allowed}", path='"/"', place="the root directory", allowed="a path"
)
RESERVED_VARIABLE = Message(
    "found {name}; names that begin with {reserved} are set by Slurm and campaign; remove it",
    name="SLURM_NTASKS", reserved="SLURM_, SBATCH_, BENCH_",
)  # fmt: skip
SECRET = Message(
    "found {name}, which looks like a secret: the campaign file is in the bundle, its words in results; "
    "put it in a file that only you can read",
    name="HF_TOKEN",
)
VARIABLE_NAME = Message(
    "found {name} as a variable's name; allowed: letters, digits and _, no digit first", name='"1ST"'
)
PATH_NOT_RECORDED = Message("names.json has no path for {path!r}", path="../mdtest")

# --- targets, items, arguments, cells

TARGET_NAMES_DIFFER_IN_CASE = Message(
    "found {name}, but target {other} exists; allowed: names that differ in more than upper and lower case",
    name="Scratch", other="scratch",
)  # fmt: skip
TARGET_TWICE = Message(
    "found {directory}, the directory of target {other}; allowed: directories that do not contain each other",
    directory='"/scratch/me"', other="scratch",
)  # fmt: skip
TARGET_WITHIN = Message(
    "found {directory}, which overlaps {other_directory} of target {other}; "
    "allowed: directories that do not contain each other",
    directory='"/scratch/me/b"', other_directory='"/scratch/me"', other="scratch",
)  # fmt: skip
NO_ITEMS = Message(
    "found {total}, but rule pack {pack} has no item count; remove the key", total=4096, pack="osu-mbw-mr"
)
ITEMS_FIXED = Message(
    "found {total}, but profile full fixes {full} {unit} (clause {clause}); remove the key or set profile: rehearsal",
    total=4096, full="2^20", unit="files", clause="8.4",
)  # fmt: skip
ITEMS_TOO_MANY = Message("found {total}; allowed: up to {full}, the full size", total=2097152, full=1048576)
NOT_A_FLAG = Message("found {word}, which is not a flag; allowed: {allowed}", word='"x"', allowed="-v, -V")
FLAG_OF_THE_RULES = Message(
    "found {flag} in {word}, which the run rules set (clause {clause}); allowed: {allowed}",
    flag="-u", word='"-u"', clause="8.4", allowed="-v, -V",
)  # fmt: skip
FLAG_NOT_ALLOWED = Message(
    "found {flag} in {word}; allowed: {allowed} ({document})",
    flag="-w", word='"-w"', allowed="-v, -V", document="Crossroads RFP",
)  # fmt: skip
FLAG_WITHOUT_VALUE = Message("found {flag} without its value; add it", flag="-V")
NO_SUCH_CELL = Message(
    "found {cells}: no {axis} {name}; {remedy}",
    cells='"scratch/nod/*/*"', axis="launch condition", name="nod", remedy="did you mean node?",
)  # fmt: skip
MOST_BELOW_LEAST = Message("found {most}, but least is {least}; allowed: {least} or more", most=5, least=10)
RULE_NOT_IN_PACK = Message(
    "found {rule}, which is not in rule pack {pack}; see 'campaign rules {pack}'", rule="FLG-99", pack="checkpoint"
)
WAIVER_EXPIRES_FIRST = Message(
    "found {expires}, which is before its date {date}; allowed: {date} or later",
    expires="2026-01-01",
    date="2026-02-01",
)
WAIVER_WITHOUT_SIGNERS = Message("found a signature, but allowed_signers is missing; add the file of the buyer's keys")
WAIVER_NOT_SIGNED = Message("the waiver is not signed")
WAIVER_BY_ANOTHER = Message(
    "signed by {signer}, but granted by {by}; the signer must be the person who grants it",
    signer="vendor@example.org",
    by="B. Uyer",
)
NO_SUCH_VARIABLE = Message("unknown variable; {remedy}", remedy="did you mean largest?")
NO_VARIABLES = Message("rule pack {pack} has no variables; remove the key", pack="crossroads-mdtest")
VARIABLE_FIXED = Message(
    "found {value}, but profile full fixes {full} (clause {clause}); remove it or set profile: rehearsal",
    value="4m", full="1g", clause="8.2",
)  # fmt: skip
VARIABLES_DO_NOT_FIT = Message(
    "{why}; correct the variables or the launch conditions", why="sweep size: first 8 is above last 4"
)
DIALECT_OF_BUILTIN = Message(
    "found {dialect}, which applies to an external benchmark only; set benchmark.executable or remove the key",
    dialect="rank-offset",
)

# --- launch conditions and searches

NO_LAUNCH_CONDITION = Message(
    "rule pack {pack} has no such launch condition; {remedy}", pack="crossroads-mdtest", remedy="did you mean peak?"
)
LAUNCH_MISSING = Message(
    "required key missing; allowed: {form} ({asked})", form="search, or {nodes: 2, processes: 32}",
    asked="clause 8.5: Two nodes or more.",
)  # fmt: skip
SERIES_MISSING = Message(
    "found {found}; allowed: a power of two such as 16, the largest of the series ({asked})",
    found="none", asked="clause 5.1: 1, 2, 4 ... nodes",
)  # fmt: skip
LAUNCH_FOUND = Message(
    "found {found}; allowed: {form} ({asked})",
    found="all", form="search, or {nodes: 2, processes: 32}", asked="clause 8.5: Two nodes or more.",
)  # fmt: skip
LAUNCH_LACKS = Message(
    "the number of {lacking} is missing; allowed: {form} ({asked})",
    lacking="nodes", form="search, or {nodes: 2, processes: 32}", asked="clause 8.5: Two nodes or more.",
)  # fmt: skip
LAUNCH_COUNTED_TWICE = Message(
    "found both processes and processes_per_node; allowed: {form} ({asked})",
    form="search, or {nodes: 2, processes: 32}", asked="clause 8.5: Two nodes or more.",
)  # fmt: skip
PROCESSES_UNEVEN = Message(
    "found {processes} processes on {nodes} nodes; allowed: a multiple of {nodes} (the same "
    "number on each node)",
    processes=9, nodes=2,
)  # fmt: skip
SEARCH_UNUSED = Message(
    "no launch condition is set to search; set one (such as launch.{launch}: search) or remove the key", launch="node"
)
SEARCH_NODES = Message(
    "found {nodes}; allowed: {needed} or more for launch.{launch} ({asked})",
    nodes=1, needed=2, launch="peak", asked="clause 8.5: Two nodes or more.",
)  # fmt: skip
SEARCH_BY_GEOMETRY = Message(
    "found search, but the values of rule pack {pack} depend on the process count; give the number of processes",
    pack="checkpoint",
)
SEARCH_LOWEST = Message(
    "found search, but process counts can be tuned only where the highest value is reported, and rule pack {pack} does "
    "not report it; give the number of processes",
    pack="latency",
)

# --- projections

INPUTS_MISSING = Message("missing values for {names}, which the formula uses", names="base_nodes")
SOURCE_OF_NOTHING = Message("no such input; allowed: {inputs}", inputs="measured, servers")
SOURCE_NOT_A_LOG = Message("{log}: not among the projection's logs: {logs}; add it there", log="a.out", logs="b.out")
INPUT_UNUSED = Message("not used by the formula; remove it")
NOT_ABOVE_ZERO = Message("the formula gives {value:g}; allowed: a number above zero", value=-1.5)
DECLINED_AND_PROJECTED = Message("{cell} is both declined and projected; keep one", cell="scratch/max/unique/create")
PROJECTED_TWICE = Message("{cell} is projected twice; keep one", cell="scratch/max/unique/create")
NOT_PROJECTED = Message(
    "found projected, but {cell} has no entry in projections; add one", cell="scratch/max/unique/create"
)

# --- sbatch options (slurm.directives)

DIRECTIVE_FORM = Message(
    "found {found}; allowed: {allowed}, without spaces and quotes", found='"-N 2"', allowed="--name"
)
DIRECTIVE_REFUSED = Message(
    "found {option}: {reason}; allowed: {allowed}",
    option="--nodes", reason="it follows from the launch condition", allowed="--name or --name=value",
)  # fmt: skip
DIRECTIVE_ABBREVIATED = Message(
    "found {option} (abbreviation of {whole}): {reason}; allowed: {allowed}",
    option="--excl", whole="--exclusive", reason="campaign requests whole nodes", allowed="--name or --name=value",
)  # fmt: skip
DIRECTIVE_UNKNOWN = Message(
    "found {option}, which is not on the list of options that are safe under the run rules; {remedy}",
    option="--licences", remedy="did you mean --licenses?",
)  # fmt: skip

OPTION_WITH_KEY = Message("use slurm.{key}", key="time")
OPTION_OF_LAUNCH = Message("the launch condition sets it")
OPTION_OF_PLACEMENT = Message("campaign places ranks in blocks, as the rank offset requires")
OPTION_OF_WHOLE_NODES = Message("campaign requests whole nodes")
OPTION_OF_REPETITION = Message("a run must not be started twice")
OPTION_OF_LOST_NODES = Message("a run must end when a node is lost")
OPTION_OF_OUTPUT = Message("campaign collects the output itself")
OPTION_OF_NAME = Message("campaign finds its jobs by name")
OPTION_OF_CLUSTERS = Message("campaign uses one cluster only")
OPTION_OF_ORDER = Message("campaign orders its jobs itself")
OPTION_OF_HOLD = Message("a held job never starts")
OPTION_OF_ENVIRONMENT = Message("campaign sets the job's environment; use slurm.environment")
OPTION_OF_SUBMISSION = Message("campaign submits the job and reads sbatch's answer itself")

# --- rule packs

PACK_NAME = Message("found {id}; allowed: {stem}, the name of the file", id="mine", stem="other")
ID_TWICE = Message("found {id} a second time; allowed: ids that differ", id="node")
ID_OF_PLACEHOLDER = Message("found {id}, which is already a placeholder; allowed: a new name", id="nodes")
UP_TO_NODES = Message("found {fewest}; allowed: up to {nodes}, the value of nodes", fewest=4, nodes=2)
MULTIPLE_OF_NODES = Message(
    "found {processes}; allowed: a multiple of {nodes}, the value of nodes", processes=3, nodes=2
)
WHOLE_SYSTEM_FIXED = Message("found true with fixed counts; remove them or set false")
FLAG_OF_TWO_ROLES = Message("found {flag}, which is also in {role}; keep one", flag="-F", role="fixed")
ARGUMENT_TWICE = Message("found {word} {count} times; allowed: once", word="-F", count=2)
BESIDE_DIRECTORY = Message(
    "found {word}, a path outside the attempt's directory, where nothing is checked or removed; "
    "allowed: paths in it, such as {{directory}}/file",
    word="{directory}-stonewall",
)
FLAGS_WITHIN_WORD = Message("found {word}; allowed: {{flags}} as a separate word", word="-x{flags}")
FLAGS_MISSING = Message("{{flags}} is missing; allowed: the placeholder of the file configuration's flags once")
FLAG_MISSING = Message("{flag} is missing; allowed: all fixed and derived flags", flag="-F")
FLAG_NOT_LISTED = Message("found {flag}; allowed: flags that fixed or derived lists, and {{flags}}", flag="-x")
ITEMS_MISSING = Message("required key missing; allowed: a number, since arguments has {{items_per_process}}")
PLACEHOLDER_UNUSED = Message("found {id}, which no text uses; use or remove it", id="largest")
STATISTIC_OF_RESULTS = Message("not allowed together with results; use take and of in the records of results")
STATISTIC_AND_ITERATION = Message(
    "not allowed together with selection.iteration, which applies to all operations; remove one of them"
)
SERIES_NEEDS = Message("{key} must be given beside a series of powers of two", key="processes_per_node")
SERIES_TITLE = Message("{place} is missing, which tells the members of the series apart", place="{nodes}")
PROCESSES_TWICE = Message("not allowed together with processes per node or a share of the nodes; remove one of them")
NO_SUCH_RUNS = Message(
    "{pattern} matches no run; allowed after the @: target/launch/files, where * matches any", pattern="fast/node"
)
VARIABLE_IN_TEXTS = Message(
    "{name} is also used in titles, flags, operations or sweeps; allowed for such a variable: one value for all runs",
    name="block",
)
SWEEP_FORM = Message("required keys missing; allowed: values; or first, last and one of times and plus")
SWEEP_BY_GEOMETRY = Message("depends on the geometry; not allowed if a launch condition is the whole system")
IN_PROFILE = Message("{problem} (profile {profile})", problem="sweep size: first 8 is above last 4", profile="full")
SWEEPS_OF_THE_ID = Message("found {{{name}}}; allowed: sweeps that the id contains", name="size")
OPERATION_NAME = Message("gives the operation id {name}; allowed: lower-case letters, digits, - and .", name="rate-4K")
OPERATION_TWICE = Message("gives the operation id {name} a second time; allowed: ids that differ", name="rate-4096")
PLOT_KEY_NEEDLESS = Message("found {name}, but the pack has no sweeps; remove the key", name="size")
PLOT_NEEDS = Message("required key missing; a plot of kind {kind} needs it", kind="lines")
CLAUSE_MISSING = Message("the clause is missing; allowed: a mapping with {keys}", keys="clause, ratio")
SWEEP_VALUES = Message("sweep {id}: {values}; allowed: values that differ, none empty", id="size", values="1,1")
SWEEP_ORDER = Message("sweep {id}: first {first} is above last {last}", id="size", first=8, last=4)
SWEEP_TOO_LONG = Message(
    "sweep {id}: more than {most} values from {first} to {last}", id="s", most=1000, first=1, last=9999
)
SWEEP_NUMBER = Message(
    "sweep {id}: {key} is {text!r}; allowed: a whole number of {least} or more",
    id="size",
    key="times",
    text="1",
    least=2,
)

ONE_PROGRAM = Message("a program and its command line; or `programs` and `phases`")
KEY_OF_ONE_PROGRAM = Message(
    "found `{key}` in a pack with phases; move it into an entry of `programs` or `phases`, or remove it", key="applet"
)
PROGRAMS_AND_PHASES = Message("required key missing; a pack has both `programs` and `phases`, or neither")
ONE_KIND_OF_PHASE = Message("a phase has one of `program` with `arguments`, `remove`, and `write` with `text`")
WORD_OF_SCRIPTS = Message("found {word}; allowed: words that do not begin with phase=", word="phase=1")
PROGRAM_UNUSED = Message("no phase runs {id}; use or remove it", id="mdtest")
NO_PHASE_UNDER = Message("no phase runs under {launch}; add it to the `launch` of a phase, or remove it", launch="node")
NO_EARLIER_PHASE = Message("found other; no earlier phase ran on the job's first nodes")
PHASE_WITHOUT_RECORD = Message("found `phase` without `record`; a formula belongs to no phase; remove it")
NO_PHASES = Message("found `phase` in a pack without `phases`; remove it")
RECORD_OR_FORMULA = Message("the name of a result; or a `formula`")
PRINTED_WITH_BOTH = Message(
    "the printed unit is required if both `record` and `formula` are given, and not allowed otherwise"
)
FORMULA_AMBIGUOUS = Message(
    "{name} matches several operations; give them ids that differ in more than - _ .", name="a_b"
)
RESULTS_UNUSED = Message("no operation uses these results; remove it")
FORMULA_NOWHERE = Message(
    "no launch condition measures all results of the formula; use results of phases that run under the same one"
)
FORMULA_WITHOUT_RESULT = Message("uses no result; allowed: {allowed}", allowed="read, write")

SEVERAL_PROGRAMS = Message(
    "rule pack {pack} has several programs; give their paths under benchmark.programs: {names}",
    pack="io500",
    names="ior, mdtest",
)
ONE_EXECUTABLE = Message(
    "rule pack {pack} has one program; give its path under benchmark.executable", pack="crossroads-mdtest"
)

REQUIRES_AND_CHECKS = Message("allowed: `requires` with GEO-05 among `checks`, or neither")
CONDITION = Message("two formulas with >=, <= or == between them, such as moved >= 1.5 * memory * nodes")

EXTRA_OF_ONE = Message("rule pack {pack} has one program; use benchmark.extra_arguments", pack="crossroads-mdtest")
EXTRA_OF_SEVERAL = Message(
    "rule pack {pack} has several programs ({names}); give the words of each under "
    "benchmark.program_arguments",
    pack="io500", names="ior, mdtest",
)  # fmt: skip

# --- launchers

LAUNCHER_RELATIVE = Message("found {found}; allowed: a program's name, or an absolute path", found='"./mpirun"')
PLACEMENT_OF_SRUN = Message("not allowed with srun: campaign sets srun's placement options itself; remove it")
PLACEMENT_LACKING = Message(
    "the placement options of {program} are unknown; give them with {{processes}} and "
    "{{processes_per_node}}, such as [-n, '{{processes}}', -ppn, '{{processes_per_node}}']",
    program="ibrun",
)
PLACEMENT_UNKNOWN = Message("found {place}; allowed: {known}", place="{ranks}", known="{processes}, {nodes}")
SRUN_OPTION = Message(
    "found {found}; options of srun are taken from a fixed list and written as --name=value; {remedy}",

    found='"--ntasks=4"', remedy="allowed: --cpu-bind, --mem-bind",
)  # fmt: skip
SRUN_DISTRIBUTION = Message(
    "found {found}; ranks must be placed in blocks on the nodes; allowed: block, also with a "
    "placement within the node, such as --distribution=block:cyclic",
    found='"--distribution=cyclic"',
)
OPTION_IS_PLACEMENT = Message(
    "found {word}, which sets the number or the placement of ranks; move it to "
    "launcher.placement, with {{processes}} and {{processes_per_node}}",
    word='"--map-by"',
)
PREFIX_IS_OPTION = Message(
    "found {word}; allowed as first word: a program, such as numactl or ./wrapper.sh", word='"--mem"'
)
LAUNCHER_OF_OTHER_NODES = Message(
    "found {name}; rule pack {pack} runs a phase on other nodes than an earlier phase; allowed: "
    "srun",
    name="mpirun", pack="io500",
)  # fmt: skip
LAUNCHER_NOT_ALLOWED = Message(
    "found {name}; allowed by {document}: {allowed}", name="numactl", allowed="srun, mpirun", document="the RFP's rules"
)
LAUNCHER_OPTION_NOT_ALLOWED = Message(
    "found {word}; options of {name} allowed by {document}: {allowed}",
    word='"--mem-bind=local"', name="srun", allowed="--cpu-bind", document="the RFP's rules",
)  # fmt: skip

# --- a pack's results

BUILTIN_HAS_NOT = Message(
    "{file}: {key}: found builtin; the built-in benchmark has no {applet}; give the program's "
    "path",
    file="my.yaml", key="benchmark.executable", applet="stream",
)  # fmt: skip
APPLET_WITHOUT_PARSER = Message(
    "found {applet}; allowed: {parsed}; or add `results`, which describes the output of {applet}",
    applet="stream", parsed="ior, mdtest",
)  # fmt: skip
APPLET_WITH_PARSER = Message(
    "{applet} has a built-in parser; remove `results`, or choose an applet name other than "
    "{parsed}",
    applet="ior", parsed="ior, mdtest",
)  # fmt: skip
RESULTS_FORMAT_MISSING = Message("required key missing; allowed: {formats}", formats="text, json, csv")
NO_RECORDS = Message("no records; give at least one")
END_OF_TREE = Message("found `end`, which format {format} does not use; remove it", format="json")

ONE_GROUP = Message("found {count} groups; allowed: exactly one, (…), around the value", count=2)
NOT_OF_FORMAT = Message("found `{key}` with {format}; allowed: only with {formats}", key="each", format="csv",
                        formats="json, jsonl")  # fmt: skip
NEEDED_BY_FORMAT = Message("required key missing; format {format} needs it", format="text")
UNTIL_WITHOUT_AFTER = Message("found `until` without `after`; add `after` or remove it")
VALUE_OF_ANOTHER_NAME = Message("found {name}; allowed: {known}", name="{sise}", known="{size}")
NO_VALUE_GROUP = Message("no group `value`; put (?P<value>…) around the number")
VALUE_NAMED_TWICE = Message("value {name} defined twice; use different names", name="size")
UNITS_WITHOUT_UNIT = Message("found `units`; allowed: only where the line gives the value `unit`")
MATCHES_MAY_LACK = Message(
    "found {take}; add `results.end` or `matches`: without them a missing line is not noticed", take="mean"
)
STATISTIC_TWICE = Message(
    "found {take} together with the program's own {name}; remove one of them", take="mean", name="stddev"
)
OF_WITH_TAKE = Message("found `of` together with take: {take}; remove one of them", take="mean")
OF_UNKNOWN = Message(
    "found {record}; allowed: {known} (records with take: maximum, minimum, median, first or "
    "last)",
    record="write", known="read",
)  # fmt: skip
FACTOR_NOT_POSITIVE = Message("found {text}; allowed: a number above 0", text="0")
RECORD_UNKNOWN = Message("found {record}; allowed: {known}, the records of `results`", record="cpy", known="copy, add")
