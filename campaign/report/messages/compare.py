"""Comparisons: what was given, and what the numbers mean."""

from __future__ import annotations

from campaign.core.messages import Message

_PATH = "offer.json"

# --- what was given
TOO_FEW = Message(
    "compare needs two or more campaigns; found {found} (the others are compared with the first)", found=1
)
NO_SHARE = Message("--at-least: found {found}; allowed: a share from 0.01 to 1, such as 0.95", found='"95"')
TOLERANCE = Message("--tolerance: {why}", why='found "5"; allowed: a percentage from 0% to 99%')
REPORTED_ALONE = Message("--reported needs --tolerance or --at-least")
BAD_MAP = Message(
    "--map {given}: write NAME=OTHER (target of the first = target of the others), each name once", given="scratch"
)
MAP_TAKEN = Message("--map {new}={old}: {source} already has a target {new}", new="scratch", old="burst", source=_PATH)
MAP_UNKNOWN = Message(
    "--map {new}={name}: {wanted} is not a target of {which}; allowed: {there}",
    new="scrach",
    name="burst",
    wanted="scrach",
    which="a.yaml",
    there="scratch",
)
ANY_OTHER = Message("any other offer")
NEITHER_FILE_NOR_DIRECTORY = Message("{path}: not a regular file; give {allowed}", path="pipe", allowed="a table")
UNREADABLE = Message("{path}: {why}; give {allowed}", path="d.yaml", why="No such file or directory", allowed="a table")
NOT_FOUND = Message("{path}: not found; give {allowed}", path="d.yaml", allowed="a campaign file (.yaml)")
LINK = Message(
    "{path}: symbolic links are not allowed in a bundle; 'campaign verify' shows what else is wrong", path="b"
)
NOT_RESULTS = Message(
    "{path}: neither a bundle (bagit.txt missing) nor results (plan.json missing); give {allowed}",
    path="dir",
    allowed="a campaign file (.yaml)",
)
FILE_GONE = Message(
    "{path}: its campaign file {file} no longer exists; give the campaign file, a bundle, or a table",
    path="results/acme",
    file="'acme.yaml'",
)
OTHER_RESULTS = Message(
    "{path}: its campaign file {file} now has its results in {results}; give the campaign file of these results",
    path="results/old",
    file="acme.yaml",
    results="results/acme",
)
NO_MEMBER = Message("{source}: {name} missing; not a bundle as 'campaign bundle' writes it", source="b.zip", name="x")
NOT_LISTED = Message(
    "{source}: {manifest} does not list {table}; 'campaign verify' shows what else is wrong",
    source="b.zip",
    manifest="manifest-sha256.txt",
    table="data/tables/table.json",
)
CHANGED = Message(
    "{source}: {table} was changed after bundling (its checksum differs from that in {manifest})",
    source="b.zip",
    table="data/tables/table.json",
    manifest="manifest-sha256.txt",
)
UNPACKS_TO_TOO_MUCH = Message("{path}: larger than {most} bytes unpacked", path="b.zip", most=17179869184)
DAMAGED = Message("{path}: damaged {kind} archive: {why}", path="b.zip", kind="zip", why="truncated")
MEMBER = Message("{path}: {member}: {why}", path="b.zip", member="'data/tables/table.json'", why="duplicate entry")
NOT_REGULAR = Message("not a regular file")
DUPLICATE = Message("duplicate entry")
TOO_LARGE = Message("more than {most} bytes", most=67108864)

# --- rows of a table
NO_TABLE = Message(
    "{source}: found {found}; give a table as 'campaign table --format json' writes it", source=_PATH, found="nothing"
)
TOO_MANY_ROWS = Message("{source}: found {found} rows; allowed: up to {most}", source=_PATH, found=200000, most=100000)
NOT_AN_OBJECT = Message("{place}: found {found}; allowed: an object", place="offer.json: row 1", found="nothing")
TWICE = Message("{place}: {cell} appears twice", place="offer.csv: line 3", cell="scratch/node/unique/stat")
MIXED = Message("{source}: rows belong to several campaigns or rule packs; give one table per campaign", source=_PATH)
WRONG = Message(
    "{place}: {key}: found {found}; allowed: {allowed}",
    place="offer.csv: line 2",
    key="value",
    found='"7"',
    allowed="a number from 0",
)
OLDER_STATISTICS = Message(
    "an object with the list `values`; the table is of an earlier version: write it again with 'campaign table'"
)

