"""Findings over the system: how it is described, and whether it stayed what it was."""

from campaign.core.messages import Message

INCOMPLETE_DESCRIPTION = Message("the system description is incomplete")
PLACEHOLDERS = Message("the system description still has placeholders")
DESCRIPTION = Message("a description of each")
MISSING = Message("none of {keys}", keys="system.network")
NO_ADDRESS = Message("contact.email is not an e-mail address")
TUNING_OR_NONE = Message("a description, or the word none")
SAME_TUNING = Message("the same tuning is given for users and for administrators")
DIFFERENT_TUNING = Message("different entries")
TUNING_UNSAID = Message("tuning variables of MPI, network or loader were set, but are not in the system description")
NAMED_UNDER_SYSTEM = Message("named under system (tuning by users) or slurm.environment")
