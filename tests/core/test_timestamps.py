"""Time stamps of RFC 3161: made by an authority of the test's own, checked without a network."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from campaign.core import timestamps
from campaign.core.errors import InputError

pytestmark = pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is not installed")
CONFIG = """
[req]
distinguished_name = name
[name]
[ext]
extendedKeyUsage = critical,timeStamping
[one]
serial = {folder}/serial
default_policy = 1.2.3.4.1
digests = sha256
signer_digest = sha256
"""
DIGEST = hashlib.sha256(b"head").hexdigest()


def openssl(*words: str | Path) -> None:
    subprocess.run(["openssl", *map(str, words)], check=True, capture_output=True, timeout=300)


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the authority's key, its certificate `cert.pem`, and `config`."""
    folder = tmp_path_factory.mktemp("authority")
    (folder / "config").write_text(CONFIG.format(folder=folder))
    (folder / "serial").write_text("01\n")
    openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "9",
            "-config", folder / "config", "-extensions", "ext", "-subj", "/CN=authority",
            "-keyout", folder / "key.pem", "-out", folder / "cert.pem")  # fmt: skip
    return folder


def stamped(authority: Path, folder: Path, digest: str = DIGEST) -> Path:
    timestamps.request(digest, folder / "head.tsq")
    key = ("-signer", authority / "cert.pem", "-inkey", authority / "key.pem")
    place = ("-queryfile", folder / "head.tsq", "-out", folder / "head.tsr")
    openssl("ts", "-reply", "-config", authority / "config", "-section", "one", *key, *place)
    return folder / "head.tsr"


def test_a_time_stamp_says_what_was_there_and_when(authority: Path, tmp_path: Path) -> None:
    found = timestamps.read(stamped(authority, tmp_path), authority / "cert.pem")
    assert (found.digest, found.problem) == (DIGEST, "")
    assert found.time is not None and abs(found.time - datetime.now(UTC)) < timedelta(minutes=5)


def test_a_time_stamp_of_another_authority_is_refused(authority: Path, tmp_path: Path) -> None:
    reply = stamped(authority, tmp_path)
    openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "9",
            "-config", authority / "config", "-extensions", "ext", "-subj", "/CN=other",
            "-keyout", tmp_path / "key.pem", "-out", tmp_path / "cert.pem")  # fmt: skip
    assert timestamps.read(reply, tmp_path / "cert.pem").problem


def test_a_changed_time_stamp_is_refused(authority: Path, tmp_path: Path) -> None:
    reply = stamped(authority, tmp_path)
    data = bytearray(reply.read_bytes())
    place = data.index(bytes.fromhex(DIGEST))
    data[place] ^= 1
    reply.write_bytes(data)
    assert timestamps.read(reply, authority / "cert.pem").problem


@pytest.mark.parametrize("content", [b"", b"no stamp", bytes(range(256))])
def test_what_is_no_time_stamp_is_refused(tmp_path: Path, authority: Path, content: bytes) -> None:
    (tmp_path / "x.tsr").write_bytes(content)
    assert timestamps.read(tmp_path / "x.tsr", authority / "cert.pem").problem


def test_a_request_of_no_hash_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError):
        timestamps.request("no hash", tmp_path / "x.tsq")
