"""Everything that the files of a report are made of: a campaign as recorded, judged, with what its jobs recorded of
their environment and of what they executed: each fact once, and its deviations. Pure.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from campaign.config.search import Projection
from campaign.core.columns import Column, sequence_columns
from campaign.core.errors import typed_path
from campaign.core.findings import Finding
from campaign.core.grouping import grouped
from campaign.core.runs import Attempt, State
from campaign.core.units import count_by_kind, listing, plural
from campaign.judge.binaries import prefix_files
from campaign.judge.compliance import ClauseLine, compliance_matrix
from campaign.judge.submission import Submission
from campaign.report.decision import DecisionBlock, campaign_decision
from campaign.results.case import Case
from campaign.results.cells import Row
from campaign.results.environment.facts import Environment, FileSystemSpace
from campaign.results.source.modifications import Section, parts

# Headings by the beginnings of facts; facts with none of these are about the nodes.
_STORAGE = ("fs.", "mount.")
_PROGRAM = ("executable.", "library.", "prefix.")
_VARIABLES = ("env.",)
_LIBRARY = "library."
_NAMED = 4  # nodes or attempts that are named if a line is not about all

_COLUMNS = sequence_columns("what", "value", "nodes (if not all)")
_EXECUTED = sequence_columns("what", "file or words", "SHA-256", "attempts (if not all)")
_Observation = tuple[str, str, tuple[str, str]]  # a fact, its value, and the job and node that it is from
_Line = tuple[str, str, str]  # kind, path or words, hash


@dataclass(frozen=True, slots=True)
class Contents(Submission):
    """A judged campaign with all its findings, and sections about its environment."""

    modifications: Sequence[Section] = ()
    environment: Sequence[Section] = ()
    clauses: Sequence[ClauseLine] = ()  # the compliance matrix; none if the pack does not list its clauses
    of_buyer: DecisionBlock | None = None  # of a verification
    linked_results: Path | None = None  # the directory of raw outputs for links; None if they are only in an archive
    signature: tuple[str, str] | None = None  # whose the verified bundle's is, and what is known of the key

    @property
    def all_findings(self) -> tuple[Finding, ...]:
        """All findings; those of rows are among `findings` here."""
        return self.findings

    @property
    def decision(self) -> DecisionBlock:
        """The buyer's, or else the vendor's."""
        return self.of_buyer or campaign_decision(self, typed_path(self.campaign.path.name, self.campaign.part))

    @property
    def projections(self) -> list[Row]:
        """The results that are computed from those of another system."""
        return [row for row in self.rows if row.projection is not None]

    @property
    def period(self) -> str:
        """When, in UTC; "" if nothing was measured."""
        times = measured_period(self.attempts)
        if times is None:
            return ""
        first, last = times
        is_one_day = first.date() == last.date()
        return f"{first:%Y-%m-%d %H:%M:%S} to {last:{'%H:%M:%S' if is_one_day else '%Y-%m-%d %H:%M:%S'}} UTC"

    @property
    def days(self) -> str:
        """The day on which it was measured, or the first and the last; "" if nothing was."""
        return " to ".join(dict.fromkeys(f"{time:%Y-%m-%d}" for time in measured_period(self.attempts) or ()))

    @property
    def attempt_counts(self) -> str:
        """`14 attempts: 12 done, 1 timeout, 1 superseded`."""
        return count_by_kind("attempt", [attempt.state for attempt in self.attempts])


def report_contents(submission: Submission, of_buyer: DecisionBlock | None = None) -> Contents:
    submission_fields = {field.name: getattr(submission, field.name) for field in fields(Submission)}
    return Contents(
        **{**submission_fields, "findings": submission.all_findings},
        modifications=(
            *parts(submission.sources, submission.pack.build),
            *execution_sections(submission.results),
        ),
        environment=environment_sections(submission.results),
        clauses=compliance_matrix(submission),
        of_buyer=of_buyer,
        linked_results=submission.campaign.results,
    )


def measured_period(attempts: Sequence[Attempt]) -> tuple[datetime, datetime] | None:
    """The first start and the last end of recorded attempts, in UTC; None if none is known."""
    start_times = [attempt.started for attempt in attempts if attempt.started is not None]
    end_times = [attempt.ended for attempt in attempts if attempt.ended is not None]
    try:
        first, last = (datetime.fromtimestamp(time, UTC) for time in (min(start_times), max(end_times)))
    except (ValueError, OverflowError, OSError):  # none, or not a valid time
        return None
    return first, last


def _inputs(projection: Projection) -> str:
    return ", ".join(f"{name} = {value!r}" for name, value in projection.inputs)


# Those with a title are on the page too.
PROJECTIONS: tuple[Column[Any], ...] = (
    Column("cell", lambda row: str(row.cell), width=30, title="Result"),
    Column("value", lambda row: row.value, width=12, title="Value"),
    Column("unit", lambda row: row.unit, width=8, title="Unit"),
    Column("low", lambda row: row.projection.ends[0], width=12, title="Low"),
    Column("high", lambda row: row.projection.ends[1], width=12, title="High"),
    Column("uncertainty", lambda row: row.projection.uncertainty, width=12),
    Column("nodes", lambda row: row.projection.nodes, width=8),
    Column("processes", lambda row: row.projection.processes, width=10),
    Column("base system", lambda row: row.projection.base_system, width=18, title="Base system"),
    Column("generation", lambda row: row.projection.generation, width=12, title="Generation"),
    Column("formula", lambda row: row.projection.formula, width=26, title="Formula", is_text=True),
    Column("inputs", lambda row: _inputs(row.projection), width=26, title="Inputs", is_text=True),
    Column("logs", lambda row: ", ".join(map(str, row.projection.logs)), width=24, title="Logs", is_text=True),
)


# --- what jobs recorded of their environment


def environment_sections(results: Sequence[Case]) -> tuple[Section, ...]:
    """Sections about jobs whose attempts have ended; none if nothing was recorded."""
    jobs = {result.attempt.job: result.evidence.environment for result in results if result.evidence.environment.nodes}
    if not jobs:
        return ()
    nodes = {node.name for job in jobs.values() for node in job.nodes}
    facts = _node_observations(jobs)
    elsewhere = (*_STORAGE, *_PROGRAM, *_VARIABLES)
    about_jobs = (
        f"As recorded by {plural(len(jobs), 'job')} on {plural(len(nodes), 'node')} before each job's first run."
    )
    of_nodes = [observation for observation in facts if not observation[0].startswith(elsewhere)]
    sections = [Section("Nodes", about_jobs, _COLUMNS, _observation_lines(of_nodes))]
    in_jobs = {result.attempt.job: result.run.directory for result in results if result.run.is_in_job}
    directories = {job: in_jobs.get(job, environment.directory) for job, environment in jobs.items()}
    for directory in dict.fromkeys(directories.values()):
        jobs_of_directory = {job: environment for job, environment in jobs.items() if directories[job] == directory}
        storage = _job_observations({job: environment.storage for job, environment in jobs_of_directory.items()})
        rows = _observation_lines([*_with_prefix(_node_observations(jobs_of_directory), _STORAGE), *storage])
        sections.append(Section(f"File system of {directory}", _space_text(jobs_of_directory), _COLUMNS, rows))
    software = _job_observations(
        {job: {**_modules(environment), **environment.software} for job, environment in jobs.items()}
    )
    sections.append(
        Section("Program and libraries", "", _COLUMNS, _observation_lines([*_with_prefix(facts, _PROGRAM), *software]))
    )
    sections.append(
        Section("Variables of the processes", "", _COLUMNS, _observation_lines(_with_prefix(facts, _VARIABLES)))
    )
    problems = dict.fromkeys(problem for environment in jobs.values() for problem in environment.problems)
    sections.append(Section("Not determined", "", sequence_columns("problem"), [(problem,) for problem in problems]))
    return tuple(section for section in sections if section.items)


def _node_observations(jobs: Mapping[str, Environment]) -> list[_Observation]:
    return [
        (fact, text, (job, node))
        for job, environment in jobs.items()
        for fact in environment.facts
        for node, text in environment.by_node(fact).items()
    ]


def _modules(environment: Environment) -> dict[str, str]:
    """The modules that a job had loaded, if any."""
    modules = environment.variables.get("LOADEDMODULES", "")
    return {"modules": modules.replace(":", ", ")} if modules else {}


def _job_observations(by_job: Mapping[str, Mapping[str, str]]) -> list[_Observation]:
    """What a job reports about itself, by the job's name."""
    return [(name, text, (job, job)) for job, texts in by_job.items() for name, text in texts.items()]


