"""`campaign build`: what it says where something lacks, and where the binaries then lie."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

import campaign
from campaign.core import resources
from campaign.core.errors import ENVIRONMENT, USAGE
from tests.support.command_line import CAMPAIGN

pytestmark = pytest.mark.programs


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    """A directory of programs that is the whole PATH: make and a shell."""
    place = tmp_path / "bin"
    place.mkdir()
    for name in ("make", "sh"):
        (place / name).symlink_to(str(shutil.which(name)))
    return place


def build(programs: Path, *words: str | Path, **variables: str) -> subprocess.CompletedProcess[str]:
    surroundings = {"PATH": str(programs), "HOME": str(programs.parent), **variables}
    command = [CAMPAIGN, "build", "-o", programs.parent / "out", *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=800, env=surroundings)


def test_without_an_mpi_it_says_how_to_name_one(programs: Path) -> None:
    process = build(programs)
    assert process.returncode == ENVIRONMENT
    assert process.stderr.startswith("campaign: mpicc: not found; load the module of your MPI")
    assert "--mpicc" in process.stderr


def test_a_build_without_make_is_refused(programs: Path) -> None:
    (programs / "make").unlink()
    process = build(programs, "--mpicc", "sh")
    assert (process.returncode, process.stderr) == (ENVIRONMENT, "campaign: make: not found; install GNU make\n")


def test_a_compiler_that_fails_is_named_below_its_own_message(programs: Path) -> None:
    broken = programs / "broken-mpicc"
    broken.write_text("#!/bin/sh\necho 'no licence for this compiler' >&2\nexit 1\n")
    broken.chmod(0o755)
    process = build(programs, "--mpicc", "broken-mpicc", PATH=f"{programs}{os.pathsep}{os.environ['PATH']}")
    assert process.returncode == ENVIRONMENT
    assert "no licence for this compiler" in process.stderr
    assert "campaign: compiling the benchmark with broken-mpicc failed" in process.stderr


def test_a_directory_that_make_cannot_take_is_refused(programs: Path) -> None:
    process = build(programs, "-o", "a name with spaces")
    assert process.returncode == USAGE
    assert "choose another with -o" in process.stderr


def test_binaries_lie_where_the_user_says(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CAMPAIGN_BENCHMARK", str(tmp_path))
    assert resources.binaries() == tmp_path


def test_binaries_of_an_installed_program_lie_below_the_users_data(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(resources, "INSTALLED", True)
    monkeypatch.delenv("CAMPAIGN_BENCHMARK", raising=False)
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    lower_path = Path("campaign") / campaign.__version__ / "bench"
    assert resources.binaries() == tmp_path / ".local/share" / lower_path
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    assert resources.binaries() == tmp_path / "data" / lower_path
