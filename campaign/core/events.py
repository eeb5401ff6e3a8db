"""The journal's events: lines of JSON, which fields each kind has, and what they may contain. Pure.

Names in a journal become paths, times and numbers in the database, and a journal may come from anybody. Of events that
the program does not use, only kind and time are checked.
"""

from __future__ import annotations

import dataclasses  # noqa: F401 -- orjson loads these itself, and Python crashes where a signal interrupts that
import datetime  # noqa: F401
import hashlib
import json  # noqa: F401
import re
import uuid  # noqa: F401
import zoneinfo  # noqa: F401
from collections.abc import Mapping
from typing import Any

import orjson

from campaign.core.runs import State
from campaign.core.untrusted import Form, list_form, matching, object_form, problems

FORMAT = 1  # of an event
START = "0" * 64
LONGEST_LINE = 4 << 20  # bytes: a job of 10,000 runs takes 2 MB
Event = dict[str, Any]
MOST_ATTEMPTS = 100_000  # in one job
_LATEST = 1e11  # seconds since 1970: the year 5138, which all calendars can represent
_LONGEST_NAME = 255  # bytes; the limit of file systems
_ENDS = sorted(state.value for state in State if not state.active)
_HALF = re.compile("[\ud800-\udfff]")  # half of a character, which cannot be written as UTF-8
DAMAGED = re.compile(r"journal\.damaged-[1-9][0-9]{0,5}\.jsonl")  # what a journal was recovered from


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and not _HALF.search(value)


def _is_name(value: Any) -> bool:
    if not isinstance(value, str) or not value.isprintable() or value in ("", ".", ".."):
        return False
    return not {"/", "\\"} & {*value} and len(value.encode()) <= _LONGEST_NAME


def _is_attempt(value: Any) -> bool:
    run, _, number = value.rpartition("/") if isinstance(value, str) else ("", "", "")
    return _is_name(run) and bool(re.fullmatch("[1-9][0-9]{0,5}", number))


def _is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value <= _LATEST


def _is_time(value: Any) -> bool:
    return type(value) in (int, float) and 0 <= value <= _LATEST


_TEXT = Form(_is_text, "a text")
_NAME = Form(_is_name, "a plain name")
_TOKEN = matching("[!-~]{1,255}", "a word")
_NUMBER = Form(lambda value: type(value) is int and 1 <= value <= MOST_ATTEMPTS, f"1 to {MOST_ATTEMPTS}")
_TIME = Form(_is_time, f"seconds since 1970, up to {_LATEST:.0f}")
_ENDED = Form(lambda value: value is None or _is_time(value), f"null, or {_TIME.allowed}")
_STATE = matching("|".join(_ENDS), ", ".join(_ENDS))
_DAMAGED_NAME = matching(DAMAGED, "journal.damaged-NUMBER.jsonl")
_RANGE = Form(
    lambda value: isinstance(value, list) and len(value) == 2 and all(map(_is_count, value)) and value[0] <= value[1],
    "the first and the last number of lines",
)
_COUNT = Form(_is_count, f"a number, up to {_LATEST:.0f}")
_ATTEMPT_NAME = Form(_is_attempt, "RUN/NUMBER")
_HASH = matching("[0-9a-f]{64}", "64 hexadecimal digits")


_FILES = Form(
    lambda value: isinstance(value, dict) and all(map(_is_text, value)), "an object of hashes by file", True, _HASH
)
_ATTEMPT = object_form({"run": _NAME, "number": _NUMBER, "token": _TOKEN, "fingerprint": _TOKEN})
_ANY = object_form({"event": _TEXT, "time": _TIME})
_KINDS = {
    "begin": {name: _TEXT._replace(optional=True) for name in ("nonce", "campaign")},
    "job": {"job": _NAME, "target": _TEXT, "submitter": _TEXT, "attempts": list_form(_ATTEMPT)}
    | {"version": _TEXT._replace(optional=True), "templates": _HASH._replace(optional=True)},
    "submitted": {"job": _NAME, "job_id": _TEXT, "message": _TEXT},
    "uncertain": {"job": _NAME, "message": _TEXT},
    "ended": {"run": _NAME, "number": _NUMBER, "state": _STATE, "reason": _TEXT, "started": _ENDED, "ended": _ENDED}
    | {"files": _FILES},
    "cancel": {"jobs": list_form(_TEXT)},
    "stop": {"jobs": list_form(_TEXT), "cause": _TEXT},
    "recovered": {"damaged": _DAMAGED_NAME, "sha256": _HASH, "lost": list_form(_RANGE), "missing": _COUNT}
    | {"open": list_form(_ATTEMPT_NAME), "unnamed": list_form(_ATTEMPT_NAME)},
}
_FORMS = {kind: object_form(fields) for kind, fields in _KINDS.items()}


def form_problem(event: Mapping[str, Any]) -> str:
    """How an event differs from its form: the field, what was found and what is allowed; "" if it does not."""
    kind, time = event.get("event"), event.get("time")
    # The usual types need no calls: there may be a million events.
    usual = type(kind) is str and kind.isascii() and type(time) is float and 0 <= time <= _LATEST
    if not usual and not (_is_text(kind) and _is_time(time)):
        return next(problems("", event, _ANY))
    form = _FORMS.get(str(kind))
    return next(problems(str(kind), event, form), "") if form else ""


# --- lines


def is_cut_off(line: bytes) -> bool:
    """Whether it was not written to its end."""
    return not line.endswith(b"\n") and len(line) <= LONGEST_LINE


def event_of(line: bytes) -> Event | None:
    """None where it is no object of JSON in UTF-8, longer than a line may be, or not written to its end."""
    if not line.endswith(b"\n") or len(line) > LONGEST_LINE:
        return None
    try:
        event = orjson.loads(line)  # of a million events; the standard library's takes three times as long
    except orjson.JSONDecodeError:
        return None
    return event if isinstance(event, dict) else None


def hash_of(line: bytes) -> str:
    return hashlib.sha256(line).hexdigest()
