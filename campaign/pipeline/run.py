"""The straight line: plan -> submit what is missing -> follow -> collect -> judge -> table. Every stage does only
what is missing.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from campaign.config import load as config
from campaign.config import names as resolution
from campaign.config.load import Campaign
from campaign.core import journal, units
from campaign.core.errors import EnvironmentLacks, InputError, UnknownState
from campaign.core.model import Attempt, Finding, Observation, Run, State
from campaign.judge import engine
from campaign.judge.rows import table_rows, with_findings
from campaign.judge.submission import Submission
from campaign.pipeline import plan as planning
from campaign.pipeline.plan import Opened, Plan
from campaign.plan import matrix
from campaign.plan import searches as searching
from campaign.results.cells import Measured, Row, left_out, matches
from campaign.results.source import record as sources
from campaign.results.source.facts import Sources
from campaign.results.store import Store
from campaign.slurm import commands, partitions, scripts
from campaign.slurm.collect import Follower, import_all, open_store, read_again
from campaign.slurm.submit import send

FOLLOW_S = (0.1, 1.0)  # shortest and longest pause between two looks at the jobs' records
LONGEST_LOG = 64 << 20  # bytes of a projection's log that are looked at
MAX_SENDS = 3  # tries at a submission of which Slurm turned out to know nothing


@dataclass(frozen=True, slots=True)
class Progress:
    """What a display needs of a campaign under way."""

    runs: Sequence[Run]
    attempts: dict[str, list[Attempt]]  # by run


Say = Callable[[str], None]
Show = Callable[[Progress], None]


# --- run


def preflight(opened: Opened, planned: Plan, only: Sequence[str] = ()) -> Plan:
    """Raise where the campaign cannot be submitted as it stands: all reasons at once. Gives the plan with its partition
    as it is now, unless that is settled.
    """
    trouble = commands.reachable()
    if trouble:
        raise EnvironmentLacks(
            f"Slurm does not answer: {trouble}\nPoint SLURM_CONF at a cluster, or start one on this machine: "
            "campaign sandbox start (or campaign run --sandbox)"
        )
    if planned.unresolved:
        raise EnvironmentLacks("\n".join(planned.unresolved.values()))
    problems = list(config.check_environment(opened.campaign))
    if lacking := planning.not_built(opened):
        problems.append(lacking)
    if problems:
        raise EnvironmentLacks("\n".join(problems))
    partition = planning.ask_partition(opened.campaign)
    _check_partition(opened.campaign, planned, partition, only)
    return replace(planned, partition=planned.partition or partition)


def _check_partition(campaign: Campaign, planned: Plan, partition: partitions.Partition, only: Sequence[str]) -> None:
    problems = []
    beyond = campaign.search.processes_per_node or 0
    for run in planned.all_runs:
        if run.geometry.nodes > partition.nodes:
            problems.append(
                f"launch.{run.launch}: {run.geometry.nodes} nodes asked, "
                f"partition {partition.name} has {partition.nodes}"
            )
        elif partition.usable and run.geometry.processes_per_node > max(partition.cores_per_node, beyond):
            problems.append(
                f"launch.{run.launch}: {run.geometry.processes_per_node} processes per node asked, "
                f"the nodes of partition {partition.name} have {partition.cores_per_node} cores"
            )
    problems += _beyond_limit(campaign, planned, partition, only)
    if problems:
        raise InputError(*dict.fromkeys(problems))


def _beyond_limit(campaign: Campaign, planned: Plan, partition: partitions.Partition, only: Sequence[str]) -> list[str]:
    """A job that asks for more time than its partition allows waits for ever."""
    limit, each = partition.time_limit_s, campaign.slurm.time_s
    chosen = _chosen(campaign, planned.all_runs, only)
    most = max(map(len, matrix.batches(tuple(chosen), campaign.slurm.allocation)), default=1)
    asked = scripts.job_limit_s(campaign.slurm, most)
    if limit is None or asked <= limit:
        return []
    apart = ", or slurm.allocation: run, which gives each run a job of its own" if most > 1 else ""
    return [
        f"slurm.time: {each} s for each run make {asked} s for a job of {units.several(most, 'run')}, partition "
        f"{partition.name} allows {limit} s: set a shorter slurm.time{apart}"
    ]


def run(
    opened: Opened,
    say: Say,
    show: Show,
    only: Sequence[str] = (),
    again: bool = False,
    detach: bool = False,
) -> list[Row]:
    """Submit what is missing and follow it to the end; gives the rows of the chosen cells.

    `again`: new attempts for the chosen cells, whatever they have. `detach`: submit and come back at once.
    """
    _check_patterns(opened, only)
    planned = planning.plan(opened, may_submit=True)
    planned = preflight(opened, planned, only)
    compared = sources.compare(opened.campaign)
    store = Store(opened.paths)
    try:
        pack = opened.pack
        store.begin(
            nonce=opened.campaign.nonce, campaign=opened.campaign.name, rules=[pack.id, pack.version, pack.digest]
        )
        planning.write(opened, planned)
        sources.keep_build(opened.campaign, opened.paths)
        sources.keep(opened.paths, compared)
        planned = _search(opened, planned, store, say, show, only, detach)
        planned = _measure(opened, planned, store, say, show, only, again, detach)
        rows = standing(opened, planned, store).rows
    finally:
        store.close()
    return [row for row in rows if not only or any(matches(row.cell, pattern) for pattern in only)]


def _search(
    opened: Opened, planned: Plan, store: Store, say: Say, show: Show, only: Sequence[str], detach: bool
) -> Plan:
    """Measure what the searches of the chosen cells ask for, until they are decided; gives the plan with the counts.

    A search that does not come further is left for the next time. With `detach`, one round is submitted.
    """
    said: set[str] = set()
    before: dict[str, int] = {}
    Follower(opened.paths, store, opened.pack.applet, say).step()
    while planned.searches:
        planned = planning.again(opened, planned)
        planning.write(opened, planned)
        for one in planned.searches:
            if one.decision and one.sought.key not in said:
                said.add(one.sought.key)
                say(f"search {one.sought.key}: {one.decision.reason}")
        wanted = _chosen(opened.campaign, [run for one in planned.searches for run in one.wanted], only)
        wanted = list({run.id: run for run in wanted}.values())
        tried = {
            run: sum(one.state in searching.OWN_ENDS for one in own)
            for run, own in matrix.attempts_by_run(wanted, store.attempts()).items()
        }
        if tried and all(before.get(run) == number for run, number in tried.items()):
            say(f"the search does not come further: {next(iter(tried))} was not executed; run again")
            break
        if not tried:
            break
        # Attempts that ended without a rate are made anew: only the search knows when there were enough.
        before = tried
        _submit_and_follow(opened, planned, store, wanted, say, show, again=True, detach=detach)
        if detach:
            break
    return planned


def _measure(
    opened: Opened,
    planned: Plan,
    store: Store,
    say: Say,
    show: Show,
    only: Sequence[str],
    again: bool,
    detach: bool,
) -> Plan:
    """Measure what cells report, with as many repetitions as their interval needs; gives the plan with all of them."""
    while True:
        chosen = _chosen(opened.campaign, planned.runs, only)
        _submit_and_follow(opened, planned, store, chosen, say, show, again, detach)
        later = planning.again(opened, planned)
        if detach or later.runs == planned.runs:
            return planned
        say(f"{len(later.runs) - len(planned.runs)} more repetitions: intervals are wider than repetitions.width")
        planned, again = later, False
        planning.write(opened, planned)


def _submit_and_follow(
    opened: Opened,
    planned: Plan,
    store: Store,
    chosen: Sequence[Run],
    say: Say,
    show: Show,
    again: bool,
    detach: bool,
) -> None:
    follower = Follower(opened.paths, store, opened.pack.applet, say)
    # The builtin benchmark checks its own placement before it measures; for another one the job does.
    probe = opened.campaign.benchmark.executable is not None
    sends: dict[str, int] = {}

    def missing() -> list[Run]:
        counted = matrix.attempts_by_run(chosen, store.attempts())
        records = store.records()

        def answered(item: Run) -> bool:
            """A benchmark that ends with status 0 and half a table has not given what the cells report."""
            found = (
                Measured(item, one, records.get((one.run, one.number), ()), Observation(), ())
                for one in counted[item.id]
            )
            return any(one.complete(opened.pack) for one in found)

        wanted = [
            item for item in chosen if _wanted(counted[item.id], sends.get(item.id, 0), again or not answered(item))
        ]
        for item in wanted:
            sends[item.id] = sends.get(item.id, 0) + 1
        return wanted

    follower.step()
    while send(opened.campaign, opened.pack, opened.paths, store, missing, probe, say) or _active(store):
        if detach:
            return
        _follow(store, follower, chosen, show)


def _wanted(attempts: Sequence[Attempt], sent: int, lacking: bool) -> bool:
    if any(attempt.state.active for attempt in attempts):
        return False
    if sent:
        last = attempts[-1] if attempts else None
        unheard = last is not None and last.state is State.REFUSED and last.reason.startswith("not submitted")
        return unheard and sent < MAX_SENDS
    return lacking


def _active(store: Store) -> bool:
    return any(attempt.state.active for attempt in store.attempts())


def _follow(store: Store, follower: Follower, chosen: Sequence[Run], show: Show) -> None:
    pause = FOLLOW_S[0]
    last = None
    while follower.step():
        attempts = store.attempts()
        pause = FOLLOW_S[0] if attempts != last else min(pause * 1.1, FOLLOW_S[1])
        last = attempts
        show(Progress(chosen, matrix.attempts_by_run(chosen, attempts)))
        time.sleep(pause)
    show(Progress(chosen, matrix.attempts_by_run(chosen, store.attempts())))


def _check_patterns(opened: Opened, only: Sequence[str]) -> None:
    for pattern in only:
        if not any(matches(cell, pattern) for cell in matrix.cells(opened.campaign, opened.pack)):
            example = matrix.cells(opened.campaign, opened.pack)[0]
            raise InputError(f"{pattern!r} matches no cell: cells are target/launch/files/operation, as in {example}")


def _chosen(campaign: Campaign, runs: Sequence[Run], only: Sequence[str]) -> list[Run]:
    """The runs behind the chosen cells, without those whose every cell is declined or projected."""
    patterns = only or ("*/*/*/*",)
    return [
        item
        for item in runs
        if any(matches(cell, pattern) for cell in item.cells() for pattern in patterns)
        and not left_out(campaign, item.cells())
    ]


# --- afterwards


@dataclass(frozen=True, slots=True)
class Standing:
    """A campaign as it stands. `rows` carry the findings about them, `findings` are those about more than cells."""

    plan: Plan
    rows: list[Row]
    findings: tuple[Finding, ...]
    attempts: list[Attempt]
    sources: Sources
    results: list[Measured]  # the ended attempts that count


def standing(opened: Opened, planned: Plan, store: Store | None, source: Sources | None = None) -> Standing:
    """Judge everything on record; `store` is None where nothing is. `source` in the place of what is kept of it."""
    campaign, pack = opened.campaign, opened.pack
    attempts = store.attempts() if store else []
    results = (
        engine.measured(
            pack, planned.runs, attempts, store.records(), store.observations(), store.evidence(), opened.answers
        )
        if store
        else []
    )
    rows = table_rows(campaign, pack, planned.runs, attempts, results)
    source = source or sources.recorded(opened.paths)
    reported = [(row.run.id, row.attempt.number) for row in rows if row.run and row.attempt]
    there = (one for one in attempts if opened.paths.attempt(one.run, one.number).is_dir())
    found = engine.judge_submission(
        Submission(
            campaign,
            pack,
            planned.runs,
            tuple(attempts),
            tuple(results),
            tuple(rows),
            planned.searches,
            again=read_again(opened.paths, pack.applet, reported),
            journal=journal.look(opened.paths.journal) if store else None,
            folders=frozenset((one.run, one.number) for one in there),
            sources=source,
            answers=opened.answers,
            partition=planned.partition,
            logs=_logs(campaign),
        )
    )
    judged = with_findings(rows, found)
    return Standing(planned, judged, (*found, *engine.unjudged(pack)), attempts, source, results)


def _logs(campaign: Campaign) -> dict[Path, str]:
    """The texts of the logs that projections name, as far as they can be read."""
    found = {}
    for path in {path for one in campaign.projections for path in one.logs}:
        try:
            with resolution.content(path).open("rb") as file:
                found[path] = file.read(LONGEST_LOG).decode(errors="replace")
        except OSError:
            continue
    return found


def current(opened: Opened, say: Say, source: Sources | None = None) -> Standing:
    """The campaign as it stands, with what has ended since anybody looked brought in."""
    planned = planning.plan(opened)
    if not opened.paths.journal.exists():
        return standing(opened, planned, None, source)
    store = open_store(opened.paths, opened.pack.applet)
    try:
        _catch_up(opened, store, say)
        if planned.searches:
            planned = planning.again(opened, planned)
        return standing(opened, planned, store, source)
    finally:
        store.close()


def recorded(opened: Opened) -> Standing:
    """The campaign as its results say, whatever Slurm would; one without results has its projections and gaps."""
    if not opened.paths.journal.exists():
        return standing(opened, Plan((), {}, ""), None)
    store = open_store(opened.paths, opened.pack.applet)
    try:
        return standing(opened, planning.plan(opened), store)
    finally:
        store.close()


def with_source_rules(opened: Opened) -> Opened:
    """With the rules about the benchmark's source, also where the pack does not ask for them."""
    asked = {rule: "" for rule in engine.RULES if rule.startswith("SRC-")}
    return replace(opened, pack=replace(opened.pack, checks=asked | opened.pack.checks))


