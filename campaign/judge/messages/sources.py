"""Findings about the benchmark's source, its build, and the binary that ran."""

from campaign.core.messages import Message

# --- SRC-01
BUILTIN_USED = Message("measured with campaign's own implementation, not the RFP's program")
NOT_BUILTIN = Message("the output is not from the built-in benchmark")
SHA256_DIFFERS = Message("the published source does not match source.sha256")
NOT_OF_RFP = Message("the published source is not the one that the RFP provides")
VERSION_DIFFERS = Message("the published source is not the version that the RFP requires")
VERSION_UNPROVED = Message("no file of the published source states its version")
PROGRAM_DIFFERS = Message("the executed program is not the version that the RFP requires")

# --- SRC-02
BUILT_TREE = Message("the built tree {hash}", hash="1f3c9a…")
NOT_REPRODUCED = Message("published source plus patch differs from the built source")
PATCH_DIFFERS = Message("modifications.patch differs from the patch that was compared")
OTHER_SOURCE = Message("the executed binary was built from another source")
NOT_COMPARED = Message("compiled files that are missing from the published source were not compared")

# --- SRC-03
BUILD_ONLY = Message("changes to building and running only")
BEYOND_BUILDING = Message("a change to what is measured")
OTHER_FILES = Message("changes to files other than build, portability, documentation and data")

# --- SRC-04
NOTHING_MEASURED = Message("nothing has been measured")
OTHER_BUILD = Message("the executed binary is not from a recorded build")
RANKS_DIFFER = Message("the ranks ran different executables")
SEE_OUTPUT = Message("see the run's output")

# --- SRC-05
NO_BINARY = Message("executed binary not recorded")
NO_BUILD_RECORD = Message("build record missing")
BUILD_OF = Message("the build of {hash}", hash="1f3c9a…")
BUILD_NEEDS = Message("compiler, flags and libraries")
ONLY = Message("only {names}", names="libraries")
NONE_OF_THEM = Message("none of them")
PRELOAD_PLACE = Message("its value under slurm.environment or in a text under system")

# --- SRC-06
BUILD_UNKNOWN = Message("the build of the built-in benchmark was not recorded")
OUTPUT_OF_OTHER = Message("benchmark version differs between the output and the build record")
