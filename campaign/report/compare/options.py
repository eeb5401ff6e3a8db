"""What a comparison is asked for: terms of an acceptance, other names of targets, how much days may differ. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from campaign.config.values import parse_percent
from campaign.core.errors import InputError
from campaign.core.strict_yaml import quoted

DAY = 2.0  # factor by which two days of one system are taken to differ at most


@dataclass(frozen=True, slots=True)
class Terms:
    """Terms of an acceptance. `min_share`: of the committed number, 0.95 for 5% tolerance. `reported_alone`: only the
    reported numbers decide, as in a contract that does not mention repetitions. `by_means`: only the geometric means of
    the repetitions decide, as in the design of a sample.
    """

    min_share: float
    reported_alone: bool = False
    by_means: bool = False


def parse_terms(tolerance: str | None, at_least: str | None, reported_alone: bool) -> Terms | None:
    """The terms of an acceptance, from `5%` or `0.95`; None if neither is given. Raises InputError."""
    if tolerance is not None:
        try:
            return Terms(1 - parse_percent(0, 99)(tolerance), reported_alone)
        except ValueError as error:
            raise InputError(f"--tolerance: {error}") from error
    if at_least is not None:
        if not re.fullmatch(r"0\.[0-9]{1,6}|1(\.0{1,6})?", at_least) or float(at_least) < 0.01:
            raise InputError(f"--at-least: found {quoted(at_least)}; allowed: a share from 0.01 to 1, such as 0.95")
        return Terms(float(at_least), reported_alone)
    if reported_alone:
        raise InputError("--reported needs --tolerance or --at-least")
    return None


def parse_day(word: str | None) -> float:
    """The factor by which two days of one system may differ: `1.2`. Raises InputError."""
    if word is None:
        return DAY
    if not re.fullmatch(r"[0-9]{1,6}(\.[0-9]{1,6})?", word) or float(word) < 1:
        raise InputError(f"--day: found {quoted(word)}; allowed: a factor from 1, such as 1.2")
    return float(word)


def parse_targets(words: Sequence[str]) -> dict[str, str]:
    """`NAME=OTHER`, the first campaign's name of a target and the others' -> {OTHER: NAME}."""
    names: dict[str, str] = {}
    for word in words:
        name, separator, other = word.partition("=")
        if not (name and separator and other) or other in names or name in names.values():
            raise InputError(
                f"--map {word}: write NAME=OTHER (target of the first = target of the others), each name once"
            )
        names[other] = name
    return names
