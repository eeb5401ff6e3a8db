"""What the benchmark says of its own processes, and what it shows of libraries that were put in its way."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pytest

from tests.support.bench_binary import Reply, build, launch
from tests.support.bench_faults import library

pytestmark = [pytest.mark.mpi, pytest.mark.timeout(900)]

MDTEST = ("mdtest", "-F", "-C", "-T", "-r", "-n", 8, "-d")


def run(folder: Path, ranks: int = 2, **options: Any) -> Reply:
    reply = launch(folder, *MDTEST, folder / "files", ranks=ranks, **options)
    assert reply.status == 0, reply.err
    return reply


def sha256(path: str) -> str:
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


def test_each_file_with_code_is_named_with_its_hash_the_program_among_them(tmp_path: Path) -> None:
    reply = run(tmp_path)
    fields = reply.line_of("attestation")
    assert (fields["processes"], fields["first_rank"]) == (2, 0)
    assert fields["objects"][str((build() / "bench").resolve())] == reply.line_of("start")["binary_sha256"]
    libraries = [path for path in fields["objects"] if "/libc.so" in path or "/libmpi.so" in path]
    assert len(libraries) == 2
    assert {path: fields["objects"][path] for path in libraries} == {path: sha256(path) for path in libraries}


def test_the_functions_that_measure_are_those_of_the_c_library_and_of_mpi(tmp_path: Path) -> None:
    functions = run(tmp_path).line_of("attestation")["functions"]
    assert {functions[name].rpartition("/")[2].partition(".")[0] for name in ("clock_gettime", "stat", "open")} == {
        "libc"
    }
    assert {functions[name].rpartition("/")[2].partition(".")[0] for name in ("MPI_Barrier", "MPI_Wtime")} == {"libmpi"}


def test_the_mount_of_the_directory_is_that_of_the_mount_table(tmp_path: Path) -> None:
    mount = run(tmp_path).line_of("attestation")["mount"]
    assert mount["directory"] == str(tmp_path.resolve())
    points = [line.split() for line in Path("/proc/self/mounts").read_text().splitlines()]
    assert (mount["source"], mount["point"], mount["type"]) in [tuple(words[:3]) for words in points]


def test_each_node_has_its_boot_and_its_clock(tmp_path: Path) -> None:
    start = run(tmp_path).line_of("start")
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().partition("-")[0]
    assert [node["boot"] for node in start["rank_to_node"]] == [boot]
    assert abs(start["rank_to_node"][0]["unix_time"] - start["unix_time"]) < 30


def test_the_clock_of_the_phases_goes_with_the_kernels(tmp_path: Path) -> None:
    end = run(tmp_path).line_of("end")
    assert end["clock_s"] == pytest.approx(end["kernel_clock_s"], abs=0.01)
    assert end["loaded_later"] == {}


def test_a_library_that_makes_time_pass_faster_is_named_and_the_clocks_differ(tmp_path: Path) -> None:
    fast = str(library("faulty_io"))
    reply = run(tmp_path, env={"LD_PRELOAD": fast, "CLOCK_SPEED": "10"})
    fields, end = reply.line_of("attestation"), reply.line_of("end")
    assert fields["functions"]["clock_gettime"] == fast
    assert fields["environment"]["LD_PRELOAD"] == fast
    assert fields["objects"][fast] == sha256(fast)
    assert end["clock_s"] > 5 * end["kernel_clock_s"]


def test_a_library_whose_stat_does_nothing_is_named(tmp_path: Path) -> None:
    idle = str(library("idle_stat"))
    functions = run(tmp_path, env={"LD_PRELOAD": idle}).line_of("attestation")["functions"]
    assert (functions["stat"], functions["open"].rpartition("/")[2]) == (idle, "libc.so.6")


def test_ranks_that_differ_are_reported_apart(tmp_path: Path) -> None:
    script = '[ "$OMPI_COMM_WORLD_RANK" = 2 ] && export LD_PRELOAD=$0; exec "$@"'
    binary = build() / "mdtest"
    idle = str(library("idle_stat"))
    words = (binary, *MDTEST[1:], tmp_path / "files")
    reply = launch(tmp_path, "/bin/bash", "-c", script, idle, *words, ranks=3)
    assert reply.status == 0, reply.err
    entries = reply.lines_of("attestation")
    assert [(group["first_rank"], group["processes"]) for group in entries] == [(0, 2), (2, 1)]
    assert [idle in group["objects"] for group in entries] == [False, True]


def test_the_variables_that_a_campaign_asks_for_are_reported_if_they_are_set(tmp_path: Path) -> None:
    env = {"CAMPAIGN_VARIABLES": "GMX_X:OMP_NUM_THREADS:NOT_SET", "GMX_X": "1", "GMX_XY": "2", "OMP_NUM_THREADS": "3"}
    environment = run(tmp_path, env=env).line_of("attestation")["environment"]
    texts = {"CAMPAIGN_VARIABLES": env["CAMPAIGN_VARIABLES"], "GMX_X": "1", "OMP_NUM_THREADS": "3"}
    assert texts.items() <= environment.items()
    assert not {"GMX_XY", "NOT_SET"} & environment.keys()


def test_a_variable_that_may_be_a_secret_is_not_told(tmp_path: Path) -> None:
    env = {
        "UCX_AUTH_TOKEN": "hidden", "OMPI_MCA_secret_word": "hidden", "UCX_PROXY": "http://user:hidden@proxy",
        "UCX_MY_PASS": "hidden", "FI_BEARER_TEXT": "hidden", "UCX_client_cert": "hidden", "UCX_PASSPHRASE": "hidden",
    }  # fmt: skip
    harmless = {
        "UCX_NET_DEVICES": "mlx5_0:1", "UCX_LOG_URL": "http://host/user@1", "UCX_COMPASS": "north",
        "UCX_PASSENGERS": "4", "UCX_BYPASS": "y", "FI_CERTAINTY": "1",
    }  # fmt: skip
    environment = run(tmp_path, env=env | harmless).line_of("attestation")["environment"]
    assert not env.keys() & environment.keys()
    assert harmless.items() <= environment.items()
