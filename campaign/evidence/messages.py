"""Errors of bundles, and what a verification finds and prints."""

from campaign.core.messages import Message

# --- to write a bundle
ALREADY_EXISTS = Message("{path}: already exists; name a new directory, .zip or .tar.gz", path="my-rfp.zip")
UNKNOWN_ARCHIVE = Message("{path}: unknown kind of archive; allowed: a directory, .zip or .tar.gz", path="my-rfp.rar")
NOT_WRITTEN = Message("{path}: cannot be written: {why}", path="my-rfp.zip", why="No space left on device")
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
TOO_LARGE = Message(
    "{path}: {size} bytes; allowed in a bundle: files up to {limit} bytes", path="stdout", size=9, limit=8
)
NOT_MEASURED = Message("nothing was measured")
OTHER_SETTINGS = Message("measured with other settings than the tables show")

# --- to re-evaluate one
NAMES_MISSING = Message("names.json: missing, or larger than {limit} bytes", limit=1048576)
NAMES_INVALID = Message("names.json: not written by this program: {problem}", problem="expected an object")
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
NO_SIGNERS = Message(
    "{option} {path}: not found; give the file with the public keys that you trust", option="--signers", path="KEYS"
)
NO_KEYS = Message(
    "{option} {path}: no line of the form 'name key-type key', such as 'vendor ssh-ed25519 AAAA…' "
    "(ssh's allowed_signers)",
    option="--signers",
    path="KEYS",
)
NOT_A_HEAD = Message("--head {found}: not a journal head; allowed: 64 hexadecimal digits", found='"9be2"')
NO_AUTHORITY = Message("--timestamp: needs --authority, the certificates of the time-stamp authority")
NO_STAMP_FILE = Message("{path}: not found", path="head.tsr")
A_HEAD = Message("a head of the journal")
JOURNAL_UNPROVED = Message(
    "the journal may have been rewritten: pass the nonce that you issued (--nonce) or a journal "
    "head that you received (--head)"
)
WAIVERS_UNPROVED = Message("waivers have no effect: pass the keys of those who may grant them with --waiver-signers")
PACK_UNKNOWN = Message(
    "no rule pack of this id is installed: re-evaluated with the vendor's copy; pass yours with --rules"
)
PACK_DROPS = Message("it does not check {rule} ({statement})", rule="RUN-01", statement="the run finished")
PACK_ADDS = Message("it checks {rule}, which yours does not", rule="RUN-01")
PACK_PARAMETER = Message(
    "{rule}: {name} is {found}, yours is {buyers}", rule="RUN-07", name="minimum", found="1s", buyers="10s"
)
PACK_OTHER_ID = Message("it is {found}, yours is {buyers}", found="my-rules", buyers="crossroads-mdtest")
PACK_FIELD = Message("'{field}' differs", field="launch")
PACK_WORDS = Message("only its texts differ")
NOT_IN_BUNDLE = Message("missing from the bundle, or not UTF-8")
PLANNED_OTHERWISE = Message("{name} is {found}; planned: {planned}", name="nodes", found='"4"', planned='"8"')
SCRIPT_DIFFERS = Message("the job script does not execute the planned command")
SCRIPT_OF_TEMPLATE = Message("job scripts from the vendor's own template (slurm.template) are not rendered again")
NOTHING_BOUND = Message("the journal has no hashes of the raw outputs (written by an earlier version)")
NO_CHALLENGE = Message("no attempt has the buyer's challenge in its name (written by an earlier version)")
NO_FOLDER = Message("no #SBATCH --chdir in it")
LINE_DIFFERS = Message("line {line} is {found}; re-evaluated it is {again}", line=12, found='"30870"', again='"3087"')
LENGTH_DIFFERS = Message("it has {found} lines; re-evaluated it has {again}", found=36, again=35)
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
HEAD_DIFFERS = Message("bag-info.txt: Journal-Head differs from the journal's last hash")
NONCE_DIFFERS = Message("the journal does not start with the nonce you gave")
IN_FUTURE = Message("the journal has events in the future: a clock was changed, at the vendor's site or here")
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
RECORDS = Message("agreement of duplicate records")
WAIVERS = Message("waivers")
CAMPAIGN_LEVEL = Message("the campaign as a whole")
PACK = Message("rule pack")
PACK_SAME = Message("rule pack: identical to yours")
COMPARED = Message("{message} (expected {expected}, found {actual})", message="wrong nonce", expected="4f", actual="5a")
NOT_INTACT = Message("bundle NOT intact: {problems}", problems="EVD-01: stdout: changed")
INTACT = Message("bundle intact")
SUITE = Message("bundle {name}", name="my-rfp.zip")
NOT_REPLAYED = Message("not re-evaluated")

