"""The state of a campaign: everything recorded, updated and judged.

The rules are imported where they are used: a driver submits its jobs before.
"""

from __future__ import annotations

import itertools
import operator
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from campaign.config import resolution
from campaign.config.definition import Definition
from campaign.config.format import Campaign
from campaign.config.rules.catalogue import CATALOGUE
from campaign.config.rules.pack import RulePack
from campaign.core import journal
from campaign.core.errors import EnvironmentLacks, InputError, UnknownState, pass_on_limit, typed_path
from campaign.core.paths import Paths
from campaign.core.runs import Attempt, Run, State
from campaign.core.workers import results_in_order
from campaign.judge.findings import BUILTIN, CAMPAIGN
from campaign.judge.submission import Submission
from campaign.pipeline import planning
from campaign.plan import matrix
from campaign.results.case import Case, Judge
from campaign.results.completion import unused_measurement
from campaign.results.environment.facts import NOTHING
from campaign.results.file_hashes import AlteredFiles, altered_files
from campaign.results.source import modifications
from campaign.results.source.facts import Sources
from campaign.results.store import MOST_RUNS, Store, is_begun
from campaign.slurm import commands
from campaign.slurm.collect import Follower, import_all, import_results, open_store, read_again, without_results

LONGEST_LOG = 64 << 20  # bytes read of a projection's log

Say = Callable[[str], None]
ComparedSources = tuple[Sources, bytes]  # the benchmark's source, compared, with the patch


def judge_recorded(
    definition: Definition,
    planned: planning.Plan,
    store: Store | None,
    source: Sources | None = None,
    chain: journal.Chain | None = None,
) -> Submission:
    """Judge everything recorded; `store` is None if nothing is. `source`: sources to use instead of the
    recorded ones. `chain`: the journal's chain, if it was read already.
    """
    from campaign.judge import engine

    submission = _without_results(definition, planned, store, source)
    if store:
        chain = chain or journal.read_chain(definition.paths.journal)
        changed_files = _changed_files(definition, store, chain)
        submission = _with_results(definition, submission, store, engine.judge, chain, changed_files)
        cases, subject = submission.results, operator.attrgetter("subject")
        judged = results_in_order(operator.attrgetter("findings"), cases, subject, "judging attempts")
        for case, findings in zip(cases, judged, strict=True):
            vars(case)["findings"] = findings
    return _judge(submission)


def kept_submission(
    definition: Definition,
    planned: planning.Plan,
    store: Store,
    source: Sources | None = None,
    with_results: bool = False,
) -> Submission:
    """As `judge_recorded`, but what has not changed since it was judged is not judged again. `with_results`: whether
    the attempts are needed too, and not only rows and findings.
    """
    from campaign.judge import judgements

    submission = _without_results(definition, planned, store, source)
    basis = judgements.digest_of_basis(definition, *planned.settled)
    key = judgements.key_of_campaign(basis, submission, store, definition.paths)
    judgement = store.judgement(CAMPAIGN, key)
    if judgement and not with_results:
        return judgements.with_judgement(submission, judgement)
    from campaign.judge import engine

    chain = journal.read_chain(definition.paths.journal)
    changed_files = _changed_files(definition, store, chain)
    judged_attempts = judgements.JudgedAttempts(store, basis, engine.judge)
    runs = {run.id: run for run in submission.runs}
    used_attempts = itertools.chain.from_iterable(matrix.attempts_by_run(submission.runs, submission.attempts).values())

    def cases_of(attempts: Sequence[Attempt]) -> list[Case]:
        ids = dict.fromkeys(attempt.run for attempt in attempts)
        return _cases(definition, store, [runs[name] for name in ids], attempts, changed_files, engine.judge)

    judged_attempts.judge_in_pieces(used_attempts, changed_files, cases_of)
    submission = _with_results(definition, submission, store, judged_attempts.findings, chain, changed_files)
    for case in submission.results:  # while the database is open
        if case.valid and not with_results:
            del vars(case)["findings"]  # those that the table needs are read once more
    if judgement:
        return judgements.with_judgement(submission, judgement)
    submission = _judge(submission)
    if not chain.problem:
        judged_attempts.keep({CAMPAIGN: (key, judgements.judgement_json(submission))})
    return submission


def judge_planned(definition: Definition, planned: planning.Plan, compared: ComparedSources) -> Submission:
    """Judge the plan, of which nothing has run."""
    from campaign.judge import engine
    from campaign.judge.rows import table_rows

    campaign = definition.campaign
    sources = modifications.planned_sources(campaign, *compared)
    submission = _without_results(definition, planned, None, sources)
    rows = tuple(table_rows(campaign, definition.pack, planned.runs, (), ()))
    own_source = None if campaign.benchmark.external else modifications.own_source()
    programs, today = modifications.programs(campaign), datetime.now(UTC).date()
    return engine.judge_plan(replace(submission, rows=rows, own_source=own_source, programs=programs, today=today))


