"""Findings about waivers."""

from campaign.core.messages import Message

SIGNATURE_NEEDED = Message("signed by a key in allowed_signers")
MEASURED_UNTIL = Message("measured until {day}", day="2026-12-31")
SIGNED_BY = Message("signed by {signer}", signer="buyer@example.org")
