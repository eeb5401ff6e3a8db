"""The one table of `make bench`: what fails or hangs is a row, and a file's table is replaced."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.bench import __main__ as bench
from tests.bench.table import Row, markdown


def works() -> Iterator[Row]:
    os.environ["LEFT"] = "behind"
    yield Row("a figure", "≤ 2 s", "1 s")


def breaks() -> Iterator[Row]:
    yield Row("before", "≤ 2 s", "3 s", missed=True)
    raise SystemExit("it ended with status 3:\nand more")


def hangs() -> Iterator[Row]:
    time.sleep(60)
    yield Row("never")


@pytest.fixture
def benchmarks(monkeypatch: pytest.MonkeyPatch) -> None:
    mains = {"hangs": hangs, "breaks": breaks, "works": works}
    for name, main in mains.items():
        monkeypatch.setitem(sys.modules, f"tests.bench.{name}", SimpleNamespace(__doc__="One.", main=main))
    monkeypatch.setattr(bench, "BUDGETS_S", dict.fromkeys(mains, 1))


def test_one_that_fails_or_hangs_is_a_row_and_the_others_go_on(
    benchmarks: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "performance.md"
    file.write_text("# Performance\n\n| figure | here |\n|---|---|\n| old | 1 |\n\n| other | table |\n")
    monkeypatch.setenv("TABLE", str(file))
    assert bench.main([]) == 1
    head, table, other = file.read_text().split("\n\n")
    assert head == "# Performance"
    assert other == "| other | table |\n"
    rows = [[cell.strip() for cell in line.split("|")[1:4]] for line in table.splitlines()[2:]]
    assert rows == [
        ["**hangs**: time", "≤ 1 s", "3 s (missed)"],
        ["hangs: failed", "", "three times its budget is over (missed)"],
        ["**breaks**: time", "≤ 1 s", "0 s"],
        ["before", "≤ 2 s", "3 s (missed)"],
        ["breaks: failed", "", "it ended with status 3: (missed)"],
        ["**works**: time", "≤ 1 s", "0 s"],
        ["a figure", "≤ 2 s", "1 s"],
        [f"**all**, on {os.cpu_count()} processors: time", "≤ 3 s", "3 s (missed)"],
    ]
    assert "LEFT" not in os.environ


def test_some_benchmarks_by_name(benchmarks: None, capsys: pytest.CaptureFixture[str]) -> None:
    assert bench.main(["works"]) == 0
    assert bench.main(["walks"]) == 2
    assert "no such benchmark: walks; there are: hangs, breaks, works" in capsys.readouterr().err


def test_all_budgets_together_are_less_than_half_an_hour() -> None:
    assert sum(bench.BUDGETS_S.values()) <= 1800


def test_a_row_without_a_peer_has_an_empty_column() -> None:
    assert markdown([Row("rate", "≥ 1", "2", spread="1–3")]).splitlines()[2].split("|")[4].strip() == ""
