"""Regular expressions from a file from another party, for whole lines: bounded in what matching may cost. Pure.

Allowed is a part of Python's syntax: characters, `.`, classes, `\\d \\s \\w \\D \\S \\W \\t`, the groups `(…)`, `(?:…)`
and `(?P<name>…)`, `|`, and the repetitions `* + ? {n} {n,} {n,m}`. Python's matcher tries again where a repetition
could have ended elsewhere. A repetition is open where its next character could also be part of it; with each open one
the steps grow by a factor of the line's length.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import field
from functools import lru_cache

from campaign.core import messages
from campaign.core.frozen import dataclass

LONGEST = 400  # characters of a pattern
DEEPEST = 10  # groups within groups
MOST_OPEN = 2  # open repetitions of a pattern
MOST_WAYS = 1000  # of matching the rest of a pattern: alternatives, optional parts, bounded open repetitions
MOST_TIMES = 20  # of a repeated group that holds repetitions itself: {n} writes it out

_BEYOND_ASCII = frozenset({"é", "中"})
_SAMPLES = frozenset(map(chr, range(1, 128))) - {"\n"} | _BEYOND_ASCII  # represent all characters
_END = frozenset({""})
_CLASS_ESCAPES = "dDsSwW"

Chars = frozenset[str]


@dataclass(frozen=True, slots=True)
class LinePattern:
    """A pattern that matches a line as a whole."""

    text: str
    compiled: re.Pattern[str]
    exponent: int  # the steps of a match grow with the length of the line to this power
    ways: int

    @property
    def groups(self) -> tuple[str, ...]:
        return tuple(self.compiled.groupindex)

    def match(self, line: str) -> re.Match[str] | None:
        return self.compiled.fullmatch(line)

    def cost(self, length: int) -> int:
        """Steps that matching a line of that length can take, roughly and at most."""
        return self.ways * int((length + 1) ** self.exponent)


@dataclass(frozen=True, slots=True)
class _CharacterNode:
    """One character of a set."""

    chars: Chars


@dataclass(frozen=True, slots=True)
class _RepeatNode:
    body: _Node
    least: int
    most: int | None


@dataclass(frozen=True, slots=True)
class _ChoiceNode:
    branches: tuple[tuple[_Node, ...], ...]


_Node = _CharacterNode | _RepeatNode | _ChoiceNode


@lru_cache(maxsize=1000)  # a pack's patterns are those of each of its outputs
def compile(text: str) -> LinePattern:
    """Raises ValueError saying what is wrong with it, and what is allowed."""
    if len(text) > LONGEST:
        raise ValueError(messages.TOO_LONG(length=len(text), longest=LONGEST))
    parsed = _PatternReader(text).whole()
    try:
        compiled = re.compile(text, re.ASCII)
    except (re.error, OverflowError, RecursionError) as error:
        raise ValueError(messages.NOT_A_PATTERN(error=error)) from error
    cost = _MatchCost()
    cost.of_choice(parsed, _END)
    if cost.open > MOST_OPEN:
        raise ValueError(messages.PATTERN_OPEN(count=cost.open, most=MOST_OPEN))
    if cost.ways > MOST_WAYS:
        raise ValueError(messages.PATTERN_WAYS(ways=cost.ways, most=MOST_WAYS))
    return LinePattern(text, compiled, max(1, cost.open + (1 if cost.open and cost.closed else 0)), cost.ways)


class _PatternReader:
    """Recursive descent over the text."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._depth = 0

    def whole(self) -> _ChoiceNode:
        choice = self._choice()
        if self._at < len(self._text):
            raise ValueError(messages.PARENTHESIS_CLOSED())
        return choice

    def _peek(self, length: int = 1) -> str:
        return self._text[self._at : self._at + length]

    def _take(self, pattern: str) -> re.Match[str] | None:
        match = re.compile(pattern).match(self._text, self._at)
        if match:
            self._at = match.end()
        return match

    def _choice(self) -> _ChoiceNode:
        branches = [tuple(self._sequence())]
        while self._take(r"\|"):
            branches.append(tuple(self._sequence()))
        return _ChoiceNode(tuple(branches))

    def _sequence(self) -> Iterator[_Node]:
        while (char := self._peek()) and char not in "|)":
            yield self._repeated(self._item())

    def _repeated(self, body: _Node) -> _Node:
        match = self._take(r"([*+?])|\{([0-9]{1,4})(?:(,)([0-9]{1,4})?)?\}")
        if not match:
            return body
        if self._take(r"[*+?{]"):
            raise ValueError(messages.REPEATED_TWICE(text=match[0]))
        least = {"*": 0, "+": 1, "?": 0}[match[1]] if match[1] else int(match[2])
        bound = {"*": None, "+": None, "?": 1}[match[1]] if match[1] else least
        if match[3]:
            bound = int(match[4]) if match[4] else None
        if bound is not None and bound < least:
            raise ValueError(messages.REPEATED_BOUNDS(text=match[0]))
        return self._checked(_RepeatNode(body, least, bound))

    def _checked(self, repeat: _RepeatNode) -> _Node:
        """A group that holds repetitions or alternatives may be optional, or be written out a fixed number of times."""
        if isinstance(repeat.body, _CharacterNode) or repeat.most in (0, 1) or _is_fixed(repeat.body):
            return repeat
        if repeat.least == repeat.most and repeat.least <= MOST_TIMES:
            return _ChoiceNode((tuple([repeat.body] * repeat.least),))
        raise ValueError(messages.REPEATED_GROUP(most=MOST_TIMES))

    def _item(self) -> _Node:
        if self._take(r"\((?:\?:|\?P<[a-z][a-z0-9_]*>|(?!\?))"):
            self._depth += 1
            if self._depth > DEEPEST:
                raise ValueError(messages.GROUPS_TOO_DEEP(most=DEEPEST))
            choice = self._choice()
            if not self._take(r"\)"):
                raise ValueError(messages.PARENTHESIS_OPEN())
            self._depth -= 1
            return choice
        if self._peek() == "(":
            raise ValueError(messages.GROUP_KIND(text=self._peek(4)))
        if match := self._take(r"\[\^?\]?(?:\\.|[^\]\\])*\]"):
            return _CharacterNode(_set(match[0]))
        if match := self._take(rf"\\(?:[{_CLASS_ESCAPES}t]|[^A-Za-z0-9\s]|[ ])|[^\\\[\](){{}}*+?^$|]"):
            return _CharacterNode(_set(match[0]))
        if self._peek() in ("^", "$"):
            raise ValueError(messages.WHOLE_LINE(text=self._peek()))
        raise ValueError(messages.NOT_A_CHARACTER(text=self._peek(2)))


