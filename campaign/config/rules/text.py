"""Rule packs as `campaign rules` prints them."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence
from dataclasses import replace

from campaign.config.rules import catalogue
from campaign.config.rules.kinds import PLACES
from campaign.config.rules.pack import RulePack
from campaign.config.rules.packs import Available
from campaign.core import resources, units
from campaign.core.grouping import grouped
from campaign.core.runs import BRACE

_FARTHEST = 24  # the last column at which the text of an entry may begin


def listing(packs: Sequence[Available]) -> str:
    """The packs for `campaign rules`, one per line."""
    width = max((len(pack.id) for pack in packs), default=0)
    return "\n".join(
        f"{pack.id:{width}}  "
        + (f"unusable: {pack.problem}" if pack.problem else f"version {pack.version}  {pack.title}")
        for pack in packs
    )


def text(pack: RulePack, width: int = 100, base: RulePack | None = None) -> str:
    """One pack with its clauses for `campaign rules ID`, in lines of this width. `base`: the pack that it extends,
    whose lines are marked.
    """
    lines, inherited = _lines(pack), {*_lines(base)} if base else set()
    marked = [f"|{line[1:]}" if line in inherited and line.startswith("  ") else line for line in lines]
    heading = [f"Extends {base.id}, version {base.version}: the lines that begin with | are its own"] if base else []
    return "\n".join(_folded(line, width) for line in [*marked[:1], *heading, *marked[1:]])


def _lines(pack: RulePack) -> list[str]:
    rendered_text = resources.render_template(
        "rules.txt.j2",
        pack=pack,
        # Those that several programs share are described once; the applet's own parsers are not.
        outputs=grouped(
            (replace(program.results, applet=""), program.id) for program in pack.programs if program.results
        ),
        places=PLACES,
        brace=BRACE,
        catalogue=catalogue.CATALOGUE,
        checks=catalogue.judged_rules(pack.checks),
        show=catalogue.show,
        counted=units.format_count,
    )
    return [line.rstrip() for line in rendered_text.splitlines()]


def _folded(line: str, width: int) -> str:
    """Folded lines; continuation lines are indented to the text after the entry's name."""
    entry = re.match(r"[ |] +\S+(?: \S+)*?  +", line)
    indent = entry.end() if entry and entry.end() <= _FARTHEST else len(line) - len(line.lstrip(" |")) + 4
    return textwrap.fill(line, width, subsequent_indent=" " * indent, break_long_words=False, break_on_hyphens=False)
