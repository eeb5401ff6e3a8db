"""Runs that depend on results: the searches of a campaign with the runs that they request and their outcomes,
and the repetitions that a run needs. Pure.

A search's runs are planned, stored and judged like any other. They are never in the table, whose numbers come from runs
made after the search has ended.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import chain
from statistics import geometric_mean, median
from typing import Any

from campaign.config.format import Campaign, Sequential
from campaign.config.rules.entries import LaunchCondition
from campaign.config.rules.pack import RulePack
from campaign.config.search import Searched
from campaign.core.errors import EnvironmentLacks
from campaign.core.grouping import grouped
from campaign.core.runs import Cell, Run, State
from campaign.plan import matrix
from campaign.plan.search import records
from campaign.plan.search.space import SearchSpace, grid, words
from campaign.results.case import Case, deciding_operation
from campaign.results.cells import is_left_out
from campaign.statistics import intervals, scaling

ALL = "all"  # as a search's operation: the geometric mean of all
TRIES = 2  # a run that failed so often has no rate
Results = Callable[[Run], Sequence[Case]]  # the ended attempts of a run
OWN_ENDS = (State.DONE, State.FAILED, State.TIMEOUT)  # ends caused by the execution itself, not by the driver or Slurm


@dataclass(frozen=True, slots=True)
class Search:
    """A search for a launch condition on one target, by the rate of `operation`, or the geometric mean of ALL."""

    target: str
    launch: str
    files: tuple[str, ...]  # if several, their geometric mean decides
    operation: str
    cell_operations: tuple[str, ...]  # operations whose cells use its count
    space: SearchSpace
    settings: records.Settings

    @property
    def key(self) -> str:
        """`scratch/node/shared/*`: the cells that use its count."""
        files = self.files[0] if len(self.files) == 1 else "*"
        return (
            f"{self.target}/{self.launch}/{files}/{self.cell_operations[0] if len(self.cell_operations) == 1 else '*'}"
        )

    @property
    def identity(self) -> list[Any]:
        """All that its choice depends on besides the points."""
        return [list(self.files), self.operation, asdict(self.space), asdict(replace(self.settings, budget_node_s=0.0)),
                self.settings.budget_node_s if math.isfinite(self.settings.budget_node_s) else None]  # fmt: skip


@dataclass(frozen=True, slots=True)
class SearchProgress:
    """The state of a search. `runs`: all that it has requested; `awaited_runs`: those that it waits for; `repeated`: a
    sentence for each measurement of these that is not used.
    """

    search: Search
    runs: tuple[Run, ...]
    awaited_runs: tuple[Run, ...]
    points: Mapping[records.SearchRequest, records.Outcome]
    choice: records.CountChoice | None
    repeated: tuple[str, ...] = ()


def all_runs(searches: Sequence[SearchProgress], cell_runs: Sequence[Run]) -> tuple[Run, ...]:
    """The runs of searches, which may share some, and those that cells report."""
    of_searches = (run for search in searches for run in search.runs)
    return tuple({run.id: run for run in (*of_searches, *cell_runs)}.values())


def plan_searches(campaign: Campaign, pack: RulePack, nodes: int, cores_per_node: int) -> tuple[Search, ...]:
    """All searches of the campaign, on a partition with so many usable nodes. Raises EnvironmentLacks if the partition
    is too small for one.
    """
    found_searches = []
    problems = []
    searched = [each for each in pack.launch if isinstance(campaign.launch.get(each.id), Searched)]
    for target in campaign.targets:
        for condition in searched:
            try:
                space = _search_space(campaign, pack, condition, nodes, cores_per_node)
            except ValueError as error:
                problems.append(f"launch.{condition.id}: {error}")
                continue
            for files, operation, cell_operations in _search_parts(campaign, pack, condition, target.name):
                seed, keys = f"{campaign.name}/{target.name}/{condition.id}/{'+'.join(files)}", campaign.search
                settings = records.Settings(seed, keys.margin, keys.confidence, keys.least, keys.most)
                found_searches.append(
                    Search(target.name, condition.id, files, operation, cell_operations, space, settings)
                )
    if problems:
        raise EnvironmentLacks("\n".join(dict.fromkeys(problems)))
    if campaign.search.budget is None:
        return tuple(found_searches)
    # The budget is divided by estimated cost, so that none depends on what another leaves.
    weights = [search.space.most_nodes * len(search.files) for search in found_searches]
    shares = [3600 * campaign.search.budget * weight / sum(weights) for weight in weights]
    return tuple(
        replace(search, settings=replace(search.settings, budget_node_s=share))
        for search, share in zip(found_searches, shares, strict=True)
    )


def _search_space(
    campaign: Campaign, pack: RulePack, condition: LaunchCondition, nodes: int, cores_per_node: int
) -> SearchSpace:
    """The search space. Raises ValueError if it is empty."""
    fewest_nodes = condition.nodes or max(2, condition.minimum_nodes)
    most_nodes = condition.nodes or min(nodes, campaign.search.nodes or nodes)
    total = campaign.items_total or pack.items_total.get(campaign.profile)
    divides = total if total and not pack.items_at_least else 0
    if nodes < fewest_nodes:
        raise ValueError(
            f"the search needs {fewest_nodes} nodes or more ({condition.requirement}); the partition has {nodes} usable"
        )
    space = SearchSpace(
        fewest_nodes, most_nodes, campaign.search.processes_per_node or cores_per_node, divides, cores_per_node
    )
    grid(space)
    return space


def _search_parts(
    campaign: Campaign, pack: RulePack, condition: LaunchCondition, target: str
) -> Iterator[tuple[tuple[str, ...], str, tuple[str, ...]]]:
    """(file configurations, deciding operation, operations that use the count) of each search, without configurations
    whose cells are all left out.
    """
    operations = pack.operations_of(condition.id)
    executed = [operation.id for operation in operations if not operation.is_across_executions]
    keys, all_operations = campaign.search, tuple(operation.id for operation in operations)
    matching = [operation for operation in operations if keys.operation in (operation.template, operation.id)]
    decider = (matching or [pack.deciding_operation(condition.id)])[-1].id
    deciding = ALL if keys.operation == ALL and not matching else decider
    configurations = [
        files.id
        for files in pack.files
        if not is_left_out(campaign, [Cell(target, condition.id, files.id, operation) for operation in all_operations])
    ]
    if keys.per == "all":
        yield from [(tuple(configurations), deciding, all_operations)] if configurations else []
    elif keys.per == "configuration":
        yield from (((files,), deciding, all_operations) for files in configurations)
    else:
        yield from (((files,), operation, (operation,)) for files in configurations for operation in executed)


def requested_runs(search: Search, request: records.SearchRequest, blueprint: matrix.Blueprint) -> tuple[Run, ...]:
    """The runs of a request: one for each file configuration. Searches may share them."""
    return tuple(matrix.search_run(blueprint, (search.target, search.launch, files), request) for files in search.files)


def request_outcome(search: Search, runs: Sequence[Run], pack: RulePack, results: Results) -> records.Outcome | None:
    """The outcome of a request; None while a run has neither a rate nor failed often enough."""
    outcomes = [_run_outcome(search, results(run), pack) for run in runs]
    finished = [outcome for outcome in outcomes if outcome is not None]
    if len(finished) < len(outcomes):
        return None
    logs = [math.log(outcome.rate) for outcome in finished if outcome.rate]
    rate = math.exp(sum(logs) / len(logs)) if len(logs) == len(finished) else None
    return records.Outcome(rate, sum(outcome.node_s for outcome in finished))


def _run_outcome(search: Search, cases: Sequence[Case], pack: RulePack) -> records.Outcome | None:
    """The outcome of one run; None if it has no rate and has not failed often enough."""
    complete = next((case for case in cases if case.valid and case.complete), None)
    rates = _rates(search, complete, pack) if complete else {}
    deciding = [rate for name, rate in rates.items() if search.operation in (name, ALL)]
    if complete and deciding and min(deciding) > 0:
        return records.Outcome(geometric_mean(deciding), _node_s(complete))
    if sum(case.attempt.state in OWN_ENDS for case in cases) >= TRIES:
        return records.Outcome(None, sum(map(_node_s, cases)))
    return None


def _rates(search: Search, case: Case, pack: RulePack) -> dict[str, float]:
    """The rate of each operation of a run, of which the highest is the best, and that of the search's own."""
    results = {
        operation.id: case.result(operation)
        for operation in pack.operations_of(search.launch)
        if not operation.is_across_executions
        if operation.best != "lowest" or operation.id == search.operation
    }
    return {name: record.value for name, record in results.items() if record}


