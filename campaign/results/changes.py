"""What has changed of a campaign's attempts since a driver last looked, and which of them have not ended."""

from __future__ import annotations

from campaign.core.runs import Attempt
from campaign.results.store import Store


class Changes:
    """The attempts of a campaign that have not ended as of the last reading, and those that have changed since."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.active: dict[str, dict[str, Attempt]] = {}  # by job, then by token in the order of the job's runs
        self._changed: dict[str, Attempt] = {}  # by token, not taken yet
        for attempt in store.watch():
            self._place(attempt)

    def read(self) -> list[Attempt]:
        """Read, and give, what may have changed since the last reading."""
        attempts = self._store.changed_attempts()
        for attempt in attempts:
            self._changed[attempt.token] = attempt
            self._place(attempt)
        return attempts

    def _place(self, attempt: Attempt) -> None:
        of_job = self.active.setdefault(attempt.job, {})
        if attempt.state.active:
            of_job[attempt.token] = attempt
        else:
            of_job.pop(attempt.token, None)
        if not of_job:
            del self.active[attempt.job]

    def take(self) -> list[Attempt]:
        """What has changed since this was last called."""
        attempts, self._changed = list(self._changed.values()), {}
        return attempts
