from __future__ import annotations

from dataclasses import replace

from campaign.core.runs import State
from campaign.report.decision import status_counts
from tests.report.test_write import contents
from tests.support import builders
from tests.support.results import Results, eventful_results


def test_cells_and_attempts_are_counted_by_what_became_of_them() -> None:
    found_contents = contents(eventful_results())
    assert status_counts(found_contents.rows) == "36 cells: 21 measured, 3 invalid, 3 failed, 6 missing, 3 declined"
    assert found_contents.attempt_counts == "12 attempts: 9 done, 1 timeout, 1 node_fail, 1 pending"
    assert contents(Results()).attempt_counts == "0 attempts"


def test_when_it_was_measured_is_from_the_first_start_to_the_last_end() -> None:
    times = ((86300.0, 86350.0), (86410.0, None), (None, 200000.0))
    attempts = [builders.attempt(started=started, ended=end) for started, end in times]
    campaign_contents = replace(contents(Results()), attempts=attempts)
    assert campaign_contents.period == "1970-01-01 23:58:20 to 1970-01-03 07:33:20 UTC"
    assert replace(campaign_contents, attempts=attempts[:1]).period == "1970-01-01 23:58:20 to 23:59:10 UTC"


def test_nothing_is_measured_before_an_attempt_has_ended() -> None:
    waiting = builders.attempt(state=State.PENDING, started=None, ended=None)
    assert replace(contents(Results()), attempts=[waiting]).period == ""