def look_at_sources(opened: Opened, say: Say) -> None:
    """Compare the benchmark's source trees as they are now, for a campaign that has begun."""
    if opened.paths.journal.exists() and not os.access(opened.paths.root, os.W_OK):
        say(f"the benchmark's source was not looked at: {opened.paths.root} may only be read")
    elif opened.paths.journal.exists() and (trouble := sources.look_again(opened.campaign, opened.paths)):
        say(f"the benchmark's source was not looked at: {trouble}")


def attempts(opened: Opened) -> list[Attempt]:
    """What is on record, without looking at Slurm."""
    if not opened.paths.journal.exists():
        return []
    store = open_store(opened.paths, opened.pack.applet)
    try:
        return store.attempts()
    finally:
        store.close()


def _catch_up(opened: Opened, store: Store, say: Say) -> None:
    """Bring in what has ended since anybody looked."""
    try:
        Follower(opened.paths, store, opened.pack.applet, say).step()
    except EnvironmentLacks as error:
        say(f"Slurm was not asked: {error}")


def collect_and_catch_up(opened: Opened, say: Say) -> int:
    """`collect`, and ask Slurm for what is not on record yet."""
    number = collect(opened)
    with contextlib.closing(Store(opened.paths)) as store:
        _catch_up(opened, store, say)
    return number


def collect(opened: Opened) -> int:
    """Build the database again from the journal and the raw outputs; gives the number of attempts."""
    if not opened.paths.journal.exists():
        raise InputError(f"{opened.paths.journal}: not there: nothing of this campaign has been submitted")
    store = Store(opened.paths)
    try:
        with store.transaction():
            store.rebuild()
            return import_all(opened.paths, store, opened.pack.applet)
    finally:
        store.close()


def cancel(opened: Opened, say: Say, patience_s: float = 60.0) -> int:
    """Cancel this campaign's jobs and wait until Slurm has let go of them; gives the number of jobs."""
    if not opened.paths.journal.exists():
        return 0
    store = Store(opened.paths)
    try:
        names = {attempt.job for attempt in store.attempts() if attempt.state.active}
        found = [job.id for job in commands.queue(names).values() if job.state.active] if names else []
        store.note("cancel", jobs=found)
        commands.cancel(found)
        follower = Follower(opened.paths, store, opened.pack.applet, say)
        end = time.monotonic() + patience_s
        while follower.step():
            if time.monotonic() > end:
                raise UnknownState("Slurm has not ended the cancelled jobs yet: look again with 'campaign status'")
            time.sleep(0.2)
        return len(found)
    finally:
        store.close()
