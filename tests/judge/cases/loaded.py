"""Cases of the code that ranks had in their memory: of the system's packages, and of others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from campaign.core.records import RankGroup
from campaign.core.runs import Launcher
from campaign.judge.submission import Submission
from campaign.results.environment.facts import Evidence, Value, Witness
from tests.judge.cases import Example, broken, compliant, disclosed, of_buyer
from tests.judge.cases.attested import (
    BENCH,
    FACTS,
    FIRST,
    FUNCTIONS,
    LIBC,
    LOADER,
    MPI,
    OBJECTS,
    PACKAGES,
    all_of,
    group,
)
from tests.judge.cases.sources import BINARY, OTHER, sourced
from tests.support import builders

XALT, PLUGIN, TUNED = "/opt/xalt/3.1/lib64/libxalt_init.so", "/home/me/plugin.so", "/opt/acme/libc-tuned.so.1"
THEMSELVES = "the functions of the C library and MPI themselves, or of a library that the buyer accepts"
OF_PACKAGES = "files of the system's packages, or files that the buyer accepts"
NONE = "no library, or one that the buyer accepts"


def with_evidence(submission: Submission, facts: Mapping[str, str] = FACTS, **changes: object) -> Submission:
    """All attempts with these facts of their nodes."""
    environment = builders.environment(facts=facts)
    evidence = replace(builders.evidence(environment=environment, packages=PACKAGES), **changes)
    return replace(submission, results=tuple(replace(case, evidence=evidence) for case in submission.results))


def replacing(path: str, *functions: str, **variables: str) -> Submission:
    """All ranks have a file from which they call these functions, and these variables."""
    return all_of(group(objects={path: OTHER}, functions=dict.fromkeys(functions, path), variables=variables))


def moved(directory: str, packages: Mapping[str, str], loader: str = "libc6") -> Submission:
    """C library and MPI in another directory, linked from there."""
    libc, mpi = f"{directory}/libc.so.6", f"{directory}/libmpi.so.40"
    objects = {libc: OBJECTS[LIBC], mpi: OBJECTS[MPI], LOADER: OBJECTS[LOADER], BENCH: BINARY}
    functions = {"clock_gettime": libc, "stat": libc, "MPI_Barrier": mpi}
    ranks = replace(group(), objects=objects, functions=functions)
    facts = {**FACTS, "library.libc.so.6": f"{libc} {OBJECTS[LIBC]}", "library.libmpi.so.40": f"{mpi} {OBJECTS[MPI]}"}
    return with_evidence(all_of(ranks), facts, packages=packages)


def described(submission: Submission, text: str) -> Submission:
    return replace(submission, campaign=replace(submission.campaign, system=(("software", text),)))


def only_last(ranks: RankGroup) -> Submission:
    """A campaign whose last attempt alone says this of itself."""
    return replace(all_of(), results=(*all_of().results[:-1], all_of(ranks).results[-1]))


def watched(path: str, defined: str = "", packages: Mapping[str, str] = PACKAGES, image: str = "") -> Submission:
    """Of an external benchmark: the ranks were seen with the C library and a further file, which defines functions."""
    texts = {"libc.so.6": (f"{LIBC} {OBJECTS[LIBC]}",), path.rpartition("/")[2]: (f"{path} {OTHER}",)}
    seen = Witness(True, {BINARY: "/opt/mdtest"}, libraries=texts, defined={OBJECTS[LIBC]: "open, stat"})
    seen = replace(seen, defined={**seen.defined, **({OTHER: defined} if defined else {})})
    submission = with_evidence(sourced(), {**FACTS, "executable.sha256": BINARY}, witness=seen, packages=packages)
    launcher = Launcher(image=image)
    return replace(
        submission,
        results=tuple(replace(case, run=replace(case.run, launcher=launcher)) for case in submission.results),
    )


def with_other_libraries(evidence: Evidence) -> Evidence:
    """The nodes looked the libraries up with another LD_LIBRARY_PATH than the ranks had."""
    environment = evidence.environment
    facts = {**environment.facts, "library.libmpi.so.40": (Value("0-1", f"/old/libmpi.so.40 {OTHER}"),)}
    return replace(evidence, environment=replace(environment, facts=facts))


def looked_up_otherwise() -> Submission:
    submission = all_of(group(variables={"LD_LIBRARY_PATH": "/usr/lib"}))
    cases = [replace(case, evidence=with_other_libraries(case.evidence)) for case in submission.results]
    return replace(submission, results=tuple(cases))


def replaced(path: str, functions: str = "stat") -> str:
    return f"{path} is loaded before the C library or MPI and replaces {functions} (first in {FIRST})"


def unknown(places: str, count: str = "1 file") -> str:
    return f"{count} with code that ranks loaded in no package of the nodes: {places}"


def hashed(path: str, digest: str = OTHER) -> str:
    return f"{path} (SHA-256 {digest})"


NIX = (  # those of a directory with fewer files first
    hashed(LOADER, OBJECTS[LOADER]),
    hashed("/nix/store/lib/libc.so.6", OBJECTS[LIBC]),
    hashed("/nix/store/lib/libmpi.so.40", OBJECTS[MPI]),
)


def shim(path: str) -> Example:
    return of_buyer(broken("SRC-05", replaced(path), replacing(path, "stat"), THEMSELVES, hashed(path)))


EXAMPLES: list[Example] = [
    compliant("SRC-05", "code of the system's packages alone", all_of()),
    compliant("SRC-05", "packages in another directory", moved("/usr/lib64", PACKAGES)),
    compliant(
        "SRC-05", "a program that is linked statically", all_of(group(functions=dict.fromkeys(FUNCTIONS, BENCH)))
    ),
    compliant("SRC-05", "the clock of the kernel", all_of(group(functions={"clock_gettime": "[vdso]"}))),
    compliant(
        "SRC-05",
        "a package's plug-ins, wherever they are",
        with_evidence(all_of(group(objects={"/opt/mca_x.so": OTHER})), packages={**PACKAGES, OTHER: "libopenmpi3"}),
    ),
    compliant("SRC-05", "libraries that the nodes looked up with other variables", looked_up_otherwise()),
    shim("/tmp/fast.so"),
    # Neither a name that begins as the C library's, nor the directory of the system proves anything.
    shim(TUNED),
    shim("/usr/lib/libc-tuned.so.1"),
    of_buyer(
        broken(
            "SRC-05",
            replaced("/opt/acme/libmpi.so.41", "MPI_Barrier"),
            replacing("/opt/acme/libmpi.so.41", "MPI_Barrier"),
            THEMSELVES,
            hashed("/opt/acme/libmpi.so.41"),
        )
    ),
    of_buyer(
        broken(
            "SRC-05",
            replaced("memory without a file"),
            all_of(group(functions={"stat": ""})),
            THEMSELVES,
            "memory without a file (SHA-256 unknown)",
        )
    ),
    of_buyer(
        broken(
            "SRC-05",
            replaced("/usr/lib/libdarshan.so"),
            with_evidence(replacing("/usr/lib/libdarshan.so", "stat"), packages={**PACKAGES, OTHER: "darshan"}),
            THEMSELVES,
            hashed("/usr/lib/libdarshan.so"),
        )
    ),
    of_buyer(
        broken(
            "SRC-05",
            replaced("/tmp/fast.so"),
            described(replacing("/tmp/fast.so", "stat"), "traced by /tmp/fast.so"),
            THEMSELVES,
            hashed("/tmp/fast.so"),
        ),
        explanation="named in the campaign file (system, software)",
    ),
    # A C library that no package has, and is linked: of another distribution in a folder, or of a container.
    of_buyer(
        disclosed(
            "SRC-05",
            unknown("/nix/store/lib (2), /usr/lib (1)", "3 files"),
            moved("/nix/store/lib", {}),
            OF_PACKAGES,
            ", ".join(NIX),
        )
    ),
    of_buyer(
        disclosed(
            "SRC-05",
            unknown("/opt/mpi/lib (1)"),
            moved("/opt/mpi/lib", {digest: name for digest, name in PACKAGES.items() if name == "libc6"}),
            OF_PACKAGES,
            hashed("/opt/mpi/lib/libmpi.so.40", OBJECTS[MPI]),
        )
    ),
    of_buyer(
        disclosed(
            "SRC-05",
            unknown("/home/me (1)"),
            all_of(loaded_later={PLUGIN: OTHER}),
            OF_PACKAGES,
            hashed(PLUGIN),
        )
    ),
    of_buyer(
        disclosed(
            "SRC-05",
            unknown("/home/me (1)"),
            only_last(group(objects={PLUGIN: ""})),
            OF_PACKAGES,
            f"{PLUGIN} (SHA-256 unknown)",
        )
    ),
    of_buyer(
        broken(
            "SRC-05",
            f"LD_PRELOAD loads /tmp/fast.so into the benchmark (first in {FIRST})",
            all_of(group(variables={"LD_PRELOAD": "/tmp/fast.so"})),
            NONE,
            "/tmp/fast.so",
        )
    ),
    of_buyer(
        broken(
            "SRC-05",
            f"LD_PRELOAD loads {XALT} into the benchmark (first in {FIRST})",
            described(
                replacing(XALT, LD_PRELOAD="/opt/xalt/lib64/libxalt_init.so"), "XALT: /opt/xalt/lib64/libxalt_init.so"
            ),
            NONE,
            hashed(XALT),
        ),
        explanation="named in the campaign file (system, software)",
    ),
    of_buyer(
        broken(
            "SRC-05",
            f"LD_PRELOAD loads /opt/libdarshan.so.0 into the benchmark, which replaces open, stat (first in {FIRST})",
            replacing("/opt/libdarshan.so.0", "open", "stat", LD_PRELOAD="libdarshan.so"),
            NONE,
            hashed("/opt/libdarshan.so.0"),
        )
    ),
    compliant(
        "SRC-05", "an external program with a package's libraries", watched("/x.so", packages={**PACKAGES, OTHER: "x"})
    ),
    of_buyer(
        disclosed(
            "SRC-05",
            f"{TUNED} is loaded into the ranks, and has stat as the C library does (first in {FIRST})",
            watched(TUNED, "stat"),
            THEMSELVES,
            hashed(TUNED),
        )
    ),
    of_buyer(
        disclosed(
            "SRC-05",
            unknown("/opt/acme (1)"),
            watched("/opt/acme/libquiet.so"),
            OF_PACKAGES,
            hashed("/opt/acme/libquiet.so"),
        )
    ),
    of_buyer(
        disclosed(
            "SRC-05",
            unknown("/opt/site (1)"),
            watched("/opt/site/libx.so", image="/site/i.sif"),
            OF_PACKAGES,
            hashed("/opt/site/libx.so"),
        )
    ),
]
