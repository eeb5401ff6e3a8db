"""Files that appear whole: written beside their place and then moved there, also by several writers at once."""

from __future__ import annotations

import secrets
from pathlib import Path


def write(path: Path, content: str | bytes) -> None:
    """Put `content` in place of what the file holds. Raises OSError that names it, and leaves the file as it was."""
    new = path.with_name(f"{path.name}.{secrets.token_hex(8)}.new")
    try:
        with new.open("xb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
        new.replace(path)
    except BaseException as error:
        new.unlink(missing_ok=True)
        if isinstance(error, OSError):
            error.filename = str(path)  # that of a full disk has none
        raise
