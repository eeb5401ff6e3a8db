"""Strict YAML, first half: a file -> a tree of what is written, with places, and the problems found in it.

Nothing is interpreted: a scalar is its text and whether it was quoted; `campaign.core.schema` judges it. Anchors,
aliases, tags, directives and further documents are refused; size and depth are limited.

Used as: `document = Document.open(path)`, `values = schema.read(document)`, further checks that call
`document.problem(…)` with the key's path, then `document.finish()`, which raises InputError with all problems at once.
"""

from __future__ import annotations

import copy
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

from campaign.core.errors import InputError

MAX_BYTES = 256 * 1024
MAX_DEPTH = 12
MAX_PROBLEMS = 100

Place = tuple[str | int, ...]  # path of a value in the document: ("targets", 0, "directory")

# Tabs, control characters, line breaks other than \n and \r\n, a byte order mark, and what turns the reading direction.
_REFUSED = "[\x00-\x09\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ufeff\ufffe\uffff]|\r(?!\n)"

_NAMED = {
    "\t": "found a tab; replace it with spaces",
    "\ufeff": "found a byte order mark; save the file as UTF-8 without it",
}

# The parser's messages, and ours for them.
_SYNTAX: dict[str, str] = {
    "mapping values are not allowed here": 'not valid YAML: found a second ": "; put a text that holds ": " in quotes',
    "that cannot start any token": "not valid YAML: {what}; put a text that starts with it in quotes",
    "while scanning an alias": "not valid YAML: {what}; put a text that starts with * in quotes",
    "while scanning an anchor": "not valid YAML: {what}; put a text that starts with & in quotes",
    "while scanning a quoted scalar": "not valid YAML: a closing quote is missing before this place",
    "expected ',' or ": "not valid YAML: a comma or a closing {bracket} is missing before this place",
    "expected <block end>": (
        "not valid YAML: the indentation differs from that of the line above; align keys of one section"
    ),
    "could not find expected ':'": 'not valid YAML: found a line without ": " above this place; write "key: value"',
}
_TYPOGRAPHIC = ("“", "”", "„", "‘", "’", "«", "»")  # word processors replace straight quotes by these


@dataclass(frozen=True, slots=True)
class YamlNode:
    line: int  # from 1, like the column
    column: int
    file: str = field(default="", kw_only=True, compare=False)  # "" in a node that was not written


@dataclass(frozen=True, slots=True)
class Scalar(YamlNode):
    text: str
    plain: bool  # written without quotes


@dataclass(frozen=True, slots=True)
class Sequence(YamlNode):
    items: tuple[YamlNode, ...]


@dataclass(frozen=True, slots=True)
class Mapping(YamlNode):
    pairs: tuple[tuple[YamlNode, YamlNode], ...]


class Broken(YamlNode):
    """Stands for a part whose problem is already reported."""


