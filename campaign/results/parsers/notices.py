"""Notices of MPI, its libraries, launchers and login shells, which are no failures of the benchmark. Pure.

They are recognised by their source, at the beginning of a line, and by their content: a component that was tried and
skipped, a missing device, an ignored option. "error" or "unable to" in them is not an error of the run. Messages about
a crash, an abort or a full file system are never notices.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from campaign.core.line_pattern import LineSearch

LONGEST = 2000  # characters of a notice
MOST_LINES = 40  # of a notice with several lines

# The end of a process or of the job, and conditions of a file system that make a measurement invalid.
is_fatal = LineSearch(
    r"(?i)MPI_ABORT was invoked|MPI_Abort\(|MPI_ERRORS_AREFATAL|Fatal error in|BAD TERMINATION"
    r"|\b(?:srun|slurmstepd|sbatch): (?:\S+: )?(?:error|fatal):"
    r"|exceeded (?:job|step|memory)\b.*\blimit\b|lost communication with|not enough slots available"
    r"|No components were able to be opened|detected an attempt to run as root"
    r"|\bfsync\(\) failed|partial (?:read|write)\(\), -1 of"
    r"|Bus error|Segmentation fault|core dumped|\*\*\* Process received signal|exited on signal|Caught signal"
    r"|out of memory|oom[-_ ]kill|\bKilled\b|DUE TO TIME LIMIT|CANCELLED AT|NODE FAIL"
    r"|No space left on device|Input/output error|Disk quota exceeded|Stale file handle"
)
_FROM = r"(?:\[[\w.-]+:\d+(?::\d+)?\] )?"  # of Open MPI: [node:process]
_LINE = re.compile(
    # Open MPI, PMIx, hcoll, UCX, libfabric
    rf"{_FROM}(?:pmix_|prte_)?mca(?:: base: component_find|_base_component_repository_open): unable to open "
    r".*\(ignored\)"
    rf"|{_FROM}Error: (?:\S*/)?coll_hcoll_module\.c:\d+ - \w+\(\) Hcoll? library init failed"
    rf"|{_FROM}shmem: mmap: an error occurred while determining whether or not \S+ could be created\."
    rf"|{_FROM}PMIX ERROR: \S+ in file (?:\S*/)?(?:gds_|dstore_|bfrop|unpack|pmix_server)\S* at line \d+"
    r"|\[[\w.-]+\]\[\[\d+,\d+\],\d+\]\[(?:\S*/)?btl_openib\S+\] "
    r"(?:error obtaining device attributes for .*|Failed to create async event thread)"
    r"|\[LOG_CAT_[A-Z0-9_]+\] .*"
    r"|\[\d+\.\d+\] \[[\w.-]+:\d+ *:\d+\] +\S+:\d+ +UCX +(?:WARN|DIAG|INFO|DEBUG|TRACE) .*"
    r"|libfabric:\S*<(?:warn|info|debug|trace)>.*"
    r"|\[warn\] Epoll \S+ on fd \d+ failed\..*"
    # PSM, InfiniBand, iWARP
    r"|[\w.-]+\.\d+ ?(?:ipath|hfi1?|psm2?)_wait_for_device: The \S+ device failed to appear .*"
    r"|(?:[\w.-]+\.\d+ ?)?PSM2? (?:can't open /dev/(?:ipath|hfi)\S* .*|no hfi units are available.*)"
    r"|(?:libibverbs|librdmacm|lib(?:i40iw|mlx[45])\S*): .*|ibv_exp_query_device: invalid comp_mask .*"
    r"|CMA: unable to (?:get RDMA device list|open /dev/infiniband/rdma_cm)"
    # MPICH and its kin
    r"|\[mpiexec@[\w.-]+\] (?:HYDT_dmx_(?:de)?register_fd|setup_stdin_callback) \(\S+\): "
    r"(?:could not find fd to deregister|registering duplicate fd|unable to register fd).*"
    r"|WARNING: Error in initializing MVAPICH2 ptmalloc library\..*"
    # Slurm, ssh, shells
    r"|srun: error: (?:Ignoring conflicting option .*|\S+ invalid\. ignoring\.\.\.|spank: \S+: Plugin file not found"
    r"|x11: no local DISPLAY defined, skipping)"
    r"|slurmstepd: error: (?:couldn't chdir to .*: going to /tmp instead|x11: unable to read DISPLAY value"
    r"|_is_a_lwp: .* /proc/\d+/status failed: .*"
    r"|TMPDIR \[.*\] is not writeable|Unable to create TMPDIR \[.*\]: .*|Setting TMPDIR to /tmp)"
    r"|error: unable to open file \S*/slurm-spank-x11\S*"
    r"|(?:\S*/)?bash: (?:cannot set terminal process group \(-?\d+\): .*|no job control in this shell)"
    r"|(?:Xlib: +)?Invalid MIT-MAGIC-COOKIE-1 key"
    r"|X11 forwarding request failed on channel \d+|mesg: ttyname failed: .*"
    r"|(?:\S*/)?(?:id|groups): cannot find name for (?:user|group) ID \d+"
)
_UCX = r"(?:\[\d+\.\d+\] \[[\w.-]+:\w+ *:\w+\] +)?"
# About a transport that was tried and skipped, or UCX's state: notices, though they contain an error that would be
# fatal for a file system.
_LEFT_OUT = re.compile(
    rf"{_UCX}rdmacm_cm\.c:\d+ +UCX +ERROR rdma_create_event_channel failed: .*"
    rf"|{_UCX}ucp_worker\.c:\d+ +UCX +ERROR failed to open CM on component rdmacm with status .*"
    rf"|{_UCX}vfs_fuse\.c:\d+ +UCX +ERROR inotify_add_watch\(.*\) failed: .*"
    rf"|{_FROM}(?:\S*/)?pml_ucx\.c:\d+ +Error: Failed to create UCP worker"
)
# Frames of messages with several lines: dashes by Open MPI, asterisks by hwloc.
_FRAME = re.compile(r"-{60,}|\*{60,}")
_OPENS = re.compile(
    r"(?:\[\[\d+,\d+\],\d+\]: )?(?:WARNING: |A (?:requested component was not found|high-performance Open MPI"
    r"|deprecated|process has executed an operation involving a call|system call failed during shared memory)"
    r"|The library attempted to open the following supporting CUDA libraries"
    r"|No OpenFabrics connection schemes|By default, for Open MPI 4\.0|The OpenFabrics \(openib\) BTL failed"
    r"|Open MPI failed an OFI|Open MPI's OFI driver|PSM2? was unable to open an endpoint|Failed to create a completion)"
    r"|\* [Hh]wloc .*has encountered what looks like an error"
)
_LIBRARY = re.compile(
    r"Open ?MPI|OpenFabrics|CUDA-aware|Libfabric|PMIX|\bMCA\b|\b(?:BTL|MTL|PML|btl|mtl|pml)_?\b|PSM|[Hh]wloc|Local host"
)
_ANOTHER = re.compile(r"\[|(?:ior )?(?:WARNING|ERROR): |[a-z_]+: ")  # another source in the middle of the message
_ENDS = re.compile(r"(?<!either )(?<!and/or )\babort|terminated|\bMPI_INIT\b", re.IGNORECASE)


def kind(text: str) -> str:
    """The text without numbers and places, so that notices that differ only in node, process or time are equal."""
    return re.sub(r"\[[^]]*\]|\S*[0-9]\S*", "", text)


def find_notices(lines: Sequence[str]) -> Iterator[tuple[int, range]]:
    """Each notice by the index of the line with its text, with all of its lines, including frames."""
    framed = _framed(lines)
    at = 0
    while at < len(lines):
        frame = framed.get(at, at)
        if frame > at and _is_framed_notice(lines[at + 1 : frame]):
            yield at + 1, range(at, frame + 1)
        elif frame == at and len(lines[at]) <= LONGEST and _is_notice(lines[at]):
            yield at, range(at, at + 1)
        else:
            at += 1
            continue
        at = max(at, frame) + 1


def _is_notice(line: str) -> bool:
    is_message = _LINE.fullmatch(line) is not None and not _crash(line)
    return is_message or _LEFT_OUT.fullmatch(line) is not None


def _framed(lines: Sequence[str]) -> dict[int, int]:
    """Begin and end of each message between two equal frames: a frame that ends one does not begin the next."""
    pairs: dict[int, int] = {}
    begun: int | None = None
    for at, line in enumerate(lines):
        if line[:60] not in ("-" * 60, "*" * 60) or not _FRAME.fullmatch(line.strip()):
            continue
        if begun is not None and line[0] == lines[begun][0] and at - begun <= MOST_LINES:
            pairs[begun], begun = at, None
        else:
            begun = at
    return pairs


def _is_framed_notice(lines: Sequence[str]) -> bool:
    if not lines or not _OPENS.match(lines[0]) or any(_ANOTHER.match(line) for line in lines[1:]):
        return False
    text = "\n".join(lines)
    return _LIBRARY.search(text) is not None and not is_fatal(text) and not _ENDS.search(text)


def _crash(text: str) -> bool:
    """A notice of Slurm contains its mark of an error, which alone is harmless."""
    return is_fatal(re.sub(r"^(?:srun|slurmstepd): error: ", "", text))
