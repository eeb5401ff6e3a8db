"""The verbs about runs under way, as scripts see them: exit status, notification, and what is said of a lost record."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from campaign.cli import running
from campaign.cli.main import main
from campaign.core.atomic import AMONG_OTHERS, locked
from campaign.core.paths import Paths
from campaign.pipeline import probe
from campaign.results.store import Store
from tests.support import fake_slurm
from tests.support.command_line import CAMPAIGN
from tests.support.fake_slurm import Fake


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Fake]:
    with fake_slurm.running_cluster(tmp_path, monkeypatch) as fake:
        fake_slurm.campaign_file(tmp_path, "scripted")
        yield fake


def call(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([CAMPAIGN, *words], cwd=folder, capture_output=True, text=True, timeout=800)


def test_with_json_the_outcome_of_a_probe_is_on_standard_error(
    tmp_path: Path, cluster: Fake, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    passed = probe.Probed("17", 4, (), "srun starts it")
    monkeypatch.setattr(probe, "probe", lambda *_: passed)
    words = ["plan", str(tmp_path / "c.yaml"), "--probe"]
    assert main(words) == 0
    assert passed.passed in capsys.readouterr().out
    assert main([*words, "--json"]) == 0
    captured = capsys.readouterr()
    assert json.loads(captured.out)["runs"] and passed.passed in captured.err


def test_the_user_is_notified_when_the_campaign_ends(tmp_path: Path, cluster: Fake) -> None:
    command = f'cat >{tmp_path}/told; echo "$CAMPAIGN_NAME $CAMPAIGN_STATUS" >>{tmp_path}/told'
    process = call(tmp_path, "run", "c.yaml", "--only", "scratch/single/shared/*", "--notify", command)
    lines = (tmp_path / "told").read_text().splitlines()
    results = f"results: {tmp_path}/results/scripted"
    assert lines == [
        f"campaign scripted: ended with status {process.returncode}; {results}",
        f"scripted {process.returncode}",
    ]


def test_programs_that_end_with_status_0_and_give_no_results_end_the_campaign_and_hide_nothing(
    tmp_path: Path, cluster: Fake
) -> None:
    cluster.fault("bench-silent", "mdtest: no licence\n")
    process = call(tmp_path, "run", "c.yaml")
    assert process.returncode == 1
    cause = "the benchmark ended with status 0 and gave none of its results (create, remove, stat): "
    assert f"campaign: the first two jobs failed with the same cause: {cause}" in " ".join(process.stderr.split())
    states = {row["state"] for row in json.loads(call(tmp_path, "status", "c.yaml", "--json").stdout)}
    assert states == {"failed", "cancelled"}
    findings = json.loads(call(tmp_path, "check", "c.yaml", "--json").stdout)
    assert "RUN-08" not in {finding["rule"] for finding in findings if finding["severity"] != "I"}


def test_the_user_is_notified_when_the_campaign_stops_and_a_command_that_fails_is_reported(
    tmp_path: Path, cluster: Fake
) -> None:
    cluster.fault("scontrol-fails", "scontrol: error: Unable to contact slurm controller")
    process = call(tmp_path, "run", "c.yaml", "--notify", f"cat >{tmp_path}/told; exit 7")
    assert process.returncode == 3
    assert (tmp_path / "told").read_text().startswith("campaign scripted: stopped with status 3: ")
    assert "--notify: cat >" in process.stderr
    assert process.stderr.count("ended with status 7") == 1


def test_a_notification_that_does_not_end_is_ended_with_all_that_it_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(running, "NOTIFY_S", 3.0)
    running.notify(f"sleep 300 & echo $! >{tmp_path}/pid; wait", "scripted", 0, "ended")
    stat = Path("/proc") / (tmp_path / "pid").read_text().strip() / "stat"

    def has_ended() -> bool:
        try:
            return "Z" in stat.read_text().split()[2]
        except OSError:
            return True

    fake_slurm.wait_until(has_ended, "the child has ended")
    assert "killed after 3 s" in capsys.readouterr().err


@pytest.mark.parametrize(("verb", "status"), [("status", 130), ("check", 130), ("table", 0)])
def test_a_reader_that_has_gone_does_not_make_an_unfinished_campaign_look_finished(
    tmp_path: Path, cluster: Fake, verb: str, status: int
) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    process = subprocess.run(
        [CAMPAIGN, verb, "c.yaml"], cwd=tmp_path, stdout=writing, stderr=subprocess.PIPE, timeout=800
    )
    os.close(writing)
    assert process.returncode == status


@pytest.mark.parametrize("verb", ["status", "table", "check", "collect", "run", "plan", "cancel", "head"])
def test_every_verb_says_that_the_journal_is_gone_where_the_database_is_there(
    tmp_path: Path, cluster: Fake, verb: str
) -> None:
    paths = Paths(tmp_path / "results" / "scripted")
    with Store(paths) as store:
        store.begin(nonce="", campaign="scripted", rules=[])
    paths.journal.unlink()
    process = call(tmp_path, verb, "c.yaml")
    assert process.returncode == 3
    assert "journal.jsonl is missing, and campaign.db cannot replace it" in process.stderr


ERASED_LINE = "\x1b[2K"


def watch_status(folder: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [CAMPAIGN, "status", "c.yaml", "--watch"], cwd=folder, stdout=(folder / "watched").open("w"), text=True
    )


def test_status_watches_the_jobs_of_a_command_that_was_killed_and_repeats_nothing(
    tmp_path: Path, cluster: Fake
) -> None:
    cluster.fault("hold", "Resources")
    driver = subprocess.Popen(
        [CAMPAIGN, "run", "c.yaml", "--only", "scratch/single/shared/*"], cwd=tmp_path, stdout=subprocess.DEVNULL
    )
    fake_slurm.wait_until(cluster.jobs, "a job")
    status = watch_status(tmp_path)
    path = tmp_path / "watched"
    fake_slurm.wait_until(lambda: "Resources" in path.read_text(), "the reason for which it waits")
    driver.kill()
    driver.wait()
    before = path.read_text()
    time.sleep(3)
    assert (status.poll(), path.read_text()) == (None, before)
    cluster.mend("hold")
    assert status.wait(300) == 1  # of the other runs nothing was measured
    assert re.search(r"scratch.single.shared.r1 +done +1 ", path.read_text().removeprefix(before))


def test_on_a_terminal_status_is_redrawn_until_the_campaign_ends_and_leaves_the_states(
    tmp_path: Path, cluster: Fake
) -> None:
    cluster.fault("hold", "Resources")
    only = ("--only", "scratch/single/shared/*")
    driver = subprocess.Popen([CAMPAIGN, "run", "c.yaml", *only], cwd=tmp_path, stdout=subprocess.DEVNULL)
    fake_slurm.wait_until(cluster.jobs, "a job")
    screen, terminal = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "80", "LINES": "24"}
    words = [CAMPAIGN, "status", "c.yaml", "--watch"]
    with subprocess.Popen(words, cwd=tmp_path, stdout=terminal, env=environment) as status:
        os.close(terminal)
        output = b""
        while b"Resources" not in output:
            output += os.read(screen, 65536)
        cluster.mend("hold")
        with suppress(OSError):  # the terminal has no writer any more
            while chunk := os.read(screen, 65536):
                output += chunk
    os.close(screen)
    assert (driver.wait(300), status.returncode) == (1, 1)
    drawn, _, last_text = re.sub("\x1b\\[[0-9;]*m", "", output.decode()).rpartition(ERASED_LINE)
    assert "0 of 12 runs ended" in drawn and drawn.count(ERASED_LINE)
    assert re.search(r"scratch.single.shared.r1 +done +1 ", last_text)
    assert last_text.splitlines()[-3:] == [
        "12 runs: 1 done, 11 planned",
        "36 results: 3 invalid, 33 missing",
        "Next: campaign run c.yaml",
    ]


def test_status_watches_while_a_command_may_submit_further_jobs(tmp_path: Path, cluster: Fake) -> None:
    call(tmp_path, "run", "c.yaml", "--only", "scratch/single/shared/*")
    with locked(tmp_path / "results/scripted", AMONG_OTHERS):
        status = watch_status(tmp_path)
        with pytest.raises(subprocess.TimeoutExpired):
            status.wait(4)
    assert status.wait(300) == 1
    assert (tmp_path / "watched").read_text().count("run  ") == 1
