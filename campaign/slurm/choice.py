"""The nodes of a partition that the campaign file selects: by features (`slurm.constraint`), or by name (`--nodelist`
and `--exclude` under `slurm.directives`).
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

from campaign.config.format import Slurm
from campaign.results.environment.slurm_text import expand_nodes

# All of some features, or any of them. Parentheses, counts and [a|b] are left to sbatch.
_FEATURE = r"[\w.:/=+-]+"
_ALL, _ANY = re.compile(rf"{_FEATURE}([&,]{_FEATURE})*"), re.compile(rf"{_FEATURE}(\|{_FEATURE})*")


@dataclass(frozen=True, slots=True)
class ChosenNodes:
    """`named`, `excluded`: lists of nodes as Slurm writes them."""

    constraint: str = ""
    named: str = ""
    excluded: str = ""

    def takes(self, node: str, features: Collection[str]) -> bool:
        """Whether a node may be used. What cannot be evaluated excludes no node."""
        wanted = set(re.split(r"[&,|]", self.constraint))
        if _ALL.fullmatch(self.constraint) and not wanted <= set(features):
            return False
        if _ANY.fullmatch(self.constraint) and wanted.isdisjoint(features):
            return False
        named, excluded = expand_nodes(self.named), expand_nodes(self.excluded)
        return (named is None or node in named) and (excluded is None or node not in excluded)

    def __str__(self) -> str:
        """`with constraint milan, on n[1-4]`; "" if all nodes are selected."""
        lists = {"on": self.named, "without": self.excluded}
        parts = [f"with constraint {self.constraint}"] * bool(self.constraint)
        return ", ".join([*parts, *(f"{word} {nodes}" for word, nodes in lists.items() if nodes)])

    @property
    def unclear(self) -> str:
        """What could not be evaluated, and what was assumed; "" if all was."""
        constraint = self.constraint
        understood = not constraint or _ALL.fullmatch(constraint) or _ANY.fullmatch(constraint)
        texts = [] if understood else [constraint]
        texts += [text for text in (self.named, self.excluded) if text and expand_nodes(text) is None]
        return f"{', '.join(texts)} cannot be evaluated here: counted as if it excluded no node" if texts else ""


def of(slurm: Slurm) -> ChosenNodes:
    given = dict(word.removeprefix("--").split("=", 1) for word in slurm.directives if "=" in word)
    return ChosenNodes(slurm.constraint, given.get("nodelist", ""), given.get("exclude", ""))
