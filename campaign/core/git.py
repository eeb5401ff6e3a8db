"""The only user of git: what a revision of a repository holds, byte for byte.

Objects are read as they are stored: no attribute, filter or hook of the repository has a say.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

from campaign.core import messages
from campaign.core.errors import EnvironmentLacks, InputError
from campaign.core.frozen import dataclass

TIMEOUT_S = 120.0


@dataclass(frozen=True, slots=True)
class Blob:
    path: str  # with surrogates for bytes that are not UTF-8
    mode: str  # 100644, 100755, 120000; 160000 for a submodule, which has no data
    size: int
    id: str


def commit(repository: Path, revision: str) -> str:
    """The hash of what the revision names; of `REV:DIRECTORY`, of the commit before the colon."""
    name = revision.partition(":")[0]
    return _object(repository, f"{name}^{{commit}}")


def blobs(repository: Path, revision: str) -> list[Blob]:
    """The files of a revision, or of `REV:DIRECTORY` of it."""
    tree = revision if ":" in revision else f"{revision}^{{tree}}"
    listed = _git(repository, "ls-tree", "-r", "-z", "-l", "--full-tree", _object(repository, tree))
    files = []
    for line in filter(None, listed.split(b"\0")):
        about, _, path = line.partition(b"\t")
        mode, _, name, size = about.split()
        files.append(Blob(os.fsdecode(path), mode.decode(), 0 if size == b"-" else int(size), name.decode()))
    return files


def contents(repository: Path, wanted: list[Blob]) -> Iterator[bytes]:
    """The data of blobs, in their order."""
    asked = "".join(f"{blob.id}\n" for blob in wanted).encode()
    reply = _git(repository, "cat-file", "--batch", given=asked)
    at = 0
    for blob in wanted:
        end = reply.index(b"\n", at)
        if reply[at:end].split() != [blob.id.encode(), b"blob", str(blob.size).encode()]:
            answer = reply[at:end].decode()
            raise EnvironmentLacks(
                messages.GIT_OBJECT(repository=repository, id=blob.id, path=blob.path, answer=answer)
            )
        yield reply[end + 1 : end + 1 + blob.size]
        at = end + 1 + blob.size + 1


def _object(repository: Path, name: str) -> str:
    return _git(repository, "rev-parse", "--verify", "--quiet", "--end-of-options", name).decode().strip()


def _git(repository: Path, *words: str, given: bytes = b"") -> bytes:
    command = ["git", "-C", str(repository), *words]
    # Variables such as GIT_DIR would name another repository.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    environment |= {"GIT_NO_LAZY_FETCH": "1", "GIT_TERMINAL_PROMPT": "0", "GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C"}
    environment |= {"GIT_NO_REPLACE_OBJECTS": "1"}
    try:
        done = subprocess.run(
            command, input=given, capture_output=True, env=environment, timeout=TIMEOUT_S, check=False
        )
    except FileNotFoundError:
        raise EnvironmentLacks(messages.GIT_NOT_FOUND()) from None
    except subprocess.TimeoutExpired:
        about = {"command": words[0], "repository": repository}
        raise EnvironmentLacks(messages.GIT_TIMED_OUT(**about, seconds=TIMEOUT_S)) from None
    if done.returncode != 0:
        error = done.stderr.decode(errors="replace").strip() or messages.NO_SUCH_REVISION(revision=words[-1])
        raise InputError(messages.GIT_FAILED(command=words[0], repository=repository, error=error))
    return done.stdout
