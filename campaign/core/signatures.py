"""Signatures by ssh-keygen: creates them, and says who signed a text, by a list of allowed signers."""

from __future__ import annotations

import base64
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

from campaign.core.errors import InputError

PATIENCE_S = 20
_VERSION = b"SSHSIG\0\0\0\1"  # ssh-keygen takes version 0 for 1
_ARMOR = re.compile(rb"-----BEGIN SSH SIGNATURE-----\n([A-Za-z0-9+/=\n]+)\n-----END SSH SIGNATURE-----\n")


@dataclass(frozen=True, slots=True)
class SignatureCheck:
    """`by`: the signer's name in the list of allowed signers, or the key that made the signature, whoever owns it; ""
    if there is a `problem`.
    """

    by: str = ""
    problem: str = ""


def verify(text: bytes, signature: Path, allowed: Path, namespace: str) -> SignatureCheck:
    """Check a signature (`ssh-keygen -Y sign -n NAMESPACE`) against the text and the list of allowed signers."""
    if not signature.is_file():
        return SignatureCheck(problem=f"signature {signature}: not found")
    if not allowed.is_file():
        return SignatureCheck(problem=f"list of allowed signers {allowed}: not found")
    signers, trouble = _keygen("-Y", "find-principals", "-s", str(signature), "-f", str(allowed))
    if trouble is not None or not signers.strip():
        reason = f"no key in {allowed.name} matches the signature: {trouble}" if trouble else ""
        return SignatureCheck(problem=reason or f"signed by a key that is not in {allowed.name}")
    for signer in signers.splitlines():
        place = ("-I", signer, "-n", namespace, "-s", str(signature), "-f", str(allowed))
        _, trouble = _keygen("-Y", "verify", *place, text=text)
        if trouble is None:
            return SignatureCheck(signer)
    return SignatureCheck(problem=_signature_wrong(trouble))


def has_signers(path: Path) -> bool:
    """Whether a file has at least one line of a list of allowed signers: principals, options, type and key."""
    line = rb"\s*[^#\s]\S*\s.*?\b(?:ssh|ecdsa|sk)-\S+\s+[A-Za-z0-9+/=]{20,}"
    return any(re.match(line, key_line) for key_line in path.read_bytes().splitlines())


def sign(path: Path, key: Path, namespace: str) -> None:
    """Write `<path>.sig`. Raises InputError where the key cannot be used."""
    if not key.is_file():
        raise InputError(f"{key}: not found; give an SSH private key, or the public key of one in ssh-agent")
    _, trouble = _keygen("-Y", "sign", "-f", str(key), "-n", namespace, str(path))
    if trouble is not None:
        raise InputError(f"{key}: cannot sign: {trouble}; give an SSH private key")


def made_by(text: bytes, signature: Path, namespace: str) -> SignatureCheck:
    """The key that made a signature of the text; no list of keys is needed. The signature file must be exactly as
    ssh-keygen writes it, so that no byte can be changed unnoticed.
    """
    match = _ARMOR.fullmatch(signature.read_bytes())
    try:
        blob = base64.b64decode(match[1].replace(b"\n", b"")) if match else b""
    except ValueError:
        blob = b""
    if not match or not blob.startswith(_VERSION) or _wrapped(blob, match[1].find(b"\n")) != match[1]:
        return SignatureCheck(problem="not a signature as ssh-keygen writes it")
    output, trouble = _keygen("-Y", "check-novalidate", "-n", namespace, "-s", str(signature), text=text)
    if trouble is not None:
        return SignatureCheck(problem=_signature_wrong(trouble))
    return SignatureCheck(output.strip().rpartition(" with ")[2])


def _signature_wrong(reason: object) -> str:
    return f"the signature does not match the content: {reason}"


def _wrapped(blob: bytes, width: int) -> bytes:
    text = base64.b64encode(blob)
    width = width if width > 0 else len(text)
    return b"\n".join(text[start : start + width] for start in range(0, len(text), width))


def _keygen(*words: str, text: bytes = b"") -> tuple[str, str | None]:
    """What ssh-keygen printed, and the problem."""
    try:
        completed = subprocess.run(
            ["ssh-keygen", *words], input=text, capture_output=True, timeout=PATIENCE_S, check=False
        )
    except FileNotFoundError:
        return "", "ssh-keygen not found; install openssh-client"
    except subprocess.TimeoutExpired:
        return "", f"ssh-keygen timed out after {PATIENCE_S} s"
    error = completed.stderr.decode(errors="replace").strip().splitlines()
    out = completed.stdout.decode(errors="replace")
    return out, None if completed.returncode == 0 else (error or out.splitlines() or ["refused"])[-1]