def _set(written: str) -> Chars:
    """The characters of the samples that a character or class matches; of one beyond ASCII, all beyond ASCII."""
    if re.search(r"\\[A-Za-z0-9]", re.sub(rf"\\[{_CLASS_ESCAPES}t]|\\[^A-Za-z0-9]", "", written)):
        raise ValueError(messages.ESCAPE_UNKNOWN(text=written))
    if written.startswith("[") and re.search(r"(?<!\\)\[|--|&&|~~|\|\|", written[1:]):
        raise ValueError(messages.CLASS_OPERATORS(text=written))
    try:
        pattern = re.compile(written, re.ASCII)
    except re.error as error:
        raise ValueError(messages.CLASS_WRONG(text=written, error=error)) from error
    chars = frozenset(char for char in _SAMPLES if pattern.fullmatch(char))
    return chars if written.isascii() else chars | _BEYOND_ASCII


def _is_fixed(node: _Node) -> bool:
    """One sequence of single characters, however often it is repeated."""
    if isinstance(node, _ChoiceNode):
        return len(node.branches) == 1 and bool(node.branches[0]) and all(map(_is_fixed, node.branches[0]))
    return isinstance(node, _CharacterNode)


def _first(node: _Node) -> tuple[Chars, bool]:
    """What it can begin with, and whether it can be empty."""
    if isinstance(node, _CharacterNode):
        return node.chars, False
    if isinstance(node, _RepeatNode):
        chars, empty = _first(node.body)
        return chars, empty or node.least == 0
    firsts = [_first_of(branch, frozenset()) for branch in node.branches]
    return frozenset().union(*(chars for chars, _ in firsts)), any(empty for _, empty in firsts)


def _first_of(sequence: tuple[_Node, ...], follow: Chars) -> tuple[Chars, bool]:
    chars: Chars = frozenset()
    for node in sequence:
        begins, empty = _first(node)
        chars |= begins
        if not empty:
            return chars, False
    return chars | follow, True


@dataclass(slots=True)
class _MatchCost:
    open: int = 0  # unbounded repetitions that can end at several places
    closed: int = 0  # those that cannot
    ways: int = field(default=1)

    def of_choice(self, choice: _ChoiceNode, follow: Chars) -> None:
        begins = [_first_of(branch, follow)[0] for branch in choice.branches]
        if sum(map(len, begins)) > len(frozenset().union(*begins)):
            self.ways *= len(begins)
        for branch in choice.branches:
            for index, node in enumerate(branch):
                self._of(node, _first_of(branch[index + 1 :], follow)[0])

    def _of(self, node: _Node, follow: Chars) -> None:
        if isinstance(node, _ChoiceNode):
            self.of_choice(node, follow)
        elif isinstance(node, _RepeatNode):
            begins = _first(node.body)[0]
            overlaps = not begins.isdisjoint(follow)
            if node.most is None:
                self.open += overlaps
                self.closed += not overlaps
            elif overlaps:
                self.ways *= max(1, node.most - node.least + 1)
            if isinstance(node.body, _ChoiceNode):
                self.of_choice(node.body, follow | begins if node.most != 1 else follow)
