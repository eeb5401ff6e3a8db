from typing import Any

import pytest

from campaign.core import schema
from campaign.core.errors import InputError
from campaign.core.schema import (
    Boolean,
    Choice,
    Field,
    KeyedMap,
    ListOf,
    MapOf,
    Number,
    OneOf,
    Schema,
    Text,
    full_match,
    matching,
)
from campaign.core.strict_yaml import Document
from tests.support import schemas


def read(kind: Schema, text: str) -> Any:
    """The value, or the list of problems without the file's name."""
    document = Document(text.encode(), "f")
    value = schema.read(kind, document)
    try:
        document.finish()
    except InputError as error:
        assert value is None or isinstance(value, tuple | dict)
        return [problem.removeprefix("f:") for problem in error.problems]
    return value


ANY = Text("a text")
SMALL = Number(1, 100)


@pytest.mark.parametrize(
    ("plain", "kind"),
    {
        "no": "false",
        "Off": "false",
        "yes": "true",
        "y": "true",
        "TRUE": "true",
        "null": "nothing",
        "~": "nothing",
        "12": "a number",
        "-3": "a number",
        "+3": "a number",
        "1.5": "a number",
        ".5": "a number",
        "1e3": "a number",
        "8.10": "a number",
        ".inf": "a number",
        "-.INF": "a number",
        ".nan": "a number",
        "017": "an octal number",
        "0o17": "an octal number",
        "0x1F": "a hexadecimal number",
        "0b11": "a binary number",
        "1_000": "a number without its underscores",
        "1:30:00": "a number in base 60",
        "01:30:00": "a number in base 60",
        "2026-11-21": "a date",
        "2026-11-21 10:00:00": "a date",
    }.items(),
)
def test_a_plain_text_that_yaml_takes_for_something_else_must_be_quoted(plain: str, kind: str) -> None:
    assert read(ANY, plain) == [f'1:1: found {plain}, which YAML reads as {kind}; put it in quotes: "{plain}"']
    assert read(ANY, f'"{plain}"') == plain


@pytest.mark.parametrize(
    "plain", ["none", "1.8.4", "1-12:30:00", "90m", "a:b", "x_1", "_", "-x", "2^20", "/", "<fill in>", "é"]
)
def test_a_plain_text_that_is_a_text_to_yaml_is_taken(plain: str) -> None:
    assert read(ANY, plain) == plain


def test_free_text_takes_plain_numbers_as_they_are_written() -> None:
    free = Text("a text", numbers=True)
    assert [read(free, text) for text in ("8", "2.50", "-1")] == ["8", "2.50", "-1"]
    assert read(free, "017") == ['1:1: found 017, which YAML reads as an octal number; put it in quotes: "017"']


def test_a_text_is_bounded_printable_and_on_one_line() -> None:
    assert read(Text("a text", longest=3), "abcd") == ["1:1: found 4 characters; allowed: up to 3"]
    assert read(ANY, r'"a\u0007"') == ["1:1: found the character U+0007; allowed: a text"]
    assert read(ANY, r'"a\u202Eb"') == ["1:1: found the character U+202E; allowed: a text"]
    assert read(ANY, r'"a\nb"') == ['1:1: found a line break in "a\\nb"; allowed: a text']
    assert read(ANY, ">\n  a\n  b\n") == "a b"
    assert read(Text("a text", lines=True), "|\n  a\n  b\n") == "a\nb"
    assert read(ANY, "''") == ['1:1: found ""; allowed: a text']
    assert read(ANY, "[a]") == ["1:1: found a list; allowed: a text"]
    assert read(matching(r"[a-z]+", "small letters"), "aB") == ['1:1: found "aB"; allowed: small letters']


def test_a_text_that_fails_in_quotes_too_is_refused_with_what_is_allowed() -> None:
    assert read(matching(r"[a-z]+", "small letters"), "90") == [
        "1:1: found 90, which YAML reads as a number; allowed: small letters"
    ]


