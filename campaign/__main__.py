"""`campaign` and `python -m campaign`: what a signal does is settled before anything else is loaded."""

from __future__ import annotations

import os
import signal
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType
    from typing import NoReturn

ENDING = signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGALRM
INTERRUPTED = b"campaign: interrupted\n", 130  # as main.main and core.errors have them, which load too much


def main() -> int:
    """End as by Ctrl-C on the signals that would end this process silently: what was begun is cleaned up and said.
    `nohup` has a process ignore SIGHUP, which stays so.
    """
    usual = signal.SIG_DFL, signal.default_int_handler
    ending = [each for each in ENDING if signal.getsignal(each) in usual]
    _on(ending, _end)
    sys.unraisablehook = _unraisable
    from campaign.cli import main

    try:
        _on(ending, signal.default_int_handler)
        status = main.main()
    except BaseException as error:
        if _interrupted(error):
            _end()
        raise
    finally:
        _on(ending, signal.SIG_IGN)  # all was said: this process ends with its own status
    return status


def _interrupted(error: BaseException | None) -> bool:
    """Whether it comes of a signal: of another one while the first was told of, or of one that Python, which was
    loading a module, made an error of.
    """
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or error.__context__
    return error is not None


def _unraisable(given: sys.UnraisableHookArgs) -> None:
    """Python ignores an interrupt in what it calls by itself, as it does while it loads modules: it comes again."""
    if given.exc_type is KeyboardInterrupt:
        signal.setitimer(signal.ITIMER_REAL, 0.01)
    else:
        sys.__unraisablehook__(given)


def _on(numbers: list[signal.Signals], handler: signal._HANDLER) -> None:
    for number in numbers:
        signal.signal(number, handler)


def _end(_number: int = 0, _frame: FrameType | None = None) -> NoReturn:
    """Where nothing was begun yet."""
    text, status = INTERRUPTED
    try:
        os.write(2, text)
    finally:
        os._exit(status)


if __name__ == "__main__":
    raise SystemExit(main())
