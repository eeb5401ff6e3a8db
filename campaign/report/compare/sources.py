"""Where offers are read from: a campaign file, its results, a bundle, a table as JSON.

Everything but a campaign of one's own may come from a stranger: sizes are bounded, links are not followed, nothing is
unpacked to disk. Of a bundle its table alone is read and held against the manifest, a thousand times in some seconds;
`bags` reads a bundle as a whole, for `verify`.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import lzma
import os
import re
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

from campaign.core.bagit import MANIFEST
from campaign.core.errors import InputError
from campaign.report.compare.offers import Offer, read

MAX_BYTES = 64 * 1024 * 1024  # of a table, of a manifest
MAX_MEMBERS = 1_000_000  # of an archive
MAX_UNPACKED_BYTES = 16 * 1024**3  # of a compressed archive, on the way to its table

TABLE = "data/tables/table.json"
ALLOWED = (
    "a campaign file (.yaml), its results directory, a bundle (directory, .zip, .tar.gz), or a table as "
    "'campaign table --format json' writes it"
)


def load(path: Path) -> Offer:
    """One offer. Raises InputError with the file and the place in it."""
    try:
        found = path.stat()
        if stat.S_ISDIR(found.st_mode):
            return _directory(path)
        if not stat.S_ISREG(found.st_mode):
            raise InputError(f"{path}: neither a file nor a directory; allowed: {ALLOWED}")
        if path.suffix in (".yaml", ".yml"):
            return _campaign(path)
        if path.suffix == ".zip":
            return _bundled(str(path), _from_zip(path))
        if path.name.endswith((".tar.gz", ".tgz")):
            return _bundled(str(path), _from_tar(path))
        return replace(read(str(path), _json(str(path), _bytes(path))), remark="a table, taken at its word")
    except OSError as error:
        raise InputError(f"{error.filename or path}: {error.strerror or error}; allowed: {ALLOWED}") from error


def _campaign(path: Path) -> Offer:
    from campaign.config.opened import open_campaign
    from campaign.pipeline import standing

    rows = standing.recorded(open_campaign(path)).rows
    return read(str(path), [row.as_json() for row in rows])


def _directory(path: Path) -> Offer:
    if (path / "bagit.txt").exists():
        table = path / TABLE
        for place in (path / MANIFEST, table, table.parent, table.parent.parent):
            if place.is_symlink():
                raise InputError(f"{place}: a link, which no bundle has: 'campaign verify' says what else is wrong")
        names = [name for name in (TABLE, MANIFEST) if (path / name).exists()]
        return _bundled(str(path), {name: _bytes(path / name) for name in names})
    plan = path / "plan.json"
    if not plan.is_file():
        raise InputError(f"{path}: neither a bundle (no bagit.txt) nor results (no plan.json); allowed: {ALLOWED}")
    stored = _json(str(plan), _bytes(plan))
    file = stored.get("file") if isinstance(stored, dict) else None
    if not isinstance(file, str) or not Path(file).is_file():
        raise InputError(
            f"{path}: its campaign file {f'{file!r:.200} ' if file else ''}is not there any more: "
            "give the campaign file, a bundle, or the table as JSON"
        )
    from campaign.config.opened import open_campaign

    results = open_campaign(Path(file)).paths.root
    if results.resolve() != path.resolve():
        raise InputError(
            f"{path}: its campaign file {file} has its results in {results}: give the campaign file of these results"
        )
    return replace(_campaign(Path(file)), source=str(path))


# --- bundles


def _bundled(source: str, files: Mapping[str, bytes]) -> Offer:
    """The offer of a bundle's table, which has to be the one that its manifest lists."""
    for name in (TABLE, MANIFEST):
        if name not in files:
            raise InputError(f"{source}: no {name}: not a bundle as 'campaign bundle' makes it")
    line = re.search(rb"^([0-9a-f]{64})  " + re.escape(TABLE.encode()) + rb"$", files[MANIFEST], re.M)
    if line is None:
        raise InputError(f"{source}: {MANIFEST} does not list {TABLE}: 'campaign verify' says what else is wrong")
    if hashlib.sha256(files[TABLE]).hexdigest() != line[1].decode():
        raise InputError(f"{source}: {TABLE} is not the one in {MANIFEST}: it was changed after it was bundled")
    place = f"{source}/{TABLE}"
    return replace(
        read(place, _json(place, files[TABLE])),
        remark="a bundle's table, taken at its word: 'campaign verify' judges its logs again",
    )


