"""Fixtures for all tests, and the table of rules x cases at the end of the judge's."""

from __future__ import annotations

import signal
from typing import Any

from hypothesis import HealthCheck, settings

from tests.sandbox_fixture import sandbox, sandbox_directory

__all__ = ["sandbox", "sandbox_directory"]


# A loaded machine may take long over one example; no test asks how long.
settings.register_profile("campaign", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("campaign")


def pytest_configure() -> None:
    """What is started in the background of a script ignores ctrl-C, and hands that on to all that the tests start."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """After the tests of the rules: how many cases each has."""
    if any("test_judge.py" in report.nodeid for report in terminalreporter.stats.get("passed", ())):
        from tests import judge_cases

        terminalreporter.section("rules x cases")
        terminalreporter.write_line(judge_cases.matrix())
