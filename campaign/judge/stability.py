"""The rule that the environment did not change during the campaign (ENV-03). Pure."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence

from campaign.core.findings import Finding, Severity
from campaign.core.grouping import grouped
from campaign.core.units import listing, plural
from campaign.judge.findings import shorten, to_explain, unchecked
from campaign.judge.rule import campaign_rule
from campaign.judge.submission import Submission
from campaign.judge.system_description import kibibytes
from campaign.results.case import Case
from campaign.results.environment.facts import Environment

MEMORY_SHARE = 0.02  # relative difference in memory of equal nodes, reserved by firmware
# Variables that identify the job and the login, and the time zone: they differ between jobs without a change of the
# system.
_OF_THE_JOB = ("SLURM", "SBATCH_", "BENCH_", "PMIX_SERVER", "PATH", "TMPDIR", "LANG", "LC_ALL", "TZ")
_ZONE = "zone"
_OF_THE_TARGET = ("mount.", "fs.", "nfs.", "lustre.", "beegfs.", "gluster.")
# Of file systems without a device of their own, such as network file systems: each kernel numbers its mounts itself.
_ANONYMOUS = "0:"


# --- ENV-03


_Job = tuple[Environment, str, str, list[str]]  # with target, executable and the attempts that share it
_Item = tuple[str, str]  # what must not change, and the target or executable that it belongs to: "" for none


@campaign_rule(
    "ENV-03",
    "the environment did not change during the campaign and is the same on all nodes",
    why="results from before and after a change of the system cannot be compared",
    remedy=(
        "explain the difference, or measure again what was measured with the other configuration or has no recorded "
        "environment"
    ),
    severity=Severity.WARNING,
)
def check_environment(submission: Submission) -> Iterator[Finding]:
    """Kernel, settings, mounts, executable and libraries of all jobs and nodes whose attempts gave numbers."""
    results = sorted(
        (result for result in submission.results if result.records), key=lambda result: result.attempt.started or 0.0
    )
    subjects_without = [result.subject for result in results if not result.evidence.environment.recorded]
    if subjects_without:
        yield unchecked(
            "environment not recorded for {attempts} (first: {first})",
            attempts=plural(len(subjects_without), "attempt"),
            first=subjects_without[0],
            remedy="measure these attempts again",
        )
    jobs = _jobs(results)
    yield from _missing_nodes(jobs)
    # Of each item, what was said on which node ("" for the whole job), with the attempts of each job that said so.
    attempts_by_text: dict[_Item, dict[tuple[str, str], list[Sequence[str]]]] = {}
    for equal_jobs in grouped((_job_key(job), job) for job in jobs).values():
        environment, target, executable, _ = equal_jobs[0]
        for item, node, text in _items(environment, target, executable):
            attempts_by_text.setdefault(item, {}).setdefault((node, text), []).extend(
                attempts for *_, attempts in equal_jobs
            )
    for item, by_node in attempts_by_text.items():
        name = " of ".join(filter(None, item))
        first = next(text for _, text in by_node)
        if all(_is_same(item, first, text) for _, text in by_node):
            continue
        if change := _first_change(item, by_node):
            texts = [_with_place(text, node, f"in {listing(by_node[node, text][0], 1)}") for node, text in change]
            yield to_explain(
                "{name} changed during the campaign",
                *texts,
                name=name,
                remedy="explain the change, or measure again with one configuration",
            )
        else:
            yield to_explain(
                "{name} differs between nodes",
                *_differing_nodes(item, by_node),
                name=name,
                remedy="explain the difference, or measure again on equal nodes",
            )


def _jobs(results: Iterable[Case]) -> list[_Job]:
    """The recorded environments with the attempts that share each, in the order of time."""
    jobs: dict[tuple[int, str, str], _Job] = {}
    for case in results:
        environment, target, executable = case.evidence.environment, case.run.target, case.run.executable
        if environment.recorded:
            job = jobs.setdefault((id(environment), target, executable), (environment, target, executable, []))
            job[3].append(case.subject)
    return list(jobs.values())


def _missing_nodes(jobs: Sequence[_Job]) -> Iterator[Finding]:
    """Nodes of which nothing, or not everything, is recorded."""
    subjects_by_reason: dict[tuple[str, str], list[str]] = {}
    for environment, _, _, attempts in jobs:
        if environment.silent_nodes:
            reason = f": {environment.problems[0]}" if environment.problems else ""
            subjects_by_reason.setdefault((listing(environment.silent_nodes), reason), []).extend(attempts)
    for (nodes, reason), names in subjects_by_reason.items():
        yield unchecked(
            "environment of {nodes} not recorded in {attempts} (first: {first}){why}",
            nodes=nodes,
            attempts=plural(len(names), "attempt"),
            first=names[0],
            why=reason,
            remedy="measure these attempts again",
        )


def _job_key(job: _Job) -> Hashable:
    """All that its items follow from: jobs in which it is the same are compared as one."""
    environment, target, executable, _ = job
    variables = [item for item in environment.variables.items() if not item[0].startswith(_OF_THE_JOB)]
    recorded_items = [tuple(items) for items in (environment.software.items(), environment.storage.items(), variables)]
    nodes = [node.name for node in environment.nodes]
    return id(environment.facts), tuple(nodes), *recorded_items, target, executable


def _items(environment: Environment, target: str, executable: str) -> Iterator[tuple[_Item, str, str]]:
    """What must not change, each with a node ("" if it is about the whole job) and what was reported."""
    for fact in environment.facts:
        if fact != _ZONE:
            of_program = executable if fact.startswith(("exec", "library.")) else ""
            item = fact, target if fact.startswith(_OF_THE_TARGET) else of_program
            yield from ((item, node, text) for node, text in environment.by_node(fact).items())
    for name, text in environment.software.items():
        yield (f"version of {name}", ""), "", text
    for name, text in environment.storage.items():
        yield (f"{name} ({target})", ""), "", text
    for name, text in environment.variables.items():
        if not name.startswith(_OF_THE_JOB):
            yield (f"variable {name}", ""), "", text


def _first_change(
    item: _Item, nodes_and_texts: Iterable[tuple[str, str]]
) -> tuple[tuple[str, str], tuple[str, str]] | None:
    """The first two different values that one node reported, in the order of time, each with the node."""
    first: dict[str, str] = {}
    for node, text in nodes_and_texts:
        if not _is_same(item, earlier := first.setdefault(node, text), text):
            return (node, earlier), (node, text)
    return None


def _differing_nodes(item: _Item, jobs_by_text: Mapping[tuple[str, str], Sequence[object]]) -> tuple[str, str]:
    """What most said of an item, and what some others did."""

    def equal_job_count(usual: tuple[str, str]) -> int:
        return sum(len(jobs) for (_, text), jobs in jobs_by_text.items() if _is_same(item, usual[1], text))

    node, usual = max(jobs_by_text, key=equal_job_count)
    other_texts = [_with_place(text, node) for node, text in jobs_by_text if not _is_same(item, text, usual)]
    return _with_place(usual, node), "; ".join(dict.fromkeys(other_texts[:4]))


def _is_same(item: _Item, first: str, second: str) -> bool:
    if first == second:
        return True
    if item[0] == "mount.device":
        return first.startswith(_ANONYMOUS) and second.startswith(_ANONYMOUS)
    sizes = [kibibytes(text) for text in (first, second)]
    if item[0] != "memory.total" or None in sizes:
        return False
    low, high = sorted(size for size in sizes if size is not None)
    return high - low <= MEMORY_SHARE * high


def _with_place(text: str, node: str, attempts: str = "") -> str:
    where = ", ".join(filter(None, (f"on {node}" if node else "", attempts)))
    return f"{shorten(text)} ({where})" if where else shorten(text)
