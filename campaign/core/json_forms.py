"""The forms that JSON of other parties must have: what fits, and what a message says is allowed. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from campaign.core.strict_yaml import shown


class Form(NamedTuple):
    """The form of a value, of each entry of a list or object (`each`), and of an object's fields."""

    fits: Callable[[Any], bool]
    allowed: str
    optional: bool = False
    each: Form | None = None
    fields: Mapping[str, Form] | None = None


def matching(pattern: str | re.Pattern[str], allowed: str, optional: bool = False) -> Form:
    return Form(lambda value: isinstance(value, str) and bool(re.fullmatch(pattern, value)), allowed, optional)


def list_of(each: Form) -> Form:
    return Form(lambda value: isinstance(value, list), "a list", each=each)


def object_of(fields: Mapping[str, Form]) -> Form:
    """Further fields are not checked."""
    return Form(lambda value: isinstance(value, dict), "an object", fields=fields)


def or_null(form: Form) -> Form:
    """A field that may be null, or missing."""
    return form._replace(
        fits=lambda value: value is None or form.fits(value), allowed=f"{form.allowed}, or null", optional=True
    )


def problems(at: str, value: Any, form: Form) -> Iterator[str]:
    """How a value differs from its form: the place below `at`, what was found and what is allowed."""
    if not form.fits(value):
        yield f"{at}: found {found(value)}; allowed: {form.allowed}"
    elif form.each is not None and value is not None:
        for key, entry in value.items() if isinstance(value, dict) else enumerate(value):
            yield from problems(f"{at}[{shown(str(key), plain=True)}]", entry, form.each)
    elif form.fields is not None and value is not None:
        for name, field in form.fields.items():
            place = f"{at}.{name}" if at else name
            if name in value:
                yield from problems(place, value[name], field)
            elif not field.optional:
                yield f"{place}: missing; allowed: {field.allowed}"


def found(value: Any) -> str:
    """A JSON value as messages show it."""
    if isinstance(value, list | dict):
        return f"{'a list' if isinstance(value, list) else 'an object'} of {len(value)}"
    return shown(value) if isinstance(value, str) else shown(json.dumps(value), plain=True)