# --- the verdict
VERDICT = Message("VERDICT: {outcome}", outcome="rehearsal")
VERDICT_REASONS = Message("The bundle is {parts}.", parts="not signed, so that it may have been altered")
VERDICT_SIGNED = Message("unaltered since {signer} signed it", signer="vendor@example.org")
VERDICT_UNKNOWN_KEY = Message(
    "unaltered since it was signed, by a key that you did not list ({key})", key="SHA256:2gqF…"
)
VERDICT_NOT_SIGNED = Message("not signed, so that anybody may have altered it")
VERDICT_ALTERED = Message("altered, or signed by somebody else")
VERDICT_CONSISTENT = Message("no record behind its numbers contradicts another, and its tables follow from its logs")
VERDICT_CONTRADICTS = Message("its records contradict each other ({rules})", rules="RUN-03, EVD-06")
VERDICT_JOURNAL = Message("its journal was changed, or is not what you were told of it (EVD-02)")
VERDICT_NOT_DERIVED = Message("its tables, findings or verdict do not follow from its logs (EVD-04)")
VERDICT_RULES_GIVEN = Message(
    "judged by the rules that you named, {rules} (SHA-256 {sha256}…)", rules="x 1", sha256="4f1c"
)
VERDICT_RULES_OWN = Message("judged by your own copy of {rules} (SHA-256 {sha256}…)", rules="x 1", sha256="4f1c")
VERDICT_RULES_VENDORS = Message(
    "judged by the vendor's copy of {rules} (SHA-256 {sha256}…)", rules="x 1", sha256="4f1c"
)
VERDICT_PACK_DIFFERS = Message(
    "the vendor's copy of the rules differs from them in {points} (EVD-05)", points="2 points"
)
VERDICT_WAIVED = Message("no violation of them was found but those that you waived ({rules})", rules="FLG-06")
VERDICT_COMPLIES = Message("it complies with them")
VERDICT_UNCHECKED = Message("no violation of them was found, but not all were checked")
VERDICT_REHEARSAL = Message("it is a rehearsal, which never complies with them")
VERDICT_BROKEN = Message("it does not comply with them ({why})", why="FLG-06, 3 of 36 results without a valid value")
VERDICT_WITHOUT = Message("{number} of {all} results without a valid value", number=3, all=36)
VERDICT_RESULTS = Message("of {all}: {counts}", all="36 results", counts="24 measured, 12 declined")
VERDICT_ASKS = Message(
    "explanation required for {asked} (given for {answered}), and {unchecked} could not be checked",
    asked="3 findings",
    answered=1,
    unchecked="4 rules",
)
VERDICT_MEASURED = Message(
    "measured from {start} to {end} by the vendor's clocks", start="2026-11-22 06:27", end="2026-11-22 09:12 UTC"
)
VERDICT_MOUNTS = Message("on {where} by the nodes' own mount tables", where="lustre (scratch)")
VERDICT_NO_MOUNTS = Message("on an unknown file system, since no mount table was recorded")
VERDICT_NO_HEAD = Message(
    "attempts may have been left out, since you gave no journal head that was sent while it ran (--head, --timestamp)"
)
VERDICT_NOT_REBUILT = Message("its benchmark was not built again from the source in the bundle (campaign rebuild)")
VERDICT_LIMITS = Message(
    "logs can be invented as a whole, or be the best of several campaigns: nothing was measured again, so that every "
    "number is unverified until a sample is (campaign sample)"
)

# --- to build the benchmark again
NO_SOURCE = Message(
    "no {path} in the bundle: the built-in benchmark was not used, or was built from a source other than campaign's",
    path="source/benchmark.tar.gz",
)
FOREIGN_SOURCE = Message(
    "the source in the bundle (tree {found}) differs from your version of campaign (tree {own}); "
    "building it runs its Makefile on this machine: read it, then pass --foreign-source",
    found="1f3c9a…",
    own="77aa01…",
)
SOURCE_OF_NONE = Message("the source in the bundle (tree {found}) belongs to no recorded build", found="1f3c9a…")
OTHER_ORDER = Message("the same in another order")
SECTIONS_SAME = Message("{count} other sections are identical", count=20)
REBUILT_SAME = Message("identical: building the bundle's source gives the recorded binary, {sha256}", sha256="ab…")
REBUILT_OTHER = Message("different: recorded {recorded}, rebuilt {again}", recorded="ab12…", again="cd34…")
REBUILT_DIFFERENCE = Message("  {what}: recorded {recorded}; now {again}", what="flags", recorded="-O3", again="-O2")
REBUILT_UNEXPLAINED = Message("  compiler, MPI, flags, libraries and sections are the same in both records")
AN_ARCHIVE = Message("an archive of the source")
SOURCE_DIFFERS = Message("source/benchmark.tar.gz belongs to no recorded build")

# --- acceptance by sample
TOO_FEW_CELLS = Message(
    "--cells {asked}: allowed: 1 to {measured} (the number of measured results)", asked=40, measured=36
)
BAD_SEED = Message("--seed {found}: allowed: up to 64 letters, digits and . _ -", found='"a b"')
NO_CHALLENGE_FILE = Message("{path}: not a challenge of 'campaign sample'", path="challenge.yaml")
OTHER_BUNDLE = Message("{path}: drawn from another bundle (the journal heads differ)", path="challenge.yaml")
NOT_DRAWN = Message("{path}: its cells are not those that seed {seed} draws", path="challenge.yaml", seed="2026-117")
CHALLENGE_CHANGED = Message(
    "{path}: changed after it was drawn: {keys}; only these keys may be changed for the installed system: {allowed}",
    path="challenge.yaml",
    keys="launch, items_total",
    allowed="slurm, targets",
)
SAMPLE_COPIED = Message(
    "{attempt} has the values of {other} in the bundle to the last digit: it was copied, not measured",
    attempt="scratch.node.shared.r1/1",
    other="scratch.node.shared.r1/1",
)
SAMPLE_EARLIER = Message(
    "the sample began at {began}, before the last run of the bundle did ({last})",
    began="2026-11-22 06:27:36 UTC",
    last="2026-11-22 09:12:00 UTC",
)
RATES = Message(
    "{drawn} of {all} cells drawn; two measurements of one cell differ by up to {spread}; a cell "
    "passes at a ratio of {least} or more",
    drawn=3,
    all=36,
    spread="7.1%",
    least="0.95",
)
HONEST_REJECTED = Message("an honest vendor is rejected with probability {share}", share="0.56")
CAUGHT = Message(
    "a vendor who inflates cells by {factor} is caught with probability (by share of inflated cells) {caught}",
    factor="1.5",
    caught="10%: 0.26, 25%: 0.55",
)
