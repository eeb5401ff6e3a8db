"""Texts that several groups of rules use."""

from campaign.core.messages import Message

NO_COMMAND_LINE = Message("no command line in the output: flags cannot be checked")
OR_MORE = Message("{least} or more", least=1048576)
SHIFT = Message("a rank shift of {ranks} among {processes} ranks", ranks=32, processes=32)
SHIFT_AROUND = Message(
    "a rank shift of {ranks} among {processes} ranks, which leads back to the same rank", ranks=32, processes=32
)
SHIFT_OF_NODE = Message("a rank shift of {ranks} (one node)", ranks=16)
NO_VALUES = Message("no run produced a value")
ON_BUNDLE = Message("checked only on a bundle, by the buyer with 'campaign verify'")
UNSUPPORTED = Message("rule not supported by this version")
TABLE_ONLY = Message("cannot be checked from a table alone")
STARTED_AGAIN = Message(
    "Slurm's final record belongs to a restart of the job after the run: nothing to compare the job's record with"
)
