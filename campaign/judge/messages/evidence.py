"""Findings about the evidence: the journal, the rule pack, and a submitted bundle."""

from campaign.core.messages import Message

# --- of a campaign
JOURNAL_UNCHECKED = Message("journal not checked")
HASHED_LINES = Message("lines with hashes")
NONCE_DIFFERS = Message("the journal does not start with the nonce of the campaign file")
NO_NONCE = Message(
    "the buyer gave no nonce (a random word) before the runs: a journal rewritten as a whole would not be noticed"
)
TIMES_IN_ORDER = Message("times in the order of the lines")
BACK = Message("{seconds:.0f} s earlier", seconds=3600)
EARLIER_PACK = Message("the rule pack is an earlier edition: the same rules in other words")

# --- of a bundle
NOT_SIGNED = Message("not signed: the bundle could have been altered and its checksums recomputed")
SAME_VERDICT = Message("the identical verdict")
