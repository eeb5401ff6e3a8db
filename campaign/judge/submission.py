"""A whole campaign, and the rules about its records: its cells, attempts, journal and rule pack. Pure.

A finding's subject says what it is about: a cell or a glob over cells (`scratch/single/*/*`), an attempt of a run
(`scratch.single.shared.r1/1`), or `campaign`. A violation about cells makes them invalid.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from itertools import pairwise
from pathlib import Path

from campaign.config.format import Campaign
from campaign.config.rules.catalogue import CATALOGUE
from campaign.config.rules.pack import RulePack
from campaign.config.rules.packs import digest_of_own
from campaign.config.waivers import NO_ANSWERS, Answers
from campaign.core.events import Event
from campaign.core.grouping import grouped
from campaign.core.journal import Chain
from campaign.core.model import Attempt, Cell, Finding, Record, Run, Severity, State, Status
from campaign.core.units import listed, several
from campaign.judge.findings import Form, doubt, note, to_explain, unchecked, unchecked_by_buyer, violation
from campaign.judge.rule import Needs, campaign_rule
from campaign.plan import matrix
from campaign.plan.adaptive import SearchProgress, all_runs
from campaign.results.case import Case
from campaign.results.cells import Row, patterns
from campaign.results.source.facts import OwnSource, Sources
from campaign.slurm.partitions import Partition

RECORDS = frozenset(rule for rule, entry in CATALOGUE.items() if entry.is_about_records)
MOST_SHOWN = 20  # attempts
CLOCKS_S = 60.0  # how much the clocks of the machines that drive a campaign may differ
Key = tuple[str, int]  # a run's id and the number of its attempt


@dataclass(frozen=True, slots=True)
class Submission:
    """A campaign at this moment: everything that its rules are judged on. `rows` have the findings of their attempts
    already. Data from outside of the database is None if it was not looked up: then the rules that need it are not
    checked.
    """

    campaign: Campaign
    pack: RulePack
    runs: tuple[Run, ...]  # that the cells report
    attempts: tuple[Attempt, ...]  # all recorded ones, including those that no longer count
    results: tuple[Case, ...]  # the ended ones that count
    rows: tuple[Row, ...]
    searches: tuple[SearchProgress, ...] = ()
    again: Mapping[Key, tuple[Record, ...]] | None = None  # the reported attempts' raw outputs, read again
    journal: Chain | None = None
    folders: frozenset[Key] | None = None  # attempts whose folder exists
    unused: frozenset[Key] = frozenset()  # attempts that ended well by their job's record, but not by the journal
    answers: Answers = NO_ANSWERS
    sources: Sources = field(default_factory=Sources)  # of the benchmark
    own_source: OwnSource | None = None  # if the built-in benchmark ran
    partition: Partition | None = None  # as it was when the campaign began
    logs: Mapping[Path, str] | None = None  # texts of the projections' logs, if they exist
    today: date | None = None  # of one that has not run
    programs: tuple[str, ...] = ()  # the hashes of the programs that would run, of one that has not
    findings: tuple[Finding, ...] = ()  # once judged: those beyond single attempts, including those that rows have

    @property
    def all_runs(self) -> tuple[Run, ...]:
        """All runs, including those of searches, which may share some."""
        return all_runs(self.searches, self.runs)

    @property
    def all_findings(self) -> tuple[Finding, ...]:
        """Every finding once, in the catalogue's order: those of rows and the others."""
        order = {rule: number for number, rule in enumerate(CATALOGUE)}
        once = dict.fromkeys([*(finding for row in self.rows for finding in row.findings), *self.findings])
        return tuple(sorted(once, key=lambda finding: order.get(finding.rule, len(order))))

    @property
    def cells(self) -> tuple[Cell, ...]:
        return tuple(row.cell for row in self.rows)

    @property
    def planned_rows(self) -> list[Row]:
        """The rows that are to be measured, or were."""
        return [row for row in self.rows if row.run and row.status not in (Status.DECLINED, Status.PROJECTED)]

    @property
    def measured_rows(self) -> list[Row]:
        """The rows whose value is reported as measured, valid or not."""
        return [row for row in self.rows if row.value is not None and row.status is not Status.PROJECTED]

    @property
    def executed_rows(self) -> list[Row]:
        """Of these, those of one execution each, and not computed across executions."""
        across = {operation.id for operation in self.pack.operations if operation.across}
        return [row for row in self.measured_rows if row.cell.operation not in across]

    @property
    def full(self) -> bool:
        """Whether it is of the RFP's size: what is inherent to a rehearsal is a note, not a violation."""
        return self.pack.profile == "full"

    def over(self, form: Form, cells: Iterable[Cell], *texts: object, **values: object) -> Iterator[Finding]:
        """One finding with this form, texts and values for each line of the table, or for its concerned cells. Not for
        several lines: the finding of one line must not change with another line.
        """
        whole = Counter(cell.line for cell in set(self.cells))
        for line, of_line in grouped((cell.line, cell) for cell in dict.fromkeys(cells)).items():
            for about in ["/".join((*line, "*"))] if len(of_line) == whole[line] else map(str, of_line):
                yield form(*texts, about=about, **values)


