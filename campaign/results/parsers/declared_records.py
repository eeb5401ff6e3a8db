"""Values that a pack's `results` found in an output -> records. Pure.

Numbers are as programs print them: -0.5, 1.4D+08, 1,234.5, and durations in seconds, 5m58.18s or 1:02:03.
"""

from __future__ import annotations

import math
import re
import shlex
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from statistics import fmean
from typing import Any

from campaign.config.rules import formulas, output_format, sweeps
from campaign.core import formula
from campaign.core.records import Iteration, Record, Source
from campaign.core.units import may_be_negative
from campaign.results.parsers.lines import MOST_ITERATIONS, TWO_RUNS, Notes, deviation

MOST_DIGITS = 100  # of a number; longer ones are refused
_FRACTION = r"(?:\.[0-9]{0,18})?"
_NUMBER = re.compile(
    rf"[-+]?(?:[0-9]{{1,18}}{_FRACTION}|[0-9]{{1,3}}(?:,[0-9]{{3}}){{1,5}}{_FRACTION}|\.[0-9]{{1,18}})"
    r"(?:[eEdD][-+]?[0-9]{1,3})?"
)
_WHOLE = re.compile(r"[-+]?[0-9,]+")
# Hours, minutes, seconds: with colons, or with letters and blanks between them; `5m` alone may be a size.
_COLONS = re.compile(rf"(?:([0-9]{{1,9}}):(?=[0-9]{{2}}:))?([0-9]{{1,9}}):([0-9]{{2}}{_FRACTION})")
_LETTERS = re.compile(rf"(?:([0-9]{{1,9}})h ?)?(?:([0-9]{{1,9}})m ?)?([0-9]{{1,18}}{_FRACTION})s")
_HOURS = re.compile(r"([0-9]{1,9})h ?([0-9]{1,2})m")


@dataclass(frozen=True, slots=True)
class Printed:
    """A printed number, and half a unit of its last digit: 0 for a whole number, which is a count."""

    value: float
    half: float
    is_duration: bool = False


def printed_number(text: str) -> Printed | None:
    """The number that a text is; None if it is none."""
    text = text.strip()
    if _NUMBER.fullmatch(text):
        plain = text.replace(",", "").upper().replace("D", "E")
        value = float(plain)
        half = 0.0 if _WHOLE.fullmatch(text) else _half_digit(plain)
        return Printed(value, half) if abs(value) <= 10.0**MOST_DIGITS else None
    if match := _COLONS.fullmatch(text) or _LETTERS.fullmatch(text):
        hours, minutes, seconds = match.groups("0")
        return Printed(3600 * int(hours) + 60 * int(minutes) + float(seconds), _half_digit(seconds), is_duration=True)
    if match := _HOURS.fullmatch(text):
        return Printed(3600.0 * int(match[1]) + 60 * int(match[2]), 30.0, is_duration=True)
    return None


def _half_digit(plain: str) -> float:
    exponent = Decimal(plain).as_tuple().exponent
    return 0.5 * 10.0 ** min(exponent, MOST_DIGITS) if isinstance(exponent, int) else 0.0


_FLOAT = 1e-9  # relative: sums and quotients of doubles
_COUNTS, _MOST_COUNTED = ("iterations", "count", "moved_bytes"), 2.0**63  # what an integer of the database holds
_OF_VALUES = ("minimum", "mean", "stddev")  # in the unit of the value
_NOT_NEGATIVE = (*_COUNTS, "stddev", *output_format.SECONDS)
_NAME = re.compile(r"[a-z][a-z0-9_.-]{0,99}")


@dataclass(frozen=True, slots=True)
class _Sample:
    """One match of a record: the number in the record's unit, and all named values as printed."""

    line: int
    value: float
    unit: str
    factor: float
    values: Mapping[str, str]


