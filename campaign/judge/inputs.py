"""The rule about the files that a benchmark reads, as the job hashed them on its nodes right before the run. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from campaign.core.grouping import grouped
from campaign.core.model import Finding, Input
from campaign.core.units import listed, several
from campaign.judge.findings import unchecked, violation
from campaign.results.case import Case
from campaign.results.environment.facts import HashedInput


def as_declared(case: Case) -> Iterator[Finding]:
    """INP-01: each node found each input with the hash of the rules, of the campaign file, or of the first plan."""
    if not case.run.inputs:
        return
    if not case.evidence.environment.recorded:
        yield unchecked("the job's record is missing: it cannot be said which input files were read")
        return
    nodes = [node.name for node in case.evidence.environment.nodes]
    for each in case.run.inputs:
        found = [one for one in case.evidence.inputs if one.path == each.path]
        hashed = {one.node for one in found if one.sha256}
        others = grouped((one.sha256, one) for one in found if one.sha256 not in ("", each.sha256))
        if others:
            yield violation(
                "input {input} is not the file of {by}: {path}",
                f"SHA-256 {each.sha256}",
                listed([_shown(case, alike) for alike in others.values()], 2),
                input=each.id,
                by=each.by,
                path=each.path,
            )
        if missing := [name for name in nodes if name not in hashed]:
            yield violation(
                "input {input} was not hashed before the run on {nodes}: {path}",
                f"a line of inputs.txt for each of {several(len(nodes), 'node')}",
                _lacking(case, each, found),
                input=each.id,
                nodes=listed(missing),
                path=each.path,
            )


def _shown(case: Case, alike: list[HashedInput]) -> str:
    """Another file, the nodes that read it, and the first line that says so."""
    first, nodes = alike[0], listed([one.node for one in alike])
    place = f"runs/{case.run.id}/{case.attempt.number}/inputs.txt:{first.line}"
    return f"{first.sha256} ({several(first.size, 'byte')}) on {nodes}, {place}"


def _lacking(case: Case, each: Input, found: list[HashedInput]) -> str:
    unread = [one.node for one in found if not one.sha256]
    return f"not readable on {listed(unread)}" if unread else "no such line"
