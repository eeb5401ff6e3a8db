"""Findings about the evidence: the journal, the rule pack, and a submitted bundle."""

from campaign.core.messages import Message

# --- of a campaign
JOURNAL_UNCHECKED = Message("journal not checked")
JOURNAL_BROKEN = Message("journal.jsonl: {problem}", problem="line 7: the hash does not match")
HASHED_LINES = Message("lines with hashes")
NONCE_DIFFERS = Message("the journal does not start with the nonce of the campaign file")
NO_NONCE = Message(
    "the buyer gave no nonce (a random word) before the runs: a journal rewritten as a whole would not be noticed"
)
CLOCK_SET_BACK = Message(
    "journal.jsonl: the time of line {line} lies before that of an earlier line: a clock was set back, or the journal "
    "was edited",
    line=12,
)
TIMES_IN_ORDER = Message("times in the order of the lines")
BACK = Message("{seconds:.0f} s earlier", seconds=3600)
UNKNOWN_PACK = Message("custom rule pack {pack}: compare it with the buyer's", pack="my-rules")
EARLIER_PACK = Message("the rule pack is an earlier edition: the same rules in other words")
PACK_DIFFERS = Message("the rule pack differs from the published {pack}", pack="crossroads-mdtest")

# --- of a bundle
MORE_PROBLEMS = Message("and {count} more", count=5)
BAD_SIGNATURE = Message("invalid signature: {problem}", problem="the key is not in KEYS")
NOT_SIGNED = Message("not signed: the bundle could have been altered and its checksums recomputed")
UNKNOWN_KEY = Message(
    "signed by {signer}, an unknown key: pass the vendor's public key with --signers", signer="SHA256:2gqF…"
)
NOT_REPLAYED = Message("cannot be re-evaluated: {why}", why="rules/: 2 rule packs; allowed: one")
SAME_VERDICT = Message("the identical verdict")
NOT_REPRODUCIBLE = Message(
    "{name} cannot be reproduced from the evidence: {how}", name="tables/table.csv", how="missing from the bundle"
)
NOT_REPRODUCIBLE_BY_OTHER = Message(
    "{name} cannot be reproduced from the evidence (made by {tool}, whose checks may differ: verify with that "
    "version): {how}",
    name="tables/table.csv",
    tool="campaign 0.3.0",
    how="missing from the bundle",
)
REWORDED = Message(
    "made by {tool}: all values, runs, attempts and log lines are identical; texts differ "
    "between versions and were not compared in {files}",
    tool="campaign 0.1.0",
    files="findings.txt",
)
