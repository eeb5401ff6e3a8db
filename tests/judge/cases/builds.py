"""Cases of builds that were given more than their source: options, variables, and files of no package."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import Any

from tests.judge.cases import Example, compliant, disclosed, of_buyer
from tests.judge.cases.sources import BINARY, BUILD, OTHER, sourced

MESSAGE = f"build {BINARY[:12]} was given more than its source and the system's packages: "
HEADER, COMPILER = f"/opt/acme/include/sys/stat.h {OTHER}", f"/opt/acme/bin/cc {OTHER}"
MPI_FLAGS = "gcc -I/usr/lib/x86_64-linux-gnu/openmpi/include -L/usr/lib/x86_64-linux-gnu/openmpi/lib -lmpi"
HARMLESS = (
    "-O3 -march=native -std=c11 -DNDEBUG -DHAVE_CONFIG_H -D_FILE_OFFSET_BITS=64 -DVERSION=1.2a -fopenmp -I. -I../src "
    "-L./lib -I/usr/include/hdf5 -lm -lhdf5 -pthread -Wl,-rpath,/opt/mpi/lib -Wl,-rpath -Wl,/opt/lib -Wl,-z,relro"
)
MANY = tuple(f"/opt/acme/{number}.h {OTHER}" for number in range(7))
LISTED = f" and 2 more; SHA-256 of this list, sorted: {hashlib.sha256(chr(10).join(MANY).encode()).hexdigest()}"
NAMES = [text.rpartition(" ")[0] for text in MANY]
NAMES_LISTED = f" and 2 more; SHA-256 of this list, sorted: {hashlib.sha256(chr(10).join(NAMES).encode()).hexdigest()}"


def given_more(names: str, actual: str = "", **build: Any) -> Example:
    submission = sourced(builds=(replace(BUILD, **build),))
    expected = "the source, and files of packages"
    return of_buyer(disclosed("SRC-05", f"{MESSAGE}{names}", submission, expected, actual or names))


def with_flags(flags: str, options: str = "") -> Example:
    return given_more(options or flags, flags=f"-O2 {flags} -lm")


EXAMPLES: list[Example] = [
    compliant("SRC-05", "flags of MPI", sourced(builds=(replace(BUILD, command=MPI_FLAGS, flags=HARMLESS),))),
    with_flags("-include /opt/acme/fast.h -Dstat=acme_stat", "-include /opt/acme/fast.h, -Dstat=acme_stat"),
    with_flags("-imacros fast.h"),
    with_flags("-isystem /opt/acme/include"),
    with_flags("-D stat=acme_stat"),
    with_flags("-D'stat(p,b)=0'", "-Dstat(p,b)=0"),
    with_flags("-DMPI_Barrier(c)=0"),
    with_flags("-DCLOCK_MONOTONIC=9"),
    with_flags("-specs=/opt/acme/specs"),
    with_flags("-B/opt/acme"),
    with_flags("-wrapper /opt/acme/wrap"),
    with_flags("-fplugin=/opt/acme/plugin.so"),
    with_flags("@/opt/acme/options"),
    with_flags("-Wl,--wrap=stat"),
    with_flags("-Wl,--defsym,stat=acme_stat"),
    with_flags("-I/opt/acme/include"),
    with_flags("-L/opt/acme/lib"),
    with_flags("/opt/acme/libfast.a"),
    with_flags("-Wl,/opt/acme/libfast.a"),
    given_more("C_INCLUDE_PATH, /opt/acme/include/sys/stat.h", f"C_INCLUDE_PATH=/opt/acme/include, {HEADER}",
          environment=("C_INCLUDE_PATH=/opt/acme/include",), inputs=(HEADER,)),
    given_more("/opt/acme/bin/cc", COMPILER, inputs=(COMPILER,)),
    given_more(", ".join(NAMES[:5]) + NAMES_LISTED, ", ".join(MANY[:5]) + LISTED, inputs=MANY),
]  # fmt: skip