@campaign_rule(
    "CMP-01",
    "the table has every result that the rules ask for, for each tier and protocol, and no other",
    why="a table with missing or extra results cannot be compared with other offers",
    remedy="add the missing results to the table and remove those that the rules do not ask for",
)
def every_cell_there(submission: Submission) -> Iterator[Finding]:
    """Each of the pack's cells for each target, exactly once."""
    wanted = matrix.cells(submission.campaign, submission.pack)
    there = Counter(submission.cells)
    for pattern in patterns([cell for cell in wanted if not there[cell]], wanted):
        yield violation("results are missing from the table", "each once", "absent", about=pattern)
    twice = [cell for cell, count in there.items() if count > 1]
    yield from submission.over(violation, twice, "results are in the table more than once", "each once", "several")
    foreign = [cell for cell in there if cell not in set(wanted)]
    yield from submission.over(
        violation,
        foreign,
        "the table has results that the rules do not ask for",
        "only the rule pack's results",
        "others",
    )


@campaign_rule(
    "CMP-02",
    "every declared tier and protocol has a full set of results",
    why="a tier or protocol without results is offered without any proof of its performance",
    remedy="measure or project results for the target, or explain why the offer does not need them",
)
def every_target_answered(submission: Submission) -> Iterator[Finding]:
    """A target that is declined completely requires an explanation (W)."""
    for target in submission.campaign.targets:
        rows = [row for row in submission.rows if row.cell.target == target.name]
        about = f"{target.name}/*/*/*"
        if not rows:
            yield violation(
                "no results for target {target}", "a full set of results", "none", about=about, target=target.name
            )
        elif all(row.status is Status.DECLINED for row in rows):
            yield to_explain(
                "all results of target {target} are declined",
                "a full set of results",
                f"declined: {rows[0].note}",
                about=about,
                target=target.name,
            )


@campaign_rule(
    "CMP-03",
    "every result is measured, projected, or declined with a reason",
    why="a result without a value leaves a gap in the comparison of offers",
    remedy="run 'campaign run FILE' again, or give a projection or a reason for declining in the campaign file",
    needs=Needs.END,
)
def every_cell_answered(submission: Submission) -> Iterator[Finding]:
    """Each cell's status."""
    for row in submission.rows:
        if row.status in (Status.MISSING, Status.FAILED):
            failed = row.attempt is not None and not row.attempt.state.active and row.attempt.state is not State.DONE
            state = str(row.attempt.state) if row.attempt and failed else row.note  # RUN-01 says why
            yield violation(
                "no value: {status}", "measured, projected or declined", state, about=row.cell, status=row.status
            )


