"""The rules that look at one ended attempt by its own outputs. Pure."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence

from campaign.core.model import Finding, State
from campaign.judge.findings import note, unchecked, violation
from campaign.results.case import Case

SMALL = "rehearsal size: not a compliant result"
BUILTIN = "campaign bench "  # how the project's own benchmark names itself


def flags_present(case: Case) -> Iterator[Finding]:
    """FLG-01: the flags that must not be omitted are in the executed argv."""
    if not case.seen.argv:
        yield unchecked("the output does not show the command line")
        return
    lacking = [flag.flag for flag in case.pack.fixed if flag.flag not in case.seen.argv]
    if lacking:
        yield violation(f"executed without {' '.join(lacking)}", " ".join(case.planned), shlex.join(case.seen.argv))


def configuration_flags(case: Case) -> Iterator[Finding]:
    """FLG-02: the configuration's own flags, and no other configuration's."""
    if not case.seen.argv:
        yield unchecked("the output does not show the command line")
        return
    own = set(case.files.flags)
    others = {flag for files in case.pack.files for flag in files.flags} - own
    lacking, foreign = own - set(case.seen.argv), others & set(case.seen.argv)
    if lacking or foreign:
        yield violation(
            f"not the flags of {case.files.id}",
            " ".join(sorted(own)) or "none of " + " ".join(sorted(others)),
            shlex.join(case.seen.argv),
        )


def no_other_flags(case: Case) -> Iterator[Finding]:
    """FLG-03: the executed words are the planned ones, in their order."""
    if not case.seen.argv:
        yield unchecked("the output does not show the command line")
    elif tuple(case.seen.argv[1:]) != case.planned:
        yield violation("executed otherwise than planned", shlex.join(case.planned), shlex.join(case.seen.argv[1:]))
    elif case.seen.argv[0] != case.run.executable:
        yield violation("another program was executed", case.run.executable, case.seen.argv[0])


def item_count(case: Case) -> Iterator[Finding]:
    """FLG-04: processes x n reaches the total, and the benchmark counted as many; what else has a size has the full."""
    values = case.pack.values
    other = [variable for variable in case.pack.variables if values.get(variable.id, variable.full) != variable.full]
    if other:
        yield note(
            "not the pack's own values" if case.full else SMALL,
            ", ".join(f"{variable.id} {variable.full}" for variable in other),
            ", ".join(f"{variable.id} {values[variable.id]}" for variable in other),
        )
    total = case.run.items_total
    if total is None:
        return
    asked = case.pack.items_total.get("full", 0)
    if total < asked and case.full:
        yield violation(f"fewer {case.pack.items_unit} than the rules ask for", f"{asked} or more", total)
    elif total < asked:
        yield note(SMALL, f"{asked} or more", total)
    counted = case.seen.files_reported
    if counted is None:
        yield unchecked("the output does not say how many items there were")
    # mdtest 4.x prints "1 file" for its shared files, whatever n is.
    elif counted != total and not (case.files.inflated and counted == 1):
        yield violation(f"the benchmark counted other {case.pack.items_unit} than planned", total, counted)


def own_directory(case: Case) -> Iterator[Finding]:
    """FLG-05: what names a directory or a file names the attempt's own directory, absolute, under the target."""
    for position, word in enumerate(case.run.arguments):
        if "{directory}" not in word:
            continue
        if not case.seen.argv:
            yield unchecked("the output does not show the command line")
            return
        expected, before = case.planned[position], case.planned[position - 1] if position else ""
        stem = word.partition("{directory}")[0]
        actual = (
            _after(case.seen.argv, before)
            if not stem and before.startswith("-")
            else next((given for given in case.seen.argv[1:] if given.startswith(f"{stem}/")), None)
        )
        if actual != expected:
            yield violation("measured in another directory", expected, actual)


def offset_as_told(case: Case) -> Iterator[Finding]:
    """FLG-06: the value of -N in the executed argv."""
    expected = _after(case.planned, "-N")
    if expected is None:
        return
    actual = _after(case.seen.argv, "-N")
    if not case.seen.argv:
        yield unchecked("the output does not show the command line")
    elif actual != expected:
        yield violation("-N is not the rank offset of one node", expected, actual)
    elif "{rank_offset}" in case.pack.arguments and expected != str(case.run.geometry.processes_per_node):
        yield note(
            "-N is given in nodes, which is what this version of the benchmark takes: the same offset in ranks",
            f"an offset of {case.run.geometry.processes_per_node} ranks",
            f"-N {actual}",
        )


def shift_happened(case: Case) -> Iterator[Finding]:
    """FLG-07: every phase worked on files that another node had made."""
    if "-N" not in case.planned:
        return
    geometry = case.run.geometry
    shift = case.seen.shift_effective
    if geometry.nodes == 1:
        yield note("one node: every phase works where the files were made")
    elif shift is None:
        yield unchecked("the output does not say by how many ranks the phases were shifted")
    elif shift % geometry.processes != geometry.processes_per_node:
        where = "the node that made the files" if shift % geometry.processes == 0 else "other nodes than the rule says"
        yield violation(
            f"the phases ran on {where}", f"a shift of {geometry.processes_per_node} ranks", f"{shift} ranks"
        )
    elif case.seen.whole_nodes is False:
        yield violation("the shift left ranks on their own node", "whole nodes", f"{shift} ranks")
    else:
        shares = [r.remote_share for r in case.records if r.operation == "stat" and r.remote_share is not None]
        if shares and shares[0] < 1 and not case.files.inflated:
            yield violation("some stats ran on the node that made the file", "1", f"{shares[0]:.3f}")


