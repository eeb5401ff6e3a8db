"""JSON from another party: bounded, UTF-8, nothing beyond the standard; errors name the place."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any, NoReturn

from campaign.core import messages
from campaign.core.errors import InputError


def content(path: Path, most: int) -> bytes:
    """A regular file's, and not too much: neither a pipe nor a device is waited for. Raises InputError and OSError."""
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb") as stream:
        if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
            raise InputError(messages.NO_PLAIN_FILE(path=path))
        data = stream.read(most + 1)
    if len(data) > most:
        raise InputError(messages.FILE_OF_TOO_MANY_BYTES(path=path, most=most))
    return data


def text(source: str, data: bytes, allowed: str) -> str:
    """UTF-8, with or without a byte order mark."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(messages.TEXT_NOT_UTF8(source=source, byte=error.start, allowed=allowed)) from error


def parse(source: str, data: bytes, allowed: str) -> Any:
    """What the JSON says. Raises InputError with the place in it, and what is allowed there."""
    try:
        return json.loads(text(source, data, allowed), parse_constant=_constant)
    except json.JSONDecodeError as error:
        place = {"source": source, "line": error.lineno, "column": error.colno}
        raise InputError(messages.NOT_JSON(**place, what=error.msg, allowed=allowed)) from error
    except RecursionError:
        raise InputError(messages.JSON_TOO_DEEP(source=source, allowed=allowed)) from None
    except ValueError as error:
        raise InputError(messages.JSON_REFUSED(source=source, why=error, allowed=allowed)) from error


def _constant(word: str) -> NoReturn:
    raise ValueError(messages.JSON_CONSTANT(word=word))
