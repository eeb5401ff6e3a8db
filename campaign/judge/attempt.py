"""The rules about one ended attempt, judged from its own outputs. Pure."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence

from campaign.config.rules.catalogue import Parameter, Quantity
from campaign.config.rules.pack import RulePack
from campaign.core.grouping import grouped
from campaign.core.model import Finding, Record, Run, Severity, State
from campaign.core.units import apart, digits, format_size, listed, may_be_negative
from campaign.judge.environment import was_suspended
from campaign.judge.findings import (
    BUILTIN,
    at_full_size,
    doubt,
    not_printed,
    note,
    processes_on,
    to_explain,
    unchecked,
    violation,
)
from campaign.judge.rule import DecidedBy, Needs, attempt_rule
from campaign.judge.timing import BYTES
from campaign.results.case import Case

# Where a path may begin and end in a word.
_BEGIN, _END = r"(?:^|(?<=[=:,;@])|(?<=^-[A-Za-z]))", r"(?=$|[=:,;@])"
_OUTSIDE = re.compile(rf"{_BEGIN}/(?!/)(?!dev/(?:null|zero|stdin|stdout|stderr){_END})|(?:^|[/=:,;@])\.\.(?:/|$)")
EVIDENT = 2  # times the memory of the nodes: so much data cannot have come from it
WITHIN = 0.05  # Slurm is configured with slightly less memory than a node has


_NO_COMMAND_LINE = "no command line in the output: flags cannot be checked"


@attempt_rule(
    "FLG-01",
    "all mandatory flags were used",
    why="without a mandatory flag the benchmark measures something else, so offers cannot be compared",
    remedy="run the result again with the rule pack's command line",
    decided_by=DecidedBy.WORDS,
)
def flags_present(case: Case) -> Iterator[Finding]:
    """The pack's fixed flags in the command line that the output shows."""
    given = {*case.seen.argv, *(word.partition("=")[0] for word in case.seen.argv if word.startswith("--"))}
    lacking = grouped((flag.clause, flag.flag) for flag in case.pack.fixed if flag.flag not in given)
    if not case.seen.argv:
        yield not_printed(case)(_NO_COMMAND_LINE)
        return
    for clause, flags in lacking.items():
        yield violation(
            "mandatory flags missing: {flags}",
            " ".join(case.planned),
            shlex.join(case.seen.argv),
            clause=clause,
            flags=" ".join(flags),
        )


@attempt_rule(
    "FLG-02",
    "the flags of the file configuration are those of the rules",
    why="these flags decide which directory layout or access pattern the value belongs to",
    remedy="run the result again with the flags of its file configuration",
    decided_by=DecidedBy.WORDS,
)
def configuration_flags(case: Case) -> Iterator[Finding]:
    """The flags of this file configuration, and none of another, there."""
    if "{flags}" not in case.pack.arguments:
        return  # a phase to which no file configuration adds flags
    given, wanted = set(case.seen.argv), set(case.files.flags)
    others = {flag for files in case.pack.files for flag in files.flags} - wanted
    if not given:
        yield not_printed(case)(_NO_COMMAND_LINE)
    elif wanted - given or others & given:
        yield violation(
            "wrong flags for file configuration {files}",
            " ".join(sorted(wanted)) or f"none of {' '.join(sorted(others))}",
            shlex.join(case.seen.argv),
            files=case.files.id,
        )


@attempt_rule(
    "FLG-03",
    "no flag outside the allowed list was used",
    why="a changed command line can make a result faster without the system being faster",
    remedy="run the result again with the planned command line, and ask the buyer before adding any flag",
    decided_by=DecidedBy.WORDS,
)
def no_other_flags(case: Case) -> Iterator[Finding]:
    """The executed command line, word by word with the planned one, and the program's path; planned flags come only
    from pack, geometry and allowed list.
    """
    if not case.seen.argv:
        yield not_printed(case)(_NO_COMMAND_LINE)
    elif tuple(case.seen.argv[1:]) != case.planned:
        yield violation(
            "the executed command differs from the planned one",
            shlex.join(case.planned),
            shlex.join(case.seen.argv[1:]),
        )
    elif case.seen.argv[0] != case.run.executable:
        yield violation("a program other than the planned one was executed", case.run.executable, case.seen.argv[0])


_REHEARSAL_SIZE = "rehearsal: smaller than the rules require, never a compliant result"


