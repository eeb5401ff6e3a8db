"""The benchmark's JSON lines (docs/bench-jsonl.md) -> records and an observation. Pure.

Results of an applet are its `record` lines, whichever applet it is; but mdtest and ior, whose texts have parsers, write
lines of their own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from campaign.core import units
from campaign.core.records import Attestation, Observation, RankGroup, Record
from campaign.core.untrusted import WrongField
from campaign.results.parsers.json_applets import READERS, Execution, JsonLine, Latencies, LineReader, Timeline, decode
from campaign.results.parsers.lines import Notes, Repeats

FORMAT = 1
MOST_RANKS = 10_000_000
MOST_GROUPS = 10_000  # of processes with the same libraries and variables


def parse(text: str, file: str) -> tuple[list[Record], Observation]:
    """Parse a bench.jsonl; `file` is its name in sources and messages. Nothing is raised.

    A record's `source` is the line of its best iteration. A file of another format is refused as a whole: no records,
    and an error.
    """
    notes = Notes(file)
    run = _execution(text, notes)
    if run is None:
        if not text.strip():
            notes.error(None, "empty: the benchmark wrote no results")
        return [], notes.added_to(Observation())
    if not run.ended:
        notes.error(None, "no `end` line: the benchmark ended early")
    records = _records(run)
    # Without its end, the file gives the number of failures only if there were some.
    failed = max(run.observation.failed_operations or 0, run.failed_operations)
    failed_operations = failed if run.ended or failed else None
    return records, notes.added_to(replace(run.observation, failed_operations=failed_operations, complete=run.ended))


def latencies(text: str) -> dict[tuple[str, int], list[Latencies]]:
    """Latencies by operation and iteration, in order, of the `latency` lines in which `parse` finds no error."""
    run = _execution(text, Notes(""), keeps_courses=True)
    return run.latencies if run else {}


def timelines(text: str) -> dict[str, list[Timeline]]:
    """Timelines by operation, in the order of the ranks, of the lines in which `parse` finds no error, with the
    interval of the first.
    """
    run = _execution(text, Notes(""), keeps_courses=True)
    return {
        operation: sorted(
            (line for line in lines if line.interval_s == lines[0].interval_s), key=lambda line: line.rank
        )
        for operation, lines in (run.timelines if run else {}).items()
    }


def _execution(text: str, notes: Notes, keeps_courses: bool = False) -> Execution | None:
    """All that the lines say, None if the first is not that of this format."""
    run: Execution | None = None
    lines = text.split("\n")
    for number, raw in enumerate(lines, 1):
        if not raw.strip():
            continue
        try:
            line = decode(number, raw, last=number == len(lines))
            if run is None:
                run = replace(_start(line, notes), keeps_courses=keeps_courses)
            else:
                _take(run, line)
        except WrongField as wrong:
            notes.error(number, f"{wrong}; file ignored" if run is None else str(wrong))
            notes.unparsed(number, raw)
            if run is None:
                break
    return run


def _take(run: Execution, line: JsonLine) -> None:
    kind = line.data["type"]
    take = _COMMON.get(kind) or READERS.get(run.applet, _OTHERS).get(kind)
    if take is None:
        run.notes.unparsed(line.number, f"unknown line type {kind!r} of applet {run.applet}")
    elif run.ended:
        raise WrongField(f"`{kind}` line after the `end` line")
    else:
        take(run, line)


# --- lines of every applet


def _start(line: JsonLine, notes: Notes) -> Execution:
    if line.get("type") != "start":
        raise WrongField(f"first line is `{line.get('type')}`; expected `start`")
    if line.get("format") != FORMAT or isinstance(line.get("format"), bool):
        raise WrongField(f"format {line.get('format')!r}; expected {FORMAT}")
    placement = line.choice("placement", "block", "cyclic", "irregular")
    applet = line.word("applet")
    run = Execution(notes, applet, Repeats(notes, of_sample=applet != "ior"))
    run.observation = Observation(
        program=f"campaign {line.word('program')} {line.word('version')}",
        argv=line.words("argv"),
        processes=line.count("processes"),
        nodes=line.count("nodes"),
        processes_per_node=line.count("processes_per_node"),
        uneven=_uneven_rank_counts(line),
        placement=placement,
        binary_sha256=line.word("binary_sha256"),
        binary_agreed=line.boolean("binary_agreed"),
        job_id=_id(line, "job_id"),
        step_id=_id(line, "step_id"),
        node_names=tuple(node.word("node") for node in line.objects("rank_to_node")),
        began=line.optional("unix_time"),
        clock_step_s=line.optional("clock_step_s"),
        attestation=_attestation(line),
    )
    if contradiction := _rank_map_problem(line, run.observation):
        notes.error(1, contradiction)
    if not run.observation.binary_agreed:
        notes.error(1, "the ranks ran different executables; the hash is that of rank 0")
    return run


def _attestation(line: JsonLine) -> Attestation:
    """The nodes and the compiler in the first line."""
    nodes = line.objects("rank_to_node")
    boots = {node.word("node"): node.word("boot") for node in nodes if node.get("boot") is not None}
    clocks = {node.word("node"): node.number_of("unix_time") for node in nodes}
    return Attestation(compiler=line.text("compiler"), boots=boots, clocks=clocks)


def _take_rank_group(run: Execution, line: JsonLine) -> None:
    assert run.observation.attestation is not None  # since the first line
    if len(run.observation.attestation.groups) == MOST_GROUPS:
        raise WrongField(f"more than {MOST_GROUPS} groups of processes")
    group = RankGroup(
        processes=line.count("processes"),
        first_rank=line.count("first_rank"),
        first_node=line.word("first_node"),
        objects=line.texts("objects"),
        functions=line.texts("functions"),
        variables=line.texts("environment"),
        mount=line.texts("mount"),
    )
    groups = (*run.observation.attestation.groups, group)
    run.observation = replace(run.observation, attestation=replace(run.observation.attestation, groups=groups))


def _id(line: JsonLine, key: str) -> str | None:
    return None if line.get(key) is None else line.word(key)


def _rank_map_problem(line: JsonLine, seen: Observation) -> str:
    """Contradictions between the map of ranks to nodes and the numbers and placement beside it, "" for none."""
    ranks = [_ranks(node.get("ranks")) for node in line.objects("rank_to_node")]
    if not ranks:
        return ""
    total = sum(len(span) for spans in ranks for span in spans)
    if (len(ranks), total) != (seen.nodes, seen.processes):
        return f"rank_to_node has {len(ranks)} nodes and {total} ranks; expected {seen.nodes} and {seen.processes}"
    if total > MOST_RANKS:
        return f"rank_to_node has {total} ranks; at most {MOST_RANKS} are read"
    flat = [rank for spans in ranks for span in spans for rank in span]
    if sorted(flat) != list(range(len(flat))):
        return "rank_to_node: some ranks are missing or listed twice"
    counts = [sum(map(len, spans)) for spans in ranks]
    fewest, highest = min(counts), max(counts)
    if (fewest if fewest == highest else 0) != seen.processes_per_node:
        range_text = fewest if fewest == highest else f"{fewest} to {highest}"
        return f"rank_to_node has {range_text} ranks per node; expected {seen.processes_per_node}"
    if seen.placement == "block" and flat != list(range(len(flat))):
        return "rank_to_node: the ranks of a node are not consecutive, but the placement is block"
    return ""


def _uneven_rank_counts(line: JsonLine) -> tuple[int, ...]:
    """The ranks on each node, where they differ."""
    counts = tuple(sum(map(len, _ranks(node.get("ranks")))) for node in line.objects("rank_to_node"))
    return counts if len(set(counts)) > 1 else ()


def _ranks(text: object) -> list[range]:
    """`0-3,8` as ranges."""
    try:
        return units.parse_ranges(text if isinstance(text, str) else "")
    except ValueError as error:
        raise WrongField(f"rank_to_node: {error}") from None


def _second_start(run: Execution, line: JsonLine) -> None:
    raise WrongField("second `start` line: several runs wrote this file")


def _message(line: JsonLine) -> str:
    """The message with its place on the line: "stat '/scratch/x' on rank 3 (n2): No such file (ENOENT)"."""
    forms = {"operation": "{}", "path": "'{}'", "rank": "on rank {}", "node": "({})"}
    where = " ".join(form.format(line.get(key)) for key, form in forms.items() if line.get(key) is not None)
    return f"{where}: {line.text('message')}" if where else line.text("message")


def _end(run: Execution, line: JsonLine) -> None:
    status, failed, code = line.text("status"), line.count("failed_operations"), line.count("exit_status")
    run.ended = True
    assert run.observation.attestation is not None
    attestation = replace(
        run.observation.attestation,
        clock_s=line.optional("clock_s"),
        kernel_clock_s=line.optional("kernel_clock_s"),
        phases_s=run.phases_s or None,
        loaded_later=line.texts("loaded_later"),
    )
    run.observation = replace(
        run.observation, failed_operations=failed, ended=line.optional("unix_time"), attestation=attestation
    )
    if status != "ok" or code != 0:
        run.notes.error(line.number, f"benchmark status {status}: {failed} failed operations, exit status {code}")


def _record(run: Execution, line: JsonLine) -> None:
    """A result under the name, and in the unit, of the text; of several with one name, each is an iteration."""
    statistics = {name: line.optional(name) for name in ("elapsed_s", "remote_share", "cached_share")} | line.spread(
        "ranks"
    )
    details = {name: value for name, value in statistics.items() if value is not None}
    run.results.add(line.word("record"), line.number_of("value"), line.word("unit"), line.number, details)


def _process(run: Execution, line: JsonLine) -> None:
    interval_s, moved = line.number_of("interval_s"), line.counts("timeline_bytes")
    if not 0 < interval_s < 1e9:
        raise WrongField(f"interval_s: {interval_s:g} is not above 0 and below 1e9")
    timeline = Timeline(line.count("rank"), line.text("node"), interval_s, tuple(moved))
    if run.keeps_courses:
        run.timelines.setdefault(line.text("operation"), []).append(timeline)


def accept_line(run: Execution, line: JsonLine) -> None:
    """For lines that campaigns do not read: what is measured beside the results, or computed of them."""


_COMMON: Mapping[str, LineReader] = {
    "start": _second_start,
    "attestation": _take_rank_group,
    "warning": lambda run, line: run.notes.warning(line.number, _message(line)),
    "error": lambda run, line: run.notes.error(line.number, _message(line)),
    "end": _end,
    "process": _process,
    **dict.fromkeys(("bandwidth", "plan", "result", "verify"), accept_line),
}
_OTHERS: Mapping[str, LineReader] = {"record": _record, "phase": accept_line}


# --- the whole


def _records(run: Execution) -> list[Record]:
    records = run.results.records()
    # The results of ior's tests end with the test's number, which is left out where there is only one.
    if run.applet == "ior" and len({record.operation.rpartition("-")[2] for record in records}) == 1:
        return [replace(record, operation=record.operation.rpartition("-")[0]) for record in records]
    return records