def _without_results(
    definition: Definition, planned: planning.Plan, store: Store | None, source: Sources | None
) -> Submission:
    """A campaign as planned and recorded, without results and rows."""
    return Submission(
        definition.campaign,
        definition.pack,
        planned.runs,
        tuple(store.attempts() if store else ()),
        (),
        (),
        planned.searches,
        again={},
        folders=frozenset(),
        sources=source or modifications.recorded_sources(definition.paths),
        answers=definition.answers,
        partition=planned.partition,
        logs=_projection_logs(definition.campaign),
    )


def _with_results(
    definition: Definition,
    submission: Submission,
    store: Store,
    judge_attempt: Judge,
    chain: journal.Chain,
    changed_files: AlteredFiles,
) -> Submission:
    """With the attempts that count, each with its findings, and with what the results directory has of all."""
    paths, attempts = definition.paths, submission.attempts
    results = _cases(definition, store, submission.runs, attempts, changed_files, judge_attempt)
    is_builtin = any(case.observation.program.startswith(BUILTIN) for case in results)
    return replace(
        submission,
        results=tuple(results),
        journal=chain,
        folders=frozenset((a.run, a.number) for a in attempts if paths.attempt(a.run, a.number).is_dir()),
        unused=frozenset((a.run, a.number) for a in attempts if _is_unused(definition.pack, paths, a)),
        own_source=modifications.own_source() if is_builtin else None,
    )


def _cases(
    definition: Definition,
    store: Store,
    runs: Sequence[Run],
    attempts: Sequence[Attempt],
    changed_files: AlteredFiles,
    judge_attempt: Judge,
) -> list[Case]:
    """Those of these attempts that count for these runs, with what is recorded of them."""
    from campaign.judge import engine

    ids = [run.id for run in runs] if len(runs) <= MOST_RUNS else None
    evidence = store.evidence(ids)
    for attempt, files in changed_files.items():
        evidence[attempt] = replace(evidence.get(attempt, NOTHING), altered=files)
    return engine.cases_of_runs(
        definition, runs, attempts, store.records(ids), store.observations(ids), evidence, judge_attempt
    )


def _changed_files(definition: Definition, store: Store, chain: journal.Chain) -> AlteredFiles:
    """The files that differ from the journal. Of files that did when they were read, and are restored, the results are
    read again.
    """
    changed_files = altered_files(definition.paths, chain)
    for run, number in store.note_altered(changed_files.keys()):
        import_results(definition.paths, store, definition.pack.outputs, store.attempt(run, number))
    return changed_files


def _judge(submission: Submission) -> Submission:
    """The campaign with its rows and findings; the raw outputs of the reported attempts are read again."""
    from campaign.judge import engine
    from campaign.judge.rows import table_rows

    campaign, pack, results = submission.campaign, submission.pack, submission.results
    rows = table_rows(campaign, pack, submission.runs, submission.attempts, results)
    subjects = {origin for row in rows for origin in (row.origin, *row.executions)}
    attempts = [(case.run.id, case.attempt.number) for case in results if case.subject in subjects]
    records = read_again(Paths(campaign.results), pack.outputs, attempts)
    return engine.judge_campaign(replace(submission, rows=tuple(rows), again=records))


def _is_unused(pack: RulePack, paths: Paths, attempt: Attempt) -> bool:
    """Whether an attempt measured by its job's own record, but not by the journal. One that failed since it gave no
    results is none.
    """
    key, completion = (attempt.run, attempt.number), unused_measurement(paths, attempt)
    if completion is None or attempt.state is not State.FAILED:
        return completion is not None
    return not without_results(completion, read_again(paths, pack.outputs, [key])[key], pack.required)


def _projection_logs(campaign: Campaign) -> dict[Path, str]:
    """The texts of the logs that projections name, as far as they can be read."""
    texts = {}
    for path in {path for projection in campaign.projections for path in projection.logs}:
        try:
            with resolution.content(path).open("rb") as file:
                texts[path] = file.read(LONGEST_LOG).decode(errors="replace")
        except OSError as error:
            pass_on_limit(error)
    return texts


def current_submission(
    definition: Definition,
    say: Say,
    source: Sources | None = None,
    is_fresh: bool = False,
    with_results: bool = False,
) -> Submission:
    """The campaign as recorded, including what has ended since the last command. `is_fresh`: whether everything is
    judged again; `with_results`: as for `kept_submission`.
    """
    planned = planning.plan(definition)
    if not is_begun(definition.paths):
        return judge_recorded(definition, planned, None, source)
    with open_store(definition.paths, definition.pack.outputs) as store:
        _import_ended(definition, store, say)
        if planned.searches:
            planned = planning.update_plan(definition, planned)
        if is_fresh:
            submission = judge_recorded(definition, planned, store, source)
        else:
            submission = kept_submission(definition, planned, store, source, with_results)
    report_damage(definition, submission.journal, say)
    return submission


