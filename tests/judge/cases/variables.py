"""Cases of the rule on environment variables that the rules require or forbid."""

from __future__ import annotations

from dataclasses import replace

from campaign.config.rules.entries import EnvironmentVariable
from campaign.core.records import Attestation
from campaign.core.runs import Geometry, Launcher
from campaign.results.case import Case
from campaign.results.environment.facts import Witness
from tests.judge.cases import Example, attempts, attested, broken, compliant, unchecked
from tests.support import builders

ONE, ANY, NONE = (
    EnvironmentVariable("OMP_NUM_THREADS", "1", "1"),
    EnvironmentVariable("OMP_PLACES", "1"),
    EnvironmentVariable("GMX_FAST", "1", forbidden=True),
)
RANKS = {str(rank): "n1 0123456789abcdef" for rank in range(2)}


def seen(required: EnvironmentVariable, *values: str, ranks: int = 2, prefix: tuple[str, ...] = ()) -> Case:
    """Two ranks of a foreign benchmark of which so many were seen, with these values of the variable."""
    run = builders.run(geometry=Geometry(1, 2), launcher=Launcher(prefix=prefix))
    witness = Witness(
        True, variables={required.name: values} if values else {}, ranks=dict(list(RANKS.items())[:ranks])
    )
    case = replace(attempts.case(run), evidence=builders.evidence(witness=witness))
    return replace(case, pack=replace(case.pack, environment=(required,)))


def attested_case(required: EnvironmentVariable, has_asked: bool = True, **variables: str) -> Case:
    """What the built-in benchmark reports of all its ranks."""
    case = attempts.case(builders.run(geometry=Geometry(1, 4)))
    names = {"CAMPAIGN_VARIABLES": f"A:{required.name}"} if has_asked else {}
    group = attested.group(variables={**names, **variables})
    attestation = Attestation((replace(group, processes=4),))
    return replace(
        case,
        pack=replace(case.pack, environment=(required,)),
        outputs={"": replace(case.observation, attestation=attestation)},
    )


OTHER_THREADS = "the ranks ran with another OMP_NUM_THREADS than the rules require"
OTHER_PLACES = "the ranks ran with another OMP_PLACES than the rules require"
FORBIDDEN = "the ranks ran with another GMX_FAST than the rules require"
EXAMPLES: list[Example] = [
    compliant("ENV-06", "a pack that requires none", attempts.case()),
    compliant("ENV-06", "the required value in all ranks", seen(ONE, "1")),
    compliant("ENV-06", "any value", seen(ANY, "cores", "threads")),
    compliant("ENV-06", "a forbidden variable that is not set", seen(NONE, "")),
    compliant("ENV-06", "the required value, as the benchmark reports", attested_case(ONE, OMP_NUM_THREADS="1")),
    compliant("ENV-06", "a forbidden variable that the benchmark does not have", attested_case(NONE)),
    broken("ENV-06", OTHER_THREADS, seen(ONE, "1", "8"), "1", "8"),
    broken("ENV-06", OTHER_THREADS, seen(ONE, "1", ""), "1", "not set"),
    broken("ENV-06", OTHER_THREADS, seen(ONE, "1; 8"), "1", "8"),
    broken("ENV-06", OTHER_THREADS, attested_case(ONE), "1", "not set"),
    broken("ENV-06", OTHER_PLACES, seen(ANY, ""), "set", "not set"),
    broken("ENV-06", FORBIDDEN, seen(NONE, "", "1"), "not set", "1"),
    broken("ENV-06", FORBIDDEN, attested_case(NONE, GMX_FAST="yes"), "not set", "yes"),
    unchecked("ENV-06", "a rank that was not seen", seen(ONE, "1", ranks=1)),
    unchecked("ENV-06", "nothing recorded it", seen(ONE)),
    unchecked("ENV-06", "a benchmark that was not asked", attested_case(ONE, has_asked=False)),
    unchecked("ENV-06", "a wrapper that may set it", seen(ONE, "", "1", prefix=("/opt/wrap",))),
]
