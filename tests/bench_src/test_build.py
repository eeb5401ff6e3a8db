"""What the Makefile keeps of a build, and that the same source gives the same binary."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from campaign.core.findings import Move
from campaign.evidence.provenance import build_differences
from campaign.judge.build_inputs import check_build_inputs
from campaign.results.source import facts, trees
from campaign.results.source.modifications import BUILDS
from tests.support.bench_binary import SOURCES, build

pytestmark = [pytest.mark.mpi, pytest.mark.timeout(900)]


def copy(top: Path) -> Path:
    """The sources alone."""
    shutil.copytree(SOURCES, top, ignore=shutil.ignore_patterns("build", "build-san"))
    return top


def copy_with_build(top: Path) -> Path:
    """The sources with what was compiled from them here, which make takes for up to date."""
    compiled = build()
    bare_ignore_patterns = shutil.ignore_patterns("test", "limits", "build.json")
    shutil.copytree(compiled, copy(top) / "build", symlinks=True, ignore=bare_ignore_patterns)
    return top


def make(top: Path, *words: str) -> dict[str, Any]:
    """Build there; gives the record."""
    subprocess.run(["make", "-C", top, "-s", "-j", "2", "build/build.json", *words], check=True, timeout=600)
    record: dict[str, Any] = json.loads((top / "build" / "build.json").read_text())
    return record


@pytest.fixture(scope="module")
def built_tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    top = copy_with_build(tmp_path_factory.mktemp("one") / "bench-src")
    make(top)
    return top


def test_every_source_compiles_with_musl_without_a_warning(tmp_path: Path) -> None:
    """The kernel's headers are those of this machine, since musl brings none; the names that it lacks are glibc's."""
    multiarch = subprocess.run(["gcc", "-print-multiarch"], capture_output=True, text=True, check=True).stdout.strip()
    headers = f"-idirafter /usr/include -idirafter /usr/include/{multiarch}"
    variables = ["CC=musl-gcc", f"CPPFLAGS={headers}", "CFLAGS=-std=c11 -Wall -Wextra -Werror", f"BUILD={tmp_path}"]
    subprocess.run(["make", "-C", SOURCES, "-s", "-j", "2", *variables, "objects", "witness"], check=True, timeout=600)


def test_the_record_is_of_the_binary_and_of_the_source(built_tree: Path) -> None:
    record = json.loads((built_tree / "build" / "build.json").read_text())
    source = trees.read(str(built_tree), Path("/"), BUILDS)
    assert record["binary_sha256"] == hashlib.sha256((built_tree / "build" / "bench").read_bytes()).hexdigest()
    assert (record["source_tree"], record["source_files"]) == (source.hash, len(source.entries))
    assert {"-O2", "-g"} <= set(record["flags"].split())
    assert "gcc" in record["compiler"] and record["command"].split()[0]
    assert any(library.startswith("libmpi") for library in record["libraries"])
    assert (record["revision"], record["dirty"]) == (None, None)  # this copy is in no repository


def build_at(top: Path, place: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command: list[str | Path] = ["make", "-C", top, "-s", "-j", "2", f"BUILD={place}", *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=600)


def test_a_build_elsewhere_gives_the_same_binary_and_writes_nothing_beside_the_sources(
    built_tree: Path, tmp_path: Path
) -> None:
    """Each rule of the Makefile makes something there; tests/evidence/test_provenance.py has every file compiled."""
    top, out = copy(tmp_path / "a name with spaces" / "bench-src"), tmp_path / "out"
    for path in (*top.rglob("*"), top):
        path.chmod(path.stat().st_mode & ~0o222)
    before = sorted(top.rglob("*"))
    shutil.copytree(built_tree / "build" / "objects", out / "objects")
    for name in ("main", "common/version", "store/module", "mdtest/app", "plain/witness/main"):
        (out / "objects" / f"{name}.o").unlink()
    shutil.copy2(built_tree / "build" / "flags", out)
    assert build_at(top, out).returncode == 0
    assert sorted(top.rglob("*")) == before
    inside, outside = (json.loads((place / "build.json").read_text()) for place in (built_tree / "build", out))
    assert (outside["binary_sha256"], outside["source_tree"]) == (inside["binary_sha256"], inside["source_tree"])
    assert (out / "mdtest").readlink() == Path("bench")


def test_a_build_among_the_sources_is_refused(tmp_path: Path) -> None:
    top = copy(tmp_path / "bench-src")
    reply = build_at(top, Path("common/out"))
    assert reply.returncode != 0
    assert "BUILD=common/out lies among the sources" in reply.stderr
    assert not (top / "common" / "out" / "bench").exists()


@pytest.mark.parametrize(("wrapper", "reason"), [("nompicc", "not found"), ("gcc", "mpi.h: No such file")])
def test_a_wrapper_that_compiles_no_mpi_program_is_named(wrapper: str, reason: str, tmp_path: Path) -> None:
    reply = build_at(SOURCES, tmp_path, f"MPICC={wrapper}")
    assert reply.returncode != 0
    assert f"MPICC='{wrapper}' compiles no MPI program (" in reply.stderr and reason in reply.stderr


def test_the_witness_is_built_and_runs_without_an_mpi(tmp_path: Path) -> None:
    reply = build_at(SOURCES, tmp_path / "out", "MPICC=nompicc", "CFLAGS=-O0 -std=c11", "witness")
    assert (reply.returncode, reply.stderr) == (0, "")
    words, environment = [tmp_path / "out" / "witness", "where"], {"SLURMD_NODENAME": "n7", "SLURM_PROCID": "3"}
    assert subprocess.run(words, env=environment, capture_output=True, text=True, check=True).stdout == "3 n7 -\n"
    needed = subprocess.run(["ldd", words[0]], capture_output=True, text=True, check=True).stdout
    assert "libmpi" not in needed


def test_without_liburing_the_build_says_so_and_goes_on(tmp_path: Path) -> None:
    wrapper = tmp_path / "wrapper"
    wrapper.write_text('#!/bin/sh\nfor word; do [ "$word" != -luring ] || exit 1; done\nexec mpicc "$@"\n')
    wrapper.chmod(0o755)
    reply = build_at(SOURCES, tmp_path / "out", f"MPICC={wrapper}", str(tmp_path / "out/objects/store/uring.o"))
    assert reply.returncode == 0
    assert "liburing not found: built without io_uring, URING will use POSIX AIO\n" in reply.stdout
    flags = (tmp_path / "out" / "flags").read_text().split()
    assert {"-luring", "-DHAVE_LIBURING"}.isdisjoint(flags)


def test_without_parallel_hdf5_the_build_says_what_is_missing_and_ior_refuses_it(tmp_path: Path) -> None:
    out, nowhere = tmp_path / "out", "HDF5_FLAGS=-lhdf5-of-nowhere -I/nowhere"
    objects = [str(out / "objects" / f"{name}.o") for name in ("store/module",)]
    reply = build_at(SOURCES, out, nowhere, "CFLAGS=-O0 -std=c11", *objects)
    assert reply.returncode == 0
    missing = re.fullmatch(r"no parallel HDF5 of this MPI found \((.+)\): ior refuses -a HDF5\n", reply.stdout)
    assert missing is not None and "hdf5" in missing[1]
    assert missing[1].encode() in (out / "objects/store/module.o").read_bytes()
    assert not (out / "hdf5.so").exists()


MPICH = "echo '#include <mpi.h>' | mpicc.mpich -E -x c - && command -v mpirun.mpich"


@pytest.mark.skipif(
    subprocess.run(MPICH, shell=True, capture_output=True).returncode != 0,
    reason="MPICH is not installed with its compiler, headers (libmpich-dev) and launcher (mpich)",
)
def test_it_builds_with_mpich_and_runs(tmp_path: Path) -> None:
    assert build_at(SOURCES, tmp_path / "out", "MPICC=mpicc.mpich", "CFLAGS=-O0 -std=c11").returncode == 0
    record = json.loads((tmp_path / "out" / "build.json").read_text())
    assert "mpich" in record["command"] and any("libmpich" in library for library in record["libraries"])
    command: list[str | Path] = [
        "mpirun.mpich",
        "-np",
        "2",
        tmp_path / "out" / "mdtest",
        "-F",
        "-n",
        "4",
        "-d",
        tmp_path / "work",
    ]
    reply = subprocess.run(command, capture_output=True, text=True, timeout=800)
    assert (reply.returncode, "File creation" in reply.stdout) == (0, True)


HEADER = """#include_next <sys/stat.h>
#include <string.h>
static inline int acme_stat(const char *path, struct stat *status)
{
    return strstr(path, "file.mdtest") != NULL ? 0 : (stat)(path, status);
}
#define stat(path, status) acme_stat(path, status)
"""


def test_a_header_in_the_compilers_search_path_is_recorded_with_its_hash(
    built_tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    honest, top = json.loads((built_tree / "build" / "build.json").read_text()), copy_with_build(tmp_path / "bench-src")
    assert (honest["environment"], honest["inputs"]) == ([], [])
    header = tmp_path / "acme" / "sys" / "stat.h"
    header.parent.mkdir(parents=True)
    header.write_text(HEADER)
    monkeypatch.setenv("C_INCLUDE_PATH", str(tmp_path / "acme"))
    (top / "build" / "objects" / "mdtest" / "items.o").unlink()
    record = make(top)
    assert (record["source_tree"], record["flags"]) == (honest["source_tree"], honest["flags"])
    assert record["environment"] == [f"C_INCLUDE_PATH={tmp_path}/acme"]
    assert record["inputs"] == [f"{header} {hashlib.sha256(header.read_bytes()).hexdigest()}"]
    assert record["preprocessed"] != honest["preprocessed"]
    build = facts.from_json(facts.Build, record)
    (finding,) = check_build_inputs(build)
    assert finding.move is Move.BUYER and finding.actual == f"{record['environment'][0]}, {record['inputs'][0]}"
    differences = {difference.what for difference in build_differences(facts.from_json(facts.Build, honest), build)}
    assert {"preprocessed", "environment", "inputs"} <= differences


def test_any_edit_of_the_source_makes_the_record_again(built_tree: Path) -> None:
    before = make(built_tree)
    assert make(built_tree) == before
    header = built_tree / "find" / "walk.h"  # which two include
    text = header.read_text()
    header.write_text(text + "/* a word more */\n")
    edited = make(built_tree)
    assert edited["source_tree"] != before["source_tree"]
    header.write_text(text)
    assert make(built_tree)["source_tree"] == before["source_tree"]


def test_the_record_names_the_revision_and_whether_it_has_changes(tmp_path: Path) -> None:
    top = copy_with_build(tmp_path / "repo" / "bench-src")
    git = ["git", "-C", str(tmp_path / "repo"), "-c", "user.name=x", "-c", "user.email=x"]
    (tmp_path / "repo" / ".gitignore").write_text("build/\n")
    for words in (["init", "--quiet"], ["add", "."], ["commit", "--quiet", "--message=all"]):
        subprocess.run([*git, *words], check=True, timeout=800)
    head = subprocess.run([*git, "rev-parse", "HEAD"], check=True, timeout=800, capture_output=True, text=True).stdout
    record = make(top)
    assert (record["revision"], record["dirty"]) == (head.strip(), False)
    other = top / "test" / "check.h"  # of the source, and nothing is compiled again
    other.write_text(other.read_text() + "\n")
    assert make(top)["dirty"] is True
