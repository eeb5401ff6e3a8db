"""The rule on environment variables that an RFP requires or forbids. What the ranks had is what the job's processes on
the nodes saw, or what the built-in benchmark reports of its own ranks. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator

from campaign.core.model import ASKED_NAMES, Finding
from campaign.core.units import listed
from campaign.judge.attested import attestations
from campaign.judge.findings import unchecked, violation
from campaign.results.case import Case


def as_required(case: Case) -> Iterator[Finding]:
    """ENV-06: the ranks had the required variables with their values, and none of the forbidden ones."""
    witness, groups = case.evidence.witness, [group for _, told in attestations(case) for group in told.groups]
    processes = sum(case.run.geometry_of(command).processes for command in case.run.launched)
    for required in case.pack.environment:
        name, seen = required.name, witness.variables.get(required.name, ())
        told = [group for group in groups if name in group.variables.get(ASKED_NAMES, "").split(":")]
        values = (*seen, *(group.variables.get(name, "") for group in told))
        # Several values on one node are recorded in one text.
        found = {each for text in values for each in ([text] if required.allows(text) else text.split("; "))}
        wrong = sorted(value for value in found if not required.allows(value))
        if wrong == [""] and len(found) > 1 and case.run.launcher.prefix:
            yield unchecked(
                "{name} was not set at first; cannot tell whether what launcher.prefix names had set it for all ranks",
                name=name,
            )
        elif wrong:
            yield violation(
                "the ranks ran with another {name} than the rules require",
                str(required),
                listed(value or "not set" for value in wrong),
                name=name,
            )
        elif not (seen and len(witness.ranks) >= processes) and sum(group.processes for group in told) < processes:
            yield unchecked("{name} was not recorded in all ranks", name=name)
