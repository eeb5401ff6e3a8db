"""Files of other parties, read within limits: reading never waits for a pipe or a device. JSON is UTF-8 and standard;
errors name the place.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
from pathlib import Path
from typing import Any, NoReturn

from campaign.core.errors import InputError


class NotPlain(Exception):
    """A directory, a pipe or a device where a file is expected."""


def read(path: Path, most_bytes: int) -> tuple[bytes, int]:
    """At most `most_bytes` of a file, and its size. Raises OSError, also for a link, and NotPlain."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        os.close(descriptor)
        raise NotPlain
    with os.fdopen(descriptor, "rb") as file:
        return file.read(min(most_bytes, status.st_size)), status.st_size


def digest(path: Path) -> str:
    """The SHA-256 of a file of any size. Raises OSError."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def content(path: Path, most: int) -> bytes:
    """The content of a regular file within limits; never waits for a pipe or a device. Raises InputError and
    OSError.
    """
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb") as stream:
        if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
            raise InputError(f"{path}: not a regular file")
        data = stream.read(most + 1)
    if len(data) > most:
        raise InputError(f"{path}: larger than {most} bytes, the limit")
    return data


def text(source: str, data: bytes, allowed: str) -> str:
    """UTF-8, with or without a byte order mark."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{source}: byte {error.start} is not UTF-8; allowed: {allowed}") from error


def parse(source: str, data: bytes, allowed: str) -> Any:
    """The decoded JSON. Raises InputError with the place of an error, and what is allowed there."""
    try:
        return json.loads(text(source, data, allowed), parse_constant=no_number)
    except json.JSONDecodeError as error:
        raise InputError(
            f"{source}:{error.lineno}:{error.colno}: not valid JSON: {error.msg}; allowed: {allowed}"
        ) from error
    except RecursionError:
        raise InputError(f"{source}: nested too deeply; allowed: {allowed}") from None
    except ValueError as error:
        raise InputError(f"{source}: {error}; allowed: {allowed}") from error


def no_number(word: str) -> NoReturn:
    """For NaN and Infinity, which Python's reader takes for JSON."""
    raise ValueError(f"found {word}, which is not a JSON number")
