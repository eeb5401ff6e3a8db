"""Runs the benchmarks of the project against their limits: `make bench`, or `python -m tests.bench NAME…` for some of
them.

Each prints tables of its own while it runs, and then its rows of the table that comes at the end. `TABLE=FILE` writes
that one into a file, in place of the table that is there. One that fails, or takes three times its budget, is a row,
and the others go on. `FULL=1`: simulations at full size, without a limit of time.
"""

import importlib
import os
import signal
import sys
import time
import traceback
from pathlib import Path
from types import FrameType
from unittest import mock

from tests.bench.table import Row, markdown, write

BUDGETS_S = {  # in all less than 30 minutes
    "campaign_wall": 225, "cold_start": 15, "compare_power": 50, "compare_time": 45, "contention": 22, "coverage": 25,
    "environment_capture": 6, "instructions": 90, "ior_limit": 265, "mbw_mr_limit": 90, "mdtest_limit": 105,
    "mutations": 37, "network_storage": 50, "pool_limit": 50, "ranks": 170, "sample_rates": 55, "scale": 270,
    "search_families": 115, "submission": 50, "uring_limit": 15, "verify_time": 50,
}  # fmt: skip


def main(names: list[str]) -> int:
    # Each process of a pool would start as many threads for small matrices as there are cores.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    if unknown := set(names) - set(BUDGETS_S):
        print(f"no such benchmark: {', '.join(sorted(unknown))}; there are: {', '.join(BUDGETS_S)}", file=sys.stderr)
        return 2
    signal.signal(signal.SIGALRM, _too_late)
    began = time.monotonic()
    rows = [row for name in names or BUDGETS_S for row in run_benchmark(name)]
    if not names:
        rows.append(
            of_time(f"**all**, on {os.cpu_count()} processors", sum(BUDGETS_S.values()), time.monotonic() - began)
        )
    table = markdown(rows)
    print(f"\n{table}")
    if file := os.environ.get("TABLE"):
        write(Path(file), table)
    return int(any(row.missed for row in rows))


def run_benchmark(name: str) -> list[Row]:
    """The rows of a benchmark, behind one of its own time."""
    budget_s, rows, began = BUDGETS_S[name], list[Row](), time.monotonic()
    signal.alarm(0 if os.environ.get("FULL") else 3 * budget_s)
    try:
        module = importlib.import_module(f"tests.bench.{name}")
        print(f"\n== {name}: {(module.__doc__ or '').strip().splitlines()[0]}", flush=True)
        with mock.patch.dict(os.environ):
            for row in module.main():
                rows.append(row)
    except (Exception, SystemExit) as error:
        traceback.print_exc()
        rows.append(Row(f"{name}: failed", us=str(error).split("\n", 1)[0], missed=True))
    finally:
        signal.alarm(0)
    rows.insert(0, of_time(f"**{name}**", budget_s, time.monotonic() - began))
    print(f"\n{markdown(rows)}", flush=True)
    return rows


def of_time(figure: str, budget_s: float, took_s: float) -> Row:
    return Row(f"{figure}: time", f"≤ {budget_s:,.0f} s", f"{took_s:,.0f} s", missed=took_s > budget_s)


def _too_late(_number: int, _frame: FrameType | None) -> None:
    raise TimeoutError("three times its budget is over")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
