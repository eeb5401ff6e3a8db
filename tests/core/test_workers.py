"""Work that several processes share."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable

import pytest

from campaign.core import workers
from campaign.core.errors import InputError, MachineLacks
from campaign.core.processes import children
from campaign.core.workers import results_in_order

ITEMS = range(20)


@pytest.fixture(autouse=True)
def three_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2})
    monkeypatch.setattr(workers, "FEWEST_ITEMS", 1)


@pytest.fixture
def count_workers() -> Callable[[], int]:
    """The processes that the test has started; others may be those of the session's fixtures."""
    before = set(children(os.getpid()))
    return lambda: len(set(children(os.getpid())) - before)


def results(compute: Callable[[int], object]) -> list[object]:
    return list(results_in_order(compute, ITEMS, "item {}".format, "counting"))


def test_results_are_in_the_order_of_the_items_and_come_from_other_processes(count_workers: Callable[[], int]) -> None:
    pairs = results(lambda item: (item, os.getpid()))
    numbers, processes = zip(*pairs, strict=True)
    assert numbers == tuple(ITEMS)
    assert len(set(processes)) == 3
    assert os.getpid() not in processes
    assert count_workers() == 0


def test_a_large_result_arrives_complete() -> None:
    assert results(lambda item: bytes([item]) * 3_000_000) == [bytes([item]) * 3_000_000 for item in ITEMS]


def test_an_error_is_raised_where_it_would_be_in_one_process(count_workers: Callable[[], int]) -> None:
    def refuse_fifth(item: int) -> int:
        if item == 5:
            raise InputError("item 5: not allowed")
        return item

    parallel = results_in_order(refuse_fifth, ITEMS, str, "counting")
    assert [next(parallel) for _ in range(5)] == [0, 1, 2, 3, 4]
    with pytest.raises(InputError, match="item 5: not allowed"):
        next(parallel)
    assert count_workers() == 0


def test_results_of_a_batch_share_what_they_have_in_common() -> None:
    text, items = "a text of all results", range(480)
    texts = [texts[0] for texts in results_in_order(lambda item: [text, item], items, str, "counting")]
    assert set(texts) == {text}
    assert len(set(map(id, texts))) <= len(items) / workers.LARGEST_BATCH


def test_an_error_within_a_batch_comes_after_the_results_before_it() -> None:
    def refuse_tenth(item: int) -> int:
        if item == 10:
            raise InputError("item 10: not allowed")
        return item

    parallel = results_in_order(refuse_tenth, range(480), str, "counting")
    assert [next(parallel) for _ in range(10)] == list(range(10))
    with pytest.raises(InputError, match="item 10: not allowed"):
        next(parallel)


def test_a_result_that_cannot_be_handed_over_is_computed_here() -> None:
    assert [value() for value in results(lambda item: lambda: item)] == list(ITEMS)  # type: ignore[operator]


def test_a_killed_process_is_an_error_that_names_what_it_worked_on(count_workers: Callable[[], int]) -> None:
    def killed_at_seven(item: int) -> int:
        if item == 7:
            os.kill(os.getpid(), signal.SIGKILL)
        return item

    with pytest.raises(MachineLacks, match="item 7: a process of campaign was killed"):
        results(killed_at_seven)
    assert count_workers() == 0


def test_processes_end_with_the_one_that_uses_the_results(count_workers: Callable[[], int]) -> None:
    unread = results_in_order(lambda item: item, ITEMS, str, "counting")
    assert next(unread) == 0
    assert count_workers() == 3
    del unread
    assert count_workers() == 0


def test_one_core_and_few_items_need_no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "FEWEST_ITEMS", len(ITEMS) + 1)
    assert set(results(lambda _: os.getpid())) == {os.getpid()}
    monkeypatch.setattr(workers, "FEWEST_ITEMS", 1)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0})
    assert set(results(lambda _: os.getpid())) == {os.getpid()}


def test_where_no_process_can_be_started_the_work_is_done_here(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> int:
        raise BlockingIOError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(os, "fork", refuse)
    assert set(results(lambda _: os.getpid())) == {os.getpid()}


ENDED = """
import os, time
from campaign.core import workers
os.sched_getaffinity = lambda _: {0, 1}
workers.FEWEST_ITEMS = 1
def large_result(item):
    print("begun", flush=True)
    return bytes(10_000_000)
for _ in workers.results_in_order(large_result, range(4), str, "counting"):
    time.sleep(600)
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_processes_end_with_the_command_however_that_ends(number: signal.Signals) -> None:
    words = [sys.executable, "-c", ENDED]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as command:
        assert command.stdout is not None
        command.stdout.readline()
        command.send_signal(number)
        command.communicate(timeout=60)  # until no process has its output open
        assert command.returncode == -number
