"""The messages of every package: found for the tests and for `docs/messages.md`."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from types import ModuleType

import campaign
from campaign.core.messages import Message

HEAD = """# Messages

Every text that the program prints, by package, each with an example. Generated from the packages' `messages` modules by
`make docs`: the words are changed there.
"""


def modules() -> Iterator[ModuleType]:
    """The modules called `messages`, and those in packages called so, in the order of their names."""
    for module in sorted(pkgutil.walk_packages(campaign.__path__, "campaign."), key=lambda info: info.name):
        parts = module.name.split(".")[2:]
        if "messages" in parts and not module.ispkg:
            yield importlib.import_module(module.name)


def of(module: ModuleType) -> dict[str, Message]:
    return {name: value for name, value in vars(module).items() if isinstance(value, Message)}


def page() -> str:
    parts = [HEAD]
    for module in modules():
        messages = of(module)
        if not messages:
            continue
        parts.append(f"## {module.__name__.removeprefix('campaign.').replace('.messages', '').replace('.', ' / ')}\n")
        parts.append((module.__doc__ or "").partition("\n")[0] + "\n")
        parts += [f"- {_shown(message)}" for message in messages.values()]
        parts.append("")
    return "\n".join(parts)


def _shown(message: Message) -> str:
    """An example as Markdown: a code span, whatever characters it holds; its lines in one."""
    text = message(**message.example).replace("\n", " ⏎ ")
    fence = "``" if "`" in text else "`"
    return f"{fence}{text}{fence}" if fence == "`" else f"{fence} {text} {fence}"
