"""Fixtures for tests on a real Slurm: `sandbox`, one cluster for the whole session; `gluster`, another with a network
file system; `own_sandbox`, one that a test may break; `sandbox_directory`, a place for one that a test starts itself.
All end what is left of a sandbox, also after a failed test, and with the tests' process, also when it is killed.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from campaign.sandbox import storage
from campaign.sandbox.cluster import Sandbox
from campaign.sandbox.layout import Shape
from campaign.sandbox.storage import Storage

OWN = Shape(nodes=3, cpus=4)


@contextmanager
def running(shape: Shape) -> Iterator[Sandbox]:
    """A cluster until the end of the block, in a directory whose path is short enough for Slurm's sockets."""
    directory = Path(tempfile.mkdtemp(prefix="sandbox-", dir="/tmp"))
    try:
        yield Sandbox.start(directory, shape, os.getpid())
    finally:
        Sandbox.at(directory).stop()
        shutil.rmtree(directory, ignore_errors=True)


@pytest.fixture(scope="session")
def sandbox() -> Iterator[Sandbox]:
    """A running cluster of 4 nodes with 4 CPUs each, without accounting, shared by all tests of the session."""
    with running(Shape(nodes=4, cpus=4)) as cluster:
        yield cluster


@pytest.fixture
def own_sandbox() -> Iterator[Sandbox]:
    """A running cluster that a test may break, of the shape OWN."""
    with running(OWN) as cluster:
        yield cluster


@pytest.fixture(scope="session")
def gluster() -> Iterator[Sandbox]:
    """A running cluster of 4 nodes with 8 CPUs each and GlusterFS of 2 bricks, shared by all tests of the session."""
    need_storage()
    with running(Shape(nodes=4, cpus=8, storage=Storage(bricks=2))) as cluster:
        yield cluster


def need_storage() -> None:
    """Only a machine without FUSE, or a normal user, goes without: `make test` installs the packages."""
    if os.geteuid() != 0 or not os.access(storage.FUSE, os.R_OK | os.W_OK):
        pytest.skip(f"a network file system needs root and {storage.FUSE}")


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
