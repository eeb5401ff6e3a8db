"""Errors of bundles, and what a verification finds and prints."""

from campaign.core.messages import Message

# --- to write a bundle
ALREADY_EXISTS = Message("{path}: already exists; name a new directory, .zip or .tar.gz", path="my-rfp.zip")
UNKNOWN_ARCHIVE = Message("{path}: unknown kind of archive; allowed: a directory, .zip or .tar.gz", path="my-rfp.rar")
NOTHING_RUN = Message(
    "nothing to bundle: campaign {campaign} has not been run; start with 'campaign run {file}'",
    campaign="my-rfp",
    file="my-rfp.yaml",
)
STILL_RUNNING = Message(
    "{attempts} not ended (first: {first}); wait with 'campaign run {file}' or stop with 'campaign cancel {file}'",
    attempts="2 attempts",
    first="scratch.node.shared.r1",
    file="my-rfp.yaml",
)
NOT_REGULAR = Message("{path}: not a regular file; remove it from the results directory", path="results/my-rfp/pipe")
TOO_LARGE = Message("{path}: {size} bytes; a bundle takes files of up to {limit}", path="stdout", size=9, limit=8)
NOT_MEASURED = Message("nothing was measured")
OTHER_SETTINGS = Message("measured with other settings than the tables show")

# --- to re-evaluate one
NAMES_MISSING = Message("names.json: missing, or larger than {limit} bytes", limit=1048576)
NAMES_INVALID = Message("names.json: not a record of this program: {problem}", problem="expected an object")
NAMES_FORMAT = Message("names.json: format {found}; this version reads format {known}", found=2, known=1)
NAMES_PATH = Message("names.json: files: {path}: {problem}", path="../x", problem="leads outside")
PACKS = Message("rules/: found {count} rule packs; expected one", count=2)
DATABASE = Message("results/{name}: not allowed in a bundle; the database is rebuilt from the logs", name="campaign.db")
BAD_NAME = Message(
    "journal.jsonl: before byte {end}: {what} {name}; allowed: a plain name", end=512, what="run", name='"../x"'
)
BAD_NUMBER = Message(
    "journal.jsonl: before byte {end}: attempt {number}; allowed: 1 to {most}", end=512, number='"0"', most=100000
)

# --- findings of a verification
NO_SIGNERS = Message("--signers {path}: not found; give the file with the vendor's public keys", path="KEYS")
WAIVERS_UNPROVED = Message("waivers were checked with the keys inside the bundle only: pass your own with --signers")
WAIVER_UNKNOWN_KEY = Message(
    "a waiver of {rule} is signed by an unknown key: {problem}", rule="FLG-01", problem="the key is not in KEYS"
)
NOT_IN_BUNDLE = Message("missing from the bundle, or not UTF-8")
PLANNED_OTHERWISE = Message("{name} is {found}, the plan says {planned}", name="nodes", found='"4"', planned='"8"')
SCRIPT_DIFFERS = Message("the job script does not execute the planned command")
LINE_DIFFERS = Message("line {line} is {found}, re-evaluated it is {again}", line=12, found='"30870"', again='"3087"')
LENGTH_DIFFERS = Message("it has {found} lines, re-evaluated {again}", found=36, again=35)
NOT_IN_JOURNAL = Message("{place}: not in the journal: no such attempt was submitted", place="results/runs/x/1")
UNREFERENCED = Message("{place}: not referenced by any table", place="results/runs/x/1")
NOT_INDEXED = Message("index.json: attempt {attempt} of {run} is missing", attempt=2, run="scratch.node.shared.r1")
INDEXED_OTHERWISE = Message(
    "index.json: attempt {attempt} of {run} differs from the journal", attempt=2, run="scratch.node.shared.r1"
)
INDEXED_ONLY = Message(
    "index.json: attempt {attempt} of {run} is not in the journal", attempt=2, run="scratch.node.shared.r1"
)
COUNTS_DIFFER = Message("index.json: counts differ from the journal")
JOURNAL_BROKEN = Message("journal.jsonl: {problem}", problem="line 7: the hash does not match")
HEAD_DIFFERS = Message("bag-info.txt: Journal-Head differs from the journal's last hash")
NONCE_DIFFERS = Message("the journal does not start with the nonce you gave")
HEAD_MISSING = Message("the journal head sent during the campaign is missing: the journal was rewritten afterwards")

# --- what `verify` prints: the checks, and what holds where one is passed
BUNDLE = Message(
    "bundle {name}: {files} files, {size} bytes, made by {tool}", name="my-rfp.zip", files=96, size=8192, tool="?"
)
CHECKSUMS = Message("files and checksums")
CHECKSUMS_MATCH = Message("complete; all checksums match: {files} files", files=96)
SIGNATURE = Message("signature")
SIGNED_BY = Message("signature: {signer}", signer="vendor@example.org, SHA256:2gqF…")
JOURNAL = Message("journal")
JOURNAL_NONCE = Message(
    "journal: {events} events, starts with nonce {nonce}, head {head}", events=49, nonce="4f1c", head="9be2…"
)
JOURNAL_NO_NONCE = Message("journal: {events} events, no nonce, head {head}", events=49, head="9be2…")
CONTENTS = Message("contents")
CONTENTS_COMPLETE = Message("contains every referenced file and nothing else")
REPLAY = Message("re-evaluation from raw logs")
REPLAY_IDENTICAL = Message("re-evaluated from raw logs: identical tables, findings and verdict")
WAIVERS = Message("waivers")
CAMPAIGN_LEVEL = Message("campaign-level violation")
COMPARED = Message("{message} (expected {expected}, found {actual})", message="wrong nonce", expected="4f", actual="5a")
NOT_INTACT = Message("bundle NOT intact: {problems}", problems="EVD-01: stdout: changed")
INTACT = Message("bundle intact")
SUITE = Message("bundle {name}", name="my-rfp.zip")
NOT_REPLAYED = Message("not re-evaluated")
