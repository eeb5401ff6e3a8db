"""What the jobs recorded about their environment, as tables for the report: each fact once, and its
deviations. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from campaign.core.units import listed, several
from campaign.report.contents import Section
from campaign.results.case import Case
from campaign.results.environment.facts import Environment, FileSystemSpace

# Headings by the beginnings of facts; facts with none of these are about the nodes.
_STORAGE = ("fs.", "mount.")
_PROGRAM = ("executable.", "library.", "prefix.")
_VARIABLES = ("env.",)
_PASSING = ("state.",)  # changes from moment to moment
_NAMED = 4  # nodes that are named if a value is not on all

_COLUMNS = ("what", "value", "nodes (if not all)")
_Observation = tuple[str, str, tuple[str, str]]  # a fact, its value, and the job and node that it is from


def sections(results: Sequence[Case]) -> tuple[Section, ...]:
    """Sections about jobs whose attempts have ended; none if nothing was recorded."""
    jobs = {result.attempt.job: result.evidence.environment for result in results if result.evidence.environment.nodes}
    if not jobs:
        return ()
    nodes = {node.name for environment in jobs.values() for node in environment.nodes}
    facts = _facts(jobs)
    elsewhere = (*_STORAGE, *_PROGRAM, *_VARIABLES, *_PASSING)
    asked = f"As recorded by {several(len(jobs), 'job')} on {several(len(nodes), 'node')} before each job's first run."
    of_nodes = [observation for observation in facts if not observation[0].startswith(elsewhere)]
    listed = [Section("Nodes", asked, _COLUMNS, _rows(of_nodes))]
    for directory in dict.fromkeys(environment.directory for environment in jobs.values()):
        there = {job: environment for job, environment in jobs.items() if environment.directory == directory}
        storage = _by_job({job: environment.storage for job, environment in there.items()})
        rows = _rows([*_chosen(_facts(there), _STORAGE), *storage])
        listed.append(Section(f"File system of {directory}", _space(there), _COLUMNS, rows))
    software = _by_job({job: environment.software for job, environment in jobs.items()})
    listed.append(Section("Program and libraries", "", _COLUMNS, _rows([*_chosen(facts, _PROGRAM), *software])))
    listed.append(Section("Variables of the processes", "", _COLUMNS, _rows(_chosen(facts, _VARIABLES))))
    problems = dict.fromkeys(problem for environment in jobs.values() for problem in environment.problems)
    listed.append(Section("Not determined", "", ("problem",), tuple((problem,) for problem in problems)))
    return tuple(section for section in listed if section.rows)


def _facts(jobs: Mapping[str, Environment]) -> list[_Observation]:
    return [
        (fact, text, (job, node))
        for job, environment in jobs.items()
        for fact in environment.facts
        for node, text in environment.by_node(fact).items()
    ]


def _by_job(by_job: Mapping[str, Mapping[str, str]]) -> list[_Observation]:
    """What a job reports about itself, by the job's name."""
    return [(name, text, (job, job)) for job, texts in by_job.items() for name, text in texts.items()]


def _chosen(facts: Sequence[_Observation], beginnings: tuple[str, ...]) -> list[_Observation]:
    return [observation for observation in facts if observation[0].startswith(beginnings)]


def _rows(observations: Sequence[_Observation]) -> tuple[tuple[str, ...], ...]:
    """A line for each value of each fact, the most common value first."""
    facts: dict[str, dict[str, set[tuple[str, str]]]] = {}
    for fact, text, place in observations:
        facts.setdefault(fact, {}).setdefault(text, set()).add(place)
    lines = []
    for fact, values in facts.items():
        total = sum(map(len, values.values()))
        for text, places in sorted(values.items(), key=lambda item: -len(item[1])):
            lines.append((fact, text, "" if len(values) == 1 else f"{len(places)} of {total}: {_names(places)}"))
    return tuple(lines)


def _names(places: set[tuple[str, str]]) -> str:
    return listed(sorted({name for _, name in places}), _NAMED)


def _space(jobs: Mapping[str, Environment]) -> str:
    """Size and free space, in storage units, as the first and the last job recorded them."""
    spaces = sorted((job.space for job in jobs.values() if job.space), key=lambda space: space.time)
    if not spaces:
        return ""
    first, last = spaces[0], spaces[-1]

    def gigabytes(space: FileSystemSpace, blocks: int) -> str:
        return f"{blocks * space.block_size / 1e9:.6g} GB"

    total, free = gigabytes(first, first.blocks), gigabytes(first, first.free)
    if len(spaces) == 1:
        return f"{total}, {free} free; {first.inodes_free} of {first.inodes} inodes free."
    return (
        f"{total}, {free} free before the first job, {gigabytes(last, last.free)} before the last; {first.inodes_free} "
        f"of {first.inodes} inodes free."
    )