class Numbers:
    """Collects the values of lines or entries, record by record; problems go to `notes`."""

    def __init__(self, form: output_format.OutputFormat, file: str, notes: Notes) -> None:
        self._form, self._file, self._notes = form, file, notes
        self._samples: dict[str, tuple[output_format.DeclaredRecord, list[_Sample]]] = {}
        self._count = 0  # of matches
        self.facts: dict[str, tuple[str, int]] = {}  # text and line
        self._found: dict[str, tuple[float, float]] = {}  # of all records, as `_number_intervals` gives numbers
        self.sections = Counter[str]()  # lines of each `after`
        self.ended_early = False  # a section lacks a number
        self._doubtful = set[str]()  # records that are not used, as formulas name them

    def __bool__(self) -> bool:
        return bool(self._samples)

    def add(self, record: output_format.DeclaredRecord, line: int, text: str, values: Mapping[str, str]) -> None:
        """Add a match of the record; `values` contains the number as `value`."""
        if self._notes.is_full(line, self._count, len(self._samples)):
            return
        self._count += 1
        try:
            name = _name(record, self._texts | dict(values))
            sample = _sample(record, line, values)
        except ValueError as error:
            self._notes.unreadable(line, text, str(error))
            return
        known_record, samples = self._samples.setdefault(name, (record, []))
        if known_record is not record:
            self._notes.error(line, f"two records of `results` match {name}; the first is used")
            return
        if values.get("iteration", str(len(samples))) != str(len(samples)):
            contradiction = f"{name}: iteration {values['iteration']}, but {len(samples)} expected"
            self._not_used(name, line, contradiction)
        samples.append(sample)

    def _not_used(self, name: str, line: int | None, error: str) -> None:
        """The output contradicts itself, and it is unknown which of its numbers is the true one."""
        self._notes.error(line, f"{error}; result not used")
        self._doubtful.add(formulas.name_of(name))

    def has_any(self, unless: str) -> bool:
        """Whether a record was found that such a line excludes."""
        return any(record.unless == unless for record, _ in self._samples.values())

    @property
    def _texts(self) -> dict[str, str]:
        return {name: text for name, (text, _) in self.facts.items()}

    def fact(self, name: str, text: str, line: int) -> None:
        known_fact = self.facts.setdefault(name, (text, line))
        if known_fact[1] != line and name == "program":
            self._notes.error(line, TWO_RUNS)
        elif known_fact[0] != text:
            self._notes.error(line, f"{name} is {text!r} here, but {known_fact[0]!r} in line {known_fact[1]}")

    def observed(self) -> dict[str, Any]:
        """The fields of an observation that facts give."""
        numbers = [(name, text, line) for name, (text, line) in self.facts.items() if _is_number(text)]
        facts = tuple(Record(name, float(text), "", Source(self._file, line)) for name, text, line in numbers)
        fields: dict[str, Any] = {"facts": facts}
        for name in output_format.COUNTS:
            text, line = self.facts.get(name, ("", 0))
            if re.fullmatch(r"[0-9]{1,12}", text):
                fields[name] = int(text)
            elif line:
                self._notes.error(line, f"{name}: {text!r} is not a whole number ≥ 0")
        if "program" in self.facts:
            fields["program"] = self.facts["program"][0]
        if "command" in self.facts:
            text, line = self.facts["command"]
            try:
                fields["argv"] = tuple(shlex.split(text))
            except ValueError:
                self._notes.error(line, f"command line with an unclosed quote: {text}")
        if "node_names" in self.facts:
            names = tuple(dict.fromkeys(self.facts["node_names"][0].split()))
            fields |= {"node_names": names, "nodes": len(names)}
        return fields

    def records(self) -> list[Record]:
        for record in self._form.records:
            match_count = sum(
                len(samples) for sample_record, samples in self._samples.values() if sample_record is record
            )
            sections = self.sections[record.after]
            if record.matches == output_format.SECTION and match_count != sections:
                self._notes.error(
                    None, f"{record.name}: {match_count} matches in {sections} sections; expected one in each"
                )
                self.ended_early |= match_count < sections
            elif isinstance(record.matches, int) and not match_count:
                self._notes.error(None, _matches_differ(record=record.name, match_count=0, expected=record.matches))
        for name, (record, samples) in self._samples.items():
            value, at = take_value(record.take, samples)
            half = _half(at) if record.take != "sum" else math.fsum(map(_half, samples))
            self._found[formulas.name_of(name)] = (value, half)
        records = [self._record(name, record, samples) for name, (record, samples) in self._samples.items()]
        return [
            match_count
            for match_count, (record, _) in zip(records, self._samples.values(), strict=True)
            if not record.check_only and formulas.name_of(match_count.operation) not in self._doubtful
        ]

    def _expected_matches(self, record: output_format.DeclaredRecord) -> int | None:
        """The required number of matches of one name; None if there is none, or it is not known."""
        if record.matches == output_format.SAME:
            return max(
                len(samples)
                for other_record, samples in self._samples.values()
                if other_record.matches == output_format.SAME
            )
        if isinstance(record.matches, str) and record.matches != output_format.SECTION:
            text = self._texts.get(record.matches, "")
            return int(text) if re.fullmatch(r"[0-9]{1,12}", text) else 0
        return record.matches if isinstance(record.matches, int) else None

    def _record(self, name: str, record: output_format.DeclaredRecord, samples: list[_Sample]) -> Record:
        expected = self._expected_matches(record)
        is_single = record.take == "only" and expected is None and not record.positioned_by
        if expected is not None and len(samples) != expected:
            count_unknown = f"as many as the fact `{record.matches}` says, which is missing"
            text = _matches_differ(record=name, match_count=len(samples), expected=expected or count_unknown)
            if record.matches == output_format.SAME:
                self._not_used(name, None, text)
            else:
                self._notes.error(samples[-1].line, text)
        elif is_single:
            for sample in samples[1:]:
                self._notes.error(sample.line, f"a second {name}; the first, in line {samples[0].line}, is used")
        if len({sample.unit for sample in samples}) > 1:
            self._notes.error(samples[-1].line, f"{name} has several units")
        for sample in samples[:1] if is_single else samples:
            self._check_plausible(name, record, sample)
        value, at = (
            self._same_iteration(name, record, samples) if record.positioned_by else take_value(record.take, samples)
        )
        if len(samples) == 1:
            statistics = _own_statistics(at)
        else:
            values = [sample.value for sample in samples]
            statistics = {
                "minimum": min(values),
                "mean": fmean(values),
                "stddev": deviation(values),
                "iterations": len(values),
                "statistic": record.statistic,
                "iteration": samples.index(at) + 1 if record.positioned_by else None,
                "each": tuple(
                    Iteration(sample_kept.value, Source(self._file, sample_kept.line))
                    for sample_kept in (samples if len(samples) <= MOST_ITERATIONS else ())
                ),
            }
        return Record(name, value, at.unit, Source(self._file, at.line), **statistics, **measured_fields(at))

    def _same_iteration(
        self, name: str, record: output_format.DeclaredRecord, samples: list[_Sample]
    ) -> tuple[float, _Sample]:
        """The value and the match at the position that another record takes, the one that `of` names."""
        reference_name = sweeps.fill(record.positioned_by, self._texts | dict(samples[0].values)).lower()
        reference_record, reference_samples = self._samples.get(reference_name, (record, []))
        if len(reference_samples) != len(samples):
            text = (
                f"{name}: {len(samples)} matches, but {reference_name} has {len(reference_samples)}; they cannot be "
                "paired"
            )
            self._notes.error(samples[-1].line, text)
            return samples[0].value, samples[0]
        reference_sample = take_value(reference_record.take, reference_samples)[1]
        at = next(
            sample
            for sample, reference in zip(samples, reference_samples, strict=True)
            if reference is reference_sample
        )
        return at.value, at

    def _check_plausible(self, name: str, record: output_format.DeclaredRecord, sample: _Sample) -> None:
        texts = self._texts | dict(sample.values)
        words = {key: formulas.name_of(text).lower() for key, text in texts.items()}
        try:
            for condition in formulas.conditions(sweeps.fill(record.plausible, words)) if record.plausible else ():
                if contradiction := self._contradiction(condition, record, sample, texts):
                    self._not_used(name, sample.line, f"{name}: {contradiction}")
                    # Of other records in it, that one may be the wrong one.
                    self._doubtful |= {
                        name_in_condition for name_in_condition in condition.names if name_in_condition not in texts
                    }
        except formula.Undefined as error:  # as a rate where the time is printed as 0.00
            self._notes.warning(sample.line, f"{name}: not checked: {error}")
        except ValueError as error:
            self._not_used(name, sample.line, f"{name}: plausibility not checked: {error}")

    def _contradiction(
        self,
        condition: formula.Condition,
        record: output_format.DeclaredRecord,
        sample: _Sample,
        texts: Mapping[str, str],
    ) -> str:
        """What is wrong with a condition, "" for nothing. Raises ValueError where it cannot be computed."""
        left, right = texts.get(condition.left, "0"), texts.get(condition.right, "0")
        if not (_is_number(left) and _is_number(right)):
            return "" if left == right else f"{condition.left} is {left}, but {condition.right} is {right}"
        intervals = self._number_intervals(sample)
        left_value, right_value = (
            formula.value(formula_text, _middles(intervals)) for formula_text in (condition.left, condition.right)
        )
        low, high = _ends(condition.left, intervals)
        lowest, highest = _ends(condition.right, intervals)
        if (
            condition.left in intervals and condition.right in intervals
        ):  # one number printed twice: as in the better print
            low, high = (left_value, left_value) if high - low <= highest - lowest else (low, high)
            lowest, highest = (lowest, highest) if low == high else (right_value, right_value)
        allowed = (record.within + _FLOAT) * max(abs(left_value), abs(right_value))
        too_low, too_high = high + allowed < lowest, low - allowed > highest
        if not (too_low and not condition.is_upper) and not (too_high and not condition.is_lower):
            return ""
        left_text = (
            f"{left_value:.8g} {sample.unit}"
            if condition.left == formulas.VALUE
            else f"{condition.left} = {left_value:.8g}"
        )
        return f"{left_text} does not agree with {condition.right} = {right_value:.8g}"

    def _number_intervals(self, sample: _Sample) -> dict[str, tuple[float, float]]:
        """The numbers that a formula may use, with half of their last printed digit; records in their units."""
        texts = self._texts | dict(sample.values)
        numbers = {name: number for name, text in texts.items() if (number := printed_number(text))}
        sample_values = {name: (number.value, number.half) for name, number in numbers.items()}
        return {**self._found, **sample_values, "value": (sample.value, _half(sample))}