@attempt_rule(
    "FLG-04",
    "the benchmark ran at the size that the rules ask for",
    why="a smaller problem may fit into caches, and its result then says little about the storage",
    remedy="run the campaign again at the size of the rules (profile: full)",
    decided_by=DecidedBy.PLAN | DecidedBy.RECORDS,
)
def item_count(case: Case) -> Iterator[Finding]:
    """The planned total and the printed count; the smaller total of a rehearsal is noted."""
    values = case.values
    full = {each.id: each.value_for("full", case.run.launch, case.run.files) for each in case.pack.variables}
    other = [name for name, value in full.items() if values.get(name, value) != value]
    if other:
        yield note(
            "values differ from the rule pack's" if case.full else _REHEARSAL_SIZE,
            ", ".join(f"{name} {full[name]}" for name in other),
            ", ".join(f"{name} {values[name]}" for name in other),
        )
    total = case.run.items_total
    if total is None:
        return
    asked, clause, unit = case.pack.items_total.get("full", 0), case.pack.items_clause, case.pack.items_unit
    if total < asked and case.full:
        wording = "fewer {unit} than the rules require"
        yield violation(wording, f"{asked} or more", total, clause=clause, unit=unit)
    elif total < asked:
        yield note(_REHEARSAL_SIZE, f"{asked} or more", f"{total} {unit}", clause=clause)
    counted = case.seen.files_reported
    if counted is None:
        yield not_printed(case)("item count not in the output", clause=clause)
    # mdtest 4.x prints "1 file" for its shared files, whatever n is.
    elif counted != total and not (case.files.inflated and counted == 1):
        wording = "the benchmark counted a different number of {unit} than planned"
        yield violation(wording, total, counted, clause=clause, unit=unit)


@attempt_rule(
    "FLG-05",
    "the benchmark wrote to the declared target, by an absolute path",
    why="files in another directory, for example on a local disk, do not measure the offered file system",
    remedy="run the result again in a directory of the target that the campaign file declares",
    decided_by=DecidedBy.PLAN | DecidedBy.WORDS,
)
def own_directory(case: Case) -> Iterator[Finding]:
    """Every path on the command line must be in the attempt's own directory; words added by the campaign file must not
    contain a path, except input files. Another absolute path, or one with `..`, of the pack itself requires an
    explanation (W).
    """
    expected = "only the attempt's own directory, and input files"
    own, added = _paths(case.pack, case.run)
    if added:
        yield violation(
            "the campaign file adds a path outside the target's directory to the command line",
            expected,
            " ".join(added),
        )
    if own:
        yield to_explain(
            "the rule pack's command line names a path outside the target's directory that is not among its inputs",
            expected,
            " ".join(own),
        )
    words = case.planned
    for position, word in enumerate(case.run.arguments):
        if "{directory}" not in word:
            continue
        if not case.seen.argv:
            yield not_printed(case)(_NO_COMMAND_LINE)
            return
        planned, before = words[position], words[position - 1] if position else ""
        stem = word.partition("{directory}")[0]
        if case.seen.argv[position + 1 : position + 2] == (planned,):
            continue
        actual = (
            _after(case.seen.argv, before)
            if not stem and before.startswith("-")
            else next((given for given in case.seen.argv[1:] if given.startswith(f"{stem}/")), None)
        )
        if actual != planned:
            yield violation("the benchmark used a directory other than the attempt's", planned, actual)


def beside_target(pack: RulePack, run: Run) -> list[str]:
    """The words that the campaign file added to the pack's command lines and that name a path, but for inputs."""
    return _paths(pack, run)[1]


def _paths(pack: RulePack, run: Run) -> tuple[list[str], list[str]]:
    """The words of the command lines that name a path and no input: those of the pack with a path that leads out of the
    attempt's directory, and those that the campaign file added, with any path.
    """
    return pack.once(("paths", run.files, run.commands, run.inputs), lambda: _paths_of(pack, run))


def _paths_of(pack: RulePack, run: Run) -> tuple[list[str], list[str]]:
    own, added = list[str](), list[str]()
    flags = next(len(each.flags) for each in pack.files if each.id == run.files)
    arguments = {phase.id: phase.arguments for phase in pack.phases}
    inputs = re.compile(rf"{_BEGIN}(?:{'|'.join(re.escape(each.path) for each in run.inputs) or '$'}){_END}")
    for command in run.launched:
        of_pack = sum(flags if word == "{flags}" else 1 for word in arguments[command.phase])
        others = [(word, inputs.sub("", word)) for word in command.arguments]
        own += [word for word, rest in others[:of_pack] if _OUTSIDE.search(rest)]
        added += [word for word, rest in others[of_pack:] if "/" in rest and "{directory}" not in rest]
    return own, added


