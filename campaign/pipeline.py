"""The straight line: plan -> submit what is missing -> follow -> collect -> judge -> table. Every stage does only
what is missing.
"""

from __future__ import annotations

import functools
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from campaign import config, matrix, rules, scripts, searching, slurm
from campaign import table as tables
from campaign.collect import Follower, import_all
from campaign.config import AllCores, Campaign
from campaign.config_search import Searched
from campaign.errors import EnvironmentLacks, InputError, UnknownState
from campaign.model import Attempt, Geometry, Paths, Run, State
from campaign.rules import RulePack
from campaign.settle import settle
from campaign.store import Store
from campaign.submit import send

BINARIES = Path(__file__).resolve().parent.parent / "bench-src" / "build"
FOLLOW_S = (0.1, 1.0)  # shortest and longest pause between two looks at the jobs' records
MAX_SENDS = 3  # tries at a submission of which Slurm turned out to know nothing


@dataclass(frozen=True, slots=True)
class Opened:
    """A campaign file with its rule pack, settled for it, and its place for results."""

    campaign: Campaign
    pack: RulePack
    paths: Paths


@dataclass(frozen=True, slots=True)
class Plan:
    """`unresolved`: launch conditions without a geometry, with the reason. `runs` are those that cells report."""

    runs: tuple[Run, ...]
    unresolved: dict[str, str]
    dialect: str  # of an external benchmark's -N
    limits: searching.Limits | None = None  # of the partition, for searches
    searches: tuple[searching.Standing, ...] = ()

    @property
    def all_runs(self) -> tuple[Run, ...]:
        """Those of searches too, which may share some."""
        return tuple({run.id: run for run in (*(r for one in self.searches for r in one.runs), *self.runs)}.values())


@dataclass(frozen=True, slots=True)
class Progress:
    """What a display needs of a campaign under way."""

    runs: Sequence[Run]
    attempts: dict[str, list[Attempt]]  # by run


Say = Callable[[str], None]
Show = Callable[[Progress], None]


def load(file: Path) -> Opened:
    campaign = config.load(file)
    pack = settle(rules.load(campaign.rules), campaign.profile, config.geometries(campaign.launch), campaign.variables)
    return Opened(campaign, pack, Paths(campaign.results))


# --- plan


def plan(opened: Opened, may_submit: bool = False) -> Plan:
    """Resolve the geometries and expand the matrix.

    Asks Slurm only where the file says `all`, and an external benchmark what its -N means, where no earlier plan has
    settled it. `may_submit`: the benchmark may be asked on a compute node, where it does not start on this one.
    """
    settled = _settled(opened.paths)
    geometries, unresolved = _geometries(opened, settled.geometries)
    dialect = _dialect(opened, settled, may_submit)
    limits = settled.limits
    standings: tuple[searching.Standing, ...] = ()
    searched = [name for name, wanted in opened.campaign.launch.items() if isinstance(wanted, Searched)]
    if searched and limits is None:
        try:
            limits = _limits(opened.campaign)
        except EnvironmentLacks as error:
            for name in searched:
                unresolved[name] = f"launch.{name} is 'search', and Slurm cannot be asked for the partition: {error}"
    if limits is not None and searched:
        try:
            sought = searching.searches(opened.campaign, opened.pack, limits)
        except EnvironmentLacks as error:
            unresolved["search"] = str(error)
        else:
            standings = _standings(opened, sought, dialect)
    runs = matrix.expand(
        opened.campaign, opened.pack, geometries, _executable(opened, dialect), searching.choices(standings)
    )
    return Plan(runs, unresolved, dialect, limits, standings)


def _executable(opened: Opened, dialect: str) -> matrix.Executable:
    path = str(opened.campaign.benchmark.executable or BINARIES / opened.pack.applet)
    if not dialect:
        return matrix.Executable(path)
    from campaign.dialect import Dialect, offset_argument

    def offset(geometry: Geometry) -> tuple[int, str]:
        value, note = offset_argument(Dialect(dialect), geometry)
        return value, note or ""

    return matrix.Executable(path, offset)


def _limits(campaign: Campaign) -> searching.Limits:
    partition = slurm.partition(campaign.slurm.partition)
    if not partition.usable:
        raise EnvironmentLacks(f"partition {partition.name} has no usable node: {', '.join(partition.unusable)}")
    return searching.Limits(partition.usable, partition.cores_per_node)


