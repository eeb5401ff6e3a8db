"""Texts of others (names, notes, messages of programs) in formats that people open: shown as the text that they are.

`plain` replaces what cannot be displayed, or looks like another letter. In printed tables, each character that a format
may interpret is replaced by a stand-in from Unicode's private use area while the table is laid out; `unshield` then
replaces the stand-in by the format's escape sequence. So no layout ever sees a separator inside a cell. Pure.
"""

from __future__ import annotations

import functools
import re
import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

# Controls, marks that change the writing direction, halves of surrogate pairs, private use, non-characters.
_UNSEEN = (
    "[\x00-\x1f\x7f-\x9f\xad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069"
    "\ud800-\uf8ff\ufeff\ufff0-\ufffb\ufffe\uffff"
    "\U000e0000-\U0010ffff]"
)
# Cyrillic, Greek, fullwidth and mathematical characters that look like Latin letters.
_ALIKE = (
    "[\u0405\u0406\u0408\u0410\u0412\u0415\u041a\u041c\u041d\u041e\u0420\u0421\u0422\u0423\u0425\u042c"
    "\u0430\u0435\u043e\u0440\u0441\u0443\u0445\u0455\u0456\u0458\u04bb\u0501\u051b\u051d"
    "\u0391\u0392\u0395\u0396\u0397\u0399\u039a\u039c\u039d\u039f\u03a1\u03a4\u03a5\u03a7\u03bf"
    "\uff21-\uff3a\uff41-\uff5a\U0001d400-\U0001d7ff]"
)
_ESCAPED = re.compile(f"{_UNSEEN}|(?<=[A-Za-z]){_ALIKE}|{_ALIKE}(?=[A-Za-z])")
_BREAK = re.compile(r"\s*[\r\n\x0b\x0c\x85\u2028\u2029]+\s*")
_BARS = "|│║┃"  # column borders in formats that draw boxes

_BEYOND = "≥≤≠≈→←×±−µμ–—"  # which not every LaTeX installation knows

_SPECIAL = string.punctuation + _BARS[1:] + _BEYOND
_SHIELDED = {ord(character): chr(0xE000 + number) for number, character in enumerate(_SPECIAL)}
_SHIELD = re.compile(f"(?m)(^ *)?([{chr(0xE000)}-{chr(0xE000 + len(_SPECIAL) - 1)}])")

# What a spreadsheet may take for the beginning of a formula, also after spaces.
_FORMULA = re.compile(r"\s*[=+\-@\t\r\n＝＋－＠]")
_NUMBER = re.compile(r"[+-]?\d+(\.\d+)?([eE][+-]?\d+)?")


@dataclass(frozen=True, slots=True)
class _Way:
    """How a format escapes its special characters: those that are special anywhere, and those at the beginning of a
    line.
    """

    written: Mapping[str, str]
    first: Mapping[str, str] = field(default_factory=dict)
    between: str = "\n"  # separates texts and tables


def _backslash(characters: str) -> dict[str, str]:
    return {character: f"\\{character}" for character in characters}


def _entities(characters: str) -> dict[str, str]:
    return {character: f"&#{ord(character)};" for character in characters}


