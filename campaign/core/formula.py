"""Arithmetic over names and numbers, as in a projection: `measured * (nodes / base_nodes) ^ 0.9`. Pure.

A name may be that of a value elsewhere, `fom@single`, or of several values, `max(fom)` or `max(fom over scale)`: that
is then its name.
Parsed by Python's own parser and computed here for a few kinds of nodes: the text is never executed.
"""

from __future__ import annotations

import ast
import math
import operator
import re
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, reduce
from itertools import pairwise
from typing import Any

from campaign.core.errors import length_problem
from campaign.core.line_pattern import compile as compile_pattern

LONGEST = 500  # characters
ALLOWED = (
    "names and numbers with + - * / ^ and parentheses, 5% for 0.05, abs, sqrt, log, log2, exp, floor, ceil, round, and "
    "of two or more min, max, range, sum, mean, median, geomean, harmean, sd (standard deviation), cv (as a share of "
    "the mean), count, distinct (how many differ), trimmed_mean (without the lowest and the highest), step and "
    "factor (the largest difference and ratio of neighbours), gain (the last as a multiple of the best before it)"
)
TEXT_SIGNS = ("==", "in", "matches")
SIGNS = '>=, <=, ==, < or > between them; a text may also be `in ["a", "b"]`, or `matches "pattern"` completely'
Value = float | str


def _cv(values: Sequence[float]) -> float:
    return statistics.stdev(values) / abs(statistics.fmean(values))


def _trimmed_mean(values: Sequence[float]) -> float:
    if len(values) < 3:
        raise ValueError(f"it needs 3 values or more; found {len(values)}")
    return statistics.fmean(sorted(values)[1:-1])


_OF_ONE: Mapping[str, Callable[[float], float]] = {
    "sqrt": math.sqrt, "log": math.log, "log2": math.log2, "exp": math.exp, "floor": math.floor, "ceil": math.ceil,
    "round": round, "abs": abs,
}  # fmt: skip
_OF_SEVERAL: Mapping[str, Callable[[Sequence[Any]], float]] = {
    "min": min, "max": max, "sum": math.fsum, "mean": statistics.fmean, "median": statistics.median,
    "geomean": statistics.geometric_mean, "harmean": statistics.harmonic_mean, "sd": statistics.stdev, "cv": _cv,
    "range": lambda values: max(values) - min(values), "count": len, "distinct": lambda values: len(set(values)),
    "trimmed_mean": _trimmed_mean,
    "step": lambda values: max(after - before for before, after in pairwise(sorted(values))),
    "factor": lambda values: max(after / before for before, after in pairwise(sorted(values))),
    "gain": lambda values: values[-1] / max(values[:-1], default=math.nan),
}  # fmt: skip
_NAME = re.compile(r"(?<![\w.])[^\W\d]\w*")  # not the e of 1e-6
_OPERATORS: Mapping[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv, ast.Pow: math.pow,
}  # fmt: skip


_TEXT = r"""(?:"[^"]*"|'[^']*')"""
_OUTSIDE_TEXT = rf"""(?=(?:[^"']|{_TEXT})*$)"""
_COMPARISON = re.compile(rf"""(>=|<=|==|<|>|\bmatches\b(?=\s*["'])|\bin\b(?=\s*\[)){_OUTSIDE_TEXT}""")
_ELEMENT = rf"""\s*({_TEXT}|[^,"'\[\]]+?)\s*"""
_ELEMENTS = re.compile(rf"{_ELEMENT}(?:,|$)")
_LIST = re.compile(rf"\[{_ELEMENT}(?:,{_ELEMENT})*\]")
_DOTTED = re.compile(r"(?<![\w.])([^\W\d]\w*)\.(?=[^\W\d])")
_PERCENT = re.compile(r"(?<![\w.])([0-9]+(?:\.[0-9]+)?)%")
_AT = re.compile(r"(?<=\w)@(?=[^\W\d])")
OVER = " over "
_OVER = re.compile(r"(?<=\w)\s+over\s+(?=[^\W\d])")
_PLACEHOLDER = re.compile(r"\{([a-z][a-z0-9_]*)\}")
# What names have that those of Python lack, each with its word there.
_OF_PYTHON = {"@": "__at__", ".": "__dot__", "{": "__open__", "}": "__close__", OVER: "__over__"}
_EXACT = 1e-12  # relative: what computing with doubles may lose


