"""Signatures by ssh-keygen: whose a text is, by a list of keys, and that a signature cannot be changed unnoticed."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from campaign.core import signatures
from campaign.core.errors import InputError

SPACE = "a-namespace"


@pytest.fixture
def signed_file(tmp_path: Path) -> Path:
    """`text` with `text.sig`, beside the key `key` and the list `signers`."""
    key = tmp_path / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key], timeout=800, check=True)
    (tmp_path / "signers").write_text(f"somebody {key.with_suffix('.pub').read_text()}")
    text = tmp_path / "text"
    text.write_text("what is said\n")
    signatures.sign(text, key, SPACE)
    return text


def verify(text: Path, space: str = SPACE) -> signatures.SignatureCheck:
    return signatures.verify(text.read_bytes(), Path(f"{text}.sig"), text.with_name("signers"), space)


def test_a_signer_is_known_by_the_list(signed_file: Path) -> None:
    assert verify(signed_file) == signatures.SignatureCheck("somebody")
    check = signatures.made_by(signed_file.read_bytes(), Path(f"{signed_file}.sig"), SPACE)
    assert check.problem == ""
    assert check.by.startswith("ED25519 key SHA256:")


def test_another_text_another_purpose_and_an_unknown_key_are_reported(signed_file: Path) -> None:
    assert "does not match the content" in verify(signed_file, "another-namespace").problem
    signed_file.with_name("signers").write_text("")
    assert "no key in signers matches the signature" in verify(signed_file).problem
    signed_file.write_text("what is not said\n")
    assert (
        "does not match the content"
        in signatures.made_by(signed_file.read_bytes(), Path(f"{signed_file}.sig"), SPACE).problem
    )


def test_no_bit_of_a_signature_can_be_changed(signed_file: Path) -> None:
    path = Path(f"{signed_file}.sig")
    data = path.read_bytes()
    for place in range(0, len(data), 7):
        path.write_bytes(data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :])
        assert signatures.made_by(signed_file.read_bytes(), path, SPACE).problem, place
    path.write_bytes(data + b"\n")
    assert (
        signatures.made_by(signed_file.read_bytes(), path, SPACE).problem == "not a signature as ssh-keygen writes it"
    )


def test_files_that_are_not_there_are_named(signed_file: Path) -> None:
    with pytest.raises(InputError, match="other: not found"):
        signatures.sign(signed_file, signed_file.with_name("other"), SPACE)
    with pytest.raises(InputError, match="cannot sign"):
        signatures.sign(signed_file, signed_file, SPACE)
    Path(f"{signed_file}.sig").unlink()
    assert "not found" in verify(signed_file).problem
