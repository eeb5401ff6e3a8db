"""Compares what the ranks of an external benchmark were seen to execute, and the files that a benchmark reads, with
what is declared. Pure.

The job hashes the declared program and the words before it on each node; other processes then observe what the ranks
execute. A program's own name for itself does not matter.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass

from campaign.config.rules.catalogue import Quantity, show
from campaign.core.grouping import grouped
from campaign.core.model import Command, Finding, Input
from campaign.core.units import apart, listed, several
from campaign.judge import environment
from campaign.judge.findings import doubt, to_explain, unchecked, violation
from campaign.judge.rule import attempt_rule
from campaign.results.case import Case
from campaign.results.environment.facts import EXECUTABLE, PREFIX, SHORT, ExecutedFile, HashedInput
from campaign.results.environment.slurm_text import expand_nodes

INTERPRETER = "executable.interpreter"  # a fact that a job records for each node: "PATH SHA-256"
SYSTEM = ("/bin", "/usr/bin", "/sbin", "/usr/sbin")


def as_declared(case: Case) -> Iterator[Finding]:
    """SRC-04, of one attempt: each rank executed the declared program, and nothing that is not declared."""
    witness = case.evidence.witness
    if not witness.watched:
        return  # the built-in benchmark reports it itself
    before = _before(case)
    found = {command.phase: _declared(case, command.executable, before) for command in case.run.launched}
    scripts = {program.script for program in found.values() if program.script}
    for path, interpreter in sorted(scripts):
        yield violation(
            "benchmark.executable {path} is a script, which can start any other program",
            "benchmark.executable names the program itself; a script around it, or a script's interpreter, is named "
            "under launcher.prefix",
            interpreter,
            path=path,
        )
    if not all(program.hashes for program in found.values()):
        yield unchecked("the nodes could not read the benchmark's program: what ran cannot be compared with it")
        return
    without, beside = Counter[str](), Counter[str]()
    executed = Counter((each.phase, each.digests) for each in witness.executed())
    for (phase, digests), ranks in executed.items():
        program = found.get(phase)
        if program is None or program.script:
            continue
        known = program.hashes | before | _started(case, phase)
        others = [digest for digest in digests if digest not in known]
        if program.hashes.isdisjoint(digests):
            without[_named(case, digests)] += ranks
        elif others:
            beside[_named(case, others)] += ranks
    expected = _shown(case, found) if without or beside else ""
    if without:
        yield violation("ranks ran a program other than the declared one", expected, _counted(without))
    if beside and case.run.launcher.prefix:
        message = "ranks also ran programs other than the benchmark and what launcher.prefix names"
        yield to_explain(message, expected, _counted(beside))
    elif beside:
        message = "ranks also ran programs that are not declared under launcher.prefix"
        yield violation(message, expected, _counted(beside))
    most = sum(case.run.geometry_of(command).processes for command in case.run.launched)
    if (unseen := most - len(witness.ranks)) > 0:
        why = f": {witness.problems[0]}" if witness.problems else ""
        yield unchecked(
            "{ranks} of {all} ended before the job could record what they executed{why}",
            ranks=several(unseen, "rank"),
            all=most,
            why=why,
        )


def _shown(case: Case, found: Mapping[str, _DeclaredProgram]) -> str:
    commands = {command.executable: found[command.phase].hashes for command in case.run.launched}
    return listed(f"{path} ({listed(one[:SHORT] for one in sorted(one))})" for path, one in commands.items())


def before(case: Case) -> tuple[ExecutedFile, ...]:
    """The files of the prefix (programs, scripts, images) and the interpreters of scripts."""
    environment = case.evidence.environment
    of_scripts = (INTERPRETER, *(name for name in environment.under(PREFIX) if name.endswith(".interpreter")))
    names = (*_of_prefix(case), *(name for name in of_scripts if environment.values(name)))
    return tuple(environment.file(environment.values(name)[0].rpartition(" ")[0], name) for name in names)


def _of_prefix(case: Case) -> list[str]:
    """The facts about files of the prefix that are not programs themselves."""
    launched = {command.executable for command in case.run.launched}
    return [name for name, (path, _) in case.evidence.environment.beside.items() if path not in launched]


@dataclass(frozen=True, slots=True)
class _DeclaredProgram:
    """`script`: path and interpreter of a script that may be a wrapper around another program."""

    hashes: frozenset[str]
    script: tuple[str, str] | None = None


def _declared(case: Case, path: str, before: Set[str]) -> _DeclaredProgram:
    """A declared program, as the nodes found it: the first one as the executable, others among the files of
    the prefix.
    """
    environment = case.evidence.environment
    if path == case.run.executable:
        hashes, interpreters = frozenset(environment.values(EXECUTABLE)), environment.values(INTERPRETER)
    else:
        name = next((name for name, (found, _) in environment.beside.items() if found == path), "")
        hashes, interpreters = _hashes(case, [name]), environment.values(f"{name}.interpreter")
    if not interpreters:
        return _DeclaredProgram(hashes)
    by = frozenset(given.rpartition(" ")[2] for given in interpreters)
    return _DeclaredProgram(by, None if by <= before else (path, interpreters[0]))


def _started(case: Case, phase: str) -> frozenset[str]:
    """SHA-256 of the system's programs that the pack allows a phase's program to start."""
    name = next(command.program for command in case.run.launched if command.phase == phase)
    starts = next((program.starts for program in case.pack.programs if program.id == name), ())
    paths = {f"{place}/{each}" for place in SYSTEM for each in starts}
    return frozenset(digest for digest, path in case.evidence.witness.programs.items() if path in paths)


def _before(case: Case) -> frozenset[str]:
    """SHA-256 of the files of the prefix that may run before a program, and of the interpreters of scripts."""
    names = _of_prefix(case)
    return _hashes(case, [*names, *(f"{name}.interpreter" for name in names)])


def _hashes(case: Case, facts: Iterable[str]) -> frozenset[str]:
    return frozenset(given.rpartition(" ")[2] for name in facts for given in case.evidence.environment.values(name))


def _named(case: Case, digests: Iterable[str]) -> str:
    programs = case.evidence.witness.programs
    return ", then ".join(f"{programs.get(digest, '?')} ({digest[:16]})" for digest in digests)


def _counted(found: Counter[str]) -> str:
    return listed((f"{text} in {several(count, 'rank')}" for text, count in found.most_common()), 3)


# --- the files that a benchmark reads, as the job hashed them on its nodes right before the run


@attempt_rule(
    "INP-01",
    "the benchmark read the input files that the rules fix or the vendor declares",
    why="another input is another problem, which may be much easier to compute",
    remedy="restore the input file and run the result again with 'campaign rerun FILE CELL'",
    is_always_judged=True,
    is_about_run=True,
)
def inputs_as_declared(case: Case) -> Iterator[Finding]:
    """The SHA-256 of each file, as each node found it right before the run (`inputs.txt`): the pack's, otherwise the
    campaign file's, otherwise the first plan's. A node that hashed none is a violation.
    """
    if not case.run.inputs:
        return
    if not case.evidence.environment.recorded:
        yield unchecked("the job's record is missing: it is unknown which input files were read")
        return
    nodes = [node.name for node in case.evidence.environment.nodes]
    for each in case.run.inputs:
        found = [one for one in case.evidence.inputs if one.path == each.path]
        hashed = {one.node for one in found if one.sha256}
        others = grouped((one.sha256, one) for one in found if one.sha256 not in ("", each.sha256))
        if others:
            yield violation(
                "input {input} differs from the file of {by}: {path}",
                f"SHA-256 {each.sha256}",
                listed([_other_file(case, alike) for alike in others.values()], 2),
                input=each.id,
                by=each.by,
                path=each.path,
                clause=each.clause,
            )
        if missing := [name for name in nodes if name not in hashed]:
            yield violation(
                "input {input} was not hashed before the run on {nodes}: {path}",
                f"a line of inputs.txt for each of {several(len(nodes), 'node')}",
                _lacking(case, each, found),
                input=each.id,
                nodes=listed(missing),
                path=each.path,
                clause=each.clause,
            )


def _other_file(case: Case, alike: list[HashedInput]) -> str:
    """Another file, the nodes that read it, and the first line that says so."""
    first, nodes = alike[0], listed([one.node for one in alike])
    place = f"runs/{case.run.id}/{case.attempt.number}/inputs.txt:{first.line}"
    return f"{first.sha256} ({several(first.size, 'byte')}) on {nodes}, {place}"


def _lacking(case: Case, each: Input, found: list[HashedInput]) -> str:
    unread = [one.node for one in found if not one.sha256]
    return f"not readable on {listed(unread)}" if unread else "no such line"


# --- phases that start together (`beside`): they ran at the same time, on nodes of their own

_Span = tuple[float, float]  # seconds since 1970


def at_once(case: Case) -> Iterator[Finding]:
    """RUN-09, of the groups of an execution that ran as planned."""
    for group in case.run.together:
        if len(group) > 1:
            yield from _nodes_apart(case, group)
            measured = {each.phase: measured_span(case.phases[each.phase]) for each in group}
            yield from _overlapping(case, {phase: times for phase, times in measured.items() if times})


def _nodes_apart(case: Case, group: Sequence[Command]) -> Iterator[Finding]:
    executed = list(case.evidence.witness.executed())
    nodes = {
        command.phase: set(case.outputs[command.phase].node_names if command.phase in case.outputs else ())
        or {each.node for each in executed if each.phase == command.phase}
        for command in group
    }
    counted = Counter(node for each in nodes.values() for node in each)
    unseen = [each.phase for each in group if len(nodes[each.phase]) < case.run.geometry_of(each).nodes]
    if shared := sorted(node for node, count in counted.items() if count > 1):
        yield violation("phases that start together ran on the same nodes", "nodes of its own for each", listed(shared))
    elif unseen:
        yield unchecked(
            "the nodes of {phases} were not all recorded; it is unknown whether other phases used them",
            phases=listed(unseen),
        )


def measured_span(case: Case) -> _Span | None:
    """When a run or a phase measured, if its output says so; otherwise when its launcher ran, if that is recorded."""
    seen, completion = case.seen, case.evidence.completion
    if seen.began is not None and seen.ended is not None:
        return seen.began, seen.ended
    return (completion.started, completion.ended) if completion else None


def _overlapping(case: Case, spans: Mapping[str, _Span]) -> Iterator[Finding]:
    """Each phase that gives results ran beside all others for nearly all its time."""
    began, ended = max(span[0] for span in spans.values()), min(span[1] for span in spans.values())
    if ended <= began:
        first, last = min(spans, key=lambda name: spans[name][1]), max(spans, key=lambda name: spans[name][0])
        yield violation(
            "phases that start together did not run at the same time",
            f"{' and '.join(spans)} at the same time",
            f"{last} began {began - ended:.1f} s after the end of {first}",
        )
        return
    least = case.pack.parameter("RUN-09", "together")
    for name in dict.fromkeys(operation.phase for operation in case.operations if operation.phase in spans):
        lasted = spans[name][1] - spans[name][0]
        if ended - began < least * lasted:
            together, needed = apart(ended - began, least * lasted)
            yield doubt(case.full)(
                "phase {phase} was measured for only a part of its time beside the phases that start together with it",
                f"{show(Quantity.SHARE, least)} of its time or more ({needed} s of {lasted:.1f} s)",
                f"{together} s",
                phase=name,
            )


def spans(case: Case, ahead: _Span) -> Iterator[_Span]:
    """When each group of phases ran that start together, by Slurm's clock, of which that of the job's record is `ahead`
    by so many seconds, at least and at most.
    """
    completion = case.evidence.completion
    for group in case.run.together:
        names = {command.phase for command in group}
        ran = [each for each in completion.phases if each.phase in names] if completion and len(group) > 1 else []
        if ran:
            yield min(each.started for each in ran) - ahead[1], max(each.ended for each in ran) - ahead[0]


def may_overlap(spans: Sequence[_Span], steps: Sequence[Mapping[str, str]]) -> bool:
    """Whether two steps of the accounting may run at the same time: in one such group, without a common node."""
    nodes = [set(expand_nodes(step.get("NodeList", "")) or ()) for step in steps]
    times = [time for step in steps if (time := environment.times_of(step))]
    cut = environment.TOLERANCE_S
    return (
        all(nodes)
        and nodes[0].isdisjoint(nodes[1])
        and any(all(low - cut <= began and ended <= high + cut for began, ended in times) for low, high in spans)
    )
