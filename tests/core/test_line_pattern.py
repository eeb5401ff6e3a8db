"""Patterns that a pack writes: what is allowed, and that no line makes matching slow."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from campaign.core import line_pattern


def test_a_pattern_matches_the_whole_line_and_names_its_parts() -> None:
    pattern = line_pattern.compile(r"(?P<size>[0-9]+) +(?P<value>[0-9.]+)")
    assert pattern.groups == ("size", "value")
    match = pattern.match("8   1.51")
    assert match and match.groupdict() == {"size": "8", "value": "1.51"}
    assert pattern.match("8   1.51 us") is None


@pytest.mark.parametrize(
    "text",
    [
        "(a+)+",
        "(a|aa)*",
        "(?:a*b?)*",
        r"(?: +[0-9]+)*",
        ".*a.*b.*c.*",
        "a*a*a*a*b",
        "(?:a?){20}",
        "a{1,40}a{1,40}a{1,40}b",
    ],
)
def test_a_pattern_that_may_take_long_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"repetition|alternatives"):
        line_pattern.compile(text)


@pytest.mark.parametrize(
    "text", [r"^a", r"a$", r"(?=a)", r"(?i)a", r"(a)\1", r"\b", "[a", "(a", "a)", "a**", "[a--b]", "x" * 401]
)
def test_what_is_not_of_the_allowed_syntax_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        line_pattern.compile(text)


@pytest.mark.parametrize(
    ("text", "exponent"),
    [("[0-9]+ +[0-9.]+", 1), ("Solution Validates: .*", 1), (".*ERROR.*", 2), (".*a*b", 2), ("é*é*", 1)],
)
def test_only_repetitions_that_can_end_at_several_places_cost_more_than_the_line(text: str, exponent: int) -> None:
    if text == "é*é*":
        assert line_pattern.compile(text).exponent > exponent  # beyond ASCII too
    else:
        assert line_pattern.compile(text).exponent == exponent


_PIECES = st.sampled_from(
    [
        "a",
        "b",
        " ",
        ".",
        "[ab]",
        r"\d",
        "(a)",
        "(?:b|c)",
        "(?:ab)",
        "a*",
        "b+",
        ".*",
        "[^b]*",
        "(?:a+b)?",
        "a?",
        "(?:ab)*",
    ]
)


@settings(max_examples=150, deadline=None)
@given(st.lists(_PIECES, min_size=1, max_size=10), st.sampled_from(["a", "ab", " a", "b"]))
def test_no_allowed_pattern_takes_long_on_a_long_line(pieces: list[str], unit: str) -> None:
    try:
        pattern = line_pattern.compile("".join(pieces) + "!")
    except ValueError:
        return
    began = time.process_time()
    pattern.match(unit * (400 // len(unit)))
    assert time.process_time() - began < 2


@settings(max_examples=300)
@given(st.text(alphabet="ab.*+?()[]{}|\\d1,^$-P<>:", max_size=20))
def test_any_text_is_compiled_as_python_does_or_refused(text: str) -> None:
    try:
        pattern = line_pattern.compile(text)
    except ValueError:
        return
    assert pattern.compiled == re.compile(text, re.ASCII)
