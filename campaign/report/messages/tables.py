"""Tables with their footnotes, lists of findings, the plan and the verdict."""

from __future__ import annotations

from campaign.core.messages import Message

ROUNDING = Message(
    "Values >= 100 are rounded to integers, smaller ones to 3 significant digits. "
    "CSV, JSON and XLSX hold full precision."
)
NOT_COMPLIANT_SIZE = Message("{profile} size: not a compliant result", profile="rehearsal")
CUSTOM_PACK = Message("custom rule pack {path}, SHA-256 {digest}", path="my-rules.yaml", digest="8f434346648f6b96")
UNKNOWN_FORMAT = Message(
    "--format {given}: unknown format; allowed: {known}", given="tabel", known="simple, github, html, csv, json"
)
FORMAT_NEAR = Message("--format {given}: unknown format; did you mean {meant}?", given="exel", meant="xlsx")

OVERVIEW = Message("{caption}: {targets}", caption="Metadata (operations/s)", targets="scratch, burst")

RAN = Message(
    "Files executed or loaded in {attempts}, by the hashes that ranks and nodes recorded.", attempts="14 attempts"
)

# --- footnotes
STATE_WITH_REASON = Message("{state}:", state="failed")
EXPECTED_FOUND = Message("expected {expected}, found", expected="1 s or more")
VIOLATED = Message("{rule} {finding}:", rule="RUN-07", finding="phases are too short")
WAIVED = Message(
    "{rule} waived, {waived}: {finding}", rule="FLG-01", waived="by buyer@example.org", finding="flags missing: -F"
)
EXPLAINED = Message(
    "{rule} {finding}: explained: {explained}", rule="PHY-02", finding="slower than one process", explained="2 MDS"
)
ASKED = Message("{rule} {finding}: explanation required", rule="PHY-02", finding="slower than one process")
REQUIRED = Message("(explanation required)")
WITH_VALUE = Message("{finding}: {value}", finding="phases are short", value="create 0.3 s, stat 0.2 s")
MISSING_RESULTS = Message("its run has missing results")
NONE_VALID = Message("{attempts} attempts, none valid; the last one is shown", attempts=2)
ONE_VALID = Message("{attempts} attempts, 1 valid; the valid one is reported", attempts=2)
SEVERAL_VALID = Message("{attempts} attempts, {valid} valid; reported by the run rules' selection", attempts=3, valid=2)
SELECTION = Message(
    "values of runs selected from {repetitions} repetitions differ from the medians of these by "
    "{low} to {high} (median {middle}): this difference comes from the selection",
    repetitions="6",
    low="+0.4%",
    high="+21.3%",
    middle="+8.2%",
)
OF_ITERATIONS = Message("{statistic} of {iterations} iterations", statistic="maximum", iterations=3)
ONE_OF_ITERATIONS = Message("iteration {iteration} of {iterations}", iteration=2, iterations=3)
ITERATIONS_VARY = Message("{what}; their minimum / mean / standard deviation:", what="maximum of 3 iterations")
OTHER_SETTINGS = Message("{attempts} used different settings; not reported", attempts="2 more attempts")
MULTIPLIED = Message("{program} multiplies by the process count; actual rate", program="mdtest")
MEASURES_MEMORY = Message("CCH-05 bandwidth of memory: too much of the data was in the page cache")
COUNTED = Message("{program} counted {counted} files; only", program="mdtest", counted=16384)
CREATED = Message("were created")
AND_MORE = Message("and {number} more", number=3)
AND_MORE_ALIKE = Message("and {number} more like this; with --json all are listed", number=8)
NOTE = Message("note: {finding}", finding="FLG-07 single node: no rank shift possible")
NOT_CHECKED = Message("not checked: {finding}", finding="RUN-04 cannot tell whether the nodes were exclusive")

# --- findings as `check` prints them
WHY = Message("why it matters: {why}", why="with another offset a process reads back its own files")
REMEDY = Message("what to do: {remedy}", remedy="run the result again with the rank offset of one node")
OF_CELLS = Message("{cells}: {values}", cells="scratch/node/*/create", values="expected at most 5%; found 7.3%")
CLAUSES = Message(
    "In brackets: the clause that requires the rule; 'campaign rules {rules}' prints the clauses.",
    rules="crossroads-mdtest",
)
BY_PRACTICE = Message("[practice]: in no clause of the RFP, but sound measurement requires it.")
CELLS_COUNTED = Message("{cells}: {statuses}", cells="36 cells", statuses="34 measured, 2 failed")
AT = Message("at {cells}", cells="scratch/node/*/create")
EXPECTED = Message("expected {expected}", expected="1 s or more")
FOUND = Message("found {actual}", actual="0.6 s")
NO_FINDINGS = Message("no findings")
RULES_COUNTED = Message(
    "{rules}, by worst finding: {counts}", rules="48 rules", counts="2 violated, 3 not checked, 43 passed"
)

