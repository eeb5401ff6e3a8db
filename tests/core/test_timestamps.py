"""Time stamps of RFC 3161: made by an authority of the test's own, checked without a network."""

from __future__ import annotations

import hashlib
import re
import subprocess
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from campaign.core import timestamps
from campaign.core.errors import InputError
from tests.support.authority import certificate, make

DIGEST = hashlib.sha256(b"head").hexdigest()


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make(tmp_path_factory.mktemp("authority"))


def obtain_stamp(authority: Path, folder: Path, digest: str = DIGEST) -> Path:
    assert timestamps.obtain(digest, str(authority / "stamp"), folder / "head.tsr") == ""
    return folder / "head.tsr"


def test_a_time_stamp_says_what_was_there_and_when(authority: Path, tmp_path: Path) -> None:
    stamp = timestamps.read(obtain_stamp(authority, tmp_path), authority / "cert.pem")
    assert (stamp.digest, stamp.problem) == (DIGEST, "")
    assert stamp.time is not None and abs(stamp.time - datetime.now(UTC)) < timedelta(minutes=5)


def test_a_time_stamp_of_another_authority_is_refused(authority: Path, tmp_path: Path) -> None:
    reply = obtain_stamp(authority, tmp_path)
    certificate(tmp_path, authority / "config", "other")
    assert timestamps.read(reply, tmp_path / "cert.pem").problem


def test_a_changed_time_stamp_is_refused(authority: Path, tmp_path: Path) -> None:
    reply = obtain_stamp(authority, tmp_path)
    data = bytearray(reply.read_bytes())
    place = data.index(bytes.fromhex(DIGEST))
    data[place] ^= 1
    reply.write_bytes(data)
    assert timestamps.read(reply, authority / "cert.pem").problem


@pytest.mark.parametrize("content", [b"", b"no stamp", bytes(range(256))])
def test_what_is_no_time_stamp_is_refused(tmp_path: Path, authority: Path, content: bytes) -> None:
    (tmp_path / "x.tsr").write_bytes(content)
    assert timestamps.read(tmp_path / "x.tsr", authority / "cert.pem").problem


def test_a_request_of_no_hash_is_refused() -> None:
    with pytest.raises(InputError):
        timestamps.request("no hash")


@pytest.fixture
def url(authority: Path, tmp_path: Path) -> Iterator[str]:
    """The authority behind HTTP; below /closed it answers with an error."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            assert self.headers["Content-Type"] == "application/timestamp-query"
            request, reply = tmp_path / "posted", tmp_path / "answer"
            request.write_bytes(self.rfile.read(int(self.headers["Content-Length"])))
            subprocess.run([authority / "stamp", request, reply], check=True, capture_output=True, timeout=800)
            self.send_response(503 if self.path == "/closed" else 200)
            self.end_headers()
            self.wfile.write(reply.read_bytes())

        def log_message(self, format: str, *args: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def test_a_url_is_asked_by_a_post(authority: Path, tmp_path: Path, url: str) -> None:
    assert timestamps.obtain(DIGEST, url, tmp_path / "folder/x.tsr") == ""
    assert timestamps.read(tmp_path / "folder/x.tsr", authority / "cert.pem").digest == DIGEST
    assert "503" in timestamps.obtain(DIGEST, f"{url}/closed", tmp_path / "y.tsr")
    assert not (tmp_path / "y.tsr").exists()


@pytest.mark.parametrize(
    ("service", "problem"),
    [
        ("false", "status 1: "),
        ("nowhere/stamp", "No such file"),
        ("cp", "not an RFC 3161 time stamp|unable|error|bad|wrong|Unable|Error"),  # the request as the reply
        ("true", "No such file"),
        ("an 'open quote", "No closing quotation"),
        ("http://127.0.0.1:9", "refused"),
    ],
)
def test_a_service_that_gives_no_time_stamp_is_a_problem_and_leaves_no_reply(
    tmp_path: Path, service: str, problem: str
) -> None:
    assert re.search(problem, timestamps.obtain(DIGEST, service, tmp_path / "x.tsr"))
    assert not (tmp_path / "x.tsr").exists()
