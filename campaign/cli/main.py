"""The command line: a verb, its exit status, and errors in words."""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress

from campaign.cli import messages
from campaign.cli.arguments import check_verb, parser
from campaign.cli.output import say
from campaign.core.errors import ENVIRONMENT, INTERRUPTED, OK, CampaignError, is_full

TELLING = ("run", "rerun", "status", "check", "verify", "collect")  # verbs whose status scripts rely on


def main(argv: Sequence[str] | None = None) -> int:
    if "_ARGCOMPLETE" in os.environ:  # a shell asks for completions
        from campaign.cli import completion as completions

        completions.answer(parser(sandbox=True))
    gc.set_threshold(1_000_000)  # what a large campaign has is made once and kept: looking through it finds nothing
    words = sys.argv[1:] if argv is None else list(argv)
    if argv is None:
        _end_as_ctrl_c_does(signal.SIGTERM, signal.SIGHUP)
    try:
        if words:
            check_verb(*words)
        arguments = parser(sandbox=words[:1] == ["sandbox"]).parse_args(words)
        status: int = arguments.do(arguments)
        sys.stdout.flush()
        return status
    except CampaignError as error:
        _last(f"campaign: {error}")
        return error.exit_status
    except KeyboardInterrupt:
        _last(f"campaign: {messages.INTERRUPTED()}")
        return INTERRUPTED
    except BrokenPipeError:
        # Whoever read our output has gone, as in `campaign table | head`. What tells by its status does not tell OK.
        sys.stderr.close()
        return INTERRUPTED if words[:1] and words[0] in TELLING else OK
    except OSError as error:
        place = error.filename or "standard output"
        text = messages.FULL(path=place, why=error.strerror) if is_full(error) else f"{place}: {error.strerror}"
        _last(f"campaign: {text}")
        with suppress(OSError):  # what is left in its buffer would only fail again
            sys.stdout.close()
        return ENVIRONMENT


def _end_as_ctrl_c_does(*signals: signal.Signals) -> None:
    """What was begun is cleaned up and said. `nohup` has a process ignore SIGHUP, which stays so."""
    for number in signals:
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, signal.default_int_handler)


def _last(text: str) -> None:
    with suppress(OSError):  # the terminal was closed
        say(text)
