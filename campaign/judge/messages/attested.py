"""Findings about what the built-in benchmark says of its own processes."""

from campaign.core.messages import Message

# --- SRC-04
AS_ON_RANK = Message("as on rank {rank} ({node})", rank=0, node="n1")
OTHER_LIBRARIES = Message("the ranks loaded libraries that differ from those which the job recorded for the program")
NOT_LOADED = Message("not loaded, or with other content")

# --- SRC-05
OTHER_COMPILER = Message("the build record names another compiler than the program itself")
NO_FILE = Message("memory without a file")
OWN_FUNCTIONS = Message("the functions of the C library and MPI themselves")
NAMED = Message("the C library, MPI, or a library named in the campaign file")
LOADED_BESIDE = Message("code loaded from directories other than those of the system and of the linked libraries")

# --- EVD-06
ATTESTATION = Message("the benchmark's record of its own processes")
OTHER_CLOCK = Message("the clock that timed the phases differs from the kernel's clock")
CLOCK_SECONDS = Message("{seconds:.3f} s", seconds=12.3)
MOST_OUTSIDE = Message("at most {value}", value="10.300 s")
OTHER_BOOT = Message("the benchmark ran on another boot of the node than the job recorded")
WITHIN_RUN = Message("within the run")
APART = Message("{seconds:+.0f} s", seconds=3600.0)
