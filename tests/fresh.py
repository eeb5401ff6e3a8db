"""The first `make run` on machines that have nothing of what it installs: new roots of Debian 12 and 13.

`make fresh` runs it, on the committed state; RELEASES="trixie sid" chooses others. It needs mmdebstrap, root and a
network, and takes some minutes for each release, of which most are the installation.
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


def first_run(release: str) -> tuple[int, str]:
    """The status and the output of the first `make run` in a new root."""
    with tempfile.TemporaryDirectory(prefix=f"fresh-{release}-") as folder:
        packages = "--include=ca-certificates,git,make,sudo"
        make_root = ["mmdebstrap", "--quiet", "--variant=minbase", packages, release, folder]
        subprocess.run(make_root, check=True, timeout=LIMIT_S)
        subprocess.run(["git", "clone", "--quiet", ROOT, Path(folder) / "campaign"], check=True, timeout=LIMIT_S)
        variables = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
        process = subprocess.run(
            [ENTER, folder, "make", "--no-print-directory", "-C", "/campaign", "run"],
            env={**variables, "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=LIMIT_S,
        )
        return process.returncode, process.stdout


def main() -> int:
    failed = []
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
