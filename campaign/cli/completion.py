"""Completion in the shell: of verbs, options, rule packs, cells, formats and files, by argcomplete.

The shell's own script calls the program with what was typed so far; the program answers from its parser.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable

from campaign.config.definition import open_campaign
from campaign.config.rules import packs
from campaign.core.errors import CampaignError
from campaign.plan import matrix


def script(shell: str) -> str:
    """The script that the shell has to read once."""
    from argcomplete.shell_integration import shellcode

    return shellcode(["campaign"], shell=shell).strip() + "\n"


def answer_shell(top: argparse.ArgumentParser) -> None:
    """Answer a shell that asks for completions, and end the process."""
    import argcomplete
    from argcomplete.completers import DirectoriesCompleter

    by_metavar: dict[str, Callable[..., Iterable[str]]] = {
        "ID": lambda **_: {pack.id: pack.title for pack in packs.available()},
        "CELL": _cells,
        "F": _formats,
        "DIR": DirectoriesCompleter(),
    }
    files = ("BUNDLE", "CAMPAIGN", "FILE", "KEY", "OUT")  # argcomplete's own answer otherwise
    for parser in _parsers(top):
        for action in parser._actions:
            if action.metavar not in files and not action.choices:
                action.completer = by_metavar.get(str(action.metavar), lambda **_: ())  # type: ignore[attr-defined]
    argcomplete.autocomplete(top)


def _parsers(top: argparse.ArgumentParser) -> Iterable[argparse.ArgumentParser]:
    yield top
    for action in top._actions:
        if isinstance(action, argparse._SubParsersAction):
            for parser in action.choices.values():
                yield from _parsers(parser)


def _cells(parsed_args: argparse.Namespace, **_: object) -> list[str]:
    """The cells of the campaign file typed before; none if it cannot be read."""
    try:
        definition = open_campaign(parsed_args.file)
    except (AttributeError, CampaignError, OSError):
        return []
    return [str(cell) for cell in matrix.cells(definition.campaign, definition.pack)]


def _formats(**_: object) -> list[str]:
    import tabulate

    return [*tabulate.tabulate_formats, "csv", "json", "xlsx"]
