"""Findings about the benchmark's source, its build, and the binary that ran."""

from campaign.core.messages import Message

# --- SRC-01
BUILTIN_USED = Message("measured with campaign's own implementation, not the RFP's program")
NOT_BUILTIN = Message("the output is not from the built-in benchmark")
SHA256_DIFFERS = Message("the published source does not match source.sha256")
NOT_OF_RFP = Message("the published source is not the one that the RFP provides")
SHA256_MISSING = Message("source.sha256 is missing; the published source has {found}: add it", found="tree 1f3c9a…")
VERSION_MISSING = Message("source.version is missing; the RFP requires {version}", version="1.8.4")
VERSION_DIFFERS = Message("the published source is not the version that the RFP requires")
VERSION_UNPROVED = Message("no file of the published source states its version")
PROGRAM_DIFFERS = Message("the executed program is not the version that the RFP requires")

# --- SRC-02
PATCH_FAILS = Message("the submitted patch {name} {problem}", name="fixes.patch", problem="does not apply")
BUILT_TREE = Message("the built tree {hash}", hash="1f3c9a…")
NOT_REPRODUCED = Message("published source plus patch differs from the built source")
PATCH_DIFFERS = Message("modifications.patch differs from the patch that was compared")
OTHER_SOURCE = Message("the executed binary was built from another source")
NOT_COMPARED = Message("compiled files that are missing from the published source were not compared")

# --- SRC-03
CHANGE_FLAGGED = Message("{place}: the change touches {what}", place="mdtest.c:412", what="timing")
BUILD_ONLY = Message("changes to building and running only")
BEYOND_BUILDING = Message("a change to what is measured")
MORE_CHANGES = Message("{count} more changes to measurement code: see modifications.txt", count=12)
OTHER_FILES = Message("changes to files other than build, portability, documentation and data")

# --- SRC-04
NOTHING_MEASURED = Message("nothing has been measured")
BINARY_UNRECORDED = Message("binary not recorded for {count} of {all} attempts", count=2, all=3)
BINARY_DIFFERS = Message(
    "{file} differs from the latest attempt's ({attempt})", file="/opt/bench/mdtest", attempt="scratch.node.shared.r1/2"
)
NO_BUILDS = Message("no build record for the executed binary {hash}", hash="1f3c9a…")
OTHER_BUILD = Message("the executed binary is not from a recorded build")
RANKS_DIFFER = Message("the ranks ran different executables")
SEE_OUTPUT = Message("see the run's output")
NODES_RAN_OTHERS = Message("{file} is another file on {nodes}", file="/opt/bench/mdtest", nodes="n1, n2")

# --- SRC-05
NO_BINARY = Message("executed binary not recorded")
NO_BUILD_RECORD = Message("build record missing")
BUILD_OF = Message("the build of {hash}", hash="1f3c9a…")
BUILD_LACKS = Message("build record lacks {names}; add them under source.build", names="compiler, flags")
BUILD_NEEDS = Message("compiler, flags and libraries")
ONLY = Message("only {names}", names="libraries")
NONE_OF_THEM = Message("none of them")
PRELOAD_DECLARED = Message("the campaign file sets {name}", name="LD_PRELOAD")
PRELOAD_DESCRIBED = Message("{name} is set on the nodes and described under system", name="LD_PRELOAD")
PRELOAD_HIDDEN = Message(
    "{name} loads a library into the benchmark (first in {attempt}) and is not disclosed",
    name="LD_PRELOAD",
    attempt="scratch.node.shared.r1/1",
)
PRELOAD_PLACE = Message("its value under slurm.environment or in a text under system")

# --- SRC-06
BUILD_UNKNOWN = Message("the build of the built-in benchmark was not recorded")
OUTPUT_OF_OTHER = Message("benchmark version differs between the output and the build record")
OTHER_VERSION = Message(
    "built from version {version} of the built-in benchmark; this version of campaign has only the source of its own: "
    "install campaign {version} and verify with it",
    version="0.1.0",
)
FOREIGN_PROGRAM = Message(
    "the program calls itself the built-in benchmark, but its build is recorded as {version}: no published source to "
    "compare it with",
    version="mdtest 4.1.0",
)
CHANGED_BENCHMARK = Message(
    "the built-in benchmark was built from a changed source, not from that of version {version}", version="0.2.0"
)