def report_damage(definition: Definition, chain: journal.Chain | None, say: Say) -> None:
    """Report damage of the journal. Only what follows the part that was read before is used."""
    if chain is not None and chain.problem:
        say(journal_damaged(path=definition.paths.journal, problem=chain.problem))


def journal_damaged(path: object, problem: object) -> str:
    return f"{path}: {problem}; nobody can verify these results: {journal.RESTORE}"


def submission_from_outputs(definition: Definition, say: Say) -> Submission:
    """`current_submission`, from the raw outputs and not from the database."""
    if is_begun(definition.paths):
        collect(definition)
    compare_sources(definition, say)
    return current_submission(definition, say, is_fresh=True)


def recorded_plan(definition: Definition, say: Say) -> tuple[planning.Plan, tuple[Attempt, ...]]:
    """The plan and every attempt, updated from the journal and the raw outputs, not from the database. Nothing is
    judged.
    """
    planned = planning.plan(definition)
    if not is_begun(definition.paths):
        return planned, ()
    if planned.searches or definition.campaign.sequential:  # what they ask for follows from results
        collect(definition)
    compare_sources(definition, say)
    with open_store(definition.paths, definition.pack.outputs) as store:
        _import_ended(definition, store, say)
    planned = planning.update_plan(definition, planned)
    with Store(definition.paths, in_memory=True) as store:
        attempts = tuple(store.attempts())
    report_damage(definition, journal.read_chain(definition.paths.journal), say)
    return planned, attempts


def recorded_submission(
    definition: Definition, is_fresh: bool = False, chain: journal.Chain | None = None
) -> Submission:
    """The campaign as its results say, without asking Slurm; without results, only projections and gaps. `is_fresh`:
    whether everything is judged again, with the journal's chain if it was read already.
    """
    if not is_begun(definition.paths):
        return judge_recorded(definition, planning.Plan((), {}, ""), None)
    with open_store(definition.paths, definition.pack.outputs) as store:
        planned = planning.plan(definition)
        if is_fresh:
            return judge_recorded(definition, planned, store, chain=chain)
        return kept_submission(definition, planned, store)


def with_source_rules(definition: Definition) -> Definition:
    """With the rules about the benchmark's source, even if the pack does not list them."""
    source_rules = {rule: "" for rule in CATALOGUE if rule.startswith("SRC-")}
    return replace(definition, pack=replace(definition.pack, checks=source_rules | definition.pack.checks))


def compare_sources(definition: Definition, say: Say) -> None:
    """Compare the benchmark's source trees as they are now, for a campaign that has begun."""
    if is_begun(definition.paths) and not os.access(definition.paths.root, os.W_OK):
        say(f"source not checked: no write permission in {definition.paths.root}")
    elif is_begun(definition.paths) and (
        trouble := modifications.compare_and_store(definition.campaign, definition.paths, definition.pack.build)
    ):
        say(f"source not checked: {trouble}")


def recorded_attempts(definition: Definition) -> list[Attempt]:
    """The recorded attempts, without asking Slurm."""
    if not is_begun(definition.paths):
        return []
    with open_store(definition.paths, definition.pack.outputs) as store:
        return store.attempts()


def active_jobs(definition: Definition) -> list[str]:
    """Ids of the campaign's jobs that have not ended. Slurm is asked for a job without a recorded id; if Slurm does not
    answer, its name is given.
    """
    under_way = [attempt for attempt in recorded_attempts(definition) if attempt.state.active]
    ids = {attempt.job_id for attempt in under_way if attempt.job_id}
    unknown = {attempt.job for attempt in under_way if not attempt.job_id}
    if unknown:
        with suppress(EnvironmentLacks, UnknownState):
            unknown = {job.id for job in commands.queue(dict.fromkeys(unknown)).values() if job.state.active}
    return sorted(ids | unknown)


def _import_ended(definition: Definition, store: Store, say: Say) -> None:
    """Import attempts that have ended since the last check."""
    try:
        new_follower(definition, store, say).step()
    except EnvironmentLacks as error:
        say(f"job states may be out of date: {error}")


def new_follower(definition: Definition, store: Store, say: Say) -> Follower:
    return Follower(definition.paths, store, definition.pack.outputs, say, definition.pack.required)


def collect_and_update(definition: Definition, say: Say) -> int:
    """`collect`, and ask Slurm for what is not recorded yet."""
    number, _ = collect(definition)
    with Store(definition.paths) as store:
        _import_ended(definition, store, say)
    return number


def collect(definition: Definition) -> tuple[int, journal.Chain | None]:
    """Rebuild the database from the journal and the raw outputs. Gives the number of attempts, and the chain."""
    if not is_begun(definition.paths):
        raise InputError(
            f"campaign {definition.campaign.name} has no results yet; start with 'campaign run "
            f"{typed_path(definition.campaign.path, definition.campaign.part)}'"
        )
    with Store(definition.paths) as store, store.transaction():
        store.rebuild()
        return import_all(definition.paths, store, definition.pack.outputs), store.chain
