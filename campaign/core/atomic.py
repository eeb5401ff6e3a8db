"""Files that appear complete: written beside their final place and then renamed. Several writers may do so at once."""

from __future__ import annotations

import secrets
from pathlib import Path


def write(path: Path, content: str | bytes) -> None:
    """Replace the content of a file. Raises OSError with its name, and leaves the file as it was."""
    new = path.with_name(f"{path.name}.{secrets.token_hex(8)}.new")
    try:
        with new.open("xb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
        new.replace(path)
    except BaseException as error:
        new.unlink(missing_ok=True)
        if isinstance(error, OSError):
            error.filename = str(path)  # the error of a full disk names no file
        raise
