"""A verb that is interrupted: by Ctrl-C, by SIGTERM, by a terminal that is closed."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from campaign import __main__ as program
from campaign.core.errors import INTERRUPTED
from tests.support import fake_slurm
from tests.support.command_line import CAMPAIGN
from tests.support.fake_slurm import Fake, wait_until

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
CELLS = ("--only", "scratch/single/shared/*")


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Fake]:
    with fake_slurm.running_cluster(tmp_path, monkeypatch) as fake:
        fake_slurm.campaign_file(tmp_path, "stopped")
        yield fake


def start(folder: Path, *words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [CAMPAIGN, *words], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )  # fmt: skip


def status_and_last_line(process: subprocess.Popen[str]) -> tuple[int, str]:
    """Its exit status, and the last line that it said."""
    _, err = process.communicate(timeout=800)
    return process.returncode, (err.splitlines() or [""])[-1]


def assert_completed(folder: Path, cluster: Fake) -> None:
    """The same command again measures what is missing, once."""
    process = subprocess.run(
        [CAMPAIGN, "run", "c.yaml", *CELLS], cwd=folder, capture_output=True, text=True, timeout=800
    )
    assert "scratch/single/shared/create: invalid 1000.000 ops/s (attempt" in process.stdout, process.stderr
    assert len(cluster.measurements()) == 1


def wait_for_handlers(process: subprocess.Popen[str]) -> None:
    """Until it has its own answer to SIGTERM: before that, Python itself is starting."""

    def catches_sigterm() -> bool:
        lines = Path(f"/proc/{process.pid}/status").read_text().splitlines()
        mask = next(line.split()[1] for line in lines if line.startswith("SigCgt:"))
        return bool(int(mask, 16) >> (signal.SIGTERM - 1) & 1)

    wait_until(catches_sigterm, "it answers signals")


def test_an_interruption_at_the_start_is_reported_as_a_later_one_is() -> None:
    text, status = program.INTERRUPTED
    assert (text.decode(), status) == ("campaign: interrupted\n", INTERRUPTED)


@pytest.mark.parametrize("number", SIGNALS)
def test_a_run_that_is_interrupted_at_any_moment_of_its_start_says_so_and_nothing_else(
    number: signal.Signals, tmp_path: Path, cluster: Fake
) -> None:
    cluster.fault("sinfo-hangs", 30)
    for moment in range(SIGNALS.index(number), 20, len(SIGNALS)):
        driver = start(tmp_path, "run", "c.yaml", *CELLS)
        wait_for_handlers(driver)
        time.sleep(moment * 0.5 / 20)
        driver.send_signal(number)
        _, err = driver.communicate(timeout=800)
        assert (driver.returncode, err.count("campaign: interrupted")) == (INTERRUPTED, 1), err
        assert "Traceback" not in err
    assert cluster.jobs() == []


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_once_all_was_said_does_not_change_the_status(number: signal.Signals) -> None:
    code = (
        "import atexit, os, sys\n"
        "from campaign.__main__ import main\n"
        f"atexit.register(os.kill, os.getpid(), {number:d})\n"
        "sys.argv[1:] = ['rules']\n"
        "sys.exit(main())"
    )
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=800)
    assert (process.returncode, process.stderr) == (0, "")
    assert "crossroads-mdtest" in process.stdout


def test_a_signal_in_a_call_whose_errors_python_ignores_is_not_lost() -> None:
    code = (
        "import os, sys, time, weakref\n"
        "from campaign import __main__ as program\n"
        "import campaign.cli.main\n"
        "def main():\n"
        "    gone = {1}\n"
        "    kept = weakref.ref(gone, lambda _: os.kill(os.getpid(), 15))\n"
        "    del gone\n"
        "    time.sleep(30)\n"
        "campaign.cli.main.main = main\n"
        "sys.exit(program.main())"
    )
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=800)
    assert (process.returncode, process.stderr) == (INTERRUPTED, "campaign: interrupted\n")


@pytest.mark.parametrize("number", SIGNALS)
def test_a_run_that_is_interrupted_before_it_submits_says_that_nothing_is_in_slurm(
    number: signal.Signals, tmp_path: Path, cluster: Fake
) -> None:
    cluster.fault("sinfo-hangs", 30)
    driver = start(tmp_path, "run", "c.yaml", *CELLS)
    wait_until(lambda: len(cluster.processes()) > 1, "the driver asks Slurm")
    driver.send_signal(number)
    assert status_and_last_line(driver) == (
        INTERRUPTED,
        "campaign: interrupted; no job of this campaign is in Slurm; 'campaign run c.yaml' submits what is missing",
    )
    cluster.mend("sinfo-hangs")
    assert_completed(tmp_path, cluster)


@pytest.mark.parametrize("number", SIGNALS)
def test_a_run_that_is_interrupted_while_its_job_waits_names_the_job(
    number: signal.Signals, tmp_path: Path, cluster: Fake
) -> None:
    cluster.fault("hold")
    driver = start(tmp_path, "run", "c.yaml", *CELLS)
    wait_until(lambda: [job for job in cluster.jobs() if job["reason"] == "Priority"], "the job waits")
    wait_until(lambda: "submitted" in (tmp_path / "results/stopped/journal.jsonl").read_text(), "it is on record")
    driver.send_signal(number)
    message = (
        f"campaign: interrupted; 1 job of this campaign in Slurm: {cluster.jobs()[0]['id']}. "
        "'campaign run c.yaml' continues, 'campaign cancel c.yaml' cancels them"
    )
    assert status_and_last_line(driver) == (INTERRUPTED, message)
    assert message in (tmp_path / "results" / "stopped" / "run.log").read_text()
    cluster.mend("hold")
    assert_completed(tmp_path, cluster)


def test_a_run_that_is_interrupted_while_sbatch_is_under_way_finds_the_job_by_its_name(
    tmp_path: Path, cluster: Fake
) -> None:
    cluster.fault("hold")
    cluster.fault("sbatch-hangs-after", 30)
    driver = start(tmp_path, "run", "c.yaml", *CELLS)
    wait_until(cluster.jobs, "Slurm has the job")
    driver.send_signal(signal.SIGINT)
    status, message = status_and_last_line(driver)
    assert status == INTERRUPTED
    assert message.startswith(f"campaign: interrupted; 1 job of this campaign in Slurm: {cluster.jobs()[0]['id']}. ")
    cluster.mend("sbatch-hangs-after")
    cluster.mend("hold")
    assert_completed(tmp_path, cluster)


def test_a_run_that_is_interrupted_twice_says_how_to_see_its_jobs(tmp_path: Path, cluster: Fake) -> None:
    cluster.fault("hold")
    cluster.fault("sbatch-hangs-after", 30)
    driver = start(tmp_path, "run", "c.yaml", *CELLS)
    wait_until(cluster.jobs, "Slurm has the job")
    cluster.fault("squeue-hangs", 30)
    driver.send_signal(signal.SIGINT)
    wait_until(
        lambda: any("squeue" in " ".join(fake_slurm.command_line(pid)) for pid in cluster.processes()),
        "the driver asks for its jobs",
    )
    driver.send_signal(signal.SIGINT)
    assert status_and_last_line(driver) == (
        INTERRUPTED,
        "campaign: interrupted twice; 'campaign status c.yaml' shows this campaign's jobs, 'campaign run c.yaml' "
        "continues",
    )
    for fault in ("squeue-hangs", "sbatch-hangs-after", "hold"):
        cluster.mend(fault)
    assert_completed(tmp_path, cluster)


def test_a_run_under_nohup_goes_on_when_the_terminal_is_closed(tmp_path: Path, cluster: Fake) -> None:
    cluster.fault("hold")
    driver = subprocess.Popen(["nohup", CAMPAIGN, "run", "c.yaml", *CELLS], cwd=tmp_path)
    wait_until(lambda: [job for job in cluster.jobs() if job["reason"] == "Priority"], "the job waits")
    driver.send_signal(signal.SIGHUP)
    cluster.mend("hold")
    assert driver.wait(timeout=800) != INTERRUPTED
    assert len(cluster.measurements()) == 1


def test_a_run_whose_terminal_is_closed_leaves_its_last_words_in_the_log(tmp_path: Path, cluster: Fake) -> None:
    cluster.fault("hold")
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(tmp_path)
        os.execve(CAMPAIGN, [str(CAMPAIGN), "run", "c.yaml", *CELLS], os.environ | {"TERM": "xterm"})
    wait_until(lambda: [job for job in cluster.jobs() if job["reason"] == "Priority"], "the job waits")
    wait_until(lambda: "submitted" in (tmp_path / "results/stopped/journal.jsonl").read_text(), "it is on record")
    os.close(terminal)
    _, status = os.waitpid(pid, 0)
    assert os.waitstatus_to_exitcode(status) == INTERRUPTED
    assert "interrupted; 1 job of this campaign in Slurm: " in (tmp_path / "results/stopped/run.log").read_text()
    cluster.mend("hold")
    assert_completed(tmp_path, cluster)
