"""Signatures by ssh-keygen: who signed a text, by a list of allowed signers."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

PATIENCE_S = 20


@dataclass(frozen=True, slots=True)
class Verified:
    """`signer` as the list of allowed signers names it; "" where `problem` says why there is none."""

    signer: str = ""
    problem: str = ""


def verify(text: bytes, signature: Path, allowed: Path, namespace: str) -> Verified:
    """Hold a signature (`ssh-keygen -Y sign -n NAMESPACE`) against the text and the list of allowed signers."""
    for what, path in (("signature", signature), ("list of allowed signers", allowed)):
        if not path.is_file():
            return Verified(problem=f"the {what} {path} is not there")
    found, trouble = _keygen("-Y", "find-principals", "-s", str(signature), "-f", str(allowed))
    if trouble is not None or not found.strip():
        return Verified(problem=f"no key of {allowed.name} made the signature" + (f": {trouble}" if trouble else ""))
    for signer in found.splitlines():
        place = ("-I", signer, "-n", namespace, "-s", str(signature), "-f", str(allowed))
        _, trouble = _keygen("-Y", "verify", *place, text=text)
        if trouble is None:
            return Verified(signer)
    return Verified(problem=f"the signature is not one of this text: {trouble}")


def _keygen(*words: str, text: bytes = b"") -> tuple[str, str | None]:
    """What it printed, and what was wrong."""
    try:
        done = subprocess.run(["ssh-keygen", *words], input=text, capture_output=True, timeout=PATIENCE_S, check=False)
    except FileNotFoundError:
        return "", "ssh-keygen is not there: install openssh-client"
    except subprocess.TimeoutExpired:
        return "", f"ssh-keygen gave no answer within {PATIENCE_S} s"
    error = done.stderr.decode(errors="replace").strip().splitlines()
    out = done.stdout.decode(errors="replace")
    return out, None if done.returncode == 0 else (error or out.splitlines() or ["refused"])[-1]
