"""One campaign with its bundles for all tests of this folder: what changes a bundle changes a copy of it."""

from __future__ import annotations

import pytest

from tests.support import bundled
from tests.support.bundled import Made


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    return bundled.make(tmp_path_factory.mktemp("bundled"))
