"""The four forms of a finding, as the functions of the rules yield them; `of_rule` adds whose they are."""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import replace

from campaign.core.model import Finding, Severity
from campaign.core.units import listed, several
from campaign.judge.messages import shared

Form = Callable[..., Finding]  # one of the four below
CAMPAIGN = "campaign"  # the subject of what is about no cell or attempt


# What ten thousand attempts say alike is made once, the texts with it.
_once = functools.lru_cache(maxsize=4096, typed=True)


@_once
def violation(message: str, expected: Hashable = "", actual: Hashable = "", about: Hashable = "") -> Finding:
    """Makes a result invalid. `about`: its subject, where that is not what the rule is judged over as a whole."""
    return Finding("", Severity.ERROR, str(about), message, str(expected), "absent" if actual is None else str(actual))


@_once
def to_explain(message: str, expected: Hashable = "", actual: Hashable = "", about: Hashable = "") -> Finding:
    """The campaign file has to explain it."""
    return Finding("", Severity.WARNING, str(about), message, str(expected), str(actual))


@_once
def note(message: str, expected: Hashable = "", actual: Hashable = "", about: Hashable = "") -> Finding:
    return Finding("", Severity.INFO, str(about), message, str(expected), str(actual))


@_once
def unchecked(message: str, about: Hashable = "") -> Finding:
    """Does not count as passed."""
    return Finding("", Severity.WARNING, str(about), message, checked=False)


def at_full_size(form: Form, full: bool) -> Form:
    """The form of what a rehearsal may be: a note, which says what it is at full size."""

    def noted(*texts: object, about: object = "") -> Finding:
        found = form(*texts, about=about)
        return replace(found, severity=Severity.INFO, at_full=found.severity)

    return form if full else noted


def doubt(full: bool) -> Form:
    """The form of what a rehearsal may be, and what has to be explained at full size."""
    return at_full_size(to_explain, full)


def of_rule(rule: str, subject: str, findings: Iterable[Finding]) -> list[Finding]:
    """What the function of a rule yields, with the rule's id; `subject`: what it is judged over."""
    return [named(rule, subject, finding) for finding in findings]


def named(rule: str, subject: str, given: Finding) -> Finding:
    said = given.message, given.expected, given.actual
    # No `replace`, which takes three times as long: ten thousand attempts have a hundred thousand findings.
    return Finding(rule, given.severity, given.subject or subject, *said, given.checked, at_full=given.at_full)


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
        yield violation(shared.RECORDS_DIFFER(what=what), f"{cut(expected)} ({first})", listed(differing))
