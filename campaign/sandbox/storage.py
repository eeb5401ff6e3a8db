"""A network file system for a sandbox: GlusterFS without its management daemon.

A brick is one server process with a volume file; each node has a client of its own, mounted in the node's own mount
namespace, so that nodes share what the servers have, and nothing that a client's cache has. Pure, but for `require`.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from campaign.core.errors import EnvironmentLacks, InputError
from campaign.core.schema import nearest_name
from campaign.sandbox import machine

KIND = "gluster"
BRICK_LIMIT, DELAY_LIMIT_MS = 16, 10_000
PACKAGES = {"glusterfsd": "glusterfs-server", "glusterfs": "glusterfs-client", "nsenter": "util-linux"}
FUSE = Path("/dev/fuse")
# A client gives up a brick after this silence: what hangs, ends.
PING_TIMEOUT_S = 10
# How long a client's attribute cache answers, unless a brick reports a change. The kernel's own: 1 s.
CACHED_S = 30
# How a brick names its counters, by the kinds of the key `server_counters`.
COUNTED = {
    "create": ("CREATE", "MKNOD", "MKDIR", "SYMLINK", "LINK"),
    "stat": ("LOOKUP", "STAT", "FSTAT"),
    "remove": ("UNLINK", "RMDIR"),
    "read": ("READ",),
    "write": ("WRITE",),
}


@dataclass(frozen=True)
class Storage:
    """The user's choice: number of bricks (0: no such storage), on disk or in memory, the last one slowed down."""

    bricks: int = 0
    on_disk: bool = False
    slow_ms: int = 0

    @staticmethod
    def parse(text: str) -> Storage:
        """Parse `gluster[,bricks=N][,disk][,slow=MS]`; "" means none. Raises InputError for anything else."""
        if not text:
            return NO_STORAGE
        kind, *words = text.split(",")
        values: dict[str, int] = {"bricks": 1, "disk": 0, "slow": 0}
        limits = {"bricks": (1, BRICK_LIMIT), "slow": (1, DELAY_LIMIT_MS)}
        if kind != KIND:
            raise InputError(f"sandbox: found storage {kind!r}; allowed: {KIND}[,bricks=N][,disk][,slow=MS]")
        for word in words:
            name, _, value = word.partition("=")
            if word == "disk":
                values["disk"] = 1
            elif name not in limits:
                guess = nearest_name(name, ("disk", *limits))
                remedy = f"; did you mean {guess}?" if guess else ""
                raise InputError(f"sandbox: found storage option {word!r}; allowed: bricks=N, disk, slow=MS{remedy}")
            else:
                lowest, highest = limits[name]
                if not (value.isascii() and value.isdigit() and lowest <= int(value) <= highest):
                    raise InputError(
                        f"sandbox: found storage option {name}={value}; allowed: a whole number from "
                        f"{lowest} to {highest}"
                    )
                values[name] = int(value)
        return Storage(values["bricks"], bool(values["disk"]), values["slow"])

    def __bool__(self) -> bool:
        return self.bricks > 0

    def __str__(self) -> str:
        where = "disk" if self.on_disk else "memory"
        slow = f", the last slowed down by {self.slow_ms} ms" if self.slow_ms else ""
        return f"{KIND} storage of {self.bricks} brick{'s' if self.bricks > 1 else ''} on {where}{slow}"

    @property
    def brick_names(self) -> tuple[str, ...]:
        return tuple(f"brick{number}" for number in range(1, self.bricks + 1))


NO_STORAGE = Storage()


def require() -> None:
    """Raises EnvironmentLacks if this machine or this user cannot have such a storage."""
    machine.require_programs(PACKAGES)
    if not machine.is_root():
        raise EnvironmentLacks(
            f"sandbox: gluster storage needs root (you are user {os.geteuid()}): its bricks use trusted extended "
            "attributes, which Linux does not allow in a user namespace; start it as root, or leave --storage out"
        )
    try:
        os.close(os.open(FUSE, os.O_RDWR))
    except OSError as error:
        raise EnvironmentLacks(
            f"sandbox: gluster storage needs FUSE, but {FUSE} cannot be opened: {error.strerror}; load the module "
            "fuse, or give the device to the container"
        ) from error


def counters_script(bricks: Path) -> str:
    """A program for the nodes: prints what all bricks have counted since they started, one line per kind.

    A brick dumps its statistics to a file on SIGUSR1; the file gets its name when it is complete.
    """
    kinds = " ".join(f"{fop}={kind}" for kind, fops in COUNTED.items() for fop in fops)
    return f"""#!/bin/bash
# Written by `campaign sandbox start`: what the bricks counted; see docs/sandbox.md.
cd {bricks} && exec 9>counters.lock && flock 9 || exit
files=() pids=()
for file in *.pid; do
    pid=$(<"$file")
    rm -f "glusterdump.$pid".dump.*
    kill -USR1 "$pid" || {{ echo "${{file%.pid}} does not run" >&2; exit 1; }}
    pids+=("$pid")
done
for pid in "${{pids[@]}}"; do
    for ((wait = 0; wait < 1000; wait++)); do
        file=$(compgen -G "glusterdump.$pid.dump.*") && files+=("$file") && continue 2
        sleep 0.005
    done
    echo "process $pid does not say what it counted" >&2
    exit 1
done
awk -F '[.=,]' -v kinds='{kinds}' '
    BEGIN {{ for (n = split(kinds, names, " "); n; n -= 1) {{ split(names[n], pair, "="); kind[pair[1]] = pair[2] }} }}
    $1 == "brick" && $2 == "cumulative" && $3 in kind {{ total[kind[$3]] += $4 }}
    $1 == "cumulative" && $2 ~ /^data_/ {{ total[$2 == "data_read" ? "read_bytes" : "write_bytes"] += $3 }}
    END {{ for (name in total) print name, total[name] }}' "${{files[@]}}" | sort
status=${{PIPESTATUS[0]}}
rm -f "${{files[@]}}"
exit "$status"
"""
