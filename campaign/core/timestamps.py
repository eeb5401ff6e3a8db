"""RFC 3161 time stamps by `openssl ts`: writes a request for a hash, sends it, and checks an authority's reply."""

from __future__ import annotations

import re
import shlex
import subprocess
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from campaign.core.errors import CampaignError, EnvironmentLacks, InputError

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


def request(digest: str) -> bytes:
    """The request for a time stamp of a SHA-256, to be sent to an authority."""
    content, trouble = _openssl("-query", "-digest", digest, "-sha256", "-cert")
    if trouble:
        raise InputError(f"cannot create the request for a time stamp: {trouble}")
    return content


def obtain(digest: str, service: str, reply: Path) -> str:
    """Have a SHA-256 stamped by a service, a URL or a command, which is called with the files of request and reply;
    gives the problem, "" if there is a time stamp, which only the buyer checks against certificates.
    """
    query_file, reply_part = reply.with_suffix(".tsq"), reply.with_suffix(".part")
    try:
        reply.parent.mkdir(parents=True, exist_ok=True)
        query_file.write_bytes(request(digest))
        if service.startswith(("http://", "https://")):
            import urllib.request  # with TLS and more, which a driver does without

            post = urllib.request.Request(
                service, query_file.read_bytes(), {"Content-Type": "application/timestamp-query"}
            )
            with urllib.request.urlopen(post, timeout=PATIENCE_S) as answer:
                reply_part.write_bytes(answer.read(LARGEST))
        else:
            command = [*shlex.split(service), str(query_file), str(reply_part)]
            completed = subprocess.run(
                command, capture_output=True, stdin=subprocess.DEVNULL, timeout=PATIENCE_S, check=False
            )
            if completed.returncode != 0:
                return f"status {completed.returncode}: {completed.stderr.decode(errors='replace').strip()[-200:]}"
        stamp = _content(reply_part)
        if not stamp.problem:
            reply_part.rename(reply)
        return stamp.problem
    except (OSError, ValueError, CampaignError, subprocess.SubprocessError) as error:
        return str(error)


_STAMP_UNREADABLE = "not an RFC 3161 time stamp of a SHA-256 hash"


def read(reply: Path, authority: Path) -> Stamp:
    """What a reply stamps and when, checked against the certificates of an authority."""
    stamp = _content(reply)
    if stamp.problem:
        return stamp
    _, trouble = _openssl("-verify", "-digest", stamp.digest, "-in", str(reply), "-CAfile", str(authority))
    return replace(stamp, problem=trouble)


def _content(reply: Path) -> Stamp:
    """What a reply stamps and when, by its own words."""
    if reply.stat().st_size > LARGEST:
        return Stamp(problem=f"larger than {LARGEST} bytes")
    content, trouble = _openssl("-reply", "-in", str(reply), "-text")
    text = content.decode(errors="replace")
    time, digest = _TIME.search(text), "".join(re.findall("[0-9a-f]{2}", " ".join(_DUMP.findall(text))))
    if trouble or time is None or not _HASH.search(text) or len(digest) != 64:
        return Stamp(problem=trouble or _STAMP_UNREADABLE)
    try:
        at = datetime.strptime(re.sub(r"\.\d+", "", time[1]), "%b %d %H:%M:%S %Y %Z").replace(tzinfo=UTC)
    except ValueError:
        return Stamp(problem=_STAMP_UNREADABLE)
    return Stamp(digest, at)


def _openssl(*words: str) -> tuple[bytes, str]:
    """What `openssl ts` printed, and the problem."""
    try:
        completed = subprocess.run(["openssl", "ts", *words], capture_output=True, timeout=PATIENCE_S, check=False)
    except FileNotFoundError as error:
        raise EnvironmentLacks("openssl: not found; install it to make or check time stamps") from error
    except subprocess.TimeoutExpired:
        return b"", f"openssl did not answer within {PATIENCE_S} s"
    messages = [
        line for line in completed.stderr.decode(errors="replace").splitlines() if not line.startswith("Using conf")
    ]
    return completed.stdout, "" if completed.returncode == 0 else (messages or ["refused"])[-1]
