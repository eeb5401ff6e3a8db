"""slurm.conf by its template, and each daemon's command line. Nothing is started here."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from campaign.core import resources
from campaign.sandbox.layout import Layout, Shape

HEAD = "head"  # hostname where slurmctld runs
CONTROLLER, ACCOUNTING, FIRST_NODE = 0, 1, 2  # ports, relative to the sandbox's first one
DATABASE = "slurm"  # of the accounting


@dataclass(frozen=True)
class Daemon:
    """One daemon: its name (also of its log), its command line, how to see that it is ready, the longest wait for that.

    `port` is a TCP port that it listens on, `socket` a Unix socket, `mount` a mount point; a slurmd has none of them,
    since its node's state tells. `node` is its node, "" for daemons of the head. `within` is the daemon in whose
    namespaces it is started, and with which it is restarted.
    """

    name: str
    argv: tuple[str, ...]
    port: int = 0
    socket: Path | None = None
    mount: Path | None = None
    within: str = ""
    node: str = ""
    ready_s: float = 60.0


def slurm_conf(layout: Layout, shape: Shape, base_port: int, user: str, memory_mib: int, mpi: str) -> str:
    """slurm.conf of a sandbox run by `user`, whose nodes have `memory_mib` each; `mpi`: srun's default plugin."""
    return resources.render_template(
        "sandbox/slurm.conf.j2",
        layout=layout,
        shape=shape,
        user=user,
        memory_mib=memory_mib,
        mpi=mpi,
        head=HEAD,
        controller=base_port + CONTROLLER,
        accounting=base_port + ACCOUNTING,
        first_node=base_port + FIRST_NODE,
    )


def daemons(layout: Layout, shape: Shape, base_port: int, user: str, as_root: bool) -> tuple[Daemon, ...]:
    """The daemons in the order in which they are started; each needs those before it. `as_root`: they run as root of
    the machine; in a user namespace they give up their capabilities, which would let jobs ignore file permissions.
    """
    drop = () if as_root else ("setpriv", "--ambient-caps=-all", "--inh-caps=-all", "--")
    munge = layout.munge
    munged = (
        "munged",
        "--foreground",
        "--force",  # the directory above is closed to others, which munged takes for a mistake
        "--origin=127.0.0.1",
        "--num-threads=10",  # Slurm's advice; with the default of 2 many ranks wait for one another
        f"--socket={layout.munge_socket}",
        f"--key-file={munge}/key",
        f"--seed-file={munge}/seed",
        f"--pid-file={munge}/pid",
    )
    order = [Daemon("munged", (*drop, *munged), socket=layout.munge_socket)]
    if shape.accounting:
        database = (*drop, *_mariadbd(layout, user))
        order.append(Daemon("mariadbd", database, socket=layout.database_socket, ready_s=120.0))
        order.append(Daemon("slurmdbd", (*drop, "slurmdbd", "-D"), port=base_port + ACCOUNTING, ready_s=120.0))
    order.append(Daemon("slurmctld", (*drop, "slurmctld", "-D"), port=base_port + CONTROLLER))
    order += [_brick(layout, name, port) for name, port in brick_ports(shape, base_port).items()]
    for node in shape.node_names:
        # Own hostname, System V IPC and /dev/shm: to Open MPI these are different machines.
        # "slave": what is mounted on this machine later appears on the node, and not the other way round.
        script = 'hostname "$1" && mount -t tmpfs -o mode=1777 shm /dev/shm && shift && exec "$@"'
        if shape.storage:
            # A job may be waiting: slurmd starts when the client below has mounted it.
            script = script.replace("shift", f"until {_is_mounted_command(layout)}; do sleep 0.02; done && shift")
        enter = ("unshare", "--uts", "--ipc", "--mount", "--propagation", "slave", "sh", "-c", script, "sh", node)
        order.append(Daemon(f"slurmd.{node}", (*enter, *drop, "slurmd", "-D", "-N", node), node=node))
        if shape.storage:
            order.append(_client(layout, node))
    return tuple(order)


def brick_ports(shape: Shape, base_port: int) -> dict[str, int]:
    """The TCP port of each brick."""
    return {name: port for port, name in enumerate(shape.storage.brick_names, base_port + FIRST_NODE + shape.nodes)}


def _is_mounted_command(layout: Layout) -> str:
    return f'grep -q " {layout.storage} fuse" /proc/self/mounts'


def _brick(layout: Layout, name: str, port: int) -> Daemon:
    files = ("-f", f"{layout.bricks}/{name}.vol", "-p", f"{layout.bricks}/{name}.pid")
    return Daemon(name, ("glusterfsd", "-N", *files, "-l", str(layout.log(name))), port=port)


def _client(layout: Layout, node: str) -> Daemon:
    name = f"client.{node}"
    files = ("-f", str(layout.client_volume), "-p", f"{layout.top}/{name}.pid", "-l", str(layout.log(name)))
    # A dead client's mount remains, and answers nothing.
    script = f'while {_is_mounted_command(layout)}; do umount --lazy {layout.storage} || exit; done; exec "$@"'
    argv = ("sh", "-c", script, "sh", "glusterfs", "-N", *files, str(layout.storage))
    return Daemon(name, argv, mount=layout.storage, within=f"slurmd.{node}", node=node)


def _mariadbd(layout: Layout, user: str) -> tuple[str, ...]:
    """MariaDB on a Unix socket only; its data are created on the first start, in one step.

    They include Slurm's database, as an empty directory. slurmdbd would create it after a connection that failed
    because it is missing, and MariaDB's client 3.4.10 refuses all answers after a second attempt to connect ("allowed
    number of columns (=0)").
    """
    options = (
        "--no-defaults",
        f"--user={user}",
        "--innodb-buffer-pool-size=32M",
        "--innodb-log-file-size=16M",
        "--innodb-lock-wait-timeout=900",  # recommended by slurmdbd
        "--innodb-flush-log-at-trx-commit=2",  # the data must survive a crash of MariaDB, but not of the machine
    )
    script = (
        'data=$1; socket=$2; shift 2; if [ ! -d "$data" ]; then rm -rf "$data.new"; mariadb-install-db "$@" '
        '--datadir="$data.new" --auth-root-authentication-method=normal --skip-test-db '
        f'&& mkdir "$data.new/{DATABASE}" && mv "$data.new" "$data" '
        '|| exit; fi; exec mariadbd "$@" --datadir="$data" --socket="$socket" --skip-networking --skip-grant-tables'
    )
    return ("sh", "-c", script, "sh", str(layout.database), str(layout.database_socket), *options)