class Undefined(ValueError):
    """A formula has no value for these numbers, as a quotient by zero."""


def names(text: str) -> tuple[str, ...]:
    """The names that a formula needs values for, in order. Raises ValueError if it is not a formula."""
    return tuple(dict.fromkeys(operand_names(_parse_expression(text))))


def aggregated_name(name: str) -> str:
    """The name in `max(fom)`, whose value is given as that of a name; "" if it is no such one."""
    return name[:-1].partition("(")[2]


def aggregate(name: str, values: Mapping[str, Sequence[Value]]) -> float:
    """The value of `max(fom)`. Raises ValueError if these have none, as a geometric mean of negative numbers."""
    try:
        return _OF_SEVERAL[name.partition("(")[0]](values[aggregated_name(name)])
    except (ArithmeticError, TypeError) as error:
        raise Undefined(f"{name} cannot be computed: {error}") from error


def value(text: str, inputs: Mapping[str, Value]) -> float:
    """The value of a formula. Raises ValueError if it is not a formula, lacks an input, or gives no finite number."""
    missing = [name for name in names(text) if name not in inputs]
    if missing:
        raise ValueError(f"no value for {', '.join(missing)}")
    try:
        result = _compute(_parse_expression(text), inputs)
    except (ArithmeticError, ValueError) as error:
        raise Undefined(f"{text} cannot be computed: {error}") from error
    if not math.isfinite(result):
        raise Undefined(f"{text} does not give a finite number")
    return result


@dataclass(frozen=True, slots=True)
class Condition:
    """A comparison of two formulas, `moved >= 1.5 * memory * nodes`, or of a text: `software.mpi matches "MPICH.*"`."""

    left: str
    sign: str
    right: str

    @classmethod
    @lru_cache(maxsize=1000)
    def parse(cls, text: str) -> Condition:
        """Parse a condition. Raises ValueError if it is none."""
        parts = _COMPARISON.split(text)
        if len(parts) != 3 or (parts[1] == "in" and not _LIST.fullmatch(parts[2].strip())):
            raise ValueError(f"{text!r} is not a condition; allowed: two formulas with {SIGNS}")
        condition = cls(*map(str.strip, parts))
        if condition.sign == "matches":
            compile_pattern(_unquoted(condition.right))
        _ = condition.names
        return condition

    def __str__(self) -> str:
        return f"{self.left} {self.sign} {self.right}"

    @property
    def operands(self) -> tuple[str, ...]:
        """The left side, and the right side or the elements of its list."""
        return self.left, *(_ELEMENTS.findall(self.right[1:-1]) if self.sign == "in" else [self.right])

    @property
    def is_of_text(self) -> bool:
        return self.sign == "matches" or any(map(_is_text, self.operands))

    @property
    def names(self) -> tuple[str, ...]:
        formulas = [operand for operand in self.operands if not _is_text(operand)]
        return tuple(dict.fromkeys(name for operand in formulas for name in names(operand)))

    def sides(self, inputs: Mapping[str, Value]) -> tuple[Value, ...]:
        """The values of the operands. Raises ValueError as `value` does."""
        return tuple(_operand_value(operand, inputs) for operand in self.operands)

    def holds(self, inputs: Mapping[str, Value], tolerance: float = _EXACT) -> bool:
        """Whether the condition holds, with a number on the left allowed to miss by the share `tolerance`. Raises
        ValueError as `value` does.
        """
        left, *allowed_values = self.sides(inputs)
        if self.sign == "matches":
            return bool(compile_pattern(str(allowed_values[0])).fullmatch(str(left)))
        return any(self._holds(left, right, tolerance) for right in allowed_values)

    def _holds(self, left: Value, right: Value, tolerance: float) -> bool:
        if isinstance(left, str) or isinstance(right, str):
            if self.sign not in TEXT_SIGNS:
                raise ValueError(f"{self} compares a text; allowed: {', '.join(TEXT_SIGNS)}")
            return left == right
        excess, slack = left - right, tolerance * abs(right)
        if self.sign in ("<", ">") and tolerance == _EXACT:
            return excess < -slack if self.is_upper else excess > slack
        return (self.is_upper or excess >= -slack) and (self.is_lower or excess <= slack)

    @property
    def limits(self) -> list[float]:
        """The sides that are plain numbers."""
        return [float(operand) for operand in (self.left, self.right) if operand.replace(".", "", 1).isdecimal()]

    @property
    def is_upper(self) -> bool:
        """Whether the right side is a limit from above alone."""
        return self.sign.startswith("<")

    @property
    def is_lower(self) -> bool:
        return self.sign.startswith(">")


