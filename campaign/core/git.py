"""The only user of git: the files of a revision, byte for byte, patches, and files after a patch.

Objects are read as they are stored: attributes, filters and hooks of the repository have no effect.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from campaign.core import temporary
from campaign.core.errors import EnvironmentLacks, InputError

TIMEOUT_S = 120.0


@dataclass(frozen=True, slots=True)
class Blob:
    path: str  # bytes that are not UTF-8 are surrogates
    mode: str  # 100644, 100755, 120000; 160000 for a submodule, which has no data
    size: int
    id: str


def commit(repository: Path, revision: str) -> str:
    """The commit that a revision names; for `REV:DIRECTORY`, the one before the colon."""
    name = revision.partition(":")[0]
    return _object(repository, f"{name}^{{commit}}")


def blobs(repository: Path, revision: str) -> list[Blob]:
    """The files of a revision, or below `REV:DIRECTORY`."""
    tree = revision if ":" in revision else f"{revision}^{{tree}}"
    listed = _git(repository, "ls-tree", "-r", "-z", "-l", "--full-tree", _object(repository, tree))
    files = []
    for line in filter(None, listed.split(b"\0")):
        attributes, _, path = line.partition(b"\t")
        mode, _, name, size = attributes.split()
        files.append(Blob(os.fsdecode(path), mode.decode(), 0 if size == b"-" else int(size), name.decode()))
    return files


def contents(repository: Path, blobs_to_read: list[Blob]) -> Iterator[bytes]:
    """The content of blobs, in their order."""
    object_ids = "".join(f"{blob.id}\n" for blob in blobs_to_read).encode()
    reply = _git(repository, "cat-file", "--batch", stdin=object_ids)
    at = 0
    for blob in blobs_to_read:
        end = reply.index(b"\n", at)
        if reply[at:end].split() != [blob.id.encode(), b"blob", str(blob.size).encode()]:
            answer = reply[at:end].decode()
            raise EnvironmentLacks(f"git: {repository}: object {blob.id} of {blob.path}: {answer}")
        yield reply[end + 1 : end + 1 + blob.size]
        at = end + 1 + blob.size + 1


File = tuple[str, str, bytes]  # path, mode, data
# The form of a patch, whatever a user has configured. The pattern of a function's name matches nothing.
_CONFIG = """
[core]
    compression = 9
    attributesFile = /dev/null
    quotePath = true
[pack]
    compression = 1
[diff]
    indentHeuristic = true
    suppressBlankEmpty = false
[diff "default"]
    xfuncname = a^
"""


def difference(old: Sequence[File], new: Sequence[File]) -> bytes:
    """The patch from some files to others, for `git apply`: whole ids, binary content, no names of functions."""
    form = ("--patch", "--binary", "--full-index", "--no-renames", "--no-textconv", "--no-ext-diff", "--unified=3")
    with _repository(old, new) as folder:
        return _git(folder, "diff-tree", *form, "refs/heads/0", "refs/heads/1")


def apply_patch(files: Sequence[File], patch: bytes) -> list[tuple[Blob, bytes]]:
    """The files after `git apply`, done without a work tree: another party's patch writes no file. Raises ValueError
    with git's message if it does not apply.
    """
    with _repository(files) as folder:
        _git(folder, "read-tree", "refs/heads/0")
        options = ("--whitespace=nowarn", "--no-ignore-whitespace", "--unidiff-zero")  # accepts patches made with -U0
        completed = _run(folder, "apply", "--cached", *options, stdin=patch)
        if completed.returncode != 0:
            lines = completed.stderr.decode(errors="replace").splitlines()
            raise ValueError("; ".join(line.removeprefix("error: ") for line in lines))
        tree = _git(folder, "write-tree").decode().strip()
        patched_blobs = blobs(folder, tree)
        return list(zip(patched_blobs, contents(folder, patched_blobs), strict=True))


@contextmanager
def _repository(*trees: Sequence[File]) -> Iterator[Path]:
    """A temporary repository with a branch for each of the trees, 0 and up."""
    with temporary.directory("campaign-") as folder:
        _git(folder, "init", "--quiet")
        with (folder / ".git" / "config").open("a") as config:
            config.write(_CONFIG)
        stream: list[bytes] = []
        for number, files in enumerate(trees):
            stream.append(b"commit refs/heads/%d\ncommitter x <x> 0 +0000\ndata 0\n" % number)
            for path, mode, data in files:
                stream += [b"M %s inline %s\ndata %d\n" % (mode.encode(), _quoted(path), len(data)), data, b"\n"]
        _git(folder, "fast-import", "--quiet", stdin=b"".join(stream))
        yield folder


def _quoted(path: str) -> bytes:
    """A path as git's fast-import takes any of them."""
    return b'"' + b"".join(rb"\%03o" % byte for byte in os.fsencode(path)) + b'"'


def _object(repository: Path, name: str) -> str:
    return _git(repository, "rev-parse", "--verify", "--quiet", "--end-of-options", name).decode().strip()


def _git(repository: Path, *words: str, stdin: bytes = b"") -> bytes:
    completed = _run(repository, *words, stdin=stdin)
    if completed.returncode != 0:
        error = completed.stderr.decode(errors="replace").strip() or f"revision {words[-1]} not found"
        raise InputError(f"git {words[0]} in {repository}: {error}")
    return completed.stdout


def _run(repository: Path, *words: str, stdin: bytes) -> subprocess.CompletedProcess[bytes]:
    command = ["git", "-C", str(repository), *words]
    # Variables such as GIT_DIR would select another repository.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    environment |= {"GIT_NO_LAZY_FETCH": "1", "GIT_TERMINAL_PROMPT": "0", "GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C"}
    environment |= {"GIT_NO_REPLACE_OBJECTS": "1", "GIT_ATTR_NOSYSTEM": "1"}
    try:
        return subprocess.run(
            command, input=stdin, capture_output=True, env=environment, timeout=TIMEOUT_S, check=False
        )
    except FileNotFoundError:
        raise EnvironmentLacks(
            "git not found: sources are compared with it, and read from revisions; install git"
        ) from None
    except subprocess.TimeoutExpired:
        raise EnvironmentLacks(f"git {words[0]} in {repository} timed out after {TIMEOUT_S:g} s") from None
