"""What the jobs found around themselves, as tables for the report: each fact once, and where it was otherwise. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from campaign.report.contents import Section
from campaign.results.case import Case
from campaign.results.environment.facts import Environment

# The parts by the beginnings of the facts that they hold; what begins with none of these is of the nodes.
_STORAGE = ("fs.", "mount.")
_PROGRAM = ("executable.", "library.")
_VARIABLES = ("env.",)
_PASSING = ("state.",)  # differs from one moment to the next
_NAMED = 4  # nodes by name, where a value is not on all

_COLUMNS = ("what", "value", "where, if not everywhere")
_Told = dict[str, dict[str, set[tuple[str, str]]]]  # fact -> value -> (job, node) that told it


def sections(results: Sequence[Case]) -> tuple[Section, ...]:
    """Of the jobs whose attempts have ended; none where nothing is on record."""
    jobs = {result.attempt.job: result.evidence.environment for result in results if result.evidence.environment.nodes}
    if not jobs:
        return ()
    nodes = {node.name for one in jobs.values() for node in one.nodes}
    facts = _facts(jobs)
    elsewhere = (*_STORAGE, *_PROGRAM, *_VARIABLES, *_PASSING)
    asked = f"As {_many(len(jobs), 'job')} found {_many(len(nodes), 'node')} before the first run of each."
    of_nodes = {fact: said for fact, said in facts.items() if not fact.startswith(elsewhere)}
    found = [Section("Nodes", asked, _COLUMNS, _rows(of_nodes))]
    for directory in dict.fromkeys(one.directory for one in jobs.values()):
        own = {job: one for job, one in jobs.items() if one.directory == directory}
        told = _chosen(_facts(own), _STORAGE) | _by_job({job: one.storage for job, one in own.items()})
        found.append(Section(f"File system of {directory}", _space(own), _COLUMNS, _rows(told)))
    programs = _chosen(facts, _PROGRAM) | _by_job({job: one.software for job, one in jobs.items()})
    found.append(Section("Program and libraries", "", _COLUMNS, _rows(programs)))
    found.append(Section("Variables of the processes", "", _COLUMNS, _rows(_chosen(facts, _VARIABLES))))
    problems = dict.fromkeys(problem for one in jobs.values() for problem in one.problems)
    found.append(Section("What could not be found out", "", ("problem",), tuple((one,) for one in problems)))
    return tuple(one for one in found if one.rows)


def _facts(jobs: Mapping[str, Environment]) -> _Told:
    told: _Told = {}
    for job, found in jobs.items():
        for fact in found.facts:
            for node, text in found.by_node(fact).items():
                told.setdefault(fact, {}).setdefault(text, set()).add((job, node))
    return told


def _by_job(said: Mapping[str, Mapping[str, str]]) -> _Told:
    """What a job says of itself, by its name."""
    told: _Told = {}
    for job, texts in said.items():
        for name, text in texts.items():
            told.setdefault(name, {}).setdefault(text, set()).add((job, job))
    return told


def _chosen(facts: _Told, beginnings: tuple[str, ...]) -> _Told:
    return {fact: said for fact, said in facts.items() if fact.startswith(beginnings)}


def _rows(told: _Told) -> tuple[tuple[str, ...], ...]:
    """A line for each value of each fact, that of the most nodes first."""
    lines = []
    for fact, values in told.items():
        total = sum(map(len, values.values()))
        for text, places in sorted(values.items(), key=lambda item: -len(item[1])):
            lines.append((fact, text, "" if len(values) == 1 else f"{len(places)} of {total}: {_names(places)}"))
    return tuple(lines)


def _names(places: set[tuple[str, str]]) -> str:
    names = sorted({name for _, name in places})
    return ", ".join(names[:_NAMED]) + (f" and {len(names) - _NAMED} more" if len(names) > _NAMED else "")


def _space(jobs: Mapping[str, Environment]) -> str:
    """Size and what was free, in the units of storage, as the first and the last job found them."""
    spaces = sorted((job.space for job in jobs.values() if job.space), key=lambda space: space.time)
    if not spaces:
        return ""
    first, last = spaces[0], spaces[-1]
    free = f"{first.free * first.block_size / 1e9:.6g} GB"
    if len(spaces) > 1:
        free += f" free before the first job, {last.free * last.block_size / 1e9:.6g} GB before the last"
    else:
        free += " free"
    inodes = f"{first.inodes_free} of {first.inodes} inodes free"
    return f"{first.blocks * first.block_size / 1e9:.6g} GB, {free}; {inodes}."


def _many(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