def _is_text(operand: str) -> bool:
    return operand[:1] in ("'", '"')


def _unquoted(operand: str) -> str:
    return operand[1:-1]


def _operand_value(operand: str, inputs: Mapping[str, Value]) -> Value:
    if _is_text(operand):
        return _unquoted(operand)
    known_value = inputs.get(operand)
    return known_value if isinstance(known_value, str) else value(operand, inputs)


@lru_cache(maxsize=1000)  # the same formula is computed with many numbers
def _parse_expression(text: str) -> ast.expr:
    if len(text) > LONGEST:
        raise ValueError(length_problem(length=len(text), longest=LONGEST))
    text_of_python = _AT.sub(_OF_PYTHON["@"], _PERCENT.sub(r"(\1/100)", text.strip()).replace("^", "**"))
    text_of_python = _DOTTED.sub(rf"\1{_OF_PYTHON['.']}", text_of_python)
    text_of_python = _PLACEHOLDER.sub(rf"{_OF_PYTHON['{']}\1{_OF_PYTHON['}']}", text_of_python)
    text_of_python = _OVER.sub(_OF_PYTHON[OVER], text_of_python)
    text_of_python = _NAME.sub(r"_\g<0>", text_of_python)  # an operation may be called `is` or `in`
    try:
        return ast.parse(text_of_python, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise ValueError(f"{text!r} is not a valid formula; allowed: {ALLOWED}") from error


def _name(node: ast.Name) -> str:
    return original_name(node.id)


def original_name(name: str) -> str:
    return reduce(lambda text, sign: text.replace(_OF_PYTHON[sign], sign), _OF_PYTHON, name.removeprefix("_"))


def _aggregate(node: ast.expr) -> str:
    """`max(fom)`, of values that are not among the inputs; "" for anything else."""
    match node:
        case ast.Call(func=ast.Name() as function, args=[ast.Name() as argument], keywords=[]) if (
            _name(function) in _OF_SEVERAL
        ):
            return f"{_name(function)}({_name(argument)})"
    return ""


def operand_names(node: ast.expr) -> Iterator[str]:
    """Raises ValueError for what is not arithmetic."""
    if aggregated := _aggregate(node):
        yield aggregated
    elif isinstance(node, ast.Name):
        if OVER in _name(node):
            raise ValueError(f"{_name(node)!r} is several numbers; allowed: a function of them, as max({_name(node)})")
        yield _name(node)
    elif not isinstance(node, ast.Constant) or type(node.value) not in (int, float):
        for part in _operation(node)[1]:
            yield from operand_names(part)


def _compute(node: ast.expr, inputs: Mapping[str, Value]) -> float:
    """With floats only, so that no power becomes huge."""
    if isinstance(node, ast.Constant):
        return float(node.value)  # type: ignore[arg-type]
    if isinstance(node, ast.Name):
        return float(inputs[_name(node)])
    if aggregated := _aggregate(node):
        return float(inputs[aggregated])
    operation, parts = _operation(node)
    numbers = []
    for part in parts:  # a comprehension would take twice the depth of recursion
        numbers.append(_compute(part, inputs))
    return float(operation(numbers))


def _operation(node: ast.expr) -> tuple[Callable[[Sequence[float]], float], list[ast.expr]]:
    """The function that a node of a formula applies, and the nodes of its arguments."""
    match node:
        case ast.BinOp() if type(node.op) in _OPERATORS:
            return lambda parts: _OPERATORS[type(node.op)](*parts), [node.left, node.right]
        case ast.UnaryOp(op=ast.USub() | ast.UAdd()):
            return lambda parts: -parts[0] if isinstance(node.op, ast.USub) else parts[0], [node.operand]
        case ast.Call(func=ast.Name() as function, args=[part], keywords=[]) if _name(function) in _OF_ONE:
            return lambda parts: _OF_ONE[_name(function)](*parts), [part]
        case ast.Call(func=ast.Name() as function, args=[_, _, *_], keywords=[]) if _name(function) in _OF_SEVERAL:
            return _OF_SEVERAL[_name(function)], node.args
    wrong = _NAME.sub(lambda name: original_name(name[0]), ast.unparse(node))
    raise ValueError(f"{wrong!r} is not arithmetic; allowed: {ALLOWED}")
