"""What a terminal shows beyond plain text: red for what is wrong, yellow for what is open, green for what is in order.

A word is coloured where it is the mark of a line, a column of its own, or the state in front of a reason; so are the
headlines of decisions and of groups of findings.
"""

from __future__ import annotations

import os
import re
from typing import TextIO

AUTO, ALWAYS, NEVER = CHOICES = ("auto", "always", "never")
RED, YELLOW, GREEN = "31", "33", "32"
WORDS = {
    RED: "NO WRONG INVALID VIOLATED invalid failed timeout node_fail cancelled refused lost rejected worse changed",
    YELLOW: "open explain missing projected declined PROJECTED planned pending submitting superseded undecided",
    GREEN: "ok done measured running accepted better",
}
HEADLINES = {  # the first of these words that a headline has decides
    RED: r"NOT (READY|VALID|ACCEPT|YET)|REJECTED|WORSE|CHANGED|^Violations",
    YELLOW: "REHEARSAL|NOT |UNDECIDED|INCOMPLETE|DAY'S|^Waived|^Explanation|^Not",
    GREEN: "ACCEPT|READY|SAMPLE|BETTER|NO VIOLATION",
}
MARKS = {RED: "-!", YELLOW: "?≈", GREEN: "+="}  # behind a number
_COLOUR_OF_WORD = {word: colour for colour, words in WORDS.items() for word in [*words.split(), *MARKS[colour]]}
_WORD = re.compile(
    rf"(?:(?<=  )|(?<=: ))(?:{'|'.join(' '.join(WORDS.values()).split())})(?=  |$|: )"
    r"|(?<=\d )(?:[-!?≈+=](?=  |$)|INVALID|PROJECTED)",
    re.MULTILINE,
)
_TITLES = "Violations|Waived violations|Explanation required|Not checked"
_HEADLINE = re.compile(rf"^(?:[A-Z][A-Z', ]+(?=: )|(?:{_TITLES})(?: \(.*\))?:$)", re.MULTILINE)
_choice = [AUTO]


def choose_colours(choice: str) -> None:
    """When texts are coloured from now on: one of CHOICES."""
    _choice[:] = [choice]


def can_redraw(stream: TextIO) -> bool:
    """Whether it is a terminal that moves its cursor."""
    return stream.isatty() and os.environ.get("TERM", "dumb") not in ("dumb", "unknown", "")


def is_coloured(stream: TextIO) -> bool:
    """Whether texts on this stream are coloured; by default on a terminal, without NO_COLOR."""
    if _choice[0] == AUTO:
        return can_redraw(stream) and not os.environ.get("NO_COLOR")
    return _choice[0] == ALWAYS


def with_colours(text: str, stream: TextIO) -> str:
    """The text as this stream gets it."""
    if not is_coloured(stream):
        return text
    text = _WORD.sub(lambda match: _painted(match[0], _COLOUR_OF_WORD[match[0]]), text)
    return _HEADLINE.sub(lambda match: _painted(match[0], f"1;{_headline_colour(match[0])}"), text)


def _headline_colour(headline: str) -> str:
    return next((colour for colour, pattern in HEADLINES.items() if re.search(pattern, headline)), YELLOW)


def _painted(text: str, style: str) -> str:
    return f"\x1b[{style}m{text}\x1b[0m"
