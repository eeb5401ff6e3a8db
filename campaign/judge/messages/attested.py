"""Findings about what the built-in benchmark says of its own processes."""

from campaign.core.messages import Message

# --- SRC-04
OTHER_CODE = Message("the ranks loaded different code: {files}", files="/usr/lib/libc.so.6")
AS_ON_RANK = Message("as on rank {rank} ({node})", rank=0, node="n1")
OTHER_LIBRARIES = Message("the ranks loaded libraries that differ from those which the job recorded for the program")
NOT_LOADED = Message("not loaded, or with other content")

# --- SRC-05
OTHER_COMPILER = Message("the build record names another compiler than the program itself")
NO_FILE = Message("memory without a file")
REPLACED = Message(
    "{path} is loaded before the C library or MPI and replaces {functions} (first in {attempt})",
    path="/opt/fast.so",
    functions="clock_gettime, stat",
    attempt="scratch.node.shared.r1/1",
)
REPLACED_DESCRIBED = Message(
    "{path}, named in the campaign file, replaces {functions}", path="/opt/libdarshan.so", functions="open, read"
)
OWN_FUNCTIONS = Message("the functions of the C library and MPI themselves")
NAMED = Message("the C library, MPI, or a library named in the campaign file")
LOADED_BESIDE = Message("code loaded from directories other than those of the system and of the linked libraries")

# --- EVD-06
NOT_ATTESTED = Message(
    "the output has no attestation, which {program} always writes: lines were removed", program="campaign bench 0.3.0"
)
ATTESTATION = Message("the benchmark's record of its own processes")
OTHER_CLOCK = Message("the clock that timed the phases differs from the kernel's clock")
CLOCK_SECONDS = Message("{seconds:.3f} s", seconds=12.3)
OUTSIDE_PHASES = Message("much of the benchmark's {seconds:.1f} s lies outside its phases", seconds=41.3)
MOST_OUTSIDE = Message("at most {value}", value="10.300 s")
OTHER_BOOT = Message("the benchmark ran on another boot of the node than the job recorded")
NODE_CLOCK = Message("the clock of {node}, read by the benchmark, lies outside the run's time", node="n1")
WITHIN_RUN = Message("within the run")
APART = Message("{seconds:+.0f} s", seconds=3600.0)
RANKS_MOUNT = Message(
    "rank {rank} on {node} wrote to a mount other than the recorded one ({what})", rank=0, node="n1", what="type"
)
OTHER_VARIABLE = Message("{name} differs between the ranks and the job", name="LD_LIBRARY_PATH")
