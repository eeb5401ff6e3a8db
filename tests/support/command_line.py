"""The command line: the program as a user starts it, and a verb called in this process, which starts no Python.

A test of what a verb prints and decides calls it here; one of signals, of pipes, of what is loaded, or of a driver that
follows jobs starts the program.
"""

from __future__ import annotations

import contextlib
import io
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from unittest import mock

from campaign.cli.main import main

CAMPAIGN = Path(sys.executable).with_name("campaign")


def call(
    *words: str | Path, environment: Mapping[str, str] | None = None, cwd: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """What the program would print, and its exit status. `environment` takes the place of this process's."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
    kept = [out.buffer, err.buffer]  # also where the program closes a stream
    with (
        mock.patch.dict(os.environ, environment or {}, clear=environment is not None),
        contextlib.chdir(cwd or Path.cwd()),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        try:
            status = main([str(word) for word in words])
        except SystemExit as end:  # argparse
            status = end.code if isinstance(end.code, int) else 1
    texts = [buffer.getvalue().decode() for buffer in kept]
    return subprocess.CompletedProcess([CAMPAIGN, *words], status, *texts)
