from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from campaign.core import strict_yaml
from campaign.core.errors import InputError
from campaign.core.strict_yaml import Document, Mapping, Scalar, Sequence, YamlNode


def problems(data: bytes | str) -> list[str]:
    """What is wrong with a file of that content, without the file's name; [] where nothing is."""
    try:
        Document(data.encode() if isinstance(data, str) else data, "f.yaml").finish()
    except InputError as error:
        assert all(problem.startswith("f.yaml:") for problem in error.problems)
        return [problem.removeprefix("f.yaml:") for problem in error.problems]
    return []


def flat(node: YamlNode) -> Any:
    """A tree without its type names, to compare."""
    if isinstance(node, Mapping):
        return node.line, node.column, [(flat(key), flat(value)) for key, value in node.pairs]
    if isinstance(node, Sequence):
        return node.line, node.column, [flat(item) for item in node.items]
    assert isinstance(node, Scalar)
    return node.line, node.column, node.text, node.plain


def test_a_tree_has_what_is_written_and_where() -> None:
    document = Document(b"# c\na: [1, 'no']\nb:\n  c: no\n  d: |\n    x\n    y\n", "f.yaml")
    assert flat(document.root) == (
        2,
        1,
        [
            ((2, 1, "a", True), (2, 4, [(2, 5, "1", True), (2, 8, "no", False)])),
            (
                (3, 1, "b", True),
                (4, 3, [((4, 3, "c", True), (4, 6, "no", True)), ((5, 3, "d", True), (5, 6, "x\ny\n", False))]),
            ),
        ],
    )


REFUSED: dict[bytes, list[str]] = {
    b"": ["1:1: the file is empty; allowed: a mapping of keys to values"],
    b"# a comment\n": ["1:1: the file is empty; allowed: a mapping of keys to values"],
    b"\xff\xfea\0": ["1:1: byte 0xff is not UTF-8; save the file as UTF-8"],
    "é: ü\nx: caf".encode() + b"\xe9\n": ["2:7: byte 0xe9 is not UTF-8; save the file as UTF-8"],
    b"\xef\xbb\xbfa: b\n": ["1:1: found a byte order mark; save the file as UTF-8 without it"],
    b"a: \0\n": ["1:4: found the character U+0000; allowed: printable characters and spaces"],
    b"a: b\rc: d\n": ["1:5: found the character U+000D; allowed: printable characters and spaces"],
    "a: \u2028b # \u202ec\n".encode(): [
        "1:4: found the character U+2028; allowed: printable characters and spaces",
        "1:9: found the character U+202E; allowed: printable characters and spaces",
    ],
    b"a:\tb\nc:\n\td: e\n": [
        "1:3: found a tab; replace it with spaces",
        "3:1: found a tab; replace it with spaces",
    ],
    b"a: b: c\n": ['1:5: not valid YAML: found a second ": "; put a text that holds ": " in quotes'],
    b"a: @b\n": [
        "1:4: not valid YAML: found character '@' that cannot start any token; put a text that starts with it in quotes"
    ],
    b"a: 'b\n": ["2:1: not valid YAML: a closing quote is missing before this place"],
    b"a: */b\n": [
        "1:5: not valid YAML: expected alphabetic or numeric character, but found '/'; "
        "put a text that starts with * in quotes"
    ],
    b"a: &/b\n": [
        "1:5: not valid YAML: expected alphabetic or numeric character, but found '/'; "
        "put a text that starts with & in quotes"
    ],
    b"a: [1\n": ["2:1: not valid YAML: a comma or a closing ] is missing before this place"],
    b"a:\n - b\n c: d\n": [
        "3:2: not valid YAML: the indentation differs from that of the line above; align keys of one section"
    ],
    b'a: "\\q"\n': ["1:6: not valid YAML: found unknown escape character 'q'; check indentation, brackets and quotes"],
    b"%YAML 1.1\n---\na: b\n": ["1:1: YAML directives (%) are not supported; remove the line"],
    b"a: b\n---\nc: d\n": ["2:1: a second YAML document (---) starts here; keep one"],
    b"a: &x [1]\nb: *x\n": [
        "1:4: a: YAML anchors (&x) are not supported; remove it",
        "2:4: b: YAML aliases (*x) are not supported; write the value out",
    ],
    b"a: !!str b\nc: [!d e]\n": [
        '1:4: a: YAML tags ("tag:yaml.org,2002:str") are not supported; remove it',
        '2:5: c[0]: YAML tags ("!d") are not supported; remove it',
    ],
    b"[" * 100: ["1:14: found more than 12 levels of nesting; allowed: up to 12"],
    b"a: &x b\nc: [\n": [
        "1:4: a: YAML anchors (&x) are not supported; remove it",
        "3:1: not valid YAML: expected the node content, but found '<stream end>'; "
        "check indentation, brackets and quotes",
    ],
    b"#" * (strict_yaml.MAX_BYTES + 1): ["1:1: the file is larger than 262144 bytes, the limit"],
}