# --- remarks
TABLE = Message("a table; its values are not verified")
TABLE_WITHOUT_BEST = Message(
    "a table; its values are not verified; it has no column best, so the highest value is taken as the best"
)
BUNDLE = Message("a bundle's table, not verified; 'campaign verify' re-evaluates its logs")
MADE_BY = Message(
    "(campaign {campaign}, rules {rules} version {version}, profile {profile})",
    campaign="acme",
    rules="crossroads-mdtest",
    version=3,
    profile="full",
)
NO_RULES = Message("run rules not given in the source")
INFLATED = Message("{cells}: rates inflated by the benchmark's formula (PHY-03)", cells="4 cells")
ONE_JOB = Message(
    "{cells}: all repetitions ran in one job, so they count as one value in intervals and tests", cells="4 cells"
)
OTHER_VERSION = Message(
    "rules {rules} version {version}; the first has version {first}", rules="crossroads-mdtest", version=4, first=3
)
OTHER_CONTENT = Message(
    "rules {rules}: same id and version as the first's, different content", rules="crossroads-mdtest"
)
OTHER_VALUE = Message("{name}: {value}; the first has {first}", name="size", value="8G", first="16G")
NOT_SET = Message("not set")
IN_CELLS = Message("{cells}: {difference}", cells="4 cells", difference="process or node counts differ")
OTHER_TOTAL = Message("total item count differs from the first's")
OTHER_INFLATION = Message("the formula inflates the two campaigns differently")
OTHER_TARGETS = Message(
    "no cell in common: its targets are {targets}, the first's {first}; '--map {name}=OTHER' matches two targets",
    targets="burst",
    first="scratch",
    name="scratch",
)
OTHER_GEOMETRY = Message("process or node counts differ from the first's")
SAME_VALUES = Message("identical values: the same measurements?")
NOT_COMPARABLE = Message(
    "{other} uses {what} {theirs}, {first} uses {ours}: not comparable; give campaigns of the same {what}",
    other="b.yaml",
    what="profile",
    theirs="rehearsal",
    first="a.yaml",
    ours="full",
)
TOO_MANY_PAIRS = Message(
    "{other}: {pairs} pairs of repetitions with {first}; allowed: up to {most}",
    other="b.json",
    first="a.json",
    pairs=200000000,
    most=100000000,
)

# --- reasons of a verdict
ZERO = Message("value is 0: no ratio")
SECOND_IS = Message("this one is {status}", status="projected")
FIRST_IS = Message("the first is {status}", status="projected")
ONLY_HERE = Message("only in this one")
ONLY_IN_FIRST = Message("only in the first")
UNITS_DIFFER = Message("units differ: {first}, {second}", first="ops/s", second="MB/s")
BEST_DIFFERS = Message(
    "the first reports the {first} value as the best, this one the {second}", first="highest", second="lowest"
)
NOT_TESTED = Message("repetitions: {first}, {second}", first="3", second="not listed")
IN_JOBS = Message("{repetitions} in {jobs}", repetitions=6, jobs="2 jobs")
REPORTED_SHARE = Message("reported: {share:.2%} of the commitment", share=0.9)
UP_TO_SHARE = Message("repetitions: up to {share:.2%} of the commitment", share=0.9)
FROM_SHARE = Message("repetitions: {share:.2%} of the commitment or more", share=0.9)

# --- below the table
MARKS = Message(
    "Ratio to A. {marks}. {best} best median; {untold} not significantly different from the best.",
    marks="+ better, - worse",
    best="*",
    untold="°",
)
RATIOS = Message(
    "Columns show reported values. Ratios use all valid repetitions (Hodges-Lehmann estimate); reported values where "
    "one side has no repetitions."
)
INTERVALS = Message(
    "95% intervals are per cell (Mann-Whitney, each side with its own spread). Differences are significant at 5% "
    "across all cells (Benjamini-Hochberg). 'no difference shown' does not mean equal: see the interval."
)
REACHED = Message("Reached: the reported value is at least {share} of the commitment.", share="95%")
REACHED_SURELY = Message(
    "Reached: the reported value is at least {share} of the commitment, and so is the worse end of the 90% interval.",
    share="95%",
)
LOWEST_IS_BEST = Message(
    "Where the lowest value is the best, a ratio below 1 is better; gains in the summary are inverted, so that above 1 "
    "is always better."
)
ACTUAL_MEANS = Message("Geometric means use actual rates where the benchmark's formula inflates the reported ones.")
NEEDS_REPETITIONS = Message(
    "Significance needs at least {least} repetitions on both sides, each in its own job (slurm.allocation: run).",
    least=4,
)
NEEDS_MORE = Message(
    "With fewer than {least} repetitions on both sides, no difference in a single cell of "
    "{cells} can be significant, however large.",
    least=6,
    cells=36,
)
ACCEPTED = Message(
    "{offer}: accepted: {reached} of {committed} committed cells reached", offer="B", reached=36, committed=36
)
NOT_ACCEPTED = Message(
    "{offer}: not accepted: {reached} of {committed} committed cells reached", offer="B", reached=30, committed=36
)
WORSE = Message(
    "{offer}: {worse} of {cells} cells are worse; {lacking} have a value on one side only",
    offer="B",
    worse=3,
    cells=36,
    lacking=1,
)
CELL = Message("{offer} {cell}: {verdict}", offer="B", cell="scratch/node/unique/stat", verdict="worse")
MORE_CELLS = Message("and {number} more; '--format csv' lists all", number=5)
