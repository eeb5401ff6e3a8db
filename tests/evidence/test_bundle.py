"""Bundles: what is in them, and that nothing of a campaign under way or changed is handed in unseen."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import sqlite3
import tarfile
import zipfile
from contextlib import closing
from pathlib import Path

import pytest

from campaign.core import bagit
from tests.support.bundled import Vendor


def test_a_bundle_has_the_evidence_and_what_follows_from_it(vendor: Vendor) -> None:
    names = {
        str(path.relative_to(vendor.root / "plain")) for path in (vendor.root / "plain").rglob("*") if path.is_file()
    }
    (build,) = (path.name for path in (vendor.root / "plain/data/provenance").glob("benchmark-*.json"))
    assert {name for name in names if not name.startswith("data/results/")} == {
        "bagit.txt",
        "bag-info.txt",
        "manifest-sha256.txt",
        "tagmanifest-sha256.txt",
        "data/campaign.yaml",
        "data/names.json",
        f"data/provenance/{build}",
        "data/provenance/tables.json",
        "data/rules/crossroads-mdtest.yaml",
        "data/index.json",
        "data/ro-crate-metadata.json",
        "data/findings.json",
        "data/findings.txt",
        "data/verdict.json",
        "data/tables/table.txt",
        "data/tables/table.csv",
        "data/tables/table.json",
        "data/tables/clauses.csv",
        "data/tables/clauses.json",
    }
    for form in ("csv", "json"):
        stdout = vendor.call("table", vendor.file, "--clauses", "--format", form).stdout
        assert (vendor.root / "plain/data/tables" / f"clauses.{form}").read_text() == stdout
    attempt = "data/results/runs/scratch.peak.unique.r1/1"
    inside = {name.removeprefix(f"{attempt}/") for name in names if name.startswith(attempt)}
    assert {"attempt.json", "facts.jsonl", "job.sbatch", "stdout", "stderr"} <= inside
    assert {"data/results/journal.jsonl", "data/results/plan.json"} <= names
    assert not any("campaign.db" in name or "report" in name for name in names)


def test_the_campaign_file_is_handed_in_as_it_was_written(vendor: Vendor) -> None:
    assert (vendor.root / "plain/data/campaign.yaml").read_bytes() == vendor.file.read_bytes()


def test_the_crate_leads_from_each_number_to_its_log(vendor: Vendor) -> None:
    data = vendor.root / "plain" / "data"
    crate = json.loads((data / "ro-crate-metadata.json").read_text())
    graph = {entity["@id"]: entity for entity in crate["@graph"]}
    assert graph["ro-crate-metadata.json"]["about"] == {"@id": "./"}
    table = json.loads((data / "tables/table.json").read_text())
    numbers = [row for row in table if row["value"] is not None]
    assert numbers
    for row in numbers:
        cell = f"#{row['target']}/{row['launch']}/{row['files']}/{row['operation']}"
        assert graph[cell]["value"] == row["value"]
        action = graph[f"#{row['run']}/{row['attempt']}"]
        assert {"@id": cell} in action["result"]
        assert (data / action["object"][0]["@id"]).is_file()
    assert all((data / part["@id"]).exists() for part in graph["./"]["hasPart"])


def test_what_does_not_count_is_in_the_index_with_its_hashes(vendor: Vendor, tmp_path: Path) -> None:
    index = json.loads((vendor.root / "plain/data/index.json").read_text())
    assert index["counts"] == {"done": 12}
    assert all(attempt["included"] for attempt in index["attempts"])


@pytest.mark.parametrize("name", ["b.zip", "b.tar.gz"])
def test_an_archive_holds_the_same_under_one_folder(vendor: Vendor, tmp_path: Path, name: str) -> None:
    assert vendor.call("bundle", vendor.file, "-o", tmp_path / name).returncode == 1
    if name.endswith(".zip"):
        with zipfile.ZipFile(tmp_path / name) as archive:
            names = set(archive.namelist())
    else:
        with tarfile.open(tmp_path / name) as tar:
            names = set(tar.getnames())
    expected = {f"b/{p.relative_to(vendor.root / 'plain')}" for p in (vendor.root / "plain").rglob("*") if p.is_file()}
    assert names == expected
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_what_is_in_a_bundle_follows_from_the_journal_and_not_from_the_database(vendor: Vendor, tmp_path: Path) -> None:
    database = vendor.root / "results/bundled/campaign.db"
    as_it_was = database.read_bytes()
    with closing(sqlite3.connect(database)) as changed_connection:
        changed_connection.execute("UPDATE attempts SET state = 'superseded' WHERE run = 'scratch.peak.unique.r1'")
        changed_connection.commit()
    process = vendor.call("bundle", vendor.file, "-o", tmp_path / "bag")
    database.write_bytes(as_it_was)
    assert "12 attempts" in process.stdout, process.stderr
    index = json.loads((tmp_path / "bag/data/index.json").read_text())
    assert (index["counts"], {attempt["included"] for attempt in index["attempts"]}) == ({"done": 12}, {True})


def test_a_bundle_is_never_written_over(vendor: Vendor) -> None:
    process = vendor.call("bundle", vendor.file, "-o", vendor.root / "plain")
    assert process.returncode == 2
    assert "already exists" in process.stderr


def test_nothing_is_handed_in_of_a_campaign_that_was_never_run(vendor: Vendor, tmp_path: Path) -> None:
    file = tmp_path / "other.yaml"
    file.write_text(vendor.file.read_text())
    process = vendor.call("bundle", file, "-o", tmp_path / "b")
    assert (process.returncode, "has not been run; start with 'campaign run" in process.stderr) == (2, True)
    assert not (tmp_path / "b").exists()


def test_an_archive_of_another_kind_is_refused_in_place_of_a_directory_of_that_name(
    vendor: Vendor, tmp_path: Path
) -> None:
    process = vendor.call("bundle", vendor.file, "-o", tmp_path / "b.rar")
    assert (
        process.returncode,
        "b.rar: unknown kind of archive; allowed: a directory, .zip or .tar.gz" in process.stderr,
    ) == (2, True)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["b.zip", "b.tar.gz"])
def test_the_archive_behind_a_link_is_replaced_and_the_link_stays(vendor: Vendor, tmp_path: Path, name: str) -> None:
    (tmp_path / "elsewhere").mkdir()
    archive, link = tmp_path / "elsewhere" / name, tmp_path / name
    archive.write_text("old")
    archive.chmod(0o600)
    link.symlink_to(archive)
    assert vendor.call("bundle", vendor.file, "-o", link).returncode == 2
    assert archive.read_text() == "old"
    process = vendor.call("bundle", vendor.file, "-o", link, "--force")
    assert f"wrote {link}: " in process.stdout
    assert (link.is_symlink(), archive.stat().st_mode & 0o777, list(archive.parent.iterdir())) == (
        True,
        0o600,
        [archive],
    )
    assert vendor.call("verify", link).returncode == vendor.call("verify", archive).returncode != 2


def test_a_device_behind_a_link_is_not_replaced_by_an_archive(vendor: Vendor, tmp_path: Path) -> None:
    (tmp_path / "b.zip").symlink_to("/dev/null")
    process = vendor.call("bundle", vendor.file, "-o", tmp_path / "b.zip", "--force")
    assert (process.returncode, process.stderr) == (
        2,
        f"campaign: {tmp_path / 'b.zip'}: is not a file; name a new .zip or .tar.gz\n",
    )
    assert Path("/dev/null").is_char_device()


def test_a_link_among_the_results_is_refused_by_name(vendor: Vendor, tmp_path: Path) -> None:
    link = vendor.root / "results/bundled/runs/link"
    link.symlink_to("/etc/passwd")
    try:
        process = vendor.call("bundle", vendor.file, "-o", tmp_path / "b")
    finally:
        link.unlink()
    assert (process.returncode, str(link) in process.stderr) == (2, True)
    assert list(tmp_path.iterdir()) == []


def test_a_key_that_is_not_there_leaves_nothing_behind(vendor: Vendor, tmp_path: Path) -> None:
    process = vendor.call("bundle", vendor.file, "-o", tmp_path / "b", "--sign", tmp_path / "key")
    assert (process.returncode, "key: not found; give an SSH private key" in process.stderr) == (2, True)
    assert list(tmp_path.iterdir()) == []


def test_what_a_killed_command_left_is_removed_by_the_next_one_but_not_what_another_is_writing(
    vendor: Vendor, tmp_path: Path
) -> None:
    abandoned, other = tmp_path / ".bag.zip.campaign-abc", tmp_path / ".bag.zip.campaign-def"
    (abandoned / "bag").mkdir(parents=True)
    other.mkdir()
    descriptor = os.open(other, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        process = vendor.call("bundle", vendor.file, "-o", tmp_path / "bag.zip")
    finally:
        os.close(descriptor)
    assert "36 cells: 36 invalid: no buyer accepts this bundle; 'campaign check " in process.stdout
    assert sorted(path.name for path in tmp_path.iterdir()) == [".bag.zip.campaign-def", "bag.zip"]


def test_what_others_created_under_the_name_of_what_is_left_is_neither_removed_nor_in_the_way(
    vendor: Vendor, tmp_path: Path
) -> None:
    (tmp_path / "precious").mkdir()
    (tmp_path / ".b.campaign-link").symlink_to(tmp_path / "precious")
    os.mkfifo(tmp_path / ".b.campaign-fifo")
    (tmp_path / ".b.backup").mkdir()
    names = {path.name for path in tmp_path.iterdir()}
    if os.geteuid() == 0:
        (tmp_path / ".b.campaign-theirs").mkdir()
        shutil.chown(tmp_path / ".b.campaign-theirs", "nobody")
        names.add(".b.campaign-theirs")
    assert vendor.call("bundle", vendor.file, "-o", tmp_path / "b").returncode != 2
    assert {path.name for path in tmp_path.iterdir()} == {*names, "b"}


def test_the_head_of_the_journal_is_reported_for_the_vendor_to_send(vendor: Vendor, tmp_path: Path) -> None:
    process = vendor.call("bundle", vendor.file, "-o", tmp_path / "b")
    head = next(line.split()[-1] for line in process.stdout.splitlines() if line.startswith("journal head"))
    assert f"Journal-Head: {head}\n" in (tmp_path / "b/bag-info.txt").read_text()
    assert bagit.TAG_MANIFEST in {path.name for path in (tmp_path / "b").iterdir()}
