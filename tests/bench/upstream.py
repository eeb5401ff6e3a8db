"""Upstream's programs that the user named, for columns beside the project's own."""

from __future__ import annotations

import os
from pathlib import Path


def mdtests() -> list[Path]:
    """MDTEST: one path, or several with a colon between them."""
    return [Path(path) for path in os.environ.get("MDTEST", "").split(os.pathsep) if path]
