"""What MPI, its libraries, Slurm and shells remark is no error of the benchmark; what ends a run always is."""

from __future__ import annotations

from pathlib import Path

import pytest

from campaign.core.records import Observation
from campaign.results.parsers import ior_formats, mdtest_text, output
from campaign.results.parsers.lines import Notes
from tests.support.captures import DATA, texts_of

FRAME = "-" * 74
SUBNET = f"""{FRAME}
WARNING: There are more than one active ports on host 'n1', but the
default subnet GID prefix was detected on more than one of these
ports.  If these ports are connected to different physical IB
networks, this configuration will fail in Open MPI.  This version of
Open MPI requires that every physically separate IB subnet has another ID.
{FRAME}"""
CUDA = f"""{FRAME}
The library attempted to open the following supporting CUDA libraries,
but each of them failed.  CUDA-aware support is disabled.
libcuda.so.1: cannot open shared object file: No such file or directory
If you are not interested in CUDA-aware support, then run with another parameter.
{FRAME}"""
MUNGE = f"""{FRAME}
A requested component was not found, or was unable to be opened.  This
PMIX stopped at the first component that was not there.
Framework: psec
Component: munge
{FRAME}"""
LINES = [
    "[n1:81190] mca: base: component_find: unable to open /opt/openmpi/mca_btl_openib: libibverbs.so.1: cannot open "
    "shared object file: No such file or directory (ignored)",
    "[n1.site:48078] mca_base_component_repository_open: unable to open mca_plm_tm: libpbs.so.0: cannot open shared "
    "object file: No such file or directory (ignored)",
    "[n1:20172] Error: ../../../ompi/mca/coll/hcoll/coll_hcoll_module.c:310 - mca_coll_hcoll_comm_query() Hcol library "
    "init failed",
    "[n1:9] pmix_mca_base_component_repository_open: unable to open mca_gds_ds21: perhaps a missing symbol (ignored)",
    "[n15][[8097,1],3][../../ompi/mca/btl/openib/btl_openib_component.c:562:start_async_event_thread] Failed to "
    "create async event thread",
    "[1634567.123456] [n1:1234 :0]         sys.c:744  UCX  WARN  failed to open a file of /proc",
    "[n1:77] PMIX ERROR: NO-PERMISSIONS in file dstore_base.c at line 237",
    "PMIX ERROR: PMIX_ERR_FILE_OPEN_FAILURE in file gds_shmem2.c at line 1056",
    "[1594706700.740772] [ec31:23151:0]         tcp_cm.c:604  UCX  WARN  connection establishment was unsuccessful",
    "n02p015.4570ipath_wait_for_device: The /dev/ipath device failed to appear after 30.0 seconds",
    "n02p015.4570PSM can't open /dev/ipath for reading and writing (err=23)",
    "n1.4570hfi_wait_for_device: The /dev/hfi1_0 device failed to appear after 15.0 seconds: Connection timed out",
    "libfabric:3461:1600000000::verbs:fabric:vrb_get_device():123<warn> unable to open device",
    "librdmacm: Fatal: no RDMA devices found",
    "CMA: unable to get RDMA device list",
    "[warn] Epoll ADD(1) on fd 0 failed.  Old events were 0; read change was 1: Operation not permitted",
    'srun: error: Ignoring conflicting option "x11" in plugin "x11"',
    "srun: error: SLURMD_DEBUG=verbose invalid. ignoring...",
    "[mpiexec@n1] HYDT_dmx_deregister_fd (../../tools/demux/demux.c:164): could not find fd to deregister: 0",
    "/usr/bin/id: cannot find name for group ID 1234",
    "libfabric:core:core:fi_param_get():272<warn> unable to read a variable",
    "srun: error: spank: x11.so: Plugin file not found",
    "srun: error: x11: no local DISPLAY defined, skipping",
    "slurmstepd: error: x11: unable to read DISPLAY value",
    "error: unable to open file /tmp/slurm-spank-x11.336.0",
    "slurmstepd: error: _is_a_lwp: open() /proc/526/status failed: No such file or directory",
    "slurmstepd: error: Unable to create TMPDIR [/dev/shm/7]: Permission denied",
    "slurmstepd: error: Setting TMPDIR to /tmp",
    "bash: cannot set terminal process group (-1): Inappropriate ioctl for device",
    "Invalid MIT-MAGIC-COOKIE-1 key",
    "[1610465245.269420] [n1:800:0]      rdmacm_cm.c:638  UCX  ERROR rdma_create_event_channel failed: No such device",
    "[1610465245.349752] [n1:800:0]     ucp_worker.c:1432 UCX  ERROR failed to open CM on component rdmacm with status "
    "Input/output error",
    "[n1:800] ../../ompi/mca/pml/ucx/pml_ucx.c:273  Error: Failed to create UCP worker",
    "[1695631433.421841] [c2050935a676:31108:f]   vfs_fuse.c:281  UCX  ERROR inotify_add_watch(/tmp) failed: No space "
    "left on device",
]
REAL = [
    "MPI_ABORT was invoked on rank 3 in communicator MPI_COMM_WORLD",
    "[n1:77] *** Process received signal ***",
    "[n1:77] Signal: Segmentation fault (11)",
    "ior ERROR: write() failed, errno 5, Input/output error (aiori-POSIX.c:600)",
    "[n1:77] mca_base_component_repository_open: unable to open mca_x: No space left on device (ignored)",
    "srun: error: n1: task 3: Killed",
    "srun: error: Unable to create step for job 7: Requested node configuration is not available",
    "slurmstepd: error: *** STEP 7.0 ON n1 CANCELLED AT 2026-01-01T00:00:00 DUE TO TIME LIMIT ***",
    "mpirun noticed that process rank 1 with PID 0 on node n1 exited on signal 9 (Killed).",
    "[1594706731.9] [ec31:23151:1]           sock.c:344  UCX  ERROR recv(fd=55) failed: Connection reset by peer",
    "WARNING: unable to open mca_plm_tm",
    "slurmstepd: error: Unable to create TMPDIR [/scratch/7]: No space left on device",
    "srun: Exceeded job memory limit",
    "srun: fatal: cpus-per-task set by two different environment variables",
    "ORTE has lost communication with a remote daemon.",
    "There are not enough slots available in the system to satisfy the 4",
    "No components were able to be opened in the pml framework.",
    "mpirun has detected an attempt to run as root.",
    "WARNING: task 0, partial write(), -1 of 3901 bytes at offset 0",
    "ior WARNING: fsync() failed, errno 9, Bad file descriptor",
    "[n1:1] [[8,0],0] ORTE_ERROR_LOG: Timeout in file base/pls_base_orted_cmds.c at line 275",
    "[n1:1:0:1]  ib_mlx5_log.c:171  Transport retry count exceeded on mlx5_0:1/IB (synd 0x15 vend 0x81 hw_synd 0/0)",
]