@pytest.mark.parametrize(
    ("text", "reason"),
    {
        "0": "found 0",
        "101": "found 101",
        "9" * 30: f"found {'9' * 30}",
        "-1": "found -1",
        "1.0": "found 1.0",
        "1e1": "found 1e1",
        "x": "found x",
        "2^3": "found 2^3",
        "'4'": 'found "4", a text in quotes',
        "017": "found 017, which YAML reads as an octal number",
        "0o17": "found 0o17, which YAML reads as an octal number",
        "0x10": "found 0x10, which YAML reads as a hexadecimal number",
        "1_0": "found 1_0, which YAML reads as a number without its underscores",
        "1:30": "found 1:30, which YAML reads as a number in base 60",
        "yes": "found yes, which YAML reads as true",
        "~": "found ~",
        "{}": "found a mapping",
        "٣": "found ٣",
    }.items(),
)
def test_a_number_is_plain_digits_in_its_range(text: str, reason: str) -> None:
    assert read(SMALL, text) == [f"1:1: {reason}; allowed: a whole number from 1 to 100"]


def test_a_word_that_is_nearly_one_of_a_number_is_taken_for_it() -> None:
    assert read(Number(1, 9, words=("all", "search")), "serach\n") == ["1:1: found serach; did you mean search?"]


def test_a_number_may_be_a_power_or_a_word_where_the_schema_says_so() -> None:
    number = Number(1, 2**20, power=True, words=("all",))
    allowed = "a whole number from 1 to 1048576, also as a power such as 2^20, or all"
    assert [read(number, text) for text in ("2^20", "64", "all")] == [2**20, 64, "all"]
    assert read(number, "2^21") == [f"1:1: found 2^21; allowed: {allowed}"]
    assert read(number, "search") == [f"1:1: found search; allowed: {allowed}"]


def test_true_and_false_are_the_only_booleans() -> None:
    assert [read(Boolean(), text) for text in ("true", "false")] == [True, False]
    for text in ("yes", "True", "'true'", "1"):
        assert read(Boolean(), text) == [f"1:1: found {text.replace(chr(39), chr(34))}; allowed: true or false"]


def test_a_choice_lists_its_words() -> None:
    assert read(Choice(("a", "b", "c")), "b") == "b"
    assert read(Choice(("a", "b", "c")), "d") == ["1:1: found d; allowed: a, b or c"]


def test_each_entry_of_a_list_is_checked_and_so_is_its_length() -> None:
    numbers = ListOf(SMALL, least=1, most=3)
    allowed = "a list of 1 to 3, each a whole number from 1 to 100"
    assert read(numbers, "[1, 2]") == (1, 2)
    assert read(numbers, "[1, x, 0]") == [
        "1:5: [1]: found x; allowed: a whole number from 1 to 100",
        "1:8: [2]: found 0; allowed: a whole number from 1 to 100",
    ]
    assert read(numbers, "[]") == [f"1:1: found 0 entries; allowed: {allowed}"]
    assert read(numbers, "[1, 1, 1, 1]") == [f"1:1: found 4 entries; allowed: {allowed}"]
    assert read(numbers, "5") == [f"1:1: found 5; allowed: {allowed}"]


def test_entries_of_a_list_differ_in_the_key_that_tells_them_apart() -> None:
    named_of = ListOf(KeyedMap(name=Field(ANY, "a name")), apart="name")
    assert read(named_of, "[{name: a}, {}, {name: b}, {}]") == tuple({"name": name} for name in ("a", None, "b", None))
    assert read(named_of, "[{name: a}, {name: ''}, 5, {name: ''}, {name: a}]") == [
        '1:20: [1].name: found ""; allowed: a text',
        "1:25: [2]: found 5; allowed: a mapping with the keys name",
        '1:35: [3].name: found ""; allowed: a text',
        "1:47: [4].name: found a a second time; allowed: names that differ",
    ]


def test_a_map_keeps_the_files_order_and_judges_its_keys() -> None:
    pairs = MapOf(ANY, SMALL, most=4)
    assert read(pairs, "{b: 1, a: 2}") == (("b", 1), ("a", 2))
    assert read(pairs, "{on: 1, a: 2, b: x, a: 3}") == [
        '1:2: on: found on, which YAML reads as true; put it in quotes: "on"',
        "1:18: b: found x; allowed: a whole number from 1 to 100",
        "1:21: a: duplicate key, first in line 1; remove one",
    ]
    assert read(pairs, "{a: 1, b: 1, c: 1, d: 1, e: 1}") == [
        "1:1: found 5 keys; allowed: up to 4 lines of `name: value` (name: a text; value: a whole number from 1 to 100)"
    ]
    assert read(pairs, "? [a]\n: 1\n") == ["1:3: found a list as a key; allowed: a text as key"]