class Document:
    """A parsed file, the places of its values, and the problems found in it."""

    def __init__(self, data: bytes, file: str) -> None:
        """Parse `data`; `file` is its name in messages. Raises InputError if there is no tree."""
        self.file = file
        self._problems: list[tuple[str, int, int, str]] = []
        self._places: set[Place] = set()  # values that have a problem
        self._withholds = self._has_unread_name = False
        self._nodes: dict[Place, YamlNode] = {(): YamlNode(1, 1)}
        self._events = self._parse(self._decode(data))
        self.root = self._stream()

    @classmethod
    def open(cls, path: Path) -> Document:
        """Read and parse a file; raises InputError where it cannot be read or parsed."""
        try:
            if path.exists() and not path.is_file():
                raise InputError(f"{path}: not a regular file; give a YAML file")
            with path.open("rb") as file:
                data = file.read(MAX_BYTES + 1)
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else str(error)
            raise InputError(f"{path}: cannot be read: {reason}; give a YAML file") from error
        return cls(data, str(path))

    def with_root(self, root: YamlNode) -> Document:
        """A document of the same file with another tree, made of nodes of this one."""
        other = copy.copy(self)
        other.root, other._problems, other._places = root, list(self._problems), set()
        other._nodes = dict(nodes(root))
        return other

    def has(self, key: str) -> bool:
        """Whether the file has such a top-level key."""
        pairs = self.root.pairs if isinstance(self.root, Mapping) else ()
        return any(isinstance(name, Scalar) and name.text == key for name, _ in pairs)

    def withhold_consequences(self) -> None:
        """Report nothing more but misspelt names if the name of an entry of a list could not be read: what refers to it
        may be right.
        """
        self._withholds = self._has_unread_name

    def problem(self, at: Place, message: str, node: YamlNode | None = None, is_misspelt: bool = False) -> None:
        """Record a problem with the value at `at`: its line is that of `node`, or of the nearest value on the path."""
        if self._withholds and not is_misspelt:
            return
        is_entry = len(at) == 2 and isinstance(at[1], int)
        self._has_unread_name |= node is not None and (is_entry or (len(at) > 1 and at[-1] in ("id", "name")))
        near = at
        while near not in self._nodes:
            near = near[:-1]
        reported_node = node or self._nodes[near]
        self._places.add(at)
        text = f"{path_text(at)}: {message}" if at else message
        problem = (reported_node.file or self.file, reported_node.line, reported_node.column, text)
        if problem not in self._problems:  # a problem found in both profiles is reported once
            self._problems.append(problem)

    def has_problem_below(self, at: Place) -> bool:
        return any(place[: len(at)] == at != place for place in self._places)

    def finish(self) -> None:
        """Raise InputError with all problems in the order of the file, if there are any."""
        if not self._problems:
            return
        ordered = sorted(self._problems, key=lambda problem: (problem[0] != self.file, *problem[:3]))
        problems = [f"{file}:{line}:{column}: {message}" for file, line, column, message in ordered[:MAX_PROBLEMS]]
        if len(ordered) > MAX_PROBLEMS:
            problems.append(f"{self.file}: {len(ordered) - MAX_PROBLEMS} more problems")
        raise InputError(*problems)

    def _stop(self, line: int, column: int, message: str) -> NoReturn:
        self._problems.append((self.file, line, column, message))
        self.finish()
        raise AssertionError("finish raises where there is a problem")

    def _decode(self, data: bytes) -> str:
        """The text of the file, if it is UTF-8 without invisible characters."""
        if len(data) > MAX_BYTES:
            self._stop(1, 1, f"the file is larger than {MAX_BYTES} bytes, the limit")
        try:
            text = data.decode("utf-8")
        except UnicodeDecodeError as error:
            line, column = _position(data[: error.start].decode("utf-8"), None)
            self._stop(line, column, f"byte 0x{data[error.start]:02x} is not UTF-8; save the file as UTF-8")
        for match in re.finditer(_REFUSED, text):
            other = f"found the character U+{ord(match[0]):04X}; allowed: printable characters and spaces"
            self._problems.append((self.file, *_position(text, match.start()), _NAMED.get(match[0], other)))
        self.finish()
        return text

    def _parse(self, text: str) -> Iterator[Any]:
        """The events of the YAML parser; a syntax error raises InputError."""
        import yaml

        # libyaml takes a tenth of the time. The two word their errors differently; those in Python are always there.
        python = yaml.SafeLoader
        try:
            yield from yaml.parse(text, Loader=yaml.CSafeLoader if yaml.__with_libyaml__ else python)
        except (yaml.YAMLError, ValueError) as first:
            error: Exception = first
            try:
                for _ in yaml.parse(text, Loader=python):
                    pass
            except (yaml.YAMLError, ValueError) as second:
                error = second if isinstance(second, yaml.MarkedYAMLError) else first
            line, column, message, message_with_context = 1, 1, str(error), str(error)
            if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark:
                line, column = error.problem_mark.line + 1, error.problem_mark.column + 1
                message, message_with_context = str(error.problem), f"{error.context} {error.problem}"
            self._stop(line, column, _syntax(message, message_with_context))

    def _stream(self) -> YamlNode:
        import yaml

        root: YamlNode | None = None
        for event in self._events:
            line, column = event.start_mark.line + 1, event.start_mark.column + 1
            if isinstance(event, yaml.DocumentStartEvent):
                if root is not None:
                    self._stop(line, column, "a second YAML document (---) starts here; keep one")
                if event.version or event.tags:
                    self._stop(line, column, "YAML directives (%) are not supported; remove the line")
                root = self._node(next(self._events), ())
        if root is None:
            self._stop(1, 1, "the file is empty; allowed: a mapping of keys to values")
        self._nodes = dict(nodes(root))
        return root

    def _node(self, event: Any, at: Place) -> YamlNode:
        """The node that starts with `event`; reads its further events from the stream."""
        import yaml

        line, column = event.start_mark.line + 1, event.start_mark.column + 1
        broken = Broken(line, column, file=self.file)
        if len(at) > MAX_DEPTH:
            self._stop(line, column, f"found more than {MAX_DEPTH} levels of nesting; allowed: up to {MAX_DEPTH}")
        if isinstance(event, yaml.AliasEvent):
            self.problem(at, f"YAML aliases (*{event.anchor}) are not supported; write the value out", broken)
            return broken
        if event.anchor is not None:
            self.problem(at, f"YAML anchors (&{event.anchor}) are not supported; remove it", broken)
        node: YamlNode
        if isinstance(event, yaml.ScalarEvent):
            node = Scalar(line, column, event.value, not event.style, file=self.file)
            if node.plain and node.text.startswith(_TYPOGRAPHIC):
                self.problem(at, f'found the typographic quote {node.text[0]}; write plain quotes (") or none', broken)
                return broken
        elif isinstance(event, yaml.SequenceStartEvent):
            items: list[YamlNode] = []
            while not isinstance(inner := next(self._events), yaml.SequenceEndEvent):
                items.append(self._node(inner, (*at, len(items))))
            node = Sequence(line, column, tuple(items), file=self.file)
        else:
            pairs = []
            while not isinstance(inner := next(self._events), yaml.MappingEndEvent):
                key = self._node(inner, (*at, "key"))
                name = key.text if isinstance(key, Scalar) else "key"
                pairs.append((key, self._node(next(self._events), (*at, name))))
            node = Mapping(line, column, tuple(pairs), file=self.file)
        if event.tag is not None:
            self.problem(at, f"YAML tags ({quoted(event.tag)}) are not supported; remove it", broken)
            return broken
        return node