def _matches_differ(record: object, match_count: object, expected: object) -> str:
    return f"{record}: {match_count} matches; expected {expected}"


def _middles(intervals: Mapping[str, tuple[float, float]]) -> dict[str, float]:
    return {name: number for name, (number, _) in intervals.items()}


def _ends(plausible: str, intervals: Mapping[str, tuple[float, float]]) -> tuple[float, float]:
    """The interval of a formula's value, whose inputs were rounded when printed."""
    return _extreme(plausible, intervals, min), _extreme(plausible, intervals, max)


def _extreme(plausible: str, intervals: Mapping[str, tuple[float, float]], best: Callable[..., float]) -> float:
    inputs = _middles(intervals)
    inexact = [name for name in formula.names(plausible) if intervals[name][1]]
    for name in (*inexact, *inexact):  # twice, since a step such as that of `ceil` may show beside other ends alone
        number, half = intervals[name]
        ends = {end: formula.value(plausible, {**inputs, name: end}) for end in (number - half, number + half)}
        inputs[name] = best(ends, key=ends.__getitem__)
    return formula.value(plausible, inputs)


def _half(sample: _Sample) -> float:
    number = printed_number(sample.values["value"])
    return number.half * sample.factor if number else 0.0


def _is_number(text: str) -> bool:
    return printed_number(text) is not None


