"""What is wrong with the database, and what to do about it."""

from __future__ import annotations

from campaign.core.messages import Message

RESULTS_NOT_MADE = Message("{path}: {error}", path="results/my-rfp", error="Permission denied")
JOURNAL_IS_DIRECTORY = Message(
    "{path} is a directory, where the journal must be: restore the journal from a backup; without one, move {root} "
    "away and run the campaign again",
    path="results/my-rfp/journal.jsonl", root="results/my-rfp",
)  # fmt: skip
DATABASE_IS_DIRECTORY = Message(
    "{path} is a directory, where the database must be; no data is lost: move it away, and the next command rebuilds "
    "the database",
    path="results/my-rfp/campaign.db",
)  # fmt: skip
DATABASE_CLOSED = Message(
    "no permission to read and write the database {path}; change its permissions, or move it away: no data is lost, "
    "the next command rebuilds it",
    path="results/my-rfp/campaign.db",
)  # fmt: skip
DATABASE_FULL = Message(
    "{path}: No space left on device; nothing is lost: free space, then run the same command again",
    path="results/my-rfp/campaign.db",
)
DATABASE_NOT_WRITTEN = Message(
    "cannot use the database {path} ({error}): the file system is full, beyond your quota, or lacks file locks; "
    "set 'results' in the campaign file to another file system",
    path="results/my-rfp/campaign.db", error="database is locked",
)  # fmt: skip
DATABASE_DAMAGED = Message(
    "the database {path} is damaged ({error}); no data is lost: move the file away and run 'campaign collect FILE' "
    "to rebuild it",
    path="results/my-rfp/campaign.db", error="file is not a database",
)  # fmt: skip
CONTENT_UNREADABLE = Message("unreadable content: {error}", error="KeyError('nodes')")
DATABASE_NEWER = Message(
    "{path} was written by a newer version of campaign (schema {found}; this version reads up to {known}): "
    "use that version, or move the file away and run 'campaign collect FILE'",
    path="results/my-rfp/campaign.db", found=9, known=4,
)  # fmt: skip
JOURNAL_GONE = Message(
    "the journal {journal} is missing, and {database} cannot replace it: restore it from a "
    "backup, or move the results directory away and run the campaign again",
    journal="results/my-rfp/journal.jsonl", database="campaign.db",
)  # fmt: skip
JOURNAL_DAMAGED = Message(
    "the journal {journal} is damaged: {problem}. Without a backup, move {root} away and run the campaign again",
    journal="results/my-rfp/journal.jsonl",
    problem="line 7: not a JSON event: b'x': the journal was edited; restore it from a backup",
    root="results/my-rfp",
)
JOURNAL_SHORTER = Message(
    "the journal {journal} is shorter than before ({found} of {bytes} bytes{cut}): restore it from a backup, "
    "or move {database} away and run 'campaign collect FILE' to rebuild it from the shorter journal",
    journal="results/my-rfp/journal.jsonl", found=12340, bytes=12345, cut="; line 29 is truncated",
    database="campaign.db",
)  # fmt: skip
