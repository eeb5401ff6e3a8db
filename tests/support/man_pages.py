"""The command line's parser as man pages: campaign(1), and one for each verb; and the keys of a file."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from campaign import __version__


def pages(top: argparse.ArgumentParser) -> dict[str, str]:
    """Text by file name."""
    texts = {"campaign.1": _page("campaign", top, _summary(top.description or ""))}
    for name, verb, summary in verbs(top):
        texts[f"campaign-{name}.1"] = _page(f"campaign-{name}", verb, summary)
    return texts


Options = tuple[str, tuple[tuple[str, str], ...]]  # a heading; what options change, and their names


def keys(name: str, summary: str, rows: list[tuple[str, str, str, str]], options: tuple[Options, ...] = ()) -> str:
    """The keys of a file, each with what is allowed, its default and its meaning. `options`: lists of those allowed."""
    lines = [f'.TH "{_text(name.upper())}" 5 "" "campaign {__version__}" "campaign"']
    lines += [".SH NAME", f"{_text(name)} \\- {_text(summary)}", ".SH KEYS"]
    for key, allowed, default, says in rows:
        default_text = {"required": " Required.", "none": ""}.get(default, f" Default: {default}.")
        lines += _item(f"\\fB{_text(key)}\\fR", f"{says}. Allowed: {allowed}.{default_text}")
    for heading, effects in options:
        effect_by_option = {name: effect for effect, names in effects for name in names.split()}
        lines.append(f".SH {_text(heading.upper())}")
        for option, effect in sorted(effect_by_option.items()):
            lines += _item(f"\\fB{_text('--' + option)}\\fR", f"changes {effect}")
    return "\n".join([*lines, ".SH SEE ALSO", ".BR campaign (1)"]) + "\n"


def verbs(parser: argparse.ArgumentParser) -> list[tuple[str, argparse.ArgumentParser, str]]:
    """Name, parser and one line of each verb of a parser, without its aliases."""
    entries = []
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            lines = {choice.dest: choice.help or "" for choice in action._choices_actions}
            entries += [(name, inner, lines[name]) for name, inner in action.choices.items() if name in lines]
    return entries


def _page(name: str, parser: argparse.ArgumentParser, summary: str) -> str:
    lines = [f'.TH "{_text(name.upper())}" 1 "" "campaign {__version__}" "campaign"']
    lines += [".SH NAME", f"{_text(name)} \\- {_text(summary)}", ".SH SYNOPSIS", *_usage(parser)]
    if parser.description != summary:
        lines += [".SH DESCRIPTION", _text(parser.description or "")]
    lines += _section("ARGUMENTS", _items(parser, options=False))
    lines += _section("VERBS", [item for inner, _, line in verbs(parser) for item in _item(f"\\fB{inner}\\fR", line)])
    lines += _section("OPTIONS", _items(parser, options=True))
    for inner, verb, line in verbs(parser) if name != "campaign" else ():
        lines += [f".SH {_text(inner.upper())}", f"{_text(line)}.", *_usage(verb)]
        lines += [*_items(verb, options=False), *_items(verb, options=True)]
    for text in (parser.epilog or "").split("\n\n"):
        heading, _, body = text.partition("\n")
        if heading == "exit status:":
            meanings = (line.split(maxsplit=1) for line in body.splitlines())
            lines += _section("EXIT STATUS", [line for number, says in meanings for line in _item(number, says)])
        elif heading == "example:":
            lines += [".SH EXAMPLE", ".nf", *map(_text, body.splitlines()), ".fi"]
        elif text:
            lines += [".PP" if ".SH EXIT STATUS" in lines else ".SH NOTES", _text(text)]
    other_words = [] if name == "campaign" else [".SH SEE ALSO", ".BR campaign (1)"]
    return "\n".join([*lines, *other_words]) + "\n"


def _usage(parser: argparse.ArgumentParser) -> list[str]:
    text = parser.format_usage().removeprefix("usage: ").rstrip()
    return [".nf", *map(_text, text.splitlines()), ".fi"]


def _section(title: str, items: list[str]) -> list[str]:
    return [f".SH {title}", *items] if items else []


def _items(parser: argparse.ArgumentParser, options: bool) -> list[str]:
    return [
        line
        for action in parser._actions
        if bool(action.option_strings) == options
        and not isinstance(action, argparse._SubParsersAction)
        and action.help != argparse.SUPPRESS
        for line in _action(parser, action)
    ]


def _action(parser: argparse.ArgumentParser, action: argparse.Action) -> Iterator[str]:
    value = f" \\fI{_text(str(action.metavar or action.dest))}\\fR"
    if action.option_strings:
        head = ", ".join(f"\\fB{_text(word)}\\fR" for word in action.option_strings)
        head += value if action.nargs != 0 else ""
    else:
        head = value.strip()
    values = {**vars(action), "prog": parser.prog}
    yield from _item(head, (action.help or "") % values)


def _item(head: str, text: str) -> list[str]:
    return [".TP", head, _text(text)]


def _summary(text: str) -> str:
    return text[0].lower() + text[1:].rstrip(".")


def _text(text: str) -> str:
    """Text as it is: no line of it is a request, no character of it an escape."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq")
    return "\n".join(f"\\&{line}" if line.startswith((".", "\\(aq")) else line for line in escaped.splitlines())
