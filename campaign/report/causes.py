"""One cause is reported once: texts of one message that differ in a value become one text with all the values. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from string import Formatter

from campaign.core.messages import Message, Said
from campaign.core.model import Cell
from campaign.core.regex import regex
from campaign.report.messages.tables import AND_MORE

LISTED = 6  # different values that one text writes out
_OPERATION = "{operation}: "
_NAMES = regex(r"[^\s,]+(, [^\s,]+)*")
_PLACE = regex(r"\bruns/[^\s:]+(?::\d+)?:")  # of a line in a run's raw output
_OWN = regex(r"/campaign-[0-9a-f]{8,}[^\s'\",;)]*")  # what is in an attempt's own directory


def merged(texts: Iterable[tuple[str, str]]) -> dict[tuple[str, str], str]:
    """For texts with their rules: the text to print, with all values in which texts of one message differ."""
    alike: dict[tuple[str, str], list[Said]] = {}
    for rule, text in dict.fromkeys(texts):
        if isinstance(text, Said):
            alike.setdefault((rule, text.message.text), []).append(text)
    whole_of: dict[tuple[str, str], str] = {}
    for (rule, _), same in alike.items():
        differing = [name for name in same[0].values if len({str(text.values[name]) for text in same}) > 1]
        if len(differing) == 1 and differing[0] in _texts(same[0].message):
            values = [str(text.values[differing[0]]) for text in same]
            whole = same[0].message(**{**same[0].values, differing[0]: listed(values)})
            whole_of |= {(rule, text): whole for text in same}
    return whole_of


def general(text: str) -> str:
    """A line of a run's raw output without its place, its own directory and its numbers; any other text as it is."""
    return general_cause(text) if _PLACE.search(text) else text


def general_cause(text: str) -> str:
    """Why a run failed, without what differs from run to run: places, own directories, ids and numbers."""
    return re.sub(r"\d+", "#", _OWN.sub("/#", _PLACE.sub("", text)))


def once(texts: Iterable[str]) -> list[str]:
    """The different texts; of lines that differ in their place alone, the first."""
    different: dict[str, str] = {}
    for text in texts:
        different.setdefault(general(text), text)
    return list(different.values())


def listed(values: Sequence[str]) -> str:
    """The first of different values, and how many more there are; of lists of names, all their names."""
    different = once(values)
    if all(_NAMES.fullmatch(value) for value in different):
        different = once(name for value in different for name in value.split(", "))
    if len(different) > LISTED:
        different[LISTED:] = [AND_MORE(number=len(different) - LISTED)]
    return ("; " if any(", " in value for value in different) else ", ").join(different)


def apart(text: str) -> tuple[str, str]:
    """The operation that a message about one of a run's operations begins with, or "", and the rest of it."""
    if isinstance(text, Said) and text.message.text.startswith(_OPERATION):
        rest = Message(text.message.text.removeprefix(_OPERATION))
        values = {name: value for name, value in text.values.items() if name in _places(rest)}
        return str(text.values["operation"]), rest(**values)
    return "", text


def concerns(text: str, cell: Cell) -> bool:
    """Whether a finding of a run that carries several cells is about this one."""
    return apart(text)[0] in ("", cell.operation)


def _places(message: Message) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(message.text) if name is not None}


def _texts(message: Message) -> set[str]:
    """The places that take any text: those without a format of their own."""
    return {name for _, name, form, way in Formatter().parse(message.text) if name and not form and not way}
