"""Campaigns whose benchmark is in a container image, on a real Slurm of several nodes: Charliecloud as the prefix, and
an srun with the options of a plugin.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from campaign.results.environment import reading
from campaign.sandbox.cluster import Sandbox
from tests.support import command_line
from tests.support.cases import Case, make_case

pytestmark = [pytest.mark.slurm, pytest.mark.mpi, pytest.mark.timeout(900)]

PLUGIN = Path(__file__).parents[1] / "support" / "image_plugin.c"
BENCH = Path(__file__).parents[2] / "bench-src" / "build"
PROGRAM = "/opt/only-inside/mdtest"
INSIDE = Path(PROGRAM).relative_to("/")
SINGLE, PEAK = "scratch/single/shared/*", "scratch/peak/shared/*"
FOLDERS = ["dev", "etc", "home", "mnt", "opt", "proc", "root", "run", "sys", "tmp", "usr", "var"]
SETTINGS = ["group", "hosts", "ld.so.cache", "nsswitch.conf", "openmpi", "passwd", "resolv.conf"]


@pytest.fixture
def image(tmp_path: Path) -> Iterator[Path]:
    """A directory that is the root of a container, with the benchmark under a path that the nodes do not have. Its
    libraries are the machine's: an image with its own takes minutes to make.
    """
    top = tmp_path / "image"
    for folder in (*FOLDERS, INSIDE.parent):
        (top / folder).mkdir(parents=True)
    subprocess.run(["cp", "--archive", *(f"/etc/{name}" for name in SETTINGS), top / "etc"], check=True, timeout=60)
    for link in ("bin", "sbin", "lib", "lib64"):
        if Path("/", link).is_symlink():
            (top / link).symlink_to(f"usr/{link}")
    shutil.copy(BENCH / "mdtest", top / INSIDE)
    yield top


def entering(image: Path) -> list[str]:
    """The words that start a program in it."""
    return ["ch-run", "--bind=/usr:/usr", str(image), "--"]


def case_in_image(sandbox: Sandbox, name: str, image: Path, launcher: str, dialect: str = "rank-offset") -> Case:
    further = f"benchmark: {{executable: {PROGRAM}, dialect: {dialect}}}\nlauncher: {{{launcher}, image: {image}}}\n"
    case = make_case(image.parent, sandbox, name, items=64, lines=further)
    return Case(case.file, case.target, case.sandbox, {"USER": "root"})


def error_of(case: Case, *words: str) -> str:
    """The message of a command that refuses, in one line."""
    process = command_line.drive(words[0], str(case.file), *words[1:], environment=case.environment())
    assert process.returncode in (2, 3)
    return " ".join((process.stdout + process.stderr).split())


@contextmanager
def image_plugin(sandbox: Sandbox) -> Iterator[None]:
    """A plugin of the cluster's Slurm with the option --container-image."""
    top = Path(sandbox.environment()["SLURM_CONF"]).parent
    words = ["cc", "-shared", "-fPIC", "-D_GNU_SOURCE", "-Wall", "-Werror", PLUGIN, "-o", top / "image.so"]
    subprocess.run(words, check=True, timeout=60)
    stack = top / "plugstack.conf"
    stack.write_text(f"required {top}/image.so\n")
    try:
        yield
    finally:
        stack.unlink()


def test_a_program_that_is_only_in_an_image_is_measured_and_hashed_there(sandbox: Sandbox, image: Path) -> None:
    case = case_in_image(sandbox, "image-prefix", image, f"prefix: {entering(image)}", "auto")
    assert "start the benchmark; slurm.mpi: pmix starts /opt/only-inside/mdtest as one MPI job" in case.call(
        "plan", "--probe"
    )
    case.call("run", "--only", SINGLE, "--only", PEAK)
    witness = reading.read(case.results / "runs/scratch.peak.shared.r1/1").witness
    (digest,) = witness.inside_digests(PROGRAM)
    assert {digest} == {digest for executed in witness.executed() for digest in executed.digests[-1:]}
    row = next(row for row in case.table(status=None) if row["launch"] == "peak" and row["status"] == "measured")
    assert not [finding for finding in row["findings"] if finding["severity"] == "E"]


@pytest.mark.skipif(os.geteuid() != 0, reason="Slurm's daemons enter an image as root")
def test_a_plugin_of_srun_starts_the_program_in_its_image(own_sandbox: Sandbox, image: Path) -> None:
    case = case_in_image(own_sandbox, "image-plugin", image, f"options: [--container-image={image}]")
    assert "launcher.options[0]: found --container-image, which srun does not have here" in error_of(case, "plan")
    text = case.file.read_text()
    case.file.write_text(text.replace("processes: 4}", "processes: 4, options: [--uenv=site/1]}"))
    assert "launch.peak.options[0]: found --uenv, which srun does not have here" in error_of(case, "plan")
    case.file.write_text(text)
    with image_plugin(own_sandbox):
        case.call("run", "--only", PEAK)
    witness = reading.read(case.results / "runs/scratch.peak.shared.r1/1").witness
    assert len(witness.inside_digests(PROGRAM)) == 1
    statuses = [row["status"] for row in case.table(status=None) if (row["launch"], row["files"]) == ("peak", "shared")]
    assert statuses == ["measured"] * 3


def test_a_program_in_the_image_that_starts_another_one_is_caught(sandbox: Sandbox, image: Path) -> None:
    case = case_in_image(sandbox, "image-other", image, f"prefix: {entering(image)}")
    (image / INSIDE).rename(image / "opt/mdtest")
    (image / INSIDE).write_text('#!/bin/sh\nexec /opt/mdtest "$@"\n')
    (image / INSIDE).chmod(0o755)
    case.call("run", "--only", PEAK, status=None)
    assert "SRC-04" in case.call("check", status=None)
    assert "ranks ran a program other than the declared one" in case.call("check", status=None)


def test_an_image_without_the_program_is_named_by_the_probe(sandbox: Sandbox, image: Path) -> None:
    case = case_in_image(sandbox, "image-empty", image, f"prefix: {entering(image)}")
    (image / INSIDE).unlink()
    message = error_of(case, "plan", "--probe")
    assert f"does not start {PROGRAM}" in message
    assert "No such file or directory" in message


def test_an_image_that_is_missing_is_named_before_anything_is_submitted(sandbox: Sandbox, image: Path) -> None:
    case = case_in_image(sandbox, "image-missing", image, f"prefix: {entering(image)}")
    shutil.rmtree(image)
    assert f"launcher.image: {image} not found; build the image or correct the path" in error_of(case, "plan")
