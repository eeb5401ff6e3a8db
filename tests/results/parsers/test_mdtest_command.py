"""mdtest's printed command line comes apart into the words that were executed, and says what they ask for."""

from __future__ import annotations

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from campaign.results.parsers.mdtest_command import options, rank_offset, requested_operations, split


@pytest.mark.parametrize(
    ("text", "escaped", "words"),
    [
        ("./mdtest -F -n 16 -d /scratch/it's", False, ("./mdtest", "-F", "-n", "16", "-d", "/scratch/it's")),
        ("./mdtest", False, ("./mdtest",)),
        ("", False, ()),
        ('./mdtest "-F" "-d" "/a b" ""', False, ("./mdtest", "-F", "-d", "/a b", "")),
        ("./mdtest '-d' '/it's a dir' '-F'", False, ("./mdtest", "-d", "/it's a dir", "-F")),
        ("/my programs/mdtest '-F'", False, ("/my programs/mdtest", "-F")),
        ("./mdtest '-d' '/it'\\''s' '-F'", True, ("./mdtest", "-d", "/it's", "-F")),
        ("./mdtest -d /odd 'name'", False, ("./mdtest", "-d", "/odd", "'name'")),
        ("./mdtest '-F' '-d", False, None),
        ("./mdtest '-F' '-d", True, None),
        ('./mdtest "-F" "-d', False, None),
        ("./mdtest -F' '-C' '-n' '16'", False, None),  # a quote was lost
        ('./mdtest  -F" "-C" "-n" "16"', False, None),
        ("./mdtest '-F' :-C' '-n' '16'", False, None),
        ("./mdtest '-F' :-C' '-n' '16'", True, None),
    ],
)
def test_a_command_line_comes_apart_as_its_version_prints_it(
    text: str, escaped: bool, words: tuple[str, ...] | None
) -> None:
    assert split(text, escaped) == words


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"])), min_size=1))
def test_words_that_were_escaped_as_for_a_shell_come_back_whatever_they_hold(words: list[str]) -> None:
    output = "./mdtest" + "".join(" '" + word.replace("'", "'\\''") + "'" for word in words)
    assert split(output, escaped=True) == ("./mdtest", *words)
    assert shlex.split(output) == ["./mdtest", *words]


def test_grouped_and_joined_options_come_apart() -> None:
    words = ["-FCT", "-rn16", "-N=4", "-R123", "-d", "-C", "--random-seed", "7", "--GPUid=2", "-v", "stray", "-i"]
    assert list(options(words)) == [
        ("F", None), ("C", None), ("T", None), ("r", None), ("n", "16"), ("N", "4"), ("R", None), ("d", "-C"),
        ("random-seed", "7"), ("GPUid", "2"), ("v", None), ("i", None),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("words", "offset"),
    [
        ("-F -N 16", 16), ("-FN16", 16), ("-F", 0), ("-N 1 -N 4", 4), ("-d -N4", 0), ("-N -2", -2),
        ("-N x", None), ("-N", None), ("-N --2", None), ("-N 1k", None), ("-N 99999999999", None),
    ],
)  # fmt: skip
def test_the_rank_offset_is_the_last_value_of_N(words: str, offset: int | None) -> None:
    assert rank_offset(["./mdtest", *words.split()]) == offset


@pytest.mark.parametrize(
    ("words", "operations"),
    [
        ("-F -C -T -r", {"create", "stat", "remove", "tree_create", "tree_remove"}),
        ("-FT", {"stat"}),
        ("-F", {"create", "stat", "read", "remove", "tree_create", "tree_remove"}),
        ("-D -C", {"dir_create", "tree_create"}),
        ("-D -U", {"dir_rename"}),
        ("-C", {"create", "dir_create", "tree_create"}),
        ("-D -F -r", {"remove", "dir_remove", "tree_remove"}),
        ("-F -E -d -C", {"read"}),
        ("-F -C -u", {"create", "tree_create"}),
        ("-F -C -u -t", {"create"}),
        ("", {"create", "stat", "read", "remove", "tree_create", "tree_remove",
              "dir_create", "dir_stat", "dir_rename", "dir_remove"}),
    ],
)  # fmt: skip
def test_a_command_line_asks_for_its_phases_on_its_things(words: str, operations: set[str]) -> None:
    assert requested_operations(["./mdtest", *words.split()]) == operations


@given(st.lists(st.text()))
def test_no_word_is_too_odd(words: list[str]) -> None:
    requested_operations(words)
    rank_offset(words)
    split(" ".join(words), escaped=False)
    split(" ".join(words), escaped=True)
