"""Findings about how long phases and operations took."""

from campaign.core.messages import Message

NO_DURATION = Message("{operation}: phase duration not in the output", operation="create")
SHORT_IN_REHEARSAL = Message("rehearsal: phases are short")
BELOW_RULE = Message("{operation}: the phase is shorter than the rules require", operation="ior-easy-write")
BELOW_RULE_IN_REHEARSAL = Message(
    "rehearsal: {operation} is shorter than the rules require: INVALID as a result", operation="ior-easy-write"
)
TOO_SHORT = Message("phases too short to be valid; extend them with {means}", means="block or segments")
SHORT = Message("phases are short; extend them with {means}", means="block or segments")
SHORT_BY_RULES = Message(
    "short phases (size fixed by the rules); timing uncertainty: {uncertainty}", uncertainty="under 0.1%"
)
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