def _with_prefix(facts: Sequence[_Observation], beginnings: tuple[str, ...]) -> list[_Observation]:
    return [observation for observation in facts if observation[0].startswith(beginnings)]


def _observation_lines(observations: Sequence[_Observation]) -> list[tuple[str, str, str]]:
    """A line for each value of each fact, the most common value first."""
    lines = []
    for fact, observed in grouped((fact, (text, place)) for fact, text, place in observations).items():
        values = grouped(dict.fromkeys(observed))
        total = sum(map(len, values.values()))
        for text, places in sorted(values.items(), key=lambda item: -len(item[1])):
            names = listing(sorted({name for _, name in places}), _NAMED)
            lines.append((fact, text, "" if len(values) == 1 else f"{len(places)} of {total}: {names}"))
    return lines


def _space_text(jobs: Mapping[str, Environment]) -> str:
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


# --- what they executed


def execution_sections(results: Sequence[Case]) -> tuple[Section, ...]:
    """A section about the attempts that ended well; none if there are none."""
    completed = [result for result in results if result.attempt.state is State.DONE]
    attempts_by_line = grouped(
        (line, result.subject) for result in completed for line in dict.fromkeys(_executed_files(result))
    )
    order = list(dict.fromkeys(kind for kind, _, _ in attempts_by_line))
    rows = []
    for line, attempts in sorted(attempts_by_line.items(), key=lambda item: order.index(item[0][0])):
        attempt_names = f"{len(attempts)} of {len(completed)}: {listing(attempts, _NAMED)}"
        rows.append((*line, "" if len(attempts) == len(completed) else attempt_names))
    number = plural(len(completed), "attempt")
    introduction = f"Files executed or loaded in {number}, by the hashes that ranks and nodes recorded."
    return (Section("What ran", introduction, _EXECUTED, rows),) if rows else ()


def _executed_files(case: Case) -> Iterator[_Line]:
    launcher, witness = case.run.launcher, case.evidence.witness
    yield "launcher", shlex.join([launcher.program, *launcher.options]), ""
    if launcher.prefix:
        yield "prefix", shlex.join(launcher.prefix), ""
    if launcher.image:
        yield "image", launcher.image, ""
    for file in case.programs:
        yield "program", file.path, file.sha256
    for file in prefix_files(case):
        yield "before the program", file.path, file.sha256
    for digest, path in witness.programs.items():
        yield "executed by ranks", path, digest
    environment = case.evidence.environment
    library_facts = {name: environment.values(name) for name in environment.fact_names(_LIBRARY)}
    loaded_libraries = {f"{_LIBRARY}{name}": values for name, values in witness.libraries.items()}
    for _, values in sorted((library_facts | loaded_libraries).items()):  # where ranks were observed: what they loaded
        for value in values:
            path, _, digest = value.rpartition(" ")
            if digest not in witness.programs:
                yield ("library", path, digest) if path else ("library", value, "")
    for name, values in witness.preloads.items():
        for value in filter(None, values):
            yield name, value, ""
