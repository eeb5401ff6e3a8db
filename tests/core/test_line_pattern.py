"""Patterns that a pack writes: what is allowed, and that no line makes matching slow."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from campaign.core import line_pattern
from tests.support.examples import examples


def test_a_pattern_matches_the_whole_line_and_names_its_parts() -> None:
    pattern = line_pattern.compile(r"(?P<size>[0-9]+) +(?P<value>[0-9.]+)")
    assert list(pattern.groupindex) == ["size", "value"]
    match = pattern.fullmatch("8   1.51")
    assert match and match.groupdict() == {"size": "8", "value": "1.51"}
    assert pattern.fullmatch("8   1.51 us") is None


def test_classes_are_those_of_ascii_and_text_is_any() -> None:
    assert line_pattern.compile(r"é\d+.").fullmatch("é12中")
    assert line_pattern.compile(r"\d").fullmatch("٣") is None


@pytest.mark.parametrize("text", [r"(?=a)", r"(a)\1", "[a", "(a", "a)", "a**", "x" * 401, "(?P<a>b", "a{5000}"])
def test_what_is_no_pattern_is_refused_with_the_reason(text: str) -> None:
    with pytest.raises(ValueError, match=r"found 401 characters|not a regular expression: .+; allowed: RE2 syntax"):
        line_pattern.compile(text)


@pytest.mark.parametrize("text", ["^a", "a$"])
def test_anchors_are_refused_since_a_pattern_matches_the_whole_line(text: str) -> None:
    with pytest.raises(ValueError, match="always matches the whole line"):
        line_pattern.compile(text)
    assert line_pattern.compile(r"a\$").fullmatch("a$")


@pytest.mark.parametrize("text", ["(a+)+", "(a|aa)*", "(?:a*b?)*", ".*a.*a.*a.*b", "(?:a?){20}a{20}", "(a*)*(a*)*b"])
def test_no_pattern_takes_long(text: str) -> None:
    began = time.process_time()
    line_pattern.compile(text + "!").fullmatch("a" * 10_000)
    assert time.process_time() - began < 2


_PIECES = st.sampled_from(["a", "b", " ", ".", "[ab]", r"\d", "(a)", "(?:b|c)", "a*", "b+", ".*", "[^b]*", "(?:a+b)?"])


@settings(max_examples=examples(150))
@given(st.lists(_PIECES, max_size=8), st.text(alphabet="ab c1", max_size=12))
def test_what_matches_is_what_matches_in_python(pieces: list[str], line: str) -> None:
    text = "".join(pieces)
    ours, python = line_pattern.compile(text).fullmatch(line), re.compile(text, re.ASCII).fullmatch(line)
    assert (ours is None) == (python is None)
    if ours is not None and python is not None:
        assert ours.groups() == python.groups()


@settings(max_examples=examples(300))
@given(st.text(alphabet="ab.*+?()[]{}|\\d1,^$-P<>:", max_size=20))
def test_any_text_is_a_pattern_or_refused(text: str) -> None:
    try:
        line_pattern.compile(text).fullmatch("ab1")
    except ValueError:
        return


@pytest.mark.parametrize(
    ("text", "instead"),
    [
        ("(?!a).*", "look-around: write what stands in the whole line"),
        (r"(a)\1", "compare them in `plausible`"),
        ("a++", "without the second +"),
        ("rate (MB/s", r"have a backslash, as in \( \)"),
        ("^rate .*$", "remove ^ and $: rate .*"),
    ],
)
def test_a_refusal_says_how_it_is_written(text: str, instead: str) -> None:
    with pytest.raises(ValueError, match=re.escape(instead)):
        line_pattern.compile(text)


@given(st.text(st.characters(exclude_categories=("Cs", "Cc")) | st.just("\t"), max_size=100))
def test_the_pattern_of_a_line_matches_it(line: str) -> None:
    assert line_pattern.compile(line_pattern.of_line(line)).fullmatch(line)
