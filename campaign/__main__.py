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
    ending = [number for number in ENDING if signal.getsignal(number) in usual]
    _set_handlers(ending, _exit_interrupted)
    sys.unraisablehook = _handle_unraisable
    from campaign.cli import main

    try:
        _set_handlers(ending, signal.default_int_handler)
        status = main.main()
    except BaseException as error:
        if _is_interruption(error):
            _exit_interrupted()
        raise
    finally:
        _set_handlers(ending, signal.SIG_IGN)  # all was said: this process ends with its own status
    return status


def _is_interruption(error: BaseException | None) -> bool:
    """Whether an error was caused by a signal: directly, by a second signal while the first was reported, or by one
    that Python turned into an ImportError.
    """
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or error.__context__
    return error is not None


def _handle_unraisable(unraisable: sys.UnraisableHookArgs) -> None:
    """Send an interrupt again that Python ignored because it came in a callback, as while modules are loaded."""
    if unraisable.exc_type is KeyboardInterrupt:
        signal.setitimer(signal.ITIMER_REAL, 0.01)
    else:
        sys.__unraisablehook__(unraisable)


def _set_handlers(numbers: list[signal.Signals], handler: signal._HANDLER) -> None:
    for number in numbers:
        signal.signal(number, handler)


def _exit_interrupted(_number: int = 0, _frame: FrameType | None = None) -> NoReturn:
    """Print that the program was interrupted and end it, while there is nothing to clean up."""
    text, status = INTERRUPTED
    try:
        os.write(2, text)
    finally:
        os._exit(status)


if __name__ == "__main__":
    raise SystemExit(main())