RECORD = KeyedMap(
    name=Field(ANY, "its name", required=True),
    count=Field(SMALL, "how many", default=7),
    inner=Field(KeyedMap(flag=Field(Boolean(), "a flag", default=False)), "more"),
    entries=Field(ListOf(KeyedMap(id=Field(ANY, "an id", required=True))), "entries", default=()),
    size=Field(OneOf(SMALL, KeyedMap(w=Field(SMALL, "width")), "a number or {w: N}"), "a size"),
)


def test_a_record_has_all_its_keys_with_their_defaults() -> None:
    assert read(RECORD, "name: x") == {"name": "x", "count": 7, "inner": {"flag": False}, "entries": (), "size": None}
    assert read(RECORD, "{name: x, size: {w: 3}, inner: {flag: true}, entries: [{id: a}]}") == {
        "name": "x",
        "count": 7,
        "inner": {"flag": True},
        "entries": ({"id": "a"},),
        "size": {"w": 3},
    }


def test_a_record_tells_all_that_is_wrong_at_once() -> None:
    assert read(
        RECORD, "nmae: x\ncount: 0\ncount: 1\nzzz: 1\n<<: {a: b}\ninner: {flg: true}\nentries: [{}, 3]\nsize:\n"
    ) == [
        "1:1: nmae: unknown key; did you mean name?",
        "2:8: count: found 0; allowed: a whole number from 1 to 100",
        "3:1: count: duplicate key, first in line 2; remove one",
        "4:1: zzz: unknown key; allowed: name, count, inner, entries, size",
        '5:1: "<<": YAML merge keys (<<) are not supported; write the keys out',
        "6:9: inner.flg: unknown key; did you mean flag?",
        "7:11: entries[0].id: required key missing; allowed: a text",
        "7:15: entries[1]: found 3; allowed: a mapping with the keys id",
        "8:1: size: value missing; allowed: a number or {w: N}; or remove the key",
    ]


def test_what_was_reported_already_is_not_reported_again() -> None:
    assert read(RECORD, "name: &a x\ncount: *a\n") == [
        "1:7: name: YAML anchors (&a) are not supported; remove it",
        "2:8: count: YAML aliases (*a) are not supported; write the value out",
    ]


def test_the_reference_has_a_row_for_every_key() -> None:
    assert schemas.reference(RECORD) == [
        ("name", "a text", "required", "its name"),
        ("count", "a whole number from 1 to 100", "7", "how many"),
        ("inner", "a mapping", "none", "more"),
        ("inner.flag", "true or false", "none", "a flag"),
        ("entries", "a list of up to 100, each a mapping", "none", "entries"),
        ("entries[].id", "a text", "required", "an id"),
        ("size", "a number or {w: N}", "none", "a size"),
    ]


def test_a_required_key_with_a_typo_is_not_called_missing_too() -> None:
    assert read(RECORD, "nam: x\nentries: [{ID: 1}]") == [
        "1:1: nam: unknown key; did you mean name?",
        "2:12: entries[0].ID: unknown key; did you mean id?",
    ]


def test_a_key_of_a_section_is_named_with_its_path() -> None:
    assert read(RECORD, "name: x\nflag: true\nid: 3\nw: 3") == [
        "2:1: flag: unknown key; did you mean inner.flag?",
        "3:1: id: unknown key; did you mean entries[].id?",
        "4:1: w: unknown key; allowed: name, count, inner, entries, size",
    ]


def test_a_number_without_its_unit_is_refused_with_the_unit_that_it_lacks() -> None:
    time = Text("a time such as 90m", full_match("[0-9]+m", "a time such as 90m"), unit="unit")
    assert read(KeyedMap(time=Field(time, "a limit")), "time: 90") == [
        "1:7: time: found 90, which has no unit; allowed: a time such as 90m"
    ]
