"""A full disk is this machine's trouble: it is named, and never taken for a fault of the bundle."""

from __future__ import annotations

import errno
import json
import sqlite3
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from campaign.cli.main import main
from campaign.core.errors import ENVIRONMENT
from campaign.evidence import replay
from campaign.results.store import Store
from campaign.slurm import scripts
from tests.support.bundled import Vendor
from tests.support.command_line import CAMPAIGN


def run_in_file_system(vendor: Vendor, place: Path, size: str, command: str) -> subprocess.CompletedProcess[str]:
    """Of a shell in a namespace of its own, where a file system of this size is mounted at `place`."""
    place.mkdir(exist_ok=True)
    mount = f"mount -t tmpfs -o size={size} none '{place}' && {command}"
    return subprocess.run(
        ["unshare", "--map-root-user", "--mount", "sh", "-c", mount],
        capture_output=True, text=True, timeout=800, env=vendor.environment,
    )  # fmt: skip


EACH_SIZE = """
import contextlib, gc, io, json, subprocess, sys, tempfile
from campaign.cli.main import main

place, sizes, *bundles = sys.argv[1], json.loads(sys.argv[2]), *sys.argv[3:]
tempfile.tempdir = place
for bundle in bundles:
    for size in sizes:
        subprocess.run(["mount", "-t", "tmpfs", "-o", size, "none", place], check=True)
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            status = main(["verify", bundle])
        gc.collect()  # what a caught error still holds open keeps the place busy
        subprocess.run(["umount", place], check=True)
        print(json.dumps([bundle, size, status, out.getvalue(), err.getvalue()]))
"""


def test_a_bundle_that_finds_no_room_at_any_moment_of_its_verification_is_not_called_altered(
    vendor: Vendor, tmp_path: Path
) -> None:
    files = [path for path in (vendor.root / "plain").rglob("*") if path.is_file()]
    size = sum(path.stat().st_size for path in files)
    packed = tmp_path / "plain.tar.gz"
    subprocess.run(["tar", "-C", vendor.root, "-czf", packed, "plain"], check=True, timeout=800)
    place = tmp_path / "small"
    place.mkdir()
    shares = (*(number / 100 for number in range(2, 50, 12)), *(number / 100 for number in range(50, 130, 4)))
    sizes = [f"size={max(8, round(size * share / 1024))}k" for share in shares]
    sizes += [f"nr_inodes={round(len(files) * share)}" for share in (0.1, 0.5, 0.9, 0.95, 1, 1.05, 1.1, 1.2, 1.5, 2)]
    python = [sys.executable, "-c", EACH_SIZE, str(place), json.dumps([*sizes, "size=1g"]), str(packed)]
    process = subprocess.run(
        ["unshare", "--map-root-user", "--mount", *python, str(vendor.root / "plain")],
        capture_output=True, text=True, timeout=900, env=vendor.environment, check=True,
    )  # fmt: skip
    outcomes = [json.loads(line) for line in process.stdout.splitlines()]
    complete = {bundle: (status, out) for bundle, size, status, out, _ in outcomes if size == "size=1g"}
    lacking = [(size, out, err) for _, size, status, out, err in outcomes if status == ENVIRONMENT]
    assert len(lacking) > len(outcomes) / 4
    for size, out, err in lacking:
        assert (out == "" and str(place) in err) or "temporary directory" in err, (size, out, err)
        assert "set TMPDIR to a directory with more space" in err or "file system is full" in err, (size, err)
    for bundle, size, status, out, err in outcomes:
        assert status == ENVIRONMENT or (status, out) == complete[bundle], (size, out, err)
    assert all(status != ENVIRONMENT for status, _ in complete.values())


TROUBLES = {
    "an unreadable disk": OSError(errno.EIO, "Input/output error", "/tmp/x"),
    "a file that this user may not read": PermissionError(errno.EACCES, "Permission denied", "/tmp/x"),
    "too many open files": OSError(errno.EMFILE, "Too many open files", "/tmp/x"),
    "no memory": MemoryError(),
    "a database that cannot be written": sqlite3.OperationalError("disk I/O error"),
}


@pytest.mark.parametrize("trouble", TROUBLES)
def test_trouble_of_the_machine_is_no_fault_of_the_bundle(
    trouble: str, vendor: Vendor, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    error = TROUBLES[trouble]
    if isinstance(error, sqlite3.OperationalError):
        error.sqlite_errorcode = sqlite3.SQLITE_IOERR
    for place, name in ((replay, "evaluate"), (Store, "attempts"), (scripts, "render_template")):
        for wrapped in (False, True):

            def fails(*_: object, wrapped: bool = wrapped, **__: object) -> None:
                if wrapped and not isinstance(error, sqlite3.Error):
                    raise ValueError("damaged") from error
                with Store._storage_errors(SimpleNamespace(_path="/tmp/x")):  # type: ignore[arg-type]
                    raise error

            with monkeypatch.context() as patched:
                patched.setattr(place, name, fails)
                assert main(["verify", str(vendor.root / "plain")]) == ENVIRONMENT, (name, wrapped)
            assert capsys.readouterr().out == ""


@pytest.mark.parametrize("name", ["offer", "offer.zip", "offer.tar.gz"])
def test_a_bundle_that_finds_no_room_is_named_and_leaves_nothing(name: str, vendor: Vendor, tmp_path: Path) -> None:
    place = tmp_path / "small"
    command = f"{{ {CAMPAIGN} bundle '{vendor.file}' -o '{place}/{name}'; s=$?; ls -A '{place}'; exit $s; }}"
    process = run_in_file_system(vendor, place, "200k", command)
    assert (process.returncode, process.stdout) == (ENVIRONMENT, "")
    assert process.stderr == f"campaign: {place}/{name}: cannot be written: No space left on device\n"


def test_a_report_that_finds_no_room_names_its_file(vendor: Vendor, tmp_path: Path) -> None:
    place = tmp_path / "small"
    process = run_in_file_system(vendor, place, "40k", f"{CAMPAIGN} report '{vendor.file}' -o '{place}/report'")
    assert process.returncode == ENVIRONMENT
    assert process.stderr.startswith(f"campaign: {place}/report/") and "No space left on device" in process.stderr
