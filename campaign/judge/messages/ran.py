"""About what the ranks executed (SRC-04)."""

from __future__ import annotations

from campaign.core.messages import Message

DECLARE = Message(
    "benchmark.executable names the program itself; a script around it, or a script's "
    "interpreter, is named under launcher.prefix"
)
PROGRAM_UNHASHED = Message("the nodes could not read the benchmark's program: what ran cannot be compared with it")
RAN_ANOTHER = Message("ranks ran a program other than the declared one")
UNDECLARED_PROGRAMS = Message("ranks also ran programs that are not declared under launcher.prefix")
MORE_PROGRAMS = Message("ranks also ran programs other than the benchmark and what launcher.prefix names")
