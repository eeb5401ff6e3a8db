"""What a person reads of a sandbox: what it cannot be started or stopped with."""

from __future__ import annotations

from campaign.core.messages import Message

# --- its place and its shape

SHAPE_DIFFERS = Message(
    "sandbox: {there} already run in {top}; requested: {asked}; stop it first or use another --dir",
    there="4 nodes of 8 CPUs, without accounting, partition sandbox",
    top="/tmp/campaign-sandbox-0",
    asked="2 nodes of 8 CPUs, without accounting, partition sandbox",
)
NO_SANDBOX = Message(
    "sandbox: {top} is not a sandbox ({state} missing) and not empty; nothing was changed", top="/home/me",
    state="sandbox.json",
)  # fmt: skip
NOT_EMPTY = Message(
    "sandbox: {top} is not empty and not a sandbox; choose a new or empty directory with --dir", top="/home/me"
)
OF_ANOTHER_USER = Message(
    "sandbox: {top} belongs to user {user}; choose a directory of your own with --dir", top="/tmp/s", user=1000
)
CANNOT_CREATE = Message(
    "sandbox: cannot create a sandbox in {top}: {why}", top="/proc/s", why="No such file or directory"
)
NODES_BEYOND = Message("sandbox: found {found} nodes; allowed: 1 to {most}", found=0, most=64)
CPUS_BEYOND = Message("sandbox: found {found} CPUs per node; allowed: 1 to {most}", found=-1, most=1024)
PARTITION_NAME = Message(
    "sandbox: found partition name {found!r}; allowed: ASCII letters, digits, _ and -", found="a b"
)
EPILOG_PATH = Message(
    "sandbox: found epilog {found!r}; allowed: the absolute path of a program, with letters, digits and ._/+- only",
    found="epilog",
)
PATH_TOO_LONG = Message(
    "sandbox: the path {path} has {length} bytes; allowed: up to {most}, because of Slurm's "
    "sockets; choose a shorter one with --dir",
    path="/very/long",
    length=90,
    most=60,
)
PATH_CHARACTERS = Message(
    "sandbox: the path {path!r} has characters that slurm.conf does not allow; allowed: ASCII "
    "letters, digits and ._-+; choose another with --dir",
    path="/tmp/a b",
)
PATH_IN_MEMORY = Message(
    "sandbox: {path} is in /dev/shm, which is separate on each node; choose another with --dir", path="/dev/shm/s"
)
STORAGE_UNKNOWN = Message(
    "sandbox: found storage {found!r}; allowed: {known}[,bricks=N][,disk][,slow=MS]", found="nfs", known="gluster"
)
STORAGE_OPTION = Message(
    "sandbox: found storage option {found!r}; allowed: bricks=N, disk, slow=MS{remedy}",
    found="brick=2",
    remedy="; did you mean bricks?",
)
MEANT = Message("; did you mean {near}?", near="bricks")
STORAGE_NUMBER = Message(
    "sandbox: found storage option {name}={found}; allowed: a whole number from {least} to {most}",
    name="bricks",
    found="0",
    least=1,
    most=16,
)
STATE_UNREADABLE = Message("{path}: cannot be read as a sandbox's state: {why}", path="s/sandbox.json", why="denied")
STATE_VERSION = Message(
    "{path}: found version {found}; this program reads version {known}; stop it with the program that started it",
    path="s/sandbox.json",
    found=1,
    known=2,
)
STATE_DAMAGED = Message("{path}: not a sandbox's state ({why})", path="s/sandbox.json", why="KeyError: 'shape'")
STATE_OF_ANOTHER_USER = Message(
    "{path}: the sandbox belongs to user {owner} (you are user {user}); work as that user, or use another --dir",
    path="s/sandbox.json",
    owner=0,
    user=1000,
)

# --- the machine