def _losses(
    search: Search, runs: Mapping[records.SearchRequest, Sequence[Run]], pack: RulePack, results: Results,
    choice: records.CountChoice,
) -> Iterator[str]:  # fmt: skip
    """A sentence for each other operation whose rate at the chosen count is below that at another one by more than the
    margin, in the medians of the confirmation runs, at least half as many as the search's own count has.
    """
    rates = [
        ((operation, request.geometry), rate)
        for request, of_request in runs.items()
        if request.phase == records.CONFIRM
        for run in of_request
        for case in results(run)
        if case.valid and case.complete
        for operation, rate in _rates(search, case, pack).items()
        if rate > 0
    ]
    medians = {
        key: median(values) for key, values in grouped(rates).items() if 2 * len(values) >= search.settings.least
    }
    for operation in dict.fromkeys(name for name, _ in medians):
        best = max((key for key in medians if key[0] == operation), key=lambda key: medians[key])
        share = medians.get((operation, choice.geometry or best[1]), medians[best]) / medians[best]
        if operation != search.operation and share < 1 - search.settings.margin:
            yield f"{operation} has {share:.0%} of its rate on {words(best[1])}; search.operation: {ALL} weighs all"


def _node_s(case: Case) -> float:
    return case.run.geometry.nodes * (case.attempt.seconds or 0.0)


