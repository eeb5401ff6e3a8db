"""Fixtures for tests on a real Slurm: `sandbox`, one cluster for the whole session; `sandbox_directory`, a place for an
own one. Both end what is left of a sandbox, also after a failed test.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from campaign.slurm.sandbox.cluster import Sandbox
from campaign.slurm.sandbox.layout import Shape


def _clean(directory: Path) -> None:
    Sandbox.at(directory).stop()
    shutil.rmtree(directory, ignore_errors=True)


@pytest.fixture(scope="session")
def sandbox() -> Iterator[Sandbox]:
    """A running cluster of 4 nodes with 8 CPUs each, without accounting, shared by all tests of the session."""
    directory = Path(tempfile.mkdtemp(prefix="sandbox-", dir="/tmp"))
    try:
        yield Sandbox.start(directory, Shape(nodes=4, cpus=8))
    finally:
        _clean(directory)


@pytest.fixture
def sandbox_directory() -> Iterator[Path]:
    """A directory for a sandbox of the test's own: not there yet, and with a shorter path than tmp_path's."""
    parent = Path(tempfile.mkdtemp(prefix="sandbox-", dir="/tmp"))
    parent.chmod(0o755)
    directory = parent / "s"
    try:
        yield directory
    finally:
        if (directory / "sandbox.json").exists():
            Sandbox.at(directory).stop()
        shutil.rmtree(parent, ignore_errors=True)
