"""What was executed, for the report of modifications: launcher, programs, words before them, libraries. Pure."""

from __future__ import annotations

import shlex
import textwrap
from collections.abc import Iterator, Sequence

from campaign.core.grouping import grouped
from campaign.core.model import State
from campaign.core.units import listed, several
from campaign.judge import ran
from campaign.report.contents import Section
from campaign.results.case import Case

_NAMED = 4  # attempts that are named if a line is not about all
_LIBRARY = "library."
_COLUMNS = ("what", "file or words", "SHA-256", "attempts (if not all)")
_Line = tuple[str, str, str]  # kind, path or words, hash


def sections(results: Sequence[Case]) -> tuple[Section, ...]:
    """A section about the attempts that ended well; none if there are none."""
    ended = [result for result in results if result.attempt.state is State.DONE]
    met = grouped((line, result.subject) for result in ended for line in dict.fromkeys(_lines(result)))
    order = list(dict.fromkeys(what for what, _, _ in met))
    rows = sorted(
        ((*line, _some(attempts, len(ended))) for line, attempts in met.items()), key=lambda row: order.index(row[0])
    )
    about = (
        f"Files executed or loaded in {several(len(ended), 'attempt')}, by the hashes that ranks and nodes recorded."
    )
    return (Section("What ran", about, _COLUMNS, tuple(rows)),) if rows else ()


def text(results: Sequence[Case]) -> str:
    """The same as lines, for the report of modifications as text."""
    lines = []
    for section in sections(results):
        lines += [f"{section.title}. {section.about}", ""]
        for what, named, digest, attempts in section.rows:
            parts = [named, f"SHA-256 {digest}" if digest else "", attempts]
            line = f"{what}: {', '.join(filter(None, parts))}"
            lines += textwrap.wrap(line, 120, subsequent_indent="  ", break_on_hyphens=False, break_long_words=False)
    return "\n".join(lines)


def _lines(case: Case) -> Iterator[_Line]:
    launcher, witness = case.run.launcher, case.evidence.witness
    yield "launcher", shlex.join([launcher.program, *launcher.options]), ""
    if launcher.prefix:
        yield "prefix", shlex.join(launcher.prefix), ""
    for file in ran.programs(case):
        yield "program", file.path, file.sha256
    for file in ran.before(case):
        yield "before the program", file.path, file.sha256
    for digest, path in witness.programs.items():
        yield "executed by ranks", path, digest
    environment = case.evidence.environment
    named = {name: environment.values(name) for name in environment.under(_LIBRARY)}
    seen = {f"{_LIBRARY}{name}": values for name, values in witness.libraries.items()}
    for _, values in sorted((named | seen).items()):  # where ranks were observed: what they loaded
        for value in values:
            path, _, digest = value.rpartition(" ")
            if digest not in witness.programs:
                yield ("library", path, digest) if path else ("library", value, "")
    for name, values in witness.preloads.items():
        for value in filter(None, values):
            yield name, value, ""


def _some(attempts: Sequence[str], total: int) -> str:
    if len(attempts) == total:
        return ""
    return f"{len(attempts)} of {total}: {listed(attempts, _NAMED)}"