def replay_search(search: Search, blueprint: matrix.Blueprint, results: Results) -> SearchProgress:
    """Replay a search over what was measured."""
    from campaign.plan.search import procedure  # numpy, which it needs, takes a while to load

    runs_by_request: dict[records.SearchRequest, tuple[Run, ...]] = {}
    points: dict[records.SearchRequest, records.Outcome] = {}

    def outcome_of_request(request: records.SearchRequest) -> records.Outcome | None:
        runs_by_request[request] = requested_runs(search, request, blueprint)
        outcome = request_outcome(search, runs_by_request[request], blueprint.pack, results)
        if outcome is not None:
            points[request] = outcome
        return outcome

    next_step = procedure.step(search.space, search.settings, outcome_of_request)
    if isinstance(next_step, records.CountChoice):
        losses = _losses(search, runs_by_request, blueprint.pack, results, next_step)
        choice = replace(next_step, remarks=(*next_step.remarks, *losses))
        return SearchProgress(search, tuple(chain(*runs_by_request.values())), (), points, choice)
    finished = chain.from_iterable(runs for request, runs in runs_by_request.items() if request in points)
    requested = tuple(run for request in next_step for run in runs_by_request[request])
    awaited_runs = tuple(run for run in requested if _run_outcome(search, results(run), blueprint.pack) is None)
    repeated = tuple(chain.from_iterable(_unused_measurements(results(run)) for run in awaited_runs))
    return SearchProgress(search, (*finished, *requested), awaited_runs, points, None, repeated)


def _unused_measurements(cases: Sequence[Case]) -> Iterator[str]:
    """A sentence for each attempt of a run that ended well and is not used."""
    for case in cases:
        if case.attempt.state is State.DONE:
            causes = [f"{finding.rule} {finding.message}" for finding in case.findings if finding.blocks]
            yield f"{case.subject} is measured again: {'; '.join(causes) or 'it gave no rate'}"


def found_geometries(searches: Sequence[SearchProgress]) -> dict[matrix.Combination, tuple[matrix.ChosenGeometry, ...]]:
    """The counts that were found."""
    geometries_of = grouped(
        (
            (progress.search.target, progress.search.launch, files),
            matrix.ChosenGeometry(choice.geometry, progress.search.cell_operations, f"tuned: {choice.reason}"),
        )
        for progress in searches
        if (choice := progress.choice) and choice.geometry
        for files in progress.search.files
    )
    return {combination: tuple(geometries) for combination, geometries in geometries_of.items()}


def fit_scaling(progress: SearchProgress) -> scaling.ScalingFit | None:
    """The Universal Scalability Law fitted to the points of the search; None if they cannot determine it."""
    rates = [(request.processes, outcome.rate) for request, outcome in progress.points.items() if outcome.rate]
    try:
        return scaling.fit(rates)
    except ValueError:
        return None


# --- how much is to come


