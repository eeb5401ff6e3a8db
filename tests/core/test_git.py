"""What a revision holds, as git has it stored; and what happens without git."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from campaign.core import git
from campaign.core.errors import EnvironmentLacks, InputError
from campaign.core.git import Blob


def call(top: Path, *words: str) -> str:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    command = ["git", "-C", str(top), "-c", "user.name=x", "-c", "user.email=x", *words]
    process = subprocess.run(command, check=True, timeout=800, capture_output=True, text=True, env=environment)
    return process.stdout.strip()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A commit with a file, a program, a link, a name that is not UTF-8, and a submodule."""
    call(tmp_path, "init", "--quiet")
    (tmp_path / "a.c").write_bytes(b"a\r\n\0")
    (tmp_path / "run.sh").write_text("#!/bin/sh\n")
    (tmp_path / "run.sh").chmod(0o755)
    (tmp_path / "link").symlink_to("a.c")
    (tmp_path / os.fsdecode(b"\xff\n")).write_text("")
    (tmp_path / "module").mkdir()
    call(tmp_path / "module", "init", "--quiet")
    call(tmp_path / "module", "commit", "--quiet", "--allow-empty", "--message=inner")
    call(tmp_path, "-c", "advice.addEmbeddedRepo=false", "add", ".")
    call(tmp_path, "commit", "--quiet", "--message=all")
    return tmp_path


def test_every_file_of_a_revision_with_its_mode_and_content(repository: Path) -> None:
    blobs = git.blobs(repository, "HEAD")
    modes = {blob.path: blob.mode for blob in blobs}
    assert modes == {
        "a.c": "100644", "run.sh": "100755", "link": "120000", os.fsdecode(b"\xff\n"): "100644", "module": "160000",
    }  # fmt: skip
    files = [blob for blob in blobs if blob.mode != "160000"]
    assert {blob.path: data for blob, data in zip(files, git.contents(repository, files), strict=True)} == {
        "a.c": b"a\r\n\0", "run.sh": b"#!/bin/sh\n", "link": b"a.c", os.fsdecode(b"\xff\n"): b"",
    }  # fmt: skip
    assert git.commit(repository, "HEAD:module") == call(repository, "rev-parse", "HEAD")


@pytest.mark.parametrize("revision", ["nowhere", "--all", "HEAD:a.c", ""])
def test_a_revision_that_is_no_tree_is_reported(revision: str, repository: Path) -> None:
    with pytest.raises(InputError):
        git.blobs(repository, revision)


def test_an_object_that_is_not_there_is_reported(repository: Path) -> None:
    with pytest.raises(EnvironmentLacks, match="missing"):
        list(git.contents(repository, [Blob("x", "100644", 1, "0" * 40)]))


def test_what_a_repository_configures_is_not_executed(repository: Path) -> None:
    (repository / ".gitattributes").write_text("*.c filter=evil diff=evil\n")
    for name in ("filter.evil.smudge", "filter.evil.clean", "diff.evil.textconv", "core.fsmonitor"):
        call(repository, "config", name, f"touch {repository}/executed; cat")
    list(git.contents(repository, [blob for blob in git.blobs(repository, "HEAD") if blob.path == "a.c"]))
    assert not (repository / "executed").exists()


def test_without_git_the_message_names_what_it_is_for(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(EnvironmentLacks, match="sources are compared with it, and read from revisions; install git"):
        git.blobs(repository, "HEAD")