@pytest.mark.parametrize(("data", "expected"), REFUSED.items(), ids=[repr(data[:20]) for data in REFUSED])
def test_what_cannot_be_read_is_refused_with_its_place(data: bytes, expected: list[str]) -> None:
    assert problems(data) == expected


@pytest.mark.parametrize("data", REFUSED, ids=[repr(data[:20]) for data in REFUSED])
def test_the_same_is_refused_in_the_same_words_without_libyaml(data: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(yaml, "__with_libyaml__", False)
    assert problems(data) == REFUSED[data]


def test_a_billion_laughs_is_refused_at_once() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 10)]
    found_problems = problems("\n".join(lines))
    assert len(found_problems) == 100
    assert found_problems[:2] == [
        "1:5: a0: YAML anchors (&a0) are not supported; remove it",
        "2:5: a1: YAML anchors (&a1) are not supported; remove it",
    ]


def test_windows_line_ends_are_read() -> None:
    assert flat(Document(b"a: b\r\nc: d\r\n", "f").root) == flat(Document(b"a: b\nc: d\n", "f").root)


def test_problems_come_in_the_order_of_the_file_and_beyond_a_hundred_are_counted() -> None:
    document = Document(b"a:\n" + b"  - x\n" * 150, "f.yaml")
    for index in reversed(range(150)):
        document.problem(("a", index), "wrong")
    with pytest.raises(InputError) as caught:
        document.finish()
    assert caught.value.problems == (
        *(f"f.yaml:{n + 2}:5: a[{n}]: wrong" for n in range(100)),
        "f.yaml: 50 more problems",
    )


def test_the_problem_of_an_absent_value_stands_at_what_it_belongs_to() -> None:
    document = Document(b"a:\n  b: c\n", "f.yaml")
    document.problem(("a", "x", "y"), "missing")
    document.problem(("z",), "missing")
    with pytest.raises(InputError) as caught:
        document.finish()
    assert caught.value.problems == ("f.yaml:1:1: z: missing", "f.yaml:2:3: a.x.y: missing")


def test_a_file_that_cannot_be_opened_is_named_with_the_reason(tmp_path: Path) -> None:
    for path, reason in [
        (tmp_path / "absent.yaml", "cannot be read: No such file or directory; give a YAML file"),
        (tmp_path, "not a regular file; give a YAML file"),
        (Path("/dev/zero"), "not a regular file; give a YAML file"),
        (tmp_path / "a\0b", "cannot be read: embedded null byte; give a YAML file"),
    ]:
        with pytest.raises(InputError) as caught:
            Document.open(path)
        assert caught.value.problems == (f"{path}: {reason}",)


def test_paths_and_found_texts_are_shown_without_anything_unprintable() -> None:
    assert strict_yaml.path_text(("targets", 0, "two words", "a\nb", "x")) == 'targets[0]."two words"."a\\nb".x'
    assert strict_yaml.quoted("a\u202eb\x07") == '"a\\u202eb\\x07"'
    assert strict_yaml.quoted("x" * 70, plain=True) == "x" * 57 + "..."


documents = st.recursive(
    st.text(alphabet="ab:-#'\"[]{}, \n*&!|>%@`0é", max_size=12),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(alphabet="abc -", max_size=5), inner, max_size=4)
    ),
    max_leaves=12,
)


@given(st.one_of(st.text(max_size=80), st.text(alphabet="ab:-#'\"[]{}, \n*&!|>%@`0é?", max_size=60)))
def test_any_text_is_read_or_refused(text: str) -> None:
    problems(text.encode("utf-8", "surrogatepass"))


@given(st.binary(max_size=40))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    problems(data)


@given(documents, st.booleans())
def test_both_parsers_give_the_same_tree_and_places(value: object, flow: bool) -> None:
    text = yaml.safe_dump(value, default_flow_style=flow, allow_unicode=True)
    data = text.encode("utf-8")
    fast = Document(data, "f")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(yaml, "__with_libyaml__", False)
        slow = Document(data, "f")
    assert flat(fast.root) == flat(slow.root)


def test_a_top_level_key_is_seen_however_it_is_written(tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    for text in ("parts:\n  a: {rules: b}\n", "{parts: {a: {rules: b}}}\n", '"parts" :\n  a: {rules: b}\n'):
        file.write_text(text)
        assert strict_yaml.has_key(file, "parts")
    for text in ("name: |\n  x\nother: {parts: 1}\n", "note: parts\n", "- parts: 1\n", "parts: [\n"):
        file.write_text(text)
        assert not strict_yaml.has_key(file, "parts")
    assert not strict_yaml.has_key(tmp_path / "missing.yaml", "parts")
