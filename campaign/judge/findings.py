"""The four forms of a finding, as the functions of the rules yield them; `of_rule` adds whose they are."""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import replace

from campaign.core.model import Finding, Severity
from campaign.core.units import listed, several

Form = Callable[..., Finding]  # one of the four below
CAMPAIGN = "campaign"  # the subject of what is about no cell or attempt


def _form(severity: Severity, checked: bool = True) -> Form:
    """Makes findings: `form(wording, expected, actual)`. `wording` has {name} for each of the `values`. `about`: the
    subject, where that is not what the rule is judged over as a whole; `operation`: the one that it is about alone.
    """

    @functools.lru_cache(maxsize=4096, typed=True)  # what ten thousand attempts say alike is made once
    def form(
        wording: str,
        expected: Hashable = "",
        actual: Hashable = "",
        /,
        about: Hashable = "",
        operation: str = "",
        **values: Hashable,
    ) -> Finding:
        found = "absent" if actual is None else str(actual)
        told = {name: str(value) for name, value in values.items()}
        return Finding(
            "", severity, str(about), wording, str(expected), found, checked, operation=operation, values=told
        )

    return form


violation = _form(Severity.ERROR)  # makes a result invalid
to_explain = _form(Severity.WARNING)  # the campaign file has to explain it
note = _form(Severity.INFO)
unchecked = _form(Severity.WARNING, checked=False)  # does not count as passed


def at_full_size(form: Form, full: bool) -> Form:
    """The form of what a rehearsal may be: a note, which says what it is at full size."""

    def noted(*texts: Hashable, **named: Hashable) -> Finding:
        found = form(*texts, **named)
        return replace(found, severity=Severity.INFO, at_full=found.severity)

    return form if full else noted


def doubt(full: bool) -> Form:
    """The form of what a rehearsal may be, and what has to be explained at full size."""
    return at_full_size(to_explain, full)


def of_rule(rule: str, subject: str, findings: Iterable[Finding]) -> list[Finding]:
    """What the function of a rule yields, with the rule's id; `subject`: what it is judged over."""
    return [replace(finding, rule=rule, subject=finding.subject or subject) for finding in findings]


# --- for texts


def processes_on(processes: int, nodes: int) -> str:
    return f"{processes} process{'es' if processes != 1 else ''} on {several(nodes, 'node')}"


def cut(text: str) -> str:
    return text if len(text) <= 200 else f"{text[:200]}…"


def disagreement(what: str, said: Mapping[str, str | None]) -> Iterator[Finding]:
    """A violation where the sources that say something of one thing say different things: the first is expected."""
    if len({*filter(None, said.values())}) > 1:
        (first, expected), *others = [(source, text) for source, text in said.items() if text]
        differing = [f"{cut(text)} ({source})" for source, text in others if text != expected]
        yield violation(
            "{what} differs between the records", f"{cut(expected)} ({first})", listed(differing), what=what
        )