@attempt_rule(
    "FLG-06",
    "the rank offset (`-N`) is the one that the rules ask for",
    why="with another offset a process reads back its own files, possibly from its node's cache",
    remedy="run the result again with the rank offset of one node, and check benchmark.dialect",
    decided_by=DecidedBy.WORDS,
)
def offset_as_told(case: Case) -> Iterator[Finding]:
    """The value of `-N` in the executed command line; translated, and noted, where the benchmark counts nodes."""
    expected = _after(case.planned, "-N")
    if expected is None:
        return
    actual, clause = _after(case.seen.argv, "-N"), case.pack.offset_clause
    if not case.seen.argv:
        yield not_printed(case)(_NO_COMMAND_LINE, clause=clause)
    elif actual != expected:
        found = f"-N {actual}" if actual else None
        yield violation("-N does not shift the ranks by one node", f"-N {expected}", found, clause=clause)
    elif "{rank_offset}" in case.pack.arguments and expected != str(case.run.geometry.processes_per_node):
        yield note(
            "this mdtest version takes -N in nodes; equivalent to the required rank offset",
            f"an offset of {case.run.geometry.processes_per_node} ranks",
            f"-N {actual}",
        )


@attempt_rule(
    "FLG-07",
    "the rank offset moved each phase to another node",
    why="a node that works on the files it created itself may answer from its cache, without the file servers",
    remedy="run the result again with ranks in equal blocks per node and the offset of one node",
)
def shift_happened(case: Case) -> Iterator[Finding]:
    """The effective shift in the output, modulo the ranks, must be one node; with the built-in benchmark also the share
    of stat calls on another node. On a single node noted.
    """
    if "-N" not in case.run.arguments:
        return
    geometry, shift = case.run.geometry, case.seen.shift_effective
    found = f"a rank shift of {shift} among {geometry.processes} ranks"
    if geometry.nodes == 1:
        yield note("single node: all phases ran on the node that created the files, as there is no other")
    elif shift is None:
        yield not_printed(case)("rank shift not in the output")
    elif shift % geometry.processes != geometry.processes_per_node:
        same = shift % geometry.processes == 0
        yield violation(
            "all phases ran on the node that created the files"
            if same
            else "phases ran on other nodes than the rules require",
            f"a rank shift of {geometry.processes_per_node} (one node)",
            f"{found}, which leads back to the same rank" if same else found,
        )
    elif case.seen.whole_nodes is False:
        yield violation("rank shift too small: some ranks worked on files of their own node", "whole nodes", found)
    else:
        shares = [r.remote_share for r in case.records if r.operation == "stat" and r.remote_share is not None]
        if shares and shares[0] < 1 and not case.files.inflated:
            yield violation(
                "some stat calls ran on the node that created the file",
                "100% of the stat calls on another node",
                f"{apart(100 * shares[0], 100)[0]}% of the stat calls on another node",
            )


@attempt_rule(
    "GEO-01",
    "ranks are placed in the planned consecutive blocks, equal or with one rank more on the first nodes",
    why="with another placement a rank offset does not move the work to another node, and nodes have other work",
    remedy="run the result again with block distribution and the planned number of ranks on each node",
    needs=Needs.COUNTS,
)
def ranks_placed(case: Case) -> Iterator[Finding]:
    """The placement that the output shows, the job saw, or its probe with the same launcher found. Not checked: none of
    them.
    """
    seen, geometry = case.seen, case.run.geometry
    if seen.placement is None or seen.processes_per_node is None:
        yield not_printed(case)("rank placement not in the output")
    elif geometry.larger and seen.placement == "block" and not (seen.processes_per_node or seen.uneven):
        yield not_printed(case)("number of ranks on each node not in the output")
    elif seen.placement != "block" or (seen.uneven or seen.processes_per_node) != (
        geometry.blocks if geometry.larger else geometry.processes_per_node
    ):
        uneven = listed([str(count) for count in seen.uneven]) or "uneven"
        yield violation(
            "ranks are not placed in the planned blocks" if geometry.larger else "ranks are not placed in equal blocks",
            f"block placement, {geometry.spread}",
            f"{seen.placement} placement, {seen.processes_per_node or uneven} per node",
        )


