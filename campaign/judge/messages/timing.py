"""Findings about how long phases and operations took."""

from campaign.core.messages import Message

SHORT_IN_REHEARSAL = Message("rehearsal: phases are short")
SHORT = Message("phases are short; extend them with {means}", means="block or segments")
LONGER_IF_ALLOWED = Message("{duration} or more, where the rules allow a change", duration="10s")
LASTED = Message("{operation} {seconds} s", operation="create", seconds="0.71")
LASTED_UNCLEAR = Message(
    "{operation} {seconds} s (clock step and start skew not recorded)", operation="create", seconds="0.71"
)
LASTED_WITHIN = Message(
    "{operation} {seconds} s, uncertain by {share}% (clock {clock}, ranks started within {skew})",
    operation="create",
    seconds="0.71",
    share="0.4",
    clock="1 ns",
    skew="2.8 ms",
)
TOO_QUICK = Message(
    "per-operation latency is below any network round trip: results come from cache or a local file system"
)
SERVERS_IDLE = Message("servers performed fewer operations than clients issued: results come from cache")
OPERATIONS_PER_STAT = Message("at least {operations:g} for each of {stats} stat calls", operations=1, stats=1048576)
SERVER_COUNT = Message("{operations} server operations (from {log})", operations=4096, log="mds.log")
NO_COUNTERS = Message("no server-side counters supplied under server_counters")
COUNTERS_SILENT = Message(
    "server_counters: the command printed no counts before and after the stat phase of this attempt"
)
COUNTED_RARELY = Message("server-side counters were read too rarely to tell the stat phase from the others")
SHARED_CACHED = Message(
    "all nodes opened the shared files themselves: their own caches can answer stat calls, whatever the rank offset"
)
