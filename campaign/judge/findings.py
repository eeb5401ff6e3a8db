"""The four forms of a finding about something other than one attempt; those of one are methods of `Case`."""

from __future__ import annotations

from campaign.core.model import Finding, Severity


def violation(rule: str, subject: object, message: str, expected: object = "", actual: object = "") -> Finding:
    """Makes a result invalid."""
    return Finding(rule, Severity.ERROR, str(subject), message, str(expected), str(actual))


def to_explain(rule: str, subject: object, message: str, expected: object = "", actual: object = "") -> Finding:
    """The campaign file has to explain it."""
    return Finding(rule, Severity.WARNING, str(subject), message, str(expected), str(actual))


def note(rule: str, subject: object, message: str, expected: object = "", actual: object = "") -> Finding:
    return Finding(rule, Severity.INFO, str(subject), message, str(expected), str(actual))


def unchecked(rule: str, subject: object, message: str) -> Finding:
    """Does not count as passed."""
    return Finding(rule, Severity.WARNING, str(subject), message, checked=False)