@campaign_rule(
    "CMP-04",
    "every value is traceable to a run and to the log line that contains it",
    why="a value that no log contains may have been mistyped or invented",
    remedy="submit the raw output of each value, with the run and the log line that the value comes from",
    is_about_records=True,
    needs=Needs.NUMBERS,
)
def every_number_traced(submission: Submission) -> Iterator[Finding]:
    """Each number is read again: the same operation in the same line of the same file must give the same number and
    unit (projections have no line).
    """
    unread, traceless = [], []
    cases = {case.subject: case for case in submission.results}
    for row in submission.measured_rows:
        if row.run is None or row.attempt is None or row.record is None:
            traceless.append(row.cell)
            continue
        executed = [cases[each] for each in row.executions] or [
            Case(submission.campaign, submission.pack, row.run, row.attempt, (), {})
        ]
        results = [(submission.again or {}).get((case.run.id, case.attempt.number)) for case in executed]
        if None in results:
            unread.append(row.cell)
            continue
        reread = [replace(case, records=tuple(found or ())) for case, found in zip(executed, results, strict=True)]
        again = [part for case in reread for part in case.of("" if row.executions else row.cell.operation)]
        for record in row.record.measured:
            source = record.source
            same = [each for each in again if (each.operation, each.source) == (record.operation, source)]
            if {(result.value, result.unit) for result in same} != {(record.value, record.unit)}:
                yield violation(
                    "{file} line {line} does not contain the reported value"
                    if any(results)
                    else "{file} has no results any more; line {line} had the reported value",
                    f"{record.value} {record.unit}",
                    ", ".join(f"{result.value} {result.unit}" for result in same) or "no such result",
                    about=row.cell,
                    file=source.file,
                    line=source.line,
                )
    yield from submission.over(
        violation, traceless, "values without a run and a log line", "a run and a log line", "none"
    )
    yield from submission.over(unchecked, unread, "raw output was not read again")


@campaign_rule(
    "FLG-08",
    "where `-N` means something else in the benchmark than in the rules, the interpretation is recorded",
    why="buyer and vendor must agree on the meaning of -N before offers are compared",
    remedy="ask the buyer how -N is to be read, and record the answer under explanations in the campaign file",
    severity=Severity.WARNING,
)
def offset_interpreted(submission: Submission) -> Iterator[Finding]:
    """A translated `-N` on several nodes needs a note of the pack with `rules: [FLG-08]`, otherwise an explanation."""
    if "{rank_offset}" not in submission.pack.arguments:
        return  # the pack itself gives the value: nothing was translated
    apart = [
        (run, given)
        for run in submission.runs
        for flag, given in pairwise(run.arguments)
        if run.geometry.nodes > 1 and flag == "-N" and given != str(run.geometry.processes_per_node)
    ]
    if not apart:
        return
    form, values = to_explain, {}
    message = "-N means something else in this benchmark than in the rules; no interpretation is recorded"
    if read_by := next((entry for entry in submission.pack.notes if "FLG-08" in entry.rules), None):
        form, values = note, {"clause": read_by.clause}
        message = (
            "-N means something else in this benchmark than in the rules; interpreted by the rule pack's note on "
            "{clause}"
        )
    cells = [cell for run, _ in apart for cell in run.cells()]
    run, given = apart[0]
    expected = f"-N {run.geometry.processes_per_node} (by the rules)"
    yield from submission.over(form, cells, message, expected, f"-N {given}", **values)