@attempt_rule(
    "GEO-02",
    "process and node counts meet the launch condition",
    why="results with other process or node counts belong to another line of the table",
    remedy="run the result again with the process and node counts of its launch condition",
    needs=Needs.COUNTS,
    decided_by=DecidedBy.PLAN | DecidedBy.RECORDS,
)
def geometry_as_planned(case: Case) -> Iterator[Finding]:
    """Processes and nodes in the output, the planned ones, and the launch condition agree."""
    seen, geometry = case.seen, case.run.geometry
    processes = geometry.processes if seen.processes is None else seen.processes
    nodes = geometry.nodes if seen.nodes is None else seen.nodes
    if (nodes, processes) != (geometry.nodes, geometry.processes):
        yield violation(
            "ran with other process or node counts than planned for {launch}",
            processes_on(geometry.processes, geometry.nodes),
            processes_on(processes, nodes),
            launch=case.run.launch,
        )
    elif seen.processes is None or seen.nodes is None:
        lacking = [name for name, count in (("processes", seen.processes), ("nodes", seen.nodes)) if count is None]
        yield not_printed(case)("number of {lacking} not in the output", lacking=" and ".join(lacking))
    elif not case.run.commands[0].geometry:  # a phase's own counts are the pack's
        condition = next(condition for condition in case.pack.launch if condition.id == case.run.launch)
        kept = condition.processes in (None, seen.processes) and condition.nodes in (None, seen.nodes)
        if isinstance(condition.processes_per_node, int):
            kept = kept and condition.processes_per_node * seen.nodes == seen.processes
        if not kept or seen.nodes < condition.minimum_nodes:
            yield violation(
                "process or node count does not meet the launch condition {launch}",
                condition.needs,
                processes_on(seen.processes, seen.nodes),
                launch=case.run.launch,
            )
    if case.run.gres:
        yield from _resources(case)
    node, ran_on = case.run.node, tuple(dict.fromkeys(seen.node_names or case.placement))
    if node and not ran_on:
        yield unchecked("the node where it ran is not recorded")
    elif node and ran_on != (node,):
        yield violation("ran on another node than planned", node, listed(ran_on))
    wanted = str(case.run.threads or "")
    threads = case.evidence.witness.threads if seen.threads is None else (str(seen.threads),)
    if wanted and not threads:
        yield unchecked("threads per process not recorded")
    elif wanted and threads != (wanted,):
        yield violation("processes ran with a different number of threads than planned", wanted, ", ".join(threads))


def _resources(case: Case) -> Iterator[Finding]:
    """What Slurm gave the job of generic resources, which its steps share, as the job recorded it."""
    given = re.sub("gres[:/]", "", case.evidence.environment.job.get("TresPerNode", ""))
    if not case.evidence.environment.job:
        yield unchecked("generic resources of the job not recorded")
    elif not {*case.run.gres.split(",")} <= {*given.split(",")}:
        yield violation("the job had other generic resources than planned", case.run.gres, given or "none")


@attempt_rule(
    "RUN-01",
    "the run finished with exit status 0 and was neither requeued nor suspended",
    why="a run that failed, was started twice, or stood still while the clock went on has no trustworthy value",
    remedy="find the cause in the run's stdout and stderr, then repeat it with 'campaign rerun FILE CELL'",
    needs=Needs.NOTHING,
    is_about_run=True,
)
def ended_well(case: Case) -> Iterator[Finding]:
    """The job's own record. Suspension (`scontrol suspend`, gang scheduling, preemption) also by scontrol's SuspendTime
    and sacct's Suspended of the run's steps. A benchmark that printed its last line and did not end, so that the job
    ended it a minute later, has to be explained (W); its results stay valid.
    """
    yield from was_suspended(case)
    if case.attempt.state is not State.DONE:
        yield violation(
            "the run ended as {state}: {reason}", "done", state=case.attempt.state, reason=case.attempt.reason
        )
    elif case.evidence.completion and (line := case.evidence.completion.unended):
        yield doubt(case.full)(
            "the benchmark printed its last line, after all results, and did not end; the job ended it a minute later",
            "its processes end by themselves",
            line,
        )


