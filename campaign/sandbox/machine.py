"""What a sandbox needs of the machine: programs, permissions, ports, mounts; and how to return these. Its
processes and mounts, from /proc.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import shutil
import socket
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from campaign.core.errors import EnvironmentLacks

PROGRAMS_PATH = f"{os.environ.get('PATH', '/usr/bin:/bin')}:/usr/sbin:/sbin"
PACKAGES = {
    "unshare": "util-linux",
    "setpriv": "util-linux",
    "mount": "mount",
    "hostname": "hostname",
    "munged": "munge",
    "slurmctld": "slurmctld",
    "slurmd": "slurmd",
    "sinfo": "slurm-client",
    "squeue": "slurm-client",
    "scancel": "slurm-client",
}
ACCOUNTING_PACKAGES = {
    "slurmdbd": "slurmdbd",
    "mariadbd": "mariadb-server",
    "mariadb-install-db": "mariadb-server",
}
# Ports are taken in blocks below the range that Linux uses for outgoing connections (32768 and up).
FIRST_PORT, LAST_PORT, PORT_BLOCK = 20000, 32500, 100


def no_namespaces(log: Path) -> EnvironmentLacks:
    """Why the namespaces could not be made, from unshare's message and the settings that forbid it."""
    limits = ""
    settings = {
        "/proc/sys/user/max_user_namespaces": "0",
        "/proc/sys/kernel/unprivileged_userns_clone": "0",
        "/proc/sys/kernel/apparmor_restrict_unprivileged_userns": "1",
    }
    for path, forbids in settings.items():
        with contextlib.suppress(OSError):
            if Path(path).read_text().strip() == forbids:
                limits += f"; {path} is {forbids}"
    remedy = (
        "" if is_root() else "; a normal user needs user namespaces: ask the administrator for them, or run as root"
    )
    output = tail(log)
    return EnvironmentLacks(
        f"sandbox: user {os.geteuid()} may not create namespaces on this machine{limits}{remedy}. unshare "
        f"says:\n{output}"
    )


def is_root() -> bool:
    """Whether the sandbox is made with root's permissions; a normal user needs a user namespace instead."""
    return os.geteuid() == 0


def require_permissions() -> None:
    """Raises EnvironmentLacks for a root that may not mount (capability SYS_ADMIN, bit 21), as in most containers."""
    status = Path("/proc/self/status").read_text()
    capabilities = int(status.partition("CapEff:")[2].split()[0], 16)
    if is_root() and not capabilities >> 21 & 1:
        raise EnvironmentLacks(
            "sandbox: root lacks the capability SYS_ADMIN (in a container?), needed for namespaces and mounts; give it "
            "to the container (--cap-add SYS_ADMIN), or run as a normal user"
        )


def require_programs(needed: Mapping[str, str]) -> None:
    """Raises EnvironmentLacks if a program is missing. `needed`: their Debian packages."""
    missing = sorted(program for program in needed if shutil.which(program, path=PROGRAMS_PATH) is None)
    if missing:
        packages = " ".join(sorted({needed[program] for program in missing}))
        raise EnvironmentLacks(
            f"sandbox: {', '.join(missing)} not found; install the Debian packages: apt-get install {packages}"
        )


def mpi_plugin() -> str:
    """srun's default plugin: PMIx if this machine's Slurm has it (Debian's 26.05 does not)."""
    places = ("lib/*/slurm*", "lib64/slurm*", "lib/slurm*", "local/lib/slurm*")
    return "pmix" if any(any(Path("/usr").glob(f"{place}/mpi_pmix*.so")) for place in places) else "pmi2"


def open_mpi() -> int:
    """The major version of this machine's Open MPI; 0 if mpirun is another one, or missing."""
    try:
        version_text = run(["mpirun", "--version"], HOME=str(Path.home())).stdout
    except (OSError, subprocess.TimeoutExpired):
        return 0
    return int(match[1]) if (match := re.search(r"\(Open MPI\) (\d+)", version_text)) else 0


def mount_tmpfs(point: Path, options: str) -> None:
    """Mount a tmpfs; what is mounted below it later appears on the nodes too."""
    result = run(["mount", "-t", "tmpfs", "-o", options, "campaign-sandbox", str(point)])
    if result.returncode == 0:
        result = run(["mount", "--make-shared", str(point)])
    if result.returncode:
        raise EnvironmentLacks(f"sandbox: cannot mount a tmpfs on {point}: {result.stderr.strip()}")