@campaign_rule(
    "RUN-08",
    "all attempts are kept on record, including failed and unused ones",
    why="attempts that disappear could hide slow or failed results",
    remedy=(
        "explain it in the campaign file, for example why a run was measured again; only attempts that are missing "
        "have to be restored to the results directory"
    ),
    severity=Severity.WARNING,
)
def attempts_kept(submission: Submission) -> Iterator[Finding]:
    """Attempts in the journal that no result uses, counted by their end (noted). W: a gap in the numbers, a missing
    folder and, at full size, a run measured again although it had a valid result, a failed or ended attempt with all
    results in its output, an unused attempt whose records contradict each other. Recorded as done by its job and as
    refused by the journal: E; with another end in the journal: W.
    """
    present = {run.id: run.fingerprint for run in submission.all_runs}
    against = {
        (result.run.id, result.attempt.number): sorted({finding.rule for finding in result.findings if finding.blocks})
        for result in submission.results
        if not result.valid
    }
    counts: Counter[str] = Counter()
    contradictory = []
    for attempt in submission.attempts:
        if attempt.state.active:
            continue
        if attempt.state is not State.DONE:
            counts[str(attempt.state)] += 1
        elif present.get(attempt.run) != attempt.fingerprint:
            counts["measured with other settings"] += 1
        elif violated := against.get((attempt.run, attempt.number)):
            counts[f"invalid by {' and '.join(violated)}"] += 1
            if contradicted := RECORDS.intersection(violated):
                contradictory.append(f"{attempt.run}/{attempt.number} ({', '.join(sorted(contradicted))})")
    if counts:
        counted = ", ".join(f"{number} {what}" for what, number in sorted(counts.items()))
        yield note("attempts that the table does not report (kept on record): {counts}", counts=counted)
    if contradictory:
        yield doubt(submission.full)(
            "attempts that are not used in the results have records that contradict each other",
            "records that agree",
            listed(contradictory),
        )
    yield from _measured_and_failed(submission)
    yield from _measured_again(submission)
    for name, numbers in grouped((attempt.run, attempt.number) for attempt in submission.attempts).items():
        lacking = sorted(set(range(1, max(numbers) + 1)).difference(numbers))
        if lacking:
            yield _gone("attempts of {run} are not on record", f"1 to {max(numbers)}", lacking, run=name)
    yield from measured_and_hidden(submission)
    if submission.folders is None:
        yield unchecked("attempt folders not checked")
        return
    submitted = [attempt for attempt in submission.attempts if attempt.state not in (State.SUBMITTING, State.REFUSED)]
    gone = [each for each in submitted if (each.run, each.number) not in submission.folders]
    for name, numbers in grouped((attempt.run, attempt.number) for attempt in gone).items():
        yield _gone(
            "raw output of attempts of {run} is missing", "raw output of every attempt", sorted(numbers), run=name
        )


def _measured_and_failed(submission: Submission) -> Iterator[Finding]:
    """Attempts with all results that do not count: a program that fails when it is slow also selects results."""
    found = [
        f"{case.subject} ({case.attempt.state})"
        for case in submission.results
        if case.attempt.state is not State.DONE
        and (case.attempt.run, case.attempt.number) not in submission.unused
        and len(case.reported) == len(case.operations)
    ]
    if found:
        yield doubt(submission.full)(
            "attempts that did not end well have all their results in their output",
            "a part of the results, or none",
            listed(found),
        )


def _measured_again(submission: Submission) -> Iterator[Finding]:
    """Runs with a valid result that were measured again: more results make their best one better."""
    valid = grouped((case.run.id, case) for case in submission.results if case.valid and case.complete)
    wanted = set(submission.cells)
    for name, cases in valid.items():
        if len(cases) > 1 and (cells := wanted.intersection(cases[0].run.cells())):
            yield from submission.over(
                doubt(submission.full),
                cells,
                "{run} was measured again although it had a valid result",
                "one valid result of each repetition",
                f"{len(cases)} valid results",
                run=name,
            )


def measured_and_hidden(submission: Submission) -> Iterator[Finding]:
    """Attempts that measured, by their job's own record, but have no result: results may have been selected so."""
    runs = {run.id: run for run in submission.all_runs}
    for attempt in submission.attempts:
        if (attempt.run, attempt.number) not in submission.unused:
            continue
        form = violation if attempt.state in (State.REFUSED, State.SUPERSEDED) else to_explain
        hidden = functools.partial(
            form,
            "attempt {attempt} of {run}: its job recorded a complete measurement, but the journal records another end",
            "done",
            attempt.state,
            attempt=attempt.number,
            run=attempt.run,
        )
        cells = set(runs[attempt.run].cells() if attempt.run in runs else ()) & set(submission.cells)
        if cells:
            yield from submission.over(hidden, cells)
        else:
            yield hidden()


