"""RFC 3161 time stamps by `openssl ts`: writes a request for a hash, and checks an authority's reply. Offline."""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from campaign.core.errors import EnvironmentLacks, InputError

PATIENCE_S = 20
LARGEST = 1 << 20  # bytes of a reply
_TIME = re.compile(r"^Time stamp: (.+ GMT)$", re.MULTILINE)
_HASH = re.compile(r"^Hash Algorithm: sha256$", re.MULTILINE)
_DUMP = re.compile(r"^    [0-9a-f]{4} - ((?:[0-9a-f]{2}[ -]){1,15}[0-9a-f]{2})", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Stamp:
    """`digest`: the stamped SHA-256; `problem`: why the reply is not valid."""

    digest: str = ""
    time: datetime | None = None
    problem: str = ""


def request(digest: str, out: Path) -> None:
    """Write the request for a time stamp of a SHA-256, to be sent to an authority."""
    _, trouble = _openssl("-query", "-digest", digest, "-sha256", "-cert", "-out", str(out))
    if trouble:
        raise InputError(f"{out}: cannot create the request for a time stamp: {trouble}")


_STAMP_UNREADABLE = "not an RFC 3161 time stamp of a SHA-256 hash"


def read(reply: Path, authority: Path) -> Stamp:
    """What a reply stamps and when, checked against the certificates of an authority."""
    if reply.stat().st_size > LARGEST:
        return Stamp(problem=f"larger than {LARGEST} bytes")
    text, trouble = _openssl("-reply", "-in", str(reply), "-text")
    time, digest = _TIME.search(text), "".join(re.findall("[0-9a-f]{2}", " ".join(_DUMP.findall(text))))
    if trouble or time is None or not _HASH.search(text) or len(digest) != 64:
        return Stamp(problem=trouble or _STAMP_UNREADABLE)
    try:
        at = datetime.strptime(re.sub(r"\.\d+", "", time[1]), "%b %d %H:%M:%S %Y %Z").replace(tzinfo=UTC)
    except ValueError:
        return Stamp(problem=_STAMP_UNREADABLE)
    _, trouble = _openssl("-verify", "-digest", digest, "-in", str(reply), "-CAfile", str(authority))
    return Stamp(digest, at, trouble)


def _openssl(*words: str) -> tuple[str, str]:
    """What `openssl ts` printed, and the problem."""
    try:
        done = subprocess.run(["openssl", "ts", *words], capture_output=True, timeout=PATIENCE_S, check=False)
    except FileNotFoundError as error:
        raise EnvironmentLacks("openssl: not found; install it to make or check time stamps") from error
    except subprocess.TimeoutExpired:
        return "", f"openssl did not answer within {PATIENCE_S} s"
    out = done.stdout.decode(errors="replace")
    said = [line for line in done.stderr.decode(errors="replace").splitlines() if not line.startswith("Using conf")]
    return out, "" if done.returncode == 0 else (said or ["refused"])[-1]