def reserve_ports(count: int) -> tuple[int, socket.socket]:
    """A block of free TCP ports, and its reservation: the last port of the block, which only one process of the machine
    can hold. The keeper inherits it, so the block is free again when the keeper has ended.
    """
    # From above: earlier versions reserve from below, in another way.
    for base in range(LAST_PORT - PORT_BLOCK, FIRST_PORT - 1, -PORT_BLOCK):
        reservation = socket.socket()
        try:
            reservation.bind(("127.0.0.1", base + PORT_BLOCK - 1))
            if all(_port_is_free(port) for port in range(base, base + count)):
                return base, reservation
        except OSError:
            pass
        reservation.close()
    raise EnvironmentLacks(f"sandbox: no {count} free TCP ports in a row between {FIRST_PORT} and {LAST_PORT}")


def _port_is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("0.0.0.0", port))
        except OSError:
            return False
        return True


def run(argv: Sequence[str], wait_s: float = 30.0, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a program of the system and keep its output. Raises TimeoutExpired if it does not end in time."""
    variables = {"PATH": PROGRAMS_PATH, **environment}
    return subprocess.run(argv, env=variables, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=wait_s)


def unmount_below(top: Path) -> None:
    """Unmount everything at and below a directory. Raises EnvironmentLacks if that fails."""
    for point in mounts_below(top):
        # Lazily where it is busy (someone's current directory, say): nothing may stay in the way of removal. One that
        # is gone was taken away meanwhile by the keeper of a start that was killed.
        if not run(["umount", str(point)]).returncode or not mounts_below(point):
            continue
        if (result := run(["umount", "--lazy", str(point)])).returncode and mounts_below(point):
            raise EnvironmentLacks(f"sandbox: cannot unmount {point}: {result.stderr.strip()}")


def remove_tree(path: Path) -> None:
    """Remove a file or a directory with everything below it, including directories without write permission."""
    if not path.is_dir() or path.is_symlink():
        path.unlink()
        return

    def open_up(_function: object, name: str, error: tuple[type, BaseException, object]) -> None:
        failed = Path(name)
        if isinstance(error[1], OSError) and error[1].errno == errno.EBUSY:
            if not mounts_below(failed):
                raise error[1]
            unmount_below(failed)  # a killed start was mounting it, and finished after the others were unmounted
        if isinstance(error[1], PermissionError):
            failed.parent.chmod(0o700)
        if failed.is_dir() and not failed.is_symlink():
            failed.chmod(0o700)
            shutil.rmtree(failed, onerror=open_up)
        else:
            failed.unlink()

    shutil.rmtree(path, onerror=open_up)


# --- processes and mounts


def inner_pid(pid: int) -> int | None:
    """The PID that a process has in its own PID namespace."""
    try:
        line = re.search(r"^NSpid:.*?(\d+)$", Path(f"/proc/{pid}/status").read_text(), re.MULTILINE)
    except (FileNotFoundError, ProcessLookupError):
        return None
    return int(line[1]) if line else None


def mounts_below(top: Path) -> list[Path]:
    """Mount points at or below a directory, the innermost and latest first."""
    mount_points = [line.split()[4] for line in Path("/proc/self/mountinfo").read_text().splitlines()]
    # Blanks and backslashes are written as \ooo.
    names = (mount_point.encode().decode("unicode_escape").encode("latin-1") for mount_point in reversed(mount_points))
    points = (Path(os.fsdecode(name)) for name in names)
    return [point for point in points if point == top or top in point.parents]


def has_mounted(pid: int, point: Path) -> bool:
    """Whether a process sees a FUSE file system at this point, in its mount namespace."""
    try:
        mounts = [line.split() for line in Path(f"/proc/{pid}/mounts").read_text().splitlines()]
    except OSError:
        return False
    return any(where == str(point) and kind.startswith("fuse.") for _, where, kind, *_ in mounts)


def listens(port: int) -> bool:
    """Whether some process listens on this TCP port of IPv4."""
    sockets = (line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:])
    return any(state == "0A" and int(local.rpartition(":")[2], 16) == port for _, local, _, state, *_ in sockets)


def tail(log: Path, lines: int = 12) -> str:
    """The last lines of a log, indented, for an error message."""
    try:
        text = log.read_text(errors="replace").splitlines()[-lines:]
    except OSError as error:
        text = [f"(no log: {error})"]
    return "\n".join(f"    {line}" for line in text or ["(empty)"])
