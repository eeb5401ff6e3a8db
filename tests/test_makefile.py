"""What `make` looks for before it builds and runs: the things themselves, not a distribution's packages."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.programs

ROOT = Path(__file__).resolve().parents[1]
OF_DEBIAN = ("apt", "dpkg", "sudo")


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    """A directory with all programs of this machine but those that install: the whole PATH of another distribution."""
    place = tmp_path / "bin"
    place.mkdir()
    for folder in reversed(os.environ["PATH"].split(os.pathsep)):
        for program in Path(folder).iterdir() if Path(folder).is_dir() else ():
            if not program.name.startswith(OF_DEBIAN):
                (place / program.name).unlink(missing_ok=True)
                (place / program.name).symlink_to(program)
    return place


def make(programs: Path, *targets: str) -> subprocess.CompletedProcess[str]:
    surroundings = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MAKELEVEL")}
    command = [programs / "make", "--no-print-directory", "-C", ROOT, *targets]
    return subprocess.run(
        command, env=surroundings | {"PATH": str(programs)}, capture_output=True, text=True, timeout=800
    )


def installers(programs: Path) -> Path:
    """Debian's, which write down how they were called; the file is there once one was."""
    calls = programs.parent / "calls"
    (programs / "sudo").write_text('#!/bin/sh\nexec "$@"\n')
    (programs / "apt-get").write_text(f'#!/bin/sh\necho "$@" >> {calls}\n')
    for name in ("sudo", "apt-get"):
        (programs / name).chmod(0o755)
    return calls


def test_where_everything_is_there_no_packages_are_asked_for(programs: Path) -> None:
    process = make(programs, "build-needs", "run-needs", "test-needs")
    assert (process.returncode, process.stdout, process.stderr) == (0, "", "")


def test_where_everything_is_there_nothing_is_installed_and_nobody_needs_sudo(programs: Path) -> None:
    calls = installers(programs)
    assert make(programs, "build-needs", "run-needs", "test-needs").returncode == 0
    assert not calls.exists()


def test_what_is_missing_is_named_where_it_cannot_be_installed(programs: Path) -> None:
    for name in ("srun", "mpirun"):
        (programs / name).unlink()
    process = make(programs, "run-needs")
    assert process.returncode != 0
    assert process.stderr.startswith("missing: mpirun (openmpi-bin), srun (slurm-client)\nInstall them")


def test_a_missing_header_is_missing_too(programs: Path) -> None:
    (programs / "mpicc").unlink()
    process = make(programs, "build-needs")
    assert "missing: mpicc (libopenmpi-dev), mpi.h (libopenmpi-dev), stdio.h (libc6-dev)\n" in process.stderr


def test_on_debian_what_is_missing_is_installed(programs: Path) -> None:
    calls = installers(programs)
    (programs / "mpicc").unlink()
    (programs / "h5pcc").unlink(missing_ok=True)
    assert make(programs, "build-needs").returncode == 0
    # The last two because others are missing.
    packages = "libopenmpi-dev libopenmpi-dev libc6-dev liburing-dev libhdf5-openmpi-dev"
    assert calls.read_text() == f"-qq update\n-qq install --yes --no-install-recommends {packages}\n"


@pytest.mark.parametrize(("pmix", "example"), [(True, "rehearsal"), (False, "mpirun")])
def test_run_chooses_its_example_by_the_slurm_that_it_has_just_installed(
    programs: Path, pmix: bool, example: str
) -> None:
    (programs / "srun").unlink()
    plugins, campaign = programs.parent / "slurm", programs.parent / "venv"
    plugins.mkdir()
    installers(programs)
    with (programs / "apt-get").open("a") as apt:
        apt.write(f"touch {plugins}/mpi_pmix_v5.so\n" if pmix else "")
    campaign.mkdir()
    for name in ("python", "campaign"):
        (campaign / name).write_text('#!/bin/sh\necho "$@"\n')
        (campaign / name).chmod(0o755)
    process = make(programs, "run", f"SLURM_PLUGINS={plugins}", f"BIN={campaign}", "SANDBOX_NEEDS=")
    assert process.stdout.splitlines()[-1] == f"run --sandbox docs/examples/crossroads-{example}.yaml", process.stderr


def test_targets_that_install_packages_never_run_at_the_same_time(programs: Path) -> None:
    calls = installers(programs)
    (programs / "mpicc").unlink()
    (programs / "srun").unlink()
    (programs / "apt-get").write_text(f"#!/bin/sh\necho begins >> {calls}; sleep 0.2; echo ends >> {calls}\n")
    assert make(programs, "--jobs=2", "build-needs", "run-needs", "SANDBOX_NEEDS=").returncode == 0
    assert calls.read_text() == "begins\nends\n" * 4


def test_a_python_that_is_too_old_or_has_no_venv_is_named(programs: Path) -> None:
    old = programs.parent / "python"
    old.write_text("#!/bin/sh\nexit 1\n")
    old.chmod(0o755)
    surroundings = os.environ | {"PATH": str(programs), "PYTHON": str(old)}
    command = [ROOT / ".ci" / "needs", "python:python3-venv"]
    process = subprocess.run(command, env=surroundings, capture_output=True, text=True, timeout=800)
    assert process.returncode == 1
    assert process.stderr.startswith("missing: Python 3.11 or later with venv (python3-venv)\n")