def _gone(wording: str, expected: str, numbers: Iterable[int], run: str) -> Finding:
    return to_explain(wording, expected, f"{', '.join(map(str, numbers))} missing", run=run)


# --- EVD-02, EVD-05: the journal's chain, and the rule pack


@campaign_rule(
    "EVD-02",
    "the journal is unedited and starts with the buyer's nonce, if one was given",
    why="a journal that was edited could hide attempts",
    remedy=(
        "restore the original journal, explain what a recovered one lost, or repeat the campaign with the buyer's "
        "nonce in the campaign file"
    ),
    is_about_records=True,
)
def chain_whole(submission: Submission) -> Iterator[Finding]:
    """The hash chain, and the nonce in the first line. W: a time more than 60 s before that of an earlier line, a
    recovered journal; in a bundle also a time in the future.
    """
    chain, nonce = submission.journal, submission.campaign.nonce
    if chain is None:
        if submission.attempts:
            yield unchecked("journal not checked")
        return
    if chain.problem:
        yield violation("journal.jsonl: {problem}", "lines with hashes", problem=chain.problem)
        return
    for event in chain.recovered:
        yield from recovered(event)
    if chain.nonce != nonce:
        yield violation(
            "the journal does not start with the nonce of the campaign file", nonce or "none", chain.nonce or "none"
        )
    elif not nonce:
        yield note(
            "the buyer gave no nonce (a random word) before the runs: a journal rewritten as a whole would not be "
            "noticed"
        )
    line, back_s = chain.back
    if back_s > CLOCKS_S:
        yield to_explain(
            "journal.jsonl: the time of line {line} lies before that of an earlier line: a clock was set back, or the "
            "journal was edited",
            "times in the order of the lines",
            f"{back_s:.0f} s earlier",
            line=line,
        )


def recovered(event: Event) -> Iterator[Finding]:
    """What a recovered journal lacks."""
    lost = "lines at its end"
    if event["lost"]:
        lost = f"{listed(_lines(*each) for each in event['lost'])} and any lines that were removed there"
    if event["missing"]:
        lost += f" ({event['missing']} bytes fewer than had been read before)"
    yield to_explain(
        "journal.jsonl was damaged and is recovered from {damaged}, without {lost}. Attempts whose end is not in the "
        "remaining lines, and is taken from their folders: {open}. Attempts that no remaining line names, which are "
        "not used: {unnamed}",
        "every line",
        several(sum(last - max(first, 1) + 1 for first, last in event["lost"]), "line") + " lost",
        damaged=event["damaged"],
        lost=lost,
        open=listed(event["open"], MOST_SHOWN) or "none",
        unnamed=listed(event["unnamed"], MOST_SHOWN) or "none",
    )


def _lines(first: int, last: int) -> str:
    if last == 0:
        return "the lines before line 1"
    return f"line {first}" if first == last else f"lines {first} to {last}"


@campaign_rule(
    "EVD-05",
    "the rule pack is the published one",
    why="with altered rules, the same findings have another meaning",
    remedy="use the published rule pack, or have the buyer confirm the SHA-256 of this one",
)
def pack_current(submission: Submission) -> Iterator[Finding]:
    """The pack's hash compared with this version's pack of the id; for a bundle, rule by rule and part by part compared
    with the buyer's. Not checked: no pack of this project, and the buyer has none.
    """
    pack = submission.pack
    digest = digest_of_own(pack.id)
    if not digest:
        yield unchecked_by_buyer("custom rule pack {pack}: compare it with the buyer's", pack=pack.id)
    elif pack.digest and pack.digest != digest:
        yield violation(
            "the rule pack differs from the published {pack}", f"SHA-256 {digest}", pack.digest, pack=pack.id
        )