def ranks_placed(case: Case) -> Iterator[Finding]:
    """GEO-01: consecutive ranks share a node, the same number on each."""
    seen, geometry = case.seen, case.run.geometry
    if seen.placement is None or seen.processes_per_node is None:
        yield unchecked("the output does not say which rank ran where")
    elif seen.placement != "block" or seen.processes_per_node != geometry.processes_per_node:
        yield violation(
            "ranks are not block-placed and even",
            f"block, {geometry.processes_per_node} per node",
            f"{seen.placement}, {seen.processes_per_node or 'uneven'} per node",
        )


def geometry_as_planned(case: Case) -> Iterator[Finding]:
    """GEO-02: the processes and nodes of the launch condition."""
    seen, geometry = case.seen, case.run.geometry
    if seen.processes is None or seen.nodes is None:
        yield unchecked("the output does not say how many processes ran on how many nodes")
    elif (seen.nodes, seen.processes) != (geometry.nodes, geometry.processes):
        yield violation(
            f"not the geometry of {case.run.launch}",
            f"{geometry.processes} processes on {geometry.nodes} nodes",
            f"{seen.processes} on {seen.nodes}",
        )
    else:
        condition = next(condition for condition in case.pack.launch if condition.id == case.run.launch)
        kept = condition.processes in (None, seen.processes) and condition.nodes in (None, seen.nodes)
        if not kept or seen.nodes < condition.minimum_nodes:
            message = f"not what {case.run.launch} asks for"
            yield violation(message, condition.needs, f"{seen.processes} on {seen.nodes}")


def ended_well(case: Case) -> Iterator[Finding]:
    """RUN-01: the run ended with status 0, in one job that Slurm did not start again."""
    if case.attempt.state is not State.DONE:
        yield violation(f"the run ended as {case.attempt.state}: {case.attempt.reason}", "done")


def clean_output(case: Case) -> Iterator[Finding]:
    """RUN-06: no error in the output, nothing that failed, every phase above zero, nothing unread."""
    seen = case.seen
    for text in seen.errors:
        yield violation(f"the output speaks of an error: {text}")
    for warning in seen.warnings:
        # Every attempt has a directory of its own: what is the same in all is to stand once.
        words = warning.text.replace(case.directory, f"{case.directory.rpartition('-')[0]}-TOKEN")
        yield note(f"the output speaks of a warning: {words}", "", warning.place)
    if seen.program.startswith(BUILTIN) and seen.binary_sha256 is None:
        yield violation("bench.jsonl, which the builtin benchmark always writes, is not there")
    if seen.failed_operations:
        yield violation("operations failed", 0, seen.failed_operations)
    if not seen.complete:
        yield violation("the output ends before the benchmark's closing line")
    for operation in case.operations:
        record = case.record(operation.record)
        if record is None:
            yield violation(f"the output has no result for {operation.id}")
        elif not record.value > 0:  # NaN neither
            yield violation(f"the rate of {operation.id} is not above zero", "> 0", record.value)
    for text in seen.unparsed:
        yield note(f"a line of the output that is not known: {text}")


def inflated_counts(case: Case) -> Iterator[Finding]:
    """PHY-03: where the benchmark's formula counts more than happened, both numbers stand."""
    for operation, record in case.reported:
        if operation.id not in case.files.inflated:
            continue
        # The project's own says what was done, so that its silence is no answer.
        own = case.seen.program.startswith(BUILTIN)
        if record.operations_done is None:
            silent = f"{operation.id}: the benchmark counts what every process would do, and does not say what was done"
            yield violation(silent) if own else unchecked(silent)
        elif own and record.true_value is None and case.run.geometry.processes > 1:
            yield violation(f"{operation.id}: by the output all that the formula counts happened, which cannot be")
        elif record.true_value is not None and record.true_value < record.value:
            yield note(
                f"{operation.id}: the benchmark's formula counts more operations than were performed",
                f"{record.true_value:.3f} {record.unit} really performed",
                f"{record.value:.3f} {record.unit} by the formula",
            )
        elif record.files_true is not None and record.files_true != case.run.items_total:
            yield note(
                f"{operation.id}: every process works on the same {case.pack.items_unit}",
                f"{record.files_true} {case.pack.items_unit} really there",
                f"{case.run.items_total} by the formula",
            )


def units_as_asked(case: Case) -> Iterator[Finding]:
    """STA-05: every number has the unit that the rules ask for."""
    for operation, record in case.reported:
        if record.unit != operation.unit:
            yield violation(f"{operation.id} has another unit", operation.unit, record.unit)


def storage_measured(case: Case) -> Iterator[Finding]:
    """CCH-05: what was read came from the storage, and what was written had reached it when the clock stopped."""
    allowed = case.pack.parameter("CCH-05", "share")
    for operation, record in case.reported:
        if record.cached_share is None and record.dirty_share is None:
            if case.files.storage:
                yield unchecked(f"{operation.id}: the output does not say what the page cache held")
            continue
        for share, where in (
            (record.cached_share, "in the page cache of the node that read them"),
            (record.dirty_share, "still only in memory when the clock stopped"),
        ):
            if share is None or share <= allowed:
                continue
            # One node has nowhere else to read from, and a rehearsal is too small to leave the cache.
            must = case.files.storage and case.run.geometry.nodes > 1 and case.full
            yield (violation if must else note)(
                f"{operation.id} measures memory: that share of its bytes was {where}",
                f"at most {allowed:.0%}",
                f"{share:.1%}",
            )


def cache_in_reach(case: Case) -> Iterator[Finding]:
    """CCH-04: on one node the client's cache is in reach of every phase."""
    if case.run.geometry.nodes == 1:
        yield note("client cache in reach: one node made the files and worked on them")


def _after(words: Sequence[str], flag: str) -> str | None:
    return words[words.index(flag) + 1] if flag in words[:-1] else None