def _name(record: output_format.DeclaredRecord, values: Mapping[str, str]) -> str:
    name = sweeps.fill(record.name, values).lower()
    if not _NAME.fullmatch(name):
        raise ValueError(f"{name!r} is not a record's name")
    return name


def _number(name: str, text: str, unit: str = "") -> float:
    """The number that a value is. `unit`: in which the output gives it; durations are in seconds."""
    number = printed_number(text)
    if number is None or (name in _COUNTS and number.value >= _MOST_COUNTED):
        raise ValueError(f"{name}: {text!r} is not a number")
    if number.value < 0 and name in _NOT_NEGATIVE:
        raise ValueError(f"{name}: {text!r} is not a number ≥ 0")
    if number.is_duration and unit != "s":
        raise ValueError(f"{name}: {text!r} is a duration in seconds, but its unit is {unit or 'not s'}")
    return number.value


def _sample(record: output_format.DeclaredRecord, line: int, values: Mapping[str, str]) -> _Sample:
    """Raises ValueError if the line's number or unit does not fit the pack."""
    factor, unit, suffix = record.factor, record.unit, values.get("unit")
    if suffix and (suffix != unit or suffix in dict(record.units)):
        factors = dict(record.units)
        if suffix not in factors:
            raise ValueError(f"unit {suffix!r}; the rule pack expects {', '.join(dict.fromkeys((*factors, unit)))}")
        conversion = factors[suffix]
        factor, unit = (factor, conversion) if isinstance(conversion, str) else (factor * conversion, unit)
    for name in (*output_format.STATISTICS, "count", "moved_bytes", *output_format.SECONDS):
        if name in values:
            _number(name, values[name], "s" if name == "time" else unit if name in _OF_VALUES else "")
    value = _number("value", values["value"], unit) * factor
    if value < 0 and not may_be_negative(unit):
        raise ValueError(f"value: {values['value']!r} is not a number ≥ 0, as one in {unit} is")
    return _Sample(line, value, unit, factor, values)