def _wanted(name: str) -> str | None:
    """Which of the files that are read a member of an archive is: at its top, or in the one folder there."""
    parts = name.removeprefix("./").split("/")
    for file in (TABLE, MANIFEST):
        depth = file.count("/") + 1
        if parts[-depth:] == file.split("/") and len(parts) <= depth + 1 and ".." not in parts and parts[0] != "":
            return file
    return None


def _from_zip(path: Path) -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    try:
        with zipfile.ZipFile(path) as archive:
            members = archive.infolist()
            if len(members) > MAX_MEMBERS:
                raise InputError(f"{path}: found {len(members)} members; allowed: up to {MAX_MEMBERS}")
            for member in members:
                file = _wanted(member.filename)
                if file is None:
                    continue
                if stat.S_IFMT(member.external_attr >> 16) not in (0, stat.S_IFREG):
                    _unfit(path, member.filename, "not a regular file")
                if file in found:
                    _unfit(path, member.filename, "there is a second one")
                with archive.open(member) as stream:
                    found[file] = stream.read(MAX_BYTES + 1)
                if len(found[file]) > MAX_BYTES:
                    _unfit(path, member.filename, f"more than {MAX_BYTES} bytes; allowed: up to that")
    except (zipfile.BadZipFile, zlib.error, lzma.LZMAError, OSError, *_BROKEN) as error:
        raise InputError(f"{path}: not a whole zip archive: {error}") from error
    return found


class _Bounded(gzip.GzipFile):
    """Reads no more at once than a table may have: headers of an archive may claim any length."""

    def read(self, size: int | None = -1) -> bytes:
        if size is None or not 0 <= size <= MAX_BYTES + tarfile.RECORDSIZE:
            raise ValueError(f"a part of {size} bytes; allowed: up to {MAX_BYTES}")
        return super().read(size)


def _from_tar(path: Path) -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    try:
        with _Bounded(path) as stream, tarfile.open(fileobj=stream, mode="r:") as archive:
            for number, member in enumerate(archive, 1):
                if number > MAX_MEMBERS or archive.offset > MAX_UNPACKED_BYTES:
                    _unfit(path, member.name, f"beyond {MAX_MEMBERS} members or {MAX_UNPACKED_BYTES} bytes")
                file = _wanted(member.name)
                if file is None:
                    continue
                if not member.isreg() or member.issparse():
                    _unfit(path, member.name, "not a regular file")
                if file in found:
                    _unfit(path, member.name, "there is a second one")
                if member.size > MAX_BYTES:
                    _unfit(path, member.name, f"more than {MAX_BYTES} bytes; allowed: up to that")
                stream.seek(member.offset_data)
                found[file] = stream.read(member.size)
                if len(found[file]) < member.size:
                    _unfit(path, member.name, "cut off")
    except (tarfile.TarError, zlib.error, OSError, *_BROKEN) as error:
        raise InputError(f"{path}: not a whole tar archive: {error}") from error
    return found


_BROKEN = (EOFError, ValueError, RuntimeError, NotImplementedError, OverflowError)  # what the libraries raise besides


def _unfit(path: Path, name: str, why: str) -> NoReturn:
    raise InputError(f"{path}: {name!r:.200}: {why}")


# --- files


def _bytes(path: Path) -> bytes:
    """A regular file's, and not too many: neither a pipe nor a device is waited for."""
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb") as stream:
        if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
            raise InputError(f"{path}: not a regular file")
        data = stream.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise InputError(f"{path}: more than {MAX_BYTES} bytes; allowed: up to that")
    return data


def _json(source: str, data: bytes) -> Any:
    try:
        return json.loads(data.decode("utf-8"), parse_constant=_constant)
    except json.JSONDecodeError as error:
        raise InputError(f"{source}:{error.lineno}:{error.colno}: not JSON: {error.msg}; allowed: {ALLOWED}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{source}: not UTF-8 at byte {error.start}; allowed: {ALLOWED}") from error
    except RecursionError:
        raise InputError(f"{source}: nested too deeply; allowed: {ALLOWED}") from None
    except ValueError as error:
        raise InputError(f"{source}: {error}; allowed: {ALLOWED}") from error


def _constant(word: str) -> NoReturn:
    raise ValueError(f"found {word}, which is no number of JSON")
