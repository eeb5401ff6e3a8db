"""EVD-02: what a bundle's journal and its time stamps prove."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from itertools import islice
from pathlib import Path

from campaign.core import bagit
from campaign.core.events import event_of
from campaign.core.findings import Finding
from campaign.core.journal import Chain
from campaign.core.timestamps import Stamp
from campaign.core.units import format_duration, plural, utc
from campaign.judge.findings import note, to_explain, unchecked_by_buyer, violation

CLOCKS_S = 60.0  # how much the driver's clock may be behind the authority's
LATE_S = 3600.0  # how long after the last event a head may be stamped, and still count as sent while it ran
FIRST_ZONE_S = 14 * 3600.0  # how long before that of UTC a day begins somewhere
FUTURE_S = 3600.0  # how much the driver's clock may be ahead of this machine's


@dataclass(frozen=True, slots=True)
class Coverage:
    """How many runs had ended by the last head, and the last time stamp, that were made while the campaign ran; None
    without one. `runs`: all that ended.
    """

    head: int | None = None
    stamp: int | None = None
    runs: int = 0

    @property
    def covered_runs(self) -> int:
        return max(self.head or 0, self.stamp or 0)

    @property
    def is_full(self) -> bool:
        return self.covered_runs == self.runs

    def __str__(self) -> str:
        if self.head is None and self.stamp is None:
            return "no head or time stamp"
        name = "time stamp" if self.head is None or (self.stamp or 0) > self.head else "head"
        return f"the {name} covers {self.covered_runs} of {plural(self.runs, 'run')}"


NOTHING_COVERED = Coverage()


def journal_coverage(
    chain: Chain, heads: Iterable[str], received: Mapping[str, date | None], stamps: Iterable[Stamp]
) -> Coverage:
    """What heads and time stamps cover. `received`: the days on which heads arrived. What is later than the campaign
    says nothing about what was left out.
    """
    sent_heads = {head for head in heads if not _is_late(received.get(head), chain)}
    stamped_heads = {stamp.digest for stamp in stamps if stamp.time and stamp.time.timestamp() < chain.latest + LATE_S}
    run_counts = chain.ended_by(sent_heads | stamped_heads)
    return Coverage(
        max((count for head, count in run_counts.items() if head in sent_heads), default=None),
        max((count for head, count in run_counts.items() if head in stamped_heads), default=None),
        len(chain.end_lines),
    )


def _is_late(day: date | None, chain: Chain) -> bool:
    """Whether a day began after the campaign had ended, in every time zone."""
    return day is not None and datetime.combine(day, datetime.min.time(), UTC).timestamp() > chain.latest + (
        LATE_S + FIRST_ZONE_S
    )


def check_time_stamps(bag: bagit.Bag, chain: Chain, stamps: Mapping[Path, Stamp]) -> Iterator[Finding]:
    """EVD-02: what each time stamp proves to have existed at its time."""
    times: dict[str, list[datetime]] = {}  # by head
    for path, stamp in stamps.items():
        if stamp.problem or stamp.time is None:
            yield violation("{path}: not a valid time stamp: {why}", path=path.name, why=stamp.problem)
        elif stamp.digest == bag.digests.get(bagit.TAG_MANIFEST):
            yield note("the bundle existed at {time}", time=f"{stamp.time:%Y-%m-%d %H:%M:%S}")
        elif stamp.digest not in chain.heads:
            yield violation(
                "{path}: this time stamp belongs neither to the bundle nor to its journal",
                "a head of the journal",
                stamp.digest,
                path=path.name,
            )
        else:
            times.setdefault(stamp.digest, []).append(stamp.time)
    if times:
        numbers = {head: number for number, head in enumerate(chain.heads, 1) if head in times}
        yield from _check_stamped_events(
            bag.root / "data", sorted((numbers[head], min(stamp_times)) for head, stamp_times in times.items())
        )


def _check_stamped_events(data: Path, stamps: Sequence[tuple[int, datetime]]) -> Iterator[Finding]:
    """Each event existed before the first time stamp that covers it; runs not long before."""
    longest_s, place, (covered_events, covered_at) = 0.0, 0, stamps[-1]
    with (data / "results/journal.jsonl").open("rb") as file:
        for number, event in enumerate(filter(None, map(event_of, islice(file, covered_events))), 1):
            place += number > stamps[place][0]
            stamp_time = stamps[place][1]
            if event["time"] > stamp_time.timestamp() + CLOCKS_S:
                yield violation(
                    "event {event} of the journal is later than a time stamp that covers it",
                    f"before {utc(stamp_time.timestamp())}",
                    utc(event["time"]),
                    event=number,
                )
                return
            if event["event"] == "ended" and event["ended"]:
                longest_s = max(longest_s, stamp_time.timestamp() - event["ended"])
    yield note(
        "{count} prove that the first {events} events of the journal existed at {time}; their runs had ended at most "
        "{wait} earlier",
        events=covered_events,
        time=f"{covered_at:%Y-%m-%d %H:%M:%S} UTC",
        count=plural(len(stamps), "time stamp"),
        wait=format_duration(round(longest_s)),
    )


def check_journal(
    chain: Chain,
    nonce: str | None,
    heads: Sequence[str],
    received: Mapping[str, date | None],
    stated_head: str,
    has_received_head: bool,
) -> Iterator[Finding]:
    """EVD-02: the journal compared with the head that the bundle states, and with the nonce and heads of the buyer.
    `received`: the days on which heads arrived; `has_received_head`: the buyer has one that was sent while the campaign
    ran.
    """
    if chain.problem:
        yield violation("journal.jsonl: {problem}", problem=chain.problem)
        return
    if stated_head != (chain.head or "none"):
        yield violation(
            "bag-info.txt: Journal-Head differs from the journal's last hash", chain.head or "none", stated_head
        )
    if chain.latest > time.time() + FUTURE_S:
        yield violation(
            "the journal has events in the future: a clock was changed, at the vendor's site or here",
            f"before {utc(time.time())}",
            utc(chain.latest),
        )
    if nonce is not None and chain.nonce != nonce:
        yield violation("the journal does not start with the nonce you gave", nonce, chain.nonce or "none")
    if nonce is None and not has_received_head:
        yield unchecked_by_buyer(
            "the journal may have been rewritten",
            remedy="pass the nonce that you issued (--nonce) or a journal head that you received (--head)",
        )
    for head in heads:
        if head in chain.earlier:
            yield to_explain(
                "the journal head sent during the campaign belongs to a line after lost ones: it proves nothing about "
                "what was recorded before them",
                "a head of the journal",
                head,
            )
        elif head not in chain.heads:
            yield violation(
                "the journal head sent during the campaign is missing: the journal was rewritten afterwards",
                head,
                chain.head or "an empty journal",
            )
        elif _is_late(received.get(head), chain):
            yield note(
                "a journal head arrived on {day}, after the campaign: it does not prove that no attempt was left out",
                f"by {utc(chain.latest + LATE_S)}",
                head,
                day=str(received[head]),
            )
        elif not chain.ended_by({head})[head]:
            yield note(
                "a journal head was sent before the first run had ended: it proves nothing about runs", None, head
            )