def _standings(opened: Opened, sought: Sequence[searching.Search], dialect: str) -> tuple[searching.Standing, ...]:
    """How far each search has come, by what is on record."""
    results = _recorded(opened)
    executable = _executable(opened, dialect)
    return tuple(searching.look(one, opened.campaign, opened.pack, executable, results) for one in sought)


def _recorded(opened: Opened) -> searching.Results:
    """The judged attempts of whatever run is asked for."""
    if not opened.paths.journal.exists():
        return lambda run: ()
    store = Store(opened.paths)
    try:
        attempts: dict[str, list[Attempt]] = {}
        for attempt in store.attempts():
            attempts.setdefault(attempt.run, []).append(attempt)
        records, observations = store.records(), store.observations()
    finally:
        store.close()

    @functools.cache
    def of(run: Run) -> list[tables.Measured]:
        return tables.measured(opened.pack, [run], attempts.get(run.id, []), records, observations)

    return of


@dataclass(frozen=True, slots=True)
class _Settled:
    """What the campaign's first plan found out, which later ones keep to."""

    geometries: dict[str, Geometry]  # of launch conditions given as `all`: a node that went down since changes nothing
    limits: searching.Limits | None
    executable: str  # path, size and time of the external benchmark whose dialect is known
    dialect: str


def _settled(paths: Paths) -> _Settled:
    try:
        stored = json.loads(paths.plan.read_text(encoding="utf-8"))
        geometries = {launch: Geometry(nodes, processes) for launch, (nodes, processes) in stored["all"].items()}
        limits = searching.Limits(*stored["limits"]) if stored.get("limits") else None
        return _Settled(geometries, limits, stored["executable"], stored["dialect"])
    except FileNotFoundError:
        return _Settled({}, None, "", "")
    except (ValueError, KeyError, TypeError) as error:
        raise EnvironmentLacks(f"{paths.plan}: damaged ({error!r}): remove it to plan again") from error


def _geometries(opened: Opened, settled: dict[str, Geometry]) -> tuple[dict[str, Geometry], dict[str, str]]:
    found: dict[str, Geometry] = {}
    unresolved: dict[str, str] = {}
    for launch, wanted in opened.campaign.launch.items():
        if isinstance(wanted, Geometry):
            found[launch] = wanted
        elif not isinstance(wanted, AllCores):
            continue
        elif launch in settled:
            found[launch] = settled[launch]
        else:
            try:
                found[launch] = _all_cores(opened.campaign)
            except EnvironmentLacks as error:
                unresolved[launch] = f"launch.{launch} is 'all', and Slurm cannot be asked for the partition: {error}"
    return found, unresolved


def _all_cores(campaign: Campaign) -> Geometry:
    limits = _limits(campaign)
    return Geometry(limits.nodes, limits.nodes * limits.cores_per_node)


def _identity(opened: Opened) -> str:
    """The external benchmark as a file: another build is asked again. Only its path where it is not on this machine."""
    path = opened.campaign.benchmark.executable
    if path is None:
        return ""
    try:
        found = path.stat()
    except OSError:
        return str(path)
    return f"{path} {found.st_size} {found.st_mtime_ns}"


def _dialect(opened: Opened, settled: _Settled, may_submit: bool) -> str:
    """What -N means to an external benchmark; "" for the builtin and where the rules set no -N."""
    benchmark = opened.campaign.benchmark
    if benchmark.executable is None or "{rank_offset}" not in opened.pack.arguments:
        return ""
    if benchmark.dialect != "auto":
        return benchmark.dialect
    if settled.dialect and settled.executable.startswith(_identity(opened)):
        return settled.dialect
    from campaign.dialect import identify

    launcher = slurm.one_task(opened.campaign.slurm.partition, opened.campaign.slurm.mpi) if may_submit else ()
    return identify(benchmark.executable, slurm.call, launcher)


