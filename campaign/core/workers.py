"""Independent work on all cores that this process may use, with its results in the order of the items.

Each core has a forked process, which knows everything that this one has read and takes every n-th batch of items. It
hands its results over by a pipe, whose size limits how far it gets ahead. What fails there is done again here, where
its error is the same as without processes.
"""

from __future__ import annotations

import fcntl
import gc
import os
import pickle
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Generic, TypeVar

from campaign.core.errors import MachineLacks
from campaign.core.steps import count_steps

FEWEST_ITEMS = 200  # for which starting processes pays
MOST_WORKERS = 8  # each may need as much memory as this process
LARGEST_BATCH = 8  # items: fewer messages, and neighbours have something in common, which is cached
_PIPE_BYTES = 1 << 20

Item = TypeVar("Item")
Result = TypeVar("Result")


def results_in_order(
    compute: Callable[[Item], Result],
    items: Sequence[Item],
    name: Callable[[Item], str],
    action: str,
    done: int = 0,
    total: int = 0,
) -> Iterator[Result]:
    """`compute(item)` of each item, counted as steps of this action, of which some may be `done` before. It may only
    read, and only what is small is quick to hand over. Raises what it raises, and MachineLacks with the item's name if
    its process is killed.
    """
    cores = min(len(os.sched_getaffinity(0)), MOST_WORKERS)
    count = cores if cores > 1 and len(items) >= FEWEST_ITEMS else 0
    size = min(LARGEST_BATCH, len(items) // (8 * count) or 1) if count else len(items) or 1
    batches = [items[start : start + size] for start in range(0, len(items), size)]
    workers = list[_Worker[Result]]()
    # A signal must not raise an exception in a new process, which would end what this one has begun.
    signals_before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    try:
        try:
            with suppress(OSError):  # this process may start no more: what those would do is done here
                for place in range(count):
                    workers.append(_Worker(compute, batches[place::count], signals_before))
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, signals_before)
        steps = count_steps(items, action, total or len(items), done)
        for place, batch in enumerate(batches):
            worker = workers[place % count] if count and place % count < len(workers) else None
            results = worker.next_results(name(batch[0])) if worker else []
            yield from (result for result, _ in zip(results or map(compute, batch), steps, strict=False))
    finally:
        for worker in workers:
            worker.end()


class _Worker(Generic[Result]):
    """A process that computes the results of the items of its batches, one after the other."""

    def __init__(self, compute: Callable[[Item], Result], batches: Sequence[Sequence[Item]], signals: set[int]) -> None:
        reading, writing = os.pipe()
        self._results = os.fdopen(reading, "rb")
        with suppress(OSError):  # a user may have too many large pipes
            fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)
        try:
            self._pid = os.fork()
            if not self._pid:
                self._results.close()  # so that writing fails once the other process has ended
                _compute_all(compute, batches, writing, signals)
        finally:
            os.close(writing)

    def next_results(self, name: str) -> list[Result]:
        """The results of its next batch; none if they are to be computed here."""
        try:
            results: list[Result] = pickle.load(self._results)
        except (EOFError, pickle.UnpicklingError):
            raise MachineLacks(
                f"{name}: a process of campaign was killed while it worked on this; the kernel's log (dmesg) may have "
                "the reason, such as too little memory: remove it, then run the same command again"
            ) from None
        return results

    def end(self) -> None:
        """End the process, whatever it does."""
        self._results.close()
        os.kill(self._pid, signal.SIGKILL)
        os.waitpid(self._pid, 0)


def _compute_all(
    compute: Callable[[Item], Result], batches: Sequence[Sequence[Item]], writing: int, signals: set[int]
) -> None:
    """What the new process does; it ends here, without the clean-up that is the other process's."""
    try:
        gc.freeze()  # the collector would copy all of the memory that this process shares
        for number in signal.valid_signals():
            if callable(signal.getsignal(number)):
                signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, signals)
        with os.fdopen(writing, "wb") as out:
            for batch in batches:
                try:
                    content = pickle.dumps(
                        [compute(item) for item in batch]
                    )  # together: what is the same is there once
                except Exception:
                    content = pickle.dumps([])
                out.write(content)
                out.flush()
    finally:
        os._exit(0)
