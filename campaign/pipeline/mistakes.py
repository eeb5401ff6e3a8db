"""Mistakes in values of the campaign file that are found after reading it, reported like those of the schema, with the
place.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from campaign.config.format import Campaign
from campaign.core.errors import InputError
from campaign.core.strict_yaml import Place, path_text


@dataclass(frozen=True, slots=True)
class Mistake:
    """What is wrong with the value at a place of the campaign file."""

    at: Place
    text: str


def refusal(campaign: Campaign, mistakes: Iterable[Mistake]) -> InputError:
    """An error with all of them, each with file:line:column and key, in the order of the file."""
    distinct = list(dict.fromkeys(mistakes))
    if campaign.document is None:
        return InputError(*(f"{path_text(mistake.at)}: {mistake.text}" for mistake in distinct))
    document = campaign.document.with_root(campaign.document.root)
    for mistake in distinct:
        document.problem(mistake.at, mistake.text)
    try:
        document.finish()
    except InputError as error:
        return error
    return InputError()