@attempt_rule(
    "RUN-06",
    "the output is complete and free of errors, and every rate is above zero",
    why="a run with errors or an incomplete output may not have done the work that it reports",
    remedy="find the cause in the run's stdout and stderr, then repeat it with 'campaign rerun FILE CELL'",
    needs=Needs.NOTHING,
)
def clean_output(case: Case) -> Iterator[Finding]:
    """Errors on stdout and stderr, failed operations, the closing line, a rate above zero for each operation;
    unrecognised lines are noted.
    """
    seen, done = case.seen, case.attempt.state is State.DONE
    # RUN-01 reports a run that failed, with the output's message if there is one.
    if done or not any(text.file and text.file in case.attempt.reason for text in seen.errors):
        yield from (violation("error in the benchmark output: {line}", line=text) for text in seen.errors)
    if not done:
        return
    for warning in seen.warnings:
        # Every attempt has its own directory; without the path, equal warnings of several attempts are reported once.
        words = warning.text.replace(case.directory, f"{case.directory.rpartition('-')[0]}-TOKEN")
        yield note("warning in the benchmark output: {line}", "", warning.place, line=words)
    if seen.program.startswith(BUILTIN) and seen.binary_sha256 is None:
        yield violation("bench.jsonl is missing or unreadable; the built-in benchmark always writes it")
    if seen.failed_operations:
        yield violation("operations failed", 0, seen.failed_operations)
    if not seen.complete:
        yield violation("the benchmark output is incomplete (no closing line)")
    results = {operation.id: record for operation, record in case.reported}
    for operation in case.operations:
        record = results.get(operation.id)
        if record is None:
            # The output's records that belong to no operation are of another size or program.
            keys = {each.key for each in case.operations}
            others = listed(each.operation for each in case.records if each.operation not in keys)
            instead = (operation.key, others) if operation.record and others else ()
            yield violation("no result for {name} in the output", *instead, name=operation.id)
        elif not record.value > 0 and not (record.value < 0 and may_be_negative(record.unit)):  # also true for NaN
            yield violation("the rate of {name} is not above zero", "> 0", record.value, name=operation.id)
    for text in seen.unparsed:
        yield note("unrecognised output line: {line}", line=text)


@attempt_rule(
    "PHY-03",
    "where the benchmark's formula overcounts, actual rates and counts are reported too",
    why="a formula that counts work which was not done makes the rate look higher than it is",
    remedy="report the actual rate and count beside the printed ones",
)
def inflated_counts(case: Case) -> Iterator[Finding]:
    """For operations marked as inflated, the actual rate besides the printed one: by the built-in benchmark itself, for
    other mdtests from their command line (`-S`, `-n`) and processes; noted. For others, a rate of more operations
    than were performed is a violation. Before version 4, mdtest prints the rate of its fastest process: tables say so
    at the number, and the actual rate is noted where the output shows it (`Min` of a single iteration, or items /
    longest time). Not checked: an external benchmark whose command line does not tell.
    """
    for operation, record in case.reported:
        actual = _less(record)
        if actual is not None and record.of_fastest:
            yield note(
                "the benchmark prints the rate of its fastest process",
                f"{digits(actual)} {record.unit} (actual)",
                f"{digits(record.value)} {record.unit} (printed)",
                operation=operation.id,
            )
            continue
        if operation.id not in case.files.inflated:
            if actual is not None:
                yield violation(
                    "fewer operations were performed than its rate counts",
                    f"{digits(record.value)} {record.unit} (by the formula)",
                    f"{digits(actual)} {record.unit} (actual)",
                    operation=operation.id,
                )
            continue
        # The built-in benchmark reports what was done; if it does not, that is no answer.
        builtin = case.seen.program.startswith(BUILTIN)
        if record.operations_done is None:
            yield (violation if builtin else unchecked)(
                "the rate assumes one operation for each process and file; this benchmark does not print how many "
                "there were, the built-in one does",
                operation=operation.id,
            )
        elif builtin and record.true_value is None and case.run.geometry.processes > 1:
            yield violation(
                "the output claims as many actual operations as the formula counts, which is impossible",
                operation=operation.id,
            )
        elif actual is not None:
            yield note(
                "the formula counts more operations than were performed",
                f"{digits(actual)} {record.unit} (actual)",
                f"{digits(record.value)} {record.unit} (by the formula)",
                operation=operation.id,
            )
        elif record.files_true is not None and record.files_true != case.run.items_total:
            yield note(
                "all processes share the same {unit}; the formula counts them once per process",
                f"{record.files_true} {case.pack.items_unit} (created)",
                f"{case.run.items_total} {case.pack.items_unit} (by the formula)",
                operation=operation.id,
                unit=case.pack.items_unit,
            )


def _less(record: Record) -> float | None:
    """The actual number if it is less than the formula's; of means, one is rounded and the other is not."""
    actual = record.true_value
    return None if actual is None or actual >= record.value - 0.001 else actual


