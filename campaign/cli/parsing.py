"""How a command line is parsed: what a verb and an option are, the help's layout, and the errors for unknown words."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from campaign.cli.terminal import AUTO, CHOICES

MEANT_OPTIONS = {"--cell": "--only", "--cells": "--only"}


class Help(argparse.HelpFormatter):
    """Wraps each line of a description or epilog separately; the text after a number is indented."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        import re
        import textwrap

        def wrapped(line: str) -> str:
            number = re.match(r"(\d+ +)?", line)
            continuation_indent = indent + " " * (number.end() if number else 0)
            return textwrap.fill(line, width, initial_indent=indent, subsequent_indent=continuation_indent)

        return "\n".join(map(wrapped, text.splitlines()))

    def _format_action_invocation(self, action: argparse.Action) -> str:
        """`-o, --output DIR`, as in Python 3.13 and later; earlier ones have `-o DIR, --output DIR`."""
        if action.nargs == 0 or not action.option_strings:
            return super()._format_action_invocation(action)
        return f"{', '.join(action.option_strings)} {self._format_args(action, action.dest.upper())}"


class Parser(argparse.ArgumentParser):
    """Says what to do if the campaign file is missing."""

    def error(self, message: str) -> NoReturn:
        is_without_file = message.startswith("the following arguments are required: FILE")
        hint = "; give the campaign file; 'campaign init FILE' writes a new one" if is_without_file else ""
        super().error(f"{message}{hint}")


class VerbParser(Parser):
    """Reports unknown options and arguments below the verb's own usage; the program's usage lists verbs only."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> tuple[Any, list[str]]:
        parsed, unknown = super().parse_known_args(args, namespace)
        # Some versions of argparse give an optional argument no word that follows an option.
        optional = [action for action in self._actions if action.nargs == "?" and not action.option_strings]
        if len(unknown) == 1 and not _is_option(unknown[0]) and optional:
            (action,) = optional
            if getattr(parsed, action.dest) is action.default:
                setattr(parsed, action.dest, self._get_values(action, unknown))
                return parsed, []
        if unknown:
            self.error(self._unknown(unknown))
        return parsed, unknown

    def _unknown(self, words: Sequence[str]) -> str:
        from campaign.core.schema import suggestion

        option = next((word.partition("=")[0] for word in words if _is_option(word)), None)
        if option is None:
            return f"unexpected arguments: {' '.join(words)}"
        options = [name for action in self._actions for name in action.option_strings]
        if option in MEANT_OPTIONS and MEANT_OPTIONS[option] in options:
            return f"unknown option {option}; did you mean {MEANT_OPTIONS[option]}?"
        suggestions = [name for name in options if name != "--help"]
        return f"unknown option {option}; {suggestion(option, suggestions, 0.6, ', '.join(options))}"


def _is_option(word: str) -> bool:
    """A single dash is an argument: standard output."""
    return word.startswith("-") and word != "-"


class Option:
    """An argument, as argparse takes it. `writes`: the kind of output that it names (`cli/output.py`); `per_part`: each
    of several parts has a file of its own, which the verb checks.
    """

    def __init__(self, *names: str, writes: str = "", per_part: bool = False, **terms: Any) -> None:
        self.names, self.writes, self.per_part, self.terms = names, writes, per_part, terms


@dataclass(frozen=True, slots=True)
class Verb:
    """A verb with its options in the order of its help; those in an inner tuple exclude each other."""

    name: str
    module: str  # in which its function is
    help: str
    example: str  # a command that works when it is pasted, with the reader's files
    options: Sequence[Option | tuple[Option, ...]] = ()
    epilog: str | None = None
    aliases: tuple[str, ...] = ()
    verbs: Sequence[Verb] = ()  # of its own


def add_verb(verbs: argparse._SubParsersAction[Any], listed: Verb, full_name: str = "") -> argparse.ArgumentParser:
    """`full_name`: with that of the verb whose own it is; its module has the function of this name."""
    example = f"example:\n  {listed.example}"
    verb: argparse.ArgumentParser = verbs.add_parser(
        listed.name,
        aliases=listed.aliases,
        help=listed.help,
        description=listed.help,
        epilog=f"{example}\n\n{listed.epilog}" if listed.epilog else example,
        formatter_class=Help,
    )
    outputs: dict[str, str] = {}
    checked_by_verb: set[str] = set()
    verb.set_defaults(do=(listed.module, full_name or listed.name), outputs=outputs, checked_by_verb=checked_by_verb)
    for entry in listed.options:
        alternatives = (entry,) if isinstance(entry, Option) else entry
        group = verb if isinstance(entry, Option) else verb.add_mutually_exclusive_group()
        for option in alternatives:
            action = group.add_argument(*option.names, **option.terms)
            if option.writes:
                outputs[action.dest] = option.writes
            if option.per_part:
                checked_by_verb.add(action.dest)
    verb.add_argument("--color", choices=CHOICES, default=AUTO, help=argparse.SUPPRESS)  # in the help of the program
    return verb


def find_verb_parser(top: argparse.ArgumentParser, name: str) -> argparse.ArgumentParser:
    """The parser of an existing verb."""
    verbs = next(action for action in top._actions if isinstance(action, argparse._SubParsersAction))
    verb_parser: argparse.ArgumentParser = verbs.choices[name]
    return verb_parser
