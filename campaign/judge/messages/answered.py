"""Findings about waivers."""

from campaign.core.messages import Message

NOT_VALID = Message("the waiver of {rule} is not valid", rule="FLG-01")
SIGNATURE_NEEDED = Message("signed by a key in allowed_signers")
EXPIRED = Message("the waiver of {rule} has expired", rule="FLG-01")
MEASURED_UNTIL = Message("measured until {day}", day="2026-12-31")
WAIVED = Message("{rule} is waived: {reason}", rule="FLG-01", reason="agreed on 3 March")
SIGNED_BY = Message("signed by {signer}", signer="buyer@example.org")