def nodes(node: YamlNode, at: Place = ()) -> Iterator[tuple[Place, YamlNode]]:
    """Each value of a tree, with its place."""
    yield at, node
    if isinstance(node, Sequence):
        for index, item in enumerate(node.items):
            yield from nodes(item, (*at, index))
    elif isinstance(node, Mapping):
        for key, value in node.pairs:
            yield from nodes(value, (*at, key.text if isinstance(key, Scalar) else "key"))


# --- what YAML 1.1 reads a plain scalar as, where people may have meant a text: `no`, `1:30:00`, `017`

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


def yaml_reading(text: str) -> str | None:
    """What YAML would read a plain scalar as, if not as a text ("true", "a number in base 60"); None for a text."""
    return next((reading for pattern, reading in _OTHERWISE if re.fullmatch(pattern, text)), None)


def plain(node: YamlNode) -> Any:
    """A tree as the data that YAML makes of it."""
    import yaml

    if isinstance(node, Mapping):
        return {key.text: plain(value) for key, value in node.pairs if isinstance(key, Scalar)}
    if isinstance(node, Sequence):
        return [plain(item) for item in node.items]
    assert isinstance(node, Scalar), "the file was read without a problem"
    return yaml.safe_load(node.text) if node.plain else node.text


def has_key(path: Path, key: str) -> bool:
    """Whether a YAML file has such a top-level key; False if it cannot be read or parsed."""
    try:
        return Document.open(path).has(key)
    except InputError:
        return False


def is_file(path: Path) -> bool:
    """Whether a file exists; False if it cannot be accessed (no permission, name too long)."""
    return os.path.isfile(path)  # noqa: PTH113  # Path.is_file raises, before Python 3.14


def _syntax(message_at_place: str, message_with_context: str) -> str:
    """A syntax error in words, from the parser's message about the place, and the one that includes its context."""
    message = next(
        (message for words, message in _SYNTAX.items() if words in message_with_context),
        "not valid YAML: {what}; check indentation, brackets and quotes",
    )
    bracket = re.search("expected ',' or '(.)'", message_at_place)
    return message.format(what=message_at_place, bracket=bracket[1] if bracket else "]")


def _position(text: str, offset: int | None) -> tuple[int, int]:
    """Line and column, from 1, of the character at `offset`, or of the end."""
    before = text[:offset]
    return before.count("\n") + 1, len(before) - before.rfind("\n")


def quoted(text: str, plain: bool = False) -> str:
    """A found text for a message: in quotes unless it was written plain, shortened, only printable characters."""
    if len(text) > 60:
        text = text[:57] + "..."
    text = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
    return text if plain else f'"{text}"'


def path_text(at: Place) -> str:
    """`targets[0].directory`; a key that is not a simple word is in quotes."""
    text = ""
    for part in at:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            simple = re.fullmatch(r"[A-Za-z_][A-Za-z0-9_-]*", part)
            text += ("." if text else "") + (part if simple else quoted(part))
    return text


def describe_node(node: YamlNode) -> str:
    """A node as messages show it."""
    if isinstance(node, Scalar):
        return quoted(node.text, node.plain) if node.text or not node.plain else "nothing"
    return "a list" if isinstance(node, Sequence) else "a mapping"
