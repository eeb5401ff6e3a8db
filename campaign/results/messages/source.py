"""Texts about the benchmark's source trees, patches and builds, in errors and in the report of modifications."""

from __future__ import annotations

from campaign.core.messages import Message

# --- reading a tree

TREE_MISSING = Message("{path}: not found; expected {forms}", path="/home/me/mdtest", forms="a directory or an archive")
FILE_UNREADABLE = Message("{path}: {error}", path="/home/me/mdtest", error="Permission denied")
ENTRY_TWICE = Message("{tree}: duplicate entry {path}", tree="mdtest.tar.gz", path="src/mdtest.c")
TREE_TOO_LARGE = Message("{tree}: more than {most} MiB; name only the benchmark's source", tree="/home/me", most=256)
TOO_MANY_FILES = Message(
    "{tree}: more than {most} files; name only the benchmark's source", tree="/home/me", most=50_000
)
REVISION_TOO_LARGE = Message(
    "{tree}: more than {files} files or {most} MiB; name a directory of it as REVISION:DIRECTORY",
    tree="repo@v1.9", files=50_000, most=256,
)  # fmt: skip
INSIDE_A_FILE = Message(
    "{tree}: {path} is inside {above}, which is not a directory", tree="mdtest.tar.gz", path="src/mdtest.c", above="src"
)
NO_FILES = Message("{tree}: contains no files", tree="/home/me/empty")
PATH_LEADS_OUT = Message(
    "{tree}: path {path!r} not allowed; expected paths inside the tree", tree="a.tar", path="../../etc/passwd"
)
PATH_TOO_LONG = Message(
    "{tree}: path of {length} characters; allowed: up to {most}", tree="a.tar", length=5000, most=4096
)
FILE_TOO_LARGE = Message(
    "{tree}: {path} has {size} bytes; allowed: up to {most} MiB per file",
    tree="mdtest.tar.gz", path="data.bin", size=70_000_000, most=64,
)  # fmt: skip
ARCHIVE_TOO_LARGE = Message("{tree}: {size} bytes; allowed: up to {most} MiB", tree="a.tar", size=300_000_000, most=256)
UNPACKS_TOO_LARGE = Message("{tree}: unpacks to more than {most} MiB", tree="a.tar.gz", most=256)
HEADER_TOO_LONG = Message("{tree}: too large to unpack: {error}", tree="a.tar.gz", error="a header of 2 MiB")
ARCHIVE_DAMAGED = Message(
    "{tree}: not a readable archive ({error}); expected {forms}",
    tree="a.tar.gz", error="unexpected end of data", forms="a directory or an archive",
)  # fmt: skip
MEMBER_REFUSED = Message("{tree}: {path}: {problem}", tree="a.tar", path="src/x", problem="a sparse file")
MEMBER_SPECIAL = Message(
    "{tree}: {path} is a device, a pipe, or a link to a file outside the archive", tree="a.tar", path="dev/null"
)

# --- applying a patch

BINARY_TOO_LARGE = Message("binary content of more than {most} bytes", most=67_108_864)

# --- what is compared, and what was kept

NO_PUBLISHED = Message(
    "the campaign file does not name the published source (source.pristine), with which the benchmark's is compared"
)
NO_PUBLISHED_OWN = Message(
    "the campaign file does not name the published source (source.pristine), with which the built-in benchmark's is "
    "compared"
)
NO_MODIFIED = Message("source.modified is not set; add the source that the benchmark was built from")
NOT_COMPARED_YET = Message("run 'campaign modifications FILE' first")
RECORD_NOT_WRITTEN = Message("{path}: {error}", path="results/my-rfp/source", error="No space left on device")
RECORD_DAMAGED = Message(
    "{path}: damaged ({error}); delete it and run 'campaign modifications FILE'",
    path="results/my-rfp/source/modifications.json", error="not an object of format 1",
)  # fmt: skip
FACTS_FORMAT = Message("not an object of format {known}", known=1)
FACTS_NESTED = Message("nested too deeply")
REPORT_NOT_WRITTEN = Message("{path}: cannot be written: {error}", path="report", error="No space left on device")

# --- the report

NOT_COMPARED = Message("Sources not compared: {problem}.", problem="source.pristine is not set")
IDENTICAL = Message("No modifications: both trees are identical (tree hash {hash}).", hash="5d41402abc4b")
CHANGED = Message(
    "{files} changed, {added} added, {removed} removed: {classes}.",
    files="2 files", added="10 lines", removed=3, classes="1 measurement path, 1 build",
)  # fmt: skip
VERIFIED = Message("Verified: published source + patch (SHA-256 {patch}) = built source.", patch="9f86d081884c")
NOT_REPRODUCED = Message(
    "Published source + patch differs from the built source: its tree hash is {hash}.", hash="5d41402abc4b"
)
SUPPLIED = Message(
    "Supplied patch {name} (SHA-256 {patch}): {verdict}.",
    name="our.patch", patch="9f86d081884c", verdict="turns the published source into the built source",
)  # fmt: skip
SUPPLIED_FITS = Message("turns the published source into the built source")
SUPPLIED_FAILS = Message("does not apply to the published source: {error}", error="line 12: truncated hunk")
SUPPLIED_DIFFERS = Message("does not give the built source; differing files: {files}", files="Makefile, mdtest.c")
REVIEW = Message("Review: changes {what}.", what="timing, a barrier")
REVIEW_EDIT = Message("{place}: changes {what}", place="src/mdtest.c:120", what="timing, a barrier")
REVIEW_ALL = Message("To review, in the measurement path: {count}", count="2 edits")
PATCH_PLACE = Message("The patch is in {name}.", name="modifications.patch")
IGNORED = Message("Not compared ({tree} source):", tree="published")
IGNORED_MORE = Message("  and {count} more", count=12)
LINES_BEFORE = Message("... {count} lines before", count=40)
LINES_AFTER = Message("... {count} lines after", count=40)
UNCOMMITTED = Message("{revision} with uncommitted changes", revision="1a2b3c4d")
