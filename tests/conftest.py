"""Fixtures for all tests, what kind of test each one is, and the table of rules x cases at the end of the judge's."""

from __future__ import annotations

import functools
import gc
import signal
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from tests.support.browser import browser
from tests.support.sandbox_fixture import gluster, own_sandbox, sandbox, sandbox_directory

__all__ = ["browser", "gluster", "own_sandbox", "sandbox", "sandbox_directory"]

ROOT = Path(__file__).parents[1]
# The kinds of tests in the order in which they run: those that mostly wait come first, and the others fill the gaps.
KINDS = ("slurm", "mpi", "programs", "unit")
# What a fixture starts makes the tests that use it what they are.
KIND_OF_FIXTURE = {
    "sandbox": "slurm",
    "own_sandbox": "slurm",
    "sandbox_directory": "slurm",
    "gluster": "slurm",
    "cluster": "programs",  # a stand-in for Slurm's
    "killed_drivers": "programs",
    "browser": "programs",
    "vendor": "programs",  # a bundle of a campaign that was run
}

# Whose tests run in one process, one after another, since they share what takes long to make.
SHARING = ("tests/evidence/",)
# Of these, those that take longest. They come first: begun late, they would still run when all others have ended.
CHAINS = (
    "tests/pipeline/test_packs.py",
    "tests/pipeline/test_network_storage.py",
    "tests/evidence/",
    "tests/slurm/test_submit.py",
    "tests/pipeline/test_whole_run.py",
    "tests/bench_src/test_build.py",
    "tests/test_packaging.py",
    "tests/test_tutorials.py",
)

# A loaded machine may take long over one example; no test asks how long. The same examples each time: whether a change
# passes does not hang on luck. `make soak` looks for new ones, and more of them (tests/support/examples.py).
settings.register_profile("search", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("campaign", settings.get_profile("search"), derandomize=True, max_examples=25)
settings.load_profile("campaign")


def pytest_configure() -> None:
    """What is started in the background of a script ignores ctrl-C, and under nohup a closed terminal; all that the
    tests start would inherit that. Looking for garbage among thousands of tests while they are collected finds none.
    """
    gc.disable()
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
        signal.signal(signal.SIGHUP, lambda *_: None)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark each test with its kind, and sort: long chains, then by kind, files with a long time limit first."""
    for item in items:
        fixtures = getattr(item, "fixturenames", ())
        for fixture, kind in KIND_OF_FIXTURE.items():
            if fixture in fixtures:
                item.add_marker(kind)
        if not any(item.get_closest_marker(kind) for kind in KINDS):
            item.add_marker("unit")
    longest: dict[Path, float] = defaultdict(float)
    for item in items:
        longest[item.path] = max(longest[item.path], time_limit(item))
    items.sort(key=lambda item: (chain_number(item.path), kind_number(item), -longest[item.path]))


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    """What was loaded and collected stays until the end."""
    gc.freeze()
    gc.enable()


@functools.cache
def chain_number(file: Path) -> int:
    name = file.relative_to(ROOT).as_posix()
    return next((number for number, chain in enumerate(CHAINS) if name.startswith(chain)), len(CHAINS))


def kind_number(item: pytest.Item) -> int:
    return next(number for number, kind in enumerate(KINDS) if item.get_closest_marker(kind))


def time_limit(item: pytest.Item) -> float:
    mark = item.get_closest_marker("timeout")
    return float(mark.args[0]) if mark else 0.0


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> object:
    """With several processes: long tests go to whichever is free, one by one; all others by file, or by folder where
    its files share a campaign.
    """
    from xdist.scheduler import LoadScopeScheduling

    class Scheduler(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            file = nodeid.partition("::")[0]
            if has_long_tests(config.rootpath / file):
                return nodeid
            return next((folder for folder in SHARING if file.startswith(folder)), file)

    return Scheduler(config, log)


@functools.cache
def has_long_tests(file: Path) -> bool:
    """Whether its tests have time limits, and share nothing that would be made again in each process."""
    text = file.read_text(encoding="utf-8")
    return "pytest.mark.timeout(" in text and 'scope="module"' not in text


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """After the tests of the rules: how many cases each has."""
    if any("judge/test_engine.py" in report.nodeid for report in terminalreporter.stats.get("passed", ())):
        from tests.judge import cases as judge_cases

        terminalreporter.section("rules x cases")
        terminalreporter.write_line(judge_cases.matrix())
