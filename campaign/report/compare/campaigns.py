"""Compares campaigns: offers, acceptance against commitment, before and after."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from campaign.config.values import parse_percent
from campaign.core.errors import InputError
from campaign.core.strict_yaml import shown
from campaign.report import printing
from campaign.report.compare import data, sources, text, verdicts
from campaign.report.compare.verdicts import OfferComparison, Terms


def compare(
    paths: Sequence[Path], terms: Terms | None = None, targets: Mapping[str, str] | None = None
) -> OfferComparison:
    """Compare the first of the campaigns with each other one. Raises InputError."""
    if len(paths) < 2:
        raise InputError(
            f"compare needs two or more campaigns; found {len(paths)} (the others are compared with the first)"
        )
    return verdicts.compare([sources.load(path) for path in paths], terms, targets)


def parse_terms(tolerance: str | None, at_least: str | None, reported: bool) -> Terms | None:
    """The terms of an acceptance, from `5%` or `0.95`; None if neither is given. Raises InputError."""
    if tolerance is not None:
        try:
            return Terms(1 - parse_percent(0, 99)(tolerance), reported)
        except ValueError as error:
            raise InputError(f"--tolerance: {error}") from error
    if at_least is not None:
        if not re.fullmatch(r"0\.[0-9]{1,6}|1(\.0{1,6})?", at_least) or float(at_least) < 0.01:
            raise InputError(f"--at-least: found {shown(at_least)}; allowed: a share from 0.01 to 1, such as 0.95")
        return Terms(float(at_least), reported)
    if reported:
        raise InputError("--reported needs --tolerance or --at-least")
    return None


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


def as_text(comparison: OfferComparison, style: str, width: int = printing.WIDEST) -> str:
    if style == "json":
        return data.as_json(comparison)
    return data.as_csv(comparison) if style == "csv" else text.printed(comparison, style, width)