@attempt_rule(
    "STA-05",
    "values have the unit that the rules ask for and are not rounded without explanation",
    why="values in other units, or rounded ones, cannot be compared or traced to a log",
    remedy="report the value and unit exactly as the benchmark printed them",
)
def units_as_asked(case: Case) -> Iterator[Finding]:
    """The unit of each record; in a table alone, whether most numbers are multiples of 100."""
    for operation, record in case.reported:
        printed = (case.record(operation.key) if operation.printed_unit else record) or record
        wanted = operation.printed_unit or operation.unit
        if printed.unit != wanted:
            yield violation("unit of {name} differs from the rule pack's", wanted, printed.unit, name=operation.id)


@attempt_rule(
    "CCH-05",
    "bandwidths are of the storage, not of memory",
    why="the bandwidth of memory says nothing about the storage",
    remedy="measure more data than the nodes' memory holds, with fsync and with another node reading the data",
    parameters={
        "share": Parameter(Quantity.SHARE, 0.05, "largest share of the bytes that may come from memory"),
        "memory": Parameter(
            Quantity.FACTOR,
            0.0,
            "minimum number of bytes moved, as a multiple of the memory of the run's nodes",
        ),
    },
)
def storage_measured(case: Case) -> Iterator[Finding]:
    """For `files` with `storage`: shares of bytes read from the page cache, and not yet on storage when timing ended;
    without such shares, the data must be twice the nodes' memory. With `memory`: the bytes moved compared with that
    multiple. On one node, and in a rehearsal, noted. Not checked: neither shares nor size show it, or memory was not
    recorded.
    """
    yield from _more_than_memory(case)
    allowed, memory = case.pack.parameter("CCH-05", "share"), case.memory
    for operation, record in case.reported:
        if record.cached_share is None and record.dirty_share is None:
            moved = record.moved_bytes
            if case.files.storage and (moved is None or memory is None):
                yield unchecked("page cache contents not in the output", operation=operation.id)
            elif case.files.storage and moved is not None and memory is not None and moved < EVIDENT * memory:
                yield unchecked(
                    "page cache contents not in the output, and {moved} of data fit into {memory} of memory",
                    operation=operation.id,
                    moved=format_size(moved),
                    memory=format_size(memory),
                )
            continue
        for share, why in (
            (record.cached_share, "the data was already in the reading node's page cache"),
            (record.dirty_share, "the data was not yet on storage when timing ended"),
        ):
            if share is None or share <= allowed:
                continue
            # A single node cannot read from elsewhere, and a rehearsal is too small to leave the cache.
            must = case.files.storage and case.run.geometry.nodes > 1
            most, found = apart(100 * allowed, 100 * share)
            yield (at_full_size(violation, case.full) if must else note)(
                "bandwidth of memory, not of storage: {why}",
                f"at most {most}% of the bytes",
                f"{found}% of the bytes",
                operation=operation.id,
                why=why,
            )


def _more_than_memory(case: Case) -> Iterator[Finding]:
    """The bytes moved for each bandwidth, compared with the recorded memory of the nodes."""
    multiple, memory = case.pack.parameter("CCH-05", "memory"), case.memory
    anywhere = any(files.storage for files in case.pack.files)
    if not multiple or (anywhere and not case.files.storage):
        return
    for operation, reported in case.reported:
        for record in reported.measured:
            if record.unit not in BYTES:
                continue
            if record.moved_bytes is None or memory is None:
                yield unchecked("amount of data or memory of the nodes not recorded", operation=operation.id)
            elif record.moved_bytes < multiple * memory * (1 - WITHIN):
                yield at_full_size(violation, case.full)(
                    "less data moved than the rules require for the nodes' memory",
                    f"{format_size(multiple * memory)} ({multiple:g} x {format_size(memory)})",
                    format_size(record.moved_bytes),
                    operation=operation.id,
                )


@attempt_rule(
    "CCH-04",
    "single-node results are labelled as within reach of the client cache",
    why="on a single node the client's cache may answer instead of the servers",
    remedy="nothing; the label stays with the result",
    severity=Severity.INFO,
    can_invalidate=False,
)
def cache_in_reach(case: Case) -> Iterator[Finding]:
    """One node."""
    if case.run.geometry.nodes == 1:
        yield note("single node: results may include client cache")


def _after(words: Sequence[str], flag: str) -> str | None:
    return words[words.index(flag) + 1] if flag in words[:-1] else None
