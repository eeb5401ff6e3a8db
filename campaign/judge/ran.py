"""What the ranks of an external benchmark were seen to execute, compared with what is declared. Pure.

The job hashes the declared program and the words before it on each node; processes of its own then look from outside
at what the ranks execute. The name by which a program calls itself plays no part in it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from campaign.core.model import Finding, Observation
from campaign.core.units import several
from campaign.judge.findings import listed, to_explain, unchecked, violation
from campaign.judge.messages import ran as messages
from campaign.results.case import Case
from campaign.results.environment.facts import PREFIX, Environment
from campaign.results.environment.witness import SHORT

# Facts that a job records of each node; the last two as "PATH SHA-256".
EXECUTABLE, INTERPRETER = "executable.sha256", "executable.interpreter"
SYSTEM = ("/bin", "/usr/bin", "/sbin", "/usr/sbin")
UNREAD = "unread"  # in place of a hash that took too long


def as_declared(case: Case) -> Iterator[Finding]:
    """SRC-04, of one attempt: each rank executed the declared program, and nothing that is not declared."""
    witness, prefix = case.evidence.witness, case.run.launcher.prefix
    if not witness.watched:
        return  # the built-in benchmark, which says it itself; or an earlier version's job
    found = {command.phase: _declared(case, command.executable) for command in case.run.launched}
    scripts = {program.script for program in found.values() if program.script}
    for path, interpreter in sorted(scripts):
        yield violation(messages.UNDECLARED_SCRIPT(path=path), messages.DECLARE(), interpreter, about=case.subject)
    if not all(program.hashes for program in found.values()):
        yield unchecked(messages.PROGRAM_UNHASHED(), about=case.subject)
        return
    before = _before(case)
    without, beside = Counter[str](), Counter[str]()
    for each in witness.executed():
        program = found.get(each.phase)
        if program is None or program.script:
            continue
        known = program.hashes | before | _started(case, each.phase)
        others = [digest for digest in each.digests if digest not in known]
        if program.hashes.isdisjoint(each.digests):
            without[_named(case, each.digests)] += 1
        elif others:
            beside[_named(case, others)] += 1
    commands = {command.executable: found[command.phase].hashes for command in case.run.launched}
    expected = listed(f"{path} ({listed(one[:SHORT] for one in sorted(one))})" for path, one in commands.items())
    if without:
        yield violation(messages.RAN_ANOTHER(), expected, _counted(without), about=case.subject)
    if beside:
        form = to_explain if prefix else violation
        message = messages.MORE_PROGRAMS() if prefix else messages.UNDECLARED_PROGRAMS()
        yield form(message, expected, _counted(beside), about=case.subject)
    most = case.run.geometry.processes * len(found)
    if (unseen := most - len(witness.ranks)) > 0:
        why = f": {witness.problems[0]}" if witness.problems else ""
        yield unchecked(messages.RANKS_UNSEEN(ranks=several(unseen, "rank"), all=most, why=why), about=case.subject)


@dataclass(frozen=True, slots=True)
class ExecutedFile:
    """A file that an attempt executed, with the SHA-256 that each node gave it. `told`: as the ranks themselves did."""

    path: str
    nodes: Mapping[str, str]
    told: str = ""

    @property
    def sha256(self) -> str:
        """As its ranks told, otherwise as the job's first node saw it; "" where neither did."""
        return self.told or next(iter(self.nodes.values()), "")


def programs(case: Case) -> tuple[ExecutedFile, ...]:
    """The programs of all phases, each once, the first phase's first."""
    environment = case.evidence.environment
    beside = {path: name for name, (path, _) in environment.facts.beside.items()}
    found: dict[str, ExecutedFile] = {}
    for command in case.run.launched:
        path, seen = (
            command.executable,
            case.seen.phases.get(command.phase, Observation()) if command.phase else case.seen,
        )
        fact = EXECUTABLE if path == case.run.executable else beside.get(path, "")
        told = found[path].told if path in found else ""
        found[path] = ExecutedFile(path, _by_node(environment, fact), told or seen.binary_sha256 or "")
    return tuple(found.values())


def before(case: Case) -> tuple[ExecutedFile, ...]:
    """The files of the prefix: programs, scripts, images; and the interpreters of scripts."""
    environment, launched = case.evidence.environment, {command.executable for command in case.run.launched}
    names = [name for name, (path, _) in case.evidence.environment.facts.beside.items() if path not in launched]
    of_scripts = (INTERPRETER, *(name for name in environment.facts.under(PREFIX) if name.endswith(".interpreter")))
    scripts = [name for name in of_scripts if environment.values(name)]
    paths = {name: environment.values(name)[0].rpartition(" ")[0] for name in (*names, *scripts)}
    return tuple(ExecutedFile(path, _by_node(environment, name)) for name, path in paths.items())


def _by_node(environment: Environment, fact: str) -> dict[str, str]:
    hashes = {node: text.rpartition(" ")[2] for node, text in environment.by_node(fact).items()}
    return {node: digest for node, digest in hashes.items() if digest != UNREAD}


@dataclass(frozen=True, slots=True)
class _DeclaredProgram:
    """`script`: path and interpreter of one of which nothing says that it is no wrapper around another program."""

    hashes: frozenset[str]
    script: tuple[str, str] | None = None


def _declared(case: Case, path: str) -> _DeclaredProgram:
    """A declared program, as the nodes found it: the first as the executable, others beside the prefix."""
    environment, beside = case.evidence.environment, case.evidence.environment.facts.beside
    if path == case.run.executable:
        hashes, interpreters = environment.values(EXECUTABLE), environment.values(INTERPRETER)
    else:
        name = next((name for name, (found, _) in beside.items() if found == path), "")
        hashes, interpreters = tuple(_hashes(case, [name])), environment.values(f"{name}.interpreter")
    if not interpreters:
        return _DeclaredProgram(frozenset(hashes))
    by = frozenset(given.rpartition(" ")[2] for given in interpreters)
    return _DeclaredProgram(by, None if by <= _before(case) else (path, interpreters[0]))


def _started(case: Case, phase: str) -> frozenset[str]:
    """SHA-256 of the system's programs that the pack lets a phase's program start itself."""
    name = next(command.program for command in case.run.launched if command.phase == phase)
    starts = next((program.starts for program in case.pack.programs if program.id == name), ())
    paths = {f"{place}/{each}" for place in SYSTEM for each in starts}
    return frozenset(digest for digest, path in case.evidence.witness.programs.items() if path in paths)


def _before(case: Case) -> frozenset[str]:
    """SHA-256 of what the prefix lets run before a program: its files, and the interpreters of its scripts."""
    programs = {command.executable for command in case.run.launched}
    names = [name for name, (path, _) in case.evidence.environment.facts.beside.items() if path not in programs]
    return frozenset(_hashes(case, [*names, *(f"{name}.interpreter" for name in names)]))


def _hashes(case: Case, facts: Iterable[str]) -> Iterator[str]:
    return (given.rpartition(" ")[2] for name in facts for given in case.evidence.environment.values(name))


def _named(case: Case, digests: Iterable[str]) -> str:
    programs = case.evidence.witness.programs
    return ", then ".join(f"{programs.get(digest, '?')} ({digest[:16]})" for digest in digests)


def _counted(found: Counter[str]) -> str:
    return listed((f"{text} in {several(count, 'rank')}" for text, count in found.most_common()), 3)
