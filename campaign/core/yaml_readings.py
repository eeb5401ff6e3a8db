"""What YAML 1.1 reads a plain scalar as, where people may have meant a text: `no`, `1:30:00`, `017`."""

from __future__ import annotations

import re

NUMBER = "a number"

# Patterns are compiled on first use, which keeps the start of the program quick.
_OTHERWISE = [
    (r"(?i:y|yes|on|true)", "true"),
    (r"(?i:n|no|off|false)", "false"),
    (r"(?i:~|null|)", "nothing"),
    (r"0|-?[1-9][0-9]*", NUMBER),
    (r"[-+]?(0o[0-7]+|0[0-7_]+)", "an octal number"),
    (r"[-+]?0x[0-9a-fA-F_]+", "a hexadecimal number"),
    (r"[-+]?0b[01_]+", "a binary number"),
    (r"[-+]?[1-9][0-9_]*_[0-9_]*", "a number without its underscores"),
    (r"[-+]?[0-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9_]*)?", "a number in base 60"),
    (r"[-+]?([0-9][0-9_]*\.?|\.[0-9])[0-9_]*([eE][-+]?[0-9]+)?", NUMBER),
    (r"(?i:[-+]?\.inf|\.nan)", NUMBER),
    (r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}([Tt ].*)?", "a date"),
]
WRITTEN_NUMBER = r"-?(0|[1-9][0-9]*)(\.[0-9]+)?"  # can be taken as a text without surprise
EXPONENT = r"(e-?[0-9]+)?"


def reads_as(text: str) -> str | None:
    """What YAML would read a plain scalar as, if not as a text ("true", "a number in base 60"); None for a text."""
    return next((reading for pattern, reading in _OTHERWISE if re.fullmatch(pattern, text)), None)