def plan_json(opened: Opened, planned: Plan) -> dict[str, Any]:
    """The plan as data: what `plan --json` prints and what lies beside the results."""
    campaign, pack = opened.campaign, opened.pack
    return {
        "format": 1,
        "campaign": campaign.name,
        "rules": {"id": pack.id, "version": pack.version},
        "profile": campaign.profile,
        "allocation": campaign.slurm.allocation,
        "results": str(opened.paths.root),
        "all": {
            run.launch: [run.geometry.nodes, run.geometry.processes]
            for run in planned.runs
            if isinstance(campaign.launch[run.launch], AllCores)
        },
        "limits": [planned.limits.nodes, planned.limits.cores_per_node] if planned.limits else None,
        "searches": [searching.as_json(one) for one in planned.searches],
        "executable": _identity(opened),
        "dialect": planned.dialect,
        "unresolved": planned.unresolved,
        "runs": [
            {
                "run": run.id,
                "target": run.target,
                "launch": run.launch,
                "files": run.files,
                "repetition": run.repetition,
                "phase": run.phase,
                "nodes": run.geometry.nodes,
                "processes": run.geometry.processes,
                "processes_per_node": run.geometry.processes_per_node,
                "items_per_process": run.items_per_process,
                "items_total": run.items_total,
                "launcher": scripts.launcher(run, campaign.slurm),
                "argv": scripts.command(run, "TOKEN"),
                "notes": run.notes,
            }
            for run in planned.all_runs
        ],
        "cells": [str(cell) for cell in matrix.cells(campaign, pack)],
    }


# --- run


def preflight(opened: Opened, planned: Plan) -> None:
    """Raise where the campaign cannot be submitted as it stands: all reasons at once."""
    trouble = slurm.reachable()
    if trouble:
        raise EnvironmentLacks(
            f"Slurm does not answer: {trouble}\nPoint SLURM_CONF at a cluster, or start one on this machine: "
            "campaign sandbox start (or campaign run --sandbox)"
        )
    if planned.unresolved:
        raise EnvironmentLacks("\n".join(planned.unresolved.values()))
    problems = list(config.check_environment(opened.campaign))
    if opened.campaign.benchmark.executable is None and not (BINARIES / opened.pack.applet).exists():
        problems.append(f"{BINARIES / opened.pack.applet} is not built: run 'make -C bench-src'")
    if problems:
        raise EnvironmentLacks("\n".join(problems))
    _check_partition(opened.campaign, planned)


def _check_partition(campaign: Campaign, planned: Plan) -> None:
    partition = slurm.partition(campaign.slurm.partition)
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
    if partition.time_limit_s is not None and campaign.slurm.time_s > partition.time_limit_s:
        problems.append(
            f"slurm.time: {campaign.slurm.time_s} s asked, partition {partition.name} allows {partition.time_limit_s} s"
        )
    if problems:
        raise InputError(*dict.fromkeys(problems))


def run(
    opened: Opened,
    say: Say,
    show: Show,
    only: Sequence[str] = (),
    again: bool = False,
    detach: bool = False,
) -> list[tables.Row]:
    """Submit what is missing and follow it to the end; gives the rows of the chosen cells.

    `again`: new attempts for the chosen cells, whatever they have. `detach`: submit and come back at once.
    """
    _check_patterns(opened, only)
    planned = plan(opened, may_submit=True)
    preflight(opened, planned)
    store = Store(opened.paths)
    try:
        _write_plan(opened, planned)
        planned = _search(opened, planned, store, say, show, only, detach)
        chosen = _chosen(opened, planned.runs, only)
        _submit_and_follow(opened, planned, store, chosen, say, show, again, detach)
        rows = table(opened, planned, store)
    finally:
        store.close()
    return [row for row in rows if not only or any(tables.matches(row.cell, pattern) for pattern in only)]


def _search(
    opened: Opened, planned: Plan, store: Store, say: Say, show: Show, only: Sequence[str], detach: bool
) -> Plan:
    """Measure what the searches of the chosen cells ask for, until they are decided; gives the plan with the counts.

    A search that does not come further is left for the next time. With `detach`, one round is submitted.
    """
    said: set[str] = set()
    before: list[str] | None = None
    while True:
        for one in planned.searches:
            if one.decision and one.sought.key not in said:
                said.add(one.sought.key)
                say(f"search {one.sought.key}: {one.decision.reason}")
        wanted = _chosen(opened, [run for one in planned.searches for run in one.wanted], only)
        wanted = list({run.id: run for run in wanted}.values())
        names = sorted(run.id for run in wanted)
        if names and names == before:
            say(f"the search does not come further: {names[0]} has neither a rate nor failed by itself; run again")
        if not names or names == before:
            return planned
        before = names
        _submit_and_follow(opened, planned, store, wanted, say, show, again=False, detach=detach)
        if detach:
            return planned
        planned = _replanned(opened, planned)
        _write_plan(opened, planned)


