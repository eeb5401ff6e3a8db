"""Formulas of projections: arithmetic, and nothing else."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from campaign.core import formula

INPUTS = {"measured": 1000.0, "nodes": 8.0, "base_nodes": 2.0}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("measured", 1000.0),
        ("measured * nodes / base_nodes", 4000.0),
        ("measured * (nodes / base_nodes) ^ 0.5", 2000.0),
        ("2 ^ 3 ^ 2", 512.0),
        ("-measured + 1e3", 0.0),
        ("min(measured, nodes, 3)", 3.0),
        ("max(1, 2) * sqrt(4) * log2(8) * exp(0) * log(1)", 0.0),
        ("floor(1.5) + ceil(1.5) + round(1.6)", 5.0),
        ("  measured  ", 1000.0),
        ("sum(1, 2, 3) + mean(1, 2) + median(5, 1, 9)", 12.5),
        ("geomean(2, 8) + harmean(1, 3)", 5.5),
        ("sd(2, 4) ^ 2 + range(5, 1, 9) + count(7, 7, 8) + distinct(7, 7, 8)", 15.0),
        ("cv(90, 110) * 10", 2**0.5),
    ],
)
def test_a_formula_is_computed(text: str, value: float) -> None:
    assert formula.value(text, INPUTS) == pytest.approx(value)


def test_the_names_of_a_formula_once_in_order() -> None:
    assert formula.names("b * a + b / sqrt(c)") == ("b", "a", "c")


def test_the_mean_without_the_lowest_and_the_highest_is_that_of_the_rest_for_any_number() -> None:
    assert formula.aggregate("trimmed_mean(t)", {"t": [9.0, 1.0, 2.0]}) == 2.0
    assert formula.aggregate("trimmed_mean(t)", {"t": [5.0, 100.0, 3.0, 0.0, 4.0]}) == 4.0
    assert formula.value("trimmed_mean(1, 7, 2, 3, 9)", {}) == 4.0
    with pytest.raises(ValueError, match="needs 3 values or more; found 2"):
        formula.aggregate("trimmed_mean(t)", {"t": [1.0, 2.0]})


def test_a_set_of_numbers_is_named_within_a_function_only() -> None:
    text = "max(fom over scale) / fom@files.shared + over * sum(rate_{size} over size)"
    assert formula.names(text) == ("max(fom over scale)", "fom@files.shared", "over", "sum(rate_{size} over size)")
    with pytest.raises(ValueError, match=r"'fom over scale' is several numbers; allowed: .* as max\(fom over scale\)"):
        formula.names("fom over scale / 2")


def test_words_of_python_are_names_like_any_other() -> None:
    assert formula.names("geomean(is, in) * 1e-3 + _private") == ("is", "in", "_private")
    assert formula.value("is * lambda", {"is": 2, "lambda": 3}) == 6


def test_a_result_may_be_called_as_a_function_is() -> None:
    assert formula.names("mean / 2 + max(mean, sum) + max(mean) + sqrt(sqrt)") == ("mean", "sum", "max(mean)", "sqrt")
    assert formula.value("mean / 2 + max(mean, sum)", {"mean": 2, "sum": 3}) == 4


@pytest.mark.parametrize(
    "text",
    [
        "", "1 +", "a b", "__import__('os')", "a.1", "a[0]", "(lambda: 1)()", "[1]", "'text'", "a if b else c", "a < b",
        "a and b", "not a", "1j", "f(a)", "sqrt()", "sqrt(1, 2)", "min(1)", "max(*a)", "exp(x=1)",
        "geomean(1)", "a // b", "a % b", "a @ b", "a << b", "~a", "a := 1", "{}", "...", "a; b", "a\nb",
    ],
)  # fmt: skip
def test_what_is_no_arithmetic_is_refused_with_what_is_allowed(text: str) -> None:
    with pytest.raises(ValueError, match=r"allowed: names and numbers with \+ - \* / \^ and parentheses"):
        formula.names(text)


@pytest.mark.parametrize(
    "text",
    [
        "9^9^9^9",
        "exp(1000)",
        "1/0",
        "1e308 * 10",
        "log(0)",
        "sqrt(-1)",
        "geomean(1, -1)",
        "(-8) ^ 0.5",
        "1e999",
        "9" * 400,
        "0 * 1e999",
    ],
)
def test_what_gives_no_finite_number_is_refused_at_once(text: str) -> None:
    with pytest.raises(ValueError, match=r"cannot be computed|does not give a finite number"):
        formula.value(text, {})


@pytest.mark.parametrize("text", ["a" * 501, "(" * 250 + "1" + ")" * 250, "-" * 499 + "1", "1" + "+1" * 249])
def test_a_formula_of_any_depth_is_a_number_or_refused(text: str) -> None:
    try:
        assert math.isfinite(formula.value(text, {}))
    except ValueError as error:
        assert "allowed: " in str(error)


def test_an_input_that_is_lacking_is_named() -> None:
    with pytest.raises(ValueError, match="no value for a, c"):
        formula.value("a + b + c", {"b": 1.0})


@given(st.text(max_size=60))
def test_any_text_is_a_number_or_refused(text: str) -> None:
    try:
        assert math.isfinite(formula.value(text, INPUTS))
    except ValueError as error:
        assert str(error)


# --- conditions


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("measured >= 125 * nodes", True),
        ("measured >= 126 * nodes", False),
        ("measured <= 125 * nodes", True),
        ("measured <= 124 * nodes", False),
        ("nodes == 2 ^ 3", True),
        ("nodes == 7", False),
        ("nodes / 3 * 3 == nodes", True),
    ],
)
def test_a_condition_compares_two_formulas(text: str, holds: bool) -> None:
    assert formula.Condition.parse(text).holds(INPUTS) is holds


def test_a_condition_may_be_missed_by_a_share() -> None:
    condition = formula.Condition.parse("measured >= 1040")
    assert condition.holds(INPUTS, 0.05) and not condition.holds(INPUTS, 0.03)
    assert formula.Condition.parse("measured == 1040").holds(INPUTS, 0.05)
    assert formula.Condition.parse("measured <= 960").holds(INPUTS, 0.05)
    assert formula.Condition.parse("nodes * measured >= nodes").names == ("nodes", "measured")


@pytest.mark.parametrize("text", ["measured", "measured != 1", "1 <= nodes <= 8", "nodes >= open('x')", ""])
def test_what_is_no_condition_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="allowed"):
        formula.Condition.parse(text)


def test_a_strict_condition_is_not_kept_by_the_limit_itself() -> None:
    assert not formula.Condition.parse("a < 5").holds({"a": 5.0})
    assert not formula.Condition.parse("a > 5").holds({"a": 5.0})
    assert formula.Condition.parse("a < 5").holds({"a": -5.0})
    assert formula.Condition.parse("abs(a) > 5% * 90").holds({"a": -5.0})


TEXTS = {"software.mpi": "Open MPI 4.1.6", "kind": "a, b", "size": 4.0}


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ('software.mpi == "Open MPI 4.1.6"', True),
        ("software.mpi == 'open mpi 4.1.6'", False),
        ('software.mpi matches "Open MPI 4[.].*"', True),
        ('software.mpi matches "Open MPI"', False),
        ('software.mpi in ["MPICH 4.2", "Open MPI 4.1.6"]', True),
        ("software.mpi in ['MPICH 4.2']", False),
        ('kind in ["a, b", "c >= d"]', True),
        ('kind matches "a, [<=>b]"', True),
        ("size in [1, 2 ^ 2, 8]", True),
        ("2 * size in [1, 2]", False),
    ],
)
def test_a_condition_on_a_text_compares_it_as_a_whole(text: str, holds: bool) -> None:
    assert formula.Condition.parse(text).holds(TEXTS) is holds


def test_names_of_facts_have_dots_and_texts_have_no_names() -> None:
    condition = formula.Condition.parse("offered.nodes * 1.5 >= used.nodes + 2")
    assert condition.names == ("offered.nodes", "used.nodes")
    assert condition.holds({"offered.nodes": 4.0, "used.nodes": 4.0})
    assert formula.Condition.parse('software.mpi in ["MPICH", "a.b"]').names == ("software.mpi",)
    assert formula.Condition.parse("in >= matches").names == ("in", "matches")


@pytest.mark.parametrize("text", ['a < "b"', "a >= 2", '"b" > a'])
def test_texts_have_no_order(text: str) -> None:
    with pytest.raises(ValueError, match=r"compares a text; allowed: ==, in, matches|could not convert"):
        formula.Condition.parse(text).holds({"a": "b"})


@pytest.mark.parametrize(
    "text", ['a matches "("', 'a matches "(?=b)"', "a in b", "a in []", 'a in ["b"', 'a == "b', "a matches b"]
)
def test_a_wrong_pattern_or_list_is_refused_when_it_is_read(text: str) -> None:
    with pytest.raises(ValueError, match="allowed"):
        formula.Condition.parse(text)


@pytest.mark.parametrize(
    ("name", "values", "expected"),
    [
        ("distinct(seed)", [3.0, 3.0, 5.0], 2),
        ("distinct(mpi)", ["a", "b"], 2),
        ("count(fom)", [1.0], 1),
        ("range(fom)", [4.0, 1.0], 3),
    ],
)
def test_an_aggregate_is_computed_from_several_values(name: str, values: list[formula.Value], expected: float) -> None:
    assert formula.aggregate(name, {formula.aggregated_name(name): values}) == expected


@pytest.mark.parametrize(("name", "values"), [("sd(a)", [1.0]), ("cv(a)", [1.0, -1.0]), ("mean(a)", ["x", "y"])])
def test_an_aggregate_that_has_no_value_says_so(name: str, values: list[formula.Value]) -> None:
    with pytest.raises(ValueError):
        formula.aggregate(name, {"a": values})


# --- names of values elsewhere, and of several


NAMES = st.from_regex(r"[a-z][a-z0-9]{0,5}(_[a-z0-9]{1,3})?", fullmatch=True).filter(lambda name: name != "_at_")
PLACES = st.builds(lambda name, launch: f"{name}@{launch}", NAMES, NAMES) | NAMES
SEVERAL = st.builds(lambda word, name: f"{word}({name})", st.sampled_from(["max", "mean", "harmean"]), PLACES)
TERMS = st.lists(PLACES | SEVERAL, min_size=1, max_size=6, unique=True)


@given(TERMS, st.data())
def test_names_elsewhere_and_of_several_are_given_as_they_are_written(terms: list[str], data: st.DataObject) -> None:
    numbers = {term: data.draw(st.floats(0.5, 2.0)) for term in terms}
    text = " * ".join(terms)
    assert formula.names(text) == tuple(terms)
    assert formula.value(text, numbers) == pytest.approx(math.prod(numbers.values()))
    assert formula.Condition.parse(f"{text} >= 5%").names == tuple(terms)


@given(TERMS)
def test_an_at_binds_closer_than_any_operator(terms: list[str]) -> None:
    assert formula.value(" + ".join(f"4 * {term} ^ 2" for term in terms), dict.fromkeys(terms, 3.0)) == 36 * len(terms)


@pytest.mark.parametrize("text", ["a@", "@a", "a@ b", "a @b", "a@1", "5@a", "a@(b)", "(a)@b", "max(a)@b", "a@@b"])
def test_an_at_that_joins_no_two_names_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="allowed: names and numbers"):
        formula.names(text)
