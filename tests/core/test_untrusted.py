"""The forms of JSON of other parties."""

from __future__ import annotations

from typing import Any

import pytest

from campaign.core.untrusted import Form, describe_value, list_form, matching, null_or, object_form, problems

COUNT = Form(lambda value: type(value) is int, "a whole number")
WHOLE = object_form(
    {
        "name": matching("[a-z]+", "letters"),
        "note": matching(".*", "a text", optional=True),
        "counts": list_form(COUNT),
        "inner": null_or(object_form({"count": COUNT})),
    }
)
FITTING = {"name": "a", "counts": [1, 2], "inner": {"count": 1, "more": []}}


@pytest.mark.parametrize("changes", [{}, {"note": ""}, {"inner": None}, {"further": 1}])
def test_what_fits_has_no_problems(changes: dict[str, Any]) -> None:
    assert list(problems("", FITTING | changes, WHOLE)) == []


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"name": "A"}, 'name: found "A"; allowed: letters'),
        ({"name": None}, "name: found null; allowed: letters"),
        ({"note": True}, "note: found true; allowed: a text"),
        ({"counts": {"a": 1}}, "counts: found an object of 1; allowed: a list"),
        ({"counts": [1, "2"]}, 'counts[1]: found "2"; allowed: a whole number'),
        ({"inner": {}}, "inner.count: missing; allowed: a whole number"),
        ({"inner": [1]}, "inner: found a list of 1; allowed: an object, or null"),
    ],
)
def test_what_does_not_fit_is_named_with_its_place_and_what_is_allowed(changes: dict[str, Any], expected: str) -> None:
    assert list(problems("", FITTING | changes, WHOLE)) == [expected]
    assert list(problems("row", FITTING | changes, WHOLE)) == [f"row.{expected}"]


def test_a_name_of_the_other_party_is_shown_without_what_a_terminal_would_execute() -> None:
    form = Form(lambda value: isinstance(value, dict), "an object", each=COUNT)
    assert list(problems("files", {"\x1b[2J": "x"}, form)) == ['files[\\x1b[2J]: found "x"; allowed: a whole number']
    assert describe_value("\x1b") == '"\\x1b"'