def take_value(take: str, samples: list[_Sample]) -> tuple[float, _Sample]:
    """The value, and the match whose line is its source."""
    ordered = sorted(samples, key=lambda sample: sample.value)
    middle = ordered[(len(ordered) - 1) // 2]
    if take in ("mean", "sum", "median"):
        value = formula.aggregate(f"{take}(value)", {"value": [sample.value for sample in samples]})
        return value, middle if take == "median" else samples[-1]
    at = {"last": samples[-1], "maximum": ordered[-1], "minimum": ordered[0]}.get(take, samples[0])
    return at.value, at


def _own_statistics(sample: _Sample) -> dict[str, Any]:
    """The statistics that the program prints beside the number."""
    statistics = {name: _value(sample, name) for name in output_format.STATISTICS if name in sample.values}
    return {
        name: int(number) if name == "iterations" else number * sample.factor for name, number in statistics.items()
    }


def measured_fields(sample: _Sample) -> dict[str, Any]:
    values: dict[str, Any] = {}
    if "moved_bytes" in sample.values:
        values["moved_bytes"] = int(_value(sample, "moved_bytes"))
    for name, seconds in output_format.SECONDS.items():
        if name in sample.values:
            values["elapsed_s"] = _value(sample, name) * seconds
    if "count" in sample.values:
        values["operations_done"] = int(_value(sample, "count"))
    return values


def _value(sample: _Sample, name: str) -> float:
    """A value of the line that `_sample` found to be a number."""
    number = printed_number(sample.values[name])
    assert number
    return number.value
