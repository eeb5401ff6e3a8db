"""A full disk is this machine's trouble: it is named, and never taken for a fault of the bundle."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from campaign.core.errors import ENVIRONMENT
from tests.support.bundled import Made
from tests.support.command_line import CAMPAIGN


def within(made: Made, place: Path, size: str, command: str) -> subprocess.CompletedProcess[str]:
    """Of a shell in a namespace of its own, where a file system of this size is mounted at `place`."""
    place.mkdir(exist_ok=True)
    mount = f"mount -t tmpfs -o size={size} none '{place}' && {command}"
    return subprocess.run(
        ["unshare", "--map-root-user", "--mount", "sh", "-c", mount],
        capture_output=True, text=True, timeout=300, env=made.environment,
    )  # fmt: skip


@pytest.mark.parametrize("share", [0.02, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0, 1.15])
def test_a_bundle_that_finds_no_room_to_be_unpacked_and_judged_is_not_called_altered(
    share: float, made: Made, tmp_path: Path
) -> None:
    size = sum(path.stat().st_size for path in (made.root / "plain").rglob("*") if path.is_file())
    packed = tmp_path / "plain.tar.gz"
    subprocess.run(["tar", "-C", made.root, "-czf", packed, "plain"], check=True, timeout=300)
    place = tmp_path / "small"
    for bundle in (packed, made.root / "plain"):
        verify = f"TMPDIR='{place}' {CAMPAIGN} verify '{bundle}'"
        done = within(made, place, f"{max(8, round(size * share / 1024))}k", verify)
        if done.returncode == ENVIRONMENT or share < 0.8:
            assert "No space left on device; set TMPDIR to a directory with more space" in done.stderr
            assert done.stdout == ""
        else:
            assert done.stdout == within(made, place, "1g", verify).stdout


@pytest.mark.parametrize("name", ["offer", "offer.zip", "offer.tar.gz"])
def test_a_bundle_that_finds_no_room_is_named_and_leaves_nothing(name: str, made: Made, tmp_path: Path) -> None:
    place = tmp_path / "small"
    command = f"{{ {CAMPAIGN} bundle '{made.file}' -o '{place}/{name}'; s=$?; ls -A '{place}'; exit $s; }}"
    done = within(made, place, "200k", command)
    assert (done.returncode, done.stdout) == (ENVIRONMENT, "")
    assert done.stderr == f"campaign: {place}/{name}: cannot be written: No space left on device\n"


def test_a_report_that_finds_no_room_names_its_file(made: Made, tmp_path: Path) -> None:
    place = tmp_path / "small"
    done = within(made, place, "40k", f"{CAMPAIGN} report '{made.file}' -o '{place}/report'")
    assert done.returncode == ENVIRONMENT
    assert done.stderr.startswith(f"campaign: {place}/report/") and "No space left on device" in done.stderr
