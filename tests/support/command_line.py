"""The command line: the program as a user starts it, and ways to use it which start no Python.

A test of what a verb prints and decides calls it in this process; one that needs a driver, which follows jobs, has it
in a copy of this process; one of signals, of pipes, or of what is loaded starts the program.
"""

from __future__ import annotations

import contextlib
import gc
import io
import multiprocessing
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import IO
from unittest import mock

from campaign import __main__ as program
from campaign.cli.main import main

CAMPAIGN = Path(sys.executable).with_name("campaign")


def call(
    *words: str | Path, environment: Mapping[str, str] | None = None, cwd: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """What the program would print, and its exit status. `environment` takes the place of this process's."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
    kept_os = [out.buffer, err.buffer]  # also where the program closes a stream
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
    texts = [buffer.getvalue().decode() for buffer in kept_os]
    return subprocess.CompletedProcess([CAMPAIGN, *words], status, *texts)


def drive(
    *words: str | Path, environment: Mapping[str, str] | None = None, cwd: Path | None = None, timeout: float = 800
) -> subprocess.CompletedProcess[str]:
    """As `call`, in a process of its own, which is ended after so many seconds. It is a copy of this one, since to load
    the program takes longer than most of what a driver does.
    """
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        arguments = [str(word) for word in words], environment, cwd, out, err
        driver = multiprocessing.get_context("fork").Process(target=_drive, args=arguments)
        driver.start()
        try:
            driver.join(timeout)
            status = driver.exitcode
        finally:
            driver.kill()  # does nothing to one that has ended
            driver.join()
        texts = [_read(file) for file in (out, err)]
    if status is None:
        raise subprocess.TimeoutExpired([CAMPAIGN, *words], timeout, *texts)
    return subprocess.CompletedProcess([CAMPAIGN, *words], status, *texts)


def _drive(
    words: list[str], environment: Mapping[str, str] | None, cwd: Path | None, out: IO[bytes], err: IO[bytes]
) -> None:
    gc.freeze()  # what was there before is not looked at, which would copy its memory
    for number, file in ((1, out), (2, err)):
        os.dup2(file.fileno(), number)
    sys.stdout, sys.stderr = (os.fdopen(number, "w", encoding="utf-8", closefd=False) for number in (1, 2))
    if environment is not None:
        os.environ.clear()
        os.environ.update(environment)
    if cwd is not None:
        os.chdir(cwd)
    sys.argv = [str(CAMPAIGN), *words]
    sys.exit(program.main())


def _read(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode()
