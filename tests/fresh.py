"""Other machines than this: the first `make run` in new roots of Debian 12 and 13, and the C unit tests for aarch64.

`make fresh` runs it. The first `make run` is that of the committed state, on a machine that has nothing of what it
installs; RELEASES="trixie sid" chooses other releases. The unit tests are cross-compiled with warnings as errors, and
run by qemu-user. It needs mmdebstrap, root and a network, and takes some minutes for each release, of which most are
the installation.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
ENTER = ROOT / "tests" / "support" / "enter-root"
RELEASES = "bookworm trixie"  # Debian 12 and 13
COMPLETE = "36 of 36 results"
LIMIT_S = 3600


def make(*words: str | Path, variables: dict[str, str] | None = None) -> tuple[int, str]:
    """The status of a make, and all that it printed."""
    process = subprocess.run(
        words,
        env=variables,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=LIMIT_S,
    )
    return process.returncode, process.stdout


def first_run(release: str) -> tuple[int, str]:
    """The status and the output of the first `make run` in a new root."""
    with tempfile.TemporaryDirectory(prefix=f"fresh-{release}-") as folder:
        packages = "--include=ca-certificates,git,make,sudo"
        make_root = ["mmdebstrap", "--quiet", "--variant=minbase", packages, release, folder]
        subprocess.run(make_root, check=True, timeout=LIMIT_S)
        subprocess.run(["git", "clone", "--quiet", ROOT, Path(folder) / "campaign"], check=True, timeout=LIMIT_S)
        variables = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
        variables["PATH"] = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
        return make(ENTER, folder, "make", "--no-print-directory", "-C", "/campaign", "run", variables=variables)


def run_unit_tests_for_aarch64() -> tuple[int, str]:
    """The status and the output of `make check` with Debian's cross compiler and the Open MPI of its arm64."""
    with tempfile.TemporaryDirectory(prefix="aarch64-") as folder:
        root, compiler = f"{folder}/root", f"aarch64-linux-gnu-gcc --sysroot={folder}/root"
        packages = "--include=libopenmpi-dev,libc6-dev,liburing-dev"
        extract = ["mmdebstrap", "--quiet", "--variant=extract", "--architectures=arm64", packages, "bookworm", root]
        subprocess.run(extract, check=True, timeout=LIMIT_S)
        libraries = f"{root}/usr/lib/aarch64-linux-gnu"
        wrapper = Path(folder) / "mpicc"
        wrapper.write_text(
            f'#!/bin/sh\nexec {compiler} -I{libraries}/openmpi/include "$@" -L{libraries}/openmpi/lib -lmpi'
            f" -Wl,-rpath-link,{libraries} -Wl,--allow-shlib-undefined\n"
        )
        wrapper.chmod(0o755)
        return make(
            *("make", "-C", ROOT / "bench-src", f"MPICC={wrapper}", f"CC={compiler}", f"BUILD={folder}/build"),
            *(f"EMULATOR=qemu-aarch64-static -L {root}", "CFLAGS=-O2 -g -std=c11 -Wall -Wextra -Werror"),
            *("all", "check"),
        )


def main() -> int:
    failed = []
    status, output = run_unit_tests_for_aarch64()
    print(f"C unit tests for aarch64: status {status}", flush=True)
    if status != 0:
        failed.append("aarch64")
        print(output, flush=True)
    for release in os.environ.get("RELEASES", RELEASES).split():
        status, output = first_run(release)
        decision = next((line.strip() for line in output.splitlines() if line.startswith("  complete ")), "no decision")
        print(f"{release}: status {status}: {' '.join(decision.split())}", flush=True)
        if status != 0 or COMPLETE not in decision:
            failed.append(release)
            print(output, flush=True)
    return len(failed)


if __name__ == "__main__":
    sys.exit(main())
