"""One campaign with its bundles for all tests of this folder: what changes a bundle changes a copy of it."""

from __future__ import annotations

import pytest

from tests.support import bundled
from tests.support.bundled import Vendor


@pytest.fixture(scope="session")
def vendor(tmp_path_factory: pytest.TempPathFactory) -> Vendor:
    return bundled.make(tmp_path_factory.mktemp("bundled"))