# --- the plan
PLANNED = Message(
    "campaign {name}: rules {rules} version {version}, profile {profile}",
    name="acme",
    rules="crossroads-mdtest",
    version=3,
    profile="full",
)
NOT_ASKED = Message("all its cells are declined or projected")
LEFT_OUT = Message("{cells} declined or projected, without runs", cells="9 cells")
PLANNED_RUNS = Message(
    "{runs} for {cells} in {jobs} (allocation: {allocation})",
    runs="12 runs",
    cells="36 cells",
    jobs="4 jobs",
    allocation="geometry",
)
PER_OPERATION = Message(
    "note: with search.per: operation the operations of one row come from different runs, which violates STA-01 "
    "(clause {clause}); use per: configuration",
    clause="8.4",
)
UNRESOLVED = Message("not settled: {reason}", reason="launch.max is 'all', and Slurm does not answer")
SEARCHING = Message(
    "in progress: {nodes} with up to {processes} processes each, to within {margin:g}%: {points} points measured, "
    "{runs} runs next",
    nodes="1 to 4 nodes",
    processes=16,
    margin=5.0,
    points=12,
    runs=3,
)
SEARCH_UNFINISHED = Message("Tuning has not finished.")
LAW_UNFIT = Message(
    "no extrapolation: the points do not follow the Universal Scalability Law (largest error {error:.0%}), are too few "
    "to show it, or fit a plateau as well; its {rate} {unit} at {processes} processes has no interval",
    processes=256,
    rate="51000",
    unit="ops/s",
    error=0.23,
)
EXTRAPOLATED = Message(
    "extrapolated by the Universal Scalability Law, not measured: {processes} processes, {rate} "
    "{unit} (95% interval, if the law holds beyond the measured points: {low} to {high})",
    processes=256,
    rate="51000",
    unit="ops/s",
    low="48000",
    high="55000",
)

# --- the verdict
BROKEN = Message("Does not comply with the run rules")
UNCHECKED = Message("No violation found, but not all rules were checked")
COMPLIES = Message("Complies with the run rules")
COMPLIES_BUT = Message("Complies with the run rules, with {but}", but="waived violations and explanations required")
TRIAL = Message("Rehearsal: {size}.", size="16384 files instead of 1048576")
INSTEAD_OF = Message("{value} instead of {full}", value="16384 files", full=1048576)
SMALLER = Message("smaller than the RFP requires")
CUSTOM_RULES = Message("The rules are a {origin}.", origin="custom rule pack my-rules.yaml")
WITHOUT_VALUE = Message("{number} of {all} results have no valid value.", number=3, all=36)
RULES_VIOLATED = Message("{rules} violated:", rules="2 rules")
RULES_WAIVED = Message("{rules} violated and waived:", rules="1 rule")
RULES_ASKED = Message("Explanation required by {rules}:", rules="2 rules")
RULES_UNCHECKED = Message("{rules} of {all} not checked (does not count as passed):", rules="3 rules", all=48)
NO_RULE_BROKEN = Message("all rules checked; no violation")
NOT_COMPLIANT = Message("not compliant: {wrong}", wrong="3 of 36 results failed")
IS_REHEARSAL = Message("this is a rehearsal")
RESULTS_WITH_STATUS = Message("{number} of {all} results {status}", number=3, all=36, status="missing")
SOME_MEASURED = Message("{measured} of {all} results measured, {others}", measured=30, all=36, others="6 projected")
ALL_PRESENT = Message("all {all} results present", all=36)
REHEARSAL = Message("{present} - REHEARSAL: not a compliant submission", present="all 36 results present")

# --- files
IS_A_FILE = Message("{path}: is a file; name a directory", path="report.html")
NOT_WRITTEN = Message("{path}: cannot be written: {why}", path="report/table.txt", why="No space left on device")

# --- the environment, as the jobs recorded it
RECORDED = Message("As recorded by {jobs} on {nodes} before each job's first run.", jobs="3 jobs", nodes="4 nodes")
SPACE = Message(
    "{total}, {free} free; {inodes_free} of {inodes} inodes free.",
    total="1000 GB",
    free="900 GB",
    inodes_free=95,
    inodes=100,
)
SPACE_LATER = Message(
    "{total}, {free} free before the first job, {last} before the last; {inodes_free} of {inodes} inodes free.",
    total="1000 GB",
    free="900 GB",
    last="850 GB",
    inodes_free=95,
    inodes=100,
)

# --- a fitted model of contention
RATE = Message("{rate} MB/s ({low} to {high} over the fits)", rate="11500", low="11200", high="11900")
LATENCY = Message("{latency} µs ({low} to {high})", latency="1.7", low="1.6", high="1.9")
LIMIT_NOT_REACHED = Message("at least {rate} MB/s (limit not reached)", rate="11500")
ERRORS = Message(
    "{median:.1%} median, {ninth:.1%} ninth decile, {largest:.1%} largest, of {points} points",
    median=0.03,
    ninth=0.08,
    largest=0.1,
    points=48,
)
