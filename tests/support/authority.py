"""A time-stamp authority (RFC 3161) of the tests' own, by `openssl ts`: no network is needed."""

from __future__ import annotations

import subprocess
from pathlib import Path

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
COMMAND = """#!/bin/sh
set -e
[ ! -e {folder}/closed ] || {{ echo "closed today" >&2; exit 1; }}
openssl ts -reply -config {folder}/config -section one -signer {folder}/cert.pem -inkey {folder}/key.pem \\
    -queryfile "$1" -out "$2"
"""


def openssl(*words: str | Path) -> None:
    subprocess.run(["openssl", *map(str, words)], check=True, capture_output=True, timeout=800)


def certificate(folder: Path, config: Path, name: str) -> None:
    """A key and its certificate, `key.pem` and `cert.pem`, in a folder."""
    openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "9",
            "-config", config, "-extensions", "ext", "-subj", f"/CN={name}",
            "-keyout", folder / "key.pem", "-out", folder / "cert.pem")  # fmt: skip


def make(folder: Path) -> Path:
    """The authority's folder, with `cert.pem`, and `stamp`, the command that answers the request in file $1 in file $2;
    it fails while there is a file `closed`.
    """
    folder.mkdir(exist_ok=True)
    (folder / "config").write_text(CONFIG.format(folder=folder))
    (folder / "serial").write_text("01\n")
    certificate(folder, folder / "config", "authority")
    (folder / "stamp").write_text(COMMAND.format(folder=folder))
    (folder / "stamp").chmod(0o755)
    return folder
