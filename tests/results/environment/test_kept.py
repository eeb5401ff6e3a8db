"""What the database keeps of a job's surroundings comes back, and what many jobs say alike is read once."""

from __future__ import annotations

import json
from dataclasses import replace

from campaign.results.environment import kept
from tests.support import builders


def test_an_environment_comes_back() -> None:
    environment = builders.environment(3)
    assert kept.restore(kept.dump(environment)) == environment


def test_jobs_whose_nodes_say_the_same_share_their_facts() -> None:
    first = builders.environment(3)
    other = replace(first, variables={**first.variables, "SLURM_JOB_ID": "18"})
    assert kept.restore(kept.dump(first)).facts is kept.restore(kept.dump(other)).facts


def test_facts_as_versions_up_to_0_2_0_kept_them_are_read() -> None:
    environment = builders.environment(2)
    data = json.loads(kept.dump(environment))
    data["facts"] = json.loads(data["facts"])
    assert kept.restore(json.dumps(data)) == environment