def _replanned(opened: Opened, planned: Plan) -> Plan:
    """The plan with what has been measured since."""
    standings = _standings(opened, [one.sought for one in planned.searches], planned.dialect)
    executable = _executable(opened, planned.dialect)
    geometries, _ = _geometries(opened, _settled(opened.paths).geometries)
    runs = matrix.expand(opened.campaign, opened.pack, geometries, executable, searching.choices(standings))
    return replace(planned, runs=runs, searches=standings)


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
        wanted = [item for item in chosen if _wanted(counted[item.id], sends.get(item.id, 0), again)]
        for item in wanted:
            sends[item.id] = sends.get(item.id, 0) + 1
        return wanted

    follower.step()
    while send(opened.campaign, opened.pack, opened.paths, store, missing, probe, say) or _active(store):
        if detach:
            return
        _follow(store, follower, chosen, show)


def _wanted(attempts: Sequence[Attempt], sent: int, again: bool) -> bool:
    if any(attempt.state.active for attempt in attempts):
        return False
    if sent:
        last = attempts[-1] if attempts else None
        unheard = last is not None and last.state is State.REFUSED and last.reason.startswith("not submitted")
        return unheard and sent < MAX_SENDS
    return again or not any(attempt.state is State.DONE for attempt in attempts)


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
        if not any(tables.matches(cell, pattern) for cell in matrix.cells(opened.campaign, opened.pack)):
            example = matrix.cells(opened.campaign, opened.pack)[0]
            raise InputError(f"{pattern!r} matches no cell: cells are target/launch/files/operation, as in {example}")


def _chosen(opened: Opened, runs: Sequence[Run], only: Sequence[str]) -> list[Run]:
    """The runs behind the chosen cells, without those whose every cell is declined or projected."""
    without = [item.cells for item in opened.campaign.declined] + [item.cells for item in opened.campaign.projections]
    patterns = only or ("*/*/*/*",)
    return [
        item
        for item in runs
        if any(tables.matches(cell, pattern) for cell in item.cells() for pattern in patterns)
        and not all(any(tables.matches(cell, pattern) for pattern in without) for cell in item.cells())
    ]


def _write_plan(opened: Opened, planned: Plan) -> None:
    path = opened.paths.plan
    new = path.with_suffix(".json.new")
    new.write_text(json.dumps(plan_json(opened, planned), indent=1) + "\n", encoding="utf-8")
    new.replace(path)


# --- afterwards


def table(opened: Opened, planned: Plan, store: Store) -> list[tables.Row]:
    attempts = store.attempts()
    results = tables.measured(opened.pack, planned.runs, attempts, store.records(), store.observations())
    return tables.rows(opened.campaign, opened.pack, planned.runs, attempts, results)


def current(opened: Opened, say: Say) -> tuple[Plan, list[tables.Row], list[Attempt]]:
    """The campaign as it stands, with what has ended since anybody looked brought in."""
    planned = plan(opened)
    if not opened.paths.journal.exists():
        return planned, tables.rows(opened.campaign, opened.pack, planned.runs, [], []), []
    store = Store(opened.paths)
    try:
        try:
            Follower(opened.paths, store, opened.pack.applet, say).step()
        except EnvironmentLacks as error:
            say(f"Slurm was not asked: {error}")
        if planned.searches:
            planned = _replanned(opened, planned)
        return planned, table(opened, planned, store), store.attempts()
    finally:
        store.close()


def attempts(opened: Opened) -> list[Attempt]:
    """What is on record, without looking at Slurm."""
    if not opened.paths.journal.exists():
        return []
    store = Store(opened.paths)
    try:
        return store.attempts()
    finally:
        store.close()


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
        found = [job.id for job in slurm.queue(names).values() if job.state.active] if names else []
        store.note("cancel", jobs=found)
        slurm.cancel(found)
        follower = Follower(opened.paths, store, opened.pack.applet, say)
        end = time.monotonic() + patience_s
        while follower.step():
            if time.monotonic() > end:
                raise UnknownState("Slurm has not ended the cancelled jobs yet: look again with 'campaign status'")
            time.sleep(0.2)
        return len(found)
    finally:
        store.close()