_HTML = _Way({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#x27;"})
_LATEX_NAMES = {
    "\\": "backslash", "~": "asciitilde", "^": "asciicircum", "<": "less", ">": "greater", "|": "bar",
    "`": "asciigrave",
}  # fmt: skip
_LATEX_MATHS = {
    "≥": "geq", "≤": "leq", "≠": "neq", "≈": "approx", "→": "rightarrow", "←": "leftarrow", "×": "times", "±": "pm",
    "−": "-", "µ": "mu", "μ": "mu",
}  # fmt: skip
_LATEX = _Way(
    {
        **_backslash("&%$#{}"),
        **{character: f"$\\{name}$" if name.isalpha() else f"${name}$" for character, name in _LATEX_MATHS.items()},
        "_": "\\_\\allowbreak{}",  # names of cells and paths are wider than a column
        "/": "/\\allowbreak{}",
        "–": "--",
        "—": "---",
        **{character: f"{{{character}}}" for character in "[]*"},  # else an argument of the row end before
        **{character: rf"\text{name}{{}}" for character, name in _LATEX_NAMES.items()},
    },
    between="\n\n",
)
_ORG_NAMES = {
    "|": "vert", "\\": "backslash", "[": "lbrack", "]": "rbrack", "{": "lbrace", "}": "rbrace", "<": "lt", ">": "gt",
    "*": "ast", "_": "under", "^": "asciicirc", "=": "equal", "~": "tilde", "+": "plus", "#": "num", "$": "dollar",
}  # fmt: skip
_ORG = _Way({character: f"\\{name}{{}}" for character, name in _ORG_NAMES.items()}, between="\n\n")
_WIKI = _Way(
    _entities("".join(mark for mark in string.punctuation if mark not in ",./")), _entities(string.punctuation), "\n\n"
)
_MARKDOWN = _Way(_backslash("\\`*_{}[]<>|~&$"), _backslash(string.punctuation), "\n\n")
_RST = _Way(_backslash("\\`*_|<>:"), _backslash(string.punctuation), "\n\n")
_TEXT = _Way({})
_DRAWN = _Way(dict.fromkeys(_BARS, "¦"))

_WAYS: Mapping[str, _Way] = {
    **dict.fromkeys(("html", "unsafehtml"), _HTML),
    **dict.fromkeys(("latex", "latex_raw", "latex_booktabs", "latex_longtable"), _LATEX),
    **dict.fromkeys(("mediawiki", "moinmoin", "textile", "asciidoc", "jira", "youtrack"), _WIKI),
    **dict.fromkeys(("pipe", "github"), _MARKDOWN),
    **dict.fromkeys(("plain", "simple", "tsv"), _TEXT),
    "rst": _RST,
    "orgtbl": _ORG,
}


def style_rules(style: str) -> _Way:
    return _WAYS.get(style, _DRAWN)


def plain(text: str) -> str:
    """The text on one line, in which invisible characters become their numbers, as in `\x1b`. So does what looks like
    a letter of the word that it is in: a name that reads as another shows it.
    """
    if text.isascii() and text.isprintable():  # as most are
        return text
    return _ESCAPED.sub(_number, _BREAK.sub(" ", text).replace("\t", " "))


def _number(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}" if code < 65536 else f"\\U{code:08x}"


def spreadsheet(text: str) -> str:
    """A field for a spreadsheet: an apostrophe before anything that it would take for a formula, except numbers."""
    return f"'{plain(text)}" if _FORMULA.match(text) and not _NUMBER.fullmatch(text) else plain(text)


@functools.lru_cache(maxsize=4096)
def shield(text: str, style: str) -> str:
    """`plain`, with a stand-in for each character that a format may interpret. Cached: many cells are alike."""
    return (spreadsheet if style == "tsv" else plain)(text).translate(_SHIELDED)


def unshield(text: str, style: str) -> str:
    """A laid-out text in which the stand-ins become the escape sequences of a tabulate format."""
    rules = style_rules(style)
    if not rules.first:
        return text.translate({0xE000 + place: rules.written.get(mark, mark) for place, mark in enumerate(_SPECIAL)})

    def escape_match(match: re.Match[str]) -> str:
        character = _SPECIAL[ord(match[2]) - 0xE000]
        escaped = rules.written.get(character, character)
        return escaped if match[1] is None else match[1] + rules.first.get(character, escaped)

    return _SHIELD.sub(escape_match, text)


def paragraph(text: str, style: str) -> str:
    """A shielded text above or below a table."""
    text = shield(text, style).strip()
    return f"<p>{text}</p>" if style_rules(style) is _HTML else text


def join_blocks(parts: Sequence[str], style: str) -> str:
    """Paragraphs and tables, separated so that the format does not join them."""
    return style_rules(style).between.join(parts)