def note_lines(text: str) -> Observation:
    notes = Notes("stdout")
    for number, line in notes.numbered_lines(text):
        notes.unknown(number, line)
    return notes.added_to(Observation())


def mdtest(added: str) -> Observation:
    """mdtest's own output with a text in the midst of it."""
    lines = (DATA / "mdtest/mdtest-4.1-shared-dir.txt").read_text().split("\n")
    records, seen = mdtest_text.parse("\n".join([*lines[:3], added, *lines[3:]]), "stdout")
    assert len(records) >= 3
    return seen


@pytest.mark.parametrize("text", LINES)
def test_a_notice_is_a_warning(text: str) -> None:
    for seen in (note_lines(text), mdtest(text)):
        assert not seen.errors
        assert [remark.text for remark in seen.warnings] == [text]


@pytest.mark.parametrize("text", REAL)
def test_what_ends_a_run_or_fails_is_an_error(text: str) -> None:
    assert [remark.text for remark in mdtest(text).errors] == [text]
    # Also among notices, and within the frame of one.
    framed = SUBNET.replace("ports.  If", f"{text}\nports.  If")
    assert mdtest("\n".join([*LINES, framed])).errors


@pytest.mark.parametrize("message", [SUBNET, CUDA, MUNGE])
def test_a_message_in_a_frame_is_one_notice(message: str) -> None:
    seen = mdtest(message)
    assert not seen.errors and not seen.unparsed
    assert [remark.line for remark in seen.warnings] == [5]


@pytest.mark.parametrize(
    "text",
    [
        f"{FRAME}\nWARNING: unable to create file /scratch/f\n{FRAME}",
        f"{FRAME}\nIt looks like MPI_INIT failed for some reason; Open MPI ends\n{FRAME}",
        f"{FRAME}\nWARNING: Open MPI could not do it; the job is aborted\n{FRAME}",
        f"{FRAME}\nMPI_ABORT was invoked on rank 0\n{FRAME}\nWARNING: unable to stat file of Open MPI\n{FRAME}",
        f"{FRAME}\nWARNING: Open MPI\n" + "a line\n" * 50 + "WARNING: unable to remove file f\n" + FRAME,
    ],
)
def test_a_frame_does_not_make_an_error_a_notice(text: str) -> None:
    assert mdtest(text).errors


def test_many_notices_of_a_kind_are_reported_once() -> None:
    text = "\n".join(LINES[2].replace("20172", str(process)) for process in range(300))
    assert texts_of(note_lines(text).warnings) == (f"stdout:1: {LINES[2].replace('20172', '0')} (and 299 like it)",)


def test_stderr_is_read_alike(tmp_path: Path) -> None:
    (tmp_path / "stdout").write_bytes((DATA / "mdtest/mdtest-4.1-shared-dir.txt").read_bytes())
    (tmp_path / "stderr").write_text("\n".join([*LINES, "mdtest: rank 0: cannot stat: Input/output error"]))
    _, seen = output.read("mdtest", tmp_path, tmp_path)
    assert [remark.line for remark in seen.errors] == [len(LINES) + 1]
    assert sum(warning.count for warning in seen.warnings) == len(LINES)


def test_files_of_which_tasks_see_different_sizes_are_an_error_of_ior() -> None:
    lines = (DATA / "ior/ior-4.1-F.txt").read_text().split("\n")
    at = next(place for place, line in enumerate(lines) if line.startswith("write "))
    for words in (
        "WARNING: inconsistent file size by different tasks.",
        "WARNING: Backend returned error during statfs.",
    ):
        _, seen = ior_formats.parse("\n".join([*lines[:at], words, *lines[at:]]), "stdout")
        assert (words in [remark.text for remark in seen.errors]) == ("inconsistent" in words)


def test_a_creation_that_was_not_cut_short_leaves_no_file_of_it() -> None:
    assert not mdtest("WARNING: could not read stonewall status file").errors
