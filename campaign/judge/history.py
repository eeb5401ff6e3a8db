"""The rules about a campaign's attempts, journal and rule pack (RUN-08, EVD-02, EVD-05). Pure."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Iterable, Iterator

from campaign.config.rules.packs import digest_of_own
from campaign.core.events import Event
from campaign.core.findings import Finding, Severity
from campaign.core.grouping import grouped
from campaign.core.runs import State
from campaign.core.units import bound_listing, listing, plural
from campaign.judge.findings import note, to_explain, to_explain_at_full_size, unchecked, unchecked_by_buyer, violation
from campaign.judge.rule import campaign_rule
from campaign.judge.submission import RECORDS, Submission

MOST_SHOWN = 20  # attempts
CLOCKS_S = 60.0  # how much the clocks of the machines that drive a campaign may differ


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
def check_attempts(submission: Submission) -> Iterator[Finding]:
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
        counts_text = ", ".join(f"{number} {outcome}" for outcome, number in sorted(counts.items()))
        yield note("attempts that the table does not report (kept on record): {counts}", counts=counts_text)
    if contradictory:
        yield to_explain_at_full_size(submission.full)(
            "attempts that are not used in the results have records that contradict each other",
            "records that agree",
            bound_listing(contradictory),
        )
    yield from _check_failed_with_results(submission)
    yield from _check_repeated_runs(submission)
    for name, numbers in grouped((attempt.run, attempt.number) for attempt in submission.attempts).items():
        lacking = sorted(set(range(1, max(numbers) + 1)).difference(numbers))
        if lacking:
            yield _missing_attempts("attempts of {run} are not on record", f"1 to {max(numbers)}", lacking, run=name)
    yield from check_hidden_measurements(submission)
    if submission.folders is None:
        yield unchecked("attempt folders not checked")
        return
    submitted = [attempt for attempt in submission.attempts if attempt.state not in (State.SUBMITTING, State.REFUSED)]
    missing_folders = [
        kept_attempt for kept_attempt in submitted if (kept_attempt.run, kept_attempt.number) not in submission.folders
    ]
    for name, numbers in grouped((attempt.run, attempt.number) for attempt in missing_folders).items():
        yield _missing_attempts(
            "raw output of attempts of {run} is missing", "raw output of every attempt", sorted(numbers), run=name
        )


def _check_failed_with_results(submission: Submission) -> Iterator[Finding]:
    """Attempts with all results that do not count: a program that fails when it is slow also selects results."""
    failed_attempts = [
        f"{case.subject} ({case.attempt.state})"
        for case in submission.results
        if case.attempt.state is not State.DONE
        and (case.attempt.run, case.attempt.number) not in submission.unused
        and len(case.results) == len(case.operations)
    ]
    if failed_attempts:
        yield to_explain_at_full_size(submission.full)(
            "attempts that did not end well have all their results in their output",
            "a part of the results, or none",
            bound_listing(failed_attempts),
        )


def _check_repeated_runs(submission: Submission) -> Iterator[Finding]:
    """Runs with a valid result that were measured again: more results make their best one better."""
    valid = grouped((case.run.id, case) for case in submission.results if case.valid and case.complete)
    reported_cells = set(submission.cells)
    for name, cases in valid.items():
        if len(cases) > 1 and (cells := reported_cells.intersection(cases[0].run.cells())):
            yield from submission.per_line(
                to_explain_at_full_size(submission.full),
                cells,
                "{run} was measured again although it had a valid result",
                "one valid result of each repetition",
                f"{len(cases)} valid results",
                run=name,
                remedy="explain in the campaign file why it was measured again",
            )


def check_hidden_measurements(submission: Submission) -> Iterator[Finding]:
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
            yield from submission.per_line(hidden, cells)
        else:
            yield hidden()


def _missing_attempts(wording: str, expected: str, numbers: Iterable[int], run: str) -> Finding:
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
def check_journal(submission: Submission) -> Iterator[Finding]:
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
        yield from check_recovery(event)
    if chain.nonce != nonce:
        yield violation(
            "the journal does not start with the nonce of the campaign file", nonce or "none", chain.nonce or "none"
        )
    elif not nonce:
        yield note(
            "the buyer gave no nonce (a random word) before the runs: a completely rewritten journal would not be "
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


def check_recovery(event: Event) -> Iterator[Finding]:
    """What a recovered journal lacks."""
    lost = "lines at its end"
    if event["lost"]:
        lost = f"{listing(_line_numbers(*span) for span in event['lost'])} and any lines that were removed there"
    if event["missing"]:
        lost += f" ({event['missing']} bytes fewer than had been read before)"
    yield to_explain(
        "journal.jsonl was damaged and is recovered from {damaged}, without {lost}. Attempts whose end is not in the "
        "remaining lines, and is taken from their folders: {open}. Attempts that no remaining line names, which are "
        "not used: {unnamed}",
        "every line",
        plural(sum(last - max(first, 1) + 1 for first, last in event["lost"]), "line") + " lost",
        damaged=event["damaged"],
        lost=lost,
        open=listing(event["open"], MOST_SHOWN) or "none",
        unnamed=listing(event["unnamed"], MOST_SHOWN) or "none",
    )


def _line_numbers(first: int, last: int) -> str:
    if last == 0:
        return "the lines before line 1"
    return f"line {first}" if first == last else f"lines {first} to {last}"


@campaign_rule(
    "EVD-05",
    "the rule pack is the published one",
    why="with altered rules, the same findings have another meaning",
    remedy="use the published rule pack, or have the buyer confirm the SHA-256 of this one",
)
def check_rule_pack(submission: Submission) -> Iterator[Finding]:
    """The pack's hash compared with this version's pack of the id; for a bundle, key by key compared with the
    buyer's. Not checked: no pack of this project, and the buyer has none; another version.
    """
    pack = submission.pack
    digest = digest_of_own(pack.id)
    if not digest:
        yield unchecked_by_buyer("custom rule pack {pack}: compare it with the buyer's", pack=pack.id)
    elif pack.digest and pack.digest != digest:
        yield violation(
            "the rule pack differs from the published {pack}", f"SHA-256 {digest}", pack.digest, pack=pack.id
        )