NO_NAMESPACES = Message(
    "sandbox: user {user} may not create namespaces on this machine{settings}{remedy}. unshare says:\n{said}",
    user=1000,
    settings="; /proc/sys/user/max_user_namespaces is 0",
    remedy="",
    said="unshare: Operation not permitted",
)
USER_NAMESPACES = Message("; a normal user needs user namespaces: ask the administrator for them, or run as root")
NO_CAPABILITY = Message(
    "sandbox: root lacks the capability SYS_ADMIN (in a container?), needed for namespaces and "
    "mounts; give it to the container (--cap-add SYS_ADMIN), or run as a normal user"
)
PROGRAMS_MISSING = Message(
    "sandbox: {programs} not found; install the Debian packages: apt-get install {packages}",
    programs="munged, slurmd",
    packages="munge slurmd",
)
STORAGE_NEEDS_ROOT = Message(
    "sandbox: gluster storage needs root (you are user {user}): its bricks use trusted extended "
    "attributes, which Linux does not allow in a user namespace; start it as root, or leave "
    "--storage out",
    user=1000,
)
NO_FUSE = Message(
    "sandbox: gluster storage needs FUSE, but {device} cannot be opened: {why}; load the module "
    "fuse, or give the device to the container",
    device="/dev/fuse",
    why="No such file or directory",
)
CANNOT_MOUNT = Message("sandbox: cannot mount a tmpfs on {point}: {why}", point="s/scratch", why="permission denied")
CANNOT_UNMOUNT = Message("sandbox: cannot unmount {point}: {why}", point="s/scratch", why="target is busy")
HAS_ENDED = Message(
    "sandbox: {top} has ended, and its Slurm with it; 'campaign run --sandbox' starts it again and continues",
    top="/tmp/campaign-sandbox-0",
)
NO_PORTS = Message(
    "sandbox: no {count} free TCP ports in a row between {first} and {last}", count=9, first=20000, last=32500
)
LOCKED = Message(
    "sandbox: another 'sandbox start' or 'stop' has been running in {top} for {seconds:.0f} s",
    top="/tmp/s",
    seconds=90.0,
)

# --- its processes

STILL_ALIVE = Message(
    "sandbox: process {pid} of {top}, or a child of it, still runs {seconds:.0f} s after SIGKILL "
    "(blocked in I/O?); stop it again later",
    pid=4711,
    top="/tmp/s",
    seconds=10.0,
)
WRITTEN_TO = Message("sandbox: a process still writes to {top}; run 'campaign sandbox stop' again", top="/tmp/s")
CANNOT_REMOVE = Message("sandbox: cannot remove {entry}: {why}", entry="/tmp/s/log", why="denied")
KEEPER_SILENT = Message(
    "sandbox: its main process does not answer on {socket}: {why}", socket="/tmp/s/keeper", why="Connection refused"
)
KEEPER_FAILS = Message("sandbox: its main process cannot start {argv}: {why}", argv="['munged']", why="not found")
DAEMON_FAILED = Message(
    "sandbox: {name} {how}; the end of {log}:\n{said}", name="slurmctld", how="ended", log="slurmctld.log", said="fatal"
)
ENDED = Message("ended")
ENDED_AT_ONCE = Message("ended at once")
NOT_STARTED = Message("did not start within {seconds:.0f} s", seconds=20.0)
NOT_READY = Message("is not ready after {seconds:.0f} s", seconds=20.0)
NO_USABLE_NODE = Message("has no usable node after {seconds:.0f} s ({found})", seconds=60.0, found="down")

# --- the verb

STARTED = Message(
    'sandbox in {top} is {state}: {shape}\nuse it:   eval "$(campaign sandbox env{option})"\n'
    "stop it:  campaign sandbox stop{option}",
    top="/tmp/s",
    state="up",
    shape="4 nodes",
    option=" --dir /tmp/s",
)
STOPPED = Message("sandbox in {top} stopped", top="/tmp/s")
NOTHING_TO_STOP = Message("no sandbox in {top}: nothing to stop", top="/tmp/s")
NONE_THERE = Message("no sandbox in {top}", top="/tmp/s")
STATE = Message("sandbox in {top} is {state}: {shape}", top="/tmp/s", state="up", shape="4 nodes of 8 CPUs")
DEAD = Message("dead: {daemons}; 'campaign sandbox start' restarts them", daemons="slurmctld")
NO_OWNER = Message("--owner {pid}: {why}; allowed: the id of a running process", pid=4711, why="No such process")
