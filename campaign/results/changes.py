"""What has changed of a campaign's attempts since a driver last looked, and which of them have not ended."""

from __future__ import annotations

from campaign.core.runs import Attempt
from campaign.results.store import Store


class Changes:
    """The attempts of a campaign as of the last reading, for the one that follows them."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.active: dict[str, dict[str, Attempt]] = {}  # by job, then by token in the order of the job's runs
        self._ended: set[str] = set()  # tokens
        self._changed: dict[str, Attempt] = {}  # by token, not taken yet
        store.watch()

    @property
    def ended_count(self) -> int:
        return len(self._ended)

    def read(self) -> list[Attempt]:
        """Read, and give, what may have changed since the last reading; all attempts at the first."""
        attempts = self._store.changed_attempts()
        for attempt in attempts:
            self._changed[attempt.token] = attempt
            if attempt.state.active:
                self.active.setdefault(attempt.job, {})[attempt.token] = attempt
                continue
            self._ended.add(attempt.token)
            of_job = self.active.get(attempt.job, {})
            of_job.pop(attempt.token, None)
            if not of_job:
                self.active.pop(attempt.job, None)
        return attempts

    def take(self) -> list[Attempt]:
        """What has changed since this was last called."""
        attempts, self._changed = list(self._changed.values()), {}
        return attempts