def _model(search: Search) -> records.Measured:
    """A model of a machine that was not measured yet: rises up to half of the most processes and then falls slowly,
    with 5% noise that differs between searches.
    """
    knee = max(1.0, search.space.most_nodes * search.space.most_per_node / 2)

    def modelled_outcome(request: records.SearchRequest) -> records.Outcome:
        load = request.processes / knee
        # Its own text, so that estimates do not change when a class is renamed.
        fields = ", ".join(f"{name}={value!r}" for name, value in asdict(request).items())
        noise = random.Random(f"{search.key}/Request({fields})").gauss(0, 0.05)
        return records.Outcome(load / (1 + load**2) * math.exp(noise))

    return modelled_outcome


def expected_runs(progress: SearchProgress, repetitions: int = 1) -> tuple[list[Run], list[Run]]:
    """The runs to come of a search that is as long as on the model machine, and of the count that it then finds. What
    they execute is not settled: they have the commands of another run.
    """
    if progress.choice:
        return [], []
    from campaign.plan.search import procedure

    search = progress.search
    choice = procedure.step(search.space, replace(search.settings, budget_node_s=math.inf), _model(search))
    assert isinstance(choice, records.CountChoice) and choice.geometry is not None
    search_runs = [
        replace(
            progress.awaited_runs[0],
            id=matrix.search_name((search.target, search.launch, files), request),
            files=files,
            repetition=request.block,
            phase=request.phase,
            geometry=request.geometry,
        )
        for request in choice.requests
        for files in search.files
    ]
    cell_runs = [
        replace(
            progress.awaited_runs[0],
            id=f"{search.target}.{search.launch}.{files}.{'+'.join(search.cell_operations)}.r{repetition}",
            files=files,
            repetition=repetition,
            phase="",
            geometry=choice.geometry,
        )
        for repetition in range(1, repetitions + 1)
        for files in search.files
    ]
    remaining = search_runs[len(progress.runs) - len(progress.awaited_runs) :]
    return max(remaining, list(progress.awaited_runs), key=len), cell_runs


def as_json(progress: SearchProgress) -> dict[str, Any]:
    """A search as data, for plan.json and the report."""
    choice = progress.choice
    return {
        "cells": progress.search.key,
        "operation": progress.search.operation,
        "procedure": records.PROCEDURE,
        "identity": progress.search.identity,
        "runs": len(progress.runs),
        "waits_for": len(progress.awaited_runs),
        "decision": records.as_json(choice) if choice else None,
    }


# --- repetitions, until the interval of their median is narrow enough


def needed_repetitions(
    campaign: Campaign, pack: RulePack, runs: Sequence[Run], results: Callable[[Run], Sequence[Case]]
) -> tuple[Run, ...]:
    """The runs that are needed so far, out of all possible repetitions.

    The operation that selects the reported run decides. Repetitions are added by thirds, so that the queue is not
    waited for once for each; none is added while one has not ended, or if none has a number.
    """
    sequential = campaign.sequential
    if sequential is None:
        return tuple(runs)
    counts = {
        name: _repetition_count(
            sequential, campaign.repetitions, [_end_and_number(pack, run, results(run)) for run in of_family]
        )
        for name, of_family in grouped((name_without_repetition(run), run) for run in runs).items()
    }
    return tuple(run for run in runs if run.repetition <= counts[name_without_repetition(run)])


def name_without_repetition(run: Run) -> str:
    """The name that repetitions of a run share."""
    return run.id.rpartition(".")[0]


def _end_and_number(pack: RulePack, run: Run, cases: Sequence[Case]) -> tuple[bool, float | None]:
    """Whether a run has ended, and its number if that is valid."""
    complete = next((case for case in cases if case.valid and case.complete), None)
    record = complete.result(deciding_operation(pack, run)) if complete else None
    return any(case.attempt.state in OWN_ENDS for case in cases), record.value if record else None


def _repetition_count(sequential: Sequential, fewest: int, outcomes: Sequence[tuple[bool, float | None]]) -> int:
    count = fewest
    while count < sequential.most:
        first_outcomes = outcomes[:count]
        values = [value for _, value in first_outcomes if value is not None]
        if not values or not all(has_ended for has_ended, _ in first_outcomes) or _is_narrow(values, sequential.width):
            break
        count = min(sequential.most, count + max(1, count // 3))
    return count


def _is_narrow(values: Sequence[float], width: float) -> bool:
    summary = intervals.summarize(values)
    if summary.median is None or summary.low is None or summary.high is None:
        return False
    return (summary.high - summary.low) / 2 <= width * abs(summary.median)
